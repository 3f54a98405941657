//! A plain live migration between two QEMUs, driven over QMP.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::qmp::Qmp;
use crate::release;

const COMMAND: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
/// The destination runs within this after the source is done.
const ARRIVE: Duration = Duration::from_secs(30);

/// What to migrate, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// QMP socket of the source.
    pub from: PathBuf,
    /// QMP socket of the destination, which was started with `-incoming defer`.
    pub to: PathBuf,
    /// Where the two meet, as in `unix:/run/m.sock` or `tcp:10.0.0.2:4444`.
    pub uri: String,
    /// Longest pause that QEMU plans for, in milliseconds.
    pub downtime_limit_ms: u64,
    /// Most bytes a second.
    pub max_bandwidth: u64,
    /// The migration is cancelled after this.
    pub timeout: Duration,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The pause, as QEMU measured it.
    pub downtime_ms: u64,
    /// From start to end.
    pub total_ms: u64,
    /// Bytes of RAM sent.
    pub ram_bytes: u64,
    /// Rounds over dirty pages.
    pub rounds: u64,
}

/// Migrates, and returns when the VM runs at the destination. After any failure the VM runs at the
/// source again, because the return path lets the source know.
///
/// # Errors
/// [`Error::Migration`] with QEMU's reason; those of QMP.
pub fn run(options: &Options) -> Result<Outcome> {
    let mut from = Qmp::connect(&options.from, COMMAND)?;
    let mut to = Qmp::connect(&options.to, COMMAND)?;
    prepare(&mut from, options)?;
    prepare(&mut to, options)?;
    let uri = json!({"uri": options.uri});
    match to.execute("migrate-incoming", uri.clone(), COMMAND) {
        Ok(_) => {}
        // A destination that listens already will do.
        Err(Error::QmpRefused { description, .. }) if description.contains("already") => {}
        Err(error) => return Err(error),
    }
    from.execute("migrate", uri, COMMAND)?;
    let outcome = follow(&mut from, options).and_then(|outcome| {
        arrive(&mut to)?;
        Ok(outcome)
    });
    if outcome.is_err() && !completed(&mut from) {
        // The reason is what is reported; a source that is gone can't be helped.
        let _ = release::make_run(&mut from, COMMAND);
    }
    outcome
}

fn prepare(qmp: &mut Qmp, options: &Options) -> Result<()> {
    let list = json!([
        {"capability": "return-path", "state": true},
        {"capability": "x-colo", "state": false},
    ]);
    let capabilities = json!({"capabilities": list});
    qmp.execute("migrate-set-capabilities", capabilities, COMMAND)?;
    let parameters = json!({
        "downtime-limit": options.downtime_limit_ms,
        "max-bandwidth": options.max_bandwidth,
    });
    qmp.execute("migrate-set-parameters", parameters, COMMAND)?;
    Ok(())
}

fn completed(qmp: &mut Qmp) -> bool {
    matches!(qmp.migration_state(COMMAND).as_deref(), Ok("completed"))
}

fn follow(qmp: &mut Qmp, options: &Options) -> Result<Outcome> {
    let end = Instant::now() + options.timeout;
    loop {
        let answer = qmp.execute("query-migrate", Value::Null, COMMAND)?;
        let number = |path: &str| answer.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        match answer.get("status").and_then(Value::as_str) {
            Some("completed") => {
                return Ok(Outcome {
                    downtime_ms: number("/downtime"),
                    total_ms: number("/total-time"),
                    ram_bytes: number("/ram/transferred"),
                    rounds: number("/ram/dirty-sync-count"),
                });
            }
            Some(state @ ("failed" | "cancelled")) => {
                let reason = answer.get("error-desc").and_then(Value::as_str);
                return Err(Error::Migration(reason.unwrap_or(state).into()));
            }
            _ if Instant::now() >= end => {
                let seconds = options.timeout.as_secs();
                return Err(Error::Migration(format!("not done after {seconds} s")));
            }
            _ => thread::sleep(LOOK),
        }
    }
}

fn arrive(qmp: &mut Qmp) -> Result<()> {
    let end = Instant::now() + ARRIVE;
    loop {
        let state = qmp.run_state(COMMAND)?;
        match state.as_str() {
            "running" => return Ok(()),
            "inmigrate" | "paused" if Instant::now() < end => thread::sleep(LOOK),
            _ => {
                let text = format!("the destination is in state {state}");
                return Err(Error::Migration(text));
            }
        }
    }
}

/// One line about a VM over its QMP: version, run state, migration state.
///
/// # Errors
/// Those of QMP.
pub fn status(path: &Path) -> Result<Value> {
    let mut qmp = Qmp::connect(path, COMMAND)?;
    let (major, minor, micro) = qmp.version();
    Ok(json!({
        "role": "qemu",
        "version": format!("{major}.{minor}.{micro}"),
        "state": qmp.run_state(COMMAND)?,
        "migration": qmp.migration_state(COMMAND)?,
    }))
}
