//! Images of a program. Every image stays in GENERAL layout.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::{DEVICE_LOCAL, run};
use super::super::texels::Texels;
use super::commands::Way;
use super::{Buffer, CHUNK, NONE, World};

pub const WIDTH: u32 = 64;
pub const HEIGHT: u32 = 48;
pub const COLOR: vk::Format = vk::Format::R8G8B8A8_UNORM;
pub const DEPTH: vk::Format = vk::Format::D32_SFLOAT;
pub const STENCIL: vk::Format = vk::Format::D32_SFLOAT_S8_UINT;
pub const TWO_PLANES: vk::Format = vk::Format::G8_B8R8_2PLANE_420_UNORM;
pub const GENERAL: vk::ImageLayout = vk::ImageLayout::GENERAL;

/// An image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    pub id: u64,
    pub texels: Texels,
}

impl Image {
    pub fn handle(self) -> vk::Image {
        vk::Image::from_raw(self.id)
    }
}

/// What there is to render to, store to and copy, by what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    /// Two of 3 levels and layers.
    pub colors: [Image; 2],
    pub depth: Image,
    /// Of 4 samples.
    pub samples: Image,
    pub counters: Image,
    /// Depth with stencil, where the device has it: of one sample and of 4.
    pub stencils: Option<[Image; 2]>,
}

/// How a view looks at an image.
pub struct Look {
    pub mip: u32,
    pub layer: u32,
    pub layers: u32,
}

impl World<'_> {
    /// Makes an image with memory that buffers and other images may share; None if the programs' memory is not for
    /// images. Where what lies there is the device's own affair, each has memory of its own, by the same dice: in
    /// Vulkan's words, what an image holds is undefined once its memory is written as something else's, so that any
    /// texel may change at any time, and copies between images that lie on each other are invalid.
    fn image(&mut self, texels: Texels, usage: vk::ImageUsageFlags) -> Option<Image> {
        let disjoint = texels.format == TWO_PLANES && self.host.has().disjoint && self.one_in(2);
        let id = self.id(vk::ObjectType::IMAGE);
        let info = vk::ImageCreateInfo::default()
            .flags(match disjoint {
                true => vk::ImageCreateFlags::DISJOINT,
                false => vk::ImageCreateFlags::empty(),
            })
            .image_type(match texels.depth {
                1 => vk::ImageType::TYPE_2D,
                _ => vk::ImageType::TYPE_3D,
            })
            .format(texels.format)
            .extent(texels.extent(0))
            .mip_levels(texels.mips)
            .array_layers(texels.layers)
            .samples(texels.samples)
            .usage(usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST);
        let mut image = vk::Image::from_raw(id);
        run!(
            self.host,
            VkCreateImage {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_image: &mut image,
                ret: vk::Result::SUCCESS,
            }
        );
        let planes: Vec<_> = match disjoint {
            true => texels
                .planes()
                .iter()
                .map(|plane| Some(plane.aspect))
                .collect(),
            false => vec![None],
        };
        let mut binds = Vec::new();
        for plane in planes {
            binds.push((plane, self.image_memory(id, plane)?));
        }
        self.bind_image(id, &binds);
        self.host.follow_image(id, texels);
        let image = Image { id, texels };
        self.images.push(image);
        Some(image)
    }

    /// Memory and offset for an image or its plane.
    fn image_memory(&mut self, id: u64, plane: Option<vk::ImageAspectFlags>) -> Option<(u64, u64)> {
        let mut of_plane =
            vk::ImagePlaneMemoryRequirementsInfo::default().plane_aspect(plane.unwrap_or_default());
        let mut request =
            vk::ImageMemoryRequirementsInfo2::default().image(vk::Image::from_raw(id));
        if plane.is_some() {
            request = request.push_next(&mut of_plane);
        }
        let mut out = vk::MemoryRequirements2::default();
        run!(
            self.host,
            VkGetImageMemoryRequirements2 {
                device: Self::device(),
                p_info: (&raw const request).cast(),
                p_memory_requirements: (&raw mut out).cast(),
            }
        );
        let needs = self.host.image_requirements(id, plane)?;
        // Now and then on top of the image before.
        let known = self.image_memory.filter(|(_, size)| *size >= needs.size);
        let mut known = known.filter(|_| self.one_in(4));
        let apart = self.host.is_opaque();
        if let (true, Some((memory, size))) = (apart, &mut known) {
            *memory = self.memory(*size, DEVICE_LOCAL);
        }
        let (memory, size) = known.unwrap_or_else(|| {
            let size = needs.size.next_multiple_of(CHUNK) + 2 * CHUNK;
            (self.memory(size, DEVICE_LOCAL), size)
        });
        self.image_memory = Some((memory, size));
        let unit = needs.alignment.max(256).max(self.host.granularity());
        let offset = self.random.multiple(unit, size - needs.size + 1);
        self.host.image_lies(memory, offset, needs.size);
        if self.one_in(2) {
            let bytes = 4096 + self.random.multiple(4, size - CHUNK);
            let memory = match apart {
                true => self.memory(size, DEVICE_LOCAL),
                false => memory,
            };
            let buffer = self.buffer(memory, size, bytes, false);
            self.buffers.push(buffer);
        }
        Some((memory, offset))
    }

    fn bind_image(&mut self, id: u64, binds: &[(Option<vk::ImageAspectFlags>, (u64, u64))]) {
        let mut of_planes: Vec<_> = binds
            .iter()
            .map(|(plane, _)| {
                vk::BindImagePlaneMemoryInfo::default().plane_aspect(plane.unwrap_or_default())
            })
            .collect();
        let infos: Vec<_> = binds
            .iter()
            .zip(&mut of_planes)
            .map(|((plane, (memory, offset)), of_plane)| {
                let info = vk::BindImageMemoryInfo::default()
                    .image(vk::Image::from_raw(id))
                    .memory(vk::DeviceMemory::from_raw(*memory))
                    .memory_offset(*offset);
                match plane {
                    Some(_) => info.push_next(of_plane),
                    None => info,
                }
            })
            .collect();
        run!(
            self.host,
            VkBindImageMemory2 {
                device: Self::device(),
                bind_info_count: infos.len() as u32,
                p_bind_infos: infos.as_ptr().cast(),
                ret: vk::Result::SUCCESS,
            }
        );
    }

    pub(super) fn make_images(&mut self) {
        match self.all_images() {
            Some(set) => {
                self.make_rendering(set);
                self.make_storage(set);
                self.image_set = Some(set);
            }
            None => self.images.clear(),
        }
    }

    fn all_images(&mut self) -> Option<Images> {
        let has = self.host.has();
        let color = Texels {
            format: COLOR,
            width: WIDTH,
            height: HEIGHT,
            depth: 1,
            mips: 3,
            layers: 3,
            samples: vk::SampleCountFlags::TYPE_1,
        };
        let flat = Texels { mips: 1, ..color };
        let many = Texels {
            layers: 1,
            samples: vk::SampleCountFlags::TYPE_4,
            ..flat
        };
        let depth = Texels {
            format: DEPTH,
            layers: 2,
            ..flat
        };
        let attachment = vk::ImageUsageFlags::COLOR_ATTACHMENT;
        let input = attachment | vk::ImageUsageFlags::INPUT_ATTACHMENT;
        let depth_attachment = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let storage = vk::ImageUsageFlags::STORAGE;
        let none = vk::ImageUsageFlags::empty();
        let set = Images {
            colors: [
                self.image(color, input | storage)?,
                self.image(color, input | storage)?,
            ],
            depth: self.image(depth, depth_attachment)?,
            samples: self.image(many, attachment)?,
            counters: self.image(
                Texels {
                    format: vk::Format::R32_UINT,
                    ..flat
                },
                storage,
            )?,
            stencils: match has.stencil {
                true => Some([
                    self.image(
                        Texels {
                            format: STENCIL,
                            ..depth
                        },
                        depth_attachment,
                    )?,
                    self.image(
                        Texels {
                            format: STENCIL,
                            ..many
                        },
                        depth_attachment,
                    )?,
                ]),
                false => None,
            },
        };
        let deep = Texels {
            width: 16,
            height: 16,
            depth: 8,
            mips: 2,
            layers: 1,
            ..color
        };
        self.image(deep, storage)?;
        if has.blocks {
            let format = vk::Format::BC1_RGB_UNORM_BLOCK;
            self.image(Texels { format, ..color }, none)?;
        }
        if has.planes {
            let format = TWO_PLANES;
            let layers = 1;
            self.image(
                Texels {
                    format,
                    layers,
                    ..flat
                },
                none,
            )?;
        }
        Some(set)
    }

    /// All images go to GENERAL, and get content; to be submitted before anything else.
    pub(super) fn prepare_images(&mut self) -> Result<(), String> {
        if self.images.is_empty() {
            return Ok(());
        }
        let primary = self.begin(self.primaries[0]);
        let barriers: Vec<_> = self
            .images
            .iter()
            .map(|image| {
                vk::ImageMemoryBarrier::default()
                    .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
                    .new_layout(GENERAL)
                    .image(image.handle())
                    .subresource_range(vk::ImageSubresourceRange {
                        aspect_mask: image.texels.aspects(),
                        base_mip_level: 0,
                        level_count: vk::REMAINING_MIP_LEVELS,
                        base_array_layer: 0,
                        layer_count: vk::REMAINING_ARRAY_LAYERS,
                    })
            })
            .collect();
        run!(
            self.host,
            VkCmdPipelineBarrier {
                command_buffer: primary,
                src_stage_mask: vk::PipelineStageFlags::ALL_COMMANDS,
                dst_stage_mask: vk::PipelineStageFlags::ALL_COMMANDS,
                dependency_flags: vk::DependencyFlags::empty(),
                memory_barrier_count: 0,
                p_memory_barriers: std::ptr::null(),
                buffer_memory_barrier_count: 0,
                p_buffer_memory_barriers: std::ptr::null(),
                image_memory_barrier_count: barriers.len() as u32,
                p_image_memory_barriers: barriers.as_ptr().cast(),
            }
        );
        self.barrier(primary);
        for image in self.images.clone() {
            self.zero(primary, image);
            self.barrier(primary);
        }
        self.end(primary);
        self.submit(&[&[primary]]);
        self.host.check("images to GENERAL".into())
    }

    /// Makes all bytes of an image zeros, whatever memory held before.
    fn zero(&mut self, command_buffer: vk::CommandBuffer, image: Image) {
        let texels = image.texels;
        let all = vk::ImageSubresourceRange {
            aspect_mask: texels.aspects(),
            base_mip_level: 0,
            level_count: vk::REMAINING_MIP_LEVELS,
            base_array_layer: 0,
            layer_count: vk::REMAINING_ARRAY_LAYERS,
        };
        if texels.is_depth() {
            let zero = vk::ClearDepthStencilValue::default();
            self.clear_depth(command_buffer, image, zero, all);
            return;
        }
        if !texels.is_packed() {
            let zero = vk::ClearColorValue::default();
            self.clear_color(command_buffer, image, zero, all);
            return;
        }
        let zeros = self.zeros();
        for mip in 0..texels.mips {
            for plane in texels.planes() {
                let region = vk::BufferImageCopy {
                    image_subresource: vk::ImageSubresourceLayers {
                        aspect_mask: plane.aspect,
                        mip_level: mip,
                        base_array_layer: 0,
                        layer_count: texels.layers,
                    },
                    image_extent: texels.plane_extent(*plane, mip),
                    ..Default::default()
                };
                let way = (zeros, Way::ToImage, image);
                self.copy_texels(command_buffer, way, region, false);
            }
        }
    }

    /// A buffer of nothing but zeros, which no program writes.
    fn zeros(&mut self) -> Buffer {
        if self.zeros == NONE {
            let memory = self.memory(CHUNK, DEVICE_LOCAL);
            // The dice for its place have one side only: the next ones fall as without it.
            let random = self.random.clone();
            self.zeros = self.buffer(memory, CHUNK, CHUNK, false);
            self.random = random;
        }
        self.zeros
    }

    pub(super) fn view(&mut self, image: Image, look: Look) -> u64 {
        let id = self.id(vk::ObjectType::IMAGE_VIEW);
        let info = vk::ImageViewCreateInfo::default()
            .image(image.handle())
            .view_type(match look.layers {
                1 => vk::ImageViewType::TYPE_2D,
                _ => vk::ImageViewType::TYPE_2D_ARRAY,
            })
            .format(image.texels.format)
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: image.texels.aspects(),
                base_mip_level: look.mip,
                level_count: 1,
                base_array_layer: look.layer,
                layer_count: look.layers,
            });
        let mut view = vk::ImageView::from_raw(id);
        run!(
            self.host,
            VkCreateImageView {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_view: &mut view,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    /// A view of one layer of a level.
    pub(super) fn flat_view(&mut self, image: Image, mip: u32, layer: u32) -> u64 {
        let layers = 1;
        self.view(image, Look { mip, layer, layers })
    }

    pub(super) fn write_image_descriptor(
        &mut self,
        set: u64,
        binding: u32,
        descriptor_type: vk::DescriptorType,
        view: u64,
    ) {
        let infos = [vk::DescriptorImageInfo::default()
            .image_view(vk::ImageView::from_raw(view))
            .image_layout(GENERAL)];
        self.update(
            vk::WriteDescriptorSet::default()
                .dst_set(vk::DescriptorSet::from_raw(set))
                .dst_binding(binding)
                .descriptor_type(descriptor_type)
                .image_info(&infos),
        );
    }

    /// Points the set of storage images at random levels and layers.
    fn make_storage(&mut self, set: Images) {
        for (binding, image) in [(0, set.colors[1]), (1, set.colors[0]), (3, set.counters)] {
            let mip = self.random.below(u64::from(image.texels.mips)) as u32;
            let layer = self.random.below(3) as u32;
            let view = self.flat_view(image, mip, layer);
            let storage = self.storage_set;
            self.write_image_descriptor(storage, binding, vk::DescriptorType::STORAGE_IMAGE, view);
        }
    }
}
