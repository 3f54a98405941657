//! The vhost-user back end: what the front end asks, and the queues.

use std::fs::File;
use std::io;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hesper_front::ContextEvent;
use hesper_log::{guest_error, guest_warn};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserProtocolFeatures,
    VhostUserShMemConfig, VhostUserVirtioFeatures,
};
use vhost::vhost_user::{Backend as BackendRequests, GpuBackend};
use vhost_user_backend::bitmap::{BitmapReplace, MemRegionBitmap};
use vhost_user_backend::{VhostUserBackend, VringT};
use virtio_bindings::bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::bindings::virtio_ring::{
    VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC,
};
use vm_memory::{GuestAddressSpace, GuestMemoryBackend, GuestRegionMmap};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use crate::display::Display;
use crate::figures::Figures;
use crate::front_api::FrontApi;
use crate::gpu::{DeviceLimits, Gpu, Outcome};
use crate::live::{Left, Live, QueuePlace, RingPlace};
use crate::log_bitmap::{LogBitmap, RegionLog};
use crate::pending::{CONTROL, Chain, Completions, QUEUES, Waiting, take_request};
use crate::protocol::{
    CTX_DESTROY, F_CONTEXT_INIT, F_RESOURCE_BLOB, F_RESOURCE_UUID, F_VIRGL, Refusal,
    decode_control, decode_cursor, decode_header,
};
use crate::run::{Cut, Phase, Run};
use crate::transfer::Transfer;
use crate::vring::{AtomicMemory, Vring};
use crate::window::{Channel, FrontEnd, Notice, SHMEM_ID, Window};

/// Largest queue, entries.
pub const QUEUE_SIZE_MAX: usize = 1024;
/// Requests of one queue before the event loop looks at others.
const REQUESTS_PER_EVENT: usize = 4 * QUEUE_SIZE_MAX;
/// Length of `virtio_gpu_config`, bytes.
const CONFIG_LEN: usize = 16;

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// From QUIESCE to its echo.
    pub quiesce: Duration,
    /// A map request, and anything else that is asked of QEMU.
    pub window: Duration,
    /// Reading or writing device state, and loading it.
    pub state: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            // Below what QEMU waits, so that it hears why.
            quiesce: Duration::from_secs(4),
            window: Duration::from_secs(10),
            state: Duration::from_secs(60),
        }
    }
}

/// The device as the vhost-user crate drives it.
pub struct Backend {
    pub(crate) gpu: Gpu,
    pub(crate) front: Arc<dyn FrontApi>,
    pub(crate) completions: Arc<Completions>,
    pub(crate) run: Run,
    pub(crate) deadlines: Deadlines,
    figures: Arc<Figures>,
    display: Arc<Display>,
    window: Arc<dyn Window>,
    memory: AtomicMemory,
    exit: Mutex<Option<(EventConsumer, EventNotifier)>>,
    transfer: Transfer,
    /// Held while a cut is made: QEMU may have given up waiting for it, and save meanwhile.
    cutting: Mutex<()>,
    /// The logs of the regions there are, to find the log again when the regions change.
    logs: Mutex<Vec<LogBitmap>>,
    /// Where the queues were when the process before this one died, until they run again.
    left: Mutex<Option<[Option<QueuePlace>; QUEUES]>>,
}

impl Backend {
    /// A device that serves nothing yet.
    ///
    /// # Errors
    /// When the kernel gives no event or no thread.
    pub fn new(
        front: Arc<dyn FrontApi>,
        window: Arc<dyn Window>,
        memory: AtomicMemory,
        deadlines: Deadlines,
        limits: DeviceLimits,
        figures: Arc<Figures>,
    ) -> io::Result<Arc<Self>> {
        let live = Arc::new(Live::default());
        let completions = Arc::new(Completions::new(
            memory.clone(),
            Arc::clone(&live),
            Arc::clone(&figures),
        ));
        let display = Display::start(
            Arc::clone(&completions),
            window.front_end() == FrontEnd::Hesper,
        )?;
        let exit = new_event_consumer_and_notifier(EventFlag::NONBLOCK | EventFlag::CLOEXEC)?;
        let told = Arc::clone(&completions);
        let noted = Arc::clone(&live);
        front.set_event_handler(Box::new(move |event| match event {
            ContextEvent::Fence {
                ctx_id,
                ring_idx,
                fence_id,
            } => told.fence_signalled(ctx_id, ring_idx, fence_id),
            ContextEvent::Lost { ctx_id, reason } => {
                guest_warn!(ctx_id, reason, "Context lost");
                told.context_gone(ctx_id);
            }
            ContextEvent::Hung { ctx_id, stalled } => {
                guest_warn!(ctx_id, ?stalled, "Context hung");
            }
            ContextEvent::Ring {
                ctx_id,
                res_id,
                status,
            } => noted.ring(RingPlace {
                ctx_id,
                res_id,
                status,
            }),
            ContextEvent::Cut { .. } => {}
        }));
        Ok(Arc::new(Self {
            gpu: Gpu::new(
                Arc::clone(&front),
                Arc::clone(&window),
                Arc::clone(&display),
                memory.clone(),
                live,
                limits,
            ),
            front,
            completions,
            run: Run::default(),
            deadlines,
            figures,
            display,
            window,
            memory,
            exit: Mutex::new(Some(exit)),
            transfer: Transfer::default(),
            cutting: Mutex::default(),
            logs: Mutex::default(),
            left: Mutex::default(),
        }))
    }

    /// Works off what QEMU says on the window channel, until that is closed.
    pub fn heed(&self, channel: &Channel, notices: &Receiver<Notice>) {
        for notice in notices {
            match notice {
                Notice::Hello { arena, left } => match self.gpu.attach_arena(arena, left) {
                    Ok(Some(left)) => self.take_over(left),
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "The arena can't be used"),
                },
                Notice::Quiesce => {
                    let outcome = self.quiesce().map_err(|reason| {
                        guest_error!(reason, "The device did not come to rest");
                        libc::ETIMEDOUT as u32
                    });
                    if let Err(error) = channel.quiesced(outcome) {
                        tracing::warn!(%error, "Echoing QUIESCE");
                    }
                }
                Notice::Reset => self.reset(),
                Notice::Log(on) => {
                    tracing::info!(on, "Dirty logging");
                    self.front.set_log(on);
                }
            }
            channel.done();
        }
    }

    /// Ends the device's threads.
    pub fn close(&self) {
        self.front.set_event_handler(Box::new(|_| ()));
        self.completions.close();
        self.display.close();
        self.window.close();
    }

    /// Brings the device to rest and makes a cut.
    fn quiesce(&self) -> Result<(), String> {
        let end = Instant::now() + self.deadlines.quiesce;
        let idle = self.run.quiesce(self.deadlines.quiesce);
        let outcome = if idle {
            self.cut(end.saturating_duration_since(Instant::now()))
        } else {
            self.run.forbid_cut();
            Err("A command does not end".into())
        };
        self.completions.close();
        outcome
    }

    /// Makes a cut, unless the front still holds one of what ran last.
    pub(crate) fn cut(&self, deadline: Duration) -> Result<(), String> {
        let _cutting = self.cutting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.run.cut() {
            Some(Cut::Made) => return Ok(()),
            Some(Cut::Failed) => return Err("There is no cut".into()),
            None => {}
        }
        let tables = crate::tables::encode(self.gpu.save(), self.completions.save())?;
        let outcome = self.front.quiesce(&tables, deadline);
        self.run.set_cut(match outcome {
            Ok(()) => Cut::Made,
            Err(_) => Cut::Failed,
        });
        outcome.map_err(|error| error.to_string())
    }

    /// Replaces all state by a saved one.
    pub(crate) fn replace(&self, state: &[u8]) -> Result<(), String> {
        if !self.window.settle() {
            return Err("The arena is not there".into());
        }
        let done = self.run.paused(self.deadlines.window, || {
            self.gpu.forget_contexts();
            let tables = self.front.load(state).map_err(|error| error.to_string())?;
            let device = crate::tables::decode(&tables)?;
            *self.left() = None;
            self.gpu.restore(device.tables);
            self.completions.restore(device.requests);
            self.completions.note_all();
            self.run.set_cut(Cut::Made);
            self.transfer.set_loaded();
            Ok(())
        });
        done.unwrap_or_else(|| Err("A command does not end".into()))
    }

    /// Goes on from what a process has left that has died; its contexts are lost.
    fn take_over(&self, left: Left) {
        tracing::warn!(
            requests = left.requests.len(),
            "The process before this one has died: its contexts are lost, its display goes on"
        );
        self.completions.take_over(left.requests, left.queues);
        *self.left() = Some(left.queues);
        self.transfer.set_loaded();
        // The front end doesn't know where the queues are before they have run again.
        self.run.forbid_cut();
    }

    fn left(&self) -> MutexGuard<'_, Option<[Option<QueuePlace>; QUEUES]>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reset(&self) {
        // A save that comes meanwhile must not find the cut of what is being dropped.
        let _cutting = self.cutting.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.run.paused(self.deadlines.window, || {
            self.run.forget_cut();
            *self.left() = None;
            self.completions.clear();
            self.gpu.reset();
            self.window.reset();
        });
        if done.is_none() {
            guest_error!("A command outlives the guest that gave it");
        }
    }

    /// The queues run (again), as `control` does.
    fn start(&self, control: &Vring) {
        if self.window.front_end() != FrontEnd::Hesper
            && self.run.phase() == Phase::Stopped
            && control.queue_next_avail() == 0
        {
            // Nobody else tells us of a reset, but one begins the ring anew. (A VM that stops after a multiple of 65536
            // commands looks the same.)
            self.reset();
        }
        // RESET and HELLO come on another socket, but QEMU wrote them before it started us. And a
        // cut that QEMU has given up waiting for has to end first.
        while self.run.phase() == Phase::Stopped && !self.window.settle() {
            guest_warn!("The window channel does not settle");
            if self.window.is_closed() || !control.running() {
                return;
            }
        }
        self.run.start(|resume| {
            tracing::debug!(resume, "Queues start");
            if resume {
                self.front.resume();
            }
            let loaded = self.transfer.take_loaded();
            if loaded {
                self.gpu.reload();
            }
            if let Some(places) = self.left().take() {
                self.completions.go_on(places);
            }
            self.completions.open();
            for ctx_id in self.gpu.lost_contexts() {
                self.completions.context_gone(ctx_id);
            }
            for (token, waiting) in self.completions.waiting() {
                match waiting {
                    // The front that has loaded knows nothing of who waits.
                    Waiting::Fence { .. } if loaded => self.ask_fence(token, &waiting),
                    Waiting::DisplayInfo | Waiting::Edid { .. } if loaded => {
                        self.display.query(token, waiting);
                    }
                    _ => {}
                }
            }
        });
    }

    fn ask_fence(&self, token: u64, waiting: &Waiting) {
        let Waiting::Fence {
            ctx_id,
            ring_idx,
            fence_id,
        } = *waiting
        else {
            return;
        };
        if let Err(error) = self.gpu.create_fence(ctx_id, ring_idx, fence_id) {
            tracing::debug!(ctx_id, ring_idx, %error, "No fence");
            self.completions.complete(token, &Err(error.into()));
        }
    }

    /// Takes and executes what is available. A queue that is never empty, such as one whose used ring lies on its
    /// available ring, is left after a while, and the event loop comes back to it: others have their turn.
    fn drain(&self, vring: &Vring, queue: u16) {
        let mut more = false;
        let mut left = REQUESTS_PER_EVENT;
        loop {
            let mut taken_any = false;
            if let Err(error) = vring.disable_notification() {
                guest_warn!(queue, %error, "The used ring can't be written");
                return;
            }
            while self.run.enter() {
                let taken = take_request(vring, queue, &self.memory);
                let done = taken.is_none();
                if let Some((chain, request)) = taken {
                    self.execute(chain, &request);
                    taken_any = true;
                    left -= 1;
                }
                self.run.leave();
                if done || left == 0 {
                    break;
                }
            }
            self.completions.notify_guest();
            if left == 0 {
                vring.come_back();
                return;
            }
            if self.run.phase() != Phase::Running || !vring.running() {
                return;
            }
            if more && !taken_any {
                // An available index that no driver writes: looking again would never end.
                tracing::debug!(queue, "The available ring makes no sense");
                return;
            }
            match vring.enable_notification() {
                Ok(true) => more = true,
                Ok(false) => return,
                Err(error) => {
                    guest_warn!(queue, %error, "The used ring can't be written");
                    return;
                }
            }
        }
    }

    fn execute(&self, chain: Chain, request: &[u8]) {
        self.figures.request();
        if self.completions.full(chain.queue) {
            guest_warn!(
                queue = chain.queue,
                head = chain.head,
                "More requests than descriptors"
            );
            self.completions
                .respond(chain, Default::default(), &Err(Refusal::OutOfMemory));
            return;
        }
        let Some(header) = decode_header(request) else {
            self.completions
                .respond(chain, Default::default(), &Err(Refusal::Unspecified));
            return;
        };
        let outcome = if chain.queue == CONTROL {
            decode_control(&header, request).and_then(|command| self.gpu.control(&header, command))
        } else {
            decode_cursor(&header, request)
                .and_then(|command| self.gpu.cursor(command))
                .map(Outcome::Done)
        };
        if header.kind == CTX_DESTROY && outcome.is_ok() {
            // The front says no more about it.
            self.completions.context_gone(header.ctx_id);
        }
        match outcome {
            Ok(Outcome::Done(reply)) => self.completions.respond(chain, header, &Ok(reply)),
            Ok(Outcome::Fenced(reply, waiting)) => {
                // First the request, then the fence: it may signal before we are back.
                let token = self
                    .completions
                    .defer(chain, header, waiting.clone(), &reply);
                self.ask_fence(token, &waiting);
            }
            Ok(Outcome::Ask(waiting)) => {
                let reply = crate::protocol::Reply::nodata();
                let token = self
                    .completions
                    .defer(chain, header, waiting.clone(), &reply);
                self.display.query(token, waiting);
            }
            Err(refusal) => {
                tracing::debug!(kind = header.kind, ?refusal, "Refused");
                self.completions.respond(chain, header, &Err(refusal));
            }
        }
    }

    fn each_log(&self, mut f: impl FnMut(&GuestRegionMmap<LogBitmap>)) {
        for region in self.memory.memory().iter() {
            f(region);
        }
    }
}

/// A [`Backend`] that the crate may clone.
#[derive(Clone)]
pub struct Shared(pub Arc<Backend>);

impl VhostUserBackend for Shared {
    type Bitmap = LogBitmap;
    type Vring = Vring;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE_MAX
    }

    fn features(&self) -> u64 {
        1 << VIRTIO_F_VERSION_1
            | 1 << VIRTIO_RING_F_EVENT_IDX
            | 1 << VIRTIO_RING_F_INDIRECT_DESC
            | F_VIRGL
            | F_RESOURCE_UUID
            | F_RESOURCE_BLOB
            | F_CONTEXT_INIT
            | self.0.window.front_end().features()
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn acked_features(&self, features: u64) {
        tracing::debug!("Features {features:#x}");
        if features & VhostUserVirtioFeatures::LOG_ALL.bits() == 0 {
            self.0.each_log(|region| region.bitmap().turn_off());
        }
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        self.0.window.front_end().protocol_features()
    }

    fn set_event_idx(&self, enabled: bool) {
        tracing::debug!(enabled, "EVENT_IDX");
    }

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let capsets = u32::from(self.0.gpu.capset().is_some());
        // QEMU fills in the events and the number of scanouts itself.
        let config: Vec<u8> = [0, 0, 1, capsets]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        debug_assert_eq!(config.len(), CONFIG_LEN);
        // The crate has bounded both; what lies behind the structure reads as zeros.
        (offset..offset.saturating_add(size))
            .map(|at| config.get(at as usize).copied().unwrap_or(0))
            .collect()
    }

    fn update_memory(&self, memory: AtomicMemory) -> io::Result<()> {
        // The crate gives new regions no log, and QEMU sends none if its size is right already.
        let mut logs = self.0.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let log = logs.iter().find_map(LogBitmap::memory);
        logs.clear();
        for region in memory.memory().iter() {
            if let Some(log) = &log {
                region
                    .bitmap()
                    .replace(RegionLog::new(region, Arc::clone(log))?);
            }
            logs.push(region.bitmap().clone());
        }
        self.0.window.memory_changed(&memory.memory());
        Ok(())
    }

    fn set_backend_req_fd(&self, requests: BackendRequests) {
        self.0.window.connected(requests);
    }

    fn get_shmem_config(&self) -> io::Result<VhostUserShMemConfig> {
        match self.0.window.front_end() {
            FrontEnd::Standard { window_len } => {
                let mut sizes = [0; SHMEM_ID as usize + 1];
                sizes[usize::from(SHMEM_ID)] = window_len;
                Ok(VhostUserShMemConfig::new(1, &sizes))
            }
            FrontEnd::Hesper => Err(io::Error::other("The window is the front end's own")),
        }
    }

    fn set_gpu_socket(&self, socket: GpuBackend) -> io::Result<()> {
        self.0.display.set_socket(socket);
        Ok(())
    }

    fn exit_event(&self, _thread_index: usize) -> Option<(EventConsumer, EventNotifier)> {
        let mut exit = self.0.exit.lock().unwrap_or_else(PoisonError::into_inner);
        exit.take()
    }

    fn stop_vring(&self, queue_index: u32) -> io::Result<()> {
        tracing::debug!(queue_index, "Queue stops");
        self.0.window.stopping();
        if !self.0.run.stop(self.0.deadlines.quiesce) {
            guest_error!("A command outlives its queue");
        }
        Ok(())
    }

    fn handle_event(
        &self,
        device_event: u16,
        _evset: EventSet,
        vrings: &[Vring],
        _thread_id: usize,
    ) -> io::Result<()> {
        let backend = &self.0;
        backend.figures.kick();
        backend.completions.set_vrings(vrings);
        if let Some(control) = vrings.get(usize::from(CONTROL))
            && control.running()
            && backend.run.phase() == Phase::Stopped
        {
            backend.start(control);
            for (queue, vring) in (0..).zip(vrings) {
                if vring.running() {
                    backend.drain(vring, queue);
                }
            }
            return Ok(());
        }
        if let Some(vring) = vrings.get(usize::from(device_event))
            && vring.running()
        {
            backend.drain(vring, device_event);
        }
        Ok(())
    }

    fn set_device_state_fd(
        &self,
        direction: VhostTransferStateDirection,
        _phase: VhostTransferStatePhase,
        file: File,
    ) -> io::Result<Option<File>> {
        let backend = Arc::clone(&self.0);
        match direction {
            VhostTransferStateDirection::SAVE => self.0.transfer.save(backend, file)?,
            VhostTransferStateDirection::LOAD => self.0.transfer.load(backend, file)?,
        }
        Ok(None)
    }

    fn check_device_state(&self) -> io::Result<()> {
        self.0.transfer.check(self.0.deadlines.state)
    }
}
