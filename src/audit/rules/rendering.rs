//! Rules of commands that write images: transfers, transitions, rendering.

use ash::vk::{self, Handle};
use hesper_venus::args;

use super::objects::need;
use crate::images::{BufferRegion, Subresources};
use crate::raw::Decoded;
use crate::tracker::Tracker;

type Done = Result<(), crate::AuditError>;

/// A rule for the first form of a transfer to an image: its regions stand in the arguments.
macro_rules! transfer {
    ($rule:ident, $args:ident, $target:ident, $subresource:ident) => {
        pub(super) fn $rule(tracker: &mut Tracker, args: Decoded<'_, args::$args>) -> Done {
            for region in args.slice(args.p_regions, args.region_count) {
                tracker.record_image_write(
                    args.command_buffer.as_raw(),
                    args.$target.as_raw(),
                    Subresources::from(region.$subresource),
                )?;
            }
            Ok(())
        }
    };
}

/// As [`transfer!`], for the second form: all stands in a structure.
macro_rules! transfer2 {
    ($rule:ident, $args:ident, $info:ident, $subresource:ident) => {
        pub(super) fn $rule(tracker: &mut Tracker, args: Decoded<'_, args::$args>) -> Done {
            let info = need(args, args.$info, stringify!($args))?;
            for region in args.slice(info.p_regions, info.region_count) {
                tracker.record_image_write(
                    args.command_buffer.as_raw(),
                    info.dst_image.as_raw(),
                    Subresources::from(region.$subresource),
                )?;
            }
            Ok(())
        }
    };
}

transfer!(copy_image, VkCmdCopyImage, dst_image, dst_subresource);
transfer!(blit_image, VkCmdBlitImage, dst_image, dst_subresource);
transfer!(resolve_image, VkCmdResolveImage, dst_image, dst_subresource);
transfer!(
    copy_buffer_to_image,
    VkCmdCopyBufferToImage,
    dst_image,
    image_subresource
);
transfer2!(
    copy_image2,
    VkCmdCopyImage2,
    p_copy_image_info,
    dst_subresource
);
transfer2!(
    blit_image2,
    VkCmdBlitImage2,
    p_blit_image_info,
    dst_subresource
);
transfer2!(
    resolve_image2,
    VkCmdResolveImage2,
    p_resolve_image_info,
    dst_subresource
);
transfer2!(
    copy_buffer_to_image2,
    VkCmdCopyBufferToImage2,
    p_copy_buffer_to_image_info,
    image_subresource
);

pub(super) fn copy_image_to_buffer(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdCopyImageToBuffer>,
) -> Done {
    for region in args.slice(args.p_regions, args.region_count) {
        tracker.record_image_to_buffer(
            args.command_buffer.as_raw(),
            args.src_image.as_raw(),
            args.dst_buffer.as_raw(),
            BufferRegion {
                offset: region.buffer_offset,
                row_length: region.buffer_row_length,
                image_height: region.buffer_image_height,
                aspects: region.image_subresource.aspect_mask.as_raw(),
                layers: region.image_subresource.layer_count,
                extent: region.image_extent,
            },
        )?;
    }
    Ok(())
}

pub(super) fn copy_image_to_buffer2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdCopyImageToBuffer2>,
) -> Done {
    let info = need(
        args,
        args.p_copy_image_to_buffer_info,
        "vkCmdCopyImageToBuffer2",
    )?;
    for region in args.slice(info.p_regions, info.region_count) {
        tracker.record_image_to_buffer(
            args.command_buffer.as_raw(),
            info.src_image.as_raw(),
            info.dst_buffer.as_raw(),
            BufferRegion {
                offset: region.buffer_offset,
                row_length: region.buffer_row_length,
                image_height: region.buffer_image_height,
                aspects: region.image_subresource.aspect_mask.as_raw(),
                layers: region.image_subresource.layer_count,
                extent: region.image_extent,
            },
        )?;
    }
    Ok(())
}

fn clear(
    tracker: &mut Tracker,
    (command_buffer, image): (vk::CommandBuffer, vk::Image),
    ranges: &[vk::ImageSubresourceRange],
) -> Done {
    for range in ranges {
        tracker.record_image_write(
            command_buffer.as_raw(),
            image.as_raw(),
            Subresources::from(*range),
        )?;
    }
    Ok(())
}

pub(super) fn clear_color_image(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdClearColorImage>,
) -> Done {
    let ranges = args.slice(args.p_ranges, args.range_count);
    clear(tracker, (args.command_buffer, args.image), ranges)
}

pub(super) fn clear_depth_stencil_image(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdClearDepthStencilImage>,
) -> Done {
    let ranges = args.slice(args.p_ranges, args.range_count);
    clear(tracker, (args.command_buffer, args.image), ranges)
}

/// A transition from UNDEFINED leaves anything behind.
fn transition(
    tracker: &mut Tracker,
    command_buffer: vk::CommandBuffer,
    old_layout: vk::ImageLayout,
    image: vk::Image,
    range: vk::ImageSubresourceRange,
) -> Done {
    if old_layout != vk::ImageLayout::UNDEFINED {
        return Ok(());
    }
    tracker.record_image_write(
        command_buffer.as_raw(),
        image.as_raw(),
        Subresources::from(range),
    )
}

fn transitions(
    tracker: &mut Tracker,
    command_buffer: vk::CommandBuffer,
    barriers: &[vk::ImageMemoryBarrier<'_>],
) -> Done {
    for barrier in barriers {
        transition(
            tracker,
            command_buffer,
            barrier.old_layout,
            barrier.image,
            barrier.subresource_range,
        )?;
    }
    Ok(())
}

fn dependency<T>(
    tracker: &mut Tracker,
    args: Decoded<'_, T>,
    command_buffer: vk::CommandBuffer,
    infos: &[vk::DependencyInfo<'_>],
) -> Done {
    for info in infos {
        let barriers = args.slice(
            info.p_image_memory_barriers,
            info.image_memory_barrier_count,
        );
        for barrier in barriers {
            transition(
                tracker,
                command_buffer,
                barrier.old_layout,
                barrier.image,
                barrier.subresource_range,
            )?;
        }
    }
    Ok(())
}

pub(super) fn pipeline_barrier(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdPipelineBarrier>,
) -> Done {
    let barriers = args.slice(
        args.p_image_memory_barriers,
        args.image_memory_barrier_count,
    );
    transitions(tracker, args.command_buffer, barriers)
}

pub(super) fn wait_events(tracker: &mut Tracker, args: Decoded<'_, args::VkCmdWaitEvents>) -> Done {
    let barriers = args.slice(
        args.p_image_memory_barriers,
        args.image_memory_barrier_count,
    );
    transitions(tracker, args.command_buffer, barriers)
}

pub(super) fn pipeline_barrier2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdPipelineBarrier2>,
) -> Done {
    let infos = args.slice(args.p_dependency_info, 1);
    dependency(tracker, args, args.command_buffer, infos)
}

pub(super) fn set_event2(tracker: &mut Tracker, args: Decoded<'_, args::VkCmdSetEvent2>) -> Done {
    let infos = args.slice(args.p_dependency_info, 1);
    dependency(tracker, args, args.command_buffer, infos)
}

pub(super) fn wait_events2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdWaitEvents2>,
) -> Done {
    let infos = args.slice(args.p_dependency_infos, args.event_count);
    dependency(tracker, args, args.command_buffer, infos)
}

fn begin<T>(
    tracker: &mut Tracker,
    args: Decoded<'_, T>,
    command_buffer: vk::CommandBuffer,
    info: &vk::RenderPassBeginInfo<'_>,
) -> Done {
    let views = args.chained::<vk::RenderPassAttachmentBeginInfo<'_>>(info.p_next);
    let views: Vec<u64> = views
        .map_or(&[][..], |views| {
            args.slice(views.p_attachments, views.attachment_count)
        })
        .iter()
        .map(|view| view.as_raw())
        .collect();
    tracker.record_render_pass(
        command_buffer.as_raw(),
        info.render_pass.as_raw(),
        info.framebuffer.as_raw(),
        &views,
    )
}

pub(super) fn begin_render_pass(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdBeginRenderPass>,
) -> Done {
    let info = need(args, args.p_render_pass_begin, "vkCmdBeginRenderPass")?;
    begin(tracker, args, args.command_buffer, info)
}

pub(super) fn begin_render_pass2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdBeginRenderPass2>,
) -> Done {
    let info = need(args, args.p_render_pass_begin, "vkCmdBeginRenderPass2")?;
    begin(tracker, args, args.command_buffer, info)
}

/// Whether rendering keeps what is in a depth or stencil attachment: it is read only, loaded and stored.
fn keeps(attachment: &vk::RenderingAttachmentInfo<'_>) -> bool {
    let read_only = matches!(
        attachment.image_layout,
        vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL
            | vk::ImageLayout::DEPTH_READ_ONLY_OPTIMAL
            | vk::ImageLayout::STENCIL_READ_ONLY_OPTIMAL
            | vk::ImageLayout::READ_ONLY_OPTIMAL
    );
    read_only
        && matches!(
            attachment.load_op,
            vk::AttachmentLoadOp::LOAD | vk::AttachmentLoadOp::NONE_EXT
        )
        && matches!(
            attachment.store_op,
            vk::AttachmentStoreOp::STORE | vk::AttachmentStoreOp::NONE
        )
}

pub(super) fn begin_rendering(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCmdBeginRendering>,
) -> Done {
    let info = need(args, args.p_rendering_info, "vkCmdBeginRendering")?;
    // With views of several, which layers are written is in the mask: all of the view.
    let layers = (info.view_mask == 0).then_some(info.layer_count);
    let colors = args.slice(info.p_color_attachments, info.color_attachment_count);
    let depth = args.get(info.p_depth_attachment);
    let stencil = args.get(info.p_stencil_attachment);
    let others = [depth, stencil]
        .into_iter()
        .flatten()
        .map(|attachment| (attachment, true));
    for (attachment, is_depth) in colors
        .iter()
        .map(|attachment| (attachment, false))
        .chain(others)
    {
        let command_buffer = args.command_buffer.as_raw();
        let (view, resolve) = (attachment.image_view, attachment.resolve_image_view);
        if view.is_null() {
            continue;
        }
        if !is_depth || !keeps(attachment) {
            tracker.record_view_write(command_buffer, view.as_raw(), layers)?;
        }
        let resolves = attachment.resolve_mode != vk::ResolveModeFlags::NONE;
        if !resolves || resolve.is_null() {
            continue;
        }
        match is_depth {
            true => tracker.record_depth_resolve(command_buffer, resolve.as_raw())?,
            false => tracker.record_view_write(command_buffer, resolve.as_raw(), layers)?,
        }
    }
    Ok(())
}

macro_rules! draw {
    ($($rule:ident, $args:ident;)*) => {
        $(pub(super) fn $rule(tracker: &mut Tracker, args: Decoded<'_, args::$args>) -> Done {
            let graphics = vk::PipelineBindPoint::GRAPHICS;
            tracker.record_shaders(args.command_buffer.as_raw(), graphics)
        })*
    };
}

draw! {
    draw, VkCmdDraw;
    draw_indexed, VkCmdDrawIndexed;
    draw_indirect, VkCmdDrawIndirect;
    draw_indexed_indirect, VkCmdDrawIndexedIndirect;
    draw_indirect_count, VkCmdDrawIndirectCount;
    draw_indexed_indirect_count, VkCmdDrawIndexedIndirectCount;
    draw_multi, VkCmdDrawMultiEXT;
    draw_multi_indexed, VkCmdDrawMultiIndexedEXT;
}
