//! `cargo xtask qemu`: QEMU with our device, built from Debian's source and kept in the cache.
//!
//! Two folders: the *tree* (source and build folder; meson keeps absolute paths, so it never moves) is named by what
//! a full build depends on; the *installation* also by the device's files. A changed device costs the compilation of
//! its files and one link.

mod module;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cache::{self, Inputs, Lock, Staging};
use crate::debian::{self, Apt};
use crate::error::{Error, FileContext, Result};
use crate::process;

pub use module::{EMULATOR, build as module};

/// The source's versions that our device and patches are known to fit.
const VERSIONS: &str = "10.0.";
/// Raise it when this file builds or installs something else from the same inputs.
const RECIPE: &str = "1";
/// The device's folder in `qemu-configs`, and in QEMU's source.
const DEVICE: &str = "device";
const DEVICE_IN_SOURCE: &str = "hw/display/vhost-user-vgpu";
/// How names of that folder's files end that are not for QEMU's build.
const MODULE_ENDING: &str = "-module.c";
const PROGRAMS: [&str; 2] = ["qemu-system-x86_64", "qemu-img"];
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// What the build needs from Debian.
pub const BUILD_PACKAGES: [&str; 12] = [
    "bison",
    "flex",
    "gcc",
    "libc6-dev",
    "libfdt-dev",
    "libglib2.0-dev",
    "libpixman-1-dev",
    "ninja-build",
    "patch",
    "pkg-config",
    "python3-venv",
    "xz-utils",
];
/// Firmware that isn't in the source, and the keyboard layout that a VNC server wants.
pub const FIRMWARE_PACKAGES: [&str; 2] = ["qemu-system-data", "seabios"];
const FIRMWARE_DIRS: [&str; 2] = ["/usr/share/seabios", "/usr/share/qemu"];
const FIRMWARE: [&str; 9] = [
    "bios-256k.bin",
    "bios-microvm.bin",
    "keymaps/en-us",
    "kvmvapic.bin",
    "linuxboot_dma.bin",
    "multiboot_dma.bin",
    "pvh.bin",
    "vgabios-stdvga.bin",
    "vgabios-virtio.bin",
];
/// Needed by every q35 guest that boots a kernel directly and has its display looked at.
const FIRMWARE_REQUIRED: [&str; 3] = ["bios-256k.bin", "keymaps/en-us", "linuxboot_dma.bin"];

const PYTHON: &str = "/usr/bin/python3";
/// What configure wants in its Python and Debian's source lacks.
const PYTHON_PACKAGES: [&str; 2] = ["meson>=1.5,<2", "pycotap>=1.1.0"];

const CONFIGURE: [&str; 16] = [
    "--target-list=x86_64-softmmu",
    "--without-default-features",
    "--enable-system",
    "--enable-tcg",
    "--enable-kvm",
    "--enable-vhost-user",
    "--enable-pixman",
    "--enable-attr",
    // Whoever looks from elsewhere may ask for another size of the display.
    "--enable-vnc",
    // COLO, which gives us the VM's checkpoints.
    "--enable-replication",
    "--enable-tools",
    "--disable-docs",
    "--disable-werror",
    "--disable-install-blobs",
    "--disable-debug-info",
    "--disable-download",
];

/// An installed QEMU.
#[derive(Debug, Clone)]
pub struct Qemu {
    dir: PathBuf,
}

impl Qemu {
    /// The emulator; it finds its firmware by itself.
    pub fn system(&self) -> PathBuf {
        self.dir.join("bin/qemu-system-x86_64")
    }

    fn complete(&self) -> bool {
        self.system().is_file()
    }
}

/// What our build changes in QEMU's source, by content.
struct Edits {
    /// Name and content of each of the device's files, in the order of their names.
    device: Vec<(OsString, Vec<u8>)>,
    /// Path and content of each patch, in the order of their names.
    patches: Vec<(PathBuf, Vec<u8>)>,
}

impl Edits {
    fn read(repository: &Path) -> Result<Edits> {
        let configs = repository.join("qemu-configs");
        let device = files(&configs.join(DEVICE), |name| !name.ends_with(MODULE_ENDING))?
            .into_iter()
            .filter_map(|(path, content)| Some((path.file_name()?.to_owned(), content)))
            .collect();
        let patches = files(&configs.join("patches"), |name| name.ends_with(".patch"))?;
        Ok(Edits { device, patches })
    }

    /// What a full build depends on, and what the device is.
    fn device_hash(&self, version: &str) -> Inputs {
        let mut inputs = self.tree_hash(version);
        for (name, content) in &self.device {
            inputs.add(name.as_encoded_bytes()).add(content);
        }
        inputs
    }

    fn tree_hash(&self, version: &str) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.add(RECIPE).add(version);
        for text in CONFIGURE.iter().chain(&PYTHON_PACKAGES) {
            inputs.add(text);
        }
        for (path, content) in &self.patches {
            inputs.add(path.file_name().unwrap_or_default().as_encoded_bytes());
            inputs.add(content);
        }
        inputs
    }
}

/// Path and content of each file of a folder whose name is wanted, in the order of their names.
fn files(dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).at("list", dir)? {
        let path = entry.at("list", dir)?.path();
        if path.is_file()
            && let Some(name) = path.file_name()
            && wanted(&name.to_string_lossy())
        {
            let content = fs::read(&path).at("read", &path)?;
            files.push((path, content));
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the cached QEMU, building it first where needed. `look_again` asks the archive for a newer source instead
/// of using the one that was used last.
pub fn build(look_again: bool) -> Result<Qemu> {
    let root = cache::root()?;
    let edits = Edits::read(&cache::repository())?;
    let known = root.join("qemu.version");
    if !look_again
        && let Ok(version) = fs::read_to_string(&known)
        && let qemu = installation(&root, &edits, version.trim())
        && qemu.complete()
    {
        return Ok(qemu);
    }

    let _lock = Lock::take(&root, "qemu")?;
    let started = Instant::now();
    let (dsc, version) = source(&root, look_again)?;
    check_version(&version)?;
    fs::write(&known, &version).at("write", &known)?;
    let qemu = installation(&root, &edits, &version);
    if qemu.complete() {
        return Ok(qemu);
    }

    let tree = configured(&root, &dsc, &version, &edits)?;
    compile(&tree, &edits)?;
    install(&tree, &qemu)?;
    say(&format!("done in {} s", started.elapsed().as_secs()));
    Ok(qemu)
}

/// The tree with its source and build folder, made and configured where it is missing.
fn configured(root: &Path, dsc: &Path, version: &str, edits: &Edits) -> Result<PathBuf> {
    let packages: Vec<&str> = BUILD_PACKAGES
        .iter()
        .chain(&FIRMWARE_PACKAGES)
        .copied()
        .collect();
    debian::install(&debian::missing(&packages), None)?;
    let tree = root.join(format!("qemu-tree-{}", edits.tree_hash(version).hex()));
    if !tree.join("configured").is_file() {
        prepare(root, &tree, dsc, edits)?;
    }
    Ok(tree)
}

fn say(text: &str) {
    eprintln!("qemu: {text}");
}

fn installation(root: &Path, edits: &Edits, version: &str) -> Qemu {
    let hash = edits.device_hash(version).hex();
    Qemu {
        dir: root.join(format!("qemu-{hash}")),
    }
}

/// The source package's .dsc file and version: the one used last if it is still there, else from the archive.
fn source(root: &Path, look_again: bool) -> Result<(PathBuf, String)> {
    let known = root.join("qemu.version");
    if !look_again && let Ok(version) = fs::read_to_string(&known) {
        let version = version.trim();
        let dsc = root.join(format!("apt/sources/qemu_{version}.dsc"));
        if dsc.is_file() && tarball(&dsc).is_ok() {
            return Ok((dsc, version.to_owned()));
        }
    }
    say("fetching Debian trixie's source");
    Apt::new(root)?.source("qemu")
}

/// Refuses a source that nobody has tried our device with.
fn check_version(version: &str) -> Result<()> {
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    if upstream.starts_with(VERSIONS) {
        return Ok(());
    }
    Err(Error::Packages(format!(
        "Debian's QEMU source is now version {version}, but the device and the patches in qemu-configs are for \
         {VERSIONS}x. Port them (docs/building.md says what changed in 11), then raise VERSIONS in xtask/src/qemu.rs"
    )))
}

/// The upstream tarball beside a .dsc file.
fn tarball(dsc: &Path) -> Result<PathBuf> {
    let text = fs::read_to_string(dsc).at("read", dsc)?;
    let name = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .find(|name| name.contains(".orig.tar.") && !name.contains('/'))
        .ok_or_else(|| Error::Packages(format!("{} names no tarball", dsc.display())))?;
    let path = dsc.with_file_name(name);
    fs::metadata(&path).at("find", &path)?;
    Ok(path)
}

/// Unpacks, edits and configures the source.
fn prepare(root: &Path, tree: &Path, dsc: &Path, edits: &Edits) -> Result<()> {
    // An older tree is of no use any more, and is big.
    for entry in fs::read_dir(root).at("list", root)? {
        let entry = entry.at("list", root)?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("qemu-tree-")
        {
            cache::remove_dir(&entry.path())?;
        }
    }
    let source = tree.join("source");
    fs::create_dir_all(&source).at("create", &source)?;
    say("unpacking");
    process::output(
        Command::new("tar")
            .args(["--extract", "--strip-components=1", "--no-same-owner"])
            .arg("--file")
            .arg(tarball(dsc)?)
            .arg("--directory")
            .arg(&source),
    )?;
    apply(&source, edits)?;
    put_device(&source, edits)?;

    say("configuring");
    let venv = tree.join("venv");
    process::output(
        Command::new(PYTHON)
            .args(["-m", "venv", "--clear"])
            .arg(&venv),
    )?;
    process::output(
        Command::new(venv.join("bin/pip"))
            .args(["install", "--quiet"])
            .args(PYTHON_PACKAGES),
    )?;
    let build = tree.join("build");
    fs::create_dir(&build).at("create", &build)?;
    process::logged(
        Command::new(source.join("configure"))
            .args(CONFIGURE)
            .arg(format!("--python={}", venv.join("bin/python3").display()))
            .env("PATH", path_with(&venv)?)
            .current_dir(&build),
        &tree.join("configure.log"),
        |_| {},
    )?;
    let stamp = tree.join("configured");
    fs::write(&stamp, "").at("write", &stamp)
}

/// Applies our patches; one that no longer fits exactly stops the build before it starts.
fn apply(source: &Path, edits: &Edits) -> Result<()> {
    for (path, _) in &edits.patches {
        for dry in [true, false] {
            let mut command = Command::new("patch");
            command.args(["--strip=1", "--fuzz=0", "--batch", "--forward"]);
            if dry {
                command.arg("--dry-run");
            }
            command.arg("--input").arg(path).current_dir(source);
            process::output(&mut command).map_err(|e| {
                Error::Packages(format!(
                    "{} no longer applies to this QEMU source: {e}",
                    path.display()
                ))
            })?;
        }
    }
    // Debian ships the firmware apart from the source, which the build would look for.
    let firmware = source.join("pc-bios/meson.build");
    let text = fs::read_to_string(&firmware).at("read", &firmware)?;
    if !text.contains("roms = []") {
        return Err(Error::Packages(
            "QEMU's pc-bios/meson.build no longer sets roms: look at how it builds firmware now"
                .into(),
        ));
    }
    fs::write(&firmware, "roms = []\n").at("write", &firmware)
}

/// Makes the device's folder in the source what it is here. Files that are the same stay untouched, so that ninja sees a
/// change only where there is one.
fn put_device(source: &Path, edits: &Edits) -> Result<()> {
    let dir = source.join(DEVICE_IN_SOURCE);
    fs::create_dir_all(&dir).at("create", &dir)?;
    for (path, _) in files(&dir, |_| true)? {
        let known = |(name, _): &(OsString, _)| Some(name.as_os_str()) == path.file_name();
        if !edits.device.iter().any(known) {
            fs::remove_file(&path).at("remove", &path)?;
        }
    }
    for (name, content) in &edits.device {
        let path = dir.join(name);
        if !fs::read(&path).is_ok_and(|old| old == *content) {
            fs::write(&path, content).at("write", &path)?;
        }
    }
    Ok(())
}

fn compile(tree: &Path, edits: &Edits) -> Result<()> {
    put_device(&tree.join("source"), edits)?;
    say("building; progress in steps");
    let mut next = Instant::now();
    process::logged(
        Command::new("ninja")
            .args(PROGRAMS)
            .env("NINJA_STATUS", "[%f/%t] ")
            .env("PATH", path_with(&tree.join("venv"))?)
            .current_dir(tree.join("build")),
        &tree.join("build.log"),
        |line| {
            if let Some(steps) = steps(line)
                && Instant::now() >= next
            {
                say(steps);
                next = Instant::now() + PROGRESS_EVERY;
            }
        },
    )
}

/// `n/m` of one of ninja's lines.
fn steps(line: &str) -> Option<&str> {
    let (steps, _) = line.strip_prefix('[')?.split_once(']')?;
    steps.contains('/').then_some(steps)
}

/// Puts the programs and their firmware into the cache, if they work.
fn install(tree: &Path, qemu: &Qemu) -> Result<()> {
    let staging = Staging::new(&qemu.dir)?;
    let bin = staging.path().join("bin");
    let share = staging.path().join("share/qemu");
    for dir in [&bin, &share.join("keymaps")] {
        fs::create_dir_all(dir).at("create", dir)?;
    }
    for program in PROGRAMS {
        let from = tree.join("build").join(program);
        fs::copy(&from, bin.join(program)).at("copy", &from)?;
    }
    for name in FIRMWARE {
        let found = FIRMWARE_DIRS
            .iter()
            .map(|dir| Path::new(dir).join(name))
            .find(|path| path.is_file());
        match found {
            Some(from) => {
                fs::copy(&from, share.join(name)).at("copy", &from)?;
            }
            None if FIRMWARE_REQUIRED.contains(&name) => {
                return Err(Error::Packages(format!(
                    "No {name} in {FIRMWARE_DIRS:?}: is one of {FIRMWARE_PACKAGES:?} missing?"
                )));
            }
            None => {}
        }
    }
    let help = process::output(
        Command::new(bin.join(PROGRAMS[0])).args(["-device", "vhost-user-vgpu-pci,help"]),
    )?;
    if !help.contains("window-chardev") {
        return Err(Error::Packages(
            "The QEMU just built does not know our device".into(),
        ));
    }
    staging.commit()
}

fn path_with(venv: &Path) -> Result<OsString> {
    let old = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(venv.join("bin")).chain(std::env::split_paths(&old));
    std::env::join_paths(dirs)
        .map_err(|e| Error::Usage(format!("Cannot put {} into PATH: {e}", venv.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_version_trixies_is_accepted() {
        assert!(check_version("10.0.13+ds-0+deb13u1").is_ok());
        assert!(check_version("1:10.0.2+ds-2").is_ok());
    }

    #[test]
    fn check_version_another_series_is_refused_by_name() {
        let error = check_version("1:11.0.1+ds-1").unwrap_err();

        assert!(error.to_string().contains("11.0.1"));
        assert!(check_version("10.1.0+ds-1").is_err());
    }

    #[test]
    fn steps_ninja_line_gives_counts() {
        assert_eq!(steps("[12/1615] Compiling C object x.o"), Some("12/1615"));
        assert_eq!(steps("ninja: no work to do."), None);
    }

    #[test]
    fn installation_device_changed_moves_but_tree_stays() {
        let edits = |device: &str| Edits {
            device: vec![("a.c".into(), device.into())],
            patches: vec![("1.patch".into(), b"x".into())],
        };
        let (one, two) = (edits("a"), edits("b"));

        assert_eq!(one.tree_hash("10.0.1").hex(), two.tree_hash("10.0.1").hex());
        assert_ne!(
            installation(Path::new("/c"), &one, "10.0.1").dir,
            installation(Path::new("/c"), &two, "10.0.1").dir
        );
    }

    #[test]
    fn put_device_writes_what_differs_and_removes_what_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join(DEVICE_IN_SOURCE);
        let mut edits = Edits {
            device: ["a.c", "b.c", "gone.h"]
                .map(|name| (name.into(), name.into()))
                .into(),
            patches: Vec::new(),
        };
        put_device(dir.path(), &edits).unwrap();
        let written = |name| fs::metadata(device.join(name)).unwrap().modified().unwrap();
        let before = written("a.c");

        edits.device.pop();
        edits.device[1].1 = b"changed".into();
        put_device(dir.path(), &edits).unwrap();

        assert_eq!(fs::read(device.join("b.c")).unwrap(), b"changed");
        assert_eq!(written("a.c"), before);
        assert!(!device.join("gone.h").exists());
    }

    #[test]
    fn read_takes_the_device_s_files_and_not_the_module_s() {
        let edits = Edits::read(&cache::repository()).unwrap();

        let names: Vec<_> = edits.device.iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "meson.build",
                "vhost-user-vgpu-migration.c",
                "vhost-user-vgpu-window.c",
                "vhost-user-vgpu.c",
                "vhost-user-vgpu.h"
            ]
        );
    }

    #[test]
    fn apply_patch_does_not_fit_is_refused_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("file"), "changed upstream\n").unwrap();
        let patch = dir.path().join("1.patch");
        let text = "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old line\n+new line\n";
        fs::write(&patch, text).unwrap();
        let edits = Edits {
            device: Vec::new(),
            patches: vec![(patch, text.into())],
        };

        let error = apply(&source, &edits).unwrap_err();

        assert!(error.to_string().contains("no longer applies"), "{error}");
        let kept = fs::read_to_string(source.join("file")).unwrap();
        assert_eq!(kept, "changed upstream\n");
    }
}
