//! `venus`: stock Mesa and other real clients over hesperd's vtest socket.

mod others;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Context, Outcome, Suite};
use crate::cache;
use crate::error::{Error, Result};
use crate::mesa::Mesa;
use crate::python;
use crate::vtest::{Profile, Programs, Server, native};

/// Longest run of one client.
const LIMIT: Duration = Duration::from_secs(120);

pub struct Venus;

impl Suite for Venus {
    fn name(&self) -> &'static str {
        "venus"
    }

    fn about(&self) -> &'static str {
        "real clients compute and draw over the vtest socket"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        if let Some(lacks) = Programs::lacks() {
            context.record("suite", Outcome::Skipped(lacks), 0.0);
            return Ok(());
        }
        let programs = Programs::new(Profile::Debug)?;
        let full = context.full;
        let mut server = Server::start(&programs, "hesperd", &[])?;
        let mesa = Mesa::host();
        stock_clients(context, &programs, &mut server, &mesa);
        case(
            context,
            &mut server,
            "random programs leave the same memory as natively",
            |server| digests(&programs, server, full),
        );
        case(
            context,
            &mut server,
            "an idle client costs less than 1 % of a core",
            |server| others::idle(&programs, server),
        );
        case(
            context,
            &mut server,
            "clients killed again and again disturb nobody",
            |server| others::churn(&programs, server, full),
        );
        case(
            context,
            &mut server,
            "a killed worker takes its own client along only",
            |server| others::killed_worker(&programs, server),
        );
        context.case(
            "a client whose shader never ends is ended, the others go on",
            || others::endless(&programs),
        );
        if full {
            match Mesa::backports() {
                Ok(newer) => stock_clients(context, &programs, &mut server, &newer),
                Err(error) => {
                    let why = Outcome::Failed(error.to_string());
                    context.record("a newer Mesa is fetched", why, 0.0);
                }
            }
        }
        context.case("hesperd ends and takes its workers along", || {
            server.stop().map(|()| Outcome::Passed)
        });
        Ok(())
    }
}

/// Runs a case on a server; what it leaves behind is its own failure, not the next one's.
fn case(
    context: &mut Context,
    server: &mut Server,
    name: &str,
    run: impl FnOnce(&mut Server) -> Result<Outcome>,
) {
    context.case(name, || {
        let done = run(server);
        let settled = server.settles();
        done.and_then(|outcome| settled.map(|()| outcome))
            .map_err(|error| Error::Guest(format!("{error}\n--- hesperd\n{}", server.log())))
    });
}

/// The cases that every stock Mesa must pass.
fn stock_clients(context: &mut Context, programs: &Programs, server: &mut Server, mesa: &Mesa) {
    let with = |name: &str| match mesa.version() {
        Some(version) => format!("Mesa {version}: {name}"),
        None => name.to_owned(),
    };
    let rounds = if context.full { "1000" } else { "200" };
    case(
        context,
        server,
        &with("vulkaninfo tells everything and names the device"),
        |server| {
            let mut command = mesa.client(server, Path::new("vulkaninfo"));
            let info = server.client(&mut command)?.succeed(LIMIT)?;
            if let Some(version) = mesa.version() {
                // The client's own Mesa; the host's driver has another.
                let upstream = version.split('-').next().unwrap_or(version);
                expect(info.contains(upstream), "another Mesa", &info)?;
            }
            expect(
                info.contains("Hesper (llvmpipe"),
                "the name is not there",
                &info,
            )
        },
    );
    for (name, check) in [
        ("selftest is right", "selftest"),
        ("synchronization of Vulkan 1.3 is right", "sync-test"),
        ("exported memory is right", "share"),
        (
            "shaders that are none fail by themselves and cost no context",
            "bad-spirv",
        ),
        (
            "memory that could not be allocated costs no context",
            "out-of-memory",
        ),
    ] {
        case(context, server, &with(name), |server| {
            let mut command = mesa.client(server, &programs.guest);
            let text = server.client(command.arg(check))?.succeed(LIMIT)?;
            expect(text.contains(&format!("{check}: PASS")), "no PASS", &text)
        });
    }
    case(context, server, &with("work is right"), |server| {
        let mut command = mesa.client(server, &programs.guest);
        command.args(["work", "--rounds", rounds]);
        let text = server.client(&mut command)?.succeed(LIMIT)?;
        expect(text.contains(" errors=0 "), "errors", &text)
    });
    for (name, folder, script) in [
        ("wgpu computes the same as natively", "wgpu", "compute.py"),
        (
            "wgpu draws the same pixels as natively",
            "wgpu",
            "triangle.py",
        ),
        (
            "ncnn infers the same bits as natively",
            "ncnn",
            "convolutions.py",
        ),
    ] {
        case(context, server, &with(name), |server| {
            same_as_native(server, mesa, folder, script)
        });
    }
}

fn expect(good: bool, what: &str, text: &str) -> Result<Outcome> {
    if good {
        Ok(Outcome::Passed)
    } else {
        let from = text.len().saturating_sub(4096);
        let end = text.get(from..).unwrap_or(text);
        Err(Error::Guest(format!("{what} in:\n{end}")))
    }
}

/// The word after `name=` in what a client printed.
fn told(text: &str, name: &str) -> Result<String> {
    text.split_whitespace()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        .map(str::to_owned)
        .ok_or_else(|| Error::Guest(format!("no {name} in:\n{text}")))
}

/// The text from `features=` to the end of its line.
fn features(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("features=")?;
    rest.lines().next()
}

fn digests(programs: &Programs, server: &mut Server, full: bool) -> Result<Outcome> {
    let (seeds, submissions) = if full { (20, "300") } else { (6, "100") };
    for seed in 1..=seeds {
        let seed = seed.to_string();
        let arguments = ["oracle-load", "--digest", "--seed", &seed];
        let arguments = [&arguments[..], &["--submissions", submissions]].concat();
        let mut command = native(&programs.guest);
        let native = server.client(command.args(&arguments))?.succeed(LIMIT)?;
        let ours = server.run(&programs.guest, &arguments, LIMIT)?;
        // Programs that a device lacks features for are left out, and all else is drawn anew.
        if features(&native) != features(&ours) {
            return Err(Error::Guest(format!(
                "The features differ:\n{native}\n{ours}"
            )));
        }
        let (native, ours) = (told(&native, "digest")?, told(&ours, "digest")?);
        if native != ours {
            return Err(Error::Guest(format!(
                "Seed {seed}: natively {native}, over hesperd {ours}"
            )));
        }
    }
    Ok(Outcome::Passed)
}

/// The digests in what a client printed, with what stands before each in its line.
fn sums(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| line.contains("sha256="))
        .collect()
}

/// Runs a Python program of `tests/FOLDER` on the host's own driver and as a client: every digest must be the same.
fn same_as_native(server: &mut Server, mesa: &Mesa, folder: &str, script: &str) -> Result<Outcome> {
    let (Some(python), Some(mut client)) =
        (python::environment(folder)?, mesa.python(server, folder)?)
    else {
        return Ok(Outcome::Skipped(python::LACKS.into()));
    };
    let script = cache::repository().join("tests").join(folder).join(script);
    let mut command: Command = native(&python);
    let native = server.client(command.arg(&script))?.succeed(LIMIT)?;
    let ours = server.client(client.arg(&script))?.succeed(LIMIT)?;
    if !ours.contains("Hesper") || native.contains("Hesper") {
        return Err(Error::Guest(format!(
            "Not what used hesperd and what did not:\n{ours}\n{native}"
        )));
    }
    let same = !sums(&native).is_empty() && sums(&native) == sums(&ours);
    expect(
        same,
        "other digests than natively",
        &format!("{ours}\n--- natively\n{native}"),
    )
}
