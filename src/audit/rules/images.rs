//! Rules of images, views, render passes and graphics pipelines.

use std::sync::Arc;

use ash::vk::{self, Handle};
use hesper_venus::args;

use super::objects::{created, need, shader_module};
use crate::error::AuditError;
use crate::images::{ImageFacts, ImageRange, RenderPassWrites, Subresources};
use crate::raw::Decoded;
use crate::spirv::ModuleWrites;
use crate::tracker::Tracker;

type Done = Result<(), AuditError>;

pub(super) fn check_image(_tracker: &mut Tracker, args: Decoded<'_, args::VkCreateImage>) -> Done {
    let info = need(args, args.p_create_info, "vkCreateImage")?;
    let sparse = vk::ImageCreateFlags::SPARSE_BINDING
        | vk::ImageCreateFlags::SPARSE_RESIDENCY
        | vk::ImageCreateFlags::SPARSE_ALIASED;
    if info.flags.intersects(sparse) {
        return Err(AuditError::Refused {
            command: "vkCreateImage of a sparse image",
        });
    }
    Ok(())
}

pub(super) fn create_image(tracker: &mut Tracker, args: Decoded<'_, args::VkCreateImage>) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateImage";
    let info = need(args, args.p_create_info, command)?;
    let facts = ImageFacts {
        flags: info.flags,
        image_type: info.image_type,
        format: info.format,
        extent: info.extent,
        mips: info.mip_levels,
        layers: info.array_layers,
        samples: info.samples,
        tiling: info.tiling,
        usage: info.usage,
    };
    tracker.image_created(created(args, args.p_image, command)?, facts)
}

pub(super) fn destroy_image(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyImage>,
) -> Done {
    tracker.image_destroyed(args.image.as_raw());
    Ok(())
}

pub(super) fn image_requirements(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkGetImageMemoryRequirements2>,
) -> Done {
    let command = "vkGetImageMemoryRequirements2";
    let info = need(args, args.p_info, command)?;
    let out = need(args, args.p_memory_requirements.cast_const(), command)?;
    let plane = args.chained::<vk::ImagePlaneMemoryRequirementsInfo<'_>>(info.p_next);
    if plane.is_none() {
        tracker.image_sized(info.image.as_raw(), out.memory_requirements.size);
    }
    Ok(())
}

pub(super) fn bind_image_memory(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkBindImageMemory2>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    for info in args.slice(args.p_bind_infos, args.bind_info_count) {
        tracker.image_bound(
            info.image.as_raw(),
            info.memory.as_raw(),
            info.memory_offset,
        )?;
    }
    Ok(())
}

pub(super) fn create_image_view(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateImageView>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateImageView";
    let info = need(args, args.p_create_info, command)?;
    let range = ImageRange {
        image: info.image.as_raw(),
        subresources: Subresources::from(info.subresource_range),
    };
    tracker.image_view_created(created(args, args.p_view, command)?, range)
}

pub(super) fn destroy_image_view(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyImageView>,
) -> Done {
    tracker.image_view_destroyed(args.image_view.as_raw());
    Ok(())
}

pub(super) fn create_framebuffer(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateFramebuffer>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateFramebuffer";
    let info = need(args, args.p_create_info, command)?;
    let id = created(args, args.p_framebuffer, command)?;
    let views = match info.flags.contains(vk::FramebufferCreateFlags::IMAGELESS) {
        true => &[],
        false => args.slice(info.p_attachments, info.attachment_count),
    };
    tracker.framebuffer_created(id, views.iter().map(|view| view.as_raw()))
}

pub(super) fn destroy_framebuffer(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyFramebuffer>,
) -> Done {
    tracker.framebuffer_destroyed(args.framebuffer.as_raw());
    Ok(())
}

/// Whether an attachment's content may change by its operations alone.
fn operations_write(
    (load, store): (vk::AttachmentLoadOp, vk::AttachmentStoreOp),
    (stencil_load, stencil_store): (vk::AttachmentLoadOp, vk::AttachmentStoreOp),
    initial: vk::ImageLayout,
) -> bool {
    let keeps = |load, store| {
        matches!(
            load,
            vk::AttachmentLoadOp::LOAD | vk::AttachmentLoadOp::NONE_EXT
        ) && matches!(
            store,
            vk::AttachmentStoreOp::STORE | vk::AttachmentStoreOp::NONE
        )
    };
    // The stencil's operations say nothing where there is no stencil: in doubt, a write.
    !keeps(load, store)
        || !keeps(stencil_load, stencil_store)
        || initial == vk::ImageLayout::UNDEFINED
}

/// Layouts in which neither depth nor stencil can be written.
fn is_read_only(layout: vk::ImageLayout) -> bool {
    matches!(
        layout,
        vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL
            | vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL
            | vk::ImageLayout::READ_ONLY_OPTIMAL
    )
}

/// Counts the attachment `number` as written.
fn written(attachments: &mut [bool], number: u32) {
    // Numbers beyond the attachments: UNUSED, or nothing that a driver takes.
    if let Some(writes) = attachments.get_mut(number as usize) {
        *writes = true;
    }
}

pub(super) fn create_render_pass(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateRenderPass>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateRenderPass";
    let info = need(args, args.p_create_info, command)?;
    let descriptions = args.slice(info.p_attachments, info.attachment_count);
    let mut attachments: Vec<bool> = descriptions
        .iter()
        .map(|attachment| {
            operations_write(
                (attachment.load_op, attachment.store_op),
                (attachment.stencil_load_op, attachment.stencil_store_op),
                attachment.initial_layout,
            )
        })
        .collect();
    for subpass in args.slice(info.p_subpasses, info.subpass_count) {
        let colors = args.slice(subpass.p_color_attachments, subpass.color_attachment_count);
        let resolves = args.slice(
            subpass.p_resolve_attachments,
            subpass.color_attachment_count,
        );
        for reference in colors.iter().chain(resolves) {
            written(&mut attachments, reference.attachment);
        }
        if let Some(reference) = args.get(subpass.p_depth_stencil_attachment)
            && !is_read_only(reference.layout)
        {
            written(&mut attachments, reference.attachment);
        }
    }
    let id = created(args, args.p_render_pass, command)?;
    let writes = RenderPassWrites {
        attachments,
        whole_images: Vec::new(),
    };
    tracker.render_pass_created(id, writes)
}

pub(super) fn create_render_pass2(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateRenderPass2>,
) -> Done {
    if args.ret != vk::Result::SUCCESS {
        return Ok(());
    }
    let command = "vkCreateRenderPass2";
    let info = need(args, args.p_create_info, command)?;
    let descriptions = args.slice(info.p_attachments, info.attachment_count);
    let mut attachments: Vec<bool> = descriptions
        .iter()
        .map(|attachment| {
            operations_write(
                (attachment.load_op, attachment.store_op),
                (attachment.stencil_load_op, attachment.stencil_store_op),
                attachment.initial_layout,
            )
        })
        .collect();
    let mut whole_images: Vec<u32> = Vec::new();
    for subpass in args.slice(info.p_subpasses, info.subpass_count) {
        let colors = args.slice(subpass.p_color_attachments, subpass.color_attachment_count);
        let resolves = args.slice(
            subpass.p_resolve_attachments,
            subpass.color_attachment_count,
        );
        for reference in colors.iter().chain(resolves) {
            written(&mut attachments, reference.attachment);
        }
        if let Some(reference) = args.get(subpass.p_depth_stencil_attachment)
            && (!is_read_only(reference.layout)
                // The stencil may have a layout of its own: not looked at, so a write.
                || args
                    .chained::<vk::AttachmentReferenceStencilLayout<'_>>(reference.p_next)
                    .is_some())
        {
            written(&mut attachments, reference.attachment);
        }
        let resolve = args.chained::<vk::SubpassDescriptionDepthStencilResolve<'_>>(subpass.p_next);
        if let Some(resolve) = resolve
            && let Some(reference) = args.get(resolve.p_depth_stencil_resolve_attachment)
            && reference.attachment < info.attachment_count
        {
            written(&mut attachments, reference.attachment);
            if !whole_images.contains(&reference.attachment) {
                whole_images.push(reference.attachment);
            }
        }
    }
    let id = created(args, args.p_render_pass, command)?;
    let writes = RenderPassWrites {
        attachments,
        whole_images,
    };
    tracker.render_pass_created(id, writes)
}

pub(super) fn destroy_render_pass(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkDestroyRenderPass>,
) -> Done {
    tracker.render_pass_destroyed(args.render_pass.as_raw());
    Ok(())
}

/// The SPIR-V execution model of a graphics stage.
fn execution_model(stage: vk::ShaderStageFlags) -> Option<u32> {
    Some(match stage {
        vk::ShaderStageFlags::VERTEX => 0,
        vk::ShaderStageFlags::TESSELLATION_CONTROL => 1,
        vk::ShaderStageFlags::TESSELLATION_EVALUATION => 2,
        vk::ShaderStageFlags::GEOMETRY => 3,
        vk::ShaderStageFlags::FRAGMENT => 4,
        vk::ShaderStageFlags::TASK_EXT => 5364,
        vk::ShaderStageFlags::MESH_EXT => 5365,
        _ => return None,
    })
}

pub(super) fn create_graphics_pipelines(
    tracker: &mut Tracker,
    args: Decoded<'_, args::VkCreateGraphicsPipelines>,
) -> Done {
    let command = "vkCreateGraphicsPipelines";
    let infos = args.slice(args.p_create_infos, args.create_info_count);
    let pipelines = args.slice(args.p_pipelines.cast_const(), args.create_info_count);
    for (info, pipeline) in infos.iter().zip(pipelines) {
        // Parts of pipelines in libraries are not followed; the extension is not shown either.
        let libraries = args.chained::<vk::PipelineLibraryCreateInfoKHR<'_>>(info.p_next);
        if info.flags.contains(vk::PipelineCreateFlags::LIBRARY_KHR)
            || libraries.is_some_and(|libraries| libraries.library_count > 0)
        {
            return Err(AuditError::Refused {
                command: "vkCreateGraphicsPipelines with libraries",
            });
        }
        let mut stages: Vec<(Arc<ModuleWrites>, &str, u32)> = Vec::new();
        for stage in args.slice(info.p_stages, info.stage_count) {
            let (module, name) = shader_module(tracker, args, stage, command)?;
            let model = execution_model(stage.stage).ok_or(AuditError::BadArguments { command })?;
            stages.push((module, name, model));
        }
        tracker.pipeline_created(pipeline.as_raw(), &stages)?;
    }
    Ok(())
}
