//! What a command writes: rules, SPIR-V write analysis, dirty maps.

pub mod buffers;
pub mod descriptors;
pub mod dirty;
pub mod effects;
mod error;
mod ids;
pub mod images;
pub mod marks;
pub mod narrow;
pub mod oracle;
mod raw;
mod resolve;
pub mod rules;
pub mod spirv;
pub mod tracker;

pub use error::AuditError;
