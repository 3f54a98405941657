//! Python programs of others, each in an environment of its own with the packages that it names.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, Inputs, Lock, Staging};
use crate::error::{FileContext, Result};
use crate::process;

/// What this machine lacks for environments.
pub const LACKS: &str = "python3 lacks venv (package python3-venv)";

/// The list of packages of `tests/NAME`.
fn requirements(name: &str) -> PathBuf {
    cache::repository()
        .join("tests")
        .join(name)
        .join("requirements.txt")
}

/// The interpreter of an environment with the packages of `tests/NAME/requirements.txt`, kept in the cache; `None` where
/// Python can't make environments.
pub fn environment(name: &str) -> Result<Option<PathBuf>> {
    let has_venv = process::output(Command::new("python3").args(["-c", "import venv, ensurepip"]));
    if has_venv.is_err() {
        return Ok(None);
    }
    let version = process::output(Command::new("python3").arg("--version"))?;
    let folder = kept(name, &version, |folder, list| {
        // The interpreter is found through a link, and packages beside it: the folder may move.
        process::output(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        process::output(
            Command::new(folder.join("bin/python"))
                .args(["-m", "pip", "install", "--quiet", "--requirement"])
                .arg(list),
        )
        .map(drop)
    })?;
    Ok(Some(folder.join("bin/python")))
}

/// A folder with the packages of `tests/NAME/requirements.txt` for another Python of this machine's kind, `version` as in
/// 3.13; `None` where Python can't make environments.
pub fn packages(name: &str, version: &str) -> Result<Option<PathBuf>> {
    let Some(python) = environment(name)? else {
        return Ok(None);
    };
    kept(name, version, |folder, list| {
        process::output(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--no-compile"])
                .args(["--only-binary", ":all:", "--python-version", version])
                .arg("--target")
                .arg(folder)
                .arg("--requirement")
                .arg(list),
        )
        .map(drop)
    })
    .map(Some)
}

/// A folder of the cache that `make` fills once for each list of packages and `version`.
fn kept(
    name: &str,
    version: &str,
    make: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<PathBuf> {
    let list = requirements(name);
    let wanted = std::fs::read(&list).at("read", &list)?;
    let hash = Inputs::default().add(wanted).add(version).hex();
    let root = cache::root()?;
    let _lock = Lock::take(&root, name)?;
    let folder = root.join(format!("{name}-{hash}"));
    if !folder.exists() {
        let staging = Staging::new(&folder)?;
        make(staging.path(), &list)?;
        staging.commit()?;
    }
    Ok(folder)
}
