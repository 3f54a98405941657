//! The oracle over random programs on the host's GPU.
//!
//! | variable | means |
//! | --- | --- |
//! | `HESPER_ORACLE_SUBMISSIONS` | how many recordings, 2000 by default |
//! | `HESPER_ORACLE_SEED` | the first program's seed; the next one's is one more |
//! | `HESPER_ORACLE_PROGRAM` | recordings of one program, 25 by default; each second one is submitted again |
//! | `HESPER_ORACLE_DEVICE` | part of the device's name; the first one by default |
//! | `HESPER_ORACLE_ACCESS` | `copied`: read memory back by copies even where it can be mapped |
//! | `HESPER_ORACLE_IMAGES` | `raw`: compare the memory of images, too (the default where it is mapped); `opaque`: only their texels |
//! | `HESPER_ORACLE_TWICE` | read memory back twice, and count what differs though nothing ran in between |
//! | `HESPER_ORACLE_TRACE` | tell each submission before it goes to the device |

mod audited;
mod live {
    mod captures;
    mod check;
    pub mod gpu;
    pub mod host;
    mod read;
    pub mod texels;
    pub mod world;
}

use std::collections::BTreeMap;
use std::time::Instant;

use hesper_audit::oracle::CommandFigures;

use live::gpu::Access;
use live::host::{Host, open};
use live::world::World;

/// Recordings of one program.
const SUBMISSIONS: u64 = 25;
/// Misses that are told before a run gives up.
const MISSES_MAX: u64 = 10;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {value}")),
        Err(_) => default,
    }
}

/// The first answer of the oracle that is an error, if there is one.
fn program(
    host: &mut Host,
    seed: u64,
    submissions: u64,
    hidden: Option<&'static str>,
) -> Result<(), String> {
    host.reset();
    host.hidden = hidden;
    let mut world = World::new(host, seed);
    let result = (0..submissions).try_for_each(|_| world.step());
    world.end_world();
    result.map_err(|error| format!("seed {seed}: {error}"))
}

fn add(sum: &mut CommandFigures, more: CommandFigures) {
    sum.marked_bytes += more.marked_bytes;
    sum.changed_bytes += more.changed_bytes;
    sum.marked_chunks += more.marked_chunks;
    sum.changed_chunks += more.changed_chunks;
    sum.marked_subresources += more.marked_subresources;
    sum.changed_subresources += more.changed_subresources;
}

/// What a command marked and what of that changed, and how many times more it marked, by chunks and by subresources.
fn line(command: &str, figures: &CommandFigures) -> String {
    let ratio = |marked: u64, changed: u64| marked as f64 / changed.max(1) as f64;
    let mut line = format!(
        "{command}: {} bytes marked, {} changed; {} chunks, {} ({:.2})",
        figures.marked_bytes,
        figures.changed_bytes,
        figures.marked_chunks,
        figures.changed_chunks,
        ratio(figures.marked_chunks, figures.changed_chunks),
    );
    if figures.marked_subresources > 0 {
        let (marked, changed) = (figures.marked_subresources, figures.changed_subresources);
        line += &format!(
            "; {marked} subresources, {changed} ({:.2})",
            ratio(marked, changed)
        );
    }
    line
}

#[test]
fn oracle_random_programs_find_no_miss() {
    let mut host = match open() {
        Ok(host) => host,
        Err(reason) => {
            println!("SKIPPED: no host GPU for the oracle: {reason}");
            return;
        }
    };
    let wanted = setting("HESPER_ORACLE_SUBMISSIONS", 2000);
    let first = setting("HESPER_ORACLE_SEED", 1);
    let each = setting("HESPER_ORACLE_PROGRAM", SUBMISSIONS).max(1);
    let last = first + wanted.div_ceil(each).max(1) - 1;
    let (mut textures, mut touched, mut misses) = (0, 0, 0);
    let (mut opaque, mut unstable) = (0, 0);
    let (mut done, mut marked, mut changed, mut everything) = (0, 0, 0, 0);
    let mut by_command: BTreeMap<String, CommandFigures> = BTreeMap::new();
    let started = Instant::now();
    for seed in first..=last {
        if let Err(error) = program(&mut host, seed, each, None) {
            println!("{error}");
            misses += 1;
            if misses >= MISSES_MAX {
                break;
            }
        }
        let counters = host.oracle.counters();
        done += counters.submissions;
        marked += counters.marked_chunks;
        changed += counters.changed_chunks;
        textures += host.image_counts.0;
        touched += host.image_counts.1;
        everything += host.tracker.counters().everything;
        opaque += host.unmarked_opaque;
        unstable += host.unstable;
        for (command, figures) in host.oracle.by_command() {
            add(by_command.entry(command).or_default(), figures);
        }
    }
    for (command, figures) in &by_command {
        println!("oracle: {}", line(command, figures));
    }
    let rate = done as f64 / started.elapsed().as_secs_f64();
    println!(
        "oracle: checked={done} misses={misses} seeds={first}..={last} rate={rate:.0}/s chunks_changed={changed} \
         chunks_marked={marked} subresources_changed={textures} subresources_marked={touched} in_doubt={everything} opaque_pages_unmarked={opaque} unstable={unstable}"
    );
    assert_eq!(misses, 0);
    assert!(done >= wanted);
    assert!(
        changed > done / 2,
        "programs that change nothing prove nothing"
    );
    assert_eq!(everything, 0);
}

/// Every kind of transfer to a buffer, one a submission, with content that differs from what was there: each chunk that is
/// marked changes, and the bytes that are marked are the bytes that change.
#[test]
fn transfers_are_exact() {
    let mut host = match open() {
        Ok(host) => host,
        Err(reason) => {
            println!("SKIPPED: no host GPU for the oracle: {reason}");
            return;
        }
    };
    let mut by_command: BTreeMap<String, CommandFigures> = BTreeMap::new();
    let mut images = false;
    for seed in 9000..9010 {
        host.reset();
        let mut world = World::new(&mut host, seed);
        for _ in 0..30 {
            images |= world.has_images();
            for (command, figures) in world.transfer().unwrap() {
                assert_eq!(
                    (figures.marked_bytes, figures.marked_chunks),
                    (figures.changed_bytes, figures.changed_chunks),
                    "seed {seed}: {}",
                    line(&command, &figures)
                );
                add(by_command.entry(command).or_default(), figures);
            }
        }
        world.end_world();
    }
    for (command, figures) in &by_command {
        println!("oracle: {}", line(command, figures));
    }
    let commands: Vec<&str> = by_command.keys().map(String::as_str).collect();
    let mut wanted = vec![
        "vkCmdCopyBuffer",
        "vkCmdCopyBuffer2",
        "vkCmdFillBuffer",
        "vkCmdUpdateBuffer",
    ];
    if images {
        wanted.splice(2..2, ["vkCmdCopyImageToBuffer", "vkCmdCopyImageToBuffer2"]);
    }
    assert_eq!(commands, wanted);
}

/// Captures run all the time while the programs do; the last one must leave an exact copy of all device-local memory.
#[test]
fn captures_while_programs_run_lose_nothing() {
    let mut host = match open() {
        Ok(host) => host,
        Err(reason) => {
            println!("SKIPPED: no host GPU to capture from: {reason}");
            return;
        }
    };
    if host.access() != Access::Mapped {
        println!("SKIPPED: captures need memory that the CPU can read while the device works");
        return;
    }
    let (mut early, mut busy) = (0, 0);
    for seed in 7000..7006 {
        host.reset();
        let mut world = World::new(&mut host, seed);
        let captures = world.host().start_captures();
        (0..SUBMISSIONS).try_for_each(|_| world.step()).unwrap();
        let captured = captures.stop();
        early += captured.early;
        busy += captured.busy;
        world.end_world();
    }
    println!(
        "{early} chunks captured while programs ran, {busy} of them in the middle of a submission"
    );
    assert!(early > 0 && busy > 0);
}

/// Hides one rule at a time from the audit: the oracle must notice each.
#[test]
fn oracle_each_missing_rule_is_found() {
    let mut host = match open() {
        Ok(host) => host,
        Err(reason) => {
            println!("SKIPPED: no host GPU for the oracle: {reason}");
            return;
        }
    };
    for rule in [
        "vkCmdFillBuffer",
        "vkCmdUpdateBuffer",
        "vkCmdCopyBuffer",
        "vkCmdCopyBuffer2",
        "vkCmdCopyQueryPoolResults",
        "vkCmdDispatch",
        "vkCmdDispatchBase",
        "vkCmdDispatchIndirect",
        "vkCmdExecuteCommands",
        "vkUpdateDescriptorSets",
        "vkCreateBufferView",
        "vkCmdCopyImage",
        "vkCmdCopyImage2",
        "vkCmdBlitImage",
        "vkCmdBlitImage2",
        "vkCmdResolveImage",
        "vkCmdResolveImage2",
        "vkCmdCopyBufferToImage",
        "vkCmdCopyBufferToImage2",
        "vkCmdCopyImageToBuffer",
        "vkCmdCopyImageToBuffer2",
        "vkCmdClearColorImage",
        "vkCmdClearDepthStencilImage",
        "vkCmdBeginRenderPass",
        "vkCmdBeginRenderPass2",
        "vkCmdBeginRendering",
        "vkCmdDraw",
        "vkCmdDrawIndexed",
        "vkCmdDrawIndirect",
        "vkCmdDrawIndexedIndirect",
        "vkCmdDrawIndirectCount",
        "vkCmdDrawIndexedIndirectCount",
    ] {
        let found =
            (1..=40).find_map(|seed| program(&mut host, seed, SUBMISSIONS, Some(rule)).err());
        assert!(
            found.is_some_and(|error| error.contains("Missed writes")),
            "{rule} is not missed"
        );
        assert!(host.hidden_count > 0);
        println!("{rule}: found");
    }
}
