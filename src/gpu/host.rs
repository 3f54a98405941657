//! The loader and one host instance.

use ash::vk;

use crate::{GpuError, Named, PhysicalDevice};

/// The Vulkan version whose registry the codec was made from, as the capset tells it.
pub const VENUS_VK_XML_VERSION: u32 = vk::make_api_version(0, 1, 3, 281);

/// Highest Vulkan version that a guest is shown.
pub(crate) const API_VERSION_MAX: u32 = vk::API_VERSION_1_3;

/// A host instance. One context makes one, so that a driver's state is never shared.
pub struct Instance {
    // Field order: the instance goes before the library that it came from.
    raw: ash::Instance,
    entry: ash::Entry,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("handle", &self.raw.handle())
            .finish()
    }
}

impl Instance {
    /// Loads the Vulkan loader and creates an instance without layers.
    ///
    /// # Errors
    /// [`GpuError::Loader`], [`GpuError::Vulkan`].
    pub fn new() -> Result<Self, GpuError> {
        // SAFETY: loading the system's Vulkan loader runs its initialisers, nothing of ours.
        let entry = unsafe { ash::Entry::load() }?;
        let application = vk::ApplicationInfo::default()
            .application_name(c"hesperd")
            .api_version(API_VERSION_MAX);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `info` and what it points to outlive the call.
        let raw = unsafe { entry.create_instance(&info, None) }.named("vkCreateInstance")?;
        Ok(Self { raw, entry })
    }

    /// The ash instance.
    pub fn raw(&self) -> &ash::Instance {
        &self.raw
    }

    /// The loader.
    pub fn entry(&self) -> &ash::Entry {
        &self.entry
    }

    /// The device to present: the one whose name contains `wanted`, else the best one. Venus
    /// itself is never taken, or a host that is a guest would serve itself.
    ///
    /// # Errors
    /// [`GpuError::NoDevice`], or what the driver said.
    pub fn pick(&self, wanted: Option<&str>) -> Result<PhysicalDevice, GpuError> {
        // SAFETY: the instance is alive.
        let handles =
            unsafe { self.raw.enumerate_physical_devices() }.named("vkEnumeratePhysicalDevices")?;
        let mut best: Option<(u32, PhysicalDevice)> = None;
        let mut seen = Vec::new();
        for handle in handles {
            let candidate = match PhysicalDevice::new(&self.raw, handle) {
                Ok(candidate) => candidate,
                Err(error) => {
                    tracing::debug!(%error, "Passing over a device");
                    continue;
                }
            };
            seen.push(candidate.name().to_owned());
            let rank = match wanted {
                Some(part) if !candidate.name().contains(part) => continue,
                _ => candidate.rank(),
            };
            if best.as_ref().is_none_or(|(other, _)| rank > *other) {
                best = Some((rank, candidate));
            }
        }
        best.map(|(_, device)| device).ok_or_else(|| {
            GpuError::NoDevice(match wanted {
                Some(part) => format!("named {part:?} among {seen:?}"),
                None => "that can be used".into(),
            })
        })
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: everything made from the instance is dropped before it by its owner, the
        // context, which holds devices and this instance in that order.
        unsafe { self.raw.destroy_instance(None) };
    }
}
