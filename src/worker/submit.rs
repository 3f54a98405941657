//! Queues: what was handed to the host, what is held, what retired, and whether it hangs.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_audit::marks::Marks;
use hesper_gpu::{Device, GpuError};
use hesper_venus::{Command, Decoded, decode};
use smallvec::SmallVec;

use crate::channel::{Audit, FromWorker, Warning};
use crate::context::{Context, Kind};
use crate::error::{WorkerError, argument};
use crate::exec_external::{DroppedWait, drop_waits};
use crate::submission::{self, Operation, Room, Submission};

/// Submissions that may wait in the decoder for something unsignalled.
const HELD_MAX: usize = 4096;
/// Semaphore operations of one submission.
const OPERATIONS_MAX: usize = 4096;
/// Submissions to one queue without a signal of ours, while one before them is still awaited. A signal costs a driver that
/// emulates timelines a fifth of a small submission.
const UNSIGNALLED_MAX: u32 = 256;
/// Time between two looks at how far the host is, while nobody waits for that.
const LOOK_PAUSE: Duration = Duration::from_millis(1);
/// Marks kept for their room.
const SPARE_MAX: usize = 1024;
/// Fences that may be pending on one timeline.
const FENCES_MAX: usize = 1 << 16;

/// A submission that waits in the decoder.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Held {
    /// Its number on the queue.
    pub number: u64,
    /// The raw command.
    pub bytes: Vec<u8>,
}

/// A queue. Submissions are numbered as they arrive; the host executes them in that order, and a
/// timeline semaphore of ours tells how far it is.
pub struct Queue {
    host: Option<Rc<Device>>,
    pub(crate) handle: vk::Queue,
    /// The context's timeline that fences name.
    pub(crate) ring_idx: u32,
    /// Guest id of the device.
    pub(crate) device: u64,
    timeline: vk::Semaphore,
    /// Number of the last submission that arrived.
    pub(crate) arrived: u64,
    retired: u64,
    /// Number of the last submission whose end our timeline will tell.
    signalled: u64,
    /// Submissions since then.
    unsignalled: u32,
    in_flight: VecDeque<(u64, Rc<Marks>)>,
    pub(crate) held: VecDeque<Held>,
    /// Fences: the submission that each comes after, and its number.
    pub(crate) fences: VecDeque<(u64, u64)>,
    /// Marks of the submission before: often the next one writes the same.
    last: Option<Rc<Marks>>,
    /// Marks that nobody holds any more, for their room.
    spare: Vec<Rc<Marks>>,
    room: Room,
    last_progress: Instant,
    next_look: Instant,
    hang_reported: bool,
}

impl Queue {
    pub(crate) fn new(
        host: Rc<Device>,
        handle: vk::Queue,
        ring_idx: u32,
        device: u64,
    ) -> Result<Self, WorkerError> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: the device lives and was created with timeline semaphores.
        let timeline = unsafe { host.raw().create_semaphore(&info, None) }.map_err(|result| {
            GpuError::Vulkan {
                call: "vkCreateSemaphore",
                result,
            }
        })?;
        Ok(Self {
            host: Some(host),
            handle,
            ring_idx,
            device,
            timeline,
            arrived: 0,
            retired: 0,
            signalled: 0,
            unsignalled: 0,
            in_flight: VecDeque::new(),
            held: VecDeque::new(),
            fences: VecDeque::new(),
            last: None,
            spare: Vec::new(),
            room: Room::default(),
            last_progress: Instant::now(),
            next_look: Instant::now(),
            hang_reported: false,
        })
    }

    /// The device goes; the queue stays in the list so that indices hold.
    pub(crate) fn close(&mut self) {
        if let Some(host) = self.host.take() {
            // SAFETY: the device is idle.
            unsafe { host.raw().destroy_semaphore(self.timeline, None) };
        }
        self.device = 0;
        self.ring_idx = 0;
        self.in_flight.clear();
        self.last = None;
        self.held.clear();
        self.retired = self.arrived;
    }

    /// Number of the last submission that is done.
    pub(crate) fn retired(&self) -> u64 {
        self.retired
    }

    /// Number of the last submission that the host has and has not finished.
    pub(crate) fn last_in_flight(&self) -> Option<u64> {
        self.in_flight.back().map(|(number, _)| *number)
    }

    /// True while the host works on something.
    pub(crate) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Submissions on the host that never end: for fault injection.
    pub(crate) fn add_endless(&mut self) {
        self.arrived += 1;
        self.push_in_flight(self.arrived, Rc::default());
    }

    /// Keeps the room of marks for others, unless somebody else holds them.
    fn give_back(&mut self, mut marks: Rc<Marks>) {
        if self.spare.len() < SPARE_MAX && Rc::get_mut(&mut marks).is_some() {
            self.spare.push(marks);
        }
    }

    fn push_in_flight(&mut self, number: u64, marks: Rc<Marks>) {
        if self.in_flight.is_empty() {
            self.last_progress = Instant::now();
        }
        self.in_flight.push_back((number, marks));
    }

    /// Number that the host has reached.
    fn reached(&self) -> Result<u64, WorkerError> {
        let Some(host) = &self.host else {
            return Ok(self.arrived);
        };
        // SAFETY: device and semaphore live.
        let value = unsafe { host.raw().get_semaphore_counter_value(self.timeline) };
        Ok(value.map_err(|result| GpuError::Vulkan {
            call: "vkGetSemaphoreCounterValue",
            result,
        })?)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // A hung queue is never waited for: the process goes with it.
        if self.in_flight.is_empty() {
            self.close();
        }
    }
}

impl Context {
    fn queue_index(&self, id: u64) -> Result<usize, WorkerError> {
        match self.objects.get(vk::ObjectType::QUEUE, id)?.data.kind {
            Kind::Queue(index) => Ok(index),
            _ => Err(argument("a queue", "has no data")),
        }
    }

    /// A submission arrives: it goes to the host, or is held.
    pub(crate) fn queue_submit(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let queue = match &mut decoded.command {
            Command::VkQueueSubmit(args) => {
                args.ret = vk::Result::SUCCESS;
                args.queue.as_raw()
            }
            Command::VkQueueSubmit2(args) => {
                args.ret = vk::Result::SUCCESS;
                args.queue.as_raw()
            }
            _ => return Err(argument("vkQueueSubmit", "is another command")),
        };
        let index = self.queue_index(queue)?;
        self.status.submissions += 1;
        self.queues[index].arrived += 1;
        let number = self.queues[index].arrived;
        if !self.queues[index].held.is_empty() || !self.can_run(&decoded.command)? {
            let queue = &mut self.queues[index];
            if queue.held.len() >= HELD_MAX {
                return Err(argument("vkQueueSubmit", "too many submissions wait"));
            }
            queue.held.push_back(Held {
                number,
                bytes: bytes.to_vec(),
            });
            return Ok(());
        }
        self.hand_over(index, number, decoded)
    }

    /// Whether everything that a submission waits for is signalled, or will be by work that the
    /// host has already.
    fn can_run(&self, command: &Command<'_>) -> Result<bool, WorkerError> {
        let semaphore = |id| match &self.objects.get(vk::ObjectType::SEMAPHORE, id)?.data.kind {
            Kind::Semaphore(semaphore) => Ok(semaphore),
            _ => Err(argument("vkQueueSubmit", "names no semaphore")),
        };
        // What the batches themselves change, in order.
        let mut overlay = SmallVec::<[Operation; 16]>::new();
        let mut imports_used = SmallVec::<[u64; 16]>::new();
        for batch in submission_of(command)?.batches() {
            for (id, value) in batch.waits() {
                let semaphore = semaphore(id)?;
                let used = imports_used.iter().filter(|other| **other == id).count();
                if used < semaphore.imports as usize {
                    imports_used.push(id);
                    continue;
                }
                let pending = overlay
                    .iter()
                    .rev()
                    .find(|(other, _)| *other == id)
                    .map_or(semaphore.pending, |(_, value)| *value);
                let wanted = if semaphore.timeline { value } else { 1 };
                if pending < wanted {
                    return Ok(false);
                }
                if !semaphore.timeline {
                    overlay.push((id, 0));
                }
            }
            for (id, value) in batch.signals() {
                let timeline = semaphore(id)?.timeline;
                overlay.push((id, if timeline { value } else { 1 }));
            }
            if overlay.len() > OPERATIONS_MAX {
                return Err(argument("vkQueueSubmit", "too many semaphore operations"));
            }
        }
        Ok(true)
    }

    /// Hands a submission to the host: marked first, tracked afterwards.
    fn hand_over(
        &mut self,
        index: usize,
        number: u64,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let marks = self.resolve(index, &decoded.command)?;
        self.mark(&marks);
        let submission = submission_of(&decoded.command)?;
        let mut dropped: Vec<DroppedWait> = Vec::new();
        for (batch_at, batch) in submission.batches().enumerate() {
            for (wait_at, (id, _)) in batch.waits().enumerate() {
                if let Kind::Semaphore(semaphore) = &mut self
                    .objects
                    .get_mut(vk::ObjectType::SEMAPHORE, id)?
                    .data
                    .kind
                    && !semaphore.timeline
                {
                    if semaphore.imports > 0 {
                        semaphore.imports -= 1;
                        dropped.push((batch_at, wait_at));
                        continue;
                    }
                    semaphore.pending = 0;
                }
            }
            for (id, value) in batch.signals() {
                if let Kind::Semaphore(semaphore) = &mut self
                    .objects
                    .get_mut(vk::ObjectType::SEMAPHORE, id)?
                    .data
                    .kind
                {
                    semaphore.pending = if semaphore.timeline {
                        semaphore.pending.max(value)
                    } else {
                        1
                    };
                }
            }
        }
        self.oracle_baseline()?;
        self.map(decoded)?;
        drop_waits(&decoded.command, &dropped);
        let result = self.submit_mapped(index, number, &decoded.command)?;
        Self::unmap(decoded);
        match &mut decoded.command {
            Command::VkQueueSubmit(args) => args.ret = result,
            Command::VkQueueSubmit2(args) => args.ret = result,
            _ => {}
        }
        match result {
            vk::Result::SUCCESS => {
                self.queues[index].push_in_flight(number, marks);
                if self.config.oracle {
                    self.oracle_check(index, number)?;
                }
                Ok(())
            }
            // Fences after this number could never be told: the context is as good as lost.
            result => Err(GpuError::Vulkan {
                call: "vkQueueSubmit",
                result,
            }
            .into()),
        }
    }

    /// What a submission may write: with the audit off, nothing.
    fn resolve(&mut self, index: usize, command: &Command<'_>) -> Result<Rc<Marks>, WorkerError> {
        let resolves = matches!(self.config.audit, Audit::On | Audit::Blind(_));
        let command_buffers = submission_of(command)?.command_buffers();
        let queue = &mut self.queues[index];
        if let Some(last) = &queue.last
            && (!resolves || self.tracker.repeats(command_buffers.clone(), last))
        {
            return Ok(Rc::clone(last));
        }
        if let Some(last) = queue.last.take() {
            queue.give_back(last);
        }
        let mut marks = queue.spare.pop().unwrap_or_default();
        // Nobody else holds a spare one: nothing is copied.
        let room = Rc::make_mut(&mut marks);
        room.clear();
        if self.config.oracle {
            room.keep_parts();
        }
        if resolves {
            self.tracker
                .resolve_submit(&self.objects, command_buffers, room)?;
        }
        queue.last = Some(Rc::clone(&marks));
        Ok(marks)
    }

    /// Submits, and has our timeline signalled unless it tells of an earlier submission soon.
    fn submit_mapped(
        &mut self,
        index: usize,
        number: u64,
        command: &Command<'_>,
    ) -> Result<vk::Result, WorkerError> {
        let queue = &mut self.queues[index];
        if queue.signalled > queue.retired {
            // Not at every submission: the driver's threads want the lock behind the look, too.
            let now = self.now;
            if now >= queue.next_look {
                queue.next_look = now + LOOK_PAUSE;
                self.retire(index, now)?;
            }
        }
        let queue = &mut self.queues[index];
        let Some(host) = &queue.host else {
            return Err(argument("vkQueueSubmit", "the device is gone"));
        };
        let tell = queue.signalled <= queue.retired || queue.unsignalled >= UNSIGNALLED_MAX;
        // SAFETY: handles were looked up by type and live; this thread alone uses the queue and the decoded command.
        let result = unsafe {
            submission::submit(
                host.raw(),
                queue.handle,
                tell.then_some((queue.timeline, number)),
                command,
                &mut queue.room,
            )
        }
        .ok_or_else(|| argument("vkQueueSubmit", "is another command"))?;
        if tell {
            queue.signalled = number;
            queue.unsignalled = 0;
        } else {
            queue.unsignalled += 1;
        }
        Ok(result)
    }

    /// Has our timeline tell the end of all that a queue was given so far.
    pub(crate) fn signal_all(&mut self, index: usize) -> Result<(), WorkerError> {
        let queue = &mut self.queues[index];
        let (Some(host), Some(number)) = (&queue.host, queue.last_in_flight()) else {
            return Ok(());
        };
        if queue.unsignalled == 0 {
            return Ok(());
        }
        // SAFETY: device, queue and semaphore live; this thread alone uses the queue.
        let result =
            unsafe { submission::signal(host.raw(), queue.handle, queue.timeline, number) };
        if result != vk::Result::SUCCESS {
            return Err(GpuError::Vulkan {
                call: "vkQueueSubmit",
                result,
            }
            .into());
        }
        queue.signalled = number;
        queue.unsignalled = 0;
        Ok(())
    }

    /// Marks what a submission may write, device-local and host-visible.
    fn mark(&self, marks: &Marks) {
        marks.mark_device();
        let Some(bitmap) = self.arena.as_ref().and_then(|arena| arena.bitmap.as_ref()) else {
            return;
        };
        for range in marks.host_ranges() {
            if let Some(extent) = self.memory_extent(range.memory)
                && let Err(error) =
                    bitmap.mark(extent.offset.saturating_add(range.offset), range.len)
            {
                // The audit keeps ranges inside their memory.
                self.port.warn(Warning::DirtyBitmap, &error);
            }
        }
    }

    /// Looks at every queue: retires what is done, tells fences. True when somebody was told something.
    pub(crate) fn poll_queues(&mut self, now: Instant) -> Result<bool, WorkerError> {
        let mut told = false;
        for index in 0..self.queues.len() {
            let queue = &mut self.queues[index];
            let awaited = !queue.fences.is_empty();
            // The driver's threads want the lock behind the look, too.
            if queue.is_busy() && (awaited || now >= queue.next_look) {
                queue.next_look = now + LOOK_PAUSE;
                self.retire(index, now)?;
                let queue = &self.queues[index];
                if queue.unsignalled > 0 && (awaited || queue.signalled <= queue.retired) {
                    self.signal_all(index)?;
                }
            }
            told |= self.tell_fences(index)?;
        }
        self.drop_replaced();
        Ok(told)
    }

    fn retire(&mut self, index: usize, now: Instant) -> Result<(), WorkerError> {
        let reached = self.queues[index].reached()?;
        while let Some((number, _)) = self.queues[index].in_flight.front()
            && *number <= reached
            && let Some((number, marks)) = self.queues[index].in_flight.pop_front()
        {
            let queue = &mut self.queues[index];
            let again = queue
                .in_flight
                .front()
                .is_some_and(|(next, other)| *next <= reached && Rc::ptr_eq(other, &marks));
            if !again {
                // What it wrote after the marks of its submission were taken is dirty still.
                self.mark(&marks);
                self.queues[index].give_back(marks);
            }
            let queue = &mut self.queues[index];
            queue.retired = number;
            queue.last_progress = now;
            queue.hang_reported = false;
        }
        let queue = &mut self.queues[index];
        let stalled = now.saturating_duration_since(queue.last_progress);
        if queue.is_busy() && !queue.hang_reported && stalled > self.config.hang_timeout {
            queue.hang_reported = true;
            self.port.send(&FromWorker::Hung { stalled })?;
        }
        Ok(())
    }

    fn tell_fences(&mut self, index: usize) -> Result<bool, WorkerError> {
        let mut told = false;
        let queue = &mut self.queues[index];
        while let Some((after, fence_id)) = queue.fences.front()
            && *after <= queue.retired
        {
            self.port.send(&FromWorker::Fence {
                ring_idx: queue.ring_idx,
                fence_id: *fence_id,
            })?;
            queue.fences.pop_front();
            told = true;
        }
        Ok(told)
    }

    /// Hands over held submissions that can run now. True when one did.
    pub(crate) fn run_held(&mut self) -> Result<bool, WorkerError> {
        let mut ran = false;
        for index in 0..self.queues.len() {
            while let Some(held) = self.queues[index].held.pop_front() {
                let bump = Bump::new();
                let mut decoded = decode(&held.bytes, &bump, &self.limits)?;
                if !self.can_run(&decoded.command)? {
                    self.queues[index].held.push_front(held);
                    break;
                }
                self.hand_over(index, held.number, &mut decoded)?;
                ran = true;
            }
        }
        Ok(ran)
    }

    /// A fence of the front's: told when everything that arrived before is done.
    pub(crate) fn add_fence(&mut self, ring_idx: u32, fence_id: u64) -> Result<(), WorkerError> {
        let queue = self
            .queues
            .iter_mut()
            .find(|queue| ring_idx != 0 && queue.ring_idx == ring_idx);
        match queue {
            Some(queue) if queue.fences.len() >= FENCES_MAX => {
                Err(argument("a fence", "too many are pending"))
            }
            Some(queue) => {
                queue.fences.push_back((queue.arrived, fence_id));
                Ok(())
            }
            // The CPU's timeline, or one without a queue: nothing can be pending there.
            None => Ok(self.port.send(&FromWorker::Fence { ring_idx, fence_id })?),
        }
    }

    /// True while the host works on something.
    pub(crate) fn is_busy(&self) -> bool {
        self.queues.iter().any(Queue::is_busy)
    }

    /// True while somebody waits for what the host works on, or for a semaphore.
    pub(crate) fn is_awaited(&self) -> bool {
        self.queues
            .iter()
            .any(|queue| !queue.fences.is_empty() || !queue.held.is_empty())
    }

    /// Waits until the host has nothing to do, no longer than `limit`. False when it has still.
    pub(crate) fn finish(&mut self, limit: Duration) -> Result<bool, WorkerError> {
        let started = Instant::now();
        let mut pause = Duration::from_micros(5);
        loop {
            for index in 0..self.queues.len() {
                self.queues[index].next_look = started;
                self.signal_all(index)?;
            }
            self.poll_queues(Instant::now())?;
            if !self.is_busy() {
                return Ok(true);
            }
            // Known to hang: whoever waits hears it at once.
            let hung = self.queues.iter().any(|queue| queue.hang_reported);
            if hung || started.elapsed() >= limit {
                return Ok(false);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_micros(200));
        }
    }

    /// Waits until the host has told all fences of finished submissions, too: they come after the signal that
    /// [`Context::finish`] waits for. Nothing may be in flight.
    pub(crate) fn settle_fences(&self) -> Result<(), WorkerError> {
        for queue in &self.queues {
            if let Some(host) = &queue.host {
                // SAFETY: device and queue live; this thread alone uses the queue.
                unsafe { host.raw().queue_wait_idle(queue.handle) }.map_err(|result| {
                    GpuError::Vulkan {
                        call: "vkQueueWaitIdle",
                        result,
                    }
                })?;
            }
        }
        Ok(())
    }

    /// Waits for the queues before something that they may use goes.
    pub(crate) fn finish_queues(&mut self, device: u64) -> Result<(), WorkerError> {
        let busy = self
            .queues
            .iter()
            .any(|queue| queue.device == device && queue.is_busy());
        if busy && !self.finish(self.config.hang_timeout)? {
            return Err(argument("vkFreeMemory", "the device still works with it"));
        }
        Ok(())
    }

    /// Waits for a submission and lets the oracle look at all memory.
    fn oracle_check(&mut self, index: usize, number: u64) -> Result<(), WorkerError> {
        if !self.finish(self.config.hang_timeout)? {
            // What it writes later is no miss of the next one's.
            if let (Some(oracle), Some(marks)) = (&mut self.oracle, &self.queues[index].last) {
                oracle.note(marks, format!("submission {number}, unchecked"));
            }
            return Ok(());
        }
        let Some(marks) = self.queues[index].last.clone() else {
            return Ok(());
        };
        self.check_oracle(number, &marks)
    }
}

fn submission_of<'a>(command: &'a Command<'_>) -> Result<Submission<'a>, WorkerError> {
    Submission::of(command).ok_or_else(|| argument("vkQueueSubmit", "is another command"))
}
