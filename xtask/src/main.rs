//! Set-up, builds, suites and the demo: `cargo xtask --help`.

mod cache;
mod cpio;
mod debian;
mod elf;
mod error;
mod guest;
mod process;
mod qemu;

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
    /// Build QEMU with our device (once) and print the emulator's path
    Qemu {
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
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Qemu { update } => {
            println!("{}", qemu::build(update)?.system().display());
            Ok(())
        }
        Task::Guest { with, update } => {
            let guest = guest::build(&with, update)?;
            println!("{}\n{}", guest.kernel.display(), guest.initrd.display());
            Ok(())
        }
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
