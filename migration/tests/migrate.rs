//! `hesper migrate` between two real QEMUs.

mod common;

use std::process::{Command, Stdio};

use common::{Process, Side, qemu, skipped, until};

fn start(side: &Side, incoming: bool) -> Process {
    let argv = side.argv(2, incoming);
    let child = Command::new(&argv[0])
        .args(&argv[1..])
        .stderr(Stdio::null())
        .spawn()
        .expect("start QEMU");
    Process(child)
}

fn migrate(from: &Side, to: &Side) -> std::process::Output {
    let uri = format!("unix:{}", to.path("migration"));
    Command::new(env!("CARGO_BIN_EXE_hesper"))
        .args(["migrate", "--json", "--uri", &uri])
        .args(["--from", &from.path("qmp0"), "--to", &to.path("qmp0")])
        .output()
        .expect("run hesper")
}

#[test]
fn migrate_working_guest_goes_on_at_the_destination() {
    if qemu().is_none() {
        return skipped();
    }
    let (from, to) = (Side::new(), Side::new());
    let _source = start(&from, false);
    until("the guest works", || from.passes().len() > 20);
    let _destination = start(&to, true);
    let output = migrate(&from, &to);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    eprint!("{text}");
    let outcome: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(outcome["downtime_ms"].as_u64().expect("a number") < 5_000);
    until("the guest goes on", || to.passes().len() > 20);
    let (before, after) = (from.passes(), to.passes());
    assert_eq!(before.last().map(|last| last + 1), after.first().copied());
    assert!(after.windows(2).all(|two| two[0] + 1 == two[1]), "torn RAM");
}

#[test]
fn migrate_other_ram_size_fails_with_the_reason_and_the_source_runs() {
    if qemu().is_none() {
        return skipped();
    }
    let (from, to) = (Side::new(), Side::new());
    let _source = start(&from, false);
    until("the guest works", || from.passes().len() > 20);
    let mut argv = to.argv(2, true);
    for text in &mut argv {
        *text = text.replace("size=64M", "size=96M");
        if text == "64" {
            *text = "96".into();
        }
    }
    let destination = Command::new(&argv[0])
        .args(&argv[1..])
        .stderr(Stdio::null())
        .spawn()
        .expect("start QEMU");
    let _destination = Process(destination);
    let output = migrate(&from, &to);
    assert_eq!(output.status.code(), Some(1));
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!reason.trim().is_empty());
    eprint!("{reason}");
    let passes = from.passes().len();
    until("the source goes on", || from.passes().len() > passes + 20);
}
