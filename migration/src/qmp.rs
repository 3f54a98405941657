//! A client of QEMU's machine protocol over a unix socket.
//!
//! Each command has a deadline, because a QEMU whose main loop waits for a back end does not
//! answer. Events that arrive meanwhile are queued. Out-of-band commands are answered by a
//! thread of their own, also while the main loop is stuck (`yank`).

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Context, Error, Result};

/// Longest line accepted from QEMU, in bytes.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Events kept; past this the oldest are dropped, because only the newest state matters.
const EVENTS_MAX: usize = 1024;
/// How often a socket that is not there yet is tried again.
const CONNECT_RETRY: Duration = Duration::from_millis(10);

/// An asynchronous message of QEMU.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Name, as in "STOP".
    pub name: String,
    /// The event's data, null when it has none.
    pub data: Value,
    /// QEMU's own time of the event, in microseconds since the epoch.
    pub time_us: u64,
}

/// A connection in command mode.
#[derive(Debug)]
pub struct Qmp {
    stream: UnixStream,
    pending: Vec<u8>,
    events: VecDeque<Event>,
    next_id: u64,
    oob: bool,
    version: (u64, u64, u64),
}

impl Qmp {
    /// Connects, waits for the greeting and leaves the negotiation mode; out-of-band execution is
    /// switched on where QEMU offers it.
    ///
    /// A socket that does not exist yet is tried again until the deadline, so that a QEMU that is
    /// just starting can be met.
    ///
    /// # Errors
    /// [`Error::Io`] when the socket can't be connected, [`Error::QmpTimeout`] without a greeting.
    pub fn connect(path: &Path, within: Duration) -> Result<Self> {
        let end = Instant::now() + within;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= end => {
                    return Err(error).context(|| format!("connect to QMP at {}", path.display()));
                }
                Err(_) => thread::sleep(CONNECT_RETRY),
            }
        };
        let mut qmp = Self {
            stream,
            pending: Vec::new(),
            events: VecDeque::new(),
            next_id: 1,
            oob: false,
            version: (0, 0, 0),
        };
        let greeting = qmp.read_line(end, "the greeting")?;
        let banner = greeting
            .get("QMP")
            .ok_or_else(|| Error::QmpSyntax("no greeting".into()))?;
        let number = |part: &str| {
            banner
                .pointer(&format!("/version/qemu/{part}"))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        qmp.version = (number("major"), number("minor"), number("micro"));
        qmp.oob = banner
            .get("capabilities")
            .and_then(Value::as_array)
            .is_some_and(|list| list.iter().any(|entry| entry == "oob"));
        let arguments = if qmp.oob {
            json!({"enable": ["oob"]})
        } else {
            Value::Null
        };
        qmp.execute("qmp_capabilities", arguments, within)?;
        Ok(qmp)
    }

    /// QEMU's version: major, minor, micro.
    pub fn version(&self) -> (u64, u64, u64) {
        self.version
    }

    /// Runs a command and returns its "return" member. `arguments` may be null.
    ///
    /// # Errors
    /// [`Error::QmpRefused`] with QEMU's words, [`Error::QmpTimeout`], [`Error::QmpClosed`].
    pub fn execute(&mut self, command: &str, arguments: Value, within: Duration) -> Result<Value> {
        self.call("execute", command, arguments, within)
    }

    /// Runs a command out of band, past whatever the main loop is doing.
    ///
    /// # Errors
    /// As [`Qmp::execute`]; [`Error::QmpSyntax`] when QEMU has no out-of-band execution.
    pub fn execute_oob(
        &mut self,
        command: &str,
        arguments: Value,
        within: Duration,
    ) -> Result<Value> {
        if !self.oob {
            return Err(Error::QmpSyntax("no out-of-band execution".into()));
        }
        self.call("exec-oob", command, arguments, within)
    }

    fn call(
        &mut self,
        verb: &str,
        command: &str,
        arguments: Value,
        within: Duration,
    ) -> Result<Value> {
        let end = Instant::now() + within;
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({verb: command, "id": id});
        if !arguments.is_null() {
            request["arguments"] = arguments;
        }
        let mut line = request.to_string();
        line.push('\n');
        self.stream
            .set_write_timeout(Some(within.max(Duration::from_millis(1))))
            .context(|| "set a QMP deadline".into())?;
        match self.stream.write_all(line.as_bytes()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(Error::QmpClosed),
            Err(error) => return Err(error).context(|| format!("send QMP command {command}")),
        }
        loop {
            let message = self.read_line(end, command)?;
            // The answer to an earlier command that ran out of time is dropped.
            if message.get("id").and_then(Value::as_u64) != Some(id) {
                self.keep_event(&message);
                continue;
            }
            if let Some(error) = message.get("error") {
                let text = |key: &str| {
                    error
                        .get(key)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_owned()
                };
                return Err(Error::QmpRefused {
                    command: command.into(),
                    class: text("class"),
                    description: text("desc"),
                });
            }
            return Ok(message.get("return").cloned().unwrap_or(Value::Null));
        }
    }

    /// Takes the events that are queued or already readable.
    ///
    /// # Errors
    /// [`Error::QmpClosed`] when QEMU is gone and nothing is queued.
    pub fn take_events(&mut self) -> Result<Vec<Event>> {
        loop {
            match self.read_line(Instant::now(), "an event") {
                Ok(message) => self.keep_event(&message),
                Err(Error::QmpTimeout { .. }) => break,
                Err(error) if self.events.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(self.events.drain(..).collect())
    }

    /// Waits for the next event of one of these names; earlier events of other names stay queued.
    ///
    /// # Errors
    /// [`Error::QmpTimeout`], [`Error::QmpClosed`].
    pub fn wait_event(&mut self, names: &[&str], within: Duration) -> Result<Event> {
        let end = Instant::now() + within;
        loop {
            let found = self
                .events
                .iter()
                .position(|event| names.contains(&event.name.as_str()));
            if let Some(event) = found.and_then(|at| self.events.remove(at)) {
                return Ok(event);
            }
            let message = match self.read_line(end, names.first().unwrap_or(&"an event")) {
                Err(Error::QmpTimeout { what, .. }) => {
                    let ms = within.as_millis();
                    return Err(Error::QmpTimeout { what, ms });
                }
                other => other?,
            };
            self.keep_event(&message);
        }
    }

    /// Name of the run state, as in "running" or "colo".
    ///
    /// # Errors
    /// As [`Qmp::execute`].
    pub fn run_state(&mut self, within: Duration) -> Result<String> {
        let answer = self.execute("query-status", Value::Null, within)?;
        Ok(text_of(&answer, "status"))
    }

    /// State of the migration, empty when there was none, as in "active" or "colo".
    ///
    /// # Errors
    /// As [`Qmp::execute`].
    pub fn migration_state(&mut self, within: Duration) -> Result<String> {
        let answer = self.execute("query-migrate", Value::Null, within)?;
        Ok(text_of(&answer, "status"))
    }

    fn keep_event(&mut self, message: &Value) {
        let Some(name) = message.get("event").and_then(Value::as_str) else {
            return;
        };
        if self.events.len() >= EVENTS_MAX {
            self.events.pop_front();
        }
        let part = |key: &str| {
            message
                .pointer(&format!("/timestamp/{key}"))
                .and_then(Value::as_u64)
                .unwrap_or(0)
        };
        self.events.push_back(Event {
            name: name.to_owned(),
            data: message.get("data").cloned().unwrap_or(Value::Null),
            time_us: part("seconds")
                .saturating_mul(1_000_000)
                .saturating_add(part("microseconds")),
        });
    }

    /// One message. A deadline in the past still takes what is readable at once.
    fn read_line(&mut self, end: Instant, what: &str) -> Result<Value> {
        let begin = Instant::now();
        let mut chunk = [0u8; 16 << 10];
        let mut searched = 0;
        loop {
            if let Some(at) = self.pending[searched..].iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=searched + at).collect();
                return serde_json::from_slice(&line)
                    .map_err(|error| Error::QmpSyntax(error.to_string()));
            }
            searched = self.pending.len();
            if searched > LINE_BYTES_MAX {
                return Err(Error::QmpSyntax("line is too long".into()));
            }
            let left = end.saturating_duration_since(Instant::now());
            // A zero timeout means "for ever" to the socket; 1 ms means "what is there".
            self.stream
                .set_read_timeout(Some(left.max(Duration::from_millis(1))))
                .context(|| "set a QMP deadline".into())?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Error::QmpClosed),
                Ok(count) => self.pending.extend_from_slice(&chunk[..count]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if Instant::now() >= end {
                        return Err(Error::QmpTimeout {
                            what: what.into(),
                            ms: begin.elapsed().as_millis(),
                        });
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                    return Err(Error::QmpClosed);
                }
                Err(error) => return Err(error).context(|| "read from QMP".into()),
            }
        }
    }
}

fn text_of(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;

    const SOON: Duration = Duration::from_secs(5);

    /// Plays a QEMU that answers each line with the given lines.
    fn serve(dir: &Path, script: Vec<Vec<&'static str>>) -> std::path::PathBuf {
        let path = dir.join("qmp");
        let listener = UnixListener::bind(&path).expect("bind in a fresh folder");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the test connects");
            let mut lines = BufReader::new(stream.try_clone().expect("clone")).lines();
            stream
                .write_all(b"{\"QMP\":{\"version\":{\"qemu\":{\"major\":10,\"minor\":0,\"micro\":2}},\"capabilities\":[\"oob\"]}}\n")
                .expect("greet");
            for answers in script {
                if lines.next().is_none() {
                    return;
                }
                for answer in answers {
                    let _ = stream.write_all(answer.as_bytes());
                    let _ = stream.write_all(b"\n");
                }
            }
            let _ = lines.next();
        });
        path
    }

    #[test]
    fn execute_events_before_the_answer_are_queued() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = serve(
            dir.path(),
            vec![
                vec![r#"{"return":{},"id":1}"#],
                vec![
                    r#"{"event":"STOP","timestamp":{"seconds":2,"microseconds":5}}"#,
                    r#"{"return":{"status":"colo"},"id":2}"#,
                ],
            ],
        );
        let mut qmp = Qmp::connect(&path, SOON).expect("connect");
        assert_eq!(qmp.version(), (10, 0, 2));
        assert_eq!(qmp.run_state(SOON).expect("status"), "colo");
        let event = qmp.wait_event(&["STOP"], SOON).expect("queued event");
        assert_eq!(event.time_us, 2_000_005);
    }

    #[test]
    fn execute_refusal_keeps_the_words() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = serve(
            dir.path(),
            vec![
                vec![r#"{"return":{},"id":1}"#],
                vec![
                    r#"{"error":{"class":"GenericError","desc":"VM is not in COLO mode"},"id":2}"#,
                ],
            ],
        );
        let mut qmp = Qmp::connect(&path, SOON).expect("connect");
        let error = qmp
            .execute("x-colo-lost-heartbeat", Value::Null, SOON)
            .expect_err("refused");
        assert!(
            matches!(error, Error::QmpRefused { description, .. } if description.contains("COLO mode"))
        );
    }

    #[test]
    fn execute_late_answer_of_an_earlier_command_is_dropped() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = serve(
            dir.path(),
            vec![
                vec![r#"{"return":{},"id":1}"#],
                vec![],
                vec![r#"{"return":"late","id":2}"#, r#"{"return":"own","id":3}"#],
            ],
        );
        let mut qmp = Qmp::connect(&path, SOON).expect("connect");
        let error = qmp
            .execute("slow", Value::Null, Duration::from_millis(20))
            .expect_err("no answer");
        assert!(matches!(error, Error::QmpTimeout { .. }));
        assert_eq!(
            qmp.execute("next", Value::Null, SOON).expect("answer"),
            json!("own")
        );
    }

    #[test]
    fn execute_after_the_peer_left_is_closed() {
        let dir = tempfile::tempdir().expect("temp folder");
        let path = serve(dir.path(), vec![vec![r#"{"return":{},"id":1}"#]]);
        let mut qmp = Qmp::connect(&path, SOON).expect("connect");
        let error = qmp
            .execute("query-status", Value::Null, SOON)
            .expect_err("peer leaves after the negotiation");
        assert!(matches!(error, Error::QmpClosed));
    }
}
