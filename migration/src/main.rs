//! The `hesper` command.
//!
//! Exit codes: 0 done; 1 failed, with the reason on standard error; 2 wrong usage; 3 refused by
//! the guard or the standby, with its reason.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hesper_migration::error::{Error, Result, chain};
use hesper_migration::{guard, lines, sim};
use serde_json::json;

/// How long a fence may take: a kill of a large QEMU frees its memory first.
const FENCE: Duration = Duration::from_secs(10);

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
    /// Start QEMU as a child, and end it when asked or when this process ends.
    Guard(Guard),
    /// Have a guard end its QEMU, and wait until it is dead.
    Fence(Fence),
    /// Run the protection rules in a simulated world with random faults.
    Simulate(Simulate),
}

#[derive(clap::Args)]
struct Guard {
    /// The guard's control socket.
    #[arg(long)]
    control: PathBuf,
    /// QEMU's QMP socket for the guard; the agent needs another one.
    #[arg(long)]
    qmp: PathBuf,
    /// Term of this ownership.
    #[arg(long, default_value_t = 1)]
    term: u64,
    /// QEMU's command line.
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

#[derive(clap::Args)]
struct Fence {
    /// The guard's control socket.
    #[arg(long)]
    guard: PathBuf,
    /// Only if the record says that a standby may take over from this epoch.
    #[arg(long)]
    if_protected: Option<u64>,
}

#[derive(clap::Args)]
struct Simulate {
    /// Number of seeds to run.
    #[arg(long)]
    seeds: Option<u64>,
    /// First seed; without --seeds, run it alone and print its trace.
    #[arg(long)]
    seed: Option<u64>,
}

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(
            tracing_subscriber::EnvFilter::try_from_env("HESPER_LOG")
                .unwrap_or_else(|_| "info".into()),
        )
        .init();
    let outcome = match Cli::parse().command {
        Command::Guard(args) => guard::run(guard::Options {
            control: args.control,
            qmp: args.qmp,
            term: args.term,
            argv: args.argv,
        }),
        Command::Fence(args) => fence(&args),
        Command::Simulate(args) => simulate(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hesper: {}", chain(&error));
            ExitCode::from(if matches!(error, Error::Refused(_)) {
                3
            } else {
                1
            })
        }
    }
}

fn fence(args: &Fence) -> Result<()> {
    let request = match args.if_protected {
        Some(epoch) => json!({"id": 1, "command": "fence-if-protected", "epoch": epoch}),
        None => json!({"id": 1, "command": "fence"}),
    };
    let answer = lines::ask(&args.guard, &request, FENCE)?;
    let protected = answer.pointer("/record/protected") == Some(&json!(true));
    if args.if_protected.is_some() && !protected {
        return Err(Error::Refused("the VM is on record as unprotected".into()));
    }
    println!("{answer}");
    Ok(())
}

fn simulate(args: &Simulate) -> Result<()> {
    let failed = |text: String| Err(Error::Refused(text));
    if let (Some(seed), None) = (args.seed, args.seeds) {
        let report = sim::run(sim::Options {
            seed,
            trace: true,
            ..sim::Options::default()
        });
        for line in report.trace {
            println!("{line}");
        }
        return report.violation.map_or(Ok(()), failed);
    }
    let summary = sim::run_many(args.seed.unwrap_or(0), args.seeds.unwrap_or(1000), None);
    for (seed, text) in &summary.failures {
        println!("seed {seed}: {text}");
    }
    println!("{summary}");
    if summary.failures.is_empty() {
        Ok(())
    } else {
        failed("rules are broken".into())
    }
}
