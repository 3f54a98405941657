//! `kvm`: a bare-metal guest (`tests/bare-metal`) drives the device: its queues, blobs in the window, a Venus ring. Under
//! KVM each map is a real memory slot; some hosts' KVM cannot run a stock kernel, but runs this. The same cases run under
//! TCG, whose TLB has its own ideas of a memory map that changes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::world::with_logs;
use super::{Context, Outcome, Suite};
use crate::error::{Error, FileContext, Result};
use crate::guest::Guest;
use crate::vm::{Accelerator, Backend, Config, Vm};
use crate::{cache, prebuilt, process, qemu};

/// For the guest to print its first line: it has next to nothing to do before, but the firmware has, and where KVM emulates
/// real mode that takes 2 s of an idle CPU.
pub(super) const UP_LIMIT: Duration = Duration::from_secs(40);
/// For one case; the guest's own limits for an answer of the device are shorter.
const CASE_LIMIT: Duration = Duration::from_secs(120);
const MIGRATION_LIMIT: Duration = Duration::from_secs(60);
/// For a flushed picture to be on the screen.
const PICTURE_LIMIT: Duration = Duration::from_secs(5);

/// QEMU's machines: PCI Express, and PCI.
const BOARDS: [&str; 2] = ["q35", "pc"];
const WINDOW_LEN: u64 = 64 << 20;
const ARENA_MIB: u32 = 128;
const PAGE: usize = 4096;

/// What makes C code stand alone: no library, no position independence, no registers but the general ones (nobody enables
/// the others), nothing below the stack (exceptions push there).
const GCC_OPTIONS: [&str; 20] = [
    "-std=gnu11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-m64",
    "-march=x86-64",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-pic",
    "-no-pie",
    "-mgeneral-regs-only",
    "-mno-red-zone",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fcf-protection=none",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
    "-Wl,-z,noexecstack",
];

pub struct Kvm;

impl Suite for Kvm {
    fn name(&self) -> &'static str {
        "kvm"
    }

    fn about(&self) -> &'static str {
        "a bare-metal guest drives the device under KVM"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let machine = Machine::new()?;
        let mut kvm = None;
        context.case("KVM runs the guest", || match machine.start_kvm()? {
            Ok(vm) => {
                kvm = Some(vm);
                Ok(Outcome::Passed)
            }
            Err(why) => Ok(Outcome::Skipped(format!("{why}; TCG does"))),
        });
        // Each has faults of its own: TCG's TLB knows memory sections by number.
        let accelerators = match &kvm {
            Some(_) => &[Accelerator::Kvm, Accelerator::Tcg][..],
            None => &[Accelerator::Tcg],
        };
        for accelerator in accelerators {
            for board in BOARDS {
                let vm = match kvm.take() {
                    Some(vm) => vm,
                    None => Vm::start(&machine.config(board, *accelerator, "source")?)?,
                };
                let mut session = Session {
                    machine: &machine,
                    board,
                    accelerator: *accelerator,
                    vm,
                    answers: None,
                    told: 0,
                };
                let outcome = session.follow(context);
                with_logs(outcome, &[session.vm.dir()])?;
            }
        }
        Ok(())
    }
}

fn name_of(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "tcg",
    }
}

/// Programs, the guest, and a folder for VMs.
struct Machine {
    qemu: PathBuf,
    hesperd: PathBuf,
    guest: PathBuf,
    dir: tempfile::TempDir,
}

impl Machine {
    /// Builds what is missing.
    fn new() -> Result<Machine> {
        let dir = tempfile::Builder::new()
            .prefix("hesper-")
            .tempdir()
            .at("create a folder in", std::env::temp_dir())?;
        let guest = dir.path().join("guest.elf");
        build_guest(&guest)?;
        let mut build = Command::new(env!("CARGO"));
        build.args(cache::BUILD).current_dir(cache::repository());
        process::logged(&mut build, &dir.path().join("build.log"), |_| {})?;
        Ok(Machine {
            qemu: qemu::build(false)?.system(),
            hesperd: cache::repository().join("target/debug/hesperd"),
            guest,
            dir,
        })
    }

    fn config(&self, board: &str, accelerator: Accelerator, name: &str) -> Result<Config> {
        let accelerator_name = name_of(accelerator);
        let dir = self
            .dir
            .path()
            .join(format!("{board}-{accelerator_name}-{name}"));
        fs::create_dir(&dir).at("create", &dir)?;
        let mut backend = Backend::hesperd(&self.hesperd, &[]);
        backend
            .environment
            .push(("VK_DRIVER_FILES".into(), prebuilt::driver().into()));
        let guest = Guest {
            kernel: self.guest.clone(),
            initrd: PathBuf::new(),
        };
        let arena = dir.join("arena");
        let mut config = Config::new(&self.qemu, guest, dir);
        config.backend = Some(backend);
        config.accelerator = accelerator;
        config.window = WINDOW_LEN.to_string();
        // The guest needs less memory, but QEMU 10.0 takes a block's own offsets for RAM addresses when it syncs dirty bits
        // under TCG, and aborts if a block is longer than the first one.
        config.arena = format!("{ARENA_MIB}M");
        config.memory_mib = ARENA_MIB;
        config.arena_path = Some(arena);
        // After the machine that is named anyway: the last one counts.
        config.arguments = vec!["-machine".into(), board.into()];
        Ok(config)
    }

    /// Starts the first board under KVM and waits for the guest's first line, before which it does not touch the device;
    /// says why where KVM can't run that much.
    fn start_kvm(&self) -> Result<std::result::Result<Vm, String>> {
        let path = "/dev/kvm";
        if let Err(error) = File::options().read(true).write(true).open(path) {
            return Ok(Err(format!("{path}: {error}")));
        }
        let config = self.config(BOARDS[0], Accelerator::Kvm, "source")?;
        // QEMU ends at once where the kernel refuses one of the CPU's registers. What is wrong with QEMU itself shows
        // under TCG.
        let up = Vm::start(&config).and_then(|mut vm| {
            vm.wait_console("UP\n", UP_LIMIT)?;
            Ok(vm)
        });
        Ok(up.map_err(|error| {
            let log = process::tail(&config.dir.join("qemu.log"));
            let said = log.lines().find(|line| line.contains("error"));
            format!("{error}; {}", said.unwrap_or("QEMU says nothing"))
        }))
    }
}

/// Compiles the guest.
pub(super) fn build_guest(to: &Path) -> Result<()> {
    let from = cache::repository().join("tests/bare-metal");
    let mut sources = Vec::new();
    for entry in fs::read_dir(&from).at("read", &from)? {
        let path = entry.at("read", &from)?.path();
        if path.extension().is_some_and(|e| e == "c" || e == "S") {
            sources.push(path);
        }
    }
    sources.sort();
    let mut gcc = Command::new("gcc");
    gcc.args(GCC_OPTIONS)
        .arg(format!("-Wl,-T,{}", from.join("link.ld").display()))
        .arg("-o")
        .arg(to)
        .args(sources);
    process::output(&mut gcc).map(drop)
}

/// A line of the guest's.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Passed(&'a str),
    Failed(&'a str, &'a str),
    /// Something for the host, with two numbers.
    Ask(&'a str, u64, u64),
    /// The guest can't go on.
    Stop(&'a str),
    /// Cases that passed and failed.
    End(u64, u64),
    Other(&'a str),
}

impl<'a> Line<'a> {
    pub(super) fn parse(line: &'a str) -> Line<'a> {
        let numbers = |words: &[&str]| match words {
            [a, b] => Some((a.parse().ok()?, b.parse().ok()?)),
            _ => None,
        };
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        match (kind, words.as_slice()) {
            ("PASS", _) => Line::Passed(rest),
            ("FAIL", _) => {
                let (name, why) = rest.split_once(": ").unwrap_or((rest, "no reason given"));
                Line::Failed(name, why)
            }
            ("STOP", _) => Line::Stop(rest),
            ("ASK", [what, values @ ..]) => match numbers(values) {
                Some((a, b)) => Line::Ask(what, a, b),
                None => Line::Other(line),
            },
            ("END", values) => match numbers(values) {
                Some((passed, failed)) => Line::End(passed, failed),
                None => Line::Other(line),
            },
            _ => Line::Other(line),
        }
    }
}

/// A guest that is followed from line to line, from VM to VM.
struct Session<'a> {
    machine: &'a Machine,
    board: &'static str,
    accelerator: Accelerator,
    vm: Vm,
    /// Our end of the guest's second serial port.
    answers: Option<UnixStream>,
    /// Bytes of the console that were worked off.
    told: usize,
}

impl Session<'_> {
    /// Records each case that the guest tells of, and does what it asks for, until its last line.
    fn follow(&mut self, context: &mut Context) -> Result<()> {
        self.check_accelerator()?;
        let mut counts = (0, 0);
        let mut started = Instant::now();
        // Why the host said no: the guest's reason is only that it did.
        let mut refused = None;
        loop {
            let Some(line) = self.next_line(started)? else {
                continue;
            };
            let seconds = started.elapsed().as_secs_f64();
            match Line::parse(&line) {
                Line::Passed(name) => {
                    context.record(&self.title(name), Outcome::Passed, seconds);
                    counts.0 += 1;
                    started = Instant::now();
                }
                Line::Failed(name, why) => {
                    let why = match refused.take() {
                        Some(refused) => format!("{why}: {refused}"),
                        None => why.to_owned(),
                    };
                    context.record(&self.title(name), Outcome::Failed(why), seconds);
                    counts.1 += 1;
                    started = Instant::now();
                }
                Line::Ask(what, a, b) => {
                    refused = self.answer(what, a, b).err();
                    let byte = if refused.is_none() { b"y" } else { b"n" };
                    if let Err(error) = self.send(byte) {
                        return Err(refused.unwrap_or(error));
                    }
                }
                Line::Stop(why) => return Err(Error::Guest(why.to_owned())),
                Line::End(passed, failed) => {
                    return if (passed, failed) == counts {
                        Ok(())
                    } else {
                        Err(Error::Guest(format!(
                            "Told of {passed} passed and {failed} failed cases, seen were {counts:?}"
                        )))
                    };
                }
                Line::Other(line) => println!("kvm: {}", self.title(line)),
            }
        }
    }

    /// QEMU is asked, for it may have chosen for itself.
    fn check_accelerator(&mut self) -> Result<()> {
        let answer = self.vm.qmp().execute("query-kvm", json!({}))?;
        if answer["enabled"] == (self.accelerator == Accelerator::Kvm) {
            return Ok(());
        }
        Err(Error::Guest(format!(
            "{} is to run it, but query-kvm says {answer}",
            name_of(self.accelerator)
        )))
    }

    /// A case's name with what it ran on.
    fn title(&self, name: &str) -> String {
        format!("{} {}: {name}", self.board, name_of(self.accelerator))
    }

    /// The next whole line, if there is one.
    fn next_line(&mut self, started: Instant) -> Result<Option<String>> {
        let console = self.vm.console()?;
        let rest = console.get(self.told..).unwrap_or_default();
        if let Some((line, _)) = rest.split_once('\n') {
            self.told += line.len() + 1;
            return Ok(Some(line.trim_end().to_owned()));
        }
        if started.elapsed() > CASE_LIMIT {
            return Err(Error::Deadline {
                what: format!("The next case after {:?}", console.lines().last()),
                limit: CASE_LIMIT,
            });
        }
        self.vm.check_running()?;
        std::thread::sleep(Duration::from_millis(2));
        Ok(None)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        let path = self.vm.dir().join("commands.sock");
        let stream = match &mut self.answers {
            Some(stream) => stream,
            none => none.insert(UnixStream::connect(&path).at("connect to", &path)?),
        };
        stream.write_all(bytes).at("write to", &path)
    }

    fn answer(&mut self, what: &str, a: u64, b: u64) -> Result<()> {
        let seed = |value: u64| {
            u32::try_from(value).map_err(|_| Error::Guest(format!("{value} as a pattern's seed")))
        };
        match what {
            "arena" => replace_in_arena(&self.vm.dir().join("arena"), seed(a)?, b),
            "picture" => self.picture(a, seed(b)?),
            "migrate" => self.migrate(),
            _ => Err(Error::Guest(format!("Asks for {what:?}"))),
        }
    }

    /// Waits for the pattern of a seed to be what the console shows.
    fn picture(&mut self, width: u64, seed: u32) -> Result<()> {
        let path = self.vm.dir().join("screen.ppm");
        let started = Instant::now();
        loop {
            self.vm
                .qmp()
                .execute("screendump", json!({"filename": path}))?;
            let bytes = fs::read(&path).at("read", &path)?;
            match check_picture(&bytes, width, seed) {
                Err(why) if started.elapsed() > PICTURE_LIMIT => return Err(Error::Guest(why)),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Moves the guest, which goes on writing, into another QEMU with another hesperd.
    fn migrate(&mut self) -> Result<()> {
        let mut config = self
            .machine
            .config(self.board, self.accelerator, "destination")?;
        config.incoming = Some("defer".into());
        let mut destination = Vm::start(&config)?;
        self.vm.migrate_to(&mut destination, MIGRATION_LIMIT)?;
        self.vm.quit(MIGRATION_LIMIT)?;
        self.vm = destination;
        self.answers = None;
        self.told = 0;
        Ok(())
    }
}

/// Word `i` of a seed's pattern; the guest's `pattern()`.
fn pattern(seed: u32, i: u32) -> u32 {
    i.wrapping_add(1).wrapping_mul(0x9e37_79b1) ^ seed.wrapping_mul(0x85eb_ca6b)
}

fn pattern_bytes(seed: u32, len: usize) -> Vec<u8> {
    (0..)
        .map(|i| pattern(seed, i))
        .take(len / 4)
        .flat_map(u32::to_le_bytes)
        .collect()
}

/// Finds the one place in the window's part of the arena that holds `len` bytes of a seed's pattern, and writes the
/// pattern of the inverted seed there.
fn replace_in_arena(arena: &Path, seed: u32, len: u64) -> Result<()> {
    let file = File::options()
        .read(true)
        .write(true)
        .open(arena)
        .at("open", arena)?;
    let len = usize::try_from(len.min(WINDOW_LEN)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; WINDOW_LEN as usize];
    file.read_exact_at(&mut bytes, 0).at("read", arena)?;
    let wanted = pattern_bytes(seed, len);
    let places: Vec<usize> = (0..=bytes.len() - len)
        .step_by(PAGE)
        .filter(|at| bytes[*at..*at + len] == wanted)
        .collect();
    let [place] = places.as_slice() else {
        return Err(Error::Guest(format!(
            "What the guest wrote is in {} places of the arena",
            places.len()
        )));
    };
    file.write_all_at(&pattern_bytes(!seed, len), *place as u64)
        .at("write", arena)
}

/// Checks a PPM file against a seed's pattern, a word a pixel: blue, green, red, unused.
fn check_picture(ppm: &[u8], width: u64, seed: u32) -> std::result::Result<(), String> {
    let header = format!("P6\n{width} ");
    let body = ppm
        .strip_prefix(header.as_bytes())
        .and_then(|rest| rest.windows(5).position(|w| w == b"\n255\n"))
        .map(|at| &ppm[header.len() + at + 5..])
        .filter(|body| !body.is_empty())
        .ok_or_else(|| format!("The picture is not {width} pixels wide"))?;
    for (i, found) in (0..).zip(body.chunks(3)) {
        let [blue, green, red, _] = pattern(seed, i).to_le_bytes();
        if found != [red, green, blue] {
            return Err(format!(
                "Pixel {i} is {found:02x?}, not {:02x?}",
                [red, green, blue]
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_of_each_kind_is_parsed() {
        assert_eq!(Line::parse("PASS a b"), Line::Passed("a b"));
        assert_eq!(Line::parse("FAIL a b: c: d"), Line::Failed("a b", "c: d"));
        assert_eq!(
            Line::parse("ASK arena 10 4096"),
            Line::Ask("arena", 10, 4096)
        );
        assert_eq!(Line::parse("STOP it"), Line::Stop("it"));
        assert_eq!(Line::parse("END 3 1"), Line::End(3, 1));
        assert_eq!(Line::parse("END 3"), Line::Other("END 3"));
        assert_eq!(Line::parse("ASK x y 1"), Line::Other("ASK x y 1"));
    }

    #[test]
    fn replace_in_arena_pattern_in_one_place_is_replaced_there_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("arena");
        let file = File::create(&path).unwrap();
        file.set_len(WINDOW_LEN).unwrap();
        assert!(replace_in_arena(&path, 7, 8192).is_err());
        file.write_all_at(&pattern_bytes(7, 8192), 12288).unwrap();

        replace_in_arena(&path, 7, 8192).unwrap();

        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[12288..20480], pattern_bytes(!7, 8192));
        assert!(bytes[20480..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn check_picture_other_pixel_or_size_is_told() {
        let mut ppm = b"P6\n2 1\n255\n".to_vec();
        for i in 0..2 {
            let [blue, green, red, _] = pattern(5, i).to_le_bytes();
            ppm.extend([red, green, blue]);
        }
        assert_eq!(check_picture(&ppm, 2, 5), Ok(()));
        assert!(check_picture(&ppm, 3, 5).is_err());
        assert!(check_picture(&ppm, 2, 6).unwrap_err().contains("Pixel 0"));
        assert!(check_picture(b"", 2, 5).is_err());
    }

    #[test]
    fn build_guest_result_is_an_executable_with_a_pvh_entry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("guest.elf");

        build_guest(&path).unwrap();

        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes[..4], *b"\x7fELF");
        let note = b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0";
        assert!(bytes.windows(note.len()).any(|window| window == note));
    }
}
