//! The dirty bitmap shared with QEMU: a bit per 4 KiB page of the arena.

use std::sync::atomic::Ordering;

use crate::{Mapping, MemoryError};

/// Bytes behind one bit.
pub const PAGE_SIZE: u64 = 4096;

/// A dirty bitmap in shared memory: little-endian `u64` words, bit `n` of the whole is page `n`.
///
/// Writers write first and mark afterwards, with release order; the reader takes a word with an
/// atomic exchange before it reads the pages. So a page is never taken clean while a write to it
/// is still on its way.
#[derive(Clone, Debug)]
pub struct DirtyBitmap {
    words: Mapping,
    pages: u64,
}

impl DirtyBitmap {
    /// Length in bytes of a bitmap over `tracked_len` bytes, in whole pages.
    pub fn file_len(tracked_len: u64) -> u64 {
        tracked_len
            .div_ceil(PAGE_SIZE)
            .div_ceil(8)
            .next_multiple_of(PAGE_SIZE)
    }

    /// A bitmap over `tracked_len` bytes, held in `words`.
    ///
    /// # Errors
    /// [`MemoryError::Short`] when `words` has too few bits.
    pub fn new(words: Mapping, tracked_len: u64) -> Result<Self, MemoryError> {
        let pages = tracked_len.div_ceil(PAGE_SIZE);
        let wanted = pages.div_ceil(64) * 8;
        if words.len() < wanted {
            return Err(MemoryError::Short {
                file_len: words.len(),
                wanted,
            });
        }
        Ok(Self { words, pages })
    }

    /// The file that holds the bits.
    pub fn file(&self) -> &std::sync::Arc<std::fs::File> {
        self.words.file()
    }

    /// Marks every page that `offset..offset + len` touches.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`]: nothing is marked then.
    pub fn mark(&self, offset: u64, len: u64) -> Result<(), MemoryError> {
        if len == 0 {
            return Ok(());
        }
        let end = offset
            .checked_add(len)
            .filter(|end| end.div_ceil(PAGE_SIZE) <= self.pages)
            .ok_or(MemoryError::OutOfRange {
                offset,
                len,
                mapping_len: self.pages * PAGE_SIZE,
            })?;
        let (first, last) = (offset / PAGE_SIZE, (end - 1) / PAGE_SIZE);
        for word in first / 64..=last / 64 {
            let low = first.max(word * 64) - word * 64;
            let high = last.min(word * 64 + 63) - word * 64;
            let mask = (u64::MAX >> (63 - (high - low))) << low;
            self.words
                .atomic_u64(word * 8)?
                .fetch_or(mask.to_le(), Ordering::Release);
        }
        Ok(())
    }

    /// Takes and clears all bits, calling `page` with each marked page's number.
    ///
    /// # Errors
    /// None in practice: the words were checked when the bitmap was made.
    pub fn take(&self, mut page: impl FnMut(u64)) -> Result<(), MemoryError> {
        for word in 0..self.pages.div_ceil(64) {
            let mut bits =
                u64::from_le(self.words.atomic_u64(word * 8)?.swap(0, Ordering::Acquire));
            while bits != 0 {
                page(word * 64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(bitmap: &DirtyBitmap) -> Vec<u64> {
        let mut pages = Vec::new();
        bitmap.take(|p| pages.push(p)).unwrap();
        pages
    }

    #[test]
    fn mark_across_words_sets_each_touched_page_once() {
        let words = Mapping::anonymous("t", DirtyBitmap::file_len(1 << 20)).unwrap();
        let bitmap = DirtyBitmap::new(words, 1 << 20).unwrap();
        bitmap.mark(62 * 4096 + 4095, 2 * 4096).unwrap();
        bitmap.mark(200 * 4096, 1).unwrap();
        bitmap.mark(0, 0).unwrap();
        assert_eq!(marked(&bitmap), [62, 63, 64, 200]);
        assert_eq!(marked(&bitmap), [0; 0]);
    }

    #[test]
    fn mark_past_the_end_is_refused_and_marks_nothing() {
        let words = Mapping::anonymous("t", 4096).unwrap();
        let bitmap = DirtyBitmap::new(words, 64 * 4096).unwrap();
        assert!(bitmap.mark(63 * 4096, 4097).is_err());
        assert!(bitmap.mark(u64::MAX, 2).is_err());
        assert_eq!(marked(&bitmap), [0; 0]);
    }

    #[test]
    fn bitmap_shorter_than_its_memory_is_refused() {
        let words = Mapping::anonymous("t", 4096).unwrap();
        assert!(DirtyBitmap::new(words, 4096 * 8 * 4096 + 1).is_err());
    }
}
