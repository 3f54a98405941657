//! Pictures on a guest's displays, and their sizes.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::vm::{Vm, wait_until};
use crate::vnc::{self, Vnc};

const LIMIT: Duration = Duration::from_secs(120);
/// How long what the guest has done may take until QEMU shows it, or the other way round.
const AFTERMATH: Duration = Duration::from_secs(30);
/// What no list of usual modes has: smaller than a display is at first, and larger.
const SIZES: [(u16, u16); 2] = [(1096, 616), (1448, 904)];

/// Starts `hesper-guest show` in the guest and waits until it shows.
pub fn show(vm: &mut Vm, display: u32, options: &str) -> Result<()> {
    let command = format!(
        "rm -f /tmp/show; \
         hesper-guest show --scanout {display} {options} >/tmp/show 2>&1 & echo $! >/tmp/show.pid; \
         while ! grep -q '^show: ' /tmp/show; do kill -0 $(cat /tmp/show.pid) || \
         {{ cat /tmp/show; exit 1; }}; sleep 0.1; done"
    );
    vm.run_ok(&command, LIMIT).map(drop)
}

/// Ends it; the guest's console shows again.
pub fn hide(vm: &mut Vm) -> Result<()> {
    let command = "kill $(cat /tmp/show.pid); \
                   while kill -0 $(cat /tmp/show.pid) 2>/dev/null; do sleep 0.1; done";
    vm.run_ok(command, LIMIT).map(drop)
}

/// A display comes to show the pattern, but for a corner; QEMU hears of it a little after the guest.
pub fn shows_pattern(vm: &mut Vm, display: u32, corner: usize) -> Result<()> {
    let started = Instant::now();
    loop {
        match vm.screendump_of(display)?.check_pattern(corner) {
            Err(error) if started.elapsed() > AFTERMATH => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
            Ok(()) => return Ok(()),
        }
    }
}

/// Whoever looks at a display asks for other sizes, and gets pictures of these sizes. The VM has a server for it
/// ([`vnc::arguments`]); all displays but the first are off until then.
pub fn resize(vm: &mut Vm, suite: &str, display: u32) -> Result<()> {
    let mut viewer = Vnc::connect(&vnc::socket(vm.dir(), display), LIMIT)?;
    for (width, height) in SIZES {
        let size = format!("{width}x{height}");
        let before = preferred_mode(vm, display)?;
        let asked = Instant::now();
        viewer.ask_size(width, height)?;
        // Nobody in the guest asks for its modes: its driver heard of the event, and its console looked which of them fit
        // into the console's buffer.
        wait_until(AFTERMATH, "the guest to hear of another size", || {
            Ok(preferred_mode(vm, display)? != before)
        })?;
        println!(
            "{suite}: display {display} of {before:?} is to be {size}: heard after {:.2} s",
            asked.elapsed().as_secs_f64()
        );
        show(vm, display, "")?;
        let mode = preferred_mode(vm, display)?;
        if mode != size {
            return Err(Error::Guest(format!("{size} asked, {mode} preferred")));
        }
        shows_pattern(vm, display, 0)?;
        let picture = vm.screendump_of(display)?;
        if (picture.width, picture.height) != (width.into(), height.into()) {
            return Err(Error::Guest(format!(
                "{size} asked, {} × {} shown",
                picture.width, picture.height
            )));
        }
        viewer.wait_size((width, height), LIMIT)?;
        hide(vm)?;
    }
    Ok(())
}

/// The first one that the guest's kernel lists; none of a display that is off.
fn preferred_mode(vm: &mut Vm, display: u32) -> Result<String> {
    let modes = format!("/sys/class/drm/card0-Virtual-{}/modes", display + 1);
    let first = vm.run_ok(&format!("head -n 1 {modes}"), LIMIT)?;
    Ok(first.trim().to_owned())
}
