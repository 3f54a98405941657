//! The device over guest memory of our own, with real descriptor chains, a front that hands out
//! ranges of a memory file, and a QEMU that answers the window channel.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hesper_front::{Arena, Blob, ContextEvent};
use hesper_memory::memfd;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use vhost_user_backend::{VhostUserBackend, VringT};
use virtio_queue::QueueT;
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};
use vmm_sys_util::epoll::EventSet;

use crate::backend::{Backend, Deadlines, Shared};
use crate::front_api::{FrontApi, FrontError};
use crate::protocol::{FLAG_FENCE, FLAG_INFO_RING_IDX, HEADER_LEN, Refusal, resp};
use crate::vring::{AtomicMemory, Memory, Vring};
use crate::window::Window;

const ARENA_LEN: u64 = 1 << 20;
const WINDOW_LEN: u64 = 1 << 19;
const QUEUE_SIZE: u16 = 64;
const ROOM: u32 = 2048;
const SHORT: Duration = Duration::from_millis(500);

/// Wire numbers, as the specification has them.
mod cmd {
    pub const GET_DISPLAY_INFO: u32 = 0x100;
    pub const CREATE_2D: u32 = 0x101;
    pub const UNREF: u32 = 0x102;
    pub const SET_SCANOUT: u32 = 0x103;
    pub const TRANSFER: u32 = 0x105;
    pub const ATTACH_BACKING: u32 = 0x106;
    pub const GET_CAPSET_INFO: u32 = 0x108;
    pub const GET_CAPSET: u32 = 0x109;
    pub const CREATE_BLOB: u32 = 0x10c;
    pub const SCANOUT_BLOB: u32 = 0x10d;
    pub const CTX_CREATE: u32 = 0x200;
    pub const CTX_DESTROY: u32 = 0x201;
    pub const CTX_ATTACH: u32 = 0x202;
    pub const SUBMIT: u32 = 0x207;
    pub const MAP_BLOB: u32 = 0x208;
    pub const UNMAP_BLOB: u32 = 0x209;
}

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

#[derive(Default)]
struct TestFront {
    handler: Mutex<Option<Handler>>,
    blobs: Mutex<BTreeMap<u32, Blob>>,
    log: Mutex<Vec<String>>,
    tables: Mutex<Vec<u8>>,
    signal_at_once: bool,
    hung: bool,
}

impl TestFront {
    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }

    fn noted(&self, what: &str) -> usize {
        let log = self.log.lock().unwrap();
        log.iter().filter(|line| line.starts_with(what)).count()
    }

    fn signal(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) {
        let handler = self.handler.lock().unwrap();
        handler.as_ref().unwrap()(ContextEvent::Fence {
            ctx_id,
            ring_idx,
            fence_id,
        });
    }
}

impl FrontApi for TestFront {
    fn attach_arena(&self, _arena: Arena) -> Result<(), FrontError> {
        self.note("arena".into());
        Ok(())
    }

    fn capset(&self) -> Result<Vec<u8>, FrontError> {
        Ok((0..160).collect())
    }

    fn create_context(&self, ctx_id: u32, name: &str) -> Result<(), FrontError> {
        self.note(format!("context {ctx_id} {name}"));
        Ok(())
    }

    fn destroy_context(&self, _ctx_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn submit(&self, ctx_id: u32, stream: &[u8]) -> Result<(), FrontError> {
        self.note(format!("submit {ctx_id} {}", stream.len()));
        Ok(())
    }

    fn create_blob(
        &self,
        _ctx_id: u32,
        res_id: u32,
        _blob_id: u64,
        size: u64,
    ) -> Result<Blob, FrontError> {
        let mut blobs = self.blobs.lock().unwrap();
        let offset: u64 = blobs.values().map(|blob| blob.len).sum();
        let len = size
            .checked_next_multiple_of(4096)
            .filter(|len| len + offset <= WINDOW_LEN)
            .ok_or(FrontError::OutOfMemory)?;
        let blob = Blob { offset, len };
        blobs.insert(res_id, blob);
        Ok(blob)
    }

    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        self.note(format!("unref {res_id}"));
        Ok(())
    }

    fn attach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn detach_resource(&self, _ctx_id: u32, _res_id: u32) -> Result<(), FrontError> {
        Ok(())
    }

    fn create_fence(&self, ctx_id: u32, ring_idx: u32, fence_id: u64) -> Result<(), FrontError> {
        if ctx_id != 1 {
            return Err(FrontError::NoContext(ctx_id));
        }
        self.note(format!("fence {ring_idx} {fence_id}"));
        if self.signal_at_once {
            self.signal(ctx_id, ring_idx, fence_id);
        }
        Ok(())
    }

    fn set_event_handler(&self, handler: Handler) {
        *self.handler.lock().unwrap() = Some(handler);
    }

    fn reset(&self) {
        self.note("reset".into());
    }

    fn set_log(&self, on: bool) {
        self.note(format!("log {on}"));
    }

    fn quiesce(&self, device_tables: &[u8], _deadline: Duration) -> Result<(), FrontError> {
        self.note("quiesce".into());
        *self.tables.lock().unwrap() = device_tables.to_vec();
        if self.hung {
            return Err(FrontError::Hung);
        }
        Ok(())
    }

    fn resume(&self) {
        self.note("resume".into());
    }

    fn save(&self) -> Result<Vec<u8>, FrontError> {
        Ok(self.tables.lock().unwrap().clone())
    }

    fn load(&self, state: &[u8]) -> Result<Vec<u8>, FrontError> {
        Ok(state.to_vec())
    }
}

/// A device with running queues, and the guest's side of them.
struct Rig {
    front: Arc<TestFront>,
    device: Shared,
    memory: AtomicMemory,
    vrings: Vec<Vring>,
    qemu: UnixStream,
    next: [u16; 2],
    _dir: tempfile::TempDir,
}

fn ring_addr(queue: usize) -> u64 {
    0x1_0000 * (queue as u64 + 1)
}

/// Where a request and its response lie.
fn buffer_addr(slot: u16) -> u64 {
    0x10_0000 + u64::from(slot) * 0x1_0000
}

fn new_memory() -> AtomicMemory {
    AtomicMemory::new(Memory::from_ranges(&[(GuestAddress(0), 16 << 20)]).unwrap())
}

impl Rig {
    fn new(front: TestFront) -> Self {
        Self::over(front, new_memory())
    }

    fn over(front: TestFront, memory: AtomicMemory) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("window");
        let listener = UnixListener::bind(&path).unwrap();
        let (window, notices) = Window::listen(listener, SHORT).unwrap();
        let mut qemu = UnixStream::connect(&path).unwrap();
        qemu.set_read_timeout(Some(SHORT)).unwrap();
        let front = Arc::new(front);
        let deadlines = Deadlines {
            quiesce: SHORT,
            window: SHORT,
            state: SHORT,
        };
        let api: Arc<dyn FrontApi> = Arc::clone(&front) as _;
        let backend = Backend::new(api, window, memory.clone(), deadlines).unwrap();
        let heeding = Arc::clone(&backend);
        std::thread::spawn(move || heeding.heed(&notices));
        hello(&mut qemu);
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
            _dir: dir,
        }
    }

    fn start(&self) {
        for vring in &self.vrings {
            vring.set_queue_next_used(vring.queue_used_idx().unwrap());
            vring.set_queue_ready(true);
            vring.set_enabled(true);
        }
        self.kick(0);
    }

    fn stop(&self) {
        for (queue, vring) in (0..).zip(&self.vrings) {
            vring.set_queue_ready(false);
            self.device.stop_vring(queue).unwrap();
        }
    }

    fn started(front: TestFront) -> Self {
        let rig = Self::new(front);
        rig.start();
        rig
    }

    fn kick(&self, queue: u16) {
        self.device
            .handle_event(queue, EventSet::IN, &self.vrings, 0)
            .unwrap();
    }

    /// Makes a request available in two descriptors, its response in one, and returns its slot.
    fn push(&mut self, queue: usize, request: &[u8], room: u32) -> u16 {
        let slot = self.next[queue];
        let memory = self.memory.memory();
        let buffer = buffer_addr(slot);
        let head = slot * 3 % QUEUE_SIZE;
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
            .write_obj(slot + 1, GuestAddress(base + 0x4002))
            .unwrap();
        self.next[queue] = slot + 1;
        slot
    }

    /// The response in a slot: type and everything behind the header. None while there is none.
    fn response(&self, slot: u16) -> Option<(u32, Vec<u8>)> {
        let memory = self.memory.memory();
        let head = u32::from(slot * 3 % QUEUE_SIZE);
        let used: u16 = memory
            .read_obj(GuestAddress(ring_addr(0) + 0x8002))
            .unwrap();
        let len = (0..used).find_map(|at| {
            let entry = ring_addr(0) + 0x8004 + u64::from(at % QUEUE_SIZE) * 8;
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
    fn ask(&mut self, request: &[u8]) -> (u32, Vec<u8>) {
        let slot = self.push(0, request, ROOM);
        self.kick(0);
        self.response(slot).unwrap()
    }

    fn context(&mut self) {
        let mut request = request(cmd::CTX_CREATE, &[4, 4]);
        request.extend([b'n'; 64]);
        assert_eq!(self.ask(&with_context(request, 1)).0, resp::OK_NODATA);
    }

    fn blob(&mut self, res_id: u32, size: u32) {
        let request = request(cmd::CREATE_BLOB, &[res_id, 2, 1, 0, 5, 0, size, 0]);
        assert_eq!(self.ask(&with_context(request, 1)).0, resp::OK_NODATA);
    }

    /// Answers the next window request like QEMU and returns its type, a, b and c.
    fn serve_window(&self, status: u32) -> std::thread::JoinHandle<(u32, [u64; 3])> {
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

    /// QUIESCE as QEMU does it. Returns the status of the echo.
    fn quiesce(&mut self) -> u32 {
        self.window_message(5);
        let mut bytes = [0; 32];
        self.qemu.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes[..4], 0x8000_0005u32.to_le_bytes());
        u32::from_le_bytes(bytes[4..8].try_into().unwrap())
    }

    fn window_message(&mut self, kind: u32) {
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

fn hello(qemu: &mut UnixStream) {
    use std::os::fd::AsRawFd;
    let arena = memfd("arena", ARENA_LEN).unwrap();
    let bitmap = memfd("bitmap", 4096).unwrap();
    let mut bytes = [0; 32];
    bytes[0] = 1;
    bytes[8..16].copy_from_slice(&ARENA_LEN.to_le_bytes());
    bytes[16..24].copy_from_slice(&WINDOW_LEN.to_le_bytes());
    sendmsg::<()>(
        qemu.as_raw_fd(),
        &[std::io::IoSlice::new(&bytes)],
        &[ControlMessage::ScmRights(&[
            arena.as_raw_fd(),
            bitmap.as_raw_fd(),
        ])],
        MsgFlags::empty(),
        None,
    )
    .unwrap();
}

fn request(kind: u32, words: &[u32]) -> Vec<u8> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend([0; HEADER_LEN - 4]);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}

fn with_context(mut request: Vec<u8>, ctx_id: u32) -> Vec<u8> {
    request[16..20].copy_from_slice(&ctx_id.to_le_bytes());
    request
}

/// An empty submit with a fence on a timeline of context `ctx_id`.
fn fenced(ctx_id: u32, ring_idx: u8, fence_id: u64) -> Vec<u8> {
    let mut bytes = with_context(request(cmd::SUBMIT, &[0, 0]), ctx_id);
    bytes[4..8].copy_from_slice(&(FLAG_FENCE | FLAG_INFO_RING_IDX).to_le_bytes());
    bytes[8..16].copy_from_slice(&fence_id.to_le_bytes());
    bytes[20] = ring_idx;
    bytes
}

fn refused(refusal: Refusal) -> u32 {
    refusal as u32
}

#[test]
fn unknown_command_gets_the_unspecified_error() {
    let mut rig = Rig::started(TestFront::default());
    assert_eq!(rig.ask(&request(0x4242, &[])).0, 0x1200);
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn request_shorter_than_a_header_gets_an_error() {
    let mut rig = Rig::started(TestFront::default());
    assert_eq!(rig.ask(&[1, 2, 3]).0, refused(Refusal::Unspecified));
    assert_eq!(rig.ask(&[]).0, refused(Refusal::Unspecified));
}

#[test]
fn request_without_room_for_a_response_is_used_all_the_same() {
    let mut rig = Rig::started(TestFront::default());
    rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), 0);
    rig.kick(0);
    assert_eq!(rig.vrings[0].queue_used_idx().unwrap(), 1);
}

#[test]
fn descriptor_outside_guest_memory_gets_no_further_than_its_request() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    let memory = rig.memory.memory();
    let descriptor = GuestAddress(ring_addr(0) + u64::from(slot) * 3 * 16);
    memory.write_obj(u64::MAX - 8, descriptor).unwrap();
    rig.kick(0);
    assert_eq!(rig.response(slot).unwrap().0, refused(Refusal::Unspecified));
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn descriptor_loop_ends() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    let memory = rig.memory.memory();
    // The second descriptor's successor is the first.
    let next = GuestAddress(ring_addr(0) + u64::from(slot) * 3 * 16 + 16 + 14);
    memory.write_obj(slot * 3, next).unwrap();
    rig.kick(0);
    assert_eq!(rig.vrings[0].queue_used_idx().unwrap(), 1);
}

#[test]
fn capset_of_venus_is_returned_whole_and_no_other() {
    let mut rig = Rig::started(TestFront::default());
    let (kind, info) = rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0]));
    assert_eq!(kind, resp::OK_CAPSET_INFO);
    assert_eq!(info[..12], [4, 0, 0, 0, 0, 0, 0, 0, 160, 0, 0, 0]);
    let (kind, capset) = rig.ask(&request(cmd::GET_CAPSET, &[4, 0]));
    assert_eq!(kind, resp::OK_CAPSET);
    assert_eq!(capset, (0..160).collect::<Vec<u8>>());
    for index in [1, u32::MAX] {
        let (kind, _) = rig.ask(&request(cmd::GET_CAPSET_INFO, &[index, 0]));
        assert_eq!(kind, refused(Refusal::Parameter));
        let (kind, _) = rig.ask(&request(cmd::GET_CAPSET, &[index, 0]));
        assert_eq!(kind, refused(Refusal::Parameter));
    }
}

#[test]
fn capset_into_a_small_buffer_fills_that_and_no_more() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET, &[4, 0]), 32);
    rig.kick(0);
    let (_, body) = rig.response(slot).unwrap();
    assert_eq!(body.len(), 8);
    let after: u64 = rig
        .memory
        .memory()
        .read_obj(GuestAddress(buffer_addr(slot) + 0x8000 + 32))
        .unwrap();
    assert_eq!(after, 0);
}

#[test]
fn image_whose_size_wraps_in_32_bits_is_out_of_memory() {
    let mut rig = Rig::started(TestFront::default());
    for (width, height) in [(0x8000, 0x8000), (0x1_0001, 0x4000), (u32::MAX, u32::MAX)] {
        let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 2, width, height]));
        assert_eq!(kind, refused(Refusal::OutOfMemory), "{width}×{height}");
    }
    let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 2, 0, 4]));
    assert_eq!(kind, refused(Refusal::Parameter));
    let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 99, 4, 4]));
    assert_eq!(kind, refused(Refusal::Parameter));
}

#[test]
fn images_together_stay_below_their_limit() {
    let mut rig = Rig::started(TestFront::default());
    let large = [2, 8192, 8192];
    let create = |id: u32| request(cmd::CREATE_2D, &[&[id][..], &large].concat());
    assert_eq!(rig.ask(&create(1)).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&create(2)).0, refused(Refusal::OutOfMemory));
    assert_eq!(rig.ask(&request(cmd::UNREF, &[1, 0])).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&create(2)).0, resp::OK_NODATA);
}

#[test]
fn transfer_past_the_backing_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    let backing = request(cmd::ATTACH_BACKING, &[1, 1, 0x1000, 0, 64, 0]);
    assert_eq!(rig.ask(&backing).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&backing).0, refused(Refusal::Unspecified));
    for (rect, offset) in [
        ([0, 0, 4, 4], [u32::MAX, u32::MAX]),
        ([0, 0, 4, 4], [4, 0]),
        ([1, 0, 4, 4], [0, 0]),
        ([u32::MAX, 0, 2, 4], [0, 0]),
    ] {
        let words = [&rect[..], &offset, &[1, 0]].concat();
        let (kind, _) = rig.ask(&request(cmd::TRANSFER, &words));
        assert_eq!(kind, refused(Refusal::Parameter), "{rect:?} {offset:?}");
    }
    let (kind, _) = rig.ask(&request(cmd::TRANSFER, &[0, 0, 4, 4, 0, 0, 1, 0]));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn scanout_outside_its_image_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    for (words, refusal) in [
        ([0, 0, 5, 4, 0, 1], Refusal::Parameter),
        ([u32::MAX, 0, 4, 4, 0, 1], Refusal::Parameter),
        ([0, 0, 0, 0, 0, 1], Refusal::Parameter),
        ([0, 0, 4, 4, 16, 1], Refusal::ScanoutId),
        ([0, 0, 4, 4, 0, 9], Refusal::ResourceId),
    ] {
        let (kind, _) = rig.ask(&request(cmd::SET_SCANOUT, &words));
        assert_eq!(kind, refused(refusal), "{words:?}");
    }
    let (kind, _) = rig.ask(&request(cmd::SET_SCANOUT, &[0, 0, 4, 4, 0, 1]));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn scanout_past_its_blob_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    for (rect, size, stride, offset) in [
        ([0, 0, 16, 17], [16, 17], 256, 0),
        ([0, 0, 16, 16], [16, 16], 256, 4096 - 15 * 256),
        ([0, u32::MAX - 1, 16, 1], [16, u32::MAX], u32::MAX, u32::MAX),
        ([0, 0, 16, 16], [16, 16], 63, 0),
    ] {
        let words = [
            &rect[..],
            &[0, 7],
            &size,
            &[2, 0, stride, 0, 0, 0, offset, 0, 0, 0],
        ]
        .concat();
        let (kind, _) = rig.ask(&request(cmd::SCANOUT_BLOB, &words));
        assert_eq!(kind, refused(Refusal::Parameter), "{words:?}");
    }
    let words = [0, 0, 16, 16, 0, 7, 16, 16, 2, 0, 256, 0, 0, 0, 0, 0, 0, 0];
    let (kind, _) = rig.ask(&request(cmd::SCANOUT_BLOB, &words));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn context_that_is_no_venus_context_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    for (ctx_id, capset, refusal) in [(1, 2, Refusal::Parameter), (0, 4, Refusal::ContextId)] {
        let mut bytes = request(cmd::CTX_CREATE, &[0, capset]);
        bytes.extend([0; 64]);
        assert_eq!(rig.ask(&with_context(bytes, ctx_id)).0, refused(refusal));
    }
    rig.context();
    assert_eq!(rig.front.noted("context 1 nnnn"), 1);
}

#[test]
fn context_of_no_capset_takes_resources_and_nothing_else() {
    let mut rig = Rig::started(TestFront::default());
    let mut create = request(cmd::CTX_CREATE, &[0, 0]);
    create.extend([0; 64]);
    assert_eq!(rig.ask(&with_context(create, 1)).0, resp::OK_NODATA);
    rig.ask(&request(cmd::CREATE_2D, &[3, 2, 4, 4]));
    let attach = with_context(request(cmd::CTX_ATTACH, &[3, 0]), 1);
    assert_eq!(rig.ask(&attach).0, resp::OK_NODATA);
    let submit = with_context(request(cmd::SUBMIT, &[4, 0, 0]), 1);
    assert_eq!(rig.ask(&submit).0, refused(Refusal::Parameter));
    let blob = with_context(request(cmd::CREATE_BLOB, &[7, 2, 1, 0, 5, 0, 4096, 0]), 1);
    assert_eq!(rig.ask(&blob).0, refused(Refusal::Parameter));
    let destroy = with_context(request(cmd::CTX_DESTROY, &[]), 1);
    assert_eq!(rig.ask(&destroy).0, resp::OK_NODATA);
    assert_eq!(rig.front.noted(""), 1, "only the arena reaches the front");
}

#[test]
fn fence_on_ring_0_or_none_is_answered_at_once() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    assert_eq!(rig.ask(&fenced(1, 0, 5)).0, resp::OK_NODATA);
    let mut global = request(cmd::SUBMIT, &[0, 0]);
    global[4] = FLAG_FENCE as u8;
    assert_eq!(rig.ask(&with_context(global, 1)).0, resp::OK_NODATA);
    assert_eq!(rig.front.noted("fence"), 0);
}

#[test]
fn fences_of_a_timeline_are_answered_up_to_the_one_that_signals() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let slots: Vec<u16> = [(1, 10), (2, 11), (1, 12), (1, 13)]
        .iter()
        .map(|(ring, fence)| rig.push(0, &fenced(1, *ring, *fence), ROOM))
        .collect();
    rig.kick(0);
    let answered = |rig: &Rig| -> Vec<bool> {
        slots
            .iter()
            .map(|slot| rig.response(*slot).is_some())
            .collect()
    };
    assert_eq!(answered(&rig), [false; 4]);

    rig.front.signal(1, 1, 12);
    assert_eq!(answered(&rig), [true, false, true, false]);
    rig.front.signal(1, 1, 12);
    rig.front.signal(1, 3, 11);
    rig.front.signal(2, 2, 11);
    assert_eq!(answered(&rig), [true, false, true, false]);
    rig.front.signal(1, 2, 11);
    rig.front.signal(1, 1, 13);
    assert_eq!(answered(&rig), [true; 4]);
    let (kind, _) = rig.response(slots[0]).unwrap();
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn fence_that_signals_before_it_was_asked_for_is_answered() {
    let mut rig = Rig::started(TestFront {
        signal_at_once: true,
        ..TestFront::default()
    });
    rig.context();
    assert_eq!(rig.ask(&fenced(1, 1, 5)).0, resp::OK_NODATA);
}

#[test]
fn fence_of_no_context_or_no_timeline_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    assert_eq!(rig.ask(&fenced(2, 1, 5)).0, refused(Refusal::ContextId));
    assert_eq!(rig.ask(&fenced(1, 64, 5)).0, refused(Refusal::Parameter));
}

#[test]
fn lost_context_answers_all_its_fences() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let slot = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    assert!(rig.response(slot).is_none());
    rig.front.handler.lock().unwrap().as_ref().unwrap()(ContextEvent::Lost {
        ctx_id: 1,
        reason: "test".into(),
    });
    assert_eq!(rig.response(slot).unwrap().0, resp::OK_NODATA);
}

#[test]
fn blob_is_mapped_through_the_window_and_unmapped_with_its_resource() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 5000);
    rig.blob(8, 4096);

    let map = rig.serve_window(0);
    let (kind, body) = rig.ask(&request(cmd::MAP_BLOB, &[8, 0, 0x4000, 0]));
    assert_eq!(map.join().unwrap(), (2, [8192, 0x4000, 4096]));
    assert_eq!((kind, body[0]), (resp::OK_MAP_INFO, 1));
    let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[8, 0, 0x8000, 0]));
    assert_eq!(kind, refused(Refusal::Parameter));

    let unmap = rig.serve_window(0);
    assert_eq!(rig.ask(&request(cmd::UNREF, &[8, 0])).0, resp::OK_NODATA);
    assert_eq!(unmap.join().unwrap(), (3, [0, 0x4000, 4096]));
    assert_eq!(rig.front.noted("unref 8"), 1);
    assert_eq!(
        rig.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        refused(Refusal::Parameter)
    );
}

#[test]
fn map_that_qemu_refuses_or_that_lies_outside_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 8192);
    for offset in [
        [1, 0],
        [WINDOW_LEN as u32, 0],
        [WINDOW_LEN as u32 - 4096, 0],
        [0xffff_f000, u32::MAX],
    ] {
        let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[7, 0, offset[0], offset[1]]));
        assert_eq!(kind, refused(Refusal::Parameter), "{offset:x?}");
    }
    let map = rig.serve_window(libc::EEXIST as u32);
    let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0]));
    map.join().unwrap();
    assert_eq!(kind, refused(Refusal::Parameter));
}

#[test]
fn resource_that_is_mapped_stays_when_it_can_not_be_unmapped() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let map = rig.serve_window(0);
    rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0]));
    map.join().unwrap();
    // Nobody answers this one.
    assert_eq!(
        rig.ask(&request(cmd::UNREF, &[7, 0])).0,
        refused(Refusal::Unspecified)
    );
    assert_eq!(rig.front.noted("unref"), 0);
}

#[test]
fn display_info_waits_for_a_display() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_DISPLAY_INFO, &[]), ROOM);
    rig.kick(0);
    assert!(rig.response(slot).is_none());
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn quiesced_device_writes_nothing_until_it_runs_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let open = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);

    assert_eq!(rig.quiesce(), 0);
    let late = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    rig.kick(0);
    rig.front.signal(1, 1, 5);
    assert_eq!(rig.response(open), None);
    assert_eq!(rig.response(late), None);
    assert_eq!(rig.front.noted("resume"), 0);

    rig.stop();
    rig.start();
    assert_eq!(rig.response(open).unwrap().0, resp::OK_NODATA);
    assert_eq!(rig.response(late).unwrap().0, resp::OK_CAPSET_INFO);
    assert_eq!(rig.front.noted("quiesce"), 1);
    assert_eq!(rig.front.noted("resume"), 1);
}

#[test]
fn start_that_quiesce_overtakes_does_not_run() {
    let mut rig = Rig::new(TestFront::default());
    assert_eq!(rig.quiesce(), 0);
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    rig.start();
    assert_eq!(rig.response(slot), None);
    rig.stop();
    rig.start();
    assert!(rig.response(slot).is_some());
}

#[test]
fn hung_front_is_echoed_as_such_and_resumed_later() {
    let mut rig = Rig::started(TestFront {
        hung: true,
        ..TestFront::default()
    });
    assert_ne!(rig.quiesce(), 0);
    rig.stop();
    rig.start();
    assert_eq!(rig.front.noted("resume"), 1);
}

#[test]
fn reset_before_the_next_start_drops_everything_that_was() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let open = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    assert_eq!(rig.quiesce(), 0);
    rig.stop();

    rig.window_message(6);
    rig.start();

    assert_eq!(rig.front.noted("reset"), 1);
    rig.front.signal(1, 1, 5);
    assert_eq!(rig.response(open), None);
    assert_eq!(
        rig.ask(&request(cmd::UNREF, &[7, 0])).0,
        refused(Refusal::ResourceId)
    );
    rig.context();
}

#[test]
fn loaded_device_asks_again_for_open_fences_and_answers_them() {
    let mut source = Rig::started(TestFront::default());
    source.context();
    source.blob(7, 4096);
    let map = source.serve_window(0);
    source.ask(&request(cmd::MAP_BLOB, &[7, 0, 0x2000, 0]));
    map.join().unwrap();
    let open = source.push(0, &fenced(1, 1, 5), ROOM);
    let answered = source.push(0, &fenced(1, 2, 6), ROOM);
    source.kick(0);
    let tables = crate::tables::encode(
        source.device.0.gpu.save(),
        source.device.0.completions.save(),
    )
    .unwrap();
    // What signals between the save and the stop is in the ring, and must not come twice.
    source.front.signal(1, 2, 6);
    assert!(source.response(answered).is_some());
    assert_eq!(source.quiesce(), 0);
    source.stop();

    let mut target = Rig::over(TestFront::default(), source.memory.clone());
    target.next = source.next;
    target.device.0.replace(&tables).unwrap();
    target.vrings[0].set_queue_next_avail(source.vrings[0].queue_next_avail());
    target.start();

    assert_eq!(target.front.noted("resume"), 1);
    assert_eq!(target.front.noted("fence 1 5"), 1);
    assert_eq!(target.front.noted("fence 2 6"), 0);
    let used = target.vrings[0].queue_used_idx().unwrap();
    target.front.signal(1, 2, 6);
    assert_eq!(target.vrings[0].queue_used_idx().unwrap(), used);
    target.front.signal(1, 1, 5);
    assert_eq!(target.response(open).unwrap().0, resp::OK_NODATA);
    let unmap = target.serve_window(0);
    assert_eq!(
        target.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        resp::OK_NODATA
    );
    assert_eq!(unmap.join().unwrap(), (3, [0, 0x2000, 4096]));
}

#[test]
fn load_of_garbage_is_refused() {
    let rig = Rig::new(TestFront::default());
    assert!(rig.device.0.replace(b"garbage").is_err());
}

#[test]
fn live_ring_keeps_its_used_index_when_its_addresses_are_set_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0]));
    rig.vrings[0].set_queue_next_used(0);
    assert_eq!(rig.vrings[0].get_ref().get_queue().next_used(), 1);
    rig.vrings[0].set_queue_ready(false);
    rig.vrings[0].set_queue_next_used(0);
    assert_eq!(rig.vrings[0].get_ref().get_queue().next_used(), 0);
}
