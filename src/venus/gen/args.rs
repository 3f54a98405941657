//! The arguments of every command, in their order.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::ffi::{c_char, c_void};

use ash::vk;

use super::mesa;

crate::macros::args! {
    VkCreateInstance {
        p_create_info: *const vk::InstanceCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_instance: *mut vk::Instance,
    } -> vk::Result;
    VkDestroyInstance {
        instance: vk::Instance,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkEnumeratePhysicalDevices {
        instance: vk::Instance,
        p_physical_device_count: *mut u32,
        p_physical_devices: *mut vk::PhysicalDevice,
    } -> vk::Result;
    VkGetPhysicalDeviceProperties {
        physical_device: vk::PhysicalDevice,
        p_properties: *mut vk::PhysicalDeviceProperties,
    };
    VkCreateDevice {
        physical_device: vk::PhysicalDevice,
        p_create_info: *const vk::DeviceCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_device: *mut vk::Device,
    } -> vk::Result;
    VkDestroyDevice {
        device: vk::Device,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkEnumerateDeviceExtensionProperties {
        physical_device: vk::PhysicalDevice,
        p_layer_name: *const c_char,
        p_property_count: *mut u32,
        p_properties: *mut vk::ExtensionProperties,
    } -> vk::Result;
    VkQueueSubmit {
        queue: vk::Queue,
        submit_count: u32,
        p_submits: *const vk::SubmitInfo<'static>,
        fence: vk::Fence,
    } -> vk::Result;
    VkAllocateMemory {
        device: vk::Device,
        p_allocate_info: *const vk::MemoryAllocateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_memory: *mut vk::DeviceMemory,
    } -> vk::Result;
    VkFreeMemory {
        device: vk::Device,
        memory: vk::DeviceMemory,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetDeviceMemoryCommitment {
        device: vk::Device,
        memory: vk::DeviceMemory,
        p_committed_memory_in_bytes: *mut vk::DeviceSize,
    };
    VkQueueBindSparse {
        queue: vk::Queue,
        bind_info_count: u32,
        p_bind_info: *const vk::BindSparseInfo<'static>,
        fence: vk::Fence,
    } -> vk::Result;
    VkCreateFence {
        device: vk::Device,
        p_create_info: *const vk::FenceCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_fence: *mut vk::Fence,
    } -> vk::Result;
    VkDestroyFence {
        device: vk::Device,
        fence: vk::Fence,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkResetFences {
        device: vk::Device,
        fence_count: u32,
        p_fences: *const vk::Fence,
    } -> vk::Result;
    VkGetFenceStatus {
        device: vk::Device,
        fence: vk::Fence,
    } -> vk::Result;
    VkWaitForFences {
        device: vk::Device,
        fence_count: u32,
        p_fences: *const vk::Fence,
        wait_all: vk::Bool32,
        timeout: u64,
    } -> vk::Result;
    VkCreateSemaphore {
        device: vk::Device,
        p_create_info: *const vk::SemaphoreCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_semaphore: *mut vk::Semaphore,
    } -> vk::Result;
    VkDestroySemaphore {
        device: vk::Device,
        semaphore: vk::Semaphore,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateEvent {
        device: vk::Device,
        p_create_info: *const vk::EventCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_event: *mut vk::Event,
    } -> vk::Result;
    VkDestroyEvent {
        device: vk::Device,
        event: vk::Event,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetEventStatus {
        device: vk::Device,
        event: vk::Event,
    } -> vk::Result;
    VkSetEvent {
        device: vk::Device,
        event: vk::Event,
    } -> vk::Result;
    VkResetEvent {
        device: vk::Device,
        event: vk::Event,
    } -> vk::Result;
    VkCreateQueryPool {
        device: vk::Device,
        p_create_info: *const vk::QueryPoolCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_query_pool: *mut vk::QueryPool,
    } -> vk::Result;
    VkDestroyQueryPool {
        device: vk::Device,
        query_pool: vk::QueryPool,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetQueryPoolResults {
        device: vk::Device,
        query_pool: vk::QueryPool,
        first_query: u32,
        query_count: u32,
        data_size: usize,
        p_data: *mut c_void,
        stride: vk::DeviceSize,
        flags: vk::QueryResultFlags,
    } -> vk::Result;
    VkCreateBuffer {
        device: vk::Device,
        p_create_info: *const vk::BufferCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_buffer: *mut vk::Buffer,
    } -> vk::Result;
    VkDestroyBuffer {
        device: vk::Device,
        buffer: vk::Buffer,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateBufferView {
        device: vk::Device,
        p_create_info: *const vk::BufferViewCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_view: *mut vk::BufferView,
    } -> vk::Result;
    VkDestroyBufferView {
        device: vk::Device,
        buffer_view: vk::BufferView,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateImage {
        device: vk::Device,
        p_create_info: *const vk::ImageCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_image: *mut vk::Image,
    } -> vk::Result;
    VkDestroyImage {
        device: vk::Device,
        image: vk::Image,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetImageSubresourceLayout {
        device: vk::Device,
        image: vk::Image,
        p_subresource: *const vk::ImageSubresource,
        p_layout: *mut vk::SubresourceLayout,
    };
    VkCreateImageView {
        device: vk::Device,
        p_create_info: *const vk::ImageViewCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_view: *mut vk::ImageView,
    } -> vk::Result;
    VkDestroyImageView {
        device: vk::Device,
        image_view: vk::ImageView,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateShaderModule {
        device: vk::Device,
        p_create_info: *const vk::ShaderModuleCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_shader_module: *mut vk::ShaderModule,
    } -> vk::Result;
    VkDestroyShaderModule {
        device: vk::Device,
        shader_module: vk::ShaderModule,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreatePipelineCache {
        device: vk::Device,
        p_create_info: *const vk::PipelineCacheCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_pipeline_cache: *mut vk::PipelineCache,
    } -> vk::Result;
    VkDestroyPipelineCache {
        device: vk::Device,
        pipeline_cache: vk::PipelineCache,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetPipelineCacheData {
        device: vk::Device,
        pipeline_cache: vk::PipelineCache,
        p_data_size: *mut usize,
        p_data: *mut c_void,
    } -> vk::Result;
    VkMergePipelineCaches {
        device: vk::Device,
        dst_cache: vk::PipelineCache,
        src_cache_count: u32,
        p_src_caches: *const vk::PipelineCache,
    } -> vk::Result;
    VkCreateGraphicsPipelines {
        device: vk::Device,
        pipeline_cache: vk::PipelineCache,
        create_info_count: u32,
        p_create_infos: *const vk::GraphicsPipelineCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_pipelines: *mut vk::Pipeline,
    } -> vk::Result;
    VkCreateComputePipelines {
        device: vk::Device,
        pipeline_cache: vk::PipelineCache,
        create_info_count: u32,
        p_create_infos: *const vk::ComputePipelineCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_pipelines: *mut vk::Pipeline,
    } -> vk::Result;
    VkDestroyPipeline {
        device: vk::Device,
        pipeline: vk::Pipeline,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreatePipelineLayout {
        device: vk::Device,
        p_create_info: *const vk::PipelineLayoutCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_pipeline_layout: *mut vk::PipelineLayout,
    } -> vk::Result;
    VkDestroyPipelineLayout {
        device: vk::Device,
        pipeline_layout: vk::PipelineLayout,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateSampler {
        device: vk::Device,
        p_create_info: *const vk::SamplerCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_sampler: *mut vk::Sampler,
    } -> vk::Result;
    VkDestroySampler {
        device: vk::Device,
        sampler: vk::Sampler,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateDescriptorSetLayout {
        device: vk::Device,
        p_create_info: *const vk::DescriptorSetLayoutCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_set_layout: *mut vk::DescriptorSetLayout,
    } -> vk::Result;
    VkDestroyDescriptorSetLayout {
        device: vk::Device,
        descriptor_set_layout: vk::DescriptorSetLayout,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateDescriptorPool {
        device: vk::Device,
        p_create_info: *const vk::DescriptorPoolCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_descriptor_pool: *mut vk::DescriptorPool,
    } -> vk::Result;
    VkDestroyDescriptorPool {
        device: vk::Device,
        descriptor_pool: vk::DescriptorPool,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkResetDescriptorPool {
        device: vk::Device,
        descriptor_pool: vk::DescriptorPool,
        flags: vk::DescriptorPoolResetFlags,
    } -> vk::Result;
    VkAllocateDescriptorSets {
        device: vk::Device,
        p_allocate_info: *const vk::DescriptorSetAllocateInfo<'static>,
        p_descriptor_sets: *mut vk::DescriptorSet,
    } -> vk::Result;
    VkFreeDescriptorSets {
        device: vk::Device,
        descriptor_pool: vk::DescriptorPool,
        descriptor_set_count: u32,
        p_descriptor_sets: *const vk::DescriptorSet,
    } -> vk::Result;
    VkUpdateDescriptorSets {
        device: vk::Device,
        descriptor_write_count: u32,
        p_descriptor_writes: *const vk::WriteDescriptorSet<'static>,
        descriptor_copy_count: u32,
        p_descriptor_copies: *const vk::CopyDescriptorSet<'static>,
    };
    VkCreateFramebuffer {
        device: vk::Device,
        p_create_info: *const vk::FramebufferCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_framebuffer: *mut vk::Framebuffer,
    } -> vk::Result;
    VkDestroyFramebuffer {
        device: vk::Device,
        framebuffer: vk::Framebuffer,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkCreateRenderPass {
        device: vk::Device,
        p_create_info: *const vk::RenderPassCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_render_pass: *mut vk::RenderPass,
    } -> vk::Result;
    VkDestroyRenderPass {
        device: vk::Device,
        render_pass: vk::RenderPass,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetRenderAreaGranularity {
        device: vk::Device,
        render_pass: vk::RenderPass,
        p_granularity: *mut vk::Extent2D,
    };
    VkCreateCommandPool {
        device: vk::Device,
        p_create_info: *const vk::CommandPoolCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_command_pool: *mut vk::CommandPool,
    } -> vk::Result;
    VkDestroyCommandPool {
        device: vk::Device,
        command_pool: vk::CommandPool,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkResetCommandPool {
        device: vk::Device,
        command_pool: vk::CommandPool,
        flags: vk::CommandPoolResetFlags,
    } -> vk::Result;
    VkAllocateCommandBuffers {
        device: vk::Device,
        p_allocate_info: *const vk::CommandBufferAllocateInfo<'static>,
        p_command_buffers: *mut vk::CommandBuffer,
    } -> vk::Result;
    VkFreeCommandBuffers {
        device: vk::Device,
        command_pool: vk::CommandPool,
        command_buffer_count: u32,
        p_command_buffers: *const vk::CommandBuffer,
    };
    VkBeginCommandBuffer {
        command_buffer: vk::CommandBuffer,
        p_begin_info: *const vk::CommandBufferBeginInfo<'static>,
    } -> vk::Result;
    VkEndCommandBuffer {
        command_buffer: vk::CommandBuffer,
    } -> vk::Result;
    VkResetCommandBuffer {
        command_buffer: vk::CommandBuffer,
        flags: vk::CommandBufferResetFlags,
    } -> vk::Result;
    VkCmdBindPipeline {
        command_buffer: vk::CommandBuffer,
        pipeline_bind_point: vk::PipelineBindPoint,
        pipeline: vk::Pipeline,
    };
    VkCmdSetViewport {
        command_buffer: vk::CommandBuffer,
        first_viewport: u32,
        viewport_count: u32,
        p_viewports: *const vk::Viewport,
    };
    VkCmdSetScissor {
        command_buffer: vk::CommandBuffer,
        first_scissor: u32,
        scissor_count: u32,
        p_scissors: *const vk::Rect2D,
    };
    VkCmdSetLineWidth {
        command_buffer: vk::CommandBuffer,
        line_width: f32,
    };
    VkCmdSetDepthBias {
        command_buffer: vk::CommandBuffer,
        depth_bias_constant_factor: f32,
        depth_bias_clamp: f32,
        depth_bias_slope_factor: f32,
    };
    VkCmdSetBlendConstants {
        command_buffer: vk::CommandBuffer,
        blend_constants: [f32; 4],
    };
    VkCmdSetDepthBounds {
        command_buffer: vk::CommandBuffer,
        min_depth_bounds: f32,
        max_depth_bounds: f32,
    };
    VkCmdSetStencilCompareMask {
        command_buffer: vk::CommandBuffer,
        face_mask: vk::StencilFaceFlags,
        compare_mask: u32,
    };
    VkCmdSetStencilWriteMask {
        command_buffer: vk::CommandBuffer,
        face_mask: vk::StencilFaceFlags,
        write_mask: u32,
    };
    VkCmdSetStencilReference {
        command_buffer: vk::CommandBuffer,
        face_mask: vk::StencilFaceFlags,
        reference: u32,
    };
    VkCmdBindDescriptorSets {
        command_buffer: vk::CommandBuffer,
        pipeline_bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first_set: u32,
        descriptor_set_count: u32,
        p_descriptor_sets: *const vk::DescriptorSet,
        dynamic_offset_count: u32,
        p_dynamic_offsets: *const u32,
    };
    VkCmdBindIndexBuffer {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        index_type: vk::IndexType,
    };
    VkCmdBindVertexBuffers {
        command_buffer: vk::CommandBuffer,
        first_binding: u32,
        binding_count: u32,
        p_buffers: *const vk::Buffer,
        p_offsets: *const vk::DeviceSize,
    };
    VkCmdDraw {
        command_buffer: vk::CommandBuffer,
        vertex_count: u32,
        instance_count: u32,
        first_vertex: u32,
        first_instance: u32,
    };
    VkCmdDrawIndexed {
        command_buffer: vk::CommandBuffer,
        index_count: u32,
        instance_count: u32,
        first_index: u32,
        vertex_offset: i32,
        first_instance: u32,
    };
    VkCmdDrawIndirect {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        draw_count: u32,
        stride: u32,
    };
    VkCmdDrawIndexedIndirect {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        draw_count: u32,
        stride: u32,
    };
    VkCmdDispatch {
        command_buffer: vk::CommandBuffer,
        group_count_x: u32,
        group_count_y: u32,
        group_count_z: u32,
    };
    VkCmdDispatchIndirect {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
    };
    VkCmdCopyBuffer {
        command_buffer: vk::CommandBuffer,
        src_buffer: vk::Buffer,
        dst_buffer: vk::Buffer,
        region_count: u32,
        p_regions: *const vk::BufferCopy,
    };
    VkCmdCopyImage {
        command_buffer: vk::CommandBuffer,
        src_image: vk::Image,
        src_image_layout: vk::ImageLayout,
        dst_image: vk::Image,
        dst_image_layout: vk::ImageLayout,
        region_count: u32,
        p_regions: *const vk::ImageCopy,
    };
    VkCmdBlitImage {
        command_buffer: vk::CommandBuffer,
        src_image: vk::Image,
        src_image_layout: vk::ImageLayout,
        dst_image: vk::Image,
        dst_image_layout: vk::ImageLayout,
        region_count: u32,
        p_regions: *const vk::ImageBlit,
        filter: vk::Filter,
    };
    VkCmdCopyBufferToImage {
        command_buffer: vk::CommandBuffer,
        src_buffer: vk::Buffer,
        dst_image: vk::Image,
        dst_image_layout: vk::ImageLayout,
        region_count: u32,
        p_regions: *const vk::BufferImageCopy,
    };
    VkCmdCopyImageToBuffer {
        command_buffer: vk::CommandBuffer,
        src_image: vk::Image,
        src_image_layout: vk::ImageLayout,
        dst_buffer: vk::Buffer,
        region_count: u32,
        p_regions: *const vk::BufferImageCopy,
    };
    VkCmdUpdateBuffer {
        command_buffer: vk::CommandBuffer,
        dst_buffer: vk::Buffer,
        dst_offset: vk::DeviceSize,
        data_size: vk::DeviceSize,
        p_data: *const c_void,
    };
    VkCmdFillBuffer {
        command_buffer: vk::CommandBuffer,
        dst_buffer: vk::Buffer,
        dst_offset: vk::DeviceSize,
        size: vk::DeviceSize,
        data: u32,
    };
    VkCmdClearColorImage {
        command_buffer: vk::CommandBuffer,
        image: vk::Image,
        image_layout: vk::ImageLayout,
        p_color: *const vk::ClearColorValue,
        range_count: u32,
        p_ranges: *const vk::ImageSubresourceRange,
    };
    VkCmdClearDepthStencilImage {
        command_buffer: vk::CommandBuffer,
        image: vk::Image,
        image_layout: vk::ImageLayout,
        p_depth_stencil: *const vk::ClearDepthStencilValue,
        range_count: u32,
        p_ranges: *const vk::ImageSubresourceRange,
    };
    VkCmdClearAttachments {
        command_buffer: vk::CommandBuffer,
        attachment_count: u32,
        p_attachments: *const vk::ClearAttachment,
        rect_count: u32,
        p_rects: *const vk::ClearRect,
    };
    VkCmdResolveImage {
        command_buffer: vk::CommandBuffer,
        src_image: vk::Image,
        src_image_layout: vk::ImageLayout,
        dst_image: vk::Image,
        dst_image_layout: vk::ImageLayout,
        region_count: u32,
        p_regions: *const vk::ImageResolve,
    };
    VkCmdSetEvent {
        command_buffer: vk::CommandBuffer,
        event: vk::Event,
        stage_mask: vk::PipelineStageFlags,
    };
    VkCmdResetEvent {
        command_buffer: vk::CommandBuffer,
        event: vk::Event,
        stage_mask: vk::PipelineStageFlags,
    };
    VkCmdWaitEvents {
        command_buffer: vk::CommandBuffer,
        event_count: u32,
        p_events: *const vk::Event,
        src_stage_mask: vk::PipelineStageFlags,
        dst_stage_mask: vk::PipelineStageFlags,
        memory_barrier_count: u32,
        p_memory_barriers: *const vk::MemoryBarrier<'static>,
        buffer_memory_barrier_count: u32,
        p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static>,
        image_memory_barrier_count: u32,
        p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static>,
    };
    VkCmdPipelineBarrier {
        command_buffer: vk::CommandBuffer,
        src_stage_mask: vk::PipelineStageFlags,
        dst_stage_mask: vk::PipelineStageFlags,
        dependency_flags: vk::DependencyFlags,
        memory_barrier_count: u32,
        p_memory_barriers: *const vk::MemoryBarrier<'static>,
        buffer_memory_barrier_count: u32,
        p_buffer_memory_barriers: *const vk::BufferMemoryBarrier<'static>,
        image_memory_barrier_count: u32,
        p_image_memory_barriers: *const vk::ImageMemoryBarrier<'static>,
    };
    VkCmdBeginQuery {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
    };
    VkCmdEndQuery {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        query: u32,
    };
    VkCmdResetQueryPool {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        first_query: u32,
        query_count: u32,
    };
    VkCmdWriteTimestamp {
        command_buffer: vk::CommandBuffer,
        pipeline_stage: vk::PipelineStageFlags,
        query_pool: vk::QueryPool,
        query: u32,
    };
    VkCmdCopyQueryPoolResults {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        first_query: u32,
        query_count: u32,
        dst_buffer: vk::Buffer,
        dst_offset: vk::DeviceSize,
        stride: vk::DeviceSize,
        flags: vk::QueryResultFlags,
    };
    VkCmdPushConstants {
        command_buffer: vk::CommandBuffer,
        layout: vk::PipelineLayout,
        stage_flags: vk::ShaderStageFlags,
        offset: u32,
        size: u32,
        p_values: *const c_void,
    };
    VkCmdBeginRenderPass {
        command_buffer: vk::CommandBuffer,
        p_render_pass_begin: *const vk::RenderPassBeginInfo<'static>,
        contents: vk::SubpassContents,
    };
    VkCmdNextSubpass {
        command_buffer: vk::CommandBuffer,
        contents: vk::SubpassContents,
    };
    VkCmdEndRenderPass {
        command_buffer: vk::CommandBuffer,
    };
    VkCmdExecuteCommands {
        command_buffer: vk::CommandBuffer,
        command_buffer_count: u32,
        p_command_buffers: *const vk::CommandBuffer,
    };
    VkEnumerateInstanceVersion {
        p_api_version: *mut u32,
    } -> vk::Result;
    VkBindBufferMemory2 {
        device: vk::Device,
        bind_info_count: u32,
        p_bind_infos: *const vk::BindBufferMemoryInfo<'static>,
    } -> vk::Result;
    VkBindImageMemory2 {
        device: vk::Device,
        bind_info_count: u32,
        p_bind_infos: *const vk::BindImageMemoryInfo<'static>,
    } -> vk::Result;
    VkGetDeviceGroupPeerMemoryFeatures {
        device: vk::Device,
        heap_index: u32,
        local_device_index: u32,
        remote_device_index: u32,
        p_peer_memory_features: *mut vk::PeerMemoryFeatureFlags,
    };
    VkCmdSetDeviceMask {
        command_buffer: vk::CommandBuffer,
        device_mask: u32,
    };
    VkCmdDispatchBase {
        command_buffer: vk::CommandBuffer,
        base_group_x: u32,
        base_group_y: u32,
        base_group_z: u32,
        group_count_x: u32,
        group_count_y: u32,
        group_count_z: u32,
    };
    VkEnumeratePhysicalDeviceGroups {
        instance: vk::Instance,
        p_physical_device_group_count: *mut u32,
        p_physical_device_group_properties: *mut vk::PhysicalDeviceGroupProperties<'static>,
    } -> vk::Result;
    VkGetImageMemoryRequirements2 {
        device: vk::Device,
        p_info: *const vk::ImageMemoryRequirementsInfo2<'static>,
        p_memory_requirements: *mut vk::MemoryRequirements2<'static>,
    };
    VkGetBufferMemoryRequirements2 {
        device: vk::Device,
        p_info: *const vk::BufferMemoryRequirementsInfo2<'static>,
        p_memory_requirements: *mut vk::MemoryRequirements2<'static>,
    };
    VkGetImageSparseMemoryRequirements2 {
        device: vk::Device,
        p_info: *const vk::ImageSparseMemoryRequirementsInfo2<'static>,
        p_sparse_memory_requirement_count: *mut u32,
        p_sparse_memory_requirements: *mut vk::SparseImageMemoryRequirements2<'static>,
    };
    VkGetPhysicalDeviceFeatures2 {
        physical_device: vk::PhysicalDevice,
        p_features: *mut vk::PhysicalDeviceFeatures2<'static>,
    };
    VkGetPhysicalDeviceProperties2 {
        physical_device: vk::PhysicalDevice,
        p_properties: *mut vk::PhysicalDeviceProperties2<'static>,
    };
    VkGetPhysicalDeviceFormatProperties2 {
        physical_device: vk::PhysicalDevice,
        format: vk::Format,
        p_format_properties: *mut vk::FormatProperties2<'static>,
    };
    VkGetPhysicalDeviceImageFormatProperties2 {
        physical_device: vk::PhysicalDevice,
        p_image_format_info: *const vk::PhysicalDeviceImageFormatInfo2<'static>,
        p_image_format_properties: *mut vk::ImageFormatProperties2<'static>,
    } -> vk::Result;
    VkGetPhysicalDeviceQueueFamilyProperties2 {
        physical_device: vk::PhysicalDevice,
        p_queue_family_property_count: *mut u32,
        p_queue_family_properties: *mut vk::QueueFamilyProperties2<'static>,
    };
    VkGetPhysicalDeviceMemoryProperties2 {
        physical_device: vk::PhysicalDevice,
        p_memory_properties: *mut vk::PhysicalDeviceMemoryProperties2<'static>,
    };
    VkGetPhysicalDeviceSparseImageFormatProperties2 {
        physical_device: vk::PhysicalDevice,
        p_format_info: *const vk::PhysicalDeviceSparseImageFormatInfo2<'static>,
        p_property_count: *mut u32,
        p_properties: *mut vk::SparseImageFormatProperties2<'static>,
    };
    VkTrimCommandPool {
        device: vk::Device,
        command_pool: vk::CommandPool,
        flags: vk::CommandPoolTrimFlags,
    };
    VkGetDeviceQueue2 {
        device: vk::Device,
        p_queue_info: *const vk::DeviceQueueInfo2<'static>,
        p_queue: *mut vk::Queue,
    };
    VkCreateSamplerYcbcrConversion {
        device: vk::Device,
        p_create_info: *const vk::SamplerYcbcrConversionCreateInfo<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_ycbcr_conversion: *mut vk::SamplerYcbcrConversion,
    } -> vk::Result;
    VkDestroySamplerYcbcrConversion {
        device: vk::Device,
        ycbcr_conversion: vk::SamplerYcbcrConversion,
        p_allocator: *const vk::AllocationCallbacks<'static>,
    };
    VkGetPhysicalDeviceExternalBufferProperties {
        physical_device: vk::PhysicalDevice,
        p_external_buffer_info: *const vk::PhysicalDeviceExternalBufferInfo<'static>,
        p_external_buffer_properties: *mut vk::ExternalBufferProperties<'static>,
    };
    VkGetPhysicalDeviceExternalFenceProperties {
        physical_device: vk::PhysicalDevice,
        p_external_fence_info: *const vk::PhysicalDeviceExternalFenceInfo<'static>,
        p_external_fence_properties: *mut vk::ExternalFenceProperties<'static>,
    };
    VkGetPhysicalDeviceExternalSemaphoreProperties {
        physical_device: vk::PhysicalDevice,
        p_external_semaphore_info: *const vk::PhysicalDeviceExternalSemaphoreInfo<'static>,
        p_external_semaphore_properties: *mut vk::ExternalSemaphoreProperties<'static>,
    };
    VkGetDescriptorSetLayoutSupport {
        device: vk::Device,
        p_create_info: *const vk::DescriptorSetLayoutCreateInfo<'static>,
        p_support: *mut vk::DescriptorSetLayoutSupport<'static>,
    };
    VkCmdDrawIndirectCount {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count_buffer: vk::Buffer,
        count_buffer_offset: vk::DeviceSize,
        max_draw_count: u32,
        stride: u32,
    };
    VkCmdDrawIndexedIndirectCount {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        count_buffer: vk::Buffer,
        count_buffer_offset: vk::DeviceSize,
        max_draw_count: u32,
        stride: u32,
    };
    VkCreateRenderPass2 {
        device: vk::Device,
        p_create_info: *const vk::RenderPassCreateInfo2<'static>,
        p_allocator: *const vk::AllocationCallbacks<'static>,
        p_render_pass: *mut vk::RenderPass,
    } -> vk::Result;
    VkCmdBeginRenderPass2 {
        command_buffer: vk::CommandBuffer,
        p_render_pass_begin: *const vk::RenderPassBeginInfo<'static>,
        p_subpass_begin_info: *const vk::SubpassBeginInfo<'static>,
    };
    VkCmdNextSubpass2 {
        command_buffer: vk::CommandBuffer,
        p_subpass_begin_info: *const vk::SubpassBeginInfo<'static>,
        p_subpass_end_info: *const vk::SubpassEndInfo<'static>,
    };
    VkCmdEndRenderPass2 {
        command_buffer: vk::CommandBuffer,
        p_subpass_end_info: *const vk::SubpassEndInfo<'static>,
    };
    VkResetQueryPool {
        device: vk::Device,
        query_pool: vk::QueryPool,
        first_query: u32,
        query_count: u32,
    };
    VkGetSemaphoreCounterValue {
        device: vk::Device,
        semaphore: vk::Semaphore,
        p_value: *mut u64,
    } -> vk::Result;
    VkWaitSemaphores {
        device: vk::Device,
        p_wait_info: *const vk::SemaphoreWaitInfo<'static>,
        timeout: u64,
    } -> vk::Result;
    VkSignalSemaphore {
        device: vk::Device,
        p_signal_info: *const vk::SemaphoreSignalInfo<'static>,
    } -> vk::Result;
    VkGetBufferDeviceAddress {
        device: vk::Device,
        p_info: *const vk::BufferDeviceAddressInfo<'static>,
    } -> vk::DeviceAddress;
    VkGetBufferOpaqueCaptureAddress {
        device: vk::Device,
        p_info: *const vk::BufferDeviceAddressInfo<'static>,
    } -> u64;
    VkGetDeviceMemoryOpaqueCaptureAddress {
        device: vk::Device,
        p_info: *const vk::DeviceMemoryOpaqueCaptureAddressInfo<'static>,
    } -> u64;
    VkSetReplyCommandStreamMESA {
        p_stream: *const mesa::VkCommandStreamDescriptionMESA,
    };
    VkSeekReplyCommandStreamMESA {
        position: usize,
    };
    VkExecuteCommandStreamsMESA {
        stream_count: u32,
        p_streams: *const mesa::VkCommandStreamDescriptionMESA,
        p_reply_positions: *const usize,
        dependency_count: u32,
        p_dependencies: *const mesa::VkCommandStreamDependencyMESA,
        flags: u32,
    };
    VkCmdBindTransformFeedbackBuffersEXT {
        command_buffer: vk::CommandBuffer,
        first_binding: u32,
        binding_count: u32,
        p_buffers: *const vk::Buffer,
        p_offsets: *const vk::DeviceSize,
        p_sizes: *const vk::DeviceSize,
    };
    VkCmdBeginTransformFeedbackEXT {
        command_buffer: vk::CommandBuffer,
        first_counter_buffer: u32,
        counter_buffer_count: u32,
        p_counter_buffers: *const vk::Buffer,
        p_counter_buffer_offsets: *const vk::DeviceSize,
    };
    VkCmdEndTransformFeedbackEXT {
        command_buffer: vk::CommandBuffer,
        first_counter_buffer: u32,
        counter_buffer_count: u32,
        p_counter_buffers: *const vk::Buffer,
        p_counter_buffer_offsets: *const vk::DeviceSize,
    };
    VkCmdBeginQueryIndexedEXT {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        query: u32,
        flags: vk::QueryControlFlags,
        index: u32,
    };
    VkCmdEndQueryIndexedEXT {
        command_buffer: vk::CommandBuffer,
        query_pool: vk::QueryPool,
        query: u32,
        index: u32,
    };
    VkCmdDrawIndirectByteCountEXT {
        command_buffer: vk::CommandBuffer,
        instance_count: u32,
        first_instance: u32,
        counter_buffer: vk::Buffer,
        counter_buffer_offset: vk::DeviceSize,
        counter_offset: u32,
        vertex_stride: u32,
    };
    VkGetImageDrmFormatModifierPropertiesEXT {
        device: vk::Device,
        image: vk::Image,
        p_properties: *mut vk::ImageDrmFormatModifierPropertiesEXT<'static>,
    } -> vk::Result;
    VkCreateRingMESA {
        ring: u64,
        p_create_info: *const mesa::VkRingCreateInfoMESA,
    };
    VkDestroyRingMESA {
        ring: u64,
    };
    VkNotifyRingMESA {
        ring: u64,
        seqno: u32,
        flags: u32,
    };
    VkWriteRingExtraMESA {
        ring: u64,
        offset: usize,
        value: u32,
    };
    VkGetMemoryResourcePropertiesMESA {
        device: vk::Device,
        resource_id: u32,
        p_memory_resource_properties: *mut mesa::VkMemoryResourcePropertiesMESA,
    } -> vk::Result;
    VkCmdSetEvent2 {
        command_buffer: vk::CommandBuffer,
        event: vk::Event,
        p_dependency_info: *const vk::DependencyInfo<'static>,
    };
    VkCmdResetEvent2 {
        command_buffer: vk::CommandBuffer,
        event: vk::Event,
        stage_mask: vk::PipelineStageFlags2,
    };
    VkCmdWaitEvents2 {
        command_buffer: vk::CommandBuffer,
        event_count: u32,
        p_events: *const vk::Event,
        p_dependency_infos: *const vk::DependencyInfo<'static>,
    };
    VkCmdPipelineBarrier2 {
        command_buffer: vk::CommandBuffer,
        p_dependency_info: *const vk::DependencyInfo<'static>,
    };
    VkCmdWriteTimestamp2 {
        command_buffer: vk::CommandBuffer,
        stage: vk::PipelineStageFlags2,
        query_pool: vk::QueryPool,
        query: u32,
    };
    VkQueueSubmit2 {
        queue: vk::Queue,
        submit_count: u32,
        p_submits: *const vk::SubmitInfo2<'static>,
        fence: vk::Fence,
    } -> vk::Result;
    VkCmdCopyBuffer2 {
        command_buffer: vk::CommandBuffer,
        p_copy_buffer_info: *const vk::CopyBufferInfo2<'static>,
    };
    VkCmdCopyImage2 {
        command_buffer: vk::CommandBuffer,
        p_copy_image_info: *const vk::CopyImageInfo2<'static>,
    };
    VkCmdCopyBufferToImage2 {
        command_buffer: vk::CommandBuffer,
        p_copy_buffer_to_image_info: *const vk::CopyBufferToImageInfo2<'static>,
    };
    VkCmdCopyImageToBuffer2 {
        command_buffer: vk::CommandBuffer,
        p_copy_image_to_buffer_info: *const vk::CopyImageToBufferInfo2<'static>,
    };
    VkCmdBlitImage2 {
        command_buffer: vk::CommandBuffer,
        p_blit_image_info: *const vk::BlitImageInfo2<'static>,
    };
    VkCmdResolveImage2 {
        command_buffer: vk::CommandBuffer,
        p_resolve_image_info: *const vk::ResolveImageInfo2<'static>,
    };
    VkCmdBeginRendering {
        command_buffer: vk::CommandBuffer,
        p_rendering_info: *const vk::RenderingInfo<'static>,
    };
    VkCmdEndRendering {
        command_buffer: vk::CommandBuffer,
    };
    VkCmdSetCullMode {
        command_buffer: vk::CommandBuffer,
        cull_mode: vk::CullModeFlags,
    };
    VkCmdSetFrontFace {
        command_buffer: vk::CommandBuffer,
        front_face: vk::FrontFace,
    };
    VkCmdSetPrimitiveTopology {
        command_buffer: vk::CommandBuffer,
        primitive_topology: vk::PrimitiveTopology,
    };
    VkCmdSetViewportWithCount {
        command_buffer: vk::CommandBuffer,
        viewport_count: u32,
        p_viewports: *const vk::Viewport,
    };
    VkCmdSetScissorWithCount {
        command_buffer: vk::CommandBuffer,
        scissor_count: u32,
        p_scissors: *const vk::Rect2D,
    };
    VkCmdBindVertexBuffers2 {
        command_buffer: vk::CommandBuffer,
        first_binding: u32,
        binding_count: u32,
        p_buffers: *const vk::Buffer,
        p_offsets: *const vk::DeviceSize,
        p_sizes: *const vk::DeviceSize,
        p_strides: *const vk::DeviceSize,
    };
    VkCmdSetDepthTestEnable {
        command_buffer: vk::CommandBuffer,
        depth_test_enable: vk::Bool32,
    };
    VkCmdSetDepthWriteEnable {
        command_buffer: vk::CommandBuffer,
        depth_write_enable: vk::Bool32,
    };
    VkCmdSetDepthCompareOp {
        command_buffer: vk::CommandBuffer,
        depth_compare_op: vk::CompareOp,
    };
    VkCmdSetDepthBoundsTestEnable {
        command_buffer: vk::CommandBuffer,
        depth_bounds_test_enable: vk::Bool32,
    };
    VkCmdSetStencilTestEnable {
        command_buffer: vk::CommandBuffer,
        stencil_test_enable: vk::Bool32,
    };
    VkCmdSetStencilOp {
        command_buffer: vk::CommandBuffer,
        face_mask: vk::StencilFaceFlags,
        fail_op: vk::StencilOp,
        pass_op: vk::StencilOp,
        depth_fail_op: vk::StencilOp,
        compare_op: vk::CompareOp,
    };
    VkCmdSetRasterizerDiscardEnable {
        command_buffer: vk::CommandBuffer,
        rasterizer_discard_enable: vk::Bool32,
    };
    VkCmdSetDepthBiasEnable {
        command_buffer: vk::CommandBuffer,
        depth_bias_enable: vk::Bool32,
    };
    VkCmdSetPrimitiveRestartEnable {
        command_buffer: vk::CommandBuffer,
        primitive_restart_enable: vk::Bool32,
    };
    VkGetDeviceBufferMemoryRequirements {
        device: vk::Device,
        p_info: *const vk::DeviceBufferMemoryRequirements<'static>,
        p_memory_requirements: *mut vk::MemoryRequirements2<'static>,
    };
    VkGetDeviceImageMemoryRequirements {
        device: vk::Device,
        p_info: *const vk::DeviceImageMemoryRequirements<'static>,
        p_memory_requirements: *mut vk::MemoryRequirements2<'static>,
    };
    VkGetDeviceImageSparseMemoryRequirements {
        device: vk::Device,
        p_info: *const vk::DeviceImageMemoryRequirements<'static>,
        p_sparse_memory_requirement_count: *mut u32,
        p_sparse_memory_requirements: *mut vk::SparseImageMemoryRequirements2<'static>,
    };
    VkCmdSetPatchControlPointsEXT {
        command_buffer: vk::CommandBuffer,
        patch_control_points: u32,
    };
    VkCmdSetLogicOpEXT {
        command_buffer: vk::CommandBuffer,
        logic_op: vk::LogicOp,
    };
    VkGetPhysicalDeviceCalibrateableTimeDomainsEXT {
        physical_device: vk::PhysicalDevice,
        p_time_domain_count: *mut u32,
        p_time_domains: *mut vk::TimeDomainKHR,
    } -> vk::Result;
    VkGetCalibratedTimestampsEXT {
        device: vk::Device,
        timestamp_count: u32,
        p_timestamp_infos: *const vk::CalibratedTimestampInfoKHR<'static>,
        p_timestamps: *mut u64,
        p_max_deviation: *mut u64,
    } -> vk::Result;
    VkCmdSetLineStippleEXT {
        command_buffer: vk::CommandBuffer,
        line_stipple_factor: u32,
        line_stipple_pattern: u16,
    };
    VkCmdBeginConditionalRenderingEXT {
        command_buffer: vk::CommandBuffer,
        p_conditional_rendering_begin: *const vk::ConditionalRenderingBeginInfoEXT<'static>,
    };
    VkCmdEndConditionalRenderingEXT {
        command_buffer: vk::CommandBuffer,
    };
    VkResetFenceResourceMESA {
        device: vk::Device,
        fence: vk::Fence,
    };
    VkWaitSemaphoreResourceMESA {
        device: vk::Device,
        semaphore: vk::Semaphore,
    };
    VkImportSemaphoreResourceMESA {
        device: vk::Device,
        p_import_semaphore_resource_info: *const mesa::VkImportSemaphoreResourceInfoMESA,
    };
    VkCmdDrawMultiEXT {
        command_buffer: vk::CommandBuffer,
        draw_count: u32,
        p_vertex_info: *const vk::MultiDrawInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
    };
    VkCmdDrawMultiIndexedEXT {
        command_buffer: vk::CommandBuffer,
        draw_count: u32,
        p_index_info: *const vk::MultiDrawIndexedInfoEXT,
        instance_count: u32,
        first_instance: u32,
        stride: u32,
        p_vertex_offset: *const i32,
    };
    VkCmdPushDescriptorSetKHR {
        command_buffer: vk::CommandBuffer,
        pipeline_bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
        descriptor_write_count: u32,
        p_descriptor_writes: *const vk::WriteDescriptorSet<'static>,
    };
    VkSubmitVirtqueueSeqnoMESA {
        ring: u64,
        seqno: u64,
    };
    VkWaitVirtqueueSeqnoMESA {
        seqno: u64,
    };
    VkWaitRingSeqnoMESA {
        ring: u64,
        seqno: u64,
    };
    VkCmdSetColorWriteEnableEXT {
        command_buffer: vk::CommandBuffer,
        attachment_count: u32,
        p_color_write_enables: *const vk::Bool32,
    };
    VkCmdSetVertexInputEXT {
        command_buffer: vk::CommandBuffer,
        vertex_binding_description_count: u32,
        p_vertex_binding_descriptions: *const vk::VertexInputBindingDescription2EXT<'static>,
        vertex_attribute_description_count: u32,
        p_vertex_attribute_descriptions: *const vk::VertexInputAttributeDescription2EXT<'static>,
    };
    VkCmdSetTessellationDomainOriginEXT {
        command_buffer: vk::CommandBuffer,
        domain_origin: vk::TessellationDomainOrigin,
    };
    VkCmdSetDepthClampEnableEXT {
        command_buffer: vk::CommandBuffer,
        depth_clamp_enable: vk::Bool32,
    };
    VkCmdSetPolygonModeEXT {
        command_buffer: vk::CommandBuffer,
        polygon_mode: vk::PolygonMode,
    };
    VkCmdSetRasterizationSamplesEXT {
        command_buffer: vk::CommandBuffer,
        rasterization_samples: vk::SampleCountFlags,
    };
    VkCmdSetSampleMaskEXT {
        command_buffer: vk::CommandBuffer,
        samples: vk::SampleCountFlags,
        p_sample_mask: *const vk::SampleMask,
    };
    VkCmdSetAlphaToCoverageEnableEXT {
        command_buffer: vk::CommandBuffer,
        alpha_to_coverage_enable: vk::Bool32,
    };
    VkCmdSetAlphaToOneEnableEXT {
        command_buffer: vk::CommandBuffer,
        alpha_to_one_enable: vk::Bool32,
    };
    VkCmdSetLogicOpEnableEXT {
        command_buffer: vk::CommandBuffer,
        logic_op_enable: vk::Bool32,
    };
    VkCmdSetColorBlendEnableEXT {
        command_buffer: vk::CommandBuffer,
        first_attachment: u32,
        attachment_count: u32,
        p_color_blend_enables: *const vk::Bool32,
    };
    VkCmdSetColorBlendEquationEXT {
        command_buffer: vk::CommandBuffer,
        first_attachment: u32,
        attachment_count: u32,
        p_color_blend_equations: *const vk::ColorBlendEquationEXT,
    };
    VkCmdSetColorWriteMaskEXT {
        command_buffer: vk::CommandBuffer,
        first_attachment: u32,
        attachment_count: u32,
        p_color_write_masks: *const vk::ColorComponentFlags,
    };
    VkCmdSetRasterizationStreamEXT {
        command_buffer: vk::CommandBuffer,
        rasterization_stream: u32,
    };
    VkCmdSetConservativeRasterizationModeEXT {
        command_buffer: vk::CommandBuffer,
        conservative_rasterization_mode: vk::ConservativeRasterizationModeEXT,
    };
    VkCmdSetExtraPrimitiveOverestimationSizeEXT {
        command_buffer: vk::CommandBuffer,
        extra_primitive_overestimation_size: f32,
    };
    VkCmdSetDepthClipEnableEXT {
        command_buffer: vk::CommandBuffer,
        depth_clip_enable: vk::Bool32,
    };
    VkCmdSetSampleLocationsEnableEXT {
        command_buffer: vk::CommandBuffer,
        sample_locations_enable: vk::Bool32,
    };
    VkCmdSetColorBlendAdvancedEXT {
        command_buffer: vk::CommandBuffer,
        first_attachment: u32,
        attachment_count: u32,
        p_color_blend_advanced: *const vk::ColorBlendAdvancedEXT,
    };
    VkCmdSetProvokingVertexModeEXT {
        command_buffer: vk::CommandBuffer,
        provoking_vertex_mode: vk::ProvokingVertexModeEXT,
    };
    VkCmdSetLineRasterizationModeEXT {
        command_buffer: vk::CommandBuffer,
        line_rasterization_mode: vk::LineRasterizationModeKHR,
    };
    VkCmdSetLineStippleEnableEXT {
        command_buffer: vk::CommandBuffer,
        stippled_line_enable: vk::Bool32,
    };
    VkCmdSetDepthClipNegativeOneToOneEXT {
        command_buffer: vk::CommandBuffer,
        negative_one_to_one: vk::Bool32,
    };
    VkGetPhysicalDeviceFragmentShadingRatesKHR {
        physical_device: vk::PhysicalDevice,
        p_fragment_shading_rate_count: *mut u32,
        p_fragment_shading_rates: *mut vk::PhysicalDeviceFragmentShadingRateKHR<'static>,
    } -> vk::Result;
    VkCmdSetFragmentShadingRateKHR {
        command_buffer: vk::CommandBuffer,
        p_fragment_size: *const vk::Extent2D,
        combiner_ops: [vk::FragmentShadingRateCombinerOpKHR; 2],
    };
    VkCmdBindIndexBuffer2KHR {
        command_buffer: vk::CommandBuffer,
        buffer: vk::Buffer,
        offset: vk::DeviceSize,
        size: vk::DeviceSize,
        index_type: vk::IndexType,
    };
    VkGetRenderingAreaGranularityKHR {
        device: vk::Device,
        p_rendering_area_info: *const vk::RenderingAreaInfoKHR<'static>,
        p_granularity: *mut vk::Extent2D,
    };
    VkGetDeviceImageSubresourceLayoutKHR {
        device: vk::Device,
        p_info: *const vk::DeviceImageSubresourceInfoKHR<'static>,
        p_layout: *mut vk::SubresourceLayout2KHR<'static>,
    };
    VkGetImageSubresourceLayout2KHR {
        device: vk::Device,
        image: vk::Image,
        p_subresource: *const vk::ImageSubresource2KHR<'static>,
        p_layout: *mut vk::SubresourceLayout2KHR<'static>,
    };
}
