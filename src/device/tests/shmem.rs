//! The window in a front end's shared memory region: the vhost crate's front end in the place of a QEMU that knows nothing
//! of us.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hesper_device::{
    Deadlines, DeviceConfig, DeviceError, FrontApi, FrontError, WindowConfig, serve,
};
use hesper_front::{Arena, Blob, ContextEvent};
use hesper_memory::Mapping;
use vhost::vhost_user::message::{
    VhostUserConfigFlags, VhostUserHeaderFlag, VhostUserMMap, VhostUserVirtioFeatures,
};
use vhost::vhost_user::{
    Frontend, FrontendReqHandler, HandlerResult, VhostUserFrontend, VhostUserFrontendReqHandlerMut,
    VhostUserProtocolFeatures,
};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

const RAM_LEN: u64 = 1 << 20;
const WINDOW_LEN: u64 = 1 << 20;
const BLOB_LEN: u64 = 0x2000;
const DESCRIPTORS: u64 = 0x1000;
const AVAIL: u64 = 0x2000;
const USED: u64 = 0x3000;
const REQUEST: u64 = 0x4000;
const RESPONSE: u64 = 0x5000;
/// Where the guest's BAR would be.
const BAR: u64 = 1 << 32;
const SHORT: Duration = Duration::from_secs(2);

const CTX_CREATE: u32 = 0x200;
const CREATE_BLOB: u32 = 0x10c;
const MAP_BLOB: u32 = 0x208;
const UNMAP_BLOB: u32 = 0x209;
const GET_DISPLAY_INFO: u32 = 0x100;
const OK_NODATA: u32 = 0x1100;
const OK_DISPLAY_INFO: u32 = 0x1101;
const OK_MAP_INFO: u32 = 0x1106;
const ERR_RESOURCE_ID: u32 = 0x1203;
const ERR_PARAMETER: u32 = 0x1205;

/// Hands out blobs one behind the other, each filled with its number.
#[derive(Default)]
struct Blobs {
    arena: Mutex<Option<Arena>>,
    made: Mutex<u64>,
    resets: Mutex<u32>,
}

impl FrontApi for Blobs {
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
        let mut made = self.made.lock().unwrap();
        *made += 1;
        let offset = *made * 0x10_000;
        let arena = self.arena.lock().unwrap();
        let mapping = &arena.as_ref().unwrap().mapping;
        mapping.write(offset, &[*made as u8; 16]).unwrap();
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
    fn set_event_handler(&self, _: Box<dyn Fn(ContextEvent) + Send + Sync>) {}
    fn reset(&self) {
        *self.resets.lock().unwrap() += 1;
    }
    fn set_log(&self, _: bool) {}
    fn quiesce(&self, _: &[u8], _: Duration) -> Result<(), FrontError> {
        Err(FrontError::Other("Nobody asks for a cut here".into()))
    }
    fn resume(&self) {}
    fn save(&self) -> Result<Vec<u8>, FrontError> {
        Err(FrontError::Other("Nobody saves here".into()))
    }
    fn load(&self, _: &[u8]) -> Result<Vec<u8>, FrontError> {
        Err(FrontError::Other("Nobody loads here".into()))
    }
}

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
    front: Arc<Blobs>,
    frontend: Frontend,
    region: Arc<Mutex<Region>>,
    /// Whether requests of the back end are answered: not while QEMU waits for a queue to stop.
    answers: Arc<AtomicBool>,
    /// Sends the memory table after each answer, as QEMU does.
    answering: JoinHandle<()>,
    ram: Mapping,
    kick: EventFd,
    call: EventFd,
    serving: JoinHandle<Result<(), DeviceError>>,
    asked: u16,
    _dir: tempfile::TempDir,
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SHORT;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn connect(path: &std::path::Path) -> UnixStream {
    let mut stream = None;
    until("The socket", || {
        stream = UnixStream::connect(path).ok();
        stream.is_some()
    });
    stream.unwrap()
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
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("gpu");
        let front = Arc::new(Blobs::default());
        let config = DeviceConfig {
            socket: socket.clone().into(),
            window: WindowConfig::SharedMemory { len: WINDOW_LEN },
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
        let mut frontend = Frontend::from_stream(connect(&socket), 2);

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
        let ram = Mapping::anonymous("ram", RAM_LEN).unwrap();
        let vm = Self {
            front,
            frontend,
            region,
            answers,
            answering,
            ram,
            kick: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            call: EventFd::new(libc::EFD_NONBLOCK).unwrap(),
            serving,
            asked: 0,
            _dir: dir,
        };
        let ram = VhostUserMemoryRegionInfo {
            guest_phys_addr: 0,
            memory_size: RAM_LEN,
            userspace_addr: vm.ram.as_ptr(0, RAM_LEN).unwrap() as u64,
            mmap_offset: 0,
            mmap_handle: vm.ram.file().as_raw_fd(),
        };
        vm.frontend.clone().add_mem_region(&ram).unwrap();
        vm
    }

    /// Starts the control queue where the ring is now.
    fn start(&mut self) {
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
        self.frontend.set_vring_num(0, 16).unwrap();
        self.frontend.set_vring_base(0, self.asked).unwrap();
        self.frontend.set_vring_addr(0, &config).unwrap();
        self.frontend.set_vring_call(0, &self.call).unwrap();
        self.frontend.set_vring_kick(0, &self.kick).unwrap();
        self.frontend.set_vring_enable(0, true).unwrap();
        self.kick.write(1).unwrap();
    }

    /// The guest's driver starts over, with empty rings.
    fn reset_ring(&mut self) {
        self.ram.write(AVAIL, &[0; 4]).unwrap();
        self.ram.write(USED, &[0; 4]).unwrap();
        self.asked = 0;
    }

    fn push(&mut self, kind: u32, words: &[u32]) {
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
        let entry = AVAIL + 4 + u64::from(self.asked % 16) * 2;
        self.ram.write(entry, &[0; 2]).unwrap();
        self.asked += 1;
        let index = self.asked.to_le_bytes();
        self.ram.write(AVAIL + 2, &index).unwrap();
        self.kick.write(1).unwrap();
    }

    fn answered(&self) -> bool {
        let mut used = [0; 2];
        self.ram.read(USED + 2, &mut used).unwrap();
        u16::from_le_bytes(used) == self.asked
    }

    /// Asks the device and returns the type of its answer.
    fn ask(&mut self, kind: u32, words: &[u32]) -> u32 {
        self.push(kind, words);
        until("An answer", || self.answered());
        self.response()
    }

    fn response(&self) -> u32 {
        let mut kind = [0; 4];
        self.ram.read(RESPONSE, &mut kind).unwrap();
        u32::from_le_bytes(kind)
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
        self.serving.join().unwrap()
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
    vm.push(MAP_BLOB, &[1, 0, 0x4000, 0]);
    // The request is on its way when the queue stops.
    std::thread::sleep(Duration::from_millis(100));
    assert!(!vm.answered());

    let started = Instant::now();
    assert_eq!(vm.frontend.get_vring_base(0).unwrap(), u32::from(vm.asked));
    assert!(started.elapsed() < SHORT / 2, "{:?}", started.elapsed());

    vm.answers.store(true, Ordering::Release);
    vm.start();
    until("The answer to the map", || vm.answered());
    assert_eq!(vm.response(), OK_MAP_INFO);
    until("The map", || vm.shown() == [0x4000]);
    assert_eq!(vm.ask(UNMAP_BLOB, &[1, 0]), OK_NODATA);
    until("The unmap", || vm.shown().is_empty());
    assert_eq!(*vm.front.resets.lock().unwrap(), 1, "the first start's");
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

    vm.reset_ring();
    vm.start();

    assert_eq!(vm.ask(UNMAP_BLOB, &[1, 0]), ERR_RESOURCE_ID);
    assert_eq!(*vm.front.resets.lock().unwrap(), 2);
    assert_eq!(vm.ask(CTX_CREATE, &[0, 4]), OK_NODATA);
    assert_eq!(vm.blob(1), OK_NODATA);
    assert_eq!(vm.ask(MAP_BLOB, &[1, 0, 0x4000, 0]), OK_MAP_INFO);
    vm.end().unwrap();
}
