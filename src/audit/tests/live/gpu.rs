//! The host's device that the programs run on.

use std::ffi::CStr;

use ash::vk::{self, Handle};
use hesper_venus::{CmdFns, DeviceFns};

/// What the device has beyond what every program needs.
#[derive(Clone, Copy, Debug)]
pub struct Has {
    /// Shader writes stay inside of descriptors.
    pub robust_descriptors: bool,
    pub geometry: bool,
    pub tessellation: bool,
    pub multiview: bool,
    pub imageless: bool,
    pub indirect_count: bool,
    pub variable_count: bool,
    pub statistics: bool,
    /// Formats that images may have: depth with stencil, compressed blocks, two planes, two planes with memory each.
    pub stencil: bool,
    pub blocks: bool,
    pub planes: bool,
    pub disjoint: bool,
    /// Resolves depth and stencil of several samples to sample 0.
    pub depth_resolve: bool,
}

/// How device-local memory of the programs is read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is mapped: its type is cached by the CPU.
    Mapped,
    /// The device copies it into a buffer that is.
    Copied,
}

pub struct Gpu {
    _entry: ash::Entry,
    instance: ash::Instance,
    pub device: ash::Device,
    pub queue: vk::Queue,
    pub device_fns: DeviceFns,
    pub cmd_fns: CmdFns,
    pub has: Has,
    pub access: Access,
    /// The host's types for the guest's device-local and host-visible memory.
    pub local_type: u32,
    pub visible_type: u32,
    /// Bytes between images and buffers in one memory object.
    pub granularity: u64,
    /// What lies in the memory of images is the device's own affair: it may change with compression while no texel does.
    /// Images are compared by their texels only.
    pub opaque: bool,
    /// Take each snapshot twice and count those that differ.
    pub twice: bool,
}

/// The host's device whose name contains `HESPER_ORACLE_DEVICE`, or the first one; or why it can't be used.
/// `HESPER_ORACLE_ACCESS=copied` reads memory back by copies even where it can be mapped.
pub fn open() -> Result<Gpu, String> {
    let wanted = std::env::var("HESPER_ORACLE_DEVICE").unwrap_or_default();
    let copied = std::env::var("HESPER_ORACLE_ACCESS").is_ok_and(|access| access == "copied");
    // SAFETY: the loader is a trusted library of this machine.
    let entry = unsafe { ash::Entry::load() }.map_err(|error| error.to_string())?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the structure is complete, and destroyed at Gpu's drop.
    let instance =
        unsafe { entry.create_instance(&info, None) }.map_err(|error| error.to_string())?;
    // SAFETY: the instance lives.
    let all =
        unsafe { instance.enumerate_physical_devices() }.map_err(|error| error.to_string())?;
    let named = all.into_iter().map(|physical| {
        // SAFETY: the physical device is the instance's.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        let name = properties
            .device_name_as_c_str()
            .unwrap_or_default()
            .to_string_lossy();
        (physical, properties, name.into_owned())
    });
    let (physical, properties, name) = named
        .filter(|(_, _, name)| name.contains(&wanted))
        .find(|(_, properties, _)| properties.api_version >= vk::API_VERSION_1_3)
        .ok_or(format!(
            "no device with Vulkan 1.3 whose name contains {wanted:?}"
        ))?;
    let (local_type, visible_type, access) = memory_types(&instance, physical, copied)?;

    let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
    let mut features11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut features12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut host = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut robustness)
        .push_next(&mut features11)
        .push_next(&mut features12);
    // SAFETY: the chain is complete and alive.
    unsafe { instance.get_physical_device_features2(physical, &mut host) };
    let host = host.features;
    let mut resolves = vk::PhysicalDeviceDepthStencilResolveProperties::default();
    let mut wide = vk::PhysicalDeviceProperties2::default().push_next(&mut resolves);
    // SAFETY: as above.
    unsafe { instance.get_physical_device_properties2(physical, &mut wide) };
    let can = |format: vk::Format, wanted: vk::FormatFeatureFlags| {
        // SAFETY: the physical device is the instance's.
        let format = unsafe { instance.get_physical_device_format_properties(physical, format) };
        format.optimal_tiling_features.contains(wanted)
    };
    let transfer = vk::FormatFeatureFlags::TRANSFER_SRC | vk::FormatFeatureFlags::TRANSFER_DST;
    let two_planes = vk::Format::G8_B8R8_2PLANE_420_UNORM;
    let planes = features11.sampler_ycbcr_conversion == vk::TRUE && can(two_planes, transfer);
    let sample_zero = vk::ResolveModeFlags::SAMPLE_ZERO;
    let has = Has {
        robust_descriptors: robustness.robust_buffer_access2 == vk::TRUE,
        geometry: host.geometry_shader == vk::TRUE,
        tessellation: host.tessellation_shader == vk::TRUE,
        multiview: features11.multiview == vk::TRUE,
        imageless: features12.imageless_framebuffer == vk::TRUE,
        indirect_count: features12.draw_indirect_count == vk::TRUE,
        variable_count: features12.descriptor_binding_variable_descriptor_count == vk::TRUE,
        statistics: host.pipeline_statistics_query == vk::TRUE,
        stencil: can(
            vk::Format::D32_SFLOAT_S8_UINT,
            vk::FormatFeatureFlags::DEPTH_STENCIL_ATTACHMENT | transfer,
        ),
        blocks: host.texture_compression_bc == vk::TRUE
            && can(vk::Format::BC1_RGB_UNORM_BLOCK, transfer),
        planes,
        disjoint: planes && can(two_planes, vk::FormatFeatureFlags::DISJOINT),
        depth_resolve: resolves.supported_depth_resolve_modes.contains(sample_zero)
            && resolves
                .supported_stencil_resolve_modes
                .contains(sample_zero),
    };

    let features = vk::PhysicalDeviceFeatures::default()
        .robust_buffer_access(true)
        .shader_int64(true)
        .vertex_pipeline_stores_and_atomics(true)
        .fragment_stores_and_atomics(true)
        .shader_storage_buffer_array_dynamic_indexing(true)
        .geometry_shader(has.geometry)
        .tessellation_shader(has.tessellation)
        .texture_compression_bc(has.blocks)
        .pipeline_statistics_query(has.statistics);
    let mut features11 = vk::PhysicalDeviceVulkan11Features::default()
        .variable_pointers(true)
        .variable_pointers_storage_buffer(true)
        .multiview(has.multiview)
        .sampler_ycbcr_conversion(has.planes);
    let mut features12 = vk::PhysicalDeviceVulkan12Features::default()
        .descriptor_indexing(true)
        .runtime_descriptor_array(true)
        .shader_storage_buffer_array_non_uniform_indexing(true)
        .descriptor_binding_partially_bound(true)
        .descriptor_binding_storage_buffer_update_after_bind(true)
        .descriptor_binding_storage_texel_buffer_update_after_bind(true)
        .descriptor_binding_variable_descriptor_count(has.variable_count)
        .buffer_device_address(true)
        .imageless_framebuffer(has.imageless)
        .draw_indirect_count(has.indirect_count)
        .vulkan_memory_model(true)
        .vulkan_memory_model_device_scope(true);
    let mut features13 = vk::PhysicalDeviceVulkan13Features::default()
        .synchronization2(true)
        .dynamic_rendering(true)
        .maintenance4(true);
    let mut robustness =
        vk::PhysicalDeviceRobustness2FeaturesEXT::default().robust_buffer_access2(true);
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default()
        .queue_family_index(0)
        .queue_priorities(&priorities)];
    let extensions = [
        c"VK_KHR_push_descriptor".as_ptr(),
        c"VK_EXT_robustness2".as_ptr(),
    ];
    let extensions = &extensions[..1 + usize::from(has.robust_descriptors)];
    let mut info = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(extensions)
        .enabled_features(&features)
        .push_next(&mut features11)
        .push_next(&mut features12)
        .push_next(&mut features13);
    if has.robust_descriptors {
        info = info.push_next(&mut robustness);
    }
    // SAFETY: the structures are complete and alive during the call.
    let device = unsafe { instance.create_device(physical, &info, None) }
        .map_err(|error| error.to_string())?;
    // SAFETY: the queue was asked for above.
    let queue = unsafe { device.get_device_queue(0, 0) };
    let handle = device.handle();
    let find = |name: &CStr| {
        // SAFETY: the name is a string, the device lives.
        unsafe { (instance.fp_v1_0().get_device_proc_addr)(handle, name.as_ptr()) }
    };
    let (device_fns, cmd_fns) = (DeviceFns::load(find), CmdFns::load(find));
    println!("oracle: device {name:?}, memory is {access:?}, {has:?}");
    Ok(Gpu {
        _entry: entry,
        instance,
        device,
        queue,
        device_fns,
        cmd_fns,
        has,
        access,
        local_type,
        visible_type,
        granularity: properties.limits.buffer_image_granularity,
        opaque: std::env::var("HESPER_ORACLE_IMAGES")
            .map_or(access == Access::Copied, |images| images == "opaque"),
        twice: std::env::var_os("HESPER_ORACLE_TWICE").is_some(),
    })
}

/// The types of device-local and of host-visible memory, and how the former is read.
fn memory_types(
    instance: &ash::Instance,
    physical: vk::PhysicalDevice,
    copied: bool,
) -> Result<(u32, u32, Access), String> {
    // SAFETY: the physical device is the instance's.
    let memory = unsafe { instance.get_physical_device_memory_properties(physical) };
    let find = |wanted: vk::MemoryPropertyFlags, avoided: vk::MemoryPropertyFlags| {
        memory
            .memory_types_as_slice()
            .iter()
            .position(|kind| {
                kind.property_flags.contains(wanted) && !kind.property_flags.intersects(avoided)
            })
            .map(|index| index as u32)
    };
    let none = vk::MemoryPropertyFlags::empty();
    let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    let cached = vk::MemoryPropertyFlags::HOST_VISIBLE
        | vk::MemoryPropertyFlags::HOST_COHERENT
        | vk::MemoryPropertyFlags::HOST_CACHED;
    let visible = find(cached, none).ok_or("no cached memory to map")?;
    Ok(match find(local | cached, none) {
        Some(both) if !copied => (both, visible, Access::Mapped),
        _ => {
            let hidden = find(local, vk::MemoryPropertyFlags::HOST_VISIBLE);
            let local = hidden.or(find(local, none)).ok_or("no local memory")?;
            (local, visible, Access::Copied)
        }
    })
}

impl Gpu {
    pub fn handle(&self) -> u64 {
        self.device.handle().as_raw()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        // SAFETY: everything made from the device is gone or goes with it; both are destroyed once.
        unsafe {
            let _ = self.device.device_wait_idle();
            self.device.destroy_device(None);
            self.instance.destroy_instance(None);
        }
    }
}
