//! Frames of the replication link.
//!
//! A frame is a header of 48 bytes, little-endian, and a payload:
//!
//! | bytes | field |
//! | --- | --- |
//! | 0–3 | magic "HSPR" |
//! | 4–5 | version, 1 |
//! | 6–7 | kind |
//! | 8–15 | term of the sender |
//! | 16–23 | epoch, zero where none is meant |
//! | 24–31 | sequence: 1 for a connection's first frame in this direction, then one more each |
//! | 32–39 | length of the payload |
//! | 40–43 | flags, zero |
//! | 44–47 | CRC-32 of bytes 0–43 and the payload |
//!
//! A frame with a wrong checksum, sequence, version, kind or length ends the connection.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Context, Error, Result};
use crate::machine::{Epoch, Term};

const MAGIC: u32 = u32::from_le_bytes(*b"HSPR");
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 48;
/// Longest payload. Pages come in batches far below this.
pub const PAYLOAD_BYTES_MAX: usize = 32 << 20;

/// What a frame means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Agent: who it is. JSON.
    Hello = 1,
    /// Agent: a first state begins. JSON: machine and blocks.
    SyncBegin = 2,
    /// Agent: a batch of pages.
    Pages = 3,
    /// Agent: a part of the device state, in order.
    Device = 4,
    /// Agent: the epoch ends here. JSON: how much it was.
    Commit = 5,
    /// Both: nothing but a sign of life.
    Beat = 6,
    /// Agent: QEMU has ended, take over. JSON: the timeline so far.
    Fenced = 7,
    /// Agent: it does not hand over now.
    FailoverRefused = 8,
    /// Agent: QEMU is about to be ended, get ready. JSON: the timeline so far.
    Prepare = 9,
    /// Standby: where it stands. JSON.
    Welcome = 16,
    /// Standby: the epoch is complete here.
    Ack = 17,
    /// Standby: the VM runs here. JSON: the timeline.
    TakenOver = 18,
    /// Standby: an operator asks for a takeover.
    AskFailover = 19,
}

impl Kind {
    fn of(value: u16) -> Option<Self> {
        Some(match value {
            1 => Self::Hello,
            2 => Self::SyncBegin,
            3 => Self::Pages,
            4 => Self::Device,
            5 => Self::Commit,
            6 => Self::Beat,
            7 => Self::Fenced,
            8 => Self::FailoverRefused,
            9 => Self::Prepare,
            16 => Self::Welcome,
            17 => Self::Ack,
            18 => Self::TakenOver,
            19 => Self::AskFailover,
            _ => return None,
        })
    }
}

/// A frame as it was read.
#[derive(Debug)]
pub struct Frame {
    /// What it means.
    pub kind: Kind,
    /// The sender's term.
    pub term: Term,
    /// The epoch it belongs to.
    pub epoch: Epoch,
    /// Its payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The payload as JSON.
    ///
    /// # Errors
    /// [`Error::Frame`] when it is none of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.payload).map_err(|error| Error::Frame(error.to_string()))
    }
}

/// Sending half.
#[derive(Debug)]
pub struct FrameWriter<W> {
    out: W,
    sequence: u64,
    /// Bytes sent, headers included.
    pub sent: u64,
}

impl<W: Write> FrameWriter<W> {
    /// A writer at a connection's start.
    pub fn new(out: W) -> Self {
        Self {
            out,
            sequence: 0,
            sent: 0,
        }
    }

    /// Sends a frame whose payload is the parts, one after the other.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Frame`] for a payload past the limit.
    pub fn send(&mut self, kind: Kind, term: Term, epoch: Epoch, parts: &[&[u8]]) -> Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len > PAYLOAD_BYTES_MAX {
            return Err(Error::Frame(format!("{len} bytes to send")));
        }
        self.sequence += 1;
        let mut header = [0u8; HEADER_BYTES];
        header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        header[4..6].copy_from_slice(&VERSION.to_le_bytes());
        header[6..8].copy_from_slice(&(kind as u16).to_le_bytes());
        header[8..16].copy_from_slice(&term.to_le_bytes());
        header[16..24].copy_from_slice(&epoch.to_le_bytes());
        header[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        header[32..40].copy_from_slice(&(len as u64).to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[..44]);
        for part in parts {
            crc.update(part);
        }
        header[44..48].copy_from_slice(&crc.finalize().to_le_bytes());
        let sent = || "send a replication frame".into();
        self.out.write_all(&header).context(sent)?;
        for part in parts {
            self.out.write_all(part).context(sent)?;
        }
        self.out.flush().context(sent)?;
        self.sent += (HEADER_BYTES + len) as u64;
        Ok(())
    }

    /// Sends a frame whose payload is JSON.
    ///
    /// # Errors
    /// As [`FrameWriter::send`].
    pub fn send_json(
        &mut self,
        kind: Kind,
        term: Term,
        epoch: Epoch,
        value: &impl Serialize,
    ) -> Result<()> {
        let bytes = serde_json::to_vec(value).map_err(|error| Error::Frame(error.to_string()))?;
        self.send(kind, term, epoch, &[&bytes])
    }
}

/// Receiving half.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    sequence: u64,
}

impl<R: Read> FrameReader<R> {
    /// A reader at a connection's start.
    pub fn new(input: R) -> Self {
        Self { input, sequence: 0 }
    }

    /// The next frame.
    ///
    /// # Errors
    /// [`Error::Frame`] for anything that is wrong with it; [`Error::Io`], also for a silent peer
    /// when the socket has a read timeout.
    pub fn receive(&mut self) -> Result<Frame> {
        let got = || "receive a replication frame".into();
        let mut header = [0u8; HEADER_BYTES];
        self.input.read_exact(&mut header).context(got)?;
        let number = |at: usize| {
            let mut bytes = [0u8; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        if header[0..4] != MAGIC.to_le_bytes() {
            return Err(Error::Frame("it has another magic".into()));
        }
        let version = u16::from_le_bytes([header[4], header[5]]);
        if version != VERSION {
            return Err(Error::Frame(format!("it has version {version}")));
        }
        let kind = u16::from_le_bytes([header[6], header[7]]);
        let kind = Kind::of(kind).ok_or_else(|| Error::Frame(format!("it has kind {kind}")))?;
        self.sequence += 1;
        if number(24) != self.sequence {
            return Err(Error::Frame("it is out of sequence".into()));
        }
        let len = number(32);
        if len > PAYLOAD_BYTES_MAX as u64 || header[40..44] != [0; 4] {
            return Err(Error::Frame(format!("it has {len} bytes, or flags")));
        }
        let mut payload = vec![0; len as usize];
        self.input.read_exact(&mut payload).context(got)?;
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[..44]);
        crc.update(&payload);
        if header[44..48] != crc.finalize().to_le_bytes() {
            return Err(Error::Frame("its checksum is wrong".into()));
        }
        Ok(Frame {
            kind,
            term: number(8),
            epoch: number(16),
            payload,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FrameWriter::new(&mut bytes);
        writer
            .send(Kind::Pages, 3, 9, &[b"ab", b"", b"c"])
            .expect("to memory");
        writer.send_json(Kind::Ack, 3, 9, &7).expect("to memory");
        bytes
    }

    #[test]
    fn receive_sent_frames_come_back() {
        let bytes = frames();
        let mut reader = FrameReader::new(&bytes[..]);
        let first = reader.receive().expect("first");
        assert_eq!((first.kind, first.term, first.epoch), (Kind::Pages, 3, 9));
        assert_eq!(first.payload, b"abc");
        assert_eq!(
            reader
                .receive()
                .expect("second")
                .json::<u32>()
                .expect("number"),
            7
        );
    }

    #[test]
    fn receive_any_damaged_byte_is_refused() {
        let bytes = frames();
        let first = HEADER_BYTES + 3;
        for at in 0..first {
            let mut damaged = bytes[..first].to_vec();
            damaged[at] ^= 0x10;
            let error = FrameReader::new(&damaged[..]).receive();
            assert!(error.is_err(), "byte {at}");
        }
    }

    #[test]
    fn receive_left_out_frame_is_refused() {
        let bytes = frames();
        let second = &bytes[HEADER_BYTES + 3..];
        let error = FrameReader::new(second)
            .receive()
            .expect_err("second alone");
        assert!(matches!(error, Error::Frame(_)));
    }
}
