//! What one submission may write.

use std::sync::Arc;

use crate::dirty::{CHUNK_SIZE, DirtyMap};
use crate::images::{ImageMap, ImageRange};
use crate::tracker::AuditCounters;

/// A range of a memory object, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryRange {
    /// Guest id of the VkDeviceMemory.
    pub memory: u64,
    pub offset: u64,
    pub len: u64,
}

/// A range of device-local memory with the map to mark.
#[derive(Clone, Debug)]
pub struct DeviceMark {
    map: Arc<DirtyMap>,
    range: MemoryRange,
}

/// Subresources of an image with the map to mark.
#[derive(Clone, Debug)]
pub struct ImageMark {
    map: Arc<ImageMap>,
    range: ImageRange,
}

/// The ranges that a submission may write: marked at submit, kept, and marked again at retirement. The map of memory that
/// was freed meanwhile lives as long as the marks do.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    device: Vec<DeviceMark>,
    host: Vec<MemoryRange>,
    images: Vec<ImageMark>,
    parts: Option<Vec<Part>>,
    /// What they were made from.
    pub(crate) source: Source,
    /// Bytes by number of the command, for the tracker's figures.
    pub(crate) tallies: Vec<(u16, u64)>,
    /// What they added to the tracker's figures.
    pub(crate) counters: AuditCounters,
}

/// What marks were made from: as long as it is the same, so are they.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    /// [`crate::tracker::Tracker::changed`] counts; 0: from nothing.
    pub generation: u64,
    pub command_buffers: Vec<u64>,
}

/// What one command marked, for figures by command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of the command.
    pub command: u16,
    pub range: PartRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartRange {
    Memory(MemoryRange),
    Image(ImageRange),
}

impl Marks {
    pub fn new() -> Self {
        Self::default()
    }

    /// Marks that keep which command made which, as the oracle needs it for its figures by command.
    pub fn by_command() -> Self {
        let mut marks = Self::default();
        marks.keep_parts();
        marks
    }

    /// From the next resolution on, keeps which command made which.
    pub fn keep_parts(&mut self) {
        self.parts.get_or_insert_default();
    }

    pub(crate) fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    pub(crate) fn parts_mut(&mut self) -> Option<&mut Vec<Part>> {
        self.parts.as_mut()
    }

    /// Marks the device-local ranges and the images in their maps. The caller marks [`Self::host_ranges`] in the arena's bitmap.
    pub fn mark_device(&self) {
        for mark in &self.device {
            mark.map.mark(mark.range.offset, mark.range.len);
        }
        for mark in &self.images {
            mark.map.mark(mark.range.subresources);
        }
    }

    /// Ranges in device-local memory, merged and in order within each call that added some.
    pub fn device_ranges(&self) -> impl Iterator<Item = MemoryRange> + '_ {
        self.device.iter().map(|mark| mark.range)
    }

    /// Ranges in host-visible memory, exact to the byte.
    pub fn host_ranges(&self) -> &[MemoryRange] {
        &self.host
    }

    /// Subresources of images, inside of each image. The memory that the images are bound to is in the other ranges.
    pub fn image_ranges(&self) -> impl Iterator<Item = ImageRange> + '_ {
        self.images.iter().map(|mark| mark.range)
    }

    pub fn is_empty(&self) -> bool {
        self.device.is_empty() && self.host.is_empty() && self.images.is_empty()
    }

    /// Whether chunk `chunk` of device-local `memory` is marked.
    pub fn covers(&self, memory: u64, chunk: u64) -> bool {
        self.device.iter().any(|mark| {
            let range = mark.range;
            range.memory == memory
                && range.offset / CHUNK_SIZE <= chunk
                && chunk <= (range.offset + (range.len - 1)) / CHUNK_SIZE
        })
    }

    /// Bytes in the ranges, host-visible ones included.
    pub fn bytes(&self) -> u64 {
        let host = self.host.iter().copied();
        self.device_ranges()
            .chain(host)
            .map(|range| range.len)
            .sum()
    }

    /// Empties the lists and keeps their room for the next submission.
    pub fn clear(&mut self) {
        self.device.clear();
        self.host.clear();
        self.images.clear();
        self.source.generation = 0;
        self.source.command_buffers.clear();
        self.tallies.clear();
        self.counters = AuditCounters::default();
        if let Some(parts) = &mut self.parts {
            parts.clear();
        }
    }

    /// `range` is not empty and lies inside of the map's memory object.
    pub(crate) fn push_device(&mut self, map: &Arc<DirtyMap>, range: MemoryRange) {
        debug_assert!(range.len > 0 && range.offset + range.len <= map.size());
        self.device.push(DeviceMark {
            map: map.clone(),
            range,
        });
    }

    pub(crate) fn push_image(&mut self, map: &Arc<ImageMap>, range: ImageRange) {
        self.images.push(ImageMark {
            map: map.clone(),
            range,
        });
    }

    pub(crate) fn push_host(&mut self, range: MemoryRange) {
        debug_assert!(range.len > 0);
        self.host.push(range);
    }
}

/// Sorts `ranges` and joins those that overlap or touch.
pub(crate) fn merge(ranges: &mut Vec<MemoryRange>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, kept| {
        let end = kept.offset + kept.len;
        if next.memory != kept.memory || next.offset > end {
            return false;
        }
        kept.len = end.max(next.offset + next.len) - kept.offset;
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(memory: u64, offset: u64, len: u64) -> MemoryRange {
        MemoryRange {
            memory,
            offset,
            len,
        }
    }

    #[test]
    fn merge_overlapping_and_touching_ranges_become_one() {
        let mut ranges = vec![
            range(2, 0, 10),
            range(1, 30, 5),
            range(1, 0, 10),
            range(1, 10, 5),
            range(1, 2, 3),
            range(1, 16, 4),
        ];

        merge(&mut ranges);

        assert_eq!(
            ranges,
            [
                range(1, 0, 15),
                range(1, 16, 4),
                range(1, 30, 5),
                range(2, 0, 10)
            ]
        );
    }

    #[test]
    fn covers_chunks_of_a_range_are_the_touched_ones() {
        let map = Arc::new(DirtyMap::new(10 * CHUNK_SIZE));
        let mut marks = Marks::new();
        marks.push_device(&map, range(7, CHUNK_SIZE - 1, CHUNK_SIZE + 1));

        let covered: Vec<u64> = (0..10).filter(|chunk| marks.covers(7, *chunk)).collect();
        marks.mark_device();

        assert_eq!(covered, [0, 1]);
        assert_eq!(map.take().iter().collect::<Vec<_>>(), covered);
        assert!(!marks.covers(8, 0));
        assert_eq!(marks.bytes(), CHUNK_SIZE + 1);
        marks.clear();
        assert!(marks.is_empty());
    }
}
