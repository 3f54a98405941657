//! The tools against a real Vulkan device: the one that the environment chooses, else lavapipe.

mod common;

use common::{guest, text};

#[test]
fn selftest_passes() {
    let Some(output) = guest(&["selftest"]) else {
        return;
    };

    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).contains("selftest: PASS"));
}

#[test]
fn work_undisturbed_finds_no_error() {
    let json = std::env::temp_dir().join(format!("hesper-guest-{}.json", std::process::id()));
    let path = json.to_str().unwrap();
    let arguments = ["--rounds", "40", "--dirty-buffers", "4", "--json", path];

    let Some(output) = guest(&[&["work"], arguments.as_slice()].concat()) else {
        return;
    };

    let lines = std::fs::read_to_string(&json).unwrap();
    std::fs::remove_file(&json).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).contains("work: verified 10 buffers, 2424832 bytes"));
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "done");
    assert_eq!(last["rounds"], 40);
    assert_eq!(last["errors"], 0);
}

#[test]
fn work_with_a_flipped_word_tells_it_and_fails() {
    let Some(output) = guest(&["work", "--rounds", "5", "--corrupt", "3"]) else {
        return;
    };

    assert_eq!(output.status.code(), Some(1));
    let text = text(&output);
    // Round 3 compares the fourth window of 16 KiB.
    assert!(text.contains("work: mismatch buffer=0 offset=0xc000 expected=0x"));
    assert!(text.contains("round=3\n"));
    assert!(!text.contains("errors=0"));
}

#[test]
fn work_of_odd_sizes_finds_no_error() {
    for sizes in [
        [
            "--buffers",
            "1",
            "--buffer-size",
            "4100",
            "--dirty-buffers",
            "1",
        ],
        [
            "--buffers",
            "3",
            "--buffer-size",
            "1000000",
            "--dirty-buffers",
            "3",
        ],
        [
            "--buffers",
            "2",
            "--buffer-size",
            "8192",
            "--dirty-buffers",
            "0",
        ],
    ] {
        let Some(output) = guest(&[&["work", "--rounds", "40"], sizes.as_slice()].concat()) else {
            return;
        };

        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn work_on_a_device_not_there_fails() {
    let Some(output) = guest(&["work", "--rounds", "1", "--device", "no such device"]) else {
        return;
    };

    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("No Vulkan device"));
}
