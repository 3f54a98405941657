//! Contexts, resources and fences, for both front ends.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use hesper_image::Extent;
use hesper_log::{Guest, Limits, guest_error, guest_warn};
use hesper_worker::channel::{
    Area, Audit, ChannelError, CommandMarks, Fault, FromWorker, ToWorker, Warning, WorkerConfig,
    WorkerStatus,
};
use serde::Serialize;

use crate::arena::{Arena, ArenaState};
use crate::context::{Context, lock};
use crate::process::{Spawner, WorkerCommand};
use crate::quota::{CONTEXTS_MAX, Quotas, Used};
use crate::resources::{Resource, hold};
use crate::{Blob, ContextEvent, FrontError};

/// Rings of a context that are remembered: as many as it may have, and some that are gone.
const RINGS_KEPT_MAX: usize = 256;
/// Ranges that one context may hold, counted with each hold of one that is shared.
const RANGES_MAX: usize = 1 << 20;
/// How long a worker may take to answer a question.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a worker may take to tell of itself.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
/// The same at the end of a context with the oracle, whose worker may just compare all memory.
const ORACLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How a front works.
#[derive(Clone, Debug)]
pub struct FrontConfig {
    /// The program whose `worker` subcommand serves a context.
    pub worker_exe: PathBuf,
    /// Part of the host device's name, to pick one.
    pub gpu: Option<String>,
    /// How strictly workers are confined.
    pub sandbox: hesper_sandbox::Mode,
    /// No progress for this long means hang.
    pub hang_timeout: Duration,
    /// Check every submission against the audit.
    pub oracle: bool,
    /// How much of the audit works.
    pub audit: Audit,
    /// Allow faults to be injected.
    pub fault_injection: bool,
    /// How much all contexts together may have.
    pub quotas: Quotas,
}

/// Why a VM can't be moved whose front end is not QEMU with Hesper's device.
const NOT_CARRIED: &str = "The VM's front end is not QEMU with Hesper's device (vhost-user-vgpu-pci): its migration \
                           carries neither this device's state nor its memory";

/// What `hesper status` shows.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Host device.
    pub device: String,
    /// Sequence of the last superblock, 0 for none.
    pub sequence: u64,
    /// Bytes of the window handed out.
    pub window_used: u64,
    /// Bytes of the image handed out.
    pub image_used: u64,
    /// Why no context of this VM can be moved, whatever the contexts say for themselves.
    pub not_migratable: Option<String>,
    /// Blobs of the host's.
    pub resources: usize,
    /// What contexts did that are gone.
    pub ended: Ended,
    /// The contexts: id, worker pid, what the worker says.
    pub contexts: Vec<(u32, u32, Option<WorkerStatus>)>,
}

/// Sums over the contexts that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ended {
    /// Contexts.
    pub contexts: u64,
    /// Those of them that were lost, and with the oracle those that did not answer any more: nobody knows what their
    /// workers would have said.
    pub lost: u64,
    /// Submissions that the oracle checked; 0 without it.
    pub oracle_checked: u64,
    /// Submissions that it did not check, because they did not finish within the hang limit.
    pub oracle_unchecked: u64,
    /// Writes that it found unmarked.
    pub oracle_misses: u64,
    /// What each kind of command marked, and what of that changed; empty without the oracle.
    pub marked_by: Vec<CommandMarks>,
}

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

pub(crate) struct Shared {
    pub(crate) config: FrontConfig,
    spawner: Spawner,
    pub(crate) arena: Mutex<Option<ArenaState>>,
    pub(crate) contexts: Mutex<HashMap<u32, Arc<Context>>>,
    pub(crate) resources: Mutex<HashMap<u32, Resource>>,
    handlers: RwLock<Vec<Handler>>,
    pub(crate) state: Mutex<FrontState>,
    pub(crate) used: Mutex<Used>,
}

impl Shared {
    /// Gives back what a context holds: a range of the arena, or bytes of a quota.
    pub(crate) fn release(&self, area: Area, extent: Extent) -> Result<(), FrontError> {
        match area {
            Area::Device | Area::Host => {
                lock(&self.used).release(area, extent.len);
                Ok(())
            }
            Area::Window | Area::Image => lock(&self.arena)
                .as_mut()
                .ok_or(FrontError::NoArena)?
                .release(area, extent),
        }
    }
}

/// What changes with checkpoints.
#[derive(Debug, Default)]
pub(crate) struct FrontState {
    pub(crate) sequence: u64,
    pub(crate) logging: bool,
    pub(crate) device: String,
    pub(crate) ended: Ended,
    /// State records of the superblock before: freed once the next one is written.
    pub(crate) tables: Option<Extent>,
}

/// The front.
#[derive(Clone)]
pub struct Front {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front")
            .field("config", &self.shared.config)
            .finish()
    }
}

impl Front {
    /// Starts the thread that starts workers.
    pub fn new(config: FrontConfig) -> Self {
        let spawner = Spawner::new(WorkerCommand {
            exe: config.worker_exe.clone(),
            gpu: config.gpu.clone(),
            sandbox: config.sandbox,
        });
        Self {
            shared: Arc::new(Shared {
                config,
                spawner,
                arena: Mutex::new(None),
                contexts: Mutex::new(HashMap::new()),
                resources: Mutex::new(HashMap::new()),
                handlers: RwLock::new(Vec::new()),
                state: Mutex::new(FrontState::default()),
                used: Mutex::default(),
            }),
        }
    }

    /// One more who is told of events, from a thread of the front's. It returns soon and never
    /// calls back.
    pub fn add_event_handler(&self, handler: Handler) {
        self.shared
            .handlers
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(handler);
    }

    /// Takes an arena in which nothing is used. Contexts of before are gone.
    ///
    /// # Errors
    /// [`FrontError`] for an arena that can't hold an image.
    pub fn attach_arena(&self, arena: Arena) -> Result<(), FrontError> {
        self.reset();
        let state = ArenaState::new(arena)?;
        *lock(&self.shared.arena) = Some(state);
        Ok(())
    }

    /// Takes over blobs of contexts that another process has served, right after
    /// [`Front::attach_arena`]: the guest may still see them, so their ranges aren't free. The
    /// contexts are gone.
    ///
    /// # Errors
    /// [`FrontError`] for ranges that can't be; the blobs before it are there then.
    pub fn adopt_blobs(&self, blobs: &[(u32, Blob)]) -> Result<(), FrontError> {
        for (res_id, blob) in blobs {
            self.check_new_resource(*res_id)?;
            let extent = Extent::new(blob.offset, blob.len);
            lock(&self.shared.arena)
                .as_mut()
                .ok_or(FrontError::NoArena)?
                .adopt(extent)?;
            lock(&self.shared.resources).insert(*res_id, Resource::Arena(extent));
        }
        Ok(())
    }

    /// The device that contexts run on, as images name it.
    ///
    /// # Errors
    /// [`FrontError`] when no worker starts.
    pub fn identity(&self) -> Result<hesper_image::Identity, FrontError> {
        let device = self.shared.spawner.device()?;
        lock(&self.shared.state).device.clone_from(&device.name);
        Ok(hesper_image::Identity {
            driver_uuid: device.driver_uuid,
            device_uuid: device.device_uuid,
            vendor_id: device.vendor_id,
            device_id: device.device_id,
            driver_version: device.driver_version,
        })
    }

    /// The Venus capset.
    pub fn capset(&self) -> Vec<u8> {
        hesper_worker::capset::venus()
    }

    pub(crate) fn start_worker(
        &self,
        ctx_id: u32,
        guest: Guest,
    ) -> Result<Arc<Context>, FrontError> {
        let process = self.shared.spawner.take()?;
        let context = Context::new(ctx_id, guest, process)?;
        let (arena, fds) = match lock(&self.shared.arena).as_ref() {
            None => (None, Vec::new()),
            Some(state) => {
                let arena = state.arena();
                let mut files = vec![Arc::clone(arena.mapping.file())];
                if let Some(bitmap) = &arena.bitmap {
                    files.push(Arc::clone(bitmap.file()));
                }
                (Some((arena.mapping.len(), arena.window_len)), files)
            }
        };
        let config = &self.shared.config;
        let quotas = &config.quotas;
        let init = ToWorker::Init(WorkerConfig {
            ctx_id,
            device: config.gpu.clone(),
            arena,
            device_memory_max: quotas.device_memory_max,
            // What can't become a blob can't be mapped, and is of no use.
            host_memory_max: arena.map_or(quotas.host_memory_max, |(_, window_len)| {
                window_len.min(quotas.blob_memory_max)
            }),
            bitmap: fds.len() > 1,
            hang_timeout: config.hang_timeout,
            oracle: config.oracle,
            audit: config.audit.clone(),
            fault_injection: config.fault_injection,
        });
        let fds: Vec<BorrowedFd> = fds.iter().map(|file| file.as_fd()).collect();
        context.send(&init, &fds)?;
        if lock(&self.shared.state).logging {
            context.send(&ToWorker::Log(true), &[])?;
        }
        let shared = Arc::clone(&self.shared);
        let listening = Arc::clone(&context);
        std::thread::Builder::new()
            .name(format!("context-{ctx_id}"))
            .spawn(move || listen(&shared, &listening))?;
        Ok(context)
    }

    /// Creates a context of the VM's.
    ///
    /// # Errors
    /// As [`Front::create_context_of`].
    pub fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError> {
        self.create_context_of(Guest::Only, ctx_id, name)
    }

    /// Creates a context of one of several guests.
    ///
    /// # Errors
    /// [`FrontError::Context`] for an id in use or one too many; [`FrontError`] when the worker
    /// does not start.
    pub fn create_context_of(
        &self,
        guest: Guest,
        ctx_id: u32,
        name: &str,
    ) -> Result<(), FrontError> {
        {
            let contexts = lock(&self.shared.contexts);
            if contexts.contains_key(&ctx_id) {
                return Err(FrontError::Context(ctx_id, "the id is in use"));
            }
            if contexts.len() >= self.shared.config.quotas.contexts_max.min(CONTEXTS_MAX) {
                return Err(FrontError::Context(ctx_id, "too many contexts"));
            }
        }
        let context = self.start_worker(ctx_id, guest)?;
        tracing::info!(ctx_id, name, worker = context.pid(), "Context created");
        lock(&self.shared.contexts).insert(ctx_id, context);
        Ok(())
    }

    pub(crate) fn context(&self, ctx_id: u32) -> Result<Arc<Context>, FrontError> {
        lock(&self.shared.contexts)
            .get(&ctx_id)
            .cloned()
            .ok_or(FrontError::NoContext(ctx_id))
    }

    /// Destroys a context: its worker is killed, its memory given back.
    ///
    /// # Errors
    /// [`FrontError::NoContext`].
    pub fn destroy_context(&self, ctx_id: u32) -> Result<(), FrontError> {
        let context = lock(&self.shared.contexts)
            .remove(&ctx_id)
            .ok_or(FrontError::NoContext(ctx_id))?;
        let said = self
            .shared
            .config
            .oracle
            .then(|| ask_status(&context, ORACLE_TIMEOUT))
            .flatten();
        count_end(&self.shared, |ended| {
            // One that doesn't answer in time takes its figures with it, too.
            let unheard = self.shared.config.oracle && said.is_none();
            ended.lost += u64::from(context.is_lost() || unheard);
            if let Some(status) = said {
                ended.oracle_checked += status.oracle_checked;
                ended.oracle_unchecked += status.oracle_unchecked;
                ended.oracle_misses += status.oracle_misses;
                CommandMarks::add(&mut ended.marked_by, &status.marked_by);
            }
        });
        end(&self.shared, &context);
        Ok(())
    }

    /// Hands commands to a context.
    ///
    /// # Errors
    /// [`FrontError`] when the context is gone.
    pub fn submit(&self, ctx_id: u32, commands: &[u8]) -> Result<(), FrontError> {
        self.context(ctx_id)?
            .send(&ToWorker::Submit(commands.to_vec()), &[])
    }

    /// Asks to be told, by [`ContextEvent::Fence`], when everything before is done.
    ///
    /// # Errors
    /// [`FrontError`] when the context is gone.
    pub fn create_fence(
        &self,
        ctx_id: u32,
        ring_idx: u32,
        fence_id: u64,
    ) -> Result<(), FrontError> {
        self.context(ctx_id)?
            .send(&ToWorker::Fence { ring_idx, fence_id }, &[])
    }

    /// Drops everything: contexts, resources, what is handed out of the arena.
    pub fn reset(&self) {
        self.end_contexts();
        let resources: Vec<_> = lock(&self.shared.resources).keys().copied().collect();
        for res_id in resources {
            let _ = self.unref_resource(res_id);
        }
    }

    fn end_contexts(&self) {
        let contexts: Vec<_> = lock(&self.shared.contexts)
            .drain()
            .map(|(_, c)| c)
            .collect();
        for context in contexts {
            end(&self.shared, &context);
        }
    }

    /// Ends all workers for good, within `limit`; every call that needs one fails from now on. For
    /// when the process ends.
    pub fn shut_down(&self, limit: Duration) {
        self.shared.spawner.workers().end(limit);
    }

    /// Ends contexts and forgets resources without touching the arena, which holds the image that
    /// is about to be loaded.
    pub(crate) fn forget_all(&self) {
        for context in lock(&self.shared.contexts).values() {
            context.forget_ranges();
        }
        self.end_contexts();
        lock(&self.shared.resources).clear();
        lock(&self.shared.state).tables = None;
    }

    /// Starts or stops writing the image in the background.
    pub fn set_log(&self, on: bool) {
        lock(&self.shared.state).logging = on;
        for context in lock(&self.shared.contexts).values() {
            let _ = context.send(&ToWorker::Log(on), &[]);
        }
    }

    /// Lets everything go on after [`Front::quiesce`] or [`Front::load`].
    pub fn resume(&self) {
        for context in lock(&self.shared.contexts).values() {
            let _ = context.send(&ToWorker::Resume, &[]);
        }
    }

    /// Injects a fault into a context (into all for `None`).
    ///
    /// # Errors
    /// [`FrontError::State`] when faults are not allowed here.
    pub fn inject(&self, ctx_id: Option<u32>, fault: Fault) -> Result<(), FrontError> {
        if !self.shared.config.fault_injection {
            return Err(FrontError::State("Fault injection is off".into()));
        }
        for context in lock(&self.shared.contexts).values() {
            if ctx_id.is_none_or(|id| id == context.ctx_id) {
                context.send(&ToWorker::Inject(fault), &[])?;
            }
        }
        Ok(())
    }

    /// What there is.
    pub fn status(&self) -> Status {
        let contexts: Vec<_> = lock(&self.shared.contexts).values().cloned().collect();
        let mut answers: Vec<_> = contexts
            .iter()
            .map(|context| {
                let said = ask_status(context, STATUS_TIMEOUT);
                (context.ctx_id, context.pid(), said)
            })
            .collect();
        answers.sort_by_key(|(ctx_id, ..)| *ctx_id);
        let ((window_used, image_used), not_migratable) = match lock(&self.shared.arena).as_ref() {
            None => ((0, 0), None),
            Some(arena) => {
                // Whoever carries the arena to another host gives us a bitmap, to learn what we wrote.
                let carried = arena.arena().bitmap.is_some();
                (arena.used(), (!carried).then(|| NOT_CARRIED.to_owned()))
            }
        };
        let state = lock(&self.shared.state);
        Status {
            device: state.device.clone(),
            sequence: state.sequence,
            window_used,
            image_used,
            not_migratable,
            resources: lock(&self.shared.resources).len(),
            ended: state.ended.clone(),
            contexts: answers,
        }
    }

    pub(crate) fn emit(&self, event: ContextEvent) {
        emit(&self.shared, event);
    }
}

fn emit(shared: &Shared, event: ContextEvent) {
    let handlers = shared
        .handlers
        .read()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    for handler in handlers.iter() {
        handler(event.clone());
    }
}

/// What a worker says of itself, if it answers soon.
fn ask_status(context: &Arc<Context>, limit: Duration) -> Option<WorkerStatus> {
    let answer = context
        .request(|request| ToWorker::Status { request })
        .and_then(|pending| pending.wait(limit));
    match answer {
        Ok((FromWorker::Status { status, .. }, _)) => Some(*status),
        _ => None,
    }
}

fn count_end(shared: &Shared, count: impl FnOnce(&mut Ended)) {
    let ended = &mut lock(&shared.state).ended;
    ended.contexts += 1;
    count(ended);
}

/// Ends a context's worker and takes its ranges back.
pub(crate) fn end(shared: &Shared, context: &Context) {
    context.kill();
    let ranges = std::mem::take(&mut *lock(&context.ranges));
    for (area, extent) in ranges {
        if let Err(error) = shared.release(area, extent) {
            guest_error!(for context.guest, %error, "Range of a lost context");
        }
    }
}

/// The thread that listens to a worker.
fn listen(shared: &Arc<Shared>, context: &Arc<Context>) {
    let mut buffer = Vec::new();
    let ctx_id = context.ctx_id;
    let reason = loop {
        match context.channel().receive::<FromWorker>(&mut buffer, None) {
            Ok(None) => {}
            Ok(Some((FromWorker::Fatal(reason), _))) => break reason,
            Ok(Some((message, fds))) => {
                if let Err(error) = handle(shared, context, message, fds) {
                    break error.to_string();
                }
            }
            Err(ChannelError::Closed) => break "The worker ended".into(),
            Err(error) => break error.to_string(),
        }
    };
    // Destroyed on purpose: nobody wants to hear of it.
    if context.is_lost() || shared.spawner.workers().is_closed() {
        return;
    }
    guest_warn!(for context.guest, ctx_id, reason, "Context lost");
    set_fatal(shared, context);
    end(shared, context);
    emit(shared, ContextEvent::Lost { ctx_id, reason });
}

/// Tells the guest's program, which polls its rings, that nobody serves them any more.
fn set_fatal(shared: &Shared, context: &Context) {
    let arena = lock(&shared.arena)
        .as_ref()
        .map(|state| state.arena().clone());
    let Some(arena) = arena else { return };
    for (res_id, status) in lock(&context.rings).iter() {
        let extent = match lock(&shared.resources).get(res_id) {
            Some(Resource::Arena(extent)) => *extent,
            _ => continue,
        };
        let blob = Blob {
            offset: extent.offset,
            len: extent.len,
        };
        if let Err(error) = arena.set_ring_fatal(&blob, *status) {
            tracing::debug!(%error, "A lost context's ring");
        }
    }
}

fn handle(
    shared: &Arc<Shared>,
    context: &Arc<Context>,
    message: FromWorker,
    fds: Vec<std::os::fd::OwnedFd>,
) -> Result<(), FrontError> {
    let ctx_id = context.ctx_id;
    match message {
        FromWorker::Ready(_) | FromWorker::Fatal(_) => {}
        FromWorker::Fence { ring_idx, fence_id } => emit(
            shared,
            ContextEvent::Fence {
                ctx_id,
                ring_idx,
                fence_id,
            },
        ),
        FromWorker::Ring { res_id, status } => {
            let mut rings = lock(&context.rings);
            if rings.len() >= RINGS_KEPT_MAX {
                rings.remove(0);
            }
            rings.push((res_id, status));
            drop(rings);
            emit(
                shared,
                ContextEvent::Ring {
                    ctx_id,
                    res_id,
                    status,
                },
            );
        }
        FromWorker::Hung { stalled } => {
            guest_warn!(for context.guest, ctx_id, ?stalled, "Context hung");
            emit(shared, ContextEvent::Hung { ctx_id, stalled });
        }
        FromWorker::Warning {
            what,
            why,
            left_out,
        } => warn(context, what, &why, left_out),
        FromWorker::Allocate { area, len } => {
            let extent = match area {
                Area::Device | Area::Host => {
                    lock(&shared.used).reserve(area, len, &shared.config.quotas)
                }
                Area::Window | Area::Image => lock(&shared.arena)
                    .as_mut()
                    .ok_or(FrontError::NoArena)
                    .and_then(|arena| arena.allocate(area, len))
                    .map_err(|error| tracing::debug!(ctx_id, %error, "No range"))
                    .ok(),
            };
            if let Some(extent) = extent {
                lock(&context.ranges).push((area, extent));
            }
            context.send(&ToWorker::Allocated(extent), &[])?;
        }
        FromWorker::Detached { request } => context.detached(request),
        FromWorker::Hold { res_id } => {
            let extent = if lock(&context.ranges).len() < RANGES_MAX {
                hold(shared, res_id)
                    .map_err(|error| tracing::debug!(ctx_id, res_id, %error, "No hold"))
                    .ok()
            } else {
                None
            };
            if let Some(extent) = extent {
                lock(&context.ranges).push((Area::Window, extent));
            }
            context.send(&ToWorker::Allocated(extent), &[])?;
        }
        FromWorker::Free { area, extent } => {
            let mut ranges = lock(&context.ranges);
            let at = ranges
                .iter()
                .position(|range| *range == (area, extent))
                .ok_or_else(|| context.error(format!("freed {extent:?}, which is not its own")))?;
            ranges.swap_remove(at);
            drop(ranges);
            shared.release(area, extent)?;
        }
        FromWorker::Restored { request, .. }
        | FromWorker::Exported { request, .. }
        | FromWorker::Cut { request, .. }
        | FromWorker::Status { request, .. } => context.answer(request, (message, fds)),
    }
    Ok(())
}

/// Logs what a worker wants logged, as far as its guest has not had much of the kind logged already.
fn warn(context: &Context, what: Warning, why: &str, left_out: u64) {
    static LIMITS: [Limits; Warning::COUNT] = [const { Limits::new() }; Warning::COUNT];
    let ctx_id = context.ctx_id;
    let why: String = why.chars().take(Warning::WHY_LEN_MAX).collect();
    match LIMITS[what as usize].pass(context.guest, Instant::now(), left_out) {
        Some(0) => tracing::warn!(target: "hesper_worker", ctx_id, why, "{what}"),
        Some(left_out) => tracing::warn!(target: "hesper_worker", left_out, ctx_id, why, "{what}"),
        None => {}
    }
}

/// A deadline counted from now.
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    pub(crate) fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}
