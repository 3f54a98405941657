//! What a program records with images but rendering: transfers, clears, stores.

use ash::vk;
use hesper_venus::{Args, Command, args};

use super::super::host::run;
use super::super::texels::Texels;
use super::commands::Way;
use super::images::{GENERAL, Image, Images};
use super::{Kind, World};

impl World<'_> {
    /// A subresource of an image with some of its aspects.
    fn subresource(&mut self, image: Image) -> vk::ImageSubresourceLayers {
        let all = image.texels.aspects();
        let aspects = [
            all,
            all & vk::ImageAspectFlags::DEPTH,
            all & vk::ImageAspectFlags::STENCIL,
        ];
        let aspect = self.random.pick(&aspects);
        vk::ImageSubresourceLayers {
            aspect_mask: if aspect.is_empty() { all } else { aspect },
            mip_level: self.random.below(u64::from(image.texels.mips)) as u32,
            base_array_layer: self.random.below(u64::from(image.texels.layers)) as u32,
            layer_count: 1,
        }
    }

    /// Records one random thing with images; nothing where there are none.
    pub(super) fn record_images(&mut self, command_buffer: vk::CommandBuffer, secondary: bool) {
        let Some(set) = self.image_set else {
            return;
        };
        match self.random.below(12) {
            0 => self.clear_image(command_buffer),
            1 | 2 => self.copy_image(command_buffer, set),
            3 => self.copy_layers(command_buffer),
            4 | 5 => self.copy_with_buffer(command_buffer),
            6 => self.resolve_image(command_buffer, set),
            7 => self.store_image(command_buffer),
            _ if secondary => self.clear_image(command_buffer),
            _ => self.render(command_buffer),
        }
    }

    fn clear_image(&mut self, command_buffer: vk::CommandBuffer) {
        let image = self.random.pick(&self.images.clone());
        let at = self.subresource(image);
        if image.texels.is_packed() {
            return;
        }
        let range = vk::ImageSubresourceRange {
            aspect_mask: at.aspect_mask,
            base_mip_level: at.mip_level,
            level_count: self.random.pick(&[1, vk::REMAINING_MIP_LEVELS]),
            base_array_layer: at.base_array_layer,
            layer_count: self.random.pick(&[1, vk::REMAINING_ARRAY_LAYERS]),
        };
        self.note(format!("clear image {} {range:?}", image.id));
        if image.texels.is_depth() {
            let value = vk::ClearDepthStencilValue {
                depth: self.random.below(1000) as f32 / 1000.0,
                stencil: self.random.below(256) as u32,
            };
            self.clear_depth(command_buffer, image, value, range);
            return;
        }
        let value = match image.texels.format {
            vk::Format::R32_UINT => vk::ClearColorValue {
                uint32: [self.random.next() as u32; 4],
            },
            _ => vk::ClearColorValue {
                float32: [self.random.below(256) as f32 / 255.0; 4],
            },
        };
        self.clear_color(command_buffer, image, value, range);
    }

    /// A copy or blit between the first two images, in either form.
    fn copy_image(&mut self, command_buffer: vk::CommandBuffer, set: Images) {
        let [mut source, mut target] = set.colors;
        if self.one_in(2) {
            std::mem::swap(&mut source, &mut target);
        }
        let (from, to) = (self.subresource(source), self.subresource(target));
        let far = |texels: Texels, mip| {
            let extent = texels.extent(mip);
            vk::Offset3D {
                x: extent.width as i32,
                y: extent.height as i32,
                z: 1,
            }
        };
        let zero = vk::Offset3D::default();
        let way = self.random.below(4);
        self.note(format!(
            "way {way} from {} {from:?} to {} {to:?}",
            source.id, target.id
        ));
        let extent = source.texels.extent(from.mip_level.max(to.mip_level));
        let (src_offsets, dst_offsets) = (
            [zero, far(source.texels, from.mip_level)],
            [zero, far(target.texels, to.mip_level)],
        );
        match way {
            0 => self.copy_subresource(command_buffer, (source, from), (target, to), extent),
            1 => {
                let regions = [vk::ImageCopy2::default()
                    .src_subresource(from)
                    .dst_subresource(to)
                    .extent(extent)];
                let info = vk::CopyImageInfo2::default()
                    .src_image(source.handle())
                    .src_image_layout(GENERAL)
                    .dst_image(target.handle())
                    .dst_image_layout(GENERAL)
                    .regions(&regions);
                run!(
                    self.host,
                    VkCmdCopyImage2 {
                        command_buffer: command_buffer,
                        p_copy_image_info: (&raw const info).cast(),
                    }
                );
            }
            2 => {
                let regions = [vk::ImageBlit {
                    src_subresource: from,
                    src_offsets,
                    dst_subresource: to,
                    dst_offsets,
                }];
                run!(
                    self.host,
                    VkCmdBlitImage {
                        command_buffer: command_buffer,
                        src_image: source.handle(),
                        src_image_layout: GENERAL,
                        dst_image: target.handle(),
                        dst_image_layout: GENERAL,
                        region_count: 1,
                        p_regions: regions.as_ptr(),
                        filter: vk::Filter::LINEAR,
                    }
                );
            }
            _ => {
                let regions = [vk::ImageBlit2::default()
                    .src_subresource(from)
                    .src_offsets(src_offsets)
                    .dst_subresource(to)
                    .dst_offsets(dst_offsets)];
                let info = vk::BlitImageInfo2::default()
                    .src_image(source.handle())
                    .src_image_layout(GENERAL)
                    .dst_image(target.handle())
                    .dst_image_layout(GENERAL)
                    .regions(&regions)
                    .filter(vk::Filter::NEAREST);
                run!(
                    self.host,
                    VkCmdBlitImage2 {
                        command_buffer: command_buffer,
                        p_blit_image_info: (&raw const info).cast(),
                    }
                );
            }
        }
    }

    /// A copy between the layers of one image of two or more: depth, stencil, blocks and what else there is.
    fn copy_layers(&mut self, command_buffer: vk::CommandBuffer) {
        let image = self.random.pick(&self.images.clone());
        if image.texels.layers < 2 {
            return;
        }
        let from = self.subresource(image);
        let to = vk::ImageSubresourceLayers {
            base_array_layer: (from.base_array_layer + 1) % image.texels.layers,
            ..from
        };
        self.note(format!("layers of {} {from:?} to {to:?}", image.id));
        let extent = image.texels.extent(from.mip_level);
        self.copy_subresource(command_buffer, (image, from), (image, to), extent);
    }

    /// A copy between a buffer and an aspect of an image of one sample, in either direction and form.
    fn copy_with_buffer(&mut self, command_buffer: vk::CommandBuffer) {
        let image = self.random.pick(&self.images.clone());
        let buffer = self.random.pick(&self.buffers.clone());
        if image.texels.samples != vk::SampleCountFlags::TYPE_1 {
            return;
        }
        let plane = self.random.pick(image.texels.planes());
        let at = vk::ImageSubresourceLayers {
            aspect_mask: plane.aspect,
            ..self.subresource(image)
        };
        let full = image.texels.plane_extent(plane, at.mip_level);
        let mut extent = full;
        extent.height = match plane.block {
            1 => 1 + self.random.below(u64::from(full.height)) as u32,
            _ => full.height,
        };
        let blocks = |texels: u32| texels.div_ceil(plane.block) * plane.block;
        let row = blocks(full.width) + self.random.below(9) as u32 * plane.block;
        let height = blocks(full.height);
        let block = u64::from(plane.block * plane.block);
        let needed = u64::from(row * height * extent.depth) / block * u64::from(plane.bytes);
        if buffer.size <= needed {
            return;
        }
        let unit = u64::from(plane.bytes.max(4));
        let offset = self.random.multiple(unit, buffer.size - needed);
        let way = self.random.below(4);
        self.note(format!(
            "buffer {} +{offset:#x} way {way} image {} {at:?} {extent:?}",
            buffer.id, image.id
        ));
        let region = vk::BufferImageCopy {
            buffer_offset: offset,
            buffer_row_length: row,
            buffer_image_height: height,
            image_subresource: at,
            image_offset: vk::Offset3D::default(),
            image_extent: extent,
        };
        let direction = match way % 2 {
            0 => Way::ToImage,
            _ => Way::ToBuffer,
        };
        self.copy_texels(command_buffer, (buffer, direction, image), region, way >= 2);
    }

    /// The image of several samples into the second image.
    fn resolve_image(&mut self, command_buffer: vk::CommandBuffer, set: Images) {
        let (source, target) = (set.samples, set.colors[1]);
        let from = self.subresource(source);
        let mut to = self.subresource(target);
        to.mip_level = 0;
        let extent = source.texels.extent(0);
        let wide = self.one_in(2);
        self.note(format!("resolve to {} {to:?}", target.id));
        if wide {
            let regions = [vk::ImageResolve2::default()
                .src_subresource(from)
                .dst_subresource(to)
                .extent(extent)];
            let info = vk::ResolveImageInfo2::default()
                .src_image(source.handle())
                .src_image_layout(GENERAL)
                .dst_image(target.handle())
                .dst_image_layout(GENERAL)
                .regions(&regions);
            run!(
                self.host,
                VkCmdResolveImage2 {
                    command_buffer: command_buffer,
                    p_resolve_image_info: (&raw const info).cast(),
                }
            );
        } else {
            let regions = [vk::ImageResolve {
                src_subresource: from,
                dst_subresource: to,
                extent,
                ..Default::default()
            }];
            run!(
                self.host,
                VkCmdResolveImage {
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
    }

    /// Stores and atomics through storage images.
    fn store_image(&mut self, command_buffer: vk::CommandBuffer) {
        let pipeline = self
            .pipelines
            .iter()
            .find(|p| p.kind == Kind::Storage)
            .copied();
        let Some(pipeline) = pipeline else {
            return;
        };
        self.note("store to images".into());
        let compute = vk::PipelineBindPoint::COMPUTE;
        self.bind_pipeline(command_buffer, compute, pipeline.id);
        let set = self.storage_set;
        self.bind_sets(command_buffer, Kind::Storage, 0, &[set], &[]);
        run!(
            self.host,
            VkCmdDispatch {
                command_buffer: command_buffer,
                group_count_x: 8,
                group_count_y: 6,
                group_count_z: 1,
            }
        );
    }
}
