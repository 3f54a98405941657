//! Transfers of which every byte changes.

use ash::vk;
use hesper_audit::oracle::CommandFigures;

use super::commands::Way;
use super::images::{HEIGHT, WIDTH};
use super::{Buffer, World};

/// Bytes of a texel.
const TEXEL: u64 = 4;

impl World<'_> {
    /// Fills the source, or clears the image, with a byte that no buffer has yet, transfers from it to a device-local
    /// buffer, and tells what the oracle counts for the transfer.
    pub fn transfer(&mut self) -> Result<Vec<(String, CommandFigures)>, String> {
        self.exact = self.exact % 250 + 1;
        let value = u32::from_ne_bytes([self.exact; 4]);
        // In memory that nothing else lies in: what is written there is no image's, too.
        let [source, target] = self.exact_buffers();
        let image = self.image_set.map(|set| set.colors[0]);
        let primary = self.begin(self.primaries[0]);
        self.fill_buffer(primary, source, (0, vk::WHOLE_SIZE), value);
        if let Some(image) = image {
            let color = vk::ClearColorValue {
                float32: [f32::from(self.exact) / 255.0; 4],
            };
            let range = vk::ImageSubresourceRange {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                base_mip_level: 0,
                level_count: 1,
                base_array_layer: 0,
                layer_count: 1,
            };
            self.clear_color(primary, image, color, range);
        }
        self.end(primary);
        self.submit(&[&[primary]]);
        self.host.check("source".into())?;

        let primary = self.begin(self.primaries[0]);
        let ways = if image.is_some() { 6 } else { 4 };
        let size = 1 + self.random.below(target.size / 2);
        let from = self.random.below(source.size - size);
        let to = self.random.below(target.size - size);
        let words = (size / 4).clamp(1, 1000);
        match self.random.below(ways) {
            way @ (0 | 1) => {
                self.copy_buffer(primary, [source, target], &[(from, to, size)], way == 1);
            }
            2 => self.fill_buffer(primary, target, (to & !3, words * 4), value),
            3 => self.put(primary, target, to & !3, &vec![value; words as usize]),
            way => self.read_texels(primary, target, to, way == 4),
        }
        self.end(primary);
        let before: Vec<_> = self.host.oracle.by_command().collect();
        self.submit(&[&[primary]]);
        self.host.check("transfer".into())?;
        let after = self.host.oracle.by_command();
        let changed = after.filter_map(|(command, now)| {
            let old = before.iter().find(|(name, _)| *name == command);
            let old = old.map_or_else(CommandFigures::default, |(_, old)| *old);
            (now != old).then(|| (command, since(now, old)))
        });
        Ok(changed.collect())
    }

    /// Some rows of the color image to the buffer, packed.
    fn read_texels(
        &mut self,
        command_buffer: vk::CommandBuffer,
        target: Buffer,
        to: u64,
        wide: bool,
    ) {
        let image = self.image_set.unwrap().colors[0];
        let most = u64::from(WIDTH * HEIGHT) * TEXEL;
        let offset = to.min(target.size - most) & !3;
        let extent = vk::Extent3D {
            width: WIDTH,
            height: 1 + self.random.below(u64::from(HEIGHT)) as u32,
            depth: 1,
        };
        let region = vk::BufferImageCopy {
            buffer_offset: offset,
            image_subresource: vk::ImageSubresourceLayers {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                mip_level: 0,
                base_array_layer: 0,
                layer_count: 1,
            },
            image_extent: extent,
            ..Default::default()
        };
        self.copy_texels(command_buffer, (target, Way::ToBuffer, image), region, wide);
    }
}

fn since(now: CommandFigures, old: CommandFigures) -> CommandFigures {
    CommandFigures {
        marked_bytes: now.marked_bytes - old.marked_bytes,
        changed_bytes: now.changed_bytes - old.changed_bytes,
        marked_chunks: now.marked_chunks - old.marked_chunks,
        changed_chunks: now.changed_chunks - old.changed_chunks,
        marked_subresources: now.marked_subresources - old.marked_subresources,
        changed_subresources: now.changed_subresources - old.changed_subresources,
    }
}
