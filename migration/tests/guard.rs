//! The real guard with a stand-in for QEMU, whose life and death is all that it looks at here.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hesper_migration::lines::{LineReader, ask, write_line};
use hesper_migration::process::PidFd;
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(10);

struct Guard {
    child: Child,
    control: PathBuf,
    _dir: tempfile::TempDir,
}

impl Guard {
    fn start(argv: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("temp folder");
        let control = dir.path().join("guard");
        let child = Command::new(env!("CARGO_BIN_EXE_hesper"))
            .args(["guard", "--qmp", "/nonexistent", "--control"])
            .arg(&control)
            .arg("--")
            .args(argv)
            .stderr(Stdio::null())
            .spawn()
            .expect("start the guard");
        let end = Instant::now() + SOON;
        while UnixStream::connect(&control).is_err() {
            assert!(Instant::now() < end, "the guard does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self {
            child,
            control,
            _dir: dir,
        }
    }

    fn qemu(&self) -> PidFd {
        let status = request(&self.control, json!({"id": 1, "command": "status"}));
        let pid = status["qemu_pid"].as_u64().expect("a number");
        PidFd::open(pid as u32).expect("the stand-in lives")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(control: &Path, value: Value) -> Value {
    ask(control, &value, SOON).expect("an answer")
}

/// Connects as the agent and reads the welcome.
fn agent(control: &Path) -> (UnixStream, LineReader<UnixStream>) {
    let mut stream = UnixStream::connect(control).expect("connect");
    stream.set_read_timeout(Some(SOON)).expect("deadline");
    write_line(&mut stream, &json!({"command": "agent"})).expect("greet");
    let mut lines = LineReader::new(stream.try_clone().expect("clone"));
    assert_eq!(event(&mut lines)["event"], "welcome");
    (stream, lines)
}

fn event(lines: &mut LineReader<UnixStream>) -> Value {
    lines.read().expect("a line").expect("not the end")
}

#[test]
fn fence_kills_and_confirms_the_death() {
    let guard = Guard::start(&["sleep", "600"]);
    let qemu = guard.qemu();
    let answer = request(&guard.control, json!({"id": 7, "command": "fence"}));
    assert_eq!(answer["fenced"], true);
    assert!(answer["time_ms"].as_u64().expect("a time") > 0);
    assert!(qemu.ended(Duration::ZERO), "confirmed before it was dead");
    let status = request(&guard.control, json!({"id": 8, "command": "status"}));
    assert_eq!(status["alive"], false);
}

#[test]
fn guard_killed_takes_qemu_along() {
    let mut guard = Guard::start(&["sleep", "600"]);
    let qemu = guard.qemu();
    guard.child.kill().expect("kill -9 the guard");
    assert!(qemu.ended(SOON));
}

#[test]
fn fence_if_protected_follows_the_record() {
    let guard = Guard::start(&["sleep", "600"]);
    let qemu = guard.qemu();
    let (mut stream, mut lines) = agent(&guard.control);
    let wish = json!({"id": 1, "command": "fence-if-protected", "epoch": 4});

    assert!(ask(&guard.control, &wish, SOON).is_err(), "unprotected");
    let record = json!({"command": "record", "protected": true, "acked": 5});
    write_line(&mut stream, &record).expect("record");
    assert_eq!(event(&mut lines)["record"]["acked"], 5);
    assert!(
        ask(&guard.control, &wish, SOON).is_err(),
        "older than what was acked"
    );
    assert!(!qemu.ended(Duration::ZERO));

    let wish = json!({"id": 2, "command": "fence-if-protected", "epoch": 5});
    assert_eq!(request(&guard.control, wish)["record"]["protected"], true);
    assert!(qemu.ended(Duration::ZERO));
    assert_eq!(event(&mut lines)["event"], "gone");
}

#[test]
fn agent_lost_is_recorded_unprotected() {
    let guard = Guard::start(&["sleep", "600"]);
    let (mut stream, mut lines) = agent(&guard.control);
    let record = json!({"command": "record", "protected": true, "acked": 1});
    write_line(&mut stream, &record).expect("record");
    assert_eq!(event(&mut lines)["record"]["protected"], true);
    drop((stream, lines));
    let end = Instant::now() + SOON;
    loop {
        let status = request(&guard.control, json!({"id": 1, "command": "status"}));
        if status["record"]["protected"] == false {
            break;
        }
        assert!(Instant::now() < end, "still protected");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn qemu_crash_keeps_the_guard_to_answer_and_a_clean_end_does_not() {
    let crashed = Guard::start(&["sh", "-c", "sleep 0.3; exit 1"]);
    let (_stream, mut lines) = agent(&crashed.control);
    assert_eq!(event(&mut lines)["event"], "gone");
    let answer = request(&crashed.control, json!({"id": 1, "command": "fence"}));
    assert_eq!(answer["fenced"], true);

    let mut ended = Guard::start(&["sh", "-c", "sleep 0.3"]);
    assert!(ended.child.wait().expect("wait").success());
}
