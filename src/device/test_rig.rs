//! A device over guest memory of our own, with a front that hands out ranges, and a QEMU that
//! answers the window channel.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::Duration;

use hesper_front::Arena;
use hesper_memory::{Mapping, memfd};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use vhost::vhost_user::GpuBackend;
use vhost_user_backend::{VhostUserBackend, VringT};
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};
use vmm_sys_util::epoll::EventSet;

use crate::backend::{Backend, Deadlines, Shared};
use crate::front_api::FrontApi;
use crate::protocol::{FLAG_FENCE, FLAG_INFO_RING_IDX, HEADER_LEN, Refusal, resp};
use crate::vring::{AtomicMemory, Memory, Vring};
use crate::window::Channel;

pub use crate::test_front::{ARENA_LEN, TestFront, WINDOW_LEN};

pub const QUEUE_SIZE: u16 = 64;
/// Requests that are open at the same time at most, three descriptors each.
pub const SLOTS: u16 = 20;
pub const ROOM: u32 = 2048;
pub const SHORT: Duration = Duration::from_millis(500);

/// Wire numbers, as the specification has them.
pub mod cmd {
    pub const GET_DISPLAY_INFO: u32 = 0x100;
    pub const CREATE_2D: u32 = 0x101;
    pub const UNREF: u32 = 0x102;
    pub const SET_SCANOUT: u32 = 0x103;
    pub const FLUSH: u32 = 0x104;
    pub const TRANSFER: u32 = 0x105;
    pub const ATTACH_BACKING: u32 = 0x106;
    pub const GET_CAPSET_INFO: u32 = 0x108;
    pub const GET_CAPSET: u32 = 0x109;
    pub const ASSIGN_UUID: u32 = 0x10b;
    pub const CREATE_BLOB: u32 = 0x10c;
    pub const SCANOUT_BLOB: u32 = 0x10d;
    pub const CTX_CREATE: u32 = 0x200;
    pub const CTX_DESTROY: u32 = 0x201;
    pub const CTX_ATTACH: u32 = 0x202;
    pub const SUBMIT: u32 = 0x207;
    pub const MAP_BLOB: u32 = 0x208;
    pub const UNMAP_BLOB: u32 = 0x209;
    pub const UPDATE_CURSOR: u32 = 0x300;
    pub const MOVE_CURSOR: u32 = 0x301;
}

/// A device with running queues, and the guest's side of them.
pub struct Rig {
    pub front: Arc<TestFront>,
    pub device: Shared,
    pub memory: AtomicMemory,
    pub vrings: Vec<Vring>,
    pub qemu: UnixStream,
    pub next: [u16; 2],
    /// The arena and the dirty bitmap, which QEMU keeps.
    files: [Arc<File>; 2],
    _dir: tempfile::TempDir,
}

/// Rings lie far from buffers: no single byte turns an address of one into one of the other.
pub fn ring_addr(queue: usize) -> u64 {
    0x3_0300_0000 + 0x1_0000 * queue as u64
}

/// Where a request lies; its response 0x8000 behind it.
pub fn buffer_addr(slot: u16) -> u64 {
    0x10_0000 + u64::from(slot % SLOTS) * 0x1_0000
}

/// First descriptor of a request.
pub fn head(slot: u16) -> u16 {
    slot % SLOTS * 3
}

fn new_memory() -> AtomicMemory {
    let ranges = [
        (GuestAddress(0), 16 << 20),
        (GuestAddress(ring_addr(0)), 0x2_0000),
    ];
    AtomicMemory::new(Memory::from_ranges(&ranges).unwrap())
}

impl Rig {
    pub fn new(front: TestFront) -> Self {
        Self::over(front, new_memory())
    }

    pub fn over(front: TestFront, memory: AtomicMemory) -> Self {
        let files = [ARENA_LEN, 1 << 20].map(|len| Arc::new(memfd("t", len).unwrap()));
        Self::with_files(front, memory, files, false)
    }

    /// What QEMU does when the device's process has died and another one is there: the same
    /// memory and arena, and queues that go on at the used index.
    pub fn reopened(self, front: TestFront) -> Self {
        let mut next = Self::with_files(front, self.memory.clone(), self.files.clone(), true);
        next.next = self.next;
        for vring in &next.vrings {
            vring.set_queue_next_avail(vring.queue_used_idx().unwrap());
        }
        next.start();
        next
    }

    /// The arena as QEMU has it mapped.
    pub fn arena(&self) -> Arena {
        Arena {
            mapping: Mapping::new(Arc::clone(&self.files[0]), 0, ARENA_LEN).unwrap(),
            window_len: WINDOW_LEN,
            bitmap: None,
        }
    }

    fn with_files(
        front: TestFront,
        memory: AtomicMemory,
        files: [Arc<File>; 2],
        left: bool,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("window");
        let listener = UnixListener::bind(&path).unwrap();
        let (window, notices) = Channel::listen(listener, SHORT).unwrap();
        let mut qemu = UnixStream::connect(&path).unwrap();
        qemu.set_read_timeout(Some(SHORT)).unwrap();
        let front = Arc::new(front);
        let deadlines = Deadlines {
            quiesce: SHORT,
            window: SHORT,
            state: SHORT,
        };
        let api: Arc<dyn FrontApi> = Arc::clone(&front) as _;
        let backend = Backend::new(
            api,
            Arc::clone(&window) as _,
            memory.clone(),
            deadlines,
            front.limits,
            Arc::default(),
        )
        .unwrap();
        let heeding = Arc::clone(&backend);
        std::thread::spawn(move || heeding.heed(&window, &notices));
        hello(&mut qemu, &files, left);
        let vrings: Vec<Vring> = (0..2)
            .map(|queue| {
                let vring = Vring::new(memory.clone(), 256).unwrap();
                let base = ring_addr(queue);
                vring.set_queue_size(QUEUE_SIZE);
                vring
                    .set_queue_info(base, base + 0x4000, base + 0x8000)
                    .unwrap();
                vring
            })
            .collect();
        Self {
            front,
            device: Shared(backend),
            memory,
            vrings,
            qemu,
            next: [0; 2],
            files,
            _dir: dir,
        }
    }

    pub fn start(&self) {
        for vring in &self.vrings {
            vring.set_queue_next_used(vring.queue_used_idx().unwrap());
            vring.set_queue_ready(true);
            vring.set_enabled(true);
        }
        self.kick(0);
    }

    pub fn stop(&self) {
        for (queue, vring) in (0..).zip(&self.vrings) {
            vring.set_queue_ready(false);
            self.device.stop_vring(queue).unwrap();
        }
    }

    pub fn started(front: TestFront) -> Self {
        let rig = Self::new(front);
        rig.start();
        rig
    }

    pub fn kick(&self, queue: u16) {
        self.device
            .handle_event(queue, EventSet::IN, &self.vrings, 0)
            .unwrap();
    }

    /// Makes a request available in two descriptors, its response in one, and returns its slot.
    pub fn push(&mut self, queue: usize, request: &[u8], room: u32) -> u16 {
        let slot = self.next[queue];
        let memory = self.memory.memory();
        let buffer = buffer_addr(slot);
        let head = head(slot);
        let half = request.len() / 2;
        memory.write_slice(request, GuestAddress(buffer)).unwrap();
        let pieces = [
            (buffer, half as u32, 1u16),
            (
                buffer + half as u64,
                (request.len() - half) as u32,
                u16::from(room > 0),
            ),
            (buffer + 0x8000, room, 2),
        ];
        let base = ring_addr(queue);
        for (at, (addr, len, flags)) in (head..).zip(pieces) {
            let mut descriptor = addr.to_le_bytes().to_vec();
            descriptor.extend(len.to_le_bytes());
            descriptor.extend(flags.to_le_bytes());
            descriptor.extend((at + 1).to_le_bytes());
            let at = GuestAddress(base + u64::from(at) * 16);
            memory.write_slice(&descriptor, at).unwrap();
        }
        let entry = base + 0x4000 + 4 + u64::from(slot % QUEUE_SIZE) * 2;
        memory.write_obj(head, GuestAddress(entry)).unwrap();
        memory
            .write_obj(slot.wrapping_add(1), GuestAddress(base + 0x4002))
            .unwrap();
        self.next[queue] = slot.wrapping_add(1);
        slot
    }

    /// The response in a slot: type and everything behind the header. None while there is none.
    pub fn response(&self, slot: u16) -> Option<(u32, Vec<u8>)> {
        let memory = self.memory.memory();
        let head = u32::from(head(slot));
        let used: u16 = memory
            .read_obj(GuestAddress(ring_addr(0) + 0x8002))
            .unwrap();
        // The latest is the one: slots come round.
        let len = (1..=used.min(SLOTS)).find_map(|back| {
            let at = used.wrapping_sub(back) % QUEUE_SIZE;
            let entry = ring_addr(0) + 0x8004 + u64::from(at) * 8;
            let id: u32 = memory.read_obj(GuestAddress(entry)).unwrap();
            let len: u32 = memory.read_obj(GuestAddress(entry + 4)).unwrap();
            (id == head).then_some(len)
        })?;
        let mut bytes = vec![0; len as usize];
        let addr = GuestAddress(buffer_addr(slot) + 0x8000);
        memory.read_slice(&mut bytes, addr).unwrap();
        let kind = u32::from_le_bytes(bytes[..4].try_into().unwrap());
        Some((kind, bytes[HEADER_LEN..].to_vec()))
    }

    /// Executes one request of the control queue.
    pub fn ask(&mut self, request: &[u8]) -> (u32, Vec<u8>) {
        let slot = self.push(0, request, ROOM);
        self.kick(0);
        self.response(slot).unwrap()
    }

    pub fn context(&mut self) {
        let mut request = request(cmd::CTX_CREATE, &[4, 4]);
        request.extend([b'n'; 64]);
        assert_eq!(self.ask(&with_context(request, 1)).0, resp::OK_NODATA);
    }

    pub fn blob(&mut self, res_id: u32, size: u32) {
        let request = request(cmd::CREATE_BLOB, &[res_id, 2, 1, 0, 5, 0, size, 0]);
        assert_eq!(self.ask(&with_context(request, 1)).0, resp::OK_NODATA);
    }

    /// Answers the next window request like QEMU and returns its type, a, b and c.
    pub fn serve_window(&self, status: u32) -> std::thread::JoinHandle<(u32, [u64; 3])> {
        let mut qemu = self.qemu.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 32];
            qemu.read_exact(&mut bytes).unwrap();
            let kind = u32::from_le_bytes(bytes[..4].try_into().unwrap());
            let words =
                [8, 16, 24].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
            bytes[..4].copy_from_slice(&(kind | 0x8000_0000).to_le_bytes());
            bytes[4..8].copy_from_slice(&status.to_le_bytes());
            qemu.write_all(&bytes).unwrap();
            (kind, words)
        })
    }

    /// Answers all window requests with success, until the channel closes.
    pub fn serve_window_always(&self) {
        self.serve_window_with(0);
    }

    /// Answers all window requests with an errno, until the channel closes.
    pub fn serve_window_with(&self, status: u32) {
        let mut qemu = self.qemu.try_clone().unwrap();
        qemu.set_read_timeout(None).unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 32];
            while qemu.read_exact(&mut bytes).is_ok() {
                bytes[3] |= 0x80;
                bytes[4..8].copy_from_slice(&status.to_le_bytes());
                if qemu.write_all(&bytes).is_err() {
                    return;
                }
            }
        });
    }

    /// QUIESCE as QEMU does it. Returns the status of the echo.
    pub fn quiesce(&mut self) -> u32 {
        self.window_message(5);
        let mut bytes = [0; 32];
        self.qemu.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes[..4], 0x8000_0005u32.to_le_bytes());
        u32::from_le_bytes(bytes[4..8].try_into().unwrap())
    }

    pub fn window_message(&mut self, kind: u32) {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        self.qemu.write_all(&bytes).unwrap();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.device.0.close();
    }
}

/// Counts what is logged as a warning or an error.
#[derive(Clone, Default)]
pub struct Warnings(Arc<std::sync::atomic::AtomicUsize>);

impl Warnings {
    /// How much is logged while `work` is done, by this thread.
    pub fn during(work: impl FnOnce()) -> usize {
        let warnings = Self::default();
        tracing::subscriber::with_default(warnings.clone(), work);
        warnings.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        if self.enabled(event.metadata()) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// The front end's end of a display socket.
pub struct Shown(UnixStream);

impl Shown {
    /// Hands the device a socket and negotiates.
    pub fn on(set_socket: impl FnOnce(GpuBackend)) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        set_socket(GpuBackend::from_stream(theirs));
        let mut shown = Self(ours);
        assert_eq!(shown.next().0, 1);
        // VHOST_USER_GPU_PROTOCOL_F_EDID.
        shown.reply(1, &1u64.to_le_bytes());
        assert_eq!(shown.next().0, 2);
        shown
    }

    /// The next message: its type and its body.
    pub fn next(&mut self) -> (u32, Vec<u8>) {
        let mut header = [0; 12];
        self.0.read_exact(&mut header).unwrap();
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let mut body = vec![0; word(8) as usize];
        self.0.read_exact(&mut body).unwrap();
        (word(0), body)
    }

    pub fn reply(&mut self, request: u32, body: &[u8]) {
        let header = [request, 4, body.len() as u32];
        let header: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.0.write_all(&header).unwrap();
        self.0.write_all(body).unwrap();
    }

    /// True when the device has said nothing for a moment.
    pub fn is_silent(&self) -> bool {
        self.0
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let mut byte = [0];
        let silent = (&self.0).read(&mut byte).is_err();
        self.0
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        silent
    }
}

pub fn hello(qemu: &mut UnixStream, files: &[Arc<File>; 2], left: bool) {
    use std::os::fd::AsRawFd;
    let mut bytes = [0; 32];
    bytes[0] = 1;
    bytes[8..16].copy_from_slice(&ARENA_LEN.to_le_bytes());
    bytes[16..24].copy_from_slice(&WINDOW_LEN.to_le_bytes());
    bytes[24] = u8::from(left);
    let fds = [files[0].as_raw_fd(), files[1].as_raw_fd()];
    sendmsg::<()>(
        qemu.as_raw_fd(),
        &[std::io::IoSlice::new(&bytes)],
        &[ControlMessage::ScmRights(&fds)],
        MsgFlags::empty(),
        None,
    )
    .unwrap();
}

pub fn request(kind: u32, words: &[u32]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend([0; HEADER_LEN - 4]);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

pub fn with_context(mut request: Vec<u8>, ctx_id: u32) -> Vec<u8> {
    request[16..20].copy_from_slice(&ctx_id.to_le_bytes());
    request
}

/// An empty submit with a fence on a timeline of context `ctx_id`.
pub fn fenced(ctx_id: u32, ring_idx: u8, fence_id: u64) -> Vec<u8> {
    let mut bytes = with_context(request(cmd::SUBMIT, &[0, 0]), ctx_id);
    bytes[4..8].copy_from_slice(&(FLAG_FENCE | FLAG_INFO_RING_IDX).to_le_bytes());
    bytes[8..16].copy_from_slice(&fence_id.to_le_bytes());
    bytes[20] = ring_idx;
    bytes
}

pub fn refused(refusal: Refusal) -> u32 {
    refusal as u32
}
