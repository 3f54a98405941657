//! Worker processes: started ahead of need, killed by their descriptor, always reaped.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hesper_log::guest_warn;
use hesper_worker::channel::{Channel, FromWorker, HostDevice};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use crate::FrontError;
use crate::context::lock;

/// How long a fresh worker may take to load its driver.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long nobody may ask for a worker before a spare that was taken is replaced.
const SPARE_PAUSE: Duration = Duration::from_millis(250);

/// Beginnings of the names in the environment that a worker gets: what loaders, drivers and we read. There are secrets among
/// the others, and drivers look all of them through at each submission.
const ENVIRONMENT: [&str; 22] = [
    "ACO_", "AMD_", "ANV_", "DRI_", "GALLI", "HESPER_", "HOME", "INTEL_", "LD_", "LIBGL_", "LP_",
    "MESA_", "NIR_", "NOUVEAU_", "NVIDIA_", "NVK_", "PATH", "RADV_", "RUST_", "VK_", "XDG_", "__",
];

fn is_passed(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    ENVIRONMENT
        .iter()
        .any(|begin| name.starts_with(begin.as_bytes()))
}

/// How workers are started.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The program.
    pub exe: PathBuf,
    /// Part of the host device's name.
    pub gpu: Option<String>,
    /// How strictly it is confined.
    pub sandbox: hesper_sandbox::Mode,
}

/// The workers that run, whoever holds them, so that all can be ended at once.
#[derive(Debug, Default)]
pub struct Workers(Mutex<Running>);

#[derive(Debug, Default)]
struct Running {
    closed: bool,
    pids: HashSet<u32>,
}

impl Workers {
    /// Starts a process and counts it, unless all were ended.
    fn spawn(&self, command: &mut Command) -> Result<Child, FrontError> {
        // Held over the start, so that nothing starts behind the back of whoever ends all.
        let mut running = lock(&self.0);
        if running.closed {
            return Err(FrontError::Closed);
        }
        let child = command.spawn()?;
        running.pids.insert(child.id());
        Ok(child)
    }

    /// Kills a worker that nobody else has killed.
    fn kill(&self, child: &mut Child) {
        {
            let mut running = lock(&self.0);
            if !running.pids.remove(&child.id()) {
                return;
            }
            // Fails only when the child is gone already.
            let _ = child.kill();
        }
        let _ = child.wait();
    }

    /// True once all were ended.
    pub fn is_closed(&self) -> bool {
        lock(&self.0).closed
    }

    /// Kills all workers and reaps them, as far as they go within `limit`; no more are started.
    pub fn end(&self, limit: Duration) {
        let pids: Vec<_> = {
            let mut running = lock(&self.0);
            running.closed = true;
            // A pid is taken out before its process is reaped, so these are still our children.
            let pids: Vec<_> = running
                .pids
                .drain()
                .map(|pid| Pid::from_raw(pid as i32))
                .collect();
            for pid in &pids {
                let _ = kill(*pid, Signal::SIGKILL);
            }
            pids
        };
        let started = Instant::now();
        for pid in pids {
            while waitpid(pid, Some(WaitPidFlag::WNOHANG))
                .is_ok_and(|status| status.pid().is_none())
            {
                if started.elapsed() > limit {
                    guest_warn!(%pid, "A worker does not go");
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// A started worker that waits for its `Init`. Killed and reaped when dropped.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    workers: Arc<Workers>,
    /// Our end of the channel.
    pub channel: Channel,
    /// The device it runs on.
    pub device: HostDevice,
}

impl WorkerProcess {
    fn start(how: &WorkerCommand, workers: &Arc<Workers>) -> Result<Self, FrontError> {
        let (ours, theirs) = Channel::pair()?;
        let mut command = Command::new(&how.exe);
        command.args(["worker", "--sandbox", how.sandbox.name()]);
        command
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| is_passed(name)));
        // Shaders of one context are none of another's business, and there is nowhere to write.
        command
            .env("MESA_SHADER_CACHE_DISABLE", "true")
            .env("__GL_SHADER_DISK_CACHE", "0");
        if let Some(gpu) = &how.gpu {
            command.arg("--gpu").arg(gpu);
        }
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null());
        let child = workers.spawn(&mut command)?;
        // Holds a copy of their end.
        drop(command);
        let mut process = Self {
            child,
            workers: Arc::clone(workers),
            channel: ours,
            device: HostDevice::default(),
        };
        let started = Instant::now();
        let mut buffer = Vec::new();
        loop {
            let left = READY_TIMEOUT.saturating_sub(started.elapsed());
            match process
                .channel
                .receive::<FromWorker>(&mut buffer, Some(left))?
            {
                Some((FromWorker::Ready(device), _)) => {
                    process.device = device;
                    return Ok(process);
                }
                Some((FromWorker::Fatal(reason), _)) => {
                    return Err(FrontError::Worker { ctx_id: 0, reason });
                }
                Some(_) => {}
                None if left.is_zero() => {
                    return Err(FrontError::Worker {
                        ctx_id: 0,
                        reason: "did not start in time".into(),
                    });
                }
                None => {}
            }
        }
    }

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the worker and reaps it.
    pub fn kill(&mut self) {
        self.workers.kill(&mut self.child);
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts workers on one thread that lives as long as the process: a worker asks the kernel to be
/// killed with its parent, and the kernel means the parent *thread* by that.
#[derive(Debug)]
pub struct Spawner {
    requests: Sender<Request>,
    workers: Arc<Workers>,
}

enum Request {
    /// A worker.
    Take(SyncSender<Result<WorkerProcess, FrontError>>),
    /// The device that workers run on.
    Device(SyncSender<Result<HostDevice, FrontError>>),
}

impl Spawner {
    /// Starts the thread, which starts a first worker at once and keeps one spare from then on. A spare that was taken is
    /// replaced a little later: whoever took it has much to do at first.
    pub fn new(how: WorkerCommand) -> Self {
        let (requests, receiver) = channel();
        let workers = Arc::new(Workers::default());
        let started = Arc::clone(&workers);
        std::thread::Builder::new()
            .name("spawner".into())
            .spawn(move || serve(&how, &started, &receiver))
            .map_err(|error| tracing::error!(%error, "No thread for workers"))
            .ok();
        Self { requests, workers }
    }

    /// The workers that run.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// A worker that is ready.
    ///
    /// # Errors
    /// [`FrontError`] when it did not start.
    pub fn take(&self) -> Result<WorkerProcess, FrontError> {
        self.ask(Request::Take)
    }

    /// The device that workers run on.
    ///
    /// # Errors
    /// [`FrontError`] when no worker starts.
    pub fn device(&self) -> Result<HostDevice, FrontError> {
        self.ask(Request::Device)
    }

    fn ask<T>(
        &self,
        request: impl FnOnce(SyncSender<Result<T, FrontError>>) -> Request,
    ) -> Result<T, FrontError> {
        let (sender, answer) = sync_channel(1);
        let gone = || FrontError::Worker {
            ctx_id: 0,
            reason: "The thread that starts workers is gone".into(),
        };
        self.requests.send(request(sender)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

fn serve(how: &WorkerCommand, workers: &Arc<Workers>, requests: &Receiver<Request>) {
    let start = |what: &str| {
        let started = Instant::now();
        let worker = WorkerProcess::start(how, workers);
        match &worker {
            Ok(_) => tracing::info!(took = ?started.elapsed(), "{what} is ready"),
            Err(error) => guest_warn!(%error, "{what}"),
        }
        worker
    };
    let mut spare = start("The first worker").ok();
    let mut wanted = spare.is_none();
    loop {
        let request = if wanted && !workers.is_closed() {
            requests.recv_timeout(SPARE_PAUSE)
        } else {
            requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        let request = match request {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) => {
                spare = start("A spare worker").ok();
                // One that does not start is tried again when somebody asks.
                wanted = false;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        // A spare that died meanwhile answers its first packet with a closed channel; start anew.
        if let Some(worker) = &mut spare
            && !matches!(worker.child.try_wait(), Ok(None))
        {
            spare = None;
        }
        let worker = match spare.take() {
            Some(worker) => Ok(worker),
            None => start("A worker"),
        };
        // Whoever asked may have gone meanwhile.
        match request {
            Request::Take(answer) => {
                let _ = answer.send(worker);
            }
            Request::Device(answer) => {
                let _ = answer.send(worker.map(|worker| {
                    let device = worker.device.clone();
                    spare = Some(worker);
                    device
                }));
            }
        }
        wanted = spare.is_none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_gets_what_drivers_read_and_no_secrets() {
        for name in [
            "VK_DRIVER_FILES",
            "LP_NUM_THREADS",
            "__GL_SHADER_DISK_CACHE",
            "LD_LIBRARY_PATH",
        ] {
            assert!(is_passed(OsStr::new(name)), "{name}");
        }
        for name in ["AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "TOKEN", ""] {
            assert!(!is_passed(OsStr::new(name)), "{name}");
        }
    }
}
