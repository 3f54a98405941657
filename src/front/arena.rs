//! The arena: what is handed out of it, and to whom.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use hesper_image::{EXTENT_ALIGN, Extent, ImageArea, RangeAllocator};
use hesper_memory::{DirtyBitmap, Mapping};
use hesper_worker::channel::Area;
use serde::{Deserialize, Serialize};

use crate::{Blob, FrontError};

/// `VK_RING_STATUS_FATAL_BIT_MESA`.
const RING_STATUS_FATAL: u32 = 2;
/// Longest place for live tables, bytes.
const LIVE_LEN_MAX: u64 = 32 << 20;
/// Shortest one that is of any use, bytes.
const LIVE_LEN_MIN: u64 = 512 << 10;

/// The memory that a front hands out, and where the vGPU image lives.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The whole arena.
    pub mapping: Mapping,
    /// Bytes at the start that may become guest-visible; what lies beyond is the image area.
    pub window_len: u64,
    /// Where GPU and image writes are marked for QEMU, if there is one.
    pub bitmap: Option<DirtyBitmap>,
}

impl Arena {
    /// The end of the image area, which is never handed out: what a device keeps there is found
    /// by the process that is started when this one has died. None when the area is too small.
    pub fn live_tables(&self) -> Option<Extent> {
        let end = self.mapping.len() / EXTENT_ALIGN * EXTENT_ALIGN;
        let area = end.checked_sub(self.window_len)?;
        let len = (area / 8).min(LIVE_LEN_MAX) / EXTENT_ALIGN * EXTENT_ALIGN;
        (len >= LIVE_LEN_MIN).then(|| Extent::new(end - len, len))
    }
}

impl Arena {
    /// Sets the FATAL bit of a Venus ring whose status word is at `status` of a blob.
    ///
    /// # Errors
    /// [`FrontError`] when it doesn't lie there.
    pub fn set_ring_fatal(&self, blob: &Blob, status: u64) -> Result<(), FrontError> {
        let outside = || FrontError::State(format!("A ring's status at {status} of {blob:?}"));
        let end = status.checked_add(4).filter(|end| *end <= blob.len);
        let at = blob.offset.checked_add(status).ok_or_else(outside)?;
        if end.is_none() || at >= self.window_len {
            return Err(outside());
        }
        let word = self.mapping.atomic_u32(at)?;
        word.fetch_or(RING_STATUS_FATAL, Ordering::SeqCst);
        if let Some(bitmap) = &self.bitmap {
            bitmap.mark(at, 4)?;
        }
        Ok(())
    }
}

/// Quotas have no ranges.
fn no_range(area: Area) -> FrontError {
    FrontError::State(format!("{area:?} is no part of the arena"))
}

/// Who holds ranges, as saved in the image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Window ranges and how many hold each.
    pub window: Vec<(Extent, u32)>,
    /// Image ranges.
    pub image: Vec<Extent>,
}

/// The arena with its allocators.
#[derive(Debug)]
pub struct ArenaState {
    arena: Arena,
    area: ImageArea,
    window: RangeAllocator,
    image: RangeAllocator,
    /// Holders of each window range: a worker's memory may be a resource as well.
    holders: HashMap<Extent, u32>,
    /// Image ranges as they were handed out; the allocator alone would show neighbours as one.
    extents: HashSet<Extent>,
}

impl ArenaState {
    /// Takes over an arena in which nothing is used.
    ///
    /// # Errors
    /// [`FrontError`] for a shape that can't hold an image.
    pub fn new(arena: Arena) -> Result<Self, FrontError> {
        let area = ImageArea::new(
            arena.mapping.clone(),
            arena.window_len,
            arena.bitmap.clone(),
        )?;
        let window = RangeAllocator::new(0, arena.window_len, hesper_image::WINDOW_ALIGN)
            .map_err(|e| FrontError::State(e.to_string()))?;
        let mut image = area.extent_allocator();
        let live = arena.live_tables();
        if let Some(live) = live {
            image
                .reserve(live.offset, live.len)
                .map_err(|e| FrontError::State(e.to_string()))?;
        }
        Ok(Self {
            arena,
            area,
            window,
            image,
            holders: HashMap::new(),
            extents: HashSet::new(),
        })
    }

    /// The arena.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// The image area.
    pub fn area(&self) -> &ImageArea {
        &self.area
    }

    /// Bytes handed out, window then image.
    pub fn used(&self) -> (u64, u64) {
        let live = self.arena.live_tables().map_or(0, |live| live.len);
        (self.window.used_bytes(), self.image.used_bytes() - live)
    }

    /// Takes a window range as handed out, with one holder, or one more if it is already. Its
    /// content stays.
    ///
    /// # Errors
    /// [`FrontError::State`] for a range that overlaps another or lies outside.
    pub fn adopt(&mut self, extent: Extent) -> Result<(), FrontError> {
        if self.holders.contains_key(&extent) {
            return self.hold(extent);
        }
        self.window
            .reserve(extent.offset, extent.len)
            .map_err(|e| FrontError::State(e.to_string()))?;
        self.holders.insert(extent, 1);
        Ok(())
    }

    /// Hands out a range that reads as zeros; a window range has one holder.
    ///
    /// # Errors
    /// [`FrontError::OutOfMemory`].
    pub fn allocate(&mut self, area: Area, len: u64) -> Result<Extent, FrontError> {
        let allocator = match area {
            Area::Window => &mut self.window,
            Area::Image => &mut self.image,
            Area::Device | Area::Host => return Err(no_range(area)),
        };
        let none = FrontError::OutOfMemory(len);
        let Some(rounded) = allocator.rounded(len).filter(|len| *len > 0) else {
            return Err(none);
        };
        let offset = allocator.alloc(rounded).ok_or(none)?;
        let extent = Extent::new(offset, rounded);
        // A named arena may hold what an earlier user left: nobody is to see it.
        if !self.arena.mapping.is_hole(offset, rounded)? {
            self.arena.mapping.punch_hole(offset, rounded)?;
            if let Some(bitmap) = &self.arena.bitmap {
                bitmap.mark(offset, rounded)?;
            }
        }
        match area {
            Area::Window => {
                self.holders.insert(extent, 1);
            }
            Area::Image => {
                self.extents.insert(extent);
            }
            Area::Device | Area::Host => return Err(no_range(area)),
        }
        Ok(extent)
    }

    /// One more holder of a window range.
    ///
    /// # Errors
    /// [`FrontError::State`] for a range that is not handed out.
    pub fn hold(&mut self, extent: Extent) -> Result<(), FrontError> {
        let holders = self
            .holders
            .get_mut(&extent)
            .ok_or_else(|| FrontError::State(format!("{extent:?} is not handed out")))?;
        *holders = holders
            .checked_add(1)
            .ok_or_else(|| FrontError::State(format!("{extent:?} has too many holders")))?;
        Ok(())
    }

    /// One holder less; with the last, the range is zeroed, marked and free again.
    ///
    /// # Errors
    /// [`FrontError`] for a range that is not handed out.
    pub fn release(&mut self, area: Area, extent: Extent) -> Result<(), FrontError> {
        match area {
            Area::Window => {
                let holders = self
                    .holders
                    .get_mut(&extent)
                    .ok_or_else(|| FrontError::State(format!("{extent:?} is not handed out")))?;
                *holders -= 1;
                if *holders > 0 {
                    return Ok(());
                }
                self.holders.remove(&extent);
                // Whoever gets the range next must find zeros, and QEMU must send them.
                self.arena.mapping.punch_hole(extent.offset, extent.len)?;
                if let Some(bitmap) = &self.arena.bitmap {
                    bitmap.mark(extent.offset, extent.len)?;
                }
                self.window
                    .free(extent.offset, extent.len)
                    .map_err(|e| FrontError::State(e.to_string()))
            }
            Area::Image => {
                if !self.extents.remove(&extent) {
                    return Err(FrontError::State(format!("{extent:?} is not handed out")));
                }
                self.image
                    .free(extent.offset, extent.len)
                    .map_err(|e| FrontError::State(e.to_string()))?;
                Ok(self.area.discard(extent.offset, extent.len)?)
            }
            Area::Device | Area::Host => Err(no_range(area)),
        }
    }

    /// Everything handed out, for the image.
    pub fn held(&self) -> Held {
        let mut window: Vec<_> = self.holders.iter().map(|(e, n)| (*e, *n)).collect();
        window.sort_unstable();
        let mut image: Vec<_> = self.extents.iter().copied().collect();
        image.sort_unstable();
        Held { window, image }
    }

    /// Takes `held` as handed out, in an arena where nothing is.
    ///
    /// # Errors
    /// [`FrontError::State`] for ranges that overlap or lie outside.
    pub fn restore(&mut self, held: &Held) -> Result<(), FrontError> {
        let state = |e: hesper_image::AllocatorError| FrontError::State(e.to_string());
        for (extent, holders) in &held.window {
            self.window
                .reserve(extent.offset, extent.len)
                .map_err(state)?;
            self.holders.insert(*extent, *holders);
        }
        for extent in &held.image {
            self.image
                .reserve(extent.offset, extent.len)
                .map_err(state)?;
            self.extents.insert(*extent);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn state() -> (ArenaState, Mapping, DirtyBitmap) {
        let mapping = Mapping::anonymous("t", 8 * MIB).unwrap();
        let words = Mapping::anonymous("t", DirtyBitmap::file_len(8 * MIB)).unwrap();
        let bitmap = DirtyBitmap::new(words, 8 * MIB).unwrap();
        let arena = Arena {
            mapping: mapping.clone(),
            window_len: 4 * MIB,
            bitmap: Some(bitmap.clone()),
        };
        (ArenaState::new(arena).unwrap(), mapping, bitmap)
    }

    #[test]
    fn range_with_two_holders_is_freed_with_the_last() {
        let (mut state, mapping, bitmap) = state();
        let extent = state.allocate(Area::Window, 5000).unwrap();
        assert_eq!(extent.len, 8192);
        mapping.write(extent.offset, &[9; 8192]).unwrap();
        state.hold(extent).unwrap();

        state.release(Area::Window, extent).unwrap();
        assert_eq!(state.used().0, 8192);
        state.release(Area::Window, extent).unwrap();

        assert_eq!(state.used().0, 0);
        let mut byte = [1];
        mapping.read(extent.offset, &mut byte).unwrap();
        assert_eq!(byte, [0]);
        let mut marked = 0;
        bitmap.take(|_| marked += 1).unwrap();
        assert_eq!(marked, 2, "QEMU must send the zeros");
        assert!(state.release(Area::Window, extent).is_err());
    }

    #[test]
    fn leftovers_in_the_arena_are_zeroed_before_they_are_handed_out() {
        let (mut state, mapping, bitmap) = state();
        mapping.write(0, &[7; 4096]).unwrap();
        mapping.write(4 * MIB + 65536, &[7; 65536]).unwrap();

        let window = state.allocate(Area::Window, 4096).unwrap();
        let image = state.allocate(Area::Image, 65536).unwrap();

        for extent in [window, image] {
            let mut bytes = vec![1; extent.len as usize];
            mapping.read(extent.offset, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 0), "{extent:?}");
        }
        let mut marked = 0;
        bitmap.take(|_| marked += 1).unwrap();
        assert_eq!(marked, 17);
    }

    #[test]
    fn adopted_range_keeps_its_content_until_its_last_holder_goes() {
        let (mut state, mapping, _) = state();
        mapping.write(8192, &[7; 4096]).unwrap();
        let extent = Extent::new(8192, 4096);

        state.adopt(extent).unwrap();
        state.adopt(extent).unwrap();

        assert!(state.adopt(Extent::new(4096, 8192)).is_err(), "overlaps");
        assert!(state.adopt(Extent::new(4 * MIB, 4096)).is_err(), "outside");
        let other = state.allocate(Area::Window, 3 * 4096).unwrap();
        assert_eq!(other.offset, 12288, "what is adopted isn't free");
        let mut byte = [0];
        mapping.read(8192, &mut byte).unwrap();
        assert_eq!(byte, [7]);
        state.release(Area::Window, extent).unwrap();
        state.release(Area::Window, extent).unwrap();
        mapping.read(8192, &mut byte).unwrap();
        assert_eq!(byte, [0]);
    }

    #[test]
    fn ring_is_marked_fatal_inside_its_blob_only() {
        let (state, mapping, _) = state();
        let blob = Blob {
            offset: 4096,
            len: 4096,
        };
        let arena = state.arena();
        arena.set_ring_fatal(&blob, 128).unwrap();
        let word = mapping.atomic_u32(4096 + 128).unwrap();
        assert_eq!(word.load(Ordering::Relaxed), RING_STATUS_FATAL);
        for status in [4096, 4094, 2, u64::MAX, u64::MAX - 3] {
            assert!(arena.set_ring_fatal(&blob, status).is_err(), "{status}");
        }
    }

    #[test]
    fn live_tables_are_never_handed_out() {
        let (mut state, ..) = state();
        let live = state.arena().live_tables().unwrap();
        assert_eq!(live.end(), Some(8 * MIB));

        while let Ok(extent) = state.allocate(Area::Image, 65536) {
            assert!(extent.offset + extent.len <= live.offset, "{extent:?}");
        }
    }

    #[test]
    fn restored_state_holds_neighbours_apart() {
        let (mut state, ..) = state();
        let extents: Vec<_> = (0..3)
            .map(|_| state.allocate(Area::Image, 65536).unwrap())
            .collect();
        let held = state.held();
        assert_eq!(held.image, extents, "neighbours are not one range");

        let (mut fresh, ..) = self::state();
        fresh.restore(&held).unwrap();

        fresh.release(Area::Image, extents[1]).unwrap();
        assert_eq!(fresh.used().1, 2 * 65536);
        assert!(fresh.restore(&held).is_err(), "ranges can't be held twice");
    }
}
