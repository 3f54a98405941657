//! What a confined process may not do, tried from inside one.

use std::process::Command;

/// What was tried and what came of it, and whether the kernel has landlock.
fn probe(role: &str, file: &std::path::Path) -> (Vec<(String, String)>, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_hesperd"))
        .args(["probe", role])
        .arg(file)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {complaint}", output.status);
    let mut lines = said.lines().map(|line| {
        let (what, outcome) = line.split_once('\t').unwrap();
        (what.to_owned(), outcome.to_owned())
    });
    let (_, landlock) = lines.next().unwrap();
    (lines.collect(), landlock == "true")
}

fn assert_refused(role: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();

    let (outcomes, landlock) = probe(role, &file);

    assert!(outcomes.len() > 15, "{outcomes:?}");
    if !landlock {
        println!("SKIPPED in part: no landlock in this kernel, so files are not confined");
    }
    for (what, outcome) in outcomes {
        let by_landlock = ["open", "create", "read", "write"]
            .iter()
            .any(|verb| what.starts_with(verb));
        let wanted = match &*what {
            "clone3" => "ENOSYS",
            // There is none in some machines.
            "open /dev/mem" if outcome == "ENOENT" => "ENOENT",
            _ if by_landlock && landlock => "EACCES",
            _ if by_landlock => continue,
            _ => "EPERM",
        };
        assert_eq!(outcome, wanted, "{what}");
    }
    assert!(!dir.path().join("file.new").exists());
}

#[test]
fn calls_that_a_worker_does_not_need_are_refused() {
    assert_refused("worker");
}

#[test]
fn calls_that_the_front_does_not_need_are_refused() {
    assert_refused("front");
}
