//! `cargo xtask guest`: the kernel and the initramfs that the suites boot, made from trixie's packages.
//!
//! The base image is named by the hash of its packages, so it is made once. Files from this build (`--with`) follow it
//! as a second archive.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use crate::cache::{self, Inputs, Lock, Staging};
use crate::cpio;
use crate::debian::{self, Apt};
use crate::elf;
use crate::error::{Error, FileContext, Result};
use crate::process;

/// Raise it when this file makes something else from the same inputs.
const RECIPE: &str = "1";
const INIT: &str = include_str!("../../qemu-configs/guest/init");
const SERVE: &str = include_str!("../../qemu-configs/guest/serve");

/// The package that depends on the current kernel.
const KERNEL: &str = "linux-image-amd64";
/// Where the programs and libraries come from. What Mesa's Venus driver needs is checked against the files.
const PACKAGES: [&str; 27] = [
    "busybox-static",
    "libbsd0",
    "libc6",
    "libdrm2",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "libmd0",
    "libstdc++6",
    "libvulkan1",
    "libwayland-client0",
    "libx11-6",
    "libx11-xcb1",
    "libxau6",
    "libxcb-dri3-0",
    "libxcb-present0",
    "libxcb-randr0",
    "libxcb-shm0",
    "libxcb-sync1",
    "libxcb-xfixes0",
    "libxcb1",
    "libxdmcp6",
    "libxshmfence1",
    "libzstd1",
    "mesa-vulkan-drivers",
    "vulkan-tools",
    "zlib1g",
];
/// Installed with their libraries. The other drivers, and LLVM with them, stay out.
const PROGRAMS: [&str; 1] = ["usr/bin/vulkaninfo"];
const LIBRARY_DIR: &str = "usr/lib/x86_64-linux-gnu";
/// Loaded at run time, so no program's header names them; libm is for programs that come with `--with`.
const LIBRARIES: [&str; 3] = ["libvulkan_virtio.so", "libvulkan.so.1", "libm.so.6"];
const ICD: &str = "usr/share/vulkan/icd.d/virtio_icd.json";
/// Kernel modules in the order they load. virtio_pci and the serial ports are built in.
const MODULES: [&str; 5] = [
    "drivers/gpu/drm/drm",
    "drivers/gpu/drm/drm_kms_helper",
    "drivers/gpu/drm/drm_shmem_helper",
    "drivers/virtio/virtio_dma_buf",
    "drivers/gpu/drm/virtio/virtio-gpu",
];
/// Images with files from an older build are kept this long.
const WITH_KEPT: Duration = Duration::from_secs(24 * 3600);

/// What `cargo xtask guest` needs on this machine.
pub const BUILD_PACKAGES: [&str; 2] = ["debian-archive-keyring", "xz-utils"];

/// A bootable guest.
#[derive(Debug, Clone)]
pub struct Guest {
    pub kernel: PathBuf,
    pub initrd: PathBuf,
}

/// A file to add: its path here and its path in the guest.
#[derive(Debug, Clone)]
pub struct With {
    pub from: PathBuf,
    pub to: String,
}

impl std::str::FromStr for With {
    type Err = Error;

    fn from_str(text: &str) -> Result<With> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && to.starts_with('/') => Ok(With {
                from: from.into(),
                to: to.into(),
            }),
            _ => Err(Error::Usage(format!(
                "{text} is not of the form PATH=/PATH-IN-THE-GUEST"
            ))),
        }
    }
}

/// Returns the cached guest, making it first where needed. `look_again` asks the archive for newer packages.
pub fn build(with: &[With], look_again: bool) -> Result<Guest> {
    let root = cache::root()?;
    let known = root.join("guest.packages");
    let recorded = fs::read_to_string(&known).ok().filter(|_| !look_again);
    let dir = match recorded.map(|packages| directory(&root, &packages)) {
        Some(dir) if complete(&dir) => dir,
        _ => make(&root, &known)?,
    };
    let guest = Guest {
        kernel: dir.join("vmlinuz"),
        initrd: dir.join("initrd.img"),
    };
    if with.is_empty() {
        return Ok(guest);
    }
    add(&dir, guest, with)
}

fn say(text: &str) {
    eprintln!("guest: {text}");
}

fn directory(root: &Path, packages: &str) -> PathBuf {
    let mut inputs = Inputs::default();
    inputs.add(RECIPE).add(INIT).add(SERVE).add(packages);
    for text in PROGRAMS.iter().chain(&LIBRARIES).chain(&MODULES) {
        inputs.add(text);
    }
    root.join(format!("guest-{}", inputs.hex()))
}

fn complete(dir: &Path) -> bool {
    dir.join("vmlinuz").is_file() && dir.join("initrd.img").is_file()
}

/// Makes the base image; returns its folder.
fn make(root: &Path, known: &Path) -> Result<PathBuf> {
    let _lock = Lock::take(root, "guest")?;
    let started = Instant::now();
    let missing = debian::missing(&BUILD_PACKAGES);
    debian::install(&missing, None)?;

    let apt = Apt::new(root)?;
    let kernel = apt
        .depends(KERNEL)?
        .into_iter()
        .find(|name| name.starts_with("linux-image-"))
        .ok_or_else(|| Error::Packages(format!("{KERNEL} depends on no kernel")))?;
    let mut names: Vec<&str> = PACKAGES.to_vec();
    names.push(&kernel);
    let packages: String = apt
        .resolve(&names)?
        .iter()
        .map(|archive| format!("{} {}\n", archive.file, archive.sha256))
        .collect();
    let dir = directory(root, &packages);
    if !complete(&dir) {
        say(&format!("fetching {} packages", names.len()));
        let debs = apt.download(&names)?;
        say("making the image");
        let staging = Staging::new(&dir)?;
        image(&debs, staging.path())?;
        staging.commit()?;
        say(&format!("done in {} s", started.elapsed().as_secs()));
    }
    fs::write(known, &packages).at("write", known)?;
    Ok(dir)
}

fn image(debs: &[PathBuf], into: &Path) -> Result<()> {
    let unpacked = tempfile::tempdir().at("create a folder in", std::env::temp_dir())?;
    let tree = unpacked.path();
    for deb in debs {
        debian::unpack(deb, tree)?;
    }

    let mut archive = base_folders();
    archive.file("init", 0o755, INIT.into());
    archive.file("usr/lib/hesper/serve", 0o755, SERVE.into());
    busybox(&mut archive, tree)?;
    programs(&mut archive, tree)?;
    modules(&mut archive, tree)?;

    let initrd = into.join("initrd.img");
    fs::write(&initrd, archive.write().at("assemble", &initrd)?).at("write", &initrd)?;
    let boot = tree.join("boot");
    let kernel = entries(&boot)?
        .into_iter()
        .find(|name| name.starts_with("vmlinuz-"))
        .ok_or_else(|| Error::Packages("The kernel's package has no vmlinuz".into()))?;
    let (from, to) = (boot.join(kernel), into.join("vmlinuz"));
    fs::copy(&from, &to).at("copy", &from)?;
    Ok(())
}

/// The folders and links of a merged-usr system.
fn base_folders() -> cpio::Archive {
    let mut archive = cpio::Archive::default();
    for name in ["dev", "etc", "proc", "root", "run", "sys", "tmp"] {
        archive.directory(name);
    }
    archive.directory("usr/lib64");
    for (name, target) in [
        ("bin", "usr/bin"),
        ("sbin", "usr/bin"),
        ("lib", "usr/lib"),
        ("lib64", "usr/lib64"),
    ] {
        archive.link(name, target);
    }
    // The kernel opens it for us before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive
}

fn busybox(archive: &mut cpio::Archive, tree: &Path) -> Result<()> {
    let path = tree.join("usr/bin/busybox");
    let content = fs::read(&path).at("read", &path)?;
    // It is linked statically, so it runs on any release.
    for applet in process::output(Command::new(&path).arg("--list"))?.lines() {
        if applet != "busybox" {
            archive.link(&format!("usr/bin/{applet}"), "busybox");
        }
    }
    archive.file("usr/bin/busybox", 0o755, content);
    Ok(())
}

/// The programs, the driver and every library that these need.
fn programs(archive: &mut cpio::Archive, tree: &Path) -> Result<()> {
    let mut wanted: Vec<String> = LIBRARIES.iter().map(|name| (*name).to_owned()).collect();
    let mut interpreters = BTreeSet::new();
    for program in PROGRAMS {
        let path = tree.join(program);
        let content = fs::read(&path).at("read", &path)?;
        if let Some(needs) = elf::needs(&path, &content)? {
            wanted.extend(needs.libraries);
            interpreters.extend(needs.interpreter);
        }
        archive.file(program, 0o755, content);
    }
    let mut done = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        let path = tree.join(LIBRARY_DIR).join(&name);
        let content = fs::read(&path).map_err(|e| {
            Error::Packages(format!(
                "The guest needs {name}, which none of its packages has ({e}): add its package to xtask/src/guest.rs"
            ))
        })?;
        if let Some(needs) = elf::needs(&path, &content)? {
            wanted.extend(needs.libraries);
        }
        archive.file(&format!("{LIBRARY_DIR}/{name}"), 0o755, content);
    }
    for interpreter in interpreters {
        // Debian's loader lives in the library folder; programs name it by way of /lib64.
        let Some(name) = interpreter.strip_prefix("/lib64/") else {
            return Err(Error::Packages(format!(
                "Strange program interpreter {interpreter}"
            )));
        };
        archive.link(
            &format!("usr/lib64/{name}"),
            &format!("../lib/x86_64-linux-gnu/{name}"),
        );
    }

    // The driver's name in it has no folder, so it works as it is; the file's own name carries the architecture.
    let dir = tree.join("usr/share/vulkan/icd.d");
    let name = entries(&dir)?
        .into_iter()
        .find(|name| name.starts_with("virtio_icd"))
        .ok_or_else(|| Error::Packages("Mesa has no virtio_icd any more".into()))?;
    let path = dir.join(name);
    archive.file(ICD, 0o644, fs::read(&path).at("read", &path)?);
    Ok(())
}

fn modules(archive: &mut cpio::Archive, tree: &Path) -> Result<()> {
    let dir = tree.join("usr/lib/modules");
    let release = entries(&dir)?
        .into_iter()
        .next()
        .ok_or_else(|| Error::Packages("The kernel's package has no modules".into()))?;
    let mut order = String::new();
    let mut loaded: Vec<String> = Vec::new();
    for module in MODULES {
        let path = dir.join(&release).join(format!("kernel/{module}.ko.xz"));
        process::output(Command::new("xz").arg("--decompress").arg(&path))?;
        let path = path.with_extension("");
        let content = fs::read(&path).at("read", &path)?;
        let name = module.rsplit('/').next().unwrap_or(module).to_owned();
        for needed in depends(&content) {
            if !loaded.contains(&needed.replace('-', "_")) {
                return Err(Error::Packages(format!(
                    "The module {name} now needs {needed} before it: add it to xtask/src/guest.rs"
                )));
            }
        }
        order += &format!("{name}.ko\n");
        archive.file(&format!("usr/lib/modules/{name}.ko"), 0o644, content);
        loaded.push(name.replace('-', "_"));
    }
    archive.file("usr/lib/modules/order", 0o644, order.into());
    Ok(())
}

/// The modules that a module says it depends on.
fn depends(module: &[u8]) -> Vec<String> {
    let key = b"\0depends=";
    let Some(at) = module.windows(key.len()).position(|w| w == key) else {
        return Vec::new();
    };
    let rest = &module[at + key.len()..];
    let end = rest.iter().position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&rest[..end])
        .split(',')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The names in a folder, sorted.
fn entries(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).at("list", dir)? {
        let name = entry.at("list", dir)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// A path without the links of a merged-usr system: an archive cannot put files behind a link.
fn unmerged(path: &str) -> String {
    let path = path.trim_start_matches('/');
    let rest = |name: &str| path.strip_prefix(name);
    if let Some(rest) = rest("bin/").or_else(|| rest("sbin/")) {
        format!("usr/bin/{rest}")
    } else if path.starts_with("lib/") || path.starts_with("lib64/") {
        format!("usr/{path}")
    } else {
        path.to_owned()
    }
}

/// The base image followed by more files.
fn add(dir: &Path, base: Guest, with: &[With]) -> Result<Guest> {
    let mut archive = cpio::Archive::default();
    let mut inputs = Inputs::default();
    for file in with {
        let content = fs::read(&file.from).at("read", &file.from)?;
        inputs.add(&file.to).add(&content);
        archive.file(&unmerged(&file.to), 0o755, content);
    }
    let initrd = dir.join(format!("initrd-{}.img", inputs.hex()));
    if !initrd.is_file() {
        for name in entries(dir)?.iter().filter(|n| n.starts_with("initrd-")) {
            let path = dir.join(name);
            let age = fs::metadata(&path)
                .and_then(|m| m.modified())
                .ok()
                .and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_some_and(|age| age > WITH_KEPT) {
                fs::remove_file(&path).at("remove", &path)?;
            }
        }
        let mut bytes = fs::read(&base.initrd).at("read", &base.initrd)?;
        bytes.extend(archive.write().at("assemble", &initrd)?);
        let part = dir.join(format!("part-{}", std::process::id()));
        fs::write(&part, bytes).at("write", &part)?;
        fs::rename(&part, &initrd).at("rename to", &initrd)?;
    }
    Ok(Guest { initrd, ..base })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_well_formed_is_split_and_others_are_refused() {
        let with: With = "target/debug/x=/bin/x".parse().unwrap();

        assert_eq!(with.from, Path::new("target/debug/x"));
        assert_eq!(with.to, "/bin/x");
        assert!("x".parse::<With>().is_err());
        assert!("x=bin/x".parse::<With>().is_err());
        assert!("=/bin/x".parse::<With>().is_err());
    }

    #[test]
    fn unmerged_paths_behind_links_move_to_usr() {
        assert_eq!(unmerged("/bin/x"), "usr/bin/x");
        assert_eq!(unmerged("/sbin/x"), "usr/bin/x");
        assert_eq!(unmerged("/lib64/x"), "usr/lib64/x");
        assert_eq!(unmerged("/opt/bin/x"), "opt/bin/x");
    }

    #[test]
    fn depends_module_information_is_split() {
        let module = b"junk\0license=GPL\0depends=drm,virtio-dma-buf\0name=x\0";

        assert_eq!(depends(module), ["drm", "virtio-dma-buf"]);
        assert!(depends(b"\0depends=\0").is_empty());
        assert!(depends(b"nothing").is_empty());
    }
}
