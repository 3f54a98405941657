//! What sync files do to semaphores and fences, told to a context as Mesa tells it, and over a cut
//! and a restore.

mod raw;

use std::path::Path;
use std::time::Duration;

use ash::vk::{self, Handle};
use hesper_memory::Mapping;
use hesper_venus::{Args, Command, Encoder, args, encode_request, mesa};

use raw::{CTX, DEVICE, LAVAPIPE, LIMIT, QUEUE, TIMELINE, World};

/// How long nothing happens where nothing may happen.
const CALM: Duration = Duration::from_millis(300);

const SEMAPHORE_A: u64 = 5;
const SEMAPHORE_B: u64 = 6;
const FENCE: u64 = 7;
const REPLY_LEN: u64 = 4096;

impl World {
    fn set_up_syncs(&self) {
        let device = vk::Device::from_raw(DEVICE);
        for id in [SEMAPHORE_A, SEMAPHORE_B] {
            let mut export = vk::ExportSemaphoreCreateInfo::default()
                .handle_types(vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
            let mut semaphore = vk::Semaphore::from_raw(id);
            self.send(&Command::VkCreateSemaphore(Args::new(
                &mut args::VkCreateSemaphore {
                    device,
                    p_create_info: (&raw const info).cast(),
                    p_allocator: std::ptr::null(),
                    p_semaphore: &raw mut semaphore,
                    ret: vk::Result::SUCCESS,
                },
            )));
        }
        let mut export = vk::ExportFenceCreateInfo::default()
            .handle_types(vk::ExternalFenceHandleTypeFlags::SYNC_FD);
        let info = vk::FenceCreateInfo::default().push_next(&mut export);
        let mut fence = vk::Fence::from_raw(FENCE);
        self.send(&Command::VkCreateFence(Args::new(
            &mut args::VkCreateFence {
                device,
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_fence: &raw mut fence,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    /// vkQueueSubmit2 of one empty batch; 0 for nothing.
    fn submit(&self, wait: u64, signal: u64, fence: u64) {
        let info = |id| {
            vk::SemaphoreSubmitInfo::default()
                .semaphore(vk::Semaphore::from_raw(id))
                .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        };
        let (waits, signals) = ([info(wait)], [info(signal)]);
        let submit = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits[..usize::from(wait != 0)])
            .signal_semaphore_infos(&signals[..usize::from(signal != 0)]);
        self.send(&Command::VkQueueSubmit2(Args::new(
            &mut args::VkQueueSubmit2 {
                queue: vk::Queue::from_raw(QUEUE),
                submit_count: 1,
                p_submits: (&raw const submit).cast(),
                fence: vk::Fence::from_raw(fence),
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    /// As [`World::submit`] without a fence, by vkQueueSubmit; waits for A, then B.
    fn submit_waiting_for_both(&self) {
        let waits = [SEMAPHORE_A, SEMAPHORE_B].map(vk::Semaphore::from_raw);
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS; 2];
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages);
        self.send(&Command::VkQueueSubmit(Args::new(
            &mut args::VkQueueSubmit {
                queue: vk::Queue::from_raw(QUEUE),
                submit_count: 1,
                p_submits: (&raw const submit).cast(),
                fence: vk::Fence::null(),
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    /// The semaphore's payload is a file that is signalled.
    fn import(&self, id: u64) {
        let info = mesa::VkImportSemaphoreResourceInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_003),
            p_next: std::ptr::null(),
            semaphore: vk::Semaphore::from_raw(id),
            resource_id: 0,
        };
        self.send(&Command::VkImportSemaphoreResourceMESA(Args::new(
            &mut args::VkImportSemaphoreResourceMESA {
                device: vk::Device::from_raw(DEVICE),
                p_import_semaphore_resource_info: &raw const info,
            },
        )));
    }

    /// The semaphore's payload went into a file.
    fn export(&self, id: u64) {
        self.send(&Command::VkWaitSemaphoreResourceMESA(Args::new(
            &mut args::VkWaitSemaphoreResourceMESA {
                device: vk::Device::from_raw(DEVICE),
                semaphore: vk::Semaphore::from_raw(id),
            },
        )));
    }

    /// The fence's payload went into a file.
    fn export_fence(&self) {
        self.send(&Command::VkResetFenceResourceMESA(Args::new(
            &mut args::VkResetFenceResourceMESA {
                device: vk::Device::from_raw(DEVICE),
                fence: vk::Fence::from_raw(FENCE),
            },
        )));
    }

    fn fence_status(&mut self, reply_at: u64) -> vk::Result {
        let mut bytes = Vec::new();
        let command =
            Command::VkGetFenceStatus(Args::new(Box::leak(Box::new(args::VkGetFenceStatus {
                device: vk::Device::from_raw(DEVICE),
                fence: vk::Fence::from_raw(FENCE),
                ret: vk::Result::SUCCESS,
            }))));
        let stream = mesa::VkCommandStreamDescriptionMESA {
            resource_id: 1,
            offset: 0,
            size: REPLY_LEN as usize,
        };
        self.send(&Command::VkSetReplyCommandStreamMESA(Args::new(
            &mut args::VkSetReplyCommandStreamMESA {
                p_stream: &raw const stream,
            },
        )));
        // SAFETY: the arguments hold no pointers.
        unsafe { encode_request(&command, true, &mut Encoder::append(&mut bytes, 1 << 12)) }
            .unwrap();
        self.front.submit(CTX, &bytes).unwrap();
        let fence = self.fence(0);
        assert!(self.is_told(fence, LIMIT));
        let mut reply = [0; 8];
        self.arena.read(reply_at, &mut reply).unwrap();
        vk::Result::from_raw(i32::from_le_bytes([reply[4], reply[5], reply[6], reply[7]]))
    }
}

#[test]
fn sync_files_change_payloads_and_the_image_has_what_was_lent() {
    if !Path::new(LAVAPIPE).exists() {
        println!("SKIPPED: no {LAVAPIPE}");
        return;
    }
    let arena = Mapping::anonymous("test", 64 << 20).unwrap();
    let mut world = World::new(&arena);
    world.set_up();
    world.set_up_syncs();
    let reply = world.front.create_blob(CTX, 1, 0, REPLY_LEN).unwrap();
    world.front.attach_resource(CTX, 1).unwrap();

    // An export takes the signal, in flight or not: the next signal is the first again.
    for _ in 0..100 {
        world.submit(0, SEMAPHORE_A, 0);
        world.export(SEMAPHORE_A);
    }
    world.finish();

    // Nothing signals it any more: the submission waits, until a payload is lent, which serves one wait.
    world.submit(SEMAPHORE_A, 0, 0);
    let waiting = world.fence(TIMELINE);
    assert!(!world.is_told(waiting, CALM));
    world.import(SEMAPHORE_A);
    assert!(world.is_told(waiting, LIMIT));
    world.submit(0, SEMAPHORE_A, 0);
    world.submit(SEMAPHORE_A, 0, 0);
    world.finish();

    // Lent and exported at once: what it had stays. One wait of two is left out.
    world.submit(0, SEMAPHORE_B, 0);
    world.import(SEMAPHORE_B);
    world.export(SEMAPHORE_B);
    world.import(SEMAPHORE_A);
    world.submit_waiting_for_both();
    world.finish();

    // An exported fence is free again.
    for _ in 0..100 {
        world.submit(0, 0, FENCE);
        world.export_fence();
    }
    world.finish();
    assert_eq!(world.fence_status(reply.offset), vk::Result::NOT_READY);
    world.submit(0, 0, FENCE);
    world.finish();
    while world.fence_status(reply.offset) == vk::Result::NOT_READY {}
    assert_eq!(world.fence_status(reply.offset), vk::Result::SUCCESS);

    // A submission that waits and a payload that is lent both survive.
    world.import(SEMAPHORE_B);
    world.submit(SEMAPHORE_A, 0, 0);
    let waiting = world.fence(TIMELINE);
    assert!(!world.is_told(waiting, CALM));
    world.front.quiesce(b"tables", LIMIT).unwrap();
    let saved = world.front.save().unwrap();
    drop(world);

    let mut world = World::new(&arena);
    world.front.load(&saved).unwrap();
    world.front.resume();
    assert!(!world.is_told(waiting, CALM));
    world.import(SEMAPHORE_A);
    assert!(world.is_told(waiting, LIMIT));
    world.submit(SEMAPHORE_B, 0, 0);
    world.finish();
    world.submit(SEMAPHORE_B, 0, 0);
    let never = world.fence(TIMELINE);
    assert!(!world.is_told(never, CALM));
}
