//! Which chunks of a memory object may have changed since they were last captured.
//!
//! Submissions mark, captures take. Both may run at once on any thread without a lock. The protocol that makes it lose
//! nothing: a submission marks what it may write *before* it is handed to the GPU and *again after* it retired, and a
//! capture takes the marks *before* it copies. A capture between the two marks then copies too early, but leaves the
//! second mark behind.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a chunk.
pub const CHUNK_SIZE: u64 = 64 * 1024;

const CHUNKS_PER_WORD: u64 = u64::BITS as u64;

/// The chunk bits of one memory object.
#[derive(Debug)]
pub struct DirtyMap {
    size: u64,
    words: Box<[AtomicU64]>,
    /// Bytes that calls of `mark` and `mark_all` covered, in whole chunks, repeats included.
    marked_bytes: AtomicU64,
    taken_chunks: AtomicU64,
    put_back_chunks: AtomicU64,
}

/// Figures of a [`DirtyMap`] since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirtyCounters {
    /// Bytes of the chunks that were marked, each mark counted.
    pub marked_bytes: u64,
    /// Chunks handed out by `take`.
    pub taken_chunks: u64,
    /// Chunks returned by `put_back`.
    pub put_back_chunks: u64,
}

impl DirtyMap {
    /// A clean map for a memory object of `size` bytes.
    pub fn new(size: u64) -> Self {
        let words = size.div_ceil(CHUNK_SIZE).div_ceil(CHUNKS_PER_WORD);
        Self {
            size,
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
            marked_bytes: AtomicU64::new(0),
            taken_chunks: AtomicU64::new(0),
            put_back_chunks: AtomicU64::new(0),
        }
    }

    /// Size of the memory object in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Number of chunks, the last of which may be short.
    pub fn chunks(&self) -> u64 {
        self.size.div_ceil(CHUNK_SIZE)
    }

    /// Marks every chunk that `len` bytes at `offset` touch. What lies beyond the memory object is ignored.
    pub fn mark(&self, offset: u64, len: u64) {
        let end = offset.saturating_add(len).min(self.size);
        if offset >= end {
            return;
        }
        let first = offset / CHUNK_SIZE;
        let last = (end - 1) / CHUNK_SIZE;
        let bytes = (last - first + 1) * CHUNK_SIZE;
        self.marked_bytes.fetch_add(bytes, Ordering::Relaxed);
        for index in first / CHUNKS_PER_WORD..=last / CHUNKS_PER_WORD {
            let start = index * CHUNKS_PER_WORD;
            let low = first.saturating_sub(start);
            let high = (last - start).min(CHUNKS_PER_WORD - 1);
            let mask = (u64::MAX << low) & (u64::MAX >> (CHUNKS_PER_WORD - 1 - high));
            // Release, and never skipped when the bit is set already: a capture that takes this bit must also see
            // everything that came before the mark, the retirement of the submission above all.
            self.words[index as usize].fetch_or(mask, Ordering::Release);
        }
    }

    /// Marks every chunk.
    pub fn mark_all(&self) {
        self.mark(0, self.size);
    }

    /// Takes the marked chunks and leaves a clean map, word by word: a mark that comes meanwhile is either in the result
    /// or still in the map.
    pub fn take(&self) -> ChunkSet {
        let words: Box<[u64]> = self
            .words
            .iter()
            .map(|word| word.swap(0, Ordering::AcqRel))
            .collect();
        let set = ChunkSet {
            size: self.size,
            words,
        };
        self.taken_chunks.fetch_add(set.len(), Ordering::Relaxed);
        set
    }

    /// Marks the chunks of `set` again: the capture that took them failed. A set of another size counts as everything.
    pub fn put_back(&self, set: &ChunkSet) {
        if set.size != self.size {
            self.mark_all();
            return;
        }
        for (word, bits) in self.words.iter().zip(&set.words) {
            if *bits != 0 {
                word.fetch_or(*bits, Ordering::Release);
            }
        }
        self.put_back_chunks.fetch_add(set.len(), Ordering::Relaxed);
    }

    /// The marked chunks as they are now; the map stays as it is.
    pub fn peek(&self) -> ChunkSet {
        ChunkSet {
            size: self.size,
            words: self
                .words
                .iter()
                .map(|word| word.load(Ordering::Acquire))
                .collect(),
        }
    }

    /// Number of marked chunks.
    pub fn dirty_chunks(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()))
            .sum()
    }

    /// The figures so far.
    pub fn counters(&self) -> DirtyCounters {
        DirtyCounters {
            marked_bytes: self.marked_bytes.load(Ordering::Relaxed),
            taken_chunks: self.taken_chunks.load(Ordering::Relaxed),
            put_back_chunks: self.put_back_chunks.load(Ordering::Relaxed),
        }
    }
}

/// A set of chunks of one memory object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkSet {
    size: u64,
    words: Box<[u64]>,
}

impl ChunkSet {
    /// No chunk of a memory object of `size` bytes.
    pub fn empty(size: u64) -> Self {
        let words = size.div_ceil(CHUNK_SIZE).div_ceil(CHUNKS_PER_WORD);
        Self {
            size,
            words: vec![0; words as usize].into(),
        }
    }

    /// Number of chunks in the set.
    pub fn len(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether chunk `index` is in the set.
    pub fn contains(&self, index: u64) -> bool {
        let Some(word) = self.words.get((index / CHUNKS_PER_WORD) as usize) else {
            return false;
        };
        word >> (index % CHUNKS_PER_WORD) & 1 == 1
    }

    /// Adds chunk `index`; one beyond the memory object is ignored.
    pub fn insert(&mut self, index: u64) {
        if index < self.size.div_ceil(CHUNK_SIZE) {
            self.words[(index / CHUNKS_PER_WORD) as usize] |= 1 << (index % CHUNKS_PER_WORD);
        }
    }

    /// Takes chunk `index` out.
    pub fn remove(&mut self, index: u64) {
        if let Some(word) = self.words.get_mut((index / CHUNKS_PER_WORD) as usize) {
            *word &= !(1 << (index % CHUNKS_PER_WORD));
        }
    }

    /// Adds the chunks of `other`. A set of another size counts as everything.
    pub fn union(&mut self, other: &ChunkSet) {
        if other.size != self.size {
            for index in 0..self.size.div_ceil(CHUNK_SIZE) {
                self.insert(index);
            }
            return;
        }
        for (word, bits) in self.words.iter_mut().zip(&other.words) {
            *word |= bits;
        }
    }

    /// The chunks' numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut bits = *word;
            std::iter::from_fn(move || {
                if bits == 0 {
                    return None;
                }
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                Some(index as u64 * CHUNKS_PER_WORD + u64::from(bit))
            })
        })
    }

    /// Neighbouring chunks joined: (offset, length) in bytes, in order, the last one cut at the memory object's end.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut chunks = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = chunks.next()?;
            let mut last = first;
            while chunks.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            let offset = first * CHUNK_SIZE;
            let end = ((last + 1) * CHUNK_SIZE).min(self.size);
            Some((offset, end - offset))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn marked(size: u64, marks: &[(u64, u64)]) -> Vec<u64> {
        let map = DirtyMap::new(size);
        for (offset, len) in marks {
            map.mark(*offset, *len);
        }
        map.take().iter().collect()
    }

    #[test]
    fn mark_ranges_at_chunk_borders_marks_exactly_the_touched_chunks() {
        const C: u64 = CHUNK_SIZE;

        assert_eq!(marked(10 * C, &[(0, 1)]), [0]);
        assert_eq!(marked(10 * C, &[(0, C)]), [0]);
        assert_eq!(marked(10 * C, &[(0, C + 1)]), [0, 1]);
        assert_eq!(marked(10 * C, &[(C - 1, 2)]), [0, 1]);
        assert_eq!(marked(10 * C, &[(C, C)]), [1]);
        assert_eq!(marked(10 * C, &[(3 * C + 5, 0)]), []);
        assert_eq!(marked(10 * C, &[(9 * C, u64::MAX)]), [9]);
        assert_eq!(marked(10 * C, &[(10 * C, 1), (u64::MAX, u64::MAX)]), []);
        assert_eq!(marked(0, &[(0, 1)]), []);
        assert_eq!(marked(1, &[(0, 1)]), [0]);
    }

    #[test]
    fn mark_across_words_marks_every_chunk_between() {
        const C: u64 = CHUNK_SIZE;
        for (first, last) in [(0, 63), (63, 64), (1, 200), (64, 127), (127, 128), (0, 199)] {
            let expected: Vec<u64> = (first..=last).collect();

            assert_eq!(
                marked(200 * C + 7, &[(first * C, (last - first + 1) * C)]),
                expected
            );
        }
    }

    #[test]
    fn mark_all_short_last_chunk_is_included() {
        let map = DirtyMap::new(65 * CHUNK_SIZE + 1);

        map.mark_all();

        assert_eq!(map.dirty_chunks(), 66);
        assert_eq!(map.chunks(), 66);
        assert_eq!(
            map.take().runs().collect::<Vec<_>>(),
            [(0, 65 * CHUNK_SIZE + 1)]
        );
    }

    #[test]
    fn take_twice_second_is_empty_and_put_back_restores() {
        let map = DirtyMap::new(300 * CHUNK_SIZE);
        map.mark(0, 1);
        map.mark(299 * CHUNK_SIZE, 1);

        let set = map.take();
        assert!(map.take().is_empty());
        map.mark(5 * CHUNK_SIZE, 1);
        map.put_back(&set);

        assert_eq!(map.take().iter().collect::<Vec<_>>(), [0, 5, 299]);
        let counters = map.counters();
        assert_eq!(counters.marked_bytes, 3 * CHUNK_SIZE);
        assert_eq!(counters.taken_chunks, 5);
        assert_eq!(counters.put_back_chunks, 2);
    }

    #[test]
    fn put_back_of_foreign_set_marks_everything() {
        let map = DirtyMap::new(3 * CHUNK_SIZE);

        map.put_back(&ChunkSet::empty(5 * CHUNK_SIZE));

        assert_eq!(map.dirty_chunks(), 3);
    }

    #[test]
    fn runs_join_neighbours_across_words() {
        let map = DirtyMap::new(100 * CHUNK_SIZE + 10);
        for chunk in [2, 3, 62, 63, 64, 65, 99, 100] {
            map.mark(chunk * CHUNK_SIZE, 1);
        }

        let runs: Vec<(u64, u64)> = map.take().runs().collect();

        let expected = [
            (2 * CHUNK_SIZE, 2 * CHUNK_SIZE),
            (62 * CHUNK_SIZE, 4 * CHUNK_SIZE),
            (99 * CHUNK_SIZE, CHUNK_SIZE + 10),
        ];
        assert_eq!(runs, expected);
    }

    #[test]
    fn chunk_set_insert_remove_union_keep_the_members() {
        let mut set = ChunkSet::empty(70 * CHUNK_SIZE);
        set.insert(1);
        set.insert(69);
        set.insert(70);
        let mut other = ChunkSet::empty(70 * CHUNK_SIZE);
        other.insert(4);
        set.union(&other);
        set.remove(1);
        set.remove(1_000_000);

        assert_eq!(set.iter().collect::<Vec<_>>(), [4, 69]);
        assert!(set.contains(4) && !set.contains(1) && !set.contains(1_000_000));
        assert_eq!(set.len(), 2);
    }

    /// Writers write a value and then mark; a capture takes and then reads. Whatever it misses must still be marked: at
    /// the end, one more capture makes the copy equal to the original.
    #[test]
    fn concurrent_marks_and_takes_lose_no_write() {
        const CHUNKS: u64 = 130;
        let map = Arc::new(DirtyMap::new(CHUNKS * CHUNK_SIZE));
        let content: Arc<Vec<AtomicU64>> =
            Arc::new((0..CHUNKS).map(|_| AtomicU64::new(0)).collect());
        let stop = Arc::new(AtomicBool::new(false));

        let capture = {
            let (map, content, stop) = (map.clone(), content.clone(), stop.clone());
            std::thread::spawn(move || {
                let mut copy = vec![0u64; CHUNKS as usize];
                let mut rounds = 0u64;
                loop {
                    let last = stop.load(Ordering::Acquire);
                    for chunk in map.take().iter() {
                        copy[chunk as usize] = content[chunk as usize].load(Ordering::Relaxed);
                    }
                    rounds += 1;
                    if last {
                        return (copy, rounds);
                    }
                }
            })
        };
        let writers: Vec<_> = (0..3u64)
            .map(|writer| {
                let (map, content) = (map.clone(), content.clone());
                std::thread::spawn(move || {
                    for step in 1..30_000u64 {
                        // Each chunk has one writer, so that its last value is known.
                        let chunk = (step * 7 % (CHUNKS / 3)) * 3 + writer;
                        content[chunk as usize].store(step, Ordering::Relaxed);
                        map.mark(chunk * CHUNK_SIZE, 1);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Release);
        let (copy, rounds) = capture.join().unwrap();

        assert!(rounds > 1);
        let original: Vec<u64> = content.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        assert_eq!(copy, original);
        assert!(map.take().is_empty());
    }
}
