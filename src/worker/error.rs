//! Why a context ends.

use hesper_gpu::GpuError;
use hesper_venus::{CallError, DecodeError, EncodeError};

use crate::channel::ChannelError;
use crate::ring::RingError;
use crate::table::TableError;

/// An error that ends the context: the guest broke the protocol, or the host broke.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Bytes that are no command.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A command that is known but not accepted.
    #[error("{0} is not accepted")]
    Refused(hesper_venus::CommandType),
    /// A command with arguments that can't be right.
    #[error("{command}: {reason}")]
    Argument {
        /// Which command.
        command: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A wrong id.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A driver function is missing.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A reply that does not fit.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// A resource that is not attached.
    #[error("No resource {0}")]
    NoResource(u32),
    /// The host GPU.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Shared memory.
    #[error(transparent)]
    Memory(#[from] hesper_memory::MemoryError),
    /// The channel to the front.
    #[error("Channel: {0}")]
    Channel(#[from] ChannelError),
    /// The image.
    #[error("Image: {0}")]
    Image(#[from] hesper_image::ImageError),
    /// The audit.
    #[error("Audit: {0}")]
    Audit(#[from] hesper_audit::AuditError),
    /// The oracle found a write that the audit missed.
    #[error("Oracle: {0}")]
    Oracle(String),
    /// A context that can't be re-created.
    #[error("Restore: {0}")]
    Restore(String),
}

/// A wrong argument.
pub(crate) fn argument(command: &'static str, reason: impl Into<String>) -> WorkerError {
    WorkerError::Argument {
        command,
        reason: reason.into(),
    }
}
