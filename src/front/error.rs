//! What can go wrong in the front.

use std::time::Duration;

use hesper_worker::channel::ChannelError;

/// Errors of the front. The device room turns them into virtio responses.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// No such context.
    #[error("No context {0}")]
    NoContext(u32),
    /// The context id is taken, or there are too many contexts.
    #[error("Context {0} can't be created: {1}")]
    Context(u32, &'static str),
    /// No such resource.
    #[error("No resource {0}")]
    NoResource(u32),
    /// The resource id is taken.
    #[error("Resource {0} exists")]
    ResourceExists(u32),
    /// Neither window nor image has room.
    #[error("Out of arena memory: {0} bytes wanted")]
    OutOfMemory(u64),
    /// Work on the GPU did not finish in time.
    #[error("Context {ctx_id} is hung: nothing finished within {after:?}")]
    Hung {
        /// Context id.
        ctx_id: u32,
        /// How long was waited.
        after: Duration,
    },
    /// A context holds something that can't be restored elsewhere.
    #[error("Context {ctx_id} is not migratable: {reason}")]
    NotMigratable {
        /// Context id.
        ctx_id: u32,
        /// What it holds.
        reason: String,
    },
    /// The worker is gone or answered nonsense.
    #[error("Worker of context {ctx_id}: {reason}")]
    Worker {
        /// Context id.
        ctx_id: u32,
        /// What happened.
        reason: String,
    },
    /// The process is about to end.
    #[error("Shutting down")]
    Closed,
    /// There is no arena (yet).
    #[error("No arena")]
    NoArena,
    /// Saved state does not fit what is here.
    #[error("Saved state: {0}")]
    State(String),
    /// The image.
    #[error(transparent)]
    Image(#[from] hesper_image::ImageError),
    /// Shared memory.
    #[error(transparent)]
    Memory(#[from] hesper_memory::MemoryError),
    /// The channel to a worker.
    #[error("Worker channel: {0}")]
    Channel(#[from] ChannelError),
    /// A process could not be started.
    #[error("Worker process: {0}")]
    Spawn(#[from] std::io::Error),
}
