//! virtio-gpu over vhost-user.
//!
//! [`serve`] is the whole device for one QEMU: the vhost-user socket with its control and cursor
//! queues, the display socket that comes through it, and the window channel. Contexts and their
//! memory belong to the front behind [`FrontApi`].
//!
//! Threads: the vhost-user crate's two (requests; queues), one that reads the window channel,
//! one that works off what it says, one for the display, two between the front end and the crate
//! ([`relay`]), and short-lived ones for device state.
//! Fences are answered from the front's own threads.

mod backend;
mod blobs;
mod display;
mod figures;
mod front_api;
mod front_impl;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod gpu;
mod live;
mod live_slot;
mod log_bitmap;
mod pending;
mod pixels;
mod protocol;
mod relay;
mod run;
mod tables;
#[cfg(any(test, fuzzing))]
mod test_front;
#[cfg(test)]
mod test_rig;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_display;
#[cfg(test)]
mod tests_hostile;
#[cfg(test)]
mod tests_reopen;
mod transfer;
mod vring;
mod window;

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use vhost::vhost_user::{Error as VhostUserError, Listener};
use vhost_user_backend::{Error as DaemonError, VhostUserDaemon};

pub use backend::Deadlines;
pub use figures::{Figures, QueueFigures};
pub use front_api::{FrontApi, FrontError};
pub use gpu::DeviceLimits;

use backend::{Backend, Shared};
use vring::{AtomicMemory, Memory};
use window::{Channel, Shmem, Window};

/// What ends [`serve`] early.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A socket can't be had.
    #[error("Socket {path}: {source}")]
    Socket {
        /// Which one.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No thread or no event.
    #[error("Starting the device: {0}")]
    Start(#[from] io::Error),
    /// The front end broke the protocol, or its connection failed.
    #[error("vhost-user: {0}")]
    VhostUser(String),
    /// The front can't use the arena.
    #[error("Arena: {0}")]
    Arena(#[from] FrontError),
    /// The front end is gone, but a command is still being executed.
    #[error("A command does not end")]
    Stuck,
}

/// Where a front end connects.
#[derive(Debug)]
pub enum Socket {
    /// A path to listen at; a stale socket there is replaced.
    Path(PathBuf),
    /// A socket that listens already.
    Listener(UnixListener),
}

impl Socket {
    fn listen(self) -> Result<(UnixListener, Option<PathBuf>), DeviceError> {
        match self {
            Socket::Listener(listener) => Ok((listener, None)),
            Socket::Path(path) => {
                let stale = std::fs::symlink_metadata(&path)
                    .is_ok_and(|metadata| metadata.file_type().is_socket());
                let bound = if stale {
                    std::fs::remove_file(&path).and_then(|()| UnixListener::bind(&path))
                } else {
                    UnixListener::bind(&path)
                };
                match bound {
                    Ok(listener) => Ok((listener, Some(path))),
                    Err(source) => Err(DeviceError::Socket { path, source }),
                }
            }
        }
    }
}

impl From<PathBuf> for Socket {
    fn from(path: PathBuf) -> Self {
        Socket::Path(path)
    }
}

impl From<UnixListener> for Socket {
    fn from(listener: UnixListener) -> Self {
        Socket::Listener(listener)
    }
}

/// Where the guest's window is.
#[derive(Debug)]
pub enum WindowConfig {
    /// In QEMU with Hesper's device, which connects the window channel to this socket.
    Channel(Socket),
    /// In the shared memory region of any front end that has vhost-user's SHMEM messages (QEMU 11.1).
    SharedMemory {
        /// The region's length, bytes: a multiple of the page size.
        len: u64,
    },
}

/// What the device is served on.
#[derive(Debug)]
pub struct DeviceConfig {
    /// The vhost-user socket.
    pub socket: Socket,
    /// Where the guest's window is.
    pub window: WindowConfig,
    /// How long things may take.
    pub deadlines: Deadlines,
    /// How much one VM may have.
    pub limits: DeviceLimits,
    /// Where it is counted what happens on the queues.
    pub figures: Arc<Figures>,
}

/// Removes a socket's file when it goes.
struct Unlink(Option<PathBuf>);

impl Drop for Unlink {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Serves the device to one QEMU, until it disconnects.
///
/// # Errors
/// When it can't start, when the front end breaks the protocol, or when a command does not end.
pub fn serve(config: DeviceConfig, front: Arc<dyn FrontApi>) -> Result<(), DeviceError> {
    let (listener, path) = config.socket.listen()?;
    let _unlink = Unlink(path);
    let memory = AtomicMemory::new(Memory::new());
    let (limits, figures) = (config.limits, config.figures);
    let (backend, _unlink_window) = match config.window {
        WindowConfig::Channel(socket) => {
            let (listener, path) = socket.listen()?;
            let (channel, notices) = Channel::listen(listener, config.deadlines.window)?;
            let window: Arc<dyn Window> = Arc::clone(&channel) as _;
            let backend = Backend::new(
                front,
                window,
                memory.clone(),
                config.deadlines,
                limits,
                figures,
            )?;
            let heeding = Arc::clone(&backend);
            std::thread::Builder::new()
                .name("notices".into())
                .spawn(move || heeding.heed(&channel, &notices))?;
            (backend, Unlink(path))
        }
        WindowConfig::SharedMemory { len } => {
            let shmem = Shmem::start(len, config.deadlines.window)?;
            let arena = shmem.arena().clone();
            let backend = Backend::new(
                front,
                shmem,
                memory.clone(),
                config.deadlines,
                limits,
                figures,
            )?;
            backend.gpu.attach_arena(arena, false)?;
            (backend, Unlink(None))
        }
    };

    let (relayed, _threads) = listener
        .accept()
        .and_then(|(front_end, _)| relay::start(front_end))
        .inspect_err(|_| backend.close())?;
    drop(listener);
    let shared = Shared(Arc::clone(&backend));
    let outcome = VhostUserDaemon::new("vhost-user".into(), shared, memory).and_then(
        |mut daemon| -> Result<_, DaemonError> {
            daemon.start(&mut Listener::from(relayed))?;
            let outcome = daemon.wait();
            Ok((daemon, outcome))
        },
    );
    backend.close();
    let (daemon, outcome) = outcome.map_err(|error| DeviceError::VhostUser(error.to_string()))?;
    if !backend.run.idle(config.deadlines.window) {
        // Dropping it would wait for the command.
        std::mem::forget(daemon);
        return Err(DeviceError::Stuck);
    }
    drop(daemon);
    match outcome {
        Ok(())
        | Err(DaemonError::HandleRequest(
            VhostUserError::Disconnected | VhostUserError::PartialMessage,
        )) => Ok(()),
        Err(error) => Err(DeviceError::VhostUser(error.to_string())),
    }
}
