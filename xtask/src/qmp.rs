//! QEMU's monitor protocol: one client, deadlines everywhere.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// Longest message taken from QEMU, in bytes; schemas are the largest and stay far below.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Events kept for [`Qmp::wait_event`]; the oldest go first.
const EVENTS_MAX: usize = 1024;
/// How long an ordinary command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);

/// A connection that has done its handshake.
#[derive(Debug)]
pub struct Qmp {
    stream: UnixStream,
    /// Bytes read beyond the last whole line.
    pending: Vec<u8>,
    events: VecDeque<Value>,
    next_id: u64,
}

fn io_error(e: std::io::Error) -> Error {
    Error::Qmp(e.to_string())
}

impl Qmp {
    /// Connects to a monitor's socket, waiting for it to appear, and negotiates no capabilities.
    pub fn connect(path: &Path, limit: Duration) -> Result<Qmp> {
        let deadline = Instant::now() + limit;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(e) if Instant::now() >= deadline => {
                    return Err(Error::Qmp(format!(
                        "Cannot connect to {}: {e}",
                        path.display()
                    )));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let mut qmp = Qmp {
            stream,
            pending: Vec::new(),
            events: VecDeque::new(),
            next_id: 0,
        };
        let greeting = qmp.read(deadline)?;
        if greeting.get("QMP").is_none() {
            return Err(Error::Qmp(format!("Strange greeting {greeting}")));
        }
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Runs a command; returns what it returns. Fails with QEMU's description if it fails.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value> {
        self.execute_within(command, arguments, COMMAND_LIMIT)
    }

    /// The same with a limit of one's own.
    pub fn execute_within(
        &mut self,
        command: &str,
        arguments: Value,
        limit: Duration,
    ) -> Result<Value> {
        let deadline = Instant::now() + limit;
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"execute": command, "arguments": arguments, "id": id});
        let mut line = request.to_string().into_bytes();
        line.push(b'\n');
        self.stream.write_all(&line).map_err(io_error)?;
        loop {
            let mut message = self.read(deadline)?;
            // An answer to a command that was given up earlier is of no use any more.
            if message.get("id") != Some(&json!(id)) {
                self.keep_event(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                let text = error.get("desc").and_then(Value::as_str).unwrap_or("?");
                return Err(Error::Qmp(format!("{command}: {text}")));
            }
            return Ok(message
                .get_mut("return")
                .map(Value::take)
                .unwrap_or_default());
        }
    }

    /// Waits for an event by name (one that came earlier counts) and returns it whole.
    pub fn wait_event(&mut self, name: &str, limit: Duration) -> Result<Value> {
        let deadline = Instant::now() + limit;
        let is_it = |event: &Value| event.get("event").and_then(Value::as_str) == Some(name);
        loop {
            if let Some(at) = self.events.iter().position(is_it)
                && let Some(event) = self.events.remove(at)
            {
                return Ok(event);
            }
            let message = self.read(deadline).map_err(|e| match e {
                Error::Deadline { .. } => Error::Deadline {
                    what: format!("QEMU's event {name}"),
                    limit,
                },
                e => e,
            })?;
            self.keep_event(message);
        }
    }

    /// Forgets the events that came so far.
    pub fn forget_events(&mut self) {
        self.events.clear();
    }

    fn keep_event(&mut self, message: Value) {
        if message.get("event").is_some() {
            if self.events.len() == EVENTS_MAX {
                self.events.pop_front();
            }
            self.events.push_back(message);
        }
    }

    fn read(&mut self, deadline: Instant) -> Result<Value> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                return serde_json::from_slice(&line)
                    .map_err(|e| Error::Qmp(format!("Not JSON: {e}")));
            }
            if self.pending.len() > MESSAGE_BYTES_MAX {
                return Err(Error::Qmp("An endless message".into()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let late = || Error::Deadline {
                what: "QEMU's answer".into(),
                limit: left,
            };
            if left.is_zero() {
                return Err(late());
            }
            self.stream.set_read_timeout(Some(left)).map_err(io_error)?;
            let mut bytes = [0; 16 << 10];
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(Error::Qmp("QEMU closed the connection".into())),
                Ok(n) => self.pending.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Err(late()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(io_error(e)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;

    /// A server that greets and then answers each request's line with the given lines.
    fn serve(answers: Vec<&'static str>) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("qmp");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"{\"QMP\": {}}\n").unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for answer in answers {
                lines.next();
                stream.write_all(answer.as_bytes()).unwrap();
            }
            lines.next();
        });
        (dir, path)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn execute_events_come_between_they_are_kept_for_later() {
        let (_dir, path) = serve(vec![
            "{\"return\": {}, \"id\": 0}\n",
            "{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}, \"id\": 1}\n",
        ]);

        let mut qmp = Qmp::connect(&path, SECOND).unwrap();
        let status = qmp.execute("query-status", json!({})).unwrap();

        assert_eq!(status["status"], "paused");
        assert_eq!(qmp.wait_event("STOP", SECOND).unwrap()["event"], "STOP");
    }

    #[test]
    fn execute_command_fails_error_says_why() {
        let (_dir, path) = serve(vec![
            "{\"return\": {}, \"id\": 0}\n",
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such thing\"}, \"id\": 1}\n",
        ]);

        let mut qmp = Qmp::connect(&path, SECOND).unwrap();
        let error = qmp.execute("cont", json!({})).unwrap_err();

        assert!(error.to_string().contains("no such thing"), "{error}");
    }

    #[test]
    fn wait_event_nothing_comes_returns_deadline() {
        let (_dir, path) = serve(vec!["{\"return\": {}, \"id\": 0}\n"]);

        let mut qmp = Qmp::connect(&path, SECOND).unwrap();
        let result = qmp.wait_event("STOP", Duration::from_millis(30));

        assert!(matches!(result, Err(Error::Deadline { .. })));
    }
}
