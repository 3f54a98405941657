//! The standby: stores epochs, keeps QEMU and hesperd waiting, takes over.
//!
//! An epoch is staged in memory until all of it is here and checked, and only then put in place by
//! the one loop that also starts takeovers: what is in place is always one whole epoch, but while
//! a first state is arriving, when nothing is eligible. What is in place does not survive this
//! process: after a restart the agent sends a first state again.
//!
//! All processes of a VM that was taken over are children and die with this process: it is the
//! owner now, as the guard was.

mod link;
mod store;
mod warm;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use self::link::{Answer, Event};
use self::store::{DEVICE_MAX, Store};
use self::warm::Warm;
pub use self::warm::{Helper, Qemu};
use crate::agent::{Commit, Welcome};
use crate::batch::Batch;
use crate::error::{Context, Error, Result, chain};
use crate::frame::Kind;
use crate::lines::{LineReader, listen, wall_ms, write_line};
use crate::machine::standby::{Phase, Standby, StandbyIn, StandbyOut};
use crate::machine::{Epoch, Term};
use crate::qmp::Qmp;
use crate::stream::PAGE_BYTES;

/// The rules' clock, and how often processes are looked at.
const TICK: Duration = Duration::from_millis(20);
/// Messages that wait for the loop; past this the link waits.
const MESSAGES_MAX: usize = 16;
/// The fence command answers within this.
const FENCE: Duration = Duration::from_secs(15);
/// Exit code of a fence command that is refused.
const FENCE_REFUSED: i32 = 3;
/// The loop answers a control request within this.
const ANSWER: Duration = Duration::from_secs(5);

/// What the standby needs, as a JSON file. In all command lines `{dir}`, and in the fence command
/// `{epoch}` and `{term}`, are replaced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port for agents.
    pub listen: String,
    /// Folder for sockets.
    pub dir: PathBuf,
    /// Control socket; "standby.sock" in the folder when left out.
    #[serde(default)]
    pub control: Option<PathBuf>,
    /// Files of blocks, by name: those that QEMU maps with share=on.
    pub files: BTreeMap<String, PathBuf>,
    /// Processes that are started before QEMU, such as hesperd.
    #[serde(default)]
    pub warm: Vec<Helper>,
    /// The waiting QEMU.
    pub qemu: Qemu,
    /// Ends the primary's QEMU when the link is lost: exit code 0 confirms, 3 refuses.
    #[serde(default)]
    pub fence_command: Vec<String>,
    /// An agent that is silent for so long is lost.
    #[serde(default = "link_timeout_ms")]
    pub link_timeout_ms: u64,
    /// Largest epoch that is staged, in bytes of pages.
    #[serde(default = "epoch_bytes_max")]
    pub epoch_bytes_max: u64,
}

fn link_timeout_ms() -> u64 {
    2_000
}

fn epoch_bytes_max() -> u64 {
    4 << 30
}

/// What the loop is fed with.
enum Message {
    Link(u64, Event),
    Warm(u64, Qmp),
    /// The load of this generation of QEMU is done.
    Restored(u64, Result<()>),
    Fence(StandbyIn),
    Asked(Value, Sender<Value>),
}

/// What has arrived of an epoch.
#[derive(Default)]
struct Incoming {
    batches: Vec<Batch>,
    device: Vec<u8>,
    count: Commit,
    bytes: u64,
}

struct Loop {
    config: Config,
    rules: Standby,
    store: Store,
    warm: Warm,
    sender: SyncSender<Message>,
    begin: Instant,
    link: Option<(u64, Answer)>,
    vm: String,
    incoming: Incoming,
    /// The epoch that is complete and not yet in place.
    complete: Option<Incoming>,
    /// A takeover that waits for QEMU to be ready.
    pending: bool,
    timeline: Value,
    taken_ms: u64,
    epochs: u64,
    apply_us: u64,
    refused: Option<&'static str>,
    loss: String,
    lost_ms: u64,
    prepare_ms: Option<u64>,
}

impl Config {
    /// Reads a configuration and puts the folder in its place.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn parse(text: &str) -> Result<Self> {
        let mut config: Self =
            serde_json::from_str(text).map_err(|error| Error::Config(error.to_string()))?;
        config.fill();
        Ok(config)
    }

    fn fill(&mut self) {
        let dir = self.dir.display().to_string();
        let fill = |text: &mut String| *text = text.replace("{dir}", &dir);
        let fill_path = |path: &mut PathBuf| {
            *path = PathBuf::from(path.display().to_string().replace("{dir}", &dir));
        };
        self.warm.iter_mut().for_each(|helper| {
            helper.argv.iter_mut().for_each(fill);
            helper.socket.iter_mut().for_each(fill_path);
        });
        self.qemu.argv.iter_mut().for_each(fill);
        fill_path(&mut self.qemu.qmp);
        self.fence_command.iter_mut().for_each(fill);
        self.control.iter_mut().for_each(fill_path);
        self.files.values_mut().for_each(fill_path);
    }
}

/// Serves until the VM that was taken over has ended. Call this on the main thread: the processes
/// die with the calling one.
///
/// # Errors
/// [`Error::Io`] when a socket can't be bound; [`Error::Takeover`] when the VM did not start here.
pub fn run(config: Config) -> Result<()> {
    let (sender, receiver) = sync_channel(MESSAGES_MAX);
    std::fs::create_dir_all(&config.dir).context(|| format!("make {}", config.dir.display()))?;
    let control = config
        .control
        .clone()
        .unwrap_or_else(|| config.dir.join("standby.sock"));
    let control_listener = listen(&control)?;
    let listener =
        TcpListener::bind(&config.listen).context(|| format!("listen at {}", config.listen))?;
    let timeout = Duration::from_millis(config.link_timeout_ms);
    link::listen(listener, timeout, sender.clone());
    serve_control(control_listener, sender.clone());
    let mut standby = Loop {
        rules: Standby::new(0, !config.fence_command.is_empty()),
        store: Store::new(config.files.clone()),
        warm: Warm::new(
            config.warm.clone(),
            config.qemu.clone(),
            config.dir.join("incoming.sock"),
            sender.clone(),
        ),
        sender,
        begin: Instant::now(),
        link: None,
        vm: String::new(),
        incoming: Incoming::default(),
        complete: None,
        pending: false,
        timeline: Value::Null,
        taken_ms: 0,
        epochs: 0,
        apply_us: 0,
        refused: None,
        loss: String::new(),
        lost_ms: 0,
        prepare_ms: None,
        config,
    };
    let outcome = standby.serve(&receiver);
    let _ = std::fs::remove_file(&control);
    outcome
}

impl Loop {
    fn serve(&mut self, receiver: &Receiver<Message>) -> Result<()> {
        let mut tick = Instant::now();
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(message) => self.message(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if tick.elapsed() >= TICK {
                tick = Instant::now();
                let now_ms = self.begin.elapsed().as_millis() as u64;
                self.feed(StandbyIn::Tick { now_ms });
                if self.warm.tick() {
                    return self.vm_ended();
                }
            }
        }
    }

    /// A process of the VM that was started here has ended.
    fn vm_ended(&mut self) -> Result<()> {
        if self.rules.phase() == Phase::Active {
            tracing::warn!("the VM has ended");
            return Ok(());
        }
        let error = Error::Takeover("QEMU or a process before it ended".into());
        self.failed(&error);
        Err(error)
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::Link(number, event) => self.link_event(number, event),
            Message::Warm(generation, qmp) => {
                self.warm.prepared(generation, qmp);
                if self.pending {
                    self.restore();
                }
            }
            Message::Restored(generation, _) if generation != self.warm.generation() => {}
            Message::Restored(_, Ok(())) => {
                self.timeline["running_ms"] = wall_ms().into();
                println!("{}", self.timeline);
                tracing::warn!(timeline = %self.timeline, "the VM runs here");
                self.feed(StandbyIn::Restored);
            }
            Message::Restored(_, Err(error)) => self.failed(&error),
            Message::Fence(input) => {
                if let StandbyIn::FenceConfirmed { .. } = input {
                    let told = wall_ms();
                    self.timeline = json!({
                        "cause": {"event": "agent-lost"},
                        "detected_ms": self.lost_ms,
                    });
                    self.timeline["fenced_ms"] = told.into();
                    self.timeline["told_ms"] = told.into();
                }
                self.feed(input);
            }
            Message::Asked(line, answer) => {
                let _ = answer.send(self.asked(&line));
            }
        }
    }

    fn link_event(&mut self, number: u64, event: Event) {
        if let Event::Up(term, hello, answer) = event {
            self.link_lost("another agent has come");
            let (own, epoch) = (self.rules.term(), self.rules.epoch());
            answer.send(Kind::Welcome, own, epoch, &Welcome { term: own, epoch });
            answer.beat(Duration::from_millis(self.config.link_timeout_ms));
            tracing::info!(vm = hello.vm, term, "agent is connected");
            self.vm = hello.vm;
            self.link = Some((number, answer));
            self.feed(StandbyIn::LinkUp { term });
            return;
        }
        if self.link.as_ref().is_none_or(|(own, _)| *own != number) {
            return;
        }
        if let Err(error) = self.epoch_event(event) {
            tracing::error!("{}", chain(&error));
            self.link_lost(&chain(&error));
        }
    }

    /// Events of the live link. An error ends it.
    fn epoch_event(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Up(..) => {}
            Event::SyncBegin(term, machine, blocks) => {
                self.incoming = Incoming::default();
                self.feed(StandbyIn::SyncBegin { term });
                if self.rules.phase() == Phase::Syncing {
                    self.store.begin(machine, blocks)?;
                }
            }
            Event::Batch(batch) => {
                self.incoming.count.batches += 1;
                self.incoming.count.pages += (batch.data.len() / PAGE_BYTES) as u64;
                match self.rules.phase() {
                    Phase::Syncing => self.store.apply(&batch)?,
                    Phase::Ready => {
                        self.incoming.bytes += batch.data.len() as u64;
                        if self.incoming.bytes > self.config.epoch_bytes_max {
                            return Err(Error::Frame("epoch is too large".into()));
                        }
                        self.incoming.batches.push(batch);
                    }
                    _ => return Err(Error::Frame("pages are not wanted now".into())),
                }
            }
            Event::Device(part) => {
                self.incoming.device.extend_from_slice(&part);
                self.incoming.count.device = self.incoming.device.len() as u64;
                if self.incoming.count.device > DEVICE_MAX {
                    return Err(Error::Frame("device state is too large".into()));
                }
            }
            Event::Commit(term, epoch, mut count) => {
                let incoming = std::mem::take(&mut self.incoming);
                let taken_ms = std::mem::take(&mut count.taken_ms);
                if incoming.count != count || incoming.device.is_empty() {
                    return Err(Error::Frame(format!("epoch {epoch} is not whole")));
                }
                self.complete = Some(incoming);
                self.taken_ms = taken_ms;
                self.feed(StandbyIn::Complete { term, epoch });
            }
            Event::Prepare(term) => self.feed(StandbyIn::Prepare { term }),
            Event::Fenced(term, epoch, timeline) => {
                if matches!(self.rules.phase(), Phase::Ready | Phase::Preparing) {
                    self.timeline = timeline;
                    self.timeline["told_ms"] = wall_ms().into();
                }
                self.feed(StandbyIn::Fenced { term, epoch });
            }
            Event::Refused => self.refused = Some("the agent does not hand over now"),
            Event::Lost(text) => self.link_lost(&text),
        }
        Ok(())
    }

    fn link_lost(&mut self, why: &str) {
        let Some((_, answer)) = self.link.take() else {
            return;
        };
        answer.close();
        tracing::warn!(phase = ?self.rules.phase(), "agent is lost: {why}");
        self.loss = why.to_owned();
        self.lost_ms = wall_ms();
        self.feed(StandbyIn::LinkLost);
    }

    fn feed(&mut self, input: StandbyIn) {
        let before = self.rules.phase();
        for action in self.rules.on(input) {
            tracing::debug!(?input, ?action);
            self.act(action);
        }
        let after = self.rules.phase();
        if before != after {
            tracing::info!(
                ?before,
                ?after,
                epoch = self.rules.epoch(),
                "standing changed"
            );
        }
    }

    fn act(&mut self, action: StandbyOut) {
        match action {
            StandbyOut::Apply { epoch } => self.apply(epoch),
            StandbyOut::Ack { epoch } => {
                self.epochs += 1;
                self.answer(Kind::Ack, epoch, &Value::Null);
            }
            StandbyOut::Discard => self.incoming = Incoming::default(),
            StandbyOut::DropLink => {
                // Its end is reported by its reader.
                if let Some((_, answer)) = &self.link {
                    answer.close();
                }
            }
            StandbyOut::RunFence { epoch } => self.run_fence(epoch),
            StandbyOut::Prepare { epoch } => self.prepare(epoch),
            StandbyOut::Abort => {
                self.prepare_ms = None;
                self.warm.stop();
            }
            StandbyOut::Restore { epoch, term } => {
                if self.timeline.is_null() {
                    self.timeline = json!({});
                }
                self.timeline["epoch"] = epoch.into();
                self.timeline["term"] = term.into();
                self.timeline["epoch_taken_ms"] = self.taken_ms.into();
                self.timeline["prepare_started_ms"] = self.prepare_ms.into();
                self.restore();
            }
            StandbyOut::TellTakenOver { .. } => {
                let timeline = self.timeline.clone();
                self.answer(Kind::TakenOver, self.rules.epoch(), &timeline);
            }
            StandbyOut::AskFailover => {
                self.answer(Kind::AskFailover, self.rules.epoch(), &Value::Null);
            }
            StandbyOut::Refuse { reason } => self.refused = Some(reason),
        }
    }

    fn answer(&self, kind: Kind, epoch: Epoch, value: &Value) {
        if let Some((_, answer)) = &self.link {
            answer.send(kind, self.rules.term(), epoch, value);
        }
    }

    fn apply(&mut self, epoch: Epoch) {
        let begin = Instant::now();
        let Some(complete) = self.complete.take() else {
            return;
        };
        for batch in &complete.batches {
            if let Err(error) = self.store.apply(batch) {
                // Half an epoch is in place and the other half can't be: nothing can be taken over.
                tracing::error!(epoch, "epoch can't be put in place: {}", chain(&error));
                std::process::exit(1);
            }
        }
        self.store.set_device(complete.device);
        self.apply_us = begin.elapsed().as_micros() as u64;
    }

    /// Loads the VM while the primary's QEMU is being ended. If nothing is ready for that, the
    /// takeover does it.
    fn prepare(&mut self, epoch: Epoch) {
        let stream = match self.store.stream() {
            Ok(stream) => stream,
            Err(error) => return self.failed(&error),
        };
        if self.warm.load(stream) {
            tracing::info!(epoch, "VM is being loaded");
            self.prepare_ms = Some(wall_ms());
        }
    }

    fn restore(&mut self) {
        self.timeline["restore_started_ms"] = wall_ms().into();
        if self.warm.loading() {
            self.warm.go();
            return;
        }
        let stream = match self.store.stream() {
            Ok(stream) => stream,
            Err(error) => return self.failed(&error),
        };
        self.pending = !self.warm.load(stream);
        if self.pending {
            tracing::warn!("takeover waits for QEMU to be ready");
        } else {
            self.warm.go();
        }
    }

    fn failed(&mut self, error: &Error) {
        self.timeline["error"] = chain(error).into();
        println!("{}", self.timeline);
        tracing::error!("takeover failed: {}", chain(error));
        self.feed(StandbyIn::RestoreFailed);
    }

    fn run_fence(&self, epoch: Epoch) {
        let term: Term = self.rules.term();
        let argv: Vec<String> = self
            .config
            .fence_command
            .iter()
            .map(|text| {
                text.replace("{epoch}", &epoch.to_string())
                    .replace("{term}", &term.to_string())
            })
            .collect();
        let sender = self.sender.clone();
        thread::spawn(move || {
            let code = run_command(&argv, FENCE);
            tracing::warn!(?argv, ?code, "fence command has ended");
            let input = match code {
                Some(0) => StandbyIn::FenceConfirmed { epoch },
                Some(FENCE_REFUSED) => StandbyIn::FenceRefused,
                _ => StandbyIn::FenceUnknown,
            };
            let _ = sender.send(Message::Fence(input));
        });
    }

    fn asked(&mut self, line: &Value) -> Value {
        let id = line.get("id").cloned().unwrap_or(Value::Null);
        match line.get("command").and_then(Value::as_str) {
            Some("status") => json!({
                "id": id,
                "role": "standby",
                "vm": self.vm,
                "phase": format!("{:?}", self.rules.phase()),
                "term": self.rules.term(),
                "epoch": self.rules.epoch(),
                "epoch_taken_ms": self.taken_ms,
                "epochs": self.epochs,
                "apply_us": self.apply_us,
                "agent": self.link.is_some(),
                "link_loss": self.loss,
                "qemu_ready": self.warm.ready(),
                "qemu_pid": self.warm.qemu_pid(),
                "timeline": self.timeline,
            }),
            Some("failover") => {
                let forced = line.get("force") == Some(&Value::Bool(true));
                self.refused = None;
                if forced {
                    self.timeline = json!({"cause": "operator, by force"});
                }
                self.feed(StandbyIn::Failover { forced });
                match self.refused.take() {
                    Some(reason) => json!({"id": id, "error": reason}),
                    None => json!({"id": id, "ok": true}),
                }
            }
            _ => json!({"id": id, "error": "unknown command"}),
        }
    }
}

/// Runs a command; its exit code, none when it ran out of time or could not be started.
fn run_command(argv: &[String], within: Duration) -> Option<i32> {
    let (program, arguments) = argv.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .ok()?;
    let end = Instant::now() + within;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.code(),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

fn serve_control(listener: std::os::unix::net::UnixListener, sender: SyncSender<Message>) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let Ok(mut out) = stream.try_clone() else {
                    return;
                };
                let mut lines = LineReader::new(stream);
                while let Ok(Some(line)) = lines.read() {
                    let (answer, answered) = channel();
                    if sender.send(Message::Asked(line, answer)).is_err() {
                        return;
                    }
                    let Ok(value) = answered.recv_timeout(ANSWER) else {
                        return;
                    };
                    if write_line(&mut out, &value).is_err() {
                        return;
                    }
                }
            });
        }
    });
}
