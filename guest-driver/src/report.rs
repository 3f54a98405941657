//! Lines on stdout and, on request, the same as JSON objects in a file.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::Error;
use crate::session::Mismatch;
use crate::vulkan::Gpu;
use crate::work::Options;

const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Sums since the start.
#[derive(Debug, Default, Clone)]
pub struct Totals {
    pub rounds: u64,
    pub submits: u64,
    pub errors: u64,
    pub verified_bytes: u64,
    /// Longest time from the end of a round to the end of the next, by the monotonic clock.
    pub gap_max: Duration,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Start {
        device: &'a str,
        seed: u64,
        buffers: usize,
        buffer_size: u64,
        chain: usize,
        dirty_buffers: usize,
    },
    Progress {
        round: u64,
        submits: u64,
        rate: f64,
        gap_max_ms: f64,
        errors: u64,
    },
    Mismatch {
        buffer: usize,
        offset: u64,
        expected: u32,
        got: u32,
        round: u64,
    },
    Done {
        rounds: u64,
        submits: u64,
        errors: u64,
        gap_max_ms: f64,
        verified_bytes: u64,
        final_buffers: usize,
        final_bytes: u64,
    },
}

/// Where the workload tells how it goes.
pub struct Report {
    json: Option<(String, File)>,
    last: Instant,
    last_submits: u64,
}

impl Report {
    /// Makes (or empties) the JSON file.
    pub fn new(path: Option<&str>) -> Result<Self, Error> {
        let json = match path {
            Some(path) => {
                let file = File::create(path).map_err(|source| Error::Report {
                    path: path.to_owned(),
                    source,
                })?;
                Some((path.to_owned(), file))
            }
            None => None,
        };
        Ok(Self {
            json,
            last: Instant::now(),
            last_submits: 0,
        })
    }

    /// Names the device and the options.
    pub fn start(&mut self, options: &Options, gpu: &Gpu) -> Result<(), Error> {
        let device = gpu.name();
        println!(
            "work: start device=\"{device}\" seed={} buffers={} buffer_size={} chain={} \
             dirty_buffers={} timeline={}",
            options.seed,
            options.buffers,
            options.buffer_size,
            options.chain,
            options.dirty_buffers,
            gpu.features.timeline,
        );
        self.write(&Line::Start {
            device: &device,
            seed: options.seed,
            buffers: options.buffers,
            buffer_size: options.buffer_size,
            chain: options.chain,
            dirty_buffers: options.dirty_buffers,
        })
    }

    /// Tells of a round, at most once a second.
    pub fn progress(&mut self, totals: &Totals) -> Result<(), Error> {
        let elapsed = self.last.elapsed();
        if elapsed < PROGRESS_INTERVAL {
            return Ok(());
        }
        let rate = (totals.submits - self.last_submits) as f64 / elapsed.as_secs_f64();
        self.last = Instant::now();
        self.last_submits = totals.submits;
        println!(
            "work: round={} submits={} rate={rate:.1}/s gap_max_ms={:.1} errors={}",
            totals.rounds,
            totals.submits,
            milliseconds(totals.gap_max),
            totals.errors,
        );
        self.write(&Line::Progress {
            round: totals.rounds,
            submits: totals.submits,
            rate,
            gap_max_ms: milliseconds(totals.gap_max),
            errors: totals.errors,
        })
    }

    /// Tells of a wrong word.
    pub fn mismatch(&mut self, round: u64, wrong: &Mismatch) -> Result<(), Error> {
        println!(
            "work: mismatch buffer={} offset={:#x} expected={:#010x} got={:#010x} round={round}",
            wrong.buffer, wrong.offset, wrong.expected, wrong.got,
        );
        self.write(&Line::Mismatch {
            buffer: wrong.buffer,
            offset: wrong.offset,
            expected: wrong.expected,
            got: wrong.got,
            round,
        })
    }

    /// Tells of the comparison at the end, and the sums.
    pub fn done(&mut self, totals: &Totals, buffers: usize, bytes: u64) -> Result<(), Error> {
        println!("work: verified {buffers} buffers, {bytes} bytes");
        println!(
            "work: done rounds={} submits={} errors={} gap_max_ms={:.1} verified_bytes={}",
            totals.rounds,
            totals.submits,
            totals.errors,
            milliseconds(totals.gap_max),
            totals.verified_bytes,
        );
        self.write(&Line::Done {
            rounds: totals.rounds,
            submits: totals.submits,
            errors: totals.errors,
            gap_max_ms: milliseconds(totals.gap_max),
            verified_bytes: totals.verified_bytes,
            final_buffers: buffers,
            final_bytes: bytes,
        })
    }

    fn write(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let Some((path, file)) = &mut self.json else {
            return Ok(());
        };
        serde_json::to_string(line)
            .map_err(std::io::Error::from)
            .and_then(|text| writeln!(file, "{text}"))
            .map_err(|source| Error::Report {
                path: path.clone(),
                source,
            })
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
