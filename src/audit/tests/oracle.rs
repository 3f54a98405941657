//! The oracle over random programs on the host's GPU.
//!
//! `HESPER_ORACLE_SUBMISSIONS` and `HESPER_ORACLE_SEED` say how many and from which seed; a program's seed is printed when
//! it fails.

mod live {
    pub mod host;
    pub mod world;
}

use live::host::{Host, open};
use live::world::World;

/// Submissions of one program.
const SUBMISSIONS: u64 = 25;

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

#[test]
fn oracle_random_programs_find_no_miss() {
    let mut host = match open() {
        Ok(host) => host,
        Err(reason) => {
            println!("SKIPPED: no host GPU for the oracle: {reason}");
            return;
        }
    };
    let wanted = setting("HESPER_ORACLE_SUBMISSIONS", 500);
    let seed = setting("HESPER_ORACLE_SEED", 1);
    let (mut textures, mut touched) = (0, 0);
    let (mut done, mut marked, mut changed, mut everything) = (0, 0, 0, 0);
    for seed in seed..seed + wanted.div_ceil(SUBMISSIONS) {
        program(&mut host, seed, SUBMISSIONS, None).unwrap_or_else(|error| panic!("{error}"));
        let counters = host.oracle.counters();
        done += counters.submissions;
        marked += counters.marked_chunks;
        changed += counters.changed_chunks;
        textures += host.image_counts.0;
        touched += host.image_counts.1;
        everything += host.tracker.counters().everything;
        assert_eq!(counters.missed_chunks, 0);
    }
    println!(
        "{done} submissions from seed {seed}: {changed} chunks changed, {marked} marked, {everything} in doubt; {textures} subresources of images changed, \
         {touched} marked"
    );
    assert!(done >= wanted);
    assert!(
        changed > done / 2,
        "programs that change nothing prove nothing"
    );
    assert_eq!(everything, 0);
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
    let mut early = 0;
    for seed in 7000..7006 {
        host.reset();
        let mut world = World::new(&mut host, seed);
        let captures = world.host().start_captures();
        (0..SUBMISSIONS).try_for_each(|_| world.step()).unwrap();
        early += captures.stop().0;
        world.end_world();
    }
    println!("{early} chunks captured while programs ran");
    assert!(early > 0);
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
    ] {
        let found =
            (1..=20).find_map(|seed| program(&mut host, seed, SUBMISSIONS, Some(rule)).err());
        assert!(
            found.is_some_and(|error| error.contains("Missed writes")),
            "{rule} is not missed"
        );
        assert!(host.hidden_count > 0);
        println!("{rule}: found");
    }
}
