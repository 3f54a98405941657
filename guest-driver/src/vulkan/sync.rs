//! Fences, timeline semaphores, events.

use std::rc::Rc;

use ash::vk;

use super::{Gpu, Shared};
use crate::error::{Error, Named};

/// A wait looks up this often, only to say that it still waits: a migration or a takeover may take
/// any time, and the tools never give up on the device themselves.
const WAIT_SLICE_NS: u64 = 60_000_000_000;

/// Repeats a bounded wait until it ends other than by its time.
fn wait(call: &'static str, mut look: impl FnMut() -> Result<(), vk::Result>) -> Result<(), Error> {
    loop {
        match look() {
            Err(vk::Result::TIMEOUT) => eprintln!("{call}: still waiting after 60 s"),
            result => return result.named(call),
        }
    }
}

/// A fence.
pub struct Fence {
    pub(super) handle: vk::Fence,
    shared: Rc<Shared>,
}

impl Fence {
    /// Waits, then resets it.
    pub fn wait_and_reset(&self) -> Result<(), Error> {
        let raw = &self.shared.raw;
        wait("vkWaitForFences", || {
            // SAFETY: the fence is alive.
            unsafe { raw.wait_for_fences(&[self.handle], true, WAIT_SLICE_NS) }
        })?;
        // SAFETY: signalled, so no submission uses it any more.
        unsafe { raw.reset_fences(&[self.handle]) }.named("vkResetFences")
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this fence.
        unsafe { self.shared.raw.destroy_fence(self.handle, None) };
    }
}

/// A timeline semaphore.
pub struct Timeline {
    pub(super) handle: vk::Semaphore,
    shared: Rc<Shared>,
}

impl Timeline {
    /// Waits until the payload reaches `value`.
    pub fn wait(&self, value: u64) -> Result<(), Error> {
        let semaphores = [self.handle];
        let values = [value];
        let info = vk::SemaphoreWaitInfo::default()
            .semaphores(&semaphores)
            .values(&values);
        wait("vkWaitSemaphores", || {
            // SAFETY: the semaphore is alive and of the timeline kind.
            unsafe { self.shared.raw.wait_semaphores(&info, WAIT_SLICE_NS) }
        })
    }

    /// Signals from the CPU; `value` must be beyond the payload and every pending signal.
    pub fn signal(&self, value: u64) -> Result<(), Error> {
        let info = vk::SemaphoreSignalInfo::default()
            .semaphore(self.handle)
            .value(value);
        // SAFETY: the semaphore is alive and of the timeline kind.
        unsafe { self.shared.raw.signal_semaphore(&info) }.named("vkSignalSemaphore")
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this semaphore.
        unsafe { self.shared.raw.destroy_semaphore(self.handle, None) };
    }
}

/// An event.
pub struct Event {
    pub(super) handle: vk::Event,
    shared: Rc<Shared>,
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this event.
        unsafe { self.shared.raw.destroy_event(self.handle, None) };
    }
}

impl Gpu {
    /// An unsignalled fence.
    pub fn fence(&self) -> Result<Fence, Error> {
        let create = vk::FenceCreateInfo::default();
        // SAFETY: `create` lives across the call.
        let handle =
            unsafe { self.shared.raw.create_fence(&create, None) }.named("vkCreateFence")?;
        Ok(Fence {
            handle,
            shared: self.shared.clone(),
        })
    }

    /// A timeline semaphore at 0. Needs the feature.
    pub fn timeline(&self) -> Result<Timeline, Error> {
        let mut kind =
            vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let create = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: `create` and its chain live across the call.
        let handle = unsafe { self.shared.raw.create_semaphore(&create, None) }
            .named("vkCreateSemaphore")?;
        Ok(Timeline {
            handle,
            shared: self.shared.clone(),
        })
    }

    /// An unsignalled event.
    pub fn event(&self) -> Result<Event, Error> {
        let create = vk::EventCreateInfo::default();
        // SAFETY: `create` lives across the call.
        let handle =
            unsafe { self.shared.raw.create_event(&create, None) }.named("vkCreateEvent")?;
        Ok(Event {
            handle,
            shared: self.shared.clone(),
        })
    }
}
