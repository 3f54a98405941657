//! What hesperd and its workers may ask of the kernel, once they serve a guest.
//!
//! Two layers: landlock says which files may be opened, and how; seccomp says which calls may be
//! made at all. Both only ever get tighter: what the front gives up, its workers have given up,
//! too, and each worker gives up more once its driver is loaded. Nobody gains privileges by
//! executing anything.

mod calls;
mod files;
pub mod probe;

use std::path::PathBuf;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

pub use files::driver_files;

/// Descriptors of one process: a memory file for each allocation of a vtest client, and a few more.
const FDS_MAX: u64 = 1 << 16;

/// How strict to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What is not allowed fails.
    #[default]
    On,
    /// The kernel logs calls that are not allowed, and makes them. Files are as without.
    Log,
    /// Nothing is confined. For debugging.
    Off,
}

impl Mode {
    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Log => "log",
            Self::Off => "off",
        }
    }
}

/// Who is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The front: serves sockets and starts workers.
    Front,
    /// A worker: its channel, its memory, and the GPU's driver.
    Worker,
}

/// Files that a process needs beyond what every one of its role does.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// May be read, folders with all that is in them.
    pub read: Vec<PathBuf>,
    /// May be executed.
    pub execute: Vec<PathBuf>,
    /// Folders where sockets may be made and removed.
    pub sockets: Vec<PathBuf>,
}

/// What can go wrong with confining.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The filter of calls.
    #[error("Seccomp: {0}")]
    Seccomp(String),
    /// The rules for files.
    #[error("Landlock: {0}")]
    Landlock(#[from] landlock::RulesetError),
    /// A limit, or an attribute of the process.
    #[error("Process attributes: {0}")]
    Process(#[from] nix::Error),
}

/// What the kernel made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confined {
    /// The rules for files hold. False without landlock in the kernel.
    pub files: bool,
    /// The filter of calls holds.
    pub calls: bool,
}

/// Confines the calling thread and all threads that it starts from now on; the filter of calls
/// applies to all threads at once. Called before anything of the guest's is looked at. There is
/// no way back.
///
/// # Errors
/// [`SandboxError`]: the process must not serve a guest then. A kernel without landlock is no
/// error.
pub fn confine(role: Role, mode: Mode, files: &Files) -> Result<Confined, SandboxError> {
    set_limits()?;
    if mode == Mode::Off {
        return Ok(Confined {
            files: false,
            calls: false,
        });
    }
    nix::sys::prctl::set_no_new_privs()?;
    // The front's memory and that of other workers are none of a worker's business, even as root.
    nix::sys::prctl::set_dumpable(false)?;
    let restricted = mode == Mode::On && files::restrict(role, files)?;
    calls::filter(role, mode)?;
    Ok(Confined {
        files: restricted,
        calls: mode == Mode::On,
    })
}

fn set_limits() -> Result<(), SandboxError> {
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = most.min(FDS_MAX);
    setrlimit(Resource::RLIMIT_NOFILE, wanted, wanted)?;
    Ok(())
}
