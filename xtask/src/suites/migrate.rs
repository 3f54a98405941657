//! `migrate`: a working guest moves between two QEMUs by a plain QMP `migrate`.

use std::time::Duration;

use super::world::{World, finish_work, start_work, with_logs, work_goes_on};
use super::{Context, Outcome, Suite};
use crate::error::Result;
use crate::vm::Vm;

const LIMIT: Duration = Duration::from_secs(180);

pub struct Migrate;

impl Suite for Migrate {
    fn name(&self) -> &'static str {
        "migrate"
    }

    fn about(&self) -> &'static str {
        "a working guest moves by plain QMP migrate"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let hops = if context.full { 20 } else { 5 };
        let world = World::new()?;
        let config = world.config("0", &[])?;
        let mut dir = config.dir.clone();
        let mut vm = Vm::start(&config)?;
        with_logs(vm.booted(), &[&dir])?;
        start_work(&mut vm, "--seconds 3600")?;
        with_logs(work_goes_on(&mut vm, LIMIT), &[&dir])?;
        let mut downtimes = Vec::new();
        for hop in 1..=hops {
            let mut next = world.config(&hop.to_string(), &[])?;
            next.incoming = Some("defer".into());
            let next_dir = next.dir.clone();
            let mut destination = Vm::start(&next)?;
            let mut moved = None;
            context.case(&format!("hop {hop}: work goes on behind it"), || {
                let report = with_logs(vm.migrate_to(&mut destination, LIMIT), &[&dir, &next_dir])?;
                moved = Some(report.clone());
                with_logs(work_goes_on(&mut destination, LIMIT), &[&next_dir])?;
                Ok(Outcome::Passed)
            });
            let Some(report) = moved else {
                break;
            };
            let total = report["total-time"].as_u64().unwrap_or(0);
            // QEMU reports 0 now and then, which can't be: no figure then.
            match report["downtime"].as_u64().filter(|ms| *ms > 0) {
                Some(downtime) => {
                    println!("migrate: hop {hop}: downtime {downtime} ms, total {total} ms");
                    downtimes.push(downtime);
                }
                None => println!("migrate: hop {hop}: downtime not told, total {total} ms"),
            }
            vm = destination;
            dir = next_dir;
        }
        context.case("work was right all the way", || {
            let figures = with_logs(finish_work(&mut vm), &[&dir])?;
            println!("migrate: work: {figures}");
            Ok(Outcome::Passed)
        });
        downtimes.sort_unstable();
        if let (Some(median), Some(max)) = (downtimes.get(downtimes.len() / 2), downtimes.last()) {
            println!("migrate: downtime median {median} ms, max {max} ms");
        }
        Ok(())
    }
}
