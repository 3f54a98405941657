//! Worker processes: started ahead of need, killed by their descriptor, always reaped.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use hesper_worker::channel::{Channel, FromWorker, HostDevice};

use crate::FrontError;

/// How long a fresh worker may take to load its driver.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// A started worker that waits for its `Init`. Killed and reaped when dropped.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    /// Our end of the channel.
    pub channel: Channel,
    /// The device it runs on.
    pub device: HostDevice,
}

impl WorkerProcess {
    fn start(exe: &PathBuf, device: Option<&str>) -> Result<Self, FrontError> {
        let (ours, theirs) = Channel::pair()?;
        let mut command = Command::new(exe);
        command.arg("worker");
        if let Some(device) = device {
            command.arg("--gpu").arg(device);
        }
        let child = command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()?;
        let mut process = Self {
            child,
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
        // Both fail only when the child is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
}

enum Request {
    /// A worker.
    Take(SyncSender<Result<WorkerProcess, FrontError>>),
    /// The device that workers run on.
    Device(SyncSender<Result<HostDevice, FrontError>>),
}

impl Spawner {
    /// Starts the thread, which starts a first worker at once and keeps one spare from then on.
    pub fn new(exe: PathBuf, device: Option<String>) -> Self {
        let (requests, receiver) = channel();
        std::thread::Builder::new()
            .name("spawner".into())
            .spawn(move || serve(&exe, device.as_deref(), &receiver))
            .map_err(|error| tracing::error!(%error, "No thread for workers"))
            .ok();
        Self { requests }
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

fn serve(exe: &PathBuf, device: Option<&str>, requests: &Receiver<Request>) {
    let mut spare = WorkerProcess::start(exe, device)
        .map_err(|error| tracing::warn!(%error, "First worker"))
        .ok();
    while let Ok(request) = requests.recv() {
        // A spare that died meanwhile answers its first packet with a closed channel; start anew.
        if let Some(worker) = &mut spare
            && !matches!(worker.child.try_wait(), Ok(None))
        {
            spare = None;
        }
        let worker = match spare.take() {
            Some(worker) => Ok(worker),
            None => WorkerProcess::start(exe, device),
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
        if spare.is_none() {
            spare = WorkerProcess::start(exe, device)
                .map_err(|error| tracing::warn!(%error, "Spare worker"))
                .ok();
        }
    }
}
