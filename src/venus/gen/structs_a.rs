//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkApplicationInfo: vk::ApplicationInfo<'static> = Some(0), Chained::Once, [] {
        p_application_name: Ty::U8, Shape::Str, OPT;
        application_version: Ty::U32, Shape::Value, 0;
        p_engine_name: Ty::U8, Shape::Str, OPT;
        engine_version: Ty::U32, Shape::Value, 0;
        api_version: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentDescription: vk::AttachmentDescription = None, Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        samples: Ty::U32, Shape::Value, 0;
        load_op: Ty::U32, Shape::Value, 0;
        store_op: Ty::U32, Shape::Value, 0;
        stencil_load_op: Ty::U32, Shape::Value, 0;
        stencil_store_op: Ty::U32, Shape::Value, 0;
        initial_layout: Ty::U32, Shape::Value, 0;
        final_layout: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentDescription2: vk::AttachmentDescription2<'static> = Some(1000109000), Chained::Once, [
        &super::structs_a::VkAttachmentDescriptionStencilLayout,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        samples: Ty::U32, Shape::Value, 0;
        load_op: Ty::U32, Shape::Value, 0;
        store_op: Ty::U32, Shape::Value, 0;
        stencil_load_op: Ty::U32, Shape::Value, 0;
        stencil_store_op: Ty::U32, Shape::Value, 0;
        initial_layout: Ty::U32, Shape::Value, 0;
        final_layout: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentDescriptionStencilLayout: vk::AttachmentDescriptionStencilLayout<'static> = Some(1000241002), Chained::Once, [] {
        stencil_initial_layout: Ty::U32, Shape::Value, 0;
        stencil_final_layout: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentReference: vk::AttachmentReference = None, Chained::Once, [] {
        attachment: Ty::U32, Shape::Value, 0;
        layout: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentReference2: vk::AttachmentReference2<'static> = Some(1000109001), Chained::Once, [
        &super::structs_a::VkAttachmentReferenceStencilLayout,
    ] {
        attachment: Ty::U32, Shape::Value, 0;
        layout: Ty::U32, Shape::Value, 0;
        aspect_mask: Ty::U32, Shape::Value, 0;
    }
    VkAttachmentReferenceStencilLayout: vk::AttachmentReferenceStencilLayout<'static> = Some(1000241001), Chained::Once, [] {
        stencil_layout: Ty::U32, Shape::Value, 0;
    }
    VkBindBufferMemoryDeviceGroupInfo: vk::BindBufferMemoryDeviceGroupInfo<'static> = Some(1000060013), Chained::Once, [] {
        device_index_count: Ty::U32, Shape::Value, LEN;
        p_device_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::BindBufferMemoryDeviceGroupInfo<'static>, device_index_count))), 0;
    }
    VkBindBufferMemoryInfo: vk::BindBufferMemoryInfo<'static> = Some(1000157000), Chained::Once, [
        &super::structs_a::VkBindBufferMemoryDeviceGroupInfo,
    ] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        memory_offset: Ty::U64, Shape::Value, 0;
    }
    VkBindImageMemoryDeviceGroupInfo: vk::BindImageMemoryDeviceGroupInfo<'static> = Some(1000060014), Chained::Once, [] {
        device_index_count: Ty::U32, Shape::Value, LEN;
        p_device_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::BindImageMemoryDeviceGroupInfo<'static>, device_index_count))), 0;
        split_instance_bind_region_count: Ty::U32, Shape::Value, LEN;
        p_split_instance_bind_regions: Ty::Struct(&super::structs_q::VkRect2D), Shape::Array(Len::U32(offset_of!(vk::BindImageMemoryDeviceGroupInfo<'static>, split_instance_bind_region_count))), 0;
    }
    VkBindImageMemoryInfo: vk::BindImageMemoryInfo<'static> = Some(1000157001), Chained::Once, [
        &super::structs_a::VkBindImageMemoryDeviceGroupInfo,
        &super::structs_a::VkBindImagePlaneMemoryInfo,
    ] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        memory_offset: Ty::U64, Shape::Value, 0;
    }
    VkBindImagePlaneMemoryInfo: vk::BindImagePlaneMemoryInfo<'static> = Some(1000156002), Chained::Once, [] {
        plane_aspect: Ty::U32, Shape::Value, 0;
    }
    VkBindSparseInfo: vk::BindSparseInfo<'static> = Some(7), Chained::Once, [
        &super::structs_d::VkDeviceGroupBindSparseInfo,
        &super::structs_q::VkTimelineSemaphoreSubmitInfo,
    ] {
        wait_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_wait_semaphores: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Array(Len::U32(offset_of!(vk::BindSparseInfo<'static>, wait_semaphore_count))), 0;
        buffer_bind_count: Ty::U32, Shape::Value, LEN;
        p_buffer_binds: Ty::Struct(&super::structs_q::VkSparseBufferMemoryBindInfo), Shape::Array(Len::U32(offset_of!(vk::BindSparseInfo<'static>, buffer_bind_count))), 0;
        image_opaque_bind_count: Ty::U32, Shape::Value, LEN;
        p_image_opaque_binds: Ty::Struct(&super::structs_q::VkSparseImageOpaqueMemoryBindInfo), Shape::Array(Len::U32(offset_of!(vk::BindSparseInfo<'static>, image_opaque_bind_count))), 0;
        image_bind_count: Ty::U32, Shape::Value, LEN;
        p_image_binds: Ty::Struct(&super::structs_q::VkSparseImageMemoryBindInfo), Shape::Array(Len::U32(offset_of!(vk::BindSparseInfo<'static>, image_bind_count))), 0;
        signal_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_signal_semaphores: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Array(Len::U32(offset_of!(vk::BindSparseInfo<'static>, signal_semaphore_count))), 0;
    }
    VkBlitImageInfo2: vk::BlitImageInfo2<'static> = Some(1000337004), Chained::Once, [] {
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageBlit2), Shape::Array(Len::U32(offset_of!(vk::BlitImageInfo2<'static>, region_count))), 0;
        filter: Ty::U32, Shape::Value, 0;
    }
    VkBufferCopy: vk::BufferCopy = None, Chained::Once, [] {
        src_offset: Ty::U64, Shape::Value, 0;
        dst_offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkBufferCopy2: vk::BufferCopy2<'static> = Some(1000337006), Chained::Once, [] {
        src_offset: Ty::U64, Shape::Value, 0;
        dst_offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkBufferCreateInfo: vk::BufferCreateInfo<'static> = Some(12), Chained::Once, [
        &super::structs_d::VkExternalMemoryBufferCreateInfo,
        &super::structs_a::VkBufferOpaqueCaptureAddressCreateInfo,
        &super::structs_a::VkBufferUsageFlags2CreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        sharing_mode: Ty::U32, Shape::Value, 0;
        queue_family_index_count: Ty::U32, Shape::Value, LEN;
        p_queue_family_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::BufferCreateInfo<'static>, queue_family_index_count))), OPT;
    }
    VkBufferDeviceAddressInfo: vk::BufferDeviceAddressInfo<'static> = Some(1000244001), Chained::Once, [] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
    }
    VkBufferImageCopy: vk::BufferImageCopy = None, Chained::Once, [] {
        buffer_offset: Ty::U64, Shape::Value, 0;
        buffer_row_length: Ty::U32, Shape::Value, 0;
        buffer_image_height: Ty::U32, Shape::Value, 0;
        image_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        image_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        image_extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkBufferImageCopy2: vk::BufferImageCopy2<'static> = Some(1000337009), Chained::Once, [] {
        buffer_offset: Ty::U64, Shape::Value, 0;
        buffer_row_length: Ty::U32, Shape::Value, 0;
        buffer_image_height: Ty::U32, Shape::Value, 0;
        image_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        image_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        image_extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkBufferMemoryBarrier: vk::BufferMemoryBarrier<'static> = Some(44), Chained::Once, [
        &super::structs_d::VkExternalMemoryAcquireUnmodifiedEXT,
    ] {
        src_access_mask: Ty::U32, Shape::Value, 0;
        dst_access_mask: Ty::U32, Shape::Value, 0;
        src_queue_family_index: Ty::U32, Shape::Value, 0;
        dst_queue_family_index: Ty::U32, Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkBufferMemoryBarrier2: vk::BufferMemoryBarrier2<'static> = Some(1000314001), Chained::Once, [
        &super::structs_d::VkExternalMemoryAcquireUnmodifiedEXT,
    ] {
        src_stage_mask: Ty::U64, Shape::Value, 0;
        src_access_mask: Ty::U64, Shape::Value, 0;
        dst_stage_mask: Ty::U64, Shape::Value, 0;
        dst_access_mask: Ty::U64, Shape::Value, 0;
        src_queue_family_index: Ty::U32, Shape::Value, 0;
        dst_queue_family_index: Ty::U32, Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkBufferMemoryRequirementsInfo2: vk::BufferMemoryRequirementsInfo2<'static> = Some(1000146000), Chained::Once, [] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
    }
    VkBufferOpaqueCaptureAddressCreateInfo: vk::BufferOpaqueCaptureAddressCreateInfo<'static> = Some(1000257002), Chained::Once, [] {
        opaque_capture_address: Ty::U64, Shape::Value, 0;
    }
    VkBufferUsageFlags2CreateInfo: vk::BufferUsageFlags2CreateInfoKHR<'static> = Some(1000470006), Chained::Once, [] {
        usage: Ty::U64, Shape::Value, 0;
    }
    VkBufferViewCreateInfo: vk::BufferViewCreateInfo<'static> = Some(13), Chained::Once, [
        &super::structs_a::VkBufferUsageFlags2CreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        range: Ty::U64, Shape::Value, 0;
    }
    VkCalibratedTimestampInfoKHR: vk::CalibratedTimestampInfoKHR<'static> = Some(1000184000), Chained::Once, [] {
        time_domain: Ty::U32, Shape::Value, 0;
    }
    VkClearAttachment: vk::ClearAttachment = None, Chained::Once, [] {
        aspect_mask: Ty::U32, Shape::Value, 0;
        color_attachment: Ty::U32, Shape::Value, 0;
        clear_value: Ty::Union(&super::unions::VkClearValue), Shape::Value, 0;
    }
    VkClearDepthStencilValue: vk::ClearDepthStencilValue = None, Chained::Once, [] {
        depth: Ty::U32, Shape::Value, 0;
        stencil: Ty::U32, Shape::Value, 0;
    }
    VkClearRect: vk::ClearRect = None, Chained::Once, [] {
        rect: Ty::Struct(&super::structs_q::VkRect2D), Shape::Value, 0;
        base_array_layer: Ty::U32, Shape::Value, 0;
        layer_count: Ty::U32, Shape::Value, 0;
    }
    VkColorBlendAdvancedEXT: vk::ColorBlendAdvancedEXT = None, Chained::Once, [] {
        advanced_blend_op: Ty::U32, Shape::Value, 0;
        src_premultiplied: Ty::U32, Shape::Value, 0;
        dst_premultiplied: Ty::U32, Shape::Value, 0;
        blend_overlap: Ty::U32, Shape::Value, 0;
        clamp_results: Ty::U32, Shape::Value, 0;
    }
    VkColorBlendEquationEXT: vk::ColorBlendEquationEXT = None, Chained::Once, [] {
        src_color_blend_factor: Ty::U32, Shape::Value, 0;
        dst_color_blend_factor: Ty::U32, Shape::Value, 0;
        color_blend_op: Ty::U32, Shape::Value, 0;
        src_alpha_blend_factor: Ty::U32, Shape::Value, 0;
        dst_alpha_blend_factor: Ty::U32, Shape::Value, 0;
        alpha_blend_op: Ty::U32, Shape::Value, 0;
    }
    VkCommandBufferAllocateInfo: vk::CommandBufferAllocateInfo<'static> = Some(40), Chained::Once, [] {
        command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Value, 0;
        level: Ty::U32, Shape::Value, 0;
        command_buffer_count: Ty::U32, Shape::Value, 0;
    }
    VkCommandBufferBeginInfo: vk::CommandBufferBeginInfo<'static> = Some(42), Chained::Once, [
        &super::structs_d::VkDeviceGroupCommandBufferBeginInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        p_inheritance_info: Ty::Struct(&super::structs_a::VkCommandBufferInheritanceInfo), Shape::Ptr, OPT;
    }
    VkCommandBufferInheritanceConditionalRenderingInfoEXT: vk::CommandBufferInheritanceConditionalRenderingInfoEXT<'static> = Some(1000081000), Chained::Once, [] {
        conditional_rendering_enable: Ty::U32, Shape::Value, 0;
    }
    VkCommandBufferInheritanceInfo: vk::CommandBufferInheritanceInfo<'static> = Some(41), Chained::Once, [
        &super::structs_a::VkCommandBufferInheritanceRenderingInfo,
        &super::structs_a::VkCommandBufferInheritanceConditionalRenderingInfoEXT,
    ] {
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        subpass: Ty::U32, Shape::Value, 0;
        framebuffer: Ty::Handle(vk::ObjectType::FRAMEBUFFER), Shape::Value, 0;
        occlusion_query_enable: Ty::U32, Shape::Value, 0;
        query_flags: Ty::U32, Shape::Value, 0;
        pipeline_statistics: Ty::U32, Shape::Value, 0;
    }
    VkCommandBufferInheritanceRenderingInfo: vk::CommandBufferInheritanceRenderingInfo<'static> = Some(1000044004), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        view_mask: Ty::U32, Shape::Value, 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachment_formats: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::CommandBufferInheritanceRenderingInfo<'static>, color_attachment_count))), 0;
        depth_attachment_format: Ty::U32, Shape::Value, 0;
        stencil_attachment_format: Ty::U32, Shape::Value, 0;
        rasterization_samples: Ty::U32, Shape::Value, 0;
    }
    VkCommandBufferSubmitInfo: vk::CommandBufferSubmitInfo<'static> = Some(1000314006), Chained::Once, [] {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        device_mask: Ty::U32, Shape::Value, 0;
    }
    VkCommandPoolCreateInfo: vk::CommandPoolCreateInfo<'static> = Some(39), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        queue_family_index: Ty::U32, Shape::Value, 0;
    }
    VkCommandStreamDependencyMESA: mesa::VkCommandStreamDependencyMESA = None, Chained::Once, [] {
        src_command_stream: Ty::U32, Shape::Value, 0;
        dst_command_stream: Ty::U32, Shape::Value, 0;
    }
    VkCommandStreamDescriptionMESA: mesa::VkCommandStreamDescriptionMESA = None, Chained::Once, [] {
        resource_id: Ty::U32, Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkComponentMapping: vk::ComponentMapping = None, Chained::Once, [] {
        r: Ty::U32, Shape::Value, 0;
        g: Ty::U32, Shape::Value, 0;
        b: Ty::U32, Shape::Value, 0;
        a: Ty::U32, Shape::Value, 0;
    }
    VkComputePipelineCreateInfo: vk::ComputePipelineCreateInfo<'static> = Some(29), Chained::Once, [
        &super::structs_p::VkPipelineCreationFeedbackCreateInfo,
        &super::structs_p::VkPipelineCreateFlags2CreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        stage: Ty::Struct(&super::structs_p::VkPipelineShaderStageCreateInfo), Shape::Value, 0;
        layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        base_pipeline_handle: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Value, 0;
        base_pipeline_index: Ty::U32, Shape::Value, 0;
    }
    VkConditionalRenderingBeginInfoEXT: vk::ConditionalRenderingBeginInfoEXT<'static> = Some(1000081002), Chained::Once, [] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkConformanceVersion: vk::ConformanceVersion = None, Chained::Once, [] {
        major: Ty::U8, Shape::Value, 0;
        minor: Ty::U8, Shape::Value, 0;
        subminor: Ty::U8, Shape::Value, 0;
        patch: Ty::U8, Shape::Value, 0;
    }
    VkCopyBufferInfo2: vk::CopyBufferInfo2<'static> = Some(1000337000), Chained::Once, [] {
        src_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferCopy2), Shape::Array(Len::U32(offset_of!(vk::CopyBufferInfo2<'static>, region_count))), 0;
    }
    VkCopyBufferToImageInfo2: vk::CopyBufferToImageInfo2<'static> = Some(1000337002), Chained::Once, [] {
        src_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferImageCopy2), Shape::Array(Len::U32(offset_of!(vk::CopyBufferToImageInfo2<'static>, region_count))), 0;
    }
    VkCopyDescriptorSet: vk::CopyDescriptorSet<'static> = Some(36), Chained::Once, [] {
        src_set: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Value, 0;
        src_binding: Ty::U32, Shape::Value, 0;
        src_array_element: Ty::U32, Shape::Value, 0;
        dst_set: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Value, 0;
        dst_binding: Ty::U32, Shape::Value, 0;
        dst_array_element: Ty::U32, Shape::Value, 0;
        descriptor_count: Ty::U32, Shape::Value, 0;
    }
    VkCopyImageInfo2: vk::CopyImageInfo2<'static> = Some(1000337001), Chained::Once, [] {
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageCopy2), Shape::Array(Len::U32(offset_of!(vk::CopyImageInfo2<'static>, region_count))), 0;
    }
    VkCopyImageToBufferInfo2: vk::CopyImageToBufferInfo2<'static> = Some(1000337003), Chained::Once, [] {
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferImageCopy2), Shape::Array(Len::U32(offset_of!(vk::CopyImageToBufferInfo2<'static>, region_count))), 0;
    }
}
