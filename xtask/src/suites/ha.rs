//! `ha`: a protected guest is taken over by the standby when its GPU hangs, and goes on computing.

use std::time::Duration;

use serde_json::json;

use super::world::{World, finish_work, start_work, work_goes_on};
use super::{Context, Outcome, Suite};
use crate::error::{Error, Result};
use crate::protected::{Protected, Takeover, Victim, now_ms};

const LIMIT: Duration = Duration::from_secs(120);

pub struct Ha;

impl Suite for Ha {
    fn name(&self) -> &'static str {
        "ha"
    }

    fn about(&self) -> &'static str {
        "a standby takes a working guest over"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let rounds = if context.full { 20 } else { 5 };
        let world = World::new()?;
        let mut all = Vec::new();
        for round in 1..=rounds {
            context.case(&format!("GPU hangs, takeover {round}"), || {
                // Anywhere between two epochs, not just behind one.
                let wait = Duration::from_millis(370 * round % 1000);
                let takeover = takeover(&world, &format!("hang{round}"), wait, |protected| {
                    protected
                        .hesperd_ask(json!({"command": "inject", "fault": "hang"}))
                        .map(drop)
                })?;
                all.push(takeover);
                Ok(Outcome::Passed)
            });
        }
        for (victim, name) in [
            (Victim::Hesperd, "hesperd"),
            (Victim::Guard, "guard and QEMU"),
        ] {
            context.case(&format!("{name} killed, takeover"), || {
                takeover(
                    &world,
                    &format!("kill{victim:?}"),
                    Duration::ZERO,
                    |protected| {
                        protected.kill(victim);
                        Ok(())
                    },
                )?;
                Ok(Outcome::Passed)
            });
        }
        let figures: [(&str, Figure); 5] = [
            ("detection", |t| t.detect_ms),
            ("takeover after detection", |t| t.takeover_ms),
            ("of it restore", |t| t.restore_ms),
            ("downtime", |t| t.downtime_ms),
            ("rolled back", |t| t.rolled_back_ms),
        ];
        for (name, figure) in figures {
            let mut values: Vec<f64> = all.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            if let (Some(median), Some(max)) = (values.get(values.len() / 2), values.last()) {
                println!("ha: {name}: median {median:.0} ms, max {max:.0} ms");
            }
        }
        Ok(())
    }
}

/// A figure of a takeover, ms.
type Figure = fn(&Takeover) -> f64;

/// One takeover: a working guest, a fault, and the guest's own verification afterwards.
fn takeover(
    world: &World,
    name: &str,
    wait: Duration,
    fault: impl FnOnce(&mut Protected) -> Result<()>,
) -> Result<Takeover> {
    let mut protected = Protected::start(world, name)?;
    let done = || {
        protected.vm.booted()?;
        protected.protect("1s")?;
        start_work(&mut protected.vm, "--seconds 3600")?;
        work_goes_on(&mut protected.vm, LIMIT)?;
        // The work itself must be in what the standby holds.
        protected.more_epochs(2)?;
        std::thread::sleep(wait);
        let fault_ms = now_ms();
        fault(&mut protected)?;
        let (mut vm, takeover) = protected.taken_over(fault_ms)?;
        work_goes_on(&mut vm, LIMIT)?;
        let figures = finish_work(&mut vm)?;
        println!(
            "ha: {name}: detected {:.0} ms, fenced {:.0} ms, restored {:.0} ms, downtime {:.0} ms, rolled back {:.0} ms; \
             work {figures}",
            takeover.detect_ms,
            takeover.fence_ms,
            takeover.restore_ms,
            takeover.downtime_ms,
            takeover.rolled_back_ms
        );
        Ok(takeover)
    };
    let outcome: Result<Takeover> = done();
    outcome.map_err(|error| Error::Guest(format!("{error}\n{}", protected.logs())))
}
