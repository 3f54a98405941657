//! The whole device over its sockets, with the vhost crate's front end in QEMU's place.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hesper_device::{
    Deadlines, DeviceConfig, DeviceError, FrontApi, FrontError, WindowConfig, serve,
};
use hesper_front::{Arena, Blob, ContextEvent};
use hesper_memory::{Mapping, memfd};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserDirtyLogRegion, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

const RAM_LEN: u64 = 1 << 20;
const LOG_ALL: u64 = 1 << 26;
const PROTOCOL_FEATURES: u64 = 1 << 30;
const DESCRIPTORS: u64 = 0x1000;
const AVAIL: u64 = 0x2000;
const USED: u64 = 0x3000;
const REQUEST: u64 = 0x4000;
const RESPONSE: u64 = 0x5000;
const SHORT: Duration = Duration::from_secs(2);

type Handler = Box<dyn Fn(ContextEvent) + Send + Sync>;

#[derive(Default)]
struct NoFront {
    tables: Mutex<Vec<u8>>,
    log: Mutex<Vec<String>>,
}

impl NoFront {
    fn note(&self, what: &str) {
        self.log.lock().unwrap().push(what.into());
    }

    fn noted(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl FrontApi for NoFront {
    fn attach_arena(&self, _: Arena) -> Result<(), FrontError> {
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
    fn create_blob(&self, _: u32, _: u32, _: u64, _: u64) -> Result<Blob, FrontError> {
        Err(FrontError::OutOfMemory)
    }
    fn unref_resource(&self, res_id: u32) -> Result<(), FrontError> {
        Err(FrontError::NoResource(res_id))
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

/// A VM as the device sees one.
struct Vm {
    front: Arc<NoFront>,
    frontend: Frontend,
    window: UnixStream,
    ram: Mapping,
    kick: EventFd,
    call: EventFd,
    serving: JoinHandle<Result<(), DeviceError>>,
    asked: u16,
    _dir: tempfile::TempDir,
}

fn connect(path: &Path) -> UnixStream {
    let deadline = Instant::now() + SHORT;
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn region(file: &File, ram: &Mapping) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: 0,
        memory_size: RAM_LEN,
        userspace_addr: ram.as_ptr(0, RAM_LEN).unwrap() as u64,
        mmap_offset: 0,
        mmap_handle: file.as_raw_fd(),
    }
}

impl Vm {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (socket, window_socket) = (dir.path().join("gpu"), dir.path().join("window"));
        let front = Arc::new(NoFront::default());
        let config = DeviceConfig {
            socket: socket.clone().into(),
            window: WindowConfig::Channel(window_socket.clone().into()),
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
        let window = connect(&window_socket);
        let mut frontend = Frontend::from_stream(connect(&socket), 2);

        frontend.set_owner().unwrap();
        let offered = frontend.get_features().unwrap();
        assert_eq!(offered & LOG_ALL, LOG_ALL);
        let protocol = frontend.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::DEVICE_STATE));
        assert!(protocol.contains(VhostUserProtocolFeatures::LOG_SHMFD));
        frontend.set_protocol_features(protocol).unwrap();
        frontend.set_features(offered & !LOG_ALL).unwrap();
        frontend.set_hdr_flags(vhost::vhost_user::message::VhostUserHeaderFlag::NEED_REPLY);
        let ram = Mapping::anonymous("ram", RAM_LEN).unwrap();
        Self {
            front,
            frontend,
            window,
            kick: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            call: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            ram,
            serving,
            asked: 0,
            _dir: dir,
        }
    }

    fn set_features(&self, more: u64) {
        let features = 1 << 32 | PROTOCOL_FEATURES | 0x1b | more;
        self.frontend.set_features(features).unwrap();
    }

    fn set_memory(&self) {
        let region = region(self.ram.file(), &self.ram);
        self.frontend.set_mem_table(&[region]).unwrap();
    }

    fn start(&mut self) {
        self.set_features(0);
        self.set_memory();
        self.frontend.set_vring_num(0, 16).unwrap();
        self.frontend.set_vring_base(0, self.asked).unwrap();
        self.set_addresses();
        self.frontend.set_vring_call(0, &self.call).unwrap();
        self.frontend.set_vring_kick(0, &self.kick).unwrap();
        self.frontend.set_vring_enable(0, true).unwrap();
    }

    fn set_addresses(&self) {
        let at = |offset| self.ram.as_ptr(offset, 1).unwrap() as u64;
        let config = VringConfigData {
            queue_max_size: 16,
            queue_size: 16,
            flags: 0,
            desc_table_addr: at(DESCRIPTORS),
            used_ring_addr: at(USED),
            avail_ring_addr: at(AVAIL),
            log_addr: None,
        };
        self.frontend.set_vring_addr(0, &config).unwrap();
    }

    /// Asks for the capset and waits for the answer; returns its type.
    fn ask(&mut self) -> u32 {
        let mut request = vec![0; 32];
        request[..4].copy_from_slice(&0x109u32.to_le_bytes());
        request[24] = 4;
        self.ram.write(REQUEST, &request).unwrap();
        self.ram.write(RESPONSE, &[0; 4]).unwrap();
        for (index, addr, len, flags) in [(0u64, REQUEST, 32u32, 1u16), (1, RESPONSE, 256, 2)] {
            let mut descriptor = addr.to_le_bytes().to_vec();
            descriptor.extend(len.to_le_bytes());
            descriptor.extend(flags.to_le_bytes());
            descriptor.extend(1u16.to_le_bytes());
            self.ram
                .write(DESCRIPTORS + index * 16, &descriptor)
                .unwrap();
        }
        let entry = AVAIL + 4 + u64::from(self.asked % 16) * 2;
        self.ram.write(entry, &[0; 2]).unwrap();
        self.asked += 1;
        self.ram
            .write(AVAIL + 2, &self.asked.to_le_bytes())
            .unwrap();
        self.kick.write(1).unwrap();
        let deadline = Instant::now() + SHORT;
        while self.used() != self.asked {
            assert!(Instant::now() < deadline, "no answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut kind = [0; 4];
        self.ram.read(RESPONSE, &mut kind).unwrap();
        u32::from_le_bytes(kind)
    }

    fn used(&self) -> u16 {
        let mut used = [0; 2];
        self.ram.read(USED + 2, &mut used).unwrap();
        u16::from_le_bytes(used)
    }

    fn set_log(&self, log: &Mapping) {
        let region = VhostUserDirtyLogRegion {
            mmap_size: log.len(),
            mmap_offset: 0,
            mmap_handle: log.file().as_raw_fd(),
        };
        self.frontend.set_log_base(0, Some(region)).unwrap();
    }

    fn quiesce(&mut self) {
        let mut message = [0; 32];
        message[0] = 5;
        self.window.write_all(&message).unwrap();
        self.window.read_exact(&mut message).unwrap();
        assert_eq!(message[..8], [5, 0, 0, 0x80, 0, 0, 0, 0]);
    }

    fn transfer(&mut self, direction: VhostTransferStateDirection, file: OwnedFd) {
        let file = self
            .frontend
            .set_device_state_fd(direction, VhostTransferStatePhase::STOPPED, file)
            .unwrap();
        assert!(file.is_none());
    }

    fn save(&mut self) -> Vec<u8> {
        let (mut ours, theirs) = std::io::pipe().unwrap();
        self.transfer(VhostTransferStateDirection::SAVE, theirs.into());
        let mut state = Vec::new();
        ours.read_to_end(&mut state).unwrap();
        self.frontend.check_device_state().unwrap();
        state
    }

    fn load(&mut self, state: &[u8]) -> bool {
        let (theirs, mut ours) = std::io::pipe().unwrap();
        self.transfer(VhostTransferStateDirection::LOAD, theirs.into());
        // A device that has seen enough hangs up.
        let _ = ours.write_all(state);
        drop(ours);
        self.frontend.check_device_state().is_ok()
    }

    fn end(self) -> Result<(), DeviceError> {
        drop(self.frontend);
        self.serving.join().unwrap()
    }
}

fn pages(log: &Mapping) -> Vec<u64> {
    let mut bytes = vec![0; log.len() as usize];
    log.read(0, &mut bytes).unwrap();
    log.write(0, &vec![0; bytes.len()]).unwrap();
    (0..bytes.len() as u64 * 8)
        .filter(|bit| bytes[(bit / 8) as usize] >> (bit % 8) & 1 != 0)
        .collect()
}

fn new_log() -> Mapping {
    Mapping::new(Arc::new(memfd("log", 4096).unwrap()), 0, 4096).unwrap()
}

#[test]
fn device_answers_a_request_and_ends_with_its_front_end() {
    let mut vm = Vm::new();
    let (_, config) = vm
        .frontend
        .get_config(0, 16, VhostUserConfigFlags::WRITABLE, &[0; 16])
        .unwrap();
    assert_eq!(config[12..], [1, 0, 0, 0]);
    vm.start();
    assert_eq!(vm.ask(), 0x1103);
    assert!(vm.call.read().is_ok());
    vm.end().unwrap();
}

#[test]
fn log_marks_response_and_used_ring_while_it_is_on() {
    let mut vm = Vm::new();
    vm.start();
    vm.ask();
    let log = new_log();
    vm.set_log(&log);
    vm.set_features(LOG_ALL);
    vm.set_addresses();
    vm.ask();
    assert_eq!(pages(&log), [USED / 4096, RESPONSE / 4096]);

    vm.set_features(0);
    // The queue's thread may have written once more to the used ring before that.
    pages(&log);
    vm.ask();
    assert_eq!(pages(&log), [0; 0]);
    vm.end().unwrap();
}

#[test]
fn log_stays_on_over_a_new_memory_table() {
    let mut vm = Vm::new();
    vm.start();
    let log = new_log();
    vm.set_log(&log);
    vm.set_features(LOG_ALL);
    vm.set_memory();
    vm.ask();
    assert_eq!(pages(&log), [USED / 4096, RESPONSE / 4096]);
    vm.end().unwrap();
}

#[test]
fn addresses_set_again_under_load_lose_no_buffer() {
    let mut vm = Vm::new();
    vm.start();
    for _ in 0..200 {
        vm.set_addresses();
        assert_eq!(vm.ask(), 0x1103);
    }
    vm.end().unwrap();
}

#[test]
fn state_saved_by_one_device_loads_into_another() {
    let mut source = Vm::new();
    source.start();
    source.ask();
    source.quiesce();
    assert_eq!(source.frontend.get_vring_base(0).unwrap(), 1);
    let state = source.save();
    assert!(!state.is_empty());

    let mut target = Vm::new();
    assert!(target.load(&state));
    target.start();
    assert_eq!(target.ask(), 0x1103);
    assert_eq!(target.front.noted(), ["resume"]);

    // The source goes on if nobody takes over.
    source.start();
    assert_eq!(source.ask(), 0x1103);
    assert_eq!(source.front.noted(), ["quiesce", "resume"]);
    source.end().unwrap();
    target.end().unwrap();
}

#[test]
fn state_that_can_not_be_loaded_fails_the_check() {
    let mut vm = Vm::new();
    assert!(!vm.load(b"bad"));
    assert!(!vm.load(b"no tables either"));
    assert!(!vm.load(&vec![0; 2 << 20]));
    assert!(vm.frontend.check_device_state().is_err());
    vm.end().unwrap();
}

#[test]
fn reset_is_worked_off_before_the_next_start() {
    let mut vm = Vm::new();
    vm.start();
    vm.ask();
    vm.quiesce();
    vm.frontend.get_vring_base(0).unwrap();
    let mut message = [0; 32];
    message[0] = 6;
    vm.window.write_all(&message).unwrap();
    vm.start();
    vm.ask();
    assert_eq!(vm.front.noted(), ["quiesce", "reset", "resume"]);
    vm.end().unwrap();
}
