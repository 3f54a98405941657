//! Lines of bounded length from a stream.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::ControlError;

/// Reads lines; a line that is cut by a timeout goes on with the next call.
#[derive(Debug)]
pub(crate) struct LineReader {
    stream: UnixStream,
    /// Bytes read and not handed out.
    buffer: Vec<u8>,
    /// Bytes of `buffer` that are known to hold no line end.
    scanned: usize,
    limit: usize,
}

impl LineReader {
    /// Reads from `stream` lines of no more than `limit` bytes, line ends not counted.
    pub(crate) fn new(stream: UnixStream, limit: usize) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            scanned: 0,
            limit,
        }
    }

    /// The next line without its end; none at the end of the stream. A last line without an end
    /// counts as broken off.
    pub(crate) fn next_line(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<Vec<u8>>, ControlError> {
        loop {
            let end = self.buffer[self.scanned..].iter().position(|b| *b == b'\n');
            if let Some(end) = end.map(|end| end + self.scanned) {
                if end > self.limit {
                    return Err(ControlError::TooLong { limit: self.limit });
                }
                let rest = self.buffer.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                self.scanned = 0;
                line.truncate(end);
                return Ok(Some(line));
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > self.limit {
                return Err(ControlError::TooLong { limit: self.limit });
            }
            let mut chunk = [0; 4096];
            let count = self.read(&mut chunk, deadline)?;
            if count == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(ControlError::Closed),
                };
            }
            self.buffer.extend_from_slice(&chunk[..count]);
        }
    }

    fn read(&mut self, chunk: &mut [u8], deadline: Option<Instant>) -> Result<usize, ControlError> {
        loop {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(ControlError::TimedOut);
            }
            self.stream.set_read_timeout(left)?;
            match self.stream.read(chunk) {
                Ok(count) => return Ok(count),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Err(ControlError::TimedOut);
                }
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
                Err(e) => return Err(e.into()),
            }
        }
    }
}
