//! A physical device, and what a guest sees of it.

use std::ffi::CStr;

use ash::vk;

use crate::advertised::{emulated_properties, extension_names, is_emulated};
use crate::host::API_VERSION_MAX;
use crate::{GpuError, Named};

/// The guest's memory type for device-local memory, never guest-visible.
pub const MEMORY_TYPE_DEVICE: u32 = 0;
/// The guest's memory type for host-visible, coherent, cached memory in the arena.
pub const MEMORY_TYPE_HOST: u32 = 1;

/// Host-visible heap that a guest is shown at most, bytes.
const HOST_HEAP_LEN: u64 = 1 << 30;
/// Smallest heap that a guest is shown, bytes: Vulkan knows no empty ones.
const HEAP_LEN_MIN: u64 = 4096;

/// What the guest may allocate, bytes: no heap that it is shown is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapLimits {
    /// Device-local memory.
    pub device: u64,
    /// Host-visible memory.
    pub host: u64,
}

/// What must be equal for a context to move between two devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `VkPhysicalDeviceIDProperties::deviceUUID`.
    pub device_uuid: [u8; 16],
    /// `VkPhysicalDeviceIDProperties::driverUUID`.
    pub driver_uuid: [u8; 16],
    /// `VkPhysicalDeviceProperties::vendorID`.
    pub vendor_id: u32,
    /// `VkPhysicalDeviceProperties::deviceID`.
    pub device_id: u32,
    /// `VkPhysicalDeviceProperties::driverVersion`.
    pub driver_version: u32,
    /// `VkPhysicalDeviceDriverProperties::driverInfo`.
    pub driver_info: String,
    /// Device name.
    pub name: String,
}

/// A physical device of the host.
#[derive(Clone, Debug)]
pub struct PhysicalDevice {
    handle: vk::PhysicalDevice,
    properties: vk::PhysicalDeviceProperties,
    memory: vk::PhysicalDeviceMemoryProperties,
    extensions: Vec<vk::ExtensionProperties>,
    host_extensions: Vec<String>,
    identity: Identity,
    has_robustness2: bool,
}

fn text(chars: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = chars
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| *c as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl PhysicalDevice {
    pub(crate) fn new(
        instance: &ash::Instance,
        handle: vk::PhysicalDevice,
    ) -> Result<Self, GpuError> {
        let mut ids = vk::PhysicalDeviceIDProperties::default();
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties2 = vk::PhysicalDeviceProperties2::default()
            .push_next(&mut ids)
            .push_next(&mut driver);
        // SAFETY: `handle` came from `instance`; the chain is alive.
        unsafe { instance.get_physical_device_properties2(handle, &mut properties2) };
        let properties = properties2.properties;
        let name = text(&properties.device_name);
        if driver.driver_id == vk::DriverId::MESA_VENUS {
            return Err(GpuError::NoDevice(format!("{name} is Venus itself")));
        }
        // SAFETY: as above.
        let memory = unsafe { instance.get_physical_device_memory_properties(handle) };
        // SAFETY: as above.
        let all = unsafe { instance.enumerate_device_extension_properties(handle) }
            .named("vkEnumerateDeviceExtensionProperties")?;
        let host_extensions: Vec<String> = all.iter().map(|e| text(&e.extension_name)).collect();
        if !host_extensions
            .iter()
            .any(|e| e == "VK_EXT_external_memory_host")
        {
            return Err(GpuError::Lacks {
                device: name,
                what: "VK_EXT_external_memory_host",
            });
        }
        let extensions = all
            .into_iter()
            .filter(|e| {
                extension_names().any(|n| n.to_bytes() == text(&e.extension_name).as_bytes())
                    && !e.extension_name_as_c_str().is_ok_and(is_emulated)
            })
            .chain(emulated_properties())
            .collect();
        let identity = Identity {
            device_uuid: ids.device_uuid,
            driver_uuid: ids.driver_uuid,
            vendor_id: properties.vendor_id,
            device_id: properties.device_id,
            driver_version: properties.driver_version,
            driver_info: text(&driver.driver_info),
            name,
        };
        Ok(Self {
            handle,
            properties,
            memory,
            extensions,
            has_robustness2: host_extensions.iter().any(|e| e == "VK_EXT_robustness2"),
            host_extensions,
            identity,
        })
    }

    /// Host handle.
    pub fn handle(&self) -> vk::PhysicalDevice {
        self.handle
    }

    /// Host device name.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// What must be equal on another host.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether the host can keep shader writes inside what is bound.
    pub fn has_robustness2(&self) -> bool {
        self.has_robustness2
    }

    pub(crate) fn rank(&self) -> u32 {
        match self.properties.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => 4,
            vk::PhysicalDeviceType::INTEGRATED_GPU => 3,
            vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
            vk::PhysicalDeviceType::CPU => 1,
            _ => 0,
        }
    }

    /// Whether the host has an extension, advertised or not.
    pub fn has_extension(&self, name: &CStr) -> bool {
        self.host_extensions
            .iter()
            .any(|e| e.as_bytes() == name.to_bytes())
    }

    /// The extensions that a guest is shown.
    pub fn guest_extensions(&self) -> &[vk::ExtensionProperties] {
        &self.extensions
    }

    /// Rewrites `properties` from what the host says to what a guest is shown.
    pub fn to_guest_properties(&self, properties: &mut vk::PhysicalDeviceProperties) {
        properties.api_version = properties.api_version.min(vk::make_api_version(
            0,
            1,
            3,
            vk::api_version_patch(properties.api_version),
        ));
        if properties.api_version > API_VERSION_MAX {
            properties.api_version =
                API_VERSION_MAX | vk::api_version_patch(properties.api_version);
        }
        let name = format!("Hesper ({})", self.identity.name);
        for (slot, byte) in properties
            .device_name
            .iter_mut()
            .zip(name.bytes().take(255).chain(std::iter::repeat(0)))
        {
            *slot = byte as std::ffi::c_char;
        }
        properties.sparse_properties = vk::PhysicalDeviceSparseProperties::default();
        properties.limits.sparse_address_space_size = 0;
    }

    /// What a guest may do with the sync files of a binary semaphore; nothing for other handles
    /// and for timelines.
    pub fn guest_semaphore_properties(
        handle_type: vk::ExternalSemaphoreHandleTypeFlags,
        timeline: bool,
        properties: &mut vk::ExternalSemaphoreProperties<'_>,
    ) {
        let sync_fd = vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;
        if handle_type == sync_fd && !timeline {
            properties.export_from_imported_handle_types = sync_fd;
            properties.compatible_handle_types = sync_fd;
            properties.external_semaphore_features = vk::ExternalSemaphoreFeatureFlags::EXPORTABLE
                | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE;
        }
    }

    /// What a guest may do with the sync files of a fence. Imports end in the guest.
    pub fn guest_fence_properties(
        handle_type: vk::ExternalFenceHandleTypeFlags,
        properties: &mut vk::ExternalFenceProperties<'_>,
    ) {
        let sync_fd = vk::ExternalFenceHandleTypeFlags::SYNC_FD;
        if handle_type == sync_fd {
            properties.export_from_imported_handle_types = sync_fd;
            properties.compatible_handle_types = sync_fd;
            properties.external_fence_features = vk::ExternalFenceFeatureFlags::EXPORTABLE;
        }
    }

    /// Rewrites one structure of a property chain to what a guest is shown.
    ///
    /// # Safety
    /// `next` is a valid property structure of the type that its sType names, and nothing else
    /// refers to it.
    pub unsafe fn to_guest_properties_chained(next: *mut vk::BaseOutStructure<'static>) {
        // SAFETY: by the contract of this function.
        unsafe {
            match (*next).s_type {
                vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES => {
                    let properties = next.cast::<vk::PhysicalDeviceVulkan11Properties<'_>>();
                    (*properties).protected_no_fault = vk::FALSE;
                }
                vk::StructureType::PHYSICAL_DEVICE_PROTECTED_MEMORY_PROPERTIES => {
                    let properties = next.cast::<vk::PhysicalDeviceProtectedMemoryProperties<'_>>();
                    (*properties).protected_no_fault = vk::FALSE;
                }
                _ => {}
            }
        }
    }

    /// Rewrites queue families to what a guest is shown: the kinds of work that are served, and
    /// no more queues in all than there are timelines to tell of them, `queues_max`.
    pub fn to_guest_families(families: &mut [vk::QueueFamilyProperties2<'_>], queues_max: u32) {
        let each = (queues_max / families.len().max(1) as u32).max(1);
        for family in families {
            let family = &mut family.queue_family_properties;
            family.queue_flags &=
                vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | vk::QueueFlags::TRANSFER;
            family.queue_count = family.queue_count.min(each);
        }
    }

    /// The two memory types of every guest, each with a heap of its own within `limits`. Who allocates all the same past
    /// them is answered with Vulkan's out-of-memory errors.
    pub fn guest_memory_properties(
        &self,
        limits: HeapLimits,
    ) -> vk::PhysicalDeviceMemoryProperties {
        let device_heap = self.memory.memory_heaps[..self.memory.memory_heap_count as usize]
            .iter()
            .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
            .map(|heap| heap.size)
            .max()
            .unwrap_or(HOST_HEAP_LEN);
        let mut guest = vk::PhysicalDeviceMemoryProperties {
            memory_type_count: 2,
            memory_heap_count: 2,
            ..Default::default()
        };
        guest.memory_types[MEMORY_TYPE_DEVICE as usize] = vk::MemoryType {
            property_flags: vk::MemoryPropertyFlags::DEVICE_LOCAL,
            heap_index: 0,
        };
        guest.memory_types[MEMORY_TYPE_HOST as usize] = vk::MemoryType {
            property_flags: vk::MemoryPropertyFlags::HOST_VISIBLE
                | vk::MemoryPropertyFlags::HOST_COHERENT
                | vk::MemoryPropertyFlags::HOST_CACHED,
            heap_index: 1,
        };
        guest.memory_heaps[0] = vk::MemoryHeap {
            size: shown_heap(device_heap, limits.device),
            flags: vk::MemoryHeapFlags::DEVICE_LOCAL,
        };
        guest.memory_heaps[1] = vk::MemoryHeap {
            size: shown_heap(HOST_HEAP_LEN, limits.host),
            flags: vk::MemoryHeapFlags::empty(),
        };
        guest
    }

    /// Host type bits turned into the guest's two bits.
    pub fn to_guest_type_bits(&self, host_bits: u32) -> u32 {
        let mut bits = 0;
        if self.device_type(host_bits).is_some() {
            bits |= 1 << MEMORY_TYPE_DEVICE;
        }
        if self.host_type(host_bits).is_some() {
            bits |= 1 << MEMORY_TYPE_HOST;
        }
        bits
    }

    fn find_type(
        &self,
        host_bits: u32,
        wanted: vk::MemoryPropertyFlags,
        avoided: vk::MemoryPropertyFlags,
    ) -> Option<u32> {
        (0..self.memory.memory_type_count).find(|index| {
            let flags = self.memory.memory_types[*index as usize].property_flags;
            host_bits >> index & 1 == 1 && flags.contains(wanted) && !flags.intersects(avoided)
        })
    }

    /// Host type for device-local memory out of `host_bits`: the least visible one there is.
    pub fn device_type(&self, host_bits: u32) -> Option<u32> {
        let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
        let special = vk::MemoryPropertyFlags::PROTECTED
            | vk::MemoryPropertyFlags::LAZILY_ALLOCATED
            | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD;
        self.find_type(
            host_bits,
            local,
            special | vk::MemoryPropertyFlags::HOST_VISIBLE,
        )
        .or_else(|| self.find_type(host_bits, local, special))
    }

    /// Host type for memory that the CPU reads and writes, out of `host_bits`.
    pub fn host_type(&self, host_bits: u32) -> Option<u32> {
        let coherent =
            vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let none = vk::MemoryPropertyFlags::empty();
        self.find_type(
            host_bits,
            coherent | vk::MemoryPropertyFlags::HOST_CACHED,
            none,
        )
        .or_else(|| self.find_type(host_bits, coherent, none))
    }
}

/// Size of a heap of `len` bytes of which the guest may have `limit`.
fn shown_heap(len: u64, limit: u64) -> u64 {
    len.min(limit).max(HEAP_LEN_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_heap_is_within_host_and_limit_and_never_empty() {
        assert_eq!(shown_heap(1 << 30, 1 << 20), 1 << 20);
        assert_eq!(shown_heap(1 << 30, u64::MAX), 1 << 30);
        assert_eq!(shown_heap(1 << 30, 0), HEAP_LEN_MIN);
    }

    #[test]
    fn to_guest_families_limits_kinds_and_counts() {
        let family = vk::QueueFamilyProperties {
            queue_flags: vk::QueueFlags::COMPUTE | vk::QueueFlags::SPARSE_BINDING,
            queue_count: 40,
            ..Default::default()
        };
        let mut families =
            [vk::QueueFamilyProperties2::default().queue_family_properties(family); 3];

        PhysicalDevice::to_guest_families(&mut families, 63);

        for family in families {
            let family = family.queue_family_properties;
            assert_eq!(family.queue_flags, vk::QueueFlags::COMPUTE);
            assert_eq!(family.queue_count, 21);
        }
    }

    #[test]
    fn guest_sync_files_are_for_binary_semaphores_and_fences() {
        let ask = |timeline, ty| {
            let mut properties = vk::ExternalSemaphoreProperties::default();
            PhysicalDevice::guest_semaphore_properties(ty, timeline, &mut properties);
            properties.external_semaphore_features
        };
        let sync_fd = vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD;
        let opaque = vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD;
        let none = vk::ExternalSemaphoreFeatureFlags::empty();

        assert_eq!(
            ask(false, sync_fd),
            vk::ExternalSemaphoreFeatureFlags::EXPORTABLE
                | vk::ExternalSemaphoreFeatureFlags::IMPORTABLE
        );
        assert_eq!((ask(true, sync_fd), ask(false, opaque)), (none, none));
    }
}
