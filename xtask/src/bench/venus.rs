//! `venus`: one client natively, and over hesperd.

use super::{Figures, LIMIT, Measurement, Row};
use crate::error::{Error, Result};
use crate::vtest::{Profile, Programs, Server, native};

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
                if variant != "native" {
                    figures.run_over(variant, &mut server, &programs, &report)?;
                    continue;
                }
                let mut command = native(&programs.guest);
                command.arg("bench").arg("--json").arg(&report);
                server.client(&mut command)?.succeed(LIMIT)?;
                figures.add(variant, &report)?;
            }
        }
        server.stop()?;
        Ok(figures.rows("native"))
    }
}
