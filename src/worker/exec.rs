//! Executing decoded commands: which command goes where.
//!
//! Every command arrives with the guest's ids in it. Handlers read what they need by id, then
//! host handles are put in their place, the driver is called, and the ids come back, so that the
//! audit and the reply see ids again.

use std::time::Instant;

use ash::vk;
use hesper_venus::{Command, Decoded, call_cmd, call_device, call_instance};
use smallvec::SmallVec;

use crate::channel::Audit;
use crate::context::{Context, Entry, Kind};
use crate::error::{WorkerError, argument};
use crate::exec_external::strip_exports;
use crate::table::TableError;

const ADDRESSES: &str = "device addresses are in use";

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is done.
    Done,
    /// It waits for something: look again later.
    Wait,
}

/// A result that the guest sees, never an error of the stream.
pub(crate) fn is_failure(result: vk::Result) -> bool {
    result.as_raw() < 0
}

impl Context {
    /// Executes a command. `bytes` are its raw bytes, `since` when it was first tried.
    ///
    /// # Errors
    /// [`WorkerError`]: the context ends.
    pub(crate) fn execute(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
        since: Instant,
    ) -> Result<Step, WorkerError> {
        let followed = self.is_followed(decoded);
        if let Some(answer) = self.refusal(decoded, followed)? {
            self.refuse(decoded, answer)?;
            self.status.commands += 1;
            return Ok(Step::Done);
        }
        let step = self.dispatch(decoded, bytes, since)?;
        if step == Step::Done {
            self.status.commands += 1;
            if followed {
                // SAFETY: decoded by the codec, its arena lives, and every handler puts the ids back.
                unsafe { hesper_audit::rules::after(&mut self.tracker, &decoded.command) }?;
            }
        }
        Ok(step)
    }

    /// Whether the audit follows a command: always, but for measurements and tests.
    fn is_followed(&self, decoded: &Decoded<'_>) -> bool {
        match &self.config.audit {
            Audit::On | Audit::Unmarked => true,
            Audit::Off => false,
            Audit::Blind(name) => decoded.command_type().name() != Some(name.as_str()),
        }
    }

    fn dispatch(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
        since: Instant,
    ) -> Result<Step, WorkerError> {
        let ty = decoded.command_type();
        if ty.is_recorded() {
            return self.record(decoded, bytes).map(|()| Step::Done);
        }
        if self.objects.has_failed() && self.answer_for_failed_memory(&mut decoded.command) {
            return Ok(Step::Done);
        }
        match &mut decoded.command {
            Command::VkCreateInstance(_)
            | Command::VkDestroyInstance(_)
            | Command::VkEnumerateInstanceVersion(_)
            | Command::VkEnumeratePhysicalDevices(_)
            | Command::VkEnumeratePhysicalDeviceGroups(_)
            | Command::VkGetPhysicalDeviceProperties(_)
            | Command::VkGetPhysicalDeviceProperties2(_)
            | Command::VkGetPhysicalDeviceFeatures2(_)
            | Command::VkGetPhysicalDeviceMemoryProperties2(_)
            | Command::VkGetPhysicalDeviceQueueFamilyProperties2(_)
            | Command::VkGetPhysicalDeviceExternalBufferProperties(_)
            | Command::VkGetPhysicalDeviceExternalFenceProperties(_)
            | Command::VkGetPhysicalDeviceExternalSemaphoreProperties(_)
            | Command::VkEnumerateDeviceExtensionProperties(_)
            | Command::VkGetPhysicalDeviceFormatProperties2(_)
            | Command::VkGetPhysicalDeviceImageFormatProperties2(_)
            | Command::VkGetPhysicalDeviceSparseImageFormatProperties2(_)
            | Command::VkGetPhysicalDeviceCalibrateableTimeDomainsEXT(_)
            | Command::VkGetPhysicalDeviceFragmentShadingRatesKHR(_)
            | Command::VkCreateDevice(_)
            | Command::VkDestroyDevice(_)
            | Command::VkGetDeviceQueue2(_) => self.physical(decoded, bytes)?,

            Command::VkAllocateMemory(_) => self.allocate_memory(decoded, bytes)?,
            Command::VkFreeMemory(args) => {
                let memory = vk::Handle::as_raw(args.memory);
                self.free_memory(memory)?;
            }
            Command::VkCreateBuffer(_) => self.create_buffer(decoded, bytes)?,
            Command::VkBindBufferMemory2(_) => self.bind_buffers(decoded)?,
            Command::VkGetBufferMemoryRequirements2(_)
            | Command::VkGetDeviceBufferMemoryRequirements(_)
            | Command::VkGetImageMemoryRequirements2(_)
            | Command::VkGetDeviceImageMemoryRequirements(_) => {
                self.memory_requirements(decoded)?
            }
            Command::VkGetMemoryResourcePropertiesMESA(_) => {
                self.memory_resource_properties(decoded)?;
            }
            Command::VkGetBufferDeviceAddress(_) => {
                self.forbid_migration(ADDRESSES);
                self.plain_bound(decoded)?;
            }
            Command::VkGetBufferOpaqueCaptureAddress(_)
            | Command::VkGetDeviceMemoryOpaqueCaptureAddress(_) => {
                self.forbid_migration(ADDRESSES);
                self.plain(decoded)?;
            }

            Command::VkAllocateDescriptorSets(_) => self.allocate_sets(decoded, bytes)?,
            Command::VkFreeDescriptorSets(_) => self.free_sets(decoded)?,
            Command::VkResetDescriptorPool(args) => {
                let pool = vk::Handle::as_raw(args.descriptor_pool);
                self.reset_descriptor_pool(decoded, pool)?;
            }
            Command::VkUpdateDescriptorSets(_) => self.update_sets(decoded)?,
            Command::VkAllocateCommandBuffers(_) => {
                self.allocate_command_buffers(decoded, bytes)?
            }
            Command::VkFreeCommandBuffers(_) => self.free_command_buffers(decoded)?,
            Command::VkBeginCommandBuffer(args) => {
                let id = vk::Handle::as_raw(args.command_buffer);
                self.begin(decoded, bytes, id)?;
            }
            Command::VkEndCommandBuffer(args) => {
                let id = vk::Handle::as_raw(args.command_buffer);
                self.append(bytes, id)?;
                self.plain(decoded)?;
            }
            Command::VkResetCommandBuffer(args) => {
                let id = vk::Handle::as_raw(args.command_buffer);
                self.forget_recording(id)?;
                self.plain(decoded)?;
            }
            Command::VkResetCommandPool(args) => {
                let pool = vk::Handle::as_raw(args.command_pool);
                self.forget_recordings(pool);
                self.plain(decoded)?;
            }

            Command::VkCreateSemaphore(_) | Command::VkCreateFence(_) => {
                strip_exports(&decoded.command);
                self.create_sync(decoded, bytes)?;
            }
            Command::VkResetFenceResourceMESA(_) => self.reset_fence_resource(decoded)?,
            Command::VkWaitSemaphoreResourceMESA(_) => self.wait_semaphore_resource(decoded)?,
            Command::VkImportSemaphoreResourceMESA(_) => self.import_semaphore_resource(decoded)?,
            Command::VkCreateImage(_) => self.create_image(decoded, bytes)?,
            Command::VkBindImageMemory2(_) => self.bind_images(decoded)?,
            Command::VkGetImageSubresourceLayout(_) => self.subresource_layout(decoded)?,
            Command::VkGetImageDrmFormatModifierPropertiesEXT(_) => self.image_modifier(decoded)?,
            Command::VkCreateQueryPool(_) => {
                self.create(decoded, bytes, |_, _| Kind::Plain)?;
                self.forbid_migration("query results are not saved yet");
            }
            Command::VkCreateEvent(_)
            | Command::VkCreateShaderModule(_)
            | Command::VkCreateImageView(_)
            | Command::VkCreateFramebuffer(_)
            | Command::VkCreateRenderPass(_)
            | Command::VkCreateRenderPass2(_)
            | Command::VkCreatePipelineCache(_)
            | Command::VkCreateSampler(_)
            | Command::VkCreateSamplerYcbcrConversion(_)
            | Command::VkCreateBufferView(_)
            | Command::VkCreateGraphicsPipelines(_)
            | Command::VkCreateComputePipelines(_)
            | Command::VkCreatePipelineLayout(_)
            | Command::VkCreateDescriptorSetLayout(_)
            | Command::VkCreateDescriptorPool(_)
            | Command::VkCreateCommandPool(_) => {
                self.create(decoded, bytes, |_, _| Kind::Plain)?;
            }

            Command::VkDestroyFence(args) => {
                let id = vk::Handle::as_raw(args.fence);
                self.destroy(decoded, vk::ObjectType::FENCE, id)?;
            }
            Command::VkDestroySemaphore(args) => {
                let id = vk::Handle::as_raw(args.semaphore);
                self.destroy(decoded, vk::ObjectType::SEMAPHORE, id)?;
            }
            Command::VkDestroyEvent(args) => {
                let id = vk::Handle::as_raw(args.event);
                self.destroy(decoded, vk::ObjectType::EVENT, id)?;
            }
            Command::VkDestroyQueryPool(args) => {
                let id = vk::Handle::as_raw(args.query_pool);
                self.destroy(decoded, vk::ObjectType::QUERY_POOL, id)?;
            }
            Command::VkDestroyBuffer(args) => {
                let id = vk::Handle::as_raw(args.buffer);
                self.destroy(decoded, vk::ObjectType::BUFFER, id)?;
            }
            Command::VkDestroyBufferView(args) => {
                let id = vk::Handle::as_raw(args.buffer_view);
                self.destroy(decoded, vk::ObjectType::BUFFER_VIEW, id)?;
            }
            Command::VkDestroyImage(args) => {
                let id = vk::Handle::as_raw(args.image);
                self.destroy(decoded, vk::ObjectType::IMAGE, id)?;
            }
            Command::VkDestroyImageView(args) => {
                let id = vk::Handle::as_raw(args.image_view);
                self.destroy(decoded, vk::ObjectType::IMAGE_VIEW, id)?;
            }
            Command::VkDestroyShaderModule(args) => {
                let id = vk::Handle::as_raw(args.shader_module);
                self.destroy(decoded, vk::ObjectType::SHADER_MODULE, id)?;
            }
            Command::VkDestroyPipelineCache(args) => {
                let id = vk::Handle::as_raw(args.pipeline_cache);
                self.destroy(decoded, vk::ObjectType::PIPELINE_CACHE, id)?;
            }
            Command::VkDestroyPipeline(args) => {
                let id = vk::Handle::as_raw(args.pipeline);
                self.destroy(decoded, vk::ObjectType::PIPELINE, id)?;
            }
            Command::VkDestroyPipelineLayout(args) => {
                let id = vk::Handle::as_raw(args.pipeline_layout);
                self.destroy(decoded, vk::ObjectType::PIPELINE_LAYOUT, id)?;
            }
            Command::VkDestroySampler(args) => {
                let id = vk::Handle::as_raw(args.sampler);
                self.destroy(decoded, vk::ObjectType::SAMPLER, id)?;
            }
            Command::VkDestroySamplerYcbcrConversion(args) => {
                let id = vk::Handle::as_raw(args.ycbcr_conversion);
                self.destroy(decoded, vk::ObjectType::SAMPLER_YCBCR_CONVERSION, id)?;
            }
            Command::VkDestroyDescriptorSetLayout(args) => {
                let id = vk::Handle::as_raw(args.descriptor_set_layout);
                self.destroy(decoded, vk::ObjectType::DESCRIPTOR_SET_LAYOUT, id)?;
            }
            Command::VkDestroyDescriptorPool(args) => {
                let id = vk::Handle::as_raw(args.descriptor_pool);
                self.forget_sets(id)?;
                self.destroy(decoded, vk::ObjectType::DESCRIPTOR_POOL, id)?;
            }
            Command::VkDestroyFramebuffer(args) => {
                let id = vk::Handle::as_raw(args.framebuffer);
                self.destroy(decoded, vk::ObjectType::FRAMEBUFFER, id)?;
            }
            Command::VkDestroyRenderPass(args) => {
                let id = vk::Handle::as_raw(args.render_pass);
                self.destroy(decoded, vk::ObjectType::RENDER_PASS, id)?;
            }
            Command::VkDestroyCommandPool(args) => {
                let id = vk::Handle::as_raw(args.command_pool);
                self.forget_command_buffers(id)?;
                self.destroy(decoded, vk::ObjectType::COMMAND_POOL, id)?;
            }

            Command::VkQueueSubmit(_) | Command::VkQueueSubmit2(_) => {
                self.queue_submit(decoded, bytes)?;
            }
            Command::VkWaitForFences(_) => return self.wait_fences(decoded, since),
            Command::VkWaitSemaphores(_) => return self.wait_semaphores(decoded, since),
            Command::VkSignalSemaphore(_) => self.signal_semaphore(decoded)?,
            Command::VkGetQueryPoolResults(_) => return self.query_results(decoded),

            Command::VkResetFences(_)
            | Command::VkGetFenceStatus(_)
            | Command::VkGetEventStatus(_)
            | Command::VkSetEvent(_)
            | Command::VkResetEvent(_)
            | Command::VkGetSemaphoreCounterValue(_)
            | Command::VkResetQueryPool(_)
            | Command::VkGetDeviceMemoryCommitment(_)
            | Command::VkGetPipelineCacheData(_)
            | Command::VkMergePipelineCaches(_)
            | Command::VkGetRenderAreaGranularity(_)
            | Command::VkGetRenderingAreaGranularityKHR(_)
            | Command::VkTrimCommandPool(_)
            | Command::VkGetDeviceGroupPeerMemoryFeatures(_)
            | Command::VkGetImageSparseMemoryRequirements2(_)
            | Command::VkGetDeviceImageSparseMemoryRequirements(_)
            | Command::VkGetImageSubresourceLayout2KHR(_)
            | Command::VkGetDeviceImageSubresourceLayoutKHR(_)
            | Command::VkGetDescriptorSetLayoutSupport(_)
            | Command::VkGetCalibratedTimestampsEXT(_) => self.plain(decoded)?,

            _ => return Err(WorkerError::Refused(ty)),
        }
        Ok(Step::Done)
    }

    /// Puts host handles in the place of ids.
    pub(crate) fn map(&self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        decoded.map_handles(|ty, id| self.objects.get(ty, id).map(|object| object.handle))?;
        Ok(())
    }

    /// As [`Context::map`], for a command by which the driver looks at what buffers and images hold.
    ///
    /// # Errors
    /// [`TableError::Unbound`] for one without memory.
    pub(crate) fn map_bound(&self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        decoded.map_handles(|ty, id| {
            let object = self.objects.get(ty, id)?;
            if object.data.is_unbound() {
                return Err(TableError::Unbound { id, ty });
            }
            Ok(object.handle)
        })?;
        Ok(())
    }

    /// Puts the guest's ids back.
    pub(crate) fn unmap(decoded: &mut Decoded<'_>) {
        let identity: Result<(), std::convert::Infallible> = decoded.map_handles(|_, id| Ok(id));
        if let Err(never) = identity {
            match never {}
        }
        decoded.restore_output_ids();
    }

    /// The device that a command is for: that of its first handle.
    pub(crate) fn target(&self, decoded: &Decoded<'_>) -> Result<u64, WorkerError> {
        let (ty, id) = decoded
            .input_ids()
            .next()
            .ok_or_else(|| argument("a device command", "names no device"))?;
        self.device_of(ty, id)
    }

    /// Calls a device's function with the arguments as they are.
    pub(crate) fn plain(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let device = self.target(decoded)?;
        self.map(decoded)?;
        self.call_mapped(device, decoded)
    }

    /// As [`Context::plain`], of buffers and images that have memory.
    pub(crate) fn plain_bound(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let device = self.target(decoded)?;
        self.map_bound(decoded)?;
        self.call_mapped(device, decoded)
    }

    /// Calls a device's function with arguments that name host handles; the ids are back afterwards.
    fn call_mapped(&mut self, device: u64, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        // SAFETY: handles were looked up by type and live; the device is theirs.
        let called = unsafe { call_device(&self.dev(device)?.fns, &mut decoded.command) };
        Self::unmap(decoded);
        Ok(called?)
    }

    /// Calls an instance's function with the arguments as they are.
    pub(crate) fn plain_instance(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        self.map(decoded)?;
        // SAFETY: handles were looked up by type and live; there is one instance.
        let called = unsafe { call_instance(&self.inst()?.fns, &mut decoded.command) };
        Self::unmap(decoded);
        Ok(called?)
    }

    /// Creates objects by the command as it is. `kind` says what to keep with each (type, id).
    /// False when the driver made none.
    pub(crate) fn create(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
        mut kind: impl FnMut(vk::ObjectType, u64) -> Kind,
    ) -> Result<bool, WorkerError> {
        for (_, id) in decoded.output_ids() {
            self.make_room(id)?;
        }
        let device = self.target(decoded)?;
        self.map(decoded)?;
        // The driver leaves a place untouched when it makes nothing: no id may stay there.
        decoded.clear_outputs();
        // SAFETY: handles were looked up by type and live; the device is theirs.
        let called = unsafe { call_device(&self.dev(device)?.fns, &mut decoded.command) };
        let made: SmallVec<[_; 1]> = decoded
            .output_values()
            .filter(|(_, handle)| *handle != 0)
            .map(|(slot, handle)| (slot.object_type, slot.id, handle))
            .collect();
        if made.len() < decoded.outputs.len() {
            self.keep_failed(decoded)?;
        }
        Self::unmap(decoded);
        called?;
        if made.is_empty() {
            tracing::debug!(command = %decoded.command_type(), "The driver made nothing");
            return Ok(false);
        }
        let creation = self
            .objects
            .begin_creation(bytes, decoded.input_ids().map(|(_, id)| id));
        for (ty, id, handle) in made {
            let data = Entry {
                device,
                kind: kind(ty, id),
            };
            self.objects.add(creation, ty, id, handle, data)?;
        }
        Ok(true)
    }

    /// Checks that `id` may name a new object. While a context is restored, a destroyed parent
    /// that was kept may still have the id: it goes now, as it went before the id was used again.
    pub(crate) fn make_room(&mut self, id: u64) -> Result<(), WorkerError> {
        if self.restoring.is_some() {
            self.drop_kept(id);
        }
        self.objects.forget_failed(id);
        Ok(self.objects.check_new(id)?)
    }

    /// Destroys an object by the command as it is.
    pub(crate) fn destroy(
        &mut self,
        decoded: &mut Decoded<'_>,
        ty: vk::ObjectType,
        id: u64,
    ) -> Result<(), WorkerError> {
        if id == 0 || self.objects.failed(ty, id).is_some() {
            self.objects.forget_failed(id);
            return Ok(());
        }
        // Which looks the id up, and its type.
        self.plain(decoded)?;
        self.objects.remove(ty, id)?;
        Ok(())
    }

    /// Records a command.
    fn record(&mut self, decoded: &mut Decoded<'_>, bytes: &[u8]) -> Result<(), WorkerError> {
        let (ty, id) = decoded
            .input_ids()
            .next()
            .ok_or_else(|| argument("vkCmd", "names no command buffer"))?;
        if ty != vk::ObjectType::COMMAND_BUFFER {
            return Err(argument("vkCmd", "names no command buffer first"));
        }
        self.append(bytes, id)?;
        let device = self.device_of(ty, id)?;
        self.map_bound(decoded)?;
        // SAFETY: handles were looked up by type and live; the device is theirs.
        let called = unsafe { call_cmd(&self.dev(device)?.cmd, &mut decoded.command) };
        Self::unmap(decoded);
        Ok(called?)
    }
}
