//! The random programs do what they are drawn to do: the same for one seed, and each of them writes.

mod common;

use common::{guest, text};

/// The digest that a run tells; None if there is no device.
fn digest(arguments: &[&str]) -> Option<String> {
    let output = guest(&[&["oracle-load", "--digest"], arguments].concat())?;
    assert_eq!(output.status.code(), Some(0));
    let text = text(&output);
    let (_, rest) = text.split_once("digest=").unwrap();
    Some(rest[..16].to_owned())
}

#[test]
fn load_of_one_seed_gives_one_digest() {
    let Some(one) = digest(&["--seed", "5", "--submissions", "80"]) else {
        return;
    };

    let again = digest(&["--seed", "5", "--submissions", "80"]);
    let held = digest(&["--seed", "5", "--submissions", "80", "--held"]);
    let other = digest(&["--seed", "6", "--submissions", "80"]);
    let fewer = digest(&["--seed", "5", "--submissions", "70"]);

    assert_eq!(again.as_ref(), Some(&one));
    assert_eq!(held.as_ref(), Some(&one));
    assert_ne!(other.as_ref(), Some(&one));
    assert_ne!(fewer.as_ref(), Some(&one));
}

#[test]
fn load_of_each_program_alone_changes_memory() {
    for program in [
        "store",
        "dynamic",
        "atomic",
        "texel",
        "readonly",
        "unwritten",
        "guarded",
        "inout",
        "shared",
        "nested",
        "special",
        "special-first",
        "array",
        "pointer",
        "address",
        "table",
    ] {
        let Some(untouched) = digest(&["--only", program, "--submissions", "0"]) else {
            return;
        };

        let written = digest(&["--only", program, "--submissions", "3"]);

        assert_ne!(written, Some(untouched), "{program} wrote nothing");
    }
}

#[test]
fn load_with_stores_out_of_bounds_ends_well() {
    let Some(output) = guest(&["oracle-load", "--only", "beyond", "--submissions", "20"]) else {
        return;
    };

    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output).contains("oracle-load: submissions=20 done"));
}
