//! Random commands with random arguments: the tracker may refuse, but never panics and never marks outside of memory.

mod audited;

use std::collections::HashMap;

use ash::vk::{self, Handle};
use hesper_audit::dirty::CHUNK_SIZE;
use hesper_audit::marks::Marks;
use hesper_audit::rules::submitted;
use hesper_audit::tracker::Robustness;
use hesper_venus::{Args, Command, args};

use audited::Audited;

/// xorshift64*: the seed is the whole state.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Few ids, so that objects meet; 0 now and then.
    fn id(&mut self) -> u64 {
        self.below(6)
    }

    /// Sizes and offsets: small, around chunks, huge, `VK_WHOLE_SIZE`.
    fn size(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(64),
            1 => CHUNK_SIZE * (1 + self.below(20)) + self.below(3) - 1,
            2 => u64::MAX - self.below(4),
            3 => 1 << self.below(64),
            _ => self.below(16 * CHUNK_SIZE),
        }
    }

    fn small(&mut self) -> u32 {
        match self.below(8) {
            0 => self.next() as u32,
            _ => self.below(5) as u32,
        }
    }

    fn descriptor_type(&mut self) -> vk::DescriptorType {
        vk::DescriptorType::from_raw(self.below(12) as i32)
    }
}

fn run(tracker: &mut Audited, command: &Command<'_>) -> bool {
    tracker.follow(command).is_ok()
}

macro_rules! run {
    ($tracker:expr, $name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        run($tracker, &Command::$name(Args::new(&mut args::$name { $($field: $value),* })))
    };
}

const SHADERS: &[&[u8]] = &[
    include_bytes!("../spirv/shaders/store.spv"),
    include_bytes!("../spirv/shaders/atomic.spv"),
    include_bytes!("../spirv/shaders/texel.spv"),
    include_bytes!("../spirv/shaders/device_address.spv"),
    include_bytes!("../spirv/shaders/undefined_pointer.spv"),
    include_bytes!("../spirv/shaders/image_write.spv"),
];

/// One random command; whether it was taken.
fn step(tracker: &mut Audited, random: &mut Random, sizes: &mut HashMap<u64, u64>) -> bool {
    let device = vk::Device::null();
    let p_allocator = std::ptr::null();
    let ret = vk::Result::SUCCESS;
    let command_buffer = vk::CommandBuffer::from_raw(random.id());
    match random.below(30) {
        0 => {
            let size = match random.below(4) {
                0 => random.size(),
                _ => random.below(40 * CHUNK_SIZE),
            };
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(size)
                .memory_type_index(random.small());
            let id = random.id();
            let mut memory = vk::DeviceMemory::from_raw(id);
            let taken = run!(
                tracker,
                VkAllocateMemory {
                    device: device,
                    p_allocate_info: &info,
                    p_allocator: p_allocator,
                    p_memory: &mut memory,
                    ret: ret,
                }
            );
            if taken {
                sizes.insert(id, size);
            }
            taken
        }
        1 => {
            let memory = vk::DeviceMemory::from_raw(random.id());
            run!(
                tracker,
                VkFreeMemory {
                    device: device,
                    memory: memory,
                    p_allocator: p_allocator
                }
            )
        }
        2 | 3 => {
            let usage = vk::BufferUsageFlags::from_raw(random.next() as u32);
            let info = vk::BufferCreateInfo::default()
                .size(random.size())
                .usage(usage);
            let mut buffer = vk::Buffer::from_raw(random.id());
            run!(
                tracker,
                VkCreateBuffer {
                    device: device,
                    p_create_info: &info,
                    p_allocator: p_allocator,
                    p_buffer: &mut buffer,
                    ret: ret,
                }
            )
        }
        4 => {
            let buffer = vk::Buffer::from_raw(random.id());
            run!(
                tracker,
                VkDestroyBuffer {
                    device: device,
                    buffer: buffer,
                    p_allocator: p_allocator
                }
            )
        }
        5..=7 => {
            let info = [vk::BindBufferMemoryInfo::default()
                .buffer(vk::Buffer::from_raw(random.id()))
                .memory(vk::DeviceMemory::from_raw(random.id()))
                .memory_offset(random.size())];
            run!(
                tracker,
                VkBindBufferMemory2 {
                    device: device,
                    bind_info_count: 1,
                    p_bind_infos: info.as_ptr(),
                    ret: ret
                }
            )
        }
        8 => {
            let bindings: Vec<_> = (0..random.below(4))
                .map(|_| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(random.small())
                        .descriptor_type(random.descriptor_type())
                        .descriptor_count(random.small())
                })
                .collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let mut layout = vk::DescriptorSetLayout::from_raw(random.id());
            run!(
                tracker,
                VkCreateDescriptorSetLayout {
                    device: device,
                    p_create_info: (&raw const info).cast(),
                    p_allocator: p_allocator,
                    p_set_layout: &mut layout,
                    ret: ret,
                }
            )
        }
        9 => {
            let layout = vk::DescriptorSetLayout::from_raw(random.id());
            run!(
                tracker,
                VkDestroyDescriptorSetLayout {
                    device: device,
                    descriptor_set_layout: layout,
                    p_allocator: p_allocator,
                }
            )
        }
        10 => {
            let info = vk::DescriptorPoolCreateInfo::default();
            let mut pool = vk::DescriptorPool::from_raw(random.id());
            run!(
                tracker,
                VkCreateDescriptorPool {
                    device: device,
                    p_create_info: (&raw const info).cast(),
                    p_allocator: p_allocator,
                    p_descriptor_pool: &mut pool,
                    ret: ret,
                }
            )
        }
        11 => {
            let pool = vk::DescriptorPool::from_raw(random.id());
            run!(
                tracker,
                VkResetDescriptorPool {
                    device: device,
                    descriptor_pool: pool,
                    flags: vk::DescriptorPoolResetFlags::empty(),
                    ret: ret,
                }
            )
        }
        12 | 13 => {
            let layouts = [vk::DescriptorSetLayout::from_raw(random.id())];
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(vk::DescriptorPool::from_raw(random.id()))
                .set_layouts(&layouts);
            let mut set = vk::DescriptorSet::from_raw(random.id());
            run!(
                tracker,
                VkAllocateDescriptorSets {
                    device: device,
                    p_allocate_info: (&raw const info).cast(),
                    p_descriptor_sets: &mut set,
                    ret: ret,
                }
            )
        }
        14..=16 => {
            let infos: Vec<_> = (0..random.below(4))
                .map(|_| vk::DescriptorBufferInfo {
                    buffer: vk::Buffer::from_raw(random.id()),
                    offset: random.size(),
                    range: random.size(),
                })
                .collect();
            let views: Vec<_> = infos
                .iter()
                .map(|_| vk::BufferView::from_raw(random.id()))
                .collect();
            let mut write = vk::WriteDescriptorSet::default()
                .dst_set(vk::DescriptorSet::from_raw(random.id()))
                .dst_binding(random.small())
                .dst_array_element(random.small())
                .descriptor_type(random.descriptor_type())
                .buffer_info(&infos);
            write.p_texel_buffer_view = views.as_ptr();
            let writes = [write];
            let copies = [vk::CopyDescriptorSet::default()
                .src_set(vk::DescriptorSet::from_raw(random.id()))
                .src_binding(random.small())
                .src_array_element(random.small())
                .dst_set(vk::DescriptorSet::from_raw(random.id()))
                .dst_binding(random.small())
                .descriptor_count(random.small().min(1000))];
            run!(
                tracker,
                VkUpdateDescriptorSets {
                    device: device,
                    descriptor_write_count: 1,
                    p_descriptor_writes: writes.as_ptr().cast(),
                    descriptor_copy_count: random.below(2) as u32,
                    p_descriptor_copies: copies.as_ptr(),
                }
            )
        }
        17 => {
            let shader = SHADERS[random.below(SHADERS.len() as u64) as usize];
            let mut words: Vec<u32> = shader
                .chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect();
            if random.below(4) == 0 {
                let at = random.below(words.len() as u64) as usize;
                words[at] = random.next() as u32;
            }
            let mut module = vk::ShaderModuleCreateInfo::default().code(&words);
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .name(c"main")
                .push_next(&mut module);
            let infos = [vk::ComputePipelineCreateInfo::default().stage(stage)];
            let mut pipeline = vk::Pipeline::from_raw(random.id());
            run!(
                tracker,
                VkCreateComputePipelines {
                    device: device,
                    pipeline_cache: vk::PipelineCache::null(),
                    create_info_count: 1,
                    p_create_infos: infos.as_ptr().cast(),
                    p_allocator: p_allocator,
                    p_pipelines: &mut pipeline,
                    ret: ret,
                }
            )
        }
        18 => {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(vk::CommandPool::from_raw(random.id()))
                .command_buffer_count(1);
            let mut made = command_buffer;
            run!(
                tracker,
                VkAllocateCommandBuffers {
                    device: device,
                    p_allocate_info: &info,
                    p_command_buffers: &mut made,
                    ret: ret,
                }
            )
        }
        19 => {
            let info = vk::CommandPoolCreateInfo::default();
            let mut pool = vk::CommandPool::from_raw(random.id());
            run!(
                tracker,
                VkCreateCommandPool {
                    device: device,
                    p_create_info: &info,
                    p_allocator: p_allocator,
                    p_command_pool: &mut pool,
                    ret: ret,
                }
            )
        }
        20 => {
            let info = vk::CommandBufferBeginInfo::default();
            run!(
                tracker,
                VkBeginCommandBuffer {
                    command_buffer: command_buffer,
                    p_begin_info: (&raw const info).cast(),
                    ret: ret,
                }
            )
        }
        21 | 22 => run!(
            tracker,
            VkCmdBindPipeline {
                command_buffer: command_buffer,
                pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                pipeline: vk::Pipeline::from_raw(random.id()),
            }
        ),
        23 | 24 => {
            let sets: Vec<_> = (0..random.below(4))
                .map(|_| vk::DescriptorSet::from_raw(random.id()))
                .collect();
            let offsets: Vec<_> = (0..random.below(4)).map(|_| random.next() as u32).collect();
            run!(
                tracker,
                VkCmdBindDescriptorSets {
                    command_buffer: command_buffer,
                    pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                    layout: vk::PipelineLayout::null(),
                    first_set: random.small(),
                    descriptor_set_count: sets.len() as u32,
                    p_descriptor_sets: sets.as_ptr(),
                    dynamic_offset_count: offsets.len() as u32,
                    p_dynamic_offsets: offsets.as_ptr(),
                }
            )
        }
        25 => run!(
            tracker,
            VkCmdDispatch {
                command_buffer: command_buffer,
                group_count_x: 1,
                group_count_y: 1,
                group_count_z: 1,
            }
        ),
        26 => run!(
            tracker,
            VkCmdFillBuffer {
                command_buffer: command_buffer,
                dst_buffer: vk::Buffer::from_raw(random.id()),
                dst_offset: random.size(),
                size: random.size(),
                data: 0,
            }
        ),
        27 => {
            let secondaries = [vk::CommandBuffer::from_raw(random.id())];
            run!(
                tracker,
                VkCmdExecuteCommands {
                    command_buffer: command_buffer,
                    command_buffer_count: 1,
                    p_command_buffers: secondaries.as_ptr(),
                }
            )
        }
        28 => {
            let info = vk::BufferViewCreateInfo::default()
                .buffer(vk::Buffer::from_raw(random.id()))
                .offset(random.size())
                .range(random.size());
            let mut view = vk::BufferView::from_raw(random.id());
            run!(
                tracker,
                VkCreateBufferView {
                    device: device,
                    p_create_info: &info,
                    p_allocator: p_allocator,
                    p_view: &mut view,
                    ret: ret,
                }
            )
        }
        _ => {
            if tracker
                .query_pool_created(random.id(), random.small())
                .is_err()
            {
                tracker.query_pool_destroyed(random.id());
            }
            run!(
                tracker,
                VkCmdCopyQueryPoolResults {
                    command_buffer: command_buffer,
                    query_pool: vk::QueryPool::from_raw(random.id()),
                    first_query: random.small(),
                    query_count: random.small(),
                    dst_buffer: vk::Buffer::from_raw(random.id()),
                    dst_offset: random.size(),
                    stride: random.size(),
                    flags: vk::QueryResultFlags::from_raw(random.next() as u32),
                }
            )
        }
    }
}

fn subresources(random: &mut Random) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange {
        aspect_mask: vk::ImageAspectFlags::from_raw(random.below(8) as u32),
        base_mip_level: random.small(),
        level_count: random.small(),
        base_array_layer: random.small(),
        layer_count: random.small(),
    }
}

/// As [`step`], with images.
fn image_step(tracker: &mut Audited, random: &mut Random) -> bool {
    let device = vk::Device::null();
    let p_allocator = std::ptr::null();
    let ret = vk::Result::SUCCESS;
    let command_buffer = vk::CommandBuffer::from_raw(random.id());
    let image = vk::Image::from_raw(random.id());
    match random.below(12) {
        0 | 1 => {
            let info = vk::ImageCreateInfo::default()
                .flags(vk::ImageCreateFlags::from_raw(
                    random.next() as u32 & !0b111,
                ))
                .image_type(vk::ImageType::from_raw(random.below(4) as i32))
                .format(vk::Format::from_raw(random.below(190) as i32))
                .mip_levels(random.below(8) as u32)
                .array_layers(random.below(40) as u32);
            let mut image = image;
            run!(
                tracker,
                VkCreateImage {
                    device: device,
                    p_create_info: &info,
                    p_allocator: p_allocator,
                    p_image: &mut image,
                    ret: ret,
                }
            )
        }
        2 => run!(
            tracker,
            VkDestroyImage {
                device: device,
                image: image,
                p_allocator: p_allocator,
            }
        ),
        3 | 4 => {
            tracker.image_sized(image.as_raw(), random.size());
            let bind = [vk::BindImageMemoryInfo::default()
                .image(image)
                .memory(vk::DeviceMemory::from_raw(random.id()))
                .memory_offset(random.size())];
            run!(
                tracker,
                VkBindImageMemory2 {
                    device: device,
                    bind_info_count: 1,
                    p_bind_infos: bind.as_ptr(),
                    ret: ret,
                }
            )
        }
        5 => {
            let info = vk::ImageViewCreateInfo::default()
                .image(image)
                .subresource_range(subresources(random));
            let mut view = vk::ImageView::from_raw(random.id());
            run!(
                tracker,
                VkCreateImageView {
                    device: device,
                    p_create_info: &info,
                    p_allocator: p_allocator,
                    p_view: &mut view,
                    ret: ret,
                }
            )
        }
        6 => {
            let ranges = [subresources(random), subresources(random)];
            run!(
                tracker,
                VkCmdClearColorImage {
                    command_buffer: command_buffer,
                    image: image,
                    image_layout: vk::ImageLayout::GENERAL,
                    p_color: std::ptr::null(),
                    range_count: 2,
                    p_ranges: ranges.as_ptr(),
                }
            )
        }
        7 | 8 => {
            let range = subresources(random);
            let regions = [vk::BufferImageCopy {
                buffer_offset: random.size(),
                buffer_row_length: random.small(),
                buffer_image_height: random.small(),
                image_subresource: vk::ImageSubresourceLayers {
                    aspect_mask: range.aspect_mask,
                    mip_level: range.base_mip_level,
                    base_array_layer: range.base_array_layer,
                    layer_count: range.layer_count,
                },
                image_extent: vk::Extent3D {
                    width: random.small(),
                    height: random.small(),
                    depth: random.small(),
                },
                ..Default::default()
            }];
            run!(
                tracker,
                VkCmdCopyImageToBuffer {
                    command_buffer: command_buffer,
                    src_image: image,
                    src_image_layout: vk::ImageLayout::GENERAL,
                    dst_buffer: vk::Buffer::from_raw(random.id()),
                    region_count: 1,
                    p_regions: regions.as_ptr(),
                }
            ) | run!(
                tracker,
                VkCmdCopyBufferToImage {
                    command_buffer: command_buffer,
                    src_buffer: vk::Buffer::null(),
                    dst_image: image,
                    dst_image_layout: vk::ImageLayout::GENERAL,
                    region_count: 1,
                    p_regions: regions.as_ptr(),
                }
            )
        }
        9 => {
            let attachments = [vk::AttachmentDescription::default()];
            let references = [vk::AttachmentReference {
                attachment: random.small(),
                layout: vk::ImageLayout::GENERAL,
            }];
            let subpasses = [vk::SubpassDescription::default().color_attachments(&references)];
            let info = vk::RenderPassCreateInfo::default()
                .attachments(&attachments)
                .subpasses(&subpasses);
            let mut pass = vk::RenderPass::from_raw(random.id());
            let views = [vk::ImageView::from_raw(random.id())];
            let mut framebuffer = vk::Framebuffer::from_raw(random.id());
            let made = vk::FramebufferCreateInfo::default().attachments(&views);
            run!(
                tracker,
                VkCreateRenderPass {
                    device: device,
                    p_create_info: (&raw const info).cast(),
                    p_allocator: p_allocator,
                    p_render_pass: &mut pass,
                    ret: ret,
                }
            ) | run!(
                tracker,
                VkCreateFramebuffer {
                    device: device,
                    p_create_info: (&raw const made).cast(),
                    p_allocator: p_allocator,
                    p_framebuffer: &mut framebuffer,
                    ret: ret,
                }
            )
        }
        10 => {
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(vk::RenderPass::from_raw(random.id()))
                .framebuffer(vk::Framebuffer::from_raw(random.id()));
            run!(
                tracker,
                VkCmdBeginRenderPass {
                    command_buffer: command_buffer,
                    p_render_pass_begin: (&raw const begin).cast(),
                    contents: vk::SubpassContents::INLINE,
                }
            )
        }
        _ => {
            let colors = [vk::RenderingAttachmentInfo::default()
                .image_view(vk::ImageView::from_raw(random.id()))
                .resolve_mode(vk::ResolveModeFlags::from_raw(random.below(2) as u32))
                .resolve_image_view(vk::ImageView::from_raw(random.id()))];
            let info = vk::RenderingInfo::default()
                .layer_count(random.small())
                .color_attachments(&colors);
            run!(
                tracker,
                VkCmdBeginRendering {
                    command_buffer: command_buffer,
                    p_rendering_info: (&raw const info).cast(),
                }
            )
        }
    }
}

#[test]
fn random_commands_never_panic_and_marks_stay_inside() {
    let (mut taken, mut marked) = (0, 0);
    let (mut images, mut subresources) = (0, 0);
    for seed in 1..=60u64 {
        let mut random = Random(seed);
        let robustness = [Robustness::Descriptor, Robustness::MemoryObject][(seed % 2) as usize];
        let mut tracker = Audited::new(robustness, 0b101);
        let mut sizes = HashMap::new();
        let mut marks = Marks::new();
        for _ in 0..3000 {
            taken += u64::from(step(&mut tracker, &mut random, &mut sizes));
            if random.below(2) == 0 {
                images += u64::from(image_step(&mut tracker, &mut random));
            }
            if random.below(8) != 0 {
                continue;
            }
            let command_buffers = [vk::CommandBuffer::from_raw(random.id())];
            let submits = [vk::SubmitInfo::default().command_buffers(&command_buffers)];
            let mut args = args::VkQueueSubmit {
                queue: vk::Queue::null(),
                submit_count: 1,
                p_submits: submits.as_ptr().cast(),
                fence: vk::Fence::null(),
                ret: vk::Result::SUCCESS,
            };
            // SAFETY: every pointer in the command is null or valid for its count.
            let resolved = unsafe {
                submitted(
                    &mut tracker.tracker,
                    &tracker.buffers,
                    &Command::VkQueueSubmit(Args::new(&mut args)),
                    &mut marks,
                )
            };
            if resolved.is_err() {
                assert!(marks.is_empty());
                continue;
            }
            marks.mark_device();
            for range in marks
                .device_ranges()
                .chain(marks.host_ranges().iter().copied())
            {
                assert!(
                    range.len > 0 && range.offset + range.len <= sizes[&range.memory],
                    "seed {seed}: {range:?}"
                );
                marked += 1;
            }
            for range in marks.image_ranges() {
                let facts = tracker.image(range.image).unwrap();
                assert_eq!(facts.clamp(range.subresources), range.subresources);
                subresources += 1;
            }
        }
    }
    println!(
        "{taken} commands taken, {marked} ranges marked; of images {images} and {subresources}"
    );
    assert!(
        taken > 30_000 && marked > 1000,
        "{taken} taken, {marked} marked"
    );
    assert!(
        images > 10_000 && subresources > 1000,
        "{images} taken, {subresources} marked"
    );
}
