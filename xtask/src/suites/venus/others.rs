//! Clients that die, hang or rest, and the others, who must not notice.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{LIMIT, expect};
use crate::error::{Error, Result};
use crate::suites::Outcome;
use crate::vtest::{Client, Programs, Server, until};

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
/// How long work may take before it counts as endless, milliseconds: far more than a round of the others takes.
const HANG_TIMEOUT: &str = "6000";
/// How long an idle client is watched, and how long before that it has been idle.
const IDLE: Duration = Duration::from_secs(4);
const SETTLE: Duration = Duration::from_secs(1);
/// The part of one core that hesperd may use for an idle client.
const IDLE_MAX: f64 = 0.01;

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
pub fn churn(programs: &Programs, server: &mut Server, full: bool) -> Result<Outcome> {
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

pub fn killed_worker(programs: &Programs, server: &mut Server) -> Result<Outcome> {
    let mut victim = worker(programs, server, &[])?;
    // It works already when it is killed.
    let contexts = until("a submission", LIMIT, || {
        let contexts = server.contexts_become(1)?;
        let submitted = contexts[0].said["submissions"].as_u64() > Some(0);
        Ok(submitted.then_some(contexts))
    })?;
    let mut other = worker(programs, server, &[])?;
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

/// A client's own shader that never ends: hesperd ends that client and nobody else.
pub fn endless(programs: &Programs) -> Result<Outcome> {
    let mut server = Server::start(programs, "hang", &["--hang-timeout", HANG_TIMEOUT])?;
    let done = endless_on(programs, &mut server);
    let settled = server.settles();
    done.and(settled)
        .map_err(|error| Error::Guest(format!("{error}\n--- hesperd\n{}", server.log())))?;
    server.stop()?;
    Ok(Outcome::Passed)
}

fn endless_on(programs: &Programs, server: &mut Server) -> Result<()> {
    let mut other = worker(programs, server, &[])?;
    let known = server.contexts_become(1)?[0].id;
    let mut command = server.command(&programs.guest);
    let mut victim = server.client(command.arg("endless"))?;
    victim.prints("endless: submitted", LIMIT)?;
    let submitted = Instant::now();
    let hung = server
        .contexts()?
        .into_iter()
        .find(|context| context.id != known)
        .ok_or_else(|| Error::Guest("The endless client has no context".into()))?;
    goes_on(&mut other)?;
    server.contexts_become(1)?;
    let ended = submitted.elapsed();
    let path = PathBuf::from(format!("/proc/{}", hung.worker));
    until("the end of a hung worker", Duration::from_secs(10), || {
        Ok((!path.exists()).then_some(()))
    })?;
    for _ in 0..3 {
        goes_on(&mut other)?;
    }
    let status = victim.end(LIMIT)?;
    println!(
        "venus: an endless shader's context ended after {:.1} s (limit {HANG_TIMEOUT} ms), its client after {:.1} s: {status}",
        ended.as_secs_f64(),
        submitted.elapsed().as_secs_f64(),
    );
    if status.success() {
        return Err(Error::Guest(
            "The client of an endless shader succeeded".into(),
        ));
    }
    finish(&mut other)
}

/// What hesperd costs while its only client does nothing.
pub fn idle(programs: &Programs, server: &mut Server) -> Result<Outcome> {
    let mut command = server.command(&programs.guest);
    let mut client = server.client(command.args(["idle", "--seconds", "600"]))?;
    client.prints("idle: resting", LIMIT)?;
    std::thread::sleep(SETTLE);
    let (started, before) = (Instant::now(), server.cpu_time()?);
    std::thread::sleep(IDLE);
    let used = server.cpu_time()?.saturating_sub(before);
    let part = used.as_secs_f64() / started.elapsed().as_secs_f64();
    client.process.check_running()?;
    client.process.kill();
    println!(
        "venus: hesperd and its workers used {:.3} % of a core for an idle client",
        part * 100.0
    );
    expect(
        part < IDLE_MAX,
        "too much for an idle client",
        &format!("{used:?}"),
    )
}
