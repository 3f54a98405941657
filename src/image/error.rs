//! What can go wrong with an image.

use hesper_memory::MemoryError;

use crate::Extent;

/// Why an image, or a part of one, can't be written or must not be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The mapping or the bitmap refused an access.
    #[error("Image memory: {0}")]
    Memory(#[from] MemoryError),
    /// A range leaves the image area.
    #[error("Range {offset:#x}+{len:#x} leaves the image area {start:#x}..{end:#x}")]
    OutsideArea {
        /// Start of the range, arena offset.
        offset: u64,
        /// Length of the range, bytes.
        len: u64,
        /// Start of the area, arena offset.
        start: u64,
        /// End of the area, arena offset.
        end: u64,
    },
    /// The arena leaves no room for an image.
    #[error("Image area {start:#x}..{end:#x} is not page-aligned or too small for an image")]
    BadArea {
        /// Start of the area, arena offset.
        start: u64,
        /// End of the area, arena offset.
        end: u64,
    },
    /// More than the caller is ready to take.
    #[error("{what} has {len} bytes, more than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size, bytes or entries.
        len: u64,
        /// The largest size taken.
        limit: u64,
    },
    /// Stored bytes differ from what their checksum says.
    #[error("{what} at {offset:#x}: checksum {found:#010x} instead of {expected:#010x}")]
    Checksum {
        /// What was read.
        what: &'static str,
        /// Where it starts, arena offset.
        offset: u64,
        /// The stored checksum.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// No copy of the superblock can be used.
    #[error("No valid superblock: copy 0 {first}; copy 1 {second}")]
    NoSuperblock {
        /// Why the first copy is refused.
        first: SuperblockFault,
        /// Why the second copy is refused.
        second: SuperblockFault,
    },
    /// A superblock that its reader would refuse was about to be written.
    #[error("Superblock not written: it {0}")]
    BadSuperblock(SuperblockFault),
}

/// Why a copy of the superblock is refused. Each reads on after "copy 0".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuperblockFault {
    /// Nothing was ever written there.
    #[error("is blank")]
    Blank,
    /// Something else lies there.
    #[error("has no magic")]
    Magic,
    /// Written by another version of the format.
    #[error("has format version {0}")]
    Version(u32),
    /// Torn or damaged.
    #[error("has checksum {found:#010x} instead of {expected:#010x}")]
    Checksum {
        /// The stored checksum.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// A copy lies in the other copy's place.
    #[error("has sequence {0}, which belongs in the other copy")]
    Sequence(u64),
    /// The image belongs into an arena of another shape.
    #[error("has {field} {found:#x} where this arena has {expected:#x}")]
    Shape {
        /// Which field.
        field: &'static str,
        /// The arena's value.
        expected: u64,
        /// The superblock's value.
        found: u64,
    },
    /// A list or string is longer than the format allows.
    #[error("has a {field} of {found}, more than {limit}")]
    TooLong {
        /// Which field.
        field: &'static str,
        /// Its length.
        found: u64,
        /// The largest length.
        limit: u64,
    },
    /// The driver version is not UTF-8, or has a zero byte.
    #[error("has a driver version that is not text")]
    DriverVersion,
    /// An extent leaves the area, or overlaps the superblock or another extent.
    #[error("has a bad extent {0:?}")]
    Extent(Extent),
    /// A context is listed twice, or is context 0.
    #[error("lists context {0} wrongly")]
    Context(u32),
    /// A byte that must be zero is not.
    #[error("has something in its reserved bytes")]
    Reserved,
}
