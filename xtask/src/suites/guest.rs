//! `guest`: the ground that the other suites stand on, without a GPU. The test guest boots in our QEMU, takes commands
//! and migrates.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::{Context, Outcome, Suite};
use crate::error::{Error, FileContext, Result};
use crate::vm::{Config, Vm};
use crate::{guest, qemu};

/// For a command that does next to nothing.
const SHORT: Duration = Duration::from_secs(30);
/// For a migration of an idle guest.
const MIGRATION: Duration = Duration::from_secs(120);

pub struct Guest;

impl Suite for Guest {
    fn name(&self) -> &'static str {
        "guest"
    }

    fn about(&self) -> &'static str {
        "the test guest boots, takes commands and migrates"
    }

    fn run(&self, context: &mut Context) -> Result<()> {
        let config = Config::new(qemu::build(false)?.system(), guest::build(&[], false)?, "");
        context.case("boot_guest_runs_commands", || runs_commands(&config));
        context.case("boot_command_line_is_run_then_powers_off", || {
            powers_off(&config)
        });
        context.case("migrate_guest_goes_on", || migrates(&config));
        Ok(())
    }
}

fn folder() -> Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("hesper-")
        .tempdir()
        .at("create a folder in", std::env::temp_dir())
}

fn within(config: &Config, dir: &Path, name: &str) -> Result<Config> {
    let mut config = config.clone();
    config.dir = dir.join(name);
    std::fs::create_dir(&config.dir).at("create", &config.dir)?;
    Ok(config)
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(Error::Guest(what()))
    }
}

fn runs_commands(config: &Config) -> Result<Outcome> {
    let dir = folder()?;
    let mut vm = Vm::start(&within(config, dir.path(), "vm")?)?;
    vm.booted()?;

    let kernel = vm.run_ok("uname -s", SHORT)?;
    let failing = vm.run("echo so; exit 7", SHORT)?;
    let lines = vm.run_ok("seq 5000", SHORT)?;

    expect(kernel == "Linux", || format!("uname says {kernel:?}"))?;
    expect(failing.status == 7 && failing.text == "so", || {
        format!("{failing:?} instead of status 7")
    })?;
    expect(lines.lines().count() == 5000, || {
        format!("{} lines instead of 5000", lines.lines().count())
    })?;
    Ok(Outcome::Passed)
}

fn powers_off(config: &Config) -> Result<Outcome> {
    let dir = folder()?;
    let mut config = within(config, dir.path(), "vm")?;
    // `echo run by init` in base64.
    config.kernel_words = vec![
        "hesper.run=ZWNobyBydW4gYnkgaW5pdA==".into(),
        "hesper.poweroff=1".into(),
    ];
    let mut vm = Vm::start(&config)?;

    let qemu = vm
        .qemu()
        .ok_or_else(|| Error::Guest("QEMU is not ours".into()))?;
    let status = qemu.wait_within(crate::vm::BOOT_LIMIT)?;

    let console = vm.console()?;
    expect(status.success(), || format!("QEMU ended with {status}"))?;
    expect(
        console.contains("run by init") && console.contains("HESPER-GUEST: done, rc 0"),
        || format!("The console says {console:?}"),
    )?;
    Ok(Outcome::Passed)
}

fn migrates(config: &Config) -> Result<Outcome> {
    let dir = folder()?;
    let mut source = Vm::start(&within(config, dir.path(), "source")?)?;
    let mut config = within(config, dir.path(), "destination")?;
    config.incoming = Some("defer".into());
    let mut destination = Vm::start(&config)?;
    source.booted()?;
    source.run_ok("echo kept > /tmp/file", SHORT)?;

    source.migrate_to(&mut destination, MIGRATION)?;
    source.quit(SHORT)?;

    let kept = destination.run_ok("cat /tmp/file", SHORT)?;
    let status = destination.qmp().execute("query-status", json!({}))?;
    expect(kept == "kept", || format!("The file holds {kept:?}"))?;
    expect(status["running"] == true, || format!("It is {status}"))?;
    Ok(Outcome::Passed)
}
