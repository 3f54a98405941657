//! A resource that is gone while a worker still serves a ring in it, as after a guest's program was killed: its range is
//! used again only when the worker has left it.

#[macro_use]
mod raw;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ash::vk;
use hesper_front::Blob;
use hesper_memory::Mapping;
use hesper_venus::mesa;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use raw::{CTX, LIMIT, World, arena, encode};

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
        self.send(&command!(VkCreateRingMESA {
            ring: 1,
            p_create_info: &info,
        }));
    }

    fn window_used(&self) -> u64 {
        self.front.status().window_used
    }

    fn comes_down_to(&self, used: u64) {
        let started = Instant::now();
        while self.window_used() > used {
            assert!(started.elapsed() < LIMIT, "the range is never free again");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn ring_of_a_resource_that_is_gone_is_served_no_more() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
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
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
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
    world.comes_down_to(used);
}

/// A world whose context waits for a command that is not in the ring in [`FIRST`] yet, and does nothing else before; where
/// the ring lies, and where its tail is once the command, which is in the ring's buffer, counts.
fn waiting(arena: &Mapping) -> (World, Blob, u32) {
    let world = World::new(arena);
    world.set_up();
    let ring = world.blob(FIRST);
    world.create_ring();
    let bytes = encode(
        &command!(VkEnumerateInstanceVersion {
            p_api_version: &mut 0,
            ret: vk::Result::SUCCESS,
        }),
        false,
    );
    let seqno = bytes.len() as u64;
    world.arena.write(ring.offset + BUFFER, &bytes).unwrap();
    world.send(&command!(VkWaitRingSeqnoMESA { ring: 1, seqno }));
    (world, ring, seqno as u32)
}

#[test]
fn range_that_was_not_left_at_the_cut_comes_back_after_the_restore() {
    let Some(arena) = arena() else { return };
    let (world, ring, tail) = waiting(&arena);
    let used = world.window_used();
    world.blob(SECOND);
    world.front.unref_resource(SECOND).unwrap();

    let mut world = world.restored(|| World::new(&arena));
    std::thread::sleep(LOOKS);
    assert_eq!(world.window_used(), used + LEN, "the worker may read it");

    let word = world.arena.atomic_u32(ring.offset + TAIL).unwrap();
    word.store(tail, Ordering::Release);
    world.comes_down_to(used);
    world.finish();
}

#[test]
fn range_that_is_being_left_is_what_the_image_says_after_a_load() {
    let Some(arena) = arena() else { return };
    let (mut world, ring, tail) = waiting(&arena);
    world.front.quiesce(b"tables", LIMIT).unwrap();
    let saved = world.front.save().unwrap();
    let mut image = vec![0; world.arena.len() as usize];
    world.arena.read(0, &mut image).unwrap();
    world.front.resume();
    // Still in use when the load ends the worker, and in use again by what is loaded.
    world.front.unref_resource(FIRST).unwrap();
    world.front.quiesce(b"other tables", LIMIT).unwrap();

    // As QEMU does when a VM comes.
    world.arena.write(0, &image).unwrap();
    world.front.load(&saved).unwrap();
    world.front.resume();

    let word = world.arena.atomic_u32(ring.offset + TAIL).unwrap();
    word.store(tail, Ordering::Release);
    world.finish();
    let head = world.arena.atomic_u32(ring.offset).unwrap();
    assert_eq!(head.load(Ordering::Acquire), tail, "the command was lost");
}

#[test]
fn resource_that_is_left_and_attached_again_is_there() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
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
