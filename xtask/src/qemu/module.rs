//! `cargo xtask qemu --module`: our device for the emulator that Debian ships, as a shared object for LD_PRELOAD.
//!
//! It is compiled from the very source of that emulator and refuses every other build. It runs no patch of ours: what
//! `qemu-configs/patches` mends in QEMU itself stays as it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{
    DEVICE, DEVICE_IN_SOURCE, Edits, check_version, configured, path_with, put_device, say, source,
};
use crate::cache::{self, Lock, Staging};
use crate::error::{Error, FileContext, Result};
use crate::process;
use crate::root::{Recipe, Root};

/// Raise it when this file builds something else from the same inputs.
const RECIPE: &str = "2";
const SOURCE: &str = "vhost-user-vgpu-module.c";
/// The device's file by whose compilation QEMU's build tells how: all are compiled alike, and include each other here.
const FIRST: &str = "vhost-user-vgpu.c";
const FILE: &str = "vhost-user-vgpu.so";
/// The emulator as Debian ships it.
const STOCK: Recipe = Recipe {
    name: "qemu-trixie",
    suites: &["trixie"],
    packages: &[PACKAGE],
};
const PACKAGE: &str = "qemu-system-x86";
/// In [`STOCK`].
pub const EMULATOR: &str = "usr/bin/qemu-system-x86_64";
/// What QEMU calls the symbol that tells builds apart, before a SHA-1.
const STAMP: &str = "qemu_stamp_";
const STAMP_DIGITS: usize = 40;

/// The module, and the emulator that it is for.
#[derive(Debug, Clone)]
pub struct Module {
    /// What LD_PRELOAD is to name.
    pub file: PathBuf,
    /// The emulator's root folder.
    pub root: Root,
    /// The emulator's package version.
    pub version: String,
}

impl Module {
    /// The emulator with the module in it.
    pub fn command(&self) -> Command {
        let mut command = self.root.command(EMULATOR);
        command.envs(self.environment());
        command
    }

    /// What the emulator's environment needs.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("LD_PRELOAD", self.file.clone()),
            ("QEMU_MODULE_DIR", self.root.libraries().join("qemu")),
        ]
    }
}

/// Returns the cached module, building it first where needed. `look_again` asks the archive for newer packages.
///
/// # Errors
/// When the archive's emulator and source differ in version, or are none that our device is for.
pub fn build(look_again: bool) -> Result<Module> {
    let cache = cache::root()?;
    let root = STOCK.build(look_again)?;
    let version = root.version(PACKAGE)?;
    check_version(&version)?;
    let emulator = root.path(EMULATOR);
    let stamp = stamp(&fs::read(&emulator).at("read", &emulator)?).ok_or_else(|| {
        Error::Packages(format!(
            "{} has no {STAMP}… symbol: it takes no modules any more",
            emulator.display()
        ))
    })?;

    let edits = Edits::read(&cache::repository())?;
    let wrapper = cache::repository()
        .join("qemu-configs")
        .join(DEVICE)
        .join(SOURCE);
    let wrapper = fs::read(&wrapper).at("read", &wrapper)?;
    let mut inputs = edits.device_hash(&version);
    inputs.add(RECIPE).add(&wrapper).add(&stamp);
    let dir = cache.join(format!("qemu-module-{}", inputs.hex()));
    let module = Module {
        file: dir.join(FILE),
        root,
        version,
    };
    if module.file.is_file() {
        return Ok(module);
    }

    let _lock = Lock::take(&cache, "qemu")?;
    let (dsc, source_version) = source(&cache, look_again)?;
    let upstream = |version: &str| version.split_once(':').map_or(version, |v| v.1).to_owned();
    if upstream(&module.version) != upstream(&source_version) {
        return Err(Error::Packages(format!(
            "Debian's {PACKAGE} is version {}, but the source here is {source_version}: --update fetches both anew",
            module.version
        )));
    }
    let tree = configured(&cache, &dsc, &source_version, &edits)?;
    say("building the module");
    put_device(&tree.join("source"), &edits)?;
    let wrapper_path = tree.join("source").join(DEVICE_IN_SOURCE).join(SOURCE);
    fs::write(&wrapper_path, &wrapper).at("write", &wrapper_path)?;
    let staging = Staging::new(&dir)?;
    compile(&tree, &stamp, &module.version, &staging.path().join(FILE))?;
    staging.commit()?;
    let help = process::output(
        module
            .command()
            .args(["-device", "vhost-user-vgpu-pci,help"]),
    )?;
    if !help.contains("window-chardev") {
        cache::remove_dir(&dir)?;
        return Err(Error::Packages(
            "The stock emulator does not know our device with the module just built".into(),
        ));
    }
    Ok(module)
}

/// Compiles the module as ninja would compile the device, with what the tree generates.
fn compile(tree: &Path, stamp: &str, version: &str, into: &Path) -> Result<()> {
    let build = tree.join("build");
    let database = build.join("compile_commands.json");
    let text = fs::read(&database).at("read", &database)?;
    let entries: Vec<Value> = serde_json::from_slice(&text)
        .map_err(|e| Error::Packages(format!("{} makes no sense: {e}", database.display())))?;
    let device = entries
        .iter()
        .find(|entry| {
            entry["file"]
                .as_str()
                .is_some_and(|file| file.ends_with(&format!("{DEVICE_IN_SOURCE}/{FIRST}")))
        })
        .ok_or_else(|| Error::Packages("QEMU's build does not compile our device".into()))?;
    let (Some(command), Some(object)) = (device["command"].as_str(), device["output"].as_str())
    else {
        return Err(Error::Packages("A compile command lacks its parts".into()));
    };
    // Compiling the device itself has ninja generate the headers that both need.
    process::logged(
        Command::new("ninja")
            .arg(object)
            .env("PATH", path_with(&tree.join("venv"))?)
            .current_dir(&build),
        &tree.join("module.log"),
        |_| {},
    )?;
    let mut words = flags(command);
    if words.is_empty() {
        return Err(Error::Packages(format!(
            "A strange compile command: {command}"
        )));
    }
    let compiler = words.remove(0);
    process::output(
        Command::new(compiler)
            .args(words)
            .args(["-fPIC", "-shared", "-Wl,-z,lazy"])
            // What the device's files share is nobody else's: names here would go before the emulator's own.
            .arg("-fvisibility=hidden")
            .arg(format!("-DVGPU_STAMP=\"{stamp}\""))
            .arg(format!("-DVGPU_VERSION=\"{version}\""))
            .arg("-o")
            .arg(into)
            .arg(tree.join("source").join(DEVICE_IN_SOURCE).join(SOURCE))
            .current_dir(&build),
    )
    .map(drop)
}

/// The compiler and its flags, without files and without what only makes programs.
fn flags(command: &str) -> Vec<String> {
    let mut words = command.split_whitespace();
    let mut flags = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-fPIE" | "-MD" => {}
            "-MQ" | "-MF" | "-o" | "-c" => {
                words.next();
            }
            _ => flags.push(word.to_owned()),
        }
    }
    flags
}

/// The name of the symbol that tells a build of QEMU from others.
fn stamp(emulator: &[u8]) -> Option<String> {
    emulator
        .windows(STAMP.len() + STAMP_DIGITS)
        .filter(|window| window.starts_with(STAMP.as_bytes()))
        .find(|window| {
            window[STAMP.len()..]
                .iter()
                .all(|byte| byte.is_ascii_hexdigit())
        })
        .map(|window| String::from_utf8_lossy(window).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_in_a_program_is_found_and_a_shorter_word_is_not() {
        let digits = "0123456789abcdef0123456789abcdef01234567";
        let program = format!("\0qemu_stamp_%s\0qemu_stamp_{digits}\0");

        assert_eq!(
            stamp(program.as_bytes()),
            Some(format!("qemu_stamp_{digits}"))
        );
        assert_eq!(stamp(b"qemu_stamp_0123"), None);
    }

    #[test]
    fn flags_of_a_compile_command_lose_files_and_the_program_only() {
        let command = "cc -m64 -Ia.p -iquote . -fPIE -MD -MQ a.o -MF a.d -o a.o -c a.c";

        assert_eq!(flags(command), ["cc", "-m64", "-Ia.p", "-iquote", "."]);
    }
}
