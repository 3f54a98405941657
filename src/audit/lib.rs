//! What a command writes: rules, SPIR-V write analysis, dirty maps.

pub mod dirty;
pub mod narrow;
pub mod spirv;
