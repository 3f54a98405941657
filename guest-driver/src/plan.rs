//! What the workload does in each round: drawn from the seed alone, so that two runs of one seed
//! submit the same commands.

use crate::model::{BufferId, Dispatch, Kernel, Rng, Step};

/// Sizes of the workload, in words of 4 bytes where not counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Device-local buffers, ids 0.. .
    pub buffers: usize,
    pub buffer_words: usize,
    /// The host-visible buffer that CPU and GPU both write.
    pub shared_words: usize,
    /// The host-visible buffer that the CPU fills and the GPU copies from.
    pub upload_words: usize,
    /// Buffers written in a round.
    pub dirty: usize,
    /// Steps on each of them.
    pub chain: usize,
    /// Longest range of a dispatch or copy.
    pub step_words: usize,
}

impl Shape {
    /// Id of the shared buffer.
    pub fn shared(&self) -> BufferId {
        self.buffers
    }

    /// Id of the upload buffer.
    pub fn upload(&self) -> BufferId {
        self.buffers + 1
    }

    /// Words of a buffer.
    pub fn words(&self, buffer: BufferId) -> usize {
        match buffer.checked_sub(self.buffers) {
            None => self.buffer_words,
            Some(0) => self.shared_words,
            Some(_) => self.upload_words,
        }
    }

    /// Sizes of all buffers in the order of their ids.
    pub fn all_words(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.buffers + 2).map(|buffer| self.words(buffer))
    }

    /// Dispatches in a round at most: the chains and the one into the shared buffer.
    pub fn dispatches_max(&self) -> usize {
        self.dirty * self.chain + 1
    }
}

/// Words that the CPU writes into a host-visible buffer before the round's submissions.
#[derive(Debug, PartialEq, Eq)]
pub struct HostWrite {
    pub buffer: BufferId,
    pub first: usize,
    pub data: Vec<u32>,
}

/// One round: CPU writes, then a command buffer recorded once (of the buffer named), then a
/// command buffer of fresh steps.
#[derive(Debug, PartialEq, Eq)]
pub struct Round {
    pub writes: Vec<HostWrite>,
    pub fixed: Option<BufferId>,
    pub fresh: Vec<Step>,
}

/// Draws rounds.
pub struct Planner {
    shape: Shape,
    rng: Rng,
}

impl Planner {
    pub fn new(shape: Shape, seed: u64) -> Self {
        Self {
            shape,
            rng: Rng::new(seed),
        }
    }

    /// Gives every device buffer and the shared one a content of its own, by all three kernels.
    /// Long buffers take several steps.
    pub fn initial(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for target in 0..=self.shape.shared() {
            let words = self.shape.words(target);
            let value = self.rng.word();
            steps.push(Step::Fill {
                target,
                first: 0,
                count: words,
                value,
            });
            for first in (0..words).step_by(self.shape.step_words) {
                let count = self.shape.step_words.min(words - first);
                let kernel = [Kernel::Mix, Kernel::Fold][target % 2];
                steps.push(self.in_place(kernel, target, first, count));
            }
        }
        let scatter = self.dispatch(Kernel::Scatter, self.shape.shared(), 0);
        steps.push(scatter);
        steps
    }

    /// The program of a buffer that is recorded once and submitted in many rounds.
    pub fn fixed(&mut self, target: BufferId) -> Vec<Step> {
        let words = self.shape.words(target);
        let (first, count) = self.range(words, self.shape.step_words);
        let fill_first = self.rng.below(words - 31);
        let value = self.rng.word();
        let source = self.source(target);
        vec![
            self.in_place(Kernel::Fold, target, first, count),
            self.dispatch(Kernel::Fold, source, target),
            Step::Fill {
                target,
                first: fill_first,
                count: 32,
                value,
            },
        ]
    }

    /// The next round.
    pub fn round(&mut self) -> Round {
        let dirty = self.pick_dirty();
        let mut fresh = Vec::new();
        for target in &dirty {
            for _ in 0..self.shape.chain {
                let step = self.step(*target);
                fresh.push(step);
            }
        }
        let shared = self.shape.shared();
        let source = self.rng.below(self.shape.buffers);
        let into_shared = self.dispatch(Kernel::Mix, source, shared);
        fresh.push(into_shared);
        let writes = [(self.shape.upload(), 1024), (shared, 256)]
            .into_iter()
            .map(|(buffer, longest)| {
                let (first, count) = self.range(self.shape.words(buffer), longest);
                HostWrite {
                    buffer,
                    first,
                    data: self.rng.words(count),
                }
            })
            .collect();
        Round {
            writes,
            fixed: dirty.first().copied(),
            fresh,
        }
    }

    fn pick_dirty(&mut self) -> Vec<BufferId> {
        let mut ids: Vec<_> = (0..self.shape.buffers).collect();
        for place in 0..self.shape.dirty {
            let other = place + self.rng.below(ids.len() - place);
            ids.swap(place, other);
        }
        ids.truncate(self.shape.dirty);
        ids
    }

    fn step(&mut self, target: BufferId) -> Step {
        let words = self.shape.words(target);
        match self.rng.below(20) {
            0..=4 => {
                let source = self.source(target);
                self.dispatch(Kernel::Mix, source, target)
            }
            5..=9 => {
                let source = self.source(target);
                self.dispatch(Kernel::Fold, source, target)
            }
            10..=11 => {
                let source = self.source(target);
                self.dispatch(Kernel::Scatter, source, target)
            }
            12 => {
                let (first, count) = self.range(words, self.shape.step_words);
                self.in_place(Kernel::Mix, target, first, count)
            }
            13..=15 => {
                let source = self.source(target);
                self.copy(source, target)
            }
            16..=17 => {
                let (first, count) = self.range(words, words / 16);
                let value = self.rng.word();
                Step::Fill {
                    target,
                    first,
                    count,
                    value,
                }
            }
            _ => {
                let (first, count) = self.range(words, 64);
                Step::Update {
                    target,
                    first,
                    data: self.rng.words(count),
                }
            }
        }
    }

    /// Another buffer to read from.
    fn source(&mut self, target: BufferId) -> BufferId {
        let drawn = self.rng.below(self.shape.buffers + 1);
        drawn + usize::from(drawn >= target)
    }

    /// A range of at most `longest` words.
    fn range(&mut self, words: usize, longest: usize) -> (usize, usize) {
        let longest = longest.clamp(1, words);
        let count = longest - self.rng.below(longest * 7 / 8 + 1);
        let count = count.max(1);
        (self.rng.below(words - count + 1), count)
    }

    fn in_place(&mut self, kernel: Kernel, target: BufferId, first: usize, count: usize) -> Step {
        Step::Dispatch(Dispatch {
            kernel,
            source: target,
            source_first: first,
            target,
            target_first: first,
            count,
            key: self.rng.word(),
            stride: 1,
        })
    }

    fn dispatch(&mut self, kernel: Kernel, source: BufferId, target: BufferId) -> Step {
        let (from, to) = (self.shape.words(source), self.shape.words(target));
        // The host-visible buffers are written in small windows.
        let longest = if target < self.shape.buffers {
            self.shape.step_words
        } else {
            to / 16
        };
        let (_, mut count) = self.range(from.min(to), longest);
        if kernel == Kernel::Scatter {
            count = (count / 2 + 1).next_power_of_two();
        }
        Step::Dispatch(Dispatch {
            kernel,
            source,
            source_first: self.rng.below(from - count + 1),
            target,
            target_first: self.rng.below(to - count + 1),
            count,
            key: self.rng.word(),
            stride: self.rng.word() | 1,
        })
    }

    fn copy(&mut self, source: BufferId, target: BufferId) -> Step {
        let (from, to) = (self.shape.words(source), self.shape.words(target));
        let (_, count) = self.range(from.min(to), self.shape.step_words);
        Step::Copy {
            source,
            source_first: self.rng.below(from - count + 1),
            target,
            target_first: self.rng.below(to - count + 1),
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    fn shape(buffers: usize, dirty: usize) -> Shape {
        Shape {
            buffers,
            buffer_words: 1024,
            shared_words: 1024,
            upload_words: 1024,
            dirty,
            chain: 5,
            step_words: 256,
        }
    }

    #[test]
    fn rounds_of_one_seed_are_equal() {
        let mut one = Planner::new(shape(4, 2), 9);
        let mut two = Planner::new(shape(4, 2), 9);
        let mut other = Planner::new(shape(4, 2), 10);

        for _ in 0..50 {
            let round = one.round();
            assert_eq!(round, two.round());
            assert_ne!(round, other.round());
        }
    }

    #[test]
    fn rounds_of_odd_shapes_stay_inside_their_buffers() {
        // The model panics on a range outside, and the asserts hold what Vulkan asks for.
        for (buffers, dirty) in [(1, 0), (1, 1), (3, 3), (8, 1)] {
            let shape = shape(buffers, dirty);
            let mut planner = Planner::new(shape.clone(), 3);
            let mut model = Model::new(shape.all_words());
            for step in planner.initial() {
                model.apply(&step);
            }
            for _ in 0..300 {
                let round = planner.round();
                assert_eq!(round.fixed.is_some(), dirty > 0);
                for write in &round.writes {
                    model.write(write.buffer, write.first, &write.data);
                }
                for step in &round.fresh {
                    if let Step::Dispatch(d) = step {
                        assert!(d.count >= 1 && d.stride % 2 == 1);
                        assert!(d.kernel != Kernel::Scatter || d.count.is_power_of_two());
                        assert!(d.source != d.target || d.source_first == d.target_first);
                    }
                    model.apply(step);
                }
            }
        }
    }
}
