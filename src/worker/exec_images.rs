//! Images: what they are created with on the host, and where they are bound.

use ash::vk::{self, Handle};
use hesper_venus::{Command, Decoded};

use crate::context::{Context, Image, Kind};
use crate::error::{WorkerError, argument};
use crate::modifiers::{is_shared_image, make_linear};
use crate::raw;

/// A bind as the guest asks for it.
struct Bind {
    image: u64,
    memory: u64,
    offset: u64,
    plane: Option<vk::ImageAspectFlags>,
}

impl Context {
    pub(crate) fn create_image(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        self.forbid_migration("image content is not saved yet");
        let Command::VkCreateImage(args) = &mut decoded.command else {
            return Err(argument("vkCreateImage", "is another command"));
        };
        let mut external = vk::ExternalMemoryImageCreateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT);
        // SAFETY: arguments of the decoded command, which nobody else refers to; the structure
        // that is linked in is unlinked again before it goes.
        let (before, kept, layout) = unsafe {
            let info = raw::get_mut(args.p_create_info)
                .ok_or_else(|| argument("vkCreateImage", "no create info"))?;
            let before = (info.p_next, info.usage, info.tiling);
            let modifier = info.tiling == vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT;
            let shared = is_shared_image(info.p_next);
            let layout = match make_linear(info) {
                Ok(_) if shared && info.tiling != vk::ImageTiling::LINEAR => {
                    return self.refuse(decoded, vk::Result::ERROR_FORMAT_NOT_SUPPORTED);
                }
                Ok(layout) => layout,
                Err(answer) => return self.refuse(decoded, answer),
            };
            raw::unlink(
                &mut info.p_next,
                &[vk::StructureType::EXTERNAL_MEMORY_IMAGE_CREATE_INFO],
            );
            let linear = info.tiling == vk::ImageTiling::LINEAR;
            if linear {
                // It may be bound to imported pages, and the driver must know.
                external.p_next = info.p_next;
                info.p_next = (&raw const external).cast();
            }
            info.usage = self.copyable(info)?;
            let disjoint = info.flags.contains(vk::ImageCreateFlags::DISJOINT);
            let kept = Image {
                linear,
                disjoint,
                shared,
                modifier,
                bound: false,
            };
            (before, kept, layout)
        };
        let made = self.create(decoded, bytes, |_, _| Kind::Image(kept))?;
        let Command::VkCreateImage(args) = &mut decoded.command else {
            return Ok(());
        };
        // SAFETY: as above.
        if let Some(info) = unsafe { raw::get_mut(args.p_create_info) } {
            (info.p_next, info.usage, info.tiling) = before;
        }
        let id = decoded.output_ids().next().map(|(_, id)| id);
        if let (true, Some(id), Some(layout)) = (made, id, layout)
            && !self.keep_if_laid_out(id, layout)?
        {
            let answer = vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
            return self.refuse(decoded, answer);
        }
        Ok(())
    }

    /// The usage of an image with transfers added, as far as the host allows that.
    pub(crate) fn copyable(
        &self,
        info: &vk::ImageCreateInfo<'_>,
    ) -> Result<vk::ImageUsageFlags, WorkerError> {
        if info
            .usage
            .contains(vk::ImageUsageFlags::TRANSIENT_ATTACHMENT)
        {
            // Such an image has no other use.
            return Ok(info.usage);
        }
        let wanted =
            info.usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        let inst = self.inst()?;
        // SAFETY: the physical device is the instance's.
        let limits = unsafe {
            inst.host.raw().get_physical_device_image_format_properties(
                inst.physical.handle(),
                info.format,
                info.image_type,
                info.tiling,
                wanted,
                info.flags,
            )
        };
        Ok(match limits {
            Ok(limits)
                if limits.sample_counts.contains(info.samples)
                    && limits.max_mip_levels >= info.mip_levels
                    && limits.max_array_layers >= info.array_layers =>
            {
                wanted
            }
            _ => info.usage,
        })
    }

    pub(crate) fn bind_images(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let Command::VkBindImageMemory2(args) = &decoded.command else {
            return Err(argument("vkBindImageMemory2", "is another command"));
        };
        let device = args.device.as_raw();
        // SAFETY: arguments of the decoded command.
        let binds: Vec<Bind> = unsafe { raw::slice(args.p_bind_infos, args.bind_info_count) }
            .iter()
            .map(|bind| Bind {
                image: bind.image.as_raw(),
                memory: bind.memory.as_raw(),
                offset: bind.memory_offset,
                // SAFETY: as above.
                plane: unsafe {
                    raw::find::<vk::BindImagePlaneMemoryInfo<'_>>(
                        bind.p_next,
                        vk::StructureType::BIND_IMAGE_PLANE_MEMORY_INFO,
                    )
                }
                .map(|info| info.plane_aspect),
            })
            .collect();
        for bind in &binds {
            self.check_bind(device, bind)?;
        }
        self.plain(decoded)?;
        let Command::VkBindImageMemory2(args) = &decoded.command else {
            return Ok(());
        };
        if args.ret != vk::Result::SUCCESS {
            return Ok(());
        }
        // All planes of a disjoint image are bound by one command (VUID-vkBindImageMemory2-pBindInfos-02858).
        for bind in binds {
            let object = self.objects.get_mut(vk::ObjectType::IMAGE, bind.image)?;
            if let Kind::Image(image) = &mut object.data.kind {
                image.bound = true;
            }
        }
        Ok(())
    }

    /// A bind that leaves its memory would let the driver write anywhere.
    fn check_bind(&mut self, device: u64, bind: &Bind) -> Result<(), WorkerError> {
        let command = "vkBindImageMemory2";
        let object = self.objects.get(vk::ObjectType::IMAGE, bind.image)?;
        let Kind::Image(image) = &object.data.kind else {
            return Err(argument(command, "is no image"));
        };
        if image.disjoint != bind.plane.is_some() {
            return Err(argument(command, "binds a plane of no disjoint image"));
        }
        let (linear, owner) = (image.linear, object.data.device);
        let handle = vk::Image::from_raw(object.handle);
        let memory = self
            .objects
            .get(vk::ObjectType::DEVICE_MEMORY, bind.memory)?;
        let Kind::Memory(memory) = &memory.data.kind else {
            return Err(argument(command, "is no memory"));
        };
        if owner != device {
            return Err(argument(command, "is an image of another device"));
        }
        if memory.host_visible && !linear {
            return Err(argument(command, "only linear images may be host-visible"));
        }
        let len = memory.len;
        let mut plane = vk::ImagePlaneMemoryRequirementsInfo::default()
            .plane_aspect(bind.plane.unwrap_or_default());
        let mut info = vk::ImageMemoryRequirementsInfo2::default().image(handle);
        if bind.plane.is_some() {
            info = info.push_next(&mut plane);
        }
        let mut needs = vk::MemoryRequirements2::default();
        // SAFETY: the image lives and is the device's; the structures outlive the call.
        unsafe {
            self.dev(device)?
                .host
                .raw()
                .get_image_memory_requirements2(&info, &mut needs);
        }
        let needs = needs.memory_requirements;
        let end = bind.offset.checked_add(needs.size);
        if end.is_none_or(|end| end > len) || !bind.offset.is_multiple_of(needs.alignment.max(1)) {
            return Err(argument(
                command,
                format!(
                    "{} bytes at {} of a memory of {len}",
                    needs.size, bind.offset
                ),
            ));
        }
        if bind.plane.is_none() {
            self.tracker.image_sized(bind.image, needs.size);
        }
        Ok(())
    }

    /// Gives the image whose requirements are asked for before it is there the usage that it will have.
    pub(crate) fn patch_requirements(&self, command: &mut Command<'_>) -> Result<(), WorkerError> {
        let Command::VkGetDeviceImageMemoryRequirements(args) = command else {
            return Ok(());
        };
        // SAFETY: arguments of the decoded command, which nobody else refers to.
        unsafe {
            if let Some(info) = raw::get(args.p_info)
                && let Some(create) = raw::get_mut(info.p_create_info)
            {
                raw::unlink(
                    &mut create.p_next,
                    &[vk::StructureType::EXTERNAL_MEMORY_IMAGE_CREATE_INFO],
                );
                make_linear(create).map_err(|answer| {
                    argument(
                        "vkGetDeviceImageMemoryRequirements",
                        format!("of an image that can't be made: {answer}"),
                    )
                })?;
                create.usage = self.copyable(create)?;
            }
        }
        Ok(())
    }
}
