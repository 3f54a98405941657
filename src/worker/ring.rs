//! A Venus ring: a byte ring in shared memory that the guest fills and the worker empties.
//!
//! Layout facts (VK_MESA_venus_protocol, `VkRingCreateInfoMESA`): `head`, `tail` and `status` are
//! 32-bit words of a resource, `buffer` a power of two of bytes. Both counters run freely and
//! wrap at 2^32. The guest writes `tail`, we write `head` after each command.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hesper_memory::{Mapping, MemoryError};
use serde::{Deserialize, Serialize};

/// Largest ring buffer, bytes.
const BUFFER_LEN_MAX: u64 = 16 << 20;

/// Ring status bit: the worker sleeps and must be notified.
pub const STATUS_IDLE: u32 = 1;
/// Ring status bit: the context is lost.
pub const STATUS_FATAL: u32 = 2;
/// Ring status bit: the worker lives; set again and again for the guest's watchdog.
pub const STATUS_ALIVE: u32 = 4;

/// Where a ring's parts lie in its resource, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Resource id.
    pub res_id: u32,
    /// Offset of the 32-bit head.
    pub head: u64,
    /// Offset of the 32-bit tail.
    pub tail: u64,
    /// Offset of the 32-bit status.
    pub status: u64,
    /// Offset of the buffer.
    pub buffer: u64,
    /// Length of the buffer, a power of two.
    pub buffer_len: u64,
    /// Offset of the extra area.
    pub extra: u64,
    /// Length of the extra area.
    pub extra_len: u64,
}

/// What is wrong with a ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The layout does not fit its resource.
    #[error("Ring layout: {0}")]
    Layout(&'static str),
    /// The tail is further ahead than the buffer is long.
    #[error("Ring tail {tail:#x} is {ahead:#x} bytes ahead of head {head:#x}")]
    Overrun {
        /// Our head.
        head: u32,
        /// The guest's tail.
        tail: u32,
        /// Distance, bytes.
        ahead: u32,
    },
    /// Shared memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl Layout {
    /// Checks a layout against a resource of `res_len` bytes: every part inside `offset..offset +
    /// len`, aligned to 4, none overlapping another.
    ///
    /// # Errors
    /// [`RingError::Layout`].
    pub fn check(&self, offset: u64, len: u64, res_len: u64) -> Result<(), RingError> {
        let end = offset
            .checked_add(len)
            .filter(|end| *end <= res_len)
            .ok_or(RingError::Layout("outside its resource"))?;
        if !self.buffer_len.is_power_of_two() || self.buffer_len > BUFFER_LEN_MAX {
            return Err(RingError::Layout("buffer length"));
        }
        let mut parts = [
            (self.head, 4),
            (self.tail, 4),
            (self.status, 4),
            (self.buffer, self.buffer_len),
            (self.extra, self.extra_len),
        ];
        for (start, part_len) in parts {
            if start % 4 != 0 || part_len % 4 != 0 {
                return Err(RingError::Layout("a part is not aligned to 4"));
            }
            if start < offset || start.checked_add(part_len).is_none_or(|e| e > end) {
                return Err(RingError::Layout("a part lies outside the ring"));
            }
        }
        parts.sort_unstable();
        if parts.windows(2).any(|p| p[0].0 + p[0].1 > p[1].0) {
            return Err(RingError::Layout("parts overlap"));
        }
        Ok(())
    }
}

/// What comes back at a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingRecord {
    /// The guest's id.
    pub id: u64,
    /// Layout.
    pub layout: Layout,
    /// Bytes consumed so far, wrapping.
    pub cur: u32,
    /// Last seqno submitted over the virtqueue for this ring.
    pub virtqueue_seqno: u64,
    /// Idle for this long means sleep, ns.
    pub idle_timeout_ns: u64,
    /// Whether ALIVE is reported, and how often, µs.
    pub monitor_us: Option<u32>,
}

/// A ring being served.
#[derive(Debug)]
pub struct Ring {
    record: RingRecord,
    memory: Mapping,
    base: u64,
    last_work: Instant,
    /// It did since `last_work`, which is set when it first finds nothing: a look at the clock at every command would cost.
    worked: bool,
    last_alive: Option<Instant>,
    idle: bool,
}

impl Ring {
    /// Starts serving a ring whose layout was checked. `base` is where the resource starts in
    /// `memory`.
    ///
    /// # Errors
    /// [`RingError`] when a word can't be reached.
    pub fn new(record: RingRecord, memory: Mapping, base: u64) -> Result<Self, RingError> {
        let ring = Self {
            record,
            memory,
            base,
            last_work: Instant::now(),
            worked: false,
            last_alive: None,
            idle: false,
        };
        ring.word(ring.record.layout.head)?;
        ring.word(ring.record.layout.tail)?;
        ring.word(ring.record.layout.status)?;
        Ok(ring)
    }

    /// The guest's id.
    pub fn id(&self) -> u64 {
        self.record.id
    }

    /// State for the image.
    pub fn record(&self) -> &RingRecord {
        &self.record
    }

    /// Bytes consumed so far, wrapping.
    pub fn cur(&self) -> u32 {
        self.record.cur
    }

    /// Last seqno submitted over the virtqueue.
    pub fn virtqueue_seqno(&self) -> u64 {
        self.record.virtqueue_seqno
    }

    /// Takes note of a seqno submitted over the virtqueue.
    pub fn set_virtqueue_seqno(&mut self, seqno: u64) {
        self.record.virtqueue_seqno = self.record.virtqueue_seqno.max(seqno);
    }

    fn word(&self, offset: u64) -> Result<&std::sync::atomic::AtomicU32, RingError> {
        Ok(self.memory.atomic_u32(self.base + offset)?)
    }

    /// Copies what the guest queued into `out` (cleared first).
    ///
    /// # Errors
    /// [`RingError::Overrun`] for a hostile tail.
    pub fn read(&self, out: &mut Vec<u8>) -> Result<(), RingError> {
        out.clear();
        let layout = &self.record.layout;
        let (head, tail) = (
            self.record.cur,
            self.word(layout.tail)?.load(Ordering::Acquire),
        );
        let ahead = tail.wrapping_sub(head);
        if u64::from(ahead) > layout.buffer_len {
            return Err(RingError::Overrun { head, tail, ahead });
        }
        if ahead == 0 {
            return Ok(());
        }
        let start = u64::from(head) & (layout.buffer_len - 1);
        let first = u64::from(ahead).min(layout.buffer_len - start);
        out.resize(ahead as usize, 0);
        let (low, high) = out.split_at_mut(first as usize);
        self.memory.read(self.base + layout.buffer + start, low)?;
        self.memory.read(self.base + layout.buffer, high)?;
        Ok(())
    }

    /// Whether something is queued.
    pub fn has_work(&self) -> bool {
        self.word(self.record.layout.tail)
            .is_ok_and(|tail| tail.load(Ordering::Acquire) != self.record.cur)
    }

    /// Takes `len` bytes off and tells the guest.
    ///
    /// # Errors
    /// [`RingError::Memory`].
    pub fn consume(&mut self, len: u32) -> Result<(), RingError> {
        self.record.cur = self.record.cur.wrapping_add(len);
        self.word(self.record.layout.head)?
            .store(self.record.cur, Ordering::Release);
        self.worked = true;
        Ok(())
    }

    /// Writes a word of the extra area.
    ///
    /// # Errors
    /// [`RingError::Layout`] outside it.
    pub fn write_extra(&self, offset: u64, value: u32) -> Result<(), RingError> {
        let layout = &self.record.layout;
        if offset.checked_add(4).is_none_or(|e| e > layout.extra_len) {
            return Err(RingError::Layout("write past the extra area"));
        }
        self.word(layout.extra + offset)?
            .store(value, Ordering::Release);
        Ok(())
    }

    /// Arena ranges (relative to the resource) that serving a command may write: head, status and
    /// the extra area.
    pub fn written_ranges(&self) -> [(u64, u64); 3] {
        let layout = &self.record.layout;
        [
            (layout.head, 4),
            (layout.status, 4),
            (layout.extra, layout.extra_len),
        ]
    }

    /// Resource that the ring lives in.
    pub fn res_id(&self) -> u32 {
        self.record.layout.res_id
    }

    /// True while the ring sleeps until it is notified.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// Where the status word is in the ring's resource, bytes.
    pub fn status_offset(&self) -> u64 {
        self.record.layout.status
    }

    /// Goes to sleep when nothing came for the idle timeout. The flag is set first and the tail
    /// looked at afterwards, so that a guest that saw no flag was seen.
    pub fn maybe_sleep(&mut self, now: Instant) {
        if std::mem::take(&mut self.worked) {
            self.last_work = now;
        }
        if self.idle
            || now.duration_since(self.last_work)
                < Duration::from_nanos(self.record.idle_timeout_ns)
        {
            return;
        }
        if let Ok(status) = self.word(self.record.layout.status) {
            status.fetch_or(STATUS_IDLE, Ordering::SeqCst);
        }
        self.idle = true;
        if self.has_work() {
            self.wake(now);
        }
    }

    /// Looks whether a sleeping ring has work all the same, and wakes it then.
    ///
    /// A guest clears bits of the status word with an atomic instruction. Where that is not atomic to us, ours is lost when
    /// both come at once, and the guest never notifies: QEMU's TCG with one CPU makes it a load and a store.
    pub fn look_asleep(&mut self, now: Instant) {
        if self.idle && self.has_work() {
            self.wake(now);
        }
    }

    /// Wakes the ring.
    pub fn wake(&mut self, now: Instant) {
        self.last_work = now;
        // Whatever this value knows: a restored ring may have slept when it was cut.
        if let Ok(status) = self.word(self.record.layout.status) {
            status.fetch_and(!STATUS_IDLE, Ordering::SeqCst);
        }
        self.idle = false;
    }

    /// Reports ALIVE when it is due; returns when to do it next.
    pub fn report_alive(&mut self, now: Instant) -> Option<Instant> {
        // Half the guest's period, so that one late turn is no alarm.
        let period = Duration::from_micros(u64::from(self.record.monitor_us?) / 2);
        if self.last_alive.is_none_or(|last| now >= last + period) {
            if let Ok(status) = self.word(self.record.layout.status) {
                status.fetch_or(STATUS_ALIVE, Ordering::SeqCst);
            }
            self.last_alive = Some(now);
        }
        self.last_alive.map(|last| last + period)
    }

    /// Tells the guest that its context is lost.
    pub fn set_fatal(&self) {
        if let Ok(status) = self.word(self.record.layout.status) {
            status.fetch_or(STATUS_FATAL, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout {
            res_id: 1,
            head: 0,
            tail: 64,
            status: 128,
            buffer: 192,
            buffer_len: 64,
            extra: 256,
            extra_len: 4,
        }
    }

    fn ring() -> (Ring, Mapping) {
        let memory = Mapping::anonymous("t", 4096).unwrap();
        let record = RingRecord {
            id: 9,
            layout: layout(),
            cur: 0,
            virtqueue_seqno: 0,
            idle_timeout_ns: 0,
            monitor_us: Some(100),
        };
        (Ring::new(record, memory.clone(), 0).unwrap(), memory)
    }

    #[test]
    fn read_across_the_wrap_returns_bytes_in_order() {
        let (mut ring, memory) = ring();
        ring.consume(60).unwrap();
        memory.write(192 + 60, &[1, 2, 3, 4]).unwrap();
        memory.write(192, &[5, 6, 7, 8]).unwrap();
        memory.atomic_u32(64).unwrap().store(68, Ordering::Release);

        let mut out = Vec::new();
        ring.read(&mut out).unwrap();

        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(memory.atomic_u32(0).unwrap().load(Ordering::Relaxed), 60);
    }

    #[test]
    fn hostile_tail_is_refused() {
        let (ring, memory) = ring();
        memory.atomic_u32(64).unwrap().store(65, Ordering::Release);
        assert!(matches!(
            ring.read(&mut Vec::new()),
            Err(RingError::Overrun { ahead: 65, .. })
        ));
    }

    #[test]
    fn layout_outside_its_resource_or_overlapping_is_refused() {
        assert!(layout().check(0, 260, 4096).is_ok());
        assert!(layout().check(0, 256, 4096).is_err());
        assert!(layout().check(0, 260, 200).is_err());
        assert!(layout().check(u64::MAX, 260, 4096).is_err());
        let overlapping = Layout {
            status: 192,
            ..layout()
        };
        assert!(overlapping.check(0, 260, 4096).is_err());
        let odd = Layout {
            buffer_len: 60,
            ..layout()
        };
        assert!(odd.check(0, 260, 4096).is_err());
        let unaligned = Layout {
            head: 2,
            ..layout()
        };
        assert!(unaligned.check(0, 260, 4096).is_err());
    }

    #[test]
    fn sleeping_ring_wakes_when_work_came_in_between() {
        let (mut ring, memory) = ring();
        ring.maybe_sleep(Instant::now());
        assert!(ring.is_idle());
        assert_eq!(
            memory.atomic_u32(128).unwrap().load(Ordering::Relaxed) & STATUS_IDLE,
            1
        );
        ring.wake(Instant::now());
        assert_eq!(
            memory.atomic_u32(128).unwrap().load(Ordering::Relaxed) & STATUS_IDLE,
            0
        );
        memory.atomic_u32(64).unwrap().store(4, Ordering::Release);
        ring.maybe_sleep(Instant::now() + Duration::from_secs(1));
        assert!(!ring.is_idle());
    }

    #[test]
    fn sleeping_ring_whose_status_the_guest_overwrote_wakes() {
        let (mut ring, memory) = ring();
        ring.maybe_sleep(Instant::now());
        ring.look_asleep(Instant::now());
        assert!(ring.is_idle());

        // Read before the ring slept, written after.
        memory.atomic_u32(128).unwrap().store(0, Ordering::Relaxed);
        memory.atomic_u32(64).unwrap().store(4, Ordering::Release);
        ring.look_asleep(Instant::now());

        assert!(!ring.is_idle());
    }

    #[test]
    fn extra_write_outside_is_refused() {
        let (ring, _memory) = ring();
        assert!(ring.write_extra(0, 1).is_ok());
        assert!(ring.write_extra(4, 1).is_err());
        assert!(ring.write_extra(u64::MAX, 1).is_err());
    }
}
