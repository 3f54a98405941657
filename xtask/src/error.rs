//! The crate's error type.

use std::path::PathBuf;
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

/// Everything an xtask command can fail with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be used.
    #[error("Cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A program could not be started at all.
    #[error("Cannot start {program}: {source}")]
    Start {
        program: String,
        source: std::io::Error,
    },
    /// A program ran and failed.
    #[error("{program} failed ({status}){output}")]
    Program {
        program: String,
        status: String,
        /// Empty, or a line break and the last lines it printed.
        output: String,
    },
    /// A program ended while it was still needed.
    #[error("{0} ended early: {1}")]
    Ended(String, String),
    /// Something did not happen in time.
    #[error("{what} took longer than {limit:?}")]
    Deadline { what: String, limit: Duration },
    /// Package archives, versions or sources are not what this code knows.
    #[error("{0}")]
    Packages(String),
    /// The command needs to be root here.
    #[error("Needs root to install {0}; run `cargo xtask setup` as root")]
    NeedsRoot(String),
    /// QEMU's monitor answered with an error or nonsense.
    #[error("QMP: {0}")]
    Qmp(String),
    /// QEMU's VNC server answered with an error or nonsense.
    #[error("VNC: {0}")]
    Vnc(String),
    /// The guest did something unexpected.
    #[error("Guest: {0}")]
    Guest(String),
    /// An ELF file of the guest's image is malformed or incomplete.
    #[error("Cannot read {path} as ELF: {why}")]
    Elf { path: PathBuf, why: &'static str },
    /// A command line that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Some test cases failed.
    #[error("{0} of the cases failed")]
    CasesFailed(usize),
}

/// Adds the path and the action to an I/O error.
pub trait FileContext<T> {
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> FileContext<T> for std::io::Result<T> {
    fn at(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|source| Error::File {
            action,
            path: path.into(),
            source,
        })
    }
}
