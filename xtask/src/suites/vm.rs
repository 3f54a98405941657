//! `vm`: a stock Debian guest on our QEMU device and hesperd.

use std::time::Duration;

use super::world::{World, finish_work, start_work, with_logs, work_goes_on};
use super::{Context, Outcome, Suite};
use crate::error::{Error, Result};
use crate::vm::Vm;

const LIMIT: Duration = Duration::from_secs(120);

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
        let config = world.config("vm", &[])?;
        let dir = config.dir.clone();
        let mut vm = Vm::start(&config)?;
        with_logs(vm.booted(), &[&dir])?;
        let mut case = |name: &str, run: &dyn Fn(&mut Vm) -> Result<()>| {
            context.case(name, || {
                with_logs(run(&mut vm), &[&dir]).map(|()| Outcome::Passed)
            });
        };
        case("the guest's kernel sees every feature", &|vm| {
            let log = vm.run_ok("dmesg | grep -F '[drm]'", LIMIT)?;
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
            if missing.is_empty() {
                Ok(())
            } else {
                Err(Error::Guest(format!("{missing:?} missing in: {log}")))
            }
        });
        case("vulkaninfo names the device", &|vm| {
            let info = vm.run_ok("vulkaninfo --summary 2>&1", LIMIT)?;
            if info.contains("Hesper (llvmpipe") {
                Ok(())
            } else {
                Err(Error::Guest(info))
            }
        });
        case("hesper-guest selftest passes", &|vm| {
            vm.run_ok("hesper-guest selftest 2>&1", LIMIT).map(drop)
        });
        case("work computes for a while and everything is right", &|vm| {
            start_work(vm, "--seconds 100")?;
            work_goes_on(vm, LIMIT)?;
            std::thread::sleep(Duration::from_secs(8));
            let figures = finish_work(vm)?;
            println!("vm: work: {figures}");
            Ok(())
        });
        Ok(())
    }
}
