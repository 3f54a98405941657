//! The errors of this crate.

use ash::vk;

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
    #[error("Bind of image {image:#x} at {offset:#x} leaves memory {memory:#x}")]
    ImageOutOfRange {
        image: u64,
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

impl AuditError {
    /// What to answer the guest where the command returns a result and nothing else is harmed by refusing it. None: the
    /// context cannot go on.
    pub fn answer(&self) -> Option<vk::Result> {
        match self {
            AuditError::Spirv(_) | AuditError::EntryPointMissing { .. } => {
                Some(vk::Result::ERROR_INVALID_SHADER_NV)
            }
            AuditError::TooMany { .. } => Some(vk::Result::ERROR_OUT_OF_HOST_MEMORY),
            AuditError::UnknownObject { .. }
            | AuditError::DuplicateObject { .. }
            | AuditError::BindOutOfRange { .. }
            | AuditError::ImageOutOfRange { .. }
            | AuditError::DescriptorOutOfRange { .. }
            | AuditError::Refused { .. }
            | AuditError::BadArguments { .. } => None,
        }
    }
}
