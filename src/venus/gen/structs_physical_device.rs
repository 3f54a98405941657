//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkPhysicalDevice16BitStorageFeatures: vk::PhysicalDevice16BitStorageFeatures<'static> = Some(1000083000), Chained::Once, [] {
        storage_buffer16_bit_access: Ty::U32, Shape::Value, 0;
        uniform_and_storage_buffer16_bit_access: Ty::U32, Shape::Value, 0;
        storage_push_constant16: Ty::U32, Shape::Value, 0;
        storage_input_output16: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevice4444FormatsFeaturesEXT: vk::PhysicalDevice4444FormatsFeaturesEXT<'static> = Some(1000340000), Chained::Once, [] {
        format_a4r4g4b4: Ty::U32, Shape::Value, 0;
        format_a4b4g4r4: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevice8BitStorageFeatures: vk::PhysicalDevice8BitStorageFeatures<'static> = Some(1000177000), Chained::Once, [] {
        storage_buffer8_bit_access: Ty::U32, Shape::Value, 0;
        uniform_and_storage_buffer8_bit_access: Ty::U32, Shape::Value, 0;
        storage_push_constant8: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT: vk::PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT<'static> = Some(1000339000), Chained::Once, [] {
        attachment_feedback_loop_layout: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceBorderColorSwizzleFeaturesEXT: vk::PhysicalDeviceBorderColorSwizzleFeaturesEXT<'static> = Some(1000411000), Chained::Once, [] {
        border_color_swizzle: Ty::U32, Shape::Value, 0;
        border_color_swizzle_from_image: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceBufferDeviceAddressFeatures: vk::PhysicalDeviceBufferDeviceAddressFeatures<'static> = Some(1000257000), Chained::Once, [] {
        buffer_device_address: Ty::U32, Shape::Value, 0;
        buffer_device_address_capture_replay: Ty::U32, Shape::Value, 0;
        buffer_device_address_multi_device: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceColorWriteEnableFeaturesEXT: vk::PhysicalDeviceColorWriteEnableFeaturesEXT<'static> = Some(1000381000), Chained::Once, [] {
        color_write_enable: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceConditionalRenderingFeaturesEXT: vk::PhysicalDeviceConditionalRenderingFeaturesEXT<'static> = Some(1000081001), Chained::Once, [] {
        conditional_rendering: Ty::U32, Shape::Value, 0;
        inherited_conditional_rendering: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceConservativeRasterizationPropertiesEXT: vk::PhysicalDeviceConservativeRasterizationPropertiesEXT<'static> = Some(1000101000), Chained::Once, [] {
        primitive_overestimation_size: Ty::U32, Shape::Value, 0;
        max_extra_primitive_overestimation_size: Ty::U32, Shape::Value, 0;
        extra_primitive_overestimation_size_granularity: Ty::U32, Shape::Value, 0;
        primitive_underestimation: Ty::U32, Shape::Value, 0;
        conservative_point_and_line_rasterization: Ty::U32, Shape::Value, 0;
        degenerate_triangles_rasterized: Ty::U32, Shape::Value, 0;
        degenerate_lines_rasterized: Ty::U32, Shape::Value, 0;
        fully_covered_fragment_shader_input_variable: Ty::U32, Shape::Value, 0;
        conservative_rasterization_post_depth_coverage: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceCustomBorderColorFeaturesEXT: vk::PhysicalDeviceCustomBorderColorFeaturesEXT<'static> = Some(1000287002), Chained::Once, [] {
        custom_border_colors: Ty::U32, Shape::Value, 0;
        custom_border_color_without_format: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceCustomBorderColorPropertiesEXT: vk::PhysicalDeviceCustomBorderColorPropertiesEXT<'static> = Some(1000287001), Chained::Once, [] {
        max_custom_border_color_samplers: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDepthClipControlFeaturesEXT: vk::PhysicalDeviceDepthClipControlFeaturesEXT<'static> = Some(1000355000), Chained::Once, [] {
        depth_clip_control: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDepthClipEnableFeaturesEXT: vk::PhysicalDeviceDepthClipEnableFeaturesEXT<'static> = Some(1000102000), Chained::Once, [] {
        depth_clip_enable: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDepthStencilResolveProperties: vk::PhysicalDeviceDepthStencilResolveProperties<'static> = Some(1000199000), Chained::Once, [] {
        supported_depth_resolve_modes: Ty::U32, Shape::Value, 0;
        supported_stencil_resolve_modes: Ty::U32, Shape::Value, 0;
        independent_resolve_none: Ty::U32, Shape::Value, 0;
        independent_resolve: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDescriptorIndexingFeatures: vk::PhysicalDeviceDescriptorIndexingFeatures<'static> = Some(1000161001), Chained::Once, [] {
        shader_input_attachment_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_texel_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_texel_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_sampled_image_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_image_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_input_attachment_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_texel_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_texel_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        descriptor_binding_uniform_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_sampled_image_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_image_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_uniform_texel_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_texel_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_update_unused_while_pending: Ty::U32, Shape::Value, 0;
        descriptor_binding_partially_bound: Ty::U32, Shape::Value, 0;
        descriptor_binding_variable_descriptor_count: Ty::U32, Shape::Value, 0;
        runtime_descriptor_array: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDescriptorIndexingProperties: vk::PhysicalDeviceDescriptorIndexingProperties<'static> = Some(1000161002), Chained::Once, [] {
        max_update_after_bind_descriptors_in_all_pools: Ty::U32, Shape::Value, 0;
        shader_uniform_buffer_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_sampled_image_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_storage_buffer_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_storage_image_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_input_attachment_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        robust_buffer_access_update_after_bind: Ty::U32, Shape::Value, 0;
        quad_divergent_implicit_lod: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_samplers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_storage_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_sampled_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_storage_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_input_attachments: Ty::U32, Shape::Value, 0;
        max_per_stage_update_after_bind_resources: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_samplers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_uniform_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_sampled_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_input_attachments: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDriverProperties: vk::PhysicalDeviceDriverProperties<'static> = Some(1000196000), Chained::Once, [] {
        driver_id: Ty::U32, Shape::Value, 0;
        driver_name: Ty::U8, Shape::Static(256), 0;
        driver_info: Ty::U8, Shape::Static(256), 0;
        conformance_version: Ty::Struct(&super::structs_a::VkConformanceVersion), Shape::Value, 0;
    }
    VkPhysicalDeviceDynamicRenderingFeatures: vk::PhysicalDeviceDynamicRenderingFeatures<'static> = Some(1000044003), Chained::Once, [] {
        dynamic_rendering: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT: vk::PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT<'static> = Some(1000499000), Chained::Once, [] {
        dynamic_rendering_unused_attachments: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExtendedDynamicState2FeaturesEXT: vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT<'static> = Some(1000377000), Chained::Once, [] {
        extended_dynamic_state2: Ty::U32, Shape::Value, 0;
        extended_dynamic_state2_logic_op: Ty::U32, Shape::Value, 0;
        extended_dynamic_state2_patch_control_points: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExtendedDynamicState3FeaturesEXT: vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT<'static> = Some(1000455000), Chained::Once, [] {
        extended_dynamic_state3_tessellation_domain_origin: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_depth_clamp_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_polygon_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_rasterization_samples: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_sample_mask: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_alpha_to_coverage_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_alpha_to_one_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_logic_op_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_color_blend_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_color_blend_equation: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_color_write_mask: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_rasterization_stream: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_conservative_rasterization_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_extra_primitive_overestimation_size: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_depth_clip_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_sample_locations_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_color_blend_advanced: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_provoking_vertex_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_line_rasterization_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_line_stipple_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_depth_clip_negative_one_to_one: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_viewport_w_scaling_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_viewport_swizzle: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_to_color_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_to_color_location: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_modulation_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_modulation_table_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_modulation_table: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_coverage_reduction_mode: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_representative_fragment_test_enable: Ty::U32, Shape::Value, 0;
        extended_dynamic_state3_shading_rate_image_enable: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExtendedDynamicState3PropertiesEXT: vk::PhysicalDeviceExtendedDynamicState3PropertiesEXT<'static> = Some(1000455001), Chained::Once, [] {
        dynamic_primitive_topology_unrestricted: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExtendedDynamicStateFeaturesEXT: vk::PhysicalDeviceExtendedDynamicStateFeaturesEXT<'static> = Some(1000267000), Chained::Once, [] {
        extended_dynamic_state: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExternalBufferInfo: vk::PhysicalDeviceExternalBufferInfo<'static> = Some(1000071002), Chained::Once, [
        &super::structs_a::VkBufferUsageFlags2CreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        handle_type: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExternalFenceInfo: vk::PhysicalDeviceExternalFenceInfo<'static> = Some(1000112000), Chained::Once, [] {
        handle_type: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExternalImageFormatInfo: vk::PhysicalDeviceExternalImageFormatInfo<'static> = Some(1000071000), Chained::Once, [] {
        handle_type: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceExternalSemaphoreInfo: vk::PhysicalDeviceExternalSemaphoreInfo<'static> = Some(1000076000), Chained::Once, [
        &super::structs_q::VkSemaphoreTypeCreateInfo,
    ] {
        handle_type: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceFeatures: vk::PhysicalDeviceFeatures = None, Chained::Once, [] {
        robust_buffer_access: Ty::U32, Shape::Value, 0;
        full_draw_index_uint32: Ty::U32, Shape::Value, 0;
        image_cube_array: Ty::U32, Shape::Value, 0;
        independent_blend: Ty::U32, Shape::Value, 0;
        geometry_shader: Ty::U32, Shape::Value, 0;
        tessellation_shader: Ty::U32, Shape::Value, 0;
        sample_rate_shading: Ty::U32, Shape::Value, 0;
        dual_src_blend: Ty::U32, Shape::Value, 0;
        logic_op: Ty::U32, Shape::Value, 0;
        multi_draw_indirect: Ty::U32, Shape::Value, 0;
        draw_indirect_first_instance: Ty::U32, Shape::Value, 0;
        depth_clamp: Ty::U32, Shape::Value, 0;
        depth_bias_clamp: Ty::U32, Shape::Value, 0;
        fill_mode_non_solid: Ty::U32, Shape::Value, 0;
        depth_bounds: Ty::U32, Shape::Value, 0;
        wide_lines: Ty::U32, Shape::Value, 0;
        large_points: Ty::U32, Shape::Value, 0;
        alpha_to_one: Ty::U32, Shape::Value, 0;
        multi_viewport: Ty::U32, Shape::Value, 0;
        sampler_anisotropy: Ty::U32, Shape::Value, 0;
        texture_compression_etc2: Ty::U32, Shape::Value, 0;
        texture_compression_astc_ldr: Ty::U32, Shape::Value, 0;
        texture_compression_bc: Ty::U32, Shape::Value, 0;
        occlusion_query_precise: Ty::U32, Shape::Value, 0;
        pipeline_statistics_query: Ty::U32, Shape::Value, 0;
        vertex_pipeline_stores_and_atomics: Ty::U32, Shape::Value, 0;
        fragment_stores_and_atomics: Ty::U32, Shape::Value, 0;
        shader_tessellation_and_geometry_point_size: Ty::U32, Shape::Value, 0;
        shader_image_gather_extended: Ty::U32, Shape::Value, 0;
        shader_storage_image_extended_formats: Ty::U32, Shape::Value, 0;
        shader_storage_image_multisample: Ty::U32, Shape::Value, 0;
        shader_storage_image_read_without_format: Ty::U32, Shape::Value, 0;
        shader_storage_image_write_without_format: Ty::U32, Shape::Value, 0;
        shader_uniform_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_sampled_image_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_image_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_clip_distance: Ty::U32, Shape::Value, 0;
        shader_cull_distance: Ty::U32, Shape::Value, 0;
        shader_float64: Ty::U32, Shape::Value, 0;
        shader_int64: Ty::U32, Shape::Value, 0;
        shader_int16: Ty::U32, Shape::Value, 0;
        shader_resource_residency: Ty::U32, Shape::Value, 0;
        shader_resource_min_lod: Ty::U32, Shape::Value, 0;
        sparse_binding: Ty::U32, Shape::Value, 0;
        sparse_residency_buffer: Ty::U32, Shape::Value, 0;
        sparse_residency_image2_d: Ty::U32, Shape::Value, 0;
        sparse_residency_image3_d: Ty::U32, Shape::Value, 0;
        sparse_residency2_samples: Ty::U32, Shape::Value, 0;
        sparse_residency4_samples: Ty::U32, Shape::Value, 0;
        sparse_residency8_samples: Ty::U32, Shape::Value, 0;
        sparse_residency16_samples: Ty::U32, Shape::Value, 0;
        sparse_residency_aliased: Ty::U32, Shape::Value, 0;
        variable_multisample_rate: Ty::U32, Shape::Value, 0;
        inherited_queries: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceFeatures2: vk::PhysicalDeviceFeatures2<'static> = Some(1000059000), Chained::Once, [
        &super::structs_physical_device::VkPhysicalDeviceVulkan11Features,
        &super::structs_physical_device::VkPhysicalDeviceVulkan12Features,
        &super::structs_physical_device::VkPhysicalDeviceVulkan13Features,
        &super::structs_physical_device::VkPhysicalDeviceTransformFeedbackFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceDynamicRenderingFeatures,
        &super::structs_physical_device::VkPhysicalDeviceMultiviewFeatures,
        &super::structs_physical_device::VkPhysicalDeviceShaderDrawParametersFeatures,
        &super::structs_physical_device::VkPhysicalDeviceTextureCompressionASTCHDRFeatures,
        &super::structs_physical_device::VkPhysicalDeviceConditionalRenderingFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceShaderFloat16Int8Features,
        &super::structs_physical_device::VkPhysicalDevice16BitStorageFeatures,
        &super::structs_physical_device::VkPhysicalDeviceDepthClipEnableFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceImagelessFramebufferFeatures,
        &super::structs_physical_device::VkPhysicalDeviceVariablePointersFeatures,
        &super::structs_physical_device::VkPhysicalDeviceInlineUniformBlockFeatures,
        &super::structs_physical_device::VkPhysicalDeviceProtectedMemoryFeatures,
        &super::structs_physical_device::VkPhysicalDeviceSamplerYcbcrConversionFeatures,
        &super::structs_physical_device::VkPhysicalDeviceDescriptorIndexingFeatures,
        &super::structs_physical_device::VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures,
        &super::structs_physical_device::VkPhysicalDevice8BitStorageFeatures,
        &super::structs_physical_device::VkPhysicalDeviceShaderAtomicInt64Features,
        &super::structs_physical_device::VkPhysicalDeviceShaderClockFeaturesKHR,
        &super::structs_physical_device::VkPhysicalDeviceVertexAttributeDivisorFeatures,
        &super::structs_physical_device::VkPhysicalDeviceTimelineSemaphoreFeatures,
        &super::structs_physical_device::VkPhysicalDeviceVulkanMemoryModelFeatures,
        &super::structs_physical_device::VkPhysicalDeviceShaderTerminateInvocationFeatures,
        &super::structs_physical_device::VkPhysicalDeviceScalarBlockLayoutFeatures,
        &super::structs_physical_device::VkPhysicalDeviceSubgroupSizeControlFeatures,
        &super::structs_physical_device::VkPhysicalDeviceFragmentShadingRateFeaturesKHR,
        &super::structs_physical_device::VkPhysicalDeviceSeparateDepthStencilLayoutsFeatures,
        &super::structs_physical_device::VkPhysicalDeviceFragmentShaderInterlockFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceUniformBufferStandardLayoutFeatures,
        &super::structs_physical_device::VkPhysicalDeviceProvokingVertexFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceBufferDeviceAddressFeatures,
        &super::structs_physical_device::VkPhysicalDeviceLineRasterizationFeatures,
        &super::structs_physical_device::VkPhysicalDeviceHostQueryResetFeatures,
        &super::structs_physical_device::VkPhysicalDeviceIndexTypeUint8Features,
        &super::structs_physical_device::VkPhysicalDeviceExtendedDynamicStateFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceShaderDemoteToHelperInvocationFeatures,
        &super::structs_physical_device::VkPhysicalDeviceShaderIntegerDotProductFeatures,
        &super::structs_physical_device::VkPhysicalDeviceTexelBufferAlignmentFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceRobustness2FeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceCustomBorderColorFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDevicePrivateDataFeatures,
        &super::structs_physical_device::VkPhysicalDevicePipelineCreationCacheControlFeatures,
        &super::structs_physical_device::VkPhysicalDeviceSynchronization2Features,
        &super::structs_physical_device::VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceZeroInitializeWorkgroupMemoryFeatures,
        &super::structs_physical_device::VkPhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceImageRobustnessFeatures,
        &super::structs_physical_device::VkPhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDevice4444FormatsFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceDepthClipControlFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceExtendedDynamicState2FeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceColorWriteEnableFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceImageViewMinLodFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMultiDrawFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceImage2DViewOf3DFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceBorderColorSwizzleFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMaintenance4Features,
        &super::structs_physical_device::VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceExtendedDynamicState3FeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMaintenance5Features,
        &super::structs_physical_device::VkPhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceImageAlignmentControlFeaturesMESA,
    ] {
        features: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceFeatures), Shape::Value, 0;
    }
    VkPhysicalDeviceFloatControlsProperties: vk::PhysicalDeviceFloatControlsProperties<'static> = Some(1000197000), Chained::Once, [] {
        denorm_behavior_independence: Ty::U32, Shape::Value, 0;
        rounding_mode_independence: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float16: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float32: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float64: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float16: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float32: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float64: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float16: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float32: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float64: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float16: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float32: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float64: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float16: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float32: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float64: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceFragmentShaderInterlockFeaturesEXT: vk::PhysicalDeviceFragmentShaderInterlockFeaturesEXT<'static> = Some(1000251000), Chained::Once, [] {
        fragment_shader_sample_interlock: Ty::U32, Shape::Value, 0;
        fragment_shader_pixel_interlock: Ty::U32, Shape::Value, 0;
        fragment_shader_shading_rate_interlock: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceFragmentShadingRateFeaturesKHR: vk::PhysicalDeviceFragmentShadingRateFeaturesKHR<'static> = Some(1000226003), Chained::Once, [] {
        pipeline_fragment_shading_rate: Ty::U32, Shape::Value, 0;
        primitive_fragment_shading_rate: Ty::U32, Shape::Value, 0;
        attachment_fragment_shading_rate: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceFragmentShadingRateKHR: vk::PhysicalDeviceFragmentShadingRateKHR<'static> = Some(1000226004), Chained::Once, [] {
        sample_counts: Ty::U32, Shape::Value, 0;
        fragment_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
    }
    VkPhysicalDeviceFragmentShadingRatePropertiesKHR: vk::PhysicalDeviceFragmentShadingRatePropertiesKHR<'static> = Some(1000226002), Chained::Once, [] {
        min_fragment_shading_rate_attachment_texel_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
        max_fragment_shading_rate_attachment_texel_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
        max_fragment_shading_rate_attachment_texel_size_aspect_ratio: Ty::U32, Shape::Value, 0;
        primitive_fragment_shading_rate_with_multiple_viewports: Ty::U32, Shape::Value, 0;
        layered_shading_rate_attachments: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_non_trivial_combiner_ops: Ty::U32, Shape::Value, 0;
        max_fragment_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
        max_fragment_size_aspect_ratio: Ty::U32, Shape::Value, 0;
        max_fragment_shading_rate_coverage_samples: Ty::U32, Shape::Value, 0;
        max_fragment_shading_rate_rasterization_samples: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_shader_depth_stencil_writes: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_sample_mask: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_shader_sample_mask: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_conservative_rasterization: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_fragment_shader_interlock: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_with_custom_sample_locations: Ty::U32, Shape::Value, 0;
        fragment_shading_rate_strict_multiply_combiner: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT: vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT<'static> = Some(1000320000), Chained::Once, [] {
        graphics_pipeline_library: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceGraphicsPipelineLibraryPropertiesEXT: vk::PhysicalDeviceGraphicsPipelineLibraryPropertiesEXT<'static> = Some(1000320001), Chained::Once, [] {
        graphics_pipeline_library_fast_linking: Ty::U32, Shape::Value, 0;
        graphics_pipeline_library_independent_interpolation_decoration: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceGroupProperties: vk::PhysicalDeviceGroupProperties<'static> = Some(1000070000), Chained::Once, [] {
        physical_device_count: Ty::U32, Shape::Value, 0;
        physical_devices: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Static(32), 0;
        subset_allocation: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceHostQueryResetFeatures: vk::PhysicalDeviceHostQueryResetFeatures<'static> = Some(1000261000), Chained::Once, [] {
        host_query_reset: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceIDProperties: vk::PhysicalDeviceIDProperties<'static> = Some(1000071004), Chained::Once, [] {
        device_uuid: Ty::U8, Shape::Static(16), 0;
        driver_uuid: Ty::U8, Shape::Static(16), 0;
        device_luid: Ty::U8, Shape::Static(8), 0;
        device_node_mask: Ty::U32, Shape::Value, 0;
        device_luid_valid: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImage2DViewOf3DFeaturesEXT: vk::PhysicalDeviceImage2DViewOf3DFeaturesEXT<'static> = Some(1000393000), Chained::Once, [] {
        image2_d_view_of3_d: Ty::U32, Shape::Value, 0;
        sampler2_d_view_of3_d: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImageAlignmentControlFeaturesMESA: mesa::VkPhysicalDeviceImageAlignmentControlFeaturesMESA = Some(1000575000), Chained::Once, [] {
        image_alignment_control: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImageAlignmentControlPropertiesMESA: mesa::VkPhysicalDeviceImageAlignmentControlPropertiesMESA = Some(1000575001), Chained::Once, [] {
        supported_image_alignment_mask: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImageDrmFormatModifierInfoEXT: vk::PhysicalDeviceImageDrmFormatModifierInfoEXT<'static> = Some(1000158002), Chained::Once, [] {
        drm_format_modifier: Ty::U64, Shape::Value, 0;
        sharing_mode: Ty::U32, Shape::Value, 0;
        queue_family_index_count: Ty::U32, Shape::Value, LEN;
        p_queue_family_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::PhysicalDeviceImageDrmFormatModifierInfoEXT<'static>, queue_family_index_count))), OPT;
    }
    VkPhysicalDeviceImageFormatInfo2: vk::PhysicalDeviceImageFormatInfo2<'static> = Some(1000059004), Chained::Once, [
        &super::structs_physical_device::VkPhysicalDeviceExternalImageFormatInfo,
        &super::structs_i::VkImageFormatListCreateInfo,
        &super::structs_physical_device::VkPhysicalDeviceImageDrmFormatModifierInfoEXT,
        &super::structs_i::VkImageStencilUsageCreateInfo,
    ] {
        format: Ty::U32, Shape::Value, 0;
        ty: Ty::U32, Shape::Value, 0;
        tiling: Ty::U32, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImageRobustnessFeatures: vk::PhysicalDeviceImageRobustnessFeatures<'static> = Some(1000335000), Chained::Once, [] {
        robust_image_access: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImageViewMinLodFeaturesEXT: vk::PhysicalDeviceImageViewMinLodFeaturesEXT<'static> = Some(1000391000), Chained::Once, [] {
        min_lod: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceImagelessFramebufferFeatures: vk::PhysicalDeviceImagelessFramebufferFeatures<'static> = Some(1000108000), Chained::Once, [] {
        imageless_framebuffer: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceIndexTypeUint8Features: vk::PhysicalDeviceIndexTypeUint8FeaturesKHR<'static> = Some(1000265000), Chained::Once, [] {
        index_type_uint8: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceInlineUniformBlockFeatures: vk::PhysicalDeviceInlineUniformBlockFeatures<'static> = Some(1000138000), Chained::Once, [] {
        inline_uniform_block: Ty::U32, Shape::Value, 0;
        descriptor_binding_inline_uniform_block_update_after_bind: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceInlineUniformBlockProperties: vk::PhysicalDeviceInlineUniformBlockProperties<'static> = Some(1000138001), Chained::Once, [] {
        max_inline_uniform_block_size: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_descriptor_set_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceLimits: vk::PhysicalDeviceLimits = None, Chained::Once, [] {
        max_image_dimension1_d: Ty::U32, Shape::Value, 0;
        max_image_dimension2_d: Ty::U32, Shape::Value, 0;
        max_image_dimension3_d: Ty::U32, Shape::Value, 0;
        max_image_dimension_cube: Ty::U32, Shape::Value, 0;
        max_image_array_layers: Ty::U32, Shape::Value, 0;
        max_texel_buffer_elements: Ty::U32, Shape::Value, 0;
        max_uniform_buffer_range: Ty::U32, Shape::Value, 0;
        max_storage_buffer_range: Ty::U32, Shape::Value, 0;
        max_push_constants_size: Ty::U32, Shape::Value, 0;
        max_memory_allocation_count: Ty::U32, Shape::Value, 0;
        max_sampler_allocation_count: Ty::U32, Shape::Value, 0;
        buffer_image_granularity: Ty::U64, Shape::Value, 0;
        sparse_address_space_size: Ty::U64, Shape::Value, 0;
        max_bound_descriptor_sets: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_samplers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_storage_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_sampled_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_storage_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_input_attachments: Ty::U32, Shape::Value, 0;
        max_per_stage_resources: Ty::U32, Shape::Value, 0;
        max_descriptor_set_samplers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_uniform_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_storage_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_storage_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_sampled_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_storage_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_input_attachments: Ty::U32, Shape::Value, 0;
        max_vertex_input_attributes: Ty::U32, Shape::Value, 0;
        max_vertex_input_bindings: Ty::U32, Shape::Value, 0;
        max_vertex_input_attribute_offset: Ty::U32, Shape::Value, 0;
        max_vertex_input_binding_stride: Ty::U32, Shape::Value, 0;
        max_vertex_output_components: Ty::U32, Shape::Value, 0;
        max_tessellation_generation_level: Ty::U32, Shape::Value, 0;
        max_tessellation_patch_size: Ty::U32, Shape::Value, 0;
        max_tessellation_control_per_vertex_input_components: Ty::U32, Shape::Value, 0;
        max_tessellation_control_per_vertex_output_components: Ty::U32, Shape::Value, 0;
        max_tessellation_control_per_patch_output_components: Ty::U32, Shape::Value, 0;
        max_tessellation_control_total_output_components: Ty::U32, Shape::Value, 0;
        max_tessellation_evaluation_input_components: Ty::U32, Shape::Value, 0;
        max_tessellation_evaluation_output_components: Ty::U32, Shape::Value, 0;
        max_geometry_shader_invocations: Ty::U32, Shape::Value, 0;
        max_geometry_input_components: Ty::U32, Shape::Value, 0;
        max_geometry_output_components: Ty::U32, Shape::Value, 0;
        max_geometry_output_vertices: Ty::U32, Shape::Value, 0;
        max_geometry_total_output_components: Ty::U32, Shape::Value, 0;
        max_fragment_input_components: Ty::U32, Shape::Value, 0;
        max_fragment_output_attachments: Ty::U32, Shape::Value, 0;
        max_fragment_dual_src_attachments: Ty::U32, Shape::Value, 0;
        max_fragment_combined_output_resources: Ty::U32, Shape::Value, 0;
        max_compute_shared_memory_size: Ty::U32, Shape::Value, 0;
        max_compute_work_group_count: Ty::U32, Shape::Static(3), 0;
        max_compute_work_group_invocations: Ty::U32, Shape::Value, 0;
        max_compute_work_group_size: Ty::U32, Shape::Static(3), 0;
        sub_pixel_precision_bits: Ty::U32, Shape::Value, 0;
        sub_texel_precision_bits: Ty::U32, Shape::Value, 0;
        mipmap_precision_bits: Ty::U32, Shape::Value, 0;
        max_draw_indexed_index_value: Ty::U32, Shape::Value, 0;
        max_draw_indirect_count: Ty::U32, Shape::Value, 0;
        max_sampler_lod_bias: Ty::U32, Shape::Value, 0;
        max_sampler_anisotropy: Ty::U32, Shape::Value, 0;
        max_viewports: Ty::U32, Shape::Value, 0;
        max_viewport_dimensions: Ty::U32, Shape::Static(2), 0;
        viewport_bounds_range: Ty::U32, Shape::Static(2), 0;
        viewport_sub_pixel_bits: Ty::U32, Shape::Value, 0;
        min_memory_map_alignment: Ty::U64, Shape::Value, 0;
        min_texel_buffer_offset_alignment: Ty::U64, Shape::Value, 0;
        min_uniform_buffer_offset_alignment: Ty::U64, Shape::Value, 0;
        min_storage_buffer_offset_alignment: Ty::U64, Shape::Value, 0;
        min_texel_offset: Ty::U32, Shape::Value, 0;
        max_texel_offset: Ty::U32, Shape::Value, 0;
        min_texel_gather_offset: Ty::U32, Shape::Value, 0;
        max_texel_gather_offset: Ty::U32, Shape::Value, 0;
        min_interpolation_offset: Ty::U32, Shape::Value, 0;
        max_interpolation_offset: Ty::U32, Shape::Value, 0;
        sub_pixel_interpolation_offset_bits: Ty::U32, Shape::Value, 0;
        max_framebuffer_width: Ty::U32, Shape::Value, 0;
        max_framebuffer_height: Ty::U32, Shape::Value, 0;
        max_framebuffer_layers: Ty::U32, Shape::Value, 0;
        framebuffer_color_sample_counts: Ty::U32, Shape::Value, 0;
        framebuffer_depth_sample_counts: Ty::U32, Shape::Value, 0;
        framebuffer_stencil_sample_counts: Ty::U32, Shape::Value, 0;
        framebuffer_no_attachments_sample_counts: Ty::U32, Shape::Value, 0;
        max_color_attachments: Ty::U32, Shape::Value, 0;
        sampled_image_color_sample_counts: Ty::U32, Shape::Value, 0;
        sampled_image_integer_sample_counts: Ty::U32, Shape::Value, 0;
        sampled_image_depth_sample_counts: Ty::U32, Shape::Value, 0;
        sampled_image_stencil_sample_counts: Ty::U32, Shape::Value, 0;
        storage_image_sample_counts: Ty::U32, Shape::Value, 0;
        max_sample_mask_words: Ty::U32, Shape::Value, 0;
        timestamp_compute_and_graphics: Ty::U32, Shape::Value, 0;
        timestamp_period: Ty::U32, Shape::Value, 0;
        max_clip_distances: Ty::U32, Shape::Value, 0;
        max_cull_distances: Ty::U32, Shape::Value, 0;
        max_combined_clip_and_cull_distances: Ty::U32, Shape::Value, 0;
        discrete_queue_priorities: Ty::U32, Shape::Value, 0;
        point_size_range: Ty::U32, Shape::Static(2), 0;
        line_width_range: Ty::U32, Shape::Static(2), 0;
        point_size_granularity: Ty::U32, Shape::Value, 0;
        line_width_granularity: Ty::U32, Shape::Value, 0;
        strict_lines: Ty::U32, Shape::Value, 0;
        standard_sample_locations: Ty::U32, Shape::Value, 0;
        optimal_buffer_copy_offset_alignment: Ty::U64, Shape::Value, 0;
        optimal_buffer_copy_row_pitch_alignment: Ty::U64, Shape::Value, 0;
        non_coherent_atom_size: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceLineRasterizationFeatures: vk::PhysicalDeviceLineRasterizationFeaturesKHR<'static> = Some(1000259000), Chained::Once, [] {
        rectangular_lines: Ty::U32, Shape::Value, 0;
        bresenham_lines: Ty::U32, Shape::Value, 0;
        smooth_lines: Ty::U32, Shape::Value, 0;
        stippled_rectangular_lines: Ty::U32, Shape::Value, 0;
        stippled_bresenham_lines: Ty::U32, Shape::Value, 0;
        stippled_smooth_lines: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceLineRasterizationProperties: vk::PhysicalDeviceLineRasterizationPropertiesKHR<'static> = Some(1000259002), Chained::Once, [] {
        line_sub_pixel_precision_bits: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMaintenance3Properties: vk::PhysicalDeviceMaintenance3Properties<'static> = Some(1000168000), Chained::Once, [] {
        max_per_set_descriptors: Ty::U32, Shape::Value, 0;
        max_memory_allocation_size: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceMaintenance4Features: vk::PhysicalDeviceMaintenance4Features<'static> = Some(1000413000), Chained::Once, [] {
        maintenance4: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMaintenance4Properties: vk::PhysicalDeviceMaintenance4Properties<'static> = Some(1000413001), Chained::Once, [] {
        max_buffer_size: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceMaintenance5Features: vk::PhysicalDeviceMaintenance5FeaturesKHR<'static> = Some(1000470000), Chained::Once, [] {
        maintenance5: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMaintenance5Properties: vk::PhysicalDeviceMaintenance5PropertiesKHR<'static> = Some(1000470001), Chained::Once, [] {
        early_fragment_multisample_coverage_after_sample_counting: Ty::U32, Shape::Value, 0;
        early_fragment_sample_mask_test_before_sample_counting: Ty::U32, Shape::Value, 0;
        depth_stencil_swizzle_one_support: Ty::U32, Shape::Value, 0;
        polygon_mode_point_size: Ty::U32, Shape::Value, 0;
        non_strict_single_pixel_wide_lines_use_parallelogram: Ty::U32, Shape::Value, 0;
        non_strict_wide_lines_use_parallelogram: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMemoryBudgetPropertiesEXT: vk::PhysicalDeviceMemoryBudgetPropertiesEXT<'static> = Some(1000237000), Chained::Once, [] {
        heap_budget: Ty::U64, Shape::Static(16), 0;
        heap_usage: Ty::U64, Shape::Static(16), 0;
    }
    VkPhysicalDeviceMemoryProperties: vk::PhysicalDeviceMemoryProperties = None, Chained::Once, [] {
        memory_type_count: Ty::U32, Shape::Value, 0;
        memory_types: Ty::Struct(&super::structs_i::VkMemoryType), Shape::Static(32), 0;
        memory_heap_count: Ty::U32, Shape::Value, 0;
        memory_heaps: Ty::Struct(&super::structs_i::VkMemoryHeap), Shape::Static(16), 0;
    }
    VkPhysicalDeviceMemoryProperties2: vk::PhysicalDeviceMemoryProperties2<'static> = Some(1000059006), Chained::Once, [
        &super::structs_physical_device::VkPhysicalDeviceMemoryBudgetPropertiesEXT,
    ] {
        memory_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceMemoryProperties), Shape::Value, 0;
    }
    VkPhysicalDeviceMultiDrawFeaturesEXT: vk::PhysicalDeviceMultiDrawFeaturesEXT<'static> = Some(1000392000), Chained::Once, [] {
        multi_draw: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMultiDrawPropertiesEXT: vk::PhysicalDeviceMultiDrawPropertiesEXT<'static> = Some(1000392001), Chained::Once, [] {
        max_multi_draw_count: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMultiviewFeatures: vk::PhysicalDeviceMultiviewFeatures<'static> = Some(1000053001), Chained::Once, [] {
        multiview: Ty::U32, Shape::Value, 0;
        multiview_geometry_shader: Ty::U32, Shape::Value, 0;
        multiview_tessellation_shader: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMultiviewProperties: vk::PhysicalDeviceMultiviewProperties<'static> = Some(1000053002), Chained::Once, [] {
        max_multiview_view_count: Ty::U32, Shape::Value, 0;
        max_multiview_instance_index: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceMutableDescriptorTypeFeaturesEXT: vk::PhysicalDeviceMutableDescriptorTypeFeaturesEXT<'static> = Some(1000351000), Chained::Once, [] {
        mutable_descriptor_type: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceNonSeamlessCubeMapFeaturesEXT: vk::PhysicalDeviceNonSeamlessCubeMapFeaturesEXT<'static> = Some(1000422000), Chained::Once, [] {
        non_seamless_cube_map: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePCIBusInfoPropertiesEXT: vk::PhysicalDevicePCIBusInfoPropertiesEXT<'static> = Some(1000212000), Chained::Once, [] {
        pci_domain: Ty::U32, Shape::Value, 0;
        pci_bus: Ty::U32, Shape::Value, 0;
        pci_device: Ty::U32, Shape::Value, 0;
        pci_function: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePipelineCreationCacheControlFeatures: vk::PhysicalDevicePipelineCreationCacheControlFeatures<'static> = Some(1000297000), Chained::Once, [] {
        pipeline_creation_cache_control: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePointClippingProperties: vk::PhysicalDevicePointClippingProperties<'static> = Some(1000117000), Chained::Once, [] {
        point_clipping_behavior: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT: vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT<'static> = Some(1000356000), Chained::Once, [] {
        primitive_topology_list_restart: Ty::U32, Shape::Value, 0;
        primitive_topology_patch_list_restart: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePrimitivesGeneratedQueryFeaturesEXT: vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT<'static> = Some(1000382000), Chained::Once, [] {
        primitives_generated_query: Ty::U32, Shape::Value, 0;
        primitives_generated_query_with_rasterizer_discard: Ty::U32, Shape::Value, 0;
        primitives_generated_query_with_non_zero_streams: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePrivateDataFeatures: vk::PhysicalDevicePrivateDataFeatures<'static> = Some(1000295000), Chained::Once, [] {
        private_data: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceProperties: vk::PhysicalDeviceProperties = None, Chained::Once, [] {
        api_version: Ty::U32, Shape::Value, 0;
        driver_version: Ty::U32, Shape::Value, 0;
        vendor_id: Ty::U32, Shape::Value, 0;
        device_id: Ty::U32, Shape::Value, 0;
        device_type: Ty::U32, Shape::Value, 0;
        device_name: Ty::U8, Shape::Static(256), 0;
        pipeline_cache_uuid: Ty::U8, Shape::Static(16), 0;
        limits: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceLimits), Shape::Value, 0;
        sparse_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceSparseProperties), Shape::Value, 0;
    }
    VkPhysicalDeviceProperties2: vk::PhysicalDeviceProperties2<'static> = Some(1000059001), Chained::Once, [
        &super::structs_physical_device::VkPhysicalDeviceVulkan11Properties,
        &super::structs_physical_device::VkPhysicalDeviceVulkan12Properties,
        &super::structs_physical_device::VkPhysicalDeviceVulkan13Properties,
        &super::structs_physical_device::VkPhysicalDeviceTransformFeedbackPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMultiviewProperties,
        &super::structs_physical_device::VkPhysicalDeviceIDProperties,
        &super::structs_physical_device::VkPhysicalDevicePushDescriptorProperties,
        &super::structs_physical_device::VkPhysicalDeviceSubgroupProperties,
        &super::structs_physical_device::VkPhysicalDeviceConservativeRasterizationPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDevicePointClippingProperties,
        &super::structs_physical_device::VkPhysicalDeviceSamplerFilterMinmaxProperties,
        &super::structs_physical_device::VkPhysicalDeviceInlineUniformBlockProperties,
        &super::structs_physical_device::VkPhysicalDeviceProtectedMemoryProperties,
        &super::structs_physical_device::VkPhysicalDeviceDescriptorIndexingProperties,
        &super::structs_physical_device::VkPhysicalDeviceMaintenance3Properties,
        &super::structs_physical_device::VkPhysicalDeviceVertexAttributeDivisorPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceDriverProperties,
        &super::structs_physical_device::VkPhysicalDeviceFloatControlsProperties,
        &super::structs_physical_device::VkPhysicalDeviceDepthStencilResolveProperties,
        &super::structs_physical_device::VkPhysicalDeviceTimelineSemaphoreProperties,
        &super::structs_physical_device::VkPhysicalDevicePCIBusInfoPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceSubgroupSizeControlProperties,
        &super::structs_physical_device::VkPhysicalDeviceFragmentShadingRatePropertiesKHR,
        &super::structs_physical_device::VkPhysicalDeviceProvokingVertexPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceLineRasterizationProperties,
        &super::structs_physical_device::VkPhysicalDeviceShaderIntegerDotProductProperties,
        &super::structs_physical_device::VkPhysicalDeviceTexelBufferAlignmentProperties,
        &super::structs_physical_device::VkPhysicalDeviceRobustness2PropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceCustomBorderColorPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceGraphicsPipelineLibraryPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMultiDrawPropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMaintenance4Properties,
        &super::structs_physical_device::VkPhysicalDeviceExtendedDynamicState3PropertiesEXT,
        &super::structs_physical_device::VkPhysicalDeviceMaintenance5Properties,
        &super::structs_physical_device::VkPhysicalDeviceImageAlignmentControlPropertiesMESA,
    ] {
        properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceProperties), Shape::Value, 0;
    }
    VkPhysicalDeviceProtectedMemoryFeatures: vk::PhysicalDeviceProtectedMemoryFeatures<'static> = Some(1000145001), Chained::Once, [] {
        protected_memory: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceProtectedMemoryProperties: vk::PhysicalDeviceProtectedMemoryProperties<'static> = Some(1000145002), Chained::Once, [] {
        protected_no_fault: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceProvokingVertexFeaturesEXT: vk::PhysicalDeviceProvokingVertexFeaturesEXT<'static> = Some(1000254000), Chained::Once, [] {
        provoking_vertex_last: Ty::U32, Shape::Value, 0;
        transform_feedback_preserves_provoking_vertex: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceProvokingVertexPropertiesEXT: vk::PhysicalDeviceProvokingVertexPropertiesEXT<'static> = Some(1000254002), Chained::Once, [] {
        provoking_vertex_mode_per_pipeline: Ty::U32, Shape::Value, 0;
        transform_feedback_preserves_triangle_fan_provoking_vertex: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDevicePushDescriptorProperties: vk::PhysicalDevicePushDescriptorPropertiesKHR<'static> = Some(1000080000), Chained::Once, [] {
        max_push_descriptors: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT: vk::PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT<'static> = Some(1000342000), Chained::Once, [] {
        rasterization_order_color_attachment_access: Ty::U32, Shape::Value, 0;
        rasterization_order_depth_attachment_access: Ty::U32, Shape::Value, 0;
        rasterization_order_stencil_attachment_access: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceRobustness2FeaturesEXT: vk::PhysicalDeviceRobustness2FeaturesEXT<'static> = Some(1000286000), Chained::Once, [] {
        robust_buffer_access2: Ty::U32, Shape::Value, 0;
        robust_image_access2: Ty::U32, Shape::Value, 0;
        null_descriptor: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceRobustness2PropertiesEXT: vk::PhysicalDeviceRobustness2PropertiesEXT<'static> = Some(1000286001), Chained::Once, [] {
        robust_storage_buffer_access_size_alignment: Ty::U64, Shape::Value, 0;
        robust_uniform_buffer_access_size_alignment: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceSamplerFilterMinmaxProperties: vk::PhysicalDeviceSamplerFilterMinmaxProperties<'static> = Some(1000130000), Chained::Once, [] {
        filter_minmax_single_component_formats: Ty::U32, Shape::Value, 0;
        filter_minmax_image_component_mapping: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSamplerYcbcrConversionFeatures: vk::PhysicalDeviceSamplerYcbcrConversionFeatures<'static> = Some(1000156004), Chained::Once, [] {
        sampler_ycbcr_conversion: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceScalarBlockLayoutFeatures: vk::PhysicalDeviceScalarBlockLayoutFeatures<'static> = Some(1000221000), Chained::Once, [] {
        scalar_block_layout: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSeparateDepthStencilLayoutsFeatures: vk::PhysicalDeviceSeparateDepthStencilLayoutsFeatures<'static> = Some(1000241000), Chained::Once, [] {
        separate_depth_stencil_layouts: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderAtomicInt64Features: vk::PhysicalDeviceShaderAtomicInt64Features<'static> = Some(1000180000), Chained::Once, [] {
        shader_buffer_int64_atomics: Ty::U32, Shape::Value, 0;
        shader_shared_int64_atomics: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderClockFeaturesKHR: vk::PhysicalDeviceShaderClockFeaturesKHR<'static> = Some(1000181000), Chained::Once, [] {
        shader_subgroup_clock: Ty::U32, Shape::Value, 0;
        shader_device_clock: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderDemoteToHelperInvocationFeatures: vk::PhysicalDeviceShaderDemoteToHelperInvocationFeatures<'static> = Some(1000276000), Chained::Once, [] {
        shader_demote_to_helper_invocation: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderDrawParametersFeatures: vk::PhysicalDeviceShaderDrawParametersFeatures<'static> = Some(1000063000), Chained::Once, [] {
        shader_draw_parameters: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderFloat16Int8Features: vk::PhysicalDeviceShaderFloat16Int8Features<'static> = Some(1000082000), Chained::Once, [] {
        shader_float16: Ty::U32, Shape::Value, 0;
        shader_int8: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderIntegerDotProductFeatures: vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static> = Some(1000280000), Chained::Once, [] {
        shader_integer_dot_product: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderIntegerDotProductProperties: vk::PhysicalDeviceShaderIntegerDotProductProperties<'static> = Some(1000280001), Chained::Once, [] {
        integer_dot_product8_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product8_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product8_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures: vk::PhysicalDeviceShaderSubgroupExtendedTypesFeatures<'static> = Some(1000175000), Chained::Once, [] {
        shader_subgroup_extended_types: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceShaderTerminateInvocationFeatures: vk::PhysicalDeviceShaderTerminateInvocationFeatures<'static> = Some(1000215000), Chained::Once, [] {
        shader_terminate_invocation: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSparseImageFormatInfo2: vk::PhysicalDeviceSparseImageFormatInfo2<'static> = Some(1000059008), Chained::Once, [] {
        format: Ty::U32, Shape::Value, 0;
        ty: Ty::U32, Shape::Value, 0;
        samples: Ty::U32, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        tiling: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSparseProperties: vk::PhysicalDeviceSparseProperties = None, Chained::Once, [] {
        residency_standard2_d_block_shape: Ty::U32, Shape::Value, 0;
        residency_standard2_d_multisample_block_shape: Ty::U32, Shape::Value, 0;
        residency_standard3_d_block_shape: Ty::U32, Shape::Value, 0;
        residency_aligned_mip_size: Ty::U32, Shape::Value, 0;
        residency_non_resident_strict: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSubgroupProperties: vk::PhysicalDeviceSubgroupProperties<'static> = Some(1000094000), Chained::Once, [] {
        subgroup_size: Ty::U32, Shape::Value, 0;
        supported_stages: Ty::U32, Shape::Value, 0;
        supported_operations: Ty::U32, Shape::Value, 0;
        quad_operations_in_all_stages: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSubgroupSizeControlFeatures: vk::PhysicalDeviceSubgroupSizeControlFeatures<'static> = Some(1000225002), Chained::Once, [] {
        subgroup_size_control: Ty::U32, Shape::Value, 0;
        compute_full_subgroups: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSubgroupSizeControlProperties: vk::PhysicalDeviceSubgroupSizeControlProperties<'static> = Some(1000225000), Chained::Once, [] {
        min_subgroup_size: Ty::U32, Shape::Value, 0;
        max_subgroup_size: Ty::U32, Shape::Value, 0;
        max_compute_workgroup_subgroups: Ty::U32, Shape::Value, 0;
        required_subgroup_size_stages: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceSynchronization2Features: vk::PhysicalDeviceSynchronization2Features<'static> = Some(1000314007), Chained::Once, [] {
        synchronization2: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTexelBufferAlignmentFeaturesEXT: vk::PhysicalDeviceTexelBufferAlignmentFeaturesEXT<'static> = Some(1000281000), Chained::Once, [] {
        texel_buffer_alignment: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTexelBufferAlignmentProperties: vk::PhysicalDeviceTexelBufferAlignmentProperties<'static> = Some(1000281001), Chained::Once, [] {
        storage_texel_buffer_offset_alignment_bytes: Ty::U64, Shape::Value, 0;
        storage_texel_buffer_offset_single_texel_alignment: Ty::U32, Shape::Value, 0;
        uniform_texel_buffer_offset_alignment_bytes: Ty::U64, Shape::Value, 0;
        uniform_texel_buffer_offset_single_texel_alignment: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTextureCompressionASTCHDRFeatures: vk::PhysicalDeviceTextureCompressionASTCHDRFeatures<'static> = Some(1000066000), Chained::Once, [] {
        texture_compression_astc_hdr: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTimelineSemaphoreFeatures: vk::PhysicalDeviceTimelineSemaphoreFeatures<'static> = Some(1000207000), Chained::Once, [] {
        timeline_semaphore: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTimelineSemaphoreProperties: vk::PhysicalDeviceTimelineSemaphoreProperties<'static> = Some(1000207001), Chained::Once, [] {
        max_timeline_semaphore_value_difference: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceTransformFeedbackFeaturesEXT: vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'static> = Some(1000028000), Chained::Once, [] {
        transform_feedback: Ty::U32, Shape::Value, 0;
        geometry_streams: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceTransformFeedbackPropertiesEXT: vk::PhysicalDeviceTransformFeedbackPropertiesEXT<'static> = Some(1000028001), Chained::Once, [] {
        max_transform_feedback_streams: Ty::U32, Shape::Value, 0;
        max_transform_feedback_buffers: Ty::U32, Shape::Value, 0;
        max_transform_feedback_buffer_size: Ty::U64, Shape::Value, 0;
        max_transform_feedback_stream_data_size: Ty::U32, Shape::Value, 0;
        max_transform_feedback_buffer_data_size: Ty::U32, Shape::Value, 0;
        max_transform_feedback_buffer_data_stride: Ty::U32, Shape::Value, 0;
        transform_feedback_queries: Ty::U32, Shape::Value, 0;
        transform_feedback_streams_lines_triangles: Ty::U32, Shape::Value, 0;
        transform_feedback_rasterization_stream_select: Ty::U32, Shape::Value, 0;
        transform_feedback_draw: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceUniformBufferStandardLayoutFeatures: vk::PhysicalDeviceUniformBufferStandardLayoutFeatures<'static> = Some(1000253000), Chained::Once, [] {
        uniform_buffer_standard_layout: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVariablePointersFeatures: vk::PhysicalDeviceVariablePointersFeatures<'static> = Some(1000120000), Chained::Once, [] {
        variable_pointers_storage_buffer: Ty::U32, Shape::Value, 0;
        variable_pointers: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVertexAttributeDivisorFeatures: vk::PhysicalDeviceVertexAttributeDivisorFeaturesKHR<'static> = Some(1000190002), Chained::Once, [] {
        vertex_attribute_instance_rate_divisor: Ty::U32, Shape::Value, 0;
        vertex_attribute_instance_rate_zero_divisor: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVertexAttributeDivisorPropertiesEXT: vk::PhysicalDeviceVertexAttributeDivisorPropertiesEXT<'static> = Some(1000190000), Chained::Once, [] {
        max_vertex_attrib_divisor: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVertexInputDynamicStateFeaturesEXT: vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT<'static> = Some(1000352000), Chained::Once, [] {
        vertex_input_dynamic_state: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan11Features: vk::PhysicalDeviceVulkan11Features<'static> = Some(49), Chained::Once, [] {
        storage_buffer16_bit_access: Ty::U32, Shape::Value, 0;
        uniform_and_storage_buffer16_bit_access: Ty::U32, Shape::Value, 0;
        storage_push_constant16: Ty::U32, Shape::Value, 0;
        storage_input_output16: Ty::U32, Shape::Value, 0;
        multiview: Ty::U32, Shape::Value, 0;
        multiview_geometry_shader: Ty::U32, Shape::Value, 0;
        multiview_tessellation_shader: Ty::U32, Shape::Value, 0;
        variable_pointers_storage_buffer: Ty::U32, Shape::Value, 0;
        variable_pointers: Ty::U32, Shape::Value, 0;
        protected_memory: Ty::U32, Shape::Value, 0;
        sampler_ycbcr_conversion: Ty::U32, Shape::Value, 0;
        shader_draw_parameters: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan11Properties: vk::PhysicalDeviceVulkan11Properties<'static> = Some(50), Chained::Once, [] {
        device_uuid: Ty::U8, Shape::Static(16), 0;
        driver_uuid: Ty::U8, Shape::Static(16), 0;
        device_luid: Ty::U8, Shape::Static(8), 0;
        device_node_mask: Ty::U32, Shape::Value, 0;
        device_luid_valid: Ty::U32, Shape::Value, 0;
        subgroup_size: Ty::U32, Shape::Value, 0;
        subgroup_supported_stages: Ty::U32, Shape::Value, 0;
        subgroup_supported_operations: Ty::U32, Shape::Value, 0;
        subgroup_quad_operations_in_all_stages: Ty::U32, Shape::Value, 0;
        point_clipping_behavior: Ty::U32, Shape::Value, 0;
        max_multiview_view_count: Ty::U32, Shape::Value, 0;
        max_multiview_instance_index: Ty::U32, Shape::Value, 0;
        protected_no_fault: Ty::U32, Shape::Value, 0;
        max_per_set_descriptors: Ty::U32, Shape::Value, 0;
        max_memory_allocation_size: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan12Features: vk::PhysicalDeviceVulkan12Features<'static> = Some(51), Chained::Once, [] {
        sampler_mirror_clamp_to_edge: Ty::U32, Shape::Value, 0;
        draw_indirect_count: Ty::U32, Shape::Value, 0;
        storage_buffer8_bit_access: Ty::U32, Shape::Value, 0;
        uniform_and_storage_buffer8_bit_access: Ty::U32, Shape::Value, 0;
        storage_push_constant8: Ty::U32, Shape::Value, 0;
        shader_buffer_int64_atomics: Ty::U32, Shape::Value, 0;
        shader_shared_int64_atomics: Ty::U32, Shape::Value, 0;
        shader_float16: Ty::U32, Shape::Value, 0;
        shader_int8: Ty::U32, Shape::Value, 0;
        descriptor_indexing: Ty::U32, Shape::Value, 0;
        shader_input_attachment_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_texel_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_texel_buffer_array_dynamic_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_sampled_image_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_image_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_input_attachment_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_uniform_texel_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        shader_storage_texel_buffer_array_non_uniform_indexing: Ty::U32, Shape::Value, 0;
        descriptor_binding_uniform_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_sampled_image_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_image_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_uniform_texel_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_storage_texel_buffer_update_after_bind: Ty::U32, Shape::Value, 0;
        descriptor_binding_update_unused_while_pending: Ty::U32, Shape::Value, 0;
        descriptor_binding_partially_bound: Ty::U32, Shape::Value, 0;
        descriptor_binding_variable_descriptor_count: Ty::U32, Shape::Value, 0;
        runtime_descriptor_array: Ty::U32, Shape::Value, 0;
        sampler_filter_minmax: Ty::U32, Shape::Value, 0;
        scalar_block_layout: Ty::U32, Shape::Value, 0;
        imageless_framebuffer: Ty::U32, Shape::Value, 0;
        uniform_buffer_standard_layout: Ty::U32, Shape::Value, 0;
        shader_subgroup_extended_types: Ty::U32, Shape::Value, 0;
        separate_depth_stencil_layouts: Ty::U32, Shape::Value, 0;
        host_query_reset: Ty::U32, Shape::Value, 0;
        timeline_semaphore: Ty::U32, Shape::Value, 0;
        buffer_device_address: Ty::U32, Shape::Value, 0;
        buffer_device_address_capture_replay: Ty::U32, Shape::Value, 0;
        buffer_device_address_multi_device: Ty::U32, Shape::Value, 0;
        vulkan_memory_model: Ty::U32, Shape::Value, 0;
        vulkan_memory_model_device_scope: Ty::U32, Shape::Value, 0;
        vulkan_memory_model_availability_visibility_chains: Ty::U32, Shape::Value, 0;
        shader_output_viewport_index: Ty::U32, Shape::Value, 0;
        shader_output_layer: Ty::U32, Shape::Value, 0;
        subgroup_broadcast_dynamic_id: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan12Properties: vk::PhysicalDeviceVulkan12Properties<'static> = Some(52), Chained::Once, [] {
        driver_id: Ty::U32, Shape::Value, 0;
        driver_name: Ty::U8, Shape::Static(256), 0;
        driver_info: Ty::U8, Shape::Static(256), 0;
        conformance_version: Ty::Struct(&super::structs_a::VkConformanceVersion), Shape::Value, 0;
        denorm_behavior_independence: Ty::U32, Shape::Value, 0;
        rounding_mode_independence: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float16: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float32: Ty::U32, Shape::Value, 0;
        shader_signed_zero_inf_nan_preserve_float64: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float16: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float32: Ty::U32, Shape::Value, 0;
        shader_denorm_preserve_float64: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float16: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float32: Ty::U32, Shape::Value, 0;
        shader_denorm_flush_to_zero_float64: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float16: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float32: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rte_float64: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float16: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float32: Ty::U32, Shape::Value, 0;
        shader_rounding_mode_rtz_float64: Ty::U32, Shape::Value, 0;
        max_update_after_bind_descriptors_in_all_pools: Ty::U32, Shape::Value, 0;
        shader_uniform_buffer_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_sampled_image_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_storage_buffer_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_storage_image_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        shader_input_attachment_array_non_uniform_indexing_native: Ty::U32, Shape::Value, 0;
        robust_buffer_access_update_after_bind: Ty::U32, Shape::Value, 0;
        quad_divergent_implicit_lod: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_samplers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_storage_buffers: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_sampled_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_storage_images: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_input_attachments: Ty::U32, Shape::Value, 0;
        max_per_stage_update_after_bind_resources: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_samplers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_uniform_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_uniform_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_buffers: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_buffers_dynamic: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_sampled_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_storage_images: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_input_attachments: Ty::U32, Shape::Value, 0;
        supported_depth_resolve_modes: Ty::U32, Shape::Value, 0;
        supported_stencil_resolve_modes: Ty::U32, Shape::Value, 0;
        independent_resolve_none: Ty::U32, Shape::Value, 0;
        independent_resolve: Ty::U32, Shape::Value, 0;
        filter_minmax_single_component_formats: Ty::U32, Shape::Value, 0;
        filter_minmax_image_component_mapping: Ty::U32, Shape::Value, 0;
        max_timeline_semaphore_value_difference: Ty::U64, Shape::Value, 0;
        framebuffer_integer_color_sample_counts: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan13Features: vk::PhysicalDeviceVulkan13Features<'static> = Some(53), Chained::Once, [] {
        robust_image_access: Ty::U32, Shape::Value, 0;
        inline_uniform_block: Ty::U32, Shape::Value, 0;
        descriptor_binding_inline_uniform_block_update_after_bind: Ty::U32, Shape::Value, 0;
        pipeline_creation_cache_control: Ty::U32, Shape::Value, 0;
        private_data: Ty::U32, Shape::Value, 0;
        shader_demote_to_helper_invocation: Ty::U32, Shape::Value, 0;
        shader_terminate_invocation: Ty::U32, Shape::Value, 0;
        subgroup_size_control: Ty::U32, Shape::Value, 0;
        compute_full_subgroups: Ty::U32, Shape::Value, 0;
        synchronization2: Ty::U32, Shape::Value, 0;
        texture_compression_astc_hdr: Ty::U32, Shape::Value, 0;
        shader_zero_initialize_workgroup_memory: Ty::U32, Shape::Value, 0;
        dynamic_rendering: Ty::U32, Shape::Value, 0;
        shader_integer_dot_product: Ty::U32, Shape::Value, 0;
        maintenance4: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkan13Properties: vk::PhysicalDeviceVulkan13Properties<'static> = Some(54), Chained::Once, [] {
        min_subgroup_size: Ty::U32, Shape::Value, 0;
        max_subgroup_size: Ty::U32, Shape::Value, 0;
        max_compute_workgroup_subgroups: Ty::U32, Shape::Value, 0;
        required_subgroup_size_stages: Ty::U32, Shape::Value, 0;
        max_inline_uniform_block_size: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_per_stage_descriptor_update_after_bind_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_descriptor_set_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_descriptor_set_update_after_bind_inline_uniform_blocks: Ty::U32, Shape::Value, 0;
        max_inline_uniform_total_size: Ty::U32, Shape::Value, 0;
        integer_dot_product8_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product8_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product8_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product4x8_bit_packed_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product16_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product32_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product64_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating8_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating4x8_bit_packed_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating16_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating32_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_unsigned_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_signed_accelerated: Ty::U32, Shape::Value, 0;
        integer_dot_product_accumulating_saturating64_bit_mixed_signedness_accelerated: Ty::U32, Shape::Value, 0;
        storage_texel_buffer_offset_alignment_bytes: Ty::U64, Shape::Value, 0;
        storage_texel_buffer_offset_single_texel_alignment: Ty::U32, Shape::Value, 0;
        uniform_texel_buffer_offset_alignment_bytes: Ty::U64, Shape::Value, 0;
        uniform_texel_buffer_offset_single_texel_alignment: Ty::U32, Shape::Value, 0;
        max_buffer_size: Ty::U64, Shape::Value, 0;
    }
    VkPhysicalDeviceVulkanMemoryModelFeatures: vk::PhysicalDeviceVulkanMemoryModelFeatures<'static> = Some(1000211000), Chained::Once, [] {
        vulkan_memory_model: Ty::U32, Shape::Value, 0;
        vulkan_memory_model_device_scope: Ty::U32, Shape::Value, 0;
        vulkan_memory_model_availability_visibility_chains: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT: vk::PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT<'static> = Some(1000330000), Chained::Once, [] {
        ycbcr2plane444_formats: Ty::U32, Shape::Value, 0;
    }
    VkPhysicalDeviceZeroInitializeWorkgroupMemoryFeatures: vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures<'static> = Some(1000325000), Chained::Once, [] {
        shader_zero_initialize_workgroup_memory: Ty::U32, Shape::Value, 0;
    }
}
