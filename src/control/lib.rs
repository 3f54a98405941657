//! Control socket, metrics and configuration.
//!
//! The control socket speaks lines of JSON over a unix socket that only its owner can reach:
//! requests `{"id":1,"command":"status",…}`, answers `{"id":1,"ok":…}` or `{"id":1,"error":"…"}`, and,
//! once a client has sent `watch`, lines `{"event":…}` in between.

mod client;
mod lines;
mod metrics;
mod server;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use client::{ControlClient, Watch};
pub use metrics::{Counter, Gauge, MAX_METRICS, Metrics};
pub use server::{ControlServer, EVENT_QUEUE_LEN, Handler, MAX_CLIENTS};

/// Longest request, bytes without the line's end.
pub const MAX_REQUEST_LEN: usize = 64 << 10;

/// Longest answer or event, bytes without the line's end.
pub const MAX_ANSWER_LEN: usize = 1 << 20;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the client, comes back in the answer.
    pub id: u64,
    /// What to do.
    pub command: String,
    /// All further fields.
    #[serde(flatten)]
    pub args: Map<String, Value>,
}

/// What a server sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Message {
    Ok { id: u64, ok: Value },
    Error { id: u64, error: String },
    Event { event: Value },
}

/// What can go wrong on a control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket can't be created where it should be.
    #[error("Control socket {path}: {source}")]
    Bind {
        /// Where.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Another process serves there.
    #[error("Control socket {0} is in use by another process")]
    InUse(PathBuf),
    /// Nobody serves there, or they don't let us in.
    #[error("Control socket {path}: can't connect: {source}")]
    Connect {
        /// Where.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The connection broke.
    #[error("Control connection: {0}")]
    Io(#[from] io::Error),
    /// The other side closed the connection.
    #[error("Control connection closed by the other side")]
    Closed,
    /// No answer in time.
    #[error("No answer on the control socket in time")]
    TimedOut,
    /// A line is longer than allowed.
    #[error("Control line has more than {limit} bytes")]
    TooLong {
        /// The limit, bytes.
        limit: usize,
    },
    /// The other side doesn't speak this protocol.
    #[error("Control protocol: {0}")]
    Protocol(String),
    /// The server's answer is an error.
    #[error("{0}")]
    Refused(String),
}
