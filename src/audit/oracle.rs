//! The oracle: a test tool that proves the marks.
//!
//! After each submission it reads back all device-local memory, compares it with a copy of what it was, and fails if
//! anything changed that no mark covers. It trusts nothing of the tracker but the marks themselves, and costs a copy of all
//! memory, and of all memory for each check: for tests, on any host GPU.
//!
//! With marks made by [`Marks::by_command`] it counts, to the byte, what of each command's marks really changed.
//!
//! In order: [`Oracle::baseline`] before a submission (cheap for memory it knows already), [`Oracle::note`] with the
//! submission's marks, [`Oracle::check`] once the GPU is idle. Memory that is freed must be forgotten.

use std::collections::BTreeMap;
use std::fmt;

use crate::dirty::{CHUNK_SIZE, ChunkSet};
use crate::images::ImageRange;
use crate::marks::{Marks, MemoryRange, PartRange};
use crate::rules;

/// Most misses that one error names.
const MISSES_NAMED_MAX: usize = 8;
/// Most submissions that are remembered between two checks.
const SUMMARIES_MAX: usize = 64;

/// Something changed that was not marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misses {
    /// (memory id, chunk) of the first misses.
    pub chunks: Vec<(u64, u64)>,
    /// Number of misses.
    pub count: u64,
    /// Number of the last submission before the check.
    pub submission: u64,
    /// The submissions since the check before, as the caller described them.
    pub summaries: Vec<String>,
}

impl fmt::Display for Misses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} chunks changed without a mark by submission {}:",
            self.count, self.submission
        )?;
        for (memory, chunk) in &self.chunks {
            write!(f, " memory {memory:#x} chunk {chunk},")?;
        }
        write!(f, " after {}", self.summaries.join("; "))
    }
}

/// Why a check failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OracleError<E> {
    #[error("Missed writes: {0}")]
    Missed(Box<Misses>),
    #[error("Memory {memory:#x} cannot be read back: {error}")]
    ReadBack { memory: u64, error: E },
}

/// Figures of the oracle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OracleCounters {
    pub submissions: u64,
    pub checks: u64,
    /// Chunks covered by marks, each once a check.
    pub marked_chunks: u64,
    /// Chunks that had changed.
    pub changed_chunks: u64,
    /// Chunks that had changed without a mark.
    pub missed_chunks: u64,
}

impl OracleCounters {
    /// Marked chunks for each changed one; 1 is exact.
    pub fn over_marking(&self) -> f64 {
        self.marked_chunks as f64 / (self.changed_chunks.max(1)) as f64
    }
}

/// What one kind of command marked, and what of it changed. Each byte and chunk counts once a check, however often the
/// command marked it; what several commands marked counts for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandFigures {
    pub marked_bytes: u64,
    pub changed_bytes: u64,
    pub marked_chunks: u64,
    /// Chunks in which marked bytes changed.
    pub changed_chunks: u64,
    /// Levels and layers of images; what changed of them only whoever reads images can tell.
    pub marked_subresources: u64,
    pub changed_subresources: u64,
}

#[derive(Debug)]
struct Known {
    content: Vec<u8>,
    covered: ChunkSet,
}

impl Known {
    fn size(&self) -> u64 {
        self.content.len() as u64
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Oracle {
    known: BTreeMap<u64, Known>,
    summaries: Vec<String>,
    counters: OracleCounters,
    /// What commands marked since the last check, by the command's number.
    parts: BTreeMap<u16, Vec<MemoryRange>>,
    images: BTreeMap<u16, Vec<ImageRange>>,
    figures: BTreeMap<u16, CommandFigures>,
    /// One chunk's content.
    content: Vec<u8>,
}

impl Oracle {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn counters(&self) -> OracleCounters {
        self.counters
    }

    /// Figures by the command's name in vk.xml, of marks made by [`Marks::by_command`].
    pub fn by_command(&self) -> impl Iterator<Item = (String, CommandFigures)> + '_ {
        let figures = self.figures.iter();
        figures.map(|(command, figures)| (rules::command_name(*command), *figures))
    }

    /// Copies the memory objects (id, size in bytes) that it does not know yet. `read` fills its buffer from (memory,
    /// offset). Call it while nothing runs that may write to them.
    pub fn baseline<E>(
        &mut self,
        memories: impl IntoIterator<Item = (u64, u64)>,
        mut read: impl FnMut(u64, u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), OracleError<E>> {
        for (memory, size) in memories {
            if self
                .known
                .get(&memory)
                .is_some_and(|known| known.size() == size)
            {
                continue;
            }
            // What can be read back fits into memory.
            let mut content = vec![0; size as usize];
            for (chunk, part) in (0..).zip(content.chunks_mut(CHUNK_SIZE as usize)) {
                read(memory, chunk * CHUNK_SIZE, part)
                    .map_err(|error| OracleError::ReadBack { memory, error })?;
            }
            let covered = ChunkSet::empty(size);
            self.known.insert(memory, Known { content, covered });
        }
        Ok(())
    }

    /// Whether the memory object is known; one that is freed must have been forgotten.
    pub fn knows(&self, memory: u64) -> bool {
        self.known.contains_key(&memory)
    }

    /// Memory was freed.
    pub fn forget(&mut self, memory: u64) {
        self.known.remove(&memory);
    }

    /// A submission with `marks` goes to the GPU; `summary` says what it is, for the error.
    pub fn note(&mut self, marks: &Marks, summary: impl Into<String>) {
        self.counters.submissions += 1;
        if self.summaries.len() < SUMMARIES_MAX {
            self.summaries.push(summary.into());
        }
        for range in marks.device_ranges() {
            let Some(known) = self.known.get_mut(&range.memory) else {
                continue;
            };
            for chunk in chunks(&range) {
                known.covered.insert(chunk);
            }
        }
        for part in marks.parts() {
            match part.range {
                PartRange::Memory(range) => {
                    self.parts.entry(part.command).or_default().push(range);
                }
                PartRange::Image(range) => {
                    self.images.entry(part.command).or_default().push(range);
                }
            }
        }
    }

    /// Compares all known memory with what it was; call it when everything noted has retired. What it finds is the new
    /// state, so that the next check starts afresh, after an error too.
    ///
    /// # Errors
    /// [`OracleError::Missed`] when something changed that no mark since the last check covers.
    pub fn check<E>(
        &mut self,
        mut read: impl FnMut(u64, u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), OracleError<E>> {
        let mut misses = Misses {
            chunks: Vec::new(),
            count: 0,
            submission: self.counters.submissions,
            summaries: std::mem::take(&mut self.summaries),
        };
        self.counters.checks += 1;
        // All ranges of the commands by memory object, joined for each command.
        let mut parts: BTreeMap<u64, Vec<(u16, MemoryRange)>> = BTreeMap::new();
        for (command, mut ranges) in std::mem::take(&mut self.parts) {
            crate::marks::merge(&mut ranges);
            let figures = self.figures.entry(command).or_default();
            let mut last = None;
            for range in ranges {
                if !self.known.contains_key(&range.memory) {
                    // Host-visible: not read back.
                    continue;
                }
                figures.marked_bytes += range.len;
                for chunk in chunks(&range) {
                    if last.replace((range.memory, chunk)) != Some((range.memory, chunk)) {
                        figures.marked_chunks += 1;
                    }
                }
                parts
                    .entry(range.memory)
                    .or_default()
                    .push((command, range));
            }
        }
        for (memory, known) in &mut self.known {
            let parts = parts.remove(memory).unwrap_or_default();
            for (chunk, old) in (0..).zip(known.content.chunks_mut(CHUNK_SIZE as usize)) {
                let offset = chunk * CHUNK_SIZE;
                self.content.resize(old.len(), 0);
                read(*memory, offset, &mut self.content).map_err(|error| {
                    OracleError::ReadBack {
                        memory: *memory,
                        error,
                    }
                })?;
                if *old == self.content[..] {
                    continue;
                }
                count_changes(&parts, offset, (old, &self.content), &mut self.figures);
                old.copy_from_slice(&self.content);
                self.counters.changed_chunks += 1;
                if !known.covered.contains(chunk) {
                    misses.count += 1;
                    if misses.chunks.len() < MISSES_NAMED_MAX {
                        misses.chunks.push((*memory, chunk));
                    }
                }
            }
            self.counters.marked_chunks += known.covered.len();
            known.covered = ChunkSet::empty(known.size());
        }
        self.counters.missed_chunks += misses.count;
        match misses.count {
            0 => Ok(()),
            _ => Err(OracleError::Missed(Box::new(misses))),
        }
    }

    /// Counts the subresources, as (image, level, layer), that commands marked since the last call, and those of them that
    /// have `changed`: for whoever reads images.
    pub fn count_images(&mut self, changed: impl Fn(u64, u32, u32) -> bool) {
        for (command, ranges) in std::mem::take(&mut self.images) {
            let figures = self.figures.entry(command).or_default();
            let mut all: Vec<_> = ranges.iter().flat_map(subresources).collect();
            all.sort_unstable();
            all.dedup();
            figures.marked_subresources += all.len() as u64;
            let changed = all.iter().filter(|at| changed(at.0, at.1, at.2));
            figures.changed_subresources += changed.count() as u64;
        }
    }
}

/// The chunks that a range touches.
fn chunks(range: &MemoryRange) -> std::ops::RangeInclusive<u64> {
    let last = range.offset.saturating_add(range.len.saturating_sub(1));
    range.offset / CHUNK_SIZE..=last / CHUNK_SIZE
}

/// (image, level, layer) of each subresource of a range.
fn subresources(range: &ImageRange) -> impl Iterator<Item = (u64, u32, u32)> + use<> {
    let ImageRange {
        image,
        subresources: at,
    } = *range;
    let layers = move |mip| {
        (at.layer..at.layer.saturating_add(at.layers)).map(move |layer| (image, mip, layer))
    };
    (at.mip..at.mip.saturating_add(at.mips)).flat_map(layers)
}

/// Counts the bytes of a chunk at `offset` that changed, for each command that marked them.
fn count_changes(
    parts: &[(u16, MemoryRange)],
    offset: u64,
    (old, new): (&[u8], &[u8]),
    figures: &mut BTreeMap<u16, CommandFigures>,
) {
    let end = offset + old.len() as u64;
    let mut last = None;
    for (command, range) in parts {
        let start = range.offset.max(offset);
        let stop = (range.offset + range.len).min(end);
        if start >= stop {
            continue;
        }
        // Both inside of the chunk.
        let at = (start - offset) as usize..(stop - offset) as usize;
        let changed = old[at.clone()].iter().zip(&new[at]);
        let changed = changed.filter(|(old, new)| old != new).count() as u64;
        let figures = figures.entry(*command).or_default();
        figures.changed_bytes += changed;
        // The ranges of a command come one after the other.
        if changed > 0 && last.replace(*command) != Some(*command) {
            figures.changed_chunks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::convert::Infallible;

    use super::*;
    use crate::buffers::Buffer;
    use crate::tracker::{Robustness, Tracker};

    const SIZE: usize = 3 * CHUNK_SIZE as usize + 10;

    /// A buffer over all of each memory object of [`tracker`], of the same id.
    fn buffers() -> HashMap<u64, Buffer> {
        let buffer = |id| Buffer {
            size: SIZE as u64,
            binding: Some((id, 0)),
            addressed: false,
        };
        HashMap::from([1, 2].map(|id| (id, buffer(id))))
    }

    /// Two memory objects of 3 chunks and 10 bytes, 1 and 2.
    fn tracker() -> Tracker {
        let mut tracker = Tracker::new(Robustness::Descriptor, 1);
        tracker.command_pool_created(9).unwrap();
        tracker.command_buffer_allocated(10, 9).unwrap();
        for id in [1, 2] {
            tracker.memory_created(id, SIZE as u64, true).unwrap();
        }
        tracker
    }

    fn read(
        content: &RefCell<[Vec<u8>; 2]>,
    ) -> impl FnMut(u64, u64, &mut [u8]) -> Result<(), Infallible> + '_ {
        |memory, offset, out: &mut [u8]| {
            let offset = offset as usize;
            out.copy_from_slice(&content.borrow()[memory as usize - 1][offset..offset + out.len()]);
            Ok(())
        }
    }

    /// Marks of a write of `len` bytes at `offset` of memory 1.
    fn marks(offset: u64, len: u64) -> Marks {
        let mut tracker = tracker();
        tracker.record_buffer_write(10, 1, offset, len).unwrap();
        let mut marks = Marks::new();
        tracker
            .resolve_submit(&buffers(), [10], &mut marks)
            .unwrap();
        marks
    }

    const MEMORIES: [(u64, u64); 2] = [(1, SIZE as u64), (2, SIZE as u64)];

    #[test]
    fn check_marked_change_passes_and_counts() {
        let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
        let mut oracle = Oracle::new();
        oracle.baseline(MEMORIES, read(&content)).unwrap();

        oracle.note(&marks(SIZE as u64 - 1, 1), "last byte");
        content.borrow_mut()[0][SIZE - 1] = 1;
        oracle.check(read(&content)).unwrap();
        oracle.note(&marks(0, SIZE as u64), "everything, but one byte changes");
        content.borrow_mut()[0][0] = 1;
        oracle.check(read(&content)).unwrap();

        let counters = oracle.counters();
        assert_eq!((counters.submissions, counters.checks), (2, 2));
        assert_eq!((counters.marked_chunks, counters.changed_chunks), (5, 2));
        assert_eq!(counters.missed_chunks, 0);
        assert_eq!(counters.over_marking(), 2.5);
    }

    #[test]
    fn check_figures_by_command_count_what_changed_to_the_byte() {
        let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
        let mut oracle = Oracle::new();
        oracle.baseline(MEMORIES, read(&content)).unwrap();
        let mut tracker = tracker();
        // Two that touch, and one that lies over both: joined, they are a chunk and a half of memory 1.
        for (offset, len) in [(0, 10), (10, CHUNK_SIZE), (5, CHUNK_SIZE + CHUNK_SIZE / 2)] {
            tracker.record_buffer_write(10, 1, offset, len).unwrap();
        }
        let mut marks = Marks::by_command();
        tracker
            .resolve_submit(&buffers(), [10], &mut marks)
            .unwrap();

        oracle.note(&marks, "one");
        for at in [0, 7, CHUNK_SIZE as usize - 1, 2 * CHUNK_SIZE as usize - 1] {
            content.borrow_mut()[0][at] = 1;
        }
        let result = oracle.check(read(&content));

        // The last byte lies in a chunk that is marked, but not in the range.
        result.unwrap();
        let figures: Vec<_> = oracle.by_command().collect();
        let expected = CommandFigures {
            marked_bytes: CHUNK_SIZE + CHUNK_SIZE / 2 + 5,
            changed_bytes: 3,
            marked_chunks: 2,
            changed_chunks: 1,
            ..CommandFigures::default()
        };
        assert_eq!(figures, [("none".to_owned(), expected)]);
    }

    #[test]
    fn check_unmarked_change_fails_and_names_the_place() {
        for (memory, at) in [(0, CHUNK_SIZE as usize), (1, 5), (0, SIZE - 1)] {
            let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
            let mut oracle = Oracle::new();
            oracle.baseline(MEMORIES, read(&content)).unwrap();
            oracle.note(&marks(0, CHUNK_SIZE), "fill of the first chunk");
            content.borrow_mut()[memory][at] ^= 1;

            let result = oracle.check(read(&content));

            let Err(OracleError::Missed(misses)) = result else {
                panic!("passed: {result:?}");
            };
            assert_eq!(misses.chunks, [(memory as u64 + 1, at as u64 / CHUNK_SIZE)]);
            assert_eq!((misses.count, misses.submission), (1, 1));
            assert!(misses.to_string().contains("fill of the first chunk"));
            oracle.check(read(&content)).unwrap();
        }
    }

    #[test]
    fn check_mark_of_an_earlier_check_does_not_cover() {
        let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
        let mut oracle = Oracle::new();
        oracle.baseline(MEMORIES, read(&content)).unwrap();
        oracle.note(&marks(0, 1), "first");
        oracle.check(read(&content)).unwrap();

        content.borrow_mut()[0][0] = 1;

        assert!(matches!(
            oracle.check(read(&content)),
            Err(OracleError::Missed(_))
        ));
    }

    #[test]
    fn baseline_forgotten_memory_is_copied_anew() {
        let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
        let mut oracle = Oracle::new();
        oracle.baseline(MEMORIES, read(&content)).unwrap();

        oracle.forget(1);
        content.borrow_mut()[0][7] = 7;
        oracle.baseline(MEMORIES, read(&content)).unwrap();

        oracle.check(read(&content)).unwrap();
    }

    #[test]
    fn check_failed_read_is_an_error() {
        let content = RefCell::new([vec![0; SIZE], vec![0; SIZE]]);
        let mut oracle = Oracle::new();
        oracle.baseline(MEMORIES, read(&content)).unwrap();

        let result = oracle.check(|_, _, _: &mut [u8]| Err("gone"));

        assert_eq!(
            result,
            Err(OracleError::ReadBack {
                memory: 1,
                error: "gone"
            })
        );
    }
}
