//! Rules of what is recorded, and of submissions.

use ash::vk::{self, Handle};
use hesper_venus::args;

use super::objects::descriptors;
use crate::buffers::Buffers;
use crate::error::AuditError;
use crate::marks::Marks;
use crate::raw::Decoded;
use crate::tracker::Tracker;

type Done = Result<(), AuditError>;

pub(super) fn begin(tracker: &mut Tracker, args: Decoded<'_, args::VkBeginCommandBuffer>) -> Done {
    tracker.command_buffer_reset(args.command_buffer.as_raw())
}

pub(super) fn reset(tracker: &mut Tracker, args: Decoded<'_, args::VkResetCommandBuffer>) -> Done {
    tracker.command_buffer_reset(args.command_buffer.as_raw())
}

pub(super) fn bind_pipeline(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdBindPipeline>,
) -> Done {
    tracker.record_bind_pipeline(
        args.command_buffer.as_raw(),
        args.pipeline_bind_point,
        args.pipeline.as_raw(),
    )
}

pub(super) fn bind_descriptor_sets(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdBindDescriptorSets>,
) -> Done {
    let mut offsets = args.slice(args.p_dynamic_offsets, args.dynamic_offset_count);
    let sets = args.slice(args.p_descriptor_sets, args.descriptor_set_count);
    for (number, set) in (args.first_set..).zip(sets) {
        let used = tracker.record_bind_set(
            args.command_buffer.as_raw(),
            args.pipeline_bind_point,
            number,
            set.as_raw(),
            offsets,
        )?;
        offsets = &offsets[used..];
    }
    Ok(())
}

pub(super) fn push_descriptor_set(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdPushDescriptorSetKHR>,
) -> Done {
    for write in args.slice(args.p_descriptor_writes, args.descriptor_write_count) {
        if write.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK {
            continue;
        }
        let descriptors = descriptors(args, write, "vkCmdPushDescriptorSet")?;
        tracker.record_push_descriptors(
            args.command_buffer.as_raw(),
            args.pipeline_bind_point,
            (args.layout.as_raw(), args.set),
            (write.dst_binding, write.dst_array_element),
            descriptors,
        )?;
    }
    Ok(())
}

pub(super) fn dispatch(tracker: &mut Tracker, args: Decoded<'_, args::VkCmdDispatch>) -> Done {
    tracker.record_shaders(args.command_buffer.as_raw(), vk::PipelineBindPoint::COMPUTE)
}

pub(super) fn dispatch_base(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdDispatchBase>,
) -> Done {
    tracker.record_shaders(args.command_buffer.as_raw(), vk::PipelineBindPoint::COMPUTE)
}

pub(super) fn dispatch_indirect(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdDispatchIndirect>,
) -> Done {
    tracker.record_shaders(args.command_buffer.as_raw(), vk::PipelineBindPoint::COMPUTE)
}

pub(super) fn copy_buffer(tracker: &mut Tracker, args: Decoded<'_, args::VkCmdCopyBuffer>) -> Done {
    for region in args.slice(args.p_regions, args.region_count) {
        tracker.record_buffer_write(
            args.command_buffer.as_raw(),
            args.dst_buffer.as_raw(),
            region.dst_offset,
            region.size,
        )?;
    }
    Ok(())
}

pub(super) fn copy_buffer2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdCopyBuffer2>,
) -> Done {
    let info = args
        .get(args.p_copy_buffer_info)
        .ok_or(AuditError::BadArguments {
            command: "vkCmdCopyBuffer2",
        })?;
    for region in args.slice(info.p_regions, info.region_count) {
        tracker.record_buffer_write(
            args.command_buffer.as_raw(),
            info.dst_buffer.as_raw(),
            region.dst_offset,
            region.size,
        )?;
    }
    Ok(())
}

pub(super) fn update_buffer(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdUpdateBuffer>,
) -> Done {
    tracker.record_buffer_write(
        args.command_buffer.as_raw(),
        args.dst_buffer.as_raw(),
        args.dst_offset,
        args.data_size,
    )
}

pub(super) fn fill_buffer(tracker: &mut Tracker, args: Decoded<'_, args::VkCmdFillBuffer>) -> Done {
    tracker.record_buffer_write(
        args.command_buffer.as_raw(),
        args.dst_buffer.as_raw(),
        args.dst_offset,
        args.size,
    )
}

pub(super) fn copy_query_pool_results(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdCopyQueryPoolResults>,
) -> Done {
    tracker.record_query_results(
        args.command_buffer.as_raw(),
        args.query_pool.as_raw(),
        args.query_count,
        (args.dst_buffer.as_raw(), args.dst_offset, args.stride),
        args.flags,
    )
}

pub(super) fn execute_commands(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdExecuteCommands>,
) -> Done {
    for secondary in args.slice(args.p_command_buffers, args.command_buffer_count) {
        tracker.record_secondary(args.command_buffer.as_raw(), secondary.as_raw())?;
    }
    Ok(())
}

pub(super) fn submit(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    args: Decoded<'_, args::VkQueueSubmit>,
    marks: &mut Marks,
) -> Done {
    let submits = args.slice(args.p_submits, args.submit_count);
    let command_buffers = submits.iter().flat_map(|submit| {
        let command_buffers = args.slice(submit.p_command_buffers, submit.command_buffer_count);
        command_buffers
            .iter()
            .map(|command_buffer| command_buffer.as_raw())
    });
    resolve(tracker, buffers, command_buffers, marks)
}

fn resolve(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    command_buffers: impl Iterator<Item = u64> + Clone,
    marks: &mut Marks,
) -> Done {
    if tracker.repeats(command_buffers.clone(), marks) {
        return Ok(());
    }
    marks.clear();
    tracker.resolve_submit(buffers, command_buffers, marks)
}

pub(super) fn submit2(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    args: Decoded<'_, args::VkQueueSubmit2>,
    marks: &mut Marks,
) -> Done {
    let submits = args.slice(args.p_submits, args.submit_count);
    let command_buffers = submits.iter().flat_map(|submit| {
        let infos = args.slice(
            submit.p_command_buffer_infos,
            submit.command_buffer_info_count,
        );
        infos.iter().map(|info| info.command_buffer.as_raw())
    });
    resolve(tracker, buffers, command_buffers, marks)
}
