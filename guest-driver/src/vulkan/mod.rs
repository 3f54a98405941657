//! Thin wrapper of Vulkan through `ash`, loaded at run time. All `unsafe` of the Vulkan side is here
//! and in the submodules.
//!
//! Objects own their handle, share the device and destroy themselves. The wrapper doesn't track
//! what the queue still uses: the callers wait for a submission before they change or drop anything
//! that it names, and that is the premise of the SAFETY comments ("idle").

pub mod command;
pub mod graphics;
pub mod image;
pub mod memory;
pub mod pipeline;
mod render;
pub mod share;
pub mod sync;

use std::ffi::CStr;
use std::rc::Rc;

use ash::vk;

use crate::error::{Error, Named};

pub use command::{Batch, Commands, Recorder};
pub use memory::{Buffer, Place};
pub use pipeline::{Layout, Pipeline, Set, SetPool};
pub use sync::{Fence, Timeline};

/// The newest version that the tools call: it has timeline semaphores and device addresses.
const API_VERSION: u32 = vk::API_VERSION_1_2;

/// Optional features: asked for on [`Gpu::open`], and what came of it in [`Gpu::features`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// Out-of-bounds accesses to buffers stay inside what is bound.
    pub robust_buffer: bool,
    pub timeline: bool,
    pub device_address: bool,
    pub variable_pointers: bool,
    pub array_indexing: bool,
    pub dynamic_rendering: bool,
}

/// The instance and the loader that it needs to live on.
pub struct Instance {
    // Field order matters nowhere but here: the loader's library must outlive every call.
    raw: ash::Instance,
    entry: ash::Entry,
}

impl Instance {
    /// Loads `libvulkan.so.1` and makes an instance without extensions.
    pub fn new() -> Result<Self, Error> {
        // SAFETY: the loader is the system's Vulkan library; its initialisers are trusted.
        let entry = unsafe { ash::Entry::load() }?;
        let app = vk::ApplicationInfo::default()
            .application_name(c"hesper-guest")
            .api_version(API_VERSION);
        let create = vk::InstanceCreateInfo::default().application_info(&app);
        // SAFETY: `create` and what it points to live across the call.
        let raw = unsafe { entry.create_instance(&create, None) }.named("vkCreateInstance")?;
        Ok(Self { raw, entry })
    }

    /// Version that the loader offers for instances.
    pub fn loader_version(&self) -> u32 {
        // SAFETY: a global command without parameters.
        unsafe { self.entry.try_enumerate_instance_version() }
            .ok()
            .flatten()
            .unwrap_or(vk::API_VERSION_1_0)
    }

    /// Every physical device, in the loader's order.
    pub fn devices(&self) -> Result<Vec<PhysicalDevice<'_>>, Error> {
        // SAFETY: the instance is alive.
        let handles =
            unsafe { self.raw.enumerate_physical_devices() }.named("vkEnumeratePhysicalDevices")?;
        Ok(handles
            .into_iter()
            .map(|handle| PhysicalDevice {
                handle,
                instance: self,
            })
            .collect())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: devices hold the instance through an `Rc`, so none is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

/// A physical device, for looking at.
#[derive(Clone, Copy)]
pub struct PhysicalDevice<'a> {
    handle: vk::PhysicalDevice,
    instance: &'a Instance,
}

impl PhysicalDevice<'_> {
    /// Core properties.
    pub fn properties(&self) -> vk::PhysicalDeviceProperties {
        // SAFETY: the handle is of this instance.
        unsafe {
            self.instance
                .raw
                .get_physical_device_properties(self.handle)
        }
    }

    /// Name, driver id, driver name and driver information; the last three are of Vulkan 1.2.
    pub fn driver(&self) -> Option<(vk::DriverId, String, String)> {
        if self.properties().api_version < vk::API_VERSION_1_2 {
            return None;
        }
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        // SAFETY: the device is of version 1.2, as the chained structure requires.
        unsafe {
            self.instance
                .raw
                .get_physical_device_properties2(self.handle, &mut properties);
        }
        Some((
            driver.driver_id,
            text(driver.driver_name_as_c_str()),
            text(driver.driver_info_as_c_str()),
        ))
    }

    /// Memory types and heaps.
    pub fn memory(&self) -> vk::PhysicalDeviceMemoryProperties {
        // SAFETY: the handle is of this instance.
        unsafe {
            self.instance
                .raw
                .get_physical_device_memory_properties(self.handle)
        }
    }

    /// Queue families.
    pub fn families(&self) -> Vec<vk::QueueFamilyProperties> {
        // SAFETY: the handle is of this instance.
        unsafe {
            self.instance
                .raw
                .get_physical_device_queue_family_properties(self.handle)
        }
    }

    /// Name of the device.
    pub fn name(&self) -> String {
        text(self.properties().device_name_as_c_str())
    }

    /// Features of a format for texel buffers.
    pub fn buffer_format(&self, format: vk::Format) -> vk::FormatFeatureFlags {
        // SAFETY: the handle is of this instance.
        unsafe {
            self.instance
                .raw
                .get_physical_device_format_properties(self.handle, format)
        }
        .buffer_features
    }

    fn has_extension(&self, name: &CStr) -> Result<bool, Error> {
        // SAFETY: the handle is of this instance.
        let all = unsafe {
            self.instance
                .raw
                .enumerate_device_extension_properties(self.handle)
        }
        .named("vkEnumerateDeviceExtensionProperties")?;
        Ok(all
            .iter()
            .any(|extension| extension.extension_name_as_c_str() == Ok(name)))
    }

    /// Dynamic rendering, known by its extension, is left out.
    fn features(&self) -> Features {
        let mut eleven = vk::PhysicalDeviceVulkan11Features::default();
        let mut twelve = vk::PhysicalDeviceVulkan12Features::default();
        let mut all = vk::PhysicalDeviceFeatures2::default();
        if self.properties().api_version >= vk::API_VERSION_1_2 {
            all = all.push_next(&mut eleven).push_next(&mut twelve);
        }
        // SAFETY: the chained structures are added for devices of version 1.2 only.
        unsafe {
            self.instance
                .raw
                .get_physical_device_features2(self.handle, &mut all);
        }
        let core = all.features;
        Features {
            robust_buffer: core.robust_buffer_access == vk::TRUE,
            timeline: twelve.timeline_semaphore == vk::TRUE,
            device_address: twelve.buffer_device_address == vk::TRUE,
            variable_pointers: eleven.variable_pointers_storage_buffer == vk::TRUE,
            array_indexing: core.shader_storage_buffer_array_dynamic_indexing == vk::TRUE,
            dynamic_rendering: false,
        }
    }
}

fn text(name: Result<&CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_else(|_| "(unreadable)".to_owned())
}

/// The logical device, shared by every object made from it.
pub(crate) struct Shared {
    pub(crate) raw: ash::Device,
    instance: Instance,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: every object holds this value through an `Rc`, so none is left; the queue is
        // idle by then or the device is lost.
        unsafe { self.raw.destroy_device(None) };
    }
}

/// A logical device with one compute queue.
pub struct Gpu {
    pub(crate) shared: Rc<Shared>,
    physical: vk::PhysicalDevice,
    queue: vk::Queue,
    family: u32,
    memory: vk::PhysicalDeviceMemoryProperties,
    pub properties: vk::PhysicalDeviceProperties,
    pub features: Features,
    /// Storage texel buffers of R32_UINT work.
    pub storage_texel: bool,
    /// The queue draws.
    pub graphics: bool,
}

impl Gpu {
    /// Opens the device whose name contains `wanted` (any case), or the first that isn't a CPU, or
    /// the first, with those of the `asked` features that it has.
    pub fn open(wanted: Option<&str>, asked: Features) -> Result<Self, Error> {
        Self::open_with(wanted, asked, &[])
    }

    /// As [`Gpu::open`], with device extensions.
    pub fn open_with(
        wanted: Option<&str>,
        asked: Features,
        extensions: &[&CStr],
    ) -> Result<Self, Error> {
        let instance = Instance::new()?;
        let devices = instance.devices()?;
        let physical = choose(&devices, wanted)?;
        let family = compute_family(physical)
            .ok_or_else(|| Error::NoDevice(format!(" ({})", physical.name())))?;
        let has = physical.features();
        let features = Features {
            robust_buffer: asked.robust_buffer && has.robust_buffer,
            timeline: asked.timeline && has.timeline,
            device_address: asked.device_address && has.device_address,
            variable_pointers: asked.variable_pointers && has.variable_pointers,
            array_indexing: asked.array_indexing && has.array_indexing,
            dynamic_rendering: asked.dynamic_rendering
                && physical.has_extension(ash::khr::dynamic_rendering::NAME)?,
        };
        let graphics = physical.families()[family as usize]
            .queue_flags
            .contains(vk::QueueFlags::GRAPHICS);
        let properties = physical.properties();
        let memory = physical.memory();
        let storage_texel = physical
            .buffer_format(vk::Format::R32_UINT)
            .contains(vk::FormatFeatureFlags::STORAGE_TEXEL_BUFFER);
        let handle = physical.handle;

        let core = vk::PhysicalDeviceFeatures::default()
            .robust_buffer_access(features.robust_buffer)
            .shader_storage_buffer_array_dynamic_indexing(features.array_indexing);
        let mut eleven = vk::PhysicalDeviceVulkan11Features::default()
            .variable_pointers_storage_buffer(features.variable_pointers);
        let mut twelve = vk::PhysicalDeviceVulkan12Features::default()
            .timeline_semaphore(features.timeline)
            .buffer_device_address(features.device_address);
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&priorities)];
        let mut names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
        let mut dynamic =
            vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        if features.dynamic_rendering {
            names.push(ash::khr::dynamic_rendering::NAME.as_ptr());
        }
        let mut create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .enabled_features(&core);
        if properties.api_version >= vk::API_VERSION_1_2 {
            create = create.push_next(&mut eleven).push_next(&mut twelve);
        }
        if features.dynamic_rendering {
            create = create.push_next(&mut dynamic);
        }
        // SAFETY: the handle is of this instance, and `create` names a queue family that exists
        // and features that the device has.
        let raw =
            unsafe { instance.raw.create_device(handle, &create, None) }.named("vkCreateDevice")?;
        // SAFETY: one queue of this family was created above.
        let queue = unsafe { raw.get_device_queue(family, 0) };
        Ok(Self {
            shared: Rc::new(Shared { raw, instance }),
            physical: handle,
            queue,
            family,
            memory,
            properties,
            features,
            storage_texel,
            graphics,
        })
    }

    /// Name of the device.
    pub fn name(&self) -> String {
        text(self.properties.device_name_as_c_str())
    }

    /// Waits until the queue has nothing left to do.
    pub fn wait_idle(&self) -> Result<(), Error> {
        // SAFETY: the device is alive and used by one thread only.
        unsafe { self.shared.raw.device_wait_idle() }.named("vkDeviceWaitIdle")
    }

    /// Index of a memory type among `bits`. Device-local: without host-visible if there is such.
    pub fn memory_type(&self, place: Place, bits: u32) -> Result<u32, Error> {
        memory::choose_type(&self.memory, place, bits)
    }
}

fn choose<'a>(
    devices: &'a [PhysicalDevice<'a>],
    wanted: Option<&str>,
) -> Result<&'a PhysicalDevice<'a>, Error> {
    let able = || devices.iter().filter(|d| compute_family(d).is_some());
    let found = match wanted {
        Some(wanted) => {
            let wanted = wanted.to_lowercase();
            able().find(|d| d.name().to_lowercase().contains(&wanted))
        }
        None => able()
            .find(|d| d.properties().device_type != vk::PhysicalDeviceType::CPU)
            .or_else(|| able().next()),
    };
    found.ok_or_else(|| {
        Error::NoDevice(wanted.map_or(String::new(), |name| format!(" named like \"{name}\"")))
    })
}

fn compute_family(device: &PhysicalDevice<'_>) -> Option<u32> {
    (0u32..)
        .zip(device.families())
        .find(|(_, family)| family.queue_flags.contains(vk::QueueFlags::COMPUTE))
        .map(|(index, _)| index)
}
