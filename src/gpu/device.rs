//! A host device, made for one guest device.

use std::ffi::CStr;

use ash::vk;

use crate::{GpuError, Instance, Named, PhysicalDevice};

/// A host device with what every context needs of it.
pub struct Device {
    raw: ash::Device,
    host_memory: ash::ext::external_memory_host::Device,
    physical: PhysicalDevice,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("handle", &self.raw.handle())
            .field("physical", &self.physical.name())
            .finish()
    }
}

/// Extensions that we use ourselves.
const OURS: &[&CStr] = &[c"VK_EXT_external_memory_host"];

impl Device {
    /// Creates a device as the guest's `info` asks, plus what Hesper itself needs: imports of host
    /// memory, timeline semaphores, and robust buffer access, so that shader writes stay inside
    /// what is bound (the audit's ground).
    ///
    /// `extensions` are the guest's extension names, already checked against what was advertised.
    ///
    /// # Errors
    /// [`GpuError::Vulkan`] with the driver's answer.
    ///
    /// # Safety
    /// `info` and its chain must be valid for the call; nobody else may hold pointers into the
    /// chain, because features are switched on in place.
    pub unsafe fn new(
        instance: &Instance,
        physical: PhysicalDevice,
        info: &vk::DeviceCreateInfo<'_>,
        extensions: &[&CStr],
    ) -> Result<Self, GpuError> {
        let mut names: Vec<_> = extensions
            .iter()
            .filter(|name| !crate::is_emulated(name))
            .map(|name| name.as_ptr())
            .collect();
        for name in OURS {
            if !extensions.contains(name) {
                names.push(name.as_ptr());
            }
        }
        let mut info = *info;
        let mut features = vk::PhysicalDeviceFeatures::default();
        let mut robustness2 = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default();
        let mut features_in_chain = false;
        let mut has_timeline = false;
        let mut has_robustness2 = false;

        let mut next = info.p_next.cast::<vk::BaseOutStructure<'_>>().cast_mut();
        while !next.is_null() {
            // SAFETY: the caller vouches for the chain; each struct starts like the base one, and
            // its sType says which it is.
            unsafe {
                match (*next).s_type {
                    vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 => {
                        let f = next.cast::<vk::PhysicalDeviceFeatures2<'_>>();
                        (*f).features.robust_buffer_access = vk::TRUE;
                        features_in_chain = true;
                    }
                    vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES => {
                        let f = next.cast::<vk::PhysicalDeviceVulkan12Features<'_>>();
                        (*f).timeline_semaphore = vk::TRUE;
                        has_timeline = true;
                    }
                    vk::StructureType::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES => {
                        let f = next.cast::<vk::PhysicalDeviceTimelineSemaphoreFeatures<'_>>();
                        (*f).timeline_semaphore = vk::TRUE;
                        has_timeline = true;
                    }
                    vk::StructureType::PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT => {
                        let f = next.cast::<vk::PhysicalDeviceRobustness2FeaturesEXT<'_>>();
                        (*f).robust_buffer_access2 = vk::TRUE;
                        has_robustness2 = true;
                    }
                    _ => {}
                }
                next = (*next).p_next;
            }
        }
        if !features_in_chain {
            if !info.p_enabled_features.is_null() {
                // SAFETY: the caller vouches for the pointer.
                features = unsafe { *info.p_enabled_features };
            }
            features.robust_buffer_access = vk::TRUE;
            info.p_enabled_features = &raw const features;
        }
        if !has_timeline {
            timeline.timeline_semaphore = vk::TRUE;
            timeline.p_next = info.p_next.cast_mut();
            info.p_next = (&raw const timeline).cast();
        }
        if !has_robustness2 && physical.has_robustness2() {
            robustness2.robust_buffer_access2 = vk::TRUE;
            robustness2.p_next = info.p_next.cast_mut();
            info.p_next = (&raw const robustness2).cast();
        }
        if physical.has_robustness2() && !extensions.contains(&c"VK_EXT_robustness2") {
            names.push(c"VK_EXT_robustness2".as_ptr());
        }
        let info = info.enabled_extension_names(&names);
        // SAFETY: the physical device is the instance's; everything that `info` points to is
        // alive here.
        let raw = unsafe { instance.raw().create_device(physical.handle(), &info, None) }
            .named("vkCreateDevice")?;
        let host_memory = ash::ext::external_memory_host::Device::new(instance.raw(), &raw);
        Ok(Self {
            raw,
            host_memory,
            physical,
        })
    }

    /// The ash device.
    pub fn raw(&self) -> &ash::Device {
        &self.raw
    }

    /// The physical device below.
    pub fn physical(&self) -> &PhysicalDevice {
        &self.physical
    }

    pub(crate) fn host_memory(&self) -> &ash::ext::external_memory_host::Device {
        &self.host_memory
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the owner destroyed every object made from the device before.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.raw.destroy_device(None);
        }
    }
}
