//! Images of a program: what it makes, and what it records with them. Every image stays in GENERAL layout.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::{DEVICE_LOCAL, Texels, run};
use super::{CHUNK, Kind, World};

const WIDTH: u32 = 64;
const HEIGHT: u32 = 48;
const COLOR: vk::Format = vk::Format::R8G8B8A8_UNORM;
const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

/// An image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    pub id: u64,
    pub texels: Texels,
}

/// What a program renders with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rendering {
    /// With color and depth, and of 4 samples with a resolve.
    passes: [u64; 2],
    framebuffers: [u64; 2],
    /// One for each pass, and one for dynamic rendering.
    pipelines: [u64; 3],
    /// Level 1 of the first image, one layer.
    view: u64,
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn handle(image: Image) -> vk::Image {
    vk::Image::from_raw(image.id)
}

impl World<'_> {
    /// Makes an image with memory that a buffer may share; false if the host's memory is not for images.
    fn image(&mut self, texels: Texels, usage: vk::ImageUsageFlags) -> bool {
        let memory_size = 6 * CHUNK;
        let memory = self.memory(memory_size, DEVICE_LOCAL);
        let id = self.id(vk::ObjectType::IMAGE);
        let deep = texels.depth > 1;
        let info = vk::ImageCreateInfo::default()
            .image_type(match deep {
                true => vk::ImageType::TYPE_3D,
                false => vk::ImageType::TYPE_2D,
            })
            .format(texels.format)
            .extent(texels.extent(0))
            .mip_levels(texels.mips)
            .array_layers(texels.layers)
            .samples(texels.samples)
            .usage(usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST);
        let mut image = vk::Image::from_raw(id);
        run!(
            self.host,
            VkCreateImage {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_image: &mut image,
                ret: vk::Result::SUCCESS,
            }
        );
        let request = vk::ImageMemoryRequirementsInfo2::default().image(image);
        let mut out = vk::MemoryRequirements2::default();
        run!(
            self.host,
            VkGetImageMemoryRequirements2 {
                device: Self::device(),
                p_info: (&raw const request).cast(),
                p_memory_requirements: (&raw mut out).cast(),
            }
        );
        let Some(needs) = self.host.image_requirements(id) else {
            return false;
        };
        assert!(needs.size <= memory_size);
        let offset = self
            .random
            .multiple(needs.alignment.max(256), memory_size - needs.size + 1);
        let bind = [vk::BindImageMemoryInfo::default()
            .image(image)
            .memory(vk::DeviceMemory::from_raw(memory))
            .memory_offset(offset)];
        run!(
            self.host,
            VkBindImageMemory2 {
                device: Self::device(),
                bind_info_count: 1,
                p_bind_infos: bind.as_ptr().cast(),
                ret: vk::Result::SUCCESS,
            }
        );
        if self.random.one_in(2) {
            let size = 4096 + self.random.multiple(4, 2 * CHUNK);
            let buffer = self.buffer(memory, memory_size, size, false);
            self.buffers.push(buffer);
        }
        self.host.follow_image(id, texels);
        self.images.push(Image { id, texels });
        true
    }

    pub(super) fn make_images(&mut self) {
        let color = Texels {
            format: COLOR,
            width: WIDTH,
            height: HEIGHT,
            depth: 1,
            mips: 3,
            layers: 3,
            samples: vk::SampleCountFlags::TYPE_1,
        };
        let attachment = vk::ImageUsageFlags::COLOR_ATTACHMENT;
        let storage = vk::ImageUsageFlags::STORAGE;
        let flat = Texels { mips: 1, ..color };
        for (texels, usage) in [
            (color, attachment | storage),
            (color, attachment | storage),
            (
                Texels {
                    format: vk::Format::D32_SFLOAT,
                    layers: 2,
                    ..flat
                },
                vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ),
            (
                Texels {
                    layers: 1,
                    samples: vk::SampleCountFlags::TYPE_4,
                    ..flat
                },
                attachment,
            ),
            (
                Texels {
                    format: vk::Format::R32_UINT,
                    ..flat
                },
                storage,
            ),
            (
                Texels {
                    width: 16,
                    height: 16,
                    depth: 8,
                    mips: 2,
                    layers: 1,
                    ..color
                },
                storage,
            ),
        ] {
            if !self.image(texels, usage) {
                self.images.clear();
                return;
            }
        }
        self.make_rendering();
        self.make_storage();
    }

    /// All images go to GENERAL; to be submitted before anything else.
    pub(super) fn prepare_images(&mut self) -> Result<(), String> {
        if self.images.is_empty() {
            return Ok(());
        }
        let primary = self.begin(self.primary);
        let barriers: Vec<_> = self
            .images
            .iter()
            .map(|image| {
                vk::ImageMemoryBarrier::default()
                    .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
                    .new_layout(GENERAL)
                    .image(handle(*image))
                    .subresource_range(vk::ImageSubresourceRange {
                        aspect_mask: image.texels.aspect(),
                        base_mip_level: 0,
                        level_count: vk::REMAINING_MIP_LEVELS,
                        base_array_layer: 0,
                        layer_count: vk::REMAINING_ARRAY_LAYERS,
                    })
            })
            .collect();
        run!(
            self.host,
            VkCmdPipelineBarrier {
                command_buffer: primary,
                src_stage_mask: vk::PipelineStageFlags::ALL_COMMANDS,
                dst_stage_mask: vk::PipelineStageFlags::ALL_COMMANDS,
                dependency_flags: vk::DependencyFlags::empty(),
                memory_barrier_count: 0,
                p_memory_barriers: std::ptr::null(),
                buffer_memory_barrier_count: 0,
                p_buffer_memory_barriers: std::ptr::null(),
                image_memory_barrier_count: barriers.len() as u32,
                p_image_memory_barriers: barriers.as_ptr().cast(),
            }
        );
        self.end(primary);
        self.submit(false);
        self.host.check("images to GENERAL".into())
    }

    fn view(&mut self, image: Image, mip: u32, layer: u32) -> u64 {
        let id = self.id(vk::ObjectType::IMAGE_VIEW);
        let info = vk::ImageViewCreateInfo::default()
            .image(handle(image))
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(image.texels.format)
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: image.texels.aspect(),
                base_mip_level: mip,
                level_count: 1,
                base_array_layer: layer,
                layer_count: 1,
            });
        let mut view = vk::ImageView::from_raw(id);
        run!(
            self.host,
            VkCreateImageView {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_view: &mut view,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    fn framebuffer(&mut self, pass: u64, views: &[u64]) -> u64 {
        let id = self.id(vk::ObjectType::FRAMEBUFFER);
        let views: Vec<_> = views
            .iter()
            .map(|view| vk::ImageView::from_raw(*view))
            .collect();
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(vk::RenderPass::from_raw(pass))
            .attachments(&views)
            .width(WIDTH)
            .height(HEIGHT)
            .layers(1);
        let mut framebuffer = vk::Framebuffer::from_raw(id);
        run!(
            self.host,
            VkCreateFramebuffer {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_framebuffer: &mut framebuffer,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    fn make_rendering(&mut self) {
        let mut rendering = Rendering::default();
        let one = vk::SampleCountFlags::TYPE_1;
        let four = vk::SampleCountFlags::TYPE_4;
        let describe = |format, samples, load_op| {
            vk::AttachmentDescription::default()
                .format(format)
                .samples(samples)
                .load_op(load_op)
                .store_op(vk::AttachmentStoreOp::STORE)
                .initial_layout(GENERAL)
                .final_layout(GENERAL)
        };
        let refer = |attachment| vk::AttachmentReference {
            attachment,
            layout: GENERAL,
        };
        let descriptions = [
            describe(COLOR, one, vk::AttachmentLoadOp::LOAD),
            describe(vk::Format::D32_SFLOAT, one, vk::AttachmentLoadOp::LOAD),
        ];
        let (colors, depth) = ([refer(0)], refer(1));
        let subpasses = [vk::SubpassDescription::default()
            .color_attachments(&colors)
            .depth_stencil_attachment(&depth)];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&descriptions)
            .subpasses(&subpasses);
        let id = self.id(vk::ObjectType::RENDER_PASS);
        let mut pass = vk::RenderPass::from_raw(id);
        run!(
            self.host,
            VkCreateRenderPass {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_render_pass: &mut pass,
                ret: vk::Result::SUCCESS,
            }
        );
        rendering.passes[0] = id;

        let describe = |samples, load_op| {
            vk::AttachmentDescription2::default()
                .format(COLOR)
                .samples(samples)
                .load_op(load_op)
                .store_op(vk::AttachmentStoreOp::STORE)
                .initial_layout(GENERAL)
                .final_layout(GENERAL)
        };
        let refer = |attachment| {
            [vk::AttachmentReference2::default()
                .attachment(attachment)
                .layout(GENERAL)
                .aspect_mask(vk::ImageAspectFlags::COLOR)]
        };
        let descriptions = [
            describe(four, vk::AttachmentLoadOp::CLEAR),
            describe(one, vk::AttachmentLoadOp::LOAD),
        ];
        let (colors, resolves) = (refer(0), refer(1));
        let subpasses = [vk::SubpassDescription2::default()
            .color_attachments(&colors)
            .resolve_attachments(&resolves)];
        let info = vk::RenderPassCreateInfo2::default()
            .attachments(&descriptions)
            .subpasses(&subpasses);
        let id = self.id(vk::ObjectType::RENDER_PASS);
        let mut pass = vk::RenderPass::from_raw(id);
        run!(
            self.host,
            VkCreateRenderPass2 {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_render_pass: &mut pass,
                ret: vk::Result::SUCCESS,
            }
        );
        rendering.passes[1] = id;

        let images = self.images.clone();
        let layer = self.random.below(3) as u32;
        let color = self.view(images[0], 0, layer);
        let z = self.random.below(2) as u32;
        let depth = self.view(images[2], 0, z);
        rendering.framebuffers[0] = self.framebuffer(rendering.passes[0], &[color, depth]);
        let drawn = self.view(images[3], 0, 0);
        let resolved = self.view(images[1], 0, layer);
        rendering.framebuffers[1] = self.framebuffer(rendering.passes[1], &[drawn, resolved]);
        rendering.view = self.view(images[0], 1, layer);
        let [first, second] = rendering.passes;
        for (index, (pass, samples)) in [(first, one), (second, four), (0, one)]
            .into_iter()
            .enumerate()
        {
            rendering.pipelines[index] = self.graphics_pipeline(pass, samples);
        }
        self.rendering = rendering;
    }

    fn graphics_pipeline(&mut self, pass: u64, samples: vk::SampleCountFlags) -> u64 {
        let mut modules = Vec::new();
        for code in [
            &include_bytes!("../shaders/draw_vert.spv")[..],
            &include_bytes!("../shaders/draw_frag.spv")[..],
        ] {
            let id = self.id(vk::ObjectType::SHADER_MODULE);
            let words = words(code);
            let info = vk::ShaderModuleCreateInfo::default().code(&words);
            let mut module = vk::ShaderModule::from_raw(id);
            run!(
                self.host,
                VkCreateShaderModule {
                    device: Self::device(),
                    p_create_info: (&raw const info).cast(),
                    p_allocator: std::ptr::null(),
                    p_shader_module: &mut module,
                    ret: vk::Result::SUCCESS,
                }
            );
            modules.push(module);
        }
        let stages = [
            (vk::ShaderStageFlags::VERTEX, modules[0]),
            (vk::ShaderStageFlags::FRAGMENT, modules[1]),
        ]
        .map(|(stage, module)| {
            vk::PipelineShaderStageCreateInfo::default()
                .stage(stage)
                .module(module)
                .name(c"main")
        });
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let viewports = [vk::Viewport {
            width: WIDTH as f32,
            height: HEIGHT as f32,
            max_depth: 1.0,
            ..Default::default()
        }];
        let scissors = [vk::Rect2D::default().extent(vk::Extent2D {
            width: WIDTH,
            height: HEIGHT,
        })];
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(samples);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(true)
            .depth_write_enable(true)
            .depth_compare_op(vk::CompareOp::ALWAYS);
        let targets = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
        let formats = [COLOR];
        let mut dynamic =
            vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&multisample)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .layout(vk::PipelineLayout::from_raw(self.layout(Kind::Plain)))
            .render_pass(vk::RenderPass::from_raw(pass));
        if pass == 0 {
            info = info.push_next(&mut dynamic);
        }
        let infos = [info];
        let id = self.id(vk::ObjectType::PIPELINE);
        let mut pipeline = vk::Pipeline::from_raw(id);
        run!(
            self.host,
            VkCreateGraphicsPipelines {
                device: Self::device(),
                pipeline_cache: vk::PipelineCache::null(),
                create_info_count: 1,
                p_create_infos: infos.as_ptr().cast(),
                p_allocator: std::ptr::null(),
                p_pipelines: &mut pipeline,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    /// Points the set of storage images at random levels and layers.
    fn make_storage(&mut self) {
        let images = self.images.clone();
        for (binding, image) in [(0, images[1]), (1, images[0]), (3, images[4])] {
            let mip = self.random.below(u64::from(image.texels.mips)) as u32;
            let layer = self.random.below(3) as u32;
            let view = self.view(image, mip, layer);
            let infos = [vk::DescriptorImageInfo::default()
                .image_view(vk::ImageView::from_raw(view))
                .image_layout(GENERAL)];
            self.update(
                vk::WriteDescriptorSet::default()
                    .dst_set(vk::DescriptorSet::from_raw(self.storage_set))
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_IMAGE)
                    .image_info(&infos),
            );
        }
    }

    /// A subresource of an image, by its layers structure.
    fn subresource(&mut self, image: Image) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers {
            aspect_mask: image.texels.aspect(),
            mip_level: self.random.below(u64::from(image.texels.mips)) as u32,
            base_array_layer: self.random.below(u64::from(image.texels.layers)) as u32,
            layer_count: 1,
        }
    }

    /// Records one random thing with images; nothing where there are none.
    pub(super) fn record_images(&mut self, command_buffer: vk::CommandBuffer, secondary: bool) {
        if self.images.is_empty() {
            return;
        }
        match self.random.below(10) {
            0 => self.clear_image(command_buffer),
            1 | 2 => self.copy_image(command_buffer),
            3 | 4 => self.copy_with_buffer(command_buffer),
            5 => self.resolve_image(command_buffer),
            6 => self.store_image(command_buffer),
            _ if secondary => self.clear_image(command_buffer),
            _ => self.render(command_buffer),
        }
    }

    fn clear_image(&mut self, command_buffer: vk::CommandBuffer) {
        let image = self.random.pick(&self.images.clone());
        let at = self.subresource(image);
        let ranges = [vk::ImageSubresourceRange {
            aspect_mask: at.aspect_mask,
            base_mip_level: at.mip_level,
            level_count: self.random.pick(&[1, vk::REMAINING_MIP_LEVELS]),
            base_array_layer: at.base_array_layer,
            layer_count: self.random.pick(&[1, vk::REMAINING_ARRAY_LAYERS]),
        }];
        self.note(format!("clear image {} {:?}", image.id, ranges[0]));
        if image.texels.format == vk::Format::D32_SFLOAT {
            let value = vk::ClearDepthStencilValue {
                depth: self.random.below(1000) as f32 / 1000.0,
                stencil: 0,
            };
            run!(
                self.host,
                VkCmdClearDepthStencilImage {
                    command_buffer: command_buffer,
                    image: handle(image),
                    image_layout: GENERAL,
                    p_depth_stencil: &value,
                    range_count: 1,
                    p_ranges: ranges.as_ptr(),
                }
            );
            return;
        }
        let value = match image.texels.format {
            vk::Format::R32_UINT => vk::ClearColorValue {
                uint32: [self.random.next() as u32; 4],
            },
            _ => vk::ClearColorValue {
                float32: [self.random.below(256) as f32 / 255.0; 4],
            },
        };
        run!(
            self.host,
            VkCmdClearColorImage {
                command_buffer: command_buffer,
                image: handle(image),
                image_layout: GENERAL,
                p_color: &value,
                range_count: 1,
                p_ranges: ranges.as_ptr(),
            }
        );
    }

    /// A copy or blit between the first two images, in either form.
    fn copy_image(&mut self, command_buffer: vk::CommandBuffer) {
        let (mut source, mut target) = (self.images[0], self.images[1]);
        if self.random.one_in(2) {
            std::mem::swap(&mut source, &mut target);
        }
        let (from, to) = (self.subresource(source), self.subresource(target));
        let far = |texels: Texels, mip| {
            let extent = texels.extent(mip);
            vk::Offset3D {
                x: extent.width as i32,
                y: extent.height as i32,
                z: 1,
            }
        };
        let zero = vk::Offset3D::default();
        let way = self.random.below(4);
        self.note(format!(
            "way {way} from {} {from:?} to {} {to:?}",
            source.id, target.id
        ));
        let extent = source.texels.extent(from.mip_level.max(to.mip_level));
        let (src_offsets, dst_offsets) = (
            [zero, far(source.texels, from.mip_level)],
            [zero, far(target.texels, to.mip_level)],
        );
        match way {
            0 => {
                let regions = [vk::ImageCopy {
                    src_subresource: from,
                    src_offset: zero,
                    dst_subresource: to,
                    dst_offset: zero,
                    extent,
                }];
                run!(
                    self.host,
                    VkCmdCopyImage {
                        command_buffer: command_buffer,
                        src_image: handle(source),
                        src_image_layout: GENERAL,
                        dst_image: handle(target),
                        dst_image_layout: GENERAL,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                    }
                );
            }
            1 => {
                let regions = [vk::ImageCopy2::default()
                    .src_subresource(from)
                    .dst_subresource(to)
                    .extent(extent)];
                let info = vk::CopyImageInfo2::default()
                    .src_image(handle(source))
                    .src_image_layout(GENERAL)
                    .dst_image(handle(target))
                    .dst_image_layout(GENERAL)
                    .regions(&regions);
                run!(
                    self.host,
                    VkCmdCopyImage2 {
                        command_buffer: command_buffer,
                        p_copy_image_info: (&raw const info).cast(),
                    }
                );
            }
            2 => {
                let regions = [vk::ImageBlit {
                    src_subresource: from,
                    src_offsets,
                    dst_subresource: to,
                    dst_offsets,
                }];
                run!(
                    self.host,
                    VkCmdBlitImage {
                        command_buffer: command_buffer,
                        src_image: handle(source),
                        src_image_layout: GENERAL,
                        dst_image: handle(target),
                        dst_image_layout: GENERAL,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                        filter: vk::Filter::LINEAR,
                    }
                );
            }
            _ => {
                let regions = [vk::ImageBlit2::default()
                    .src_subresource(from)
                    .src_offsets(src_offsets)
                    .dst_subresource(to)
                    .dst_offsets(dst_offsets)];
                let info = vk::BlitImageInfo2::default()
                    .src_image(handle(source))
                    .src_image_layout(GENERAL)
                    .dst_image(handle(target))
                    .dst_image_layout(GENERAL)
                    .regions(&regions)
                    .filter(vk::Filter::NEAREST);
                run!(
                    self.host,
                    VkCmdBlitImage2 {
                        command_buffer: command_buffer,
                        p_blit_image_info: (&raw const info).cast(),
                    }
                );
            }
        }
    }

    /// A copy between a buffer and an image of one sample, in either direction and form.
    fn copy_with_buffer(&mut self, command_buffer: vk::CommandBuffer) {
        let image = self.random.pick(&self.images.clone());
        let buffer = self.random.pick(&self.buffers.clone());
        if image.texels.samples != vk::SampleCountFlags::TYPE_1 {
            return;
        }
        let at = self.subresource(image);
        let mut extent = image.texels.extent(at.mip_level);
        let row = extent.width + self.random.below(9) as u32;
        extent.height = 1 + self.random.below(u64::from(extent.height)) as u32;
        let needed = u64::from(row * image.texels.extent(at.mip_level).height * extent.depth) * 4;
        if buffer.size <= needed {
            return;
        }
        let offset = self.random.multiple(4, buffer.size - needed);
        let way = self.random.below(4);
        self.note(format!(
            "buffer {} +{offset:#x} way {way} image {} {at:?} {extent:?}",
            buffer.id, image.id
        ));
        let height = image.texels.extent(at.mip_level).height;
        let regions = [vk::BufferImageCopy {
            buffer_offset: offset,
            buffer_row_length: row,
            buffer_image_height: height,
            image_subresource: at,
            image_offset: vk::Offset3D::default(),
            image_extent: extent,
        }];
        let regions2 = [vk::BufferImageCopy2::default()
            .buffer_offset(offset)
            .buffer_row_length(row)
            .buffer_image_height(height)
            .image_subresource(at)
            .image_extent(extent)];
        let handle_of = vk::Buffer::from_raw(buffer.id);
        match way {
            0 => {
                run!(
                    self.host,
                    VkCmdCopyBufferToImage {
                        command_buffer: command_buffer,
                        src_buffer: handle_of,
                        dst_image: handle(image),
                        dst_image_layout: GENERAL,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                    }
                );
            }
            1 => {
                run!(
                    self.host,
                    VkCmdCopyImageToBuffer {
                        command_buffer: command_buffer,
                        src_image: handle(image),
                        src_image_layout: GENERAL,
                        dst_buffer: handle_of,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                    }
                );
            }
            2 => {
                let info = vk::CopyBufferToImageInfo2::default()
                    .src_buffer(handle_of)
                    .dst_image(handle(image))
                    .dst_image_layout(GENERAL)
                    .regions(&regions2);
                run!(
                    self.host,
                    VkCmdCopyBufferToImage2 {
                        command_buffer: command_buffer,
                        p_copy_buffer_to_image_info: (&raw const info).cast(),
                    }
                );
            }
            _ => {
                let info = vk::CopyImageToBufferInfo2::default()
                    .src_image(handle(image))
                    .src_image_layout(GENERAL)
                    .dst_buffer(handle_of)
                    .regions(&regions2);
                run!(
                    self.host,
                    VkCmdCopyImageToBuffer2 {
                        command_buffer: command_buffer,
                        p_copy_image_to_buffer_info: (&raw const info).cast(),
                    }
                );
            }
        }
    }

    /// The image of several samples into the second image.
    fn resolve_image(&mut self, command_buffer: vk::CommandBuffer) {
        let (source, target) = (self.images[3], self.images[1]);
        let from = self.subresource(source);
        let mut to = self.subresource(target);
        to.mip_level = 0;
        let extent = source.texels.extent(0);
        let wide = self.random.one_in(2);
        self.note(format!("resolve to {} {to:?}", target.id));
        if wide {
            let regions = [vk::ImageResolve2::default()
                .src_subresource(from)
                .dst_subresource(to)
                .extent(extent)];
            let info = vk::ResolveImageInfo2::default()
                .src_image(handle(source))
                .src_image_layout(GENERAL)
                .dst_image(handle(target))
                .dst_image_layout(GENERAL)
                .regions(&regions);
            run!(
                self.host,
                VkCmdResolveImage2 {
                    command_buffer: command_buffer,
                    p_resolve_image_info: (&raw const info).cast(),
                }
            );
        } else {
            let regions = [vk::ImageResolve {
                src_subresource: from,
                dst_subresource: to,
                extent,
                ..Default::default()
            }];
            run!(
                self.host,
                VkCmdResolveImage {
                    command_buffer: command_buffer,
                    src_image: handle(source),
                    src_image_layout: GENERAL,
                    dst_image: handle(target),
                    dst_image_layout: GENERAL,
                    region_count: 1,
                    p_regions: regions.as_ptr(),
                }
            );
        }
    }

    /// Stores and atomics through storage images.
    fn store_image(&mut self, command_buffer: vk::CommandBuffer) {
        let pipeline = self
            .pipelines
            .iter()
            .find(|p| p.kind == Kind::Storage)
            .copied();
        let Some(pipeline) = pipeline else {
            return;
        };
        self.note("store to images".into());
        run!(
            self.host,
            VkCmdBindPipeline {
                command_buffer: command_buffer,
                pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                pipeline: vk::Pipeline::from_raw(pipeline.id),
            }
        );
        let set = self.storage_set;
        self.bind_sets(command_buffer, Kind::Storage, 0, &[set], &[]);
        run!(
            self.host,
            VkCmdDispatch {
                command_buffer: command_buffer,
                group_count_x: 8,
                group_count_y: 6,
                group_count_z: 1,
            }
        );
    }

    fn render(&mut self, command_buffer: vk::CommandBuffer) {
        let rendering = self.rendering;
        let way = self.random.below(3) as usize;
        let graphics = vk::PipelineBindPoint::GRAPHICS;
        let set = self.random.pick(&self.plain_sets.clone());
        let push = [
            self.random.pick(&[1, 3, 7]),
            self.random.below(30_000) as u32,
            self.random.next() as u32,
        ];
        self.note(format!("render way {way} set {set} {push:?}"));
        run!(
            self.host,
            VkCmdBindPipeline {
                command_buffer: command_buffer,
                pipeline_bind_point: graphics,
                pipeline: vk::Pipeline::from_raw(rendering.pipelines[way]),
            }
        );
        let layout = vk::PipelineLayout::from_raw(self.layout(Kind::Plain));
        let sets = [vk::DescriptorSet::from_raw(set)];
        run!(
            self.host,
            VkCmdBindDescriptorSets {
                command_buffer: command_buffer,
                pipeline_bind_point: graphics,
                layout: layout,
                first_set: 0,
                descriptor_set_count: 1,
                p_descriptor_sets: sets.as_ptr(),
                dynamic_offset_count: 0,
                p_dynamic_offsets: std::ptr::null(),
            }
        );
        run!(
            self.host,
            VkCmdPushConstants {
                command_buffer: command_buffer,
                layout: layout,
                stage_flags: World::stages(),
                offset: 0,
                size: 12,
                p_values: push.as_ptr().cast(),
            }
        );
        let area = vk::Rect2D::default().extent(vk::Extent2D {
            width: WIDTH >> (way / 2),
            height: HEIGHT >> (way / 2),
        });
        let clears = [vk::ClearValue::default(); 2];
        if way < 2 {
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(vk::RenderPass::from_raw(rendering.passes[way]))
                .framebuffer(vk::Framebuffer::from_raw(rendering.framebuffers[way]))
                .render_area(area)
                .clear_values(&clears);
            let inline = vk::SubpassContents::INLINE;
            if way == 0 {
                run!(
                    self.host,
                    VkCmdBeginRenderPass {
                        command_buffer: command_buffer,
                        p_render_pass_begin: (&raw const begin).cast(),
                        contents: inline,
                    }
                );
            } else {
                let subpass = vk::SubpassBeginInfo::default().contents(inline);
                run!(
                    self.host,
                    VkCmdBeginRenderPass2 {
                        command_buffer: command_buffer,
                        p_render_pass_begin: (&raw const begin).cast(),
                        p_subpass_begin_info: (&raw const subpass).cast(),
                    }
                );
            }
        } else {
            let colors = [vk::RenderingAttachmentInfo::default()
                .image_view(vk::ImageView::from_raw(rendering.view))
                .image_layout(GENERAL)
                .load_op(vk::AttachmentLoadOp::LOAD)
                .store_op(vk::AttachmentStoreOp::STORE)];
            let info = vk::RenderingInfo::default()
                .render_area(area)
                .layer_count(1)
                .color_attachments(&colors);
            run!(
                self.host,
                VkCmdBeginRendering {
                    command_buffer: command_buffer,
                    p_rendering_info: (&raw const info).cast(),
                }
            );
        }
        run!(
            self.host,
            VkCmdDraw {
                command_buffer: command_buffer,
                vertex_count: 3,
                instance_count: 1,
                first_vertex: 0,
                first_instance: 0,
            }
        );
        if way < 2 {
            run!(
                self.host,
                VkCmdEndRenderPass {
                    command_buffer: command_buffer
                }
            );
        } else {
            run!(
                self.host,
                VkCmdEndRendering {
                    command_buffer: command_buffer
                }
            );
        }
    }
}
