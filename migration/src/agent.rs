//! The agent: receives QEMU's checkpoints, ships them to the standby, watches for hangs.
//!
//! One loop owns the rules ([`crate::machine::agent`]) and is fed by threads: the guard's
//! connection, the link to the standby, QEMU's stream, hesperd's events, the control socket.
//! Memory is bounded: one epoch is staged or shipped at a time, and the next is not asked for
//! before the standby has acked the former.

mod link;
mod source;
mod stats;
mod watch;

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use self::link::{Commit, Hello, SyncBegin, Welcome};
use self::link::{Link, Ship, Spare, Staged};
use self::source::{Order, SharedQmp, Source};
use self::stats::Stats;
pub use crate::batch::Compress;
use crate::error::Result;
use crate::lines::{listen, wall_ms};
use crate::machine::agent::{Agent, AgentIn, AgentOut, Phase};
use crate::machine::{Epoch, LeaseRecord};
use crate::process::PidFd;

/// The rules' clock.
const TICK: Duration = Duration::from_millis(25);
/// Signs of life to the guard.
const ALIVE: Duration = Duration::from_millis(250);

/// What the agent needs.
#[derive(Clone, Debug)]
pub struct Options {
    /// QEMU's QMP socket for the agent alone.
    pub qmp: PathBuf,
    /// hesperd's control socket, if there is one to watch.
    pub control: Option<PathBuf>,
    /// The guard's control socket.
    pub guard: PathBuf,
    /// Host and port of the standby.
    pub standby: String,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// Our own control socket; the migration socket is made beside it.
    pub listen: PathBuf,
    /// Name of the VM, for people.
    pub vm: String,
    /// A standby that is silent for so long is lost.
    pub link_timeout: Duration,
    /// An epoch that is larger goes on to the standby while the VM is paused.
    pub epoch_bytes_max: u64,
    /// When pages are compressed.
    pub compress: Compress,
    /// Events of hesperd that lead to a takeover.
    pub takeover_on: Vec<String>,
}

/// What the loop is fed with.
enum Message {
    /// The guard is connected; this is for writing to it.
    GuardUp(UnixStream),
    /// A line of the guard.
    Guard(Value),
    /// The guard's connection is gone; true when guard and QEMU are dead.
    GuardClosed(bool),
    Link(u64, link::Event),
    Stream(u64, source::Event),
    /// The release of this number is done.
    Released(u64),
    /// Something of hesperd's that may lead to a takeover.
    Fault(Value),
    /// A line on our control socket, and whom to answer.
    Asked(Value, Sender<Value>),
}

struct Loop {
    options: Options,
    rules: Agent,
    sender: Sender<Message>,
    begin: Instant,
    qmp: SharedQmp,
    spare: Spare,
    guard: Option<UnixStream>,
    qemu: Option<Arc<PidFd>>,
    link: Option<Link>,
    link_started: bool,
    source: Option<Source>,
    streams: u64,
    /// Number of the newest release; an older one stops at it.
    releases: Arc<AtomicU64>,
    staged: Option<(Epoch, Staged)>,
    alive: Instant,
    detected: Option<(Value, u64)>,
    fenced_ms: Option<u64>,
    stats: Stats,
}

/// Runs until QEMU is gone and nobody is left to be told.
///
/// # Errors
/// [`crate::error::Error::Io`] when the control socket can't be bound.
pub fn run(options: Options) -> Result<()> {
    let (sender, receiver) = channel();
    let listener = listen(&options.listen)?;
    watch::control(listener, sender.clone());
    watch::guard(options.guard.clone(), sender.clone());
    if let Some(path) = &options.control {
        watch::hesperd(path.clone(), options.takeover_on.clone(), sender.clone());
    }
    let mut agent = Loop {
        rules: Agent::new(),
        begin: Instant::now(),
        qmp: SharedQmp::new(options.qmp.clone()),
        spare: Spare::default(),
        guard: None,
        qemu: None,
        link: None,
        link_started: false,
        source: None,
        streams: 0,
        releases: Arc::default(),
        staged: None,
        alive: Instant::now(),
        detected: None,
        fenced_ms: None,
        stats: Stats::default(),
        options,
        sender,
    };
    agent.serve(&receiver);
    let _ = std::fs::remove_file(&agent.options.listen);
    Ok(())
}

impl Loop {
    fn serve(&mut self, receiver: &Receiver<Message>) {
        let mut tick = Instant::now();
        while self.rules.phase() != Phase::Ended {
            match receiver.recv_timeout(TICK) {
                Ok(message) => self.message(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if tick.elapsed() >= TICK {
                tick = Instant::now();
                let now_ms = self.begin.elapsed().as_millis() as u64;
                self.feed(AgentIn::Tick { now_ms });
                self.stats.take_pauses(&self.qmp);
                if self.alive.elapsed() >= ALIVE {
                    self.alive = Instant::now();
                    self.say_guard(&json!({"command": "alive"}));
                }
            }
        }
        tracing::info!("nothing is left to protect");
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::GuardUp(stream) => self.guard = Some(stream),
            Message::Guard(line) => self.guard_line(&line),
            Message::GuardClosed(true) => self.gone(AgentIn::GuardDead),
            Message::GuardClosed(false) => self.guard_lost(),
            Message::Link(number, event) => self.link_event(number, event),
            Message::Stream(number, event) => {
                if self.source.as_ref().is_some_and(|s| s.number == number) {
                    self.stream_event(event);
                }
            }
            Message::Released(number) => {
                if number == self.releases.load(Ordering::Relaxed) {
                    self.feed(AgentIn::Running);
                }
            }
            Message::Fault(event) => {
                tracing::warn!(%event, phase = ?self.rules.phase(), "GPU fault");
                if self.rules.phase() == Phase::Protected {
                    self.detected = Some((event, wall_ms()));
                }
                self.feed(AgentIn::Hang);
            }
            Message::Asked(line, answer) => {
                let _ = answer.send(self.asked(&line));
            }
        }
    }

    fn guard_line(&mut self, line: &Value) {
        let record = line.get("record").cloned().unwrap_or(Value::Null);
        let record: Option<LeaseRecord> = serde_json::from_value(record).ok();
        let event = line.get("event").and_then(Value::as_str).unwrap_or("");
        match (event, record) {
            ("welcome", Some(record)) => {
                self.start_link(record.term);
                let pid = line.get("qemu_pid").and_then(Value::as_u64).unwrap_or(0);
                self.qemu = PidFd::open(pid as u32).ok().map(Arc::new);
                let gone = line.get("gone") == Some(&Value::Bool(true));
                if gone {
                    self.fenced_ms.get_or_insert_with(wall_ms);
                }
                self.feed(AgentIn::Welcome { record, gone });
            }
            ("recorded", Some(record)) => self.feed(AgentIn::Recorded(record)),
            ("gone", Some(record)) => self.gone(AgentIn::Gone(record)),
            ("dropped", _) => self.guard_lost(),
            _ => {}
        }
    }

    fn guard_lost(&mut self) {
        tracing::warn!("guard is lost");
        self.guard = None;
        if let Some(source) = self.source.take() {
            source.close();
        }
        self.feed(AgentIn::GuardLost);
    }

    fn gone(&mut self, input: AgentIn) {
        self.fenced_ms.get_or_insert_with(wall_ms);
        self.detected
            .get_or_insert_with(|| (json!({"event": "qemu-ended"}), wall_ms()));
        tracing::warn!(phase = ?self.rules.phase(), "QEMU has ended");
        self.feed(input);
    }

    fn say_guard(&mut self, value: &Value) {
        if let Some(stream) = &mut self.guard
            && crate::lines::write_line(stream, value).is_err()
        {
            // The reader reports the end.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn start_link(&mut self, term: u64) {
        if std::mem::replace(&mut self.link_started, true) {
            return;
        }
        let options = link::Options {
            standby: self.options.standby.clone(),
            vm: self.options.vm.clone(),
            term,
            timeout: self.options.link_timeout,
            compress: self.options.compress,
        };
        let (spare, sender) = (self.spare.clone(), self.sender.clone());
        thread::spawn(move || link::run(&options, &spare, &sender));
    }

    fn link_event(&mut self, number: u64, event: link::Event) {
        let current = self.link.as_ref().is_some_and(|link| link.number == number);
        match event {
            link::Event::Up(link, welcome) => {
                tracing::info!(?welcome, "standby is connected");
                self.link = Some(link);
                let Welcome { term, epoch } = welcome;
                self.feed(AgentIn::LinkUp { term, epoch });
            }
            link::Event::Lost(text) => {
                if current {
                    tracing::warn!("standby is lost: {text}");
                    self.stats.link_loss = text;
                    self.link = None;
                    self.feed(AgentIn::LinkLost);
                }
            }
            _ if !current => {}
            link::Event::Acked(epoch) => {
                self.stats.acked();
                self.feed(AgentIn::Acked(epoch));
            }
            link::Event::TakenOver(term, timeline) => {
                println!("{timeline}");
                self.feed(AgentIn::TakenOver(term));
            }
            link::Event::AskFailover => {
                if self.rules.phase() == Phase::Protected {
                    let cause = json!({"event": "operator"});
                    self.detected = Some((cause, wall_ms()));
                }
                self.feed(AgentIn::FailoverAsked);
            }
        }
    }

    fn stream_event(&mut self, event: source::Event) {
        match event {
            source::Event::Staged(epoch, staged, figures) => {
                tracing::debug!(epoch, ?figures, "staged");
                self.stats.staged(figures);
                self.staged = Some((epoch, staged));
                self.feed(AgentIn::Staged(epoch));
            }
            source::Event::Requested => self.feed(AgentIn::Requested),
            source::Event::Lost(text) => {
                tracing::warn!("QEMU's stream is lost: {text}");
                self.stats.stream_loss = text;
                self.feed(AgentIn::StreamLost);
            }
        }
    }

    fn feed(&mut self, input: AgentIn) {
        let before = self.rules.phase();
        for action in self.rules.on(input) {
            tracing::debug!(?input, ?action);
            self.act(action);
        }
        let after = self.rules.phase();
        let count = |phase| matches!(phase, Phase::Protected);
        if count(before) != count(after) {
            tracing::info!(?before, ?after, "protection changed");
        }
    }

    fn act(&mut self, action: AgentOut) {
        match action {
            AgentOut::Release => self.release(),
            AgentOut::Attach { epoch } => self.attach(epoch),
            AgentOut::Reply { epoch } => self.order(Order::Reply(epoch)),
            AgentOut::Resume => self.order(Order::Resume),
            AgentOut::Commit { epoch } => {
                if let Some((number, staged)) = self.staged.take()
                    && number == epoch
                {
                    self.stats.shipped = Some(Instant::now());
                    self.ship(Ship::Epoch(epoch, staged));
                }
            }
            AgentOut::Record { protected, acked } => {
                let wish = json!({"command": "record", "protected": protected, "acked": acked});
                self.say_guard(&wish);
            }
            AgentOut::Fence => self.say_guard(&json!({"command": "fence"})),
            AgentOut::TellPrepare => self.ship(Ship::Prepare(self.timeline())),
            AgentOut::TellFenced { epoch, .. } => {
                self.ship(Ship::Fenced(epoch, self.timeline()));
            }
            AgentOut::RefuseFailover => self.ship(Ship::Refuse),
        }
    }

    fn timeline(&self) -> Value {
        json!({
            "cause": self.detected.as_ref().map(|(event, _)| event),
            "detected_ms": self.detected.as_ref().map(|(_, ms)| ms),
            "fenced_ms": self.fenced_ms,
        })
    }

    fn order(&self, order: Order) {
        if let Some(source) = &self.source {
            source.order(order);
        }
    }

    fn ship(&self, ship: Ship) {
        if let Some(link) = &self.link {
            // A link that has ended says so by itself.
            let _ = link.ship.send(ship);
        }
    }

    fn release(&mut self) {
        if let Some(source) = self.source.take() {
            source.close();
        }
        self.staged = None;
        let number = self.releases.fetch_add(1, Ordering::Relaxed) + 1;
        let (qmp, newest) = (self.qmp.clone(), self.releases.clone());
        let sender = self.sender.clone();
        thread::spawn(move || {
            let begin = Instant::now();
            if source::release(&qmp, number, &newest) {
                let took_ms = begin.elapsed().as_millis() as u64;
                tracing::info!(took_ms, "VM runs without protection");
                let _ = sender.send(Message::Released(number));
            }
        });
    }

    fn attach(&mut self, epoch: Epoch) {
        let Some(link) = self.link.clone() else {
            // Its loss is on its way to us and ends this attachment.
            return;
        };
        self.streams += 1;
        let options = source::Options {
            qmp: self.qmp.clone(),
            socket: self.options.listen.with_extension("migration"),
            interval: self.options.interval,
            epoch_bytes_max: self.options.epoch_bytes_max,
            process: self.qemu.clone(),
        };
        tracing::info!(epoch, "first state begins");
        let (spare, sender) = (self.spare.clone(), self.sender.clone());
        self.source = Some(source::attach(
            &options,
            self.streams,
            epoch,
            link,
            spare,
            sender,
        ));
    }

    fn asked(&mut self, line: &Value) -> Value {
        let id = line.get("id").cloned().unwrap_or(Value::Null);
        match line.get("command").and_then(Value::as_str) {
            Some("status") => {
                let mut answer = self.stats.to_json();
                answer["id"] = id;
                answer["role"] = "agent".into();
                answer["vm"] = self.options.vm.clone().into();
                answer["phase"] = format!("{:?}", self.rules.phase()).into();
                answer["protected"] = (self.rules.phase() == Phase::Protected).into();
                answer["record"] = json!(self.rules.record());
                answer["standby"] = self.link.is_some().into();
                answer
            }
            Some("checkpoint") => {
                let (qmp, interval) = (self.qmp.clone(), self.options.interval);
                // Any setting of the delay, also to its old value, makes QEMU ask at once.
                thread::spawn(move || source::poke(&qmp, interval));
                json!({"id": id, "ok": true})
            }
            Some("fault") => {
                let event = line
                    .get("event")
                    .cloned()
                    .unwrap_or_else(|| "manual".into());
                let _ = self.sender.send(Message::Fault(json!({"event": event})));
                json!({"id": id, "ok": true})
            }
            _ => json!({"id": id, "error": "unknown command"}),
        }
    }
}
