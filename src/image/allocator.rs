//! A best-fit allocator of aligned ranges, for the window and for the image's extents.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::Extent;

/// Why a range can't be freed, reserved or managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocatorError {
    /// The managed range or the alignment makes no sense.
    #[error("Range {start:#x}..{end:#x} can't be managed in units of {align:#x}")]
    Unmanageable {
        /// Start of the range.
        start: u64,
        /// End of the range.
        end: u64,
        /// Wanted unit, bytes.
        align: u64,
    },
    /// The range is empty, misaligned, or leaves what is managed.
    #[error("Range {offset:#x}+{len:#x} was never managed here")]
    NotManaged {
        /// Start of the range.
        offset: u64,
        /// Length of the range, bytes.
        len: u64,
    },
    /// Part of a range to free is free already.
    #[error("Range {offset:#x}+{len:#x} is freed twice")]
    NotUsed {
        /// Start of the range.
        offset: u64,
        /// Length of the range, bytes.
        len: u64,
    },
    /// Part of a range to reserve is in use.
    #[error("Range {offset:#x}+{len:#x} is in use already")]
    NotFree {
        /// Start of the range.
        offset: u64,
        /// Length of the range, bytes.
        len: u64,
    },
    /// The quota would be exceeded.
    #[error("{wanted} bytes in use would exceed the limit of {limit}")]
    Limit {
        /// What would be in use, bytes.
        wanted: u64,
        /// The limit, bytes.
        limit: u64,
    },
    /// A stored allocator contradicts itself.
    #[error("Stored free list is not sorted, merged and inside the managed range")]
    BadFreeList,
}

/// Hands out ranges of `start..end` in multiples of one alignment.
///
/// Best fit, lowest offset first among equals, so that big free ranges stay big. Free neighbours
/// are always merged. Lengths are rounded up to the alignment, in [`free`](Self::free) and
/// [`reserve`](Self::reserve) as in [`alloc`](Self::alloc).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct RangeAllocator {
    start: u64,
    end: u64,
    align: u64,
    limit: u64,
    used: u64,
    /// Free ranges, offset to length.
    free: BTreeMap<u64, u64>,
    /// The same ranges as (length, offset).
    by_len: BTreeSet<(u64, u64)>,
}

impl RangeAllocator {
    /// An allocator over `start..end` (bytes, multiples of `align`), all of it free.
    ///
    /// # Errors
    /// [`AllocatorError::Unmanageable`] unless `align` is a power of two, both ends are multiples of
    /// it, and the range is not empty.
    pub fn new(start: u64, end: u64, align: u64) -> Result<Self, AllocatorError> {
        let sound = align.is_power_of_two()
            && start.is_multiple_of(align)
            && end.is_multiple_of(align)
            && start < end;
        if !sound {
            return Err(AllocatorError::Unmanageable { start, end, align });
        }
        let mut allocator = Self {
            start,
            end,
            align,
            limit: end - start,
            used: 0,
            free: BTreeMap::new(),
            by_len: BTreeSet::new(),
        };
        allocator.insert(start, end - start);
        Ok(allocator)
    }

    /// The same with a quota: no more than `limit` bytes in use at any time.
    pub fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit.min(self.end - self.start);
        self
    }

    /// First managed byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// One past the last managed byte.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Unit of every range, bytes.
    pub fn align(&self) -> u64 {
        self.align
    }

    /// Bytes in use, rounding included.
    pub fn used_bytes(&self) -> u64 {
        self.used
    }

    /// Bytes that may still be handed out, though perhaps not in one piece.
    pub fn available_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    /// Largest range that [`alloc`](Self::alloc) would hand out now, bytes.
    pub fn largest_free(&self) -> u64 {
        let largest = self.by_len.last().map_or(0, |(len, _)| *len);
        largest.min(self.available_bytes() / self.align * self.align)
    }

    /// What a request of `len` bytes takes; none when that overflows.
    pub fn rounded(&self, len: u64) -> Option<u64> {
        len.checked_next_multiple_of(self.align)
    }

    /// A range of at least `len` bytes, or none when nothing fits, the quota is reached or `len` is 0.
    pub fn alloc(&mut self, len: u64) -> Option<u64> {
        let len = self.rounded(len).filter(|len| *len > 0)?;
        let wanted = self.used.checked_add(len)?;
        if wanted > self.limit {
            return None;
        }
        let &(found_len, offset) = self.by_len.range((len, 0)..).next()?;
        self.remove(offset, found_len);
        if found_len > len {
            self.insert(offset + len, found_len - len);
        }
        self.used = wanted;
        Some(offset)
    }

    /// Gives back a range, or part of one. It may be handed out again at once: who frees has made
    /// sure that nothing writes there any more and that it holds nobody's secrets.
    ///
    /// # Errors
    /// [`AllocatorError::NotManaged`], [`AllocatorError::NotUsed`]: nothing is freed then.
    pub fn free(&mut self, offset: u64, len: u64) -> Result<(), AllocatorError> {
        let (len, end) = self.managed(offset, len)?;
        let before = self.before(end);
        if before.is_some_and(|(o, l)| o + l > offset) {
            return Err(AllocatorError::NotUsed { offset, len });
        }
        let (mut merged_offset, mut merged_len) = (offset, len);
        if let Some((o, l)) = before.filter(|(o, l)| o + l == offset) {
            self.remove(o, l);
            merged_offset = o;
            merged_len += l;
        }
        if let Some(&l) = self.free.get(&end) {
            self.remove(end, l);
            merged_len += l;
        }
        self.insert(merged_offset, merged_len);
        self.used -= len;
        Ok(())
    }

    /// Takes the very range `offset..offset + len`, for a restore.
    ///
    /// # Errors
    /// [`AllocatorError::NotManaged`], [`AllocatorError::NotFree`], [`AllocatorError::Limit`]:
    /// nothing is taken then.
    pub fn reserve(&mut self, offset: u64, len: u64) -> Result<(), AllocatorError> {
        let (len, end) = self.managed(offset, len)?;
        let (free_offset, free_len) = self
            .before(end)
            .filter(|(o, l)| *o <= offset && o + l >= end)
            .ok_or(AllocatorError::NotFree { offset, len })?;
        let wanted = self.used.saturating_add(len);
        if wanted > self.limit {
            return Err(AllocatorError::Limit {
                wanted,
                limit: self.limit,
            });
        }
        self.remove(free_offset, free_len);
        if free_offset < offset {
            self.insert(free_offset, offset - free_offset);
        }
        let free_end = free_offset + free_len;
        if end < free_end {
            self.insert(end, free_end - end);
        }
        self.used = wanted;
        Ok(())
    }

    /// Everything in use, in order; neighbours appear as one range.
    pub fn used(&self) -> impl Iterator<Item = Extent> {
        let gaps_end = self.free.keys().copied().chain([self.end]);
        let gaps_start = [self.start]
            .into_iter()
            .chain(self.free.iter().map(|(o, l)| o + l));
        gaps_start
            .zip(gaps_end)
            .filter(|(start, end)| start < end)
            .map(|(start, end)| Extent::new(start, end - start))
    }

    /// The rounded length and the end of a managed range.
    fn managed(&self, offset: u64, len: u64) -> Result<(u64, u64), AllocatorError> {
        let outside = AllocatorError::NotManaged { offset, len };
        let len = self.rounded(len).filter(|len| *len > 0).ok_or(outside)?;
        let end = offset.checked_add(len).ok_or(outside)?;
        if !offset.is_multiple_of(self.align) || offset < self.start || end > self.end {
            return Err(outside);
        }
        Ok((len, end))
    }

    /// The last free range that starts before `end`.
    fn before(&self, end: u64) -> Option<(u64, u64)> {
        self.free.range(..end).next_back().map(|(o, l)| (*o, *l))
    }

    fn insert(&mut self, offset: u64, len: u64) {
        self.free.insert(offset, len);
        self.by_len.insert((len, offset));
    }

    fn remove(&mut self, offset: u64, len: u64) {
        self.free.remove(&offset);
        self.by_len.remove(&(len, offset));
    }
}

/// What is kept of an allocator.
#[derive(Clone, Serialize, Deserialize)]
struct Stored {
    start: u64,
    end: u64,
    align: u64,
    limit: u64,
    free: Vec<Extent>,
}

impl From<RangeAllocator> for Stored {
    fn from(allocator: RangeAllocator) -> Self {
        Self {
            start: allocator.start,
            end: allocator.end,
            align: allocator.align,
            limit: allocator.limit,
            free: allocator
                .free
                .iter()
                .map(|(offset, len)| Extent::new(*offset, *len))
                .collect(),
        }
    }
}

impl TryFrom<Stored> for RangeAllocator {
    type Error = AllocatorError;

    fn try_from(stored: Stored) -> Result<Self, AllocatorError> {
        let mut allocator = Self::new(stored.start, stored.end, stored.align)?;
        allocator.remove(stored.start, stored.end - stored.start);
        let mut free_bytes = 0;
        let mut floor = None;
        for extent in stored.free {
            let (len, end) = allocator
                .managed(extent.offset, extent.len)
                .map_err(|_| AllocatorError::BadFreeList)?;
            // Free neighbours are always merged, so at least a unit lies between two.
            if len != extent.len || floor.is_some_and(|floor| extent.offset <= floor) {
                return Err(AllocatorError::BadFreeList);
            }
            allocator.insert(extent.offset, len);
            free_bytes += len;
            floor = Some(end);
        }
        allocator.used = (stored.end - stored.start) - free_bytes;
        allocator = allocator.with_limit(stored.limit);
        if allocator.used > allocator.limit {
            return Err(AllocatorError::Limit {
                wanted: allocator.used,
                limit: allocator.limit,
            });
        }
        Ok(allocator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALIGN: u64 = 4096;

    fn allocator(units: u64) -> RangeAllocator {
        RangeAllocator::new(ALIGN, ALIGN * (units + 1), ALIGN).unwrap()
    }

    #[test]
    fn alloc_takes_the_smallest_range_that_fits() {
        let mut a = allocator(16);
        let first = a.alloc(4 * ALIGN).unwrap();
        let wall = a.alloc(ALIGN).unwrap();
        let second = a.alloc(2 * ALIGN).unwrap();
        let _wall = a.alloc(ALIGN).unwrap();
        a.free(first, 4 * ALIGN).unwrap();
        a.free(second, 2 * ALIGN).unwrap();
        assert_eq!(a.alloc(ALIGN + 1), Some(second));
        assert_eq!(a.alloc(3 * ALIGN), Some(first));
        assert_eq!(a.alloc(1), Some(wall - ALIGN));
    }

    #[test]
    fn alloc_of_nothing_too_much_or_past_the_quota_returns_none() {
        let mut a = allocator(4).with_limit(2 * ALIGN);
        assert_eq!(a.alloc(0), None);
        assert_eq!(a.alloc(u64::MAX), None);
        assert_eq!(a.alloc(3 * ALIGN), None);
        assert!(a.alloc(2 * ALIGN).is_some());
        assert_eq!(a.alloc(1), None);
        assert_eq!(
            a.reserve(3 * ALIGN, ALIGN),
            Err(AllocatorError::Limit {
                wanted: 3 * ALIGN,
                limit: 2 * ALIGN
            })
        );
        assert_eq!((a.available_bytes(), a.largest_free()), (0, 0));
    }

    #[test]
    fn free_twice_or_elsewhere_is_refused() {
        let mut a = allocator(4);
        let r = a.alloc(2 * ALIGN).unwrap();
        a.free(r, ALIGN).unwrap();
        assert!(matches!(
            a.free(r, 2 * ALIGN),
            Err(AllocatorError::NotUsed { .. })
        ));
        for (offset, len) in [
            (0, ALIGN),
            (r + 1, ALIGN),
            (r, 0),
            (r, u64::MAX),
            (u64::MAX - 4095, ALIGN),
        ] {
            assert!(
                matches!(a.free(offset, len), Err(AllocatorError::NotManaged { .. })),
                "{offset:#x}+{len:#x}"
            );
        }
        assert_eq!(a.used_bytes(), ALIGN);
    }

    #[test]
    fn reserve_of_a_used_range_is_refused() {
        let mut a = allocator(4);
        a.reserve(2 * ALIGN, ALIGN).unwrap();
        assert!(matches!(
            a.reserve(ALIGN, 2 * ALIGN),
            Err(AllocatorError::NotFree { .. })
        ));
        assert_eq!(
            a.used().collect::<Vec<_>>(),
            [Extent::new(2 * ALIGN, ALIGN)]
        );
    }

    #[test]
    fn stored_free_list_that_lies_is_refused() {
        let base = serde_json::json!({"start": 0, "end": 65536, "align": 4096, "limit": 65536});
        let free = |list: serde_json::Value| {
            let mut v = base.clone();
            v["free"] = list;
            serde_json::from_value::<RangeAllocator>(v)
        };
        let e = |offset: u64, len: u64| serde_json::json!({"offset": offset, "len": len});
        assert_eq!(
            free(serde_json::json!([e(0, 4096), e(8192, 4096)]))
                .unwrap()
                .used_bytes(),
            57344
        );
        for list in [
            vec![e(8192, 4096), e(0, 4096)],
            vec![e(0, 4096), e(4096, 4096)],
            vec![e(0, 4095)],
            vec![e(0, 0)],
            vec![e(61440, 8192)],
            vec![e(0, 8192), e(4096, 8192)],
            vec![e(0, u64::MAX)],
        ] {
            assert!(free(list.clone().into()).is_err(), "{list:?}");
        }
        let mut v = base.clone();
        v["limit"] = 4096.into();
        v["free"] = serde_json::json!([]);
        assert!(serde_json::from_value::<RangeAllocator>(v).is_err());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Alloc(u64),
        Free(usize),
        Reserve(u64, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1..9 * ALIGN).prop_map(Step::Alloc),
            2 => any::<usize>().prop_map(Step::Free),
            1 => (0..70u64, 1..5 * ALIGN).prop_map(|(o, l)| Step::Reserve(o * ALIGN, l)),
        ]
    }

    proptest! {
        /// Against a plain map of units: no overlap, exact accounting, everything freed merges.
        #[test]
        fn any_steps_never_overlap_and_merge_when_all_is_freed(
            steps in prop::collection::vec(step(), 1..200)
        ) {
            let mut a = allocator(64);
            let mut units = [false; 66];
            let mut live: Vec<(u64, u64)> = Vec::new();
            let span = |o: u64, l: u64| (o / ALIGN) as usize..(o / ALIGN + l.div_ceil(ALIGN)) as usize;
            for step in steps {
                match step {
                    Step::Alloc(len) => {
                        let longest = units[1..65].split(|u| *u).map(<[bool]>::len).max().unwrap();
                        let got = a.alloc(len);
                        prop_assert_eq!(got.is_some(), len.div_ceil(ALIGN) <= longest as u64);
                        if let Some(o) = got {
                            prop_assert!(units[span(o, len)].iter().all(|u| !u));
                            units[span(o, len)].fill(true);
                            live.push((o, len));
                        }
                    }
                    Step::Free(_) if live.is_empty() => {}
                    Step::Free(i) => {
                        let (o, len) = live.swap_remove(i % live.len());
                        a.free(o, len).unwrap();
                        units[span(o, len)].fill(false);
                        prop_assert!(a.free(o, len).is_err());
                    }
                    Step::Reserve(o, len) => {
                        let s = span(o, len);
                        let fits = s.start >= 1 && s.end <= 65 && units[s.clone()].iter().all(|u| !u);
                        prop_assert_eq!(a.reserve(o, len).is_ok(), fits);
                        if fits {
                            units[s].fill(true);
                            live.push((o, len));
                        }
                    }
                }
                let used = units.iter().filter(|u| **u).count() as u64 * ALIGN;
                prop_assert_eq!(a.used_bytes(), used);
                prop_assert_eq!(a.used().map(|e| e.len).sum::<u64>(), used);
                let json = serde_json::to_string(&a).unwrap();
                prop_assert_eq!(&serde_json::from_str::<RangeAllocator>(&json).unwrap(), &a);
            }
            for (o, len) in live {
                a.free(o, len).unwrap();
            }
            prop_assert_eq!(a, allocator(64));
        }
    }
}
