//! Commands that more than one kind of program records, in either form where there are two.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::run;
use super::images::{GENERAL, Image};
use super::{Buffer, World};

/// (offset in the source, offset in the target, length).
pub type Region = (u64, u64, u64);

/// Which way texels go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToImage,
    ToBuffer,
}

impl World<'_> {
    pub(super) fn fill_buffer(
        &mut self,
        command_buffer: vk::CommandBuffer,
        buffer: Buffer,
        (dst_offset, size): (u64, u64),
        data: u32,
    ) {
        run!(
            self.host,
            VkCmdFillBuffer {
                command_buffer: command_buffer,
                dst_buffer: vk::Buffer::from_raw(buffer.id),
                dst_offset: dst_offset,
                size: size,
                data: data,
            }
        );
    }

    pub(super) fn copy_buffer(
        &mut self,
        command_buffer: vk::CommandBuffer,
        [source, target]: [Buffer; 2],
        regions: &[Region],
        wide: bool,
    ) {
        let (src_buffer, dst_buffer) = (
            vk::Buffer::from_raw(source.id),
            vk::Buffer::from_raw(target.id),
        );
        if wide {
            let regions: Vec<_> = regions
                .iter()
                .map(|(from, to, size)| {
                    vk::BufferCopy2::default()
                        .src_offset(*from)
                        .dst_offset(*to)
                        .size(*size)
                })
                .collect();
            let info = vk::CopyBufferInfo2::default()
                .src_buffer(src_buffer)
                .dst_buffer(dst_buffer)
                .regions(&regions);
            run!(
                self.host,
                VkCmdCopyBuffer2 {
                    command_buffer: command_buffer,
                    p_copy_buffer_info: (&raw const info).cast(),
                }
            );
            return;
        }
        let regions: Vec<_> = regions
            .iter()
            .map(|(src_offset, dst_offset, size)| vk::BufferCopy {
                src_offset: *src_offset,
                dst_offset: *dst_offset,
                size: *size,
            })
            .collect();
        run!(
            self.host,
            VkCmdCopyBuffer {
                command_buffer: command_buffer,
                src_buffer: src_buffer,
                dst_buffer: dst_buffer,
                region_count: regions.len() as u32,
                p_regions: regions.as_ptr(),
            }
        );
    }

    /// Copies texels between a buffer and an image.
    pub(super) fn copy_texels(
        &mut self,
        command_buffer: vk::CommandBuffer,
        (buffer, way, image): (Buffer, Way, Image),
        region: vk::BufferImageCopy,
        wide: bool,
    ) {
        let (buffer, image) = (vk::Buffer::from_raw(buffer.id), image.handle());
        let regions = [region];
        let regions2 = [vk::BufferImageCopy2::default()
            .buffer_offset(region.buffer_offset)
            .buffer_row_length(region.buffer_row_length)
            .buffer_image_height(region.buffer_image_height)
            .image_subresource(region.image_subresource)
            .image_offset(region.image_offset)
            .image_extent(region.image_extent)];
        match (way, wide) {
            (Way::ToImage, false) => {
                run!(
                    self.host,
                    VkCmdCopyBufferToImage {
                        command_buffer: command_buffer,
                        src_buffer: buffer,
                        dst_image: image,
                        dst_image_layout: GENERAL,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                    }
                );
            }
            (Way::ToBuffer, false) => {
                run!(
                    self.host,
                    VkCmdCopyImageToBuffer {
                        command_buffer: command_buffer,
                        src_image: image,
                        src_image_layout: GENERAL,
                        dst_buffer: buffer,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                    }
                );
            }
            (Way::ToImage, true) => {
                let info = vk::CopyBufferToImageInfo2::default()
                    .src_buffer(buffer)
                    .dst_image(image)
                    .dst_image_layout(GENERAL)
                    .regions(&regions2);
                run!(
                    self.host,
                    VkCmdCopyBufferToImage2 {
                        command_buffer: command_buffer,
                        p_copy_buffer_to_image_info: (&raw const info).cast(),
                    }
                );
            }
            (Way::ToBuffer, true) => {
                let info = vk::CopyImageToBufferInfo2::default()
                    .src_image(image)
                    .src_image_layout(GENERAL)
                    .dst_buffer(buffer)
                    .regions(&regions2);
                run!(
                    self.host,
                    VkCmdCopyImageToBuffer2 {
                        command_buffer: command_buffer,
                        p_copy_image_to_buffer_info: (&raw const info).cast(),
                    }
                );
            }
        }
    }

    pub(super) fn clear_color(
        &mut self,
        command_buffer: vk::CommandBuffer,
        image: Image,
        value: vk::ClearColorValue,
        range: vk::ImageSubresourceRange,
    ) {
        run!(
            self.host,
            VkCmdClearColorImage {
                command_buffer: command_buffer,
                image: image.handle(),
                image_layout: GENERAL,
                p_color: &value,
                range_count: 1,
                p_ranges: &range,
            }
        );
    }

    pub(super) fn clear_depth(
        &mut self,
        command_buffer: vk::CommandBuffer,
        image: Image,
        value: vk::ClearDepthStencilValue,
        range: vk::ImageSubresourceRange,
    ) {
        run!(
            self.host,
            VkCmdClearDepthStencilImage {
                command_buffer: command_buffer,
                image: image.handle(),
                image_layout: GENERAL,
                p_depth_stencil: &value,
                range_count: 1,
                p_ranges: &range,
            }
        );
    }

    /// Copies a subresource of an image by the first form.
    pub(super) fn copy_subresource(
        &mut self,
        command_buffer: vk::CommandBuffer,
        (source, from): (Image, vk::ImageSubresourceLayers),
        (target, to): (Image, vk::ImageSubresourceLayers),
        extent: vk::Extent3D,
    ) {
        let zero = vk::Offset3D::default();
        let regions = [vk::ImageCopy {
            src_subresource: from,
            src_offset: zero,
            dst_subresource: to,
            dst_offset: zero,
            extent,
        }];
        run!(
            self.host,
            VkCmdCopyImage {
                command_buffer: command_buffer,
                src_image: source.handle(),
                src_image_layout: GENERAL,
                dst_image: target.handle(),
                dst_image_layout: GENERAL,
                region_count: 1,
                p_regions: regions.as_ptr(),
            }
        );
    }

    pub(super) fn bind_pipeline(
        &mut self,
        command_buffer: vk::CommandBuffer,
        pipeline_bind_point: vk::PipelineBindPoint,
        pipeline: u64,
    ) {
        run!(
            self.host,
            VkCmdBindPipeline {
                command_buffer: command_buffer,
                pipeline_bind_point: pipeline_bind_point,
                pipeline: vk::Pipeline::from_raw(pipeline),
            }
        );
    }
}
