//! `audit`: the oracle over random programs, through the real worker: no byte of device-local memory changes without a
//! mark. And it can fail: for each rule, an audit that is blind to it is caught.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, Outcome, Suite};
use crate::error::{Error, Result};
use crate::vtest::{Profile, Programs, Server};

/// Longest run of one load: every submission is read back and hashed.
const LIMIT: Duration = Duration::from_secs(600);
/// Submissions of one seed.
const SUBMISSIONS: u64 = 100;
/// Seeds that a blind audit is tried on: a program need not use every command.
const BLIND_SEEDS: u64 = 6;
/// Rules that the load depends on.
const RULES: [&str; 8] = [
    "vkCmdFillBuffer",
    "vkCmdUpdateBuffer",
    "vkCmdCopyBuffer",
    "vkCmdDispatch",
    "vkCmdDispatchIndirect",
    "vkCmdExecuteCommands",
    "vkUpdateDescriptorSets",
    "vkCreateBufferView",
];

pub struct Audit;

impl Suite for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn about(&self) -> &'static str {
        "no write escapes the audit, and a blind audit is caught"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        if let Some(lacks) = Programs::lacks() {
            context.record("suite", Outcome::Skipped(lacks), 0.0);
            return Ok(());
        }
        let programs = Programs::new(Profile::Debug)?;
        let seeds = if context.full { 100 } else { 6 };
        context.case("oracle finds no miss in random programs", || {
            let sums = load(&programs, "sound", "on", 1..=seeds)?;
            println!(
                "audit: {} submissions checked, {} misses",
                sums.checked, sums.misses
            );
            if sums.checked < seeds * SUBMISSIONS || sums.lost > 0 {
                return Err(Error::Guest(format!("Not all was checked: {sums:?}")));
            }
            match sums.misses {
                0 => Ok(Outcome::Passed),
                misses => Err(Error::Guest(format!("{misses} writes were missed"))),
            }
        });
        for rule in RULES {
            context.case(&format!("an audit blind to {rule} is caught"), || {
                for seed in 1..=BLIND_SEEDS {
                    let mode = format!("blind:{rule}");
                    let name = format!("{rule}-{seed}");
                    if load(&programs, &name, &mode, seed..=seed)?.misses > 0 {
                        return Ok(Outcome::Passed);
                    }
                }
                Err(Error::Guest(format!(
                    "The oracle found no miss with {BLIND_SEEDS} seeds"
                )))
            });
        }
        Ok(())
    }
}

/// What the contexts that are gone did.
#[derive(Debug)]
struct Sums {
    checked: u64,
    misses: u64,
    lost: u64,
}

/// Runs the load of each seed over a hesperd whose audit works as `mode` says.
fn load(
    programs: &Programs,
    name: &str,
    mode: &str,
    seeds: impl Iterator<Item = u64>,
) -> Result<Sums> {
    let mut server = Server::start(programs, name, &["--oracle", "--audit", mode])?;
    let run = |server: &mut Server| -> Result<Value> {
        for seed in seeds {
            let (seed, submissions) = (seed.to_string(), SUBMISSIONS.to_string());
            let arguments = ["--seed", &seed, "--submissions", &submissions, "--held"];
            let arguments = [&["oracle-load"], &arguments[..]].concat();
            server.run(&programs.guest, &arguments, LIMIT)?;
        }
        server.settles()?;
        server.ask("status", json!({}))
    };
    let status = run(&mut server)
        .map_err(|error| Error::Guest(format!("{error}\n--- hesperd\n{}", server.log())))?;
    server.stop()?;
    let sum = |name: &str| {
        status["ended"][name]
            .as_u64()
            .ok_or_else(|| Error::Guest(format!("A status without sums: {status}")))
    };
    Ok(Sums {
        checked: sum("oracle_checked")?,
        misses: sum("oracle_misses")?,
        lost: sum("lost")?,
    })
}
