//! The rules: what each command of the protocol means for the audit.
//!
//! [`rules!`] lists every command of the codec once, and the two functions it makes have no wildcard arm: a command
//! without a rule does not compile.
//!
//! The caller runs [`before`] on each decoded command before the driver sees it and [`after`] when the driver returned,
//! both while the handles in the arguments are guest ids. For submissions it calls [`submitted`] as well and marks.

mod images;
mod objects;
mod recording;
mod rendering;

use hesper_venus::Command;

use crate::buffers::Buffers;
use crate::error::AuditError;
use crate::marks::Marks;
use crate::raw::Decoded;
use crate::tracker::Tracker;

/// Numbers of commands, [`COMMAND_NONE`] included.
pub(crate) const COMMANDS: usize = RECORDED.len() + 1;
/// Of what was recorded without a command.
pub(crate) const COMMAND_NONE: u16 = RECORDED.len() as u16;

/// The name of a command by the number that its effects carry, as vk.xml has it.
pub(crate) fn command_name(number: u16) -> String {
    match RECORDED.get(usize::from(number)) {
        Some(name) => name.replacen("Vk", "vk", 1),
        None => "none".into(),
    }
}

/// What kind of rule a command has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Neither writes memory nor says anything about what others write.
    Nothing,
    /// Followed before the driver sees it: recordings, updates, destructions, binds of buffers.
    Before,
    /// Followed once the driver has done it: creations and binds of images.
    After,
    /// A submission, which [`submitted`] resolves.
    Submit,
    /// Not followed yet, so not accepted.
    Refused,
}

macro_rules! rules {
    (
        nothing { $($nothing:ident)* }
        before { $($before:ident => $before_rule:path,)* }
        looks { $($looks:ident => $looks_rule:path,)* }
        after { $($after:ident => $after_rule:path,)* }
        both { $($both:ident => $both_before:path, $both_after:path;)* }
        submit { $($submit:ident)* }
        refused { $($refused:ident)* }
    ) => {
        /// Every command's name (without the `vk`) and kind of rule.
        pub const RULES: &[(&str, Rule)] = &[
            $((stringify!($nothing), Rule::Nothing),)*
            $((stringify!($before), Rule::Before),)*
            $((stringify!($looks), Rule::Before),)*
            $((stringify!($after), Rule::After),)*
            $((stringify!($both), Rule::Before),)*
            $((stringify!($submit), Rule::Submit),)*
            $((stringify!($refused), Rule::Refused),)*
        ];

        /// The commands that are followed before the driver sees them, and so all that record writes.
        #[allow(clippy::enum_variant_names)]
        #[repr(u16)]
        enum Recorded {
            $($before,)*
        }

        /// The names of [`Recorded`].
        const RECORDED: &[&str] = &[$(stringify!($before),)*];

        /// Whether [`before`] does anything.
        fn is_followed_before(command: &Command<'_>) -> bool {
            !matches!(
                command,
                $(Command::$nothing(_))|* | $(Command::$after(_))|* | $(Command::$submit(_))|*
            )
        }

        /// Whether [`after`] does anything.
        fn is_followed_after(command: &Command<'_>) -> bool {
            matches!(command, $(Command::$after(_))|* | $(Command::$both(_))|*)
        }

        /// Follows `command` before the driver sees it, and looks at `buffers` as they are until then.
        ///
        /// # Safety
        /// `command` was decoded by the codec (or holds pointers as the codec makes them), its arena is alive, and its
        /// handles are guest ids.
        ///
        /// # Errors
        /// The command must not be executed; the context cannot go on.
        #[inline]
        pub unsafe fn before(
            tracker: &mut Tracker,
            buffers: &dyn Buffers,
            command: &Command<'_>,
        ) -> Result<(), AuditError> {
            if !is_followed_before(command) {
                return Ok(());
            }
            // SAFETY: by the contract of this function.
            unsafe { follow_before(tracker, buffers, command) }
        }

        /// # Safety
        /// As [`before`].
        unsafe fn follow_before(
            tracker: &mut Tracker,
            buffers: &dyn Buffers,
            command: &Command<'_>,
        ) -> Result<(), AuditError> {
            match command {
                $(Command::$nothing(_) => Ok(()),)*
                $(Command::$before(args) => {
                    tracker.command = Recorded::$before as u16;
                    tracker.changed();
                    // SAFETY: by the contract of this function.
                    $before_rule(tracker, unsafe { Decoded::new(&**args) })
                })*
                $(Command::$looks(args) => {
                    tracker.changed();
                    // SAFETY: by the contract of this function.
                    $looks_rule(tracker, buffers, unsafe { Decoded::new(&**args) })
                })*
                $(Command::$after(_) => Ok(()),)*
                $(Command::$both(args) => {
                    tracker.changed();
                    // SAFETY: by the contract of this function.
                    $both_before(tracker, unsafe { Decoded::new(&**args) })
                })*
                $(Command::$submit(_) => Ok(()),)*
                $(Command::$refused(_) => Err(AuditError::Refused { command: stringify!($refused) }),)*
            }
        }

        /// Follows `command` after the driver has executed it and its return value is in the arguments.
        ///
        /// # Safety
        /// As [`before`]: the handles, outputs too, are guest ids again.
        ///
        /// # Errors
        /// As [`before`].
        #[inline]
        pub unsafe fn after(tracker: &mut Tracker, command: &Command<'_>) -> Result<(), AuditError> {
            if !is_followed_after(command) {
                return Ok(());
            }
            // SAFETY: by the contract of this function.
            unsafe { follow_after(tracker, command) }
        }

        /// # Safety
        /// As [`before`].
        unsafe fn follow_after(tracker: &mut Tracker, command: &Command<'_>) -> Result<(), AuditError> {
            match command {
                $(Command::$nothing(_) => Ok(()),)*
                $(Command::$before(_) => Ok(()),)*
                $(Command::$looks(_) => Ok(()),)*
                $(Command::$after(args) => {
                    tracker.changed();
                    // SAFETY: by the contract of this function.
                    $after_rule(tracker, unsafe { Decoded::new(&**args) })
                })*
                $(Command::$both(args) => {
                    tracker.changed();
                    // SAFETY: by the contract of this function.
                    $both_after(tracker, unsafe { Decoded::new(&**args) })
                })*
                $(Command::$submit(_) => Ok(()),)*
                $(Command::$refused(_) => Err(AuditError::Refused { command: stringify!($refused) }),)*
            }
        }
    };
}

rules! {
    nothing {
        // Instances, devices, queues and their properties.
        VkCreateInstance VkDestroyInstance VkEnumeratePhysicalDevices VkEnumerateInstanceVersion
        VkEnumeratePhysicalDeviceGroups VkGetPhysicalDeviceProperties VkGetPhysicalDeviceFeatures2
        VkGetPhysicalDeviceProperties2 VkGetPhysicalDeviceFormatProperties2
        VkGetPhysicalDeviceImageFormatProperties2 VkGetPhysicalDeviceQueueFamilyProperties2
        VkGetPhysicalDeviceMemoryProperties2 VkGetPhysicalDeviceSparseImageFormatProperties2
        VkGetPhysicalDeviceExternalBufferProperties VkGetPhysicalDeviceExternalFenceProperties
        VkGetPhysicalDeviceExternalSemaphoreProperties VkGetPhysicalDeviceCalibrateableTimeDomainsEXT
        VkGetPhysicalDeviceFragmentShadingRatesKHR VkEnumerateDeviceExtensionProperties
        VkCreateDevice VkDestroyDevice VkGetDeviceQueue2 VkGetDeviceGroupPeerMemoryFeatures
        VkGetCalibratedTimestampsEXT
        // Requirements and layouts.
        VkGetDeviceMemoryCommitment VkGetDeviceMemoryOpaqueCaptureAddress VkGetBufferDeviceAddress
        VkGetBufferOpaqueCaptureAddress VkGetBufferMemoryRequirements2
        VkGetImageSparseMemoryRequirements2 VkGetDeviceBufferMemoryRequirements
        VkGetDeviceImageMemoryRequirements VkGetDeviceImageSparseMemoryRequirements
        VkGetImageSubresourceLayout VkGetImageSubresourceLayout2KHR VkGetDeviceImageSubresourceLayoutKHR
        VkGetImageDrmFormatModifierPropertiesEXT VkGetDescriptorSetLayoutSupport
        VkGetRenderAreaGranularity VkGetRenderingAreaGranularityKHR
        // Synchronization.
        VkCreateFence VkDestroyFence VkResetFences VkGetFenceStatus VkWaitForFences
        VkCreateSemaphore VkDestroySemaphore VkGetSemaphoreCounterValue VkWaitSemaphores VkSignalSemaphore
        VkCreateEvent VkDestroyEvent VkGetEventStatus VkSetEvent VkResetEvent
        VkCmdSetEvent VkCmdResetEvent VkCmdResetEvent2
        // Objects without memory.
        VkCreateSampler VkDestroySampler VkCreateSamplerYcbcrConversion VkDestroySamplerYcbcrConversion
        VkCreatePipelineCache VkDestroyPipelineCache VkGetPipelineCacheData VkMergePipelineCaches
        // Queries write their pools, which are kept as values; only copies of results reach memory.
        VkGetQueryPoolResults VkResetQueryPool VkCmdBeginQuery VkCmdEndQuery VkCmdBeginQueryIndexedEXT
        VkCmdEndQueryIndexedEXT VkCmdResetQueryPool VkCmdWriteTimestamp VkCmdWriteTimestamp2
        // Recording without writes. A condition only takes writes away.
        VkTrimCommandPool VkEndCommandBuffer VkCmdPushConstants VkCmdSetDeviceMask
        VkCmdBeginConditionalRenderingEXT VkCmdEndConditionalRenderingEXT
        VkCmdBindIndexBuffer VkCmdBindIndexBuffer2KHR VkCmdBindVertexBuffers VkCmdBindVertexBuffers2
        VkCmdSetViewport VkCmdSetScissor VkCmdSetLineWidth VkCmdSetDepthBias VkCmdSetBlendConstants
        VkCmdSetDepthBounds VkCmdSetStencilCompareMask VkCmdSetStencilWriteMask VkCmdSetStencilReference
        VkCmdSetCullMode VkCmdSetFrontFace VkCmdSetPrimitiveTopology VkCmdSetViewportWithCount
        VkCmdSetScissorWithCount VkCmdSetDepthTestEnable VkCmdSetDepthWriteEnable VkCmdSetDepthCompareOp
        VkCmdSetDepthBoundsTestEnable VkCmdSetStencilTestEnable VkCmdSetStencilOp
        VkCmdSetRasterizerDiscardEnable VkCmdSetDepthBiasEnable VkCmdSetPrimitiveRestartEnable
        VkCmdSetPatchControlPointsEXT VkCmdSetLogicOpEXT VkCmdSetLineStippleEXT VkCmdSetColorWriteEnableEXT
        VkCmdSetVertexInputEXT VkCmdSetTessellationDomainOriginEXT VkCmdSetDepthClampEnableEXT
        VkCmdSetPolygonModeEXT VkCmdSetRasterizationSamplesEXT VkCmdSetSampleMaskEXT
        VkCmdSetAlphaToCoverageEnableEXT VkCmdSetAlphaToOneEnableEXT VkCmdSetLogicOpEnableEXT
        VkCmdSetColorBlendEnableEXT VkCmdSetColorBlendEquationEXT VkCmdSetColorWriteMaskEXT
        VkCmdSetRasterizationStreamEXT VkCmdSetConservativeRasterizationModeEXT
        VkCmdSetExtraPrimitiveOverestimationSizeEXT VkCmdSetDepthClipEnableEXT
        VkCmdSetSampleLocationsEnableEXT VkCmdSetColorBlendAdvancedEXT VkCmdSetProvokingVertexModeEXT
        VkCmdSetLineRasterizationModeEXT VkCmdSetLineStippleEnableEXT VkCmdSetDepthClipNegativeOneToOneEXT
        VkCmdSetFragmentShadingRateKHR
        // All that these write are attachments, which count as written from the pass's begin on.
        VkCmdClearAttachments VkCmdNextSubpass VkCmdNextSubpass2 VkCmdEndRenderPass VkCmdEndRenderPass2
        VkCmdEndRendering
        // The transport. Commands in a stream are followed one by one; replies are written by the CPU.
        VkSetReplyCommandStreamMESA VkSeekReplyCommandStreamMESA VkExecuteCommandStreamsMESA
        VkCreateRingMESA VkDestroyRingMESA VkNotifyRingMESA VkWriteRingExtraMESA
        VkGetMemoryResourcePropertiesMESA VkResetFenceResourceMESA VkWaitSemaphoreResourceMESA
        VkImportSemaphoreResourceMESA VkSubmitVirtqueueSeqnoMESA VkWaitVirtqueueSeqnoMESA
        VkWaitRingSeqnoMESA
    }
    before {
        VkFreeMemory => objects::free_memory,
        VkCreateBuffer => objects::check_buffer,
        VkDestroyBuffer => objects::destroy_buffer,
        VkDestroyBufferView => objects::destroy_buffer_view,
        VkDestroyDescriptorSetLayout => objects::destroy_descriptor_set_layout,
        VkDestroyPipelineLayout => objects::destroy_pipeline_layout,
        VkDestroyDescriptorPool => objects::destroy_descriptor_pool,
        VkResetDescriptorPool => objects::reset_descriptor_pool,
        VkFreeDescriptorSets => objects::free_descriptor_sets,
        VkUpdateDescriptorSets => objects::update_descriptor_sets,
        VkDestroyShaderModule => objects::destroy_shader_module,
        // Registered before, whatever comes of it: a batch may fail in part.
        VkCreateComputePipelines => objects::create_compute_pipelines,
        VkDestroyPipeline => objects::destroy_pipeline,
        VkDestroyQueryPool => objects::destroy_query_pool,
        VkDestroyCommandPool => objects::destroy_command_pool,
        VkResetCommandPool => objects::reset_command_pool,
        VkFreeCommandBuffers => objects::free_command_buffers,
        VkBeginCommandBuffer => recording::begin,
        VkResetCommandBuffer => recording::reset,
        VkCmdBindPipeline => recording::bind_pipeline,
        VkCmdBindDescriptorSets => recording::bind_descriptor_sets,
        VkCmdPushDescriptorSetKHR => recording::push_descriptor_set,
        VkCmdDispatch => recording::dispatch,
        VkCmdDispatchBase => recording::dispatch_base,
        VkCmdDispatchIndirect => recording::dispatch_indirect,
        VkCmdCopyBuffer => recording::copy_buffer,
        VkCmdCopyBuffer2 => recording::copy_buffer2,
        VkCmdUpdateBuffer => recording::update_buffer,
        VkCmdFillBuffer => recording::fill_buffer,
        VkCmdCopyQueryPoolResults => recording::copy_query_pool_results,
        VkCmdExecuteCommands => recording::execute_commands,
        VkDestroyImage => images::destroy_image,
        VkDestroyImageView => images::destroy_image_view,
        VkDestroyFramebuffer => images::destroy_framebuffer,
        VkDestroyRenderPass => images::destroy_render_pass,
        VkCreateGraphicsPipelines => images::create_graphics_pipelines,
        VkCmdCopyImage => rendering::copy_image,
        VkCmdCopyImage2 => rendering::copy_image2,
        VkCmdBlitImage => rendering::blit_image,
        VkCmdBlitImage2 => rendering::blit_image2,
        VkCmdResolveImage => rendering::resolve_image,
        VkCmdResolveImage2 => rendering::resolve_image2,
        VkCmdCopyBufferToImage => rendering::copy_buffer_to_image,
        VkCmdCopyBufferToImage2 => rendering::copy_buffer_to_image2,
        VkCmdCopyImageToBuffer => rendering::copy_image_to_buffer,
        VkCmdCopyImageToBuffer2 => rendering::copy_image_to_buffer2,
        VkCmdClearColorImage => rendering::clear_color_image,
        VkCmdClearDepthStencilImage => rendering::clear_depth_stencil_image,
        VkCmdPipelineBarrier => rendering::pipeline_barrier,
        VkCmdPipelineBarrier2 => rendering::pipeline_barrier2,
        VkCmdWaitEvents => rendering::wait_events,
        VkCmdWaitEvents2 => rendering::wait_events2,
        VkCmdSetEvent2 => rendering::set_event2,
        VkCmdBeginRenderPass => rendering::begin_render_pass,
        VkCmdBeginRenderPass2 => rendering::begin_render_pass2,
        VkCmdBeginRendering => rendering::begin_rendering,
        VkCmdDraw => rendering::draw,
        VkCmdDrawIndexed => rendering::draw_indexed,
        VkCmdDrawIndirect => rendering::draw_indirect,
        VkCmdDrawIndexedIndirect => rendering::draw_indexed_indirect,
        VkCmdDrawIndirectCount => rendering::draw_indirect_count,
        VkCmdDrawIndexedIndirectCount => rendering::draw_indexed_indirect_count,
        VkCmdDrawMultiEXT => rendering::draw_multi,
        VkCmdDrawMultiIndexedEXT => rendering::draw_multi_indexed,
    }
    looks {
        VkBindBufferMemory2 => objects::bind_buffers,
    }
    after {
        VkAllocateMemory => objects::allocate_memory,
        VkCreateBufferView => objects::create_buffer_view,
        VkCreateDescriptorSetLayout => objects::create_descriptor_set_layout,
        VkCreatePipelineLayout => objects::create_pipeline_layout,
        VkCreateDescriptorPool => objects::create_descriptor_pool,
        VkAllocateDescriptorSets => objects::allocate_descriptor_sets,
        VkCreateQueryPool => objects::create_query_pool,
        VkCreateCommandPool => objects::create_command_pool,
        VkAllocateCommandBuffers => objects::allocate_command_buffers,
        VkGetImageMemoryRequirements2 => images::image_requirements,
        VkBindImageMemory2 => images::bind_image_memory,
        VkCreateImageView => images::create_image_view,
        VkCreateFramebuffer => images::create_framebuffer,
        VkCreateRenderPass => images::create_render_pass,
        VkCreateRenderPass2 => images::create_render_pass2,
    }
    both {
        VkCreateImage => images::check_image, images::create_image;
        VkCreateShaderModule => objects::analyze_shader_module, objects::keep_shader_module;
    }
    submit {
        VkQueueSubmit VkQueueSubmit2
    }
    refused {
        VkQueueBindSparse
        VkCmdDrawIndirectByteCountEXT
        VkCmdBindTransformFeedbackBuffersEXT VkCmdBeginTransformFeedbackEXT VkCmdEndTransformFeedbackEXT
    }
}

/// Has `marks` hold what a vkQueueSubmit or vkQueueSubmit2 may write; they stay as they are for other commands, and when
/// they were made from the same and nothing changed since.
///
/// # Safety
/// As [`before`].
///
/// # Errors
/// A command buffer that does not exist.
pub unsafe fn submitted(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    command: &Command<'_>,
    marks: &mut Marks,
) -> Result<(), AuditError> {
    match command {
        Command::VkQueueSubmit(args) => {
            // SAFETY: by the contract of this function.
            recording::submit(tracker, buffers, unsafe { Decoded::new(&**args) }, marks)
        }
        Command::VkQueueSubmit2(args) => {
            // SAFETY: by the contract of this function.
            recording::submit2(tracker, buffers, unsafe { Decoded::new(&**args) }, marks)
        }
        _ => Ok(()),
    }
}
