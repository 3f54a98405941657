//! Waiting and signalling. Nothing here blocks: a command that would is tried again later.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ash::vk::{self, Handle};
use hesper_venus::{Command, Decoded};

use crate::context::{Context, Kind, Semaphore};
use crate::error::{WorkerError, argument};
use crate::exec::{Step, is_failure};
use crate::raw;

impl Context {
    /// A semaphore or a fence.
    pub(crate) fn create_sync(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let timeline = match &decoded.command {
            // SAFETY: arguments of the decoded command.
            Command::VkCreateSemaphore(args) => unsafe {
                raw::get(args.p_create_info)
                    .and_then(|info| {
                        raw::find::<vk::SemaphoreTypeCreateInfo<'_>>(
                            info.p_next,
                            vk::StructureType::SEMAPHORE_TYPE_CREATE_INFO,
                        )
                    })
                    .filter(|info| info.semaphore_type == vk::SemaphoreType::TIMELINE)
                    .map(|info| info.initial_value)
            },
            _ => None,
        };
        self.create(decoded, bytes, |ty, _| match ty {
            vk::ObjectType::SEMAPHORE => Kind::Semaphore(Semaphore {
                timeline: timeline.is_some(),
                pending: timeline.unwrap_or(0),
                imports: 0,
            }),
            _ => Kind::Plain,
        })?;
        Ok(())
    }

    pub(crate) fn wait_fences(
        &mut self,
        decoded: &mut Decoded<'_>,
        since: Instant,
    ) -> Result<Step, WorkerError> {
        let Command::VkWaitForFences(args) = &decoded.command else {
            return Err(argument("vkWaitForFences", "is another command"));
        };
        let device = args.device.as_raw();
        let host = Rc::clone(&self.dev(device)?.host);
        let raw = host.raw();
        let wait_all = args.wait_all != vk::FALSE;
        // SAFETY: arguments of the decoded command.
        let fences = unsafe { raw::slice(args.p_fences, args.fence_count) };
        let mut signalled = 0;
        let mut failed = None;
        for fence in fences {
            let handle = self
                .objects
                .get(vk::ObjectType::FENCE, fence.as_raw())?
                .handle;
            // SAFETY: fence and device live.
            match unsafe { raw.get_fence_status(vk::Fence::from_raw(handle)) } {
                Ok(true) => signalled += 1,
                Ok(false) => {}
                Err(result) => failed = Some(result),
            }
        }
        let done = if wait_all {
            signalled == fences.len()
        } else {
            signalled > 0 || fences.is_empty()
        };
        let timeout = args.timeout;
        let Command::VkWaitForFences(args) = &mut decoded.command else {
            return Ok(Step::Done);
        };
        Ok(finish(&mut args.ret, done, failed, timeout, since))
    }

    pub(crate) fn wait_semaphores(
        &mut self,
        decoded: &mut Decoded<'_>,
        since: Instant,
    ) -> Result<Step, WorkerError> {
        let Command::VkWaitSemaphores(args) = &decoded.command else {
            return Err(argument("vkWaitSemaphores", "is another command"));
        };
        let host = Rc::clone(&self.dev(args.device.as_raw())?.host);
        let raw = host.raw();
        // SAFETY: arguments of the decoded command.
        let (semaphores, values, any) = unsafe {
            let info = raw::get(args.p_wait_info)
                .ok_or_else(|| argument("vkWaitSemaphores", "no wait info"))?;
            (
                raw::slice(info.p_semaphores, info.semaphore_count),
                raw::slice(info.p_values, info.semaphore_count),
                info.flags.contains(vk::SemaphoreWaitFlags::ANY),
            )
        };
        let mut reached = 0;
        let mut failed = None;
        for (semaphore, wanted) in semaphores.iter().zip(values) {
            let handle = self
                .objects
                .get(vk::ObjectType::SEMAPHORE, semaphore.as_raw())?
                .handle;
            // SAFETY: semaphore and device live.
            match unsafe { raw.get_semaphore_counter_value(vk::Semaphore::from_raw(handle)) } {
                Ok(value) if value >= *wanted => reached += 1,
                Ok(_) => {}
                Err(result) => failed = Some(result),
            }
        }
        let done = if any {
            reached > 0 || semaphores.is_empty()
        } else {
            reached == semaphores.len()
        };
        let timeout = args.timeout;
        let Command::VkWaitSemaphores(args) = &mut decoded.command else {
            return Ok(Step::Done);
        };
        Ok(finish(&mut args.ret, done, failed, timeout, since))
    }

    pub(crate) fn signal_semaphore(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let Command::VkSignalSemaphore(args) = &decoded.command else {
            return Err(argument("vkSignalSemaphore", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let info = unsafe { raw::get(args.p_signal_info) }
            .ok_or_else(|| argument("vkSignalSemaphore", "no signal info"))?;
        let (id, value) = (info.semaphore.as_raw(), info.value);
        self.plain(decoded)?;
        if let Kind::Semaphore(semaphore) = &mut self
            .objects
            .get_mut(vk::ObjectType::SEMAPHORE, id)?
            .data
            .kind
        {
            semaphore.pending = semaphore.pending.max(value);
        }
        Ok(())
    }

    /// Query results; waiting for them is a poll.
    pub(crate) fn query_results(&mut self, decoded: &mut Decoded<'_>) -> Result<Step, WorkerError> {
        let Command::VkGetQueryPoolResults(args) = &mut decoded.command else {
            return Err(argument("vkGetQueryPoolResults", "is another command"));
        };
        let waits = args.flags.contains(vk::QueryResultFlags::WAIT);
        args.flags &= !vk::QueryResultFlags::WAIT;
        self.plain(decoded)?;
        let Command::VkGetQueryPoolResults(args) = &mut decoded.command else {
            return Ok(Step::Done);
        };
        if waits && args.ret == vk::Result::NOT_READY {
            return Ok(Step::Wait);
        }
        Ok(Step::Done)
    }
}

/// The end of a wait: done, failed, out of time, or look again.
fn finish(
    ret: &mut vk::Result,
    done: bool,
    failed: Option<vk::Result>,
    timeout_ns: u64,
    since: Instant,
) -> Step {
    match failed {
        Some(result) if is_failure(result) => *ret = result,
        _ if done => *ret = vk::Result::SUCCESS,
        _ if since.elapsed() >= Duration::from_nanos(timeout_ns) => *ret = vk::Result::TIMEOUT,
        _ => return Step::Wait,
    }
    Step::Done
}
