//! The standby's side of the link: takes agents in, checks what they send, answers.

use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::Message;
use crate::agent::{Commit, Hello, SyncBegin};
use crate::batch::{Batch, decode};
use crate::error::{Context, Error, Result};
use crate::frame::{Frame, FrameReader, FrameWriter, Kind};
use crate::machine::{Epoch, Term};
use crate::stream::{Block, PAGE_BYTES};

/// What an agent sent.
#[derive(Debug)]
pub enum Event {
    /// It greeted; this answers it.
    Up(Term, Hello, Answer),
    /// A first state begins.
    SyncBegin(Term, String, Vec<Block>),
    /// Pages.
    Batch(Batch),
    /// A part of the device state.
    Device(Vec<u8>),
    /// An epoch ends.
    Commit(Term, Epoch, Commit),
    /// QEMU is about to be ended there.
    Prepare(Term),
    /// QEMU has ended there.
    Fenced(Term, Epoch, Value),
    /// It does not hand over.
    Refused,
    /// The connection is gone.
    Lost(String),
}

/// Answers one agent. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Answer {
    writer: Arc<Mutex<FrameWriter<TcpStream>>>,
    stream: Arc<TcpStream>,
}

impl Answer {
    /// Sends a frame; a failure closes the connection, whose reader reports it.
    pub fn send(&self, kind: Kind, term: Term, epoch: Epoch, value: &impl Serialize) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.send_json(kind, term, epoch, value).is_err() {
            self.close();
        }
    }

    /// Closes the connection.
    pub fn close(&self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Sends signs of life until the connection is gone, also while epochs are put in place.
    pub fn beat(&self, timeout: Duration) {
        let (writer, stream) = (Arc::downgrade(&self.writer), self.stream.clone());
        thread::spawn(move || {
            while let Some(writer) = writer.upgrade() {
                let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
                if writer.send(Kind::Beat, 0, 0, &[]).is_err() {
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                    return;
                }
                drop(writer);
                thread::sleep(timeout / 4);
            }
        });
    }
}

/// Takes agents in for ever.
pub fn listen(listener: TcpListener, timeout: Duration, sender: SyncSender<Message>) {
    thread::spawn(move || {
        for (number, stream) in (1..).zip(listener.incoming().flatten()) {
            let sender = sender.clone();
            thread::spawn(move || {
                let outcome = serve(number, stream, timeout, &sender);
                let text = match outcome {
                    Ok(()) => "closed".into(),
                    Err(error) => crate::error::chain(&error),
                };
                let _ = sender.send(Message::Link(number, Event::Lost(text)));
            });
        }
    });
}

fn serve(
    number: u64,
    stream: TcpStream,
    timeout: Duration,
    sender: &SyncSender<Message>,
) -> Result<()> {
    let set = || "set up the link".into();
    stream.set_nodelay(true).context(set)?;
    stream.set_read_timeout(Some(timeout)).context(set)?;
    stream.set_write_timeout(Some(timeout)).context(set)?;
    let answer = Answer {
        writer: Arc::new(Mutex::new(FrameWriter::new(
            stream.try_clone().context(set)?,
        ))),
        stream: Arc::new(stream.try_clone().context(set)?),
    };
    let mut frames = FrameReader::new(stream);
    let hello = frames.receive()?;
    if hello.kind != Kind::Hello {
        return Err(Error::Frame("no hello".into()));
    }
    let up = Event::Up(hello.term, hello.json()?, answer);
    let mut blocks = Vec::new();
    let mut open = sender.send(Message::Link(number, up)).is_ok();
    while open {
        let Some(event) = event(frames.receive()?, &mut blocks)? else {
            continue;
        };
        open = sender.send(Message::Link(number, event)).is_ok();
    }
    Ok(())
}

/// What a frame means; nothing for a sign of life. `blocks` are the lengths in pages.
fn event(frame: Frame, blocks: &mut Vec<u64>) -> Result<Option<Event>> {
    let (term, epoch) = (frame.term, frame.epoch);
    Ok(Some(match frame.kind {
        Kind::Beat => return Ok(None),
        Kind::SyncBegin => {
            let begin: SyncBegin = frame.json()?;
            *blocks = begin
                .blocks
                .iter()
                .map(|(_, len)| len / PAGE_BYTES as u64)
                .collect();
            let list = begin.blocks.into_iter();
            let list = list.map(|(name, len)| Block { name, len }).collect();
            Event::SyncBegin(term, begin.machine, list)
        }
        Kind::Pages => Event::Batch(decode(&frame.payload, blocks)?),
        Kind::Device => Event::Device(frame.payload),
        Kind::Commit => Event::Commit(term, epoch, frame.json()?),
        Kind::Prepare => Event::Prepare(term),
        Kind::Fenced => Event::Fenced(term, epoch, frame.json()?),
        Kind::FailoverRefused => Event::Refused,
        other => return Err(Error::Frame(format!("{other:?} is not for the standby"))),
    }))
}
