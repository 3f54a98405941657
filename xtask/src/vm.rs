//! A virtual machine for the suites: the back end, QEMU, its monitor, and a way to run commands in the guest.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::error::{Error, FileContext, Result};
use crate::guest::Guest;
use crate::process::Process;
use crate::qmp::Qmp;
use crate::root::Root;

/// How long the back end may take to listen, and QEMU to answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long a guest may take to boot: 6 s alone, but machines are shared.
pub const BOOT_LIMIT: Duration = Duration::from_secs(120);
/// Our device's name in QEMU.
pub const DEVICE_ID: &str = "vgpu";
/// The most that a guest's command may print, in bytes.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// What runs the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accelerator {
    /// QEMU's own translator: slow, works everywhere.
    #[default]
    Tcg,
    /// The host's CPU. Some nested hosts cannot run a stock kernel with it.
    Kvm,
}

/// Where the guest's memory lives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Memory {
    /// An anonymous file.
    #[default]
    Anonymous,
    /// A named file, which a standby fills beforehand.
    File(PathBuf),
}

/// The vhost-user back end that goes with a VM.
#[derive(Debug, Clone)]
pub struct Backend {
    pub program: PathBuf,
    /// `{socket}` and `{window}` stand for the paths of the two sockets that it is to listen on.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
}

impl Backend {
    /// `hesperd` with its sockets and these arguments after them.
    pub fn hesperd(program: impl Into<PathBuf>, more: &[&str]) -> Backend {
        let own = ["--socket-path", "{socket}", "--window-socket", "{window}"];
        Backend {
            program: program.into(),
            arguments: own.iter().chain(more).map(OsString::from).collect(),
            environment: Vec::new(),
        }
    }

    /// The same for a QEMU that lacks our device: no window channel.
    pub fn without_window(mut self) -> Backend {
        self.arguments
            .retain(|argument| argument != "--window-socket" && argument != "{window}");
        self
    }
}

/// The GPU that the guest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Our device in QEMU.
    #[default]
    Hesper,
    /// QEMU's own generic vhost-user device (11.1 or newer), which knows nothing of us.
    Standard,
}

/// How to start a VM. The defaults are what most cases want.
#[derive(Debug, Clone)]
pub struct Config {
    pub qemu: PathBuf,
    /// The root folder that has `qemu`, if it is to run from one.
    pub root: Option<Root>,
    /// What QEMU's environment has more than ours.
    pub environment: Vec<(OsString, OsString)>,
    pub device: Device,
    pub guest: Guest,
    /// An existing folder for the VM's sockets and logs; short, because socket paths are limited to 107 bytes.
    pub dir: PathBuf,
    pub backend: Option<Backend>,
    pub accelerator: Accelerator,
    pub memory: Memory,
    pub memory_mib: u32,
    pub cpus: u32,
    /// QEMU's size of the window and of the whole arena, such as `256M`.
    pub window: String,
    pub arena: String,
    pub arena_path: Option<PathBuf>,
    /// More properties of our device, such as `quiesce-timeout-ms=1000`.
    pub device_properties: Vec<String>,
    /// More words on the kernel's command line.
    pub kernel_words: Vec<String>,
    /// QEMU looks for a back end that went away this often, in milliseconds.
    pub reconnect_ms: Option<u32>,
    /// A guest that reboots boots again, instead of ending QEMU.
    pub reboots: bool,
    /// The value of `-incoming`, for a migration's destination: `defer`.
    pub incoming: Option<String>,
    /// More arguments for QEMU.
    pub arguments: Vec<OsString>,
}

impl Config {
    /// The defaults: 512 MiB, one CPU, a window of 256 MiB in an arena of 512 MiB, TCG.
    pub fn new(qemu: impl Into<PathBuf>, guest: Guest, dir: impl Into<PathBuf>) -> Config {
        Config {
            qemu: qemu.into(),
            root: None,
            environment: Vec::new(),
            device: Device::default(),
            guest,
            dir: dir.into(),
            backend: None,
            accelerator: Accelerator::default(),
            memory: Memory::default(),
            memory_mib: 512,
            cpus: 1,
            window: "256M".into(),
            arena: "512M".into(),
            arena_path: None,
            device_properties: Vec::new(),
            kernel_words: Vec::new(),
            reconnect_ms: None,
            reboots: false,
            incoming: None,
            arguments: Vec::new(),
        }
    }

    fn socket(&self) -> PathBuf {
        self.dir.join("gpu.sock")
    }

    /// Where the back end listens for the window channel.
    pub fn window_socket(&self) -> PathBuf {
        self.dir.join("window.sock")
    }

    /// The back end's command line.
    pub fn backend_command(&self, backend: &Backend) -> Command {
        let mut command = Command::new(&backend.program);
        for argument in &backend.arguments {
            match argument.to_str() {
                Some("{socket}") => command.arg(self.socket()),
                Some("{window}") => command.arg(self.window_socket()),
                _ => command.arg(argument),
            };
        }
        command.envs(backend.environment.iter().map(|(k, v)| (k, v)));
        command
    }

    /// QEMU's command line.
    pub fn qemu_command(&self) -> Command {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let accelerator = match self.accelerator {
            Accelerator::Tcg => "tcg",
            Accelerator::Kvm => "kvm",
        };
        let size = self.memory_mib;
        let memory = match &self.memory {
            Memory::Anonymous => format!("memory-backend-memfd,id=ram,size={size}M,share=on"),
            Memory::File(file) => format!(
                "memory-backend-file,id=ram,size={size}M,share=on,mem-path={}",
                file.display()
            ),
        };

        let mut command = match &self.root {
            Some(root) => root.command(&self.qemu.to_string_lossy()),
            None => Command::new(&self.qemu),
        };
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        let mut add = |name: &str, value: String| {
            command.arg(name).arg(value);
        };
        add(
            "-machine",
            format!("q35,accel={accelerator},memory-backend=ram"),
        );
        if self.accelerator == Accelerator::Kvm {
            // Under some hypervisors the kernel tells of this register and then refuses it, and QEMU gives up.
            add("-cpu", "host,arch-capabilities=off".into());
        }
        add("-smp", self.cpus.to_string());
        add("-m", format!("{size}M"));
        add("-object", memory);
        add("-display", "none".into());
        add(
            "-chardev",
            format!("file,id=console,path={}", path("serial.log")),
        );
        add("-serial", "chardev:console".into());
        add(
            "-chardev",
            format!(
                "socket,id=commands,path={},server=on,wait=off",
                path("commands.sock")
            ),
        );
        add("-serial", "chardev:commands".into());
        add(
            "-qmp",
            format!("unix:{},server=on,wait=off", path("qmp.sock")),
        );
        if self.backend.is_some() {
            let reconnect = self
                .reconnect_ms
                .map_or(String::new(), |ms| format!(",reconnect-ms={ms}"));
            let window = (self.device == Device::Hesper).then(|| ("window", self.window_socket()));
            for (id, path) in std::iter::once(("gpu", self.socket())).chain(window) {
                let path = path.display();
                add("-chardev", format!("socket,id={id},path={path}{reconnect}"));
            }
        }
        if self.backend.is_some() && self.device == Device::Standard {
            let device = "vhost-user-test-device-pci,chardev=gpu,virtio-id=16,num_vqs=2,vq_size=256,config_size=16";
            add("-device", device.into());
        }
        if self.backend.is_some() && self.device == Device::Hesper {
            let mut device = format!(
                "vhost-user-vgpu-pci,id={DEVICE_ID},chardev=gpu,window-chardev=window,hostmem={},arena-size={}",
                self.window, self.arena
            );
            if let Some(path) = &self.arena_path {
                device += &format!(",arena-path={}", path.display());
            }
            for property in &self.device_properties {
                device += &format!(",{property}");
            }
            add("-device", device);
        }
        add("-kernel", self.guest.kernel.display().to_string());
        // A guest of one file has none.
        if !self.guest.initrd.as_os_str().is_empty() {
            add("-initrd", self.guest.initrd.display().to_string());
        }
        let mut words = vec!["console=ttyS0", "quiet", "panic=-1"];
        words.extend(self.kernel_words.iter().map(String::as_str));
        add("-append", words.join(" "));
        if let Some(incoming) = &self.incoming {
            add("-incoming", incoming.clone());
        }
        command
            .args(["-nodefaults", "-no-user-config"])
            .args((!self.reboots).then_some("-no-reboot"))
            .args(&self.arguments);
        command
    }
}

/// A running VM. Dropping it kills QEMU, then the back end.
#[derive(Debug)]
pub struct Vm {
    // Fields drop in this order.
    qmp: Qmp,
    commands: Option<UnixStream>,
    /// `None` for a QEMU that somebody else started.
    qemu: Option<Process>,
    backend: Option<Process>,
    dir: PathBuf,
    runs: u64,
}

/// What a command in the guest printed and returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestOutput {
    pub text: String,
    pub status: i32,
}

impl Vm {
    /// Starts the back end, then QEMU; returns once its monitor answers. The guest is not up yet: see [`Vm::booted`].
    pub fn start(config: &Config) -> Result<Vm> {
        let backend = start_backend(config)?;
        let mut qemu =
            Process::start_logged(&mut config.qemu_command(), &config.dir.join("qemu.log"))?;
        let socket = config.dir.join("qmp.sock");
        wait_until(START_LIMIT, "QEMU's monitor", || {
            qemu.check_running()?;
            listens(&socket)
        })?;
        let qmp = Qmp::connect(&socket, START_LIMIT)?;
        Ok(Vm {
            qmp,
            commands: None,
            qemu: Some(qemu),
            backend,
            dir: config.dir.clone(),
            runs: 0,
        })
    }

    /// Kills the back end, if it still runs, and starts it again with the same arguments.
    pub fn restart_backend(&mut self, config: &Config) -> Result<()> {
        if let Some(backend) = &mut self.backend {
            backend.kill();
        }
        self.backend = start_backend(config)?;
        Ok(())
    }

    /// Talks to a VM that somebody else started with [`Config::qemu_command`] in this folder; it outlives the value.
    pub fn attach(dir: &Path) -> Result<Vm> {
        let socket = dir.join("qmp.sock");
        wait_until(START_LIMIT, "QEMU's monitor", || listens(&socket))?;
        Ok(Vm {
            qmp: Qmp::connect(&socket, START_LIMIT)?,
            commands: None,
            qemu: None,
            backend: None,
            dir: dir.to_owned(),
            runs: 0,
        })
    }

    /// QEMU's monitor.
    pub fn qmp(&mut self) -> &mut Qmp {
        &mut self.qmp
    }

    /// QEMU's process, if we started it.
    pub fn qemu(&mut self) -> Option<&mut Process> {
        self.qemu.as_mut()
    }

    /// The back end's process, if the VM has one.
    pub fn backend(&mut self) -> Option<&mut Process> {
        self.backend.as_mut()
    }

    /// The folder with `serial.log`, `qemu.log` and `backend.log`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// All that the guest's console has printed.
    pub fn console(&self) -> Result<String> {
        let path = self.dir.join("serial.log");
        let bytes = fs::read(&path).at("read", &path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits for some text on the guest's console.
    pub fn wait_console(&mut self, text: &str, limit: Duration) -> Result<()> {
        let what = format!("{text:?} on the guest's console");
        wait_until(limit, &what, || {
            if self.console()?.contains(text) {
                return Ok(true);
            }
            self.check_running()?;
            Ok(false)
        })
    }

    /// Waits until the guest is up.
    pub fn booted(&mut self) -> Result<()> {
        self.booted_again(1)
    }

    /// Waits until the guest has come up for the `times`th time.
    pub fn booted_again(&mut self, times: usize) -> Result<()> {
        wait_until(BOOT_LIMIT, &format!("boot {times} of the guest"), || {
            if self.console()?.matches("HESPER-GUEST: ready").count() >= times {
                return Ok(true);
            }
            self.check_running()?;
            Ok(false)
        })
    }

    /// What the first display shows, by QEMU's own screendump.
    pub fn screendump(&mut self) -> Result<Picture> {
        self.screendump_of(0)
    }

    /// The same of any display of our device.
    pub fn screendump_of(&mut self, display: u32) -> Result<Picture> {
        let path = self.dir.join("screen.ppm");
        let filename = path.display().to_string();
        let arguments = json!({"filename": filename, "device": DEVICE_ID, "head": display});
        self.qmp.execute("screendump", arguments)?;
        let bytes = fs::read(&path).at("read", &path)?;
        Picture::from_ppm(&bytes)
            .ok_or_else(|| Error::Guest("QEMU's screendump is no binary PPM".into()))
    }

    /// Fails, with the end of the log, if QEMU or the back end has ended.
    pub fn check_running(&mut self) -> Result<()> {
        if let Some(backend) = &mut self.backend {
            backend.check_running()?;
        }
        match &mut self.qemu {
            Some(qemu) => qemu.check_running(),
            None => Ok(()),
        }
    }

    /// Runs a shell command (one line) in the guest, which must be up, and returns what it printed and its status.
    /// After a deadline the command goes on in the guest, and a later run waits for it.
    pub fn run(&mut self, command: &str, limit: Duration) -> Result<GuestOutput> {
        if command.contains('\n') {
            return Err(Error::Usage("A guest's command is one line".into()));
        }
        let deadline = Instant::now() + limit;
        let late = || Error::Deadline {
            what: format!("{command:?} in the guest"),
            limit,
        };
        self.runs += 1;
        // Tells this run's output from what an earlier one still prints.
        let mark = format!("HESPER-RUN {}", self.runs);
        let line = format!("echo {mark}; {command}\n");
        let mut stream = self.commands_stream()?;
        let failed = |e: std::io::Error| Error::Guest(format!("Command channel: {e}"));
        stream.write_all(line.as_bytes()).map_err(failed)?;

        let mut received = Vec::new();
        loop {
            if let Some(output) = parse_output(&String::from_utf8_lossy(&received), &mark)? {
                return Ok(output);
            }
            if received.len() > OUTPUT_BYTES_MAX {
                return Err(Error::Guest(format!("{command:?} prints too much")));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            stream.set_read_timeout(Some(left)).map_err(failed)?;
            let mut bytes = [0; 4096];
            match stream.read(&mut bytes) {
                Ok(0) => {
                    self.check_running()?;
                    return Err(Error::Guest("QEMU closed the command channel".into()));
                }
                Ok(n) => received.extend_from_slice(&bytes[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return Err(late()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }

    /// The same, failing unless the command succeeds; returns what it printed.
    pub fn run_ok(&mut self, command: &str, limit: Duration) -> Result<String> {
        let output = self.run(command, limit)?;
        if output.status == 0 {
            Ok(output.text)
        } else {
            Err(Error::Guest(format!(
                "{command:?} returned {}: {}",
                output.status,
                output.text.trim_end()
            )))
        }
    }

    fn commands_stream(&mut self) -> Result<UnixStream> {
        let path = self.dir.join("commands.sock");
        if self.commands.is_none() {
            self.commands = Some(UnixStream::connect(&path).at("connect to", &path)?);
        }
        match &self.commands {
            Some(stream) => stream.try_clone().at("use", &path),
            None => Err(Error::Guest("No command channel".into())),
        }
    }

    /// Migrates this VM into another one, which was started with `incoming: Some("defer")` and the same sizes; returns
    /// QEMU's final report (times in ms). Both stay as they are afterwards.
    pub fn migrate_to(&mut self, destination: &mut Vm, limit: Duration) -> Result<Value> {
        let deadline = Instant::now() + limit;
        let uri = format!("unix:{}", destination.dir.join("migrate.sock").display());
        // Without return-path a source cannot resume when the destination refuses what it loads.
        let capabilities = json!({"capabilities": [
            {"capability": "events", "state": true},
            {"capability": "return-path", "state": true},
        ]});
        for qmp in [&mut self.qmp, &mut destination.qmp] {
            qmp.execute("migrate-set-capabilities", capabilities.clone())?;
        }
        destination
            .qmp
            .execute("migrate-incoming", json!({"uri": uri}))?;
        self.qmp.execute("migrate", json!({"uri": uri}))?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.qmp.wait_event("MIGRATION", left)?;
            match event["data"]["status"].as_str() {
                Some("completed") => break,
                Some("failed" | "cancelled") => {
                    let report = self.qmp.execute("query-migrate", json!({}))?;
                    let why = report["error-desc"].as_str().unwrap_or("no reason given");
                    return Err(Error::Qmp(format!("The migration failed: {why}")));
                }
                _ => {}
            }
        }
        // What is typed before the destination runs would be overwritten by the state of its ports.
        wait_until(limit, "the destination to run", || {
            let status = destination.qmp.execute("query-status", json!({}))?;
            Ok(status["status"] == "running")
        })?;
        self.qmp.execute("query-migrate", json!({}))
    }

    /// Asks QEMU to quit and waits for its end; the back end is left to end by itself, or with the drop.
    pub fn quit(&mut self, limit: Duration) -> Result<()> {
        // QEMU may close the connection before the answer is read.
        let _ = self.qmp.execute("quit", json!({}));
        match &mut self.qemu {
            Some(qemu) => qemu.wait_within(limit).map(drop),
            None => Ok(()),
        }
    }
}

/// Starts the back end of a VM, if it has one, and waits until it listens.
fn start_backend(config: &Config) -> Result<Option<Process>> {
    let Some(backend) = &config.backend else {
        return Ok(None);
    };
    let mut process = Process::start_logged(
        &mut config.backend_command(backend),
        &config.dir.join("backend.log"),
    )?;
    let window = (config.device == Device::Hesper).then(|| config.window_socket());
    for path in std::iter::once(config.socket()).chain(window) {
        wait_until(START_LIMIT, &format!("{}", path.display()), || {
            process.check_running()?;
            listens(&path)
        })?;
    }
    Ok(Some(process))
}

/// Width and height, in pixels, of what `hesper-guest show --rendered` puts into the top left corner.
pub const RENDERED_SIDE: usize = 128;

/// A picture, three bytes a pixel: red, green, blue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Reads a binary PPM with 255 levels, as QEMU writes it.
    pub fn from_ppm(bytes: &[u8]) -> Option<Picture> {
        let mut rest = bytes.strip_prefix(b"P6")?;
        let mut numbers = [0; 3];
        for number in &mut numbers {
            let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
            rest = &rest[start..];
            let end = rest.iter().position(u8::is_ascii_whitespace)?;
            *number = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
            rest = &rest[end..];
        }
        let [width, height, levels]: [usize; 3] = numbers;
        // One white space ends the header.
        let pixels = rest.get(1..)?;
        let len = width.checked_mul(height)?.checked_mul(3)?;
        (levels == 255 && pixels.len() == len).then(|| Picture {
            width,
            height,
            pixels: pixels.to_vec(),
        })
    }

    /// The bytes of a binary PPM.
    pub fn to_ppm(&self) -> Vec<u8> {
        let mut bytes = format!("P6\n{} {}\n255\n", self.width, self.height).into_bytes();
        bytes.extend_from_slice(&self.pixels);
        bytes
    }

    /// The pixel at a place inside.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let at = (y * self.width + x) * 3;
        [self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]]
    }

    /// Fails unless this is the pattern of `hesper-guest show`, but for a corner of `corner` pixels at the top left.
    pub fn check_pattern(&self, corner: usize) -> Result<()> {
        if self.width < 640 || self.height < 400 {
            return Err(Error::Guest(format!(
                "A display of {} × {}",
                self.width, self.height
            )));
        }
        for y in 0..self.height {
            for x in 0..self.width {
                let expected = [x as u8, y as u8, (x ^ y) as u8];
                let found = self.pixel(x, y);
                if (x >= corner || y >= corner) && found != expected {
                    return Err(Error::Guest(format!(
                        "The display shows {found:?} at ({x}, {y}) instead of {expected:?}"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Finds one command's output between its mark and its status line, if all of it is there.
fn parse_output(received: &str, mark: &str) -> Result<Option<GuestOutput>> {
    let Some((_, rest)) = received.split_once(&format!("{mark}\n")) else {
        return Ok(None);
    };
    let (text, after) = match rest.strip_prefix("\nHESPER-RC ") {
        Some(after) => ("", after),
        None => match rest.split_once("\n\nHESPER-RC ") {
            Some((text, after)) => (text, after),
            // The output's last line has no end of its own.
            None => match rest.split_once("\nHESPER-RC ") {
                Some((text, after)) => (text, after),
                None => return Ok(None),
            },
        },
    };
    let Some((status, _)) = after.split_once('\n') else {
        return Ok(None);
    };
    let status = status
        .trim()
        .parse()
        .map_err(|_| Error::Guest(format!("Strange status line {status:?}")))?;
    Ok(Some(GuestOutput {
        text: text.to_owned(),
        status,
    }))
}

/// Looks at a condition again and again until it holds.
pub fn wait_until(
    limit: Duration,
    what: &str,
    mut holds: impl FnMut() -> Result<bool>,
) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !holds()? {
        if Instant::now() >= deadline {
            return Err(Error::Deadline {
                what: what.into(),
                limit,
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether somebody listens on a unix socket. Looking, not connecting: a back end takes its first connection as its VM.
fn listens(path: &Path) -> Result<bool> {
    const LISTENING: u32 = 0x10000;
    let table = "/proc/net/unix";
    let text = fs::read_to_string(table).at("read", table)?;
    let path = path.as_os_str().to_string_lossy();
    // Address, references, protocol, flags, type, state, inode, path.
    Ok(text.lines().any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.get(7) == Some(&path.as_ref())
            && fields
                .get(3)
                .and_then(|flags| u32::from_str_radix(flags, 16).ok())
                .is_some_and(|flags| flags & LISTENING != 0)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn output(text: &str, status: i32) -> Option<GuestOutput> {
        Some(GuestOutput {
            text: text.into(),
            status,
        })
    }

    #[test]
    fn parse_output_complete_run_gives_text_and_status() {
        let parse = |received| parse_output(received, "HESPER-RUN 2").unwrap();

        assert_eq!(
            parse("HESPER-RUN 2\na\nb\n\nHESPER-RC 0\n"),
            output("a\nb", 0)
        );
        assert_eq!(parse("HESPER-RUN 2\n\nHESPER-RC 3\n"), output("", 3));
        assert_eq!(
            parse("HESPER-RUN 2\nno end\nHESPER-RC 0\n"),
            output("no end", 0)
        );
    }

    #[test]
    fn parse_output_earlier_run_still_prints_is_skipped() {
        let received = "late\n\nHESPER-RC 1\nHESPER-RUN 2\nmine\n\nHESPER-RC 0\n";

        assert_eq!(
            parse_output(received, "HESPER-RUN 2").unwrap(),
            output("mine", 0)
        );
    }

    #[test]
    fn parse_output_incomplete_run_is_none() {
        let parse = |received| parse_output(received, "HESPER-RUN 2").unwrap();

        assert_eq!(parse(""), None);
        assert_eq!(parse("HESPER-RUN 2\nabc\n"), None);
        assert_eq!(parse("HESPER-RUN 2\nabc\n\nHESPER-RC 1"), None);
    }

    #[test]
    fn from_ppm_takes_what_qemu_writes_and_nothing_shorter() {
        let bytes = b"P6\n2 1\n255\nabcdef";

        let picture = Picture::from_ppm(bytes).unwrap();

        assert_eq!((picture.width, picture.height), (2, 1));
        assert_eq!(picture.pixel(1, 0), *b"def");
        assert_eq!(picture.to_ppm(), bytes);
        assert_eq!(Picture::from_ppm(&bytes[..bytes.len() - 1]), None);
        assert_eq!(Picture::from_ppm(b"P6\n2 1\n15\nabcdef"), None);
        assert_eq!(Picture::from_ppm(b"P5"), None);
    }

    #[test]
    fn listens_socket_bound_is_seen_without_connecting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        assert!(!listens(&path).unwrap());

        let listener = UnixListener::bind(&path).unwrap();

        assert!(listens(&path).unwrap());
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }

    #[test]
    fn qemu_command_defaults_share_memory_and_name_our_device() {
        let guest = Guest {
            kernel: "/k".into(),
            initrd: "/i".into(),
        };
        let mut config = Config::new("/qemu", guest, "/d");
        config.backend = Some(Backend::hesperd("/hesperd", &[]));

        let command = config.qemu_command();

        let line: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        let line = line.join(" ");
        assert!(line.contains("memory-backend-memfd,id=ram,size=512M,share=on"));
        assert!(line.contains("window-chardev=window,hostmem=256M,arena-size=512M"));
        assert!(line.contains("accel=tcg"));
    }
}
