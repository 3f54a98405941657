//! The whole device over its sockets, with the vhost crate's front end in QEMU's place.

mod common;

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use common::{
    AVAIL, CAPSET_ID, DESCRIPTORS, GET_CAPSET, Guest, OK_CAPSET, QUEUE_SIZE, RAM_LEN, RESPONSE,
    Served, USED, connect,
};
use hesper_device::{DeviceError, WindowConfig};
use hesper_memory::{Mapping, memfd};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserHeaderFlag,
};
use vhost::vhost_user::{Frontend, VhostUserFrontend, VhostUserProtocolFeatures};
use vhost::{VhostBackend, VhostUserDirtyLogRegion, VringConfigData};

const LOG_ALL: u64 = 1 << 26;
const PROTOCOL_FEATURES: u64 = 1 << 30;

/// A VM as the device sees one.
struct Vm {
    served: Served,
    frontend: Frontend,
    window: UnixStream,
    guest: Guest,
}

impl Vm {
    fn new() -> Self {
        let mut window = None;
        let served = Served::new(|folder| {
            let path = folder.join("window");
            window = Some(path.clone());
            WindowConfig::Channel(path.into())
        });
        let window = connect(&window.unwrap());
        let mut frontend = Frontend::from_stream(connect(&served.socket), 2);

        frontend.set_owner().unwrap();
        let offered = frontend.get_features().unwrap();
        assert_eq!(offered & LOG_ALL, LOG_ALL);
        let protocol = frontend.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::DEVICE_STATE));
        assert!(protocol.contains(VhostUserProtocolFeatures::LOG_SHMFD));
        frontend.set_protocol_features(protocol).unwrap();
        frontend.set_features(offered & !LOG_ALL).unwrap();
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        Self {
            served,
            frontend,
            window,
            guest: Guest::new(),
        }
    }

    fn set_features(&self, more: u64) {
        let features = 1 << 32 | PROTOCOL_FEATURES | 0x1b | more;
        self.frontend.set_features(features).unwrap();
    }

    fn set_memory(&self) {
        self.frontend.set_mem_table(&[self.guest.region()]).unwrap();
    }

    fn start(&mut self) {
        self.start_at(QUEUE_SIZE, &self.guest.place());
    }

    fn start_at(&mut self, size: u16, place: &VringConfigData) {
        self.set_features(0);
        self.set_memory();
        self.guest.start_at(&mut self.frontend, size, place);
    }

    fn set_addresses(&self) {
        self.frontend
            .set_vring_addr(0, &self.guest.place())
            .unwrap();
    }

    /// Asks for the capset and returns the answer's type.
    fn ask(&mut self) -> u32 {
        self.guest.ask(GET_CAPSET, &[CAPSET_ID, 0])
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

    /// The front end's connection.
    fn stream(&self) -> UnixStream {
        // SAFETY: the descriptor is the front end's, which lives as long as this call.
        let fd = unsafe { BorrowedFd::borrow_raw(self.frontend.as_raw_fd()) };
        fd.try_clone_to_owned().unwrap().into()
    }

    fn end(self) -> Result<(), DeviceError> {
        drop(self.frontend);
        self.served.join()
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
    assert_eq!(vm.ask(), OK_CAPSET);
    assert!(vm.guest.call.read().is_ok());
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
        assert_eq!(vm.ask(), OK_CAPSET);
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
    assert_eq!(target.ask(), OK_CAPSET);
    assert_eq!(target.served.front.noted(), ["resume"]);

    // The source goes on if nobody takes over.
    source.start();
    assert_eq!(source.ask(), OK_CAPSET);
    assert_eq!(source.served.front.noted(), ["quiesce", "resume"]);
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
    assert_eq!(vm.served.front.noted(), ["quiesce", "reset", "resume"]);
    vm.end().unwrap();
}

/// A queue that must not start: its size, and its descriptor table, available and used ring as the guest would say.
const MISPLACED: [(&str, u16, [u64; 3]); 11] = [
    (
        "descriptors aligned to 8",
        QUEUE_SIZE,
        [DESCRIPTORS + 8, AVAIL, USED],
    ),
    (
        "available ring at an odd address",
        QUEUE_SIZE,
        [DESCRIPTORS, AVAIL + 1, USED],
    ),
    (
        "used ring aligned to 2",
        QUEUE_SIZE,
        [DESCRIPTORS, AVAIL, USED + 2],
    ),
    ("descriptors past RAM", QUEUE_SIZE, [RAM_LEN, AVAIL, USED]),
    (
        "available ring past RAM",
        QUEUE_SIZE,
        [DESCRIPTORS, RAM_LEN + 0x1000, USED],
    ),
    (
        "used ring before RAM",
        QUEUE_SIZE,
        [DESCRIPTORS, AVAIL, 0u64.wrapping_sub(0x1000)],
    ),
    (
        "descriptors that end past RAM",
        QUEUE_SIZE,
        [RAM_LEN - 0x80, AVAIL, USED],
    ),
    (
        "available ring that ends past RAM",
        QUEUE_SIZE,
        [DESCRIPTORS, RAM_LEN - 4, USED],
    ),
    (
        "used ring that ends past RAM",
        QUEUE_SIZE,
        [DESCRIPTORS, AVAIL, RAM_LEN - 0x40],
    ),
    ("size of 6", 6, [DESCRIPTORS, AVAIL, USED]),
    ("size of 2048", 2048, [DESCRIPTORS, AVAIL, USED]),
];

#[test]
fn queue_that_can_not_be_does_not_start_and_the_device_goes_on() {
    let mut vm = Vm::new();
    for (what, size, [descriptors, avail, used]) in MISPLACED {
        let mut place = vm.guest.place();
        place.desc_table_addr = vm.guest.user_addr(0).wrapping_add(descriptors);
        place.avail_ring_addr = vm.guest.user_addr(0).wrapping_add(avail);
        place.used_ring_addr = vm.guest.user_addr(0).wrapping_add(used);
        vm.start_at(size, &place);
        vm.guest.push(GET_CAPSET, &[CAPSET_ID, 0]);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!vm.guest.answered(), "{what}");
        // The guest resets the device and sets the queue up as it should be.
        assert_eq!(vm.frontend.get_vring_base(0).unwrap(), 0, "{what}");
        vm.guest.reset_ring();
        vm.start();
        assert_eq!(vm.ask(), OK_CAPSET, "{what}");
        vm.frontend.get_vring_base(0).unwrap();
        vm.guest.reset_ring();
    }
    vm.end().unwrap();
}

#[test]
fn running_queue_stays_where_it_is_when_it_can_not_be_moved() {
    let mut vm = Vm::new();
    vm.start();
    assert_eq!(vm.ask(), OK_CAPSET);
    let mut place = vm.guest.place();
    place.desc_table_addr += 8;
    vm.frontend.set_vring_addr(0, &place).unwrap();
    assert_eq!(vm.ask(), OK_CAPSET);
    vm.end().unwrap();
}

#[test]
fn queue_that_is_not_there_is_an_error_to_the_front_end_and_the_device_goes_on() {
    let mut vm = Vm::new();
    vm.start();
    // By hand: the crate's front end checks it, too.
    let mut stream = vm.stream();
    for (request, body) in [
        (8u32, [2u32, 16].to_vec()),
        (8, [u32::MAX, 16].to_vec()),
        (9, [[2, 0].as_slice(), &[0; 8]].concat()),
        (10, [2, 0].to_vec()),
        (10, [0, 0x1_0000].to_vec()),
        (12, [0x102, 0].to_vec()),
        (13, [0x1ff, 0].to_vec()),
        (18, [2, 1].to_vec()),
        (18, [0, 2].to_vec()),
    ] {
        let mut message = Vec::new();
        for word in [request, 1 | 1 << 3, body.len() as u32 * 4]
            .iter()
            .chain(&body)
        {
            message.extend(word.to_le_bytes());
        }
        stream.write_all(&message).unwrap();
        let mut reply = [0; 20];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..4], request.to_le_bytes(), "{request} {body:?}");
        assert_eq!(reply[12..], 1u64.to_le_bytes(), "{request} {body:?}");
    }
    drop(stream);
    assert_eq!(vm.ask(), OK_CAPSET);
    vm.end().unwrap();
}
