//! Where device memory comes from: the device itself, or pages of the arena imported from the
//! host (`VK_EXT_external_memory_host`).

use ash::vk;
use hesper_memory::Mapping;

use crate::{Device, GpuError, Named};

/// Pages that back an imported allocation. The mapping is kept for as long as the memory lives.
#[derive(Clone, Debug)]
pub struct HostPages {
    /// The mapping that holds them.
    pub mapping: Mapping,
    /// Where they start in it, bytes, a multiple of 4096.
    pub offset: u64,
    /// Length, bytes, a multiple of 4096.
    pub len: u64,
}

/// A host allocation. Freed by [`DeviceMemory::free`], because that needs the device.
#[derive(Debug)]
pub struct DeviceMemory {
    /// Host handle.
    pub handle: vk::DeviceMemory,
    /// Bytes allocated.
    pub len: u64,
    /// The pages, for imported memory.
    pub pages: Option<HostPages>,
}

impl DeviceMemory {
    /// Device-local memory of `len` bytes; `flags` are the guest's (device address and so on).
    ///
    /// # Errors
    /// [`GpuError::Vulkan`] with the driver's answer.
    pub fn device_local(
        device: &Device,
        len: u64,
        flags: vk::MemoryAllocateFlags,
    ) -> Result<Self, GpuError> {
        let index = device
            .physical()
            .device_type(u32::MAX)
            .ok_or_else(|| GpuError::Lacks {
                device: device.physical().name().to_owned(),
                what: "a device-local memory type",
            })?;
        let mut allocate_flags = vk::MemoryAllocateFlagsInfo::default().flags(flags);
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(len)
            .memory_type_index(index);
        if !flags.is_empty() {
            info = info.push_next(&mut allocate_flags);
        }
        // SAFETY: the device is alive and `info` outlives the call.
        let handle =
            unsafe { device.raw().allocate_memory(&info, None) }.named("vkAllocateMemory")?;
        Ok(Self {
            handle,
            len,
            pages: None,
        })
    }

    /// Imports pages of the host.
    ///
    /// # Errors
    /// [`GpuError`]: out of range, or the driver's answer.
    pub fn import(
        device: &Device,
        pages: HostPages,
        flags: vk::MemoryAllocateFlags,
    ) -> Result<Self, GpuError> {
        let handle_type = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
        let pointer = pages.mapping.as_ptr(pages.offset, pages.len)?.cast();
        let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
        // SAFETY: the pointer is a mapped range of `pages.len` bytes.
        unsafe {
            (device
                .host_memory()
                .fp()
                .get_memory_host_pointer_properties_ext)(
                device.raw().handle(),
                handle_type,
                pointer,
                &mut properties,
            )
        }
        .result()
        .named("vkGetMemoryHostPointerPropertiesEXT")?;
        let index = device
            .physical()
            .host_type(properties.memory_type_bits)
            .ok_or_else(|| GpuError::Lacks {
                device: device.physical().name().to_owned(),
                what: "a host-visible memory type for imported pages",
            })?;
        let mut import = vk::ImportMemoryHostPointerInfoEXT::default()
            .handle_type(handle_type)
            .host_pointer(pointer);
        let mut allocate_flags = vk::MemoryAllocateFlagsInfo::default().flags(flags);
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(pages.len)
            .memory_type_index(index)
            .push_next(&mut import);
        if !flags.is_empty() {
            info = info.push_next(&mut allocate_flags);
        }
        // SAFETY: the pages stay mapped while the memory lives, since `Self` holds the mapping.
        let handle = unsafe { device.raw().allocate_memory(&info, None) }
            .named("vkAllocateMemory (import)")?;
        Ok(Self {
            handle,
            len: pages.len,
            pages: Some(pages),
        })
    }

    /// Gives the memory back to the driver.
    ///
    /// # Safety
    /// No submission may still use it.
    pub unsafe fn free(self, device: &Device) {
        // SAFETY: the caller vouches that the device is done with it.
        unsafe { device.raw().free_memory(self.handle, None) };
    }
}
