//! `hesperd`: the vGPU device process of one VM, or the vtest server of a host.
//!
//! Exit codes: 0 after the front end went or SIGTERM, 1 for an error (told once on stderr), 2 for
//! a wrong command line.

mod control;

use std::error::Error as _;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use hesper_device::{Deadlines, DeviceConfig};
use hesper_front::{Audit, Front, FrontConfig};

#[derive(Debug, Parser)]
#[command(
    version,
    about = "Hesper: a KVM/QEMU paravirtual vGPU with checkpoints"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Mode>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Mode {
    /// Serve one context over stdin; started by hesperd itself
    #[command(hide = true)]
    Worker {
        /// Part of the host device's name
        #[arg(long)]
        gpu: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Serve {
    /// Serve one QEMU as its vhost-user virtio-gpu device on a socket
    #[arg(long, value_name = "PATH", requires = "window_socket")]
    socket_path: Option<PathBuf>,
    /// Socket of the window channel that goes with --socket-path
    #[arg(long, value_name = "PATH")]
    window_socket: Option<PathBuf>,
    /// Socket for `hesper status` and its like
    #[arg(long, value_name = "PATH")]
    control_socket: Option<PathBuf>,
    /// Serve vtest clients of this host on a socket
    #[arg(long, value_name = "PATH")]
    vtest_socket: Option<PathBuf>,
    /// Part of the host device's name, to pick one
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Work that makes no progress for this long hangs, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    hang_timeout: u64,
    /// Device-local memory that one context may hold, MiB
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    device_memory_max: u64,
    /// Check every submission against the audit (slow)
    #[arg(long)]
    oracle: bool,
    /// How much of the audit works: on, unmarked, off, blind:COMMAND
    #[arg(long, default_value = "on", hide = true)]
    audit: Audit,
    /// Allow faults to be injected through the control socket
    #[arg(long)]
    fault_injection: bool,
}

/// Why hesperd ends with an error.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("Give either --socket-path with --window-socket, or --vtest-socket")]
    Nothing,
    #[error("Own program: {0}")]
    Exe(std::io::Error),
    #[error("Standard input: {0}")]
    Stdin(std::io::Error),
    #[error(transparent)]
    Control(#[from] hesper_control::ControlError),
    #[error(transparent)]
    Device(#[from] hesper_device::DeviceError),
    #[error(transparent)]
    Vtest(#[from] hesper_vtest::VtestError),
    #[error(transparent)]
    Worker(#[from] hesper_worker::RunError),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HESPER_LOG")
                .unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let done = match cli.command {
        Some(Mode::Worker { gpu }) => worker(gpu.as_deref()),
        None => serve(&cli.serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = format!("hesperd: {error}");
            let mut cause = error.source();
            while let Some(inner) = cause {
                text.push_str(&format!(": {inner}"));
                cause = inner.source();
            }
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn worker(gpu: Option<&str>) -> Result<(), Error> {
    // Killed with the process that started us, whatever the driver is doing.
    let parent = nix::unistd::getppid();
    if let Err(error) = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL) {
        tracing::warn!(%error, "No death signal");
    }
    if nix::unistd::getppid() != parent {
        return Ok(());
    }
    let fd = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(Error::Stdin)?;
    Ok(hesper_worker::run(fd, gpu)?)
}

/// Lets this process and its workers open as many descriptors as they may: every memory file costs one.
fn raise_descriptor_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE)
        .and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        tracing::warn!(%error, "Limit of descriptors");
    }
}

fn serve(options: &Serve) -> Result<(), Error> {
    raise_descriptor_limit();
    let front = Front::new(FrontConfig {
        worker_exe: std::env::current_exe().map_err(Error::Exe)?,
        gpu: options.gpu.clone(),
        hang_timeout: Duration::from_millis(options.hang_timeout),
        oracle: options.oracle,
        audit: options.audit.clone(),
        fault_injection: options.fault_injection,
        device_memory_max: options.device_memory_max << 20,
    });
    // Lives as long as the device is served: dropping it removes the socket.
    let _control = match &options.control_socket {
        Some(path) => Some(control::serve(path, &front)?),
        None => None,
    };
    match (
        &options.socket_path,
        &options.window_socket,
        &options.vtest_socket,
    ) {
        (Some(socket), Some(window), None) => {
            let config = DeviceConfig {
                socket: socket.clone().into(),
                window_socket: window.clone().into(),
                deadlines: Deadlines::default(),
            };
            let served = hesper_device::serve(config, Arc::new(front.clone()));
            front.reset();
            Ok(served?)
        }
        (None, _, Some(path)) => Ok(hesper_vtest::serve(path, &front)?),
        _ => Err(Error::Nothing),
    }
}
