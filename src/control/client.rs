//! The client's side of the control socket.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};
use serde_json::{Map, Value};

use crate::lines::LineReader;
use crate::{ControlError, MAX_ANSWER_LEN, MAX_REQUEST_LEN, Message, Request};

/// A connection to a control socket.
#[derive(Debug)]
pub struct ControlClient {
    stream: UnixStream,
    lines: LineReader,
    timeout: Duration,
    next_id: u64,
}

impl ControlClient {
    /// Connects to the server at `path`. `timeout` is how long connecting and each call may take.
    ///
    /// # Errors
    /// [`ControlError::Connect`].
    pub fn connect(path: &Path, timeout: Duration) -> Result<Self, ControlError> {
        let stream = open(path, timeout).map_err(|source| ControlError::Connect {
            path: path.to_owned(),
            source,
        })?;
        let lines = LineReader::new(stream.try_clone()?, MAX_ANSWER_LEN);
        Ok(Self {
            stream,
            lines,
            timeout,
            next_id: 1,
        })
    }

    /// How long each further call may take.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sends a command and waits for its answer. `args` is an object, or null for none; its fields
    /// must not be called `id` or `command`.
    ///
    /// # Errors
    /// [`ControlError::Refused`] with the server's words; any other when there was no answer, after
    /// which the connection should be dropped.
    pub fn call(&mut self, command: &str, args: Value) -> Result<Value, ControlError> {
        let args = match args {
            Value::Null => Map::new(),
            Value::Object(args) => args,
            _ => return Err(ControlError::Protocol("arguments must be an object".into())),
        };
        if args.contains_key("id") || args.contains_key("command") {
            return Err(ControlError::Protocol(
                "arguments can't be called id or command".into(),
            ));
        }
        let id = self.next_id;
        self.next_id += 1;
        let request = Request {
            id,
            command: command.to_owned(),
            args,
        };
        let mut line = serde_json::to_vec(&request).map_err(protocol)?;
        if line.len() > MAX_REQUEST_LEN {
            return Err(ControlError::TooLong {
                limit: MAX_REQUEST_LEN,
            });
        }
        line.push(b'\n');
        let deadline = Instant::now().checked_add(self.timeout);
        self.stream
            .set_write_timeout(Some(self.timeout.max(Duration::from_millis(1))))?;
        // A server that refuses at once has closed its end, but its reason can still be read.
        let sent = self.stream.write_all(&line);
        loop {
            let received = self.lines.next_line(deadline);
            let line = match (received, &sent) {
                (Ok(Some(line)), _) => line,
                (Ok(None), Ok(())) => return Err(ControlError::Closed),
                (Err(e), Ok(())) => return Err(e),
                (_, Err(e)) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    return Err(ControlError::TimedOut);
                }
                (_, Err(_)) => return Err(ControlError::Closed),
            };
            match serde_json::from_slice(&line).map_err(protocol)? {
                Message::Ok { id: answered, ok } if answered == id => return Ok(ok),
                // Id 0: about the connection, or about a request that made no sense.
                Message::Error {
                    id: answered,
                    error,
                } if answered == id || answered == 0 => return Err(ControlError::Refused(error)),
                // Events, and answers to calls that ran out of time.
                _ => {}
            }
        }
    }

    /// Asks for events and turns into their iterator.
    ///
    /// # Errors
    /// As [`ControlClient::call`].
    pub fn watch(mut self) -> Result<Watch, ControlError> {
        self.call("watch", Value::Null)?;
        Ok(Watch {
            lines: self.lines,
            timeout: None,
        })
    }
}

/// The events of a server, until it ends or drops us for being slow.
#[derive(Debug)]
pub struct Watch {
    lines: LineReader,
    timeout: Option<Duration>,
}

impl Watch {
    /// How long to wait for each event; at first, without limit. After [`ControlError::TimedOut`] one
    /// may wait again.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }
}

impl Iterator for Watch {
    type Item = Result<Value, ControlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let deadline = self.timeout.and_then(|t| Instant::now().checked_add(t));
        loop {
            let line = match self.lines.next_line(deadline).transpose()? {
                Ok(line) => line,
                Err(e) => return Some(Err(e)),
            };
            match serde_json::from_slice(&line) {
                Ok(Message::Event { event }) => return Some(Ok(event)),
                Ok(_) => {}
                Err(e) => return Some(Err(protocol(e))),
            }
        }
    }
}

fn open(path: &Path, timeout: Duration) -> std::io::Result<UnixStream> {
    let address = UnixAddr::new(path)?;
    let flags = SockFlag::SOCK_CLOEXEC;
    let fd = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // A server with a full backlog would block connect for good; the send timeout bounds it.
    let millis = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX / 1000);
    setsockopt(
        &fd,
        sockopt::SendTimeout,
        &TimeVal::milliseconds(millis.max(1)),
    )?;
    connect(std::os::fd::AsRawFd::as_raw_fd(&fd), &address)?;
    Ok(UnixStream::from(fd))
}

fn protocol(e: serde_json::Error) -> ControlError {
    ControlError::Protocol(e.to_string())
}
