//! Rules of creations, binds, updates and destructions.

use std::sync::Arc;

use ash::vk::{self, Handle};
use hesper_venus::args;

use crate::buffers::Buffers;
use crate::descriptors::{Descriptor, LayoutBinding};
use crate::error::AuditError;
use crate::raw::Decoded;
use crate::spirv::ModuleWrites;
use crate::tracker::{Tracker, unknown};

/// Execution model of compute entry points in SPIR-V.
const GL_COMPUTE: u32 = 5;

type Done = Result<(), AuditError>;

/// A structure that the command cannot do without.
pub(super) fn need<'c, T, U>(
    args: Decoded<'c, T>,
    pointer: *const U,
    command: &'static str,
) -> Result<&'c U, AuditError> {
    args.get(pointer)
        .ok_or(AuditError::BadArguments { command })
}

/// The guest's id of a created object.
pub(super) fn created<T, U: Handle + Copy>(
    args: Decoded<'_, T>,
    pointer: *const U,
    command: &'static str,
) -> Result<u64, AuditError> {
    Ok(need(args, pointer, command)?.as_raw())
}

pub(super) fn allocate_memory(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkAllocateMemory>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkAllocateMemory";
    let info = need(args, args.p_allocate_info, command)?;
    let id = created(args, args.p_memory, command)?;
    // Shared memory is host-visible whatever its type says.
    let device_local =
        tracker.is_device_local(info.memory_type_index) && !args.sharing(info.p_next).is_shared();
    tracker.memory_created(id, info.allocation_size, device_local)
}

pub(super) fn free_memory(tracker: &mut Tracker, args: Decoded<'_, args::VkFreeMemory>) -> Done {
    tracker.memory_freed(args.memory.as_raw());
    Ok(())
}

pub(super) fn check_buffer(
    _tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateBuffer>,
) -> Done {
    let info = need(args, args.p_create_info, "vkCreateBuffer")?;
    let sparse = vk::BufferCreateFlags::SPARSE_BINDING
        | vk::BufferCreateFlags::SPARSE_RESIDENCY
        | vk::BufferCreateFlags::SPARSE_ALIASED;
    if info.flags.intersects(sparse) {
        return Err(AuditError::Refused {
            command: "vkCreateBuffer of a sparse buffer",
        });
    }
    Ok(())
}

pub(super) fn destroy_buffer(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyBuffer>,
) -> Done {
    tracker.buffer_destroyed(args.buffer.as_raw());
    Ok(())
}

/// Whoever keeps the buffers keeps their bindings, too, once the driver has made them.
pub(super) fn bind_buffers(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    args: Decoded<'_, args::VkBindBufferMemory2>,
) -> Done {
    for info in args.slice(args.p_bind_infos, args.bind_info_count) {
        let id = info.buffer.as_raw();
        let buffer = buffers.buffer(id).ok_or(unknown("buffer", id))?;
        tracker.buffer_binding((id, buffer), info.memory.as_raw(), info.memory_offset)?;
    }
    Ok(())
}

pub(super) fn create_buffer_view(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateBufferView>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateBufferView";
    let info = need(args, args.p_create_info, command)?;
    let id = created(args, args.p_view, command)?;
    tracker.buffer_view_created(id, info.buffer.as_raw(), info.offset, info.range)
}

pub(super) fn destroy_buffer_view(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyBufferView>,
) -> Done {
    tracker.buffer_view_destroyed(args.buffer_view.as_raw());
    Ok(())
}

pub(super) fn create_descriptor_set_layout(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateDescriptorSetLayout>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateDescriptorSetLayout";
    let info = need(args, args.p_create_info, command)?;
    let bindings = args.slice(info.p_bindings, info.binding_count);
    let bindings = bindings.iter().map(|binding| LayoutBinding {
        binding: binding.binding,
        descriptor_type: binding.descriptor_type,
        count: binding.descriptor_count,
    });
    let id = created(args, args.p_set_layout, command)?;
    tracker.set_layout_created(id, bindings.collect())
}

pub(super) fn destroy_descriptor_set_layout(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyDescriptorSetLayout>,
) -> Done {
    tracker.set_layout_destroyed(args.descriptor_set_layout.as_raw());
    Ok(())
}

pub(super) fn create_pipeline_layout(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreatePipelineLayout>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreatePipelineLayout";
    let info = need(args, args.p_create_info, command)?;
    let layouts = args.slice(info.p_set_layouts, info.set_layout_count);
    let layouts: Vec<u64> = layouts.iter().map(|layout| layout.as_raw()).collect();
    let id = created(args, args.p_pipeline_layout, command)?;
    tracker.pipeline_layout_created(id, &layouts)
}

pub(super) fn destroy_pipeline_layout(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyPipelineLayout>,
) -> Done {
    tracker.pipeline_layout_destroyed(args.pipeline_layout.as_raw());
    Ok(())
}

pub(super) fn create_descriptor_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateDescriptorPool>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let id = created(args, args.p_descriptor_pool, "vkCreateDescriptorPool")?;
    tracker.descriptor_pool_created(id)
}

pub(super) fn destroy_descriptor_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyDescriptorPool>,
) -> Done {
    tracker.descriptor_pool_destroyed(args.descriptor_pool.as_raw());
    Ok(())
}

pub(super) fn reset_descriptor_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkResetDescriptorPool>,
) -> Done {
    tracker.descriptor_pool_reset(args.descriptor_pool.as_raw());
    Ok(())
}

pub(super) fn allocate_descriptor_sets(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkAllocateDescriptorSets>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let info = need(args, args.p_allocate_info, "vkAllocateDescriptorSets")?;
    let layouts = args.slice(info.p_set_layouts, info.descriptor_set_count);
    let sets = args.slice(args.p_descriptor_sets, info.descriptor_set_count);
    for (set, layout) in sets.iter().zip(layouts) {
        // Variable counts only take descriptors away from what the layout declares.
        tracker.set_allocated(
            set.as_raw(),
            info.descriptor_pool.as_raw(),
            layout.as_raw(),
            None,
        )?;
    }
    Ok(())
}

pub(super) fn free_descriptor_sets(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkFreeDescriptorSets>,
) -> Done {
    for set in args.slice(args.p_descriptor_sets, args.descriptor_set_count) {
        tracker.set_freed(set.as_raw());
    }
    Ok(())
}

pub(super) fn update_descriptor_sets(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkUpdateDescriptorSets>,
) -> Done {
    for write in args.slice(args.p_descriptor_writes, args.descriptor_write_count) {
        if write.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK {
            continue;
        }
        let descriptors = descriptors(args, write, "vkUpdateDescriptorSets")?;
        tracker.descriptors_written(
            write.dst_set.as_raw(),
            write.dst_binding,
            write.dst_array_element,
            descriptors,
        )?;
    }
    for copy in args.slice(args.p_descriptor_copies, args.descriptor_copy_count) {
        let from = (
            copy.src_set.as_raw(),
            copy.src_binding,
            copy.src_array_element,
        );
        let to = (
            copy.dst_set.as_raw(),
            copy.dst_binding,
            copy.dst_array_element,
        );
        tracker.descriptors_copied(from, to, copy.descriptor_count)?;
    }
    Ok(())
}

/// The descriptors of a write, as many as it says.
pub(super) fn descriptors<'c, T>(
    args: Decoded<'c, T>,
    write: &vk::WriteDescriptorSet<'_>,
    command: &'static str,
) -> Result<impl Iterator<Item = Descriptor> + use<'c, T>, AuditError> {
    let count = write.descriptor_count;
    let mut buffers: &[vk::DescriptorBufferInfo] = &[];
    let mut views: &[vk::BufferView] = &[];
    let mut images: &[vk::DescriptorImageInfo] = &[];
    let found = match write.descriptor_type {
        vk::DescriptorType::STORAGE_BUFFER
        | vk::DescriptorType::UNIFORM_BUFFER
        | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC
        | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC => {
            buffers = args.slice(write.p_buffer_info, count);
            buffers.len()
        }
        vk::DescriptorType::STORAGE_TEXEL_BUFFER | vk::DescriptorType::UNIFORM_TEXEL_BUFFER => {
            views = args.slice(write.p_texel_buffer_view, count);
            views.len()
        }
        vk::DescriptorType::STORAGE_IMAGE => {
            images = args.slice(write.p_image_info, count);
            images.len()
        }
        // Nothing that a shader can write.
        _ => count as usize,
    };
    if found != count as usize {
        return Err(AuditError::BadArguments { command });
    }
    Ok((0..count as usize).map(move |index| {
        if let Some(info) = buffers.get(index).filter(|info| !info.buffer.is_null()) {
            Descriptor::Buffer {
                buffer: info.buffer.as_raw(),
                offset: info.offset,
                range: info.range,
            }
        } else if let Some(view) = views.get(index).filter(|view| !view.is_null()) {
            Descriptor::TexelView {
                view: view.as_raw(),
            }
        } else if let Some(info) = images.get(index).filter(|info| !info.image_view.is_null()) {
            Descriptor::Image {
                view: info.image_view.as_raw(),
            }
        } else {
            Descriptor::Empty
        }
    }))
}

/// The words of a module's code.
fn code<'c, T>(
    args: Decoded<'c, T>,
    info: &vk::ShaderModuleCreateInfo<'_>,
    command: &'static str,
) -> Result<&'c [u32], AuditError> {
    let words = u32::try_from(info.code_size / 4).ok();
    match words.filter(|_| info.code_size.is_multiple_of(4)) {
        Some(words) => Ok(args.slice(info.p_code, words)),
        None => Err(AuditError::BadArguments { command }),
    }
}

pub(super) fn analyze_shader_module(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateShaderModule>,
) -> Done {
    let command = "vkCreateShaderModule";
    let info = need(args, args.p_create_info, command)?;
    let id = created(args, args.p_shader_module, command)?;
    tracker.module_created(id, code(args, info, command)?)
}

pub(super) fn keep_shader_module(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateShaderModule>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        tracker.module_destroyed(created(args, args.p_shader_module, "vkCreateShaderModule")?);
    }
    Ok(())
}

pub(super) fn destroy_shader_module(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyShaderModule>,
) -> Done {
    tracker.module_destroyed(args.shader_module.as_raw());
    Ok(())
}

/// What a stage's module writes, and the entry point's name.
pub(super) fn shader_module<'c, T>(
    tracker: &mut Tracker,
    args: Decoded<'c, T>,
    stage: &vk::PipelineShaderStageCreateInfo<'_>,
    command: &'static str,
) -> Result<(Arc<ModuleWrites>, &'c str), AuditError> {
    let module = if stage.module.is_null() {
        let inline = args.chained::<vk::ShaderModuleCreateInfo<'_>>(stage.p_next);
        let inline = inline.ok_or(AuditError::BadArguments { command })?;
        tracker.analyze_code(code(args, inline, command)?)?
    } else {
        tracker.module(stage.module.as_raw())?
    };
    let name = args
        .string(stage.p_name)
        .and_then(|name| name.to_str().ok());
    Ok((module, name.ok_or(AuditError::BadArguments { command })?))
}

pub(super) fn create_compute_pipelines(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateComputePipelines>,
) -> Done {
    let command = "vkCreateComputePipelines";
    let infos = args.slice(args.p_create_infos, args.create_info_count);
    let pipelines = args.slice(args.p_pipelines.cast_const(), args.create_info_count);
    for (info, pipeline) in infos.iter().zip(pipelines) {
        let (module, name) = shader_module(tracker, args, &info.stage, command)?;
        tracker.pipeline_created(pipeline.as_raw(), &[(module, name, GL_COMPUTE)])?;
    }
    Ok(())
}

pub(super) fn destroy_pipeline(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyPipeline>,
) -> Done {
    tracker.pipeline_destroyed(args.pipeline.as_raw());
    Ok(())
}

pub(super) fn create_query_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateQueryPool>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateQueryPool";
    let info = need(args, args.p_create_info, command)?;
    let values = match info.query_type {
        vk::QueryType::OCCLUSION
        | vk::QueryType::TIMESTAMP
        | vk::QueryType::PRIMITIVES_GENERATED_EXT => 1,
        vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT => 2,
        vk::QueryType::PIPELINE_STATISTICS => info.pipeline_statistics.as_raw().count_ones(),
        // More than any query has.
        _ => 64,
    };
    let id = created(args, args.p_query_pool, command)?;
    tracker.query_pool_created(id, values)
}

pub(super) fn destroy_query_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyQueryPool>,
) -> Done {
    tracker.query_pool_destroyed(args.query_pool.as_raw());
    Ok(())
}

pub(super) fn create_command_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateCommandPool>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    tracker.command_pool_created(created(args, args.p_command_pool, "vkCreateCommandPool")?)
}

pub(super) fn destroy_command_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyCommandPool>,
) -> Done {
    tracker.command_pool_destroyed(args.command_pool.as_raw());
    Ok(())
}

pub(super) fn reset_command_pool(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkResetCommandPool>,
) -> Done {
    tracker.command_pool_reset(args.command_pool.as_raw());
    Ok(())
}

pub(super) fn allocate_command_buffers(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkAllocateCommandBuffers>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let info = need(args, args.p_allocate_info, "vkAllocateCommandBuffers")?;
    for command_buffer in args.slice(args.p_command_buffers, info.command_buffer_count) {
        tracker.command_buffer_allocated(command_buffer.as_raw(), info.command_pool.as_raw())?;
    }
    Ok(())
}

pub(super) fn free_command_buffers(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkFreeCommandBuffers>,
) -> Done {
    for command_buffer in args.slice(args.p_command_buffers, args.command_buffer_count) {
        tracker.command_buffer_freed(command_buffer.as_raw());
    }
    Ok(())
}
