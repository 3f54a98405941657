//! What a program draws.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::run;
use super::images::{COLOR, GENERAL, STENCIL};
use super::passes::{Begin, Pass, Target};
use super::{Kind, World};

const GRAPHICS: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;
/// Where in the indirect buffer: arguments of a draw, of an indexed one, the count, the indices.
const DRAW: u64 = 32;
const INDEXED: u64 = 64;
const COUNT: u64 = 96;
const INDICES: u64 = 112;

impl World<'_> {
    /// One of the passes, begun, drawn and ended; its inside in a secondary command buffer now and then.
    pub(super) fn render(&mut self, command_buffer: vk::CommandBuffer) {
        let at = self.random.below(self.passes.len() as u64) as usize;
        let pass = self.passes[at].clone();
        self.note(format!("{}:", pass.name));
        let indirect = self.indirect;
        self.put(
            command_buffer,
            indirect,
            DRAW,
            &[
                3, 1, 0, 0, 0, 0, 0, 0, // A draw.
                3, 1, 0, 0, 0, 0, 0, 0, // An indexed one.
                1, 0, 0, 0, // The count.
                0, 1, 2, // Indices.
            ],
        );
        self.barrier(command_buffer);
        let inside = match pass.pipelines.len() {
            1 if self.one_in(4) => self.inner.pop(),
            _ => None,
        };
        if let Some(id) = inside {
            self.note("in a secondary".into());
            let secondary = self.begin_inside(id, &pass);
            self.draw_subpass(secondary, &pass, 0);
            self.end(secondary);
        }
        let contents = match inside {
            Some(_) => vk::SubpassContents::SECONDARY_COMMAND_BUFFERS,
            None => vk::SubpassContents::INLINE,
        };
        self.begin_pass(command_buffer, &pass, contents);
        match inside {
            Some(id) => self.execute(command_buffer, id),
            None => {
                self.draw_subpass(command_buffer, &pass, 0);
                for subpass in 1..pass.pipelines.len() {
                    self.next_subpass(command_buffer, &pass);
                    self.draw_subpass(command_buffer, &pass, subpass);
                }
            }
        }
        match &pass.begin {
            Begin::Pass { wide: true, .. } => {
                let info = vk::SubpassEndInfo::default();
                run!(
                    self.host,
                    VkCmdEndRenderPass2 {
                        command_buffer: command_buffer,
                        p_subpass_end_info: (&raw const info).cast(),
                    }
                );
            }
            Begin::Pass { .. } => {
                run!(
                    self.host,
                    VkCmdEndRenderPass {
                        command_buffer: command_buffer
                    }
                );
            }
            Begin::Dynamic { .. } => {
                run!(
                    self.host,
                    VkCmdEndRendering {
                        command_buffer: command_buffer
                    }
                );
            }
        }
    }

    /// Begins a secondary command buffer that goes on inside of the pass.
    fn begin_inside(&mut self, id: u64, pass: &Pass) -> vk::CommandBuffer {
        let command_buffer = vk::CommandBuffer::from_raw(id);
        let formats = [COLOR];
        let mut dynamic = vk::CommandBufferInheritanceRenderingInfo::default()
            .color_attachment_formats(&formats)
            .rasterization_samples(pass.samples);
        let mut inheritance = vk::CommandBufferInheritanceInfo::default();
        match &pass.begin {
            Begin::Pass {
                pass, framebuffer, ..
            } => {
                inheritance = inheritance
                    .render_pass(vk::RenderPass::from_raw(*pass))
                    .framebuffer(vk::Framebuffer::from_raw(*framebuffer));
            }
            Begin::Dynamic { view_mask, .. } => {
                dynamic = dynamic.view_mask(*view_mask);
                if let Some(format) = pass.depth {
                    dynamic = dynamic
                        .depth_attachment_format(format)
                        .stencil_attachment_format(format);
                }
                inheritance = inheritance.push_next(&mut dynamic);
            }
        }
        let info = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
            .inheritance_info(&inheritance);
        run!(
            self.host,
            VkBeginCommandBuffer {
                command_buffer: command_buffer,
                p_begin_info: (&raw const info).cast(),
                ret: vk::Result::SUCCESS,
            }
        );
        command_buffer
    }

    fn begin_pass(
        &mut self,
        command_buffer: vk::CommandBuffer,
        pass: &Pass,
        contents: vk::SubpassContents,
    ) {
        let area = vk::Rect2D::default().extent(pass.extent);
        match &pass.begin {
            Begin::Pass {
                wide,
                pass,
                framebuffer,
                views,
            } => {
                let views: Vec<_> = views
                    .iter()
                    .map(|view| vk::ImageView::from_raw(*view))
                    .collect();
                let mut attachments =
                    vk::RenderPassAttachmentBeginInfo::default().attachments(&views);
                let clears = [vk::ClearValue::default(); 3];
                let mut begin = vk::RenderPassBeginInfo::default()
                    .render_pass(vk::RenderPass::from_raw(*pass))
                    .framebuffer(vk::Framebuffer::from_raw(*framebuffer))
                    .render_area(area)
                    .clear_values(&clears);
                if !views.is_empty() {
                    begin = begin.push_next(&mut attachments);
                }
                if *wide {
                    let subpass = vk::SubpassBeginInfo::default().contents(contents);
                    run!(
                        self.host,
                        VkCmdBeginRenderPass2 {
                            command_buffer: command_buffer,
                            p_render_pass_begin: (&raw const begin).cast(),
                            p_subpass_begin_info: (&raw const subpass).cast(),
                        }
                    );
                } else {
                    run!(
                        self.host,
                        VkCmdBeginRenderPass {
                            command_buffer: command_buffer,
                            p_render_pass_begin: (&raw const begin).cast(),
                            contents: contents,
                        }
                    );
                }
            }
            Begin::Dynamic {
                color,
                depth,
                view_mask,
            } => {
                let inside = contents == vk::SubpassContents::SECONDARY_COMMAND_BUFFERS;
                let attach = |(view, resolve): Target, mode| {
                    let info = vk::RenderingAttachmentInfo::default()
                        .image_view(vk::ImageView::from_raw(view))
                        .image_layout(GENERAL)
                        .load_op(vk::AttachmentLoadOp::LOAD)
                        .store_op(vk::AttachmentStoreOp::STORE);
                    match resolve {
                        0 => info,
                        _ => info
                            .resolve_mode(mode)
                            .resolve_image_view(vk::ImageView::from_raw(resolve))
                            .resolve_image_layout(GENERAL),
                    }
                };
                let colors = [attach(*color, vk::ResolveModeFlags::AVERAGE)];
                let depth = depth.map(|depth| attach(depth, vk::ResolveModeFlags::SAMPLE_ZERO));
                let mut info = vk::RenderingInfo::default()
                    .flags(match inside {
                        true => vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS,
                        false => vk::RenderingFlags::empty(),
                    })
                    .render_area(area)
                    .layer_count(u32::from(*view_mask == 0))
                    .view_mask(*view_mask)
                    .color_attachments(&colors);
                if let Some(depth) = &depth {
                    info = info.depth_attachment(depth).stencil_attachment(depth);
                }
                run!(
                    self.host,
                    VkCmdBeginRendering {
                        command_buffer: command_buffer,
                        p_rendering_info: (&raw const info).cast(),
                    }
                );
            }
        }
    }

    fn next_subpass(&mut self, command_buffer: vk::CommandBuffer, pass: &Pass) {
        let contents = vk::SubpassContents::INLINE;
        if matches!(pass.begin, Begin::Pass { wide: true, .. }) {
            let begin = vk::SubpassBeginInfo::default().contents(contents);
            let end = vk::SubpassEndInfo::default();
            run!(
                self.host,
                VkCmdNextSubpass2 {
                    command_buffer: command_buffer,
                    p_subpass_begin_info: (&raw const begin).cast(),
                    p_subpass_end_info: (&raw const end).cast(),
                }
            );
        } else {
            run!(
                self.host,
                VkCmdNextSubpass {
                    command_buffer: command_buffer,
                    contents: contents,
                }
            );
        }
    }

    fn draw_subpass(&mut self, command_buffer: vk::CommandBuffer, pass: &Pass, subpass: usize) {
        let kind = match subpass {
            0 => Kind::Plain,
            _ => Kind::Input,
        };
        let set = self.random.pick(&self.plain_sets.clone());
        let push = [
            self.random.pick(&[1, 3, 7]),
            self.random.below(30_000) as u32,
            self.random.next() as u32,
        ];
        self.note(format!("set {set} {push:?}"));
        self.bind_pipeline(command_buffer, GRAPHICS, pass.pipelines[subpass]);
        let layout = vk::PipelineLayout::from_raw(self.layout(kind));
        let sets = [set, self.input_set].map(vk::DescriptorSet::from_raw);
        run!(
            self.host,
            VkCmdBindDescriptorSets {
                command_buffer: command_buffer,
                pipeline_bind_point: GRAPHICS,
                layout: layout,
                first_set: 0,
                descriptor_set_count: 1 + u32::from(kind == Kind::Input),
                p_descriptor_sets: sets.as_ptr(),
                dynamic_offset_count: 0,
                p_dynamic_offsets: std::ptr::null(),
            }
        );
        run!(
            self.host,
            VkCmdPushConstants {
                command_buffer: command_buffer,
                layout: layout,
                stage_flags: World::stages(),
                offset: 0,
                size: 12,
                p_values: push.as_ptr().cast(),
            }
        );
        self.draw(command_buffer);
        if self.one_in(3) {
            self.clear_attachments(command_buffer, pass, subpass);
        }
    }

    fn draw(&mut self, command_buffer: vk::CommandBuffer) {
        let buffer = vk::Buffer::from_raw(self.indirect.id);
        run!(
            self.host,
            VkCmdBindIndexBuffer {
                command_buffer: command_buffer,
                buffer: buffer,
                offset: INDICES,
                index_type: vk::IndexType::UINT32,
            }
        );
        let ways = match self.host.has().indirect_count {
            true => 6,
            false => 4,
        };
        let way = self.random.below(ways);
        self.note(format!("draw way {way}"));
        match way {
            0 => run!(
                self.host,
                VkCmdDraw {
                    command_buffer: command_buffer,
                    vertex_count: 3,
                    instance_count: 1,
                    first_vertex: 0,
                    first_instance: 0,
                }
            ),
            1 => run!(
                self.host,
                VkCmdDrawIndexed {
                    command_buffer: command_buffer,
                    index_count: 3,
                    instance_count: 1,
                    first_index: 0,
                    vertex_offset: 0,
                    first_instance: 0,
                }
            ),
            2 => run!(
                self.host,
                VkCmdDrawIndirect {
                    command_buffer: command_buffer,
                    buffer: buffer,
                    offset: DRAW,
                    draw_count: 1,
                    stride: 32,
                }
            ),
            3 => run!(
                self.host,
                VkCmdDrawIndexedIndirect {
                    command_buffer: command_buffer,
                    buffer: buffer,
                    offset: INDEXED,
                    draw_count: 1,
                    stride: 32,
                }
            ),
            4 => run!(
                self.host,
                VkCmdDrawIndirectCount {
                    command_buffer: command_buffer,
                    buffer: buffer,
                    offset: DRAW,
                    count_buffer: buffer,
                    count_buffer_offset: COUNT,
                    max_draw_count: 1,
                    stride: 32,
                }
            ),
            _ => run!(
                self.host,
                VkCmdDrawIndexedIndirectCount {
                    command_buffer: command_buffer,
                    buffer: buffer,
                    offset: INDEXED,
                    count_buffer: buffer,
                    count_buffer_offset: COUNT,
                    max_draw_count: 1,
                    stride: 32,
                }
            ),
        }
    }

    fn clear_attachments(
        &mut self,
        command_buffer: vk::CommandBuffer,
        pass: &Pass,
        subpass: usize,
    ) {
        let depth = pass.depth.filter(|_| self.one_in(2));
        let attachment = match depth {
            None => vk::ClearAttachment {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                color_attachment: 0,
                clear_value: vk::ClearValue {
                    color: vk::ClearColorValue {
                        float32: [self.random.below(256) as f32 / 255.0; 4],
                    },
                },
            },
            Some(format) => vk::ClearAttachment {
                aspect_mask: match format {
                    STENCIL => vk::ImageAspectFlags::STENCIL,
                    _ => vk::ImageAspectFlags::DEPTH,
                },
                color_attachment: 0,
                clear_value: vk::ClearValue {
                    depth_stencil: vk::ClearDepthStencilValue {
                        depth: self.random.below(1000) as f32 / 1000.0,
                        stencil: self.random.below(256) as u32,
                    },
                },
            },
        };
        self.note(format!(
            "clear {:?} of subpass {subpass}",
            attachment.aspect_mask
        ));
        let rects = [vk::ClearRect {
            rect: vk::Rect2D::default().extent(pass.extent),
            base_array_layer: 0,
            layer_count: 1,
        }];
        run!(
            self.host,
            VkCmdClearAttachments {
                command_buffer: command_buffer,
                attachment_count: 1,
                p_attachments: &attachment,
                rect_count: 1,
                p_rects: rects.as_ptr(),
            }
        );
    }
}
