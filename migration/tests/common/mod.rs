//! Real QEMUs for the tests of this crate, with a guest of 150 bytes.
#![allow(dead_code)]

use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hesper_migration::lines::ask;
use serde_json::{Value, json};

/// No figure: a machine that does much else is slow.
pub const SOON: Duration = Duration::from_secs(60);

/// First of the pages that the guest writes, and how many there are.
pub const FIRST: u64 = 16 << 20;
pub const PAGES: usize = 1024;
const PAGE: usize = 4096;
pub const RAM_MIB: u64 = 64;

/// A multiboot kernel, loaded at 1 MiB. For ever it checks that each of PAGES pages holds the
/// number of the last pass in its first word (if not, it sends ff ff ff ff to the serial port and
/// halts), writes the next number to the first and last word of each page in turn, and sends that
/// number, four bytes, little-endian. At 0x200 are the number of pages and a delay per page.
#[rustfmt::skip]
const GUEST: &[u8] = &[
    0x02, 0xb0, 0xad, 0x1b, 0x00, 0x00, 0x01, 0x00, 0xfe, 0x4f, 0x51, 0xe4, 0x00, 0x00, 0x10, 0x00,
    0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x10, 0x00,
    0x31, 0xdb, 0xbf, 0x00, 0x00, 0x00, 0x01, 0x8b, 0x0d, 0x00, 0x02, 0x10, 0x00, 0x39, 0x1f, 0x75,
    0x42, 0x81, 0xc7, 0x00, 0x10, 0x00, 0x00, 0x49, 0x75, 0xf3, 0x43, 0xbf, 0x00, 0x00, 0x00, 0x01,
    0x8b, 0x0d, 0x00, 0x02, 0x10, 0x00, 0x89, 0x1f, 0x89, 0x9f, 0xfc, 0x0f, 0x00, 0x00, 0x81, 0xc7,
    0x00, 0x10, 0x00, 0x00, 0xa1, 0x04, 0x02, 0x10, 0x00, 0x48, 0x75, 0xfd, 0x49, 0x75, 0xe7, 0x66,
    0xba, 0xf8, 0x03, 0xb9, 0x04, 0x00, 0x00, 0x00, 0x89, 0xd8, 0xee, 0xc1, 0xe8, 0x08, 0x49, 0x75,
    0xf9, 0xeb, 0xaf, 0x66, 0xba, 0xf8, 0x03, 0xb0, 0xff, 0xb9, 0x04, 0x00, 0x00, 0x00, 0xee, 0x49,
    0x75, 0xfc, 0xf4, 0xeb, 0xfd,
];

fn guest(pages: u32, delay: u32) -> Vec<u8> {
    let mut bytes = GUEST.to_vec();
    bytes.resize(0x200, 0);
    bytes.extend_from_slice(&pages.to_le_bytes());
    bytes.extend_from_slice(&delay.to_le_bytes());
    bytes
}

/// The newest QEMU of ours, or the one in HESPER_QEMU; none is a reason to skip.
pub fn qemu() -> Option<(PathBuf, PathBuf)> {
    let program = std::env::var_os("HESPER_QEMU")
        .map(PathBuf::from)
        .or_else(|| {
            let cache = PathBuf::from(std::env::var_os("HOME")?).join(".cache/hesper");
            let built = std::fs::read_dir(cache).ok()?.flatten();
            built
                .map(|entry| entry.path().join("bin/qemu-system-x86_64"))
                .filter(|path| path.exists())
                .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
        })?;
    let firmware = program.parent()?.parent()?.join("share/qemu");
    Some((program, firmware))
}

/// Says why a test is skipped.
pub fn skipped() {
    eprintln!("SKIPPED: no QEMU with the COLO fix: build one, or set HESPER_QEMU");
}

/// A child that is killed when the test ends.
pub struct Process(pub Child);

impl Process {
    pub fn hesper(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hesper"));
        command.args(arguments).stdout(Stdio::null());
        if std::env::var_os("HESPER_TEST_LOG").is_none() {
            command.stderr(Stdio::null());
        }
        Self(command.spawn().expect("start hesper"))
    }

    pub fn kill(&mut self) {
        self.0.kill().expect("kill -9");
        self.0.wait().expect("reap");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until it is true.
pub fn until(what: &str, mut check: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !check() {
        assert!(Instant::now() < end, "not within {SOON:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn status(control: &Path) -> Value {
    ask(control, &json!({"id": 1, "command": "status"}), SOON).expect("status")
}

pub fn listening(path: &Path) {
    until(&format!("{} listens", path.display()), || {
        UnixStream::connect(path).is_ok()
    });
}

/// One side's folder, with the RAM file in memory.
pub struct Side {
    pub dir: tempfile::TempDir,
    pub ram: PathBuf,
    pub serial: PathBuf,
}

impl Side {
    pub fn new() -> Self {
        // RAM files belong into memory, as in production.
        let dir = tempfile::Builder::new()
            .prefix("hesper-test-")
            .tempdir_in("/dev/shm")
            .expect("folder in /dev/shm");
        Self {
            ram: dir.path().join("ram"),
            serial: dir.path().join("serial"),
            dir,
        }
    }

    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// QEMU's command line with `sockets` QMP sockets qmp0, qmp1, …
    pub fn argv(&self, sockets: usize, incoming: bool) -> Vec<String> {
        let (program, firmware) = qemu().expect("checked before");
        let kernel = self.dir.path().join("guest");
        std::fs::write(&kernel, guest(PAGES as u32, 400)).expect("write the guest");
        let ram = self.ram.display();
        let mut argv = vec![
            program.display().to_string(),
            "-L".into(),
            firmware.display().to_string(),
            "-accel".into(),
            "tcg".into(),
            "-M".into(),
            "q35,memory-backend=mem".into(),
            "-object".into(),
            format!("memory-backend-file,id=mem,size={RAM_MIB}M,mem-path={ram},share=on"),
            "-m".into(),
            RAM_MIB.to_string(),
            "-nodefaults".into(),
            "-display".into(),
            "none".into(),
            "-no-reboot".into(),
            "-serial".into(),
            format!("file:{}", self.serial.display()),
            "-kernel".into(),
            kernel.display().to_string(),
        ];
        for number in 0..sockets {
            argv.push("-qmp".into());
            let path = self.path(&format!("qmp{number}"));
            argv.push(format!("unix:{path},server=on,wait=off"));
        }
        if incoming {
            argv.extend(["-incoming".into(), "defer".into()]);
        }
        argv
    }

    /// Numbers that the guest has sent. A checkpoint can fall between two bytes of one; then the
    /// file begins with the rest of it, which is left out.
    pub fn passes(&self) -> Vec<u32> {
        let bytes = std::fs::read(&self.serial).unwrap_or_default();
        let words = |skip: usize| -> Vec<u32> {
            let words = bytes.get(skip..).unwrap_or_default().chunks_exact(4);
            words
                .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                .collect()
        };
        let in_turn = |list: &Vec<u32>| {
            list.windows(2)
                .all(|two| two[0].checked_add(1) == Some(two[1]))
        };
        (0..4).map(words).find(in_turn).unwrap_or_else(|| words(0))
    }

    /// The guest's pages' first and last words, in order.
    pub fn words(&self) -> Vec<(u32, u32)> {
        let mut bytes = vec![0; PAGES * PAGE];
        let ram = std::fs::File::open(&self.ram).expect("RAM file");
        ram.read_exact_at(&mut bytes, FIRST).expect("its pages");
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        (0..PAGES)
            .map(|page| (word(page * PAGE), word(page * PAGE + PAGE - 4)))
            .collect()
    }
}

/// Asserts that the words are those of one instant: a pass that has come so far, the one before in
/// the rest, and at most one page between its two writes.
pub fn assert_one_instant(words: &[(u32, u32)]) {
    let newest = words[0].0;
    let mut split = 0;
    let mut last = newest;
    for &(first, end) in words {
        assert!(first == last || first + 1 == last, "{first} after {last}");
        last = first;
        assert!(first + 1 >= newest, "a page is two passes behind");
        split += usize::from(first != end);
    }
    assert!(split <= 1, "{split} pages are half written");
}
