//! Set-up, builds, suites and the demo: `cargo xtask --help`.

mod bench;
mod cache;
mod cpio;
mod debian;
mod demo;
mod elf;
mod error;
mod guest;
mod mesa;
#[allow(dead_code, reason = "a tool box: the suites use what they need of it")]
mod prebuilt;
mod process;
mod protected;
mod python;
mod qemu;
#[allow(dead_code, reason = "a tool box: the suites use what they need of it")]
mod qmp;
#[allow(dead_code, reason = "a tool box: the suites use what they need of it")]
mod root;
mod setup;
mod suites;
#[allow(dead_code, reason = "a tool box: the suites use what they need of it")]
mod vm;
mod vnc;
#[allow(dead_code, reason = "a tool box: the suites use what they need of it")]
mod vtest;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Result;

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    about = "Set-up, builds, suites and the demo of Hesper"
)]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install the Debian packages that building and testing needs (as root)
    Setup,
    /// Build QEMU with our device (once) and print the emulator's path
    Qemu {
        /// Build the device alone, for LD_PRELOAD into the emulator that Debian 13 ships, and print the module's path
        #[arg(long)]
        module: bool,
        /// Look for a newer source in Debian's archive
        #[arg(long)]
        update: bool,
    },
    /// Make the guest that the suites boot and print its kernel's and its initramfs' path
    Guest {
        /// Add a file of this build, by its path here and its path in the guest
        #[arg(long, value_name = "PATH=/PATH")]
        with: Vec<guest::With>,
        /// Look for newer packages in Debian's archive
        #[arg(long)]
        update: bool,
    },
    /// Run the test suites: all of them, or those named
    Test {
        #[arg(value_name = "SUITE")]
        suites: Vec<String>,
        /// Run the long variants, too
        #[arg(long)]
        full: bool,
        /// Write a report of every case to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
    /// Show what Hesper does
    Demo,
    /// Measure what Hesper costs: all measurements, or those named
    Bench {
        #[arg(value_name = "MEASUREMENT")]
        measurements: Vec<String>,
        /// Run every variant so many times
        #[arg(long, value_name = "N", default_value_t = 5)]
        runs: usize,
        /// Write the figures to this file
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Setup => setup::run(),
        Task::Qemu {
            module: true,
            update,
        } => {
            let module = qemu::module(update)?;
            eprintln!("qemu: for Debian's {} only", module.version);
            println!("{}", module.file.display());
            Ok(())
        }
        Task::Qemu { update, .. } => {
            println!("{}", qemu::build(update)?.system().display());
            Ok(())
        }
        Task::Guest { with, update } => {
            let guest = guest::build(&with, update)?;
            println!("{}\n{}", guest.kernel.display(), guest.initrd.display());
            Ok(())
        }
        Task::Test { suites, full, json } => suites::run(&suites, full, json.as_deref()),
        Task::Demo => demo::run(),
        Task::Bench {
            measurements,
            runs,
            json,
        } => bench::run(&measurements, runs, json.as_deref()),
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
