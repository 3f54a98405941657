//! `audit`: the oracle over random programs and over real ones, through the real worker: no byte of device-local memory
//! changes without a mark. And it can fail: for each rule, an audit that is blind to it is caught.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Context, Outcome, Suite};
use crate::cache;
use crate::error::{Error, Result};
use crate::mesa::Mesa;
use crate::python;
use crate::vtest::{Profile, Programs, Server};

/// Longest run of one load: every submission is read back and compared.
const LIMIT: Duration = Duration::from_secs(600);
/// How long a submission may take before the oracle gives it up, milliseconds, where one never ends.
const HANG_TIMEOUT: &str = "3000";
/// Submissions of one seed.
const SUBMISSIONS: u64 = 100;
/// Seeds that a blind audit is tried on: a program need not use every command.
const BLIND_SEEDS: u64 = 6;
/// Rules that the load depends on.
const RULES: [&str; 17] = [
    "vkCmdFillBuffer",
    "vkCmdUpdateBuffer",
    "vkCmdCopyBuffer",
    "vkCmdDispatch",
    "vkCmdDispatchIndirect",
    "vkCmdExecuteCommands",
    "vkUpdateDescriptorSets",
    "vkCreateBufferView",
    "vkCmdClearColorImage",
    "vkCmdClearDepthStencilImage",
    "vkCmdCopyBufferToImage",
    "vkCmdCopyImageToBuffer",
    "vkCmdCopyImage",
    "vkCmdBlitImage",
    "vkCmdResolveImage",
    "vkCmdBeginRenderPass",
    "vkCmdBeginRendering",
];
/// Rules that real programs depend on.
const REAL_RULES: [(&str, Real); 3] = [
    ("vkCmdBeginRenderPass", TRIANGLE),
    ("vkCmdCopyBuffer", COMPUTE),
    ("vkCmdDispatch", COMPUTE),
];

/// A real program.
#[derive(Clone, Copy, Debug)]
enum Real {
    /// One of the system's.
    System(&'static str),
    /// `hesper-guest` with arguments, and what it must print.
    Guest(&'static [&'static str], &'static str),
    /// A Python program of `tests/FOLDER`.
    Python {
        folder: &'static str,
        script: &'static str,
    },
}

const COMPUTE: Real = Real::Python {
    folder: "wgpu",
    script: "compute.py",
};
const TRIANGLE: Real = Real::Python {
    folder: "wgpu",
    script: "triangle.py",
};

const REALS: [(&str, Real); 7] = [
    ("vulkaninfo", Real::System("vulkaninfo")),
    (
        "hesper-guest selftest",
        Real::Guest(&["selftest"], "selftest: PASS"),
    ),
    (
        "hesper-guest sync-test",
        Real::Guest(&["sync-test"], "sync-test: PASS"),
    ),
    (
        "hesper-guest work",
        Real::Guest(&["work", "--rounds", "60"], " errors=0 "),
    ),
    ("wgpu's compute", COMPUTE),
    ("wgpu's triangle", TRIANGLE),
    (
        "ncnn's convolutions",
        Real::Python {
            folder: "ncnn",
            script: "convolutions.py",
        },
    ),
];

pub struct Audit;

impl Suite for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn about(&self) -> &'static str {
        "no write escapes the audit, and a blind audit is caught"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        if let Some(lacks) = Programs::lacks() {
            context.record("suite", Outcome::Skipped(lacks), 0.0);
            return Ok(());
        }
        let programs = Programs::new(Profile::Debug)?;
        let seeds = if context.full { 100 } else { 8 };
        context.case("oracle finds no miss in random programs", || {
            let sums = load(&programs, "sound", "on", 1..=seeds)?;
            sums.print(&format!("random programs of seeds 1 to {seeds}"));
            sums.sound(seeds * SUBMISSIONS)
        });
        for (name, real) in REALS {
            context.case(&format!("oracle finds no miss in {name}"), || {
                let Some(sums) = over(&programs, name, "on", |server| {
                    client(server, &programs, real)
                })?
                else {
                    return Ok(Outcome::Skipped(python::LACKS.into()));
                };
                sums.print(name);
                // vulkaninfo submits nothing.
                sums.sound(u64::from(!matches!(real, Real::System(_))))
            });
        }
        context.case("a submission that never ends is told as unchecked", || {
            unchecked(&programs)
        });
        for rule in RULES {
            context.case(&format!("an audit blind to {rule} is caught"), || {
                for seed in 1..=BLIND_SEEDS {
                    let mode = format!("blind:{rule}");
                    let name = format!("{rule}-{seed}");
                    if load(&programs, &name, &mode, seed..=seed)?.misses > 0 {
                        return Ok(Outcome::Passed);
                    }
                }
                Err(Error::Guest(format!(
                    "The oracle found no miss with {BLIND_SEEDS} seeds"
                )))
            });
        }
        for (rule, real) in REAL_RULES {
            context.case(
                &format!("an audit blind to {rule} is caught in a real program"),
                || {
                    let (name, mode) = (format!("real-{rule}"), format!("blind:{rule}"));
                    match over(&programs, &name, &mode, |server| {
                        client(server, &programs, real)
                    })? {
                        None => Ok(Outcome::Skipped(python::LACKS.into())),
                        Some(sums) if sums.misses > 0 => Ok(Outcome::Passed),
                        Some(sums) => Err(Error::Guest(format!("No miss was found: {sums:?}"))),
                    }
                },
            );
        }
        Ok(())
    }
}

/// What one kind of command marked of device-local memory, and what of that changed.
#[derive(Clone, Copy, Debug, Default)]
struct Marked {
    bytes: u64,
    changed_bytes: u64,
    chunks: u64,
    changed_chunks: u64,
}

/// What the contexts that are gone did.
#[derive(Debug)]
struct Sums {
    checked: u64,
    unchecked: u64,
    misses: u64,
    lost: u64,
    marked: BTreeMap<String, Marked>,
}

impl Sums {
    fn of(status: &Value) -> Option<Sums> {
        let ended = &status["ended"];
        let mut marked = BTreeMap::new();
        for one in ended["marked_by"].as_array()? {
            let sums = Marked {
                bytes: one["oracle_marked_bytes"].as_u64()?,
                changed_bytes: one["oracle_changed_bytes"].as_u64()?,
                chunks: one["oracle_marked_chunks"].as_u64()?,
                changed_chunks: one["oracle_changed_chunks"].as_u64()?,
            };
            marked.insert(one["command"].as_str()?.to_owned(), sums);
        }
        Some(Sums {
            checked: ended["oracle_checked"].as_u64()?,
            unchecked: ended["oracle_unchecked"].as_u64()?,
            misses: ended["oracle_misses"].as_u64()?,
            lost: ended["lost"].as_u64()?,
            marked,
        })
    }

    fn print(&self, of: &str) {
        println!(
            "audit: {of}: {} submissions checked, {} not, {} misses",
            self.checked, self.unchecked, self.misses
        );
        for (command, marked) in &self.marked {
            if marked.bytes == 0 {
                continue;
            }
            println!(
                "audit:   {command}: {} bytes marked, {} changed; {} chunks marked, {} changed ({:.2})",
                marked.bytes,
                marked.changed_bytes,
                marked.chunks,
                marked.changed_chunks,
                marked.chunks as f64 / marked.changed_chunks.max(1) as f64,
            );
        }
    }

    /// Whether all was checked, `least` submissions at least, and nothing was missed.
    fn sound(&self, least: u64) -> Result<Outcome> {
        if self.checked < least || self.unchecked > 0 || self.lost > 0 {
            return Err(Error::Guest(format!("Not all was checked: {self:?}")));
        }
        match self.misses {
            0 => Ok(Outcome::Passed),
            misses => Err(Error::Guest(format!("{misses} writes were missed"))),
        }
    }
}

/// Runs the load of each seed over a hesperd whose audit works as `mode` says.
fn load(
    programs: &Programs,
    name: &str,
    mode: &str,
    seeds: impl Iterator<Item = u64>,
) -> Result<Sums> {
    let sums = over(programs, name, mode, |server| {
        for seed in seeds {
            let (seed, submissions) = (seed.to_string(), SUBMISSIONS.to_string());
            let arguments = ["--seed", &seed, "--submissions", &submissions, "--held"];
            let arguments = [&["oracle-load"], &arguments[..]].concat();
            server.run(&programs.guest, &arguments, LIMIT)?;
        }
        Ok(true)
    })?;
    sums.ok_or_else(|| Error::Guest("The load did not run".into()))
}

/// What the oracle says of a submission that it can't check.
fn unchecked(programs: &Programs) -> Result<Outcome> {
    let more = ["--hang-timeout", HANG_TIMEOUT];
    let sums = over_with(programs, "unchecked", "on", &more, |server| {
        let mut command = server.command(&programs.guest);
        let mut client = server.client(command.arg("endless"))?;
        client.prints("endless: submitted", LIMIT)?;
        server.contexts_become(0)?;
        client.process.kill();
        Ok(true)
    })?;
    let sums = sums.ok_or_else(|| Error::Guest("The endless shader did not run".into()))?;
    sums.print("an endless shader");
    match (sums.unchecked, sums.sound(0)) {
        (1, Err(_)) => Ok(Outcome::Passed),
        _ => Err(Error::Guest(format!(
            "Not one is told as unchecked: {sums:?}"
        ))),
    }
}

/// Runs a real program to its good end; false where the machine lacks what it needs.
fn client(server: &mut Server, programs: &Programs, real: Real) -> Result<bool> {
    let (mut command, wanted) = match real {
        Real::System(name) => (server.command(Path::new(name)), "Hesper"),
        Real::Guest(arguments, wanted) => {
            let mut command = server.command(&programs.guest);
            command.args(arguments);
            (command, wanted)
        }
        Real::Python { folder, script } => {
            let Some(mut command) = Mesa::host().python(server, folder)? else {
                return Ok(false);
            };
            command.arg(cache::repository().join("tests").join(folder).join(script));
            (command, "Hesper")
        }
    };
    // A submission that is checked takes longer than Mesa waits for a sign of life.
    command.env("VN_DEBUG", "vtest,no_abort");
    let text = server.client(&mut command)?.succeed(LIMIT)?;
    match text.contains(wanted) {
        true => Ok(true),
        false => Err(Error::Guest(format!("No {wanted:?} in:\n{text}"))),
    }
}

/// Runs clients over a hesperd with the oracle and an audit that works as `mode` says; `None` if they did not run.
fn over(
    programs: &Programs,
    name: &str,
    mode: &str,
    clients: impl FnOnce(&mut Server) -> Result<bool>,
) -> Result<Option<Sums>> {
    over_with(programs, name, mode, &[], clients)
}

/// As [`over`], with more arguments for hesperd.
fn over_with(
    programs: &Programs,
    name: &str,
    mode: &str,
    more: &[&str],
    clients: impl FnOnce(&mut Server) -> Result<bool>,
) -> Result<Option<Sums>> {
    let folder = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let arguments = [&["--oracle", "--audit", mode], more].concat();
    let mut server = Server::start(programs, &folder, &arguments)?;
    let run = |server: &mut Server| -> Result<Option<Value>> {
        if !clients(server)? {
            return Ok(None);
        }
        server.settles()?;
        server.ask("status", json!({})).map(Some)
    };
    let status = run(&mut server)
        .map_err(|error| Error::Guest(format!("{error}\n--- hesperd\n{}", server.log())))?;
    server.stop()?;
    let Some(status) = status else {
        return Ok(None);
    };
    let sums = Sums::of(&status);
    sums.ok_or_else(|| Error::Guest(format!("A status without sums: {status}")))
        .map(Some)
}
