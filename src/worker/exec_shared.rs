//! Memory that contexts share: where imports lie, and what a guest is told of resources.
//!
//! Exported memory is host-visible memory of any type: pages of the arena that become a resource as all
//! host-visible memory can. An import is one more host allocation over the same pages, and one more
//! holder of their range, so that neither the resource nor the exporter needs to outlive it. The
//! audit marks what either context writes in the arena's bitmap, where the pages are one and the same.

use ash::vk::{self, Handle};
use hesper_gpu::{HostPages, MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, shared_memory_properties};
use hesper_image::Extent;
use hesper_venus::{Command, Decoded, mesa};

use crate::channel::Area;
use crate::context::{Context, Kind};
use crate::error::{WorkerError, argument};
use crate::exec_memory::is_shared_buffer;
use crate::modifiers::is_shared_image;
use crate::raw;

impl Context {
    /// The pages of a resource, as memory of at least `len` bytes; `None` for one that is not
    /// there or smaller.
    pub(crate) fn imported_pages(
        &mut self,
        res_id: u32,
        len: u64,
    ) -> Result<Option<(HostPages, Option<Extent>)>, WorkerError> {
        let Some(resource) = self.resources.get(&res_id) else {
            tracing::debug!(res_id, "An import of a resource that is not attached");
            return Ok(None);
        };
        if len > resource.len {
            tracing::debug!(res_id, len, of = resource.len, "An import is too long");
            return Ok(None);
        }
        let pages = HostPages {
            mapping: resource.memory.clone(),
            offset: resource.base,
            len: resource.len,
        };
        let Some(extent) = resource.extent else {
            // The mapping keeps the memory file, so it counts as another one would.
            let counted = self.host_grants.take(
                &mut self.port,
                len.next_multiple_of(hesper_memory::PAGE_SIZE),
            )?;
            return Ok(counted.then_some((pages, None)));
        };
        match self.port.hold(res_id)? {
            Some(held) if held == extent => Ok(Some((pages, Some(extent)))),
            Some(held) => {
                tracing::debug!(res_id, "An import of a resource that is another by now");
                self.port.free(Area::Window, held)?;
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Memory types for a resource to be imported as.
    pub(crate) fn memory_resource_properties(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkGetMemoryResourcePropertiesMESA";
        let Command::VkGetMemoryResourcePropertiesMESA(args) = &mut decoded.command else {
            return Err(argument(name, "is another command"));
        };
        self.dev(args.device.as_raw())?;
        let Some(resource) = self.resources.get(&args.resource_id) else {
            args.ret = vk::Result::ERROR_INVALID_EXTERNAL_HANDLE;
            return Ok(());
        };
        // SAFETY: an output of the decoded command with its chain.
        unsafe {
            let out = raw::get_mut(args.p_memory_resource_properties)
                .ok_or_else(|| argument(name, "no output"))?;
            out.memory_type_bits = 1 << MEMORY_TYPE_HOST;
            raw::chain(out.p_next, |next| {
                if (*next).s_type == raw::MEMORY_RESOURCE_ALLOCATION_SIZE_PROPERTIES {
                    let size = next.cast::<mesa::VkMemoryResourceAllocationSizePropertiesMESA>();
                    (*size).allocation_size = resource.len;
                }
            });
        }
        args.ret = vk::Result::SUCCESS;
        Ok(())
    }

    /// What a guest may do with memory of a handle type behind buffers.
    pub(crate) fn external_buffer_properties(command: &mut Command<'_>) {
        let Command::VkGetPhysicalDeviceExternalBufferProperties(args) = command else {
            return;
        };
        // SAFETY: an argument and an output of the decoded command.
        if let (Some(info), Some(out)) = unsafe {
            (
                raw::get(args.p_external_buffer_info),
                raw::get_mut(args.p_external_buffer_properties),
            )
        } {
            out.external_memory_properties = shared_memory_properties(info.handle_type);
        }
    }

    /// The guest's memory types, as bits, that a buffer or image may lie in whose requirements are
    /// asked for.
    pub(crate) fn allowed_types(&self, command: &Command<'_>) -> Result<u32, WorkerError> {
        let (device, host) = (1 << MEMORY_TYPE_DEVICE, 1 << MEMORY_TYPE_HOST);
        let bits = |linear, shared| match (linear, shared) {
            (_, true) => host,
            (true, false) => device | host,
            (false, false) => device,
        };
        let none = || argument("memory requirements", "of nothing");
        // SAFETY: arguments of the decoded command with their chains.
        unsafe {
            match command {
                Command::VkGetBufferMemoryRequirements2(args) => {
                    let id = raw::get(args.p_info).ok_or_else(none)?.buffer.as_raw();
                    match &self.objects.get(vk::ObjectType::BUFFER, id)?.data.kind {
                        Kind::Buffer(buffer) => Ok(bits(true, buffer.shared)),
                        _ => Err(none()),
                    }
                }
                Command::VkGetDeviceBufferMemoryRequirements(args) => {
                    let info = raw::get(args.p_info).and_then(|info| raw::get(info.p_create_info));
                    Ok(bits(
                        true,
                        info.is_some_and(|info| is_shared_buffer(info.p_next)),
                    ))
                }
                Command::VkGetImageMemoryRequirements2(args) => {
                    let id = raw::get(args.p_info).ok_or_else(none)?.image.as_raw();
                    match &self.objects.get(vk::ObjectType::IMAGE, id)?.data.kind {
                        Kind::Image(image) => Ok(bits(image.linear, image.shared)),
                        _ => Err(none()),
                    }
                }
                Command::VkGetDeviceImageMemoryRequirements(args) => {
                    let info = raw::get(args.p_info)
                        .and_then(|info| raw::get(info.p_create_info))
                        .ok_or_else(none)?;
                    Ok(bits(
                        info.tiling != vk::ImageTiling::OPTIMAL,
                        is_shared_image(info.p_next),
                    ))
                }
                _ => Err(none()),
            }
        }
    }
}
