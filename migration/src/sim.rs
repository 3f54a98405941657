//! A deterministic simulation of one protected VM: the real rules of [`crate::machine`] in a world
//! of random delays, losses and crashes, all drawn from one seed.
//!
//! Checked after every step:
//! - the VM never runs on both sides, nor starts at the standby before the primary's QEMU is dead;
//! - a takeover happens under a record that says protected, from an epoch that is complete in
//!   place, and not older than any epoch whose ack the agent has seen;
//! - the VM is never paused for longer than [`PAUSE_MS_MAX`].
//!
//! Checked at the end, when no fault has happened for seconds: a VM that lives runs and is
//! protected again if everyone is there for it; a VM that died under protection runs at the standby.

mod parts;
mod world;

use std::fmt;

pub use world::{PAUSE_MS_MAX, Report, run};

/// A process of the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// The guard; QEMU dies with it.
    Guard,
    /// The agent; it is started again.
    Agent,
    /// The standby; it is started again, with nothing.
    Standby,
    /// QEMU.
    Qemu,
}

impl Process {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Guard, Self::Agent, Self::Standby, Self::Qemu];
}

/// A rule that is broken on purpose, to show that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The agent says "fenced" without asking the guard.
    NoFence,
    /// The standby takes a lost link for a dead primary.
    LinkLossIsDeath,
    /// The guard fences for a standby whatever its record says.
    RecordIgnored,
    /// The guard does nothing when the agent dies.
    NoRelease,
    /// The agent releases the VM without recording it as unprotected.
    NoRecord,
    /// The standby takes a commit for complete whatever has arrived.
    PartialCommit,
    /// The standby acks before the epoch is in place, and loses it.
    AckWithoutApply,
    /// A first state is applied over the old one without saying so.
    SyncKeepsReady,
    /// The agent takes QEMU's death for a lost stream, and records the VM as unprotected.
    DeathIsStreamLoss,
    /// The standby keeps a VM that it has loaded when a first state overwrites it.
    NoAbort,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::NoFence,
        Self::LinkLossIsDeath,
        Self::RecordIgnored,
        Self::NoRelease,
        Self::NoRecord,
        Self::PartialCommit,
        Self::AckWithoutApply,
        Self::SyncKeepsReady,
        Self::DeathIsStreamLoss,
        Self::NoAbort,
    ];
}

/// What to simulate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Everything random comes from it.
    pub seed: u64,
    /// A rule to break.
    pub mutant: Option<Mutant>,
    /// Kill this process at its so-manieth step, and draw no other fault.
    pub crash: Option<(Process, u64)>,
    /// Keep a line for each step.
    pub trace: bool,
}

/// Outcome of many seeds.
#[derive(Debug, Default)]
pub struct Summary {
    /// Seeds that ran.
    pub seeds: u64,
    /// Seeds that broke a rule, with the first broken one in words.
    pub failures: Vec<(u64, String)>,
    /// Takeovers that happened, to show that the seeds reach them.
    pub takeovers: u64,
    /// Epochs that were acked.
    pub epochs: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "simulate: {} seeds, {} violations",
            self.seeds,
            self.failures.len()
        )
    }
}

/// Runs `count` seeds from `first` on.
pub fn run_many(first: u64, count: u64, mutant: Option<Mutant>) -> Summary {
    let mut summary = Summary::default();
    for seed in first..first.saturating_add(count) {
        let report = run(Options {
            seed,
            mutant,
            ..Options::default()
        });
        summary.seeds += 1;
        summary.takeovers += u64::from(report.takeover);
        summary.epochs += report.epochs;
        if let Some(text) = report.violation {
            summary.failures.push((seed, text));
        }
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_thousand_seeds_break_no_rule() {
        let summary = run_many(0, 1000, None);
        assert_eq!(summary.failures, []);
        assert!(summary.takeovers > 200, "{} takeovers", summary.takeovers);
        assert!(summary.epochs > 10_000, "{} epochs", summary.epochs);
    }

    #[test]
    fn run_crash_of_each_process_at_each_step_breaks_no_rule() {
        // A crash that no process reaches leaves a run without any fault.
        let quiet = Some((Process::Guard, u64::MAX));
        for seed in 0..2 {
            let peaceful = run(Options {
                seed,
                crash: quiet,
                ..Options::default()
            });
            assert_eq!(peaceful.violation, None);
            for process in Process::ALL {
                // Past these the run repeats itself, epoch by epoch.
                let steps = peaceful.steps[process as usize].min(90);
                assert!(steps > 60, "{process:?} takes {steps} steps only");
                for step in 0..steps {
                    let report = run(Options {
                        seed,
                        crash: Some((process, step)),
                        ..Options::default()
                    });
                    assert_eq!(report.violation, None, "{process:?} at step {step}");
                    assert!(report.crashed, "{process:?} never got to step {step}");
                }
            }
        }
    }

    #[test]
    fn run_each_broken_rule_is_found() {
        for mutant in Mutant::ALL {
            let found = (0..1000).any(|seed| {
                run(Options {
                    seed,
                    mutant: Some(mutant),
                    ..Options::default()
                })
                .violation
                .is_some()
            });
            assert!(found, "{mutant:?} passes for sound");
        }
    }

    #[test]
    fn run_same_seed_gives_the_same_trace() {
        let options = Options {
            seed: 11,
            trace: true,
            ..Options::default()
        };
        let (first, second) = (run(options), run(options));
        assert!(!first.trace.is_empty());
        assert_eq!(first.trace, second.trace);
    }
}
