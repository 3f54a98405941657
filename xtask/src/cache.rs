//! The cache: what is costly to fetch or build, kept outside the checkout and named by the hash of its inputs.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use xxhash_rust::xxh3::Xxh3;

use crate::error::{Error, FileContext, Result};

/// The cache's folder, created if it is missing: `$HESPER_CACHE/hesper`, else `$XDG_CACHE_HOME/hesper`, else
/// `~/.cache/hesper`.
pub fn root() -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let base = match named("HESPER_CACHE").or_else(|| named("XDG_CACHE_HOME")) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(named("HOME").ok_or_else(|| {
            Error::Usage("Neither HESPER_CACHE, XDG_CACHE_HOME nor HOME is set".into())
        })?)
        .join(".cache"),
    };
    let root = std::path::absolute(&base)
        .at("resolve", &base)?
        .join("hesper");
    std::fs::create_dir_all(&root).at("create", &root)?;
    Ok(root)
}

/// An exclusive lock on one part of the cache, held until it is dropped or the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Takes the lock `<root>/<name>.lock`; waits, and says so, while another run holds it.
    pub fn take(root: &Path, name: &str) -> Result<Lock> {
        let path = root.join(format!("{name}.lock"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .at("open", &path)?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((file, nix::errno::Errno::EWOULDBLOCK)) => {
                eprintln!("{name}: waiting for another run to finish");
                Flock::lock(file, FlockArg::LockExclusive)
                    .map_err(|(_, e)| e.into())
                    .at("lock", &path)?
            }
            Err((_, e)) => return Err(e.into()).at("lock", &path),
        };
        Ok(Lock { _file: file })
    }
}

/// Hashes inputs; each is framed by its length, so that moving a byte from one to the next changes the hash.
#[derive(Default)]
pub struct Inputs(Xxh3);

impl Inputs {
    /// Adds one input.
    pub fn add(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// 16 hex digits.
    pub fn hex(&self) -> String {
        format!("{:016x}", self.0.digest())
    }
}

/// A folder under construction: renamed into place when complete, removed otherwise.
#[derive(Debug)]
pub struct Staging {
    temporary: PathBuf,
    target: PathBuf,
}

impl Staging {
    /// Creates an empty folder beside `target`.
    pub fn new(target: &Path) -> Result<Staging> {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".tmp-{}", std::process::id()));
        let temporary = PathBuf::from(name);
        remove_dir(&temporary)?;
        std::fs::create_dir_all(&temporary).at("create", &temporary)?;
        Ok(Staging {
            temporary,
            target: target.to_owned(),
        })
    }

    /// Where to write meanwhile.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Puts the folder in its place.
    pub fn commit(self) -> Result<()> {
        remove_dir(&self.target)?;
        std::fs::rename(&self.temporary, &self.target).at("rename to", &self.target)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a commit there is nothing left here; a failure costs disk space only.
        let _ = std::fs::remove_dir_all(&self.temporary);
    }
}

/// Removes a folder and all in it; it need not exist.
pub fn remove_dir(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e).at("remove", path),
        _ => Ok(()),
    }
}

/// How cargo builds this repository's programs: always the whole workspace's, because each choice of packages has features
/// of its own, and so builds shared dependencies anew.
pub const BUILD: [&str; 3] = ["build", "--workspace", "--bins"];

/// The repository's root: xtask is built inside it.
pub fn repository() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_same_bytes_split_differently_hash_differs() {
        let mut one = Inputs::default();
        let mut two = Inputs::default();

        one.add("ab").add("c");
        two.add("a").add("bc");

        assert_ne!(one.hex(), two.hex());
        assert_eq!(one.hex().len(), 16);
    }

    #[test]
    fn staging_dropped_without_commit_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("thing");

        let staging = Staging::new(&target).unwrap();
        std::fs::write(staging.path().join("half"), "x").unwrap();
        drop(staging);

        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn staging_committed_replaces_target() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("thing");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("old"), "x").unwrap();

        let staging = Staging::new(&target).unwrap();
        std::fs::write(staging.path().join("new"), "y").unwrap();
        staging.commit().unwrap();

        assert!(target.join("new").exists());
        assert!(!target.join("old").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
