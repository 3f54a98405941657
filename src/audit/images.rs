//! Images as far as writes go: what exists, where it is bound, which subresources a command reaches.
//!
//! An image is tracked by subresource, since its bytes are opaque. Memory that it shares with buffers or other images is
//! tracked as both: a write to an image marks all memory that it is bound to as well, and a write to that memory by
//! something else marks all of the image.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

use crate::error::AuditError;
use crate::tracker::{OBJECTS_MAX, Tracker, insert, unknown};

/// Most subresources of one image.
pub const SUBRESOURCES_MAX: u64 = 1 << 20;
/// Most ranges of one region of a copy to a buffer.
const REGION_RANGES_MAX: u64 = 1 << 10;
/// Most attachments of a render pass or framebuffer.
pub const ATTACHMENTS_MAX: usize = 1 << 10;

/// Subresources of an image. Counts may be `VK_REMAINING_*`, and all of it may go beyond the image, until it is clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subresources {
    /// `VkImageAspectFlags`.
    pub aspects: u32,
    pub mip: u32,
    pub mips: u32,
    pub layer: u32,
    pub layers: u32,
}

impl Subresources {
    /// All that an image may have.
    pub const ALL: Self = Self {
        aspects: u32::MAX,
        mip: 0,
        mips: u32::MAX,
        layer: 0,
        layers: u32::MAX,
    };
}

impl From<vk::ImageSubresourceRange> for Subresources {
    fn from(range: vk::ImageSubresourceRange) -> Self {
        Self {
            aspects: range.aspect_mask.as_raw(),
            mip: range.base_mip_level,
            mips: range.level_count,
            layer: range.base_array_layer,
            layers: range.layer_count,
        }
    }
}

impl From<vk::ImageSubresourceLayers> for Subresources {
    fn from(layers: vk::ImageSubresourceLayers) -> Self {
        Self {
            aspects: layers.aspect_mask.as_raw(),
            mip: layers.mip_level,
            mips: 1,
            layer: layers.base_array_layer,
            layers: layers.layer_count,
        }
    }
}

/// Subresources of the image with a guest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageRange {
    /// Guest id of the VkImage.
    pub image: u64,
    pub subresources: Subresources,
}

/// What an image was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    pub flags: vk::ImageCreateFlags,
    pub image_type: vk::ImageType,
    pub format: vk::Format,
    pub extent: vk::Extent3D,
    pub mips: u32,
    pub layers: u32,
    pub samples: vk::SampleCountFlags,
    pub tiling: vk::ImageTiling,
    pub usage: vk::ImageUsageFlags,
}

impl ImageFacts {
    /// The part of `range` that the image has. A level of a 3D image is one subresource, whatever a view makes of it.
    pub fn clamp(&self, range: Subresources) -> Subresources {
        let mips = range.mips.min(self.mips.saturating_sub(range.mip));
        let (layer, layers) = match self.image_type {
            vk::ImageType::TYPE_3D => (0, 1),
            _ => (
                range.layer,
                range.layers.min(self.layers.saturating_sub(range.layer)),
            ),
        };
        Subresources {
            mips,
            layer,
            layers,
            ..range
        }
    }
}

/// The dirty map of one image: one bit for each (level, layer), all aspects together. Marked and taken without locks, in
/// the manner of [`crate::dirty::DirtyMap`].
#[derive(Debug)]
pub struct ImageMap {
    mips: u32,
    layers: u32,
    words: Box<[AtomicU64]>,
}

impl ImageMap {
    /// A clean map.
    ///
    /// # Errors
    /// More subresources than [`SUBRESOURCES_MAX`].
    pub fn new(facts: &ImageFacts) -> Result<Self, AuditError> {
        let layers = match facts.image_type {
            vk::ImageType::TYPE_3D => 1,
            _ => facts.layers,
        };
        let count = u64::from(facts.mips) * u64::from(layers);
        if count > SUBRESOURCES_MAX {
            return Err(AuditError::TooMany {
                what: "subresources of an image",
                limit: SUBRESOURCES_MAX,
            });
        }
        Ok(Self {
            mips: facts.mips,
            layers,
            words: (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Marks a range that [`ImageFacts::clamp`] made.
    pub fn mark(&self, range: Subresources) {
        let mips = range.mip..range.mip.saturating_add(range.mips).min(self.mips);
        for mip in mips {
            let layers = range.layer..range.layer.saturating_add(range.layers).min(self.layers);
            for layer in layers {
                let bit = u64::from(mip) * u64::from(self.layers) + u64::from(layer);
                if let Some(word) = self.words.get((bit / 64) as usize) {
                    word.fetch_or(1 << (bit % 64), Ordering::Release);
                }
            }
        }
    }

    /// Takes the marks and clears them: (level, layer) of each dirty subresource.
    pub fn take(&self) -> Vec<(u32, u32)> {
        let mut taken = Vec::new();
        for (index, word) in self.words.iter().enumerate() {
            let mut bits = word.swap(0, Ordering::AcqRel);
            while bits != 0 {
                let bit = index as u64 * 64 + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                let layers = u64::from(self.layers);
                // Both below what fits into a u32, as their bounds are.
                taken.push(((bit / layers) as u32, (bit % layers) as u32));
            }
        }
        taken
    }

    /// Puts back what [`Self::take`] took, when an epoch failed.
    pub fn put_back(&self, taken: &[(u32, u32)]) {
        for (mip, layer) in taken {
            self.mark(Subresources {
                aspects: u32::MAX,
                mip: *mip,
                mips: 1,
                layer: *layer,
                layers: 1,
            });
        }
    }
}

/// Memory that an image is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub memory: u64,
    pub offset: u64,
    pub end: u64,
}

#[derive(Debug)]
pub(crate) struct Image {
    pub facts: ImageFacts,
    /// Bytes that it needs, once known.
    pub size: Option<u64>,
    /// One; of a disjoint image, one for each plane.
    pub bindings: Vec<Binding>,
    pub map: Arc<ImageMap>,
}

/// The images bound to one memory object.
#[derive(Debug, Default)]
pub(crate) struct BoundImages {
    /// (offset, end, image), in order.
    images: Vec<(u64, u64, u64)>,
    /// Length of the longest.
    longest: u64,
}

impl BoundImages {
    fn add(&mut self, image: u64, binding: Binding) {
        let entry = (binding.offset, binding.end, image);
        let at = self.images.partition_point(|other| *other < entry);
        self.images.insert(at, entry);
        self.longest = self.longest.max(binding.end - binding.offset);
    }

    fn remove(&mut self, image: u64) {
        self.images.retain(|(_, _, id)| *id != image);
    }

    /// Adds the images that have bytes in `offset..end` to `found`. Takes a step of `steps` for each image that it looks
    /// at; false when there are not enough.
    pub fn overlapping(
        &self,
        offset: u64,
        end: u64,
        steps: &mut u64,
        found: &mut Vec<u64>,
    ) -> bool {
        let first = offset.saturating_sub(self.longest);
        let start = self.images.partition_point(|(at, _, _)| *at < first);
        for (at, image_end, id) in &self.images[start..] {
            if *at >= end {
                break;
            }
            let Some(left) = steps.checked_sub(1) else {
                return false;
            };
            *steps = left;
            if *image_end > offset {
                found.push(*id);
            }
        }
        true
    }
}

/// Which attachments a render pass writes, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderPassWrites {
    pub attachments: Vec<bool>,
    /// Attachments of which all of the image counts as written: what depth and stencil are resolved to. A driver is known
    /// (lavapipe of Mesa 25.0.7) that resolves them to layer 0 whatever layer the view names.
    pub whole_images: Vec<u32>,
}

/// One region of a copy from an image to a buffer, as far as it says where in the buffer it goes.
#[derive(Clone, Copy, Debug)]
pub struct BufferRegion {
    pub offset: u64,
    /// Texels of a row and rows of a slice; 0: as the extent has.
    pub row_length: u32,
    pub image_height: u32,
    pub aspects: u32,
    pub layers: u32,
    pub extent: vk::Extent3D,
}

impl Tracker {
    /// An image came to be.
    pub fn image_created(&mut self, id: u64, facts: ImageFacts) -> Result<(), AuditError> {
        let image = Image {
            map: Arc::new(ImageMap::new(&facts)?),
            facts,
            size: None,
            bindings: Vec::new(),
        };
        insert(&mut self.images, "image", id, image)
    }

    /// The image needs `size` bytes of memory. Before this is known, a bind reaches to the end of the memory.
    pub fn image_sized(&mut self, id: u64, size: u64) {
        if let Some(image) = self.images.get_mut(&id)
            && !image.facts.flags.contains(vk::ImageCreateFlags::DISJOINT)
        {
            image.size = Some(size);
        }
    }

    /// What an image was created with.
    pub fn image(&self, id: u64) -> Option<&ImageFacts> {
        self.images.get(&id).map(|image| &image.facts)
    }

    /// The dirty map of image `id`.
    pub fn image_map(&self, id: u64) -> Option<Arc<ImageMap>> {
        self.images.get(&id).map(|image| image.map.clone())
    }

    /// The image, or a plane of it, was bound to `memory` at `offset`.
    pub fn image_bound(&mut self, id: u64, memory: u64, offset: u64) -> Result<(), AuditError> {
        let target = self
            .memories
            .get_mut(&memory)
            .ok_or(unknown("memory", memory))?;
        let image = self.images.get_mut(&id).ok_or(unknown("image", id))?;
        let end = match image.size {
            Some(size) => offset.checked_add(size),
            None => Some(target.size),
        };
        let end = end.filter(|end| offset < *end && *end <= target.size);
        let binding = Binding {
            memory,
            offset,
            end: end.ok_or(AuditError::ImageOutOfRange {
                image: id,
                memory,
                offset,
            })?,
        };
        // Four planes at most; a guest that goes on binds what is bound.
        if image.bindings.len() >= 8 {
            return Err(AuditError::TooMany {
                what: "binds of an image",
                limit: 8,
            });
        }
        image.bindings.push(binding);
        target.images.add(id, binding);
        Ok(())
    }

    pub fn image_destroyed(&mut self, id: u64) {
        if let Some(image) = self.images.remove(&id) {
            for binding in &image.bindings {
                if let Some(memory) = self.memories.get_mut(&binding.memory) {
                    memory.images.remove(id);
                }
            }
        }
    }

    /// A view of a part of an image.
    pub fn image_view_created(&mut self, id: u64, range: ImageRange) -> Result<(), AuditError> {
        let image = self.images.get(&range.image);
        let image = image.ok_or(unknown("image", range.image))?;
        let range = ImageRange {
            subresources: image.facts.clamp(range.subresources),
            ..range
        };
        insert(&mut self.image_views, "image view", id, range)
    }

    pub fn image_view_destroyed(&mut self, id: u64) {
        self.image_views.remove(&id);
    }

    /// A render pass came to be.
    pub fn render_pass_created(
        &mut self,
        id: u64,
        writes: RenderPassWrites,
    ) -> Result<(), AuditError> {
        check_attachments(writes.attachments.len())?;
        insert(&mut self.render_passes, "render pass", id, writes)
    }

    pub fn render_pass_destroyed(&mut self, id: u64) {
        self.render_passes.remove(&id);
    }

    /// A framebuffer of `views`, none if it is imageless.
    pub fn framebuffer_created(
        &mut self,
        id: u64,
        views: impl ExactSizeIterator<Item = u64>,
    ) -> Result<(), AuditError> {
        check_attachments(views.len())?;
        let ranges: Result<Vec<ImageRange>, AuditError> =
            views.map(|view| self.image_view(view)).collect();
        insert(&mut self.framebuffers, "framebuffer", id, ranges?)
    }

    pub fn framebuffer_destroyed(&mut self, id: u64) {
        self.framebuffers.remove(&id);
    }

    fn image_view(&self, id: u64) -> Result<ImageRange, AuditError> {
        let view = self.image_views.get(&id);
        view.copied().ok_or(unknown("image view", id))
    }

    /// Recorded: subresources of an image are written.
    pub fn record_image_write(
        &mut self,
        command_buffer: u64,
        image: u64,
        subresources: Subresources,
    ) -> Result<(), AuditError> {
        let facts = self.image(image).ok_or(unknown("image", image))?;
        let range = ImageRange {
            image,
            subresources: facts.clamp(subresources),
        };
        let command = self.command;
        self.recording(command_buffer)?.write_image(command, range);
        Ok(())
    }

    /// Recorded: all that a view shows is written, or only its first `layers` layers.
    pub fn record_view_write(
        &mut self,
        command_buffer: u64,
        view: u64,
        layers: Option<u32>,
    ) -> Result<(), AuditError> {
        let mut range = self.image_view(view)?;
        let shown = &mut range.subresources.layers;
        *shown = layers.unwrap_or(*shown).min(*shown);
        self.record_image_write(command_buffer, range.image, range.subresources)
    }

    /// Recorded: depth and stencil are resolved to a view; see [`RenderPassWrites::whole_images`].
    pub fn record_depth_resolve(
        &mut self,
        command_buffer: u64,
        view: u64,
    ) -> Result<(), AuditError> {
        let image = self.image_view(view)?.image;
        self.record_image_write(command_buffer, image, Subresources::ALL)
    }

    /// Recorded: a render pass begins. `views` are those of an imageless framebuffer.
    pub fn record_render_pass(
        &mut self,
        command_buffer: u64,
        render_pass: u64,
        framebuffer: u64,
        views: &[u64],
    ) -> Result<(), AuditError> {
        let pass = self.render_passes.get(&render_pass);
        let pass = pass.ok_or(unknown("render pass", render_pass))?;
        let bound = self.framebuffers.get(&framebuffer);
        let bound = bound.ok_or(unknown("framebuffer", framebuffer))?;
        let mut written = Vec::with_capacity(pass.attachments.len());
        for (index, writes) in pass.attachments.iter().enumerate() {
            if !writes {
                continue;
            }
            let range = match (bound.get(index), views.get(index)) {
                (Some(range), _) => *range,
                (None, Some(view)) => self.image_view(*view)?,
                (None, None) => {
                    return Err(AuditError::BadArguments {
                        command: "vkCmdBeginRenderPass",
                    });
                }
            };
            let whole = pass.whole_images.iter().any(|at| *at as usize == index);
            written.push(match whole {
                true => ImageRange {
                    subresources: Subresources::ALL,
                    ..range
                },
                false => range,
            });
        }
        for range in written {
            self.record_image_write(command_buffer, range.image, range.subresources)?;
        }
        Ok(())
    }

    /// Recorded: a region of an image goes to a buffer.
    pub fn record_image_to_buffer(
        &mut self,
        command_buffer: u64,
        image: u64,
        buffer: u64,
        region: BufferRegion,
    ) -> Result<(), AuditError> {
        let facts = *self.image(image).ok_or(unknown("image", image))?;
        let block = texel_block(facts.format, region.aspects);
        let layers = match region.layers {
            vk::REMAINING_ARRAY_LAYERS => facts.layers,
            layers => layers,
        };
        let command = self.command;
        let recording = self.recording(command_buffer)?;
        let Some(block) = block else {
            recording.write_buffer(command, buffer, region.offset, vk::WHOLE_SIZE);
            return Ok(());
        };
        let wide = |texels: u32, of: u32| u64::from(texels.div_ceil(of));
        let length = |given: u32, extent: u32| if given == 0 { extent } else { given };
        let columns = wide(region.extent.width, block.width);
        let rows = wide(region.extent.height, block.height);
        let slices = u64::from(region.extent.depth).saturating_mul(u64::from(layers));
        let row = columns.saturating_mul(block.bytes);
        let pitch = wide(length(region.row_length, region.extent.width), block.width)
            .saturating_mul(block.bytes);
        let slice_pitch = pitch.saturating_mul(wide(
            length(region.image_height, region.extent.height),
            block.height,
        ));
        if row == 0 || rows == 0 || slices == 0 {
            return Ok(());
        }
        let slice = pitch.saturating_mul(rows - 1).saturating_add(row);
        // One range where no whole chunk can lie in a gap, so that it is as exact as many, and where it would be too many.
        let gap = |pitch: u64, len: u64| pitch.saturating_sub(len) > crate::dirty::CHUNK_SIZE;
        let gaps = gap(pitch, row) || gap(slice_pitch, slice);
        if !gaps || slices.saturating_mul(rows) > REGION_RANGES_MAX {
            let len = slice_pitch.saturating_mul(slices - 1).saturating_add(slice);
            recording.write_buffer(command, buffer, region.offset, len);
            return Ok(());
        }
        for z in 0..slices {
            let start = region.offset.saturating_add(slice_pitch.saturating_mul(z));
            if !gap(pitch, row) {
                recording.write_buffer(command, buffer, start, slice);
                continue;
            }
            for y in 0..rows {
                recording.write_buffer(
                    command,
                    buffer,
                    start.saturating_add(pitch.saturating_mul(y)),
                    row,
                );
            }
        }
        Ok(())
    }
}

fn check_attachments(count: usize) -> Result<(), AuditError> {
    const { assert!(ATTACHMENTS_MAX <= OBJECTS_MAX) };
    if count > ATTACHMENTS_MAX {
        return Err(AuditError::TooMany {
            what: "attachments",
            limit: ATTACHMENTS_MAX as u64,
        });
    }
    Ok(())
}

/// A texel block as it lies in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    bytes: u64,
    width: u32,
    height: u32,
}

/// The texel block of an aspect of a format (Vulkan, "Format Compatibility Classes" and "Compressed image formats"). None
/// for formats of several planes and those that nobody knows.
pub(crate) fn texel_block(format: vk::Format, aspects: u32) -> Option<Block> {
    let depth = aspects & vk::ImageAspectFlags::DEPTH.as_raw() != 0;
    let stencil = aspects & vk::ImageAspectFlags::STENCIL.as_raw() != 0;
    let (bytes, width, height) = match format.as_raw() {
        1 | 9..=15 => (1, 1, 1),
        2..=8 | 16..=22 | 70..=76 => (2, 1, 1),
        23..=36 => (3, 1, 1),
        37..=69 | 77..=83 | 98..=100 | 122 | 123 => (4, 1, 1),
        84..=90 => (6, 1, 1),
        91..=97 | 101..=103 | 110..=112 => (8, 1, 1),
        104..=106 => (12, 1, 1),
        107..=109 | 113..=115 => (16, 1, 1),
        116..=118 => (24, 1, 1),
        119..=121 => (32, 1, 1),
        // Depth and stencil: each aspect by itself.
        124..=130 if stencil && !depth => (1, 1, 1),
        124 | 128 if !stencil => (2, 1, 1),
        125 | 126 | 129 | 130 if !stencil => (4, 1, 1),
        131..=134 | 139 | 140 => (8, 4, 4),
        135..=138 | 141..=146 => (16, 4, 4),
        147..=150 | 153 | 154 => (8, 4, 4),
        151 | 152 | 155 | 156 => (16, 4, 4),
        astc @ 157..=184 => {
            const SIZES: [(u32, u32); 14] = [
                (4, 4),
                (5, 4),
                (5, 5),
                (6, 5),
                (6, 6),
                (8, 5),
                (8, 6),
                (8, 8),
                (10, 5),
                (10, 6),
                (10, 8),
                (10, 10),
                (12, 10),
                (12, 12),
            ];
            let (width, height) = SIZES[(astc as usize - 157) / 2];
            (16, width, height)
        }
        1_000_340_000 | 1_000_340_001 | 1_000_470_000 => (2, 1, 1),
        1_000_470_001 => (1, 1, 1),
        _ => return None,
    };
    Some(Block {
        bytes,
        width,
        height,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(image_type: vk::ImageType, mips: u32, layers: u32) -> ImageFacts {
        ImageFacts {
            flags: vk::ImageCreateFlags::empty(),
            image_type,
            format: vk::Format::R8G8B8A8_UNORM,
            extent: vk::Extent3D::default().width(64).height(64).depth(1),
            mips,
            layers,
            samples: vk::SampleCountFlags::TYPE_1,
            tiling: vk::ImageTiling::OPTIMAL,
            usage: vk::ImageUsageFlags::empty(),
        }
    }

    fn part(mip: u32, mips: u32, layer: u32, layers: u32) -> Subresources {
        Subresources {
            aspects: 1,
            mip,
            mips,
            layer,
            layers,
        }
    }

    #[test]
    fn clamp_remaining_counts_end_with_the_image() {
        let flat = facts(vk::ImageType::TYPE_2D, 5, 7);
        let deep = facts(vk::ImageType::TYPE_3D, 5, 1);

        assert_eq!(flat.clamp(part(2, u32::MAX, 3, u32::MAX)), part(2, 3, 3, 4));
        assert_eq!(flat.clamp(part(9, 1, 9, 1)), part(9, 0, 9, 0));
        // Slices of a 3D image may be layers of a view.
        assert_eq!(deep.clamp(part(1, 1, 17, 4)), part(1, 1, 0, 1));
    }

    #[test]
    fn map_taken_marks_are_those_that_were_made_and_can_be_put_back() {
        let map = ImageMap::new(&facts(vk::ImageType::TYPE_2D, 3, 50)).unwrap();

        map.mark(part(1, 2, 48, 2));
        let taken = map.take();

        assert_eq!(taken, [(1, 48), (1, 49), (2, 48), (2, 49)]);
        assert_eq!(map.take(), []);
        map.put_back(&taken);
        assert_eq!(map.take(), taken);
        map.mark(part(0, u32::MAX, 40, u32::MAX));
        assert_eq!(map.take().len(), 30);
    }

    #[test]
    fn map_of_too_many_subresources_is_an_error() {
        let many = facts(vk::ImageType::TYPE_2D, u32::MAX, u32::MAX);

        assert!(matches!(
            ImageMap::new(&many),
            Err(AuditError::TooMany { .. })
        ));
    }

    #[test]
    fn overlapping_finds_long_images_that_start_early() {
        let mut bound = BoundImages::default();
        for (id, offset, end) in [(1, 0, 1000), (2, 100, 200), (3, 200, 300), (4, 900, 950)] {
            let binding = Binding {
                memory: 0,
                offset,
                end,
            };
            bound.add(id, binding);
        }

        let found = |bound: &BoundImages, offset, end| {
            let (mut steps, mut found) = (100, Vec::new());
            assert!(bound.overlapping(offset, end, &mut steps, &mut found));
            found
        };

        assert_eq!(found(&bound, 199, 201), [1, 2, 3]);
        assert_eq!(found(&bound, 300, 900), [1]);
        assert_eq!(found(&bound, 1000, 2000), [] as [u64; 0]);
        assert!(!bound.overlapping(0, 1000, &mut 3, &mut Vec::new()));
        bound.remove(1);
        assert_eq!(found(&bound, 0, 2000), [2, 3, 4]);
    }

    #[test]
    fn texel_block_known_formats_have_the_size_of_the_specification() {
        let color = vk::ImageAspectFlags::COLOR.as_raw();
        let depth = vk::ImageAspectFlags::DEPTH.as_raw();
        let stencil = vk::ImageAspectFlags::STENCIL.as_raw();
        for (format, aspects, bytes, width, height) in [
            (vk::Format::R8_UNORM, color, 1, 1, 1),
            (vk::Format::R5G6B5_UNORM_PACK16, color, 2, 1, 1),
            (vk::Format::B8G8R8A8_SRGB, color, 4, 1, 1),
            (vk::Format::R16G16B16A16_SFLOAT, color, 8, 1, 1),
            (vk::Format::R32G32B32A32_SFLOAT, color, 16, 1, 1),
            (vk::Format::D32_SFLOAT_S8_UINT, depth, 4, 1, 1),
            (vk::Format::D24_UNORM_S8_UINT, stencil, 1, 1, 1),
            (vk::Format::BC1_RGB_UNORM_BLOCK, color, 8, 4, 4),
            (vk::Format::BC7_SRGB_BLOCK, color, 16, 4, 4),
            (vk::Format::EAC_R11G11_UNORM_BLOCK, color, 16, 4, 4),
            (vk::Format::ASTC_10X8_SRGB_BLOCK, color, 16, 10, 8),
            (vk::Format::ASTC_12X12_UNORM_BLOCK, color, 16, 12, 12),
        ] {
            let block = Block {
                bytes,
                width,
                height,
            };
            assert_eq!(texel_block(format, aspects), Some(block), "{format:?}");
        }
        assert_eq!(
            texel_block(vk::Format::G8_B8R8_2PLANE_420_UNORM, color),
            None
        );
    }
}
