//! What hesperd can be told, on the command line and in a config file.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use hesper_device::DeviceLimits;
use hesper_front::{Audit, Quotas};
use serde::Deserialize;

/// Read when no other is named, if it is there: libvirt starts back ends without options.
pub const DEFAULT_CONFIG: &str = "/etc/hesper/hesperd.json";
/// Longest config file, bytes.
const CONFIG_LEN_MAX: u64 = 1 << 20;

/// The options. In a config file, a JSON object, they have the same names, without the dashes in
/// front; the command line goes first.
#[derive(Clone, Debug, Default, Args, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Serve one QEMU as its vhost-user virtio-gpu device on a socket
    #[arg(long, value_name = "PATH", conflicts_with = "fd")]
    pub socket_path: Option<PathBuf>,
    /// As --socket-path, on an inherited socket, which listens or is connected
    #[arg(long, value_name = "FDNUM")]
    pub fd: Option<i32>,
    /// Socket of the window channel that goes with --socket-path or --fd where QEMU has Hesper's device
    #[arg(long, value_name = "PATH", conflicts_with = "window_size")]
    pub window_socket: Option<PathBuf>,
    /// Without --window-socket: the guest's window in unmodified QEMU 11.1 or newer, MiB; a power of two [default: 256]
    #[arg(long, value_name = "MIB")]
    pub window_size: Option<u64>,
    /// Socket for `hesper status` and its like
    #[arg(long, value_name = "PATH")]
    pub control_socket: Option<PathBuf>,
    /// Serve vtest clients of this host on a socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["fd", "socket_path"])]
    pub vtest_socket: Option<PathBuf>,
    /// Part of the host device's name, to pick one
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Work that makes no progress for this long hangs, milliseconds [default: 10000, for vtest 60000]
    #[arg(long, value_name = "MS")]
    pub hang_timeout: Option<u64>,
    /// Device-local memory that all contexts together may hold, MiB [default: 4096]
    #[arg(long, value_name = "MIB")]
    pub device_memory_max: Option<u64>,
    /// Host-visible memory that all vtest clients together may hold, MiB [default: 4096]
    #[arg(long, value_name = "MIB")]
    pub host_memory_max: Option<u64>,
    /// Memory of a VM's blobs, MiB [default: its window]
    #[arg(long, value_name = "MIB")]
    pub blob_memory_max: Option<u64>,
    /// Contexts of a VM, or vtest clients [default and maximum: 64]
    #[arg(long, value_name = "N")]
    pub contexts_max: Option<usize>,
    /// Resources of a VM [default and maximum: 65536]
    #[arg(long, value_name = "N")]
    pub resources_max: Option<usize>,
    /// Blobs of a VM that may be mapped into its window at a time [default: 4096]
    #[arg(long, value_name = "N")]
    pub maps_max: Option<usize>,
    /// How hesperd and its workers are confined (seccomp, landlock) [default: on]
    #[arg(long, value_name = "MODE")]
    pub sandbox: Option<Sandbox>,
    /// Check every submission against the audit (slow)
    #[arg(long)]
    pub oracle: bool,
    /// How much of the audit works: on, unmarked, off, blind:COMMAND [default: on]
    #[arg(long, hide = true)]
    #[serde(skip)]
    pub audit: Option<Audit>,
    /// Allow faults to be injected through the control socket
    #[arg(long)]
    pub fault_injection: bool,
}

/// How strictly to confine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// What is not allowed fails
    #[default]
    On,
    /// The kernel logs calls that are not allowed, and makes them
    Log,
    /// Nothing is confined
    Off,
}

impl From<Sandbox> for hesper_sandbox::Mode {
    fn from(sandbox: Sandbox) -> Self {
        match sandbox {
            Sandbox::On => Self::On,
            Sandbox::Log => Self::Log,
            Sandbox::Off => Self::Off,
        }
    }
}

impl Options {
    /// These, and where they say nothing, those `below`.
    fn over(self, below: Self) -> Self {
        // A socket on the command line replaces whatever is served by the config file.
        let served = self.socket_path.is_some() || self.fd.is_some() || self.vtest_socket.is_some();
        let or = |ours: Option<PathBuf>, theirs| if served { ours } else { ours.or(theirs) };
        Self {
            socket_path: or(self.socket_path, below.socket_path),
            vtest_socket: or(self.vtest_socket, below.vtest_socket),
            fd: if served { self.fd } else { below.fd },
            // They exclude each other: what the command line has of them replaces both.
            window_socket: match self.window_size {
                Some(_) => None,
                None => self.window_socket.clone().or(below.window_socket),
            },
            window_size: match self.window_socket {
                Some(_) => None,
                None => self.window_size.or(below.window_size),
            },
            control_socket: self.control_socket.or(below.control_socket),
            gpu: self.gpu.or(below.gpu),
            hang_timeout: self.hang_timeout.or(below.hang_timeout),
            device_memory_max: self.device_memory_max.or(below.device_memory_max),
            host_memory_max: self.host_memory_max.or(below.host_memory_max),
            blob_memory_max: self.blob_memory_max.or(below.blob_memory_max),
            contexts_max: self.contexts_max.or(below.contexts_max),
            resources_max: self.resources_max.or(below.resources_max),
            maps_max: self.maps_max.or(below.maps_max),
            sandbox: self.sandbox.or(below.sandbox),
            oracle: self.oracle || below.oracle,
            audit: self.audit.or(below.audit),
            fault_injection: self.fault_injection || below.fault_injection,
        }
    }

    /// What all contexts of a front together may have.
    pub fn quotas(&self) -> Quotas {
        let default = Quotas::default();
        let bytes =
            |mib: Option<u64>, default| mib.map_or(default, |mib| mib.saturating_mul(1 << 20));
        Quotas {
            contexts_max: self.contexts_max.unwrap_or(default.contexts_max),
            blob_memory_max: bytes(self.blob_memory_max, default.blob_memory_max),
            device_memory_max: bytes(self.device_memory_max, default.device_memory_max),
            host_memory_max: bytes(self.host_memory_max, default.host_memory_max),
        }
    }

    /// What the device of a VM may have.
    pub fn device_limits(&self) -> DeviceLimits {
        let default = DeviceLimits::default();
        DeviceLimits {
            contexts_max: self.contexts_max.unwrap_or(default.contexts_max),
            resources_max: self.resources_max.unwrap_or(default.resources_max),
            maps_max: self.maps_max.unwrap_or(default.maps_max),
        }
    }

    /// Adds what a config file says: the one named, or the default one if it is there.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that can't be read or says something unknown.
    pub fn with_config(self, named: Option<&Path>) -> Result<Self, ConfigError> {
        let path = named.unwrap_or(Path::new(DEFAULT_CONFIG));
        let text = match read(path) {
            Ok(text) => text,
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(self);
            }
            Err(source) => {
                return Err(ConfigError::Read {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let below = serde_json::from_slice(&text).map_err(|source| ConfigError::Parse {
            path: path.to_owned(),
            source,
        })?;
        Ok(self.over(below))
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut text = Vec::new();
    std::fs::File::open(path)?
        .take(CONFIG_LEN_MAX)
        .read_to_end(&mut text)?;
    Ok(text)
}

/// Why a config file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It can't be read.
    #[error("Config file {path}")]
    Read {
        /// Which one.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// It isn't what it should be.
    #[error("Config file {path}")]
    Parse {
        /// Which one.
        path: PathBuf,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Options {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn command_line_goes_before_the_file() {
        let below = file(r#"{"gpu": "a", "hang-timeout": 5, "oracle": true}"#);
        let ours = Options {
            gpu: Some("b".into()),
            ..Options::default()
        };
        let both = ours.over(below);
        assert_eq!(both.gpu.as_deref(), Some("b"));
        assert_eq!(both.hang_timeout, Some(5));
        assert!(both.oracle);
    }

    #[test]
    fn socket_of_the_command_line_replaces_that_of_the_file() {
        let below = file(r#"{"vtest-socket": "/v", "window-socket": "/w"}"#);
        let ours = Options {
            fd: Some(3),
            ..Options::default()
        };
        let both = ours.over(below);
        assert_eq!(both.fd, Some(3));
        assert_eq!(both.vtest_socket, None);
        assert_eq!(both.window_socket, Some("/w".into()));
    }

    #[test]
    fn window_of_the_command_line_replaces_the_other_kind_of_the_file() {
        let size = || Options {
            window_size: Some(64),
            ..Options::default()
        };
        let socket = || Options {
            window_socket: Some("/w".into()),
            ..Options::default()
        };

        let sized = size().over(socket());
        assert_eq!((sized.window_size, sized.window_socket), (Some(64), None));
        let socketed = socket().over(size());
        assert_eq!(
            (socketed.window_size, socketed.window_socket),
            (None, Some("/w".into()))
        );
    }

    #[test]
    fn unknown_name_is_refused() {
        assert!(serde_json::from_str::<Options>(r#"{"oracel": true}"#).is_err());
    }
}
