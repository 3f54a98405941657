//! `venus`: one client natively, over the peer, and over hesperd.

use std::path::Path;

use super::peer::Peer;
use super::{Figures, LIMIT, Measurement, Row};
use crate::error::{Error, Result};
use crate::vtest::{Client, Profile, Programs, Server, native};

/// In the order in which ratios are told: each to those before it.
const VARIANTS: [&str; 3] = ["native", "peer", "hesper"];

pub struct Venus;

impl Measurement for Venus {
    fn name(&self) -> &'static str {
        "venus"
    }

    fn about(&self) -> &'static str {
        "lavapipe natively, over the peer (virgl_test_server), and over hesperd"
    }

    fn run(&self, runs: usize) -> Result<Vec<Row>> {
        if let Some(lacks) = Programs::lacks() {
            return Err(Error::Usage(format!("Can't measure here: {lacks}")));
        }
        let programs = Programs::new(Profile::Release)?;
        let mut server = Server::start(&programs, "hesperd", &[])?;
        let mut peer = Peer::start(&programs)?;
        let shim = if peer.shimmed {
            "; this machine has no /dev/udmabuf: a preloaded shim hands the peer memory files instead"
        } else {
            ""
        };
        println!("venus: the peer is virgl-server {}{shim}", peer.version);
        let dir = programs.folder("reports")?;
        let mut figures = Figures::default();
        for run in 0..runs {
            let mut order = VARIANTS;
            order.rotate_left(run % VARIANTS.len());
            for variant in order {
                let report = dir.join(format!("{variant}-{run}.json"));
                match variant {
                    "hesper" => figures.run_over(variant, &mut server, &programs, &report)?,
                    "peer" => {
                        peer.check_running()?;
                        bench(&mut peer.command(&programs.guest), &report)?;
                        figures.add(variant, &report)?;
                    }
                    _ => {
                        bench(&mut native(&programs.guest), &report)?;
                        figures.add(variant, &report)?;
                    }
                }
            }
        }
        server.stop()?;
        Ok(figures.rows(&VARIANTS))
    }
}

/// Runs the client to its good end.
fn bench(command: &mut std::process::Command, report: &Path) -> Result<()> {
    command.arg("bench").arg("--json").arg(report);
    let log = report.with_extension("log");
    Client::start(command, log)?.succeed(LIMIT).map(drop)
}
