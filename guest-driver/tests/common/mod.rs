//! Runs the tool for the tests.

use std::path::Path;
use std::process::{Command, Output};

const LAVAPIPE: &str = "/usr/share/vulkan/icd.d/lvp_icd.json";

/// The tool with these arguments, on the device that the environment chooses, else on lavapipe;
/// None (and SKIPPED) if there is neither.
pub fn guest(arguments: &[&str]) -> Option<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hesper-guest"));
    if std::env::var_os("VK_DRIVER_FILES").is_none() {
        if !Path::new(LAVAPIPE).exists() {
            println!("SKIPPED: neither VK_DRIVER_FILES nor {LAVAPIPE}");
            return None;
        }
        command.env("VK_DRIVER_FILES", LAVAPIPE);
    }
    let output = command.args(arguments).output().unwrap();
    println!("{}", text(&output));
    Some(output)
}

/// Everything that it printed.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
