//! Which files may be opened, by landlock.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::{Files, Role, SandboxError};

/// What may be read by everyone: programs, libraries, drivers' data, the hardware's description.
/// Of `/etc` only what loaders and drivers read.
const READ: [&str; 16] = [
    "/usr",
    "/lib",
    "/lib64",
    "/opt",
    "/sys",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/modules",
    "/proc/devices",
    "/proc/driver",
    "/proc/sys/vm",
    "/proc/sys/kernel",
    "/dev/urandom",
    "/dev/zero",
];
const READ_ETC: [&str; 10] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/vulkan",
    "/etc/xdg/vulkan",
    "/etc/glvnd",
    "/etc/nvidia",
    "/etc/drirc",
    "/etc/localtime",
];
/// Device nodes, and folders of them, that GPUs are driven through.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/dri", "/dev/kfd", "/dev/nvidia-caps"];
/// Beginning of the names of NVIDIA's device nodes.
const NVIDIA: &str = "nvidia";
/// Runs dynamically linked programs.
const INTERPRETER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Variables that name files or folders of drivers.
const VARIABLES: [&str; 5] = [
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_ADD_DRIVER_FILES",
    "LD_LIBRARY_PATH",
    "LIBGL_DRIVERS_PATH",
];

/// Files that this process has mapped, which are its program and its libraries, and those that the
/// environment names for the Vulkan loader. Called while a driver is loaded, it tells where that
/// driver is.
pub fn driver_files() -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files: BTreeSet<PathBuf> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])))
        // Shared memory and what is deleted is not there.
        .filter(|path| path.is_file())
        .collect();
    for variable in VARIABLES {
        let Some(value) = std::env::var_os(variable) else {
            continue;
        };
        files.extend(std::env::split_paths(&value).filter(|path| path.exists()));
    }
    files.into_iter().collect()
}

/// Confines this thread. False when the kernel has no landlock.
pub fn restrict(role: Role, files: &Files) -> Result<bool, SandboxError> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = read | AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut rules = Rules(
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))?
            .handle_access(AccessNet::from_all(ABI::V4))?,
    )
    .scoped(role)?;
    for path in READ.iter().chain(&READ_ETC) {
        rules.allow(Path::new(path), read)?;
    }
    for path in &files.read {
        rules.allow(path, read)?;
    }
    for path in DEVICES {
        rules.allow(Path::new(path), device)?;
    }
    for entry in std::fs::read_dir("/dev").into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NVIDIA) {
            rules.allow(&entry.path(), device)?;
        }
    }
    if role == Role::Front {
        // A worker's own entry is not known yet; what it may see of others, its own rules say.
        rules.allow(Path::new("/proc"), read)?;
        // Workers look for device nodes by name.
        rules.allow(Path::new("/dev"), AccessFs::ReadDir.into())?;
        rules.allow(Path::new(INTERPRETER), read | AccessFs::Execute)?;
        for path in &files.execute {
            rules.allow(path, read | AccessFs::Execute)?;
        }
        for path in &files.sockets {
            rules.allow(
                path,
                AccessFs::MakeSock | AccessFs::RemoveFile | AccessFs::ReadDir,
            )?;
        }
    }
    let status = rules.created.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

struct Rules(Ruleset);

impl Rules {
    fn scoped(self, role: Role) -> Result<Created, SandboxError> {
        let mut ruleset = self.0;
        if role == Role::Worker {
            // No signal to, and no abstract socket of, anything outside.
            ruleset = ruleset.scope(Scope::from_all(ABI::V6))?;
        }
        Ok(Created {
            created: ruleset.create()?,
        })
    }
}

struct Created {
    created: landlock::RulesetCreated,
}

impl Created {
    /// Allows something, if it is there.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), SandboxError> {
        let Ok(fd) = PathFd::new(path) else {
            return Ok(());
        };
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(ABI::V5)
        };
        (&mut self.created).add_rule(PathBeneath::new(fd, access))?;
        Ok(())
    }
}
