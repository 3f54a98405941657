//! `vm`: a stock Debian guest on our QEMU device and hesperd, through the life of a VM.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::display;
use super::world::{World, finish_work, start_work, with_logs, work_done, work_goes_on};
use super::{Context, Outcome, Suite};
use crate::error::{Error, Result};
use crate::prebuilt;
use crate::process;
use crate::protected::ask;
use crate::vm::{Config, RENDERED_SIDE, Vm, wait_until};
use crate::vnc;

const LIMIT: Duration = Duration::from_secs(120);
/// How long the kernel may take to tear down what a process held that is gone.
const AFTERMATH: Duration = Duration::from_secs(30);
/// How long a program may take to notice that its context is gone: Mesa looks at its ring's life signs every few
/// seconds.
const LOSS: Duration = Duration::from_secs(30);

/// Quota of device-local memory, MiB: enough for all cases, and not for one that wants more.
const DEVICE_MEMORY_MIB: &str = "192";

const DISPLAYS: u32 = 2;

/// Kicks per 1000 submissions of a steady stream.
const KICKS_MAX: f64 = 2.0;
/// Streams that are measured at most, until one has no more.
const STREAMS: usize = 3;

/// What a case does with the VM.
type Case = fn(&mut Lab) -> Result<()>;

pub struct VmSuite;

impl Suite for VmSuite {
    fn name(&self) -> &'static str {
        "vm"
    }

    fn about(&self) -> &'static str {
        "a stock guest computes on hesperd"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let world = World::new()?;
        let mut config = world.config("vm", &["--device-memory-max", DEVICE_MEMORY_MIB])?;
        config.reconnect_ms = Some(100);
        config.reboots = true;
        config.device_properties = vec![format!("max_outputs={DISPLAYS}")];
        let dir = config.dir.clone();
        let servers = (0..DISPLAYS).flat_map(|display| vnc::arguments(&dir, display));
        config.arguments.extend(servers);
        let mut vm = with_logs(Vm::start(&config), &[&dir])?;
        with_logs(vm.booted(), &[&dir])?;
        let mut lab = Lab {
            control: dir.join("control.sock"),
            guest_tool: world.hesper_guest.clone(),
            work: Duration::from_secs(if context.full { 60 } else { 20 }),
            boots: 1,
            config,
            vm,
        };
        let cases: [(&str, Case); 19] = [
            ("the guest's kernel sees every feature", Lab::features),
            ("vulkaninfo tells everything of the device", Lab::vulkaninfo),
            ("hesper-guest selftest passes", Lab::selftest),
            (
                "pictures rendered in the guest equal the host's own",
                Lab::graphics,
            ),
            (
                "memory that two processes share is seen by the CPU and by shaders of both",
                Lab::share,
            ),
            ("work computes and every result is right", Lab::work),
            (
                "a steady stream of submissions needs hardly a kick",
                Lab::stream,
            ),
            (
                "of four processes one is killed and the others are right",
                Lab::four,
            ),
            (
                "a program past the VM's memory quota gets the error, and another goes on",
                Lab::quota,
            ),
            (
                "a picture on the display is what QEMU's screendump shows",
                Lab::screendump,
            ),
            (
                "a picture on the second display is on that one only",
                Lab::screendump_second,
            ),
            (
                "a guest's blob on the display is what screendump shows",
                Lab::screendump_blob,
            ),
            (
                "a display asked for another size has it in the guest and in its pictures",
                Lab::resize,
            ),
            (
                "hesperd is killed: programs end, the display stays, new programs run",
                Lab::reopen,
            ),
            (
                "hesperd is killed while the guest is idle: nobody notices",
                Lab::reopen_idle,
            ),
            ("the guest's driver is unbound and bound again", Lab::rebind),
            ("the guest reboots", Lab::reboot),
            ("QEMU resets the guest", Lab::reset),
            (
                "SIGTERM ends a working hesperd within a second, and the next one serves",
                Lab::terminate,
            ),
        ];
        for (name, case) in cases {
            context.case(name, || {
                with_logs(case(&mut lab), &[&dir]).map(|()| Outcome::Passed)
            });
        }
        Ok(())
    }
}

/// The VM, and what it takes to look behind it.
struct Lab {
    config: Config,
    vm: Vm,
    control: PathBuf,
    guest_tool: PathBuf,
    /// How long `work` runs by itself.
    work: Duration,
    boots: usize,
}

impl Lab {
    fn features(&mut self) -> Result<()> {
        let log = self.vm.run_ok("dmesg | grep -F '[drm]'", LIMIT)?;
        let missing: Vec<_> = [
            "+virgl",
            "+edid",
            "+resource_blob",
            "+host_visible",
            "+context_init",
        ]
        .into_iter()
        .filter(|feature| !log.contains(feature))
        .collect();
        expect(missing.is_empty(), || {
            format!("{missing:?} missing in: {log}")
        })?;
        let edid = "wc -c </sys/class/drm/card0-Virtual-1/edid";
        let bytes = self.vm.run_ok(edid, LIMIT)?;
        expect(
            bytes.trim().parse().is_ok_and(|bytes: u32| bytes >= 128),
            || format!("EDID of {bytes} bytes"),
        )
    }

    fn vulkaninfo(&mut self) -> Result<()> {
        // Into a file: the serial port is slower than the program.
        let command = "vulkaninfo >/tmp/info 2>&1 && wc -l </tmp/info && \
                       grep -m 1 deviceName /tmp/info && grep -c 'VK_KHR_' /tmp/info";
        let text = self.vm.run_ok(command, LIMIT)?;
        let lines = text.lines().next().and_then(|n| n.trim().parse().ok());
        expect(
            text.contains("Hesper (") && lines.is_some_and(|lines: u64| lines > 500),
            || format!("vulkaninfo says: {text}"),
        )?;
        let name = text.lines().find(|line| line.contains("deviceName"));
        println!("vm: {}", name.unwrap_or_default().trim());
        self.at_rest()
    }

    fn selftest(&mut self) -> Result<()> {
        self.vm.run_ok("hesper-guest selftest 2>&1", LIMIT)?;
        self.at_rest()
    }

    fn graphics(&mut self) -> Result<()> {
        let digests = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| line.contains("digest"))
                .map(str::to_owned)
                .collect()
        };
        let there = self
            .vm
            .run_ok("hesper-guest selftest --graphics 2>&1", LIMIT)?;
        let here = process::output(
            Command::new(&self.guest_tool)
                .args(["selftest", "--graphics"])
                .env("VK_DRIVER_FILES", prebuilt::driver()),
        )?;
        let (there, here) = (digests(&there), digests(&here));
        expect(here.len() > 5 && here == there, || {
            format!("The host's pictures: {here:#?}\nThe guest's: {there:#?}")
        })?;
        self.at_rest()
    }

    fn share(&mut self) -> Result<()> {
        let told = self.vm.run_ok("hesper-guest share --import 2>&1", LIMIT)?;
        expect(told.contains("share: PASS"), || told)?;
        self.at_rest()
    }

    fn work(&mut self) -> Result<()> {
        let before = self.queue()?;
        start_work(&mut self.vm, "--seconds 600")?;
        work_goes_on(&mut self.vm, LIMIT)?;
        std::thread::sleep(self.work);
        let figures = finish_work(&mut self.vm)?;
        let after = self.queue()?;
        let submits = figures["submits"].as_f64().unwrap_or(f64::NAN);
        let per_thousand = |name: &str| {
            let count = |queue: &Value| queue[name].as_f64().unwrap_or(f64::NAN);
            (count(&after) - count(&before)) / submits * 1e3
        };
        println!("vm: work: {figures}");
        println!(
            "vm: per 1000 submits: {:.1} kicks, {:.1} interrupts, {:.1} requests on the queues",
            per_thousand("kicks"),
            per_thousand("interrupts"),
            per_thousand("requests"),
        );
        self.at_rest()
    }

    /// Rings are polled: only a guest that paused must wake its worker. Counted over a long run less a short one, which
    /// has the same start and end.
    fn stream(&mut self) -> Result<()> {
        const SHORT: u32 = 2;
        const LONG: u32 = 22;
        let mut counts = |repeat: u32| -> Result<[f64; 2]> {
            let before = self.queue()?;
            let bench = format!("hesper-guest bench --only 'small submits' --repeat {repeat}");
            self.vm.run_ok(&bench, LIMIT)?;
            let after = self.queue()?;
            let count = |queue: &Value, name: &str| queue[name].as_f64().unwrap_or(f64::NAN);
            Ok(["kicks", "interrupts"].map(|name| count(&after, name) - count(&before, name)))
        };
        // A machine that runs other things as well takes the guest off its CPU for longer than a ring waits: that is no
        // steady stream, and is tried again.
        let mut seen = Vec::new();
        while seen.len() < STREAMS && seen.last().is_none_or(|kicks| *kicks > KICKS_MAX) {
            let (short, long) = (counts(SHORT)?, counts(LONG)?);
            // Each repetition is 1000 submissions.
            let [kicks, interrupts] =
                [0, 1].map(|at| (long[at] - short[at]) / f64::from(LONG - SHORT));
            println!(
                "vm: per 1000 submits in a steady stream: {kicks:.1} kicks, {interrupts:.1} interrupts"
            );
            seen.push(kicks);
        }
        expect(seen.last().is_some_and(|kicks| *kicks <= KICKS_MAX), || {
            format!("kicks per 1000 submits, run after run: {seen:.1?}")
        })?;
        self.at_rest()
    }

    fn four(&mut self) -> Result<()> {
        let start = "for i in 1 2 3 4; do \
                     hesper-guest work --seconds 10 --seed $i --buffers 2 >/tmp/w$i 2>&1 & \
                     echo $! >/tmp/p$i; done; sleep 5; kill -9 $(cat /tmp/p3); echo killed";
        self.vm.run_ok(start, LIMIT)?;
        self.vm.run_ok(
            "for i in 1 2 4; do while kill -0 $(cat /tmp/p$i) 2>/dev/null; do sleep 0.3; done; done",
            LIMIT,
        )?;
        for number in [1, 2, 4] {
            let log = self.vm.run_ok(&format!("cat /tmp/w{number}"), LIMIT)?;
            let figures = work_done(&log)?;
            expect(
                figures["errors"] == 0.0 && figures["rounds"].as_f64() >= Some(1.0),
                || format!("Process {number}: {figures}"),
            )?;
        }
        self.selftest()
    }

    fn quota(&mut self) -> Result<()> {
        start_work(&mut self.vm, "--seconds 600")?;
        work_goes_on(&mut self.vm, LIMIT)?;
        // Mesa believes in allocations before they are made, unless it is told not to.
        let greedy = "VN_PERF=no_async_mem_alloc hesper-guest work --rounds 1 --buffers 32 --buffer-size 8388608 2>&1";
        let output = self.vm.run(greedy, LIMIT)?;
        expect(
            output.status != 0 && output.text.contains("ERROR_OUT_OF_DEVICE_MEMORY"),
            || format!("256 MiB of a quota of {DEVICE_MEMORY_MIB}: {}", output.text),
        )?;
        // One that believes in them, too, goes on.
        let output = self.vm.run("hesper-guest out-of-memory 2>&1", LIMIT)?;
        expect(
            output.status == 0 && output.text.contains("out-of-memory: PASS"),
            || format!("memory that no device has: {}", output.text),
        )?;
        work_goes_on(&mut self.vm, LIMIT)?;
        finish_work(&mut self.vm)?;
        self.at_rest()
    }

    fn screendump(&mut self) -> Result<()> {
        display::show(&mut self.vm, 0, "")?;
        display::shows_pattern(&mut self.vm, 0, 0)?;
        display::hide(&mut self.vm)
    }

    fn screendump_second(&mut self) -> Result<()> {
        display::show(&mut self.vm, 1, "")?;
        display::shows_pattern(&mut self.vm, 1, 0)?;
        let first = self.vm.screendump()?;
        expect(first.check_pattern(0).is_err(), || {
            "Both displays show the same".into()
        })?;
        display::hide(&mut self.vm)
    }

    fn screendump_blob(&mut self) -> Result<()> {
        display::show(&mut self.vm, 0, "--blob --rendered")?;
        display::shows_pattern(&mut self.vm, 0, RENDERED_SIDE)?;
        let picture = self.vm.screendump()?;
        let corner: Vec<_> = (0..RENDERED_SIDE).map(|at| picture.pixel(at, at)).collect();
        expect(corner.iter().any(|pixel| *pixel != corner[0]), || {
            format!("What was rendered is plain: {:?}", corner[0])
        })?;
        display::hide(&mut self.vm)
    }

    fn resize(&mut self) -> Result<()> {
        for display in 0..DISPLAYS {
            display::resize(&mut self.vm, "vm", display)?;
        }
        self.at_rest()
    }

    fn reopen(&mut self) -> Result<()> {
        display::show(&mut self.vm, 0, "")?;
        display::shows_pattern(&mut self.vm, 0, 0)?;
        let work = "(hesper-guest work --seconds 3600 >/tmp/work.log 2>&1; \
                    echo $? >/tmp/work.rc) & echo started";
        self.vm
            .run_ok(&format!("rm -f /tmp/work.rc; {work}"), LIMIT)?;
        work_goes_on(&mut self.vm, LIMIT)?;

        let killed = Instant::now();
        self.vm.restart_backend(&self.config)?;
        display::shows_pattern(&mut self.vm, 0, 0)?;
        self.vm.run_ok(
            "while [ ! -s /tmp/work.rc ]; do sleep 0.1; done",
            LOSS.saturating_sub(killed.elapsed()),
        )?;
        let ended = killed.elapsed();
        let status = self.vm.run_ok("cat /tmp/work.rc", LIMIT)?;
        println!(
            "vm: the program ended {:.1} s after hesperd was killed, status {}",
            ended.as_secs_f64(),
            status.trim()
        );
        expect(status.trim() != "0", || "It did not notice".into())?;
        let selftest = "hesper-guest selftest 2>&1";
        self.vm.run_ok(selftest, LIMIT)?;
        display::shows_pattern(&mut self.vm, 0, 0)?;
        // The console comes back from the tables, and the next picture replaces it.
        display::hide(&mut self.vm)?;
        let console = self.vm.screendump()?;
        expect(console.check_pattern(0).is_err(), || {
            "The picture stays when its program is gone".into()
        })?;
        self.screendump()?;
        self.at_rest()
    }

    fn reopen_idle(&mut self) -> Result<()> {
        for _ in 0..3 {
            self.vm.restart_backend(&self.config)?;
        }
        self.selftest()?;
        self.screendump()
    }

    fn rebind(&mut self) -> Result<()> {
        let command = "cd /sys/bus/virtio/drivers/virtio_gpu && d=$(ls -d virtio[0-9]*) && \
                       echo $d >unbind && [ ! -e /dev/dri/renderD128 ] && echo $d >bind && \
                       while [ ! -e /dev/dri/renderD128 ]; do sleep 0.1; done";
        self.vm.run_ok(command, LIMIT)?;
        self.selftest()
    }

    fn reboot(&mut self) -> Result<()> {
        self.vm
            .run_ok("(sleep 0.5; reboot -f) >/dev/null 2>&1 & echo", LIMIT)?;
        self.up_again()
    }

    fn reset(&mut self) -> Result<()> {
        start_work(&mut self.vm, "--seconds 3600")?;
        work_goes_on(&mut self.vm, LIMIT)?;
        self.vm.qmp().execute("system_reset", json!({}))?;
        self.up_again()
    }

    fn terminate(&mut self) -> Result<()> {
        start_work(&mut self.vm, "--seconds 3600")?;
        work_goes_on(&mut self.vm, LIMIT)?;
        let backend = self
            .vm
            .backend()
            .ok_or(Error::Guest("No back end".into()))?;
        backend.signal(Signal::SIGTERM)?;
        let status = backend.wait_within(Duration::from_secs(1))?;
        expect(status.success(), || format!("hesperd ended with {status}"))?;
        self.vm.restart_backend(&self.config)?;
        self.vm.run_ok(
            "while pidof hesper-guest >/dev/null; do sleep 0.1; done",
            LOSS,
        )?;
        self.selftest()
    }

    fn up_again(&mut self) -> Result<()> {
        self.boots += 1;
        self.vm.booted_again(self.boots)?;
        self.selftest()
    }

    fn queue(&self) -> Result<Value> {
        Ok(status(&self.control)?["queue"].clone())
    }

    /// Nothing runs in the guest: hesperd holds no context, no blob and nothing of the window.
    fn at_rest(&mut self) -> Result<()> {
        let mut last = Value::Null;
        let rest = wait_until(AFTERMATH, "hesperd to come to rest", || {
            last = status(&self.control)?;
            Ok(last["contexts"] == json!([]) && last["resources"] == 0 && last["window_used"] == 0)
        });
        rest.map_err(|error| Error::Guest(format!("{error}: {last}")))
    }
}

fn status(control: &Path) -> Result<Value> {
    ask(control, json!({"command": "status"}))
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Guest(what()))
    }
}
