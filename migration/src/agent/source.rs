//! QEMU's side of the agent: starts a stream, stages what comes, answers as the rules say.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};

use super::Message;
use super::link::{Link, Ship, Spare, Staged};
use crate::batch::Batch;
use crate::error::{Context, Error, Result};
use crate::lines::wall_ms;
use crate::machine::Epoch;
use crate::process::PidFd;
use crate::qmp::Qmp;
use crate::release;
use crate::stream::{Block, Dialect, PAGE_BYTES, Parser, Sink, message};

/// Deadline of each QMP command.
const COMMAND: Duration = Duration::from_secs(2);
/// QEMU connects to our migration socket within this.
const ACCEPT: Duration = Duration::from_secs(5);
/// A dying process closes its sockets a little before it counts as dead.
const DEATH: Duration = Duration::from_millis(100);
/// QEMU's own limit on a migration's speed is 128 MiB/s unless it is set.
const BANDWIDTH_BYTES: u64 = 64 << 30;

/// QEMU's QMP socket, which serves one client: all of the agent shares it.
#[derive(Clone, Debug)]
pub struct SharedQmp {
    path: PathBuf,
    slot: Arc<Mutex<Option<Qmp>>>,
}

impl SharedQmp {
    /// A socket that is connected when it is first needed.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            slot: Arc::default(),
        }
    }

    /// Works with the connection; one that fails for good is made anew the next time.
    ///
    /// # Errors
    /// Those of the connection and of `work`.
    pub fn with<T>(&self, work: impl FnOnce(&mut Qmp) -> Result<T>) -> Result<T> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let mut qmp = match slot.take() {
            Some(qmp) => qmp,
            None => Qmp::connect(&self.path, COMMAND)?,
        };
        let outcome = work(&mut qmp);
        let alive = matches!(
            &outcome,
            Ok(_) | Err(Error::QmpRefused { .. } | Error::QmpTimeout { .. })
        );
        *slot = alive.then_some(qmp);
        outcome
    }

    /// Events that have come, if nobody uses the connection right now.
    pub fn events_now(&self) -> Vec<crate::qmp::Event> {
        let Ok(mut slot) = self.slot.try_lock() else {
            return Vec::new();
        };
        match slot.as_mut().map(Qmp::take_events) {
            Some(Ok(events)) => events,
            Some(Err(_)) => {
                *slot = None;
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

/// How a stream is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// QEMU's QMP.
    pub qmp: SharedQmp,
    /// Where our migration socket is to be.
    pub socket: PathBuf,
    /// Time between two checkpoints.
    pub interval: Duration,
    /// An epoch that is larger goes on to the standby while the VM is paused.
    pub epoch_bytes_max: u64,
    /// QEMU itself.
    pub process: Option<Arc<PidFd>>,
}

/// Figures of a stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Pages that are not zero.
    pub pages: u64,
    /// Zero pages.
    pub zeros: u64,
    /// Bytes of device state.
    pub device: u64,
    /// From the first byte to the last.
    pub took: Duration,
    /// From our reply to QEMU's first byte: QEMU stopped the VM and saved its devices.
    pub stop: Duration,
}

/// What happens on a stream.
#[derive(Debug)]
pub enum Event {
    /// The epoch is in memory.
    Staged(Epoch, Staged, Figures),
    /// QEMU asks for a checkpoint.
    Requested,
    /// The stream is over.
    Lost(String),
}

/// What the rules let the stream do.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Take this checkpoint.
    Reply(Epoch),
    /// Let the VM go on.
    Resume,
}

/// A live stream, as the agent's loop sees it.
#[derive(Debug)]
pub struct Source {
    /// Number of the stream.
    pub number: u64,
    orders: Sender<Order>,
    socket: Arc<Mutex<(Option<UnixStream>, bool)>>,
}

impl Source {
    /// Passes an order on.
    pub fn order(&self, order: Order) {
        // A stream that has ended says so by itself.
        let _ = self.orders.send(order);
    }

    /// Closes the stream under QEMU and ourselves.
    pub fn close(&self) {
        let mut slot = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = true;
        if let Some(socket) = &slot.0 {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Starts a stream whose first state is `epoch`, on a thread of its own.
pub fn attach(
    options: &Options,
    number: u64,
    epoch: Epoch,
    link: Link,
    spare: Spare,
    sender: Sender<Message>,
) -> Source {
    let (orders, receiver) = std::sync::mpsc::channel();
    let socket = Arc::new(Mutex::new((None, false)));
    let source = Source {
        number,
        orders,
        socket: socket.clone(),
    };
    let options = options.clone();
    thread::spawn(move || {
        let say = |event| sender.send(Message::Stream(number, event)).is_ok();
        let outcome = (|| {
            let (stream, dialect) = connect(&options)?;
            let copy = stream.try_clone().context(|| "share the stream".into())?;
            {
                let mut slot = socket.lock().unwrap_or_else(PoisonError::into_inner);
                if slot.1 {
                    return Err(Error::Ended("closed before it began"));
                }
                slot.0 = Some(copy);
            }
            let mut stage = Stage::new(link, spare, options.epoch_bytes_max);
            receive(stream, dialect, epoch, &mut stage, &receiver, &say)
        })();
        let text = outcome.map_or_else(|error| crate::error::chain(&error), |()| "ended".into());
        // The stream of a QEMU that has died is no stream that was lost: the guard tells its death,
        // under the record as it is.
        let dead = |process: Arc<PidFd>| process.ended(DEATH);
        if !options.process.is_some_and(dead) {
            say(Event::Lost(text));
        }
    });
    source
}

/// Has QEMU start a migration to a fresh socket of ours.
fn connect(options: &Options) -> Result<(UnixStream, Dialect)> {
    let path = &options.socket;
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).context(|| format!("listen at {}", path.display()))?;
    let delay = options.interval.as_millis().clamp(1, u128::from(u32::MAX)) as u64;
    let dialect = options.qmp.with(|qmp| {
        let dialect = Dialect::of(qmp.version().0);
        let list: Vec<Value> = dialect
            .capabilities()
            .iter()
            .map(|(name, state)| json!({"capability": name, "state": state}))
            .collect();
        qmp.execute(
            "migrate-set-capabilities",
            json!({"capabilities": list}),
            COMMAND,
        )?;
        let parameters = json!({"x-checkpoint-delay": delay, "max-bandwidth": BANDWIDTH_BYTES});
        qmp.execute("migrate-set-parameters", parameters, COMMAND)?;
        let uri = format!("unix:{}", path.display());
        qmp.execute("migrate", json!({"uri": uri}), COMMAND)?;
        Ok(dialect)
    })?;
    let mut fds = [PollFd::new(
        std::os::fd::AsFd::as_fd(&listener),
        PollFlags::POLLIN,
    )];
    let timeout = PollTimeout::try_from(ACCEPT).unwrap_or(PollTimeout::MAX);
    let ready = poll(&mut fds, timeout).context(|| "wait for QEMU".into())?;
    if ready == 0 {
        return Err(Error::Ended("QEMU did not connect"));
    }
    let (stream, _) = listener.accept().context(|| "accept QEMU".into())?;
    let _ = std::fs::remove_file(path);
    Ok((stream, dialect))
}

/// The whole conversation with QEMU.
fn receive(
    stream: UnixStream,
    dialect: Dialect,
    epoch: Epoch,
    stage: &mut Stage,
    orders: &std::sync::mpsc::Receiver<Order>,
    say: &impl Fn(Event) -> bool,
) -> Result<()> {
    use std::io::Write;
    let mut answer = stream.try_clone().context(|| "share the stream".into())?;
    let mut tell = move |bytes: &[u8]| answer.write_all(bytes).context(|| "answer QEMU".into());
    let gone = || Error::Ended("the agent ended the stream");
    let mut parser = Parser::new(stream);
    let begin = Instant::now();
    let mut device = Vec::new();
    parser.header()?;
    parser.live(stage)?;
    parser.first_device(&mut device)?;
    let figures = stage.figures(&device, begin, begin);
    if !say(Event::Staged(epoch, stage.take(device), figures)) {
        return Ok(());
    }
    stage.ahead = false;
    let mut ready = Some(dialect.ready(parser.pings()));
    loop {
        match orders.recv().map_err(|_| gone())? {
            Order::Resume => match ready.take() {
                Some(bytes) => tell(&bytes)?,
                None => {
                    let mut both = message::RECEIVED.to_be_bytes().to_vec();
                    both.extend_from_slice(&message::LOADED.to_be_bytes());
                    tell(&both)?;
                }
            },
            Order::Reply(_) => return Err(gone()),
        }
        parser.expect(message::REQUEST)?;
        if !say(Event::Requested) {
            return Ok(());
        }
        let Order::Reply(epoch) = orders.recv().map_err(|_| gone())? else {
            return Err(gone());
        };
        let asked = Instant::now();
        tell(&message::REPLY.to_be_bytes())?;
        parser.expect(message::VMSTATE_SEND)?;
        let begin = Instant::now();
        parser.checkpoint_ram(stage)?;
        parser.expect(message::VMSTATE_SIZE)?;
        let mut device = Vec::new();
        parser.checkpoint_device(&mut device)?;
        let figures = stage.figures(&device, asked, begin);
        if !say(Event::Staged(epoch, stage.take(device), figures)) {
            return Ok(());
        }
    }
}

/// Where a stream's pages are kept until the standby gets them.
#[derive(Debug)]
struct Stage {
    link: Link,
    spare: Spare,
    bytes_max: u64,
    /// Pages go on at once: in a first state, while the VM runs.
    ahead: bool,
    current: Batch,
    closed: Vec<Batch>,
    bytes: u64,
    pages: u64,
    zeros: u64,
}

impl Stage {
    fn new(link: Link, spare: Spare, bytes_max: u64) -> Self {
        Self {
            current: spare.take(),
            link,
            spare,
            bytes_max,
            ahead: true,
            closed: Vec::new(),
            bytes: 0,
            pages: 0,
            zeros: 0,
        }
    }

    fn close_if_full(&mut self) -> Result<()> {
        if !self.current.full() {
            return Ok(());
        }
        let batch = std::mem::replace(&mut self.current, self.spare.take());
        self.bytes += batch.data.len() as u64;
        self.closed.push(batch);
        if self.ahead || self.bytes > self.bytes_max {
            for batch in self.closed.drain(..) {
                if !self.link.permits.take() {
                    return Err(Error::Ended("the standby is gone"));
                }
                // The link's thread keeps its receiver as long as it grants permits.
                let _ = self.link.ship.send(Ship::Batch(batch));
            }
        }
        Ok(())
    }

    /// What is staged now, with this device state.
    fn take(&mut self, device: Vec<u8>) -> Staged {
        let mut batches = std::mem::take(&mut self.closed);
        let last = std::mem::replace(&mut self.current, self.spare.take());
        if !last.is_empty() {
            batches.push(last);
        }
        (self.bytes, self.pages, self.zeros) = (0, 0, 0);
        Staged {
            batches,
            device,
            taken_ms: wall_ms(),
        }
    }

    fn figures(&self, device: &[u8], asked: Instant, begin: Instant) -> Figures {
        Figures {
            pages: self.pages,
            zeros: self.zeros,
            device: device.len() as u64,
            took: begin.elapsed(),
            stop: begin - asked,
        }
    }
}

impl Sink for Stage {
    fn blocks(&mut self, machine: &str, blocks: &[Block]) -> Result<()> {
        let begin = Ship::SyncBegin(machine.to_owned(), blocks.to_vec());
        self.link
            .ship
            .send(begin)
            .map_err(|_| Error::Ended("the standby is gone"))
    }

    fn page(&mut self, block: usize, offset: u64, bytes: &[u8; PAGE_BYTES]) -> Result<()> {
        // The parser knows at most BLOCKS_MAX blocks.
        self.current
            .page(block as u32, offset / PAGE_BYTES as u64, bytes);
        self.pages += 1;
        self.close_if_full()
    }

    fn zero(&mut self, block: usize, offset: u64) -> Result<()> {
        self.current.zero(block as u32, offset / PAGE_BYTES as u64);
        self.zeros += 1;
        self.close_if_full()
    }
}

/// Makes the VM run, however long it takes; false when QEMU is gone or a newer release took over.
pub fn release(qmp: &SharedQmp, number: u64, newest: &AtomicU64) -> bool {
    loop {
        let outcome = qmp.with(|qmp| {
            if newest.load(Ordering::Relaxed) != number {
                return Ok(false);
            }
            release::make_run(qmp, COMMAND).map(|()| true)
        });
        match outcome {
            Ok(done) => return done,
            Err(Error::QmpTimeout { .. } | Error::QmpRefused { .. }) => {}
            Err(error) => {
                tracing::warn!("VM can't be released: {}", crate::error::chain(&error));
                return false;
            }
        }
    }
}

/// Makes QEMU ask for a checkpoint now.
pub fn poke(qmp: &SharedQmp, interval: Duration) {
    let delay = interval.as_millis() as u64;
    let parameters = json!({"x-checkpoint-delay": delay});
    let outcome = qmp.with(|qmp| qmp.execute("migrate-set-parameters", parameters, COMMAND));
    if let Err(error) = outcome {
        tracing::warn!("no checkpoint on demand: {error}");
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
