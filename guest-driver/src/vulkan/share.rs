//! Memory that processes share by dma-bufs, and linear images on it.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::NonNull;
use std::rc::Rc;

use ash::vk;

use super::command::{Commands, Recorder};
use super::memory::{Buffer, Memory};
use super::{Features, Gpu, Place, Shared};
use crate::error::{Error, Named};

const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;
const EXTENSIONS: [&std::ffi::CStr; 4] = [
    c"VK_KHR_external_memory_fd",
    c"VK_EXT_external_memory_dma_buf",
    c"VK_EXT_image_drm_format_modifier",
    c"VK_EXT_queue_family_foreign",
];
const LINEAR: u64 = 0;
const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;
const IMAGE_USAGE: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::TRANSFER_SRC.as_raw() | vk::ImageUsageFlags::TRANSFER_DST.as_raw(),
);

/// What another process needs to import a memory: its bytes and the dma-buf.
pub struct Exported {
    pub size: u64,
    pub fd: OwnedFd,
}

/// A dma-buf in the CPU's sight.
pub struct Mapped {
    start: NonNull<u8>,
    len: usize,
}

impl Mapped {
    /// Maps it to be read.
    pub fn new(exported: &Exported) -> Result<Self, Error> {
        let len = exported.size as usize;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                exported.fd.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            return Err(Error::Option(format!("Could not map a dma-buf: {error}")));
        }
        let start = NonNull::new(start.cast())
            .ok_or_else(|| Error::Option("A dma-buf is mapped at null".into()))?;
        Ok(Self { start, len })
    }

    /// Word at a multiple of 4 bytes.
    pub fn word(&self, offset: usize) -> u32 {
        assert!(offset.is_multiple_of(4) && offset + 4 <= self.len);
        // SAFETY: inside of the mapping and aligned; others may write, so it is read once.
        unsafe {
            self.start
                .as_ptr()
                .add(offset)
                .cast::<u32>()
                .read_volatile()
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nothing else refers to it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// An image of [`FORMAT`], linear, on memory that is shared.
pub struct LinearImage {
    handle: vk::Image,
    /// Byte at which its plane begins in the memory.
    pub offset: u64,
    /// Bytes from row to row.
    pub row_pitch: u64,
    side: u32,
    _memory: Rc<Memory>,
    shared: Rc<Shared>,
}

impl Drop for LinearImage {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for it; the memory goes after.
        unsafe { self.shared.raw.destroy_image(self.handle, None) };
    }
}

impl Gpu {
    /// Opens a device that can share memory.
    pub fn open_sharing(wanted: Option<&str>) -> Result<Self, Error> {
        Self::open_with(wanted, Features::default(), &EXTENSIONS)
    }

    /// What the device does with dma-bufs behind storage buffers.
    pub fn sharing(&self) -> vk::ExternalMemoryFeatureFlags {
        let info = vk::PhysicalDeviceExternalBufferInfo::default()
            .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
            .handle_type(HANDLE);
        let mut out = vk::ExternalBufferProperties::default();
        // SAFETY: the physical device is the instance's.
        unsafe {
            self.shared
                .instance
                .raw
                .get_physical_device_external_buffer_properties(self.physical, &info, &mut out);
        }
        out.external_memory_properties.external_memory_features
    }

    /// Whether linear images can be shared, and optimal ones can't.
    pub fn shares_linear_images_only(&self) -> bool {
        let ask = |tiling, modifier: u64| {
            let mut external =
                vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(HANDLE);
            let mut modifier = vk::PhysicalDeviceImageDrmFormatModifierInfoEXT::default()
                .drm_format_modifier(modifier);
            let mut info = vk::PhysicalDeviceImageFormatInfo2::default()
                .format(FORMAT)
                .ty(vk::ImageType::TYPE_2D)
                .tiling(tiling)
                .usage(IMAGE_USAGE)
                .push_next(&mut external);
            if tiling == vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT {
                info = info.push_next(&mut modifier);
            }
            let mut features = vk::ExternalImageFormatProperties::default();
            let mut out = vk::ImageFormatProperties2::default().push_next(&mut features);
            // SAFETY: the physical device is the instance's.
            let asked = unsafe {
                self.shared
                    .instance
                    .raw
                    .get_physical_device_image_format_properties2(self.physical, &info, &mut out)
            };
            asked.is_ok()
                && features
                    .external_memory_properties
                    .external_memory_features
                    .contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE)
        };
        let modifier = vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT;
        ask(modifier, LINEAR)
            && !ask(modifier, 1 << 56 | 1)
            && !ask(vk::ImageTiling::OPTIMAL, LINEAR)
    }

    fn fds(&self) -> ash::khr::external_memory_fd::Device {
        ash::khr::external_memory_fd::Device::new(&self.shared.instance.raw, &self.shared.raw)
    }

    /// Memory for `needs` that can be exported, and its dma-buf.
    fn export(&self, needs: &vk::MemoryRequirements) -> Result<(Rc<Memory>, Exported), Error> {
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE);
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(self.memory_type(Place::HostVisible, needs.memory_type_bits)?)
            .push_next(&mut export);
        let memory = self.own(&allocate)?;
        let info = vk::MemoryGetFdInfoKHR::default()
            .memory(memory.handle)
            .handle_type(HANDLE);
        // SAFETY: the memory was made to be exported as this.
        let fd = unsafe { self.fds().get_memory_fd(&info) }.named("vkGetMemoryFdKHR")?;
        // SAFETY: the driver just made it for us.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let size = needs.size;
        Ok((memory, Exported { size, fd }))
    }

    /// Memory of `size` bytes that is the dma-buf.
    fn import(
        &self,
        fd: BorrowedFd<'_>,
        size: u64,
        needs: &vk::MemoryRequirements,
    ) -> Result<Rc<Memory>, Error> {
        let fd = fd
            .try_clone_to_owned()
            .map_err(|error| Error::Option(format!("Could not duplicate a dma-buf: {error}")))?;
        let mut properties = vk::MemoryFdPropertiesKHR::default();
        // SAFETY: the descriptor is open.
        unsafe {
            self.fds()
                .get_memory_fd_properties(HANDLE, fd.as_raw_fd(), &mut properties)
        }
        .named("vkGetMemoryFdPropertiesKHR")?;
        let bits = properties.memory_type_bits & needs.memory_type_bits;
        let fd = fd.into_raw_fd();
        let mut import = vk::ImportMemoryFdInfoKHR::default()
            .handle_type(HANDLE)
            .fd(fd);
        let allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(self.memory_type(Place::HostVisible, bits)?)
            .push_next(&mut import);
        let memory = self.own(&allocate);
        if memory.is_err() {
            // SAFETY: a failed import leaves the descriptor to the caller.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        memory
    }

    fn own(&self, allocate: &vk::MemoryAllocateInfo<'_>) -> Result<Rc<Memory>, Error> {
        // SAFETY: `allocate` and its chain live across the call.
        let handle =
            unsafe { self.shared.raw.allocate_memory(allocate, None) }.named("vkAllocateMemory")?;
        Ok(Rc::new(Memory {
            shared: self.shared.clone(),
            handle,
            size: allocate.allocation_size,
            type_index: allocate.memory_type_index,
            mapped: None,
        }))
    }

    /// A storage buffer on memory that is exported.
    pub fn exported_buffer(&self, size: u64) -> Result<(Buffer, Exported), Error> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE);
        let unbound = self.create_buffer_as(
            &vk::BufferCreateInfo::default()
                .size(size)
                .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
                .push_next(&mut external),
        )?;
        let (memory, exported) = self.export(&unbound.requirements)?;
        Ok((unbound.bind(&memory, 0)?, exported))
    }

    /// A storage buffer on memory of `memory_size` bytes that another process exported.
    pub fn imported_buffer(
        &self,
        size: u64,
        fd: BorrowedFd<'_>,
        memory_size: u64,
    ) -> Result<Buffer, Error> {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE);
        let unbound = self.create_buffer_as(
            &vk::BufferCreateInfo::default()
                .size(size)
                .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
                .push_next(&mut external),
        )?;
        let memory = self.import(fd, memory_size, &unbound.requirements)?;
        unbound.bind(&memory, 0)
    }

    fn image(
        &self,
        side: u32,
        info: vk::ImageCreateInfo<'_>,
        memory: impl FnOnce(&vk::MemoryRequirements) -> Result<Rc<Memory>, Error>,
    ) -> Result<LinearImage, Error> {
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(HANDLE);
        let info = info
            .image_type(vk::ImageType::TYPE_2D)
            .format(FORMAT)
            .extent(vk::Extent3D::default().width(side).height(side).depth(1))
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT)
            .usage(IMAGE_USAGE)
            .push_next(&mut external);
        let raw = &self.shared.raw;
        // SAFETY: `info` and its chain live across the call.
        let handle = unsafe { raw.create_image(&info, None) }.named("vkCreateImage")?;
        // SAFETY: the image was just made, with a modifier, so its plane is a memory plane.
        let (needs, layout) = unsafe {
            let plane = vk::ImageSubresource::default()
                .aspect_mask(vk::ImageAspectFlags::MEMORY_PLANE_0_EXT);
            (
                raw.get_image_memory_requirements(handle),
                raw.get_image_subresource_layout(handle, plane),
            )
        };
        let memory = memory(&needs)?;
        let mut modifier = vk::ImageDrmFormatModifierPropertiesEXT::default();
        let modifiers =
            ash::ext::image_drm_format_modifier::Device::new(&self.shared.instance.raw, raw);
        // SAFETY: image and memory live; the memory is for this image.
        unsafe {
            raw.bind_image_memory(handle, memory.handle, 0)
                .named("vkBindImageMemory")?;
            modifiers
                .get_image_drm_format_modifier_properties(handle, &mut modifier)
                .named("vkGetImageDrmFormatModifierPropertiesEXT")?;
        }
        if modifier.drm_format_modifier != LINEAR {
            return Err(Error::Option(format!(
                "The image has the modifier {:#x}",
                modifier.drm_format_modifier
            )));
        }
        Ok(LinearImage {
            handle,
            offset: layout.offset,
            row_pitch: layout.row_pitch,
            side,
            _memory: memory,
            shared: self.shared.clone(),
        })
    }

    /// A square image on memory that is exported.
    pub fn exported_image(&self, side: u32) -> Result<(LinearImage, Exported), Error> {
        let modifiers = [LINEAR];
        let mut list =
            vk::ImageDrmFormatModifierListCreateInfoEXT::default().drm_format_modifiers(&modifiers);
        let mut exported = None;
        let image = self.image(
            side,
            vk::ImageCreateInfo::default().push_next(&mut list),
            |needs| {
                let (memory, out) = self.export(needs)?;
                exported = Some(out);
                Ok(memory)
            },
        )?;
        let exported = exported.ok_or_else(|| Error::Option("No memory was exported".into()))?;
        Ok((image, exported))
    }

    /// The image that another process exported, which lies at `offset` with `row_pitch`.
    pub fn imported_image(
        &self,
        side: u32,
        fd: BorrowedFd<'_>,
        memory_size: u64,
        (offset, row_pitch): (u64, u64),
    ) -> Result<LinearImage, Error> {
        let planes = [vk::SubresourceLayout {
            offset,
            row_pitch,
            ..Default::default()
        }];
        let mut explicit = vk::ImageDrmFormatModifierExplicitCreateInfoEXT::default()
            .drm_format_modifier(LINEAR)
            .plane_layouts(&planes);
        self.image(
            side,
            vk::ImageCreateInfo::default().push_next(&mut explicit),
            |needs| self.import(fd, memory_size, needs),
        )
    }

    /// Records a copy of a packed buffer into the image, which then is everybody's.
    pub fn record_image_write(
        &self,
        commands: &Commands,
        source: &Buffer,
        image: &LinearImage,
    ) -> Result<(), Error> {
        commands.record(false, |recorder| {
            recorder.image_handover(
                image,
                (vk::ImageLayout::UNDEFINED, vk::QUEUE_FAMILY_IGNORED),
                (
                    vk::ImageLayout::TRANSFER_DST_OPTIMAL,
                    vk::QUEUE_FAMILY_IGNORED,
                ),
            );
            recorder.copy_to_image(source, image);
            recorder.image_handover(
                image,
                (vk::ImageLayout::TRANSFER_DST_OPTIMAL, self.family),
                (vk::ImageLayout::GENERAL, vk::QUEUE_FAMILY_FOREIGN_EXT),
            );
        })
    }

    /// Records a copy of an image that was everybody's into a packed buffer.
    pub fn record_image_read(
        &self,
        commands: &Commands,
        image: &LinearImage,
        target: &Buffer,
    ) -> Result<(), Error> {
        commands.record(false, |recorder| {
            recorder.image_handover(
                image,
                (vk::ImageLayout::GENERAL, vk::QUEUE_FAMILY_FOREIGN_EXT),
                (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, self.family),
            );
            recorder.copy_from_image(image, target);
            recorder.barrier_to_host();
        })
    }
}

impl LinearImage {
    fn whole(&self) -> vk::BufferImageCopy {
        vk::BufferImageCopy::default()
            .image_subresource(
                vk::ImageSubresourceLayers::default()
                    .aspect_mask(vk::ImageAspectFlags::COLOR)
                    .layer_count(1),
            )
            .image_extent(
                vk::Extent3D::default()
                    .width(self.side)
                    .height(self.side)
                    .depth(1),
            )
    }
}

// SAFETY (all commands below): as for the other commands of a recorder.
impl Recorder<'_> {
    /// Layout and owner of an image change.
    fn image_handover(
        &self,
        image: &LinearImage,
        from: (vk::ImageLayout, u32),
        to: (vk::ImageLayout, u32),
    ) {
        let barrier = vk::ImageMemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
            .old_layout(from.0)
            .new_layout(to.0)
            .src_queue_family_index(from.1)
            .dst_queue_family_index(to.1)
            .image(image.handle)
            .subresource_range(
                vk::ImageSubresourceRange::default()
                    .aspect_mask(vk::ImageAspectFlags::COLOR)
                    .level_count(1)
                    .layer_count(1),
            );
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_pipeline_barrier(
                self.handle,
                vk::PipelineStageFlags::ALL_COMMANDS,
                vk::PipelineStageFlags::ALL_COMMANDS,
                vk::DependencyFlags::empty(),
                &[],
                &[],
                &[barrier],
            );
        }
    }

    fn copy_to_image(&self, source: &Buffer, image: &LinearImage) {
        let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_copy_buffer_to_image(
                self.handle,
                source.handle,
                image.handle,
                layout,
                &[image.whole()],
            );
        }
    }

    fn copy_from_image(&self, image: &LinearImage, target: &Buffer) {
        let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_copy_image_to_buffer(
                self.handle,
                image.handle,
                layout,
                target.handle,
                &[image.whole()],
            );
        }
    }
}
