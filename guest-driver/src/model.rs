//! The CPU's own account of what every buffer holds.
//!
//! Mirrors `shaders/kernel.comp` and the transfer commands word for word; it never looks at what
//! the device answers, so it is independent of it.

/// Index of a buffer, in the model and on the device alike.
pub type BufferId = usize;

/// The kernels of `shaders/kernel.comp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `target[i] = mix(source[i])`
    Mix,
    /// `target[i] = mix(target[i]) + source[i]`
    Fold,
    /// `target[(i * stride + key) mod count] = mix(source[i])`
    Scatter,
}

/// One compute dispatch. All positions and counts are in words of 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    pub kernel: Kernel,
    pub source: BufferId,
    pub source_first: usize,
    /// May equal `source` only with equal ranges and not for [`Kernel::Scatter`]: a dispatch must
    /// not read what another of its invocations writes.
    pub target: BufferId,
    pub target_first: usize,
    /// A power of two for [`Kernel::Scatter`].
    pub count: usize,
    pub key: u32,
    /// Odd; read by [`Kernel::Scatter`] only.
    pub stride: u32,
}

/// One command and its effect. All positions and counts are in words of 4 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Dispatch(Dispatch),
    /// vkCmdCopyBuffer; the ranges never overlap.
    Copy {
        source: BufferId,
        source_first: usize,
        target: BufferId,
        target_first: usize,
        count: usize,
    },
    /// vkCmdFillBuffer.
    Fill {
        target: BufferId,
        first: usize,
        count: usize,
        value: u32,
    },
    /// vkCmdUpdateBuffer, at most 64 KiB.
    Update {
        target: BufferId,
        first: usize,
        data: Vec<u32>,
    },
}

/// The expected content of every buffer.
#[derive(Debug)]
pub struct Model {
    buffers: Vec<Vec<u32>>,
}

impl Model {
    /// Buffers of the given sizes (in words), all zero.
    pub fn new(words: impl IntoIterator<Item = usize>) -> Self {
        Self {
            buffers: words.into_iter().map(|count| vec![0; count]).collect(),
        }
    }

    /// The expected words of a buffer.
    pub fn words(&self, buffer: BufferId) -> &[u32] {
        &self.buffers[buffer]
    }

    /// Replaces words, for writes that the CPU itself makes.
    pub fn write(&mut self, buffer: BufferId, first: usize, data: &[u32]) {
        self.buffers[buffer][first..first + data.len()].copy_from_slice(data);
    }

    /// Carries out a step. Ranges must lie inside their buffers.
    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Dispatch(dispatch) => self.dispatch(dispatch),
            Step::Copy {
                source,
                source_first,
                target,
                target_first,
                count,
            } => {
                if source == target {
                    self.buffers[*target]
                        .copy_within(*source_first..source_first + count, *target_first);
                } else {
                    let mut words = std::mem::take(&mut self.buffers[*target]);
                    words[*target_first..target_first + count].copy_from_slice(
                        &self.buffers[*source][*source_first..source_first + count],
                    );
                    self.buffers[*target] = words;
                }
            }
            Step::Fill {
                target,
                first,
                count,
                value,
            } => self.buffers[*target][*first..first + count].fill(*value),
            Step::Update {
                target,
                first,
                data,
            } => self.write(*target, *first, data),
        }
    }

    fn dispatch(&mut self, d: &Dispatch) {
        let targets = d.target_first..d.target_first + d.count;
        if d.source == d.target {
            debug_assert_eq!(d.source_first, d.target_first);
            for (index, word) in (0u32..).zip(&mut self.buffers[d.target][targets]) {
                *word = match d.kernel {
                    Kernel::Fold => mix(*word, index, d.key).wrapping_add(*word),
                    Kernel::Mix | Kernel::Scatter => mix(*word, index, d.key),
                };
            }
            return;
        }
        // Taken out so that source and target can be borrowed side by side.
        let mut words = std::mem::take(&mut self.buffers[d.target]);
        let source = &self.buffers[d.source][d.source_first..d.source_first + d.count];
        let target = &mut words[targets];
        let pairs = (0u32..).zip(source);
        match d.kernel {
            Kernel::Mix => {
                for ((index, from), to) in pairs.zip(target) {
                    *to = mix(*from, index, d.key);
                }
            }
            Kernel::Fold => {
                for ((index, from), to) in pairs.zip(target) {
                    *to = mix(*to, index, d.key).wrapping_add(*from);
                }
            }
            Kernel::Scatter => {
                let mask = d.count as u32 - 1;
                for (index, from) in pairs {
                    let slot = index.wrapping_mul(d.stride).wrapping_add(d.key) & mask;
                    target[slot as usize] = mix(*from, index, d.key);
                }
            }
        }
        self.buffers[d.target] = words;
    }
}

/// `mix_word` of `shaders/kernel.comp`.
pub fn mix(word: u32, index: u32, key: u32) -> u32 {
    let mut hash = (word ^ key).wrapping_add(index.wrapping_mul(0x9e37_79b1));
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x2c1b_3c6d);
    hash ^ (hash >> 13)
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, seedable, the same everywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn word(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    /// A number in `0..bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.next() % bound as u64) as usize
        }
    }

    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.word()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scatter_odd_stride_writes_every_slot_once() {
        let mut model = Model::new([64, 64]);
        model.write(0, 0, &(0..64).collect::<Vec<u32>>());

        model.apply(&Step::Dispatch(Dispatch {
            kernel: Kernel::Scatter,
            source: 0,
            source_first: 0,
            target: 1,
            target_first: 0,
            count: 64,
            key: 7,
            stride: 13,
        }));

        let mut expected: Vec<u32> = (0..64).map(|i| mix(i, i, 7)).collect();
        let mut got = model.words(1).to_vec();
        expected.sort_unstable();
        got.sort_unstable();
        assert_eq!(got, expected);
        assert_eq!(model.words(1)[7], mix(0, 0, 7));
    }

    #[test]
    fn copy_within_one_buffer_moves_words() {
        let mut model = Model::new([8]);
        model.write(0, 0, &[1, 2, 3, 4]);

        model.apply(&Step::Copy {
            source: 0,
            source_first: 1,
            target: 0,
            target_first: 5,
            count: 3,
        });

        assert_eq!(model.words(0), [1, 2, 3, 4, 0, 2, 3, 4]);
    }

    #[test]
    fn fold_in_place_equals_fold_from_a_copy() {
        let words = Rng::new(1).words(16);
        let mut in_place = Model::new([16]);
        let mut apart = Model::new([16, 16]);
        in_place.write(0, 0, &words);
        apart.write(0, 0, &words);
        apart.write(1, 0, &words);
        let fold = |target| {
            Step::Dispatch(Dispatch {
                kernel: Kernel::Fold,
                source: 0,
                source_first: 0,
                target,
                target_first: 0,
                count: 16,
                key: 99,
                stride: 1,
            })
        };

        in_place.apply(&fold(0));
        apart.apply(&fold(1));

        assert_eq!(in_place.words(0), apart.words(1));
    }
}
