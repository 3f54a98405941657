//! Images that stay in GENERAL layout, what renders to them, and the commands for both.

use std::rc::Rc;

use ash::vk;

use super::memory::{Buffer, Memory};
use super::render::{COLOR, DEPTH, Recipe, Triangle, area, corner, extent, layers};
use super::{Gpu, Place, Recorder, Shared};
use crate::error::{Error, Named};

const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;
/// Bytes of a texel, of every kind of image.
pub const TEXEL: u64 = 4;

/// What an image is for, and so its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Rendered to, copied, blitted and resolved.
    Color,
    /// A depth attachment.
    Depth,
    /// Words that shaders store.
    Storage,
}

/// What an image is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub used: Use,
    /// Width and height of level 0, in texels.
    pub side: u32,
    pub levels: u32,
    pub layers: u32,
    pub samples: vk::SampleCountFlags,
}

/// One layer of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub level: u32,
    pub layer: u32,
}

/// A rectangle of a [`Part`] and where its texels lie in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub part: Part,
    /// Left and upper edge, width and height, in texels.
    pub at: [u32; 2],
    pub size: [u32; 2],
    /// In the buffer, bytes.
    pub offset: u64,
    /// Texels of the buffer from one row to the next.
    pub row: u32,
}

impl Shape {
    fn format(self) -> vk::Format {
        match self.used {
            Use::Color => COLOR,
            Use::Depth => DEPTH,
            Use::Storage => vk::Format::R32_UINT,
        }
    }

    fn aspect(self) -> vk::ImageAspectFlags {
        match self.used {
            Use::Depth => vk::ImageAspectFlags::DEPTH,
            Use::Color | Use::Storage => vk::ImageAspectFlags::COLOR,
        }
    }

    fn usage(self) -> vk::ImageUsageFlags {
        let transfer = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        transfer
            | match self.used {
                Use::Color => vk::ImageUsageFlags::COLOR_ATTACHMENT,
                Use::Depth => vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
                Use::Storage => vk::ImageUsageFlags::STORAGE,
            }
    }

    fn layers(self, part: Part) -> vk::ImageSubresourceLayers {
        layers(self.aspect(), part.level, part.layer)
    }

    /// Everything from `part` on, or `part` alone.
    fn range(self, part: Part, rest: bool) -> vk::ImageSubresourceRange {
        vk::ImageSubresourceRange {
            aspect_mask: self.aspect(),
            base_mip_level: part.level,
            level_count: if rest { vk::REMAINING_MIP_LEVELS } else { 1 },
            base_array_layer: part.layer,
            layer_count: if rest { vk::REMAINING_ARRAY_LAYERS } else { 1 },
        }
    }
}

/// An image, bound to its memory.
pub struct Image {
    handle: vk::Image,
    pub shape: Shape,
    memory: Rc<Memory>,
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this image.
        unsafe { self.memory.shared.raw.destroy_image(self.handle, None) };
    }
}

/// An image without memory, and what it needs.
pub struct UnboundImage {
    shared: Rc<Shared>,
    handle: vk::Image,
    shape: Shape,
    pub requirements: vk::MemoryRequirements,
}

impl UnboundImage {
    /// Whether the image may lie in this memory at all.
    pub fn fits(&self, memory: &Memory) -> bool {
        self.requirements.memory_type_bits >> memory.type_index & 1 == 1
            && self.requirements.size <= memory.size
    }

    /// Binds at `offset` of `memory`; [`Error::Unfit`] where the device wants something else.
    pub fn bind(mut self, memory: &Rc<Memory>, offset: u64) -> Result<Image, Error> {
        let needs = self.requirements;
        let end = offset.saturating_add(needs.size);
        if !self.fits(memory) || !offset.is_multiple_of(needs.alignment) || end > memory.size {
            return Err(Error::Unfit { offset, needs });
        }
        // SAFETY: the image is new, and the range was checked above.
        unsafe {
            self.shared
                .raw
                .bind_image_memory(self.handle, memory.handle, offset)
        }
        .named("vkBindImageMemory")?;
        Ok(Image {
            handle: std::mem::replace(&mut self.handle, vk::Image::null()),
            shape: self.shape,
            memory: memory.clone(),
        })
    }
}

impl Drop for UnboundImage {
    fn drop(&mut self) {
        // SAFETY: never used; destroying a null handle does nothing.
        unsafe { self.shared.raw.destroy_image(self.handle, None) };
    }
}

/// A view of one layer of a level.
pub struct View {
    pub(super) handle: vk::ImageView,
    pub part: Part,
    pub image: Rc<Image>,
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this view.
        unsafe {
            self.image
                .memory
                .shared
                .raw
                .destroy_image_view(self.handle, None);
        }
    }
}

/// What all [`Canvas`]es are painted with.
pub struct Brush {
    triangle: Triangle,
    shared: Rc<Shared>,
}

impl Drop for Brush {
    fn drop(&mut self) {
        // SAFETY: canvases hold their brush through an `Rc`.
        unsafe { self.triangle.destroy(&self.shared.raw) };
    }
}

/// What is drawn to, level 0 of each.
pub struct Targets {
    pub color: View,
    pub depth: Option<View>,
    /// Of one sample, where `color` has more.
    pub resolve: Option<View>,
}

/// Something to draw to: a render pass with its framebuffer, or dynamic rendering.
pub struct Canvas {
    /// None: a render pass.
    dynamic: Option<ash::khr::dynamic_rendering::Device>,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    pipeline: vk::Pipeline,
    targets: Targets,
    clear: bool,
    brush: Rc<Brush>,
}

impl Drop for Canvas {
    fn drop(&mut self) {
        let raw = &self.brush.shared.raw;
        // SAFETY: the queue is idle for all of them; destroying a null handle does nothing.
        unsafe {
            raw.destroy_pipeline(self.pipeline, None);
            raw.destroy_framebuffer(self.framebuffer, None);
            raw.destroy_render_pass(self.pass, None);
        }
    }
}

impl Canvas {
    fn load_op(&self) -> vk::AttachmentLoadOp {
        match self.clear {
            true => vk::AttachmentLoadOp::CLEAR,
            false => vk::AttachmentLoadOp::LOAD,
        }
    }

    fn side(&self) -> u32 {
        self.targets.color.image.shape.side
    }

    fn make_pass(&mut self) -> Result<(), Error> {
        let load = self.load_op();
        let describe = |view: &View, load_op| {
            vk::AttachmentDescription::default()
                .format(view.image.shape.format())
                .samples(view.image.shape.samples)
                .load_op(load_op)
                .store_op(vk::AttachmentStoreOp::STORE)
                .stencil_load_op(vk::AttachmentLoadOp::DONT_CARE)
                .stencil_store_op(vk::AttachmentStoreOp::DONT_CARE)
                .initial_layout(GENERAL)
                .final_layout(GENERAL)
        };
        let refer = |number: usize| vk::AttachmentReference {
            attachment: number as u32,
            layout: GENERAL,
        };
        let targets = &self.targets;
        let mut views = vec![targets.color.handle];
        let mut descriptions = vec![describe(&targets.color, load)];
        let (colors, mut resolves, mut depth) = ([refer(0)], Vec::new(), refer(0));
        if let Some(view) = &targets.depth {
            depth = refer(views.len());
            views.push(view.handle);
            descriptions.push(describe(view, load));
        }
        if let Some(view) = &targets.resolve {
            resolves.push(refer(views.len()));
            views.push(view.handle);
            descriptions.push(describe(view, vk::AttachmentLoadOp::DONT_CARE));
        }
        let mut subpass = vk::SubpassDescription::default().color_attachments(&colors);
        if targets.depth.is_some() {
            subpass = subpass.depth_stencil_attachment(&depth);
        }
        if targets.resolve.is_some() {
            subpass = subpass.resolve_attachments(&resolves);
        }
        let subpasses = [subpass];
        let info = vk::RenderPassCreateInfo::default()
            .attachments(&descriptions)
            .subpasses(&subpasses);
        let raw = &self.brush.shared.raw;
        // SAFETY: `info` and what it names live across the call.
        self.pass = unsafe { raw.create_render_pass(&info, None) }.named("vkCreateRenderPass")?;
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(self.pass)
            .attachments(&views)
            .width(self.side())
            .height(self.side())
            .layers(1);
        // SAFETY: as above; the views are of the pass's formats and of this size.
        self.framebuffer =
            unsafe { raw.create_framebuffer(&info, None) }.named("vkCreateFramebuffer")?;
        Ok(())
    }
}

impl Gpu {
    /// Makes an image without memory.
    pub fn create_image(&self, shape: Shape) -> Result<UnboundImage, Error> {
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(shape.format())
            .extent(extent(shape.side, 0))
            .mip_levels(shape.levels)
            .array_layers(shape.layers)
            .samples(shape.samples)
            .usage(shape.usage());
        let raw = &self.shared.raw;
        // SAFETY: `info` lives across the call, and asks for what every device has.
        let handle = unsafe { raw.create_image(&info, None) }.named("vkCreateImage")?;
        // SAFETY: the image was just made.
        let requirements = unsafe { raw.get_image_memory_requirements(handle) };
        Ok(UnboundImage {
            shared: self.shared.clone(),
            handle,
            shape,
            requirements,
        })
    }

    /// An image with a memory of its own.
    pub fn image_alone(&self, shape: Shape) -> Result<Image, Error> {
        let unbound = self.create_image(shape)?;
        let needs = unbound.requirements;
        let memory = self.allocate(Place::DeviceLocal, needs.size, needs.memory_type_bits)?;
        unbound.bind(&memory, 0)
    }

    /// A view of one layer of a level.
    pub fn view(&self, image: &Rc<Image>, part: Part) -> Result<View, Error> {
        let info = vk::ImageViewCreateInfo::default()
            .image(image.handle)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(image.shape.format())
            .subresource_range(image.shape.range(part, false));
        // SAFETY: the image is alive, and `info` lives across the call.
        let handle =
            unsafe { self.shared.raw.create_image_view(&info, None) }.named("vkCreateImageView")?;
        Ok(View {
            handle,
            part,
            image: image.clone(),
        })
    }

    /// What canvases are painted with.
    pub fn brush(&self) -> Result<Rc<Brush>, Error> {
        Ok(Rc::new(Brush {
            triangle: Triangle::new(&self.shared.raw)?,
            shared: self.shared.clone(),
        }))
    }

    /// Something to draw to. `dynamic` needs the feature. `clear`: what was there before goes.
    pub fn canvas(
        &self,
        brush: &Rc<Brush>,
        targets: Targets,
        dynamic: bool,
        clear: bool,
    ) -> Result<Canvas, Error> {
        let shared = &self.shared;
        let mut canvas = Canvas {
            dynamic: dynamic.then(|| {
                ash::khr::dynamic_rendering::Device::new(&shared.instance.raw, &shared.raw)
            }),
            pass: vk::RenderPass::null(),
            framebuffer: vk::Framebuffer::null(),
            pipeline: vk::Pipeline::null(),
            targets,
            clear,
            brush: brush.clone(),
        };
        if !dynamic {
            canvas.make_pass()?;
        }
        let recipe = Recipe {
            pass: canvas.pass,
            samples: canvas.targets.color.image.shape.samples,
            depth: canvas.targets.depth.is_some(),
            side: canvas.side(),
        };
        canvas.pipeline = brush.triangle.pipeline(&shared.raw, recipe)?;
        Ok(canvas)
    }
}

// SAFETY (all commands below): as for the recorder's other commands; images are in GENERAL layout, and whoever records
// gives levels, layers and rectangles inside of them.
impl Recorder<'_> {
    /// Everything before is done and seen by everything after.
    pub fn barrier_all(&self) {
        let both = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(both)
            .dst_access_mask(both);
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        self.pipeline_barrier(all, all, barrier);
    }

    /// Gives a new image its layout; its content goes.
    pub fn prepare(&self, image: &Image) {
        let both = vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE;
        let barrier = vk::ImageMemoryBarrier::default()
            .src_access_mask(both)
            .dst_access_mask(both)
            .old_layout(vk::ImageLayout::UNDEFINED)
            .new_layout(GENERAL)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(image.handle)
            .subresource_range(image.shape.range(Part { level: 0, layer: 0 }, true));
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let none = vk::DependencyFlags::empty();
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_pipeline_barrier(self.handle, all, all, none, &[], &[], &[barrier]);
        }
    }

    /// Clears a part, or all from there on, to what the number says.
    pub fn clear(&self, image: &Image, part: Part, rest: bool, value: u32) {
        let ranges = [image.shape.range(part, rest)];
        let share = value as f32 / u32::MAX as f32;
        // SAFETY: as said above the impl.
        unsafe {
            match image.shape.used {
                Use::Depth => {
                    let value = vk::ClearDepthStencilValue {
                        depth: share,
                        stencil: 0,
                    };
                    self.raw.cmd_clear_depth_stencil_image(
                        self.handle,
                        image.handle,
                        GENERAL,
                        &value,
                        &ranges,
                    );
                }
                used => {
                    let value = match used {
                        Use::Storage => vk::ClearColorValue { uint32: [value; 4] },
                        _ => vk::ClearColorValue {
                            float32: [share, 1.0 - share, 0.5, 1.0],
                        },
                    };
                    self.raw.cmd_clear_color_image(
                        self.handle,
                        image.handle,
                        GENERAL,
                        &value,
                        &ranges,
                    );
                }
            }
        }
    }

    fn region(image: &Image, window: Window) -> vk::BufferImageCopy {
        vk::BufferImageCopy {
            buffer_offset: window.offset,
            buffer_row_length: window.row,
            buffer_image_height: 0,
            image_subresource: image.shape.layers(window.part),
            image_offset: vk::Offset3D {
                x: window.at[0] as i32,
                y: window.at[1] as i32,
                z: 0,
            },
            image_extent: vk::Extent3D {
                width: window.size[0],
                height: window.size[1],
                depth: 1,
            },
        }
    }

    /// Copies texels from a buffer.
    pub fn load(&self, source: &Buffer, target: &Image, window: Window) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_copy_buffer_to_image(
                self.handle,
                source.handle,
                target.handle,
                GENERAL,
                &[Self::region(target, window)],
            );
        }
    }

    /// Copies texels to a buffer.
    pub fn store(&self, source: &Image, target: &Buffer, window: Window) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_copy_image_to_buffer(
                self.handle,
                source.handle,
                GENERAL,
                target.handle,
                &[Self::region(source, window)],
            );
        }
    }

    /// Copies as much of a part as both have.
    pub fn copy_image(&self, (source, from): (&Image, Part), (target, to): (&Image, Part)) {
        let side = (source.shape.side >> from.level).min(target.shape.side >> to.level);
        let region = vk::ImageCopy {
            src_subresource: source.shape.layers(from),
            src_offset: vk::Offset3D::default(),
            dst_subresource: target.shape.layers(to),
            dst_offset: vk::Offset3D::default(),
            extent: extent(side, 0),
        };
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_copy_image(
                self.handle,
                source.handle,
                GENERAL,
                target.handle,
                GENERAL,
                &[region],
            );
        }
    }

    /// Scales all of a part to all of another.
    pub fn blit(&self, (source, from): (&Image, Part), (target, to): (&Image, Part)) {
        let zero = vk::Offset3D::default();
        let region = vk::ImageBlit {
            src_subresource: source.shape.layers(from),
            src_offsets: [zero, corner(source.shape.side, from.level)],
            dst_subresource: target.shape.layers(to),
            dst_offsets: [zero, corner(target.shape.side, to.level)],
        };
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_blit_image(
                self.handle,
                source.handle,
                GENERAL,
                target.handle,
                GENERAL,
                &[region],
                vk::Filter::LINEAR,
            );
        }
    }

    /// Resolves the only part of an image of several samples to level 0 of a layer.
    pub fn resolve(&self, source: &Image, (target, layer): (&Image, u32)) {
        let region = vk::ImageResolve {
            src_subresource: source.shape.layers(Part { level: 0, layer: 0 }),
            src_offset: vk::Offset3D::default(),
            dst_subresource: target.shape.layers(Part { level: 0, layer }),
            dst_offset: vk::Offset3D::default(),
            extent: extent(target.shape.side, 0),
        };
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_resolve_image(
                self.handle,
                source.handle,
                GENERAL,
                target.handle,
                GENERAL,
                &[region],
            );
        }
    }

    /// Draws triangles, each by its shift in x and y, its depth and its shade; `shade` is what a clear leaves.
    pub fn paint(&self, canvas: &Canvas, shade: f32, triangles: &[[f32; 4]]) {
        let area = area(canvas.side());
        let color = vk::ClearValue {
            color: vk::ClearColorValue {
                float32: [shade, 0.5, 1.0 - shade, 1.0],
            },
        };
        let far = vk::ClearValue {
            depth_stencil: vk::ClearDepthStencilValue {
                depth: 1.0,
                stencil: 0,
            },
        };
        let targets = &canvas.targets;
        let attach = |view: &View, clear_value| {
            vk::RenderingAttachmentInfo::default()
                .image_view(view.handle)
                .image_layout(GENERAL)
                .load_op(canvas.load_op())
                .store_op(vk::AttachmentStoreOp::STORE)
                .clear_value(clear_value)
        };
        // SAFETY: as said above the impl; the canvas holds all that is named.
        unsafe {
            match &canvas.dynamic {
                None => {
                    let clears = [color, far];
                    let begin = vk::RenderPassBeginInfo::default()
                        .render_pass(canvas.pass)
                        .framebuffer(canvas.framebuffer)
                        .render_area(area)
                        .clear_values(&clears);
                    let inline = vk::SubpassContents::INLINE;
                    self.raw.cmd_begin_render_pass(self.handle, &begin, inline);
                }
                Some(dynamic) => {
                    let mut colors = [attach(&targets.color, color)];
                    if let Some(view) = &targets.resolve {
                        colors[0] = colors[0]
                            .resolve_mode(vk::ResolveModeFlags::AVERAGE)
                            .resolve_image_view(view.handle)
                            .resolve_image_layout(GENERAL);
                    }
                    let depth = targets.depth.as_ref().map(|view| attach(view, far));
                    let mut info = vk::RenderingInfo::default()
                        .render_area(area)
                        .layer_count(1)
                        .color_attachments(&colors);
                    if let Some(depth) = &depth {
                        info = info.depth_attachment(depth);
                    }
                    dynamic.cmd_begin_rendering(self.handle, &info);
                }
            }
            let graphics = vk::PipelineBindPoint::GRAPHICS;
            self.raw
                .cmd_bind_pipeline(self.handle, graphics, canvas.pipeline);
            for push in triangles {
                canvas.brush.triangle.draw(self.raw, self.handle, *push);
            }
            match &canvas.dynamic {
                None => self.raw.cmd_end_render_pass(self.handle),
                Some(dynamic) => dynamic.cmd_end_rendering(self.handle),
            }
        }
    }
}
