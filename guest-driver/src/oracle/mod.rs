//! Random programs, to drive an audit that must foresee every byte they write. Nothing is
//! verified here; whoever runs the commands compares device memory with what it marked.

mod catalogue;
mod pictures;
mod slot;
mod world;

use crate::error::Error;
use crate::model::Rng;
use crate::vulkan::{Batch, Features, Fence, Gpu, Timeline};
use catalogue::Catalogue;
use slot::{Mode, SETS_PER_KIND, Slot};
use world::World;

/// Submissions in flight at most.
const FRAMES: usize = 3;
const SLOTS: usize = 4;
/// A buffer is replaced once in so many submissions.
const CHURN: usize = 8;

/// Options of `oracle-load`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Draw everything from this seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Submit so many times
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub submissions: u64,
    /// Use the device whose name contains this
    #[arg(long, value_name = "SUBSTR")]
    pub device: Option<String>,
    /// Let some submissions wait for a timeline that the CPU signals only later
    #[arg(long)]
    pub held: bool,
    /// Tell a digest of all memory at the end: equal wherever the features are. Leaves out what
    /// differs between devices (stores out of bounds, races, images)
    #[arg(long)]
    pub digest: bool,
    /// Dispatch this program only, and neither copy nor fill nor render nor replace buffers
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
}

/// Slots of one submission, and how its end is told.
struct Frame {
    slots: Vec<Slot>,
    fence: Fence,
    /// What the wait for it is, if it is in flight.
    pending: Option<Pending>,
}

#[derive(Clone, Copy)]
enum Pending {
    Fence,
    Timeline(u64),
}

struct Load {
    // Slots before the world: their texel views look at its buffers.
    frames: Vec<Frame>,
    timeline: Option<Timeline>,
    timeline_value: u64,
    held: Option<Timeline>,
    held_value: u64,
    catalogue: Catalogue,
    world: World,
    gpu: Gpu,
    rng: Rng,
    mode: Mode,
}

/// Runs the load; always true if no call failed.
pub fn run(options: &Options) -> Result<bool, Error> {
    let mut load = Load::new(options)?;
    println!(
        "oracle-load: seed={} device=\"{}\" programs={} buffers={} images={} device_bytes_max={} features={:?}",
        options.seed,
        load.gpu.name(),
        load.catalogue.programs.len(),
        load.world.items.len(),
        load.world.pictures.is_some(),
        world::DEVICE_BYTES_MAX,
        load.gpu.features,
    );
    let result = (0..options.submissions)
        .try_for_each(|number| load.submit(number))
        .and_then(|()| load.gpu.wait_idle());
    if let Err(error) = result {
        // As in `work`: a device that failed may not answer a tear-down.
        std::mem::forget(load);
        return Err(error);
    }
    if options.digest {
        println!("oracle-load: digest={:016x}", load.world.digest(&load.gpu)?);
    }
    println!("oracle-load: submissions={} done", options.submissions);
    Ok(true)
}

impl Load {
    fn new(options: &Options) -> Result<Self, Error> {
        let asked = Features {
            robust_buffer: true,
            timeline: true,
            device_address: true,
            variable_pointers: true,
            array_indexing: true,
            dynamic_rendering: true,
        };
        let gpu = Gpu::open(options.device.as_deref(), asked)?;
        let mut rng = Rng::new(options.seed);
        let sets = (FRAMES * SLOTS * SETS_PER_KIND) as u32;
        // What rasters and filters leave differs between devices.
        let images = gpu.graphics && !options.digest;
        let only = options.only.as_deref();
        let catalogue = Catalogue::new(&gpu, sets, only, options.digest, images)?;
        let world = World::new(&gpu, &mut rng, options.digest, images)?;
        let frames = (0..FRAMES)
            .map(|_| {
                Ok(Frame {
                    slots: (0..SLOTS)
                        .map(|_| Slot::new(&gpu, &catalogue))
                        .collect::<Result<Vec<_>, Error>>()?,
                    fence: gpu.fence()?,
                    pending: None,
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let has = gpu.features.timeline;
        Ok(Self {
            frames,
            timeline: has.then(|| gpu.timeline()).transpose()?,
            timeline_value: 0,
            held: (has && options.held).then(|| gpu.timeline()).transpose()?,
            held_value: 0,
            catalogue,
            world,
            gpu,
            rng,
            mode: Mode {
                tame: options.digest,
                dispatches_only: options.only.is_some(),
            },
        })
    }

    fn wait(&mut self, frame: usize) -> Result<(), Error> {
        let frame = &mut self.frames[frame];
        match (frame.pending.take(), &self.timeline) {
            (Some(Pending::Timeline(value)), Some(timeline)) => timeline.wait(value),
            (Some(_), _) => frame.fence.wait_and_reset(),
            (None, _) => Ok(()),
        }
    }

    /// One vkQueueSubmit of one to three batches with one to four command buffers in all.
    fn submit(&mut self, number: u64) -> Result<(), Error> {
        let current = (number % FRAMES as u64) as usize;
        self.wait(current)?;
        if self.rng.below(CHURN) == 0 && !self.mode.dispatches_only {
            for frame in 0..FRAMES {
                self.wait(frame)?;
            }
            self.world.churn(&self.gpu, &mut self.rng)?;
        }
        let slots = 1 + self.rng.below(SLOTS);
        for slot in &mut self.frames[current].slots[..slots] {
            if !slot.reusable(&self.world) || self.rng.below(3) == 0 {
                slot.record(
                    &self.gpu,
                    &self.catalogue,
                    &self.world,
                    &mut self.rng,
                    self.mode,
                )?;
            }
        }

        let mut batches = vec![Batch::default()];
        for slot in &self.frames[current].slots[..slots] {
            if !batches[batches.len() - 1].commands.is_empty() && self.rng.below(2) == 0 {
                batches.push(Batch::default());
            }
            let last = batches.len() - 1;
            batches[last].commands.push(slot.commands());
        }
        // Drawn in any case, so that the option changes nothing else.
        let hold = self.rng.below(4) == 0;
        let held = self.held.as_ref().filter(|_| hold);
        let mut pending = Pending::Fence;
        if let Some(timeline) = &self.timeline {
            for (index, batch) in batches.iter_mut().enumerate() {
                batch.wait = Some((timeline, self.timeline_value));
                if let Some(held) = held.filter(|_| index == 0) {
                    batch.wait = Some((held, self.held_value + 1));
                }
                self.timeline_value += 1;
                batch.signal = Some((timeline, self.timeline_value));
            }
            if self.rng.below(2) == 0 {
                pending = Pending::Timeline(self.timeline_value);
            }
        }
        let fence = matches!(pending, Pending::Fence).then_some(&self.frames[current].fence);
        self.gpu.submit(&batches, fence)?;
        if let Some(held) = held {
            self.held_value += 1;
            held.signal(self.held_value)?;
        }
        self.frames[current].pending = Some(pending);
        if self.rng.below(4) == 0 {
            self.wait(current)?;
        }
        Ok(())
    }
}
