//! `audit`: one client over hesperd with the audit, with nothing marked, and with nothing followed.

use super::{Figures, Measurement, Row};
use crate::error::{Error, Result};
use crate::vtest::{Profile, Programs, Server};

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
