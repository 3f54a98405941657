//! `venus`: one client natively, and over hesperd.

use std::time::Duration;

use super::{Figures, Measurement, Row};
use crate::error::{Error, Result};
use crate::vtest::{Profile, Programs, Server, native};

/// Longest run of the client.
const LIMIT: Duration = Duration::from_secs(300);

pub struct Venus;

impl Measurement for Venus {
    fn name(&self) -> &'static str {
        "venus"
    }

    fn about(&self) -> &'static str {
        "lavapipe natively and over the vtest socket"
    }

    fn run(&self, runs: usize) -> Result<Vec<Row>> {
        if let Some(lacks) = Programs::lacks() {
            return Err(Error::Usage(format!("Can't measure here: {lacks}")));
        }
        let programs = Programs::new(Profile::Release)?;
        let mut server = Server::start(&programs, "hesperd", &[])?;
        let dir = programs.folder("reports")?;
        let mut figures = Figures::default();
        for run in 0..runs {
            let mut variants = ["native", "hesper"];
            variants.rotate_left(run % 2);
            for variant in variants {
                let report = dir.join(format!("{variant}-{run}.json"));
                let mut command = match variant {
                    "native" => native(&programs.guest),
                    _ => server.command(&programs.guest),
                };
                command.arg("bench").arg("--json").arg(&report);
                server.client(&mut command)?.succeed(LIMIT)?;
                figures.add(variant, &report)?;
                // The spare worker of the next client is started behind this one's back.
                server.settles()?;
            }
        }
        server.stop()?;
        Ok(figures.rows("native"))
    }
}
