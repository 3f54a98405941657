//! Shared mappings and dirty bitmaps: the only room that maps memory.
//!
//! Everything that another process may write at the same time (guest memory, the arena, client
//! memory files) is reached through [`Mapping`]: bounds are checked in `u64`, bulk access goes
//! through volatile copies, and single words through atomics. Code that decodes what it finds
//! there takes one private copy first and never looks twice.
//!
//! Shared memory comes as a descriptor: [`receive`] takes those of a socket's message.

mod bitmap;
mod descriptors;
mod mapping;

pub use bitmap::{DirtyBitmap, PAGE_SIZE};
pub use descriptors::{Received, receive};
pub use mapping::{Mapping, memfd};

/// What can go wrong with shared memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// A range does not lie inside the mapping.
    #[error("Range {offset:#x}+{len:#x} lies outside a mapping of {mapping_len:#x} bytes")]
    OutOfRange {
        /// Start of the range, bytes from the start of the mapping.
        offset: u64,
        /// Length of the range, bytes.
        len: u64,
        /// Length of the mapping, bytes.
        mapping_len: u64,
    },
    /// A word is not aligned to its size.
    #[error("Offset {0:#x} is not aligned for the access")]
    Misaligned(u64),
    /// The kernel refused to create or size a memory file.
    #[error("Memory file of {len:#x} bytes: {source}")]
    File {
        /// Wanted length, bytes.
        len: u64,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The kernel refused a mapping.
    #[error("Mapping {len:#x} bytes at offset {offset:#x}: {reason}")]
    Map {
        /// Offset in the file, bytes.
        offset: u64,
        /// Wanted length, bytes.
        len: u64,
        /// What the mapping library said.
        reason: String,
    },
    /// The file is shorter than what should be mapped: touching the rest would raise SIGBUS.
    #[error("File of {file_len:#x} bytes is shorter than {wanted:#x}")]
    Short {
        /// Length of the file, bytes.
        file_len: u64,
        /// Needed length, bytes.
        wanted: u64,
    },
}
