//! What sync files do to semaphores and fences, told to a context as Mesa tells it, and over a cut
//! and a restore.

#[macro_use]
mod raw;

use std::time::Duration;

use ash::vk::{self, Handle};
use hesper_venus::mesa;

use raw::{CTX, LIMIT, TIMELINE, World, arena, device, queue};

/// How long nothing happens where nothing may happen.
const CALM: Duration = Duration::from_millis(300);

const SEMAPHORE_A: u64 = 5;
const SEMAPHORE_B: u64 = 6;
const FENCE: u64 = 7;

impl World {
    fn set_up_syncs(&self) {
        for id in [SEMAPHORE_A, SEMAPHORE_B] {
            let mut export = vk::ExportSemaphoreCreateInfo::default()
                .handle_types(vk::ExternalSemaphoreHandleTypeFlags::SYNC_FD);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
            self.send(&create!(VkCreateSemaphore {
                p_create_info: (&raw const info).cast(),
                p_semaphore: &mut vk::Semaphore::from_raw(id),
            }));
        }
        let mut export = vk::ExportFenceCreateInfo::default()
            .handle_types(vk::ExternalFenceHandleTypeFlags::SYNC_FD);
        let info = vk::FenceCreateInfo::default().push_next(&mut export);
        self.send(&create!(VkCreateFence {
            p_create_info: (&raw const info).cast(),
            p_fence: &mut vk::Fence::from_raw(FENCE),
        }));
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
        self.send(&command!(VkQueueSubmit2 {
            queue: queue(),
            submit_count: 1,
            p_submits: (&raw const submit).cast(),
            fence: vk::Fence::from_raw(fence),
            ret: vk::Result::SUCCESS,
        }));
    }

    /// As [`World::submit`] without a fence, by vkQueueSubmit; waits for A, then B.
    fn submit_waiting_for_both(&self) {
        let waits = [SEMAPHORE_A, SEMAPHORE_B].map(vk::Semaphore::from_raw);
        let stages = [vk::PipelineStageFlags::ALL_COMMANDS; 2];
        let submit = vk::SubmitInfo::default()
            .wait_semaphores(&waits)
            .wait_dst_stage_mask(&stages);
        self.submit_as(CTX, &submit);
    }

    /// The semaphore's payload is a file that is signalled.
    fn import(&self, id: u64) {
        let info = mesa::VkImportSemaphoreResourceInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_003),
            p_next: std::ptr::null(),
            semaphore: vk::Semaphore::from_raw(id),
            resource_id: 0,
        };
        self.send(&command!(VkImportSemaphoreResourceMESA {
            device: device(),
            p_import_semaphore_resource_info: &info,
        }));
    }

    /// The semaphore's payload went into a file.
    fn export(&self, id: u64) {
        self.send(&command!(VkWaitSemaphoreResourceMESA {
            device: device(),
            semaphore: vk::Semaphore::from_raw(id),
        }));
    }

    /// The fence's payload went into a file.
    fn export_fence(&self) {
        self.send(&command!(VkResetFenceResourceMESA {
            device: device(),
            fence: vk::Fence::from_raw(FENCE),
        }));
    }

    fn fence_status(&mut self) -> vk::Result {
        self.ask(&command!(VkGetFenceStatus {
            device: device(),
            fence: vk::Fence::from_raw(FENCE),
            ret: vk::Result::SUCCESS,
        }))
    }
}

#[test]
fn sync_files_change_payloads_and_the_image_has_what_was_lent() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
    world.set_up();
    world.set_up_syncs();

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
    assert_eq!(world.fence_status(), vk::Result::NOT_READY);
    world.submit(0, 0, FENCE);
    world.finish();
    while world.fence_status() == vk::Result::NOT_READY {}
    assert_eq!(world.fence_status(), vk::Result::SUCCESS);

    // A submission that waits and a payload that is lent both survive.
    world.import(SEMAPHORE_B);
    world.submit(SEMAPHORE_A, 0, 0);
    let waiting = world.fence(TIMELINE);
    assert!(!world.is_told(waiting, CALM));

    let mut world = world.restored(|| World::new(&arena));
    assert!(!world.is_told(waiting, CALM));
    world.import(SEMAPHORE_A);
    assert!(world.is_told(waiting, LIMIT));
    world.submit(SEMAPHORE_B, 0, 0);
    world.finish();
    world.submit(SEMAPHORE_B, 0, 0);
    let never = world.fence(TIMELINE);
    assert!(!world.is_told(never, CALM));
}
