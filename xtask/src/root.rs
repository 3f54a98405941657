//! Root folders: Debian packages unpacked into the cache with all that they depend on, of a release that need not be
//! this machine's.
//!
//! Nothing is installed and no maintainer script runs. Programs are run by the folder's own dynamic loader, which takes
//! the folder's libraries: no chroot and no privileges are needed. What a program opens by an absolute path is this
//! machine's; tell it the folder's by its options or its environment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, Inputs, Lock, Staging};
use crate::debian::{self, Apt};
use crate::error::{Error, FileContext, Result};

/// Raise it when this file makes something else from the same packages.
const RECIPE: &str = "1";
const LIBRARY_DIR: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// The list of its packages, in a root folder.
const LIST: &str = "packages";
/// What making one needs on this machine.
const BUILD_PACKAGES: [&str; 2] = ["debian-archive-keyring", "xz-utils"];

/// What a root folder is made of.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// Names the folder in the cache.
    pub name: &'a str,
    /// Debian's suites; the last one comes first where several have a package.
    pub suites: &'a [&'a str],
    /// Packages by name; what they depend on comes with them, what they recommend does not.
    pub packages: &'a [&'a str],
}

/// A root folder.
#[derive(Debug, Clone)]
pub struct Root {
    dir: PathBuf,
}

impl Recipe<'_> {
    /// Returns the cached folder, making it first where needed. `look_again` asks the archive for newer packages.
    ///
    /// # Errors
    /// When the archive can't be reached, or has no such packages.
    pub fn build(&self, look_again: bool) -> Result<Root> {
        let cache = cache::root()?;
        let known = cache.join(format!("root-{}.packages", self.name));
        if !look_again
            && let Ok(files) = fs::read_to_string(&known)
            && let root = self.root(&cache, &files)
            && root.complete()
        {
            return Ok(root);
        }

        let _lock = Lock::take(&cache, &format!("root-{}", self.name))?;
        debian::install(&debian::missing(&BUILD_PACKAGES), None)?;
        let apt = Apt::with_suites(&cache, self.suites)?;
        let files = apt.closure(self.packages)?;
        let text = files.join("\n");
        let root = self.root(&cache, &text);
        if !root.complete() {
            eprintln!(
                "root: fetching and unpacking {} packages for {}",
                files.len(),
                self.name
            );
            let debs = apt.download_closure(self.packages, &files)?;
            let staging = Staging::new(&root.dir)?;
            unpack(&debs, staging.path())?;
            let list = staging.path().join(LIST);
            fs::write(&list, &text).at("write", &list)?;
            staging.commit()?;
        }
        fs::write(&known, &text).at("write", &known)?;
        Ok(root)
    }

    /// `files` name the packages' versions, so they stand for the content.
    fn root(&self, cache: &Path, files: &str) -> Root {
        let mut inputs = Inputs::default();
        inputs.add(RECIPE).add(files);
        for text in self.suites.iter().chain(self.packages) {
            inputs.add(text);
        }
        Root {
            dir: cache.join(format!("root-{}-{}", self.name, inputs.hex())),
        }
    }
}

impl Root {
    /// The folder itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A path of this machine for one in the folder, such as `usr/share/qemu`.
    pub fn path(&self, inside: &str) -> PathBuf {
        self.dir.join(inside.trim_start_matches('/'))
    }

    /// The folder's libraries.
    pub fn libraries(&self) -> PathBuf {
        self.path(LIBRARY_DIR)
    }

    /// A command that runs a program of the folder, such as `usr/bin/true`, with the folder's loader and libraries.
    /// Programs which that one starts are this machine's.
    pub fn command(&self, program: &str) -> Command {
        self.run(&self.path(program))
    }

    /// The same for a program that may lie outside of the folder, and runs with the folder's libraries all the same.
    pub fn run(&self, path: &Path) -> Command {
        let mut command = Command::new(self.libraries().join(LOADER));
        command
            .arg("--library-path")
            .arg(self.libraries())
            .arg("--argv0")
            .arg(path)
            .arg(path);
        command
    }

    /// The version of a package in the folder, such as `1:11.1.3+ds-1`.
    ///
    /// # Errors
    /// When the folder has no such package.
    pub fn version(&self, package: &str) -> Result<String> {
        let list = self.dir.join(LIST);
        let text = fs::read_to_string(&list).at("read", &list)?;
        version(&text, package).ok_or_else(|| {
            Error::Packages(format!("{} has no package {package}", self.dir.display()))
        })
    }

    fn complete(&self) -> bool {
        self.dir.join(LIST).is_file()
    }
}

/// The version of one of the files `NAME_VERSION_ARCHITECTURE.deb`.
fn version(files: &str, package: &str) -> Option<String> {
    files.lines().find_map(|file| {
        let rest = file.strip_prefix(package)?.strip_prefix('_')?;
        let (version, _) = rest.rsplit_once('_')?;
        Some(version.replace("%3a", ":"))
    })
}

fn unpack(debs: &[PathBuf], into: &Path) -> Result<()> {
    // A few packages still have files in the old places, which are links since /usr was merged.
    for name in ["bin", "lib", "lib64", "sbin"] {
        let target = format!("usr/{name}");
        let (folder, link) = (into.join(&target), into.join(name));
        fs::create_dir_all(&folder).at("create", &folder)?;
        symlink(&target, &link).at("make the link", &link)?;
    }
    for deb in debs {
        debian::unpack(deb, into)?;
    }
    let loader = into.join(LIBRARY_DIR).join(LOADER);
    fs::metadata(&loader).at("find the loader", &loader)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_listed_package_is_found_with_its_epoch_and_others_are_not() {
        let files = "libc6_2.41-12_amd64.deb\nqemu-system-x86_1%3a11.1.3+ds-1~bpo13+1_amd64.deb";

        assert_eq!(
            version(files, "qemu-system-x86").as_deref(),
            Some("1:11.1.3+ds-1~bpo13+1")
        );
        assert_eq!(version(files, "libc6").as_deref(), Some("2.41-12"));
        assert_eq!(version(files, "qemu-system"), None);
    }

    #[test]
    fn root_other_version_or_suite_is_another_folder() {
        let recipe = |suites| Recipe {
            name: "x",
            suites,
            packages: &["a"],
        };
        let dir = |recipe: Recipe, files| recipe.root(Path::new("/c"), files).dir;
        let one = dir(recipe(&["trixie"]), "a_1_all.deb");

        assert_eq!(one, dir(recipe(&["trixie"]), "a_1_all.deb"));
        assert_ne!(one, dir(recipe(&["trixie"]), "a_2_all.deb"));
        assert_ne!(one, dir(recipe(&["sid"]), "a_1_all.deb"));
    }
}
