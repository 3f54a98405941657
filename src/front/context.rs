//! One context as the front sees it: a worker process, and a thread that listens to it.

use std::collections::HashMap;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hesper_image::Extent;
use hesper_log::{Guest, guest_error};
use hesper_worker::channel::{Area, Channel, FromWorker, ToWorker};

use crate::FrontError;
use crate::front::Shared;
use crate::process::WorkerProcess;

/// An answer and the descriptors that came with it.
pub type Answer = (FromWorker, Vec<OwnedFd>);

/// A lock whose holder panicked guards state that is still whole: every update is one call.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The range of a resource that is gone, while workers may still look at it: a ring is polled until the worker hears that it
/// is no more. Given back when the last one has left.
pub struct Leaving {
    extent: Extent,
    shared: Weak<Shared>,
    /// The arena holds an image by now, and this range is whatever that says.
    forgotten: AtomicBool,
}

impl Leaving {
    /// Of a resource that no table names any more.
    pub(crate) fn new(extent: Extent, shared: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            extent,
            shared: Arc::downgrade(shared),
            forgotten: AtomicBool::new(false),
        })
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }
}

impl std::fmt::Debug for Leaving {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Leaving").field(&self.extent).finish()
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if !self.forgotten.load(Ordering::Relaxed)
            && let Some(shared) = self.shared.upgrade()
            && let Err(error) = shared.release(Area::Window, self.extent)
        {
            guest_error!(%error, "Range of a resource");
        }
    }
}

/// A context.
#[derive(Debug)]
pub struct Context {
    /// Context id.
    pub ctx_id: u32,
    /// Whose it is, for logs.
    pub guest: Guest,
    channel: Channel,
    process: Mutex<WorkerProcess>,
    pending: Mutex<HashMap<u64, SyncSender<Answer>>>,
    next_request: AtomicU64,
    lost: AtomicBool,
    /// Ranges of the arena that the worker asked for.
    pub ranges: Mutex<Vec<(Area, Extent)>>,
    /// Ranges of resources that the worker was told to leave, by request.
    leaving: Mutex<HashMap<u64, Arc<Leaving>>>,
    /// Rings that the worker serves or has served: resource and offset of the status word.
    pub rings: Mutex<Vec<(u32, u64)>>,
}

impl Context {
    /// Takes over a started worker.
    ///
    /// # Errors
    /// [`FrontError::Spawn`] when the channel can't be duplicated.
    pub fn new(ctx_id: u32, guest: Guest, process: WorkerProcess) -> Result<Arc<Self>, FrontError> {
        let channel = Channel::from_fd(process.channel.fd().try_clone()?)?;
        Ok(Arc::new(Self {
            ctx_id,
            guest,
            channel,
            process: Mutex::new(process),
            pending: Mutex::new(HashMap::new()),
            next_request: AtomicU64::new(1),
            lost: AtomicBool::new(false),
            ranges: Mutex::new(Vec::new()),
            leaving: Mutex::new(HashMap::new()),
            rings: Mutex::new(Vec::new()),
        }))
    }

    /// The listening end.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// True once the worker is gone.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`FrontError::Worker`] when the worker is gone.
    pub fn send(&self, message: &ToWorker, fds: &[BorrowedFd]) -> Result<(), FrontError> {
        self.channel
            .send(message, fds)
            .map_err(|e| self.error(e.to_string()))
    }

    /// An error that names this context.
    pub fn error(&self, reason: impl Into<String>) -> FrontError {
        FrontError::Worker {
            ctx_id: self.ctx_id,
            reason: reason.into(),
        }
    }

    /// Sends the request that `make` builds around a fresh number; the answer comes through
    /// [`PendingAnswer::wait`].
    ///
    /// # Errors
    /// [`FrontError::Worker`] when the worker is gone.
    pub fn request(
        self: &Arc<Self>,
        make: impl FnOnce(u64) -> ToWorker,
    ) -> Result<PendingAnswer, FrontError> {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = sync_channel(1);
        lock(&self.pending).insert(request, sender);
        let pending = PendingAnswer {
            context: Arc::clone(self),
            request,
            receiver,
        };
        // Checked after the insertion: whoever marks the context lost clears the list afterwards.
        if self.is_lost() {
            return Err(self.error("is gone"));
        }
        self.send(&make(request), &[])?;
        Ok(pending)
    }

    /// Has the worker leave a resource whose range is used again when the last context has dropped `range`.
    pub fn detach(&self, res_id: u32, range: Option<Arc<Leaving>>) -> Result<(), FrontError> {
        let request = self.next_request.fetch_add(1, Ordering::Relaxed);
        if let Some(range) = range {
            lock(&self.leaving).insert(request, range);
        }
        // Checked after the insertion: whoever ends the worker clears the list afterwards.
        if self.is_lost() {
            lock(&self.leaving).remove(&request);
            return Err(self.error("is gone"));
        }
        // A worker that can't be told any more is about to end, and keeps the range until then.
        self.send(&ToWorker::Detach { request, res_id }, &[])
    }

    /// The worker has left a resource.
    pub fn detached(&self, request: u64) {
        let range = lock(&self.leaving).remove(&request);
        drop(range);
    }

    /// The number that the next request gets, and what the worker was told to leave, by request. A worker takes what it has
    /// not done yet along in its image, with the numbers, so that a context that is restored goes on with these.
    pub(crate) fn requests(&self) -> (u64, HashMap<u64, Arc<Leaving>>) {
        let leaving = lock(&self.leaving).clone();
        (self.next_request.load(Ordering::Relaxed), leaving)
    }

    /// Goes on with requests from `next` on; nothing was requested yet.
    pub(crate) fn resume_requests(&self, next: u64) {
        self.next_request.store(next, Ordering::Relaxed);
    }

    /// The worker was told to leave `range` before it was restored, by `request`.
    pub(crate) fn resume_leaving(&self, request: u64, range: Arc<Leaving>) {
        lock(&self.leaving).insert(request, range);
    }

    /// Nothing of the arena is given back any more.
    pub(crate) fn forget_ranges(&self) {
        lock(&self.ranges).retain(|(area, _)| matches!(area, Area::Device | Area::Host));
        for range in lock(&self.leaving).values() {
            range.forgotten.store(true, Ordering::Relaxed);
        }
    }

    /// Hands an answer to whoever waits for it.
    pub fn answer(&self, request: u64, answer: Answer) {
        match lock(&self.pending).remove(&request) {
            Some(sender) => {
                let _ = sender.send(answer);
            }
            None => tracing::debug!(ctx_id = self.ctx_id, request, "Late answer"),
        }
    }

    /// Kills and reaps the worker, and wakes everyone who waits for it.
    pub fn kill(&self) {
        self.lost.store(true, Ordering::Release);
        lock(&self.process).kill();
        lock(&self.pending).clear();
        let left = std::mem::take(&mut *lock(&self.leaving));
        drop(left);
    }

    /// Process id of the worker.
    pub fn pid(&self) -> u32 {
        lock(&self.process).id()
    }
}

/// A request on its way.
#[derive(Debug)]
pub struct PendingAnswer {
    context: Arc<Context>,
    request: u64,
    receiver: std::sync::mpsc::Receiver<Answer>,
}

impl PendingAnswer {
    /// Waits for the answer.
    ///
    /// # Errors
    /// [`FrontError::Hung`] when none came in time, [`FrontError::Worker`] when the worker went.
    pub fn wait(self, timeout: Duration) -> Result<Answer, FrontError> {
        self.receiver.recv_timeout(timeout).map_err(|e| match e {
            RecvTimeoutError::Timeout => FrontError::Hung {
                ctx_id: self.context.ctx_id,
                after: timeout,
            },
            RecvTimeoutError::Disconnected => self.context.error("is gone"),
        })
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        lock(&self.context.pending).remove(&self.request);
    }
}
