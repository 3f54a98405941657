//! The process of one Venus context: rings, decoder, audit, execution, drain, cut and restore.
//!
//! One thread does it all. Every command that would block is tried again later instead, so the
//! thread can stop between any two commands: that is what makes a cut simple. A worker that
//! crashes or hangs takes its own context with it and nothing else.

pub mod capset;
pub mod channel;
mod context;
mod cut;
mod drain;
mod error;
mod exec;
mod exec_external;
mod exec_images;
mod exec_memory;
mod exec_physical;
mod exec_sets;
mod exec_shared;
mod exec_sync;
mod fault;
mod grants;
mod modifiers;
mod oracle;
mod port;
mod raw;
mod refuse;
mod restore;
mod ring;
mod streams;
mod submission;
mod submit;
mod table;
mod worker;

pub use error::WorkerError;
pub use worker::{RunError, run};
