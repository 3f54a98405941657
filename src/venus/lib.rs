//! The Venus wire codec: what a guest's commands look like in a ring, as Rust values, and their replies.
//!
//! [`decode`] takes one command from the front of a *private copy* of guest bytes and builds, in a bump
//! arena, the arguments exactly as a Vulkan driver wants them: structures, pNext chains, arrays, strings.
//! Handles stay the guest's ids; every place that holds one is listed, so that an executor can look ids up,
//! put host handles in their place with [`Decoded::map_handles`], call the driver, and answer with
//! [`encode_reply`], which puts the ids back first.
//!
//! The wire is little-endian with an alignment of 4 and has no lengths of commands: an unknown command or
//! structure is fatal for the stream. What each command and structure looks like is data ,
//! generated from the Vulkan registry; one interpreter reads it ([`decoder`], [`encoder`]).

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("The codec copies 64-bit little-endian values between the wire and memory");

pub mod chain;
pub mod command;
pub mod decoder;
pub mod encoder;
pub mod error;
pub mod fns;
mod macros;
mod schema;

#[path = "gen/mod.rs"]
mod generated;

pub use command::{Args, Command, CommandType};
pub use decoder::{Decoded, HandleSlot, Limits, decode};
pub use encoder::{Encoder, encode_reply, encode_request, reply_size};
pub use error::{CallError, DecodeError, DecodeErrorKind, EncodeError};
pub use fns::{CmdFns, DeviceFns, InstanceFns, call_cmd, call_device, call_instance};
pub use generated::{args, mesa};

#[cfg(test)]
mod roundtrip;
