//! The live tables: what a `hesperd` that is started again needs of the one that died.
//!
//! They lie at the end of the arena, which QEMU keeps, and are written as things change, not only
//! at a cut: a process that is killed can't save. Whoever comes next finds resources, scanouts and
//! the requests that the guest still waits for. What must be right is the order of the stores;
//! memory outlives the process, so nothing has to be flushed.
//!
//! ```text
//! 0          header: magic, version, which half, length of each half, a word per queue
//! 4096       a slot of 128 bytes for each head of the control queue: deferred requests
//! 132 KiB    two halves: records of changes, one half at a time; when it is full, the tables as
//!            they are go into the other half, which then is the one
//! ```
//! The guest never sees them, and they are no part of an image: they aren't marked for QEMU.
//! A worker that was taken over can write them, as all of the arena, so they are read like any
//! hostile image.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hesper_front::Arena;
use hesper_image::{Extent, RECORD_HEADER_LEN, decode_record, encode_record};
use hesper_log::{guest_error, guest_warn};
use hesper_memory::{Mapping, MemoryError};
use serde::{Deserialize, Serialize};

use crate::live_slot::{SLOT_LEN, decode_slot, encode_slot};
use crate::pending::{Pending, QUEUES};
use crate::tables::{Context, CursorState, Resource, ScanoutState, Tables, check};

const MAGIC: u64 = u64::from_le_bytes(*b"HSPRLIVE");
const VERSION: u32 = 1;
/// Kind of the records of changes.
const CHANGE_KIND: u32 = u32::from_le_bytes(*b"LIVE");
/// Longest of them, bytes: a resource with all the backing that one may have.
const CHANGE_LEN_MAX: u64 = 2 << 20;

/// Where things are in the header, bytes.
mod at {
    pub const MAGIC: u64 = 0;
    pub const VERSION: u64 = 8;
    /// Which half counts, 0 or 1; [`super::NEITHER`] when the tables don't fit.
    pub const HALF: u64 = 12;
    /// Bytes written in each half.
    pub const LEN: [u64; 2] = [16, 24];
    /// Used index, next available index << 16, [`super::QUEUE_KNOWN`], of each queue.
    pub const QUEUES: u64 = 32;
}
/// Rings that are remembered.
const RINGS_MAX: usize = 4096;
const NEITHER: u32 = u32::MAX;
const QUEUE_KNOWN: u64 = 1 << 32;
const SLOTS_AT: u64 = 4096;
/// Slots: the largest control queue.
const SLOTS: u16 = 1024;
const HALVES_AT: u64 = SLOTS_AT + SLOT_LEN as u64 * SLOTS as u64;

/// States of a slot, in its first word.
mod slot {
    pub const FREE: u32 = 0;
    pub const DEFERRED: u32 = 1;
    /// Being answered; the used index before that is in the upper half.
    pub const ANSWERING: u32 = 2;
}

/// A change of the tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Change {
    /// A resource is there, or is another one now.
    Resource(u32, Resource),
    /// It is gone.
    Unref(u32),
    /// A context is there. What is attached to it isn't kept: it is lost anyway.
    Context(u32, Context),
    /// It is gone.
    Destroy(u32),
    /// A scanout shows something else.
    Scanout(u32, Option<ScanoutState>),
    /// The cursor looks different.
    Cursor(Option<CursorState>),
    /// A context has a ring.
    Ring(RingPlace),
}

/// Where the status word of a context's ring is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingPlace {
    /// Context.
    pub ctx_id: u32,
    /// Resource.
    pub res_id: u32,
    /// Offset in the resource, bytes.
    pub status: u64,
}

impl Change {
    fn apply(self, tables: &mut Tables, rings: &mut Vec<RingPlace>) {
        match self {
            Change::Resource(id, resource) => {
                tables.resources.insert(id, resource);
            }
            Change::Unref(id) => {
                tables.resources.remove(&id);
            }
            Change::Context(id, context) => {
                tables.contexts.insert(id, context);
            }
            Change::Destroy(id) => {
                tables.contexts.remove(&id);
                rings.retain(|ring| ring.ctx_id != id);
            }
            Change::Scanout(id, scanout) => {
                if let Some(place) = tables.scanouts.get_mut(id as usize) {
                    *place = scanout;
                }
            }
            Change::Cursor(cursor) => tables.cursor = cursor,
            Change::Ring(ring) if rings.len() < RINGS_MAX => rings.push(ring),
            Change::Ring(_) => {}
        }
    }
}

/// Where a queue was when the last back end wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePlace {
    /// Used index.
    pub used: u16,
    /// Next available index that has not been executed.
    pub next_avail: u16,
}

/// What was left by a back end that is gone.
#[derive(Debug)]
pub struct Left {
    /// Its tables, checked.
    pub tables: Tables,
    /// Requests that the guest waits for. One of them may have been answered at the last instant:
    /// then the used index has moved on.
    pub requests: Vec<Pending>,
    /// Rings of its contexts.
    pub rings: Vec<RingPlace>,
    /// Its queues, as far as they ran.
    pub queues: [Option<QueuePlace>; QUEUES],
}

/// Why there is nothing to go on from.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The arena has no room for them.
    #[error("The arena is too small for live tables")]
    NoRoom,
    /// Nobody has written any, or another version.
    #[error("There are no live tables of version {VERSION}")]
    Absent,
    /// They had outgrown their place.
    #[error("The live tables had outgrown their place")]
    Outgrown,
    /// They are damaged.
    #[error("Live tables: {0}")]
    Damaged(String),
}

impl From<MemoryError> for LiveError {
    fn from(error: MemoryError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl From<hesper_image::ImageError> for LiveError {
    fn from(error: hesper_image::ImageError) -> Self {
        Self::Damaged(error.to_string())
    }
}

/// The place, and what is known of it.
struct Region {
    mapping: Mapping,
    extent: Extent,
    half: u32,
    len: u64,
    outgrown: bool,
    rings: Vec<RingPlace>,
}

/// The live tables; without an arena that has room for them, all calls do nothing.
#[derive(Default)]
pub struct Live(Mutex<Option<Region>>);

impl Live {
    /// Takes over the end of an arena in which nothing counts: it is cleared.
    ///
    /// # Errors
    /// [`LiveError::NoRoom`], or the kernel's.
    pub fn start(&self, arena: &Arena) -> Result<(), LiveError> {
        let mut region = Region::of(arena)?;
        region.clear()?;
        *self.lock() = Some(region);
        Ok(())
    }

    /// Takes over what another back end has left, and writes it anew.
    ///
    /// # Errors
    /// [`LiveError`]; nothing is taken over then.
    pub fn take_over(&self, arena: &Arena) -> Result<Left, LiveError> {
        let mut region = Region::of(arena)?;
        let left = region.read()?;
        // Compact, and in the other half: were we to die now, the next one would find the same.
        region.rewrite(&left.tables)?;
        *self.lock() = Some(region);
        Ok(left)
    }

    /// No context of before is there any more.
    pub fn forget_rings(&self) {
        self.with(|region| {
            region.rings.clear();
            Ok(())
        });
    }

    /// The tables are others altogether, no queue runs, nothing is deferred.
    pub fn replace(&self, tables: &Tables) {
        self.with(|region| {
            for queue in 0..QUEUES {
                region.set_queue(queue, None)?;
            }
            for head in 0..SLOTS {
                region
                    .slot_state(head)?
                    .store(slot::FREE, Ordering::Release);
            }
            region.rewrite(tables)
        });
    }

    /// One thing changed; `tables` are as they are afterwards.
    pub fn note(&self, tables: &Tables, change: &Change) {
        self.with(|region| region.append(tables, change));
    }

    /// A context has a ring. It is told when somebody is at the tables, so they can't be compacted.
    pub fn ring(&self, ring: RingPlace) {
        self.with(|region| {
            if region.rings.len() >= RINGS_MAX {
                return Ok(());
            }
            region.rings.push(ring);
            // Without room it is written with the next compaction.
            region.try_append(&Change::Ring(ring)).map(drop)
        });
    }

    /// A queue is at this place: everything before it is executed, and answered or deferred.
    pub fn queue_at(&self, queue: usize, place: QueuePlace) {
        self.with(|region| region.set_queue(queue, Some(place)));
    }

    /// A request of the control queue is executed, but not answered yet.
    pub fn deferred(&self, pending: &Pending) {
        self.with(|region| region.write_slot(pending));
    }

    /// A deferred request is about to be answered.
    pub fn answering(&self, head: u16, used: u16) {
        self.with(|region| {
            let state = region.slot_state(head)?;
            if state.load(Ordering::Relaxed) & 0xffff != slot::FREE {
                state.store(slot::ANSWERING | u32::from(used) << 16, Ordering::SeqCst);
            }
            Ok(())
        });
    }

    /// A deferred request is answered, and the queue's place says so.
    pub fn answered(&self, head: u16) {
        self.with(|region| {
            region
                .slot_state(head)?
                .store(slot::FREE, Ordering::Release);
            Ok(())
        });
    }

    fn with(&self, work: impl FnOnce(&mut Region) -> Result<(), LiveError>) {
        if let Some(region) = self.lock().as_mut()
            && let Err(error) = work(region)
        {
            guest_error!(%error, "Live tables");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Region>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Region {
    fn of(arena: &Arena) -> Result<Self, LiveError> {
        let extent = arena.live_tables().ok_or(LiveError::NoRoom)?;
        Ok(Self {
            mapping: arena.mapping.clone(),
            extent,
            half: 0,
            len: 0,
            outgrown: false,
            rings: Vec::new(),
        })
    }

    fn u32(&self, at: u64) -> Result<&std::sync::atomic::AtomicU32, MemoryError> {
        self.mapping.atomic_u32(self.extent.offset + at)
    }

    fn u64(&self, at: u64) -> Result<&std::sync::atomic::AtomicU64, MemoryError> {
        self.mapping.atomic_u64(self.extent.offset + at)
    }

    fn half_len(&self) -> u64 {
        (self.extent.len - HALVES_AT) / 2 / 8 * 8
    }

    /// Where a half begins, in the arena.
    fn half_at(&self, half: u32) -> u64 {
        self.extent.offset + HALVES_AT + u64::from(half) * self.half_len()
    }

    fn clear(&mut self) -> Result<(), LiveError> {
        // The magic goes first and comes last.
        self.u64(at::MAGIC)?.store(0, Ordering::SeqCst);
        self.mapping
            .punch_hole(self.extent.offset, self.extent.len)?;
        (self.half, self.len, self.outgrown) = (0, 0, false);
        self.u32(at::VERSION)?.store(VERSION, Ordering::Release);
        self.u64(at::MAGIC)?.store(MAGIC, Ordering::SeqCst);
        Ok(())
    }

    fn read(&mut self) -> Result<Left, LiveError> {
        if self.u64(at::MAGIC)?.load(Ordering::Acquire) != MAGIC
            || self.u32(at::VERSION)?.load(Ordering::Acquire) != VERSION
        {
            return Err(LiveError::Absent);
        }
        self.half = match self.u32(at::HALF)?.load(Ordering::Acquire) {
            half @ (0 | 1) => half,
            _ => return Err(LiveError::Outgrown),
        };
        self.len = self
            .u64(at::LEN[self.half as usize])?
            .load(Ordering::Acquire);
        let (tables, rings) = self.read_changes()?;
        self.rings.clone_from(&rings);
        let mut queues = [None; QUEUES];
        for (index, place) in (0..).zip(&mut queues) {
            let word = self.u64(at::QUEUES + index * 8)?.load(Ordering::Acquire);
            *place = (word & QUEUE_KNOWN != 0).then_some(QueuePlace {
                used: word as u16,
                next_avail: (word >> 16) as u16,
            });
        }
        let mut requests = Vec::new();
        for head in 0..SLOTS {
            requests.extend(self.read_slot(head, queues[0])?);
        }
        Ok(Left {
            tables,
            requests,
            rings,
            queues,
        })
    }

    fn read_changes(&self) -> Result<(Tables, Vec<RingPlace>), LiveError> {
        if self.len > self.half_len() {
            return Err(LiveError::Damaged("Longer than their place".into()));
        }
        // One private copy: nothing of it is read twice.
        let mut bytes = vec![0; self.len as usize];
        self.mapping.read(self.half_at(self.half), &mut bytes)?;
        let mut tables = Tables::default();
        let mut rings = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let header = rest
                .get(..RECORD_HEADER_LEN)
                .ok_or_else(|| LiveError::Damaged("A record is cut off".into()))?;
            let mut len = [0; 8];
            len.copy_from_slice(&header[RECORD_HEADER_LEN - 8..]);
            let record = usize::try_from(u64::from_le_bytes(len))
                .ok()
                .and_then(|len| len.checked_add(RECORD_HEADER_LEN))
                .and_then(|len| rest.get(..len))
                .ok_or_else(|| LiveError::Damaged("A record is cut off".into()))?;
            let change: Change = decode_record(CHANGE_KIND, VERSION, record, CHANGE_LEN_MAX)?;
            change.apply(&mut tables, &mut rings);
            rest = &rest[record.len()..];
        }
        check(&mut tables).map_err(LiveError::Damaged)?;
        Ok((tables, rings))
    }

    fn append(&mut self, tables: &Tables, change: &Change) -> Result<(), LiveError> {
        if let Change::Destroy(ctx_id) = change {
            self.rings.retain(|ring| ring.ctx_id != *ctx_id);
        }
        if !self.try_append(change)? {
            self.rewrite(tables)?;
        }
        Ok(())
    }

    /// False when there is no room.
    fn try_append(&mut self, change: &Change) -> Result<bool, LiveError> {
        if self.outgrown {
            return Ok(true);
        }
        let record = encode_record(CHANGE_KIND, VERSION, change)?;
        if !self.push(self.half, &record)? {
            return Ok(false);
        }
        self.u64(at::LEN[self.half as usize])?
            .store(self.len, Ordering::Release);
        Ok(true)
    }

    /// Writes behind what is in a half. False when there is no room.
    fn push(&mut self, half: u32, record: &[u8]) -> Result<bool, LiveError> {
        let len = self.len + record.len() as u64;
        if len > self.half_len() {
            return Ok(false);
        }
        self.mapping.write(self.half_at(half) + self.len, record)?;
        self.len = len;
        Ok(true)
    }

    /// Writes the tables whole into the other half, which counts from then on.
    fn rewrite(&mut self, tables: &Tables) -> Result<(), LiveError> {
        let half = 1 - self.half;
        self.len = 0;
        let rings = std::mem::take(&mut self.rings);
        let written = self.write_whole(half, tables, &rings);
        self.rings = rings;
        if !written? {
            self.outgrown = true;
            self.u32(at::HALF)?.store(NEITHER, Ordering::SeqCst);
            guest_warn!(
                resources = tables.resources.len(),
                "The live tables outgrow their place: the display would not survive a crash"
            );
            return Ok(());
        }
        self.outgrown = false;
        self.half = half;
        self.u64(at::LEN[half as usize])?
            .store(self.len, Ordering::Release);
        self.u32(at::HALF)?.store(half, Ordering::SeqCst);
        Ok(())
    }

    /// False when it doesn't fit, with room for more.
    fn write_whole(
        &mut self,
        half: u32,
        tables: &Tables,
        rings: &[RingPlace],
    ) -> Result<bool, LiveError> {
        for change in whole(tables, rings) {
            let record = encode_record(CHANGE_KIND, VERSION, &change)?;
            // Some room must be left, or every change would come to this.
            if !self.push(half, &record)? || self.len > self.half_len() / 4 * 3 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn set_queue(&self, queue: usize, place: Option<QueuePlace>) -> Result<(), LiveError> {
        let word = place.map_or(0, |place| {
            QUEUE_KNOWN | u64::from(place.next_avail) << 16 | u64::from(place.used)
        });
        self.u64(at::QUEUES + queue as u64 * 8)?
            .store(word, Ordering::SeqCst);
        Ok(())
    }

    fn slot_at(head: u16) -> Result<u64, LiveError> {
        if head >= SLOTS {
            return Err(LiveError::Damaged(format!("There is no head {head}")));
        }
        Ok(SLOTS_AT + u64::from(head) * SLOT_LEN as u64)
    }

    fn slot_state(&self, head: u16) -> Result<&std::sync::atomic::AtomicU32, LiveError> {
        Ok(self.u32(Self::slot_at(head)?)?)
    }

    fn write_slot(&self, pending: &Pending) -> Result<(), LiveError> {
        let at = Self::slot_at(pending.chain.head)?;
        let bytes = encode_slot(pending);
        self.mapping
            .write(self.extent.offset + at + 4, &bytes[4..])?;
        self.u32(at)?.store(slot::DEFERRED, Ordering::SeqCst);
        Ok(())
    }

    fn read_slot(
        &self,
        head: u16,
        queue: Option<QueuePlace>,
    ) -> Result<Option<Pending>, LiveError> {
        let at = Self::slot_at(head)?;
        let state = self.u32(at)?.load(Ordering::Acquire);
        let answered = match state & 0xffff {
            slot::FREE => return Ok(None),
            slot::DEFERRED => false,
            // Its answer was counted already, if the queue's place is behind it.
            slot::ANSWERING => queue.is_some_and(|place| place.used != (state >> 16) as u16),
            other => return Err(LiveError::Damaged(format!("A slot's state is {other}"))),
        };
        if answered {
            self.u32(at)?.store(slot::FREE, Ordering::Release);
            return Ok(None);
        }
        let mut bytes = [0; SLOT_LEN];
        self.mapping.read(self.extent.offset + at, &mut bytes)?;
        decode_slot(head, &bytes)
            .map(Some)
            .map_err(LiveError::Damaged)
    }
}

/// The changes that make `tables` out of nothing.
fn whole(tables: &Tables, rings: &[RingPlace]) -> impl Iterator<Item = Change> {
    let contexts = tables
        .contexts
        .iter()
        .map(|(id, context)| Change::Context(*id, context.without_attached()));
    let resources = tables
        .resources
        .iter()
        .map(|(id, resource)| Change::Resource(*id, resource.clone()));
    let scanouts = (0..)
        .zip(&tables.scanouts)
        .filter(|(_, scanout)| scanout.is_some())
        .map(|(id, scanout)| Change::Scanout(id, *scanout));
    let cursor = tables
        .cursor
        .iter()
        .map(|cursor| Change::Cursor(Some(*cursor)));
    let rings = rings.iter().map(|ring| Change::Ring(*ring));
    contexts
        .chain(resources)
        .chain(scanouts)
        .chain(cursor)
        .chain(rings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::Pixels;
    use crate::pending::{Chain, Waiting};
    use crate::protocol::{Header, Rect, Segment};
    use crate::tables::Kind;
    use std::sync::Arc;

    const MIB: u64 = 1 << 20;

    fn arena(len: u64) -> Arena {
        Arena {
            mapping: Mapping::anonymous("t", len).unwrap(),
            window_len: MIB,
            bitmap: None,
        }
    }

    fn image(entries: usize) -> Resource {
        let segment = Segment {
            addr: 0x1_2345_6000,
            len: 4096,
        };
        Resource {
            kind: Kind::Image {
                format: 2,
                width: 8,
                height: 4,
                pixels: Pixels::default(),
            },
            backing: Arc::new(vec![segment; entries]),
            uuid: None,
        }
    }

    fn pending(head: u16) -> Pending {
        Pending {
            chain: Chain {
                queue: 0,
                head,
                segments: vec![Segment { addr: 7, len: 24 }, Segment { addr: 99, len: 9 }],
            },
            header: Header {
                kind: 0x208,
                flags: 3,
                fence_id: 0x1_0000_0005,
                ctx_id: 6,
                ring_idx: 9,
            },
            waiting: Waiting::Fence {
                ctx_id: 6,
                ring_idx: 9,
                fence_id: 0x1_0000_0005,
            },
            reply_kind: 0x1106,
            reply_body: vec![1, 2, 3, 4, 5, 6, 7, 8],
        }
    }

    const PLACE: QueuePlace = QueuePlace {
        used: 0xfffe,
        next_avail: 3,
    };

    #[test]
    fn everything_noted_is_found_by_the_next() {
        let arena = arena(16 * MIB);
        let live = Live::default();
        live.start(&arena).unwrap();
        let mut tables = Tables::default();
        let shown = ScanoutState {
            res_id: 3,
            rect: Rect {
                width: 8,
                height: 4,
                ..Rect::default()
            },
            blob: None,
        };
        for change in [
            Change::Resource(3, image(2)),
            Change::Resource(4, image(1)),
            Change::Context(1, Context::default()),
            Change::Context(2, Context::default()),
            Change::Scanout(5, Some(shown)),
            Change::Unref(4),
            Change::Destroy(2),
        ] {
            change.clone().apply(&mut tables, &mut Vec::new());
            live.note(&tables, &change);
        }
        let ring = |ctx_id| RingPlace {
            ctx_id,
            res_id: 3,
            status: 128,
        };
        live.ring(ring(1));
        live.ring(ring(2));
        live.note(&tables, &Change::Destroy(2));
        live.deferred(&pending(17));
        live.deferred(&pending(18));
        live.answering(18, PLACE.used.wrapping_sub(1));
        live.queue_at(0, PLACE);

        // Twice: taking over leaves the same behind.
        for _ in 0..2 {
            let left = Live::default().take_over(&arena).unwrap();

            assert_eq!(left.tables.resources.len(), 1);
            assert_eq!(
                left.tables.resources[&3].backing,
                tables.resources[&3].backing
            );
            assert_eq!(left.tables.contexts, tables.contexts);
            assert_eq!(left.tables.scanouts, tables.scanouts);
            assert_eq!(left.rings, [ring(1)]);
            assert_eq!(left.requests, [pending(17)], "18 is answered");
            assert_eq!(left.queues, [Some(PLACE), None]);
        }
    }

    #[test]
    fn answer_that_is_not_counted_is_still_open() {
        let arena = arena(16 * MIB);
        let live = Live::default();
        live.start(&arena).unwrap();
        live.deferred(&pending(18));
        live.queue_at(0, PLACE);
        live.answering(18, PLACE.used);

        let left = Live::default().take_over(&arena).unwrap();

        assert_eq!(left.requests, [pending(18)]);
    }

    #[test]
    fn changes_without_end_are_compacted() {
        let arena = arena(9 * MIB);
        let live = Live::default();
        live.start(&arena).unwrap();
        let mut tables = Tables::default();
        for round in 0..2000u32 {
            let change = Change::Resource(1 + round % 7, image(round as usize % 300));
            change.clone().apply(&mut tables, &mut Vec::new());
            live.note(&tables, &change);
        }

        let left = Live::default().take_over(&arena).unwrap();

        for (id, resource) in &tables.resources {
            assert_eq!(left.tables.resources[id].backing, resource.backing);
        }
    }

    #[test]
    fn tables_past_their_place_say_so() {
        let arena = arena(9 * MIB);
        let live = Live::default();
        live.start(&arena).unwrap();
        let mut tables = Tables::default();
        for id in 1..200 {
            let change = Change::Resource(id, image(1000));
            change.clone().apply(&mut tables, &mut Vec::new());
            live.note(&tables, &change);
        }
        let error = Live::default().take_over(&arena).unwrap_err();
        assert!(matches!(error, LiveError::Outgrown), "{error}");

        // They are good again once they are small again.
        live.replace(&Tables::default());
        assert!(Live::default().take_over(&arena).is_ok());
    }

    #[test]
    fn garbage_is_refused() {
        let arena = arena(16 * MIB);
        let absent = Live::default().take_over(&arena).unwrap_err();
        assert!(matches!(absent, LiveError::Absent));

        let live = Live::default();
        live.start(&arena).unwrap();
        live.note(&Tables::default(), &Change::Resource(1, image(3)));
        let extent = arena.live_tables().unwrap();
        let good = Live::default().take_over(&arena);
        assert!(good.is_ok());
        // The taken-over tables are in the second half.
        let second = extent.offset + HALVES_AT + (extent.len - HALVES_AT) / 2 / 8 * 8;
        arena.mapping.write(second + 30, &[0xff; 4]).unwrap();
        assert!(Live::default().take_over(&arena).is_err());
        arena
            .mapping
            .write(extent.offset + 24, &u64::MAX.to_le_bytes())
            .unwrap();
        assert!(Live::default().take_over(&arena).is_err());
        arena
            .mapping
            .write(extent.offset + SLOTS_AT, &[0xff; 8])
            .unwrap();
        assert!(Live::default().take_over(&arena).is_err());
    }
}
