//! A protected VM on one machine: primary and standby, each with its own hesperd and QEMU, as `docs/high-availability.md`
//! describes them. The suite `ha` and the demo use it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Error, FileContext, Result};
use crate::process::{self, Process};
use crate::suites::world::World;
use crate::vm::{Config, Memory, Vm, wait_until};

const ANSWER: Duration = Duration::from_secs(10);
/// From the start of the agent to the first whole epoch at the standby.
const PROTECT: Duration = Duration::from_secs(120);
/// From a fault to the guest running at the standby.
const TAKEOVER: Duration = Duration::from_secs(60);

/// One side's folder and the name of its guest's memory.
struct Side {
    config: Config,
    control: PathBuf,
}

/// A protected VM. Fields drop in this order: whoever restarts others goes first.
pub struct Protected {
    /// `None` before [`Protected::protect`].
    agent: Option<Process>,
    standby: Process,
    guard: Process,
    pub hesperd: Process,
    primary: Side,
    backup: Side,
    pub vm: Vm,
    qemu_pid: u64,
    hesper: PathBuf,
    port: u16,
}

/// How a takeover went.
#[derive(Debug, Clone)]
pub struct Takeover {
    /// The standby's own account.
    pub timeline: Value,
    /// From the fault to when it was noticed, ms.
    pub detect_ms: f64,
    /// From then to QEMU's confirmed end, ms.
    pub fence_ms: f64,
    /// From the fence to the guest running, ms.
    pub restore_ms: f64,
    /// From when the fault was noticed to the guest running, ms.
    pub takeover_ms: f64,
    /// From the fault to the guest running, ms.
    pub downtime_ms: f64,
    /// Age of the epoch when the fault struck, ms: what is rolled back.
    pub rolled_back_ms: f64,
}

impl Protected {
    /// Starts both sides and the guest, not yet protected. `name` is new for each.
    pub fn start(world: &World, name: &str) -> Result<Protected> {
        let port = free_port()?;
        let primary = side(world, &format!("{name}-a"), false)?;
        let backup = side(world, &format!("{name}-b"), true)?;

        let backend = primary.config.backend.as_ref();
        let backend = backend.ok_or_else(|| Error::Usage("A VM without a back end".into()))?;
        let hesperd = Process::start_logged(
            &mut primary.config.backend_command(backend),
            &primary.config.dir.join("backend.log"),
        )?;
        wait_until(ANSWER, "hesperd", || {
            Ok(UnixStream::connect(&primary.control).is_ok())
        })?;

        let mut guard = Command::new(&world.hesper);
        guard
            .args(["guard", "--control"])
            .arg(primary.path("guard.sock"))
            .arg("--qmp")
            .arg(primary.path("qmp0.sock"))
            .arg("--");
        add_line(&mut guard, &primary.config.qemu_command());
        let guard = Process::start_logged(&mut guard, &primary.path("guard.log"))?;
        let vm = Vm::attach(&primary.config.dir)?;

        let backend = backup.config.backend.as_ref();
        let backend = backend.ok_or_else(|| Error::Usage("A VM without a back end".into()))?;
        let helper = backup.config.backend_command(backend);
        let mut argv = vec!["env".to_owned()];
        argv.extend(backend.environment.iter().map(|(name, value)| {
            format!("{}={}", name.to_string_lossy(), value.to_string_lossy())
        }));
        argv.extend(line(&helper));
        let config = json!({
            "listen": format!("127.0.0.1:{port}"),
            "dir": backup.config.dir,
            "control": backup.path("standby.sock"),
            "files": {"ram": backup.path("ram"), "vgpu-arena": backup.path("arena")},
            "warm": [{"argv": argv, "socket": backup.config.window_socket()}],
            "qemu": {"argv": line(&backup.config.qemu_command()), "qmp": backup.path("qmp0.sock")},
            "fence_command": [
                world.hesper, "fence", "--guard", primary.path("guard.sock"), "--if-protected", "{epoch}",
            ],
        });
        let path = backup.path("standby.json");
        std::fs::write(&path, config.to_string()).at("write", &path)?;
        let mut standby = Command::new(&world.hesper);
        standby.arg("standby").arg("--config").arg(&path);
        let standby = Process::start_logged(&mut standby, &backup.path("standby.log"))?;
        wait_until(ANSWER, "the standby", || {
            Ok(UnixStream::connect(backup.path("standby.sock")).is_ok())
        })?;

        let status = ask(&primary.path("guard.sock"), json!({"command": "status"}))?;
        let qemu_pid = status["qemu_pid"].as_u64();
        let qemu_pid = qemu_pid.ok_or_else(|| Error::Guest(format!("No QEMU: {status}")))?;
        Ok(Protected {
            hesper: world.hesper.clone(),
            port,
            qemu_pid,
            agent: None,
            standby,
            guard,
            hesperd,
            primary,
            backup,
            vm,
        })
    }

    /// Starts the agent, which protects the VM with a checkpoint every `interval`.
    pub fn protect(&mut self, interval: &str) -> Result<()> {
        let mut agent = Command::new(&self.hesper);
        agent
            .args(["agent", "--standby", &format!("127.0.0.1:{}", self.port)])
            .args(["--interval", interval, "--qmp"])
            .arg(self.primary.path("qmp1.sock"))
            .arg("--control")
            .arg(&self.primary.control)
            .arg("--guard")
            .arg(self.primary.path("guard.sock"))
            .arg("--listen")
            .arg(self.primary.path("agent.sock"));
        self.agent = Some(Process::start_logged(
            &mut agent,
            &self.primary.path("agent.log"),
        )?);
        let socket = self.primary.path("agent.sock");
        wait_until(ANSWER, "the agent", || {
            Ok(UnixStream::connect(&socket).is_ok())
        })
    }

    /// Waits until the guest is protected and `epochs` were acked.
    pub fn protected(&mut self, epochs: u64) -> Result<Value> {
        let mut last = Value::Null;
        wait_until(PROTECT, "protection", || {
            if let Some(agent) = &mut self.agent {
                agent.check_running()?;
            }
            self.standby.check_running()?;
            self.guard.check_running()?;
            last = ask(
                &self.primary.path("agent.sock"),
                json!({"command": "status"}),
            )?;
            let standby = ask(
                &self.backup.path("standby.sock"),
                json!({"command": "status"}),
            )?;
            Ok(last["protected"] == true
                && last["epochs"].as_u64() >= Some(epochs)
                && standby["qemu_ready"] == true)
        })?;
        Ok(last)
    }

    /// Waits until the guest is protected and `epochs` more were acked from now on.
    pub fn more_epochs(&mut self, epochs: u64) -> Result<Value> {
        let now = self.protected(0)?["epochs"].as_u64().unwrap_or(0);
        self.protected(now + epochs)
    }

    /// Asks hesperd's control socket.
    pub fn hesperd_ask(&self, request: Value) -> Result<Value> {
        ask(&self.primary.control, request)
    }

    /// The epoch that the guard's record says was acked last.
    pub fn acked(&self) -> Option<u64> {
        let socket = self.primary.path("guard.sock");
        let status = ask(&socket, json!({"command": "status"})).ok()?;
        status["record"]["acked"].as_u64()
    }

    /// Waits for the takeover after a fault that struck at `fault_ms` (since 1970); returns the VM at the standby.
    pub fn taken_over(&mut self, fault_ms: f64) -> Result<(Vm, Takeover)> {
        let mut status = Value::Null;
        let started = Instant::now();
        loop {
            self.standby.check_running()?;
            status = ask(
                &self.backup.path("standby.sock"),
                json!({"command": "status"}),
            )
            .unwrap_or(status);
            match status["phase"].as_str() {
                Some("Active") => break,
                Some("Failed") => {
                    return Err(Error::Guest(format!("The takeover failed: {status}")));
                }
                _ if started.elapsed() > TAKEOVER => {
                    return Err(Error::Deadline {
                        what: format!("The takeover ({status})"),
                        limit: TAKEOVER,
                    });
                }
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        // What the kernel says, whoever of the primary is left to tell.
        if lives(self.qemu_pid) {
            return Err(Error::Guest(format!("Both sides run: {status}")));
        }
        let timeline = status["timeline"].clone();
        let at = |name: &str| timeline[name].as_f64().unwrap_or(f64::NAN);
        let takeover = Takeover {
            detect_ms: at("detected_ms") - fault_ms,
            fence_ms: at("fenced_ms") - at("detected_ms"),
            restore_ms: at("running_ms") - at("fenced_ms"),
            takeover_ms: at("running_ms") - at("detected_ms"),
            downtime_ms: at("running_ms") - fault_ms,
            rolled_back_ms: fault_ms - at("epoch_taken_ms"),
            timeline,
        };
        Ok((Vm::attach(&self.backup.config.dir)?, takeover))
    }

    /// Kills processes of the primary by what they are.
    pub fn kill(&mut self, what: Victim) {
        match what {
            Victim::Hesperd => self.hesperd.kill(),
            Victim::Guard => self.guard.kill(),
        }
    }

    /// The ends of all logs.
    pub fn logs(&self) -> String {
        let (a, b) = (&self.primary.config.dir, &self.backup.config.dir);
        let all = [
            (a, "agent.log"),
            (a, "guard.log"),
            (a, "backend.log"),
            (b, "standby.log"),
        ];
        all.iter()
            .map(|(dir, name)| {
                let path = dir.join(name);
                format!("--- {}\n{}\n", path.display(), process::tail(&path))
            })
            .collect()
    }
}

/// What a suite may kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    Hesperd,
    Guard,
}

impl Side {
    fn path(&self, name: &str) -> PathBuf {
        self.config.dir.join(name)
    }
}

fn side(world: &World, name: &str, incoming: bool) -> Result<Side> {
    let mut config = world.config(name, &["--hang-timeout", "1500"])?;
    let control = config.dir.join("control.sock");
    config.memory = Memory::File(config.dir.join("ram"));
    config.arena_path = Some(config.dir.join("arena"));
    for socket in ["qmp0.sock", "qmp1.sock"] {
        let path = config.dir.join(socket);
        config.arguments.push("-qmp".into());
        config
            .arguments
            .push(format!("unix:{},server=on,wait=off", path.display()).into());
    }
    if incoming {
        config.incoming = Some("defer".into());
    }
    Ok(Side { config, control })
}

/// Whether a process runs: one that is dead and not yet reaped by whoever inherited it does not.
fn lives(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest.trim_start());
        !state.starts_with(['Z', 'X'])
    })
}

fn line(command: &Command) -> Vec<String> {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy().into_owned())
        .collect()
}

fn add_line(command: &mut Command, inner: &Command) {
    command.arg(inner.get_program()).args(inner.get_args());
}

/// A port that nobody listens on. Another process may take it first, which then fails loudly.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").at("bind", "127.0.0.1")?;
    Ok(listener
        .local_addr()
        .at("read the address of", "a socket")?
        .port())
}

/// Asks a control socket of ours: one JSON line each way.
pub fn ask(socket: &Path, mut request: Value) -> Result<Value> {
    request["id"] = json!(1);
    let mut stream = UnixStream::connect(socket).at("connect to", socket)?;
    stream.set_read_timeout(Some(ANSWER)).at("use", socket)?;
    writeln!(stream, "{request}").at("write to", socket)?;
    let mut text = String::new();
    BufReader::new(stream)
        .read_line(&mut text)
        .at("read from", socket)?;
    let answer: Value = serde_json::from_str(&text)
        .map_err(|error| Error::Guest(format!("{}: {error} in {text:?}", socket.display())))?;
    if let Some(error) = answer.get("error") {
        return Err(Error::Guest(format!("{}: {error}", socket.display())));
    }
    Ok(match answer.get("ok") {
        Some(inner) if inner.is_object() => inner.clone(),
        _ => answer,
    })
}

/// Milliseconds since 1970.
pub fn now_ms() -> f64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64() * 1e3)
}
