//! Dropping what was marked but did not change.
//!
//! Marks are chunks of 64 KiB and say "may have been written". Before a chunk moves, its new content is compared with what
//! was captured last, by pages of 4 KiB. [`Narrower`] is the interface; [`compare`] is the comparison with a copy at hand
//! (the shadow), [`HashNarrower`] the reference that needs no copy.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

use crate::dirty::CHUNK_SIZE;

/// Bytes of a page.
pub const PAGE_SIZE: usize = 4096;

const PAGES_PER_CHUNK: usize = CHUNK_SIZE as usize / PAGE_SIZE;
const _: () = assert!(PAGES_PER_CHUNK == u16::BITS as usize);

/// The pages of one chunk, bit n for page n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageMask(pub u16);

impl PageMask {
    /// Number of pages.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Neighbouring pages joined: (first page, number of pages).
    pub fn runs(self) -> impl Iterator<Item = (u32, u32)> {
        let mut rest = u32::from(self.0);
        let mut at = 0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let gap = rest.trailing_zeros();
            let count = (rest >> gap).trailing_ones();
            let first = at + gap;
            rest >>= gap + count;
            at = first + count;
            Some((first, count))
        })
    }
}

/// What narrowing saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NarrowCounters {
    /// Bytes that were marked.
    pub marked_bytes: u64,
    /// Bytes of pages that had changed.
    pub changed_bytes: u64,
}

impl NarrowCounters {
    /// Bytes that did not have to move.
    pub fn narrowed_bytes(&self) -> u64 {
        self.marked_bytes - self.changed_bytes
    }

    /// Counts a chunk of `len` bytes of which `mask` had changed.
    fn count(&mut self, len: usize, mask: PageMask) {
        self.marked_bytes += len as u64;
        for page in 0..PAGES_PER_CHUNK {
            if mask.0 >> page & 1 == 1 {
                self.changed_bytes += (len - page * PAGE_SIZE).min(PAGE_SIZE) as u64;
            }
        }
    }
}

/// Finds the pages of a chunk that changed since it was asked last.
pub trait Narrower {
    /// Pages of chunk `chunk` of `memory` whose content in `new` (at most a chunk, the last page may be short) is not the
    /// one of the last call. The first call for a chunk takes its old content as zeros: that is what new memory holds.
    fn changed(&mut self, memory: u64, chunk: u64, new: &[u8]) -> PageMask;

    /// Forgets a memory object.
    fn forget(&mut self, memory: u64);
}

/// Pages that differ between `old` and `new`, both the content of one chunk. A page that only one of them has differs.
pub fn compare(old: &[u8], new: &[u8]) -> PageMask {
    debug_assert!(old.len() <= CHUNK_SIZE as usize && new.len() <= CHUNK_SIZE as usize);
    let mut mask = 0;
    for page in 0..PAGES_PER_CHUNK {
        let part = |content: &'_ [u8]| -> std::ops::Range<usize> {
            let start = (page * PAGE_SIZE).min(content.len());
            start..(start + PAGE_SIZE).min(content.len())
        };
        if old[part(old)] != new[part(new)] {
            mask |= 1 << page;
        }
    }
    PageMask(mask)
}

/// Keeps the xxh3-128 of each page: 256 bytes a chunk instead of a copy.
#[derive(Debug, Default)]
pub struct HashNarrower {
    pages: HashMap<u64, HashMap<u64, [u128; PAGES_PER_CHUNK]>>,
    counters: NarrowCounters,
}

impl HashNarrower {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn counters(&self) -> NarrowCounters {
        self.counters
    }
}

fn page_hashes(content: &[u8]) -> [u128; PAGES_PER_CHUNK] {
    let mut hashes = [0; PAGES_PER_CHUNK];
    for (hash, page) in hashes.iter_mut().zip(content.chunks(PAGE_SIZE)) {
        *hash = xxh3_128(page);
    }
    hashes
}

impl Narrower for HashNarrower {
    fn changed(&mut self, memory: u64, chunk: u64, new: &[u8]) -> PageMask {
        debug_assert!(new.len() <= CHUNK_SIZE as usize);
        let hashes = page_hashes(new);
        let known = self.pages.entry(memory).or_default();
        let old = known.insert(chunk, hashes).unwrap_or_else(|| {
            static ZEROS: [u8; CHUNK_SIZE as usize] = [0; CHUNK_SIZE as usize];
            page_hashes(&ZEROS[..new.len()])
        });
        let mut mask = 0;
        for (page, (old, new)) in old.iter().zip(&hashes).enumerate() {
            if old != new {
                mask |= 1 << page;
            }
        }
        self.counters.count(new.len(), PageMask(mask));
        PageMask(mask)
    }

    fn forget(&mut self, memory: u64) {
        self.pages.remove(&memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compare_single_byte_in_each_page_finds_that_page() {
        let old = vec![7u8; CHUNK_SIZE as usize];
        for page in 0..PAGES_PER_CHUNK {
            for offset in [0, PAGE_SIZE - 1] {
                let mut new = old.clone();
                new[page * PAGE_SIZE + offset] ^= 1;

                assert_eq!(compare(&old, &new), PageMask(1 << page));
            }
        }
    }

    #[test]
    fn compare_short_chunks_takes_a_missing_page_as_changed() {
        assert_eq!(compare(&[1; 5000], &[1; 5000]), PageMask(0));
        assert_eq!(compare(&[1; 5000], &[1; 4096]), PageMask(0b10));
        assert_eq!(compare(&[], &[]), PageMask(0));
    }

    #[test]
    fn hash_narrower_first_look_at_zeros_finds_nothing() {
        let mut narrower = HashNarrower::new();

        assert_eq!(narrower.changed(1, 0, &[0; 70]), PageMask(0));
        assert_eq!(
            narrower.changed(1, 1, &vec![0; CHUNK_SIZE as usize]),
            PageMask(0)
        );
    }

    #[test]
    fn hash_narrower_agrees_with_compare_and_counts() {
        let mut narrower = HashNarrower::new();
        let len = 3 * PAGE_SIZE + 100;
        let old: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let mut new = old.clone();
        new[PAGE_SIZE] ^= 0x80;
        new[len - 1] ^= 1;

        let first = narrower.changed(9, 4, &old);
        let second = narrower.changed(9, 4, &new);
        let third = narrower.changed(9, 4, &new);
        let elsewhere = narrower.changed(9, 5, &old);

        assert_eq!(first, PageMask(0b1111));
        assert_eq!(second, compare(&old, &new));
        assert_eq!(second, PageMask(0b1010));
        assert_eq!(third, PageMask(0));
        assert_eq!(elsewhere, PageMask(0b1111));
        let counters = narrower.counters();
        assert_eq!(counters.marked_bytes, 4 * len as u64);
        assert_eq!(counters.changed_bytes, (2 * len + PAGE_SIZE + 100) as u64);
        assert_eq!(
            counters.narrowed_bytes(),
            (2 * len - PAGE_SIZE - 100) as u64
        );
    }

    #[test]
    fn hash_narrower_forgotten_memory_starts_from_zeros() {
        let mut narrower = HashNarrower::new();
        narrower.changed(3, 0, &[5; 10]);

        narrower.forget(3);

        assert_eq!(narrower.changed(3, 0, &[5; 10]), PageMask(1));
    }

    #[test]
    fn page_mask_runs_join_neighbours() {
        let runs = |mask| PageMask(mask).runs().collect::<Vec<_>>();

        assert_eq!(runs(0), []);
        assert_eq!(runs(0xffff), [(0, 16)]);
        assert_eq!(runs(0b1000_0000_0110_0001), [(0, 1), (5, 2), (15, 1)]);
        assert_eq!(PageMask(0b11).count(), 2);
        assert!(PageMask(0).is_empty());
    }
}
