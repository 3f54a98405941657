//! Guest tools: what the guest sees, and the verifying workload.

mod bad_spirv;
mod bench;
mod drm;
mod endless;
mod error;
mod graphics;
mod idle;
mod info;
mod model;
mod oracle;
mod out_of_memory;
mod plan;
mod report;
mod selftest;
mod session;
mod share;
mod show;
mod signal;
mod sync_test;
mod vulkan;
mod work;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tell what the guest sees of the virtual GPU, and what is missing
    Info,
    /// Check every kind of command once: exit 0 if right, 1 if wrong, 2 if the device is lost
    Selftest {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
        /// Render pictures instead, and print a digest of each to compare with another device's
        #[arg(long)]
        graphics: bool,
    },
    /// Check Vulkan 1.3 synchronization and sync files: exit 0 if right, 1 if wrong, 2 if the
    /// device is lost
    SyncTest {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
    },
    /// Work and compare every result with the CPU's own: exit 0 if right, 1 if wrong, 2 if the
    /// device is lost
    Work(work::Options),
    /// Submit random compute programs, for an audit to foresee what they write
    OracleLoad(oracle::Options),
    /// Make pipelines of shaders that are none: each must fail by itself
    #[command(hide = true)]
    BadSpirv {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
    },
    /// Allocate memory that no device has: none of it may be used, all else must work
    #[command(hide = true)]
    OutOfMemory {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
    },
    /// Submit a shader that never ends and wait for it: exit 2 if the device is lost
    #[command(hide = true)]
    Endless {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
    },
    /// Make a device, use it once and do nothing
    #[command(hide = true)]
    Idle {
        /// Use the device whose name contains this
        #[arg(long, value_name = "SUBSTR")]
        device: Option<String>,
        /// For so long
        #[arg(long, value_name = "N")]
        seconds: u64,
    },
    /// Show a picture that the host can tell on a display
    Show(show::Options),
    /// Share memory with another process, through the CPU and the GPU: exit 0 if right, 1 if wrong,
    /// 2 if the device is lost
    #[command(hide = true)]
    Share(share::Options),
    /// Measure how long a client waits for what
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let started = std::time::Instant::now();
    let result = match Cli::parse().command {
        Command::Info => {
            info::run();
            Ok(true)
        }
        Command::Selftest {
            device,
            graphics: true,
        } => graphics::run(device.as_deref()),
        Command::Selftest { device, .. } => selftest::run(device.as_deref()),
        Command::SyncTest { device } => sync_test::run(device.as_deref()),
        Command::Work(options) => work::run(&options),
        Command::OracleLoad(options) => oracle::run(&options),
        Command::BadSpirv { device } => bad_spirv::run(device.as_deref()),
        Command::OutOfMemory { device } => out_of_memory::run(device.as_deref()),
        Command::Endless { device } => endless::run(device.as_deref()),
        Command::Idle { device, seconds } => idle::run(device.as_deref(), seconds),
        Command::Show(options) => show::run(&options),
        Command::Share(options) => share::run(&options),
        Command::Bench(options) => bench::run(&options, started),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hesper-guest: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
