//! `venus`: one client natively, over the peer, and over hesperd.

use std::path::Path;
use std::process::Command;

use super::peer::Peer;
use super::{Figures, LIMIT, Measurement, REPEAT, Row};
use crate::cache;
use crate::error::{Error, Result};
use crate::python;
use crate::vtest::{Client, Profile, Programs, Server, native};

/// In the order in which ratios are told: each to those before it.
const VARIANTS: [&str; 3] = ["native", "peer", "hesper"];

/// Inferences that ncnn's median is of.
const INFERENCES: &str = "10";

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
        let mut peer = Peer::start(&programs)?;
        // Nobody may run another program's loader in the sandbox; the peer has none either.
        let command = peer.native(&programs, &programs.hesperd)?;
        let mut server =
            Server::start_as(&programs, "hesperd-vtest", command, &["--sandbox", "log"])?;
        let shim = if peer.shimmed {
            "; this machine has no /dev/udmabuf: a preloaded shim hands the peer memory files instead"
        } else {
            ""
        };
        println!("venus: the peer is virgl-server {}{shim}", peer.version);
        println!(
            "venus: all three run with the peer's C library (ncnn natively: with this machine's), none confined"
        );
        let python = python::environment("ncnn")?;
        if python.is_none() {
            println!("venus: ncnn is left out: {}", python::LACKS);
        }
        let dir = programs.folder("reports")?;
        let script = cache::repository().join("tests/ncnn/convolutions.py");
        let mut figures = Figures::default();
        for run in 0..runs {
            let mut order = VARIANTS;
            order.rotate_left(run % VARIANTS.len());
            for variant in order {
                let report = dir.join(format!("{variant}-{run}.json"));
                if variant == "hesper" {
                    figures.run_over(variant, &mut server, &programs, &report)?;
                } else {
                    let mut command = match variant {
                        "peer" => peer.command(&programs.guest),
                        _ => peer.native(&programs, &programs.guest)?,
                    };
                    command
                        .args(["bench", "--repeat", REPEAT, "--json"])
                        .arg(&report);
                    run_client(&mut command, &report.with_extension("log"))?;
                    figures.add(variant, &report)?;
                }
                if let Some(python) = &python {
                    let mut command = match variant {
                        "hesper" => server.command(python),
                        "peer" => peer.command(python),
                        _ => native(python),
                    };
                    command.arg(&script).args(["--time", INFERENCES]);
                    let text = run_client(&mut command, &report.with_extension("ncnn.log"))?;
                    let name = "ncnn, an inference of 10 convolutions";
                    figures.push(variant, name, "ms", inference(&text)?);
                }
                peer.check_running()?;
            }
        }
        server.stop()?;
        Ok(figures.rows(&VARIANTS))
    }
}

/// Runs a client to its good end; returns what it printed.
fn run_client(command: &mut Command, log: &Path) -> Result<String> {
    Client::start(command, log.to_owned())?.succeed(LIMIT)
}

/// The time that `tests/ncnn/convolutions.py --time` told, milliseconds.
fn inference(text: &str) -> Result<f64> {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix("inference_ms=")?.parse().ok())
        .ok_or_else(|| Error::Guest(format!("no inference_ms in:\n{text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inference_time_is_read_from_what_the_client_printed() {
        assert_eq!(inference("sha256=1 inference_ms=2.5\nright").unwrap(), 2.5);
        assert!(inference("right").is_err());
    }
}
