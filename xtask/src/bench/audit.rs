//! `audit`: one client over hesperd with the audit, with nothing marked, and with nothing followed.
//! `audit-instructions`: what its rows take, counted by callgrind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Figures, Measurement, Row};
use crate::error::{Error, Result};
use crate::process;
use crate::vtest::{Profile, Programs, Server, native, until};

const MODES: [&str; 3] = ["on", "unmarked", "off"];

pub struct Audit;

impl Measurement for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn about(&self) -> &'static str {
        "the audit on, without resolving and marking (unmarked), and off"
    }

    fn run(&self, runs: usize) -> Result<Vec<Row>> {
        if let Some(lacks) = Programs::lacks() {
            return Err(Error::Usage(format!("Can't measure here: {lacks}")));
        }
        let programs = Programs::new(Profile::Release)?;
        let mut servers = MODES
            .iter()
            .map(|mode| Server::start(&programs, mode, &["--audit", mode]))
            .collect::<Result<Vec<_>>>()?;
        let dir = programs.folder("reports")?;
        let mut figures = Figures::default();
        for run in 0..runs {
            let mut order: Vec<_> = (0..MODES.len()).collect();
            order.rotate_left(run % MODES.len());
            for at in order {
                let (mode, server) = (MODES[at], &mut servers[at]);
                let report = dir.join(format!("{mode}-{run}.json"));
                figures.run_over(mode, server, &programs, &report)?;
            }
        }
        for server in servers {
            server.stop()?;
        }
        Ok(figures.rows(&["off", "unmarked", "on"]))
    }
}

/// Rows of `hesper-guest bench`, by a part of their names.
const ROWS: [&str; 5] = [
    "small submits",
    "read-back",
    "dispatches of 1M threads",
    "commands in one command buffer",
    "buffers made",
];
/// How often the client runs a row: what is told is the difference, so that start and end don't count.
const FEW: u32 = 2;
const MANY: u32 = 12;
/// The function that takes one command off a ring and runs it: decoding, the audit, the driver's call, the reply.
const COLLECTED: &str = "*Streams*run_command*";
/// valgrind makes everything some fifty times slower.
const SLOW_LIMIT: Duration = Duration::from_secs(900);

/// Counts what each row's commands take in the worker's own thread. The driver's threads, which work for the same commands,
/// are not counted: what the audit adds weighs more here than in all that the row costs.
pub struct Instructions;

impl Measurement for Instructions {
    fn name(&self) -> &'static str {
        "audit-instructions"
    }

    fn about(&self) -> &'static str {
        "instructions of the worker's thread by callgrind, the audit on and off"
    }

    fn run(&self, _runs: usize) -> Result<Vec<Row>> {
        if process::output(Command::new("valgrind").arg("--version")).is_err() {
            println!("{}: SKIPPED: no valgrind (package valgrind)", self.name());
            return Ok(Vec::new());
        }
        let programs = Programs::new(Profile::Release)?;
        let mut figures = Figures::default();
        for mode in ["on", "off"] {
            let dir = programs.folder(&format!("callgrind-{mode}"))?;
            let mut command = native(Path::new("valgrind"));
            command
                .args(["--tool=callgrind", "--trace-children=yes"])
                .arg(format!("--toggle-collect={COLLECTED}"))
                .arg(format!("--callgrind-out-file={}/%p", dir.display()))
                .arg(&programs.hesperd);
            let options = ["--sandbox", "off", "--audit", mode];
            let mut server = Server::start_as(&programs, mode, command, &options)?;
            for row in ROWS {
                let few = count(&mut server, &programs, &dir, row, FEW)?;
                let many = count(&mut server, &programs, &dir, row, MANY)?;
                let each = (many - few) / f64::from(MANY - FEW);
                println!("{}: {row}: {mode}: {each:.0}", self.name());
                figures.push(mode, row, "instructions", each);
            }
            server.stop()?;
        }
        Ok(figures.rows(&["off", "on"]))
    }
}

/// Instructions that the worker of one client took for its commands.
fn count(
    server: &mut Server,
    programs: &Programs,
    dir: &Path,
    row: &str,
    repeat: u32,
) -> Result<f64> {
    let mut command = server.command(&programs.guest);
    command
        .args(["bench", "--only", row, "--linger-ms", "600000"])
        .args(["--repeat", &repeat.to_string()])
        // It takes a slow renderer for a dead one.
        .env("VN_DEBUG", "vtest,no_abort");
    let mut client = server.client(&mut command)?;
    client.prints("bench: right", SLOW_LIMIT)?;
    let contexts = server.contexts()?;
    let worker = contexts
        .first()
        .ok_or_else(|| Error::Guest("The client's context is gone".into()))?
        .worker;
    process::output(Command::new("callgrind_control").args(["-d", &worker.to_string()]))?;
    let path = dir.join(format!("{worker}.1"));
    let total = until("callgrind's counts", SLOW_LIMIT, || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        Ok(total(&text))
    })?;
    client.process.kill();
    server.settles()?;
    Ok(total)
}

/// What a file of callgrind's says that was collected.
fn total(text: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_read_from_what_callgrind_wrote_once_it_is_there() {
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\n\ntotals: 12\n"), Some(12.0));
        assert_eq!(total("events: Ir\nfn=(1)\n1 5\n"), None);
    }
}
