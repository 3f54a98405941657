//! What the tests over real sockets share: a front with nothing behind it, a served device, and the guest's side of its
//! control queue.
// Each test file takes its part of it.
#![allow(dead_code)]

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hesper_device::{
    Deadlines, DeviceConfig, DeviceError, FrontApi, FrontError, WindowConfig, serve,
};
use hesper_front::{Arena, Blob, ContextEvent};
use hesper_memory::Mapping;
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

pub const RAM_LEN: u64 = 1 << 20;
pub const DESCRIPTORS: u64 = 0x1000;
pub const AVAIL: u64 = 0x2000;
pub const USED: u64 = 0x3000;
pub const REQUEST: u64 = 0x4000;
pub const RESPONSE: u64 = 0x5000;
/// Entries of a queue.
pub const QUEUE_SIZE: u16 = 16;
pub const SHORT: Duration = Duration::from_secs(2);

pub const GET_DISPLAY_INFO: u32 = 0x100;
pub const GET_CAPSET: u32 = 0x109;
pub const OK_CAPSET: u32 = 0x1103;
/// Venus.
pub const CAPSET_ID: u32 = 4;

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

/// Hands out blobs of the arena one behind the other, each filled with its number; notes what it is told.
#[derive(Default)]
pub struct StubFront {
    arena: Mutex<Option<Arena>>,
    blobs: Mutex<u64>,
    tables: Mutex<Vec<u8>>,
    log: Mutex<Vec<String>>,
}

impl StubFront {
    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(what.into());
    }

    pub fn noted(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl FrontApi for StubFront {
    fn attach_arena(&self, arena: Arena) -> Result<(), FrontError> {
        *self.arena.lock().unwrap() = Some(arena);
        Ok(())
    }
    fn adopt_blobs(&self, _: &[(u32, Blob)]) -> Result<(), FrontError> {
        Ok(())
    }
    fn capset(&self) -> Result<Vec<u8>, FrontError> {
        Ok(vec![7; 160])
    }
    fn create_context(&self, _: u32, _: &str) -> Result<(), FrontError> {
        Ok(())
    }
    fn destroy_context(&self, _: u32) -> Result<(), FrontError> {
        Ok(())
    }
    fn submit(&self, _: u32, _: &[u8]) -> Result<(), FrontError> {
        Ok(())
    }
    fn create_blob(&self, _: u32, _: u32, _: u64, len: u64) -> Result<Blob, FrontError> {
        let arena = self.arena.lock().unwrap();
        let arena = arena.as_ref().ok_or(FrontError::OutOfMemory)?;
        let mut blobs = self.blobs.lock().unwrap();
        *blobs += 1;
        let offset = *blobs * 0x10_000;
        arena.mapping.write(offset, &[*blobs as u8; 16]).unwrap();
        Ok(Blob { offset, len })
    }
    fn unref_resource(&self, _: u32) -> Result<(), FrontError> {
        Ok(())
    }
    fn attach_resource(&self, _: u32, _: u32) -> Result<(), FrontError> {
        Ok(())
    }
    fn detach_resource(&self, _: u32, _: u32) -> Result<(), FrontError> {
        Ok(())
    }
    fn create_fence(&self, _: u32, _: u32, _: u64) -> Result<(), FrontError> {
        Err(FrontError::Lost)
    }
    fn set_event_handler(&self, _: Handler) {}
    fn reset(&self) {
        self.note("reset");
    }
    fn set_log(&self, on: bool) {
        self.note(if on { "log on" } else { "log off" });
    }
    fn quiesce(&self, device_tables: &[u8], _: Duration) -> Result<(), FrontError> {
        self.note("quiesce");
        *self.tables.lock().unwrap() = device_tables.to_vec();
        Ok(())
    }
    fn resume(&self) {
        self.note("resume");
    }
    fn save(&self) -> Result<Vec<u8>, FrontError> {
        Ok(self.tables.lock().unwrap().clone())
    }
    fn load(&self, state: &[u8]) -> Result<Vec<u8>, FrontError> {
        if state == b"bad" {
            return Err(FrontError::Other("Bad".into()));
        }
        Ok(state.to_vec())
    }
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SHORT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn connect(path: &Path) -> UnixStream {
    let mut stream = None;
    until("The socket", || {
        stream = UnixStream::connect(path).ok();
        stream.is_some()
    });
    stream.unwrap()
}

/// A device that is served on a socket in a folder of its own.
pub struct Served {
    pub front: Arc<StubFront>,
    pub socket: PathBuf,
    serving: JoinHandle<Result<(), DeviceError>>,
    _dir: tempfile::TempDir,
}

impl Served {
    /// `window` is told the folder.
    pub fn new(window: impl FnOnce(&Path) -> WindowConfig) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("gpu");
        let front = Arc::new(StubFront::default());
        let config = DeviceConfig {
            socket: socket.clone().into(),
            window: window(dir.path()),
            deadlines: Deadlines {
                quiesce: SHORT,
                window: SHORT,
                state: SHORT,
            },
            limits: Default::default(),
            figures: Default::default(),
        };
        let api: Arc<dyn FrontApi> = Arc::clone(&front) as _;
        let serving = std::thread::spawn(move || serve(config, api));
        Self {
            front,
            socket,
            serving,
            _dir: dir,
        }
    }

    pub fn join(self) -> Result<(), DeviceError> {
        self.serving.join().unwrap()
    }
}

/// Guest RAM, and the guest's side of the control queue in it.
pub struct Guest {
    pub ram: Mapping,
    pub kick: EventFd,
    pub call: EventFd,
    pub asked: u16,
}

impl Guest {
    pub fn new() -> Self {
        Self {
            ram: Mapping::anonymous("ram", RAM_LEN).unwrap(),
            kick: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            call: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            asked: 0,
        }
    }

    /// The RAM as an entry of the memory table.
    pub fn region(&self) -> VhostUserMemoryRegionInfo {
        VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: RAM_LEN,
            userspace_addr: self.user_addr(0),
            mmap_offset: 0,
            mmap_handle: self.ram.file().as_raw_fd(),
        }
    }

    /// Where the front end has an address of the guest's.
    pub fn user_addr(&self, addr: u64) -> u64 {
        self.ram.as_ptr(0, RAM_LEN).unwrap() as u64 + addr
    }

    /// Where the queue is.
    pub fn place(&self) -> VringConfigData {
        VringConfigData {
            queue_max_size: QUEUE_SIZE,
            queue_size: QUEUE_SIZE,
            flags: 0,
            desc_table_addr: self.user_addr(DESCRIPTORS),
            used_ring_addr: self.user_addr(USED),
            avail_ring_addr: self.user_addr(AVAIL),
            log_addr: None,
        }
    }

    /// Starts the control queue where the ring is now.
    pub fn start(&self, frontend: &mut Frontend) {
        self.start_at(frontend, QUEUE_SIZE, &self.place());
    }

    /// Starts the control queue as the front end does it, at any place and of any size.
    pub fn start_at(&self, frontend: &mut Frontend, size: u16, place: &VringConfigData) {
        frontend.set_vring_num(0, size).unwrap();
        frontend.set_vring_base(0, self.asked).unwrap();
        frontend.set_vring_addr(0, place).unwrap();
        frontend.set_vring_call(0, &self.call).unwrap();
        frontend.set_vring_kick(0, &self.kick).unwrap();
        frontend.set_vring_enable(0, true).unwrap();
    }

    /// The guest's driver starts over, with empty rings.
    pub fn reset_ring(&mut self) {
        self.ram.write(AVAIL, &[0; 4]).unwrap();
        self.ram.write(USED, &[0; 4]).unwrap();
        self.asked = 0;
    }

    /// Makes a request of context 1 available.
    pub fn push(&mut self, kind: u32, words: &[u32]) {
        let mut request = kind.to_le_bytes().to_vec();
        request.resize(24, 0);
        request[16] = 1;
        request.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        request.resize(128, 0);
        self.ram.write(REQUEST, &request).unwrap();
        self.ram.write(RESPONSE, &[0; 4]).unwrap();
        for (index, addr, len, flags) in [(0u64, REQUEST, 128u32, 1u16), (1, RESPONSE, 512, 2)] {
            let mut descriptor = addr.to_le_bytes().to_vec();
            descriptor.extend(len.to_le_bytes());
            descriptor.extend(flags.to_le_bytes());
            descriptor.extend(1u16.to_le_bytes());
            let at = DESCRIPTORS + index * 16;
            self.ram.write(at, &descriptor).unwrap();
        }
        let entry = AVAIL + 4 + u64::from(self.asked % QUEUE_SIZE) * 2;
        self.ram.write(entry, &[0; 2]).unwrap();
        self.asked = self.asked.wrapping_add(1);
        let index = self.asked.to_le_bytes();
        self.ram.write(AVAIL + 2, &index).unwrap();
        self.kick.write(1).unwrap();
    }

    pub fn answered(&self) -> bool {
        let mut used = [0; 2];
        self.ram.read(USED + 2, &mut used).unwrap();
        u16::from_le_bytes(used) == self.asked
    }

    /// The type of the answer there is.
    pub fn response(&self) -> u32 {
        let mut kind = [0; 4];
        self.ram.read(RESPONSE, &mut kind).unwrap();
        u32::from_le_bytes(kind)
    }

    /// Asks the device and returns the type of its answer.
    pub fn ask(&mut self, kind: u32, words: &[u32]) -> u32 {
        self.push(kind, words);
        until("An answer", || self.answered());
        self.response()
    }
}
