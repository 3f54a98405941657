//! Faults to order, for tests and the demo: a dispatch that never ends.

use ash::vk;

use crate::channel::Fault;
use crate::context::Context;
use crate::cut::vulkan;
use crate::error::{WorkerError, argument};

/// Compiled from `hang.comp`.
const HANG: &[u8] = include_bytes!("shaders/hang.spv");

impl Context {
    /// Injects a fault, where that is allowed.
    pub(crate) fn inject(&mut self, fault: Fault) -> Result<(), WorkerError> {
        if !self.config.fault_injection {
            return Err(argument("inject", "fault injection is off"));
        }
        match fault {
            Fault::Hang => self.hang(),
        }
    }

    /// Submits a dispatch that never ends to the first queue. What it is made of is never freed:
    /// the worker will be killed.
    fn hang(&mut self) -> Result<(), WorkerError> {
        let Some(index) = self.queues.iter().position(|queue| queue.device != 0) else {
            tracing::warn!("No queue to hang");
            return Ok(());
        };
        // What came before is done some time, and nothing behind the dispatch could tell.
        self.signal_all(index)?;
        let device = self.queues[index].device;
        let raw = self.dev(device)?.host.raw().clone();
        let code = ash::util::read_spv(&mut std::io::Cursor::new(HANG))
            .map_err(|error| argument("inject", error.to_string()))?;
        let family = self.dev(device)?.family;
        let host = std::rc::Rc::clone(&self.dev(device)?.host);
        let pages = hesper_memory::Mapping::anonymous("hesper-fault", 4096)?;
        let memory = hesper_gpu::DeviceMemory::import(
            &host,
            hesper_gpu::HostPages {
                mapping: pages,
                offset: 0,
                len: 4096,
            },
            vk::MemoryAllocateFlags::empty(),
        )?;
        let binding = [vk::DescriptorSetLayoutBinding::default()
            .binding(0)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE)];
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: 1,
        }];
        let mut external = vk::ExternalMemoryBufferCreateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT);
        let buffer_info = vk::BufferCreateInfo::default()
            .size(4096)
            .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
            .push_next(&mut external);
        // SAFETY: the device lives, every info outlives its call, and nothing made here is freed.
        unsafe {
            let buffer = raw
                .create_buffer(&buffer_info, None)
                .map_err(|r| vulkan("vkCreateBuffer", r))?;
            raw.bind_buffer_memory(buffer, memory.handle, 0)
                .map_err(|r| vulkan("vkBindBufferMemory", r))?;
            let module = raw
                .create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&code), None)
                .map_err(|r| vulkan("vkCreateShaderModule", r))?;
            let set_layouts = [raw
                .create_descriptor_set_layout(
                    &vk::DescriptorSetLayoutCreateInfo::default().bindings(&binding),
                    None,
                )
                .map_err(|r| vulkan("vkCreateDescriptorSetLayout", r))?];
            let layout = raw
                .create_pipeline_layout(
                    &vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts),
                    None,
                )
                .map_err(|r| vulkan("vkCreatePipelineLayout", r))?;
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = [vk::ComputePipelineCreateInfo::default()
                .stage(stage)
                .layout(layout)];
            let pipelines = raw
                .create_compute_pipelines(vk::PipelineCache::null(), &info, None)
                .map_err(|(_, r)| vulkan("vkCreateComputePipelines", r))?;
            let pool = raw
                .create_descriptor_pool(
                    &vk::DescriptorPoolCreateInfo::default()
                        .max_sets(1)
                        .pool_sizes(&sizes),
                    None,
                )
                .map_err(|r| vulkan("vkCreateDescriptorPool", r))?;
            let sets = raw
                .allocate_descriptor_sets(
                    &vk::DescriptorSetAllocateInfo::default()
                        .descriptor_pool(pool)
                        .set_layouts(&set_layouts),
                )
                .map_err(|r| vulkan("vkAllocateDescriptorSets", r))?;
            let buffers = [vk::DescriptorBufferInfo {
                buffer,
                offset: 0,
                range: vk::WHOLE_SIZE,
            }];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(sets[0])
                .dst_binding(0)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&buffers);
            raw.update_descriptor_sets(&[write], &[]);
            let command_pool = raw
                .create_command_pool(
                    &vk::CommandPoolCreateInfo::default().queue_family_index(family),
                    None,
                )
                .map_err(|r| vulkan("vkCreateCommandPool", r))?;
            let commands = raw
                .allocate_command_buffers(
                    &vk::CommandBufferAllocateInfo::default()
                        .command_pool(command_pool)
                        .command_buffer_count(1),
                )
                .map_err(|r| vulkan("vkAllocateCommandBuffers", r))?;
            raw.begin_command_buffer(commands[0], &vk::CommandBufferBeginInfo::default())
                .map_err(|r| vulkan("vkBeginCommandBuffer", r))?;
            raw.cmd_bind_pipeline(commands[0], vk::PipelineBindPoint::COMPUTE, pipelines[0]);
            raw.cmd_bind_descriptor_sets(
                commands[0],
                vk::PipelineBindPoint::COMPUTE,
                layout,
                0,
                &sets,
                &[],
            );
            raw.cmd_dispatch(commands[0], 1, 1, 1);
            raw.end_command_buffer(commands[0])
                .map_err(|r| vulkan("vkEndCommandBuffer", r))?;
            let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
            raw.queue_submit(self.queues[index].handle, &submit, vk::Fence::null())
                .map_err(|r| vulkan("vkQueueSubmit", r))?;
        }
        // Kept for the driver, which works on it until the end.
        std::mem::forget(memory);
        self.queues[index].add_endless();
        Ok(())
    }
}
