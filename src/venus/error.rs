//! Errors of the codec.

use thiserror::Error;

use crate::CommandType;

/// Why a command could not be decoded. There is no way to go on in the stream after one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{command} at byte {offset}: {kind}")]
pub struct DecodeError {
    pub command: CommandType,
    /// Bytes from the start of the command.
    pub offset: usize,
    pub kind: DecodeErrorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DecodeErrorKind {
    #[error("The command ends early: {needed} more bytes wanted, {left} left")]
    Truncated { needed: u64, left: usize },
    #[error("Unknown command")]
    UnknownCommand,
    #[error("The command is known but never sent by the clients supported")]
    UnsupportedCommand,
    #[error("Unknown command flags {0:#x}")]
    BadFlags(u32),
    #[error("Structure type {found} where {expected} belongs")]
    WrongStructureType { expected: &'static str, found: i32 },
    #[error("Structure type {stype} in a chain of {parent}")]
    UnknownStructureType { parent: &'static str, stype: i32 },
    #[error("{0} twice in a chain")]
    DuplicateStructure(&'static str),
    #[error("A chain of more than {0} structures")]
    ChainTooLong(usize),
    #[error("{field} announces {found} elements, its count says {expected}")]
    CountMismatch {
        field: &'static str,
        found: u64,
        expected: u64,
    },
    #[error("{field} has {found} elements, {limit} are allowed")]
    CountOverLimit {
        field: &'static str,
        found: u64,
        limit: u64,
    },
    #[error("{field} is null")]
    NullPointer { field: &'static str },
    #[error("{field} points at something that has no wire form")]
    Unserializable { field: &'static str },
    #[error("{field} has {found} for a pointer flag")]
    BadPointer { field: &'static str, found: u64 },
    #[error("{union} has no member {tag}")]
    BadUnionTag { union: &'static str, tag: u32 },
    #[error("{field} does not end in NUL")]
    StringNotTerminated { field: &'static str },
    #[error("The command needs more than {0} bytes of memory")]
    OverBudget(usize),
    #[error("Out of memory")]
    OutOfMemory,
}

/// Why a reply could not be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EncodeError {
    #[error("The reply needs more than the {0} bytes there are")]
    NoSpace(usize),
}

/// Why a driver function could not be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CallError {
    #[error("The driver has no {0}")]
    Missing(CommandType),
    #[error("{0} is not a command of this function table")]
    WrongTable(CommandType),
}
