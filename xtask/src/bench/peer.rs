//! The peer: `virgl_test_server --venus`, the reference Venus renderer, as Debian trixie has it.
//!
//! It runs out of a root folder, on the same host driver as all else here; what it is compared with runs with its C
//! library ([`Peer::native`]). Where the machine has no `/dev/udmabuf`, a
//! preloaded shim stands in for it (`peer/udmabuf.c`); whoever reads the figures is told.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Error, FileContext, Result};
use crate::process::{self, Process};
use crate::root::{Recipe, Root};
use crate::vtest::{self, Programs, until};

const SHIM: &str = include_str!("peer/udmabuf.c");
const UDMABUF: &str = "/dev/udmabuf";
const RECIPE: Recipe<'_> = Recipe {
    name: "peer",
    suites: &["trixie"],
    packages: &["virgl-server"],
};
/// Where this machine's driver and what it needs lie: behind the folder's own libraries.
const HOST_LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// The loader as programs name it.
const INTERPRETER: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
const START_LIMIT: Duration = Duration::from_secs(60);

/// A running peer. Dropping it ends it.
#[derive(Debug)]
pub struct Peer {
    process: Process,
    socket: PathBuf,
    /// Version of its package.
    pub version: String,
    /// Whether the shim stands in for a device that is absent.
    pub shimmed: bool,
    root: Root,
}

impl Peer {
    /// Starts it; its files go into a folder of `programs`.
    pub fn start(programs: &Programs) -> Result<Peer> {
        let root = RECIPE.build(false)?;
        let dir = programs.folder("peer")?;
        let socket = dir.join("vtest.sock");
        let shimmed = !Path::new(UDMABUF).exists();
        let preload = if shimmed { Some(shim(&dir)?) } else { None };
        // The renderer is a process of its own, which the server starts by this name.
        let renderer = dir.join("renderer");
        let script = format!(
            "#!/bin/sh\nexec {} \"$@\"\n",
            words(&loader(&root, "usr/libexec/virgl_render_server"))
        );
        fs::write(&renderer, script).at("write", &renderer)?;
        fs::set_permissions(&renderer, fs::Permissions::from_mode(0o755))
            .at("make executable", &renderer)?;
        let line = loader(&root, "usr/bin/virgl_test_server");
        let mut command = vtest::native(Path::new(&line[0]));
        command
            .args(&line[1..])
            .args(["--venus", "--no-virgl", "--multi-clients", "--socket-path"])
            .arg(&socket)
            .env("RENDER_SERVER_EXEC_PATH", &renderer);
        if let Some(preload) = &preload {
            command.env("LD_PRELOAD", preload);
        }
        let process = Process::start_logged(&mut command, &dir.join("peer.log"))?;
        let mut peer = Peer {
            process,
            socket,
            version: root.version("virgl-server")?,
            shimmed,
            root,
        };
        until("the peer's start", START_LIMIT, || {
            peer.process.check_running()?;
            Ok(peer.socket.exists().then_some(()))
        })?;
        Ok(peer)
    }

    /// A command on the host's own driver that runs a copy of a program of this build with the peer's C library: the
    /// driver's time depends on it, condition variables and allocation above all.
    pub fn native(&self, programs: &Programs, program: &Path) -> Result<Command> {
        let copy = relinked(&self.root, program, programs.dir())?;
        let mut command = vtest::native(&copy);
        let mut path = self.root.libraries().into_os_string();
        path.push(":");
        path.push(HOST_LIBRARIES);
        command.env("LD_LIBRARY_PATH", path);
        Ok(command)
    }

    /// A command as a client of it.
    pub fn command(&self, program: &Path) -> Command {
        vtest::client_of(&self.socket, program)
    }

    /// Whether it still accepts clients.
    pub fn check_running(&mut self) -> Result<()> {
        self.process.check_running()?;
        UnixStream::connect(&self.socket)
            .map(drop)
            .at("connect to", &self.socket)
    }
}

/// Command line that runs a program of the folder by its own loader, with this machine's libraries behind its own.
fn loader(root: &Root, program: &str) -> Vec<OsString> {
    let mut path = root.libraries().into_os_string();
    path.push(":");
    path.push(HOST_LIBRARIES);
    vec![
        root.libraries().join(LOADER).into(),
        "--library-path".into(),
        path,
        root.path(program).into(),
    ]
}

/// A copy of a program that starts with the folder's dynamic loader: its name in the file is replaced by that of a link.
fn relinked(root: &Root, program: &Path, dir: &Path) -> Result<PathBuf> {
    let link = dir.join("ld");
    if !link.exists() {
        symlink(root.libraries().join(LOADER), &link).at("create", &link)?;
    }
    let mut bytes = fs::read(program).at("read", program)?;
    let name = link.as_os_str().as_bytes();
    let at = bytes
        .windows(INTERPRETER.len())
        .position(|window| window == INTERPRETER)
        .filter(|_| name.len() < INTERPRETER.len())
        .ok_or_else(|| {
            Error::Usage(format!(
                "{} can't be started by {}: it names no loader, or the name is too long",
                program.display(),
                link.display()
            ))
        })?;
    bytes[at..at + INTERPRETER.len()].fill(0);
    bytes[at..at + name.len()].copy_from_slice(name);
    let copy = dir.join(program.file_name().unwrap_or_default());
    fs::write(&copy, bytes).at("write", &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).at("make executable", &copy)?;
    Ok(copy)
}

/// As words of a shell; the cache's path may hold anything.
fn words(line: &[OsString]) -> String {
    line.iter()
        .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")))
        .collect::<Vec<_>>()
        .join(" ")
}

fn shim(dir: &Path) -> Result<PathBuf> {
    let (source, made) = (dir.join("udmabuf.c"), dir.join("udmabuf.so"));
    fs::write(&source, SHIM).at("write", &source)?;
    process::output(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .arg(&made)
            .arg(&source)
            .arg("-ldl"),
    )?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_quote_stay_one_word() {
        let line = ["it's", "a b"].map(OsString::from);

        assert_eq!(words(&line), r"'it'\''s' 'a b'");
    }
}
