//! Objects that never came to be, of creations that nobody waited for: what is made of them fails as well, destroying them
//! does nothing, and all that is so over a cut and a restore, too.

#[macro_use]
mod raw;

use ash::vk::{self, Handle};

use raw::{World, arena};

const MODULE: u64 = 20;
const LAYOUT: u64 = 21;
const PIPELINE: u64 = 22;
const NOT_SPIRV: [u32; 6] = [0x0bad_cafe, 1, 2, 3, 4, 5];

impl World {
    fn create_module(&self) {
        let info = vk::ShaderModuleCreateInfo::default().code(&NOT_SPIRV);
        self.send(&create!(VkCreateShaderModule {
            p_create_info: &info,
            p_shader_module: &mut vk::ShaderModule::from_raw(MODULE),
        }));
    }

    fn create_layout(&self) {
        self.send(&create!(VkCreatePipelineLayout {
            p_create_info: &vk::PipelineLayoutCreateInfo::default(),
            p_pipeline_layout: &mut vk::PipelineLayout::from_raw(LAYOUT),
        }));
    }

    fn create_pipeline(&self) {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(vk::ShaderModule::from_raw(MODULE))
            .name(c"main");
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(vk::PipelineLayout::from_raw(LAYOUT));
        self.send(&create!(VkCreateComputePipelines {
            pipeline_cache: vk::PipelineCache::null(),
            create_info_count: 1,
            p_create_infos: &info,
            p_pipelines: &mut vk::Pipeline::from_raw(PIPELINE),
        }));
    }

    fn destroy_module(&self) {
        let shader_module = vk::ShaderModule::from_raw(MODULE);
        self.send(&destroy!(VkDestroyShaderModule { shader_module }));
    }

    fn destroy_pipeline(&self) {
        let pipeline = vk::Pipeline::from_raw(PIPELINE);
        self.send(&destroy!(VkDestroyPipeline { pipeline }));
    }

    /// Names the module as if it were a buffer.
    fn destroy_as_buffer(&self) {
        let buffer = vk::Buffer::from_raw(MODULE);
        self.send(&destroy!(VkDestroyBuffer { buffer }));
    }
}

#[test]
fn unheard_failures_cost_no_context_and_survive_a_restore() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
    world.set_up();
    world.create_layout();

    // Made of nothing, destroyed, and its id used again: the second time for what stays.
    for _ in 0..2 {
        world.create_module();
        world.create_pipeline();
        world.finish();
        world.destroy_pipeline();
        world.destroy_module();
    }
    world.create_module();
    world.create_pipeline();
    world.finish();

    let mut world = world.restored(|| World::new(&arena));
    world.destroy_pipeline();
    world.create_pipeline();
    world.destroy_pipeline();
    world.finish();

    // What never came to be is of no other type either.
    world.destroy_as_buffer();
    let reason = world.loss();
    assert!(reason.contains("does not exist"), "{reason}");
}

#[test]
fn destroying_a_failed_object_twice_ends_the_context() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
    world.set_up();
    world.create_module();
    world.destroy_module();
    world.finish();

    world.destroy_module();

    let reason = world.loss();
    assert!(reason.contains("No object"), "{reason}");
}
