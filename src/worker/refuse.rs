//! Creations that fail without harm: the guest is answered a Vulkan error, and its context goes on.
//!
//! Stock clients send many creations without waiting for an answer, and take it that they succeed. So the ids of objects
//! that never came to be are kept: what is created from one fails as well, and destroying one does nothing. A client that
//! waited for the answer knows, and never names the id again.

use ash::vk;
use hesper_venus::{Command, Decoded};

use crate::context::Context;
use crate::error::WorkerError;

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
            if failed.is_some() {
                return Ok(failed);
            }
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
