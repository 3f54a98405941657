//! A resource that is gone while a worker still serves a ring in it, as after a guest's program was killed: its range is
//! used again only when the worker has left it.

mod raw;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ash::vk;
use hesper_front::Blob;
use hesper_memory::Mapping;
use hesper_venus::{Args, Command, args, mesa};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use raw::{CTX, LAVAPIPE, LIMIT, World};

const FIRST: u32 = 10;
const SECOND: u32 = 11;
const LEN: u64 = 64 << 10;
const TAIL: u64 = 64;
const BUFFER: u64 = 192;
/// The worker looks at a ring that isn't idle far more often.
const LOOKS: Duration = Duration::from_millis(100);

impl World {
    fn blob(&self, res_id: u32) -> Blob {
        let blob = self.front.create_blob(CTX, res_id, 0, LEN).unwrap();
        self.front.attach_resource(CTX, res_id).unwrap();
        blob
    }

    /// A ring at the start of [`FIRST`] that never goes idle.
    fn create_ring(&self) {
        let info = mesa::VkRingCreateInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_000),
            p_next: std::ptr::null(),
            flags: 0,
            resource_id: FIRST,
            offset: 0,
            size: LEN as usize,
            idle_timeout: u64::MAX,
            head_offset: 0,
            tail_offset: TAIL as usize,
            status_offset: 128,
            buffer_offset: BUFFER as usize,
            buffer_size: 16 << 10,
            extra_offset: (BUFFER + (16 << 10)) as usize,
            extra_size: 4,
        };
        self.send(&Command::VkCreateRingMESA(Args::new(
            &mut args::VkCreateRingMESA {
                ring: 1,
                p_create_info: &raw const info,
            },
        )));
    }

    fn window_used(&self) -> u64 {
        self.front.status().window_used
    }
}

fn lacks() -> bool {
    let lacks = !Path::new(LAVAPIPE).exists();
    if lacks {
        println!("SKIPPED: there is no {LAVAPIPE}");
    }
    lacks
}

fn arena() -> Mapping {
    Mapping::anonymous("leaving", 128 << 20).unwrap()
}

#[test]
fn ring_of_a_resource_that_is_gone_is_served_no_more() {
    if lacks() {
        return;
    }
    let mut world = World::new(&arena());
    world.set_up();
    let first = world.blob(FIRST);
    world.create_ring();
    world.finish();

    world.front.unref_resource(FIRST).unwrap();
    world.finish();
    let second = world.blob(SECOND);
    assert_eq!(second, first, "the range is free again");
    // Nonsense for a ring: whoever still reads one here loses the context.
    let tail = world.arena.atomic_u32(second.offset + TAIL).unwrap();
    tail.store(u32::MAX, Ordering::Release);
    std::thread::sleep(LOOKS);

    world.finish();
    let head = world.arena.atomic_u32(second.offset).unwrap();
    assert_eq!(head.load(Ordering::Acquire), 0);
}

#[test]
fn range_is_not_used_again_before_the_worker_has_left_it() {
    if lacks() {
        return;
    }
    let mut world = World::new(&arena());
    world.set_up();
    let first = world.blob(FIRST);
    world.create_ring();
    world.finish();
    let used = world.window_used();
    let worker = Pid::from_raw(world.front.status().contexts[0].1 as i32);

    kill(worker, Signal::SIGSTOP).unwrap();
    world.front.unref_resource(FIRST).unwrap();
    let second = world.front.create_blob(CTX, SECOND, 0, LEN);
    kill(worker, Signal::SIGCONT).unwrap();

    let second = second.unwrap();
    let apart =
        second.offset >= first.offset + first.len || first.offset >= second.offset + second.len;
    assert!(
        apart,
        "{second:?} lies in {first:?}, which the worker reads"
    );
    let started = Instant::now();
    while world.window_used() > used {
        assert!(started.elapsed() < LIMIT, "the range is never free again");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn resource_that_is_left_and_attached_again_is_there() {
    if lacks() {
        return;
    }
    let mut world = World::new(&arena());
    world.set_up();
    world.blob(FIRST);
    world.finish();
    let worker = Pid::from_raw(world.front.status().contexts[0].1 as i32);

    // Both wait when the worker looks.
    kill(worker, Signal::SIGSTOP).unwrap();
    world.front.detach_resource(CTX, FIRST).unwrap();
    world.front.attach_resource(CTX, FIRST).unwrap();
    kill(worker, Signal::SIGCONT).unwrap();
    world.create_ring();

    world.finish();
    let status = world.front.status();
    assert_eq!(status.contexts.len(), 1, "the context ended");
}
