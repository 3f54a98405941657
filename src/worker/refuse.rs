//! Creations that fail without harm: the guest is answered a Vulkan error, and its context goes on.
//!
//! Stock clients send many creations without waiting for an answer, and take it that they succeed. So the ids of objects
//! that never came to be are kept: what is created from one fails as well, and destroying one does nothing. A client that
//! waited for the answer knows, and never names the id again.
//!
//! Memory is one of them, whoever had no room for it, the driver or a quota. What would be bound to it stays unbound, and
//! the driver must not be handed a buffer or image without memory where it looks at what they hold: a view of one fails, and
//! who records a command with one, or writes it into a descriptor, loses the context ([`TableError::Unbound`]). Nothing less
//! would help: such a client waits for no answer either, and would use results that were never computed.
//!
//! [`TableError::Unbound`]: crate::table::TableError::Unbound

use ash::vk::{self, Handle};
use hesper_venus::{Command, Decoded};

use crate::context::Context;
use crate::error::WorkerError;
use crate::raw;

/// Where a creation that may fail without harm answers its result; `None` for all other commands.
fn result<'a>(command: &'a mut Command<'_>) -> Option<&'a mut vk::Result> {
    macro_rules! results {
        ($($name:ident)*) => {
            match command {
                $(Command::$name(args) => Some(&mut args.ret),)*
                _ => None,
            }
        };
    }
    results! {
        VkCreateShaderModule VkCreateComputePipelines VkCreateGraphicsPipelines VkCreatePipelineLayout
        VkCreateDescriptorSetLayout VkCreatePipelineCache VkCreateBuffer VkCreateBufferView VkCreateImage
        VkCreateImageView VkCreateSampler VkCreateSamplerYcbcrConversion VkCreateRenderPass VkCreateRenderPass2
        VkCreateFramebuffer VkCreateDescriptorPool VkCreateCommandPool VkCreateEvent VkCreateQueryPool
        VkCreateSemaphore VkCreateFence
        // Binds make nothing, but fail with the memory.
        VkAllocateMemory VkBindBufferMemory2 VkBindImageMemory2
    }
}

/// What a command is answered that names an object whose creation was answered with `failed`.
fn answer(command: &Command<'_>, failed: vk::Result) -> vk::Result {
    match command {
        Command::VkBindBufferMemory2(_) | Command::VkBindImageMemory2(_)
            if failed != vk::Result::ERROR_OUT_OF_HOST_MEMORY =>
        {
            // Binds have no other errors.
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
        }
        _ => failed,
    }
}

impl Context {
    /// The result to answer to a command that the driver must not see but that harms nobody else: what it is made from
    /// never came to be, or the audit refuses it.
    ///
    /// # Errors
    /// [`WorkerError::Audit`]: the audit can't follow it and there is no answer for that.
    pub(crate) fn refusal(
        &mut self,
        decoded: &mut Decoded<'_>,
        followed: bool,
    ) -> Result<Option<vk::Result>, WorkerError> {
        if self.objects.has_failed() && result(&mut decoded.command).is_some() {
            let failed = decoded
                .input_ids()
                .find_map(|(ty, id)| self.objects.failed(ty, id));
            if let Some(failed) = failed {
                return Ok(Some(answer(&decoded.command, failed)));
            }
        }
        if self.is_view_of_unbound(decoded) {
            return Ok(Some(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
        }
        if !followed {
            return Ok(None);
        }
        // SAFETY: decoded by the codec, its arena lives, and the handles are the guest's ids.
        let followed = unsafe {
            hesper_audit::rules::before(&mut self.tracker, &self.objects, &decoded.command)
        };
        let Err(error) = followed else {
            return Ok(None);
        };
        match error.answer() {
            Some(answer) if result(&mut decoded.command).is_some() => {
                tracing::info!(command = %decoded.command_type(), %error, "Refused");
                Ok(Some(answer))
            }
            _ => Err(error.into()),
        }
    }

    /// Whether a command makes a view of a buffer or image without memory. While a context is restored, buffers are bound
    /// after all creations.
    fn is_view_of_unbound(&self, decoded: &Decoded<'_>) -> bool {
        matches!(
            decoded.command,
            Command::VkCreateBufferView(_) | Command::VkCreateImageView(_)
        ) && self.restoring.is_none()
            && decoded
                .input_ids()
                .any(|(ty, id)| self.objects.get(ty, id).is_ok_and(|o| o.data.is_unbound()))
    }

    /// Answers what was asked of memory that never came to be: it has neither bytes nor an address. False for all other
    /// commands.
    pub(crate) fn answer_for_failed_memory(&self, command: &mut Command<'_>) -> bool {
        let failed = |memory: vk::DeviceMemory| {
            self.objects
                .failed(vk::ObjectType::DEVICE_MEMORY, memory.as_raw())
                .is_some()
        };
        match command {
            Command::VkGetDeviceMemoryCommitment(args) if failed(args.memory) => {
                // SAFETY: an output of the decoded command.
                if let Some(bytes) = unsafe { raw::get_mut(args.p_committed_memory_in_bytes) } {
                    *bytes = 0;
                }
                true
            }
            Command::VkGetDeviceMemoryOpaqueCaptureAddress(args) => {
                // SAFETY: an argument of the decoded command.
                let info = unsafe { raw::get(args.p_info) };
                let failed = info.is_some_and(|info| failed(info.memory));
                if failed {
                    args.ret = 0;
                }
                failed
            }
            _ => false,
        }
    }

    /// Answers a creation with an error, as a driver that made nothing.
    ///
    /// # Errors
    /// [`WorkerError::Table`] for ids that can't be used for new objects.
    pub(crate) fn refuse(
        &mut self,
        decoded: &mut Decoded<'_>,
        answer: vk::Result,
    ) -> Result<(), WorkerError> {
        for (_, id) in decoded.output_ids() {
            self.make_room(id)?;
        }
        if let Some(place) = result(&mut decoded.command) {
            *place = answer;
        }
        decoded.clear_outputs();
        self.keep_failed(decoded)
    }

    /// Takes note of the outputs that the driver left null, and answers null for them.
    ///
    /// # Errors
    /// [`WorkerError::Table`] when too many are kept.
    pub(crate) fn keep_failed(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let answer = match result(&mut decoded.command) {
            Some(result) if *result != vk::Result::SUCCESS => *result,
            _ => vk::Result::ERROR_UNKNOWN,
        };
        let failed: Vec<_> = decoded
            .output_values()
            .enumerate()
            .filter(|(_, (_, handle))| *handle == 0)
            .map(|(at, (slot, _))| (at, slot.object_type, slot.id))
            .collect();
        for (at, ty, id) in failed {
            decoded.outputs[at].id = 0;
            if ty == vk::ObjectType::PIPELINE {
                // The audit takes note of all pipelines of a batch before they are made.
                self.tracker.pipeline_destroyed(id);
            }
            if !decoded.wants_reply {
                self.objects.add_failed(ty, id, answer)?;
            }
        }
        Ok(())
    }
}
