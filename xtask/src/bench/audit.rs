//! `audit`: one client over hesperd with the audit, with nothing marked, and with nothing followed.
//! `audit-instructions`: the same rows as commands, counted by callgrind.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Figures, Measurement, Row};
use crate::cache;
use crate::error::{Error, Result};
use crate::process;
use crate::vtest::{Profile, Programs, Server, native};

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

/// Rows of `row_for_callgrind` in `src/audit/tests/oracle.rs`.
const ROWS: [&str; 6] = [
    "submits",
    "readbacks",
    "dispatches",
    "recording",
    "copies",
    "buffers",
];

/// Counts what decoding, following and the driver's call of each row's commands take, in the thread that runs them. The
/// driver's own threads are not counted, nor is the object table of a worker: what the audit adds weighs more here than
/// over hesperd.
pub struct Instructions;

impl Measurement for Instructions {
    fn name(&self) -> &'static str {
        "audit-instructions"
    }

    fn about(&self) -> &'static str {
        "instructions by callgrind, the audit on and off, with the driver's calls and without"
    }

    fn run(&self, _runs: usize) -> Result<Vec<Row>> {
        if process::output(Command::new("valgrind").arg("--version")).is_err() {
            println!("{}: SKIPPED: no valgrind (package valgrind)", self.name());
            return Ok(Vec::new());
        }
        let program = oracle()?;
        let mut rows = Vec::new();
        for (of, driver) in [("with the driver", true), ("without the driver", false)] {
            let mut figures = Figures::default();
            for row in ROWS {
                for mode in ["on", "off"] {
                    let count = count(&program, row, mode, driver)?;
                    figures.push(mode, &format!("{row}, {of}"), "instructions", count);
                }
            }
            rows.extend(figures.rows(&["off", "on"]));
        }
        Ok(rows)
    }
}

/// The release build of the audit's live oracle.
fn oracle() -> Result<PathBuf> {
    let mut build = Command::new(env!("CARGO"));
    build
        .args([
            "test",
            "--release",
            "-p",
            "hesper-audit",
            "--test",
            "oracle",
        ])
        .args(["--no-run", "--message-format=json"])
        .current_dir(cache::repository());
    let text = process::output(&mut build)?;
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .next_back()
        .ok_or_else(|| Error::Guest("cargo names no test program".into()))
}

fn count(program: &Path, row: &str, mode: &str, driver: bool) -> Result<f64> {
    let mut command = native(Path::new("valgrind"));
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*measured_command*");
    if !driver {
        // Entered from within: not collected until it returns.
        command.arg("--toggle-collect=*measured_driver*");
    }
    command
        .arg(program)
        .args(["--ignored", "--exact", "row_for_callgrind"])
        .env("HESPER_ROW", row)
        .env("HESPER_AUDIT", mode);
    let output = command
        .output()
        .map_err(|error| Error::Guest(format!("Can't run valgrind: {error}")))?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = text
        .lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse::<f64>().ok())
        .filter(|count| output.status.success() && *count > 0.0);
    collected.ok_or_else(|| Error::Guest(format!("Row {row} was not counted:\n{text}")))
}
