//! What every program that renders is made of: the triangle's shaders and pipelines.

use std::io::Cursor;

use ash::vk;

use crate::error::{Error, Named};

pub(super) const COLOR: vk::Format = vk::Format::R8G8B8A8_UNORM;
pub(super) const DEPTH: vk::Format = vk::Format::D32_SFLOAT;

const VERTEX: &[u8] = include_bytes!("../../shaders/triangle_vert.spv");
const FRAGMENT: &[u8] = include_bytes!("../../shaders/triangle_frag.spv");

/// The triangle's shaders, with a layout of nothing but push constants for where it lies.
pub(super) struct Triangle {
    pub(super) layout: vk::PipelineLayout,
    modules: [vk::ShaderModule; 2],
}

/// What a pipeline is made for.
#[derive(Clone, Copy)]
pub(super) struct Recipe {
    /// Null: dynamic rendering.
    pub(super) pass: vk::RenderPass,
    pub(super) samples: vk::SampleCountFlags,
    /// Tests and writes depth.
    pub(super) depth: bool,
    /// Width and height of what is drawn to, in pixels.
    pub(super) side: u32,
}

/// All of a square of `side` pixels.
pub(super) fn area(side: u32) -> vk::Rect2D {
    vk::Rect2D::default().extent(vk::Extent2D {
        width: side,
        height: side,
    })
}

/// One layer of a level.
pub(super) fn layers(
    aspect: vk::ImageAspectFlags,
    level: u32,
    layer: u32,
) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers {
        aspect_mask: aspect,
        mip_level: level,
        base_array_layer: layer,
        layer_count: 1,
    }
}

/// The far corner of a level of a square of `side` pixels.
pub(super) fn corner(side: u32, level: u32) -> vk::Offset3D {
    vk::Offset3D {
        x: (side >> level) as i32,
        y: (side >> level) as i32,
        z: 1,
    }
}

/// Size of a level of a square of `side` pixels.
pub(super) fn extent(side: u32, level: u32) -> vk::Extent3D {
    vk::Extent3D {
        width: side >> level,
        height: side >> level,
        depth: 1,
    }
}

impl Triangle {
    pub(super) fn new(raw: &ash::Device) -> Result<Self, Error> {
        let push = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::VERTEX,
            offset: 0,
            size: 16,
        }];
        let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&push);
        // SAFETY: the structure is complete.
        let layout =
            unsafe { raw.create_pipeline_layout(&info, None) }.named("vkCreatePipelineLayout")?;
        let mut modules = [vk::ShaderModule::null(); 2];
        for (module, code) in modules.iter_mut().zip([VERTEX, FRAGMENT]) {
            let words = ash::util::read_spv(&mut Cursor::new(code)).map_err(Error::Shader)?;
            let info = vk::ShaderModuleCreateInfo::default().code(&words);
            // SAFETY: the code is what the compiler made.
            *module =
                unsafe { raw.create_shader_module(&info, None) }.named("vkCreateShaderModule")?;
        }
        Ok(Self { layout, modules })
    }

    /// A pipeline that draws the triangle.
    pub(super) fn pipeline(
        &self,
        raw: &ash::Device,
        recipe: Recipe,
    ) -> Result<vk::Pipeline, Error> {
        let stages = [
            (vk::ShaderStageFlags::VERTEX, self.modules[0]),
            (vk::ShaderStageFlags::FRAGMENT, self.modules[1]),
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
            width: recipe.side as f32,
            height: recipe.side as f32,
            max_depth: 1.0,
            ..Default::default()
        }];
        let scissors = [area(recipe.side)];
        let view = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(recipe.samples);
        let test = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(recipe.depth)
            .depth_write_enable(recipe.depth)
            .depth_compare_op(vk::CompareOp::LESS);
        let targets = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
        let formats = [COLOR];
        let mut rendering =
            vk::PipelineRenderingCreateInfo::default().color_attachment_formats(&formats);
        if recipe.depth {
            rendering = rendering.depth_attachment_format(DEPTH);
        }
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .viewport_state(&view)
            .rasterization_state(&raster)
            .multisample_state(&multisample)
            .depth_stencil_state(&test)
            .color_blend_state(&blend)
            .layout(self.layout)
            .render_pass(recipe.pass);
        if recipe.pass == vk::RenderPass::null() {
            info = info.push_next(&mut rendering);
        }
        // SAFETY: everything that `info` names lives.
        let made =
            unsafe { raw.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None) };
        made.map(|pipelines| pipelines[0])
            .map_err(|(_, result)| result)
            .named("vkCreateGraphicsPipelines")
    }

    /// Draws it; `push` is its shift in x and y, its depth and its shade.
    ///
    /// # Safety
    /// The command buffer is being recorded, inside of a pass, with one of these pipelines bound.
    pub(super) unsafe fn draw(
        &self,
        raw: &ash::Device,
        commands: vk::CommandBuffer,
        push: [f32; 4],
    ) {
        let bytes: Vec<u8> = push.iter().flat_map(|value| value.to_le_bytes()).collect();
        let stage = vk::ShaderStageFlags::VERTEX;
        // SAFETY: by the contract of this function.
        unsafe {
            raw.cmd_push_constants(commands, self.layout, stage, 0, &bytes);
            raw.cmd_draw(commands, 3, 1, 0, 0);
        }
    }

    /// # Safety
    /// Called once, when nothing is made of it any more.
    pub(super) unsafe fn destroy(&self, raw: &ash::Device) {
        // SAFETY: by the contract of this function.
        unsafe {
            for module in self.modules {
                raw.destroy_shader_module(module, None);
            }
            raw.destroy_pipeline_layout(self.layout, None);
        }
    }
}
