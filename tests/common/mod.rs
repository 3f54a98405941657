//! A hesperd of the tests, and clients that speak raw vtest: words on a socket, without Mesa.

#![allow(
    dead_code,
    reason = "each test binary uses its own share of these helpers"
)]

use std::fs::File;
use std::io::{IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hesper_memory::Mapping;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, UnixAddr, recvmsg};

const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.json";
const LIMIT: Duration = Duration::from_secs(60);

/// What hesperd holds.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub descriptors: usize,
    pub resident: u64,
}

/// A running hesperd; killed and reaped when dropped.
pub struct Hesperd {
    child: Child,
    dir: tempfile::TempDir,
    /// Its threads while nobody is connected.
    threads: usize,
}

impl Hesperd {
    /// Starts it and waits until it serves and has its spare worker; `None`, told, where there is no lavapipe.
    pub fn start(arguments: &[&str]) -> Option<Self> {
        if !Path::new(LAVAPIPE).exists() {
            println!("SKIPPED: no {LAVAPIPE}");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let log = File::create(dir.path().join("log")).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_hesperd"))
            .arg("--vtest-socket")
            .arg(dir.path().join("socket"))
            .args(arguments)
            .env("VK_DRIVER_FILES", LAVAPIPE)
            .env("HESPER_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut hesperd = Self {
            child,
            dir,
            threads: 0,
        };
        let started = Instant::now();
        while UnixStream::connect(hesperd.socket()).is_err() {
            assert!(started.elapsed() < LIMIT, "no hesperd: {}", hesperd.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        // The connection above was a client for a moment: the least of what is seen is what stays.
        hesperd.threads = (0..25)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(20));
                let tasks = format!("/proc/{}/task", hesperd.child.id());
                std::fs::read_dir(tasks).expect("hesperd lives").count()
            })
            .min()
            .unwrap_or(0);
        Some(hesperd)
    }

    /// Where it serves.
    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Warnings and errors so far.
    pub fn warnings(&self) -> usize {
        self.logged("")
    }

    /// Warnings and errors so far with `text` in them.
    pub fn logged(&self, text: &str) -> usize {
        let log = self.log();
        log.lines()
            .filter(|line| line.contains("WARN") || line.contains("ERROR"))
            .filter(|line| line.contains(text))
            .count()
    }

    /// A client that has said nothing yet.
    pub fn client(&self) -> Client {
        let stream = UnixStream::connect(self.socket()).expect("hesperd serves");
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        Client {
            stream,
            next_ring: 1,
        }
    }

    /// What it holds now.
    pub fn usage(&self) -> Usage {
        let proc = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = std::fs::read_to_string(proc.join("status")).expect("hesperd lives");
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        Usage {
            descriptors: std::fs::read_dir(proc.join("fd")).unwrap().count(),
            resident: resident.unwrap() * 1024,
        }
    }

    /// What it holds once all clients are gone and the spare worker is there.
    pub fn settled(&self) -> Usage {
        let started = Instant::now();
        let mut calm = 0;
        loop {
            let tasks = format!("/proc/{}/task", self.child.id());
            let tasks: Vec<_> = std::fs::read_dir(tasks).unwrap().flatten().collect();
            let children: usize = tasks
                .iter()
                .map(|task| {
                    let list = std::fs::read_to_string(task.path().join("children"));
                    list.unwrap_or_default().split_whitespace().count()
                })
                .sum();
            calm = if tasks.len() == self.threads && children == 1 {
                calm + 1
            } else {
                0
            };
            if calm == 10 {
                return self.usage();
            }
            assert!(
                started.elapsed() < LIMIT,
                "{} threads and {children} workers are left: {}",
                tasks.len(),
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sets how many descriptors it may open.
    pub fn limit_descriptors(&self, soft: u64) {
        let done = Command::new("prlimit")
            .arg(format!("--pid={}", self.child.id()))
            .arg(format!("--nofile={soft}:"))
            .status();
        assert!(done.expect("prlimit (package util-linux)").success());
    }
}

impl Drop for Hesperd {
    fn drop(&mut self) {
        // Both fail only for a process that is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- hesperd\n{}", self.log());
        }
    }
}

/// A connection.
pub struct Client {
    stream: UnixStream,
    next_ring: u64,
}

impl Client {
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.stream.set_read_timeout(Some(timeout)).unwrap();
    }

    /// Sends bytes; the other end may be gone already.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends words as they are.
    pub fn send(&mut self, words: &[u32]) {
        self.try_send(words);
    }

    fn try_send(&mut self, words: &[u32]) -> bool {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.send_bytes(&bytes)
    }

    /// Sends a request.
    pub fn request(&mut self, command: u32, body: &[u32]) {
        self.try_request(command, body);
    }

    fn try_request(&mut self, command: u32, body: &[u32]) -> bool {
        let words = [&[body.len() as u32, command], body].concat();
        self.try_send(&words)
    }

    fn try_reply(&mut self) -> Option<Vec<u32>> {
        let mut header = [0; 8];
        self.stream.read_exact(&mut header).ok()?;
        let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let mut body = vec![0; len as usize * 4];
        self.stream.read_exact(&mut body).ok()?;
        let words = body
            .chunks_exact(4)
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        Some(words.collect())
    }

    fn reply(&mut self) -> Vec<u32> {
        self.try_reply().expect("a reply")
    }

    fn try_fd(&mut self) -> Option<OwnedFd> {
        let mut byte = [0];
        let mut iov = [IoSliceMut::new(&mut byte)];
        let mut space = nix::cmsg_space!([RawFd; 1]);
        let message = recvmsg::<UnixAddr>(
            self.stream.as_raw_fd(),
            &mut iov,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        )
        .ok()?;
        message.cmsgs().ok()?.find_map(|part| match part {
            ControlMessageOwned::ScmRights(fds) => {
                // SAFETY: the kernel just made the descriptor for us; nobody else owns it.
                fds.first().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) })
            }
            _ => None,
        })
    }

    /// Whether the other end closes the connection; whatever it says before is skipped.
    pub fn is_closed(&mut self) -> bool {
        let mut skipped = [0; 4096];
        loop {
            match self.stream.read(&mut skipped) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }

    /// Whether the server answers at all.
    pub fn answers(&mut self) -> bool {
        self.try_request(11, &[3]) && self.try_reply().is_some()
    }

    /// Asks for a Venus context.
    pub fn context_request(&mut self) {
        self.request(17, &[4]);
    }

    /// The same client, once it has a context.
    pub fn context(mut self) -> Self {
        self.context_request();
        self
    }

    /// Asks for a blob of the host.
    pub fn blob_request(&mut self, blob_id: u64, size: u64) {
        let long = |value: u64| [value as u32, (value >> 32) as u32];
        let [low, high] = long(size);
        let [id_low, id_high] = long(blob_id);
        self.request(18, &[2, 0, low, high, id_low, id_high]);
    }

    /// Makes a blob: its resource id and memory.
    pub fn blob(&mut self, blob_id: u64, size: u64) -> (u32, Mapping) {
        self.blob_request(blob_id, size);
        let id = self.reply()[0];
        let fd = self.try_fd().expect("a descriptor");
        (id, Mapping::new(Arc::new(fd.into()), 0, size).unwrap())
    }

    /// Makes a blob and closes its descriptor; false when the server refuses.
    pub fn try_blob(&mut self, size: u64) -> bool {
        self.blob_request(0, size);
        self.try_reply().is_some() && self.try_fd().is_some()
    }

    /// Submits words as commands of the context.
    pub fn submit(&mut self, commands: &[u32]) {
        self.try_submit(commands);
    }

    /// As [`Client::submit`]; false when the server is gone.
    pub fn try_submit(&mut self, commands: &[u32]) -> bool {
        let head = [1, 0, 7, commands.len() as u32, 0, 0, 0];
        self.try_request(24, &[&head, commands].concat())
    }

    /// Makes a sync.
    pub fn sync(&mut self, value: u64) -> u32 {
        self.request(19, &[value as u32, (value >> 32) as u32]);
        self.reply()[0]
    }

    /// A descriptor that becomes readable once all syncs have reached their values.
    pub fn wait(&mut self, wanted: &[(u32, u64)]) -> OwnedFd {
        let mut body = vec![0, u32::MAX];
        for (sync, value) in wanted {
            body.extend([*sync, *value as u32, (value >> 32) as u32]);
        }
        self.request(23, &body);
        self.reply();
        self.try_fd().expect("a descriptor")
    }

    /// Checks that the context's worker serves: a fence goes through it, and a blob.
    pub fn works(&mut self) {
        self.blob(0, 4096);
        self.works_without_descriptors();
    }

    /// As [`Client::works`], by a fence alone.
    pub fn works_without_descriptors(&mut self) {
        let sync = self.sync(0);
        self.request(24, &[1, 0, 7, 0, 7, 1, 0, sync, 9, 0]);
        let started = Instant::now();
        loop {
            self.request(21, &[sync]);
            if self.reply()[0] == 9 {
                break;
            }
            assert!(started.elapsed() < LIMIT, "no fence");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.request(20, &[sync]);
    }

    /// A context with a ring that is served.
    pub fn ring(&mut self) -> (Ring, Mapping) {
        self.context_request();
        let (resource, memory) = self.blob(0, 8192);
        let mut ring = Ring::of(resource);
        ring.id = self.next_ring;
        self.next_ring += 1;
        self.submit(&ring.create());
        // Served once a fence behind the creation has come.
        self.works_without_descriptors();
        (ring, memory)
    }
}

/// A ring's creation, field by field as it goes over the wire.
#[derive(Clone, Debug)]
pub struct Ring {
    pub id: u64,
    pub resource: u32,
    pub offset: u64,
    pub size: u64,
    pub head: u64,
    pub tail: u64,
    pub status: u64,
    pub buffer: u64,
    pub buffer_size: u64,
    pub extra: u64,
    pub extra_size: u64,
}

impl Ring {
    pub const TAIL: u64 = 64;
    pub const BUFFER: u64 = 192;

    /// One that is as it should be.
    pub fn of(resource: u32) -> Self {
        Self {
            id: 1,
            resource,
            offset: 0,
            size: 8192,
            head: 0,
            tail: Self::TAIL,
            status: 128,
            buffer: Self::BUFFER,
            buffer_size: 4096,
            extra: Self::BUFFER + 4096,
            extra_size: 64,
        }
    }

    /// vkCreateRingMESA with an idle timeout of a second.
    pub fn create(&self) -> Vec<u32> {
        let mut words = vec![188, 0];
        let long = |value: u64, words: &mut Vec<u32>| {
            words.extend([value as u32, (value >> 32) as u32]);
        };
        long(self.id, &mut words);
        long(1, &mut words);
        words.push(1_000_384_000);
        long(0, &mut words);
        words.extend([0, self.resource]);
        for value in [
            self.offset,
            self.size,
            1_000_000_000,
            self.head,
            self.tail,
            self.status,
            self.buffer,
            self.buffer_size,
            self.extra,
            self.extra_size,
        ] {
            long(value, &mut words);
        }
        words
    }
}

/// vkExecuteCommandStreamsMESA of (resource, offset, size) each.
pub fn execute_streams(streams: &[(u32, u64, u64)]) -> Vec<u32> {
    let count = streams.len() as u32;
    let mut words = vec![180, 0, count, count, 0];
    for (resource, offset, size) in streams {
        words.push(*resource);
        for value in [offset, size] {
            words.extend([*value as u32, (*value >> 32) as u32]);
        }
    }
    // No reply positions, no dependencies, no flags.
    words.extend([0, 0, 0, 0, 0, 0]);
    words
}

/// vkSetReplyCommandStreamMESA: from the start of a resource on.
pub fn set_reply_stream(resource: u32, size: u32) -> Vec<u32> {
    vec![178, 0, 1, 0, resource, 0, 0, size, 0]
}

/// Queues a command in a ring of [`Ring::of`]; returns its new tail.
pub fn queue(memory: &Mapping, tail: u32, command: &[u32]) -> u32 {
    let bytes: Vec<u8> = command.iter().flat_map(|word| word.to_le_bytes()).collect();
    let start = u64::from(tail) % 4096;
    let (first, rest) = bytes.split_at(bytes.len().min(4096 - start as usize));
    memory.write(Ring::BUFFER + start, first).unwrap();
    memory.write(Ring::BUFFER, rest).unwrap();
    let tail = tail.wrapping_add(bytes.len() as u32);
    store(memory, Ring::TAIL, tail);
    tail
}

/// Whether the worker takes everything up to `tail` off a ring of [`Ring::of`].
pub fn reaches(memory: &Mapping, tail: u32) -> bool {
    let started = Instant::now();
    while memory.atomic_u32(0).unwrap().load(Ordering::Acquire) != tail {
        if started.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}

/// vkWaitRingSeqnoMESA.
pub fn wait_ring_seqno(ring: u64, seqno: u64) -> Vec<u32> {
    let mut words = vec![253, 0];
    for value in [ring, seqno] {
        words.extend([value as u32, (value >> 32) as u32]);
    }
    words
}

/// Writes a word that the other side polls.
pub fn store(memory: &Mapping, offset: u64, value: u32) {
    let word = memory.atomic_u32(offset).unwrap();
    word.store(value, Ordering::Release);
}

/// Whether a descriptor becomes readable in time.
pub fn becomes_readable(fd: &OwnedFd, limit: Duration) -> bool {
    let mut polled = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    let limit = PollTimeout::try_from(limit).unwrap();
    matches!(poll(&mut polled, limit), Ok(1))
        && polled[0].revents().unwrap().contains(PollFlags::POLLIN)
}

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }
}
