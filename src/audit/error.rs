//! The errors of this crate.

use crate::spirv::SpirvError;

/// Why the audit cannot follow a command. The command must not be executed then: its writes are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    #[error("Unknown {kind} {id:#x}")]
    UnknownObject { kind: &'static str, id: u64 },
    #[error("The {kind} {id:#x} exists already")]
    DuplicateObject { kind: &'static str, id: u64 },
    #[error("Shader module cannot be analyzed: {0}")]
    Spirv(#[from] SpirvError),
    #[error("Shader module has no entry point {name:?} of execution model {execution_model}")]
    EntryPointMissing { name: String, execution_model: u32 },
    #[error("Bind of buffer {buffer:#x} at {offset:#x} leaves memory {memory:#x}")]
    BindOutOfRange {
        buffer: u64,
        memory: u64,
        offset: u64,
    },
    #[error("Descriptor write leaves set {set:#x} at binding {binding}, element {element}")]
    DescriptorOutOfRange {
        set: u64,
        binding: u32,
        element: u32,
    },
    #[error("More {what} than the limit of {limit}")]
    TooMany { what: &'static str, limit: u64 },
    #[error("{command} is not followed yet")]
    Refused { command: &'static str },
    #[error("Arguments of {command} contradict each other")]
    BadArguments { command: &'static str },
}
