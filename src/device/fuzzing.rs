//! The queues under a script of moves that no driver makes: what the fuzz target `virtqueues` runs, and a test over
//! its corpus. The relay's target is in [`framing`].
//!
//! A device as [`serve`](crate::serve) makes it, but for its sockets: the front is the unit tests', the window answers at
//! once. It is made once and reset between scripts, as a guest's reset would; guest RAM is cleared. After each script
//! the guest resets the device and must find one that answers.

pub mod framing;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hesper_front::{Arena, ContextEvent};
use hesper_memory::Mapping;
use vhost::vhost_user::message::FrontendReq;
use vhost_user_backend::{VhostUserBackend, VringT};
use virtio_queue::QueueT;
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};
use vmm_sys_util::epoll::EventSet;

use crate::backend::{Backend, Deadlines, Shared};
use crate::front_api::FrontApi;
use crate::protocol::{FLAG_FENCE, FLAG_INFO_RING_IDX, HEADER_LEN, resp};
use crate::relay::{Checker, Verdict};
use crate::test_front::{ARENA_LEN, TestFront, WINDOW_LEN};
use crate::vring::{AtomicMemory, Memory, Vring};
use crate::window::{FrontEnd, Window, WindowError};

/// Guest RAM: start and length of each region, bytes. There is a hole.
const RAM: [(u64, usize); 2] = [(0, 0x2_0000), (0x3_0000, 0x1_0000)];
/// Where the front end has address 0.
const USER_BASE: u64 = 0x7000_0000_0000;
/// Addresses that a script can write to, bytes.
const RAM_END: u32 = 0x4_0000;
/// Entries of a queue at first.
const QUEUE_SIZE: u16 = 32;
/// Where tables of indirect descriptors may be put.
const INDIRECT_AT: u64 = 0x8000;
/// Where requests lie, one slot each.
const REQUESTS_AT: u64 = 0x1_0000;
const SLOT_LEN: u64 = 0x800;
/// A response's place in its slot.
const RESPONSE_AT: u64 = 0x400;
/// Moves of one script at most: a kick may copy a MiB for each entry of a queue.
const MOVES_MAX: usize = 96;
const KICKS_MAX: usize = 24;
/// Nothing here waits for another process.
const DEADLINE: Duration = Duration::from_secs(5);
/// Commands of both queues, and one that is none.
const KINDS: [u32; 27] = [
    0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x10c,
    0x10d, 0x200, 0x201, 0x202, 0x203, 0x204, 0x205, 0x206, 0x207, 0x208, 0x209, 0x300, 0x301,
    0x4242,
];
const GET_CAPSET_INFO: u32 = 0x108;

/// Runs a script.
///
/// # Panics
/// When the device does what it must not.
pub fn virtqueues(script: &[u8]) {
    thread_local! {
        static MACHINE: RefCell<Machine> = RefCell::new(Machine::new());
    }
    MACHINE.with_borrow_mut(|machine| machine.run(script));
}

/// A window that shows whatever fits.
#[derive(Default)]
struct AnyWindow(Mutex<BTreeMap<u64, u64>>);

impl Window for AnyWindow {
    fn front_end(&self) -> FrontEnd {
        FrontEnd::Hesper
    }

    fn map(&self, arena_offset: u64, window_offset: u64, len: u64) -> Result<(), WindowError> {
        assert!(
            arena_offset
                .checked_add(len)
                .is_some_and(|end| end <= WINDOW_LEN)
        );
        let end = window_offset.checked_add(len).expect("checked before");
        assert!(end <= WINDOW_LEN, "the window is no longer");
        let mut maps = self.0.lock().expect("no thread has panicked");
        if maps
            .range(..end)
            .any(|(start, len)| start + len > window_offset)
        {
            return Err(WindowError::Refused(libc::EEXIST as u32));
        }
        maps.insert(window_offset, len);
        Ok(())
    }

    fn unmap(&self, window_offset: u64, len: u64) -> Result<(), WindowError> {
        let removed = self
            .0
            .lock()
            .expect("no thread has panicked")
            .remove(&window_offset);
        assert_eq!(removed, Some(len), "only what is there is unmapped");
        Ok(())
    }

    fn settle(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn close(&self) {}

    fn reset(&self) {
        self.0.lock().expect("no thread has panicked").clear();
    }
}

/// Reads a script; what is missing at its end is zeros.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (now, later) = self.0.split_at(len.min(self.0.len()));
        self.0 = later;
        now
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let bytes = self.bytes(N);
        array[..bytes.len()].copy_from_slice(bytes);
        array
    }

    fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// An address near the beginning of the address space, or near its end.
    fn addr(&mut self) -> u64 {
        i64::from(i32::from_le_bytes(self.array())) as u64
    }

    fn queue(&mut self) -> usize {
        usize::from(self.u8() & 1)
    }
}

struct Machine {
    front: Arc<TestFront>,
    device: Shared,
    memory: AtomicMemory,
    vrings: Vec<Vring>,
    checker: Checker,
    /// Available index of each queue, as the guest counts.
    next: [u16; 2],
    kicks: usize,
}

/// Where a queue's descriptors lie unless a script moves them.
fn table_at(queue: usize) -> u64 {
    0x1000 + 0x2000 * queue as u64
}

fn avail_at(queue: usize) -> u64 {
    table_at(queue) + 0x800
}

fn used_at(queue: usize) -> u64 {
    table_at(queue) + 0x1000
}

impl Machine {
    fn new() -> Self {
        let ranges = RAM.map(|(start, len)| (GuestAddress(start), len));
        let memory = AtomicMemory::new(Memory::from_ranges(&ranges).expect("they don't overlap"));
        let front = Arc::new(TestFront::default());
        let deadlines = Deadlines {
            quiesce: DEADLINE,
            window: DEADLINE,
            state: DEADLINE,
        };
        let backend = Backend::new(
            Arc::clone(&front) as Arc<dyn FrontApi>,
            Arc::new(AnyWindow::default()),
            memory.clone(),
            deadlines,
            Default::default(),
            Arc::default(),
        )
        .expect("a thread and an event");
        let arena = Arena {
            mapping: Mapping::anonymous("arena", ARENA_LEN).expect("memory"),
            window_len: WINDOW_LEN,
            bitmap: None,
        };
        backend
            .gpu
            .attach_arena(arena, false)
            .expect("the first one");
        let vrings = (0..2)
            .map(|_| Vring::new(memory.clone(), 1024).expect("a power of two"))
            .collect();
        let mut machine = Self {
            front,
            device: Shared(backend),
            memory,
            vrings,
            checker: Checker::default(),
            next: [0; 2],
            kicks: 0,
        };
        machine.prove_alive();
        machine
    }

    fn run(&mut self, script: &[u8]) {
        let mut script = Script(script);
        for _ in 0..MOVES_MAX {
            if script.0.is_empty() {
                break;
            }
            self.step(&mut script);
        }
        self.prove_alive();
    }

    /// The guest resets the device and gets an answer. Scripts begin where this ends.
    fn prove_alive(&mut self) {
        self.begin();
        self.request(0, 8, &[GET_CAPSET_INFO, 0, 0, 0, 0, 0, 0, 0]);
        self.kick(0);
        let kind: u32 = self.read(REQUESTS_AT + RESPONSE_AT);
        assert_eq!(kind, resp::OK_CAPSET_INFO, "no answer after a reset");
    }

    /// A guest that has just been reset.
    fn begin(&mut self) {
        self.stop();
        self.device.0.reset();
        for (start, len) in RAM {
            let zeros = [0; 0x1_0000];
            for at in (start..).step_by(zeros.len()).take(len / zeros.len()) {
                self.write(at, &zeros);
            }
        }
        self.front.blobs.lock().expect("no panic").clear();
        self.front.log.lock().expect("no panic").clear();
        (self.next, self.kicks) = ([0; 2], 0);
        self.checker = Checker::default();
        let mut table = vec![RAM.len() as u32, 0];
        for (start, len) in RAM {
            for word in [start, len as u64, USER_BASE + start, 0] {
                table.extend([word as u32, (word >> 32) as u32]);
            }
        }
        assert!(self.tell(FrontendReq::SET_MEM_TABLE, &table));
        for queue in 0..2 {
            let vring = &self.vrings[queue];
            vring.get_mut().get_queue_mut().reset();
            vring.set_queue_size(QUEUE_SIZE);
            vring
                .set_queue_info(table_at(queue), avail_at(queue), used_at(queue))
                .expect("aligned");
            self.start(queue);
        }
    }

    fn start(&self, queue: usize) {
        let vring = &self.vrings[queue];
        // As the vhost-user crate does it.
        if let Ok(used) = vring.queue_used_idx() {
            vring.set_queue_next_used(used);
            vring.set_queue_ready(true);
            vring.set_enabled(true);
        }
    }

    fn stop(&self) {
        for (queue, vring) in (0..).zip(&self.vrings) {
            vring.set_queue_ready(false);
            self.device.stop_vring(queue).expect("it never fails");
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.u8() % 12 {
            0 => {
                let at = u64::from(script.u32() % RAM_END);
                let len = usize::from(script.u8());
                self.write(at, script.bytes(len));
            }
            1 => self.descriptor(script),
            2 => {
                let queue = script.queue();
                let head = script.u16();
                self.offer(queue, head);
            }
            3 => {
                let queue = script.queue();
                let index = script.u16();
                self.write(avail_at(queue) + 2, &index.to_le_bytes());
            }
            4 => {
                let queue = script.queue();
                self.kick(queue);
            }
            5 => {
                let queue = script.queue();
                self.command(queue, script);
            }
            6 => {
                let ring = script.u8();
                let fence = script.u8();
                self.front.signal(1, ring.into(), fence.into());
            }
            7 => {
                let ctx_id = script.u8().into();
                let handler = self.front.handler.lock().expect("no panic");
                let told = handler.as_ref().expect("set when the device was made");
                let reason = "script".into();
                told(ContextEvent::Lost { ctx_id, reason });
            }
            8 => self.move_queue(script),
            9 => self.begin(),
            10 => self.save_and_load(),
            _ => {
                let queue = script.queue();
                let on = script.u8() & 1 != 0;
                self.vrings[queue].set_queue_event_idx(on);
            }
        }
    }

    /// Writes one descriptor, anything it likes.
    fn descriptor(&self, script: &mut Script<'_>) {
        let table = match script.u8() % 4 {
            0 => table_at(0),
            1 => table_at(1),
            _ => INDIRECT_AT,
        };
        let at = table + u64::from(script.u8()) * 16;
        let mut bytes = script.addr().to_le_bytes().to_vec();
        bytes.extend(script.u32().to_le_bytes());
        bytes.extend(u16::from(script.u8()).to_le_bytes());
        bytes.extend(script.u16().to_le_bytes());
        self.write(at, &bytes);
    }

    /// A command in a chain as drivers make them, to get the device where a bad one can do harm.
    fn command(&mut self, queue: usize, script: &mut Script<'_>) {
        let kind = KINDS[usize::from(script.u8()) % KINDS.len()];
        let flags = script.u8();
        let (ring_idx, fence_id, ctx_id) = (script.u8(), script.u8(), script.u8() % 4);
        let pieces = script.u8();
        let mut words = vec![
            kind,
            u32::from(flags) & (FLAG_FENCE | FLAG_INFO_RING_IDX),
            fence_id.into(),
            0,
            ctx_id.into(),
            ring_idx.into(),
        ];
        debug_assert_eq!(words.len() * 4, HEADER_LEN);
        for _ in 0..script.u8() % 48 {
            words.push(script.u32());
        }
        self.request(queue, u32::from(pieces), &words);
    }

    /// Puts a request into the next slot, in two descriptors, and makes it available.
    fn request(&mut self, queue: usize, first_len: u32, words: &[u32]) {
        let slot = self.next[queue] % (QUEUE_SIZE / 4);
        let at = REQUESTS_AT + u64::from(slot) * SLOT_LEN + queue as u64 * SLOT_LEN / 2;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(at, &bytes);
        let len = bytes.len() as u32;
        let first_len = first_len.min(len);
        let head = slot * 3;
        let pieces = [
            (at, first_len, 1u16),
            (at + u64::from(first_len), len - first_len, 1),
            (at + RESPONSE_AT, (SLOT_LEN / 2) as u32, 2),
        ];
        for (index, (addr, len, flags)) in (head..).zip(pieces) {
            let mut descriptor = addr.to_le_bytes().to_vec();
            descriptor.extend(len.to_le_bytes());
            descriptor.extend(flags.to_le_bytes());
            descriptor.extend((index + 1).to_le_bytes());
            self.write(table_at(queue) + u64::from(index) * 16, &descriptor);
        }
        self.offer(queue, head);
    }

    /// Makes a chain available.
    fn offer(&mut self, queue: usize, head: u16) {
        let slot = u64::from(self.next[queue] % QUEUE_SIZE);
        self.write(avail_at(queue) + 4 + slot * 2, &head.to_le_bytes());
        self.next[queue] = self.next[queue].wrapping_add(1);
        self.write(avail_at(queue) + 2, &self.next[queue].to_le_bytes());
    }

    fn kick(&mut self, queue: usize) {
        self.kicks += 1;
        if self.kicks <= KICKS_MAX {
            self.device
                .handle_event(queue as u16, EventSet::IN, &self.vrings, 0)
                .expect("it would end the queues' thread");
        }
    }

    /// Stops the device and starts it with one queue somewhere else, as a front end does for a guest that wants it so.
    fn move_queue(&mut self, script: &mut Script<'_>) {
        let queue = script.queue();
        let size = u32::from(script.u16());
        let base = u32::from(script.u16());
        let place = [script.addr(), script.addr(), script.addr()];
        self.stop();
        let index = queue as u32;
        self.tell(FrontendReq::GET_VRING_BASE, &[index, 0]);
        let vring = self.vrings[queue].clone();
        if self.tell(FrontendReq::SET_VRING_NUM, &[index, size]) {
            vring.set_queue_size(size as u16);
        }
        if self.tell(FrontendReq::SET_VRING_BASE, &[index, base]) {
            vring.set_queue_next_avail(base as u16);
        }
        let [descriptors, available, used] = place.map(|addr| USER_BASE.wrapping_add(addr));
        let mut body = vec![index, 0];
        for addr in [descriptors, used, available, 0] {
            body.extend([addr as u32, (addr >> 32) as u32]);
        }
        if self.tell(FrontendReq::SET_VRING_ADDR, &body) {
            vring
                .set_queue_info(place[0], place[1], place[2])
                .expect("the crate ends the connection here");
            vring
                .queue_used_idx()
                .expect("the crate ends the connection here");
        }
        let starts = self.tell(FrontendReq::SET_VRING_KICK, &[index, 0]);
        for other in 0..2 {
            if other != queue || starts {
                self.start(other);
            }
        }
    }

    /// Has a message of the front end checked. False when it does not get through.
    fn tell(&mut self, request: FrontendReq, words: &[u32]) -> bool {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let verdict = self.checker.look(request as u32, &body);
        assert_ne!(
            verdict,
            Verdict::Refuse,
            "a guest has no part in such errors"
        );
        verdict == Verdict::Pass
    }

    /// What a migration does, to the same machine.
    fn save_and_load(&mut self) {
        self.stop();
        let backend = &self.device.0;
        backend.cut(DEADLINE).expect("the front makes it");
        let state = self.front.save().expect("it saves");
        backend.replace(&state).expect("what was saved loads");
        for queue in 0..2 {
            self.start(queue);
        }
        self.kick(0);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        // Holes are no RAM: what a guest writes there is lost.
        let _ = self.memory.memory().write_slice(bytes, GuestAddress(at));
    }

    fn read(&self, at: u64) -> u32 {
        self.memory.memory().read_obj(GuestAddress(at)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corpus_of_the_fuzz_target_runs_to_its_end() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/virtqueues");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            virtqueues(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 20, "{count} files");
    }

    #[test]
    fn script_reaches_the_device() {
        let mut machine = Machine::new();
        machine.begin();
        // CTX_CREATE of context 1, then a fence on its timeline 3, which signals.
        let mut context = vec![5, 0, 14, 0, 0, 0, 1, 24, 18];
        context.extend([4, 0, 0, 0, 4, 0, 0, 0]);
        context.extend([b'n'; 64]);
        let fence = [5, 0, 21, 3, 3, 9, 1, 24, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes = [&context[..], &[4, 0], &fence, &[4, 0]].concat();
        let mut script = Script(&bytes);
        while !script.0.is_empty() {
            machine.step(&mut script);
        }
        assert_eq!(machine.front.noted("context 1"), 1);
        assert_eq!(machine.front.noted("fence 3 9"), 1);
        assert_eq!(machine.vrings[0].queue_used_idx().unwrap(), 1);
        machine.step(&mut Script(&[6, 3, 9]));
        assert_eq!(machine.vrings[0].queue_used_idx().unwrap(), 2);
    }
}
