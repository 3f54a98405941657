//! The `hesper` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hesper_migration::sim;

#[derive(Parser)]
#[command(
    name = "hesper",
    version,
    about = "Protects, moves and takes over VMs with a vGPU"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the protection rules in a simulated world with random faults.
    Simulate(Simulate),
}

#[derive(clap::Args)]
struct Simulate {
    /// Number of seeds to run.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// First seed; alone, run it once and print its trace.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Simulate(args) => simulate(&args),
    }
}

fn simulate(args: &Simulate) -> ExitCode {
    if let Some(seed) = args.seed
        && args.seeds == 1000
    {
        let report = sim::run(sim::Options {
            seed,
            trace: true,
            ..sim::Options::default()
        });
        for line in report.trace {
            println!("{line}");
        }
        if let Some(text) = report.violation {
            println!("violation: {text}");
            return ExitCode::FAILURE;
        }
        return ExitCode::SUCCESS;
    }
    let summary = sim::run_many(args.seed.unwrap_or(0), args.seeds, None);
    for (seed, text) in &summary.failures {
        println!("seed {seed}: {text}");
    }
    println!("{summary}");
    ExitCode::from(u8::from(!summary.failures.is_empty()))
}
