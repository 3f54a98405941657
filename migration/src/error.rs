//! The one error type of this crate.

use std::io;

/// What can go wrong in protection, takeover and migration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operating system call failed.
    #[error("Failed to {what}")]
    Io {
        /// What was being tried, as in "connect to /run/qmp.sock".
        what: String,
        /// The operating system's answer.
        #[source]
        source: io::Error,
    },
    /// QEMU answered a command with an error.
    #[error("QMP command {command} was refused: {description}")]
    QmpRefused {
        /// Name of the command.
        command: String,
        /// QEMU's error class, as in "GenericError".
        class: String,
        /// QEMU's own words.
        description: String,
    },
    /// QEMU did not answer in time.
    #[error("QMP had no answer to {what} within {ms} ms")]
    QmpTimeout {
        /// The command or event that was waited for.
        what: String,
        /// How long it was waited for.
        ms: u128,
    },
    /// QEMU closed the QMP connection.
    #[error("QMP connection is closed")]
    QmpClosed,
    /// QEMU sent a line that is no QMP.
    #[error("QMP line is malformed: {0}")]
    QmpSyntax(String),
    /// The migration stream breaks its format or a limit.
    #[error("Migration stream is malformed at byte {at}: {what}")]
    Stream {
        /// Bytes consumed before the fault.
        at: u64,
        /// The fault.
        what: String,
    },
    /// The peer closed a stream, at a place where it may not end.
    #[error("Stream ended early: {0}")]
    Ended(&'static str),
    /// A frame of the replication link breaks its format or a limit.
    #[error("Replication frame is malformed: {0}")]
    Frame(String),
    /// A control line breaks its format or a limit.
    #[error("Control line is malformed: {0}")]
    Control(String),
    /// The configuration can't be used.
    #[error("Configuration can't be used: {0}")]
    Config(String),
    /// A migration ended without success.
    #[error("Migration failed: {0}")]
    Migration(String),
    /// A takeover ended without success.
    #[error("Takeover failed: {0}")]
    Takeover(String),
    /// The guard or the standby refused a request, with its reason.
    #[error("Refused: {0}")]
    Refused(String),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Adds to an I/O error what was being tried.
pub trait Context<T> {
    /// Maps the error to [`Error::Io`] with `what`.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io {
            what: what(),
            source,
        })
    }
}

impl<T> Context<T> for nix::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|errno| Error::Io {
            what: what(),
            source: errno.into(),
        })
    }
}

/// An error and all its causes in one line, for a log or the console.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
