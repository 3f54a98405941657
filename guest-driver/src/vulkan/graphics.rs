//! A device that renders, and the pictures of `selftest --graphics`: the smallest program for each kind of graphics
//! command. Every picture is a submission of its own that is waited for, so that nothing is in use ("idle") when an object
//! is destroyed. Objects are not destroyed one by one when something fails: the process ends then.

use ash::vk;

use super::render::{COLOR, DEPTH, Recipe, Triangle, area, corner, extent, layers};
use super::{Instance, choose, memory};
use crate::error::{Error, Named};
use crate::vulkan::Place;

/// Width and height of every picture, in pixels.
pub const SIDE: u32 = 128;
/// Levels of an image with levels.
const LEVELS: u32 = 4;

/// An image with all that is needed to draw into it.
struct Image {
    handle: vk::Image,
    memory: vk::DeviceMemory,
    /// Level 0, layer 0.
    view: vk::ImageView,
    aspect: vk::ImageAspectFlags,
}

/// A device with one graphics queue.
pub struct Graphics {
    raw: ash::Device,
    queue: vk::Queue,
    memory: vk::PhysicalDeviceMemoryProperties,
    dynamic: Option<ash::khr::dynamic_rendering::Device>,
    pool: vk::CommandPool,
    triangle: Triangle,
    readback: (vk::Buffer, *const u8),
    name: String,
    // Last: the device goes before its instance.
    _instance: Instance,
}

/// Bytes that the readback buffer holds.
const READBACK: u64 = SIDE as u64 * SIDE as u64 * 4 * 4;

impl Graphics {
    /// Opens a device as [`super::Gpu::open`] does, with dynamic rendering where it has that.
    pub fn open(wanted: Option<&str>) -> Result<Self, Error> {
        let instance = Instance::new()?;
        let devices = instance.devices()?;
        let physical = *choose(&devices, wanted)?;
        let (handle, memory, name) = (physical.handle, physical.memory(), physical.name());
        let family = (0u32..)
            .zip(physical.families())
            .find(|(_, family)| family.queue_flags.contains(vk::QueueFlags::GRAPHICS))
            .map(|(index, _)| index)
            .ok_or_else(|| Error::NoDevice(format!(" that draws ({name})")))?;
        // SAFETY: the handle is of this instance.
        let extensions = unsafe { instance.raw.enumerate_device_extension_properties(handle) }
            .named("vkEnumerateDeviceExtensionProperties")?;
        let wanted = ash::khr::dynamic_rendering::NAME;
        let is_dynamic = extensions
            .iter()
            .any(|extension| extension.extension_name_as_c_str() == Ok(wanted));
        let names: Vec<_> = is_dynamic.then_some(wanted.as_ptr()).into_iter().collect();
        let mut feature =
            vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&priorities)];
        let mut info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names);
        if is_dynamic {
            info = info.push_next(&mut feature);
        }
        // SAFETY: the handle is of this instance, and `info` names what the device has.
        let raw =
            unsafe { instance.raw.create_device(handle, &info, None) }.named("vkCreateDevice")?;
        let dynamic =
            is_dynamic.then(|| ash::khr::dynamic_rendering::Device::new(&instance.raw, &raw));
        let pool = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: the device is new; all structures are complete.
        let (queue, pool) = unsafe {
            (
                raw.get_device_queue(family, 0),
                raw.create_command_pool(&pool, None)
                    .named("vkCreateCommandPool")?,
            )
        };
        let triangle = Triangle::new(&raw)?;
        let mut this = Self {
            raw,
            queue,
            memory,
            dynamic,
            pool,
            triangle,
            readback: (vk::Buffer::null(), std::ptr::null()),
            name,
            _instance: instance,
        };
        this.make_readback()?;
        Ok(this)
    }

    /// Name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn make_readback(&mut self) -> Result<(), Error> {
        let usage = vk::BufferUsageFlags::TRANSFER_DST | vk::BufferUsageFlags::TRANSFER_SRC;
        let info = vk::BufferCreateInfo::default().size(READBACK).usage(usage);
        let raw = &self.raw;
        // SAFETY: new objects of a device that lives; the memory is host-visible and mapped whole.
        unsafe {
            let buffer = raw.create_buffer(&info, None).named("vkCreateBuffer")?;
            let needs = raw.get_buffer_memory_requirements(buffer);
            let memory = self.allocate(needs, Place::HostVisible)?;
            raw.bind_buffer_memory(buffer, memory, 0)
                .named("vkBindBufferMemory")?;
            let at = raw
                .map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .named("vkMapMemory")?;
            self.readback = (buffer, at.cast_const().cast());
        }
        Ok(())
    }

    fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        place: Place,
    ) -> Result<vk::DeviceMemory, Error> {
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index(memory::choose_type(
                &self.memory,
                place,
                needs.memory_type_bits,
            )?);
        // SAFETY: the structure is complete.
        unsafe { self.raw.allocate_memory(&info, None) }.named("vkAllocateMemory")
    }

    /// An image of one kind; `levels` and `layers` of it.
    fn image(
        &self,
        format: vk::Format,
        samples: vk::SampleCountFlags,
        (levels, layers): (u32, u32),
    ) -> Result<Image, Error> {
        let (aspect, attachment) = match format {
            DEPTH => (
                vk::ImageAspectFlags::DEPTH,
                vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
            ),
            _ => (
                vk::ImageAspectFlags::COLOR,
                vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ),
        };
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format)
            .extent(extent(SIDE, 0))
            .mip_levels(levels)
            .array_layers(layers)
            .samples(samples)
            .usage(
                attachment | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
            );
        let raw = &self.raw;
        // SAFETY: new objects of a device that lives, bound before they are used.
        unsafe {
            let handle = raw.create_image(&info, None).named("vkCreateImage")?;
            let needs = raw.get_image_memory_requirements(handle);
            let memory = self.allocate(needs, Place::DeviceLocal)?;
            raw.bind_image_memory(handle, memory, 0)
                .named("vkBindImageMemory")?;
            let info = vk::ImageViewCreateInfo::default()
                .image(handle)
                .view_type(vk::ImageViewType::TYPE_2D)
                .format(format)
                .subresource_range(vk::ImageSubresourceRange {
                    aspect_mask: aspect,
                    base_mip_level: 0,
                    level_count: 1,
                    base_array_layer: 0,
                    layer_count: 1,
                });
            let view = raw
                .create_image_view(&info, None)
                .named("vkCreateImageView")?;
            Ok(Image {
                handle,
                memory,
                view,
                aspect,
            })
        }
    }

    fn destroy(&self, image: Image) {
        // SAFETY: idle.
        unsafe {
            self.raw.destroy_image_view(image.view, None);
            self.raw.destroy_image(image.handle, None);
            self.raw.free_memory(image.memory, None);
        }
    }

    /// A pipeline for a render pass, or for dynamic rendering where that is null.
    fn pipeline(
        &self,
        pass: vk::RenderPass,
        samples: vk::SampleCountFlags,
        depth: bool,
    ) -> Result<vk::Pipeline, Error> {
        let recipe = Recipe {
            pass,
            samples,
            depth,
            side: SIDE,
        };
        self.triangle.pipeline(&self.raw, recipe)
    }

    /// Records, submits and waits.
    fn run(&self, record: impl FnOnce(vk::CommandBuffer)) -> Result<(), Error> {
        let raw = &self.raw;
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(self.pool)
            .command_buffer_count(1);
        // SAFETY: the pool lives and is used by this thread only; the queue is waited for before
        // anything is freed.
        unsafe {
            let commands = raw
                .allocate_command_buffers(&info)
                .named("vkAllocateCommandBuffers")?;
            let begin = vk::CommandBufferBeginInfo::default();
            raw.begin_command_buffer(commands[0], &begin)
                .named("vkBeginCommandBuffer")?;
            record(commands[0]);
            raw.end_command_buffer(commands[0])
                .named("vkEndCommandBuffer")?;
            let submits = [vk::SubmitInfo::default().command_buffers(&commands)];
            raw.queue_submit(self.queue, &submits, vk::Fence::null())
                .named("vkQueueSubmit")?;
            raw.queue_wait_idle(self.queue).named("vkQueueWaitIdle")?;
            raw.free_command_buffers(self.pool, &commands);
        }
        Ok(())
    }

    /// All of an image goes from one layout to another, after everything before.
    fn transition(
        &self,
        commands: vk::CommandBuffer,
        image: &Image,
        old: vk::ImageLayout,
        new: vk::ImageLayout,
    ) {
        let stage = vk::PipelineStageFlags::ALL_COMMANDS;
        let both = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = vk::ImageMemoryBarrier::default()
            .src_access_mask(both)
            .dst_access_mask(both)
            .old_layout(old)
            .new_layout(new)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(image.handle)
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: image.aspect,
                base_mip_level: 0,
                level_count: vk::REMAINING_MIP_LEVELS,
                base_array_layer: 0,
                layer_count: vk::REMAINING_ARRAY_LAYERS,
            });
        // SAFETY: the command buffer is being recorded.
        unsafe {
            let none = vk::DependencyFlags::empty();
            self.raw
                .cmd_pipeline_barrier(commands, stage, stage, none, &[], &[], &[barrier]);
        }
    }

    /// Content of a level and layer of an image that is in GENERAL layout.
    fn read(&self, image: &Image, level: u32, layer: u32) -> Result<Vec<u8>, Error> {
        let region = vk::BufferImageCopy {
            image_subresource: layers(image.aspect, level, layer),
            image_extent: extent(SIDE, level),
            ..Default::default()
        };
        let (buffer, at) = self.readback;
        self.run(|commands| {
            // SAFETY: the command buffer is being recorded, image and buffer live.
            unsafe {
                let layout = vk::ImageLayout::GENERAL;
                self.raw.cmd_copy_image_to_buffer(
                    commands,
                    image.handle,
                    layout,
                    buffer,
                    &[region],
                );
                let barrier = vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
                    .dst_access_mask(vk::AccessFlags::HOST_READ);
                self.raw.cmd_pipeline_barrier(
                    commands,
                    vk::PipelineStageFlags::TRANSFER,
                    vk::PipelineStageFlags::HOST,
                    vk::DependencyFlags::empty(),
                    &[barrier],
                    &[],
                    &[],
                );
            }
        })?;
        let len = ((SIDE >> level) * (SIDE >> level) * 4) as usize;
        // SAFETY: the buffer is longer than a picture, mapped for as long as the device lives, idle.
        Ok(unsafe { std::slice::from_raw_parts(at, len) }.to_vec())
    }

    fn draw(&self, commands: vk::CommandBuffer, push: [f32; 4]) {
        // SAFETY: the callers record inside of a pass, with a pipeline of these.
        unsafe { self.triangle.draw(&self.raw, commands, push) };
    }

    /// Two triangles, the nearer one drawn first, by a render pass; the color image in GENERAL layout afterwards.
    fn render(&self, samples: vk::SampleCountFlags, depth: bool) -> Result<Image, Error> {
        let target = self.image(COLOR, vk::SampleCountFlags::TYPE_1, (LEVELS, 1))?;
        let many = samples != vk::SampleCountFlags::TYPE_1;
        let drawn = many
            .then(|| self.image(COLOR, samples, (1, 1)))
            .transpose()?;
        let zbuffer = depth
            .then(|| self.image(DEPTH, samples, (1, 1)))
            .transpose()?;
        let describe = |format, samples, load_op| {
            vk::AttachmentDescription::default()
                .format(format)
                .samples(samples)
                .load_op(load_op)
                .store_op(vk::AttachmentStoreOp::STORE)
                .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
                .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
                .final_layout(vk::ImageLayout::GENERAL)
        };
        let clear = vk::AttachmentLoadOp::CLEAR;
        let mut descriptions = vec![describe(COLOR, samples, clear)];
        let mut views = vec![drawn.as_ref().unwrap_or(&target).view];
        let refer = |number: usize| vk::AttachmentReference {
            attachment: number as u32,
            layout: vk::ImageLayout::GENERAL,
        };
        let (colors, mut resolves, mut z) = ([refer(0)], vec![], refer(0));
        if let Some(zbuffer) = &zbuffer {
            z = refer(views.len());
            descriptions.push(describe(DEPTH, samples, clear));
            views.push(zbuffer.view);
        }
        if many {
            resolves.push(refer(views.len()));
            let one = vk::SampleCountFlags::TYPE_1;
            descriptions.push(describe(COLOR, one, vk::AttachmentLoadOp::DONT_CARE));
            views.push(target.view);
        }
        let mut subpass = vk::SubpassDescription::default().color_attachments(&colors);
        if many {
            subpass = subpass.resolve_attachments(&resolves);
        }
        if depth {
            subpass = subpass.depth_stencil_attachment(&z);
        }
        let subpasses = [subpass];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&descriptions)
            .subpasses(&subpasses);
        let raw = &self.raw;
        // SAFETY: everything that the structures name lives until the queue is idle.
        unsafe {
            let pass = raw
                .create_render_pass(&info, None)
                .named("vkCreateRenderPass")?;
            let info = vk::FramebufferCreateInfo::default()
                .render_pass(pass)
                .attachments(&views)
                .width(SIDE)
                .height(SIDE)
                .layers(1);
            let framebuffer = raw
                .create_framebuffer(&info, None)
                .named("vkCreateFramebuffer")?;
            let pipeline = self.pipeline(pass, samples, depth)?;
            let color = vk::ClearColorValue {
                float32: [0.25, 0.5, 0.75, 1.0],
            };
            let far = vk::ClearDepthStencilValue {
                depth: 1.0,
                stencil: 0,
            };
            let clears = [
                vk::ClearValue { color },
                vk::ClearValue { depth_stencil: far },
            ];
            let begin = vk::RenderPassBeginInfo::default()
                .render_pass(pass)
                .framebuffer(framebuffer)
                .render_area(area(SIDE))
                .clear_values(&clears);
            self.run(|commands| {
                // The levels that the pass does not reach get a layout, too.
                let undefined = vk::ImageLayout::UNDEFINED;
                self.transition(commands, &target, undefined, vk::ImageLayout::GENERAL);
                raw.cmd_begin_render_pass(commands, &begin, vk::SubpassContents::INLINE);
                let graphics = vk::PipelineBindPoint::GRAPHICS;
                raw.cmd_bind_pipeline(commands, graphics, pipeline);
                self.draw(commands, [0.0, 0.0, 0.25, 1.0]);
                self.draw(commands, [0.2, -0.15, 0.5, 0.5]);
                let patch = [vk::ClearAttachment {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    color_attachment: 0,
                    clear_value: vk::ClearValue {
                        color: vk::ClearColorValue {
                            float32: [1.0, 0.0, 1.0, 1.0],
                        },
                    },
                }];
                let rect = [vk::ClearRect {
                    rect: vk::Rect2D {
                        offset: vk::Offset2D { x: 3, y: 5 },
                        extent: vk::Extent2D {
                            width: 9,
                            height: 4,
                        },
                    },
                    base_array_layer: 0,
                    layer_count: 1,
                }];
                raw.cmd_clear_attachments(commands, &patch, &rect);
                raw.cmd_end_render_pass(commands);
            })?;
            raw.destroy_pipeline(pipeline, None);
            raw.destroy_framebuffer(framebuffer, None);
            raw.destroy_render_pass(pass, None);
        }
        for image in [drawn, zbuffer].into_iter().flatten() {
            self.destroy(image);
        }
        Ok(target)
    }

    /// As [`Self::render`], by dynamic rendering of 4 samples with a resolve. None where the device has none.
    fn render_dynamic(&self) -> Result<Option<Image>, Error> {
        let Some(dynamic) = &self.dynamic else {
            return Ok(None);
        };
        let samples = vk::SampleCountFlags::TYPE_4;
        let target = self.image(COLOR, vk::SampleCountFlags::TYPE_1, (1, 1))?;
        let drawn = self.image(COLOR, samples, (1, 1))?;
        let pipeline = self.pipeline(vk::RenderPass::null(), samples, false)?;
        let general = vk::ImageLayout::GENERAL;
        let colors = [vk::RenderingAttachmentInfo::default()
            .image_view(drawn.view)
            .image_layout(general)
            .resolve_mode(vk::ResolveModeFlags::AVERAGE)
            .resolve_image_view(target.view)
            .resolve_image_layout(general)
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(vk::AttachmentStoreOp::DONT_CARE)];
        let info = vk::RenderingInfo::default()
            .render_area(area(SIDE))
            .layer_count(1)
            .color_attachments(&colors);
        self.run(|commands| {
            for image in [&target, &drawn] {
                self.transition(commands, image, vk::ImageLayout::UNDEFINED, general);
            }
            // SAFETY: the command buffer is being recorded, and everything that it names lives.
            unsafe {
                dynamic.cmd_begin_rendering(commands, &info);
                let graphics = vk::PipelineBindPoint::GRAPHICS;
                self.raw.cmd_bind_pipeline(commands, graphics, pipeline);
                self.draw(commands, [-0.1, 0.1, 0.0, 1.0]);
                dynamic.cmd_end_rendering(commands);
            }
        })?;
        // SAFETY: idle.
        unsafe { self.raw.destroy_pipeline(pipeline, None) };
        self.destroy(drawn);
        Ok(Some(target))
    }

    /// Each level of `image` from the one above it.
    fn blit_levels(&self, image: &Image) -> Result<(), Error> {
        let general = vk::ImageLayout::GENERAL;
        self.run(|commands| {
            for level in 1..LEVELS {
                let zero = vk::Offset3D::default();
                let blit = vk::ImageBlit {
                    src_subresource: layers(image.aspect, level - 1, 0),
                    src_offsets: [zero, corner(SIDE, level - 1)],
                    dst_subresource: layers(image.aspect, level, 0),
                    dst_offsets: [zero, corner(SIDE, level)],
                };
                self.transition(commands, image, general, general);
                // SAFETY: the command buffer is being recorded, the image lives.
                unsafe {
                    let (from, to) = (image.handle, image.handle);
                    let linear = vk::Filter::LINEAR;
                    self.raw
                        .cmd_blit_image(commands, from, general, to, general, &[blit], linear);
                }
            }
        })
    }

    /// An array whose second layer gets a part of `source`, its third a clear, its fourth what the buffer holds.
    fn copies(&self, source: &Image) -> Result<Image, Error> {
        let array = self.image(COLOR, vk::SampleCountFlags::TYPE_1, (1, 4))?;
        let general = vk::ImageLayout::GENERAL;
        let range = |layer, count| vk::ImageSubresourceRange {
            aspect_mask: array.aspect,
            base_mip_level: 0,
            level_count: 1,
            base_array_layer: layer,
            layer_count: count,
        };
        let clear = |level: f32| vk::ClearColorValue {
            float32: [level, 1.0 - level, 0.0, 1.0],
        };
        let copy = vk::ImageCopy {
            src_subresource: layers(array.aspect, 0, 0),
            src_offset: vk::Offset3D { x: 7, y: 9, z: 0 },
            dst_subresource: layers(array.aspect, 0, 1),
            dst_offset: vk::Offset3D { x: 40, y: 2, z: 0 },
            extent: vk::Extent3D {
                width: 77,
                height: 99,
                depth: 1,
            },
        };
        let from_buffer = vk::BufferImageCopy {
            buffer_offset: 256,
            buffer_row_length: SIDE + 3,
            image_subresource: layers(array.aspect, 0, 3),
            image_offset: vk::Offset3D { x: 11, y: 1, z: 0 },
            image_extent: vk::Extent3D {
                width: 50,
                height: 60,
                depth: 1,
            },
            ..Default::default()
        };
        self.run(|commands| {
            self.transition(commands, &array, vk::ImageLayout::UNDEFINED, general);
            // SAFETY: the command buffer is being recorded, images and buffer live.
            unsafe {
                let (raw, to) = (&self.raw, array.handle);
                raw.cmd_clear_color_image(commands, to, general, &clear(0.5), &[range(0, 4)]);
                self.transition(commands, &array, general, general);
                raw.cmd_clear_color_image(commands, to, general, &clear(1.0), &[range(2, 1)]);
                raw.cmd_copy_image(commands, source.handle, general, to, general, &[copy]);
                let buffer = self.readback.0;
                raw.cmd_copy_buffer_to_image(commands, buffer, to, general, &[from_buffer]);
            }
        })?;
        Ok(array)
    }

    /// Renders each picture and calls `show` with its name and content.
    pub fn pictures(&self, mut show: impl FnMut(&str, &[u8])) -> Result<(), Error> {
        let one = vk::SampleCountFlags::TYPE_1;
        let plain = self.render(one, false)?;
        show("render pass", &self.read(&plain, 0, 0)?);
        let depth = self.render(one, true)?;
        show("depth", &self.read(&depth, 0, 0)?);
        self.destroy(depth);
        for (name, depth) in [
            ("4 samples, resolved", false),
            ("4 samples with depth", true),
        ] {
            let image = self.render(vk::SampleCountFlags::TYPE_4, depth)?;
            show(name, &self.read(&image, 0, 0)?);
            self.destroy(image);
        }
        match self.render_dynamic()? {
            Some(image) => {
                show("dynamic rendering", &self.read(&image, 0, 0)?);
                self.destroy(image);
            }
            None => println!("selftest: dynamic rendering: SKIPPED: the device has none"),
        }
        self.blit_levels(&plain)?;
        for level in 1..LEVELS {
            let name = format!("level {level} by a blit");
            show(&name, &self.read(&plain, level, 0)?);
        }
        self.read(&plain, 0, 0)?;
        let array = self.copies(&plain)?;
        for layer in 0..4 {
            let name = format!("copies, layer {layer}");
            show(&name, &self.read(&array, 0, layer)?);
        }
        self.destroy(array);
        self.destroy(plain);
        Ok(())
    }
}

impl Drop for Graphics {
    fn drop(&mut self) {
        // SAFETY: idle, and everything made for a picture is gone; the rest goes with the device.
        unsafe {
            let _ = self.raw.device_wait_idle();
            self.raw.destroy_buffer(self.readback.0, None);
            self.triangle.destroy(&self.raw);
            self.raw.destroy_command_pool(self.pool, None);
            self.raw.destroy_device(None);
        }
    }
}
