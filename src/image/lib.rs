//! The vGPU image: superblock, sections, journal, shadow.
//!
//! The image lies in the arena behind the guest's window. Every offset in it is an absolute arena
//! offset, in bytes. `docs/format.md` gives each structure byte by byte. Who reads an image treats
//! it as hostile: structures are copied out once, checked, and only then used.
//!
//! Writers go through [`ImageArea`], which writes first and marks the dirty bitmap afterwards.

mod allocator;
mod area;
mod bytes;
mod chunks;
mod error;
mod journal;
pub mod record;
mod superblock;

pub use allocator::{AllocatorError, RangeAllocator};
pub use area::{Extent, ImageArea, SealedExtent};
pub use chunks::{CHUNK_LEN, ChunkTable};
pub use error::{ImageError, JournalFault, RecordFault, SuperblockFault};
pub use journal::{
    JournalPosition, JournalReader, JournalRecord, JournalWriter, KIND_LINK, MAX_JOURNAL_EXTENTS,
    MAX_JOURNAL_RECORD_LEN,
};
pub use record::{
    MAX_MESSAGE_LEN, MAX_RECORD_LEN, RECORD_HEADER_LEN, decode_message, decode_record,
    encode_message, encode_record, read_record, write_record,
};
pub use superblock::{
    ContextEntry, FORMAT_VERSION, Identity, MAX_CONTEXTS, MAX_DRIVER_VERSION_LEN, SUPERBLOCK_LEN,
    Superblock,
};

/// Alignment and granularity of image extents, bytes.
pub const EXTENT_ALIGN: u64 = 65536;

/// Alignment and granularity of ranges in the guest's window, bytes.
pub const WINDOW_ALIGN: u64 = 4096;
