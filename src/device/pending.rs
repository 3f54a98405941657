//! Requests taken from a queue and how their answers get back into guest RAM.
//!
//! Every write to guest RAM that this crate makes happens here, under one lock, so that
//! [`Completions::close`] is a promise: after it nothing of guest RAM changes.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hesper_log::guest_warn;
use serde::{Deserialize, Serialize};
use vhost_user_backend::VringT;
use virtio_queue::{QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};

use crate::backend::QUEUE_SIZE_MAX;
use crate::figures::Figures;
use crate::live::{Live, QueuePlace};
use crate::protocol::{Header, REQUEST_LEN_MAX, Refusal, Reply, Segment};
use crate::vring::{AtomicMemory, Vring};

/// Queues of the device: control and cursor.
pub const QUEUES: usize = 2;
/// The control queue's index.
pub const CONTROL: u16 = 0;

/// Writable bytes of a request that are kept: more than the longest response.
const RESPONSE_LEN_MAX: u64 = 4096;

/// A request that the guest waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Queue it came from.
    pub queue: u16,
    /// Head of its descriptor chain.
    pub head: u16,
    /// Where its response goes.
    pub segments: Vec<Segment>,
}

/// What the answer to a request waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiting {
    /// A fence of a context's timeline.
    Fence {
        /// Context id.
        ctx_id: u32,
        /// Timeline.
        ring_idx: u32,
        /// The guest's fence id.
        fence_id: u64,
    },
    /// The display's sizes, from the front end.
    DisplayInfo,
    /// A display's EDID, from the front end.
    Edid {
        /// Scanout id.
        scanout_id: u32,
    },
    /// Nothing but running queues: this is the response.
    Queue(Vec<u8>),
}

/// A request whose answer has to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Where it came from, and where the answer goes.
    pub chain: Chain,
    /// Its header.
    pub header: Header,
    /// What it waits for.
    pub waiting: Waiting,
    /// The answer once that has happened.
    pub reply_kind: u32,
    /// What follows the answer's header.
    pub reply_body: Vec<u8>,
}

/// Open requests as they are saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedRequests {
    /// Used index of each queue at that time. What the rings used later was answered already.
    used: [u16; QUEUES],
    requests: Vec<Pending>,
}

/// Takes the next request from a queue: a private copy of its readable bytes, at most
/// [`REQUEST_LEN_MAX`], and where the answer goes. None when there is no more. A head that no
/// descriptor has is an empty request, which gets no answer.
pub fn take_request(vring: &Vring, queue: u16, memory: &AtomicMemory) -> Option<(Chain, Vec<u8>)> {
    let memory = memory.memory();
    let (chain, size) = {
        let mut state = vring.get_mut();
        if !state.is_enabled() || !state.get_queue().ready() {
            return None;
        }
        let size = state.get_queue().size();
        match state.get_queue_mut().iter(memory.clone()) {
            Ok(mut chains) => (chains.next()?, size),
            Err(error) => {
                guest_warn!(queue, %error, "The available ring makes no sense");
                return None;
            }
        }
    };
    let head = chain.head_index();
    if head >= size {
        guest_warn!(queue, head, size, "No such descriptor");
    }
    let mut segments = Vec::new();
    let mut room = 0;
    for descriptor in chain.clone().writable() {
        if descriptor.len() > 0 {
            segments.push(Segment {
                addr: descriptor.addr().0,
                len: descriptor.len(),
            });
            room += u64::from(descriptor.len());
        }
        if room >= RESPONSE_LEN_MAX {
            break;
        }
    }
    let mut request = Vec::new();
    match chain.reader(memory.deref()) {
        Ok(mut reader) => {
            request.resize(reader.available_bytes().min(REQUEST_LEN_MAX), 0);
            if let Err(error) = reader.read_exact(&mut request) {
                tracing::debug!(queue, head, %error, "Unreadable request");
                request.clear();
            }
        }
        Err(error) => tracing::debug!(queue, head, %error, "Malformed request"),
    }
    let chain = Chain {
        queue,
        head,
        segments,
    };
    Some((chain, request))
}

struct Inner {
    vrings: Vec<Vring>,
    open: bool,
    next_token: u64,
    pending: BTreeMap<u64, Pending>,
    /// Queues with buffers used since the guest was last notified.
    used: [bool; QUEUES],
    /// After a load: used indices as of the save.
    used_at_save: Option<[u16; QUEUES]>,
    /// Next available index of each queue that is not executed: what was popped may still be
    /// executing.
    executed: [u16; QUEUES],
}

/// The open requests and the way back to the guest.
pub struct Completions {
    memory: AtomicMemory,
    live: Arc<Live>,
    figures: Arc<Figures>,
    inner: Mutex<Inner>,
}

impl Completions {
    /// None open, queues unknown, closed.
    pub fn new(memory: AtomicMemory, live: Arc<Live>, figures: Arc<Figures>) -> Self {
        Self {
            memory,
            live,
            figures,
            inner: Mutex::new(Inner {
                vrings: Vec::new(),
                open: false,
                next_token: 1,
                pending: BTreeMap::new(),
                used: [false; QUEUES],
                used_at_save: None,
                executed: [0; QUEUES],
            }),
        }
    }

    /// Says which queues answers go to.
    pub fn set_vrings(&self, vrings: &[Vring]) {
        let mut inner = self.lock();
        if inner.vrings.is_empty() {
            inner.vrings = vrings.to_vec();
        }
    }

    /// Answers a request at once, or as soon as the queues run again.
    pub fn respond(&self, chain: Chain, header: Header, outcome: &Result<Reply, Refusal>) {
        let response = header.answer(outcome);
        let mut inner = self.lock();
        Self::executed(&mut inner, chain.queue);
        if !self.write(&mut inner, &chain, &response) {
            let waiting = Waiting::Queue(response);
            let token = Self::insert(&mut inner, chain, header, waiting, &Reply::nodata());
            self.note_deferred(&inner, token);
        }
    }

    /// Whether the guest waits for as many requests of a queue as there can be. A driver can't have made another one
    /// available before one of them is answered.
    pub fn full(&self, queue: u16) -> bool {
        let inner = self.lock();
        let Some(vring) = inner.vrings.get(usize::from(queue)) else {
            return false;
        };
        let size = usize::from(vring.get_ref().get_queue().size());
        // Most of the time all of them together are fewer.
        inner.pending.len() >= size
            && inner
                .pending
                .values()
                .filter(|open| open.chain.queue == queue)
                .count()
                >= size
    }

    /// Keeps a request open; `reply` is the answer unless [`complete`](Self::complete) brings
    /// another. Returns what it is called from now on.
    pub fn defer(&self, chain: Chain, header: Header, waiting: Waiting, reply: &Reply) -> u64 {
        let mut inner = self.lock();
        let queue = chain.queue;
        Self::executed(&mut inner, queue);
        let token = Self::insert(&mut inner, chain, header, waiting, reply);
        self.note_deferred(&inner, token);
        self.note_place(&inner, queue);
        token
    }

    /// Answers an open request. Does nothing if there is none of that name any more.
    pub fn complete(&self, token: u64, outcome: &Result<Reply, Refusal>) {
        let mut inner = self.lock();
        let Some(pending) = inner.pending.remove(&token) else {
            return;
        };
        self.finish(&mut inner, token, pending, outcome);
        self.notify(&mut inner);
    }

    /// Answers everything on a timeline up to a fence.
    pub fn fence_signalled(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) {
        let mut inner = self.lock();
        let mut done = Vec::new();
        let mut found = false;
        for (token, pending) in &inner.pending {
            match &pending.waiting {
                Waiting::Fence {
                    ctx_id: ctx,
                    ring_idx: ring,
                    fence_id: fence,
                } if (*ctx, *ring) == (ctx_id, ring_idx) => {
                    done.push(*token);
                    if *fence == fence_id {
                        found = true;
                        break;
                    }
                }
                _ => {}
            }
        }
        if !found {
            tracing::debug!(ctx_id, ring_idx, fence_id, "Nobody waits for this fence");
            return;
        }
        self.finish_all(&mut inner, &done);
    }

    /// Answers every fence of a context that is gone: what they waited for will never be.
    pub fn context_gone(&self, ctx_id: u32) {
        let mut inner = self.lock();
        let done: Vec<u64> = inner
            .pending
            .iter()
            .filter(|(_, pending)| {
                matches!(pending.waiting, Waiting::Fence { ctx_id: ctx, .. } if ctx == ctx_id)
            })
            .map(|(token, _)| *token)
            .collect();
        self.finish_all(&mut inner, &done);
    }

    /// Queues run: what became ready meanwhile is answered, and the guest is notified in any
    /// case, for a notification may have been lost with the last front end.
    pub fn open(&self) {
        let mut inner = self.lock();
        inner.open = true;
        if let Some(used) = inner.used_at_save.take() {
            self.drop_answered(&mut inner, used);
        }
        for queue in 0..QUEUES as u16 {
            Self::executed(&mut inner, queue);
            self.note_place(&inner, queue);
        }
        let ready: Vec<u64> = inner
            .pending
            .iter()
            .filter(|(_, pending)| matches!(pending.waiting, Waiting::Queue(_)))
            .map(|(token, _)| *token)
            .collect();
        for token in ready {
            if let Some(pending) = inner.pending.remove(&token) {
                self.finish(&mut inner, token, pending, &Ok(Reply::nodata()));
            }
        }
        for vring in inner.vrings.iter().filter(|vring| vring.running()) {
            self.interrupt(vring);
        }
    }

    /// From now on nothing is written to guest RAM.
    pub fn close(&self) {
        self.lock().open = false;
    }

    /// Forgets all open requests: the guest was reset.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.pending.clear();
        inner.used_at_save = None;
    }

    /// Writes all open requests to the live tables, which have none.
    pub fn note_all(&self) {
        let inner = self.lock();
        for token in inner.pending.keys() {
            self.note_deferred(&inner, *token);
        }
    }

    /// Replaces all open requests by those that a process has left which has died; `places` is how
    /// far it had come when it wrote that down last.
    pub fn take_over(&self, requests: Vec<Pending>, places: [Option<QueuePlace>; QUEUES]) {
        self.restore(SavedRequests {
            used: places.map(|place| place.map_or(0, |place| place.used)),
            requests,
        });
        if places[usize::from(CONTROL)].is_none() {
            // It has never run, so it has not answered anything.
            self.lock().used_at_save = None;
        }
    }

    /// After [`take_over`](Self::take_over), when the queues are there: moves each on to the first
    /// request that was not executed. What the front end says is no use: it counts what was
    /// answered, and that happens in any order.
    pub fn go_on(&self, places: [Option<QueuePlace>; QUEUES]) {
        let mut inner = self.lock();
        for (queue, place) in (0..).zip(places) {
            let (Some(place), Some(vring)) = (place, inner.vrings.get(usize::from(queue)).cloned())
            else {
                continue;
            };
            if let Some(next) = self.find_place(&mut inner, queue, &vring, place) {
                tracing::debug!(queue, next, "Going on");
                vring.set_queue_next_avail(next);
            }
        }
    }

    fn find_place(
        &self,
        inner: &mut Inner,
        queue: u16,
        vring: &Vring,
        place: QueuePlace,
    ) -> Option<u16> {
        if !vring.get_ref().get_queue().ready() {
            return None;
        }
        let find = |inner: &Inner, head: u16| {
            let mut open = inner.pending.iter();
            open.find(|(_, pending)| (pending.chain.queue, pending.chain.head) == (queue, head))
                .map(|(token, _)| *token)
        };
        let mut next = place.next_avail;
        match vring.queue_used_idx().ok()?.wrapping_sub(place.used) {
            0 => {}
            1 => {
                // One more answer than it could write down: to what it was executing, unless it
                // is to a deferred one.
                let head = self.used_head(vring, place.used)?;
                if find(inner, head).is_none() {
                    next = next.wrapping_add(1);
                }
            }
            more => {
                tracing::warn!(queue, more, "The queue is not as it was left");
                return None;
            }
        }
        // Deferred already, but not counted as executed: it is executed again.
        if let Some(head) = self.available_head(vring, next)
            && let Some(token) = find(inner, head)
        {
            inner.pending.remove(&token);
            self.live.answered(head);
        }
        Some(next)
    }

    /// The head in the available ring at an index, if the guest has put one there.
    fn available_head(&self, vring: &Vring, index: u16) -> Option<u16> {
        let (size, ring) = {
            let state = vring.get_ref();
            let queue = state.get_queue();
            (queue.size(), queue.avail_ring())
        };
        let memory = self.memory.memory();
        let read = |offset: u64| -> Option<u16> {
            let addr = GuestAddress(ring.checked_add(offset)?);
            memory.read_obj(addr).ok().map(u16::from_le)
        };
        let waiting = read(2)?.wrapping_sub(index);
        if waiting == 0 || waiting > size {
            return None;
        }
        read(4 + u64::from(index.checked_rem(size)?) * 2)
    }

    /// What is open, to be restored elsewhere.
    pub fn save(&self) -> SavedRequests {
        let inner = self.lock();
        let mut used = [0; QUEUES];
        for (used, vring) in used.iter_mut().zip(&inner.vrings) {
            *used = vring.get_ref().get_queue().next_used();
        }
        SavedRequests {
            used: inner.used_at_save.unwrap_or(used),
            requests: inner.pending.values().cloned().collect(),
        }
    }

    /// Replaces all open requests. Heads that the rings show as used are dropped when they open.
    pub fn restore(&self, saved: SavedRequests) {
        let mut inner = self.lock();
        inner.pending.clear();
        for pending in saved.requests {
            let token = inner.next_token;
            inner.next_token += 1;
            inner.pending.insert(token, pending);
        }
        inner.used_at_save = Some(saved.used);
    }

    /// Open requests that wait for something that can be asked again.
    pub fn waiting(&self) -> Vec<(u64, Waiting)> {
        let inner = self.lock();
        inner
            .pending
            .iter()
            .map(|(token, pending)| (*token, pending.waiting.clone()))
            .collect()
    }

    /// Notifies the guest of what was used, as far as it wants to know.
    pub fn notify_guest(&self) {
        self.notify(&mut self.lock());
    }

    /// Everything that was taken from a queue is executed.
    fn executed(inner: &mut Inner, queue: u16) {
        let queue = usize::from(queue);
        if let (Some(vring), Some(executed)) =
            (inner.vrings.get(queue), inner.executed.get_mut(queue))
        {
            *executed = vring.queue_next_avail();
        }
    }

    fn interrupt(&self, vring: &Vring) {
        self.figures.interrupt();
        if let Err(error) = vring.signal_used_queue() {
            guest_warn!(%error, "Notifying the guest");
        }
    }

    fn note_deferred(&self, inner: &Inner, token: u64) {
        if let Some(pending) = inner.pending.get(&token)
            && pending.chain.queue == CONTROL
        {
            self.live.deferred(pending);
        }
    }

    /// Writes down how far a queue is.
    fn note_place(&self, inner: &Inner, queue: u16) {
        let queue = usize::from(queue);
        if let (Some(vring), Some(executed)) = (inner.vrings.get(queue), inner.executed.get(queue))
            && vring.running()
        {
            let used = vring.get_ref().get_queue().next_used();
            let place = QueuePlace {
                used,
                next_avail: *executed,
            };
            self.live.queue_at(queue, place);
        }
    }

    /// The head in the used ring at an index.
    fn used_head(&self, vring: &Vring, index: u16) -> Option<u16> {
        let (size, ring) = {
            let state = vring.get_ref();
            let queue = state.get_queue();
            (queue.size(), queue.used_ring())
        };
        let slot = u64::from(index.checked_rem(size)?);
        let addr = ring.checked_add(4 + slot * 8)?;
        let head: u32 = self.memory.memory().read_obj(GuestAddress(addr)).ok()?;
        u16::try_from(u32::from_le(head)).ok()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(
        inner: &mut Inner,
        chain: Chain,
        header: Header,
        waiting: Waiting,
        reply: &Reply,
    ) -> u64 {
        let token = inner.next_token;
        inner.next_token += 1;
        inner.pending.insert(
            token,
            Pending {
                chain,
                header,
                waiting,
                reply_kind: reply.kind,
                reply_body: reply.body.clone(),
            },
        );
        token
    }

    fn finish_all(&self, inner: &mut Inner, tokens: &[u64]) {
        for token in tokens {
            if let Some(pending) = inner.pending.remove(token) {
                let reply = Reply {
                    kind: pending.reply_kind,
                    body: pending.reply_body.clone(),
                };
                self.finish(inner, *token, pending, &Ok(reply));
            }
        }
        self.notify(inner);
    }

    fn finish(
        &self,
        inner: &mut Inner,
        token: u64,
        mut pending: Pending,
        outcome: &Result<Reply, Refusal>,
    ) {
        let response = match pending.waiting {
            Waiting::Queue(response) => response,
            _ => pending.header.answer(outcome),
        };
        if !self.write(inner, &pending.chain, &response) {
            pending.waiting = Waiting::Queue(response);
            inner.pending.insert(token, pending);
            self.note_deferred(inner, token);
        }
    }

    /// Writes a response and uses its chain. False when the queue does not run.
    fn write(&self, inner: &mut Inner, chain: &Chain, response: &[u8]) -> bool {
        if !inner.open {
            return false;
        }
        let Some(vring) = inner.vrings.get(usize::from(chain.queue)) else {
            return false;
        };
        let mut state = vring.get_mut();
        if !state.is_enabled() || !state.get_queue().ready() {
            return false;
        }
        if chain.head >= state.get_queue().size() {
            // No descriptor has it, or the queue is smaller now than it was: the used ring has no place for it.
            if chain.queue == CONTROL && usize::from(chain.head) < QUEUE_SIZE_MAX {
                self.live.answered(chain.head);
            }
            return true;
        }
        let memory = self.memory.memory();
        let mut rest = response;
        for segment in &chain.segments {
            let (now, later) = rest.split_at(rest.len().min(segment.len as usize));
            if now.is_empty() {
                break;
            }
            if let Err(error) = memory.write_slice(now, GuestAddress(segment.addr)) {
                tracing::debug!(head = chain.head, %error, "Response to nowhere");
                break;
            }
            rest = later;
        }
        let written = (response.len() - rest.len()) as u32;
        let deferred = chain.queue == CONTROL;
        if deferred {
            let used = state.get_queue().next_used();
            self.live.answering(chain.head, used);
        }
        if let Err(error) = state.add_used(chain.head, written) {
            guest_warn!(head = chain.head, %error, "The used ring can't be written");
        }
        drop(state);
        self.note_place(inner, chain.queue);
        if deferred {
            self.live.answered(chain.head);
        }
        if let Some(used) = inner.used.get_mut(usize::from(chain.queue)) {
            *used = true;
        }
        true
    }

    fn notify(&self, inner: &mut Inner) {
        if !inner.open {
            return;
        }
        let used = std::mem::take(&mut inner.used);
        for (vring, _) in inner.vrings.iter().zip(used).filter(|(_, used)| *used) {
            // Without an answer from the ring, one notification too many does no harm.
            if vring.needs_notification().unwrap_or(true) {
                self.interrupt(vring);
            }
        }
    }

    /// Drops restored requests that the source still answered after it had saved them.
    fn drop_answered(&self, inner: &mut Inner, used_at_save: [u16; QUEUES]) {
        let memory = self.memory.memory();
        let mut answered = Vec::new();
        for (queue, (vring, then)) in inner.vrings.iter().zip(used_at_save).enumerate() {
            let state = vring.get_ref();
            let (size, ring, now) = {
                let queue = state.get_queue();
                (queue.size(), queue.used_ring(), queue.next_used())
            };
            if size == 0 {
                continue;
            }
            for back in 0..now.wrapping_sub(then).min(size) {
                let slot = u64::from(now.wrapping_sub(1 + back) % size);
                let Some(addr) = ring.checked_add(4 + slot * 8) else {
                    continue;
                };
                if let Ok(head) = memory.read_obj::<u32>(GuestAddress(addr)) {
                    answered.push((queue as u16, u32::from_le(head)));
                }
            }
        }
        inner.pending.retain(|_, pending| {
            !answered.contains(&(pending.chain.queue, u32::from(pending.chain.head)))
        });
    }
}
