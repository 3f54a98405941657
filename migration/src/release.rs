//! Makes a QEMU run again whose checkpoint receiver or migration target is gone.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::qmp::Qmp;

/// Deadline of each command; a main loop that waits for a device can take longer, then it is tried
/// again.
const COMMAND: Duration = Duration::from_millis(1_000);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Ends COLO or a migration, and returns when the VM runs: in about 15 ms when QEMU is well.
///
/// A VM that an operator has paused stays paused.
///
/// # Errors
/// [`Error::QmpClosed`] and others when QEMU is gone; [`Error::QmpTimeout`] after `within`.
pub fn make_run(qmp: &mut Qmp, within: Duration) -> Result<()> {
    let end = Instant::now() + within;
    loop {
        match look(qmp) {
            Ok(true) => return Ok(()),
            Ok(false) | Err(Error::QmpRefused { .. }) => {}
            Err(Error::QmpTimeout { .. }) => {
                // A receiver that stalls can hold QEMU's lock (11.x); this goes past it.
                let instances = json!({"instances": [{"type": "migration"}]});
                let _ = qmp.execute_oob("yank", instances, COMMAND);
            }
            Err(error) => return Err(error),
        }
        if Instant::now() >= end {
            return Err(Error::QmpTimeout {
                what: "the release of the VM".into(),
                ms: within.as_millis(),
            });
        }
        thread::sleep(LOOK);
    }
}

/// One look and one step; true when the VM runs and no migration holds it.
fn look(qmp: &mut Qmp) -> Result<bool> {
    let migration = qmp.migration_state(COMMAND)?;
    match migration.as_str() {
        "colo" => {
            qmp.execute("x-colo-lost-heartbeat", Value::Null, COMMAND)?;
            return Ok(false);
        }
        "" | "none" | "completed" | "failed" | "cancelled" => {}
        _ => {
            qmp.execute("migrate_cancel", Value::Null, COMMAND)?;
            return Ok(false);
        }
    }
    match qmp.run_state(COMMAND)?.as_str() {
        "colo" | "finish-migrate" | "postmigrate" => {
            qmp.execute("cont", Value::Null, COMMAND)?;
            Ok(false)
        }
        _ => Ok(true),
    }
}

/// As [`make_run`] over a connection of its own, again and again until it works or QEMU's socket
/// is gone.
///
/// # Errors
/// The last one, when no connection can be made any more.
pub fn make_run_at(path: &Path) -> Result<()> {
    loop {
        let mut qmp = Qmp::connect(path, COMMAND)?;
        match make_run(&mut qmp, Duration::from_secs(5)) {
            Ok(()) => return Ok(()),
            Err(error) => tracing::warn!("VM is not released yet: {error}"),
        }
        thread::sleep(LOOK);
    }
}
