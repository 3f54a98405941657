//! The agent's connection to the standby: dials, greets, ships, hears acks and signs of life.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Message;
use crate::batch::{Batch, Compress, Encoder};
use crate::error::{Context, Error, Result};
use crate::frame::{FrameReader, FrameWriter, Kind};
use crate::machine::{Epoch, Term};
use crate::stream::Block;

/// Batches that may wait for the link while a first state flows; past this QEMU waits.
const BATCHES_MAX: usize = 8;
/// Empty batches kept for reuse, so that pages are not faulted in anew for each epoch.
const SPARE_MAX: usize = 64;
/// Device state goes in parts of this size.
const DEVICE_PART_BYTES: usize = 4 << 20;
/// Pause between two attempts to connect.
const REDIAL: Duration = Duration::from_millis(100);
/// Time for one attempt.
const DIAL: Duration = Duration::from_secs(1);

/// First frame of the agent.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Name of the VM, for people.
    pub vm: String,
}

/// First frame of the standby.
#[derive(Debug, Serialize, Deserialize)]
pub struct Welcome {
    /// Its term.
    pub term: Term,
    /// Its last complete epoch.
    pub epoch: Epoch,
}

/// Start of a first state.
#[derive(Debug, Serialize, Deserialize)]
pub struct SyncBegin {
    /// The machine's versioned name.
    pub machine: String,
    /// Names and lengths of its blocks.
    pub blocks: Vec<(String, u64)>,
}

/// End of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    /// Batches of pages since the last commit or first state's start.
    pub batches: u64,
    /// Pages that are not zero in them.
    pub pages: u64,
    /// Bytes of device state.
    pub device: u64,
    /// When the epoch was in the agent's memory, in milliseconds since 1970.
    pub taken_ms: u64,
}

/// One complete epoch in memory.
#[derive(Debug, Default)]
pub struct Staged {
    /// Its pages, or the rest of them that has not been shipped.
    pub batches: Vec<Batch>,
    /// Its device state.
    pub device: Vec<u8>,
    /// See [`Commit::taken_ms`].
    pub taken_ms: u64,
}

/// What the link's thread is asked to send.
#[derive(Debug)]
pub enum Ship {
    /// A first state begins.
    SyncBegin(String, Vec<Block>),
    /// Pages ahead of the commit; gives back a permit.
    Batch(Batch),
    /// The rest of an epoch and its end.
    Epoch(Epoch, Staged),
    /// QEMU is about to be ended.
    Prepare(Value),
    /// QEMU has ended.
    Fenced(Epoch, Value),
    /// No takeover for the operator.
    Refuse,
    /// The connection has ended.
    Stop,
}

/// Bounds what waits for the link.
#[derive(Debug)]
pub struct Permits {
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Permits {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new((BATCHES_MAX, true)),
            changed: Condvar::new(),
        }
    }

    /// Takes one, or waits for one; false when the link is gone.
    pub fn take(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.1 && state.0 == 0 {
            let next = self.changed.wait(state);
            state = next.unwrap_or_else(PoisonError::into_inner);
        }
        state.0 = state.0.saturating_sub(1);
        state.1
    }

    fn give(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_one();
    }

    /// Ends all waiting: the link is gone.
    pub fn close(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 = false;
        self.changed.notify_all();
    }
}

/// Batches whose memory is to be used again.
#[derive(Clone, Debug, Default)]
pub struct Spare(Arc<Mutex<Vec<Batch>>>);

impl Spare {
    /// An empty batch.
    pub fn take(&self) -> Batch {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.pop().unwrap_or_default()
    }

    /// Gives a batch back.
    pub fn give(&self, mut batch: Batch) {
        batch.clear();
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < SPARE_MAX {
            list.push(batch);
        }
    }
}

/// A live connection, as the agent's loop sees it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Number of the connection.
    pub number: u64,
    /// Takes what is to be sent.
    pub ship: Sender<Ship>,
    /// Bounds [`Ship::Batch`].
    pub permits: Arc<Permits>,
}

/// How the link is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Host and port of the standby.
    pub standby: String,
    /// Name of the VM.
    pub vm: String,
    /// Our term.
    pub term: Term,
    /// A peer that is silent for so long is lost.
    pub timeout: Duration,
    /// When pages are compressed.
    pub compress: Compress,
}

/// What happens on the link.
#[derive(Debug)]
pub enum Event {
    /// The standby greeted.
    Up(Link, Welcome),
    /// An epoch is acked.
    Acked(Epoch),
    /// The VM runs there; with the timeline.
    TakenOver(Term, Value),
    /// An operator asks for a takeover.
    AskFailover,
    /// The connection is gone.
    Lost(String),
}

/// Dials for ever, one connection at a time; ends when the agent's loop does.
pub fn run(options: &Options, spare: &Spare, sender: &Sender<Message>) {
    for number in 1.. {
        let outcome = loop {
            match connect(options) {
                Ok(stream) => break serve(options, number, stream, spare, sender),
                Err(error) => tracing::debug!("standby is not there: {error}"),
            }
            thread::sleep(REDIAL);
        };
        let text = outcome.map_or_else(|error| crate::error::chain(&error), |()| "closed".into());
        if sender
            .send(Message::Link(number, Event::Lost(text)))
            .is_err()
        {
            return;
        }
        thread::sleep(REDIAL);
    }
}

fn connect(options: &Options) -> Result<TcpStream> {
    let dial = || format!("connect to {}", options.standby);
    let mut addresses = options.standby.to_socket_addrs().context(dial)?;
    let address = addresses
        .next()
        .ok_or_else(|| Error::Config(format!("{} has no address", options.standby)))?;
    let stream = TcpStream::connect_timeout(&address, DIAL).context(dial)?;
    stream.set_nodelay(true).context(dial)?;
    stream
        .set_read_timeout(Some(options.timeout))
        .context(dial)?;
    stream
        .set_write_timeout(Some(options.timeout))
        .context(dial)?;
    Ok(stream)
}

/// One connection from the greeting to its end.
fn serve(
    options: &Options,
    number: u64,
    stream: TcpStream,
    spare: &Spare,
    sender: &Sender<Message>,
) -> Result<()> {
    let reader = stream.try_clone().context(|| "use the link twice".into())?;
    let closer = stream.try_clone().context(|| "use the link twice".into())?;
    let mut frames = FrameReader::new(reader);
    let mut writer = FrameWriter::new(stream);
    let hello = Hello {
        vm: options.vm.clone(),
    };
    writer.send_json(Kind::Hello, options.term, 0, &hello)?;
    let first = frames.receive()?;
    if first.kind != Kind::Welcome {
        return Err(Error::Frame("no welcome".into()));
    }
    let welcome: Welcome = first.json()?;
    let (ship, orders) = channel();
    let permits = Arc::new(Permits::new());
    let link = Link {
        number,
        ship: ship.clone(),
        permits: permits.clone(),
    };
    let _ = sender.send(Message::Link(number, Event::Up(link, welcome)));
    let heard = sender.clone();
    let hearing = thread::spawn(move || {
        let outcome = hear(&mut frames, number, &heard);
        // Wakes the sending side, wherever it waits.
        let _ = closer.shutdown(std::net::Shutdown::Both);
        let _ = ship.send(Ship::Stop);
        outcome
    });
    let outcome = send(options, &mut writer, &orders, &permits, spare);
    permits.close();
    tracing::debug!(sent = writer.sent, "link has ended");
    drop(writer);
    let heard = hearing.join().unwrap_or(Ok(()));
    heard.and(outcome)
}

fn hear(frames: &mut FrameReader<TcpStream>, number: u64, sender: &Sender<Message>) -> Result<()> {
    loop {
        let frame = frames.receive()?;
        let event = match frame.kind {
            Kind::Beat => continue,
            Kind::Ack => Event::Acked(frame.epoch),
            Kind::TakenOver => Event::TakenOver(frame.term, frame.json()?),
            Kind::AskFailover => Event::AskFailover,
            other => return Err(Error::Frame(format!("{other:?} is not for the agent"))),
        };
        if sender.send(Message::Link(number, event)).is_err() {
            return Ok(());
        }
    }
}

fn send(
    options: &Options,
    writer: &mut FrameWriter<TcpStream>,
    orders: &Receiver<Ship>,
    permits: &Permits,
    spare: &Spare,
) -> Result<()> {
    let mut encoder = Encoder::new(options.compress);
    let mut commit = Commit::default();
    let term = options.term;
    let mut pages = |writer: &mut FrameWriter<TcpStream>, commit: &mut Commit, batch: Batch| {
        let (runs, data) = encoder.encode(&batch)?;
        writer.send(Kind::Pages, term, 0, &[runs, data])?;
        commit.batches += 1;
        commit.pages += (batch.data.len() / crate::stream::PAGE_BYTES) as u64;
        spare.give(batch);
        Ok::<_, Error>(())
    };
    loop {
        match orders.recv_timeout(options.timeout / 4) {
            Err(RecvTimeoutError::Timeout) => writer.send(Kind::Beat, term, 0, &[])?,
            Err(RecvTimeoutError::Disconnected) | Ok(Ship::Stop) => return Ok(()),
            Ok(Ship::SyncBegin(machine, blocks)) => {
                commit = Commit::default();
                let blocks = blocks.into_iter().map(|b| (b.name, b.len)).collect();
                let begin = SyncBegin { machine, blocks };
                writer.send_json(Kind::SyncBegin, term, 0, &begin)?;
            }
            Ok(Ship::Batch(batch)) => {
                pages(writer, &mut commit, batch)?;
                permits.give();
            }
            Ok(Ship::Epoch(epoch, staged)) => {
                for batch in staged.batches {
                    pages(writer, &mut commit, batch)?;
                }
                for part in staged.device.chunks(DEVICE_PART_BYTES) {
                    writer.send(Kind::Device, term, epoch, &[part])?;
                }
                commit.device = staged.device.len() as u64;
                commit.taken_ms = staged.taken_ms;
                let whole = std::mem::take(&mut commit);
                writer.send_json(Kind::Commit, term, epoch, &whole)?;
            }
            Ok(Ship::Prepare(timeline)) => {
                writer.send_json(Kind::Prepare, term, 0, &timeline)?;
            }
            Ok(Ship::Fenced(epoch, timeline)) => {
                writer.send_json(Kind::Fenced, term, epoch, &timeline)?;
            }
            Ok(Ship::Refuse) => writer.send_json(Kind::FailoverRefused, term, 0, &json!({}))?,
        }
    }
}
