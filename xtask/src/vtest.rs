//! `hesperd` as a vtest server, and real clients over it: what the suites without a VM, and the measurements, stand on.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::cache;
use crate::error::{Error, FileContext, Result};
use crate::prebuilt;
use crate::process::{self, Process};

/// Where Debian puts Mesa's Venus driver.
const VENUS: &str = "/usr/share/vulkan/icd.d/virtio_icd.json";
/// How long hesperd may take to serve, to answer and to end.
const SERVER_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// How programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Debug,
    Release,
}

/// This build's programs, and a folder that goes with this value.
#[derive(Debug)]
pub struct Programs {
    pub hesperd: PathBuf,
    pub guest: PathBuf,
    dir: tempfile::TempDir,
}

impl Programs {
    /// Builds what is missing.
    pub fn new(profile: Profile) -> Result<Programs> {
        let dir = tempfile::Builder::new()
            .prefix("hesper-")
            .tempdir()
            .at("create a folder in", std::env::temp_dir())?;
        if let Some(folder) = prebuilt::folder() {
            return Ok(Programs {
                hesperd: folder.join("hesperd"),
                guest: folder.join("hesper-guest"),
                dir,
            });
        }
        let mut build = Command::new(env!("CARGO"));
        build.args(cache::BUILD).current_dir(cache::repository());
        let folder = match profile {
            Profile::Debug => "debug",
            Profile::Release => {
                build.arg("--release");
                "release"
            }
        };
        process::logged(&mut build, &dir.path().join("build.log"), |_| {})?;
        let target = cache::repository().join("target").join(folder);
        Ok(Programs {
            hesperd: target.join("hesperd"),
            guest: target.join("hesper-guest"),
            dir,
        })
    }

    /// The folder that goes with this value.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A fresh folder.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.dir.path().join(name);
        std::fs::create_dir(&path).at("create", &path)?;
        Ok(path)
    }

    /// What the machine lacks for clients, if it lacks something.
    pub fn lacks() -> Option<String> {
        [prebuilt::driver(), VENUS.to_owned()]
            .into_iter()
            .find(|path| !Path::new(path).exists())
            .map(|path| format!("no {path} (package mesa-vulkan-drivers)"))
    }
}

/// A command on the host's own driver.
pub fn native(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("VK_DRIVER_FILES", prebuilt::driver());
    command
}

/// A command on Mesa's Venus driver over a vtest socket.
pub fn client_of(socket: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env("VK_DRIVER_FILES", VENUS)
        .env("VN_DEBUG", "vtest")
        .env("VTEST_SOCKET_NAME", socket);
    command
}

/// A client that has begun, with its output in a file.
#[derive(Debug)]
pub struct Client {
    pub process: Process,
    log: PathBuf,
}

impl Client {
    /// Starts it.
    pub fn start(command: &mut Command, log: PathBuf) -> Result<Client> {
        Ok(Client {
            process: Process::start_logged(command, &log)?,
            log,
        })
    }

    /// What it printed so far.
    pub fn text(&self) -> Result<String> {
        let bytes = std::fs::read(&self.log).at("read", &self.log)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits until it has printed `wanted`.
    pub fn prints(&mut self, wanted: &str, limit: Duration) -> Result<()> {
        until(&format!("{wanted:?} in a client's output"), limit, || {
            if self.text()?.contains(wanted) {
                return Ok(Some(()));
            }
            self.process.check_running()?;
            Ok(None)
        })
    }

    /// Waits for its end, however it ends; kills it at the limit.
    pub fn end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let ended = self.process.wait_within(limit);
        if ended.is_err() {
            self.process.kill();
        }
        ended.map_err(|error| {
            Error::Guest(format!(
                "{error}; the client said:\n{}",
                process::tail(&self.log)
            ))
        })
    }

    /// Waits for its good end; returns what it printed.
    pub fn succeed(&mut self, limit: Duration) -> Result<String> {
        let status = self.end(limit)?;
        if status.success() {
            return self.text();
        }
        Err(Error::Guest(format!(
            "A client ended with {status}:\n{}",
            process::tail(&self.log)
        )))
    }
}

/// A context as `status` tells of it.
#[derive(Clone, Debug)]
pub struct ContextStatus {
    pub id: u32,
    pub worker: u32,
    /// What the worker says; null if it did not answer.
    pub said: Value,
}

/// A running hesperd.
#[derive(Debug)]
pub struct Server {
    process: Process,
    dir: PathBuf,
    clients: u32,
}

impl Server {
    /// Starts hesperd on lavapipe with more arguments and waits until it serves.
    pub fn start(programs: &Programs, name: &str, arguments: &[&str]) -> Result<Server> {
        Server::start_as(programs, name, native(&programs.hesperd), arguments)
    }

    /// As [`Server::start`], with the command that runs hesperd.
    pub fn start_as(
        programs: &Programs,
        name: &str,
        mut command: Command,
        arguments: &[&str],
    ) -> Result<Server> {
        let dir = programs.folder(name)?;
        command
            .arg("--vtest-socket")
            .arg(dir.join("vtest.sock"))
            .arg("--control-socket")
            .arg(dir.join("control.sock"))
            .args(arguments)
            .env(
                "HESPER_LOG",
                std::env::var_os("HESPER_LOG").unwrap_or_else(|| "info".into()),
            );
        let process = Process::start_logged(&mut command, &dir.join("hesperd.log"))?;
        let mut server = Server {
            process,
            dir,
            clients: 0,
        };
        until("hesperd's start", SERVER_LIMIT, || {
            server.process.check_running()?;
            Ok(UnixStream::connect(server.socket()).ok())
        })?;
        Ok(server)
    }

    /// The vtest socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("vtest.sock")
    }

    /// What hesperd logged, the end of it.
    pub fn log(&self) -> String {
        process::tail(&self.dir.join("hesperd.log"))
    }

    /// A command as a client of this server.
    pub fn command(&self, program: &Path) -> Command {
        client_of(&self.socket(), program)
    }

    /// Starts a client with its output in a file.
    pub fn client(&mut self, command: &mut Command) -> Result<Client> {
        self.clients += 1;
        Client::start(
            command,
            self.dir.join(format!("client-{}.log", self.clients)),
        )
    }

    /// Runs a client of this server to its good end; returns what it printed.
    pub fn run(&mut self, program: &Path, arguments: &[&str], limit: Duration) -> Result<String> {
        let mut command = self.command(program);
        command.args(arguments);
        self.client(&mut command)?.succeed(limit)
    }

    /// Asks the control socket.
    pub fn ask(&self, command: &str, arguments: Value) -> Result<Value> {
        let path = self.dir.join("control.sock");
        let mut request = arguments;
        request["id"] = json!(1);
        request["command"] = json!(command);
        let talk = || -> std::io::Result<String> {
            let mut stream = UnixStream::connect(&path)?;
            stream.set_read_timeout(Some(SERVER_LIMIT))?;
            stream.write_all(format!("{request}\n").as_bytes())?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line)?;
            Ok(line)
        };
        let line = talk().at("talk to", &path)?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(std::io::Error::from)
            .at("read", &path)?;
        match answer.get("ok") {
            Some(ok) => Ok(ok.clone()),
            None => Err(Error::Guest(format!("hesperd refused {command}: {answer}"))),
        }
    }

    /// The contexts that there are now.
    pub fn contexts(&self) -> Result<Vec<ContextStatus>> {
        let status = self.ask("status", json!({}))?;
        let parse = |entry: &Value| {
            Some(ContextStatus {
                id: u32::try_from(entry.get(0)?.as_u64()?).ok()?,
                worker: u32::try_from(entry.get(1)?.as_u64()?).ok()?,
                said: entry.get(2)?.clone(),
            })
        };
        status["contexts"]
            .as_array()
            .and_then(|all| all.iter().map(parse).collect())
            .ok_or_else(|| Error::Guest(format!("A status without contexts: {status}")))
    }

    /// Waits until exactly `count` contexts are there.
    pub fn contexts_become(&self, count: usize) -> Result<Vec<ContextStatus>> {
        until(&format!("{count} contexts"), SERVER_LIMIT, || {
            let contexts = self.contexts()?;
            Ok((contexts.len() == count).then_some(contexts))
        })
    }

    /// Resident bytes of hesperd itself, without its workers.
    pub fn resident(&self) -> Result<u64> {
        resident(self.process.id())
    }

    /// CPU time that hesperd and its workers have used so far.
    pub fn cpu_time(&self) -> Result<Duration> {
        let mut all = children(self.process.id())?;
        all.insert(self.process.id());
        all.into_iter().map(cpu_time).sum()
    }

    /// Open descriptors of hesperd.
    pub fn descriptors(&self) -> Result<usize> {
        let path = format!("/proc/{}/fd", self.process.id());
        Ok(std::fs::read_dir(&path).at("read", path)?.count())
    }

    /// Waits until no worker is left but the spare, and none is a zombie.
    pub fn settles(&mut self) -> Result<()> {
        self.process.check_running()?;
        self.contexts_become(0)?;
        until("the end of all workers but the spare", SERVER_LIMIT, || {
            let children = children(self.process.id())?;
            let zombie = children.iter().any(|pid| state(*pid) == Some('Z'));
            Ok((children.len() == 1 && !zombie).then_some(()))
        })
    }

    /// Ends hesperd by SIGTERM; its workers must go with it.
    pub fn stop(mut self) -> Result<()> {
        self.process.check_running()?;
        let workers = children(self.process.id())?;
        self.process.signal(Signal::SIGTERM)?;
        self.process.wait_within(SERVER_LIMIT)?;
        until("the end of hesperd's workers", SERVER_LIMIT, || {
            let gone = |pid: &u32| matches!(state(*pid), None | Some('Z' | 'X'));
            Ok(workers.iter().all(gone).then_some(()))
        })
    }
}

/// Repeats a look until it finds something.
pub fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if started.elapsed() > limit {
            return Err(Error::Deadline {
                what: what.to_owned(),
                limit,
            });
        }
        std::thread::sleep(POLL);
    }
}

/// Resident bytes of a process.
pub fn resident(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).at("read", &path)?;
    text.lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| Error::Guest(format!("{path} tells no VmRSS")))
}

/// CPU time of a process' threads that live.
fn cpu_time(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/task");
    let mut sum = 0;
    for task in std::fs::read_dir(&path).at("read", &path)? {
        let path = task.at("read", &path)?.path().join("schedstat");
        // Nanoseconds come first. A thread that ended meanwhile has no file.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let first = text.split_whitespace().next();
        sum += first.and_then(|word| word.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(sum))
}

/// State letter of a process, `None` when it is gone.
fn state(pid: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it is in parentheses and may hold any character.
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Children of all threads of a process.
fn children(pid: u32) -> Result<BTreeSet<u32>> {
    let path = format!("/proc/{pid}/task");
    let mut all = BTreeSet::new();
    for task in std::fs::read_dir(&path).at("read", &path)? {
        let task = task.at("read", &path)?.path().join("children");
        // A thread that ended meanwhile has none.
        let text = std::fs::read_to_string(task).unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .filter_map(|id| id.parse::<u32>().ok()),
        );
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_own_process_hold_a_started_one_and_its_state() {
        let child = Process::start(Command::new("sleep").arg("600")).unwrap();

        let all = children(std::process::id()).unwrap();

        assert!(all.contains(&child.id()));
        assert!(matches!(state(child.id()), Some('S' | 'R' | 'D')));
        assert!(resident(std::process::id()).unwrap() > 1 << 20);
        assert!(cpu_time(std::process::id()).unwrap() > Duration::ZERO);
    }
}
