//! `venus`: stock Mesa and other real clients over hesperd's vtest socket.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::json;

use super::{Context, Outcome, Suite};
use crate::cache::{self, Inputs, Lock, Staging};
use crate::error::{Error, FileContext, Result};
use crate::process;
use crate::vtest::{Client, Profile, Programs, Server, native, until};

/// Longest run of one client.
const LIMIT: Duration = Duration::from_secs(120);
/// Clients that compute at once.
const CLIENTS: usize = 8;
/// Resident bytes that hesperd may grow by while clients come and go: half of the allocator's arenas may touch another
/// packet's mebibyte.
const GROWTH_MAX: u64 = 8 << 20;
/// Descriptors that it may hold more: those of threads and connections that are about to go, and the steady clients'.
const DESCRIPTORS_MAX: usize = 24;
/// Clients that come and go at once before anything is measured: threads' stacks and the allocator's arenas, one for each
/// thread up to a limit, come with them and stay.
const WARM_UP: usize = 12;
/// Work of small rounds: eight clients share few cores.
const WORK: [&str; 6] = [
    "work",
    "--buffers",
    "2",
    "--buffer-size",
    "65536",
    "--dirty-buffers=1",
];

pub struct Venus;

impl Suite for Venus {
    fn name(&self) -> &'static str {
        "venus"
    }

    fn about(&self) -> &'static str {
        "real clients compute over the vtest socket"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        if let Some(lacks) = Programs::lacks() {
            context.record("suite", Outcome::Skipped(lacks), 0.0);
            return Ok(());
        }
        let programs = Programs::new(Profile::Debug)?;
        let full = context.full;
        let mut server = Server::start(&programs, "hesperd", &["--fault-injection"])?;
        let mut case = |name: &str, run: &dyn Fn(&mut Server) -> Result<Outcome>| {
            context.case(name, || {
                let done = run(&mut server);
                // What a case leaves behind is its own failure, not the next one's.
                let settled = server.settles();
                done.and_then(|outcome| settled.map(|()| outcome))
                    .map_err(|error| {
                        Error::Guest(format!("{error}\n--- hesperd\n{}", server.log()))
                    })
            });
        };
        case(
            "vulkaninfo tells everything and names the device",
            &|server| {
                let info = server.run(Path::new("vulkaninfo"), &[], LIMIT)?;
                expect(
                    info.contains("Hesper (llvmpipe"),
                    "the name is not there",
                    &info,
                )
            },
        );
        case("selftest is right", &|server| {
            let text = server.run(&programs.guest, &["selftest"], LIMIT)?;
            expect(text.contains("selftest: PASS"), "no PASS", &text)
        });
        case("work is right", &|server| {
            let rounds = if full { "1000" } else { "200" };
            let text = server.run(&programs.guest, &["work", "--rounds", rounds], LIMIT)?;
            expect(text.contains(" errors=0 "), "errors", &text)
        });
        case(
            "random programs leave the same memory as natively",
            &|server| digests(&programs, server, full),
        );
        case("wgpu computes the same as natively", &wgpu);
        case("clients killed again and again disturb nobody", &|server| {
            churn(&programs, server, full)
        });
        case(
            "a killed worker takes its own client along only",
            &|server| killed_worker(&programs, server),
        );
        case(
            "a shader that never ends is its own client's trouble",
            &|server| endless(&programs, server),
        );
        context.case("hesperd ends and takes its workers along", || {
            server.stop().map(|()| Outcome::Passed)
        });
        Ok(())
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

/// A Python with wgpu, kept in the cache; `None` where Python can't make environments.
fn python() -> Result<Option<PathBuf>> {
    let has_venv = process::output(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    if has_venv.is_err() {
        return Ok(None);
    }
    let list = cache::repository().join("tests/wgpu/requirements.txt");
    let wanted = std::fs::read(&list).at("read", &list)?;
    let version = process::output(Command::new("python3").arg("--version"))?;
    let name = Inputs::default().add(wanted).add(version).hex();
    let root = cache::root()?;
    let _lock = Lock::take(&root, "wgpu")?;
    let folder = root.join(format!("wgpu-{name}"));
    let python = folder.join("bin/python");
    if !python.exists() {
        // The interpreter is found through a link, and packages beside it: the folder may move.
        let staging = Staging::new(&folder)?;
        let made = staging.path().to_owned();
        process::output(Command::new("python3").args(["-m", "venv"]).arg(&made))?;
        process::output(
            Command::new(made.join("bin/python"))
                .args(["-m", "pip", "install", "--quiet", "--requirement"])
                .arg(&list),
        )?;
        staging.commit()?;
    }
    Ok(Some(python))
}

fn wgpu(server: &mut Server) -> Result<Outcome> {
    let Some(python) = python()? else {
        return Ok(Outcome::Skipped(
            "python3 lacks venv (package python3-venv)".into(),
        ));
    };
    let script = cache::repository().join("tests/wgpu/compute.py");
    let mut command = native(&python);
    let native = server.client(command.arg(&script))?.succeed(LIMIT)?;
    let mut command = server.command(&python);
    let ours = server.client(command.arg(&script))?.succeed(LIMIT)?;
    if !ours.contains("Hesper") {
        return Err(Error::Guest(format!("wgpu did not use hesperd:\n{ours}")));
    }
    let same = told(&native, "sha256")? == told(&ours, "sha256")?;
    expect(same, "another sha256 than natively", &ours)
}

fn worker(programs: &Programs, server: &mut Server, more: &[&str]) -> Result<Client> {
    let mut command = server.command(&programs.guest);
    let mut client = server.client(command.args(WORK).args(more))?;
    client.prints("work: start", LIMIT)?;
    Ok(client)
}

/// Progress of `work`: the last round that it told.
fn round(client: &Client) -> Result<u64> {
    let text = client.text()?;
    let last = text
        .split_whitespace()
        .rev()
        .find_map(|word| word.strip_prefix("round=")?.parse().ok());
    Ok(last.unwrap_or(0))
}

/// Waits for a client to get on.
fn goes_on(client: &mut Client) -> Result<()> {
    let before = round(client)?;
    until("the progress of a client", LIMIT, || {
        client.process.check_running()?;
        Ok((round(client)? > before).then_some(()))
    })
}

/// Ends `work` in an orderly way; everything that it compared must have been right.
fn finish(client: &mut Client) -> Result<()> {
    client.process.signal(Signal::SIGINT)?;
    let text = client.succeed(LIMIT)?;
    expect(text.contains(" errors=0 "), "errors", &text).map(drop)
}

/// Eight clients, one of them killed and replaced every second.
fn churn(programs: &Programs, server: &mut Server, full: bool) -> Result<Outcome> {
    let kills = if full { 60 } else { 12 };
    for _ in 0..2 {
        // Dropped, and killed by that, all together.
        (0..WARM_UP)
            .map(|_| worker(programs, server, &[]))
            .collect::<Result<Vec<_>>>()?;
        server.contexts_become(0)?;
    }
    let mut steady = (1..CLIENTS)
        .map(|seed| worker(programs, server, &["--seed", &seed.to_string()]))
        .collect::<Result<Vec<_>>>()?;
    let before = (server.resident()?, server.descriptors()?);
    for _ in 0..kills {
        let started = Instant::now();
        let mut victim = worker(programs, server, &["--seed", "99"])?;
        std::thread::sleep(Duration::from_secs(1).saturating_sub(started.elapsed()));
        victim.process.check_running()?;
        victim.process.kill();
        server.contexts_become(steady.len())?;
        for client in &mut steady {
            client.process.check_running()?;
        }
    }
    let after = (server.resident()?, server.descriptors()?);
    for client in &mut steady {
        goes_on(client)?;
    }
    for client in &mut steady {
        finish(client)?;
    }
    println!(
        "venus: before and after {kills} kills hesperd holds {} and {} KiB, {} and {} descriptors",
        before.0 >> 10,
        after.0 >> 10,
        before.1,
        after.1,
    );
    if after.0 > before.0 + GROWTH_MAX || after.1 > before.1 + DESCRIPTORS_MAX {
        return Err(Error::Guest("hesperd grows".into()));
    }
    Ok(Outcome::Passed)
}

fn killed_worker(programs: &Programs, server: &mut Server) -> Result<Outcome> {
    let mut victim = worker(programs, server, &[])?;
    let contexts = server.contexts_become(1)?;
    let mut other = worker(programs, server, &[])?;
    if contexts[0].said["submissions"].as_u64().unwrap_or(0) == 0 {
        return Err(Error::Guest(format!("An odd status: {contexts:?}")));
    }
    let pid = nix::unistd::Pid::from_raw(contexts[0].worker as i32);
    nix::sys::signal::kill(pid, Signal::SIGKILL)
        .map_err(|errno| Error::Guest(format!("Can't kill worker {pid}: {errno}")))?;
    let status = victim.end(LIMIT)?;
    if status.success() {
        return Err(Error::Guest(
            "The client of a lost context succeeded".into(),
        ));
    }
    server.contexts_become(1)?;
    goes_on(&mut other)?;
    finish(&mut other)?;
    Ok(Outcome::Passed)
}

fn endless(programs: &Programs, server: &mut Server) -> Result<Outcome> {
    let mut victim = worker(programs, server, &[])?;
    let hung = server.contexts_become(1)?[0].clone();
    let mut other = worker(programs, server, &[])?;
    server.ask("inject", json!({"fault": "hang", "ctx_id": hung.id}))?;
    // Let what was under way end; from then on nothing may come.
    std::thread::sleep(Duration::from_secs(2));
    let stuck = round(&victim)?;
    for _ in 0..3 {
        goes_on(&mut other)?;
    }
    victim.process.check_running()?;
    if round(&victim)? > stuck + 1 {
        return Err(Error::Guest("The queue was not hung".into()));
    }
    victim.process.kill();
    server.contexts_become(1)?;
    let worker = PathBuf::from(format!("/proc/{}", hung.worker));
    until("the end of a hung worker", Duration::from_secs(10), || {
        Ok((!worker.exists()).then_some(()))
    })?;
    goes_on(&mut other)?;
    finish(&mut other)?;
    Ok(Outcome::Passed)
}
