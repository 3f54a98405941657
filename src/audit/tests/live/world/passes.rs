//! Render passes, framebuffers and pipelines of a program.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::run;
use super::images::{COLOR, DEPTH, GENERAL, HEIGHT, Image, Images, Look, STENCIL, WIDTH};
use super::{Kind, World};

const ONE: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_1;
const FOUR: vk::SampleCountFlags = vk::SampleCountFlags::TYPE_4;
const UNUSED: u32 = vk::ATTACHMENT_UNUSED;

/// An attachment of a dynamic pass: its view and what it is resolved to, 0 for nothing.
pub type Target = (u64, u64);

/// How a pass is begun.
#[derive(Clone, Debug)]
pub enum Begin {
    /// By a render pass of either form, and a framebuffer.
    Pass {
        wide: bool,
        pass: u64,
        framebuffer: u64,
        /// Views of an imageless framebuffer.
        views: Vec<u64>,
    },
    Dynamic {
        color: Target,
        depth: Option<Target>,
        view_mask: u32,
    },
}

/// Something to render with.
#[derive(Clone, Debug)]
pub struct Pass {
    pub name: &'static str,
    pub begin: Begin,
    /// One a subpass.
    pub pipelines: Vec<u64>,
    pub extent: vk::Extent2D,
    pub samples: vk::SampleCountFlags,
    pub depth: Option<vk::Format>,
}

/// Format, samples and what becomes of what was there.
type Attachment = (vk::Format, vk::SampleCountFlags, vk::AttachmentLoadOp);

/// What a pipeline is made for.
#[derive(Clone, Copy)]
struct Recipe {
    pass: u64,
    subpass: u32,
    samples: vk::SampleCountFlags,
    depth: Option<vk::Format>,
    view_mask: u32,
    /// Reads an input attachment.
    reads: bool,
    /// What is drawn to: nothing may be drawn outside of the render area.
    extent: vk::Extent2D,
}

const WHOLE: vk::Extent2D = vk::Extent2D {
    width: WIDTH,
    height: HEIGHT,
};

const RECIPE: Recipe = Recipe {
    pass: 0,
    subpass: 0,
    samples: ONE,
    depth: None,
    view_mask: 0,
    reads: false,
    extent: WHOLE,
};

/// A subpass by attachment numbers.
struct Subpass {
    input: u32,
    color: u32,
    resolve: u32,
    depth: u32,
    depth_resolve: u32,
    view_mask: u32,
}

const SUBPASS: Subpass = Subpass {
    input: UNUSED,
    color: 0,
    resolve: UNUSED,
    depth: UNUSED,
    depth_resolve: UNUSED,
    view_mask: 0,
};

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

macro_rules! shader {
    ($name:literal) => {
        &include_bytes!(concat!("../shaders/", $name, ".spv"))[..]
    };
}

impl World<'_> {
    /// Makes three of the ways to render that the device has.
    pub(super) fn make_rendering(&mut self, set: Images) {
        let has = self.host.has();
        let mut ways = vec![0, 1, 2, 5];
        if has.stencil {
            ways.push(3);
        }
        if has.multiview {
            ways.extend([4, 7]);
        }
        if has.stencil && has.depth_resolve {
            ways.extend([6, 8]);
        }
        for _ in 0..3 {
            let at = self.random.below(ways.len() as u64) as usize;
            let pass = match ways.swap_remove(at) {
                0 => self.plain_pass(set, set.depth, DEPTH),
                1 => self.resolving_pass(set),
                2 => self.dynamic_pass(set),
                3 => self.plain_pass(set, set.stencils.unwrap()[0], STENCIL),
                4 => self.many_views_pass(set),
                5 => self.chain(set),
                6 => self.dynamic_resolving_pass(set),
                7 => self.dynamic_many_views_pass(set),
                _ => self.depth_resolving_pass(set),
            };
            self.passes.push(pass);
        }
    }

    fn any_layer(&mut self, image: Image) -> u64 {
        let layer = self.random.below(u64::from(image.texels.layers)) as u32;
        self.flat_view(image, 0, layer)
    }

    /// A pass of as many subpasses as recipes, which are for the same samples and depth.
    fn pass(&mut self, name: &'static str, begin: Begin, recipes: &[Recipe]) -> Pass {
        Pass {
            name,
            begin,
            pipelines: recipes
                .iter()
                .map(|recipe| self.graphics_pipeline(*recipe))
                .collect(),
            extent: recipes[0].extent,
            samples: recipes[0].samples,
            depth: recipes[0].depth,
        }
    }

    /// A pass of one subpass by a render pass of the second form.
    fn flat_pass(
        &mut self,
        name: &'static str,
        attachments: &[Attachment],
        subpass: Subpass,
        views: impl FnOnce(&mut Self) -> Vec<u64>,
    ) -> Pass {
        let recipe = Recipe {
            samples: attachments[subpass.color as usize].1,
            depth: attachments.get(subpass.depth as usize).map(|at| at.0),
            view_mask: subpass.view_mask,
            ..RECIPE
        };
        let pass = self.render_pass(attachments, &[subpass]);
        let views = views(self);
        let begin = self.begin_with(true, pass, &views);
        self.pass(name, begin, &[Recipe { pass, ..recipe }])
    }

    /// Color and depth, by the first form; without images in the framebuffer now and then.
    fn plain_pass(&mut self, set: Images, depth: Image, format: vk::Format) -> Pass {
        let pass = self.first_render_pass(format);
        let views = [self.any_layer(set.colors[0]), self.any_layer(depth)];
        let imageless = self.host.has().imageless && self.one_in(2);
        let begin = match imageless {
            true => Begin::Pass {
                wide: false,
                pass,
                framebuffer: self.imageless_framebuffer(pass, format),
                views: views.to_vec(),
            },
            false => self.begin_with(false, pass, &views),
        };
        let recipe = Recipe {
            pass,
            depth: Some(format),
            ..RECIPE
        };
        self.pass("color and depth", begin, &[recipe])
    }

    /// Four samples, cleared, drawn and resolved.
    fn resolving_pass(&mut self, set: Images) -> Pass {
        let subpass = Subpass {
            resolve: 1,
            ..SUBPASS
        };
        let attachments = [
            (COLOR, FOUR, vk::AttachmentLoadOp::CLEAR),
            (COLOR, ONE, vk::AttachmentLoadOp::LOAD),
        ];
        self.flat_pass("resolve", &attachments, subpass, |world| {
            vec![world.any_layer(set.samples), world.any_layer(set.colors[1])]
        })
    }

    /// As [`Self::resolving_pass`], with depth and stencil.
    fn depth_resolving_pass(&mut self, set: Images) -> Pass {
        let [stencil, stencils] = set.stencils.unwrap();
        let load = vk::AttachmentLoadOp::LOAD;
        let clear = vk::AttachmentLoadOp::CLEAR;
        let subpass = Subpass {
            depth: 1,
            depth_resolve: 2,
            ..SUBPASS
        };
        let attachments = [
            (COLOR, FOUR, load),
            (STENCIL, FOUR, clear),
            (STENCIL, ONE, load),
        ];
        self.flat_pass("depth resolve", &attachments, subpass, |world| {
            vec![
                world.any_layer(set.samples),
                world.any_layer(stencils),
                world.any_layer(stencil),
            ]
        })
    }

    /// Two layers at once.
    fn many_views_pass(&mut self, set: Images) -> Pass {
        let subpass = Subpass {
            view_mask: 0b11,
            ..SUBPASS
        };
        let attachments = [(COLOR, ONE, vk::AttachmentLoadOp::LOAD)];
        self.flat_pass("two views", &attachments, subpass, |world| {
            let look = Look {
                mip: 0,
                layer: world.random.below(2) as u32,
                layers: 2,
            };
            vec![world.view(set.colors[0], look)]
        })
    }

    /// Two subpasses, of which the second reads what the first drew.
    fn chain(&mut self, set: Images) -> Pass {
        let second = Subpass {
            input: 0,
            color: 1,
            ..SUBPASS
        };
        let load = vk::AttachmentLoadOp::LOAD;
        let pass = self.render_pass(
            &[(COLOR, ONE, load), (COLOR, ONE, load)],
            &[SUBPASS, second],
        );
        let views = [self.any_layer(set.colors[0]), self.any_layer(set.colors[1])];
        let input = self.input_set;
        self.write_image_descriptor(input, 0, vk::DescriptorType::INPUT_ATTACHMENT, views[0]);
        let wide = self.one_in(2);
        let begin = self.begin_with(wide, pass, &views);
        let first = Recipe { pass, ..RECIPE };
        let second = Recipe {
            subpass: 1,
            reads: true,
            ..first
        };
        self.pass("two subpasses", begin, &[first, second])
    }

    /// Level 1 of a color image, without a render pass.
    fn dynamic_pass(&mut self, set: Images) -> Pass {
        let layer = self.random.below(3) as u32;
        let begin = Begin::Dynamic {
            color: (self.flat_view(set.colors[0], 1, layer), 0),
            depth: None,
            view_mask: 0,
        };
        let extent = vk::Extent2D {
            width: WIDTH / 2,
            height: HEIGHT / 2,
        };
        self.pass("dynamic", begin, &[Recipe { extent, ..RECIPE }])
    }

    /// Two of three layers at once, without a render pass.
    fn dynamic_many_views_pass(&mut self, set: Images) -> Pass {
        let look = Look {
            mip: 0,
            layer: 0,
            layers: 3,
        };
        let view_mask = 0b101;
        let begin = Begin::Dynamic {
            color: (self.view(set.colors[1], look), 0),
            depth: None,
            view_mask,
        };
        let recipe = Recipe {
            view_mask,
            ..RECIPE
        };
        self.pass("dynamic, two views", begin, &[recipe])
    }

    /// Color, depth and stencil of four samples, all resolved, without a render pass.
    fn dynamic_resolving_pass(&mut self, set: Images) -> Pass {
        let [stencil, stencils] = set.stencils.unwrap();
        let color = (self.any_layer(set.samples), self.any_layer(set.colors[0]));
        let depth = (self.any_layer(stencils), self.any_layer(stencil));
        let begin = Begin::Dynamic {
            color,
            depth: Some(depth),
            view_mask: 0,
        };
        let recipe = Recipe {
            samples: FOUR,
            depth: Some(STENCIL),
            ..RECIPE
        };
        self.pass("dynamic resolve", begin, &[recipe])
    }

    fn begin_with(&mut self, wide: bool, pass: u64, views: &[u64]) -> Begin {
        Begin::Pass {
            wide,
            pass,
            framebuffer: self.framebuffer(pass, views),
            views: Vec::new(),
        }
    }

    fn framebuffer(&mut self, pass: u64, views: &[u64]) -> u64 {
        let views: Vec<_> = views
            .iter()
            .map(|view| vk::ImageView::from_raw(*view))
            .collect();
        let info = vk::FramebufferCreateInfo::default().attachments(&views);
        self.create_framebuffer(pass, info)
    }

    fn imageless_framebuffer(&mut self, pass: u64, depth: vk::Format) -> u64 {
        let (color_formats, depth_formats) = ([COLOR], [depth]);
        let transfer = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        let color_usage = transfer
            | vk::ImageUsageFlags::COLOR_ATTACHMENT
            | vk::ImageUsageFlags::INPUT_ATTACHMENT
            | vk::ImageUsageFlags::STORAGE;
        let images = [
            (color_usage, &color_formats),
            (
                transfer | vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT,
                &depth_formats,
            ),
        ]
        .map(|(usage, formats)| {
            vk::FramebufferAttachmentImageInfo::default()
                .usage(usage)
                .width(WIDTH)
                .height(HEIGHT)
                .layer_count(1)
                .view_formats(formats)
        });
        let mut attachments =
            vk::FramebufferAttachmentsCreateInfo::default().attachment_image_infos(&images);
        let mut info = vk::FramebufferCreateInfo::default()
            .flags(vk::FramebufferCreateFlags::IMAGELESS)
            .push_next(&mut attachments);
        info.attachment_count = 2;
        self.create_framebuffer(pass, info)
    }

    fn create_framebuffer(&mut self, pass: u64, info: vk::FramebufferCreateInfo<'_>) -> u64 {
        let id = self.id(vk::ObjectType::FRAMEBUFFER);
        let info = info
            .render_pass(vk::RenderPass::from_raw(pass))
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

    /// Color and depth, both loaded and stored, by the first form.
    fn first_render_pass(&mut self, depth: vk::Format) -> u64 {
        let describe = |format| {
            vk::AttachmentDescription::default()
                .format(format)
                .samples(ONE)
                .load_op(vk::AttachmentLoadOp::LOAD)
                .store_op(vk::AttachmentStoreOp::STORE)
                .stencil_load_op(vk::AttachmentLoadOp::LOAD)
                .stencil_store_op(vk::AttachmentStoreOp::STORE)
                .initial_layout(GENERAL)
                .final_layout(GENERAL)
        };
        let refer = |attachment| vk::AttachmentReference {
            attachment,
            layout: GENERAL,
        };
        let descriptions = [describe(COLOR), describe(depth)];
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
        id
    }

    /// A render pass by the second form.
    fn render_pass(&mut self, attachments: &[Attachment], subpasses: &[Subpass]) -> u64 {
        let descriptions: Vec<_> = attachments
            .iter()
            .map(|(format, samples, load_op)| {
                vk::AttachmentDescription2::default()
                    .format(*format)
                    .samples(*samples)
                    .load_op(*load_op)
                    .store_op(vk::AttachmentStoreOp::STORE)
                    .stencil_load_op(*load_op)
                    .stencil_store_op(vk::AttachmentStoreOp::STORE)
                    .initial_layout(GENERAL)
                    .final_layout(GENERAL)
            })
            .collect();
        let refer = |attachment: u32| {
            let format = attachments
                .get(attachment as usize)
                .map(|(format, ..)| *format);
            let aspects = match format {
                Some(STENCIL) => vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL,
                Some(_) => vk::ImageAspectFlags::COLOR,
                None => vk::ImageAspectFlags::empty(),
            };
            [vk::AttachmentReference2::default()
                .attachment(attachment)
                .layout(GENERAL)
                .aspect_mask(aspects)]
        };
        let references: Vec<_> = subpasses
            .iter()
            .map(|subpass| {
                [
                    subpass.input,
                    subpass.color,
                    subpass.resolve,
                    subpass.depth,
                    subpass.depth_resolve,
                ]
                .map(refer)
            })
            .collect();
        let mut resolves: Vec<_> = references
            .iter()
            .map(|[.., depth_resolve]| {
                vk::SubpassDescriptionDepthStencilResolve::default()
                    .depth_resolve_mode(vk::ResolveModeFlags::SAMPLE_ZERO)
                    .stencil_resolve_mode(vk::ResolveModeFlags::SAMPLE_ZERO)
                    .depth_stencil_resolve_attachment(&depth_resolve[0])
            })
            .collect();
        let descriptions_of_subpasses: Vec<_> = subpasses
            .iter()
            .zip(&references)
            .zip(&mut resolves)
            .map(|((subpass, [input, color, resolve, depth, _]), resolves)| {
                let mut description = vk::SubpassDescription2::default()
                    .view_mask(subpass.view_mask)
                    .color_attachments(color);
                if subpass.input != UNUSED {
                    description = description.input_attachments(input);
                }
                if subpass.resolve != UNUSED {
                    description = description.resolve_attachments(resolve);
                }
                if subpass.depth != UNUSED {
                    description = description.depth_stencil_attachment(&depth[0]);
                }
                if subpass.depth_resolve != UNUSED {
                    description = description.push_next(resolves);
                }
                description
            })
            .collect();
        let dependencies: Vec<_> = (1..subpasses.len() as u32)
            .map(|next| {
                vk::SubpassDependency2::default()
                    .src_subpass(next - 1)
                    .dst_subpass(next)
                    .src_stage_mask(vk::PipelineStageFlags::ALL_GRAPHICS)
                    .dst_stage_mask(vk::PipelineStageFlags::ALL_GRAPHICS)
                    .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
                    .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
                    .dependency_flags(vk::DependencyFlags::BY_REGION)
            })
            .collect();
        let info = vk::RenderPassCreateInfo2::default()
            .attachments(&descriptions)
            .subpasses(&descriptions_of_subpasses)
            .dependencies(&dependencies);
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
        id
    }

    fn module(&mut self, code: &[u8]) -> vk::ShaderModule {
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
        module
    }

    /// A pipeline; now and then one that stores in more stages than the first and the last.
    fn graphics_pipeline(&mut self, recipe: Recipe) -> u64 {
        let has = self.host.has();
        let simple = recipe.view_mask != 0 || recipe.reads;
        let geometry = !simple && has.geometry && self.one_in(4);
        let tessellation = !simple && !geometry && has.tessellation && self.one_in(4);
        let mut code = vec![(vk::ShaderStageFlags::VERTEX, shader!("draw_vert"))];
        if tessellation {
            code.push((
                vk::ShaderStageFlags::TESSELLATION_CONTROL,
                shader!("draw_tesc"),
            ));
            code.push((
                vk::ShaderStageFlags::TESSELLATION_EVALUATION,
                shader!("draw_tese"),
            ));
        }
        if geometry {
            code.push((vk::ShaderStageFlags::GEOMETRY, shader!("draw_geom")));
        }
        code.push((
            vk::ShaderStageFlags::FRAGMENT,
            match recipe.reads {
                true => shader!("chain_frag"),
                false => shader!("draw_frag"),
            },
        ));
        let stages: Vec<_> = code
            .into_iter()
            .map(|(stage, code)| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(stage)
                    .module(self.module(code))
                    .name(c"main")
            })
            .collect();
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly =
            vk::PipelineInputAssemblyStateCreateInfo::default().topology(match tessellation {
                true => vk::PrimitiveTopology::PATCH_LIST,
                false => vk::PrimitiveTopology::TRIANGLE_LIST,
            });
        let patches = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(3);
        let viewports = [vk::Viewport {
            width: recipe.extent.width as f32,
            height: recipe.extent.height as f32,
            max_depth: 1.0,
            ..Default::default()
        }];
        let scissors = [vk::Rect2D::default().extent(recipe.extent)];
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(recipe.samples);
        let stencil = vk::StencilOpState::default()
            .fail_op(vk::StencilOp::REPLACE)
            .pass_op(vk::StencilOp::REPLACE)
            .depth_fail_op(vk::StencilOp::REPLACE)
            .compare_op(vk::CompareOp::ALWAYS)
            .write_mask(0xff)
            .reference(self.random.below(256) as u32);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(true)
            .depth_write_enable(true)
            .depth_compare_op(vk::CompareOp::ALWAYS)
            .stencil_test_enable(recipe.depth == Some(STENCIL))
            .front(stencil)
            .back(stencil);
        let targets = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
        let formats = [COLOR];
        let mut dynamic = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(&formats)
            .view_mask(recipe.view_mask);
        if let Some(format) = recipe.depth {
            dynamic = dynamic.depth_attachment_format(format);
            if format == STENCIL {
                dynamic = dynamic.stencil_attachment_format(format);
            }
        }
        let kind = match recipe.reads {
            true => Kind::Input,
            false => Kind::Plain,
        };
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&multisample)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .layout(vk::PipelineLayout::from_raw(self.layout(kind)))
            .render_pass(vk::RenderPass::from_raw(recipe.pass))
            .subpass(recipe.subpass);
        if tessellation {
            info = info.tessellation_state(&patches);
        }
        if recipe.pass == 0 {
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
}
