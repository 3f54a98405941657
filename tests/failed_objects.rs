//! Objects that never came to be, of creations that nobody waited for: what is made of them fails as well, destroying them
//! does nothing, and all that is so over a cut and a restore, too.

mod raw;

use std::path::Path;

use ash::vk::{self, Handle};
use hesper_memory::Mapping;
use hesper_venus::{Args, Command, args};

use raw::{DEVICE, LAVAPIPE, LIMIT, World};

const MODULE: u64 = 20;
const LAYOUT: u64 = 21;
const PIPELINE: u64 = 22;
const NOT_SPIRV: [u32; 6] = [0x0bad_cafe, 1, 2, 3, 4, 5];

impl World {
    fn create_module(&self) {
        let info = vk::ShaderModuleCreateInfo::default().code(&NOT_SPIRV);
        let mut module = vk::ShaderModule::from_raw(MODULE);
        self.send(&Command::VkCreateShaderModule(Args::new(
            &mut args::VkCreateShaderModule {
                device: vk::Device::from_raw(DEVICE),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_shader_module: &raw mut module,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    fn create_layout(&self) {
        let info = vk::PipelineLayoutCreateInfo::default();
        let mut layout = vk::PipelineLayout::from_raw(LAYOUT);
        self.send(&Command::VkCreatePipelineLayout(Args::new(
            &mut args::VkCreatePipelineLayout {
                device: vk::Device::from_raw(DEVICE),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_pipeline_layout: &raw mut layout,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    fn create_pipeline(&self) {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(vk::ShaderModule::from_raw(MODULE))
            .name(c"main");
        let info = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(vk::PipelineLayout::from_raw(LAYOUT));
        let mut pipeline = vk::Pipeline::from_raw(PIPELINE);
        self.send(&Command::VkCreateComputePipelines(Args::new(
            &mut args::VkCreateComputePipelines {
                device: vk::Device::from_raw(DEVICE),
                pipeline_cache: vk::PipelineCache::null(),
                create_info_count: 1,
                p_create_infos: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_pipelines: &raw mut pipeline,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    fn destroy_module(&self) {
        self.send(&Command::VkDestroyShaderModule(Args::new(
            &mut args::VkDestroyShaderModule {
                device: vk::Device::from_raw(DEVICE),
                shader_module: vk::ShaderModule::from_raw(MODULE),
                p_allocator: std::ptr::null(),
            },
        )));
    }

    fn destroy_pipeline(&self) {
        self.send(&Command::VkDestroyPipeline(Args::new(
            &mut args::VkDestroyPipeline {
                device: vk::Device::from_raw(DEVICE),
                pipeline: vk::Pipeline::from_raw(PIPELINE),
                p_allocator: std::ptr::null(),
            },
        )));
    }

    /// Names the module as if it were a buffer.
    fn destroy_as_buffer(&self) {
        self.send(&Command::VkDestroyBuffer(Args::new(
            &mut args::VkDestroyBuffer {
                device: vk::Device::from_raw(DEVICE),
                buffer: vk::Buffer::from_raw(MODULE),
                p_allocator: std::ptr::null(),
            },
        )));
    }
}

#[test]
fn unheard_failures_cost_no_context_and_survive_a_restore() {
    if !Path::new(LAVAPIPE).exists() {
        println!("SKIPPED: no {LAVAPIPE}");
        return;
    }
    let arena = Mapping::anonymous("test", 64 << 20).unwrap();
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
    world.front.quiesce(b"tables", LIMIT).unwrap();
    let saved = world.front.save().unwrap();
    drop(world);

    let mut world = World::new(&arena);
    world.front.load(&saved).unwrap();
    world.front.resume();
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
    if !Path::new(LAVAPIPE).exists() {
        println!("SKIPPED: no {LAVAPIPE}");
        return;
    }
    let arena = Mapping::anonymous("test", 64 << 20).unwrap();
    let mut world = World::new(&arena);
    world.set_up();
    world.create_module();
    world.destroy_module();
    world.finish();

    world.destroy_module();

    let reason = world.loss();
    assert!(reason.contains("No object"), "{reason}");
}
