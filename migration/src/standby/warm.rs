//! The processes that wait for a takeover: hesperd and whatever else comes first, then QEMU.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use super::Message;
use crate::error::{Context, Error, Result};
use crate::process::die_with_parent;
use crate::qmp::Qmp;

/// QEMU answers within this, cold.
const START: Duration = Duration::from_secs(30);
/// A started VM reports within this. hesperd restores contexts meanwhile.
const RESTORE: Duration = Duration::from_secs(60);
const COMMAND: Duration = Duration::from_secs(5);
/// Pause before dead processes are started again.
const AGAIN: Duration = Duration::from_secs(1);

/// A process before QEMU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Helper {
    /// Its command line.
    pub argv: Vec<String>,
    /// The socket that exists when it is ready.
    #[serde(default)]
    pub socket: Option<PathBuf>,
}

/// QEMU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// Its command line, with `-incoming defer`.
    pub argv: Vec<String>,
    /// Its QMP socket for the standby.
    pub qmp: PathBuf,
}

#[derive(Debug)]
enum Stage {
    /// Nothing runs before this.
    Waiting(Instant),
    /// So many helpers are started.
    Helpers(usize),
    /// QEMU is started.
    Started,
    /// QEMU waits for its stream.
    Ready(Qmp),
    /// QEMU loads; the end of its stream, which lets the VM run, is sent at a word.
    Loading(Sender<()>),
    /// QEMU has had its stream: it can't be used a second time.
    Used,
}

/// The waiting processes. They die with the thread that calls [`Warm::tick`].
#[derive(Debug)]
pub struct Warm {
    helpers: Vec<Helper>,
    qemu: Qemu,
    incoming: PathBuf,
    children: Vec<Child>,
    stage: Stage,
    generation: u64,
    sender: SyncSender<Message>,
}

impl Warm {
    /// Starts nothing yet; `incoming` is where QEMU is to listen for its stream.
    pub fn new(
        helpers: Vec<Helper>,
        qemu: Qemu,
        incoming: PathBuf,
        sender: SyncSender<Message>,
    ) -> Self {
        Self {
            helpers,
            qemu,
            incoming,
            children: Vec::new(),
            stage: Stage::Waiting(Instant::now()),
            generation: 0,
            sender,
        }
    }

    /// Number of the processes' start; what is heard of an earlier one is old.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether the VM is being loaded.
    pub fn loading(&self) -> bool {
        matches!(self.stage, Stage::Loading(_))
    }

    /// Whether a takeover can begin at once.
    pub fn ready(&self) -> bool {
        matches!(self.stage, Stage::Ready(_))
    }

    /// QEMU's process number, zero before it is started.
    pub fn qemu_pid(&self) -> u32 {
        if self.children.len() > self.helpers.len() {
            self.children.last().map_or(0, Child::id)
        } else {
            0
        }
    }

    /// Goes one step on: starts what is next, starts all again when something has died. True when
    /// a process of a VM that was started from here has died.
    pub fn tick(&mut self) -> bool {
        let dead = self
            .children
            .iter_mut()
            .any(|child| !matches!(child.try_wait(), Ok(None)));
        if dead && matches!(self.stage, Stage::Used) {
            return true;
        }
        if dead {
            tracing::warn!("a waiting process has died, all are started again");
            self.stop();
        }
        if let Err(error) = self.advance() {
            tracing::error!("{}", crate::error::chain(&error));
            self.stop();
        }
        false
    }

    /// Ends all of them, and has them started again.
    pub fn stop(&mut self) {
        self.generation += 1;
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.children.clear();
        self.stage = Stage::Waiting(Instant::now() + AGAIN);
    }

    fn advance(&mut self) -> Result<()> {
        match self.stage {
            Stage::Waiting(at) if Instant::now() >= at => {
                self.generation += 1;
                for socket in self.helpers.iter().filter_map(|h| h.socket.as_ref()) {
                    let _ = std::fs::remove_file(socket);
                }
                let _ = std::fs::remove_file(&self.qemu.qmp);
                let _ = std::fs::remove_file(&self.incoming);
                self.stage = Stage::Helpers(0);
            }
            Stage::Helpers(count) => {
                let before = count.checked_sub(1).and_then(|at| self.helpers.get(at));
                let waits = before
                    .and_then(|helper| helper.socket.as_ref())
                    .is_some_and(|socket| !socket.exists());
                if waits {
                    return Ok(());
                }
                if let Some(helper) = self.helpers.get(count) {
                    self.children.push(start(&helper.argv)?);
                    self.stage = Stage::Helpers(count + 1);
                } else {
                    self.children.push(start(&self.qemu.argv)?);
                    self.stage = Stage::Started;
                    self.prepare();
                }
            }
            Stage::Waiting(_)
            | Stage::Started
            | Stage::Ready(_)
            | Stage::Loading(_)
            | Stage::Used => {}
        }
        Ok(())
    }

    /// Has QEMU listen for its stream, on a thread of its own.
    fn prepare(&self) {
        let (path, incoming) = (self.qemu.qmp.clone(), self.incoming.clone());
        let (sender, generation) = (self.sender.clone(), self.generation);
        thread::spawn(move || match prepare(&path, &incoming) {
            Ok(qmp) => {
                let _ = sender.send(Message::Warm(generation, qmp));
            }
            Err(error) => {
                let text = crate::error::chain(&error);
                tracing::error!("QEMU does not wait for its stream: {text}");
            }
        });
    }

    /// QEMU of this generation waits for its stream.
    pub fn prepared(&mut self, generation: u64, qmp: Qmp) {
        if generation == self.generation && matches!(self.stage, Stage::Started) {
            tracing::info!("QEMU waits for its stream");
            self.stage = Stage::Ready(qmp);
        }
    }

    /// Loads the VM from a stream, on a thread of its own, which reports when it runs. False when
    /// nothing is ready.
    pub fn load(&mut self, stream: Vec<u8>) -> bool {
        let (go, told) = channel();
        let stage = std::mem::replace(&mut self.stage, Stage::Loading(go));
        let Stage::Ready(mut qmp) = stage else {
            self.stage = stage;
            return false;
        };
        let (sender, incoming) = (self.sender.clone(), self.incoming.clone());
        let generation = self.generation;
        thread::spawn(move || {
            let outcome = restore(&mut qmp, &incoming, &stream, &told);
            // QMP serves one client: later ones are to have it.
            drop(qmp);
            let _ = sender.send(Message::Restored(generation, outcome));
        });
        true
    }

    /// Lets the loaded VM run.
    pub fn go(&mut self) {
        if let Stage::Loading(go) = std::mem::replace(&mut self.stage, Stage::Used) {
            // A thread that has ended has reported why.
            let _ = go.send(());
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn start(argv: &[String]) -> Result<Child> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| Error::Config("empty command line".into()))?;
    let mut command = Command::new(program);
    die_with_parent(command.args(arguments))
        .spawn()
        .context(|| format!("start {program}"))
}

fn prepare(path: &Path, incoming: &Path) -> Result<Qmp> {
    let mut qmp = Qmp::connect(path, START)?;
    let uri = format!("unix:{}", incoming.display());
    qmp.execute("migrate-incoming", json!({"uri": uri}), COMMAND)?;
    Ok(qmp)
}

/// The end of a synthesised stream: end mark and empty description. QEMU starts the VM after it.
const TAIL_BYTES: usize = 8;

/// Feeds the stream, its end at a word, and waits until the VM runs.
fn restore(qmp: &mut Qmp, incoming: &Path, stream: &[u8], told: &Receiver<()>) -> Result<()> {
    let feed = || "feed QEMU".into();
    let split = stream.len().saturating_sub(TAIL_BYTES);
    let (head, tail) = stream.split_at(split);
    let mut socket = UnixStream::connect(incoming).context(feed)?;
    socket.write_all(head).context(feed)?;
    told.recv()
        .map_err(|_| Error::Takeover("given up before the VM ran".into()))?;
    socket.write_all(tail).context(feed)?;
    socket.shutdown(std::net::Shutdown::Write).context(feed)?;
    let end = Instant::now() + RESTORE;
    loop {
        // QEMU that refuses the stream ends, and this with it.
        match qmp.wait_event(&["RESUME"], Duration::from_millis(50)) {
            Ok(_) => return Ok(()),
            Err(Error::QmpTimeout { .. }) => {}
            Err(error) => return Err(error),
        }
        match qmp.run_state(COMMAND) {
            Ok(state) if state == "running" => return Ok(()),
            Ok(state) if state != "inmigrate" && state != "paused" => {
                return Err(Error::Takeover(format!("QEMU is in state {state}")));
            }
            Ok(_) | Err(Error::QmpTimeout { .. }) => {}
            Err(error) => return Err(error),
        }
        let migration = qmp.execute("query-migrate", Value::Null, COMMAND);
        if let Ok(answer) = migration
            && answer.get("status").and_then(Value::as_str) == Some("failed")
        {
            let text = answer.get("error-desc").and_then(Value::as_str);
            return Err(Error::Takeover(text.unwrap_or("QEMU failed").into()));
        }
        if Instant::now() >= end {
            return Err(Error::Takeover("QEMU does not start the VM".into()));
        }
    }
}
