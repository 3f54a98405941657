//! JSON lines over a stream socket: the control sockets of guard, agent, standby and hesperd.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::{Context, Error, Result};

/// Longest line, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reading half.
pub struct LineReader<R>(BufReader<R>);

impl<R: Read> LineReader<R> {
    /// Reads from `input`.
    pub fn new(input: R) -> Self {
        Self(BufReader::new(input))
    }

    /// The next line; none when the peer has closed. A read timeout of the socket shows as an
    /// error, and loses what had come of the line.
    ///
    /// # Errors
    /// [`Error::Control`] for a line that is too long or no JSON.
    pub fn read(&mut self) -> Result<Option<Value>> {
        let mut line = Vec::new();
        let mut input = (&mut self.0).take(LINE_BYTES_MAX);
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error).context(|| "read a control line".into()),
        }
        if line.last() != Some(&b'\n') {
            return if line.len() as u64 == LINE_BYTES_MAX {
                Err(Error::Control("line is too long".into()))
            } else {
                Ok(None)
            };
        }
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| Error::Control(error.to_string()))
    }
}

/// Writes one line.
///
/// # Errors
/// [`Error::Io`] when the peer is gone.
pub fn write_line(out: &mut impl Write, value: &Value) -> Result<()> {
    let mut line = value.to_string();
    line.push('\n');
    out.write_all(line.as_bytes())
        .context(|| "write a control line".into())
}

/// Binds a control socket, replacing one that nobody listens on.
///
/// # Errors
/// [`Error::Io`]; a live listener is not replaced.
pub fn listen(path: &Path) -> Result<UnixListener> {
    if path.exists() {
        if UnixStream::connect(path).is_ok() {
            return Err(std::io::Error::from(ErrorKind::AddrInUse))
                .context(|| format!("listen at {}", path.display()));
        }
        std::fs::remove_file(path).context(|| format!("remove {}", path.display()))?;
    }
    UnixListener::bind(path).context(|| format!("listen at {}", path.display()))
}

/// Sends one request and waits for the line that answers it.
///
/// # Errors
/// [`Error::Io`], [`Error::Control`]; [`Error::Refused`] for an answer with an "error" member.
pub fn ask(path: &Path, request: &Value, within: Duration) -> Result<Value> {
    let mut stream =
        UnixStream::connect(path).context(|| format!("connect to {}", path.display()))?;
    stream
        .set_read_timeout(Some(within))
        .context(|| "set a control deadline".into())?;
    write_line(&mut stream, request)?;
    let end = Instant::now() + within;
    let mut lines = LineReader::new(stream);
    while Instant::now() < end {
        let Some(answer) = lines.read()? else {
            break;
        };
        if answer.get("id") != request.get("id") {
            continue;
        }
        if let Some(reason) = answer.get("error").and_then(Value::as_str) {
            return Err(Error::Refused(reason.into()));
        }
        return Ok(answer);
    }
    Err(Error::Control(format!("no answer from {}", path.display())))
}

/// Milliseconds since 1970, for times that people and other hosts read.
pub fn wall_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |time| time.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn read_line_past_the_limit_is_refused() {
        let long = vec![b' '; LINE_BYTES_MAX as usize + 1];
        let error = LineReader::new(&long[..]).read().expect_err("too long");
        assert!(matches!(error, Error::Control(_)));
    }

    #[test]
    fn read_cut_line_counts_as_the_end() {
        let mut lines = LineReader::new(&b"{\"a\":1}\n{\"a\":"[..]);
        assert_eq!(lines.read().expect("first"), Some(json!({"a": 1})));
        assert_eq!(lines.read().expect("end"), None);
    }

    #[test]
    fn listen_live_listener_is_not_replaced() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = dir.path().join("control");
        let first = listen(&path).expect("first");
        assert!(listen(&path).is_err());
        drop(first);
        listen(&path).expect("the dead one is replaced");
    }
}
