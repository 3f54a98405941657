//! The part of the arena that holds the image, and the one way to write there.

use hesper_memory::{DirtyBitmap, Mapping, PAGE_SIZE};
use serde::{Deserialize, Serialize};

use crate::{EXTENT_ALIGN, ImageError, RangeAllocator};

/// A range of the arena, in bytes from the arena's start.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Extent {
    /// Arena offset, bytes.
    pub offset: u64,
    /// Length, bytes.
    pub len: u64,
}

impl Extent {
    /// The extent `offset..offset + len`.
    pub const fn new(offset: u64, len: u64) -> Self {
        Self { offset, len }
    }

    /// One past the last byte; none when that overflows.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// An extent and the checksum of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedExtent {
    /// Where, and how many bytes are in use (what is allocated may be longer).
    pub extent: Extent,
    /// CRC-32 (IEEE) of the bytes in use.
    pub crc32: u32,
}

impl SealedExtent {
    /// True for the entry that stands for nothing.
    pub fn is_empty(&self) -> bool {
        self.extent.len == 0
    }

    /// Writes `bytes` at `offset` and seals them. The caller has allocated at least as much, and not
    /// in an extent that the current superblock refers to.
    ///
    /// # Errors
    /// As [`ImageArea::write`].
    pub fn write(area: &ImageArea, offset: u64, bytes: &[u8]) -> Result<Self, ImageError> {
        area.write(offset, bytes)?;
        Ok(Self {
            extent: Extent::new(offset, bytes.len() as u64),
            crc32: crc32fast::hash(bytes),
        })
    }

    /// Copies the bytes out, then checks the copy. `what` names them in errors, `limit` is in bytes.
    ///
    /// # Errors
    /// [`ImageError::TooLarge`], [`ImageError::OutsideArea`], [`ImageError::Checksum`].
    pub fn read(
        &self,
        area: &ImageArea,
        what: &'static str,
        limit: u64,
    ) -> Result<Vec<u8>, ImageError> {
        let bytes = area.read_vec(self.extent, what, limit)?;
        let found = crc32fast::hash(&bytes);
        if found != self.crc32 {
            return Err(ImageError::Checksum {
                what,
                offset: self.extent.offset,
                expected: self.crc32,
                found,
            });
        }
        Ok(bytes)
    }
}

/// The image's part of an arena. Cheap to clone.
///
/// All offsets are arena offsets; everything outside `start..end` is refused, so that nothing meant
/// for the image can land in the guest's window.
#[derive(Clone, Debug)]
pub struct ImageArea {
    mapping: Mapping,
    start: u64,
    bitmap: Option<DirtyBitmap>,
}

impl ImageArea {
    /// The area from `start` (the window's length, a multiple of 4096) to the end of `mapping`, which
    /// covers the whole arena. Writes are marked in `bitmap`, if there is one.
    ///
    /// # Errors
    /// [`ImageError::BadArea`] when it is not page-aligned or has no room for a superblock and an
    /// extent.
    pub fn new(
        mapping: Mapping,
        start: u64,
        bitmap: Option<DirtyBitmap>,
    ) -> Result<Self, ImageError> {
        let end = mapping.len();
        let bad = ImageError::BadArea { start, end };
        if !start.is_multiple_of(PAGE_SIZE) || !end.is_multiple_of(PAGE_SIZE) || start >= end {
            return Err(bad);
        }
        let area = Self {
            mapping,
            start,
            bitmap,
        };
        let (first, last) = area.extents_range();
        if first.checked_add(EXTENT_ALIGN).is_none_or(|e| e > last) {
            return Err(bad);
        }
        Ok(area)
    }

    /// First byte of the area: where the superblock lies.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// One past the last byte of the area: the arena's length.
    pub fn end(&self) -> u64 {
        self.mapping.len()
    }

    /// Length of the area, bytes.
    pub fn len(&self) -> u64 {
        self.end() - self.start
    }

    /// True for an area of no bytes; [`ImageArea::new`] makes none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mapping of the whole arena, for direct writers; they call [`ImageArea::mark`] afterwards.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// The bitmap that writes are marked in.
    pub fn bitmap(&self) -> Option<&DirtyBitmap> {
        self.bitmap.as_ref()
    }

    /// An allocator of image extents over all of the area behind the superblock, nothing used.
    pub fn extent_allocator(&self) -> RangeAllocator {
        let (start, end) = self.extents_range();
        // `new` has checked that the range is aligned and not empty, as the allocator wants it.
        RangeAllocator::new(start, end, EXTENT_ALIGN).expect("checked by ImageArea::new")
    }

    /// Where extents may lie: aligned, behind the superblock.
    fn extents_range(&self) -> (u64, u64) {
        let start = self
            .start
            .saturating_add(2 * crate::SUPERBLOCK_LEN)
            .checked_next_multiple_of(EXTENT_ALIGN)
            .unwrap_or(u64::MAX);
        (start, self.end() / EXTENT_ALIGN * EXTENT_ALIGN)
    }

    /// Checks that a range lies in the area.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`].
    pub fn check(&self, offset: u64, len: u64) -> Result<(), ImageError> {
        match offset.checked_add(len) {
            Some(end) if offset >= self.start && end <= self.end() => Ok(()),
            _ => Err(ImageError::OutsideArea {
                offset,
                len,
                start: self.start,
                end: self.end(),
            }),
        }
    }

    /// Copies bytes out, once.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`].
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), ImageError> {
        self.check(offset, out.len() as u64)?;
        Ok(self.mapping.read(offset, out)?)
    }

    /// Copies a whole extent out, once, if it has no more than `limit` bytes.
    ///
    /// # Errors
    /// [`ImageError::TooLarge`], named by `what`; [`ImageError::OutsideArea`].
    pub fn read_vec(
        &self,
        extent: Extent,
        what: &'static str,
        limit: u64,
    ) -> Result<Vec<u8>, ImageError> {
        // Checked before anything is allocated: the length is hostile.
        self.check(extent.offset, extent.len)?;
        if extent.len > limit {
            return Err(ImageError::TooLarge {
                what,
                len: extent.len,
                limit,
            });
        }
        let mut bytes = vec![0; extent.len as usize];
        self.mapping.read(extent.offset, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes bytes, then marks their pages.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`]: nothing is written then.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), ImageError> {
        self.check(offset, bytes.len() as u64)?;
        self.mapping.write(offset, bytes)?;
        self.mark(offset, bytes.len() as u64)
    }

    /// Marks a range that somebody has just written directly (a GPU copy, say).
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`].
    pub fn mark(&self, offset: u64, len: u64) -> Result<(), ImageError> {
        self.check(offset, len)?;
        if let Some(bitmap) = &self.bitmap {
            bitmap.mark(offset, len)?;
        }
        Ok(())
    }

    /// Marks the superblock and every extent that `used` names: for a reader who has seen nothing.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`]: extents before the bad one are marked then.
    pub fn mark_all_used(&self, used: impl IntoIterator<Item = Extent>) -> Result<(), ImageError> {
        self.mark(self.start, 2 * crate::SUPERBLOCK_LEN)?;
        for extent in used {
            self.mark(extent.offset, extent.len)?;
        }
        Ok(())
    }

    /// Gives a page-aligned range back to the kernel: it reads as zeros from now on, and is marked.
    ///
    /// # Errors
    /// [`ImageError::OutsideArea`], or [`ImageError::Memory`] when the file can't have holes.
    pub fn discard(&self, offset: u64, len: u64) -> Result<(), ImageError> {
        self.check(offset, len)?;
        self.mapping.punch_hole(offset, len)?;
        self.mark(offset, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> (ImageArea, DirtyBitmap) {
        let mapping = Mapping::anonymous("t", 1 << 20).unwrap();
        let words = Mapping::anonymous("t", DirtyBitmap::file_len(1 << 20)).unwrap();
        let bitmap = DirtyBitmap::new(words, 1 << 20).unwrap();
        (
            ImageArea::new(mapping, 1 << 19, Some(bitmap.clone())).unwrap(),
            bitmap,
        )
    }

    fn marked(bitmap: &DirtyBitmap) -> Vec<u64> {
        let mut pages = Vec::new();
        bitmap.take(|p| pages.push(p)).unwrap();
        pages
    }

    #[test]
    fn write_marks_every_touched_page() {
        let (area, bitmap) = area();
        area.write((1 << 19) + 4095, &[1, 2]).unwrap();
        assert_eq!(marked(&bitmap), [128, 129]);
    }

    #[test]
    fn write_into_the_window_is_refused_and_changes_nothing() {
        let (area, bitmap) = area();
        assert!(matches!(
            area.write((1 << 19) - 1, &[1, 2]),
            Err(ImageError::OutsideArea { .. })
        ));
        assert!(area.write((1 << 20) - 1, &[1, 2]).is_err());
        assert!(area.write(u64::MAX, &[1]).is_err());
        assert!(area.mark((1 << 19) - 1, 1).is_err());
        let mut byte = [9];
        area.mapping().read((1 << 20) - 1, &mut byte).unwrap();
        assert_eq!((byte, marked(&bitmap)), ([0], vec![]));
    }

    #[test]
    fn read_vec_of_a_hostile_length_is_refused_before_allocating() {
        let (area, _) = area();
        let hostile = Extent::new(1 << 19, u64::MAX - (1 << 19));
        assert!(matches!(
            area.read_vec(hostile, "t", u64::MAX),
            Err(ImageError::OutsideArea { .. })
        ));
        assert!(matches!(
            area.read_vec(Extent::new(1 << 19, 11), "t", 10),
            Err(ImageError::TooLarge { .. })
        ));
    }

    #[test]
    fn sealed_extent_with_a_flipped_byte_is_refused() {
        let (area, _) = area();
        let at = 1 << 19;
        let sealed = SealedExtent::write(&area, at, b"state record").unwrap();
        assert_eq!(sealed.read(&area, "t", 64).unwrap(), b"state record");
        area.write(at + 3, b"T").unwrap();
        assert!(matches!(
            sealed.read(&area, "t", 64),
            Err(ImageError::Checksum { offset, .. }) if offset == at
        ));
    }

    #[test]
    fn mark_all_used_marks_superblock_and_used_extents_only() {
        let (area, bitmap) = area();
        let mut allocator = area.extent_allocator();
        let used = allocator.alloc(1).unwrap();
        area.mark_all_used(allocator.used()).unwrap();
        let first = used / PAGE_SIZE;
        let want: Vec<u64> = [128, 129].into_iter().chain(first..first + 16).collect();
        assert_eq!(marked(&bitmap), want);
    }

    #[test]
    fn discard_zeroes_and_marks() {
        let (area, bitmap) = area();
        let at = (1 << 19) + 4096;
        area.write(at, &[7; 4096]).unwrap();
        marked(&bitmap);
        area.discard(at, 4096).unwrap();
        let mut page = [1; 4096];
        area.read(at, &mut page).unwrap();
        assert!(page.iter().all(|b| *b == 0));
        assert_eq!(marked(&bitmap), [129]);
    }

    #[test]
    fn area_without_room_or_alignment_is_refused() {
        let mapping = Mapping::anonymous("t", 1 << 20).unwrap();
        for start in [
            1,
            1 << 20,
            u64::MAX & !4095,
            (1 << 20) - 65536,
            (1 << 20) - 131072 + 61440,
        ] {
            assert!(
                ImageArea::new(mapping.clone(), start, None).is_err(),
                "{start:#x}"
            );
        }
        assert!(ImageArea::new(mapping, (1 << 20) - 131072, None).is_ok());
    }
}
