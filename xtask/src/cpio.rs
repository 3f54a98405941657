//! Writes initramfs archives: cpio in the "newc" form, the same bytes for the same content (no times, root owns all).

use std::collections::BTreeMap;
use std::io::Write;

/// Longest path or file that the form can carry, in bytes.
const SIZE_MAX: usize = u32::MAX as usize;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory,
    File { mode: u32, content: Vec<u8> },
    Link(String),
    Device { major: u32, minor: u32 },
}

/// An archive under construction. Paths have no leading slash; folders on the way are made by themselves.
#[derive(Debug, Default)]
pub struct Archive {
    nodes: BTreeMap<String, Node>,
}

impl Archive {
    fn add(&mut self, path: &str, node: Node) {
        let path = path.trim_matches('/');
        let mut end = 0;
        while let Some(slash) = path[end..].find('/') {
            end += slash;
            self.nodes
                .entry(path[..end].to_owned())
                .or_insert(Node::Directory);
            end += 1;
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// An empty folder.
    pub fn directory(&mut self, path: &str) {
        self.add(path, Node::Directory);
    }

    /// A file with these permissions.
    pub fn file(&mut self, path: &str, mode: u32, content: Vec<u8>) {
        self.add(path, Node::File { mode, content });
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) {
        self.add(path, Node::Link(target.to_owned()));
    }

    /// A character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) {
        self.add(path, Node::Device { major, minor });
    }

    /// The archive's bytes, a multiple of 512: the kernel takes another archive right after them. Fails if a file is
    /// larger than the form can carry (4 GiB).
    pub fn write(&self) -> std::io::Result<Vec<u8>> {
        let mut out = Vec::new();
        // Inode numbers start at 1: 0 means "deleted" to some readers.
        for (inode, (path, node)) in (1u32..).zip(&self.nodes) {
            let (mode, links, data, device): (u32, u32, &[u8], (u32, u32)) = match node {
                Node::Directory => (0o040_755, 2, b"", (0, 0)),
                Node::File { mode, content } => (0o100_000 | mode, 1, content, (0, 0)),
                Node::Link(target) => (0o120_777, 1, target.as_bytes(), (0, 0)),
                Node::Device { major, minor } => (0o020_600, 1, b"", (*major, *minor)),
            };
            entry(&mut out, inode, path, mode, links, data, device)?;
        }
        entry(&mut out, 0, "TRAILER!!!", 0, 1, b"", (0, 0))?;
        pad(&mut out, 512);
        Ok(out)
    }
}

fn pad(out: &mut Vec<u8>, to: usize) {
    out.resize(out.len().next_multiple_of(to), 0);
}

fn entry(
    out: &mut Vec<u8>,
    inode: u32,
    path: &str,
    mode: u32,
    links: u32,
    data: &[u8],
    device: (u32, u32),
) -> std::io::Result<()> {
    if data.len() > SIZE_MAX || path.len() >= SIZE_MAX {
        return Err(std::io::Error::other(format!(
            "{path} is too large for cpio"
        )));
    }
    // In order: inode, mode, uid, gid, links, mtime, size, the file's device, its own device, name length, checksum.
    let fields = [
        inode,
        mode,
        0,
        0,
        links,
        0,
        data.len() as u32,
        0,
        0,
        device.0,
        device.1,
        path.len() as u32 + 1,
        0,
    ];
    out.write_all(b"070701")?;
    for field in fields {
        write!(out, "{field:08x}")?;
    }
    out.write_all(path.as_bytes())?;
    out.push(0);
    pad(out, 4);
    out.write_all(data)?;
    pad(out, 4);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sample() -> Archive {
        let mut archive = Archive::default();
        archive.file("/a/b/file", 0o755, b"hello\n".to_vec());
        archive.link("a/link", "b/file");
        archive.device("dev/console", 5, 1);
        archive
    }

    #[test]
    fn write_same_content_gives_same_bytes() {
        assert_eq!(sample().write().unwrap(), sample().write().unwrap());
    }

    #[test]
    fn write_archive_is_read_back_by_busybox_or_cpio() {
        if Command::new("cpio").arg("--version").output().is_err() {
            println!("SKIPPED: no cpio here");
            return;
        }
        let bytes = sample().write().unwrap();

        let mut cpio = Command::new("cpio")
            .args(["-i", "-t", "-v", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();

        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success());
        assert!(
            text.contains("-rwxr-xr-x") && text.contains("a/b/file"),
            "{text}"
        );
        assert!(text.contains("a/link -> b/file"), "{text}");
        assert!(
            text.contains("crw-------") && text.contains("5,   1"),
            "{text}"
        );
        assert_eq!(bytes.len() % 512, 0);
    }
}
