//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkQueryPoolCreateInfo: vk::QueryPoolCreateInfo<'static> = Some(11), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        query_type: Ty::U32, Shape::Value, 0;
        query_count: Ty::U32, Shape::Value, 0;
        pipeline_statistics: Ty::U32, Shape::Value, 0;
    }
    VkQueueFamilyProperties: vk::QueueFamilyProperties = None, Chained::Once, [] {
        queue_flags: Ty::U32, Shape::Value, 0;
        queue_count: Ty::U32, Shape::Value, 0;
        timestamp_valid_bits: Ty::U32, Shape::Value, 0;
        min_image_transfer_granularity: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkQueueFamilyProperties2: vk::QueueFamilyProperties2<'static> = Some(1000059005), Chained::Once, [] {
        queue_family_properties: Ty::Struct(&super::structs_q::VkQueueFamilyProperties), Shape::Value, 0;
    }
    VkRect2D: vk::Rect2D = None, Chained::Once, [] {
        offset: Ty::Struct(&super::structs_i::VkOffset2D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
    }
    VkRenderPassAttachmentBeginInfo: vk::RenderPassAttachmentBeginInfo<'static> = Some(1000108003), Chained::Once, [] {
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Array(Len::U32(offset_of!(vk::RenderPassAttachmentBeginInfo<'static>, attachment_count))), 0;
    }
    VkRenderPassBeginInfo: vk::RenderPassBeginInfo<'static> = Some(43), Chained::Once, [
        &super::structs_d::VkDeviceGroupRenderPassBeginInfo,
        &super::structs_q::VkRenderPassAttachmentBeginInfo,
    ] {
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        framebuffer: Ty::Handle(vk::ObjectType::FRAMEBUFFER), Shape::Value, 0;
        render_area: Ty::Struct(&super::structs_q::VkRect2D), Shape::Value, 0;
        clear_value_count: Ty::U32, Shape::Value, LEN;
        p_clear_values: Ty::Union(&super::unions::VkClearValue), Shape::Array(Len::U32(offset_of!(vk::RenderPassBeginInfo<'static>, clear_value_count))), OPT;
    }
    VkRenderPassCreateInfo: vk::RenderPassCreateInfo<'static> = Some(38), Chained::Once, [
        &super::structs_q::VkRenderPassMultiviewCreateInfo,
        &super::structs_q::VkRenderPassInputAttachmentAspectCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Struct(&super::structs_a::VkAttachmentDescription), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo<'static>, attachment_count))), 0;
        subpass_count: Ty::U32, Shape::Value, LEN;
        p_subpasses: Ty::Struct(&super::structs_q::VkSubpassDescription), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo<'static>, subpass_count))), 0;
        dependency_count: Ty::U32, Shape::Value, LEN;
        p_dependencies: Ty::Struct(&super::structs_q::VkSubpassDependency), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo<'static>, dependency_count))), 0;
    }
    VkRenderPassCreateInfo2: vk::RenderPassCreateInfo2<'static> = Some(1000109004), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Struct(&super::structs_a::VkAttachmentDescription2), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo2<'static>, attachment_count))), 0;
        subpass_count: Ty::U32, Shape::Value, LEN;
        p_subpasses: Ty::Struct(&super::structs_q::VkSubpassDescription2), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo2<'static>, subpass_count))), 0;
        dependency_count: Ty::U32, Shape::Value, LEN;
        p_dependencies: Ty::Struct(&super::structs_q::VkSubpassDependency2), Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo2<'static>, dependency_count))), 0;
        correlated_view_mask_count: Ty::U32, Shape::Value, LEN;
        p_correlated_view_masks: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::RenderPassCreateInfo2<'static>, correlated_view_mask_count))), 0;
    }
    VkRenderPassInputAttachmentAspectCreateInfo: vk::RenderPassInputAttachmentAspectCreateInfo<'static> = Some(1000117001), Chained::Once, [] {
        aspect_reference_count: Ty::U32, Shape::Value, LEN;
        p_aspect_references: Ty::Struct(&super::structs_i::VkInputAttachmentAspectReference), Shape::Array(Len::U32(offset_of!(vk::RenderPassInputAttachmentAspectCreateInfo<'static>, aspect_reference_count))), 0;
    }
    VkRenderPassMultiviewCreateInfo: vk::RenderPassMultiviewCreateInfo<'static> = Some(1000053000), Chained::Once, [] {
        subpass_count: Ty::U32, Shape::Value, LEN;
        p_view_masks: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::RenderPassMultiviewCreateInfo<'static>, subpass_count))), 0;
        dependency_count: Ty::U32, Shape::Value, LEN;
        p_view_offsets: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::RenderPassMultiviewCreateInfo<'static>, dependency_count))), 0;
        correlation_mask_count: Ty::U32, Shape::Value, LEN;
        p_correlation_masks: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::RenderPassMultiviewCreateInfo<'static>, correlation_mask_count))), 0;
    }
    VkRenderingAreaInfo: vk::RenderingAreaInfoKHR<'static> = Some(1000470003), Chained::Once, [] {
        view_mask: Ty::U32, Shape::Value, 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachment_formats: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::RenderingAreaInfoKHR<'static>, color_attachment_count))), OPT;
        depth_attachment_format: Ty::U32, Shape::Value, 0;
        stencil_attachment_format: Ty::U32, Shape::Value, 0;
    }
    VkRenderingAttachmentInfo: vk::RenderingAttachmentInfo<'static> = Some(1000044001), Chained::Once, [] {
        image_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Value, 0;
        image_layout: Ty::U32, Shape::Value, 0;
        resolve_mode: Ty::U32, Shape::Value, 0;
        resolve_image_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Value, 0;
        resolve_image_layout: Ty::U32, Shape::Value, 0;
        load_op: Ty::U32, Shape::Value, 0;
        store_op: Ty::U32, Shape::Value, 0;
        clear_value: Ty::Union(&super::unions::VkClearValue), Shape::Value, 0;
    }
    VkRenderingFragmentShadingRateAttachmentInfoKHR: vk::RenderingFragmentShadingRateAttachmentInfoKHR<'static> = Some(1000044006), Chained::Once, [] {
        image_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Value, 0;
        image_layout: Ty::U32, Shape::Value, 0;
        shading_rate_attachment_texel_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
    }
    VkRenderingInfo: vk::RenderingInfo<'static> = Some(1000044000), Chained::Once, [
        &super::structs_q::VkRenderingFragmentShadingRateAttachmentInfoKHR,
        &super::structs_d::VkDeviceGroupRenderPassBeginInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        render_area: Ty::Struct(&super::structs_q::VkRect2D), Shape::Value, 0;
        layer_count: Ty::U32, Shape::Value, 0;
        view_mask: Ty::U32, Shape::Value, 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachments: Ty::Struct(&super::structs_q::VkRenderingAttachmentInfo), Shape::Array(Len::U32(offset_of!(vk::RenderingInfo<'static>, color_attachment_count))), 0;
        p_depth_attachment: Ty::Struct(&super::structs_q::VkRenderingAttachmentInfo), Shape::Ptr, OPT;
        p_stencil_attachment: Ty::Struct(&super::structs_q::VkRenderingAttachmentInfo), Shape::Ptr, OPT;
    }
    VkResolveImageInfo2: vk::ResolveImageInfo2<'static> = Some(1000337005), Chained::Once, [] {
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageResolve2), Shape::Array(Len::U32(offset_of!(vk::ResolveImageInfo2<'static>, region_count))), 0;
    }
    VkRingCreateInfoMESA: mesa::VkRingCreateInfoMESA = Some(1000384000), Chained::Once, [
        &super::structs_q::VkRingMonitorInfoMESA,
        &super::structs_q::VkRingPriorityInfoMESA,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        resource_id: Ty::U32, Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        idle_timeout: Ty::U64, Shape::Value, 0;
        head_offset: Ty::U64, Shape::Value, 0;
        tail_offset: Ty::U64, Shape::Value, 0;
        status_offset: Ty::U64, Shape::Value, 0;
        buffer_offset: Ty::U64, Shape::Value, 0;
        buffer_size: Ty::U64, Shape::Value, 0;
        extra_offset: Ty::U64, Shape::Value, 0;
        extra_size: Ty::U64, Shape::Value, 0;
    }
    VkRingMonitorInfoMESA: mesa::VkRingMonitorInfoMESA = Some(1000384006), Chained::Once, [] {
        max_reporting_period_microseconds: Ty::U32, Shape::Value, 0;
    }
    VkRingPriorityInfoMESA: mesa::VkRingPriorityInfoMESA = Some(1000384007), Chained::Once, [] {
        priority: Ty::U32, Shape::Value, 0;
    }
    VkSamplerBorderColorComponentMappingCreateInfoEXT: vk::SamplerBorderColorComponentMappingCreateInfoEXT<'static> = Some(1000411001), Chained::Once, [] {
        components: Ty::Struct(&super::structs_a::VkComponentMapping), Shape::Value, 0;
        srgb: Ty::U32, Shape::Value, 0;
    }
    VkSamplerCreateInfo: vk::SamplerCreateInfo<'static> = Some(31), Chained::Once, [
        &super::structs_q::VkSamplerReductionModeCreateInfo,
        &super::structs_q::VkSamplerYcbcrConversionInfo,
        &super::structs_q::VkSamplerCustomBorderColorCreateInfoEXT,
        &super::structs_q::VkSamplerBorderColorComponentMappingCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        mag_filter: Ty::U32, Shape::Value, 0;
        min_filter: Ty::U32, Shape::Value, 0;
        mipmap_mode: Ty::U32, Shape::Value, 0;
        address_mode_u: Ty::U32, Shape::Value, 0;
        address_mode_v: Ty::U32, Shape::Value, 0;
        address_mode_w: Ty::U32, Shape::Value, 0;
        mip_lod_bias: Ty::U32, Shape::Value, 0;
        anisotropy_enable: Ty::U32, Shape::Value, 0;
        max_anisotropy: Ty::U32, Shape::Value, 0;
        compare_enable: Ty::U32, Shape::Value, 0;
        compare_op: Ty::U32, Shape::Value, 0;
        min_lod: Ty::U32, Shape::Value, 0;
        max_lod: Ty::U32, Shape::Value, 0;
        border_color: Ty::U32, Shape::Value, 0;
        unnormalized_coordinates: Ty::U32, Shape::Value, 0;
    }
    VkSamplerCustomBorderColorCreateInfoEXT: vk::SamplerCustomBorderColorCreateInfoEXT<'static> = Some(1000287000), Chained::Once, [] {
        custom_border_color: Ty::Union(&super::unions::VkClearColorValue), Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
    }
    VkSamplerReductionModeCreateInfo: vk::SamplerReductionModeCreateInfo<'static> = Some(1000130001), Chained::Once, [] {
        reduction_mode: Ty::U32, Shape::Value, 0;
    }
    VkSamplerYcbcrConversionCreateInfo: vk::SamplerYcbcrConversionCreateInfo<'static> = Some(1000156000), Chained::Once, [] {
        format: Ty::U32, Shape::Value, 0;
        ycbcr_model: Ty::U32, Shape::Value, 0;
        ycbcr_range: Ty::U32, Shape::Value, 0;
        components: Ty::Struct(&super::structs_a::VkComponentMapping), Shape::Value, 0;
        x_chroma_offset: Ty::U32, Shape::Value, 0;
        y_chroma_offset: Ty::U32, Shape::Value, 0;
        chroma_filter: Ty::U32, Shape::Value, 0;
        force_explicit_reconstruction: Ty::U32, Shape::Value, 0;
    }
    VkSamplerYcbcrConversionImageFormatProperties: vk::SamplerYcbcrConversionImageFormatProperties<'static> = Some(1000156005), Chained::Once, [] {
        combined_image_sampler_descriptor_count: Ty::U32, Shape::Value, 0;
    }
    VkSamplerYcbcrConversionInfo: vk::SamplerYcbcrConversionInfo<'static> = Some(1000156001), Chained::Once, [] {
        conversion: Ty::Handle(vk::ObjectType::SAMPLER_YCBCR_CONVERSION), Shape::Value, 0;
    }
    VkSemaphoreCreateInfo: vk::SemaphoreCreateInfo<'static> = Some(9), Chained::Once, [
        &super::structs_d::VkExportSemaphoreCreateInfo,
        &super::structs_q::VkSemaphoreTypeCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
    }
    VkSemaphoreSignalInfo: vk::SemaphoreSignalInfo<'static> = Some(1000207005), Chained::Once, [] {
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
        value: Ty::U64, Shape::Value, 0;
    }
    VkSemaphoreSubmitInfo: vk::SemaphoreSubmitInfo<'static> = Some(1000314005), Chained::Once, [] {
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
        value: Ty::U64, Shape::Value, 0;
        stage_mask: Ty::U64, Shape::Value, 0;
        device_index: Ty::U32, Shape::Value, 0;
    }
    VkSemaphoreTypeCreateInfo: vk::SemaphoreTypeCreateInfo<'static> = Some(1000207002), Chained::Once, [] {
        semaphore_type: Ty::U32, Shape::Value, 0;
        initial_value: Ty::U64, Shape::Value, 0;
    }
    VkSemaphoreWaitInfo: vk::SemaphoreWaitInfo<'static> = Some(1000207004), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        semaphore_count: Ty::U32, Shape::Value, LEN;
        p_semaphores: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Array(Len::U32(offset_of!(vk::SemaphoreWaitInfo<'static>, semaphore_count))), 0;
        p_values: Ty::U64, Shape::Array(Len::U32(offset_of!(vk::SemaphoreWaitInfo<'static>, semaphore_count))), 0;
    }
    VkShaderModuleCreateInfo: vk::ShaderModuleCreateInfo<'static> = Some(16), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        code_size: Ty::U64, Shape::Value, LEN;
        p_code: Ty::U32, Shape::Array(Len::DivU64(offset_of!(vk::ShaderModuleCreateInfo<'static>, code_size), 4)), 0;
    }
    VkSparseBufferMemoryBindInfo: vk::SparseBufferMemoryBindInfo<'static> = None, Chained::Once, [] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        bind_count: Ty::U32, Shape::Value, LEN;
        p_binds: Ty::Struct(&super::structs_q::VkSparseMemoryBind), Shape::Array(Len::U32(offset_of!(vk::SparseBufferMemoryBindInfo<'static>, bind_count))), 0;
    }
    VkSparseImageFormatProperties: vk::SparseImageFormatProperties = None, Chained::Once, [] {
        aspect_mask: Ty::U32, Shape::Value, 0;
        image_granularity: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkSparseImageFormatProperties2: vk::SparseImageFormatProperties2<'static> = Some(1000059007), Chained::Once, [] {
        properties: Ty::Struct(&super::structs_q::VkSparseImageFormatProperties), Shape::Value, 0;
    }
    VkSparseImageMemoryBind: vk::SparseImageMemoryBind = None, Chained::Once, [] {
        subresource: Ty::Struct(&super::structs_i::VkImageSubresource), Shape::Value, 0;
        offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        memory_offset: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkSparseImageMemoryBindInfo: vk::SparseImageMemoryBindInfo<'static> = None, Chained::Once, [] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        bind_count: Ty::U32, Shape::Value, LEN;
        p_binds: Ty::Struct(&super::structs_q::VkSparseImageMemoryBind), Shape::Array(Len::U32(offset_of!(vk::SparseImageMemoryBindInfo<'static>, bind_count))), 0;
    }
    VkSparseImageMemoryRequirements: vk::SparseImageMemoryRequirements = None, Chained::Once, [] {
        format_properties: Ty::Struct(&super::structs_q::VkSparseImageFormatProperties), Shape::Value, 0;
        image_mip_tail_first_lod: Ty::U32, Shape::Value, 0;
        image_mip_tail_size: Ty::U64, Shape::Value, 0;
        image_mip_tail_offset: Ty::U64, Shape::Value, 0;
        image_mip_tail_stride: Ty::U64, Shape::Value, 0;
    }
    VkSparseImageMemoryRequirements2: vk::SparseImageMemoryRequirements2<'static> = Some(1000146004), Chained::Once, [] {
        memory_requirements: Ty::Struct(&super::structs_q::VkSparseImageMemoryRequirements), Shape::Value, 0;
    }
    VkSparseImageOpaqueMemoryBindInfo: vk::SparseImageOpaqueMemoryBindInfo<'static> = None, Chained::Once, [] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        bind_count: Ty::U32, Shape::Value, LEN;
        p_binds: Ty::Struct(&super::structs_q::VkSparseMemoryBind), Shape::Array(Len::U32(offset_of!(vk::SparseImageOpaqueMemoryBindInfo<'static>, bind_count))), 0;
    }
    VkSparseMemoryBind: vk::SparseMemoryBind = None, Chained::Once, [] {
        resource_offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        memory_offset: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkSpecializationInfo: vk::SpecializationInfo<'static> = None, Chained::Once, [] {
        map_entry_count: Ty::U32, Shape::Value, LEN;
        p_map_entries: Ty::Struct(&super::structs_q::VkSpecializationMapEntry), Shape::Array(Len::U32(offset_of!(vk::SpecializationInfo<'static>, map_entry_count))), 0;
        data_size: Ty::U64, Shape::Value, LEN;
        p_data: Ty::U8, Shape::Array(Len::U64(offset_of!(vk::SpecializationInfo<'static>, data_size))), 0;
    }
    VkSpecializationMapEntry: vk::SpecializationMapEntry = None, Chained::Once, [] {
        constant_id: Ty::U32, Shape::Value, 0;
        offset: Ty::U32, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
    }
    VkStencilOpState: vk::StencilOpState = None, Chained::Once, [] {
        fail_op: Ty::U32, Shape::Value, 0;
        pass_op: Ty::U32, Shape::Value, 0;
        depth_fail_op: Ty::U32, Shape::Value, 0;
        compare_op: Ty::U32, Shape::Value, 0;
        compare_mask: Ty::U32, Shape::Value, 0;
        write_mask: Ty::U32, Shape::Value, 0;
        reference: Ty::U32, Shape::Value, 0;
    }
    VkSubmitInfo: vk::SubmitInfo<'static> = Some(4), Chained::Once, [
        &super::structs_d::VkDeviceGroupSubmitInfo,
        &super::structs_p::VkProtectedSubmitInfo,
        &super::structs_q::VkTimelineSemaphoreSubmitInfo,
    ] {
        wait_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_wait_semaphores: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo<'static>, wait_semaphore_count))), 0;
        p_wait_dst_stage_mask: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::SubmitInfo<'static>, wait_semaphore_count))), 0;
        command_buffer_count: Ty::U32, Shape::Value, LEN;
        p_command_buffers: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo<'static>, command_buffer_count))), 0;
        signal_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_signal_semaphores: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo<'static>, signal_semaphore_count))), 0;
    }
    VkSubmitInfo2: vk::SubmitInfo2<'static> = Some(1000314004), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        wait_semaphore_info_count: Ty::U32, Shape::Value, LEN;
        p_wait_semaphore_infos: Ty::Struct(&super::structs_q::VkSemaphoreSubmitInfo), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo2<'static>, wait_semaphore_info_count))), 0;
        command_buffer_info_count: Ty::U32, Shape::Value, LEN;
        p_command_buffer_infos: Ty::Struct(&super::structs_a::VkCommandBufferSubmitInfo), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo2<'static>, command_buffer_info_count))), 0;
        signal_semaphore_info_count: Ty::U32, Shape::Value, LEN;
        p_signal_semaphore_infos: Ty::Struct(&super::structs_q::VkSemaphoreSubmitInfo), Shape::Array(Len::U32(offset_of!(vk::SubmitInfo2<'static>, signal_semaphore_info_count))), 0;
    }
    VkSubpassBeginInfo: vk::SubpassBeginInfo<'static> = Some(1000109005), Chained::Once, [] {
        contents: Ty::U32, Shape::Value, 0;
    }
    VkSubpassDependency: vk::SubpassDependency = None, Chained::Once, [] {
        src_subpass: Ty::U32, Shape::Value, 0;
        dst_subpass: Ty::U32, Shape::Value, 0;
        src_stage_mask: Ty::U32, Shape::Value, 0;
        dst_stage_mask: Ty::U32, Shape::Value, 0;
        src_access_mask: Ty::U32, Shape::Value, 0;
        dst_access_mask: Ty::U32, Shape::Value, 0;
        dependency_flags: Ty::U32, Shape::Value, 0;
    }
    VkSubpassDependency2: vk::SubpassDependency2<'static> = Some(1000109003), Chained::Once, [
        &super::structs_i::VkMemoryBarrier2,
    ] {
        src_subpass: Ty::U32, Shape::Value, 0;
        dst_subpass: Ty::U32, Shape::Value, 0;
        src_stage_mask: Ty::U32, Shape::Value, 0;
        dst_stage_mask: Ty::U32, Shape::Value, 0;
        src_access_mask: Ty::U32, Shape::Value, 0;
        dst_access_mask: Ty::U32, Shape::Value, 0;
        dependency_flags: Ty::U32, Shape::Value, 0;
        view_offset: Ty::U32, Shape::Value, 0;
    }
    VkSubpassDescription: vk::SubpassDescription<'static> = None, Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        pipeline_bind_point: Ty::U32, Shape::Value, 0;
        input_attachment_count: Ty::U32, Shape::Value, LEN;
        p_input_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription<'static>, input_attachment_count))), 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription<'static>, color_attachment_count))), 0;
        p_resolve_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription<'static>, color_attachment_count))), OPT;
        p_depth_stencil_attachment: Ty::Struct(&super::structs_a::VkAttachmentReference), Shape::Ptr, OPT;
        preserve_attachment_count: Ty::U32, Shape::Value, LEN;
        p_preserve_attachments: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::SubpassDescription<'static>, preserve_attachment_count))), 0;
    }
    VkSubpassDescription2: vk::SubpassDescription2<'static> = Some(1000109002), Chained::Once, [
        &super::structs_q::VkSubpassDescriptionDepthStencilResolve,
        &super::structs_d::VkFragmentShadingRateAttachmentInfoKHR,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        pipeline_bind_point: Ty::U32, Shape::Value, 0;
        view_mask: Ty::U32, Shape::Value, 0;
        input_attachment_count: Ty::U32, Shape::Value, LEN;
        p_input_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription2<'static>, input_attachment_count))), 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription2<'static>, color_attachment_count))), 0;
        p_resolve_attachments: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Array(Len::U32(offset_of!(vk::SubpassDescription2<'static>, color_attachment_count))), OPT;
        p_depth_stencil_attachment: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Ptr, OPT;
        preserve_attachment_count: Ty::U32, Shape::Value, LEN;
        p_preserve_attachments: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::SubpassDescription2<'static>, preserve_attachment_count))), 0;
    }
    VkSubpassDescriptionDepthStencilResolve: vk::SubpassDescriptionDepthStencilResolve<'static> = Some(1000199001), Chained::Once, [] {
        depth_resolve_mode: Ty::U32, Shape::Value, 0;
        stencil_resolve_mode: Ty::U32, Shape::Value, 0;
        p_depth_stencil_resolve_attachment: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Ptr, OPT;
    }
    VkSubpassEndInfo: vk::SubpassEndInfo<'static> = Some(1000109006), Chained::Once, [] {
    }
    VkSubresourceLayout: vk::SubresourceLayout = None, Chained::Once, [] {
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        row_pitch: Ty::U64, Shape::Value, 0;
        array_pitch: Ty::U64, Shape::Value, 0;
        depth_pitch: Ty::U64, Shape::Value, 0;
    }
    VkSubresourceLayout2: vk::SubresourceLayout2KHR<'static> = Some(1000338002), Chained::Once, [] {
        subresource_layout: Ty::Struct(&super::structs_q::VkSubresourceLayout), Shape::Value, 0;
    }
    VkTimelineSemaphoreSubmitInfo: vk::TimelineSemaphoreSubmitInfo<'static> = Some(1000207003), Chained::Once, [] {
        wait_semaphore_value_count: Ty::U32, Shape::Value, LEN;
        p_wait_semaphore_values: Ty::U64, Shape::Array(Len::U32(offset_of!(vk::TimelineSemaphoreSubmitInfo<'static>, wait_semaphore_value_count))), OPT;
        signal_semaphore_value_count: Ty::U32, Shape::Value, LEN;
        p_signal_semaphore_values: Ty::U64, Shape::Array(Len::U32(offset_of!(vk::TimelineSemaphoreSubmitInfo<'static>, signal_semaphore_value_count))), OPT;
    }
    VkVertexInputAttributeDescription: vk::VertexInputAttributeDescription = None, Chained::Once, [] {
        location: Ty::U32, Shape::Value, 0;
        binding: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        offset: Ty::U32, Shape::Value, 0;
    }
    VkVertexInputAttributeDescription2EXT: vk::VertexInputAttributeDescription2EXT<'static> = Some(1000352002), Chained::Once, [] {
        location: Ty::U32, Shape::Value, 0;
        binding: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        offset: Ty::U32, Shape::Value, 0;
    }
    VkVertexInputBindingDescription: vk::VertexInputBindingDescription = None, Chained::Once, [] {
        binding: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
        input_rate: Ty::U32, Shape::Value, 0;
    }
    VkVertexInputBindingDescription2EXT: vk::VertexInputBindingDescription2EXT<'static> = Some(1000352001), Chained::Once, [] {
        binding: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
        input_rate: Ty::U32, Shape::Value, 0;
        divisor: Ty::U32, Shape::Value, 0;
    }
    VkVertexInputBindingDivisorDescription: vk::VertexInputBindingDivisorDescriptionKHR = None, Chained::Once, [] {
        binding: Ty::U32, Shape::Value, 0;
        divisor: Ty::U32, Shape::Value, 0;
    }
    VkViewport: vk::Viewport = None, Chained::Once, [] {
        x: Ty::U32, Shape::Value, 0;
        y: Ty::U32, Shape::Value, 0;
        width: Ty::U32, Shape::Value, 0;
        height: Ty::U32, Shape::Value, 0;
        min_depth: Ty::U32, Shape::Value, 0;
        max_depth: Ty::U32, Shape::Value, 0;
    }
    VkWriteDescriptorSet: vk::WriteDescriptorSet<'static> = Some(35), Chained::Once, [
        &super::structs_q::VkWriteDescriptorSetInlineUniformBlock,
    ] {
        dst_set: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Value, 0;
        dst_binding: Ty::U32, Shape::Value, 0;
        dst_array_element: Ty::U32, Shape::Value, 0;
        descriptor_count: Ty::U32, Shape::Value, LEN;
        descriptor_type: Ty::U32, Shape::Value, 0;
        p_image_info: Ty::Struct(&super::structs_d::VkDescriptorImageInfo), Shape::Array(Len::U32(offset_of!(vk::WriteDescriptorSet<'static>, descriptor_count))), OPT;
        p_buffer_info: Ty::Struct(&super::structs_d::VkDescriptorBufferInfo), Shape::Array(Len::U32(offset_of!(vk::WriteDescriptorSet<'static>, descriptor_count))), OPT;
        p_texel_buffer_view: Ty::Handle(vk::ObjectType::BUFFER_VIEW), Shape::Array(Len::U32(offset_of!(vk::WriteDescriptorSet<'static>, descriptor_count))), OPT;
    }
    VkWriteDescriptorSetInlineUniformBlock: vk::WriteDescriptorSetInlineUniformBlock<'static> = Some(1000138002), Chained::Once, [] {
        data_size: Ty::U32, Shape::Value, LEN;
        p_data: Ty::U8, Shape::Array(Len::U32(offset_of!(vk::WriteDescriptorSetInlineUniformBlock<'static>, data_size))), 0;
    }
}
