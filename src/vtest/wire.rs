//! Numbers of the protocol, and reading and writing its messages.

use std::io::{IoSlice, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};

use crate::VtestError;

pub const RES_UNREF: u32 = 3;
pub const BUSY_WAIT: u32 = 7;
pub const CREATE_RENDERER: u32 = 8;
pub const PING_PROTOCOL_VERSION: u32 = 10;
pub const PROTOCOL_VERSION: u32 = 11;
pub const GET_PARAM: u32 = 15;
pub const GET_CAPSET: u32 = 16;
pub const CONTEXT_INIT: u32 = 17;
pub const CREATE_BLOB: u32 = 18;
pub const SYNC_CREATE: u32 = 19;
pub const SYNC_UNREF: u32 = 20;
pub const SYNC_READ: u32 = 21;
pub const SYNC_WRITE: u32 = 22;
pub const SYNC_WAIT: u32 = 23;
pub const SUBMIT_CMD2: u32 = 24;

/// The version that is answered: all that Venus needs.
pub const VERSION: u32 = 3;
/// Capset id of Venus.
pub const CAPSET_VENUS: u32 = 4;
/// `GET_PARAM`: number of timelines.
pub const PARAM_MAX_TIMELINE_COUNT: u32 = 1;
/// Blobs of the host.
pub const BLOB_HOST3D: u32 = 2;

/// Longest body, dwords.
const BODY_LEN_MAX: u32 = 1 << 20;

/// A request.
#[derive(Debug)]
pub struct Request {
    pub command: u32,
    pub body: Vec<u32>,
}

impl Request {
    /// Dword `at` of the body.
    pub fn word(&self, at: usize) -> Result<u32, VtestError> {
        self.body
            .get(at)
            .copied()
            .ok_or_else(|| self.error("the body is too short"))
    }

    /// A 64-bit value from two dwords at `at`, low one first.
    pub fn long(&self, at: usize) -> Result<u64, VtestError> {
        Ok(u64::from(self.word(at)?) | u64::from(self.word(at + 1)?) << 32)
    }

    pub fn error(&self, reason: impl Into<String>) -> VtestError {
        VtestError::Protocol {
            command: self.command,
            reason: reason.into(),
        }
    }
}

/// Reads one request; `None` at the end of the connection.
pub fn read(stream: &mut impl Read) -> Result<Option<Request>, VtestError> {
    let mut header = [0; 8];
    match stream.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let (len, command) = (word(0), word(4));
    let too_long = || VtestError::Protocol {
        command,
        reason: format!("a body of {len} dwords"),
    };
    if len > BODY_LEN_MAX {
        return Err(too_long());
    }
    // The renderer's name alone is counted in bytes.
    let bytes = if command == CREATE_RENDERER {
        len as usize
    } else {
        len as usize * 4
    };
    let mut raw = vec![0; bytes];
    stream.read_exact(&mut raw)?;
    raw.resize(bytes.next_multiple_of(4), 0);
    let body = raw
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    Ok(Some(Request { command, body }))
}

/// Writes a reply.
pub fn reply(stream: &mut UnixStream, command: u32, body: &[u32]) -> Result<(), VtestError> {
    let mut bytes = Vec::with_capacity(8 + body.len() * 4);
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(command.to_le_bytes());
    bytes.extend(body.iter().flat_map(|word| word.to_le_bytes()));
    Ok(stream.write_all(&bytes)?)
}

/// Sends a descriptor with one byte of data.
pub fn send_fd(stream: &UnixStream, fd: BorrowedFd<'_>) -> Result<(), VtestError> {
    let raw = [fd.as_raw_fd()];
    let sent = sendmsg::<UnixAddr>(
        stream.as_raw_fd(),
        &[IoSlice::new(&[0])],
        &[ControlMessage::ScmRights(&raw)],
        MsgFlags::MSG_NOSIGNAL,
        None,
    );
    match sent {
        Ok(_) => Ok(()),
        Err(error) => Err(std::io::Error::from(error).into()),
    }
}
