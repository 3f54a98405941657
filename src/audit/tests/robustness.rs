//! What robust buffer and image access costs on the host's device, printed:
//! `cargo test --release -p hesper-audit --test robustness -- --ignored --nocapture`.
//!
//! `HESPER_ORACLE_DEVICE` is part of the device's name, as for the oracle. Two logical devices, one with
//! `robustBufferAccess`, `robustBufferAccess2` and `robustImageAccess2` and one without, run the same dispatches in turn.

use std::time::Instant;

use ash::vk;

const BUFFER_LEN: u64 = 64 << 20;
const SIDE: u32 = 1024;
/// Invocations of one dispatch.
const INVOCATIONS: u32 = 1 << 20;
/// Runs of each kind, of which the median is told.
const RUNS: usize = 15;
/// Shortest time of a run, seconds.
const RUN_MIN: f64 = 0.02;

struct Kernel {
    name: &'static str,
    code: &'static [u8],
    rounds: u32,
    groups: [u32; 2],
}

macro_rules! kernel {
    ($name:literal, $rounds:literal, $groups:expr) => {
        Kernel {
            name: $name,
            code: include_bytes!(concat!("robustness/", $name, ".spv")),
            rounds: $rounds,
            groups: $groups,
        }
    };
}

const KERNELS: [Kernel; 4] = [
    kernel!("copy", 1, [INVOCATIONS * 16 / 256, 1]),
    kernel!("near", 64, [INVOCATIONS / 256, 1]),
    kernel!("scatter", 16, [INVOCATIONS / 256, 1]),
    kernel!("image", 9, [SIDE / 16, SIDE / 16]),
];

/// A logical device with everything that the kernels need. Nothing is destroyed: the process ends with it.
struct Rig {
    device: ash::Device,
    queue: vk::Queue,
    commands: vk::CommandBuffer,
    layout: vk::PipelineLayout,
    set: vk::DescriptorSet,
    pipelines: Vec<vk::Pipeline>,
}

fn open() -> Result<(ash::Instance, vk::PhysicalDevice, ash::Entry), String> {
    let wanted = std::env::var("HESPER_ORACLE_DEVICE").unwrap_or_default();
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: the loader is a trusted library of this machine; the structures are complete.
    unsafe {
        let entry = ash::Entry::load().map_err(|error| error.to_string())?;
        let instance = entry
            .create_instance(&info, None)
            .map_err(|error| error.to_string())?;
        let all = instance
            .enumerate_physical_devices()
            .map_err(|error| error.to_string())?;
        let physical = all.into_iter().find(|physical| {
            let properties = instance.get_physical_device_properties(*physical);
            let name = properties.device_name_as_c_str().unwrap_or_default();
            name.to_string_lossy().contains(&wanted)
                && properties.api_version >= vk::API_VERSION_1_3
        });
        let physical = physical.ok_or("no such device")?;
        let properties = instance.get_physical_device_properties(physical);
        println!("robustness: device {:?}", properties.device_name_as_c_str());
        Ok((instance, physical, entry))
    }
}

impl Rig {
    fn new(instance: &ash::Instance, physical: vk::PhysicalDevice, robust: bool) -> Self {
        let features = vk::PhysicalDeviceFeatures::default().robust_buffer_access(robust);
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default()
            .robust_buffer_access2(robust)
            .robust_image_access2(robust);
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(0)
            .queue_priorities(&priorities)];
        let extensions = [c"VK_EXT_robustness2".as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .enabled_features(&features)
            .push_next(&mut robustness);
        // SAFETY: complete structures, and objects of one device that live as long as the process.
        unsafe {
            let device = instance.create_device(physical, &info, None).unwrap();
            let memory = instance.get_physical_device_memory_properties(physical);
            let allocate = |needs: vk::MemoryRequirements| {
                let index = memory
                    .memory_types_as_slice()
                    .iter()
                    .enumerate()
                    .position(|(index, kind)| {
                        needs.memory_type_bits >> index & 1 == 1
                            && kind
                                .property_flags
                                .contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
                    })
                    .expect("device-local memory");
                let info = vk::MemoryAllocateInfo::default()
                    .allocation_size(needs.size)
                    .memory_type_index(index as u32);
                device.allocate_memory(&info, None).unwrap()
            };
            let queue = device.get_device_queue(0, 0);
            let pool_info = vk::CommandPoolCreateInfo::default()
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
            let pool = device.create_command_pool(&pool_info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .command_buffer_count(1);
            let commands = device.allocate_command_buffers(&info).unwrap()[0];
            let kinds = [
                vk::DescriptorType::STORAGE_BUFFER,
                vk::DescriptorType::STORAGE_BUFFER,
                vk::DescriptorType::STORAGE_IMAGE,
                vk::DescriptorType::STORAGE_IMAGE,
            ];
            let bindings: Vec<_> = (0u32..)
                .zip(kinds)
                .map(|(binding, kind)| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(kind)
                        .descriptor_count(1)
                        .stage_flags(vk::ShaderStageFlags::COMPUTE)
                })
                .collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let set_layouts = [device.create_descriptor_set_layout(&info, None).unwrap()];
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::COMPUTE,
                offset: 0,
                size: 8,
            }];
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&set_layouts)
                .push_constant_ranges(&ranges);
            let layout = device.create_pipeline_layout(&info, None).unwrap();
            let sizes = kinds.map(|ty| vk::DescriptorPoolSize {
                ty,
                descriptor_count: 1,
            });
            let info = vk::DescriptorPoolCreateInfo::default()
                .max_sets(1)
                .pool_sizes(&sizes);
            let pool = device.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&set_layouts);
            let set = device.allocate_descriptor_sets(&info).unwrap()[0];
            let mut images = Vec::new();
            for binding in 0..4 {
                if binding < 2 {
                    let info = vk::BufferCreateInfo::default()
                        .size(BUFFER_LEN)
                        .usage(vk::BufferUsageFlags::STORAGE_BUFFER);
                    let buffer = device.create_buffer(&info, None).unwrap();
                    let memory = allocate(device.get_buffer_memory_requirements(buffer));
                    device.bind_buffer_memory(buffer, memory, 0).unwrap();
                    let infos = [vk::DescriptorBufferInfo {
                        buffer,
                        offset: 0,
                        range: vk::WHOLE_SIZE,
                    }];
                    let write = vk::WriteDescriptorSet::default()
                        .dst_set(set)
                        .dst_binding(binding)
                        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                        .buffer_info(&infos);
                    device.update_descriptor_sets(&[write], &[]);
                    continue;
                }
                let info = vk::ImageCreateInfo::default()
                    .image_type(vk::ImageType::TYPE_2D)
                    .format(vk::Format::R8G8B8A8_UNORM)
                    .extent(vk::Extent3D {
                        width: SIDE,
                        height: SIDE,
                        depth: 1,
                    })
                    .mip_levels(1)
                    .array_layers(1)
                    .samples(vk::SampleCountFlags::TYPE_1)
                    .usage(vk::ImageUsageFlags::STORAGE);
                let image = device.create_image(&info, None).unwrap();
                let memory = allocate(device.get_image_memory_requirements(image));
                device.bind_image_memory(image, memory, 0).unwrap();
                let range = vk::ImageSubresourceRange {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    base_mip_level: 0,
                    level_count: 1,
                    base_array_layer: 0,
                    layer_count: 1,
                };
                let info = vk::ImageViewCreateInfo::default()
                    .image(image)
                    .view_type(vk::ImageViewType::TYPE_2D)
                    .format(vk::Format::R8G8B8A8_UNORM)
                    .subresource_range(range);
                let view = device.create_image_view(&info, None).unwrap();
                let infos = [vk::DescriptorImageInfo::default()
                    .image_view(view)
                    .image_layout(vk::ImageLayout::GENERAL)];
                let write = vk::WriteDescriptorSet::default()
                    .dst_set(set)
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_IMAGE)
                    .image_info(&infos);
                device.update_descriptor_sets(&[write], &[]);
                images.push(
                    vk::ImageMemoryBarrier::default()
                        .new_layout(vk::ImageLayout::GENERAL)
                        .image(image)
                        .subresource_range(range),
                );
            }
            let pipelines = KERNELS.map(|kernel| {
                let code: Vec<u32> = kernel
                    .code
                    .chunks_exact(4)
                    .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                    .collect();
                let info = vk::ShaderModuleCreateInfo::default().code(&code);
                let module = device.create_shader_module(&info, None).unwrap();
                let stage = vk::PipelineShaderStageCreateInfo::default()
                    .stage(vk::ShaderStageFlags::COMPUTE)
                    .module(module)
                    .name(c"main");
                let info = vk::ComputePipelineCreateInfo::default()
                    .stage(stage)
                    .layout(layout);
                device
                    .create_compute_pipelines(vk::PipelineCache::null(), &[info], None)
                    .unwrap()[0]
            });
            let rig = Self {
                device,
                queue,
                commands,
                layout,
                set,
                pipelines: pipelines.to_vec(),
            };
            rig.run(|commands| {
                rig.device.cmd_pipeline_barrier(
                    commands,
                    vk::PipelineStageFlags::ALL_COMMANDS,
                    vk::PipelineStageFlags::ALL_COMMANDS,
                    vk::DependencyFlags::empty(),
                    &[],
                    &[],
                    &images,
                );
            });
            rig
        }
    }

    /// Records, submits and waits; the seconds from the submission on.
    fn run(&self, record: impl FnOnce(vk::CommandBuffer)) -> f64 {
        let commands = [self.commands];
        let submits = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the queue is idle before and after, and used by this thread only.
        unsafe {
            let begin = vk::CommandBufferBeginInfo::default();
            self.device
                .begin_command_buffer(self.commands, &begin)
                .unwrap();
            record(self.commands);
            self.device.end_command_buffer(self.commands).unwrap();
            let started = Instant::now();
            self.device
                .queue_submit(self.queue, &submits, vk::Fence::null())
                .unwrap();
            self.device.queue_wait_idle(self.queue).unwrap();
            started.elapsed().as_secs_f64()
        }
    }

    /// Seconds of `count` dispatches of a kernel.
    fn time(&self, kernel: usize, count: u32) -> f64 {
        let Kernel { rounds, groups, .. } = KERNELS[kernel];
        let mask = (BUFFER_LEN / 4 - 1) as u32;
        self.run(|commands| {
            let push = [mask, rounds].map(u32::to_le_bytes).concat();
            let compute = vk::PipelineBindPoint::COMPUTE;
            // SAFETY: recording with objects of this device.
            unsafe {
                self.device
                    .cmd_bind_pipeline(commands, compute, self.pipelines[kernel]);
                self.device.cmd_bind_descriptor_sets(
                    commands,
                    compute,
                    self.layout,
                    0,
                    &[self.set],
                    &[],
                );
                let stages = vk::ShaderStageFlags::COMPUTE;
                self.device
                    .cmd_push_constants(commands, self.layout, stages, 0, &push);
                for _ in 0..count {
                    self.device.cmd_dispatch(commands, groups[0], groups[1], 1);
                }
            }
        })
    }
}

#[test]
#[ignore = "prints times"]
fn cost_of_robust_access() {
    let (instance, physical, _entry) = match open() {
        Ok(found) => found,
        Err(reason) => {
            println!("SKIPPED: no host GPU: {reason}");
            return;
        }
    };
    let rigs = [false, true].map(|robust| Rig::new(&instance, physical, robust));
    for (kernel, Kernel { name, .. }) in KERNELS.iter().enumerate() {
        let mut count = 1;
        while rigs[0].time(kernel, count) < RUN_MIN && count < 1 << 14 {
            count *= 2;
        }
        rigs[1].time(kernel, count);
        let mut times = [const { Vec::new() }; 2];
        for run in 0..RUNS {
            for at in [run % 2, 1 - run % 2] {
                times[at].push(rigs[at].time(kernel, count) / f64::from(count));
            }
        }
        let [off, on] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[RUNS / 2] * 1e6
        });
        println!(
            "robustness: {name}: off {off:.2} us, on {on:.2} us a dispatch, on/off {:.3} ({count} dispatches, median of \
             {RUNS} interleaved runs)",
            on / off
        );
    }
}
