//! `VK_EXT_image_drm_format_modifier`, done here: an image with the modifier LINEAR is a linear image
//! to the host, which need not know of modifiers.
//!
//! Images on shared memory are linear, because it is host memory: `VK_EXT_external_memory_host` says nothing
//! about other tilings.

use std::ffi::c_void;

use ash::vk::{self, Handle};
use hesper_gpu::{
    DRM_FORMAT_MOD_LINEAR, SHARED_HANDLE_TYPE, has_linear_modifier, shared_memory_properties,
};
use hesper_venus::{Command, Decoded};

use crate::context::{Context, Kind};
use crate::error::{WorkerError, argument};
use crate::raw;

/// Where the guest says that the plane of an image begins, bytes, and how far its rows are apart.
pub(crate) type PlaneLayout = (u64, u64);

/// Whether an image with this chain is for shared memory.
///
/// # Safety
/// `p_next` is the chain of a decoded `VkImageCreateInfo`.
pub(crate) unsafe fn is_shared_image(p_next: *const c_void) -> bool {
    // SAFETY: by the contract of this function.
    unsafe {
        raw::find::<vk::ExternalMemoryImageCreateInfo<'_>>(
            p_next,
            vk::StructureType::EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        )
    }
    .is_some_and(|info| !info.handle_types.is_empty())
}

/// Turns an image with a modifier into the linear image that it is; leaves others alone. Returns the
/// layout that the guest demands, or what it is answered for a modifier that is not offered.
///
/// # Safety
/// `info` is an argument of a decoded command, with its chain, that nobody else refers to.
pub(crate) unsafe fn make_linear(
    info: &mut vk::ImageCreateInfo<'_>,
) -> Result<Option<PlaneLayout>, vk::Result> {
    if info.tiling != vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT {
        return Ok(None);
    }
    let unfit = vk::Result::ERROR_FORMAT_NOT_SUPPORTED;
    if !has_linear_modifier(info.format) || info.flags.contains(vk::ImageCreateFlags::DISJOINT) {
        return Err(unfit);
    }
    let list = vk::StructureType::IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT;
    let explicit = vk::StructureType::IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT;
    // SAFETY: by the contract of this function.
    unsafe {
        let listed =
            raw::find::<vk::ImageDrmFormatModifierListCreateInfoEXT<'_>>(info.p_next, list)
                .is_some_and(|list| {
                    raw::slice(list.p_drm_format_modifiers, list.drm_format_modifier_count)
                        .contains(&DRM_FORMAT_MOD_LINEAR)
                });
        let layout = match raw::find::<vk::ImageDrmFormatModifierExplicitCreateInfoEXT<'_>>(
            info.p_next,
            explicit,
        ) {
            Some(explicit) if explicit.drm_format_modifier == DRM_FORMAT_MOD_LINEAR => {
                match raw::slice(
                    explicit.p_plane_layouts,
                    explicit.drm_format_modifier_plane_count,
                ) {
                    [plane] => Some((plane.offset, plane.row_pitch)),
                    _ => {
                        return Err(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT);
                    }
                }
            }
            None if listed => None,
            _ => return Err(unfit),
        };
        raw::unlink(&mut info.p_next, &[list, explicit]);
        info.tiling = vk::ImageTiling::LINEAR;
        Ok(layout)
    }
}

/// Makes a query for images with a modifier or on shared memory one that the host understands. Returns
/// whether it is about shared memory, or what it is answered at once.
///
/// # Safety
/// As [`make_linear`].
unsafe fn make_host_query(
    info: &mut vk::PhysicalDeviceImageFormatInfo2<'_>,
) -> Result<bool, vk::Result> {
    let unfit = vk::Result::ERROR_FORMAT_NOT_SUPPORTED;
    let modifier = vk::StructureType::PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT;
    // SAFETY: by the contract of this function.
    unsafe {
        if info.tiling == vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT {
            let asked = raw::find::<vk::PhysicalDeviceImageDrmFormatModifierInfoEXT<'_>>(
                info.p_next,
                modifier,
            );
            let linear =
                asked.is_some_and(|asked| asked.drm_format_modifier == DRM_FORMAT_MOD_LINEAR);
            if !linear
                || !has_linear_modifier(info.format)
                || info.flags.contains(vk::ImageCreateFlags::DISJOINT)
            {
                return Err(unfit);
            }
            info.tiling = vk::ImageTiling::LINEAR;
        }
        raw::unlink(&mut info.p_next, &[modifier]);
        let linear = info.tiling == vk::ImageTiling::LINEAR;
        let mut shared = Ok(false);
        raw::chain(info.p_next, |next| {
            if (*next).s_type != vk::StructureType::PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO {
                return;
            }
            let external = next.cast::<vk::PhysicalDeviceExternalImageFormatInfo<'_>>();
            let asked = &raw mut (*external).handle_type;
            if (*asked).is_empty() {
                return;
            }
            shared = if *asked == SHARED_HANDLE_TYPE && linear {
                Ok(true)
            } else {
                Err(unfit)
            };
            *asked = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        });
        shared
    }
}

impl Context {
    /// What images of a format can be.
    pub(crate) fn image_format_properties(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkGetPhysicalDeviceImageFormatProperties2";
        let Command::VkGetPhysicalDeviceImageFormatProperties2(args) = &mut decoded.command else {
            return Err(argument(name, "is another command"));
        };
        // SAFETY: arguments of the decoded command; nobody else refers to them.
        let query = unsafe {
            make_host_query(
                raw::get_mut(args.p_image_format_info).ok_or_else(|| argument(name, "no info"))?,
            )
        };
        let shared = match query {
            Ok(shared) => shared,
            Err(answer) => {
                args.ret = answer;
                return Ok(());
            }
        };
        self.plain_instance(decoded)?;
        let Command::VkGetPhysicalDeviceImageFormatProperties2(args) = &mut decoded.command else {
            return Ok(());
        };
        if !shared || args.ret != vk::Result::SUCCESS {
            return Ok(());
        }
        let mut refused = false;
        // SAFETY: an output of the decoded command with its chain.
        unsafe {
            if let Some(out) = raw::get_mut(args.p_image_format_properties) {
                raw::chain(out.p_next, |next| {
                    if (*next).s_type == vk::StructureType::EXTERNAL_IMAGE_FORMAT_PROPERTIES {
                        let external = next.cast::<vk::ExternalImageFormatProperties<'_>>();
                        let place = &raw mut (*external).external_memory_properties;
                        let host = (*place).external_memory_features;
                        // Dedicated allocations are hidden: what the host serves only so, it can't serve.
                        refused |= !host.contains(vk::ExternalMemoryFeatureFlags::IMPORTABLE)
                            || host.contains(vk::ExternalMemoryFeatureFlags::DEDICATED_ONLY);
                        *place = shared_memory_properties(SHARED_HANDLE_TYPE);
                    }
                });
            }
        }
        if refused {
            args.ret = vk::Result::ERROR_FORMAT_NOT_SUPPORTED;
        }
        Ok(())
    }

    /// What a format can be used for. Its modifiers are LINEAR or none, with the features of linear images.
    pub(crate) fn format_properties(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkGetPhysicalDeviceFormatProperties2";
        let Command::VkGetPhysicalDeviceFormatProperties2(args) = &decoded.command else {
            return Err(argument(name, "is another command"));
        };
        let format = args.format;
        // SAFETY: an output of the decoded command.
        let chain = unsafe { raw::get(args.p_format_properties) }
            .ok_or_else(|| argument(name, "no output"))?
            .p_next;
        // A host that knows modifiers must not fill in its own.
        let mut room = Vec::new();
        // SAFETY: the chain of an output of the decoded command; nobody else refers to it.
        unsafe {
            raw::chain(chain, |next| match (*next).s_type {
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT => {
                    let list = next.cast::<vk::DrmFormatModifierPropertiesListEXT<'_>>();
                    room.push(std::mem::take(&mut (*list).drm_format_modifier_count));
                }
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT => {
                    let list = next.cast::<vk::DrmFormatModifierPropertiesList2EXT<'_>>();
                    room.push(std::mem::take(&mut (*list).drm_format_modifier_count));
                }
                _ => {}
            });
        }
        self.plain_instance(decoded)?;
        let Command::VkGetPhysicalDeviceFormatProperties2(args) = &decoded.command else {
            return Ok(());
        };
        // SAFETY: as above; arrays have as many elements as there is room.
        unsafe {
            let Some(out) = raw::get(args.p_format_properties) else {
                return Ok(());
            };
            let features =
                out.format_properties.linear_tiling_features & !vk::FormatFeatureFlags::DISJOINT;
            let count = u32::from(has_linear_modifier(format) && !features.is_empty());
            let mut room = room.into_iter();
            raw::chain(chain, |next| match (*next).s_type {
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT => {
                    let list = next.cast::<vk::DrmFormatModifierPropertiesListEXT<'_>>();
                    let places = (*list).p_drm_format_modifier_properties;
                    let room = room.next().unwrap_or_default();
                    (*list).drm_format_modifier_count = answer(
                        places,
                        room,
                        count,
                        vk::DrmFormatModifierPropertiesEXT {
                            drm_format_modifier: DRM_FORMAT_MOD_LINEAR,
                            drm_format_modifier_plane_count: 1,
                            drm_format_modifier_tiling_features: features,
                        },
                    );
                }
                vk::StructureType::DRM_FORMAT_MODIFIER_PROPERTIES_LIST_2_EXT => {
                    let list = next.cast::<vk::DrmFormatModifierPropertiesList2EXT<'_>>();
                    let places = (*list).p_drm_format_modifier_properties;
                    let room = room.next().unwrap_or_default();
                    let features = vk::FormatFeatureFlags2::from_raw(u64::from(features.as_raw()));
                    (*list).drm_format_modifier_count = answer(
                        places,
                        room,
                        count,
                        vk::DrmFormatModifierProperties2EXT {
                            drm_format_modifier: DRM_FORMAT_MOD_LINEAR,
                            drm_format_modifier_plane_count: 1,
                            drm_format_modifier_tiling_features: features,
                        },
                    );
                }
                _ => {}
            });
        }
        Ok(())
    }

    /// Which modifier an image got.
    pub(crate) fn image_modifier(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let name = "vkGetImageDrmFormatModifierPropertiesEXT";
        let Command::VkGetImageDrmFormatModifierPropertiesEXT(args) = &mut decoded.command else {
            return Err(argument(name, "is another command"));
        };
        let object = self
            .objects
            .get(vk::ObjectType::IMAGE, args.image.as_raw())?;
        if !matches!(&object.data.kind, Kind::Image(image) if image.modifier) {
            return Err(argument(name, "is an image without a modifier"));
        }
        // SAFETY: an output of the decoded command.
        if let Some(out) = unsafe { raw::get_mut(args.p_properties) } {
            out.drm_format_modifier = DRM_FORMAT_MOD_LINEAR;
        }
        args.ret = vk::Result::SUCCESS;
        Ok(())
    }

    /// Where a subresource lies. The memory plane of an image with a modifier is the host's only plane.
    pub(crate) fn subresource_layout(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkGetImageSubresourceLayout";
        let Command::VkGetImageSubresourceLayout(args) = &decoded.command else {
            return Err(argument(name, "is another command"));
        };
        let object = self
            .objects
            .get(vk::ObjectType::IMAGE, args.image.as_raw())?;
        if matches!(&object.data.kind, Kind::Image(image) if image.modifier) {
            // SAFETY: an argument of the decoded command that nobody else refers to.
            let part = unsafe { raw::get_mut(args.p_subresource) }
                .ok_or_else(|| argument(name, "no subresource"))?;
            if part.aspect_mask == vk::ImageAspectFlags::MEMORY_PLANE_0_EXT {
                part.aspect_mask = vk::ImageAspectFlags::COLOR;
            }
            if part.aspect_mask != vk::ImageAspectFlags::COLOR {
                return Err(argument(name, "an aspect that the image does not have"));
            }
        }
        self.plain(decoded)
    }

    /// Destroys an image that was just made unless it lies as the guest demands. False when it did.
    pub(crate) fn keep_if_laid_out(
        &mut self,
        id: u64,
        (offset, row_pitch): PlaneLayout,
    ) -> Result<bool, WorkerError> {
        let object = self.objects.get(vk::ObjectType::IMAGE, id)?;
        let image = vk::Image::from_raw(object.handle);
        let raw = self.dev(object.data.device)?.host.raw();
        let first = vk::ImageSubresource::default().aspect_mask(vk::ImageAspectFlags::COLOR);
        // SAFETY: the image lives, is linear and of colours.
        let layout = unsafe { raw.get_image_subresource_layout(image, first) };
        if (layout.offset, layout.row_pitch) == (offset, row_pitch) {
            return Ok(true);
        }
        tracing::debug!(
            offset,
            row_pitch,
            ?layout,
            "An image that the host lays out otherwise"
        );
        // SAFETY: as above, and nothing uses it.
        unsafe { raw.destroy_image(image, None) };
        self.objects.remove(vk::ObjectType::IMAGE, id)?;
        Ok(false)
    }
}

/// Answers an array of `count` (at most one) elements; returns the count to answer.
///
/// # Safety
/// `places` is null or has `room` elements that nobody else refers to.
unsafe fn answer<T>(places: *mut T, room: u32, count: u32, value: T) -> u32 {
    if places.is_null() {
        return count;
    }
    if room == 0 || count == 0 {
        return 0;
    }
    // SAFETY: by the contract of this function.
    unsafe { places.write(value) };
    count
}
