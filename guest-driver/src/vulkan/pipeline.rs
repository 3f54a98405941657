//! Descriptor sets and compute pipelines.

use std::io::Cursor;
use std::rc::Rc;

use ash::vk;

use super::image::View;
use super::memory::{Buffer, TexelView};
use super::{Gpu, Shared};
use crate::error::{Error, Named};

/// One binding of a set layout: kind and array size; its number is its place in the list.
pub type Binding = (vk::DescriptorType, u32);

/// A set layout and the pipeline layout that holds it (set 0) and the push constants.
pub struct Layout {
    set: vk::DescriptorSetLayout,
    pub(super) handle: vk::PipelineLayout,
    shared: Rc<Shared>,
}

impl Drop for Layout {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for pipelines of this layout.
        unsafe {
            self.shared.raw.destroy_pipeline_layout(self.handle, None);
            self.shared
                .raw
                .destroy_descriptor_set_layout(self.set, None);
        }
    }
}

/// A compute pipeline.
pub struct Pipeline {
    pub(super) handle: vk::Pipeline,
    shared: Rc<Shared>,
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this pipeline.
        unsafe { self.shared.raw.destroy_pipeline(self.handle, None) };
    }
}

/// A descriptor pool. Its sets are freed with it, so they hold it.
pub struct SetPool {
    handle: vk::DescriptorPool,
    shared: Rc<Shared>,
}

impl Drop for SetPool {
    fn drop(&mut self) {
        // SAFETY: every set holds the pool through an `Rc`, and the queue is idle for them.
        unsafe { self.shared.raw.destroy_descriptor_pool(self.handle, None) };
    }
}

/// A descriptor set.
pub struct Set {
    pub(super) handle: vk::DescriptorSet,
    pool: Rc<SetPool>,
}

/// What a descriptor names.
pub enum Resource<'a> {
    /// Bytes of a buffer.
    Buffer {
        buffer: &'a Buffer,
        offset: u64,
        range: u64,
    },
    /// A texel view.
    Texels(&'a TexelView),
    /// A view of an image, in GENERAL layout.
    Image(&'a View),
}

/// One descriptor to write.
pub struct Write<'a> {
    pub binding: u32,
    pub element: u32,
    pub kind: vk::DescriptorType,
    pub resource: Resource<'a>,
}

impl Set {
    /// Writes descriptors. The queue must be idle for the set.
    pub fn update(&self, writes: &[Write<'_>]) {
        let buffers: Vec<_> = writes
            .iter()
            .map(|write| match write.resource {
                Resource::Buffer {
                    buffer,
                    offset,
                    range,
                } => [vk::DescriptorBufferInfo::default()
                    .buffer(buffer.handle)
                    .offset(offset)
                    .range(range)],
                Resource::Texels(_) | Resource::Image(_) => [vk::DescriptorBufferInfo::default()],
            })
            .collect();
        let views: Vec<_> = writes
            .iter()
            .map(|write| match write.resource {
                Resource::Texels(view) => [view.handle],
                Resource::Buffer { .. } | Resource::Image(_) => [vk::BufferView::null()],
            })
            .collect();
        let images: Vec<_> = writes
            .iter()
            .map(|write| {
                let info = vk::DescriptorImageInfo::default();
                match write.resource {
                    Resource::Image(view) => [info
                        .image_view(view.handle)
                        .image_layout(vk::ImageLayout::GENERAL)],
                    Resource::Buffer { .. } | Resource::Texels(_) => [info],
                }
            })
            .collect();
        let raw: Vec<_> = writes
            .iter()
            .zip(buffers.iter().zip(views.iter().zip(&images)))
            .map(|(write, (buffer, (view, image)))| {
                let raw = vk::WriteDescriptorSet::default()
                    .dst_set(self.handle)
                    .dst_binding(write.binding)
                    .dst_array_element(write.element)
                    .descriptor_type(write.kind);
                match write.resource {
                    Resource::Buffer { .. } => raw.buffer_info(buffer),
                    Resource::Texels(_) => raw.texel_buffer_view(view),
                    Resource::Image(_) => raw.image_info(image),
                }
            })
            .collect();
        // SAFETY: handles are alive, the arrays live across the call, and the set is idle.
        unsafe { self.pool.shared.raw.update_descriptor_sets(&raw, &[]) };
    }
}

impl Gpu {
    /// A layout of one set and `push_bytes` of push constants (a multiple of 4).
    pub fn layout(&self, bindings: &[Binding], push_bytes: u32) -> Result<Layout, Error> {
        let raw = &self.shared.raw;
        let bindings: Vec<_> = (0u32..)
            .zip(bindings)
            .map(|(number, (kind, count))| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(number)
                    .descriptor_type(*kind)
                    .descriptor_count(*count)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let create = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: `create` lives across the call.
        let set = unsafe { raw.create_descriptor_set_layout(&create, None) }
            .named("vkCreateDescriptorSetLayout")?;
        let sets = [set];
        let push = [vk::PushConstantRange::default()
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
            .size(push_bytes)];
        let mut create = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if push_bytes > 0 {
            create = create.push_constant_ranges(&push);
        }
        // SAFETY: `create` lives across the call.
        match unsafe { raw.create_pipeline_layout(&create, None) } {
            Ok(handle) => Ok(Layout {
                set,
                handle,
                shared: self.shared.clone(),
            }),
            Err(result) => {
                // SAFETY: nothing uses the set layout.
                unsafe { raw.destroy_descriptor_set_layout(set, None) };
                Err(result).named("vkCreatePipelineLayout")
            }
        }
    }

    /// A compute pipeline of the module's `main`. `constants` are the values of specialization
    /// constants 0, 1, …
    pub fn pipeline(
        &self,
        layout: &Layout,
        spirv: &[u8],
        constants: &[u32],
    ) -> Result<Pipeline, Error> {
        let raw = &self.shared.raw;
        let code = ash::util::read_spv(&mut Cursor::new(spirv)).map_err(Error::Shader)?;
        let create = vk::ShaderModuleCreateInfo::default().code(&code);
        // SAFETY: the code is one of the crate's own modules, checked with spirv-val.
        let module =
            unsafe { raw.create_shader_module(&create, None) }.named("vkCreateShaderModule")?;
        let entries: Vec<_> = (0u32..)
            .zip(constants)
            .map(|(id, _)| vk::SpecializationMapEntry {
                constant_id: id,
                offset: id * 4,
                size: 4,
            })
            .collect();
        let data: Vec<u8> = constants.iter().flat_map(|c| c.to_ne_bytes()).collect();
        let special = vk::SpecializationInfo::default()
            .map_entries(&entries)
            .data(&data);
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"main")
            .specialization_info(&special);
        let create = vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(layout.handle);
        // SAFETY: `create` and all that it points to live across the call.
        let made =
            unsafe { raw.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        // SAFETY: a module isn't needed any more once its pipelines are made.
        unsafe { raw.destroy_shader_module(module, None) };
        match made {
            Ok(handles) => Ok(Pipeline {
                handle: handles[0],
                shared: self.shared.clone(),
            }),
            Err((_, result)) => Err(result).named("vkCreateComputePipelines"),
        }
    }

    /// A pool for `sets` sets and so many descriptors of each kind in all.
    pub fn set_pool(&self, sets: u32, kinds: &[Binding]) -> Result<Rc<SetPool>, Error> {
        let sizes: Vec<_> = kinds
            .iter()
            .map(|(kind, count)| vk::DescriptorPoolSize {
                ty: *kind,
                descriptor_count: *count,
            })
            .collect();
        let create = vk::DescriptorPoolCreateInfo::default()
            .max_sets(sets)
            .pool_sizes(&sizes);
        // SAFETY: `create` lives across the call.
        let handle = unsafe { self.shared.raw.create_descriptor_pool(&create, None) }
            .named("vkCreateDescriptorPool")?;
        Ok(Rc::new(SetPool {
            handle,
            shared: self.shared.clone(),
        }))
    }

    /// One set of a layout.
    pub fn set(&self, pool: &Rc<SetPool>, layout: &Layout) -> Result<Set, Error> {
        let layouts = [layout.set];
        let allocate = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool.handle)
            .set_layouts(&layouts);
        // SAFETY: pool and layout are alive.
        let handles = unsafe { self.shared.raw.allocate_descriptor_sets(&allocate) }
            .named("vkAllocateDescriptorSets")?;
        Ok(Set {
            handle: handles[0],
            pool: pool.clone(),
        })
    }
}
