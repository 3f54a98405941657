//! `audit`: one client over hesperd with the audit, with nothing marked, and with nothing followed.

use std::time::Duration;

use super::{Figures, Measurement, Row};
use crate::error::{Error, Result};
use crate::vtest::{Profile, Programs, Server};

/// Longest run of the client.
const LIMIT: Duration = Duration::from_secs(300);
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
                let mut command = server.command(&programs.guest);
                command.arg("bench").arg("--json").arg(&report);
                server.client(&mut command)?.succeed(LIMIT)?;
                figures.add(mode, &report)?;
                server.settles()?;
            }
        }
        for server in servers {
            server.stop()?;
        }
        Ok(figures.rows("off"))
    }
}
