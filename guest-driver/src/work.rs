//! The verifying workload: rounds of commands whose every result the CPU knows.

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::model::Step;
use crate::plan::{Planner, Shape};
use crate::report::{Report, Totals};
use crate::session::{Check, Session};
use crate::signal;

/// Mismatches told one by one; all are counted.
const MISMATCHES_TOLD_MAX: u64 = 100;
const STEP_BYTES: usize = 256 * 1024;
const SHARED_BYTES_MAX: usize = 256 * 1024;
const UPLOAD_BYTES: usize = 64 * 1024;
const BUFFER_BYTES_MIN: u64 = 4096;
const BUFFER_BYTES_MAX: u64 = 4 << 30;
const BUFFERS_MAX: usize = 1024;

/// Options of `work`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Stop after so many seconds. Without this and --rounds: until SIGINT or SIGTERM
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Stop after so many rounds
    #[arg(long, value_name = "N")]
    pub rounds: Option<u64>,
    /// Device-local buffers
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub buffers: usize,
    /// Size of each, in bytes (a multiple of 4)
    #[arg(long, value_name = "BYTES", default_value_t = 256 * 1024)]
    pub buffer_size: u64,
    /// Steps on each buffer that a round writes
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub chain: usize,
    /// Device-local buffers that a round writes
    #[arg(long, value_name = "K", default_value_t = 2)]
    pub dirty_buffers: usize,
    /// Rest between rounds, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub pause_ms: u64,
    /// Use the device whose name contains this
    #[arg(long, value_name = "SUBSTR")]
    pub device: Option<String>,
    /// Write a JSON object a line to this file, too
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
    /// Draw the commands from this seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Flip a word on the device in this round, to see that it is found
    #[arg(long, hide = true)]
    pub corrupt: Option<u64>,
}

impl Options {
    fn shape(&self) -> Result<Shape, Error> {
        if !(1..=BUFFERS_MAX).contains(&self.buffers) {
            return Err(Error::Option(format!("--buffers takes 1 to {BUFFERS_MAX}")));
        }
        if !(BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX).contains(&self.buffer_size)
            || !self.buffer_size.is_multiple_of(4)
        {
            return Err(Error::Option(format!(
                "--buffer-size takes multiples of 4 from {BUFFER_BYTES_MIN} to {BUFFER_BYTES_MAX}"
            )));
        }
        if self.dirty_buffers > self.buffers {
            return Err(Error::Option(
                "--dirty-buffers can't be more than --buffers".to_owned(),
            ));
        }
        if self.chain > 1024 {
            return Err(Error::Option("--chain takes up to 1024".to_owned()));
        }
        let bytes = self.buffer_size as usize;
        Ok(Shape {
            buffers: self.buffers,
            buffer_words: bytes / 4,
            shared_words: bytes.min(SHARED_BYTES_MAX) / 4,
            upload_words: UPLOAD_BYTES / 4,
            dirty: self.dirty_buffers,
            chain: self.chain,
            step_words: bytes.min(STEP_BYTES) / 4,
        })
    }
}

/// Runs the workload; true if every word compared was right.
pub fn run(options: &Options) -> Result<bool, Error> {
    let shape = options.shape()?;
    let mut report = Report::new(options.json.as_deref())?;
    let mut planner = Planner::new(shape.clone(), options.seed);
    let mut session = Session::new(options.device.as_deref(), shape)?;
    // Only now: a driver that is stuck while it starts ends by the first signal.
    signal::catch_stop();
    let result = rounds(options, &mut report, &mut planner, &mut session);
    if result.is_err() {
        // Whatever the device still holds may be in use, and destroying could wait for a device
        // that doesn't answer any more. The process is about to end.
        std::mem::forget(session);
    }
    result
}

fn rounds(
    options: &Options,
    report: &mut Report,
    planner: &mut Planner,
    session: &mut Session,
) -> Result<bool, Error> {
    report.start(options, &session.gpu)?;
    session.run(&planner.initial())?;
    for id in 0..options.buffers {
        session.add_fixed(planner.fixed(id))?;
    }

    let mut totals = Totals::default();
    let start = Instant::now();
    let mut last_end = start;
    let limit = options.seconds.map(Duration::from_secs);
    while options.rounds.is_none_or(|limit| totals.rounds < limit)
        && limit.is_none_or(|limit| start.elapsed() < limit)
        && !signal::stop()
    {
        let round = planner.round();
        let hidden = (options.corrupt == Some(totals.rounds)).then(|| flip(session));
        let check = session.round(&round.writes, round.fixed, &round.fresh, hidden.as_ref())?;
        let end = Instant::now();
        totals.gap_max = totals.gap_max.max(end - last_end);
        last_end = end;
        take(report, &mut totals, &check)?;
        totals.rounds += 1;
        totals.submits = session.submits;
        report.progress(&totals)?;
        if options.pause_ms > 0 {
            std::thread::sleep(Duration::from_millis(options.pause_ms));
        }
    }

    let check = session.verify_all()?;
    take(report, &mut totals, &check)?;
    totals.submits = session.submits;
    report.done(&totals, session.shape.buffers + 2, check.bytes)?;
    Ok(totals.errors == 0)
}

/// Changes a word that this round compares.
fn flip(session: &Session) -> Step {
    let first = session.next_window(0);
    Step::Update {
        target: 0,
        first,
        data: vec![!session.model.words(0)[first]],
    }
}

fn take(report: &mut Report, totals: &mut Totals, check: &Check) -> Result<(), Error> {
    totals.verified_bytes += check.bytes;
    for mismatch in &check.mismatches {
        totals.errors += 1;
        if totals.errors <= MISMATCHES_TOLD_MAX {
            report.mismatch(totals.rounds, mismatch)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: Options,
    }

    fn shape(arguments: &[&str]) -> Result<Shape, Error> {
        Cli::try_parse_from([&["work"], arguments].concat())
            .unwrap()
            .options
            .shape()
    }

    #[test]
    fn shape_of_bad_options_is_refused() {
        assert!(shape(&[]).is_ok());
        assert!(shape(&["--buffers", "0"]).is_err());
        assert!(shape(&["--buffer-size", "4098"]).is_err());
        assert!(shape(&["--buffer-size", "1024"]).is_err());
        assert!(shape(&["--buffers", "2", "--dirty-buffers", "3"]).is_err());
    }
}
