//! The window in a front end's shared memory region: the vhost crate's front end in the place of a QEMU that knows nothing
//! of us.

mod common;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::{GET_DISPLAY_INFO, Guest, SHORT, Served, connect, until};
use hesper_device::{DeviceError, WindowConfig};
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserMMap, VhostUserVirtioFeatures,
};
use vhost::vhost_user::{
    Frontend, FrontendReqHandler, HandlerResult, VhostUserFrontend, VhostUserFrontendReqHandlerMut,
    VhostUserProtocolFeatures,
};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo};

const WINDOW_LEN: u64 = 1 << 20;
const BLOB_LEN: u64 = 0x2000;
/// Where the guest's BAR would be.
const BAR: u64 = 1 << 32;

const CTX_CREATE: u32 = 0x200;
const CREATE_BLOB: u32 = 0x10c;
const MAP_BLOB: u32 = 0x208;
const UNMAP_BLOB: u32 = 0x209;
const OK_NODATA: u32 = 0x1100;
const OK_DISPLAY_INFO: u32 = 0x1101;
const OK_MAP_INFO: u32 = 0x1106;
const ERR_RESOURCE_ID: u32 = 0x1203;
const ERR_PARAMETER: u32 = 0x1205;

/// A map in the shared memory region.
struct Shown {
    file: std::fs::File,
    fd_offset: u64,
    len: u64,
    writable: bool,
}

/// The front end's shared memory region 1.
#[derive(Default)]
struct Region {
    shown: BTreeMap<u64, Shown>,
    refuse: bool,
}

struct Requests(Arc<Mutex<Region>>);

impl VhostUserFrontendReqHandlerMut for Requests {
    fn shmem_map(&mut self, request: &VhostUserMMap, fd: &dyn AsRawFd) -> HandlerResult<u64> {
        let mut region = self.0.lock().unwrap();
        if region.refuse || request.shmid != 1 {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        // A descriptor of our own, by way of /proc: that of the message goes with it.
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let shown = Shown {
            file: std::fs::File::options().read(true).write(true).open(path)?,
            fd_offset: request.fd_offset,
            len: request.len,
            writable: request.flags == 1,
        };
        region.shown.insert(request.shm_offset, shown);
        Ok(0)
    }

    fn shmem_unmap(&mut self, request: &VhostUserMMap) -> HandlerResult<u64> {
        let mut region = self.0.lock().unwrap();
        match region.shown.remove(&{ request.shm_offset }) {
            Some(shown) if shown.len == { request.len } => Ok(0),
            _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
        }
    }
}

struct Vm {
    served: Served,
    frontend: Frontend,
    region: Arc<Mutex<Region>>,
    /// Whether requests of the back end are answered: not while QEMU waits for a queue to stop.
    answers: Arc<AtomicBool>,
    /// Sends the memory table after each answer, as QEMU does.
    answering: JoinHandle<()>,
    guest: Guest,
}

fn table_entry(window_offset: u64, shown: &Shown) -> VhostUserMemoryRegionInfo {
    VhostUserMemoryRegionInfo {
        guest_phys_addr: BAR + window_offset,
        memory_size: shown.len,
        // Nobody translates it.
        userspace_addr: BAR + window_offset,
        mmap_offset: shown.fd_offset,
        mmap_handle: shown.file.as_raw_fd(),
    }
}

/// Answers one request, then sends the table's change.
fn answer(
    handler: &mut FrontendReqHandler<Mutex<Requests>>,
    frontend: &mut Frontend,
    region: &Mutex<Region>,
    table: &mut BTreeMap<u64, VhostUserMemoryRegionInfo>,
) -> bool {
    match handler.handle_request() {
        Ok(_) | Err(vhost::vhost_user::Error::ReqHandlerError(_)) => {}
        Err(_) => return false,
    }
    let region = region.lock().unwrap();
    for (offset, shown) in &region.shown {
        if !table.contains_key(offset) {
            let entry = table_entry(*offset, shown);
            frontend.add_mem_region(&entry).unwrap();
            table.insert(*offset, entry);
        }
    }
    let gone: Vec<_> = table
        .keys()
        .filter(|offset| !region.shown.contains_key(offset))
        .copied()
        .collect();
    for offset in gone {
        frontend.remove_mem_region(&table[&offset]).unwrap();
        table.remove(&offset);
    }
    true
}

impl Vm {
    fn new() -> Self {
        let served = Served::new(|_| WindowConfig::SharedMemory { len: WINDOW_LEN });
        let mut frontend = Frontend::from_stream(connect(&served.socket), 2);

        frontend.set_owner().unwrap();
        let offered = frontend.get_features().unwrap();
        assert_eq!(offered & VhostUserVirtioFeatures::LOG_ALL.bits(), 0);
        let protocol = frontend.get_protocol_features().unwrap();
        assert!(protocol.contains(VhostUserProtocolFeatures::SHMEM));
        assert!(!protocol.contains(VhostUserProtocolFeatures::DEVICE_STATE));
        frontend.set_protocol_features(protocol).unwrap();
        frontend.set_features(offered).unwrap();
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);

        let region = Arc::new(Mutex::new(Region::default()));
        let requests = Arc::new(Mutex::new(Requests(Arc::clone(&region))));
        let mut handler = FrontendReqHandler::new(requests).unwrap();
        handler.set_reply_ack_flag(true);
        frontend
            .set_backend_request_fd(&handler.get_tx_raw_fd())
            .unwrap();
        let answers = Arc::new(AtomicBool::new(true));
        let answering = {
            let (mut frontend, region) = (frontend.clone(), Arc::clone(&region));
            let answers = Arc::clone(&answers);
            let mut table = BTreeMap::new();
            std::thread::spawn(move || {
                loop {
                    let mut fds = [libc::pollfd {
                        fd: handler.as_raw_fd(),
                        events: libc::POLLIN,
                        revents: 0,
                    }];
                    // SAFETY: one valid entry that lives as long as the call.
                    let ready = unsafe { libc::poll(fds.as_mut_ptr(), 1, 20) };
                    if Arc::strong_count(&answers) == 1 {
                        return;
                    }
                    if ready > 0
                        && answers.load(Ordering::Acquire)
                        && !answer(&mut handler, &mut frontend, &region, &mut table)
                    {
                        return;
                    }
                }
            })
        };
        let guest = Guest::new();
        frontend.add_mem_region(&guest.region()).unwrap();
        Self {
            served,
            frontend,
            region,
            answers,
            answering,
            guest,
        }
    }

    fn start(&mut self) {
        self.guest.start(&mut self.frontend);
    }

    /// Asks the device and returns the type of its answer.
    fn ask(&mut self, kind: u32, words: &[u32]) -> u32 {
        self.guest.ask(kind, words)
    }

    fn resets(&self) -> usize {
        let noted = self.served.front.noted();
        noted.iter().filter(|what| *what == "reset").count()
    }

    fn blob(&mut self, res_id: u32) -> u32 {
        let words = [res_id, 2, 1, 0, 0, 0, BLOB_LEN as u32, 0];
        self.ask(CREATE_BLOB, &words)
    }

    fn context_with_blob(&mut self) {
        self.start();
        assert_eq!(self.ask(CTX_CREATE, &[0, 4]), OK_NODATA);
        assert_eq!(self.blob(1), OK_NODATA);
    }

    fn shown(&self) -> Vec<u64> {
        self.region.lock().unwrap().shown.keys().copied().collect()
    }

    fn end(self) -> Result<(), DeviceError> {
        drop(self.answers);
        self.answering.join().unwrap();
        drop(self.frontend);
        self.served.join()
    }
}

#[test]
fn region_is_announced_and_there_is_no_display() {
    let mut vm = Vm::new();
    let config = vm.frontend.get_shmem_config().unwrap();
    assert_eq!(config.nregions, 1);
    assert_eq!(config.memory_sizes[..3], [0, WINDOW_LEN, 0]);
    let (_, config) = vm
        .frontend
        .get_config(0, 16, VhostUserConfigFlags::WRITABLE, &[0; 16])
        .unwrap();
    assert_eq!(config[12..], [1, 0, 0, 0]);
    vm.start();
    assert_eq!(vm.ask(GET_DISPLAY_INFO, &[]), OK_DISPLAY_INFO);
    vm.end().unwrap();
}

#[test]
fn blob_is_shown_where_the_guest_wants_it_until_it_is_unmapped() {
    let mut vm = Vm::new();
    vm.context_with_blob();

    assert_eq!(vm.ask(MAP_BLOB, &[1, 0, 0x4000, 0]), OK_MAP_INFO);

    {
        let region = vm.region.lock().unwrap();
        let shown = &region.shown[&0x4000];
        assert_eq!((shown.len, shown.writable), (BLOB_LEN, true));
        let mut bytes = [0; 16];
        shown
            .file
            .read_exact_at(&mut bytes, shown.fd_offset)
            .unwrap();
        assert_eq!(bytes, [1; 16]);
        assert!(shown.file.set_len(0).is_err(), "the arena's size is sealed");
    }
    assert_eq!(vm.ask(UNMAP_BLOB, &[1, 0]), OK_NODATA);
    assert!(vm.shown().is_empty());
    vm.end().unwrap();
}

#[test]
fn maps_that_can_not_be_are_refused() {
    let mut vm = Vm::new();
    vm.context_with_blob();
    assert_eq!(vm.blob(2), OK_NODATA);
    assert_eq!(vm.ask(MAP_BLOB, &[1, 0, 0x4000, 0]), OK_MAP_INFO);

    let outside = WINDOW_LEN as u32 - 0x1000;
    for offset in [0x3000, 0x5000, 0x4000, outside] {
        assert_eq!(vm.ask(MAP_BLOB, &[2, 0, offset, 0]), ERR_PARAMETER);
    }
    vm.region.lock().unwrap().refuse = true;
    assert_eq!(vm.ask(MAP_BLOB, &[2, 0, 0x8000, 0]), ERR_PARAMETER);
    vm.region.lock().unwrap().refuse = false;
    assert_eq!(vm.ask(MAP_BLOB, &[2, 0, 0x8000, 0]), OK_MAP_INFO);
    assert_eq!(vm.shown(), [0x4000, 0x8000]);
    vm.end().unwrap();
}

#[test]
fn stop_that_overtakes_a_map_is_not_held_up_by_it() {
    let mut vm = Vm::new();
    vm.context_with_blob();
    vm.answers.store(false, Ordering::Release);
    vm.guest.push(MAP_BLOB, &[1, 0, 0x4000, 0]);
    // The request is on its way when the queue stops.
    std::thread::sleep(Duration::from_millis(100));
    assert!(!vm.guest.answered());

    let started = Instant::now();
    assert_eq!(
        vm.frontend.get_vring_base(0).unwrap(),
        u32::from(vm.guest.asked)
    );
    assert!(started.elapsed() < SHORT / 2, "{:?}", started.elapsed());

    vm.answers.store(true, Ordering::Release);
    vm.start();
    until("The answer to the map", || vm.guest.answered());
    assert_eq!(vm.guest.response(), OK_MAP_INFO);
    until("The map", || vm.shown() == [0x4000]);
    assert_eq!(vm.ask(UNMAP_BLOB, &[1, 0]), OK_NODATA);
    until("The unmap", || vm.shown().is_empty());
    assert_eq!(vm.resets(), 1, "the first start's");
    vm.end().unwrap();
}

#[test]
fn ring_that_begins_anew_is_a_reset() {
    let mut vm = Vm::new();
    vm.context_with_blob();
    assert_eq!(vm.ask(MAP_BLOB, &[1, 0, 0x4000, 0]), OK_MAP_INFO);
    vm.frontend.get_vring_base(0).unwrap();
    // The front end drops the maps of a device that is reset.
    vm.region.lock().unwrap().shown.clear();

    vm.guest.reset_ring();
    vm.start();

    assert_eq!(vm.ask(UNMAP_BLOB, &[1, 0]), ERR_RESOURCE_ID);
    assert_eq!(vm.resets(), 2);
    assert_eq!(vm.ask(CTX_CREATE, &[0, 4]), OK_NODATA);
    assert_eq!(vm.blob(1), OK_NODATA);
    assert_eq!(vm.ask(MAP_BLOB, &[1, 0, 0x4000, 0]), OK_MAP_INFO);
    vm.end().unwrap();
}
