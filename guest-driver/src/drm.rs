//! The kernel's side of the virtual GPU: DRM nodes, virtio-gpu parameters, the kernel log.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// `DRM_IOCTL_VIRTGPU_GETPARAM`: _IOWR('d', 0x43, 16 bytes), from `virtgpu_drm.h`.
const GETPARAM: libc::c_ulong = 0xc010_6443;

/// The parameters of `virtgpu_drm.h`, with the names that the kernel log uses.
pub const PARAMETERS: [(u64, &str); 6] = [
    (1, "virgl (3D commands)"),
    (2, "capset query fix"),
    (3, "resource_blob"),
    (4, "host_visible"),
    (5, "resource_uuid / cross device"),
    (6, "context_init"),
];
const SUPPORTED_CAPSETS: u64 = 7;
/// Bit of the Venus capability set in the parameter of supported sets.
const CAPSET_VENUS: u64 = 1 << 4;

/// A DRM node.
#[derive(Debug)]
pub struct Node {
    /// As `/dev/dri/renderD128`.
    pub path: PathBuf,
    /// Name of the kernel driver; empty if unknown.
    pub driver: String,
}

/// All DRM nodes that the kernel made (`/sys/class/drm`), cards and render nodes.
pub fn nodes() -> Vec<Node> {
    let Ok(entries) = fs::read_dir("/sys/class/drm") else {
        return Vec::new();
    };
    let mut nodes: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // Connectors are called card0-Virtual-1.
            let is_node =
                (name.starts_with("card") || name.starts_with("renderD")) && !name.contains('-');
            is_node.then(|| Node {
                path: Path::new("/dev/dri").join(&name),
                driver: driver(&entry.path()).unwrap_or_default(),
            })
        })
        .collect();
    nodes.sort_by(|a, b| a.path.cmp(&b.path));
    nodes
}

fn driver(class: &Path) -> Option<String> {
    let link = fs::read_link(class.join("device/driver")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

/// Parameter values of a virtio-gpu node: `PARAMETERS` in order, then whether it offers Venus.
pub fn parameters(node: &Path) -> std::io::Result<(Vec<bool>, Option<bool>)> {
    let file = File::options().read(true).write(true).open(node)?;
    let values = PARAMETERS
        .iter()
        .map(|(number, _)| parameter(&file, *number).is_some_and(|value| value != 0))
        .collect();
    let venus = parameter(&file, SUPPORTED_CAPSETS).map(|sets| sets & CAPSET_VENUS != 0);
    Ok((values, venus))
}

/// `struct drm_virtgpu_getparam`.
#[repr(C)]
struct GetParam {
    number: u64,
    value: u64,
}

fn parameter(file: &File, number: u64) -> Option<u64> {
    let mut value = 0u64;
    let mut request = GetParam {
        number,
        value: &raw mut value as u64,
    };
    // SAFETY: the kernel reads 16 bytes of `request` and writes an int to `value`; both live
    // across the call. On a node of another driver the number is unknown and nothing is written.
    let rc = unsafe { libc::ioctl(file.as_raw_fd(), GETPARAM, &raw mut request) };
    (rc == 0).then_some(value)
}

/// Lines of the kernel log that speak of virtio-gpu, without their time stamps; None if the log
/// can't be read.
pub fn log_lines() -> Option<Vec<String>> {
    const READ_ALL: libc::c_int = 3;
    const SIZE_BUFFER: libc::c_int = 10;
    // SAFETY: this action takes no buffer.
    let size = unsafe { libc::klogctl(SIZE_BUFFER, std::ptr::null_mut(), 0) };
    let mut log = vec![0u8; usize::try_from(size).ok()?.min(16 << 20)];
    // SAFETY: the kernel writes at most the length given, which fits an int by the limit above.
    let got = unsafe { libc::klogctl(READ_ALL, log.as_mut_ptr().cast(), log.len() as i32) };
    log.truncate(usize::try_from(got).ok()?);
    let text = String::from_utf8_lossy(&log);
    Some(
        text.lines()
            .filter(|line| line.contains("virtio_gpu") || line.contains("virtio-gpu"))
            .map(|line| match line.split_once("] ") {
                Some((_, rest)) => rest.to_owned(),
                None => line.to_owned(),
            })
            .collect(),
    )
}
