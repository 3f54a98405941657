//! Device buffers beside their CPU mirror: runs steps on both and compares.

use std::rc::Rc;

use ash::vk;

use crate::error::Error;
use crate::model::{BufferId, Dispatch, Kernel, Model, Step};
use crate::plan::{HostWrite, Shape};
use crate::vulkan::command::Level;
use crate::vulkan::pipeline::{Resource, Write};
use crate::vulkan::{
    Batch, Buffer, Commands, Features, Fence, Gpu, Layout, Pipeline, Place, Recorder, Set, SetPool,
    Timeline,
};

const MIX: &[u8] = include_bytes!("../shaders/mix.spv");
const FOLD: &[u8] = include_bytes!("../shaders/fold.spv");
const SCATTER: &[u8] = include_bytes!("../shaders/scatter.spv");

const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const GROUP_WORDS: usize = 64;
/// Groups in a row of a dispatch; more rows follow. Below the limit of 65535 that all devices have.
const ROW_GROUPS: usize = 32768;
/// Parts that a buffer is compared in, one a round.
const WINDOWS: usize = 16;
const WINDOW_WORDS_MAX: usize = 16 * 1024;

/// A word that isn't what the model says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    pub buffer: BufferId,
    /// Bytes from the start of the buffer.
    pub offset: u64,
    pub expected: u32,
    pub got: u32,
}

/// What a comparison saw.
#[derive(Debug, Default)]
pub struct Check {
    pub bytes: u64,
    pub mismatches: Vec<Mismatch>,
}

/// The device side and the model, kept in step.
pub struct Session {
    pub gpu: Gpu,
    pub shape: Shape,
    pub model: Model,
    // By id: the device-local ones, the shared one, the upload one.
    buffers: Vec<Buffer>,
    staging: Buffer,
    window_words: usize,
    layout: Layout,
    kernels: [Pipeline; 3],
    pool: Rc<SetPool>,
    fresh_sets: Vec<Set>,
    fresh: Commands,
    check: Commands,
    fixed: Vec<Fixed>,
    timeline: Option<Timeline>,
    timeline_value: u64,
    fence: Fence,
    rounds: u64,
    /// vkQueueSubmit calls so far.
    pub submits: u64,
}

/// A program that is recorded once.
struct Fixed {
    commands: Commands,
    steps: Vec<Step>,
    // The command buffer names these sets for as long as it lives.
    _sets: Vec<Set>,
}

impl Session {
    /// Opens a device and makes the buffers. Their content is undefined until steps write it.
    pub fn new(device: Option<&str>, shape: Shape) -> Result<Self, Error> {
        Self::on(Self::open(device)?, shape)
    }

    /// Opens a device with the features that sessions use.
    pub fn open(device: Option<&str>) -> Result<Gpu, Error> {
        let timeline = Features {
            timeline: true,
            ..Features::default()
        };
        Gpu::open(device, timeline)
    }

    /// As [`Session::new`], on a device that is open.
    pub fn on(gpu: Gpu, shape: Shape) -> Result<Self, Error> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let buffers = (0..shape.buffers + 2)
            .map(|id| {
                let place = if id < shape.buffers {
                    Place::DeviceLocal
                } else {
                    Place::HostVisible
                };
                gpu.buffer(place, shape.words(id) as u64 * 4, usage)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let window_words = shape
            .buffer_words
            .div_ceil(WINDOWS)
            .clamp(1, WINDOW_WORDS_MAX);
        let staging = gpu.buffer(
            Place::HostVisible,
            (window_words * shape.buffers) as u64 * 4,
            vk::BufferUsageFlags::TRANSFER_DST,
        )?;
        // The CPU's buffers start as the model does.
        for id in [shape.shared(), shape.upload()] {
            buffers[id].write(0, &vec![0; shape.words(id)]);
        }

        let layout = gpu.layout(&[(STORAGE, 1), (STORAGE, 1)], 20)?;
        let kernels = [
            gpu.pipeline(&layout, MIX, &[])?,
            gpu.pipeline(&layout, FOLD, &[])?,
            gpu.pipeline(&layout, SCATTER, &[])?,
        ];
        // Each fixed program has two dispatches.
        let sets = (shape.dispatches_max() + 2 * shape.buffers) as u32;
        let pool = gpu.set_pool(sets, &[(STORAGE, sets * 2)])?;
        let fresh_sets = (0..shape.dispatches_max())
            .map(|_| gpu.set(&pool, &layout))
            .collect::<Result<Vec<_>, _>>()?;
        let timeline = match gpu.features.timeline {
            true => Some(gpu.timeline()?),
            false => None,
        };
        Ok(Self {
            model: Model::new(shape.all_words()),
            fresh: gpu.commands(Level::Primary)?,
            check: gpu.commands(Level::Primary)?,
            fence: gpu.fence()?,
            gpu,
            shape,
            buffers,
            staging,
            window_words,
            layout,
            kernels,
            pool,
            fresh_sets,
            fixed: Vec::new(),
            timeline,
            timeline_value: 0,
            rounds: 0,
            submits: 0,
        })
    }

    /// Records the fixed program of the next device buffer.
    pub fn add_fixed(&mut self, steps: Vec<Step>) -> Result<(), Error> {
        let sets = steps
            .iter()
            .filter(|step| matches!(step, Step::Dispatch(_)))
            .map(|_| self.gpu.set(&self.pool, &self.layout))
            .collect::<Result<Vec<_>, _>>()?;
        let commands = self.gpu.commands(Level::Primary)?;
        self.record(&commands, true, &steps, &sets)?;
        self.fixed.push(Fixed {
            commands,
            steps,
            _sets: sets,
        });
        Ok(())
    }

    /// Runs steps on the device, waits, and applies them to the model.
    pub fn run(&mut self, steps: &[Step]) -> Result<(), Error> {
        // No more dispatches at once than there are sets.
        for part in steps.chunks(self.fresh_sets.len()) {
            self.record(&self.fresh, false, part, &self.fresh_sets)?;
            let batch = Batch {
                commands: vec![&self.fresh],
                ..Batch::default()
            };
            self.gpu.submit(&[batch], Some(&self.fence))?;
            self.submits += 1;
            for step in part {
                self.model.apply(step);
            }
            self.fence.wait_and_reset()?;
        }
        Ok(())
    }

    /// One round: the CPU's writes, the fixed program of a buffer, the fresh steps, and a look at
    /// a window of every buffer. `hidden` is done by the device only; the model doesn't hear of it.
    pub fn round(
        &mut self,
        writes: &[HostWrite],
        fixed: Option<BufferId>,
        fresh: &[Step],
        hidden: Option<&Step>,
    ) -> Result<Check, Error> {
        for write in writes {
            self.buffers[write.buffer].write(write.first, &write.data);
            self.model.write(write.buffer, write.first, &write.data);
        }
        let recorded: Vec<_> = fresh.iter().chain(hidden).cloned().collect();
        self.record(&self.fresh, false, &recorded, &self.fresh_sets)?;
        let windows = self.record_check()?;
        let by_fence = self.submit_round(fixed)?;
        // While the device works, the model does the same.
        let steps = fixed.into_iter().flat_map(|id| &self.fixed[id].steps);
        for step in steps.chain(fresh) {
            self.model.apply(step);
        }
        match &self.timeline {
            Some(timeline) if !by_fence => timeline.wait(self.timeline_value)?,
            _ => self.fence.wait_and_reset()?,
        }
        let mut check = Check::default();
        for (id, (first, count)) in windows.iter().enumerate() {
            self.compare(
                &mut check,
                &self.staging,
                id * self.window_words,
                id,
                *first,
                *count,
            );
        }
        let (first, count) = window(self.rounds, self.shape.shared_words, self.window_words);
        let shared = self.shape.shared();
        self.compare(
            &mut check,
            &self.buffers[shared],
            first,
            shared,
            first,
            count,
        );
        self.resync(&check);
        self.rounds += 1;
        Ok(check)
    }

    /// First word of the window of device buffer `id` that the next round compares.
    pub fn next_window(&self, id: BufferId) -> usize {
        window(self.rounds, self.shape.words(id), self.window_words).0
    }

    /// Compares every word of every buffer.
    pub fn verify_all(&mut self) -> Result<Check, Error> {
        let mut check = Check::default();
        let room = self.window_words * self.shape.buffers;
        for id in 0..self.shape.buffers {
            let words = self.shape.words(id);
            for first in (0..words).step_by(room) {
                let count = room.min(words - first);
                self.check.record(false, |recorder| {
                    recorder.barrier();
                    let region = (first as u64 * 4, 0, count as u64 * 4);
                    recorder.copy(&self.buffers[id], &self.staging, &[region]);
                    recorder.barrier_to_host();
                })?;
                let batch = Batch {
                    commands: vec![&self.check],
                    ..Batch::default()
                };
                self.gpu.submit(&[batch], Some(&self.fence))?;
                self.submits += 1;
                self.fence.wait_and_reset()?;
                self.compare(&mut check, &self.staging, 0, id, first, count);
            }
        }
        for id in [self.shape.shared(), self.shape.upload()] {
            self.compare(
                &mut check,
                &self.buffers[id],
                0,
                id,
                0,
                self.shape.words(id),
            );
        }
        self.resync(&check);
        Ok(check)
    }

    /// Submits a round's command buffers, each waiting for the one before by the timeline if there
    /// is one; in even rounds all at once. True if the fence tells the end.
    fn submit_round(&mut self, fixed: Option<BufferId>) -> Result<bool, Error> {
        let parts = fixed
            .map(|id| &self.fixed[id].commands)
            .into_iter()
            .chain([&self.fresh, &self.check]);
        let mut batches = Vec::new();
        for commands in parts {
            let mut batch = Batch {
                commands: vec![commands],
                ..Batch::default()
            };
            if let Some(timeline) = &self.timeline {
                batch.wait = Some((timeline, self.timeline_value));
                self.timeline_value += 1;
                batch.signal = Some((timeline, self.timeline_value));
            }
            batches.push(batch);
        }
        let by_fence = self.rounds % 4 < 2 || self.timeline.is_none();
        let fence = by_fence.then_some(&self.fence);
        if self.rounds.is_multiple_of(2) {
            self.gpu.submit(&batches, fence)?;
            self.submits += 1;
        } else {
            let last = batches.len() - 1;
            for (index, batch) in batches.into_iter().enumerate() {
                self.gpu.submit(&[batch], fence.filter(|_| index == last))?;
                self.submits += 1;
            }
        }
        Ok(by_fence)
    }

    /// Copies a window of every device buffer into the staging buffer; gives the windows.
    fn record_check(&self) -> Result<Vec<(usize, usize)>, Error> {
        let windows: Vec<_> = (0..self.shape.buffers)
            .map(|id| window(self.rounds, self.shape.words(id), self.window_words))
            .collect();
        self.check.record(false, |recorder| {
            recorder.barrier();
            for (id, (first, count)) in windows.iter().enumerate() {
                let slot = (id * self.window_words) as u64 * 4;
                let region = (*first as u64 * 4, slot, *count as u64 * 4);
                recorder.copy(&self.buffers[id], &self.staging, &[region]);
            }
            // Covers what the fresh steps wrote into the shared buffer, too.
            recorder.barrier_to_host();
        })?;
        Ok(windows)
    }

    fn compare(
        &self,
        check: &mut Check,
        from: &Buffer,
        from_first: usize,
        id: BufferId,
        first: usize,
        count: usize,
    ) {
        let mut got = vec![0; count];
        from.read(from_first, &mut got);
        let expected = &self.model.words(id)[first..first + count];
        check.bytes += count as u64 * 4;
        if got == expected {
            return;
        }
        let differing = got.iter().zip(expected).enumerate();
        check.mismatches.extend(
            differing
                .filter(|(_, (got, expected))| got != expected)
                .map(|(index, (got, expected))| Mismatch {
                    buffer: id,
                    offset: (first + index) as u64 * 4,
                    expected: *expected,
                    got: *got,
                }),
        );
    }

    /// Takes wrong words over into the model, so that each fault is told once where it stays.
    fn resync(&mut self, check: &Check) {
        for wrong in &check.mismatches {
            self.model
                .write(wrong.buffer, (wrong.offset / 4) as usize, &[wrong.got]);
        }
    }

    fn record(
        &self,
        commands: &Commands,
        reusable: bool,
        steps: &[Step],
        sets: &[Set],
    ) -> Result<(), Error> {
        let mut free = sets.iter();
        // Sets are written before the recording, since that would make it invalid.
        let prepared: Vec<_> = steps
            .iter()
            .map(|step| match step {
                Step::Dispatch(dispatch) => {
                    let set = free.next().expect("callers bring a set for every dispatch");
                    Some((set, self.prepare(set, dispatch)))
                }
                _ => None,
            })
            .collect();
        commands.record(reusable, |recorder| {
            for (step, prepared) in steps.iter().zip(&prepared) {
                recorder.barrier();
                match (step, prepared) {
                    (Step::Dispatch(dispatch), Some((set, push))) => {
                        self.record_dispatch(recorder, dispatch, set, push);
                    }
                    _ => self.record_transfer(recorder, step),
                }
            }
        })
    }

    /// Binds both ranges of a dispatch, no wider than alignment asks for, and gives its push
    /// constants.
    fn prepare(&self, set: &Set, d: &Dispatch) -> [u32; 5] {
        let align = self
            .gpu
            .properties
            .limits
            .min_storage_buffer_offset_alignment
            .max(4);
        let tight = |first: usize| {
            let start = first as u64 * 4;
            let offset = start / align * align;
            let skip = start - offset;
            (offset, skip + d.count as u64 * 4, (skip / 4) as u32)
        };
        let (source_offset, source_range, source_first) = tight(d.source_first);
        let (target_offset, target_range, target_first) = tight(d.target_first);
        set.update(&[
            Write {
                binding: 0,
                element: 0,
                kind: STORAGE,
                resource: Resource::Buffer {
                    buffer: &self.buffers[d.source],
                    offset: source_offset,
                    range: source_range,
                },
            },
            Write {
                binding: 1,
                element: 0,
                kind: STORAGE,
                resource: Resource::Buffer {
                    buffer: &self.buffers[d.target],
                    offset: target_offset,
                    range: target_range,
                },
            },
        ]);
        [source_first, target_first, d.count as u32, d.key, d.stride]
    }

    fn record_dispatch(&self, recorder: &Recorder<'_>, d: &Dispatch, set: &Set, push: &[u32]) {
        let kernel = match d.kernel {
            Kernel::Mix => 0,
            Kernel::Fold => 1,
            Kernel::Scatter => 2,
        };
        recorder.pipeline(&self.kernels[kernel]);
        recorder.set(&self.layout, set, &[]);
        recorder.push(&self.layout, push);
        let groups = d.count.div_ceil(GROUP_WORDS);
        recorder.dispatch(
            groups.min(ROW_GROUPS) as u32,
            groups.div_ceil(ROW_GROUPS) as u32,
        );
    }

    fn record_transfer(&self, recorder: &Recorder<'_>, step: &Step) {
        match step {
            Step::Dispatch(_) => unreachable!("dispatches are prepared and recorded apart"),
            Step::Copy {
                source,
                source_first,
                target,
                target_first,
                count,
            } => {
                // Two regions, to have more than one in a command.
                let half = count / 2;
                let regions: Vec<_> = [(0, half), (half, count - half)]
                    .into_iter()
                    .filter(|(_, words)| *words > 0)
                    .map(|(skip, words)| {
                        (
                            (source_first + skip) as u64 * 4,
                            (target_first + skip) as u64 * 4,
                            words as u64 * 4,
                        )
                    })
                    .collect();
                recorder.copy(&self.buffers[*source], &self.buffers[*target], &regions);
            }
            Step::Fill {
                target,
                first,
                count,
                value,
            } => recorder.fill(
                &self.buffers[*target],
                *first as u64 * 4,
                *count as u64 * 4,
                *value,
            ),
            Step::Update {
                target,
                first,
                data,
            } => recorder.update(&self.buffers[*target], *first as u64 * 4, data),
        }
    }
}

/// The part of a buffer that a round compares: (first word, count).
fn window(round: u64, words: usize, window_words: usize) -> (usize, usize) {
    let parts = words.div_ceil(window_words) as u64;
    let first = (round % parts) as usize * window_words;
    (first, window_words.min(words - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_successive_rounds_cover_every_word() {
        let mut seen = [false; 1000];
        for round in 5..5 + 1000u64.div_ceil(64) {
            let (first, count) = window(round, 1000, 64);
            seen[first..first + count].fill(true);
        }

        assert_eq!(seen, [true; 1000]);
    }
}
