//! Device memory and buffers.

use std::rc::Rc;

use ash::vk::{self, Handle};
use hesper_gpu::{DeviceMemory, HostPages, MEMORY_TYPE_HOST};
use hesper_image::Extent;
use hesper_venus::chain::Sharing;
use hesper_venus::{Command, Decoded};

use crate::channel::{Area, ExportError, Warning};
use crate::context::{Buffer, Context, Entry, Kind, Memory};
use crate::error::{WorkerError, argument};
use crate::raw;

/// What the guest asked for.
struct Request {
    id: u64,
    device: u64,
    len: u64,
    host_visible: bool,
    /// The resource that the memory is.
    import: Option<u32>,
    flags: vk::MemoryAllocateFlags,
}

impl Context {
    pub(crate) fn allocate_memory(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let Some((_, id)) = decoded.output_ids().next() else {
            return Err(argument("vkAllocateMemory", "no output"));
        };
        self.make_room(id)?;
        let inputs: Vec<u64> = decoded.input_ids().map(|(_, id)| id).collect();
        let Command::VkAllocateMemory(args) = &mut decoded.command else {
            return Err(argument("vkAllocateMemory", "is another command"));
        };
        let device = args.device.as_raw();
        self.dev(device)?;
        // SAFETY: arguments of the decoded command.
        let (info, flags, sharing) = unsafe {
            let info = raw::get(args.p_allocate_info)
                .ok_or_else(|| argument("vkAllocateMemory", "no allocate info"))?;
            let flags = raw::find::<vk::MemoryAllocateFlagsInfo<'_>>(
                info.p_next,
                vk::StructureType::MEMORY_ALLOCATE_FLAGS_INFO,
            )
            .map_or(vk::MemoryAllocateFlags::empty(), |info| info.flags);
            (info, flags, Sharing::of(info.p_next))
        };
        let request = Request {
            id,
            device,
            len: info.allocation_size,
            // Shared memory lives in the arena whatever its type says.
            host_visible: info.memory_type_index == MEMORY_TYPE_HOST || sharing.is_shared(),
            import: sharing.imported,
            // One device is shown, so a mask of devices says nothing.
            flags: flags & vk::MemoryAllocateFlags::DEVICE_ADDRESS,
        };
        if info.memory_type_index > MEMORY_TYPE_HOST || request.len == 0 {
            return Err(argument(
                "vkAllocateMemory",
                "no such memory type or no length",
            ));
        }
        args.ret = vk::Result::SUCCESS;
        let memory = match self.make_memory(&request)? {
            Ok(memory) => memory,
            Err(answer) => return self.refuse(decoded, answer),
        };
        let handle = memory.allocation.as_ref().map_or(0, |a| a.handle.as_raw());
        let creation = self.objects.begin_creation(bytes, inputs);
        let data = Entry {
            device,
            kind: Kind::Memory(memory),
        };
        self.objects
            .add(creation, vk::ObjectType::DEVICE_MEMORY, id, handle, data)?;
        Ok(())
    }

    fn make_memory(
        &mut self,
        request: &Request,
    ) -> Result<Result<Memory, vk::Result>, WorkerError> {
        let host = Rc::clone(&self.dev(request.device)?.host);
        if request.host_visible {
            return self.make_host_memory(&host, request);
        }
        // Rounded up, so that a buffer over all of it fits whatever the driver's granularity.
        let Some(rounded) = request.len.checked_next_multiple_of(4096) else {
            return Ok(Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        };
        if !self.device_grants.take(&mut self.port, rounded)? {
            return Ok(Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
        let answer = match DeviceMemory::device_local(&host, rounded, request.flags) {
            Ok(allocation) => {
                let taken =
                    self.drain
                        .add_memory(&host, request.id, allocation.handle, request.len)?;
                let Err(answer) = taken else {
                    self.status.device_bytes += request.len;
                    return Ok(Ok(Memory {
                        allocation: Some(allocation),
                        len: request.len,
                        extent: None,
                        host_visible: false,
                    }));
                };
                // SAFETY: nothing was done with it yet.
                unsafe { allocation.free(&host) };
                answer
            }
            Err(error) => error.result(),
        };
        tracing::debug!(%answer, rounded, "Allocation");
        self.device_grants.give_back(&self.port, rounded)?;
        Ok(Err(answer))
    }

    fn make_host_memory(
        &mut self,
        host: &hesper_gpu::Device,
        request: &Request,
    ) -> Result<Result<Memory, vk::Result>, WorkerError> {
        let placed = self.placed(request)?;
        let restored = placed.is_some();
        let (pages, lacking) = match (placed, request.import) {
            (Some(placed), _) => (Some(placed), vk::Result::ERROR_OUT_OF_HOST_MEMORY),
            (None, Some(res_id)) => (
                self.imported_pages(res_id, request.len)?,
                vk::Result::ERROR_INVALID_EXTERNAL_HANDLE,
            ),
            (None, None) => (
                self.host_pages(request.len)?,
                vk::Result::ERROR_OUT_OF_HOST_MEMORY,
            ),
        };
        let Some((pages, extent)) = pages else {
            return Ok(Err(lacking));
        };
        match DeviceMemory::import(host, pages, request.flags) {
            Ok(allocation) => {
                self.status.host_bytes += request.len;
                Ok(Ok(Memory {
                    allocation: Some(allocation),
                    len: request.len,
                    extent,
                    host_visible: true,
                }))
            }
            Err(error) => {
                self.port.warn(Warning::Import, &error);
                match (extent, restored) {
                    (Some(extent), false) => self.port.free(Area::Window, extent)?,
                    (None, _) => self.free_host_pages(request.len)?,
                    (Some(_), true) => {}
                }
                Ok(Err(error.result()))
            }
        }
    }

    /// Where memory lies that is restored: its range is the context's already.
    fn placed(
        &self,
        request: &Request,
    ) -> Result<Option<(HostPages, Option<Extent>)>, WorkerError> {
        let placed = self.restoring.as_ref().and_then(|p| p.extent(request.id));
        let (Some(extent), Some(arena)) = (placed, &self.arena) else {
            return Ok(None);
        };
        if extent.end().is_none_or(|end| end > arena.area.start()) {
            return Err(argument(
                "vkAllocateMemory",
                "its range lies outside the window",
            ));
        }
        if extent.len < request.len {
            return Err(argument(
                "vkAllocateMemory",
                format!("{} bytes in a range of {}", request.len, extent.len),
            ));
        }
        let pages = HostPages {
            mapping: arena.mapping.clone(),
            offset: extent.offset,
            len: extent.len,
        };
        Ok(Some((pages, Some(extent))))
    }

    pub(crate) fn free_memory(&mut self, id: u64) -> Result<(), WorkerError> {
        let ty = vk::ObjectType::DEVICE_MEMORY;
        if id == 0 || self.objects.failed(ty, id).is_some() {
            self.objects.forget_failed(id);
            return Ok(());
        }
        self.objects.get(ty, id)?;
        // The guest may free once its own work is done; ours (drains) is waited for here.
        self.drop_memory(id)
    }

    /// Frees memory `id` on the host and gives its arena ranges back.
    pub(crate) fn drop_memory(&mut self, id: u64) -> Result<(), WorkerError> {
        let object = self.objects.remove(vk::ObjectType::DEVICE_MEMORY, id)?;
        let device = object.data.device;
        let Kind::Memory(mut memory) = object.data.kind else {
            return Err(argument("vkFreeMemory", "is no memory"));
        };
        if memory.host_visible {
            self.status.host_bytes = self.status.host_bytes.saturating_sub(memory.len);
            if memory.extent.is_none() {
                self.free_host_pages(memory.len)?;
            }
        } else {
            self.device_grants
                .give_back(&self.port, memory.len.next_multiple_of(4096))?;
            self.status.device_bytes = self.status.device_bytes.saturating_sub(memory.len);
            if let Some(oracle) = &mut self.oracle {
                oracle.forget(id);
            }
            let freed = self.drain.remove_memory(id)?;
            if let Some(extent) = freed {
                self.port.free(Area::Image, extent)?;
            }
        }
        if let Some(allocation) = memory.allocation.take() {
            let host = Rc::clone(&self.dev(device)?.host);
            if memory.extent.is_some() {
                // A range that is handed out again must be out of every submission's reach; a
                // guest that frees too early must not hurt the next owner.
                self.finish_queues(device)?;
            }
            // SAFETY: nothing that the guest was allowed to leave running uses it.
            unsafe { allocation.free(&host) };
        }
        if let Some(extent) = memory.extent {
            self.port.free(Area::Window, extent)?;
        }
        Ok(())
    }

    /// Memory that isn't in an arena counts no more.
    fn free_host_pages(&mut self, len: u64) -> Result<(), WorkerError> {
        Ok(self
            .host_grants
            .give_back(&self.port, len.next_multiple_of(4096))?)
    }

    /// Where the memory lies that a blob shows.
    pub(crate) fn export(&self, id: u64, len: u64) -> Result<&Memory, ExportError> {
        let ty = vk::ObjectType::DEVICE_MEMORY;
        if self.objects.failed(ty, id).is_some() {
            return Err(ExportError::NeverAllocated);
        }
        let object = self.objects.get(ty, id).map_err(|e| e.to_string())?;
        match &object.data.kind {
            Kind::Memory(memory) if memory.host_visible => {
                let room = memory
                    .allocation
                    .as_ref()
                    .map_or(0, |allocation| allocation.len);
                if len > room {
                    return Err(format!("{len} bytes of a memory of {room}").into());
                }
                Ok(memory)
            }
            _ => Err("device-local memory is never guest-visible"
                .to_owned()
                .into()),
        }
    }

    pub(crate) fn create_buffer(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let Command::VkCreateBuffer(args) = &mut decoded.command else {
            return Err(argument("vkCreateBuffer", "is another command"));
        };
        // Any buffer may be bound to imported pages, and the driver must know.
        let mut external = vk::ExternalMemoryBufferCreateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT);
        // SAFETY: arguments of the decoded command, which nobody else refers to; the structure
        // that is linked in is unlinked again before it goes.
        let (kept, before) = unsafe {
            let info = raw::get_mut(args.p_create_info)
                .ok_or_else(|| argument("vkCreateBuffer", "no create info"))?;
            let kept = Buffer {
                facts: hesper_audit::buffers::Buffer::new(info),
                shared: is_shared_buffer(info.p_next),
            };
            let before = (info.p_next, info.usage);
            raw::unlink(
                &mut info.p_next,
                &[vk::StructureType::EXTERNAL_MEMORY_BUFFER_CREATE_INFO],
            );
            external.p_next = info.p_next;
            info.p_next = (&raw const external).cast();
            info.usage |= vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
            (kept, before)
        };
        self.create(decoded, bytes, |_, _| Kind::Buffer(kept))?;
        let Command::VkCreateBuffer(args) = &mut decoded.command else {
            return Ok(());
        };
        // SAFETY: as above.
        if let Some(info) = unsafe { raw::get_mut(args.p_create_info) } {
            (info.p_next, info.usage) = before;
        }
        Ok(())
    }

    pub(crate) fn bind_buffers(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let Command::VkBindBufferMemory2(args) = &decoded.command else {
            return Err(argument("vkBindBufferMemory2", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let binds: Vec<(u64, u64, u64)> =
            unsafe { raw::slice(args.p_bind_infos, args.bind_info_count) }
                .iter()
                .map(|bind| {
                    (
                        bind.buffer.as_raw(),
                        bind.memory.as_raw(),
                        bind.memory_offset,
                    )
                })
                .collect();
        self.plain(decoded)?;
        let Command::VkBindBufferMemory2(args) = &decoded.command else {
            return Ok(());
        };
        if args.ret != vk::Result::SUCCESS {
            return Ok(());
        }
        for (buffer, memory, offset) in binds {
            if let Kind::Buffer(data) = &mut self
                .objects
                .get_mut(vk::ObjectType::BUFFER, buffer)?
                .data
                .kind
            {
                data.facts.binding = Some((memory, offset));
            }
        }
        Ok(())
    }

    /// Memory requirements in terms of the guest's two memory types.
    pub(crate) fn memory_requirements(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let allowed = self.allowed_types(&decoded.command)?;
        self.patch_requirements(&mut decoded.command)?;
        self.plain(decoded)?;
        let out = match &decoded.command {
            Command::VkGetBufferMemoryRequirements2(args) => args.p_memory_requirements,
            Command::VkGetDeviceBufferMemoryRequirements(args) => args.p_memory_requirements,
            Command::VkGetImageMemoryRequirements2(args) => args.p_memory_requirements,
            Command::VkGetDeviceImageMemoryRequirements(args) => args.p_memory_requirements,
            _ => return Ok(()),
        };
        let physical = &self.inst()?.physical;
        // SAFETY: an output of the decoded command, filled by the driver.
        unsafe {
            if let Some(out) = raw::get_mut(out) {
                let requirements = &mut out.memory_requirements;
                requirements.memory_type_bits =
                    physical.to_guest_type_bits(requirements.memory_type_bits) & allowed;
                raw::chain(out.p_next, |next| {
                    if (*next).s_type == vk::StructureType::MEMORY_DEDICATED_REQUIREMENTS {
                        let dedicated = next.cast::<vk::MemoryDedicatedRequirements<'_>>();
                        (*dedicated).prefers_dedicated_allocation = vk::FALSE;
                        (*dedicated).requires_dedicated_allocation = vk::FALSE;
                    }
                });
            }
        }
        Ok(())
    }

    /// The arena range of host-visible memory `id`, if it has one.
    pub(crate) fn memory_extent(&self, id: u64) -> Option<Extent> {
        match &self
            .objects
            .get(vk::ObjectType::DEVICE_MEMORY, id)
            .ok()?
            .data
            .kind
        {
            Kind::Memory(memory) => memory.extent,
            _ => None,
        }
    }
}

/// Whether a buffer with this chain is for shared memory.
///
/// # Safety
/// `p_next` is the chain of a decoded `VkBufferCreateInfo`.
pub(crate) unsafe fn is_shared_buffer(p_next: *const std::ffi::c_void) -> bool {
    // SAFETY: by the contract of this function.
    unsafe {
        raw::find::<vk::ExternalMemoryBufferCreateInfo<'_>>(
            p_next,
            vk::StructureType::EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        )
    }
    .is_some_and(|info| !info.handle_types.is_empty())
}
