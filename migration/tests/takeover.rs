//! Protection and takeover with real QEMUs, real processes, a real link on loopback.

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::{Process, SOON, Side, assert_one_instant, listening, qemu, skipped, status, until};
use serde_json::{Value, json};

/// One VM at a time: two emulated ones are as much as a small machine has cores for.
static ONE: Mutex<()> = Mutex::new(());

/// A protected VM on one machine.
struct World {
    primary: Side,
    backup: Side,
    guard: Process,
    agent: Option<Process>,
    standby: Option<Process>,
    port: u16,
    interval: &'static str,
    fence_command: bool,
    /// Port of a relay before the standby.
    through: Option<u16>,
    /// Held to the end, after all processes.
    _one: MutexGuard<'static, ()>,
}

impl World {
    /// Starts all of it and waits for protection. None when there is no QEMU.
    fn start(interval: &'static str, fence_command: bool) -> Option<Self> {
        Self::start_through(interval, fence_command, None)
    }

    fn start_through(
        interval: &'static str,
        fence_command: bool,
        relay: Option<&Relay>,
    ) -> Option<Self> {
        if qemu().is_none() {
            skipped();
            return None;
        }
        // A test that failed has nothing to do with this one.
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        if let Some(relay) = relay {
            relay.start(port);
        }
        let (primary, backup) = (Side::new(), Side::new());
        let mut guard = vec!["guard".into(), "--control".into(), primary.path("guard")];
        guard.extend(["--qmp".into(), primary.path("qmp0"), "--".into()]);
        guard.extend(primary.argv(3, false));
        let guard: Vec<&str> = guard.iter().map(String::as_str).collect();
        let guard = Process::hesper(&guard);
        let mut world = Self {
            primary,
            backup,
            guard,
            agent: None,
            standby: None,
            port,
            interval,
            fence_command,
            through: relay.map(|relay| relay.port),
            _one: one,
        };
        world.start_standby();
        world.start_agent();
        until("the guest works", || world.primary.passes().len() > 5);
        Some(world)
    }

    fn start_standby(&mut self) {
        let fence: Vec<String> = if self.fence_command {
            let hesper = env!("CARGO_BIN_EXE_hesper").to_owned();
            let guard = self.primary.path("guard");
            ["fence", "--guard", &guard, "--if-protected", "{epoch}"]
                .into_iter()
                .fold(vec![hesper], |mut argv, part| {
                    argv.push(part.to_owned());
                    argv
                })
        } else {
            Vec::new()
        };
        let config = json!({
            "listen": format!("127.0.0.1:{}", self.port),
            "dir": self.backup.dir.path(),
            "control": "{dir}/control",
            "files": {"mem": self.backup.ram},
            "qemu": {"argv": self.backup.argv(2, true), "qmp": "{dir}/qmp0"},
            "fence_command": fence,
        });
        let path = self.backup.path("config");
        std::fs::write(&path, config.to_string()).expect("write the configuration");
        self.standby = Some(Process::hesper(&["standby", "--config", &path]));
        listening(&PathBuf::from(self.backup.path("control")));
    }

    fn start_agent(&mut self) {
        let guard = self.primary.path("guard");
        listening(&PathBuf::from(&guard));
        self.agent = Some(Process::hesper(&[
            "agent",
            "--guard",
            &guard,
            "--qmp",
            &self.primary.path("qmp1"),
            "--standby",
            &format!("127.0.0.1:{}", self.through.unwrap_or(self.port)),
            "--interval",
            self.interval,
            "--listen",
            &self.primary.path("agent"),
            "--control",
            &self.primary.path("hesperd"),
        ]));
        listening(&PathBuf::from(self.primary.path("agent")));
    }

    fn of_agent(&self) -> Value {
        status(&PathBuf::from(self.primary.path("agent")))
    }

    fn of_standby(&self) -> Value {
        status(&PathBuf::from(self.backup.path("control")))
    }

    fn of_guard(&self) -> Value {
        status(&PathBuf::from(self.primary.path("guard")))
    }

    fn run_state(&self) -> Value {
        let path = PathBuf::from(self.primary.path("qmp2"));
        hesper_migration::migrate::status(&path).expect("QEMU answers")
    }

    fn protected(&self, epochs: u64) {
        until("protection", || {
            let agent = self.of_agent();
            agent["protected"] == true
                && agent["epochs"].as_u64() >= Some(epochs)
                && self.of_standby()["qemu_ready"] == true
        });
    }

    /// Waits for the takeover and shows that the guest goes on from one whole epoch.
    fn taken_over(&self) -> Value {
        until("the takeover", || {
            let phase = &self.of_standby()["phase"];
            assert_ne!(phase, "Failed");
            phase == "Active"
        });
        assert_eq!(self.of_guard()["alive"], false, "both sides run");
        until("the guest goes on", || self.backup.passes().len() > 20);
        let (before, after) = (self.primary.passes(), self.backup.passes());
        let numbers = after.windows(2).all(|two| two[0] + 1 == two[1]);
        assert!(numbers, "the guest found a torn epoch: {after:?}");
        let (last, first) = (before[before.len() - 1], after[0]);
        assert!(
            first <= last + 1,
            "{first} was never reached, {last} was the last"
        );
        let timeline = self.of_standby()["timeline"].clone();
        eprintln!("rolled back {} passes, {timeline}", last + 1 - first);
        timeline
    }
}

#[test]
fn hang_protected_vm_is_taken_over_from_one_whole_epoch() {
    let Some(world) = World::start("100ms", false) else {
        return;
    };
    // hesperd's own control socket, with a hesperd that does nothing but say that it hangs.
    let path = PathBuf::from(world.primary.path("hesperd"));
    let handler: hesper_control::Handler = Arc::new(|_| Err("unknown".into()));
    let hesperd = hesper_control::ControlServer::bind(&path, handler).expect("control socket");
    until("the agent watches", || hesperd.client_count() > 0);
    world.protected(10);
    hesperd.broadcast(json!({"event": "hang", "ctx_id": 1, "stalled_ms": 2000}));
    let timeline = world.taken_over();
    let time = |key: &str| timeline[key].as_u64().expect("a time");
    assert!(time("detected_ms") <= time("fenced_ms"));
    assert!(time("fenced_ms") <= time("told_ms"));
    assert!(time("told_ms") <= time("restore_started_ms"));
    assert!(time("restore_started_ms") <= time("running_ms"));
}

#[test]
fn checkpoints_replica_is_always_one_instant_of_the_guest() {
    let Some(world) = World::start("200ms", false) else {
        return;
    };
    world.protected(3);
    let mut epochs = std::collections::BTreeSet::new();
    let mut compared = 0;
    while epochs.len() < 12 {
        // A read that no epoch was put in place during is one of a whole epoch.
        let before = world.of_standby()["epoch"].as_u64();
        let words = world.backup.words();
        let after = world.of_standby()["epoch"].as_u64();
        if before == after {
            assert_one_instant(&words);
            compared += 1;
            epochs.insert(after);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let agent = world.of_agent();
    eprintln!("{compared} replicas of {} epochs; {agent}", epochs.len());
}

#[test]
fn qemu_killed_protected_vm_is_taken_over() {
    let Some(world) = World::start("100ms", false) else {
        return;
    };
    world.protected(5);
    let pid = world.of_guard()["qemu_pid"].as_u64().expect("a number") as u32;
    let fd = hesper_migration::process::PidFd::open(pid).expect("QEMU lives");
    fd.kill().expect("kill -9 QEMU");
    world.taken_over();
}

#[test]
fn agent_killed_vm_goes_on_and_is_protected_again() {
    let Some(mut world) = World::start("100ms", true) else {
        return;
    };
    world.protected(5);
    let mut agent = world.agent.take().expect("started");
    agent.kill();
    until("the record", || {
        world.of_guard()["record"]["protected"] == false
    });
    until("the VM runs", || world.run_state()["state"] == "running");
    let passes = world.primary.passes().len();
    until("the guest goes on", || {
        world.primary.passes().len() > passes + 5
    });
    // The fence command is refused: the VM went on.
    until("the standby knows", || {
        world.of_standby()["phase"] == "Stale"
    });

    world.start_agent();
    world.protected(3);
    assert_eq!(world.of_guard()["alive"], true);
}

#[test]
fn standby_killed_vm_goes_on_and_is_protected_again() {
    let Some(mut world) = World::start("100ms", false) else {
        return;
    };
    world.protected(5);
    let begin = Instant::now();
    world.standby.take().expect("started").kill();
    until("the record", || {
        world.of_guard()["record"]["protected"] == false
    });
    until("the VM runs", || {
        let state = world.run_state();
        state["state"] == "running" && state["migration"] == "completed"
    });
    eprintln!(
        "out of COLO {} ms after the kill",
        begin.elapsed().as_millis()
    );
    let passes = world.primary.passes().len();
    until("the guest goes on", || {
        world.primary.passes().len() > passes + 5
    });

    world.start_standby();
    until("protection", || world.of_agent()["protected"] == true);
    let agent = world.of_agent();
    assert_eq!(agent["record"]["protected"], true);
}

#[test]
fn guard_killed_protected_vm_is_taken_over() {
    let Some(mut world) = World::start("100ms", false) else {
        return;
    };
    world.protected(5);
    world.guard.kill();
    until("the takeover", || world.of_standby()["phase"] == "Active");
    until("the guest goes on", || world.backup.passes().len() > 20);
}

#[test]
fn agent_and_qemu_killed_fence_command_leads_to_a_takeover() {
    let Some(mut world) = World::start("100ms", true) else {
        return;
    };
    world.protected(5);
    // QEMU first: the record is frozen while it says protected.
    let pid = world.of_guard()["qemu_pid"].as_u64().expect("a number") as u32;
    let fd = hesper_migration::process::PidFd::open(pid).expect("QEMU lives");
    let mut agent = world.agent.take().expect("started");
    let stop = nix::unistd::Pid::from_raw(agent.0.id() as i32);
    nix::sys::signal::kill(stop, nix::sys::signal::Signal::SIGSTOP).expect("stop the agent");
    fd.kill().expect("kill -9 QEMU");
    assert!(fd.ended(SOON));
    until("the guard knows", || world.of_guard()["alive"] == false);
    agent.kill();
    world.taken_over();
}

#[test]
fn failover_by_hand_takes_over() {
    let Some(world) = World::start("100ms", false) else {
        return;
    };
    world.protected(5);
    let control = world.backup.path("control");
    let arguments = ["failover", "--standby-control", &control];
    let mut failover = Process::hesper(&arguments);
    assert!(failover.0.wait().expect("wait").success());
    world.taken_over();
}

/// Carries the link, and can go silent as a cut cable does: no reset, no end.
struct Relay {
    port: u16,
    listener: TcpListener,
    cut: Arc<AtomicBool>,
}

impl Relay {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let cut = Arc::default();
        Self {
            port,
            listener,
            cut,
        }
    }

    fn start(&self, to: u16) {
        let listener = self.listener.try_clone().expect("clone");
        let cut = self.cut.clone();
        std::thread::spawn(move || {
            for here in listener.incoming().flatten() {
                let Ok(there) = TcpStream::connect(("127.0.0.1", to)) else {
                    continue;
                };
                let (a, b) = (
                    here.try_clone().expect("clone"),
                    there.try_clone().expect("clone"),
                );
                carry(here, there, cut.clone());
                carry(b, a, cut.clone());
            }
        });
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, cut: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while let Ok(count) = from.read(&mut bytes) {
            while cut.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if count == 0 || to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
        let _ = from.shutdown(std::net::Shutdown::Read);
    });
}

#[test]
fn link_silent_exactly_one_side_runs_and_protection_comes_back() {
    let relay = Relay::new();
    let Some(world) = World::start_through("100ms", true, Some(&relay)) else {
        return;
    };
    world.protected(5);
    relay.cut.store(true, Ordering::Relaxed);
    until("the standby knows", || world.of_standby()["agent"] == false);
    // Whoever gets to the guard first decides.
    until("a decision", || {
        let (guard, standby) = (world.of_guard(), world.of_standby());
        let here = guard["alive"] == true && guard["record"]["protected"] == false;
        let there = guard["alive"] == false && standby["phase"] == "Active";
        here || there
    });
    let alive = world.of_guard()["alive"] == true;
    eprintln!(
        "the VM runs at the {}",
        if alive { "primary" } else { "standby" }
    );
    if alive {
        until("the standby is told", || {
            world.of_standby()["phase"] == "Stale"
        });
        relay.cut.store(false, Ordering::Relaxed);
        until("protection", || world.of_agent()["protected"] == true);
    } else {
        world.taken_over();
    }
}
