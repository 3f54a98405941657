//! The guard: QEMU's parent, the keeper of its record, and the one that ends it.
//!
//! Nothing else belongs here. QEMU dies when the guard dies; it is killed when the agent or an
//! eligible standby asks for a fence; and it is made to run when the agent dies. Requests are JSON
//! lines on the control socket:
//!
//! | command | answer |
//! | --- | --- |
//! | `agent` | none; this connection gets the events, and its end is the agent's end |
//! | `record` {protected, acked} | event `recorded` {record} |
//! | `alive` | none |
//! | `fence` | {fenced: true, record, time_ms, took_us} once QEMU is dead |
//! | `fence-if-protected` {epoch} | the same, or {error} |
//! | `status` | {qemu_pid, alive, agent, record} |
//!
//! Events to the agent: `welcome` {record, gone, qemu_pid, guard_pid}, `recorded`, `gone` {record},
//! `dropped`.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Context, Result};
use crate::lines::{LineReader, listen, wall_ms, write_line};
use crate::machine::LeaseRecord;
use crate::machine::guard::{Guard, GuardIn, GuardOut};
use crate::process::{PidFd, die_with_parent};
use crate::release;

/// An agent that says nothing for so long counts as dead.
const AGENT_SILENCE: Duration = Duration::from_secs(3);
/// Most connections at a time.
const CONNECTIONS_MAX: usize = 32;
/// A peer that does not read its answers for so long is dropped.
const WRITE: Duration = Duration::from_millis(500);

/// What the guard needs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where its control socket is to be.
    pub control: PathBuf,
    /// QEMU's QMP socket for the guard alone.
    pub qmp: PathBuf,
    /// Term of this ownership.
    pub term: u64,
    /// QEMU's command line.
    pub argv: Vec<String>,
}

enum Message {
    Connected(UnixStream),
    Line(u64, Value),
    Closed(u64),
    Exited { clean: bool },
    Released,
}

struct Server {
    rules: Guard,
    qemu: PidFd,
    qemu_pid: u32,
    qmp: PathBuf,
    connections: BTreeMap<u64, UnixStream>,
    next: u64,
    agent: Option<(u64, Instant)>,
    /// Requests to fence: connection, the request's id, and when it came.
    askers: BTreeMap<u64, (u64, Value, Instant)>,
    sender: Sender<Message>,
}

/// Starts QEMU and serves until QEMU has ended cleanly; after any other end it goes on answering.
/// Call this on the main thread: QEMU dies with the calling one.
///
/// # Errors
/// [`crate::error::Error::Io`] when QEMU can't be started or the control socket can't be bound.
pub fn run(options: Options) -> Result<()> {
    let listener = listen(&options.control)?;
    let (program, arguments) = options
        .argv
        .split_first()
        .ok_or_else(|| crate::error::Error::Config("no command line for QEMU".into()))?;
    let mut command = Command::new(program);
    command.args(arguments);
    let child = die_with_parent(&mut command)
        .spawn()
        .context(|| format!("start {program}"))?;
    let qemu_pid = child.id();
    let qemu = PidFd::open(qemu_pid)?;
    tracing::info!(qemu_pid, "QEMU is started");

    let (sender, receiver) = channel();
    let accepted = sender.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if accepted.send(Message::Connected(stream)).is_err() {
                return;
            }
        }
    });
    let ended = sender.clone();
    thread::spawn(move || wait(child, &ended));
    let server = Server {
        rules: Guard::new(options.term),
        qemu,
        qemu_pid,
        qmp: options.qmp,
        connections: BTreeMap::new(),
        next: 1,
        agent: None,
        askers: BTreeMap::new(),
        sender,
    };
    server.serve(&receiver);
    let _ = std::fs::remove_file(&options.control);
    Ok(())
}

fn wait(mut child: Child, sender: &Sender<Message>) {
    let status = child.wait();
    let clean = status.as_ref().is_ok_and(std::process::ExitStatus::success);
    tracing::info!(?status, clean, "QEMU has ended");
    let _ = sender.send(Message::Exited { clean });
}

impl Server {
    fn serve(mut self, receiver: &Receiver<Message>) {
        let mut clean_end = false;
        while !clean_end {
            match receiver.recv_timeout(AGENT_SILENCE / 10) {
                Ok(Message::Connected(stream)) => self.connected(stream),
                Ok(Message::Line(connection, line)) => self.line(connection, &line),
                Ok(Message::Closed(connection)) => self.closed(connection),
                Ok(Message::Exited { clean }) => {
                    self.feed(GuardIn::Exited { clean });
                    clean_end = clean;
                }
                Ok(Message::Released) => self.feed(GuardIn::Released),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if let Some((agent, heard)) = self.agent
                && heard.elapsed() > AGENT_SILENCE
            {
                tracing::warn!("agent is silent and is dropped");
                // Before anything is recorded: the agent must not take our end for QEMU's crash.
                self.say(agent, &json!({"event": "dropped"}));
                self.closed(agent);
            }
        }
    }

    fn connected(&mut self, stream: UnixStream) {
        if self.connections.len() >= CONNECTIONS_MAX {
            return;
        }
        let Ok(reader) = stream.try_clone() else {
            return;
        };
        let _ = stream.set_write_timeout(Some(WRITE));
        let connection = self.next;
        self.next += 1;
        self.connections.insert(connection, stream);
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut lines = LineReader::new(reader);
            while let Ok(Some(line)) = lines.read() {
                if sender.send(Message::Line(connection, line)).is_err() {
                    return;
                }
            }
            let _ = sender.send(Message::Closed(connection));
        });
    }

    fn closed(&mut self, connection: u64) {
        if let Some(stream) = self.connections.remove(&connection) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        self.askers.retain(|_, asker| asker.0 != connection);
        if self.agent.is_some_and(|(agent, _)| agent == connection) {
            self.agent = None;
            self.feed(GuardIn::AgentLost);
        }
    }

    fn line(&mut self, connection: u64, line: &Value) {
        if let Some((agent, heard)) = &mut self.agent
            && *agent == connection
        {
            *heard = Instant::now();
        }
        let is_agent = self.agent.is_some_and(|(agent, _)| agent == connection);
        let id = line.get("id").cloned().unwrap_or(Value::Null);
        let number = |key: &str| line.get(key).and_then(Value::as_u64);
        match line.get("command").and_then(Value::as_str) {
            Some("agent") => {
                if let Some((old, _)) = self.agent {
                    if old == connection {
                        return;
                    }
                    self.say(old, &json!({"event": "dropped"}));
                    self.closed(old);
                }
                self.agent = Some((connection, Instant::now()));
                self.feed(GuardIn::AgentUp);
            }
            Some("alive") => {}
            Some("record") if is_agent => {
                let protected = line.get("protected").and_then(Value::as_bool);
                let acked = number("acked").unwrap_or(0);
                let protected = protected.unwrap_or(false);
                self.feed(GuardIn::Record { protected, acked });
            }
            Some("fence") => {
                let asker = self.asker(connection, id);
                self.feed(GuardIn::Fence { asker });
            }
            Some("fence-if-protected") => {
                let epoch = number("epoch").unwrap_or(0);
                let asker = self.asker(connection, id);
                self.feed(GuardIn::FenceIfProtected { asker, epoch });
            }
            Some("status") => {
                let status = json!({
                    "id": id,
                    "role": "guard",
                    "guard_pid": std::process::id(),
                    "qemu_pid": self.qemu_pid,
                    "alive": !self.rules.gone(),
                    "agent": self.rules.agent(),
                    "record": self.rules.record(),
                });
                self.say(connection, &status);
            }
            _ => self.say(connection, &json!({"id": id, "error": "unknown command"})),
        }
    }

    fn asker(&mut self, connection: u64, id: Value) -> u64 {
        let asker = self.next;
        self.next += 1;
        self.askers.insert(asker, (connection, id, Instant::now()));
        asker
    }

    fn feed(&mut self, input: GuardIn) {
        for action in self.rules.on(input) {
            tracing::debug!(?input, ?action);
            match action {
                GuardOut::Kill => {
                    if let Err(error) = self.qemu.kill() {
                        tracing::error!("QEMU can't be killed: {error}");
                    }
                }
                GuardOut::Release => self.release(),
                GuardOut::Welcome { record, gone } => self.tell(&json!({
                    "event": "welcome",
                    "record": record,
                    "gone": gone,
                    "qemu_pid": self.qemu_pid,
                    "guard_pid": std::process::id(),
                })),
                GuardOut::Recorded(record) => self.tell(&event("recorded", record)),
                GuardOut::Gone(record) => self.tell(&event("gone", record)),
                GuardOut::Fenced { asker, record } => {
                    if let Some((connection, id, asked)) = self.askers.remove(&asker) {
                        let answer = json!({
                            "id": id,
                            "fenced": true,
                            "record": record,
                            "time_ms": wall_ms(),
                            "took_us": asked.elapsed().as_micros() as u64,
                        });
                        self.say(connection, &answer);
                    }
                }
                GuardOut::Refused { asker, reason } => {
                    if let Some((connection, id, _)) = self.askers.remove(&asker) {
                        self.say(connection, &json!({"id": id, "error": reason}));
                    }
                }
            }
        }
    }

    fn release(&self) {
        let (path, sender) = (self.qmp.clone(), self.sender.clone());
        thread::spawn(move || {
            let begin = Instant::now();
            match release::make_run_at(&path) {
                Ok(()) => {
                    let took_ms = begin.elapsed().as_millis() as u64;
                    tracing::info!(took_ms, "VM runs without protection");
                }
                // QEMU is gone; its end is reported by whoever waits for it.
                Err(error) => tracing::warn!("VM can't be released: {error}"),
            }
            let _ = sender.send(Message::Released);
        });
    }

    fn tell(&mut self, value: &Value) {
        if let Some((agent, _)) = self.agent {
            self.say(agent, value);
        }
    }

    fn say(&mut self, connection: u64, value: &Value) {
        if let Some(stream) = self.connections.get_mut(&connection)
            && write_line(stream, value).is_err()
        {
            // The reader's end of it reports the loss.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn event(name: &str, record: LeaseRecord) -> Value {
    json!({"event": name, "record": record})
}
