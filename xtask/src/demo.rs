//! `cargo xtask demo`: a guest's GPU work survives a GPU hang, to watch.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cache;
use crate::error::{Error, FileContext, Result};
use crate::protected::{Protected, Takeover, now_ms};
use crate::setup;
use crate::suites::world::{World, finish_work, start_work, work_goes_on};
use crate::vm::{RENDERED_SIDE, Vm};

const LIMIT: Duration = Duration::from_secs(180);
/// How often the guest is checkpointed.
const INTERVAL: &str = "1s";
/// Epochs that the audience sees before the fault.
const EPOCHS_SHOWN: u64 = 4;

/// Says what happens, with the time since the start.
struct Story(Instant);

impl Story {
    fn tell(&self, text: impl AsRef<str>) {
        println!(
            "[{:6.1} s] {}",
            self.0.elapsed().as_secs_f64(),
            text.as_ref()
        );
    }
}

/// Runs the demonstration.
pub fn run() -> Result<()> {
    let story = Story(Instant::now());
    println!("Hesper: the GPU work of a virtual machine survives a GPU hang.\n");
    story.tell("Setting up what is missing: packages, programs, QEMU, the guest");
    setup::run()?;
    let world = World::new()?;
    story.tell("Starting two hosts' worth of processes: hesperd, guard, QEMU, agent | standby, hesperd, QEMU");
    let mut protected = Protected::start(&world, "demo")?;
    let shown = show(&story, &mut protected);
    match shown {
        Ok(()) => {
            story.tell("Done.");
            Ok(())
        }
        Err(error) => Err(Error::Guest(format!("{error}\n{}", protected.logs()))),
    }
}

fn show(story: &Story, protected: &mut Protected) -> Result<()> {
    protected.vm.booted()?;
    let device = protected.vm.run_ok(
        "vulkaninfo --summary 2>/dev/null | grep deviceName | head -n 1",
        LIMIT,
    )?;
    let name = device.split_once('=').map_or("", |(_, name)| name.trim());
    story.tell(format!("A stock Debian guest is up; its GPU is: {name}"));
    show_picture(story, &mut protected.vm)?;
    start_work(&mut protected.vm, "--seconds 3600")?;
    work_goes_on(&mut protected.vm, LIMIT)?;
    story.tell("In it, `hesper-guest work` computes: every result is known to the CPU and checked");
    story.tell(format!(
        "Protecting it: a checkpoint to the standby every {INTERVAL}"
    ));
    protected.protect(INTERVAL)?;
    let before = protected.more_epochs(EPOCHS_SHOWN)?;
    story.tell(format!(
        "Protected: epoch {} is at the standby; checkpoint pause median {} ms, max {} ms",
        before["record"]["acked"],
        ms(&before["pause_us"]["median"]),
        ms(&before["pause_us"]["max"]),
    ));
    // Somewhere between two epochs.
    std::thread::sleep(Duration::from_millis(600));
    let status = protected.hesperd_ask(json!({"command": "status"}))?;
    let fault_ms = now_ms();
    protected.hesperd_ask(json!({"command": "inject", "fault": "hang"}))?;
    story.tell("NOW: the GPU hangs (a dispatch that never ends)");
    let (mut vm, takeover) = protected.taken_over(fault_ms)?;
    let round = work_goes_on(&mut vm, LIMIT)?;
    let acked = protected.acked();
    timeline(&takeover, acked);
    story.tell(format!(
        "The guest computes on at the standby (round {round})"
    ));
    std::thread::sleep(Duration::from_secs(3));
    let figures = finish_work(&mut vm)?;
    story.tell(format!(
        "work verified: {} rounds, {} submits, {} bytes compared, {} errors",
        whole(&figures["rounds"]),
        whole(&figures["submits"]),
        whole(&figures["verified_bytes"]),
        whole(&figures["errors"]),
    ));
    let submissions = &status["contexts"][0][2]["submissions"];
    story.tell(format!(
        "(the primary's hesperd had executed {submissions} submissions for it when it hung)"
    ));
    Ok(())
}

/// Has the guest render a picture and show it on its display, and keeps what QEMU sees there.
fn show_picture(story: &Story, vm: &mut Vm) -> Result<()> {
    vm.run_ok(
        "hesper-guest show --rendered >/tmp/show 2>&1 & \
         while ! grep -q '^show: ' /tmp/show; do sleep 0.1; pidof hesper-guest >/dev/null || exit 1; done",
        LIMIT,
    )?;
    // QEMU hears of a new picture a little after the guest.
    let started = Instant::now();
    let picture = loop {
        let picture = vm.screendump()?;
        match picture.check_pattern(RENDERED_SIDE) {
            Ok(()) => break picture,
            Err(error) if started.elapsed() > LIMIT => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let path = cache::repository().join("target/demo-screen.ppm");
    std::fs::write(&path, picture.to_ppm()).at("write", &path)?;
    story.tell(format!(
        "It rendered a triangle onto its display; QEMU's screendump of it: {}",
        path.display()
    ));
    vm.run_ok(
        "kill $(pidof hesper-guest); while pidof hesper-guest >/dev/null; do sleep 0.1; done",
        LIMIT,
    )?;
    Ok(())
}

fn timeline(takeover: &Takeover, acked: Option<u64>) {
    let row = |after: f64, what: &str| println!("    {after:+8.0} ms  {what}");
    let running = takeover.downtime_ms;
    println!("\n    timeline");
    row(
        -takeover.rolled_back_ms,
        &format!(
            "epoch {} taken: what the standby goes on from",
            takeover.timeline["epoch"]
        ),
    );
    row(0.0, "the GPU hangs");
    row(takeover.detect_ms, "detected: hesperd sees no progress");
    row(
        takeover.detect_ms + takeover.fence_ms,
        "fenced: the primary's QEMU is dead, confirmed",
    );
    row(running, "restored: the guest runs at the standby");
    let epoch = takeover.timeline["epoch"].as_u64();
    let lost = match (acked, epoch) {
        (Some(acked), Some(epoch)) => acked.saturating_sub(epoch).to_string(),
        _ => "?".into(),
    };
    println!(
        "\n    downtime {running:.0} ms (detection {:.0} ms, takeover after it {:.0} ms)\n    \
         acked epochs lost {lost}, work rolled back {:.0} ms\n",
        takeover.detect_ms, takeover.takeover_ms, takeover.rolled_back_ms
    );
}

fn whole(value: &Value) -> String {
    value
        .as_f64()
        .map_or("?".into(), |value| format!("{value:.0}"))
}

fn ms(us: &Value) -> String {
    us.as_f64()
        .map_or("?".into(), |us| format!("{:.1}", us / 1e3))
}
