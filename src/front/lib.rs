//! What both front ends share: worker processes, the arena and its allocator, resources.
//!
//! The virtio-gpu device and the vtest server are thin: they speak their own protocol and call
//! [`Front`] for contexts, blobs, fences and for the gate, the cut, save and load.

mod arena;
mod context;
mod error;
mod front;
mod process;
mod quota;
mod resources;
mod save;

use std::time::Duration;

pub use arena::Arena;
pub use error::FrontError;
pub use front::{Ended, Front, FrontConfig, Status};
pub use hesper_worker::channel::{Audit, Fault};
pub use quota::Quotas;
pub use resources::VtestBlob;
pub use save::CutFigures;

/// Something that happened in a context, told from a thread of the front's.
#[derive(Clone, Debug)]
pub enum ContextEvent {
    /// A fence signalled.
    Fence {
        /// Context id.
        ctx_id: u32,
        /// Timeline of the context.
        ring_idx: u32,
        /// The guest's fence id.
        fence_id: u64,
    },
    /// A context has a ring, whose status word lies in a resource.
    Ring {
        /// Context id.
        ctx_id: u32,
        /// Resource id.
        res_id: u32,
        /// Offset in the resource, bytes.
        status: u64,
    },
    /// The context is gone for good: hostile stream, driver crash, killed.
    Lost {
        /// Context id.
        ctx_id: u32,
        /// Why.
        reason: String,
    },
    /// Submitted work made no progress for the hang limit.
    Hung {
        /// Context id.
        ctx_id: u32,
        /// How long nothing moved.
        stalled: Duration,
    },
    /// A cut was made.
    Cut {
        /// How it went.
        figures: CutFigures,
    },
}

/// A blob backed by the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Offset in the arena, bytes, a multiple of 4096.
    pub offset: u64,
    /// Length, bytes, a multiple of 4096.
    pub len: u64,
}
