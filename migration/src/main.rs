//! The `hesper` command.
//!
//! Exit codes: 0 done; 1 failed, with the reason on standard error; 2 wrong usage; 3 refused by
//! the guard or the standby, or a rule is broken in the simulation, with its reason.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use hesper_migration::error::{Context, Error, Result, chain};
use hesper_migration::{agent, guard, lines, migrate, sim, standby};
use serde_json::{Value, json};

/// How long a fence may take: a kill of a large QEMU frees its memory first.
const FENCE: Duration = Duration::from_secs(10);
/// How long a control socket may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

#[derive(Parser)]
#[command(name = "hesper", version)]
#[command(about = "Protects, moves and takes over VMs with a vGPU")]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused.\n\
Logs go to standard error; HESPER_LOG sets their level, as in HESPER_LOG=debug."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start QEMU as a child, and end it when asked or when this process ends.
    Guard(Guard),
    /// Protect a guarded VM: ship its checkpoints to a standby, hand over when its GPU hangs.
    Agent(Agent),
    /// Store a VM's checkpoints and keep a QEMU waiting to take it over.
    Standby(Standby),
    /// Have a guard end its QEMU, and wait until it is dead.
    Fence(Fence),
    /// Have a standby take over.
    Failover(Failover),
    /// Tell how guard, agent, standby or QEMU stand, one JSON line each.
    Status(Status),
    /// Migrate a VM between two QEMUs.
    Migrate(Migrate),
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
struct Agent {
    /// QEMU's QMP socket for the agent.
    #[arg(long)]
    qmp: PathBuf,
    /// hesperd's control socket: its hangs lead to a takeover.
    #[arg(long)]
    control: Option<PathBuf>,
    /// The guard's control socket.
    #[arg(long)]
    guard: PathBuf,
    /// Host and port of the standby.
    #[arg(long)]
    standby: String,
    /// Time between two checkpoints, as in 1s or 200ms.
    #[arg(long, default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// The agent's own control socket.
    #[arg(long)]
    listen: PathBuf,
    /// Name of the VM, for people.
    #[arg(long, default_value = "vm")]
    vm: String,
    /// A standby that is silent for so long is lost.
    #[arg(long, default_value = "2s", value_parser = duration)]
    link_timeout: Duration,
    /// An epoch with more MiB than this goes on to the standby while the VM is paused.
    #[arg(long, default_value_t = 1024)]
    epoch_max_mib: u64,
    /// When pages are compressed.
    #[arg(long, value_enum, default_value = "auto")]
    compress: agent::Compress,
    /// Events of hesperd that lead to a takeover; front-lost is hesperd's own end.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "hang,context-lost,front-lost"
    )]
    takeover_on: Vec<String>,
}

#[derive(clap::Args)]
struct Standby {
    /// A JSON file with all of it; the options below replace its members.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Address and port for agents.
    #[arg(long)]
    listen: Option<String>,
    /// Folder for sockets.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Control socket; DIR/standby.sock when left out.
    #[arg(long)]
    control: Option<PathBuf>,
    /// QEMU's QMP socket for the standby; DIR/qmp.sock when left out.
    #[arg(long)]
    qmp: Option<PathBuf>,
    /// BLOCK=PATH: file of a RAM block, as in mem={dir}/ram and vgpu-arena={dir}/arena.
    #[arg(long = "file", value_parser = pair)]
    files: Vec<(String, PathBuf)>,
    /// QEMU's command line, with -incoming defer; {dir} is replaced.
    #[arg(last = true)]
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
struct Failover {
    /// The standby's control socket.
    #[arg(long)]
    standby_control: PathBuf,
    /// Take over although nobody confirms that the primary's VM has ended: you vouch for it.
    #[arg(long)]
    force: bool,
    /// Wait so long until the VM runs there.
    #[arg(long, default_value = "30s", value_parser = duration)]
    wait: Duration,
}

#[derive(clap::Args)]
struct Status {
    /// Control sockets of guard, agent or standby.
    #[arg(required_unless_present = "qmp")]
    sockets: Vec<PathBuf>,
    /// A free QMP socket.
    #[arg(long)]
    qmp: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Migrate {
    /// QMP socket of the source.
    #[arg(long)]
    from: PathBuf,
    /// QMP socket of the destination, started with -incoming defer.
    #[arg(long)]
    to: PathBuf,
    /// Where the two meet, as in unix:/run/m.sock or tcp:10.0.0.2:4444.
    #[arg(long)]
    uri: String,
    /// Longest pause that is planned for, in milliseconds.
    #[arg(long, default_value_t = 300)]
    downtime_limit: u64,
    /// Most MiB a second.
    #[arg(long, default_value_t = 4096)]
    bandwidth: u64,
    /// Cancel after this.
    #[arg(long, default_value = "120s", value_parser = duration)]
    timeout: Duration,
    /// Print the outcome as JSON.
    #[arg(long)]
    json: bool,
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

fn duration(text: &str) -> std::result::Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| "no number".to_owned())?;
    let seconds = match unit {
        "ms" => number / 1e3,
        "s" | "" => number,
        "m" => number * 60.0,
        _ => return Err("unit is none of ms, s, m".into()),
    };
    if seconds <= 0.0 {
        return Err("must be more than zero".into());
    }
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn pair(text: &str) -> std::result::Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("no = in it")?;
    Ok((name.into(), path.into()))
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
        Command::Agent(args) => agent::run(agent::Options {
            qmp: args.qmp,
            control: args.control,
            guard: args.guard,
            standby: args.standby,
            interval: args.interval,
            listen: args.listen,
            vm: args.vm,
            link_timeout: args.link_timeout,
            epoch_bytes_max: args.epoch_max_mib << 20,
            compress: args.compress,
            takeover_on: args.takeover_on,
        }),
        Command::Standby(args) => standby_config(args).and_then(standby::run),
        Command::Fence(args) => fence(&args),
        Command::Failover(args) => failover(&args),
        Command::Status(args) => status(&args),
        Command::Migrate(args) => move_vm(args),
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

fn standby_config(args: Standby) -> Result<standby::Config> {
    let mut value = match &args.config {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).context(|| format!("read {}", path.display()))?;
            serde_json::from_str(&text).map_err(|error| Error::Config(error.to_string()))?
        }
        None => json!({}),
    };
    if let Some(listen) = args.listen {
        value["listen"] = listen.into();
    }
    if let Some(dir) = args.dir {
        value["dir"] = json!(dir);
    }
    if let Some(control) = args.control {
        value["control"] = json!(control);
    }
    if !args.files.is_empty() {
        let files: BTreeMap<String, PathBuf> = args.files.into_iter().collect();
        value["files"] = json!(files);
    }
    if !args.argv.is_empty() {
        value["qemu"]["argv"] = json!(args.argv);
    }
    if let Some(qmp) = args.qmp {
        value["qemu"]["qmp"] = json!(qmp);
    } else if value.pointer("/qemu/qmp").is_none() {
        value["qemu"]["qmp"] = "{dir}/qmp.sock".into();
    }
    standby::Config::parse(&value.to_string())
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

fn failover(args: &Failover) -> Result<()> {
    let request = json!({"id": 1, "command": "failover", "force": args.force});
    lines::ask(&args.standby_control, &request, ANSWER)?;
    let end = std::time::Instant::now() + args.wait;
    loop {
        let request = json!({"id": 2, "command": "status"});
        let answer = lines::ask(&args.standby_control, &request, ANSWER)?;
        match answer.get("phase").and_then(Value::as_str) {
            Some("Active") => {
                println!("{}", answer["timeline"]);
                return Ok(());
            }
            Some("Failed") => return Err(Error::Takeover(answer["timeline"].to_string())),
            phase if std::time::Instant::now() >= end => {
                let phase = phase.unwrap_or("?");
                return Err(Error::Takeover(format!("the standby is still {phase}")));
            }
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn status(args: &Status) -> Result<()> {
    for socket in &args.sockets {
        let request = json!({"id": 1, "command": "status"});
        let mut answer = lines::ask(socket, &request, ANSWER)?;
        if let Some(members) = answer.as_object_mut() {
            members.remove("id");
        }
        println!("{answer}");
    }
    if let Some(qmp) = &args.qmp {
        println!("{}", migrate::status(qmp)?);
    }
    Ok(())
}

fn move_vm(args: Migrate) -> Result<()> {
    let outcome = migrate::run(&migrate::Options {
        from: args.from,
        to: args.to,
        uri: args.uri,
        downtime_limit_ms: args.downtime_limit,
        max_bandwidth: args.bandwidth << 20,
        timeout: args.timeout,
    })?;
    if args.json {
        println!("{}", json!(outcome));
    } else {
        println!(
            "migrated: downtime {} ms, total {} ms, {} MiB in {} rounds",
            outcome.downtime_ms,
            outcome.total_ms,
            outcome.ram_bytes >> 20,
            outcome.rounds
        );
    }
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
