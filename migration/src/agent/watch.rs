//! Threads that watch for the agent's loop: the guard, hesperd, the control socket.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use hesper_control::ControlClient;
use serde_json::{Value, json};

use super::Message;
use crate::error::{Context, Result};
use crate::lines::{LineReader, write_line};
use crate::process::PidFd;

/// Pause between two attempts to connect.
const REDIAL: Duration = Duration::from_millis(50);
/// A dying guard closes its sockets a little before it counts as dead.
const GUARD_DEATH: Duration = Duration::from_millis(300);
/// QEMU dies with its guard; a large one takes a while to free its memory.
const QEMU_DEATH: Duration = Duration::from_secs(10);
/// A guest that shuts down takes hesperd along; the guard's word of it comes first.
const FRONT_GRACE: Duration = Duration::from_millis(200);
/// The agent's loop answers within this.
const ANSWER: Duration = Duration::from_secs(5);

/// Keeps a connection to the guard until guard and QEMU are dead.
pub fn guard(path: PathBuf, sender: Sender<Message>) {
    thread::spawn(move || {
        let mut fds: Option<(PidFd, PidFd)> = None;
        loop {
            if let Err(error) = guard_once(&path, &sender, &mut fds) {
                tracing::debug!("guard: {}", crate::error::chain(&error));
            }
            let dead = fds
                .as_ref()
                .is_some_and(|(guard, qemu)| guard.ended(GUARD_DEATH) && qemu.ended(QEMU_DEATH));
            if sender.send(Message::GuardClosed(dead)).is_err() || dead {
                return;
            }
            thread::sleep(REDIAL);
        }
    });
}

fn guard_once(
    path: &Path,
    sender: &Sender<Message>,
    fds: &mut Option<(PidFd, PidFd)>,
) -> Result<()> {
    let mut stream =
        UnixStream::connect(path).context(|| format!("connect to {}", path.display()))?;
    write_line(&mut stream, &json!({"command": "agent"}))?;
    let reader = stream.try_clone().context(|| "use a socket twice".into())?;
    let _ = sender.send(Message::GuardUp(stream));
    let mut lines = LineReader::new(reader);
    while let Some(line) = lines.read()? {
        let pid = |key: &str| line.get(key).and_then(Value::as_u64).map(|pid| pid as u32);
        if let (Some(guard), Some(qemu)) = (pid("guard_pid"), pid("qemu_pid")) {
            // Of a QEMU that has ended there is nothing to open, and the guard says that it has.
            if let (Ok(guard), Ok(qemu)) = (PidFd::open(guard), PidFd::open(qemu)) {
                *fds = Some((guard, qemu));
            }
        }
        if sender.send(Message::Guard(line)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Watches hesperd; its own end counts as a fault, too.
pub fn hesperd(path: PathBuf, takeover_on: Vec<String>, sender: Sender<Message>) {
    thread::spawn(move || {
        loop {
            let watch = ControlClient::connect(&path, ANSWER).and_then(ControlClient::watch);
            let connected = watch.is_ok();
            for event in watch.into_iter().flatten() {
                let Ok(event) = event else { break };
                let name = event_name(&event);
                let counts = takeover_on.iter().any(|wanted| wanted == name);
                tracing::info!(%event, counts, "hesperd");
                if counts && sender.send(Message::Fault(event)).is_err() {
                    return;
                }
            }
            if connected && takeover_on.iter().any(|wanted| wanted == "front-lost") {
                thread::sleep(FRONT_GRACE);
                let event = json!({"event": "front-lost"});
                if sender.send(Message::Fault(event)).is_err() {
                    return;
                }
            }
            thread::sleep(REDIAL);
        }
    });
}

/// The name of an event, which is the event itself or a member of it.
fn event_name(event: &Value) -> &str {
    event
        .as_str()
        .or_else(|| event.get("event").and_then(Value::as_str))
        .or_else(|| event.get("kind").and_then(Value::as_str))
        .unwrap_or("")
}

/// Serves our control socket: each line goes to the loop, its answer back.
pub fn control(listener: UnixListener, sender: Sender<Message>) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                let Ok(mut out) = stream.try_clone() else {
                    return;
                };
                let mut lines = LineReader::new(stream);
                while let Ok(Some(line)) = lines.read() {
                    let (answer, answered) = channel();
                    if sender.send(Message::Asked(line, answer)).is_err() {
                        return;
                    }
                    let Ok(value) = answered.recv_timeout(ANSWER) else {
                        return;
                    };
                    if write_line(&mut out, &value).is_err() {
                        return;
                    }
                }
            });
        }
    });
}
