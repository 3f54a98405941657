//! `cargo xtask setup`: installs, by name, every Debian package that building and testing needs.

use std::fs;
use std::process::Command;

use crate::debian;
use crate::error::{Error, FileContext, Result};
use crate::{guest, process, qemu};

/// What the tests run on this host: a software Vulkan driver, the guest's driver over vtest, shader tools.
const TEST_PACKAGES: [&str; 5] = [
    "glslang-tools",
    "libvulkan1",
    "mesa-vulkan-drivers",
    "spirv-tools",
    "vulkan-tools",
];
/// Mesa from this major version on is what the tests are written for.
const MESA: &str = "mesa-vulkan-drivers";
const MESA_MAJOR_MIN: u32 = 25;

const BACKPORTS: &str = "bookworm-backports";
const BACKPORTS_FILE: &str = "/etc/apt/sources.list.d/hesper-backports.sources";
const BACKPORTS_ENTRY: &str = "\
# Written by `cargo xtask setup`: Mesa 25 for Debian 12.
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm-backports
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
";

/// Installs what is missing; says what it did.
pub fn run() -> Result<()> {
    let mut packages: Vec<&str> = qemu::BUILD_PACKAGES
        .iter()
        .chain(&qemu::FIRMWARE_PACKAGES)
        .chain(&guest::BUILD_PACKAGES)
        .chain(&TEST_PACKAGES)
        .copied()
        .collect();
    packages.sort_unstable();
    packages.dedup();
    let release = debian::release();
    let (Some(12) | Some(13)) = release else {
        return Err(Error::Usage(format!(
            "This is neither Debian 12 nor 13. Install by hand what these are called here: {}",
            packages.join(" ")
        )));
    };

    let mut missing = debian::missing(&packages);
    let old_mesa = mesa_major().is_none_or(|major| major < MESA_MAJOR_MIN);
    if old_mesa && !missing.iter().any(|name| name == MESA) {
        missing.push(MESA.to_owned());
    }
    if missing.is_empty() {
        println!("setup: all {} packages are there", packages.len());
        return Ok(());
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::NeedsRoot(missing.join(" ")));
    }

    // Debian 13's own Mesa is new enough.
    let backports = release == Some(12) && old_mesa;
    if backports && !knows(BACKPORTS)? {
        fs::write(BACKPORTS_FILE, BACKPORTS_ENTRY).at("write", BACKPORTS_FILE)?;
        println!("setup: added {BACKPORTS_FILE}");
    }
    debian::update()?;
    let (mesa, others): (Vec<_>, Vec<_>) = missing
        .into_iter()
        .partition(|name| name == MESA && backports);
    debian::install(&others, None)?;
    debian::install(&mesa, Some(BACKPORTS))?;
    println!("setup: installed {}", [others, mesa].concat().join(" "));
    Ok(())
}

/// Whether this machine's sources have a suite.
fn knows(suite: &str) -> Result<bool> {
    let policy = process::output(Command::new("apt-cache").arg("policy"))?;
    Ok(policy.contains(&format!("/{suite} ")) || policy.contains(&format!(" {suite}/")))
}

/// The installed Mesa's major version.
fn mesa_major() -> Option<u32> {
    let version = process::output(Command::new("dpkg-query").args([
        "--show",
        "--showformat=${Version}",
        MESA,
    ]));
    major(&version.ok()?)
}

fn major(version: &str) -> Option<u32> {
    let upstream = version.split_once(':').map_or(version, |(_, rest)| rest);
    upstream.split_once('.')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_versions_with_and_without_epoch_are_read() {
        assert_eq!(major("25.0.7-2~bpo12+1"), Some(25));
        assert_eq!(major("1:22.3.6-1"), Some(22));
        assert_eq!(major(""), None);
    }
}
