//! `hesperd`: the vGPU device process of one VM, or the vtest server of a host.
//!
//! Exit codes: 0 after the front end went, SIGTERM or SIGINT; 1 for an error (told once, in one
//! line, on stderr); 2 for a wrong command line.

/// Of the whole process, the driver's code included (it takes malloc's name): Mesa's CPU driver allocates for each
/// workgroup, which takes glibc up to a fifth of a dispatch.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod control;
mod options;
mod sockets;

use std::error::Error as _;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hesper_device::{Deadlines, DeviceConfig, Figures, WindowConfig};
use hesper_front::{Front, FrontConfig};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::options::{Options, Sandbox};
use crate::sockets::SocketFiles;

/// The window in front ends that know nothing of Hesper, and the largest one, MiB.
const WINDOW_MIB: u64 = 256;
const WINDOW_MIB_MAX: u64 = 1 << 20;
/// How long workers may take to go when we end, after SIGKILL.
const END_LIMIT: Duration = Duration::from_millis(500);

/// How long work may make no progress, unless told otherwise: a VM is watched by somebody who takes over.
const HANG_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for a vtest client, who is ended then: far longer than a driver on a CPU compiles shaders.
const HANG_TIMEOUT_VTEST: Duration = Duration::from_secs(60);

#[derive(Debug, Parser)]
#[command(
    version,
    about = "Hesper: a KVM/QEMU paravirtual vGPU with checkpoints"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Mode>,
    /// Print what this back end can do, as QEMU's vhost-user.json describes, and end
    #[arg(long)]
    print_capabilities: bool,
    /// A JSON object of options [default: /etc/hesper/hesperd.json if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum Mode {
    /// Serve one context over stdin; started by hesperd itself
    #[command(hide = true)]
    Worker {
        /// Part of the host device's name
        #[arg(long)]
        gpu: Option<String>,
        /// How to be confined
        #[arg(long, default_value = "on")]
        sandbox: Sandbox,
    },
    /// Confine oneself and tell what is refused then; for tests
    #[command(hide = true)]
    Probe {
        /// `front` or `worker`
        role: String,
        /// A file that is there
        file: String,
    },
}

/// Why hesperd ends with an error.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("Give one of --socket-path, --fd and --vtest-socket")]
    Usage,
    #[error("--window-size {0}: not a power of two up to {WINDOW_MIB_MAX} MiB")]
    WindowSize(u64),
    #[error("Both window-socket and window-size")]
    Windows,
    #[error(transparent)]
    Config(#[from] options::ConfigError),
    #[error("Own program")]
    Exe(#[source] std::io::Error),
    #[error("Standard input")]
    Stdin(#[source] std::io::Error),
    #[error("Signals")]
    Signals(#[source] std::io::Error),
    #[error("Socket {0}")]
    Socket(String, #[source] std::io::Error),
    #[error(transparent)]
    Control(#[from] hesper_control::ControlError),
    #[error(transparent)]
    Device(#[from] hesper_device::DeviceError),
    #[error(transparent)]
    Vtest(#[from] hesper_vtest::VtestError),
    #[error(transparent)]
    Worker(#[from] hesper_worker::RunError),
    #[error(transparent)]
    Sandbox(#[from] hesper_sandbox::SandboxError),
    #[error("A confined process lacks what it needs: {0}")]
    Lacks(String),
}

fn main() -> ExitCode {
    // Whatever else is asked for, this is all that is done then.
    if std::env::args_os().any(|argument| argument == "--print-capabilities") {
        // No features: they stand for options of the reference back end, which we don't have.
        println!("{}", serde_json::json!({"type": "gpu", "features": []}));
        return ExitCode::SUCCESS;
    }
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HESPER_LOG")
                .unwrap_or_else(|_| "warn".into()),
        )
        .with_writer(std::io::stderr)
        .init();
    let done = match cli.command {
        Some(Mode::Worker { gpu, sandbox }) => worker(gpu.as_deref(), sandbox.into()),
        Some(Mode::Probe { role, file }) => probe(&role, &file),
        None => cli
            .options
            .with_config(cli.config.as_deref())
            .map_err(Error::from)
            .and_then(|options| serve(&options)),
    };
    let error = match done {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    let mut text = format!("hesperd: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    eprintln!("{}", text.replace('\n', " "));
    match error {
        Error::Usage | Error::WindowSize(_) | Error::Windows => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}

fn worker(gpu: Option<&str>, sandbox: hesper_sandbox::Mode) -> Result<(), Error> {
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
    Ok(hesper_worker::run(fd, gpu, sandbox)?)
}

/// Prints, a line each, what was tried and what the kernel said to it.
fn probe(role: &str, file: &str) -> Result<(), Error> {
    use hesper_sandbox::{Files, Mode, Role, confine, probe};
    let worker = role == "worker";
    let role = if worker { Role::Worker } else { Role::Front };
    let confined = confine(role, Mode::On, &Files::default())?;
    probe::needed().map_err(Error::Lacks)?;
    let attempts = if worker {
        probe::refused_to_workers(file)
    } else {
        probe::refused_to_all()
    };
    println!("landlock\t{}", confined.files);
    for (what, outcome) in attempts {
        match outcome {
            Ok(()) => println!("{what}\tdone"),
            Err(error) => println!("{what}\t{error:?}"),
        }
    }
    Ok(())
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

/// What there is to serve, with its sockets made.
enum Served {
    Device(DeviceConfig),
    Vtest(std::os::unix::net::UnixListener),
}

impl Served {
    fn prepare(
        options: &Options,
        files: &SocketFiles,
        figures: &Arc<Figures>,
    ) -> Result<Self, Error> {
        let listen = |path: &PathBuf| {
            files
                .listen(path)
                .map_err(|error| Error::Socket(path.display().to_string(), error))
        };
        let size = options.window_size.unwrap_or(WINDOW_MIB);
        if !size.is_power_of_two() || size > WINDOW_MIB_MAX {
            return Err(Error::WindowSize(size));
        }
        let socket = match (&options.socket_path, options.fd, &options.vtest_socket) {
            (None, None, Some(path)) => return Ok(Self::Vtest(listen(path)?)),
            (Some(path), None, None) => listen(path)?,
            (None, Some(fd), None) => sockets::inherited(fd)
                .map_err(|error| Error::Socket(format!("of --fd {fd}"), error))?,
            _ => return Err(Error::Usage),
        };
        let window = match (&options.window_socket, options.window_size) {
            (Some(path), None) => WindowConfig::Channel(listen(path)?.into()),
            (Some(_), Some(_)) => return Err(Error::Windows),
            (None, _) => WindowConfig::SharedMemory { len: size << 20 },
        };
        Ok(Self::Device(DeviceConfig {
            socket: socket.into(),
            window,
            deadlines: Deadlines::default(),
            limits: options.device_limits(),
            figures: Arc::clone(figures),
        }))
    }
}

fn serve(options: &Options) -> Result<(), Error> {
    raise_descriptor_limit();
    // From here on a signal is kept until there is a thread that heeds it.
    let signals = Signals::new([SIGTERM, SIGINT]).map_err(Error::Signals)?;
    let files = Arc::new(SocketFiles::default());
    let figures = Arc::new(Figures::default());
    let served = Served::prepare(options, &files, &figures)?;
    let sandbox = options.sandbox.unwrap_or_default().into();
    // Before any thread but those that pass messages on, which open nothing.
    confine_front(sandbox, options)?;
    let front = Front::new(FrontConfig {
        worker_exe: std::env::current_exe().map_err(Error::Exe)?,
        sandbox,
        gpu: options.gpu.clone(),
        hang_timeout: options.hang_timeout.map_or(
            match &served {
                Served::Device(_) => HANG_TIMEOUT,
                Served::Vtest(_) => HANG_TIMEOUT_VTEST,
            },
            Duration::from_millis,
        ),
        oracle: options.oracle,
        audit: options.audit.clone().unwrap_or_default(),
        fault_injection: options.fault_injection,
        quotas: options.quotas(),
    });
    end_on_signal(signals, &front, &files)?;
    let done = serve_on(served, options, &front, &files, &figures);
    front.shut_down(END_LIMIT);
    files.remove();
    done
}

fn confine_front(mode: hesper_sandbox::Mode, options: &Options) -> Result<(), Error> {
    let exe = std::env::current_exe().map_err(Error::Exe)?;
    let sockets = [
        &options.socket_path,
        &options.window_socket,
        &options.control_socket,
        &options.vtest_socket,
    ];
    let folder = |path: &PathBuf| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let files = hesper_sandbox::Files {
        // Workers load the driver that the environment names.
        read: hesper_sandbox::driver_files(),
        execute: vec![exe],
        sockets: sockets.into_iter().flatten().map(folder).collect(),
    };
    let confined = hesper_sandbox::confine(hesper_sandbox::Role::Front, mode, &files)?;
    match (mode, confined.files) {
        (hesper_sandbox::Mode::On, false) => {
            tracing::warn!("No landlock in this kernel: files are not confined");
        }
        (hesper_sandbox::Mode::On, true) => {}
        _ => tracing::warn!("Not confined: --sandbox={}", mode.name()),
    }
    Ok(())
}

fn serve_on(
    served: Served,
    options: &Options,
    front: &Front,
    files: &SocketFiles,
    figures: &Arc<Figures>,
) -> Result<(), Error> {
    // Lives as long as the device is served: dropping it removes the socket.
    let _control = match &options.control_socket {
        Some(path) => {
            let server = control::serve(path, front, figures)?;
            files.add(path);
            Some(server)
        }
        None => None,
    };
    match served {
        Served::Device(config) => Ok(hesper_device::serve(config, Arc::new(front.clone()))?),
        Served::Vtest(listener) => Ok(hesper_vtest::serve(&listener, front)?),
    }
}

/// Starts the thread that ends everything when a signal says so.
fn end_on_signal(
    mut signals: Signals,
    front: &Front,
    files: &Arc<SocketFiles>,
) -> Result<(), Error> {
    let (front, files) = (front.clone(), Arc::clone(files));
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if let Some(signal) = signals.forever().next() {
                tracing::info!(signal, "Ending");
                files.remove();
                front.shut_down(END_LIMIT);
                // Other threads may be anywhere, a driver call included: nothing is unwound.
                std::process::exit(0);
            }
        })
        .map(drop)
        .map_err(Error::Signals)
}
