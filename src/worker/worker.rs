//! The worker's main loop.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hesper_image::ImageArea;
use hesper_memory::{DirtyBitmap, Mapping};

use crate::channel::{
    Channel, ChannelError, FromWorker, HostDevice, ToWorker, Warning, WorkerConfig,
};
use crate::context::{Context, WorkerArena};
use crate::error::{WorkerError, argument};
use crate::port::{Incoming, Port};
use crate::streams::{Item, Streams};

/// Turns without work before the loop rests at all, some 100 µs: a client that reads a result back sends its next command
/// within that. Each turn yields, so that the driver's threads lose little.
const SPIN_TURNS: u32 = 200;
/// A rest is this part of the time in which nothing came: it makes no wait longer than by that part.
const REST_PART: u32 = 4;
/// Shortest rest.
const REST_MIN: Duration = Duration::from_micros(30);
/// Longest rest while a ring is awake, or somebody waits for the host.
const REST_MAX: Duration = Duration::from_millis(1);
/// Longest rest while the host works and nobody waits for it.
const REST_MAX_UNAWAITED: Duration = Duration::from_millis(2);
/// Longest rest while rings sleep: see [`crate::ring::Ring::look_asleep`].
const LOOK_ASLEEP: Duration = Duration::from_secs(1);
/// How late the kernel may wake us from a rest, ns.
const TIMER_SLACK_NS: u64 = 2_000;
/// Time between two drain steps, so that clients hardly notice.
const DRAIN_PAUSE: Duration = Duration::from_millis(4);

/// Why a worker ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Before it served anything.
    #[error("Worker: {0}")]
    Start(#[from] WorkerError),
    /// The channel broke.
    #[error("Worker channel: {0}")]
    Channel(#[from] ChannelError),
    /// It could not be confined.
    #[error("Worker sandbox: {0}")]
    Sandbox(#[from] hesper_sandbox::SandboxError),
}

struct Worker {
    context: Context,
    streams: Streams,
    /// After a cut, until resumed.
    stopped: bool,
    logging: bool,
    next_drain: Instant,
    /// Turns since anything moved.
    idle_turns: u32,
    last_moved: Instant,
}

/// Serves one context over `fd` until the other end closes it. Confined as `sandbox` says before
/// anything of the guest's arrives.
///
/// # Errors
/// [`RunError`]; a context that ends because of its guest is no error.
pub fn run(fd: OwnedFd, gpu: Option<&str>, sandbox: hesper_sandbox::Mode) -> Result<(), RunError> {
    let channel = Channel::from_fd(fd)?;
    let (device, files) = match probe(gpu) {
        Ok(found) => found,
        Err(error) => {
            channel.send(&FromWorker::Fatal(error.to_string()), &[])?;
            return Err(error.into());
        }
    };
    if let Err(error) = confine(sandbox, files) {
        channel.send(&FromWorker::Fatal(error.to_string()), &[])?;
        return Err(error.into());
    }
    // Whoever fails here fails again when it is asked for, and is told then.
    let ready = crate::exec_physical::open(gpu).ok();
    channel.send(&FromWorker::Ready(device), &[])?;
    let mut port = Port::new(channel);
    let (config, fds) = loop {
        match port.next(None) {
            Ok(Some((ToWorker::Init(config), fds))) => break (config, fds),
            Ok(_) => {}
            // A spare that is not needed any more.
            Err(ChannelError::Closed) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    };
    // Rests are short: as much again of slack would double them.
    if let Err(error) = nix::sys::prctl::set_timerslack(TIMER_SLACK_NS) {
        port.warn(Warning::TimerSlack, &error);
    }
    let arena = map_arena(&config, fds)?;
    let mut context = Context::new(config, port, arena);
    if context.config.device.as_deref() == gpu {
        context.ready = ready;
    }
    let mut worker = Worker {
        context,
        streams: Streams::default(),
        stopped: false,
        logging: false,
        next_drain: Instant::now(),
        idle_turns: 0,
        last_moved: Instant::now(),
    };
    loop {
        match worker.turn() {
            Ok(()) => {}
            Err(WorkerError::Channel(ChannelError::Closed)) => return Ok(()),
            Err(error) => {
                worker.streams.set_fatal();
                let ctx_id = worker.context.config.ctx_id;
                // The front logs it; it may be gone as well.
                tracing::debug!(ctx_id, %error, "The context ends");
                let _ = worker
                    .context
                    .port
                    .send(&FromWorker::Fatal(error.to_string()));
                return Ok(());
            }
        }
    }
}

fn confine(
    mode: hesper_sandbox::Mode,
    read: Vec<PathBuf>,
) -> Result<(), hesper_sandbox::SandboxError> {
    let files = hesper_sandbox::Files {
        read,
        ..Default::default()
    };
    hesper_sandbox::confine(hesper_sandbox::Role::Worker, mode, &files)?;
    Ok(())
}

/// Loads the driver and tells where its files are. The driver's threads are over afterwards: they would not be confined.
fn probe(gpu: Option<&str>) -> Result<(HostDevice, Vec<PathBuf>), WorkerError> {
    let instance = hesper_gpu::Instance::new()?;
    let physical = instance.pick(gpu)?;
    let identity = physical.identity();
    let device = HostDevice {
        name: identity.name.clone(),
        device_uuid: identity.device_uuid,
        driver_uuid: identity.driver_uuid,
        vendor_id: identity.vendor_id,
        device_id: identity.device_id,
        driver_version: format!("{} {:#x}", identity.driver_info, identity.driver_version),
    };
    Ok((device, hesper_sandbox::driver_files()))
}

fn map_arena(config: &WorkerConfig, fds: Vec<OwnedFd>) -> Result<Option<WorkerArena>, WorkerError> {
    let Some((arena_len, window_len)) = config.arena else {
        return Ok(None);
    };
    let mut fds = fds.into_iter();
    let mut next = || {
        fds.next()
            .ok_or_else(|| argument("init", "a descriptor is missing"))
    };
    let mapping = Mapping::new(Arc::new(next()?.into()), 0, arena_len)?;
    let bitmap = if config.bitmap {
        let len = DirtyBitmap::file_len(arena_len);
        let words = Mapping::new(Arc::new(next()?.into()), 0, len)?;
        Some(DirtyBitmap::new(words, arena_len)?)
    } else {
        None
    };
    let area = ImageArea::new(mapping.clone(), window_len, bitmap.clone())?;
    Ok(Some(WorkerArena {
        mapping,
        bitmap,
        area,
    }))
}

impl Worker {
    /// Works until there is nothing to do, then waits for the front or for time to pass.
    fn turn(&mut self) -> Result<(), WorkerError> {
        loop {
            let looked = !self.stopped;
            if looked {
                self.streams.look(self.context.now)?;
            }
            let mut moved = false;
            while let Some(message) = self.context.port.next(Some(Duration::ZERO))? {
                self.handle(message)?;
                moved = true;
            }
            let now = Instant::now();
            self.context.now = now;
            if looked && !self.stopped {
                moved |= self.context.poll_queues(now)?;
                moved |= self.context.run_held()?;
                moved |= self.streams.step(&mut self.context, now)?;
                self.drain(now)?;
            }
            // After a cut nothing of ours may change in the arena; the guest is stopped, too.
            let alive_due = if self.stopped {
                None
            } else {
                self.streams.report_alive(&self.context, now)
            };
            if moved {
                self.idle_turns = 0;
                self.last_moved = now;
                continue;
            }
            self.idle_turns = self.idle_turns.saturating_add(1);
            if self.idle_turns < SPIN_TURNS && !self.stopped && !self.streams.is_idle() {
                std::thread::yield_now();
                continue;
            }
            let wait = self.rest(alive_due, now);
            if let Some(message) = self.context.port.next(wait)? {
                self.idle_turns = 0;
                self.last_moved = Instant::now();
                self.handle(message)?;
            }
            return Ok(());
        }
    }

    /// How long nothing needs to be done, `None` for ever.
    fn rest(&self, alive_due: Option<Instant>, now: Instant) -> Option<Duration> {
        let until = |due: Instant| {
            due.saturating_duration_since(now)
                .max(Duration::from_millis(1))
        };
        if self.stopped {
            return alive_due.map(until);
        }
        if self.context.is_busy() || !self.streams.is_idle() || self.drain_wanted() {
            let longest = if self.streams.is_idle() && !self.context.is_awaited() {
                REST_MAX_UNAWAITED
            } else {
                REST_MAX
            };
            let rest = now.saturating_duration_since(self.last_moved) / REST_PART;
            return Some(rest.clamp(REST_MIN, longest));
        }
        let asleep = self.streams.has_rings().then_some(LOOK_ASLEEP);
        alive_due.map(until).into_iter().chain(asleep).min()
    }

    fn drain_wanted(&self) -> bool {
        self.logging
            && (self.context.drain.is_moving()
                || self
                    .context
                    .tracker
                    .device_memories()
                    .any(|(_, map)| map.dirty_chunks() > 0))
    }

    /// A step of the background drain, when one is due.
    fn drain(&mut self, now: Instant) -> Result<(), WorkerError> {
        if !self.logging || self.context.not_migratable.is_some() {
            return Ok(());
        }
        let context = &mut self.context;
        if context.drain.is_moving() {
            context.drain.poll_step()?;
            return Ok(());
        }
        if now < self.next_drain {
            return Ok(());
        }
        self.next_drain = now + DRAIN_PAUSE;
        let started = context
            .drain
            .start_step(&mut context.port, context.tracker.device_memories());
        match started {
            Ok(_) => Ok(()),
            // The cut will say so; the guest goes on.
            Err(WorkerError::Restore(reason)) => {
                context.forbid_migration(&reason);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn handle(&mut self, (message, fds): Incoming) -> Result<(), WorkerError> {
        match message {
            ToWorker::Init(_) => return Err(argument("init", "twice")),
            ToWorker::Allocated(_) => return Err(argument("allocated", "nobody asked")),
            ToWorker::Attach {
                res_id,
                extent: Some(extent),
                ..
            } if self.streams.leaves(res_id) => {
                // Else what waits would take it away again: a guest imports, closes and imports the same thing.
                self.streams.push(Item::Attach(res_id, extent))?;
            }
            ToWorker::Attach {
                res_id,
                extent,
                len,
            } => {
                // At once: a ring may name it as soon as the guest was told.
                let file = fds.into_iter().next();
                self.context.attach(res_id, extent, len, file)?;
            }
            // In order: a program that ends destroys its ring first.
            ToWorker::Detach { request, res_id } => {
                self.streams.push(Item::Detach(request, res_id))?;
            }
            ToWorker::Submit(bytes) => self.streams.push(Item::Submit(bytes, 0))?,
            ToWorker::Fence { ring_idx, fence_id } => {
                self.streams.push(Item::Fence(ring_idx, fence_id))?;
            }
            ToWorker::Export {
                request,
                memory,
                len,
            } => self.streams.push(Item::Export(request, memory, len))?,
            ToWorker::Log(on) => {
                self.logging = on;
                if !on && !self.stopped {
                    self.context.drop_image()?;
                }
            }
            ToWorker::Cut { request, deadline } => {
                self.stopped = true;
                let result = self.context.cut(&self.streams, deadline);
                self.context
                    .port
                    .send(&FromWorker::Cut { request, result })?;
            }
            ToWorker::Resume => {
                self.stopped = false;
                if !self.logging {
                    self.context.drop_image()?;
                }
            }
            ToWorker::Restore { request, state } => {
                self.stopped = true;
                let result = match crate::restore::restore(&mut self.context, state) {
                    Ok(streams) => {
                        self.streams = streams;
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                };
                self.context
                    .port
                    .send(&FromWorker::Restored { request, result })?;
            }
            ToWorker::Inject(fault) => self.context.inject(fault)?,
            ToWorker::Status { request } => {
                let status = Box::new(self.context.report());
                self.context
                    .port
                    .send(&FromWorker::Status { request, status })?;
            }
        }
        Ok(())
    }
}

impl Context {
    /// Tells the front where device memory lives.
    pub(crate) fn answer_export(
        &self,
        request: u64,
        memory: u64,
        len: u64,
    ) -> Result<(), WorkerError> {
        use std::os::fd::AsFd;
        let exported = self.export(memory, len).map(|memory| {
            let file = memory
                .allocation
                .as_ref()
                .and_then(|allocation| allocation.pages.as_ref())
                .map(|pages| Arc::clone(pages.mapping.file()));
            (memory.extent, file)
        });
        let port = &self.port;
        match exported {
            Ok((Some(extent), _)) => port.send(&FromWorker::Exported {
                request,
                result: Ok(Some(extent)),
            })?,
            Ok((None, Some(file))) => port.send_fd(
                &FromWorker::Exported {
                    request,
                    result: Ok(None),
                },
                file.as_fd(),
            )?,
            Ok((None, None)) => port.send(&FromWorker::Exported {
                request,
                result: Err("the memory has no pages".to_owned().into()),
            })?,
            Err(reason) => port.send(&FromWorker::Exported {
                request,
                result: Err(reason),
            })?,
        }
        Ok(())
    }

    /// What the worker tells of itself.
    pub(crate) fn report(&self) -> crate::channel::WorkerStatus {
        let mut status = self.status.clone();
        status.objects = self.objects.len() as u64;
        let drained = self.drain.figures();
        status.pages_moved = drained.pages_moved;
        status.drained_bytes = drained.copied_bytes;
        // The last page of a memory object may be short.
        status.narrowed_bytes = drained
            .copied_bytes
            .saturating_sub(drained.pages_moved * 4096);
        status.marked_by = self.marked_by();
        status.not_migratable.clone_from(&self.not_migratable);
        status.chunks_marked = self
            .tracker
            .device_memories()
            .map(|(_, map)| map.counters().marked_bytes / hesper_audit::dirty::CHUNK_SIZE)
            .sum();
        status
    }
}
