//! Where commands come from: rings, the context's own queue, and streams in shared memory; and
//! where replies go.

use std::collections::VecDeque;
use std::time::Instant;

use bumpalo::Bump;
use hesper_image::Extent;
use hesper_venus::{Command, Encoder, decode, encode_reply, mesa};
use serde::{Deserialize, Serialize};

use crate::channel::FromWorker;
use crate::context::Context;
use crate::error::{WorkerError, argument};
use crate::exec::Step;
use crate::raw;
use crate::ring::{Layout, Ring, RingRecord};

/// Rings of one context.
const RINGS_MAX: usize = 64;
/// Bytes of one command stream, and of all streams of one command.
const STREAM_LEN_MAX: u64 = 64 << 20;
/// Streams of one command.
const STREAMS_MAX: u32 = 4096;
/// Commands of one ring before the others have their turn.
const COMMANDS_PER_TURN: usize = 256;
/// Context submissions that may wait, and their bytes.
const ITEMS_MAX: usize = 1 << 16;
const ITEM_BYTES_MAX: usize = 64 << 20;
/// Longest reply, bytes.
const REPLY_LEN_MAX: usize = 64 << 20;

/// Where replies go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    res_id: u32,
    offset: u64,
    size: u64,
    position: u64,
}

/// A stream as a private copy, and where its replies start, if that is said.
type Stream = (Vec<u8>, Option<u64>);

/// Streams that an execute command runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Nested {
    streams: VecDeque<Stream>,
    position: usize,
    /// Bytes of the execute command itself.
    outer_len: u32,
    /// Whether the front stream's reply position was set already.
    entered: bool,
}

/// What belongs to one source of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    reply: Option<Reply>,
    nested: Option<Nested>,
    #[serde(skip)]
    waiting_since: Option<Instant>,
}

/// Something for the context itself, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item {
    /// Commands, and how many bytes of them are done.
    Submit(Vec<u8>, usize),
    /// A fence.
    Fence(u32, u64),
    /// A question where device memory lives: request, memory, length. In order, because the guest
    /// has the context wait for the ring that allocates first.
    Export(u64, u64, u64),
    /// A resource to leave: request, resource.
    Detach(u64, u32),
    /// A resource to serve again, which an item before this one leaves.
    Attach(u32, Extent),
}

impl Item {
    /// Bytes of commands.
    fn len(&self) -> usize {
        match self {
            Item::Submit(bytes, _) => bytes.len(),
            Item::Fence(..) | Item::Export(..) | Item::Detach(..) | Item::Attach(..) => 0,
        }
    }
}

/// A ring with its stream state.
pub struct Served {
    pub(crate) ring: Ring,
    pub(crate) state: StreamState,
    /// What was seen in the ring, from its head on.
    buffer: Vec<u8>,
}

/// What comes back at a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamsRecord {
    rings: Vec<(RingRecord, StreamState)>,
    own: StreamState,
    items: VecDeque<Item>,
}

/// All sources of one context.
#[derive(Default)]
pub struct Streams {
    rings: Vec<Served>,
    own: StreamState,
    items: VecDeque<Item>,
    /// Bytes of commands in `items`.
    item_bytes: usize,
    bump: Bump,
    reply: Vec<u8>,
}

/// A source.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Own,
    Ring(usize),
}

impl Streams {
    /// Queues something for the context itself.
    ///
    /// # Errors
    /// [`WorkerError::Argument`] when too much waits.
    pub fn push(&mut self, item: Item) -> Result<(), WorkerError> {
        let len = item.len();
        if self.items.len() >= ITEMS_MAX || self.item_bytes + len > ITEM_BYTES_MAX {
            return Err(argument("a submission", "too many wait"));
        }
        self.item_bytes += len;
        self.items.push_back(item);
        Ok(())
    }

    /// Whether a resource will be left by what waits.
    pub fn leaves(&self, res_id: u32) -> bool {
        self.items
            .iter()
            .any(|item| matches!(item, Item::Detach(_, leaves) if *leaves == res_id))
    }

    /// State for the image.
    pub fn record(&self) -> StreamsRecord {
        StreamsRecord {
            rings: self
                .rings
                .iter()
                .map(|served| (served.ring.record().clone(), served.state.clone()))
                .collect(),
            own: self.own.clone(),
            items: self.items.clone(),
        }
    }

    /// Serves again what a record says. Resources are attached already.
    ///
    /// # Errors
    /// [`WorkerError`] for a ring that does not fit its resource.
    pub fn restore(context: &Context, record: StreamsRecord) -> Result<Self, WorkerError> {
        let mut streams = Self {
            own: record.own,
            item_bytes: record.items.iter().map(Item::len).sum(),
            items: record.items,
            ..Self::default()
        };
        if record.rings.len() > RINGS_MAX || streams.items.len() > ITEMS_MAX {
            return Err(WorkerError::Restore("too many rings or submissions".into()));
        }
        for (ring, state) in record.rings {
            let resource = context.resource(ring.layout.res_id)?;
            ring.layout.check(0, resource.len, resource.len)?;
            let mut ring = Ring::new(ring, resource.memory.clone(), resource.base)?;
            ring.wake(Instant::now());
            tell_ring(context, &ring)?;
            streams.rings.push(Served {
                ring,
                state,
                buffer: Vec::new(),
            });
        }
        Ok(streams)
    }

    /// Forgets what lies in a resource: rings are served no more, replies go nowhere. A program that was killed leaves its
    /// rings behind.
    fn forget(&mut self, res_id: u32) {
        self.rings.retain(|served| served.ring.res_id() != res_id);
        let states = self.rings.iter_mut().map(|served| &mut served.state);
        for state in states.chain([&mut self.own]) {
            if state.reply.is_some_and(|reply| reply.res_id == res_id) {
                state.reply = None;
            }
        }
    }

    /// Tells every ring that the context is lost.
    pub fn set_fatal(&self) {
        for served in &self.rings {
            served.ring.set_fatal();
        }
    }

    /// True when there are rings.
    pub fn has_rings(&self) -> bool {
        !self.rings.is_empty()
    }

    /// True when every ring sleeps and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.items.is_empty() && self.rings.iter().all(|served| served.ring.is_idle())
    }

    /// Copies what the rings hold now, for [`Streams::step`]. Messages of the front are handled in between: a guest that
    /// was told of a resource may name it in a ring at once, and the message that attaches it was sent before.
    ///
    /// # Errors
    /// [`WorkerError::Ring`] for a hostile tail.
    pub fn look(&mut self, now: Instant) -> Result<(), WorkerError> {
        for served in &mut self.rings {
            served.ring.look_asleep(now);
            if served.ring.is_idle() {
                served.buffer.clear();
            } else {
                served.ring.read(&mut served.buffer)?;
            }
        }
        Ok(())
    }

    /// Does a turn of work on every source: on what [`Streams::look`] saw of the rings. True when anything moved.
    ///
    /// # Errors
    /// [`WorkerError`]: the context ends.
    pub fn step(&mut self, context: &mut Context, now: Instant) -> Result<bool, WorkerError> {
        let mut moved = self.step_own(context)?;
        for index in 0..self.rings.len() {
            moved |= self.step_ring(context, index, now)?;
        }
        Ok(moved)
    }

    /// Reports ALIVE on monitored rings; returns when the next report is due.
    pub fn report_alive(&mut self, context: &Context, now: Instant) -> Option<Instant> {
        let mut next = None::<Instant>;
        for served in &mut self.rings {
            if let Some(due) = served.ring.report_alive(now) {
                mark_ring(context, &served.ring);
                next = Some(next.map_or(due, |next| next.min(due)));
            }
        }
        next
    }

    fn step_own(&mut self, context: &mut Context) -> Result<bool, WorkerError> {
        let mut moved = false;
        for _ in 0..COMMANDS_PER_TURN {
            match self.items.front() {
                None => break,
                Some(Item::Fence(ring_idx, fence_id)) => {
                    context.add_fence(*ring_idx, *fence_id)?;
                    self.items.pop_front();
                    moved = true;
                }
                Some(Item::Export(request, memory, len)) => {
                    context.answer_export(*request, *memory, *len)?;
                    self.items.pop_front();
                    moved = true;
                }
                Some(Item::Detach(request, res_id)) => {
                    let (request, res_id) = (*request, *res_id);
                    self.items.pop_front();
                    context.resources.remove(&res_id);
                    self.forget(res_id);
                    context.port.send(&FromWorker::Detached { request })?;
                    moved = true;
                }
                Some(Item::Attach(res_id, extent)) => {
                    context.attach(*res_id, Some(*extent), extent.len, None)?;
                    self.items.pop_front();
                    moved = true;
                }
                Some(Item::Submit(..)) => {
                    let Some(Item::Submit(bytes, done)) = self.items.pop_front() else {
                        break;
                    };
                    if done >= bytes.len() && self.own.nested.is_none() {
                        self.item_bytes -= bytes.len();
                        moved = true;
                        continue;
                    }
                    let used = self.run_one(context, Source::Own, &bytes[done..])?;
                    let more = Item::Submit(bytes, done + used.unwrap_or(0) as usize);
                    self.items.push_front(more);
                    match used {
                        Some(_) => moved = true,
                        None => break,
                    }
                }
            }
        }
        Ok(moved)
    }

    fn step_ring(
        &mut self,
        context: &mut Context,
        index: usize,
        now: Instant,
    ) -> Result<bool, WorkerError> {
        let served = &mut self.rings[index];
        if served.ring.is_idle() {
            return Ok(false);
        }
        let buffer = std::mem::take(&mut served.buffer);
        let mut at = 0;
        let mut moved = false;
        for _ in 0..COMMANDS_PER_TURN {
            let nested = self.rings[index].state.nested.is_some();
            if at >= buffer.len() && !nested {
                break;
            }
            let Some(used) = self.run_one(context, Source::Ring(index), &buffer[at..])? else {
                break;
            };
            moved = true;
            if used > 0 {
                at += used as usize;
                self.rings[index].ring.consume(used)?;
            }
        }
        if moved {
            mark_ring(context, &self.rings[index].ring);
        } else if buffer.is_empty() {
            self.rings[index].ring.maybe_sleep(now);
            if self.rings[index].ring.is_idle() {
                mark_ring(context, &self.rings[index].ring);
            }
        }
        self.rings[index].buffer = buffer;
        Ok(moved)
    }

    fn state(&mut self, source: Source) -> &mut StreamState {
        match source {
            Source::Own => &mut self.own,
            Source::Ring(index) => &mut self.rings[index].state,
        }
    }

    /// Runs one command of a source: of a nested stream if there is one, else the first of
    /// `bytes`. Returns the bytes of `bytes` that are done with (0 within a nested stream), or
    /// `None` when the command waits.
    fn run_one(
        &mut self,
        context: &mut Context,
        source: Source,
        bytes: &[u8],
    ) -> Result<Option<u32>, WorkerError> {
        let Some(mut nested) = self.state(source).nested.take() else {
            return self.run_command(context, source, bytes, false);
        };
        loop {
            let Some((stream, reply_position)) = nested.streams.front() else {
                return Ok(Some(nested.outer_len));
            };
            if !nested.entered {
                nested.entered = true;
                if let (Some(position), Some(reply)) =
                    (*reply_position, self.state(source).reply.as_mut())
                {
                    reply.position = position;
                }
            }
            if nested.position >= stream.len() {
                nested.streams.pop_front();
                nested.position = 0;
                nested.entered = false;
                continue;
            }
            let ran = self.run_command(context, source, &stream[nested.position..], true);
            if let Ok(Some(used)) = &ran {
                nested.position += *used as usize;
            }
            self.state(source).nested = Some(nested);
            return ran.map(|ran| ran.map(|_| 0));
        }
    }

    /// A function of its own: `cargo xtask bench audit-instructions` counts what is called from here.
    #[inline(never)]
    fn run_command(
        &mut self,
        context: &mut Context,
        source: Source,
        bytes: &[u8],
        nested: bool,
    ) -> Result<Option<u32>, WorkerError> {
        // The arena of the last command is used again; it never moves while one runs.
        let mut bump = std::mem::take(&mut self.bump);
        bump.reset();
        let ran = self.run_in(context, source, bytes, nested, &bump);
        self.bump = bump;
        let state = self.state(source);
        match &ran {
            Ok(None) => {
                state.waiting_since.get_or_insert(context.now);
            }
            _ => state.waiting_since = None,
        }
        ran
    }

    fn run_in(
        &mut self,
        context: &mut Context,
        source: Source,
        bytes: &[u8],
        nested: bool,
        bump: &Bump,
    ) -> Result<Option<u32>, WorkerError> {
        let mut decoded = decode(bytes, bump, &context.limits)?;
        let len = decoded.len as u32;
        let raw_bytes = &bytes[..decoded.len];
        match &decoded.command {
            Command::VkSetReplyCommandStreamMESA(args) => {
                // SAFETY: arguments of the decoded command.
                let stream = unsafe { raw::get(args.p_stream) }
                    .ok_or_else(|| argument("vkSetReplyCommandStreamMESA", "no stream"))?;
                let (offset, size) = (stream.offset as u64, stream.size as u64);
                context.resource(stream.resource_id)?.locate(offset, size)?;
                self.state(source).reply = Some(Reply {
                    res_id: stream.resource_id,
                    offset,
                    size,
                    position: 0,
                });
            }
            Command::VkSeekReplyCommandStreamMESA(args) => {
                let position = args.position as u64;
                let reply = self
                    .state(source)
                    .reply
                    .as_mut()
                    .filter(|r| position <= r.size);
                reply
                    .ok_or_else(|| argument("vkSeekReplyCommandStreamMESA", "out of range"))?
                    .position = position;
            }
            Command::VkExecuteCommandStreamsMESA(args) => {
                if nested {
                    return Err(argument("vkExecuteCommandStreamsMESA", "nested"));
                }
                let streams = self.gather(context, args)?;
                self.state(source).nested = Some(Nested {
                    streams,
                    position: 0,
                    outer_len: len,
                    entered: false,
                });
                return Ok(Some(0));
            }
            Command::VkCreateRingMESA(args) => {
                self.own_only(source, "vkCreateRingMESA")?;
                // SAFETY: arguments of the decoded command.
                let info = unsafe { raw::get(args.p_create_info) }
                    .ok_or_else(|| argument("vkCreateRingMESA", "no create info"))?;
                self.create_ring(context, args.ring, info)?;
            }
            Command::VkDestroyRingMESA(args) => {
                self.own_only(source, "vkDestroyRingMESA")?;
                let index = self.find(args.ring, "vkDestroyRingMESA")?;
                self.rings.remove(index);
            }
            Command::VkNotifyRingMESA(args) => {
                self.own_only(source, "vkNotifyRingMESA")?;
                let index = self.find(args.ring, "vkNotifyRingMESA")?;
                self.rings[index].ring.wake(Instant::now());
                mark_ring(context, &self.rings[index].ring);
            }
            Command::VkWriteRingExtraMESA(args) => {
                self.own_only(source, "vkWriteRingExtraMESA")?;
                let index = self.find(args.ring, "vkWriteRingExtraMESA")?;
                self.rings[index]
                    .ring
                    .write_extra(args.offset as u64, args.value)?;
                mark_ring(context, &self.rings[index].ring);
            }
            Command::VkSubmitVirtqueueSeqnoMESA(args) => {
                self.own_only(source, "vkSubmitVirtqueueSeqnoMESA")?;
                let index = self.find(args.ring, "vkSubmitVirtqueueSeqnoMESA")?;
                self.rings[index].ring.set_virtqueue_seqno(args.seqno);
                self.rings[index].ring.wake(Instant::now());
            }
            Command::VkWaitVirtqueueSeqnoMESA(args) => {
                let Source::Ring(index) = source else {
                    return Err(argument("vkWaitVirtqueueSeqnoMESA", "not on a ring"));
                };
                if self.rings[index].ring.virtqueue_seqno() < args.seqno {
                    return Ok(None);
                }
            }
            Command::VkWaitRingSeqnoMESA(args) => {
                self.own_only(source, "vkWaitRingSeqnoMESA")?;
                let index = self.find(args.ring, "vkWaitRingSeqnoMESA")?;
                let ring = &mut self.rings[index].ring;
                // Ring counters wrap at 2^32: reached when not behind by less than half of that.
                if (ring.cur().wrapping_sub(args.seqno as u32) as i32) < 0 {
                    ring.wake(Instant::now());
                    return Ok(None);
                }
            }
            _ => {
                let since = self.state(source).waiting_since.unwrap_or(context.now);
                if context.execute(&mut decoded, raw_bytes, since)? == Step::Wait {
                    return Ok(None);
                }
                if decoded.wants_reply {
                    self.reply.clear();
                    encode_reply(
                        &mut decoded,
                        &mut Encoder::append(&mut self.reply, REPLY_LEN_MAX),
                    )?;
                    self.write_reply(context, source)?;
                }
            }
        }
        Ok(Some(len))
    }

    fn own_only(&self, source: Source, command: &'static str) -> Result<(), WorkerError> {
        match source {
            Source::Own => Ok(()),
            Source::Ring(_) => Err(argument(command, "not for a ring")),
        }
    }

    fn find(&self, id: u64, command: &'static str) -> Result<usize, WorkerError> {
        self.rings
            .iter()
            .position(|served| served.ring.id() == id)
            .ok_or_else(|| argument(command, format!("no ring {id:#x}")))
    }

    fn write_reply(&mut self, context: &Context, source: Source) -> Result<(), WorkerError> {
        let len = self.reply.len() as u64;
        let Some(mut reply) = self.state(source).reply else {
            return Err(argument("a reply", "no reply stream"));
        };
        let end = reply
            .position
            .checked_add(len)
            .filter(|end| *end <= reply.size);
        let end = end.ok_or_else(|| argument("a reply", "the reply stream is too short"))?;
        let resource = context.resource(reply.res_id)?;
        let offset = reply.offset + reply.position;
        let at = resource.locate(offset, len)?;
        resource.memory.write(at, &self.reply)?;
        context.mark_resource(resource, offset, len);
        reply.position = end;
        self.state(source).reply = Some(reply);
        Ok(())
    }

    fn gather(
        &self,
        context: &Context,
        args: &hesper_venus::args::VkExecuteCommandStreamsMESA,
    ) -> Result<VecDeque<Stream>, WorkerError> {
        let command = "vkExecuteCommandStreamsMESA";
        if args.stream_count == 0 || args.stream_count > STREAMS_MAX {
            return Err(argument(command, "no stream, or too many"));
        }
        // SAFETY: arguments of the decoded command.
        let (streams, positions) = unsafe {
            (
                raw::slice(args.p_streams, args.stream_count),
                raw::slice(
                    args.p_reply_positions,
                    if args.p_reply_positions.is_null() {
                        0
                    } else {
                        args.stream_count
                    },
                ),
            )
        };
        let total: u64 = streams
            .iter()
            .map(|s| s.size as u64)
            .fold(0, u64::saturating_add);
        if total > STREAM_LEN_MAX {
            return Err(argument(command, "streams are too long"));
        }
        streams
            .iter()
            .enumerate()
            .map(|(at, stream)| {
                let position = positions.get(at).map(|position| *position as u64);
                if stream.size == 0 {
                    return Ok((Vec::new(), position));
                }
                let resource = context.resource(stream.resource_id)?;
                let start = resource.locate(stream.offset as u64, stream.size as u64)?;
                let mut bytes = vec![0; stream.size];
                resource.memory.read(start, &mut bytes)?;
                Ok((bytes, position))
            })
            .collect()
    }

    fn create_ring(
        &mut self,
        context: &Context,
        id: u64,
        info: &mesa::VkRingCreateInfoMESA,
    ) -> Result<(), WorkerError> {
        let command = "vkCreateRingMESA";
        if self.rings.len() >= RINGS_MAX || self.rings.iter().any(|s| s.ring.id() == id) {
            return Err(argument(command, "too many rings, or the id is in use"));
        }
        let resource = context.resource(info.resource_id)?;
        let offset = info.offset as u64;
        let part = |part: usize| {
            offset
                .checked_add(part as u64)
                .ok_or_else(|| argument(command, "layout overflows"))
        };
        let layout = Layout {
            res_id: info.resource_id,
            head: part(info.head_offset)?,
            tail: part(info.tail_offset)?,
            status: part(info.status_offset)?,
            buffer: part(info.buffer_offset)?,
            buffer_len: info.buffer_size as u64,
            extra: part(info.extra_offset)?,
            extra_len: info.extra_size as u64,
        };
        layout.check(offset, info.size as u64, resource.len)?;
        // SAFETY: a chain of the decoded command.
        let monitor = unsafe {
            raw::find::<mesa::VkRingMonitorInfoMESA>(info.p_next, raw::RING_MONITOR_INFO)
        }
        .map(|monitor| monitor.max_reporting_period_microseconds);
        if monitor == Some(0) {
            return Err(argument(command, "monitor period 0"));
        }
        let record = RingRecord {
            id,
            layout,
            cur: 0,
            virtqueue_seqno: 0,
            idle_timeout_ns: info.idle_timeout,
            monitor_us: monitor,
        };
        let ring = Ring::new(record, resource.memory.clone(), resource.base)?;
        tell_ring(context, &ring)?;
        mark_ring(context, &ring);
        self.rings.push(Served {
            ring,
            state: StreamState::default(),
            buffer: Vec::new(),
        });
        Ok(())
    }
}

/// Lets the front know of a ring.
fn tell_ring(context: &Context, ring: &Ring) -> Result<(), WorkerError> {
    Ok(context.port.send(&FromWorker::Ring {
        res_id: ring.res_id(),
        status: ring.status_offset(),
    })?)
}

/// Marks what serving a ring may have written.
fn mark_ring(context: &Context, ring: &Ring) {
    if let Ok(resource) = context.resource(ring.res_id()) {
        for (offset, len) in ring.written_ranges() {
            context.mark_resource(resource, offset, len);
        }
    }
}
