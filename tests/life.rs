//! How `hesperd` starts and ends, with real processes.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use hesper_control::ControlClient;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

const START_LIMIT: Duration = Duration::from_secs(120);
const END_LIMIT: Duration = Duration::from_secs(1);

fn hesperd() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hesperd"));
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Killed when a test fails.
struct Daemon(Child);

impl Daemon {
    fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        while started.elapsed() < limit {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Direct children, zombies included.
    fn children(&self) -> Vec<i32> {
        let tasks = format!("/proc/{}/task", self.0.id());
        let mut children = Vec::new();
        for task in std::fs::read_dir(tasks).unwrap().flatten() {
            let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.extend(
                list.split_whitespace()
                    .map(|pid| pid.parse::<i32>().unwrap()),
            );
        }
        children
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.0
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        text
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < START_LIMIT, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_gone(pid: i32) -> bool {
    kill(Pid::from_raw(pid), None).is_err()
}

fn word(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_le_bytes());
}

/// A vtest client with a context, which means a live worker. `None` without a Vulkan driver.
fn vtest_client(path: &Path, control: &Path) -> Option<UnixStream> {
    use std::io::Write;
    until("The vtest socket", || path.exists());
    let mut stream = UnixStream::connect(path).unwrap();
    let mut bytes = Vec::new();
    // CREATE_RENDERER with a name counted in bytes; PROTOCOL_VERSION 3; CONTEXT_INIT for Venus.
    word(&mut bytes, 8);
    word(&mut bytes, 8);
    bytes.extend(b"life.rs\0");
    for value in [1, 11, 3, 1, 17, 4] {
        word(&mut bytes, value);
    }
    stream.write_all(&bytes).unwrap();
    let mut reply = [0; 12];
    stream.read_exact(&mut reply).ok()?;
    until("The control socket", || control.exists());
    let mut client = ControlClient::connect(control, START_LIMIT).unwrap();
    let mut lost = false;
    until("The context", || {
        let status = client.call("status", Value::Null).unwrap();
        // A client whose context can't be had is hung up on.
        lost = hung_up(&stream);
        lost || status["contexts"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    });
    (!lost).then_some(stream)
}

fn hung_up(stream: &UnixStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let ended = matches!((&*stream).read(&mut [0; 1]), Ok(0));
    stream.set_nonblocking(false).unwrap();
    ended
}

fn paths() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.sock"), dir.path().join("b.sock"));
    (dir, a, b)
}

fn signalled_with_live_client(signal: Signal) {
    let (_dir, vtest, control) = paths();
    let mut daemon = Daemon::start(
        hesperd()
            .arg("--vtest-socket")
            .arg(&vtest)
            .arg("--control-socket")
            .arg(&control),
    );
    let Some(_client) = vtest_client(&vtest, &control) else {
        println!("SKIPPED: no Vulkan driver to make a context with");
        return;
    };
    let workers = daemon.children();
    assert!(!workers.is_empty());

    let started = Instant::now();
    daemon.signal(signal);
    let status = daemon.wait(END_LIMIT);

    println!(
        "ended after {:?}, {} workers",
        started.elapsed(),
        workers.len()
    );
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    for pid in workers {
        assert!(is_gone(pid), "worker {pid} is left");
    }
    assert!(!vtest.exists() && !control.exists());
}

#[test]
fn sigterm_with_live_client_ends_all_within_a_second() {
    signalled_with_live_client(Signal::SIGTERM);
}

#[test]
fn sigint_with_live_client_ends_all_within_a_second() {
    signalled_with_live_client(Signal::SIGINT);
}

#[test]
fn sigterm_before_a_front_end_connects_ends_within_a_second() {
    let (_dir, socket, window) = paths();
    let mut daemon = Daemon::start(
        hesperd()
            .arg("--socket-path")
            .arg(&socket)
            .arg("--window-socket")
            .arg(&window),
    );
    until("The sockets", || socket.exists() && window.exists());

    daemon.signal(Signal::SIGTERM);
    let status = daemon.wait(END_LIMIT);

    assert_eq!(status.and_then(|status| status.code()), Some(0));
    assert!(!socket.exists() && !window.exists());
}

/// Passes `fd` as number 9 and asks for the back end's features over `stream`.
fn features_over(fd: OwnedFd, connect: impl FnOnce() -> UnixStream) -> (u64, Option<i32>) {
    use std::io::Write;
    let (_dir, window, config) = paths();
    let text = serde_json::json!({"window-socket": window}).to_string();
    std::fs::write(&config, text).unwrap();
    let mut command = hesperd();
    command.args(["--fd", "9", "--config"]).arg(&config);
    let raw = fd.as_raw_fd();
    // SAFETY: dup2 is async-signal-safe, and the descriptor is open until after the start.
    unsafe {
        command.pre_exec(move || {
            if libc::dup2(raw, 9) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut daemon = Daemon::start(&mut command);
    drop(fd);
    let mut stream = connect();
    stream.set_read_timeout(Some(START_LIMIT)).unwrap();
    // GET_FEATURES, version 1, no payload.
    let mut request = Vec::new();
    for value in [1, 1, 0] {
        word(&mut request, value);
    }
    stream.write_all(&request).unwrap();
    let mut reply = [0; 20];
    stream.read_exact(&mut reply).unwrap();
    drop(stream);
    let status = daemon.wait(START_LIMIT);
    let features = u64::from_le_bytes(reply[12..20].try_into().unwrap());
    (features, status.and_then(|status| status.code()))
}

/// VIRTIO_F_VERSION_1 and VIRTIO_GPU_F_VIRGL.
const WANTED: u64 = 1 << 32 | 1;

#[test]
fn connected_fd_serves_until_it_is_closed() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (features, code) = features_over(theirs.into(), || ours);
    assert_eq!(features & WANTED, WANTED);
    assert_eq!(code, Some(0));
}

#[test]
fn listening_fd_serves_its_first_connection() {
    let (_dir, path, _) = paths();
    let listener = UnixListener::bind(&path).unwrap();
    let (features, code) = features_over(listener.into(), || UnixStream::connect(&path).unwrap());
    assert_eq!(features & WANTED, WANTED);
    assert_eq!(code, Some(0));
}

#[test]
fn print_capabilities_names_the_gpu_and_ignores_the_rest() {
    let output = hesperd()
        .args(["--print-capabilities", "--no-such-thing", "--fd", "x"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["type"], "gpu");
    assert!(said["features"].is_array());
}

#[test]
fn wrong_command_lines_exit_2() {
    for wrong in [
        &[] as &[&str],
        &["--no-such-thing"],
        &["--socket-path", "/nowhere/a", "--window-size", "3"],
        &["--hang-timeout", "soon", "--vtest-socket", "/nowhere/a"],
        &["--vtest-socket", "/nowhere/a", "--fd", "3"],
    ] {
        let output = hesperd().args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn errors_exit_1_with_one_line() {
    let (_dir, config, _) = paths();
    std::fs::write(&config, r#"{"vtest-sockets": "/nowhere/a"}"#).unwrap();
    let config = config.to_str().unwrap();
    for wrong in [
        &["--vtest-socket", "/nowhere/a"] as &[&str],
        &["--socket-path", "/nowhere/a"],
        &["--fd", "1", "--window-socket", "/nowhere/a"],
        &["--fd", "77", "--window-socket", "/nowhere/a"],
        &["--config", "/nowhere/a"],
        &["--config", config],
    ] {
        let mut daemon = Daemon::start(hesperd().args(wrong));
        let status = daemon.wait(START_LIMIT);
        let said = daemon.stderr();
        assert_eq!(
            status.and_then(|status| status.code()),
            Some(1),
            "{wrong:?}"
        );
        assert_eq!(said.lines().count(), 1, "{wrong:?}: {said}");
        assert!(said.starts_with("hesperd: "), "{said}");
    }
}

#[test]
fn served_socket_is_not_replaced() {
    let (_dir, path, _) = paths();
    let _other = UnixListener::bind(&path).unwrap();

    let mut daemon = Daemon::start(hesperd().arg("--vtest-socket").arg(&path));
    let status = daemon.wait(START_LIMIT);

    assert_eq!(status.and_then(|status| status.code()), Some(1));
    assert!(UnixStream::connect(&path).is_ok());
}
