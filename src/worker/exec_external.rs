//! Sync files: what making them does to the semaphores and fences behind.
//!
//! No descriptor crosses the wire. A guest exports a sync file by way of a virtio fence of the
//! queue's timeline, and then tells us that the payload went into the file: the object is reset
//! (export has copy transference). When it imports one it waits for the file itself, and tells us
//! that the semaphore's next wait is over already. So the host needs no external semaphores or
//! fences: imports are a count of ours, and a reset gives the object a fresh host handle, which
//! never blocks whatever the old one still waits for.

use ash::vk::{self, Handle};
use hesper_gpu::GpuError;
use hesper_venus::{Command, Decoded};

use crate::context::{Context, Kind, Semaphore};
use crate::error::{WorkerError, argument};
use crate::raw;

/// Replaced handles that may wait for their submissions.
const REPLACED_MAX: usize = 1 << 12;
/// Imports of one semaphore that may wait to be waited for.
const IMPORTS_MAX: u32 = 1 << 16;

/// A host object that another has replaced. It goes when the work that may use it is done.
#[derive(Debug)]
pub(crate) struct Replaced {
    device: u64,
    object: ReplacedObject,
    /// Index of each queue that may use it, and the submission to wait for.
    after: Vec<(usize, u64)>,
}

#[derive(Clone, Copy, Debug)]
enum ReplacedObject {
    Semaphore(vk::Semaphore),
    Fence(vk::Fence),
}

/// A wait that is over already: batch of the submission, and place among the batch's waits.
pub(crate) type DroppedWait = (usize, usize);

impl Context {
    /// The fence's payload went into a sync file.
    pub(crate) fn reset_fence_resource(
        &mut self,
        decoded: &Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkResetFenceResourceMESA";
        let Command::VkResetFenceResourceMESA(args) = &decoded.command else {
            return Err(argument(name, "is another command"));
        };
        let id = args.fence.as_raw();
        let object = self.objects.get(vk::ObjectType::FENCE, id)?;
        let (old, device) = (vk::Fence::from_raw(object.handle), object.data.device);
        let raw = self.dev(device)?.host.raw();
        // SAFETY: the device lives.
        let fresh = unsafe { raw.create_fence(&vk::FenceCreateInfo::default(), None) }
            .map_err(vulkan("vkCreateFence"))?;
        self.replace(device, ReplacedObject::Fence(old))?;
        self.objects.get_mut(vk::ObjectType::FENCE, id)?.handle = fresh.as_raw();
        Ok(())
    }

    /// The semaphore's payload went into a sync file.
    pub(crate) fn wait_semaphore_resource(
        &mut self,
        decoded: &Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkWaitSemaphoreResourceMESA";
        let Command::VkWaitSemaphoreResourceMESA(args) = &decoded.command else {
            return Err(argument(name, "is another command"));
        };
        let id = args.semaphore.as_raw();
        let semaphore = self.binary(id, name)?;
        if semaphore.imports > 0 {
            semaphore.imports -= 1;
            return Ok(());
        }
        if semaphore.pending == 0 {
            // Its signal may have become ready to run just now.
            self.run_held()?;
            if self.binary(id, name)?.pending == 0 {
                tracing::debug!(
                    id,
                    "A sync file was made of a semaphore that nothing signals"
                );
                return Ok(());
            }
        }
        self.binary(id, name)?.pending = 0;
        let object = self.objects.get(vk::ObjectType::SEMAPHORE, id)?;
        let (old, device) = (vk::Semaphore::from_raw(object.handle), object.data.device);
        let raw = self.dev(device)?.host.raw();
        // SAFETY: the device lives.
        let fresh = unsafe { raw.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) }
            .map_err(vulkan("vkCreateSemaphore"))?;
        self.replace(device, ReplacedObject::Semaphore(old))?;
        self.objects.get_mut(vk::ObjectType::SEMAPHORE, id)?.handle = fresh.as_raw();
        Ok(())
    }

    /// A payload that is signalled already is lent to the semaphore, for its next wait.
    pub(crate) fn import_semaphore_resource(
        &mut self,
        decoded: &Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let name = "vkImportSemaphoreResourceMESA";
        let Command::VkImportSemaphoreResourceMESA(args) = &decoded.command else {
            return Err(argument(name, "is another command"));
        };
        // SAFETY: an argument of the decoded command.
        let info = unsafe { raw::get(args.p_import_semaphore_resource_info) }
            .ok_or_else(|| argument(name, "no import info"))?;
        if info.resource_id != 0 {
            return Err(argument(name, format!("resource {}", info.resource_id)));
        }
        let semaphore = self.binary(info.semaphore.as_raw(), name)?;
        if semaphore.imports >= IMPORTS_MAX {
            return Err(argument(name, "too many imports wait"));
        }
        semaphore.imports += 1;
        Ok(())
    }

    fn binary(&mut self, id: u64, command: &'static str) -> Result<&mut Semaphore, WorkerError> {
        match &mut self
            .objects
            .get_mut(vk::ObjectType::SEMAPHORE, id)?
            .data
            .kind
        {
            Kind::Semaphore(semaphore) if !semaphore.timeline => Ok(semaphore),
            _ => Err(argument(command, "not a binary semaphore")),
        }
    }

    fn replace(&mut self, device: u64, object: ReplacedObject) -> Result<(), WorkerError> {
        if self.replaced.len() >= REPLACED_MAX {
            return Err(argument(
                "a sync file",
                "too many wait for their submission",
            ));
        }
        let after = self
            .queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| queue.device == device)
            .filter_map(|(index, queue)| Some((index, queue.last_in_flight()?)))
            .collect();
        self.replaced.push(Replaced {
            device,
            object,
            after,
        });
        Ok(())
    }

    /// Destroys replaced objects that nothing uses any more.
    pub(crate) fn drop_replaced(&mut self) {
        let (queues, devices) = (&self.queues, &self.devices);
        self.replaced.retain(|replaced| {
            let Some(dev) = devices.get(&replaced.device) else {
                return false;
            };
            let raw = dev.host.raw();
            let in_use = replaced
                .after
                .iter()
                .any(|(index, number)| queues.get(*index).is_some_and(|q| q.retired() < *number));
            if in_use {
                return true;
            }
            match replaced.object {
                // SAFETY: the device lives; the signal has executed and nothing waits.
                ReplacedObject::Semaphore(semaphore) => unsafe {
                    raw.destroy_semaphore(semaphore, None);
                },
                ReplacedObject::Fence(fence) => {
                    // The queue's timeline may be a moment ahead of the fence. One that is never
                    // signalled stays until its device goes.
                    // SAFETY: the device and the fence live.
                    if !matches!(unsafe { raw.get_fence_status(fence) }, Ok(true)) {
                        return true;
                    }
                    // SAFETY: as above, and its submission is done.
                    unsafe { raw.destroy_fence(fence, None) };
                }
            }
            false
        });
    }

    /// Destroys what was replaced on a device that is idle and goes.
    pub(crate) fn drop_replaced_of(&mut self, device: u64) {
        let devices = &self.devices;
        self.replaced.retain(|replaced| {
            if replaced.device != device {
                return true;
            }
            if let Some(dev) = devices.get(&device) {
                // SAFETY: the device lives and is idle.
                unsafe {
                    match replaced.object {
                        ReplacedObject::Semaphore(semaphore) => {
                            dev.host.raw().destroy_semaphore(semaphore, None);
                        }
                        ReplacedObject::Fence(fence) => dev.host.raw().destroy_fence(fence, None),
                    }
                }
            }
            false
        });
    }
}

fn vulkan(call: &'static str) -> impl Fn(vk::Result) -> WorkerError {
    move |result| GpuError::Vulkan { call, result }.into()
}

/// Takes the wish to export out of a creation: the host's objects are never exported.
pub(crate) fn strip_exports(command: &Command<'_>) {
    // SAFETY: arguments of the decoded command; nothing else refers to the chains.
    unsafe {
        match command {
            Command::VkCreateSemaphore(args) => {
                if let Some(info) = raw::get_mut(args.p_create_info) {
                    raw::unlink(
                        &mut info.p_next,
                        &[vk::StructureType::EXPORT_SEMAPHORE_CREATE_INFO],
                    );
                }
            }
            Command::VkCreateFence(args) => {
                if let Some(info) = raw::get_mut(args.p_create_info) {
                    raw::unlink(
                        &mut info.p_next,
                        &[vk::StructureType::EXPORT_FENCE_CREATE_INFO],
                    );
                }
            }
            _ => {}
        }
    }
}

/// Removes element `at` of an array by moving the rest up, if it has that many elements.
///
/// # Safety
/// `array` is null or holds `count` elements that nothing else refers to.
unsafe fn remove<T: Copy>(array: *const T, count: u32, at: usize) {
    if array.is_null() || at >= count as usize {
        return;
    }
    let place = array.cast_mut();
    // SAFETY: by the contract of this function.
    unsafe { std::ptr::copy(place.add(at + 1), place.add(at), count as usize - at - 1) };
}

/// Takes waits out of a submission whose handles are the host's already: `dropped` in ascending
/// order.
pub(crate) fn drop_waits(command: &Command<'_>, dropped: &[DroppedWait]) {
    for (batch, at) in dropped.iter().rev() {
        // SAFETY: arguments of the decoded command, as long as their counts say; nothing else
        // refers to them.
        unsafe {
            match command {
                Command::VkQueueSubmit(args) if *batch < args.submit_count as usize => {
                    let Some(submit) = raw::get_mut(args.p_submits.add(*batch)) else {
                        continue;
                    };
                    let count = submit.wait_semaphore_count;
                    if *at >= count as usize {
                        continue;
                    }
                    remove(submit.p_wait_semaphores, count, *at);
                    remove(submit.p_wait_dst_stage_mask, count, *at);
                    submit.wait_semaphore_count -= 1;
                    raw::chain(submit.p_next, |next| drop_wait_in_chain(next, *at));
                }
                Command::VkQueueSubmit2(args) if *batch < args.submit_count as usize => {
                    let Some(submit) = raw::get_mut(args.p_submits.add(*batch)) else {
                        continue;
                    };
                    let count = submit.wait_semaphore_info_count;
                    if *at >= count as usize {
                        continue;
                    }
                    remove(submit.p_wait_semaphore_infos, count, *at);
                    submit.wait_semaphore_info_count -= 1;
                }
                _ => {}
            }
        }
    }
}

fn drop_wait_in_chain(next: *mut vk::BaseOutStructure<'static>, at: usize) {
    // SAFETY: a structure of a decoded chain; its sType says which it is.
    unsafe {
        match (*next).s_type {
            vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO => {
                let values = &mut *next.cast::<vk::TimelineSemaphoreSubmitInfo<'_>>();
                let count = values.wait_semaphore_value_count;
                if at < count as usize {
                    remove(values.p_wait_semaphore_values, count, at);
                    values.wait_semaphore_value_count -= 1;
                }
            }
            vk::StructureType::DEVICE_GROUP_SUBMIT_INFO => {
                let group = &mut *next.cast::<vk::DeviceGroupSubmitInfo<'_>>();
                let count = group.wait_semaphore_count;
                if at < count as usize {
                    remove(group.p_wait_semaphore_device_indices, count, at);
                    group.wait_semaphore_count -= 1;
                }
            }
            _ => {}
        }
    }
}
