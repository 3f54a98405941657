//! The window: which part of the arena the guest sees, and where.
//!
//! Who owns the arena and how ranges of it get in front of the guest depends on the front end:
//! [`Channel`] is QEMU with Hesper's device, [`Shmem`] any that knows vhost-user's shared memory.

mod channel;
mod shmem;

use std::io;

use vhost::vhost_user::Backend as BackendRequests;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};

use crate::protocol::F_EDID;
use crate::vring::Memory;

pub use channel::{Channel, Notice};
pub use shmem::{SHMEM_ID, Shmem};

/// Why something could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    /// The front end is not there, or can't show a window.
    #[error("The front end has no window")]
    Closed,
    /// The front end refused, with an errno.
    #[error("The front end refused: {}", io::Error::from_raw_os_error(*.0 as i32))]
    Refused(u32),
    /// No reply in time.
    #[error("No reply about the window")]
    Timeout,
    /// The socket failed.
    #[error("Window: {0}")]
    Io(#[from] io::Error),
}

/// What serves the guest, and so what the device can offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    /// QEMU with Hesper's device: a display, and migration.
    Hesper,
    /// A front end that knows nothing of us but vhost-user's messages.
    Standard {
        /// Length of the shared memory region, bytes.
        window_len: u64,
    },
}

impl FrontEnd {
    /// Features of virtio-gpu and vhost-user that not all front ends get.
    pub fn features(self) -> u64 {
        match self {
            Self::Hesper => F_EDID | VhostUserVirtioFeatures::LOG_ALL.bits(),
            // Nothing could be shown, and a migration would lose the arena: without LOG_ALL the front end refuses one.
            Self::Standard { .. } => 0,
        }
    }

    /// vhost-user's protocol features.
    pub fn protocol_features(self) -> VhostUserProtocolFeatures {
        let both = VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIG;
        both | match self {
            Self::Hesper => {
                VhostUserProtocolFeatures::LOG_SHMFD | VhostUserProtocolFeatures::DEVICE_STATE
            }
            // Each map is a memory region of its own, and tables without slots hold but eight.
            Self::Standard { .. } => {
                VhostUserProtocolFeatures::SHMEM
                    | VhostUserProtocolFeatures::BACKEND_REQ
                    | VhostUserProtocolFeatures::BACKEND_SEND_FD
                    | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
            }
        }
    }
}

/// What the device asks of the window, and what it tells it.
pub trait Window: Send + Sync {
    /// What kind of front end this is.
    fn front_end(&self) -> FrontEnd;

    /// Shows `len` bytes of the arena from `arena_offset` to the guest at `window_offset`. The guest sees them when this
    /// returns.
    ///
    /// # Errors
    /// See [`WindowError`].
    fn map(&self, arena_offset: u64, window_offset: u64, len: u64) -> Result<(), WindowError>;

    /// Takes a mapping away again.
    ///
    /// # Errors
    /// See [`WindowError`].
    fn unmap(&self, window_offset: u64, len: u64) -> Result<(), WindowError>;

    /// Waits until everything that the front end has said so far has been dealt with. False when that takes longer than the
    /// timeout.
    fn settle(&self) -> bool;

    /// True once [`close`](Self::close) was called.
    fn is_closed(&self) -> bool;

    /// Ends the window's thread and all requests.
    fn close(&self);

    /// The front end takes requests of the back end here.
    fn connected(&self, _requests: BackendRequests) {}

    /// The front end stops a queue, and hears nothing until it has stopped.
    fn stopping(&self) {}

    /// The front end has another memory table.
    fn memory_changed(&self, _memory: &Memory) {}

    /// The guest was reset: no maps are left.
    fn reset(&self) {}
}
