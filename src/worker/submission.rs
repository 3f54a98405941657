//! A submission as it was decoded: its batches by guest ids, and the driver's call, with a signal of ours where wanted.
//!
//! The signal is a value of the queue's timeline semaphore, put into the last batch: a batch of its own would cost the
//! driver as much as another submission. It comes after everything that was submitted before (Vulkan 1.3, 7.4.1: the
//! first scope of a semaphore signal holds all that is earlier in submission order).

use ash::vk::{self, Handle};
use hesper_venus::Command;

use crate::raw;

/// A semaphore operation of a submission: guest id, and the value for a timeline.
pub(crate) type Operation = (u64, u64);

/// The batches of a submission. Nothing is copied: valid as long as the command.
#[derive(Clone, Copy)]
pub(crate) enum Submission<'a> {
    /// Of `vkQueueSubmit`.
    One(&'a [vk::SubmitInfo<'a>]),
    /// Of `vkQueueSubmit2`.
    Two(&'a [vk::SubmitInfo2<'a>]),
}

/// One batch of a submission, by guest ids.
#[derive(Clone, Copy)]
pub(crate) enum Batch<'a> {
    /// Of `vkQueueSubmit`, with the values of its timelines.
    One(
        &'a vk::SubmitInfo<'a>,
        Option<&'a vk::TimelineSemaphoreSubmitInfo<'a>>,
    ),
    /// Of `vkQueueSubmit2`.
    Two(&'a vk::SubmitInfo2<'a>),
}

impl<'a> Submission<'a> {
    /// Of a decoded command; `None` for one that submits nothing.
    pub(crate) fn of(command: &'a Command<'_>) -> Option<Self> {
        // SAFETY: arguments of the decoded command, which is borrowed for as long.
        unsafe {
            match command {
                Command::VkQueueSubmit(args) => {
                    Some(Self::One(raw::slice(args.p_submits, args.submit_count)))
                }
                Command::VkQueueSubmit2(args) => {
                    Some(Self::Two(raw::slice(args.p_submits, args.submit_count)))
                }
                _ => None,
            }
        }
    }

    /// The batches, in order.
    pub(crate) fn batches(self) -> impl Iterator<Item = Batch<'a>> + Clone {
        let count = match self {
            Self::One(submits) => submits.len(),
            Self::Two(submits) => submits.len(),
        };
        (0..count).map(move |at| match self {
            Self::One(submits) => {
                let submit = &submits[at];
                // SAFETY: a chain of the decoded command.
                let values = unsafe {
                    raw::find::<vk::TimelineSemaphoreSubmitInfo<'_>>(
                        submit.p_next,
                        vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO,
                    )
                };
                Batch::One(submit, values)
            }
            Self::Two(submits) => Batch::Two(&submits[at]),
        })
    }

    /// Guest ids of all command buffers, in order.
    pub(crate) fn command_buffers(self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        self.batches().flat_map(Batch::command_buffers)
    }
}

impl<'a> Batch<'a> {
    /// What it waits for.
    pub(crate) fn waits(self) -> impl Iterator<Item = Operation> + Clone + use<'a> {
        // SAFETY: arrays of the decoded command, as long as their counts say.
        let operations = unsafe {
            match self {
                Self::One(submit, values) => Operations::One(
                    raw::slice(submit.p_wait_semaphores, submit.wait_semaphore_count),
                    values.map_or(&[], |values| {
                        raw::slice(
                            values.p_wait_semaphore_values,
                            values.wait_semaphore_value_count,
                        )
                    }),
                ),
                Self::Two(submit) => Operations::Two(raw::slice(
                    submit.p_wait_semaphore_infos,
                    submit.wait_semaphore_info_count,
                )),
            }
        };
        operations.iter()
    }

    /// What it signals.
    pub(crate) fn signals(self) -> impl Iterator<Item = Operation> + Clone + use<'a> {
        // SAFETY: arrays of the decoded command, as long as their counts say.
        let operations = unsafe {
            match self {
                Self::One(submit, values) => Operations::One(
                    raw::slice(submit.p_signal_semaphores, submit.signal_semaphore_count),
                    values.map_or(&[], |values| {
                        raw::slice(
                            values.p_signal_semaphore_values,
                            values.signal_semaphore_value_count,
                        )
                    }),
                ),
                Self::Two(submit) => Operations::Two(raw::slice(
                    submit.p_signal_semaphore_infos,
                    submit.signal_semaphore_info_count,
                )),
            }
        };
        operations.iter()
    }

    /// Guest ids of its command buffers.
    pub(crate) fn command_buffers(self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        let count = match self {
            Self::One(submit, _) => submit.command_buffer_count,
            Self::Two(submit) => submit.command_buffer_info_count,
        };
        // SAFETY: arrays of the decoded command, as long as their counts say.
        (0..count as usize).map(move |at| unsafe {
            match self {
                Self::One(submit, _) => raw::slice(submit.p_command_buffers, count)[at].as_raw(),
                Self::Two(submit) => raw::slice(submit.p_command_buffer_infos, count)[at]
                    .command_buffer
                    .as_raw(),
            }
        })
    }
}

/// The semaphores of one side of a batch.
#[derive(Clone, Copy)]
enum Operations<'a> {
    /// With the values of those that are timelines; there may be fewer.
    One(&'a [vk::Semaphore], &'a [u64]),
    Two(&'a [vk::SemaphoreSubmitInfo<'a>]),
}

impl<'a> Operations<'a> {
    fn iter(self) -> impl Iterator<Item = Operation> + Clone + use<'a> {
        let count = match self {
            Self::One(semaphores, _) => semaphores.len(),
            Self::Two(infos) => infos.len(),
        };
        (0..count).map(move |at| match self {
            Self::One(semaphores, values) => (
                semaphores[at].as_raw(),
                values.get(at).copied().unwrap_or(0),
            ),
            Self::Two(infos) => (infos[at].semaphore.as_raw(), infos[at].value),
        })
    }
}

/// Room for the arrays that a call needs beyond the decoded ones, used again and again.
#[derive(Default)]
pub(crate) struct Room {
    one: Vec<vk::SubmitInfo<'static>>,
    two: Vec<vk::SubmitInfo2<'static>>,
    semaphores: Vec<vk::Semaphore>,
    values: Vec<u64>,
    infos: Vec<vk::SemaphoreSubmitInfo<'static>>,
}

/// Submits a command whose handles are the host's; `signal` says which value of which timeline to signal when all of it
/// is done. `None` for a command that submits nothing.
///
/// # Safety
/// All handles in `command` and the others live and belong to `device`; nobody else uses `queue` or refers to what
/// the command points at.
pub(crate) unsafe fn submit(
    device: &ash::Device,
    queue: vk::Queue,
    signal: Option<(vk::Semaphore, u64)>,
    command: &Command<'_>,
    room: &mut Room,
) -> Option<vk::Result> {
    // SAFETY: by the contract of this function; the arrays made here outlive the calls.
    unsafe {
        match (command, signal) {
            (Command::VkQueueSubmit(args), None) => Some((device.fp_v1_0().queue_submit)(
                queue,
                args.submit_count,
                args.p_submits,
                args.fence,
            )),
            (Command::VkQueueSubmit2(args), None) => Some((device.fp_v1_3().queue_submit2)(
                queue,
                args.submit_count,
                args.p_submits,
                args.fence,
            )),
            (Command::VkQueueSubmit(args), Some((timeline, value))) => {
                room.one.clear();
                for submit in raw::slice(args.p_submits, args.submit_count) {
                    room.one.push(detached(submit));
                }
                Some(submit_one(device, queue, timeline, value, args.fence, room))
            }
            (Command::VkQueueSubmit2(args), Some((timeline, value))) => {
                room.two.clear();
                for submit in raw::slice(args.p_submits, args.submit_count) {
                    room.two.push(detached2(submit));
                }
                Some(submit_two(device, queue, timeline, value, args.fence, room))
            }
            _ => None,
        }
    }
}

/// Signals a value of a timeline when all that was submitted before is done.
///
/// # Safety
/// The handles live and belong to `device`; nobody else uses `queue`.
pub(crate) unsafe fn signal(
    device: &ash::Device,
    queue: vk::Queue,
    timeline: vk::Semaphore,
    value: u64,
) -> vk::Result {
    let (timelines, values) = ([timeline], [value]);
    let mut info = vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(&values);
    let submit = vk::SubmitInfo::default()
        .signal_semaphores(&timelines)
        .push_next(&mut info);
    // SAFETY: by the contract of this function; the arrays outlive the call.
    unsafe { (device.fp_v1_0().queue_submit)(queue, 1, &raw const submit, vk::Fence::null()) }
}

/// A copy without the lifetime.
fn detached(submit: &vk::SubmitInfo<'_>) -> vk::SubmitInfo<'static> {
    vk::SubmitInfo {
        s_type: submit.s_type,
        p_next: submit.p_next,
        wait_semaphore_count: submit.wait_semaphore_count,
        p_wait_semaphores: submit.p_wait_semaphores,
        p_wait_dst_stage_mask: submit.p_wait_dst_stage_mask,
        command_buffer_count: submit.command_buffer_count,
        p_command_buffers: submit.p_command_buffers,
        signal_semaphore_count: submit.signal_semaphore_count,
        p_signal_semaphores: submit.p_signal_semaphores,
        ..Default::default()
    }
}

/// A copy without the lifetime.
fn detached2(submit: &vk::SubmitInfo2<'_>) -> vk::SubmitInfo2<'static> {
    vk::SubmitInfo2 {
        s_type: submit.s_type,
        p_next: submit.p_next,
        flags: submit.flags,
        wait_semaphore_info_count: submit.wait_semaphore_info_count,
        p_wait_semaphore_infos: submit.p_wait_semaphore_infos.cast(),
        command_buffer_info_count: submit.command_buffer_info_count,
        p_command_buffer_infos: submit.p_command_buffer_infos.cast(),
        signal_semaphore_info_count: submit.signal_semaphore_info_count,
        p_signal_semaphore_infos: submit.p_signal_semaphore_infos.cast(),
        ..Default::default()
    }
}

/// # Safety
/// As [`submit`]; the batches are in `room.one`.
unsafe fn submit_one(
    device: &ash::Device,
    queue: vk::Queue,
    timeline: vk::Semaphore,
    value: u64,
    fence: vk::Fence,
    room: &mut Room,
) -> vk::Result {
    // SAFETY: by the contract of this function.
    unsafe {
        // The indices of a device group go with the semaphores: those batches stay as they are.
        let separate = room.one.last().is_none_or(|last| {
            raw::find::<vk::DeviceGroupSubmitInfo<'_>>(
                last.p_next,
                vk::StructureType::DEVICE_GROUP_SUBMIT_INFO,
            )
            .is_some()
        });
        if separate {
            room.one.push(vk::SubmitInfo::default());
        }
        let Some(last) = room.one.last_mut() else {
            return vk::Result::ERROR_UNKNOWN;
        };
        room.semaphores.clear();
        room.values.clear();
        let signals = raw::slice(last.p_signal_semaphores, last.signal_semaphore_count);
        room.semaphores.extend_from_slice(signals);
        room.semaphores.push(timeline);
        let mut found = None;
        raw::chain(last.p_next, |next| {
            if (*next).s_type == vk::StructureType::TIMELINE_SEMAPHORE_SUBMIT_INFO {
                found = Some(next.cast::<vk::TimelineSemaphoreSubmitInfo<'_>>());
            }
        });
        let theirs = found.map(|info| {
            (
                info,
                (*info).signal_semaphore_value_count,
                (*info).p_signal_semaphore_values,
            )
        });
        if let Some((_, count, values)) = theirs {
            room.values.extend_from_slice(raw::slice(values, count));
        }
        room.values.resize(signals.len(), 0);
        room.values.push(value);
        let mut own = vk::TimelineSemaphoreSubmitInfo::default();
        let info = match theirs {
            Some((info, ..)) => info,
            None => {
                // Without one of theirs nothing but binary semaphores is waited for, and those need no value.
                own.p_next = last.p_next;
                last.p_next = std::ptr::from_ref(&own).cast();
                &raw mut own
            }
        };
        (*info).signal_semaphore_value_count = room.values.len() as u32;
        (*info).p_signal_semaphore_values = room.values.as_ptr();
        last.signal_semaphore_count = room.semaphores.len() as u32;
        last.p_signal_semaphores = room.semaphores.as_ptr();
        let result =
            (device.fp_v1_0().queue_submit)(queue, room.one.len() as u32, room.one.as_ptr(), fence);
        if let Some((info, count, values)) = theirs {
            (*info).signal_semaphore_value_count = count;
            (*info).p_signal_semaphore_values = values;
        }
        result
    }
}

/// # Safety
/// As [`submit`]; the batches are in `room.two`.
unsafe fn submit_two(
    device: &ash::Device,
    queue: vk::Queue,
    timeline: vk::Semaphore,
    value: u64,
    fence: vk::Fence,
    room: &mut Room,
) -> vk::Result {
    if room.two.is_empty() {
        room.two.push(vk::SubmitInfo2::default());
    }
    let Some(last) = room.two.last_mut() else {
        return vk::Result::ERROR_UNKNOWN;
    };
    room.infos.clear();
    // SAFETY: by the contract of this function.
    let signals = unsafe {
        raw::slice(
            last.p_signal_semaphore_infos,
            last.signal_semaphore_info_count,
        )
    };
    room.infos
        .extend(signals.iter().map(|info| vk::SemaphoreSubmitInfo {
            s_type: info.s_type,
            p_next: info.p_next,
            semaphore: info.semaphore,
            value: info.value,
            stage_mask: info.stage_mask,
            device_index: info.device_index,
            ..Default::default()
        }));
    room.infos.push(
        vk::SemaphoreSubmitInfo::default()
            .semaphore(timeline)
            .value(value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS),
    );
    last.signal_semaphore_info_count = room.infos.len() as u32;
    last.p_signal_semaphore_infos = room.infos.as_ptr();
    // SAFETY: by the contract of this function; the arrays outlive the call.
    unsafe {
        (device.fp_v1_3().queue_submit2)(queue, room.two.len() as u32, room.two.as_ptr(), fence)
    }
}
