//! Random programs: a guest that makes buffers, descriptors and pipelines, and records whatever comes.

mod commands;
mod draws;
mod exact;
mod images;
mod passes;
mod recording;
mod setup;
mod transfers;

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::host::{DEVICE, Host, run};
use images::{Image, Images};
use passes::Pass;

const CHUNK: u64 = 64 * 1024;

/// xorshift64*: the seed is the whole state.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// A multiple of `unit` that is less than `limit`, 0 at least.
    fn multiple(&mut self, unit: u64, limit: u64) -> u64 {
        self.below(limit.div_ceil(unit)) * unit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Buffer {
    id: u64,
    size: u64,
    memory: u64,
    addressed: bool,
}

/// Which layout a pipeline has, and so how its descriptors are given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Set 0 of four storage buffers, set 1 a uniform buffer.
    Plain,
    Dynamic,
    Pushed,
    Texel,
    Array,
    Address,
    /// Storage images 0, 1 and 3, storage texel buffers 2 and 4.
    Storage,
    /// As plain, set 1 an input attachment.
    Input,
}

#[derive(Clone, Copy, Debug)]
struct Pipeline {
    id: u64,
    kind: Kind,
    name: &'static str,
}

pub struct World<'h> {
    host: &'h mut Host,
    random: Random,
    /// Decides what is submitted again.
    again: Random,
    next_id: u64,
    made: Vec<(vk::ObjectType, u64)>,
    buffers: Vec<Buffer>,
    node: Buffer,
    /// Nothing but zeros, once made.
    zeros: Buffer,
    /// Source and target of the transfers that are measured, once made, and the byte that the last one wrote.
    exact_pair: Option<[Buffer; 2]>,
    exact: u8,
    indirect: Buffer,
    /// By kind.
    layouts: Vec<(Kind, u64)>,
    pipelines: Vec<Pipeline>,
    plain_sets: Vec<u64>,
    uniform_set: u64,
    dynamic_set: u64,
    texel_set: u64,
    array_set: u64,
    storage_set: u64,
    input_set: u64,
    /// Nothing where the host's memory is not for images.
    images: Vec<Image>,
    image_set: Option<Images>,
    /// Memory that the last image lies in, and its size.
    image_memory: Option<(u64, u64)>,
    passes: Vec<Pass>,
    /// Query pools, each with the type of its queries.
    query_pools: Vec<(vk::QueryType, u64)>,
    primaries: [u64; 2],
    secondary: u64,
    /// Secondary command buffers for the insides of passes, and those that this submission has not used.
    all_inner: Vec<u64>,
    inner: Vec<u64>,
    summary: String,
    /// Tell what is submitted, to find what a driver crashes of.
    trace: bool,
}

const NONE: Buffer = Buffer {
    id: 0,
    size: 0,
    memory: 0,
    addressed: false,
};

impl<'h> World<'h> {
    pub fn new(host: &'h mut Host, seed: u64) -> Self {
        let mut world = Self::empty(host, seed);
        world.make_memory();
        world.make_layouts();
        world.make_pipelines();
        world.make_images();
        world.make_recording();
        world.prepare_images().unwrap();
        world
    }

    fn empty(host: &'h mut Host, seed: u64) -> Self {
        World {
            host,
            random: Random::new(seed),
            again: Random::new(!seed),
            next_id: 100,
            made: Vec::new(),
            buffers: Vec::new(),
            node: NONE,
            zeros: NONE,
            exact_pair: None,
            exact: 0,
            indirect: NONE,
            layouts: Vec::new(),
            pipelines: Vec::new(),
            plain_sets: Vec::new(),
            uniform_set: 0,
            dynamic_set: 0,
            texel_set: 0,
            array_set: 0,
            storage_set: 0,
            input_set: 0,
            images: Vec::new(),
            image_set: None,
            image_memory: None,
            passes: Vec::new(),
            query_pools: Vec::new(),
            primaries: [0; 2],
            secondary: 0,
            all_inner: Vec::new(),
            inner: Vec::new(),
            summary: String::new(),
            trace: std::env::var_os("HESPER_ORACLE_TRACE").is_some(),
        }
    }

    /// Whether the host's memory is for images.
    pub fn has_images(&self) -> bool {
        self.image_set.is_some()
    }

    pub fn host(&self) -> &Host {
        self.host
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.random.one_in(n)
    }

    fn id(&mut self, object_type: vk::ObjectType) -> u64 {
        self.next_id += 1;
        self.made.push((object_type, self.next_id));
        self.next_id
    }

    fn device() -> vk::Device {
        vk::Device::from_raw(DEVICE)
    }

    /// Destroys everything, children first.
    pub fn end_world(mut self) {
        let device = Self::device();
        let p_allocator = std::ptr::null();
        while let Some((object_type, id)) = self.made.pop() {
            macro_rules! destroy {
                ($name:ident, $field:ident, $handle:ty) => {
                    run!(
                        self.host,
                        $name {
                            device: device,
                            $field: <$handle>::from_raw(id),
                            p_allocator: p_allocator
                        }
                    )
                };
            }
            match object_type {
                vk::ObjectType::DEVICE_MEMORY => destroy!(VkFreeMemory, memory, vk::DeviceMemory),
                vk::ObjectType::BUFFER => destroy!(VkDestroyBuffer, buffer, vk::Buffer),
                vk::ObjectType::BUFFER_VIEW => {
                    destroy!(VkDestroyBufferView, buffer_view, vk::BufferView)
                }
                vk::ObjectType::DESCRIPTOR_SET_LAYOUT => {
                    destroy!(
                        VkDestroyDescriptorSetLayout,
                        descriptor_set_layout,
                        vk::DescriptorSetLayout
                    )
                }
                vk::ObjectType::PIPELINE_LAYOUT => {
                    destroy!(VkDestroyPipelineLayout, pipeline_layout, vk::PipelineLayout)
                }
                vk::ObjectType::DESCRIPTOR_POOL => {
                    destroy!(VkDestroyDescriptorPool, descriptor_pool, vk::DescriptorPool)
                }
                vk::ObjectType::PIPELINE => destroy!(VkDestroyPipeline, pipeline, vk::Pipeline),
                vk::ObjectType::IMAGE => destroy!(VkDestroyImage, image, vk::Image),
                vk::ObjectType::IMAGE_VIEW => {
                    destroy!(VkDestroyImageView, image_view, vk::ImageView)
                }
                vk::ObjectType::RENDER_PASS => {
                    destroy!(VkDestroyRenderPass, render_pass, vk::RenderPass)
                }
                vk::ObjectType::FRAMEBUFFER => {
                    destroy!(VkDestroyFramebuffer, framebuffer, vk::Framebuffer)
                }
                vk::ObjectType::SHADER_MODULE => {
                    destroy!(VkDestroyShaderModule, shader_module, vk::ShaderModule)
                }
                vk::ObjectType::QUERY_POOL => {
                    destroy!(VkDestroyQueryPool, query_pool, vk::QueryPool)
                }
                vk::ObjectType::COMMAND_POOL => {
                    destroy!(VkDestroyCommandPool, command_pool, vk::CommandPool)
                }
                other => unreachable!("nothing makes a {other:?}"),
            };
        }
    }
}
