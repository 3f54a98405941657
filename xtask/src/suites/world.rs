//! What the VM suites stand on: this build's programs, QEMU, and a guest that holds `hesper-guest`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::cache;
use crate::error::{Error, FileContext, Result};
use crate::guest::{self, Guest, With};
use crate::prebuilt;
use crate::process;
use crate::qemu;
use crate::vm::{Backend, Config, Vm};

/// Programs and images.
#[derive(Debug)]
pub struct World {
    pub qemu: PathBuf,
    pub guest: Guest,
    pub hesperd: PathBuf,
    pub hesper: PathBuf,
    pub hesper_guest: PathBuf,
    dir: tempfile::TempDir,
}

impl World {
    /// Builds what is missing.
    pub fn new() -> Result<World> {
        let dir = tempfile::Builder::new()
            .prefix("hesper-")
            .tempdir()
            .at("create a folder in", std::env::temp_dir())?;
        if let Some(folder) = prebuilt::folder() {
            return Ok(World {
                qemu: folder.join("qemu/bin/qemu-system-x86_64"),
                guest: Guest {
                    kernel: folder.join("vmlinuz"),
                    initrd: folder.join("initrd.img"),
                },
                hesperd: folder.join("hesperd"),
                hesper: folder.join("hesper"),
                hesper_guest: folder.join("hesper-guest"),
                dir,
            });
        }
        let target = cache::repository().join("target/debug");
        let mut build = Command::new(env!("CARGO"));
        build.args(cache::BUILD).current_dir(cache::repository());
        process::logged(&mut build, &dir.path().join("build.log"), |_| {})?;
        let guest = guest::build(
            &[With {
                from: target.join("hesper-guest"),
                to: "/bin/hesper-guest".into(),
            }],
            false,
        )?;
        Ok(World {
            qemu: qemu::build(false)?.system(),
            guest,
            hesperd: target.join("hesperd"),
            hesper: target.join("hesper"),
            hesper_guest: target.join("hesper-guest"),
            dir,
        })
    }

    /// A fresh folder for one VM.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.dir.path().join(name);
        std::fs::create_dir(&path).at("create", &path)?;
        Ok(path)
    }

    /// A VM with `hesperd` on lavapipe behind it. `name` is new for each.
    pub fn config(&self, name: &str, more: &[&str]) -> Result<Config> {
        let dir = self.folder(name)?;
        let control = dir.join("control.sock").display().to_string();
        let mut arguments = vec!["--control-socket", &control, "--fault-injection"];
        arguments.extend(more);
        let mut backend = Backend::hesperd(&self.hesperd, &arguments);
        backend
            .environment
            .push(("VK_DRIVER_FILES".into(), prebuilt::driver().into()));
        backend.environment.push((
            "HESPER_LOG".into(),
            std::env::var_os("HESPER_LOG").unwrap_or_else(|| "info".into()),
        ));
        let mut config = Config::new(&self.qemu, self.guest.clone(), dir);
        config.backend = Some(backend);
        Ok(config)
    }
}

/// The last line of `work` in a log: its figures as name and value.
pub fn work_done(log: &str) -> Result<Value> {
    let line = log
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("work: done "))
        .ok_or_else(|| Error::Guest(format!("work did not end: {}", tail(log))))?;
    let fields = line
        .split_whitespace()
        .filter_map(|field| field.split_once('='))
        .map(|(name, value)| {
            let number = value.parse::<f64>().unwrap_or(f64::NAN);
            (name.to_owned(), Value::from(number))
        });
    Ok(Value::Object(fields.collect()))
}

/// The end of a log, for an error.
pub fn tail(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// Starts `work` in the background of a guest; it ends by itself after `rounds`.
pub fn start_work(vm: &mut Vm, options: &str) -> Result<()> {
    vm.run_ok(
        &format!("hesper-guest work {options} >/tmp/work.log 2>&1 & echo started"),
        Duration::from_secs(30),
    )?;
    Ok(())
}

/// Waits for `work` in a guest to make progress: its round number must grow.
pub fn work_goes_on(vm: &mut Vm, limit: Duration) -> Result<u64> {
    let first = work_round(vm)?;
    let started = std::time::Instant::now();
    while started.elapsed() < limit {
        let now = work_round(vm)?;
        if now > first {
            return Ok(now);
        }
        std::thread::sleep(Duration::from_millis(300));
    }
    let log = vm.run("tail -n 12 /tmp/work.log", Duration::from_secs(30))?;
    Err(Error::Guest(format!(
        "work stands still at round {first}: {}",
        log.text
    )))
}

fn work_round(vm: &mut Vm) -> Result<u64> {
    let text = vm
        .run(
            "grep -o 'round=[0-9]*' /tmp/work.log | tail -n 1",
            Duration::from_secs(60),
        )?
        .text;
    Ok(text
        .trim()
        .strip_prefix("round=")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0))
}

/// Ends `work` in a guest and checks that everything was right; returns its figures.
pub fn finish_work(vm: &mut Vm) -> Result<Value> {
    vm.run_ok(
        "kill -INT $(pidof hesper-guest); true",
        Duration::from_secs(60),
    )?;
    let wait = "while pidof hesper-guest >/dev/null; do sleep 0.2; done; cat /tmp/work.log";
    let log = vm.run_ok(wait, Duration::from_secs(180))?;
    let figures = work_done(&log)?;
    let number = |name: &str| figures[name].as_f64();
    if number("errors") != Some(0.0) || number("rounds").is_none_or(|rounds| rounds < 1.0) {
        return Err(Error::Guest(format!("work went wrong: {}", tail(&log))));
    }
    Ok(figures)
}

/// Adds what the back end, QEMU and the guest's console said to an error.
pub fn with_logs<T>(result: Result<T>, dirs: &[&Path]) -> Result<T> {
    result.map_err(|error| {
        let mut text = error.to_string();
        for dir in dirs {
            for name in ["backend.log", "qemu.log", "serial.log"] {
                let path = dir.join(name);
                text.push_str(&format!(
                    "\n--- {}\n{}",
                    path.display(),
                    process::tail(&path)
                ));
            }
        }
        Error::Guest(text)
    })
}
