//! `stock`: QEMU as Debian ships it. Full runs only: they fetch another release's packages.

use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::display;
use super::kvm::{Line, UP_LIMIT, build_guest};
use super::world::{World, finish_work, start_work, with_logs, work_goes_on};
use super::{Context, Outcome, Suite};
use crate::error::{Error, FileContext, Result};
use crate::guest::Guest;
use crate::process;
use crate::qemu::{self, EMULATOR};
use crate::root::{Recipe, Root};
use crate::vm::{Accelerator, BOOT_LIMIT, Config, Device, Vm, wait_until};
use crate::vnc;

/// An unmodified QEMU with vhost-user's shared memory messages (11.1 or newer).
const QEMU: Recipe = Recipe {
    name: "qemu-backports",
    suites: &["trixie", "trixie-backports"],
    packages: &["qemu-system-x86"],
};
/// Takes the GPU from its driver in the guest and gives it back.
const REBIND: &str = "d=/sys/bus/virtio/drivers/virtio_gpu; n=$(cd $d && ls -d virtio*); \
                      echo $n >$d/unbind && echo $n >$d/bind && ls /dev/dri/renderD*";
/// Cases of the bare-metal guest that need what QEMU's generic device lacks: EDID, a display, a way into the arena, migration.
const LACKING: [&str; 7] = [
    "the device has every feature and a capset",
    "what is written arrives in the arena, and back",
    "the display tells its size",
    "the display has an EDID",
    "a 2D image is shown",
    "a blob is shown",
    "a migration carries what is written meanwhile",
];
/// The bare-metal guest's last case but one. The last one resets the device under a map, and QEMU 11.1.3 may crash then
/// (docs/limits.md).
const LAST: &str = "a hostile ring costs its context only";
const LIMIT: Duration = Duration::from_secs(180);

pub struct Stock;

impl Suite for Stock {
    fn name(&self) -> &'static str {
        "stock"
    }

    fn about(&self) -> &'static str {
        "a guest computes in QEMUs as Debian ships them"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        if !context.full {
            let why = "it fetches another release's packages; --full runs it".to_owned();
            context.record("everything", Outcome::Skipped(why), 0.0);
            return Ok(());
        }
        let world = World::new()?;
        let recent = QEMU.build(false)?;
        shared_memory(context, &world, &recent)?;
        bare_metal(context, &world, &recent)?;
        module(context, &world, &recent)
    }
}

/// Has a VM run an emulator of a root folder, with that folder's firmware.
fn run_from(config: &mut Config, root: Root) {
    config.qemu = EMULATOR.into();
    for dir in ["usr/share/qemu", "usr/share/seabios"] {
        config.arguments.push("-L".into());
        config.arguments.push(root.path(dir).into());
    }
    config.root = Some(root);
}

/// A VM with QEMU's own generic vhost-user device.
fn standard(world: &World, root: &Root, name: &str, more: &[&str]) -> Result<Config> {
    let mut config = world.config(name, more)?;
    config.backend = config.backend.map(|backend| backend.without_window());
    config.device = Device::Standard;
    run_from(&mut config, root.clone());
    Ok(config)
}

/// hesperd's window in QEMU's own generic vhost-user device.
fn shared_memory(context: &mut Context, world: &World, root: &Root) -> Result<()> {
    println!("stock: QEMU {}", root.version("qemu-system-x86")?);
    let config = standard(world, root, "shm", &[])?;
    let dir = config.dir.clone();
    let mut vm = Vm::start(&config)?;
    with_logs(vm.booted(), &[&dir])?;
    let mut case = |name: &str, run: &dyn Fn(&mut Vm) -> Result<()>| {
        context.case(name, || {
            with_logs(run(&mut vm), &[&dir]).map(|()| Outcome::Passed)
        });
    };

    case("the guest's kernel sees a window and contexts", &|vm| {
        let log = vm.run_ok("dmesg | grep -F '[drm]'", LIMIT)?;
        for feature in ["+virgl", "+resource_blob", "+host_visible", "+context_init"] {
            if !log.contains(feature) {
                return Err(Error::Guest(format!("{feature} missing in: {log}")));
            }
        }
        Ok(())
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
    case("work goes on over stop and cont of the VM", &|vm| {
        start_work(vm, "--seconds 100")?;
        work_goes_on(vm, LIMIT)?;
        for _ in 0..5 {
            vm.qmp().execute("stop", json!({}))?;
            std::thread::sleep(Duration::from_millis(300));
            vm.qmp().execute("cont", json!({}))?;
            work_goes_on(vm, LIMIT)?;
        }
        let figures = finish_work(vm)?;
        println!("stock: work: {figures}");
        Ok(())
    });
    case(
        "status says that it can't be migrated, and QEMU refuses",
        &|vm| {
            let status = status(&world.hesper, &dir)?;
            let why = status["not_migratable"].as_str().unwrap_or_default();
            if !why.contains("vhost-user-vgpu-pci") {
                return Err(Error::Guest(format!("Status: {status}")));
            }
            let uri = format!("file:{}", dir.join("state").display());
            match vm.qmp().execute("migrate", json!({"uri": uri})) {
                Err(Error::Qmp(why)) => {
                    println!("stock: migrate: {why}");
                    Ok(())
                }
                other => Err(Error::Qmp(format!("The migration began: {other:?}"))),
            }
        },
    );
    case("the driver unbinds and binds again", &|vm| {
        vm.run_ok(REBIND, LIMIT)?;
        vm.run_ok("hesper-guest selftest 2>&1", LIMIT).map(drop)
    });
    // Not in the middle of work: QEMU 11.1.3 crashes when a device that is reset still has maps (docs/limits.md).
    case("the VM resets", &|vm| {
        reset(vm)?;
        vm.run_ok("hesper-guest selftest 2>&1", LIMIT).map(drop)
    });
    Ok(())
}

/// The bare-metal guest of suite kvm: under KVM each of its maps is a memory slot.
fn bare_metal(context: &mut Context, world: &World, root: &Root) -> Result<()> {
    let start = |accelerator, name| -> Result<Vm> {
        let mut config = standard(world, root, name, &["--window-size", "64"])?;
        config.guest = Guest {
            kernel: config.dir.join("guest.elf"),
            initrd: PathBuf::new(),
        };
        build_guest(&config.guest.kernel)?;
        config.accelerator = accelerator;
        let mut vm = Vm::start(&config)?;
        with_logs(vm.wait_console("UP\n", UP_LIMIT), &[&config.dir])?;
        Ok(vm)
    };
    let kvm = File::options().read(true).write(true).open("/dev/kvm");
    let kvm = kvm
        .map_err(|error| error.to_string())
        .and_then(|_| start(Accelerator::Kvm, "kvm").map_err(|error| error.to_string()));
    let (mut vm, accelerator) = match kvm {
        Ok(vm) => (vm, "kvm"),
        Err(why) => {
            let why = format!("{why}; TCG runs it");
            context.record("KVM runs the bare-metal guest", Outcome::Skipped(why), 0.0);
            (start(Accelerator::Tcg, "tcg")?, "tcg")
        }
    };
    let dir = vm.dir().to_owned();
    with_logs(follow(context, &mut vm, accelerator), &[&dir])
}

/// Records the guest's cases until [`LAST`]. What it asks the host for, it can't have.
fn follow(context: &mut Context, vm: &mut Vm, accelerator: &str) -> Result<()> {
    let path = vm.dir().join("commands.sock");
    let mut answers = UnixStream::connect(&path).at("connect to", &path)?;
    let mut told = 0;
    loop {
        let console = vm.console()?;
        let Some((line, _)) = console[told..].split_once('\n') else {
            // The guest ends its own waits long before that.
            wait_until(LIMIT, "the guest's next line", || {
                vm.check_running()?;
                Ok(vm.console()?[told..].contains('\n'))
            })?;
            continue;
        };
        told += line.len() + 1;
        let title = |name| format!("bare metal, {accelerator}: {name}");
        match Line::parse(line.trim_end()) {
            Line::Passed(name) => {
                context.record(&title(name), Outcome::Passed, 0.0);
                if name == LAST {
                    return Ok(());
                }
            }
            Line::Failed(name, _) if LACKING.contains(&name) => {
                let why = "QEMU's generic device lacks what it needs".to_owned();
                context.record(&title(name), Outcome::Skipped(why), 0.0);
            }
            Line::Failed(name, why) => {
                context.record(&title(name), Outcome::Failed(why.to_owned()), 0.0);
            }
            Line::Ask(..) => answers.write_all(b"n").at("write to", &path)?,
            Line::Stop(why) => return Err(Error::Guest(why.to_owned())),
            Line::End(..) => return Err(Error::Guest(format!("It never told of {LAST:?}"))),
            Line::Other(_) => {}
        }
    }
}

/// Our device in the emulator of Debian 13, which it finds by LD_PRELOAD.
fn module(context: &mut Context, world: &World, other: &Root) -> Result<()> {
    let module = qemu::module(false)?;
    println!("stock: QEMU {} with the module", module.version);
    context.case("the module refuses another QEMU", || {
        let mut command = other.command(EMULATOR);
        command
            .envs(module.environment())
            .args(["-device", "vhost-user-vgpu-pci,help"]);
        match process::output(&mut command) {
            Err(Error::Program { output, .. }) if refuses(&output) => Ok(Outcome::Passed),
            other => Err(Error::Guest(format!("It said: {other:?}"))),
        }
    });

    let config = |name| -> Result<Config> {
        let mut config = world.config(name, &[])?;
        run_from(&mut config, module.root.clone());
        let environment = module.environment();
        config
            .environment
            .extend(environment.map(|(name, value)| (name.into(), value.into())));
        Ok(config)
    };
    let mut source = config("source")?;
    source.arguments.extend(vnc::arguments(&source.dir, 0));
    let mut vm = Vm::start(&source)?;
    with_logs(vm.booted(), &[&source.dir])?;
    context.case("with the module, hesper-guest selftest passes", || {
        let done = vm.run_ok("hesper-guest selftest 2>&1", LIMIT);
        with_logs(done, &[&source.dir]).map(|_| Outcome::Passed)
    });
    context.case(
        "with the module, a display asked for another size has it",
        || {
            let done = display::resize(&mut vm, "stock", 0);
            with_logs(done, &[&source.dir]).map(|()| Outcome::Passed)
        },
    );
    context.case("with the module, work goes on over a migration", || {
        start_work(&mut vm, "--seconds 100")?;
        work_goes_on(&mut vm, LIMIT)?;
        let mut target = config("target")?;
        target.incoming = Some("defer".into());
        let dirs: [&Path; 2] = [&source.dir, &target.dir];
        let mut destination = Vm::start(&target)?;
        with_logs(vm.migrate_to(&mut destination, LIMIT), &dirs)?;
        with_logs(work_goes_on(&mut destination, LIMIT), &dirs)?;
        let figures = with_logs(finish_work(&mut destination), &dirs)?;
        println!("stock: work: {figures}");
        Ok(Outcome::Passed)
    });
    Ok(())
}

/// Whether a loader's or the module's own words say that it is for another emulator.
fn refuses(output: &str) -> bool {
    output.contains("this module is for QEMU") || output.contains("undefined symbol")
}

/// What `hesper status` prints about a VM's GPU.
fn status(hesper: &Path, dir: &Path) -> Result<Value> {
    let text = process::output(
        Command::new(hesper)
            .arg("status")
            .arg(dir.join("control.sock")),
    )?;
    let strange = |e| Error::Guest(format!("Strange status ({e}): {text}"));
    let answer: Value = serde_json::from_str(&text).map_err(strange)?;
    Ok(answer["ok"].clone())
}

/// Resets the VM and waits until its guest is up once more.
fn reset(vm: &mut Vm) -> Result<()> {
    const READY: &str = "HESPER-GUEST: ready";
    let before = vm.console()?.matches(READY).count();
    vm.qmp().execute("set-action", json!({"reboot": "reset"}))?;
    vm.qmp().execute("system_reset", json!({}))?;
    wait_until(BOOT_LIMIT, "the guest to boot again", || {
        vm.check_running()?;
        Ok(vm.console()?.matches(READY).count() > before)
    })
}
