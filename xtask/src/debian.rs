//! Debian packages: installed on this machine, or fetched from trixie without touching this machine's own settings.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::cache::Lock;
use crate::error::{Error, FileContext, Result};
use crate::process;

const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// The release that everything fetched comes from, unless a caller names suites of its own.
const SUITE: &str = "trixie";
/// Package lists younger than this are used as they are.
const LISTS_FRESH: Duration = Duration::from_secs(6 * 3600);

/// Those of `packages` that dpkg does not have installed.
pub fn missing(packages: &[&str]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| {
            let status = process::output(Command::new("dpkg-query").args([
                "--show",
                "--showformat=${db:Status-Status}",
                package,
            ]));
            // It fails for a package it never heard of.
            !status.is_ok_and(|status| status.trim() == "installed")
        })
        .map(|package| (*package).to_owned())
        .collect()
}

/// Installs packages on this machine by name, from its own sources; `suite` prefers one of these.
pub fn install(packages: &[String], suite: Option<&str>) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::NeedsRoot(packages.join(" ")));
    }
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "--yes", "--quiet", "--no-install-recommends"])
        .args(["-o", "DPkg::Lock::Timeout=300"]);
    if let Some(suite) = suite {
        command.args(["--target-release", suite]);
    }
    process::output(command.args(packages)).map(drop)
}

/// Refreshes this machine's package lists.
pub fn update() -> Result<()> {
    process::output(Command::new("apt-get").args(["update", "--quiet"])).map(drop)
}

/// This machine's Debian release: 12, 13, …; none for something else.
pub fn release() -> Option<u32> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let field = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    if field("ID")? != "debian" {
        return None;
    }
    field("VERSION_ID")?.parse().ok()
}

/// One package as the archive describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    pub name: String,
    /// Name and version, as in the archive's file name.
    pub file: String,
    pub sha256: String,
}

/// An apt of our own: private sources, lists and cache, nothing installed, nothing written outside its folder.
#[derive(Debug)]
pub struct Apt {
    cache: PathBuf,
    dir: PathBuf,
    /// The suite that comes first where several have a package.
    preferred: String,
}

impl Apt {
    /// Prepares the folder. The lists are fetched on the first use.
    pub fn new(cache: &Path) -> Result<Apt> {
        Apt::with_suites(cache, &[SUITE])
    }

    /// The same for other suites; the last one comes first where several have a package.
    pub fn with_suites(cache: &Path, suites: &[&str]) -> Result<Apt> {
        let preferred = suites.last().copied().unwrap_or(SUITE).to_owned();
        let dir = cache.join(match suites {
            [SUITE] => "apt".to_owned(),
            _ => format!("apt-{}", suites.join("+")),
        });
        for sub in ["lists/partial", "archives/partial", "sources"] {
            let path = dir.join(sub);
            std::fs::create_dir_all(&path).at("create", &path)?;
        }
        let sources = suites
            .iter()
            .map(|suite| {
                let entry = format!("[signed-by={KEYRING}] {MIRROR} {suite} main\n");
                format!("deb {entry}deb-src {entry}")
            })
            .collect();
        let files = [("sources.list", sources), ("status", String::new())];
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::write(&path, text).at("write", &path)?;
        }
        Ok(Apt {
            cache: cache.to_owned(),
            dir,
            preferred,
        })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let dir = self.dir.display();
        let mut set = |option: String| {
            command.arg("-o").arg(option);
        };
        set(format!("Dir::Etc::sourcelist={dir}/sources.list"));
        // The host's pins must not hide trixie from us.
        for part in ["sourceparts", "preferences", "preferencesparts"] {
            set(format!("Dir::Etc::{part}=/dev/null"));
        }
        set(format!("Dir::State::lists={dir}/lists"));
        set(format!("Dir::State::status={dir}/status"));
        set(format!("Dir::Cache={dir}"));
        set(format!("Dir::Cache::archives={dir}/archives"));
        for option in [
            "APT::Architecture=amd64",
            "APT::Architectures=amd64",
            "Acquire::Languages=none",
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
            "Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled=false",
            "Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled=false",
            "Acquire::IndexTargets::deb::DEP-11-icons-hidpi::DefaultEnabled=false",
            // The sandbox user cannot read a home folder's cache.
            "APT::Sandbox::User=root",
        ] {
            set(option.to_owned());
        }
        command
    }

    /// apt has locks of its own, but fails where another run holds them.
    fn lock(&self) -> Result<Lock> {
        Lock::take(&self.cache, "apt")
    }

    /// Fetches the package lists, unless they are fresh.
    pub fn update(&self) -> Result<()> {
        let _lock = self.lock()?;
        let stamp = self.dir.join("lists.stamp");
        let age = std::fs::metadata(&stamp)
            .and_then(|m| m.modified())
            .ok()
            .and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age < LISTS_FRESH) {
            return Ok(());
        }
        process::output(self.command("apt-get").args(["update", "--quiet"]))?;
        std::fs::write(&stamp, "").at("write", &stamp)
    }

    /// What the archive has under these names, in their order.
    pub fn resolve(&self, packages: &[&str]) -> Result<Vec<Archive>> {
        self.update()?;
        let text = process::output(
            self.command("apt-cache")
                .args(["show", "--no-all-versions"])
                .args(packages),
        )?;
        let known = parse_records(&text);
        packages
            .iter()
            .map(|package| {
                known
                    .iter()
                    .find(|archive| archive.name == *package)
                    .cloned()
                    .ok_or_else(|| {
                        Error::Packages(format!("{SUITE} has no package {package} any more"))
                    })
            })
            .collect()
    }

    /// The packages that `package` depends on, by name, as the archive writes them.
    pub fn depends(&self, package: &str) -> Result<Vec<String>> {
        self.update()?;
        let text = process::output(self.command("apt-cache").args([
            "show",
            "--no-all-versions",
            package,
        ]))?;
        Ok(text
            .lines()
            .find_map(|line| line.strip_prefix("Depends: "))
            .unwrap_or_default()
            .split(',')
            .filter_map(|word| word.split_whitespace().next())
            .map(str::to_owned)
            .collect())
    }

    /// Downloads packages; returns their .deb files in the order of the names. apt checks what it downloads against
    /// the signed lists, and keeps what is already there.
    pub fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        let archives = self.resolve(packages)?;
        let dir = self.dir.join("archives");
        process::output(
            self.command("apt-get")
                .args(["download", "--quiet"])
                .args(packages)
                .current_dir(&dir),
        )?;
        archives
            .iter()
            .map(|archive| {
                // apt writes an epoch's colon as %3a.
                let path = dir.join(archive.file.replace(':', "%3a"));
                std::fs::metadata(&path).at("find the download", &path)?;
                Ok(path)
            })
            .collect()
    }

    /// The .deb files, by name, that an empty system would need for these packages: with all that they depend on, in the
    /// order in which they would be installed. An epoch's colon is written as %3a.
    pub fn closure(&self, packages: &[&str]) -> Result<Vec<String>> {
        self.update()?;
        // apt does not tell what it has downloaded already: it looks where nothing is.
        let empty = self.dir.join("no-archives");
        let partial = empty.join("partial");
        std::fs::create_dir_all(&partial).at("create", &partial)?;
        let text = process::output(
            self.install_command()
                .arg("-o")
                .arg(format!("Dir::Cache::archives={}", empty.display()))
                .args(["--print-uris", "-qq"])
                .args(packages),
        )?;
        // 'ADDRESS' NAME SIZE HASH
        Ok(text
            .lines()
            .filter(|line| line.starts_with('\''))
            .filter_map(|line| line.split_whitespace().nth(1))
            .filter(|name| name.ends_with(".deb") && !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    /// Downloads what [`closure`](Self::closure) has listed as `files`; returns their paths. apt checks what it downloads
    /// against the signed lists, and keeps what is already there.
    pub fn download_closure(&self, packages: &[&str], files: &[String]) -> Result<Vec<PathBuf>> {
        let _lock = self.lock()?;
        process::output(
            self.install_command()
                .args(["--download-only", "--quiet"])
                .args(packages),
        )?;
        let dir = self.dir.join("archives");
        files
            .iter()
            .map(|file| {
                let path = dir.join(file);
                std::fs::metadata(&path).at("find the download", &path)?;
                Ok(path)
            })
            .collect()
    }

    fn install_command(&self) -> Command {
        let mut command = self.command("apt-get");
        command
            .args(["install", "--yes", "--no-install-recommends"])
            .args(["--target-release", &self.preferred])
            .env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// Downloads a source package; returns its .dsc file's path and its version.
    pub fn source(&self, package: &str) -> Result<(PathBuf, String)> {
        self.update()?;
        let dir = self.dir.join("sources");
        let text = process::output(
            self.command("apt-get")
                .args(["source", "--print-uris", "--quiet", package])
                .current_dir(&dir),
        )?;
        let dsc = text
            .lines()
            .filter_map(|line| line.split_whitespace().nth(1))
            .find(|name| name.ends_with(".dsc"))
            .ok_or_else(|| Error::Packages(format!("{SUITE} names no source of {package}")))?;
        let version = dsc
            .strip_prefix(&format!("{package}_"))
            .and_then(|rest| rest.strip_suffix(".dsc"))
            .ok_or_else(|| Error::Packages(format!("Strange source file name {dsc}")))?
            .to_owned();
        process::output(
            self.command("apt-get")
                .args(["source", "--download-only", "--quiet", package])
                .current_dir(&dir),
        )?;
        Ok((dir.join(dsc), version))
    }
}

/// Unpacks a .deb file's content into a folder.
pub fn unpack(deb: &Path, into: &Path) -> Result<()> {
    process::output(Command::new("dpkg-deb").arg("--extract").arg(deb).arg(into)).map(drop)
}

/// Reads `apt-cache show` records.
fn parse_records(text: &str) -> Vec<Archive> {
    text.split("\n\n")
        .filter_map(|record| {
            let field = |key: &str| {
                record
                    .lines()
                    .find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
                    .map(str::to_owned)
            };
            let name = field("Package")?;
            let version = field("Version")?;
            let architecture = field("Architecture")?;
            Some(Archive {
                file: format!("{name}_{version}_{architecture}.deb"),
                name,
                sha256: field("SHA256")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_records_two_packages_gives_names_files_and_hashes() {
        let text = "Package: a\nVersion: 1:2.0-1\nArchitecture: amd64\nSHA256: 00ff\n\n\
                    Package: b\nArchitecture: all\nVersion: 3\nDescription: x\n y\nSHA256: 11ee\n";

        let records = parse_records(text);

        assert_eq!(records.len(), 2);
        assert_eq!(records[0].file, "a_1:2.0-1_amd64.deb");
        assert_eq!(records[0].sha256, "00ff");
        assert_eq!(records[1].file, "b_3_all.deb");
    }

    #[test]
    fn missing_unknown_package_is_missing() {
        if process::output(Command::new("dpkg-query").arg("--version")).is_err() {
            println!("SKIPPED: no dpkg here");
            return;
        }

        let names = missing(&["dpkg", "hesper-no-such-package"]);

        assert_eq!(names, ["hesper-no-such-package"]);
    }
}
