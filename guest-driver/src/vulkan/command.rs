//! Command buffers, recording and submission.

use std::rc::Rc;

use ash::vk;

use super::memory::Buffer;
use super::pipeline::{Layout, Pipeline, Set};
use super::sync::{Event, Fence, Timeline};
use super::{Gpu, Shared};
use crate::error::{Error, Named};

const WORK_STAGES: vk::PipelineStageFlags = vk::PipelineStageFlags::from_raw(
    vk::PipelineStageFlags::COMPUTE_SHADER.as_raw() | vk::PipelineStageFlags::TRANSFER.as_raw(),
);

/// Whether a command buffer goes to the queue or into another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Primary,
    Secondary,
}

/// A command pool with one command buffer, so that each can be reset by itself.
pub struct Commands {
    pool: vk::CommandPool,
    handle: vk::CommandBuffer,
    level: Level,
    shared: Rc<Shared>,
}

impl Drop for Commands {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for the buffer, which goes with its pool.
        unsafe { self.shared.raw.destroy_command_pool(self.pool, None) };
    }
}

/// A command buffer that is being recorded.
pub struct Recorder<'a> {
    pub(super) raw: &'a ash::Device,
    pub(super) handle: vk::CommandBuffer,
}

impl Commands {
    /// Records anew. The queue must be idle for it; `reusable` if it is submitted more than once.
    pub fn record(&self, reusable: bool, body: impl FnOnce(&Recorder<'_>)) -> Result<(), Error> {
        let once = vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT;
        let flags = if reusable {
            vk::CommandBufferUsageFlags::empty()
        } else {
            once
        };
        self.record_as(flags, body)
    }

    /// Records anew what may be submitted again while it is still pending.
    pub fn record_concurrent(&self, body: impl FnOnce(&Recorder<'_>)) -> Result<(), Error> {
        self.record_as(vk::CommandBufferUsageFlags::SIMULTANEOUS_USE, body)
    }

    fn record_as(
        &self,
        flags: vk::CommandBufferUsageFlags,
        body: impl FnOnce(&Recorder<'_>),
    ) -> Result<(), Error> {
        let raw = &self.shared.raw;
        let inherit = vk::CommandBufferInheritanceInfo::default();
        let mut begin = vk::CommandBufferBeginInfo::default().flags(flags);
        if self.level == Level::Secondary {
            begin = begin.inheritance_info(&inherit);
        }
        // SAFETY: the pool allows resets of its buffers, which beginning does; idle.
        unsafe { raw.begin_command_buffer(self.handle, &begin) }.named("vkBeginCommandBuffer")?;
        body(&Recorder {
            raw,
            handle: self.handle,
        });
        // SAFETY: begun above.
        unsafe { raw.end_command_buffer(self.handle) }.named("vkEndCommandBuffer")
    }
}

// SAFETY (all commands below): the command buffer is in the recording state for as long as the
// recorder lives, the handles are alive, and whoever records gives ranges inside the buffers.
impl Recorder<'_> {
    /// Everything before is done and seen by compute, transfer and indirect reads after.
    pub fn barrier(&self) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(
                vk::AccessFlags::SHADER_READ
                    | vk::AccessFlags::SHADER_WRITE
                    | vk::AccessFlags::TRANSFER_READ
                    | vk::AccessFlags::TRANSFER_WRITE
                    | vk::AccessFlags::INDIRECT_COMMAND_READ,
            );
        self.pipeline_barrier(
            WORK_STAGES,
            WORK_STAGES | vk::PipelineStageFlags::DRAW_INDIRECT,
            barrier,
        );
    }

    /// Everything before is done and seen by the CPU once the submission has finished.
    pub fn barrier_to_host(&self) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::HOST_READ | vk::AccessFlags::HOST_WRITE);
        self.pipeline_barrier(WORK_STAGES, vk::PipelineStageFlags::HOST, barrier);
    }

    pub(super) fn pipeline_barrier(
        &self,
        from: vk::PipelineStageFlags,
        to: vk::PipelineStageFlags,
        barrier: vk::MemoryBarrier<'_>,
    ) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_pipeline_barrier(
                self.handle,
                from,
                to,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// Sets an event when everything before is done.
    pub fn set_event(&self, event: &Event) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_set_event(self.handle, event.handle, WORK_STAGES)
        };
    }

    /// Resets an event. A barrier must follow before it is set or waited for again.
    pub fn reset_event(&self, event: &Event) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_reset_event(self.handle, event.handle, WORK_STAGES)
        };
    }

    /// Waits for an event that an earlier command sets, with the effect of [`Self::barrier`].
    pub fn wait_event(&self, event: &Event) {
        let barrier = vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(
                vk::AccessFlags::SHADER_READ
                    | vk::AccessFlags::SHADER_WRITE
                    | vk::AccessFlags::TRANSFER_READ
                    | vk::AccessFlags::TRANSFER_WRITE,
            );
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_wait_events(
                self.handle,
                &[event.handle],
                WORK_STAGES,
                WORK_STAGES,
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// Binds a pipeline.
    pub fn pipeline(&self, pipeline: &Pipeline) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_bind_pipeline(
                self.handle,
                vk::PipelineBindPoint::COMPUTE,
                pipeline.handle,
            );
        }
    }

    /// Binds set 0, with an offset for each dynamic descriptor.
    pub fn set(&self, layout: &Layout, set: &Set, dynamic: &[u32]) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_bind_descriptor_sets(
                self.handle,
                vk::PipelineBindPoint::COMPUTE,
                layout.handle,
                0,
                &[set.handle],
                dynamic,
            );
        }
    }

    /// Push constants from byte 0.
    pub fn push(&self, layout: &Layout, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: as said above the impl.
        unsafe {
            self.raw.cmd_push_constants(
                self.handle,
                layout.handle,
                vk::ShaderStageFlags::COMPUTE,
                0,
                &bytes,
            );
        }
    }

    /// Dispatches groups.
    pub fn dispatch(&self, x: u32, y: u32) {
        // SAFETY: as said above the impl.
        unsafe { self.raw.cmd_dispatch(self.handle, x, y, 1) };
    }

    /// Dispatches groups counted by the three words at `offset`.
    pub fn dispatch_indirect(&self, buffer: &Buffer, offset: u64) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_dispatch_indirect(self.handle, buffer.handle, offset);
        }
    }

    /// Copies regions of (source offset, target offset, size) in bytes.
    pub fn copy(&self, source: &Buffer, target: &Buffer, regions: &[(u64, u64, u64)]) {
        let regions: Vec<_> = regions
            .iter()
            .map(|(from, to, size)| vk::BufferCopy {
                src_offset: *from,
                dst_offset: *to,
                size: *size,
            })
            .collect();
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_copy_buffer(self.handle, source.handle, target.handle, &regions);
        }
    }

    /// Fills bytes (multiples of 4, or `vk::WHOLE_SIZE` for the rest).
    pub fn fill(&self, target: &Buffer, offset: u64, size: u64, value: u32) {
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_fill_buffer(self.handle, target.handle, offset, size, value);
        }
    }

    /// Writes words from the command itself, at most 64 KiB.
    pub fn update(&self, target: &Buffer, offset: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // SAFETY: as said above the impl.
        unsafe {
            self.raw
                .cmd_update_buffer(self.handle, target.handle, offset, &bytes);
        }
    }

    /// Runs secondary command buffers.
    pub fn execute(&self, secondaries: &[&Commands]) {
        let handles: Vec<_> = secondaries.iter().map(|s| s.handle).collect();
        // SAFETY: as said above the impl.
        unsafe { self.raw.cmd_execute_commands(self.handle, &handles) };
    }
}

/// One element of a vkQueueSubmit.
#[derive(Default)]
pub struct Batch<'a> {
    pub wait: Option<(&'a Timeline, u64)>,
    pub commands: Vec<&'a Commands>,
    pub signal: Option<(&'a Timeline, u64)>,
}

impl Gpu {
    /// A command buffer.
    pub fn commands(&self, level: Level) -> Result<Commands, Error> {
        let raw = &self.shared.raw;
        let create = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER)
            .queue_family_index(self.family);
        // SAFETY: the family exists.
        let pool =
            unsafe { raw.create_command_pool(&create, None) }.named("vkCreateCommandPool")?;
        // Owned from here on, so that a failed allocation destroys the pool.
        let mut commands = Commands {
            pool,
            handle: vk::CommandBuffer::null(),
            level,
            shared: self.shared.clone(),
        };
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(match level {
                Level::Primary => vk::CommandBufferLevel::PRIMARY,
                Level::Secondary => vk::CommandBufferLevel::SECONDARY,
            })
            .command_buffer_count(1);
        // SAFETY: the pool is alive.
        commands.handle = unsafe { raw.allocate_command_buffers(&allocate) }
            .named("vkAllocateCommandBuffers")?[0];
        Ok(commands)
    }

    /// Submits batches, with a fence for all of them.
    pub fn submit(&self, batches: &[Batch<'_>], fence: Option<&Fence>) -> Result<(), Error> {
        /// What one batch's structures point to.
        struct Parts {
            commands: Vec<vk::CommandBuffer>,
            waits: Vec<vk::Semaphore>,
            wait_values: Vec<u64>,
            stages: Vec<vk::PipelineStageFlags>,
            signals: Vec<vk::Semaphore>,
            signal_values: Vec<u64>,
        }
        let parts: Vec<_> = batches
            .iter()
            .map(|batch| Parts {
                commands: batch.commands.iter().map(|c| c.handle).collect(),
                waits: batch.wait.iter().map(|(t, _)| t.handle).collect(),
                wait_values: batch.wait.iter().map(|(_, value)| *value).collect(),
                stages: batch.wait.iter().map(|_| WORK_STAGES).collect(),
                signals: batch.signal.iter().map(|(t, _)| t.handle).collect(),
                signal_values: batch.signal.iter().map(|(_, value)| *value).collect(),
            })
            .collect();
        let mut values: Vec<_> = parts
            .iter()
            .map(|part| {
                vk::TimelineSemaphoreSubmitInfo::default()
                    .wait_semaphore_values(&part.wait_values)
                    .signal_semaphore_values(&part.signal_values)
            })
            .collect();
        let submits: Vec<_> = parts
            .iter()
            .zip(&mut values)
            .map(|(part, values)| {
                let submit = vk::SubmitInfo::default()
                    .command_buffers(&part.commands)
                    .wait_semaphores(&part.waits)
                    .wait_dst_stage_mask(&part.stages)
                    .signal_semaphores(&part.signals);
                if part.waits.is_empty() && part.signals.is_empty() {
                    submit
                } else {
                    submit.push_next(values)
                }
            })
            .collect();
        let fence = fence.map_or(vk::Fence::null(), |fence| fence.handle);
        // SAFETY: all handles are alive, the command buffers are recorded and idle, the fence is
        // unsignalled, and the structures live across the call.
        unsafe { self.shared.raw.queue_submit(self.queue, &submits, fence) }.named("vkQueueSubmit")
    }
}
