//! The generated part of the codec.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

#![allow(
    deprecated,
    non_upper_case_globals,
    unused_imports,
    clippy::enum_variant_names
)]

pub mod args;
pub(crate) mod call;
pub(crate) mod command;
pub(crate) mod commands;
pub(crate) mod ids;
pub mod mesa;
pub(crate) mod structs_a;
pub(crate) mod structs_d;
pub(crate) mod structs_i;
pub(crate) mod structs_p;
pub(crate) mod structs_physical_device;
pub(crate) mod structs_q;
pub(crate) mod unions;
