//! What a client waits for: small submissions, read-backs, long dispatches, long command buffers, and the start.
//!
//! Runs natively and in front of a virtual device alike; whoever compares runs it on both in turn.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use ash::vk;
use serde::Serialize;

use crate::error::Error;
use crate::model::mix;
use crate::vulkan::command::Level;
use crate::vulkan::pipeline::{Resource, Write};
use crate::vulkan::{
    Batch, Buffer, Commands, Features, Fence, Gpu, Layout, Pipeline, Place, Recorder, Set,
};

const MIX: &[u8] = include_bytes!("../shaders/mix.spv");
const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
const GROUP_WORDS: u32 = 64;
/// Threads of a long dispatch, and words of the buffers.
const THREADS: u32 = 1 << 20;
const SUBMITS: u32 = 1000;
const READBACKS: u32 = 200;
const READBACK_WORDS: u32 = 1024;
const LONG_DISPATCHES: u32 = 20;
const RECORDED_DISPATCHES: u32 = 5_000;
const CREATED: u32 = 10_000;
/// Bytes of a buffer that is made and destroyed again.
const CREATED_LEN: u64 = 4096;
const KEY: u32 = 0x5eed;

/// Options of `bench`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Use the device whose name contains this
    #[arg(long, value_name = "SUBSTR")]
    pub device: Option<String>,
    /// Measure everything so many times; the first time warms up and is not told
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeat: usize,
    /// Measure only the figure whose name contains this, and what comes with it
    #[arg(long, value_name = "SUBSTR")]
    pub only: Option<String>,
    /// Write a JSON object to this file, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Keep the device for so long after the report, for whoever looks at what it cost
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pub linger_ms: u64,
    /// Wait for this file once warm, for whoever counts what comes then
    #[arg(long, value_name = "FILE", hide = true)]
    pub wait_for: Option<std::path::PathBuf>,
}

/// A figure: one value per repetition.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    unit: &'static str,
    values: Vec<f64>,
}

#[derive(Serialize)]
struct Report<'a> {
    device: &'a str,
    rows: &'a [Row],
}

/// Measures; `started` is when the process began. True if the last results are right.
pub fn run(options: &Options, started: Instant) -> Result<bool, Error> {
    let bench = Bench::new(options.device.as_deref())?;
    // One small dispatch, waited for: the first thing that a client sees done.
    bench.small.submit_and_wait(&bench.gpu, &bench.fence)?;
    let first = started.elapsed();
    let name = bench.gpu.name();
    let measured = bench.measure(options);
    let (mut rows, right) = match measured {
        Ok(measured) => measured,
        Err(error) => {
            // As in `work`: a device that failed may not answer a tear-down.
            std::mem::forget(bench);
            return Err(error);
        }
    };
    rows.insert(
        0,
        Row {
            name: "start to the first result",
            unit: "ms",
            values: vec![milliseconds(first)],
        },
    );
    println!("bench: device=\"{name}\"");
    for row in &rows {
        let values: Vec<_> = row.values.iter().map(|v| format!("{v:.3}")).collect();
        println!("bench: {}: {} {}", row.name, values.join(" "), row.unit);
    }
    println!("bench: {}", if right { "right" } else { "WRONG" });
    if let Some(path) = &options.json {
        let report = Report {
            device: &name,
            rows: &rows,
        };
        serde_json::to_string(&report)
            .map_err(std::io::Error::from)
            .and_then(|text| writeln!(File::create(path)?, "{text}"))
            .map_err(|source| Error::Report {
                path: path.clone(),
                source,
            })?;
    }
    std::thread::sleep(Duration::from_millis(options.linger_ms));
    Ok(right)
}

/// A command buffer that may be submitted many times.
struct Reusable(Commands);

impl Reusable {
    fn new(gpu: &Gpu, body: impl FnOnce(&Recorder<'_>)) -> Result<Self, Error> {
        let commands = gpu.commands(Level::Primary)?;
        commands.record_concurrent(body)?;
        Ok(Self(commands))
    }

    fn submit(&self, gpu: &Gpu, fence: Option<&Fence>) -> Result<(), Error> {
        let batch = Batch {
            commands: vec![&self.0],
            ..Batch::default()
        };
        gpu.submit(&[batch], fence)
    }

    fn submit_and_wait(&self, gpu: &Gpu, fence: &Fence) -> Result<(), Error> {
        self.submit(gpu, Some(fence))?;
        fence.wait_and_reset()
    }
}

struct Bench {
    // Command buffers before what they name.
    small: Reusable,
    readback: Reusable,
    long: Reusable,
    fresh: Commands,
    fence: Fence,
    set: Set,
    pipeline: Pipeline,
    layout: Layout,
    source: Buffer,
    _target: Buffer,
    seen: Buffer,
    gpu: Gpu,
}

fn dispatch(recorder: &Recorder<'_>, layout: &Layout, (first, count): (u32, u32)) {
    recorder.push(layout, &[first, first, count, KEY, 1]);
    recorder.dispatch(count.div_ceil(GROUP_WORDS), 1);
}

impl Bench {
    fn new(device: Option<&str>) -> Result<Self, Error> {
        let gpu = Gpu::open(device, Features::default())?;
        let bytes = u64::from(THREADS) * 4;
        let transfer = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER | transfer;
        let source = gpu.buffer(Place::HostVisible, bytes, usage)?;
        let target = gpu.buffer(Place::DeviceLocal, bytes, usage)?;
        let seen = gpu.buffer(Place::HostVisible, u64::from(READBACK_WORDS) * 4, transfer)?;
        let words: Vec<u32> = (0..THREADS).collect();
        source.write(0, &words);
        let layout = gpu.layout(&[(STORAGE, 1), (STORAGE, 1)], 20)?;
        let pipeline = gpu.pipeline(&layout, MIX, &[])?;
        let pool = gpu.set_pool(1, &[(STORAGE, 2)])?;
        let set = gpu.set(&pool, &layout)?;
        let whole = |binding, buffer| Write {
            binding,
            element: 0,
            kind: STORAGE,
            resource: Resource::Buffer {
                buffer,
                offset: 0,
                range: bytes,
            },
        };
        set.update(&[whole(0, &source), whole(1, &target)]);
        let bind = |recorder: &Recorder<'_>| {
            recorder.pipeline(&pipeline);
            recorder.set(&layout, &set, &[]);
        };
        let small = Reusable::new(&gpu, |recorder| {
            bind(recorder);
            dispatch(recorder, &layout, (0, GROUP_WORDS));
        })?;
        let readback = Reusable::new(&gpu, |recorder| {
            bind(recorder);
            dispatch(recorder, &layout, (0, READBACK_WORDS));
            recorder.barrier();
            recorder.copy(&target, &seen, &[(0, 0, u64::from(READBACK_WORDS) * 4)]);
            recorder.barrier_to_host();
        })?;
        let long = Reusable::new(&gpu, |recorder| {
            bind(recorder);
            for _ in 0..LONG_DISPATCHES {
                dispatch(recorder, &layout, (0, THREADS));
                recorder.barrier();
            }
        })?;
        Ok(Self {
            small,
            readback,
            long,
            fresh: gpu.commands(Level::Primary)?,
            fence: gpu.fence()?,
            set,
            pipeline,
            layout,
            source,
            _target: target,
            seen,
            gpu,
        })
    }

    /// Every figure so many times, and whether the read-backs held what they should.
    fn measure(&self, options: &Options) -> Result<(Vec<Row>, bool), Error> {
        let mut rows: Vec<Row> = Vec::new();
        let mut right = true;
        let wanted = |name: &str| options.only.as_ref().is_none_or(|only| name.contains(only));
        for pass in 0..=options.repeat {
            let mut values = Vec::new();
            let mut tell = |name, unit, value| values.push((name, unit, value));

            let name = "1000 small submits";
            if wanted(name) {
                let (all, handed) = self.small_submits()?;
                tell(name, "ms", all);
                tell("of that, until handed over", "ms", handed);
            }
            let name = "200 submits with read-back";
            if wanted(name) {
                let (all, median) = self.readbacks(&mut right)?;
                tell(name, "ms", all);
                tell("one of them, median", "us", median * 1e3);
            }
            let name = "20 dispatches of 1M threads";
            if wanted(name) {
                let started = Instant::now();
                self.long.submit_and_wait(&self.gpu, &self.fence)?;
                tell(name, "ms", milliseconds(started.elapsed()));
            }
            let name = "10,000 commands in one command buffer";
            if wanted(name) {
                let (all, recorded) = self.recorded()?;
                tell(name, "ms", all);
                tell("of that, recording", "ms", recorded);
            }
            let name = "10,000 buffers made and destroyed";
            if wanted(name) {
                tell(name, "ms", self.buffers()?);
            }

            // Touched by the CPU between passes, as a client would.
            self.source.write(0, &[0]);
            if pass == 0 {
                if let Some(path) = &options.wait_for {
                    println!("bench: warm");
                    while !path.exists() {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
                continue;
            }
            for (name, unit, value) in values {
                match rows.iter_mut().find(|row| row.name == name) {
                    Some(row) => row.values.push(value),
                    None => rows.push(Row {
                        name,
                        unit,
                        values: vec![value],
                    }),
                }
            }
        }
        Ok((rows, right))
    }

    /// Submissions of a small dispatch, the last of them waited for: milliseconds in all, and until all were handed over.
    fn small_submits(&self) -> Result<(f64, f64), Error> {
        let started = Instant::now();
        for _ in 1..SUBMITS {
            self.small.submit(&self.gpu, None)?;
        }
        let handed = started.elapsed();
        self.small.submit_and_wait(&self.gpu, &self.fence)?;
        Ok((milliseconds(started.elapsed()), milliseconds(handed)))
    }

    /// Submissions whose result the CPU reads before the next one: milliseconds in all, and of one in the median.
    fn readbacks(&self, right: &mut bool) -> Result<(f64, f64), Error> {
        let mut words = vec![0; READBACK_WORDS as usize];
        let mut trips = Vec::new();
        let started = Instant::now();
        for _ in 0..READBACKS {
            let trip = Instant::now();
            self.readback.submit_and_wait(&self.gpu, &self.fence)?;
            self.seen.read(0, &mut words);
            trips.push(trip.elapsed());
        }
        let all = milliseconds(started.elapsed());
        trips.sort_unstable();
        *right &= (0..READBACK_WORDS)
            .zip(&words)
            .all(|(i, word)| *word == mix(i, i, KEY));
        Ok((all, milliseconds(trips[trips.len() / 2])))
    }

    /// A command buffer that is recorded and run once: milliseconds in all, and for recording.
    fn recorded(&self) -> Result<(f64, f64), Error> {
        let started = Instant::now();
        self.fresh.record(false, |recorder| {
            recorder.pipeline(&self.pipeline);
            recorder.set(&self.layout, &self.set, &[]);
            // Each is two commands: its constants are pushed first.
            for part in 0..RECORDED_DISPATCHES {
                let first = part * GROUP_WORDS % THREADS;
                dispatch(recorder, &self.layout, (first, GROUP_WORDS));
            }
        })?;
        let recorded = started.elapsed();
        let batch = Batch {
            commands: vec![&self.fresh],
            ..Batch::default()
        };
        self.gpu.submit(&[batch], Some(&self.fence))?;
        self.fence.wait_and_reset()?;
        Ok((milliseconds(started.elapsed()), milliseconds(recorded)))
    }

    /// Buffers without memory, made and destroyed in turn: milliseconds.
    fn buffers(&self) -> Result<f64, Error> {
        let started = Instant::now();
        for _ in 0..CREATED {
            self.gpu
                .create_buffer(CREATED_LEN, vk::BufferUsageFlags::STORAGE_BUFFER)?;
        }
        // A driver may put off what nobody waits for.
        self.small.submit_and_wait(&self.gpu, &self.fence)?;
        Ok(milliseconds(started.elapsed()))
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
