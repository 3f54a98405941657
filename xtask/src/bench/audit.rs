//! `audit`: one client over hesperd with the audit, with nothing marked, and with nothing followed.
//! `audit-instructions`: what its rows take, counted by callgrind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Figures, Measurement, Row};
use crate::error::{Error, FileContext, Result};
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
/// How often the client runs a row.
const REPEAT: u32 = 10;
/// The function that takes one command off a ring and runs it: decoding, the audit, the driver's call, the reply.
const COLLECTED: &str = "*Streams*run_command*";
/// valgrind makes everything some fifty times slower.
const SLOW_LIMIT: Duration = Duration::from_secs(900);

/// How the worker is counted.
#[derive(Clone, Copy)]
struct Mode {
    name: &'static str,
    /// `--audit` of hesperd.
    audit: &'static str,
    /// Not the worker's own thread, but those of the driver in it.
    driver: bool,
}

/// The driver's threads do the same whatever the audit does.
const COUNTED: [Mode; 3] = [
    Mode {
        name: "on",
        audit: "on",
        driver: false,
    },
    Mode {
        name: "off",
        audit: "off",
        driver: false,
    },
    Mode {
        name: "driver",
        audit: "off",
        driver: true,
    },
];

/// Counts what each row's commands take once it is warm: in the worker's own thread, which decodes, audits and calls the
/// driver, and in all threads of the worker, the driver's included. Waiting is not counted.
pub struct Instructions;

impl Measurement for Instructions {
    fn name(&self) -> &'static str {
        "audit-instructions"
    }

    fn about(&self) -> &'static str {
        "instructions for the commands of a row by callgrind, the audit on and off"
    }

    fn run(&self, _runs: usize) -> Result<Vec<Row>> {
        if process::output(Command::new("valgrind").arg("--version")).is_err() {
            println!("{}: SKIPPED: no valgrind (package valgrind)", self.name());
            return Ok(Vec::new());
        }
        let programs = Programs::new(Profile::Release)?;
        let mut counts = Vec::new();
        for mode in COUNTED {
            let dir = programs.folder(&format!("callgrind-{}", mode.name))?;
            let mut command = native(Path::new("valgrind"));
            command
                .args(["--tool=callgrind", "--trace-children=yes"])
                .arg(if mode.driver {
                    "--separate-threads=yes".to_owned()
                } else {
                    format!("--toggle-collect={COLLECTED}")
                })
                .arg(format!("--callgrind-out-file={}/%p", dir.display()))
                .arg(&programs.hesperd);
            let options = ["--sandbox", "off", "--audit", mode.audit];
            let mut server = Server::start_as(&programs, mode.name, command, &options)?;
            let mut of_mode = Vec::new();
            for row in ROWS {
                let each = count(&mut server, &programs, &dir, row, mode)? / f64::from(REPEAT);
                println!("{}: {row}: {}: {each:.0}", self.name(), mode.name);
                of_mode.push(each);
            }
            server.stop()?;
            counts.push(of_mode);
        }
        let mut figures = Figures::default();
        let [on, off, driver] = [0, 1, 2].map(|mode| &counts[mode]);
        for (at, row) in ROWS.iter().enumerate() {
            let own = format!("{row}, the worker's own thread");
            let all = format!("{row}, all threads of the worker");
            for (mode, counts) in [("on", on), ("off", off)] {
                figures.push(mode, &own, "instructions", counts[at]);
                figures.push(mode, &all, "instructions", counts[at] + driver[at]);
            }
        }
        Ok(figures.rows(&["off", "on"]))
    }
}

/// Instructions that the worker of one client took for all repetitions of a row.
fn count(
    server: &mut Server,
    programs: &Programs,
    dir: &Path,
    row: &str,
    mode: Mode,
) -> Result<f64> {
    let go = dir.join("go");
    let mut command = server.command(&programs.guest);
    command
        .args(["bench", "--only", row, "--linger-ms", "600000"])
        .args(["--repeat", &REPEAT.to_string(), "--wait-for"])
        .arg(&go)
        // It takes a slow renderer for a dead one.
        .env("VN_DEBUG", "vtest,no_abort");
    let mut client = server.client(&mut command)?;
    client.prints("bench: warm", SLOW_LIMIT)?;
    let contexts = server.contexts()?;
    let worker = contexts
        .first()
        .ok_or_else(|| Error::Guest("The client's context is gone".into()))?
        .worker;
    let control = |order: &str| {
        process::output(Command::new("callgrind_control").args([order, &worker.to_string()]))
    };
    control("-z")?;
    std::fs::write(&go, []).at("write", &go)?;
    client.prints("bench: right", SLOW_LIMIT)?;
    std::fs::remove_file(&go).at("remove", &go)?;
    control("-d")?;
    let total = until("callgrind's counts", SLOW_LIMIT, || {
        if !mode.driver {
            return Ok(total(&dir.join(format!("{worker}.1"))));
        }
        // A file for each thread; the first is the worker's own.
        if total(&dir.join(format!("{worker}.1-01"))).is_none() {
            return Ok(None);
        }
        let threads = (2..).map(|thread| dir.join(format!("{worker}.1-{thread:02}")));
        Ok(Some(threads.map_while(|path| total(&path)).sum()))
    })?;
    client.process.kill();
    server.settles()?;
    Ok(total)
}

/// What a file of callgrind's says that was collected; `None` while it isn't there as a whole.
fn total(path: &Path) -> Option<f64> {
    parse_total(&std::fs::read_to_string(path).ok()?)
}

fn parse_total(text: &str) -> Option<f64> {
    text.lines()
        .find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_read_from_what_callgrind_wrote_once_it_is_there() {
        assert_eq!(
            parse_total("events: Ir\nfn=(1)\n1 5\n\ntotals: 12\n"),
            Some(12.0)
        );
        assert_eq!(parse_total("events: Ir\nfn=(1)\n1 5\n"), None);
    }
}
