//! Device state in and out (`VHOST_USER_PROTOCOL_F_DEVICE_STATE`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::backend::Backend;
use crate::run::Phase;

/// Bytes of device state at most.
const STATE_LEN_MAX: usize = 1 << 20;
/// Bytes that a writable pipe takes without blocking.
const CHUNK_LEN: usize = 4096;

/// A transfer in progress, and what came of it.
#[derive(Default)]
pub struct Transfer {
    outcome: Mutex<Option<Receiver<Result<(), String>>>>,
    loaded: AtomicBool,
}

impl Transfer {
    /// Writes the device's state to `file` from a thread of its own.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn save(&self, backend: Arc<Backend>, file: File) -> io::Result<()> {
        self.spawn("save", move || save(&backend, file))
    }

    /// Reads the device's state from `file` and replaces everything by it, from a thread of its
    /// own.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn load(&self, backend: Arc<Backend>, file: File) -> io::Result<()> {
        self.spawn("load", move || load(&backend, file))
    }

    /// What came of the last transfer.
    ///
    /// # Errors
    /// Why it failed, or that there was none.
    pub fn check(&self, deadline: Duration) -> io::Result<()> {
        let outcome = self
            .outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let outcome = match outcome {
            Some(receiver) => receiver
                .recv_timeout(deadline)
                .unwrap_or_else(|error| Err(error.to_string())),
            None => Err("No transfer was asked for".into()),
        };
        outcome.map_err(|reason| {
            tracing::error!(reason, "Device state");
            io::Error::other(reason)
        })
    }

    /// True once after a load.
    pub fn take_loaded(&self) -> bool {
        self.loaded.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn set_loaded(&self) {
        self.loaded.store(true, Ordering::Release);
    }

    fn spawn(
        &self,
        name: &str,
        work: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> io::Result<()> {
        let (sender, receiver) = mpsc::channel();
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                // Nobody asks when the front end has gone meanwhile.
                let _ = sender.send(work());
            })?;
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(receiver);
        Ok(())
    }
}

fn save(backend: &Backend, mut file: File) -> Result<(), String> {
    if backend.run.phase() == Phase::Running {
        return Err("The device still runs".into());
    }
    backend.cut(backend.deadlines.quiesce)?;
    let state = backend.front.save().map_err(|error| error.to_string())?;
    if state.len() > STATE_LEN_MAX {
        return Err(format!("Device state of {} bytes", state.len()));
    }
    let end = Instant::now() + backend.deadlines.state;
    for chunk in state.chunks(CHUNK_LEN) {
        let mut rest = chunk;
        while !rest.is_empty() {
            ready(&file, PollFlags::POLLOUT, end)?;
            let count = file.write(rest).map_err(|error| error.to_string())?;
            rest = &rest[count..];
        }
    }
    tracing::debug!(bytes = state.len(), "State saved");
    Ok(())
}

fn load(backend: &Backend, mut file: File) -> Result<(), String> {
    let end = Instant::now() + backend.deadlines.state;
    let mut state = Vec::new();
    let mut chunk = [0; CHUNK_LEN];
    loop {
        ready(&file, PollFlags::POLLIN, end)?;
        let count = file.read(&mut chunk).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        state.extend(&chunk[..count]);
        if state.len() > STATE_LEN_MAX {
            return Err("Device state past its limit".into());
        }
    }
    backend.replace(&state)?;
    tracing::info!(bytes = state.len(), "State loaded");
    Ok(())
}

fn ready(file: &File, flags: PollFlags, end: Instant) -> Result<(), String> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = PollTimeout::try_from(left).map_err(|error| error.to_string())?;
        let mut fds = [PollFd::new(file.as_fd(), flags)];
        match poll(&mut fds, timeout) {
            Ok(0) => return Err("The front end is too slow".into()),
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}
