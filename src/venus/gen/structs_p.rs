//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkPipelineCacheCreateInfo: vk::PipelineCacheCreateInfo<'static> = Some(17), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        initial_data_size: Ty::U64, Shape::Value, LEN;
        p_initial_data: Ty::U8, Shape::Array(Len::U64(offset_of!(vk::PipelineCacheCreateInfo<'static>, initial_data_size))), 0;
    }
    VkPipelineColorBlendAttachmentState: vk::PipelineColorBlendAttachmentState = None, Chained::Once, [] {
        blend_enable: Ty::U32, Shape::Value, 0;
        src_color_blend_factor: Ty::U32, Shape::Value, 0;
        dst_color_blend_factor: Ty::U32, Shape::Value, 0;
        color_blend_op: Ty::U32, Shape::Value, 0;
        src_alpha_blend_factor: Ty::U32, Shape::Value, 0;
        dst_alpha_blend_factor: Ty::U32, Shape::Value, 0;
        alpha_blend_op: Ty::U32, Shape::Value, 0;
        color_write_mask: Ty::U32, Shape::Value, 0;
    }
    VkPipelineColorBlendStateCreateInfo: vk::PipelineColorBlendStateCreateInfo<'static> = Some(26), Chained::Once, [
        &super::structs_p::VkPipelineColorWriteCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        logic_op_enable: Ty::U32, Shape::Value, 0;
        logic_op: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Struct(&super::structs_p::VkPipelineColorBlendAttachmentState), Shape::Array(Len::U32(offset_of!(vk::PipelineColorBlendStateCreateInfo<'static>, attachment_count))), OPT;
        blend_constants: Ty::U32, Shape::Static(4), 0;
    }
    VkPipelineColorWriteCreateInfoEXT: vk::PipelineColorWriteCreateInfoEXT<'static> = Some(1000381001), Chained::Once, [] {
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_write_enables: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::PipelineColorWriteCreateInfoEXT<'static>, attachment_count))), 0;
    }
    VkPipelineCreateFlags2CreateInfo: vk::PipelineCreateFlags2CreateInfoKHR<'static> = Some(1000470005), Chained::Once, [] {
        flags: Ty::U64, Shape::Value, 0;
    }
    VkPipelineCreationFeedback: vk::PipelineCreationFeedback = None, Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        duration: Ty::U64, Shape::Value, 0;
    }
    VkPipelineCreationFeedbackCreateInfo: vk::PipelineCreationFeedbackCreateInfo<'static> = Some(1000192000), Chained::Once, [] {
        p_pipeline_creation_feedback: Ty::Struct(&super::structs_p::VkPipelineCreationFeedback), Shape::Ptr, 0;
        pipeline_stage_creation_feedback_count: Ty::U32, Shape::Value, LEN;
        p_pipeline_stage_creation_feedbacks: Ty::Struct(&super::structs_p::VkPipelineCreationFeedback), Shape::Array(Len::U32(offset_of!(vk::PipelineCreationFeedbackCreateInfo<'static>, pipeline_stage_creation_feedback_count))), 0;
    }
    VkPipelineDepthStencilStateCreateInfo: vk::PipelineDepthStencilStateCreateInfo<'static> = Some(25), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        depth_test_enable: Ty::U32, Shape::Value, 0;
        depth_write_enable: Ty::U32, Shape::Value, 0;
        depth_compare_op: Ty::U32, Shape::Value, 0;
        depth_bounds_test_enable: Ty::U32, Shape::Value, 0;
        stencil_test_enable: Ty::U32, Shape::Value, 0;
        front: Ty::Struct(&super::structs_q::VkStencilOpState), Shape::Value, 0;
        back: Ty::Struct(&super::structs_q::VkStencilOpState), Shape::Value, 0;
        min_depth_bounds: Ty::U32, Shape::Value, 0;
        max_depth_bounds: Ty::U32, Shape::Value, 0;
    }
    VkPipelineDynamicStateCreateInfo: vk::PipelineDynamicStateCreateInfo<'static> = Some(27), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        dynamic_state_count: Ty::U32, Shape::Value, LEN;
        p_dynamic_states: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::PipelineDynamicStateCreateInfo<'static>, dynamic_state_count))), 0;
    }
    VkPipelineFragmentShadingRateStateCreateInfoKHR: vk::PipelineFragmentShadingRateStateCreateInfoKHR<'static> = Some(1000226001), Chained::Once, [] {
        fragment_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
        combiner_ops: Ty::U32, Shape::Static(2), 0;
    }
    VkPipelineInputAssemblyStateCreateInfo: vk::PipelineInputAssemblyStateCreateInfo<'static> = Some(20), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        topology: Ty::U32, Shape::Value, 0;
        primitive_restart_enable: Ty::U32, Shape::Value, 0;
    }
    VkPipelineLayoutCreateInfo: vk::PipelineLayoutCreateInfo<'static> = Some(30), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        set_layout_count: Ty::U32, Shape::Value, LEN;
        p_set_layouts: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET_LAYOUT), Shape::Array(Len::U32(offset_of!(vk::PipelineLayoutCreateInfo<'static>, set_layout_count))), 0;
        push_constant_range_count: Ty::U32, Shape::Value, LEN;
        p_push_constant_ranges: Ty::Struct(&super::structs_p::VkPushConstantRange), Shape::Array(Len::U32(offset_of!(vk::PipelineLayoutCreateInfo<'static>, push_constant_range_count))), 0;
    }
    VkPipelineLibraryCreateInfoKHR: vk::PipelineLibraryCreateInfoKHR<'static> = Some(1000290000), Chained::Once, [] {
        library_count: Ty::U32, Shape::Value, LEN;
        p_libraries: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Array(Len::U32(offset_of!(vk::PipelineLibraryCreateInfoKHR<'static>, library_count))), 0;
    }
    VkPipelineMultisampleStateCreateInfo: vk::PipelineMultisampleStateCreateInfo<'static> = Some(24), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        rasterization_samples: Ty::U32, Shape::Value, LEN;
        sample_shading_enable: Ty::U32, Shape::Value, 0;
        min_sample_shading: Ty::U32, Shape::Value, 0;
        p_sample_mask: Ty::U32, Shape::Array(Len::DivU32(offset_of!(vk::PipelineMultisampleStateCreateInfo<'static>, rasterization_samples), 32)), OPT;
        alpha_to_coverage_enable: Ty::U32, Shape::Value, 0;
        alpha_to_one_enable: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRasterizationConservativeStateCreateInfoEXT: vk::PipelineRasterizationConservativeStateCreateInfoEXT<'static> = Some(1000101001), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        conservative_rasterization_mode: Ty::U32, Shape::Value, 0;
        extra_primitive_overestimation_size: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRasterizationDepthClipStateCreateInfoEXT: vk::PipelineRasterizationDepthClipStateCreateInfoEXT<'static> = Some(1000102001), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        depth_clip_enable: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRasterizationLineStateCreateInfo: vk::PipelineRasterizationLineStateCreateInfoKHR<'static> = Some(1000259001), Chained::Once, [] {
        line_rasterization_mode: Ty::U32, Shape::Value, 0;
        stippled_line_enable: Ty::U32, Shape::Value, 0;
        line_stipple_factor: Ty::U32, Shape::Value, 0;
        line_stipple_pattern: Ty::U16, Shape::Value, 0;
    }
    VkPipelineRasterizationProvokingVertexStateCreateInfoEXT: vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT<'static> = Some(1000254001), Chained::Once, [] {
        provoking_vertex_mode: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRasterizationStateCreateInfo: vk::PipelineRasterizationStateCreateInfo<'static> = Some(23), Chained::Once, [
        &super::structs_p::VkPipelineRasterizationStateStreamCreateInfoEXT,
        &super::structs_p::VkPipelineRasterizationConservativeStateCreateInfoEXT,
        &super::structs_p::VkPipelineRasterizationDepthClipStateCreateInfoEXT,
        &super::structs_p::VkPipelineRasterizationProvokingVertexStateCreateInfoEXT,
        &super::structs_p::VkPipelineRasterizationLineStateCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        depth_clamp_enable: Ty::U32, Shape::Value, 0;
        rasterizer_discard_enable: Ty::U32, Shape::Value, 0;
        polygon_mode: Ty::U32, Shape::Value, 0;
        cull_mode: Ty::U32, Shape::Value, 0;
        front_face: Ty::U32, Shape::Value, 0;
        depth_bias_enable: Ty::U32, Shape::Value, 0;
        depth_bias_constant_factor: Ty::U32, Shape::Value, 0;
        depth_bias_clamp: Ty::U32, Shape::Value, 0;
        depth_bias_slope_factor: Ty::U32, Shape::Value, 0;
        line_width: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRasterizationStateStreamCreateInfoEXT: vk::PipelineRasterizationStateStreamCreateInfoEXT<'static> = Some(1000028002), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        rasterization_stream: Ty::U32, Shape::Value, 0;
    }
    VkPipelineRenderingCreateInfo: vk::PipelineRenderingCreateInfo<'static> = Some(1000044002), Chained::Once, [] {
        view_mask: Ty::U32, Shape::Value, 0;
        color_attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_attachment_formats: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::PipelineRenderingCreateInfo<'static>, color_attachment_count))), OPT;
        depth_attachment_format: Ty::U32, Shape::Value, 0;
        stencil_attachment_format: Ty::U32, Shape::Value, 0;
    }
    VkPipelineShaderStageCreateInfo: vk::PipelineShaderStageCreateInfo<'static> = Some(18), Chained::Once, [
        &super::structs_q::VkShaderModuleCreateInfo,
        &super::structs_p::VkPipelineShaderStageRequiredSubgroupSizeCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        stage: Ty::U32, Shape::Value, 0;
        module: Ty::Handle(vk::ObjectType::SHADER_MODULE), Shape::Value, 0;
        p_name: Ty::U8, Shape::Str, 0;
        p_specialization_info: Ty::Struct(&super::structs_q::VkSpecializationInfo), Shape::Ptr, OPT;
    }
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo: vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo<'static> = Some(1000225001), Chained::Once, [] {
        required_subgroup_size: Ty::U32, Shape::Value, 0;
    }
    VkPipelineTessellationDomainOriginStateCreateInfo: vk::PipelineTessellationDomainOriginStateCreateInfo<'static> = Some(1000117003), Chained::Once, [] {
        domain_origin: Ty::U32, Shape::Value, 0;
    }
    VkPipelineTessellationStateCreateInfo: vk::PipelineTessellationStateCreateInfo<'static> = Some(21), Chained::Once, [
        &super::structs_p::VkPipelineTessellationDomainOriginStateCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        patch_control_points: Ty::U32, Shape::Value, 0;
    }
    VkPipelineVertexInputDivisorStateCreateInfo: vk::PipelineVertexInputDivisorStateCreateInfoKHR<'static> = Some(1000190001), Chained::Once, [] {
        vertex_binding_divisor_count: Ty::U32, Shape::Value, LEN;
        p_vertex_binding_divisors: Ty::Struct(&super::structs_q::VkVertexInputBindingDivisorDescription), Shape::Array(Len::U32(offset_of!(vk::PipelineVertexInputDivisorStateCreateInfoKHR<'static>, vertex_binding_divisor_count))), 0;
    }
    VkPipelineVertexInputStateCreateInfo: vk::PipelineVertexInputStateCreateInfo<'static> = Some(19), Chained::Once, [
        &super::structs_p::VkPipelineVertexInputDivisorStateCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        vertex_binding_description_count: Ty::U32, Shape::Value, LEN;
        p_vertex_binding_descriptions: Ty::Struct(&super::structs_q::VkVertexInputBindingDescription), Shape::Array(Len::U32(offset_of!(vk::PipelineVertexInputStateCreateInfo<'static>, vertex_binding_description_count))), 0;
        vertex_attribute_description_count: Ty::U32, Shape::Value, LEN;
        p_vertex_attribute_descriptions: Ty::Struct(&super::structs_q::VkVertexInputAttributeDescription), Shape::Array(Len::U32(offset_of!(vk::PipelineVertexInputStateCreateInfo<'static>, vertex_attribute_description_count))), 0;
    }
    VkPipelineViewportDepthClipControlCreateInfoEXT: vk::PipelineViewportDepthClipControlCreateInfoEXT<'static> = Some(1000355001), Chained::Once, [] {
        negative_one_to_one: Ty::U32, Shape::Value, 0;
    }
    VkPipelineViewportStateCreateInfo: vk::PipelineViewportStateCreateInfo<'static> = Some(22), Chained::Once, [
        &super::structs_p::VkPipelineViewportDepthClipControlCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        viewport_count: Ty::U32, Shape::Value, LEN;
        p_viewports: Ty::Struct(&super::structs_q::VkViewport), Shape::Array(Len::U32(offset_of!(vk::PipelineViewportStateCreateInfo<'static>, viewport_count))), OPT;
        scissor_count: Ty::U32, Shape::Value, LEN;
        p_scissors: Ty::Struct(&super::structs_q::VkRect2D), Shape::Array(Len::U32(offset_of!(vk::PipelineViewportStateCreateInfo<'static>, scissor_count))), OPT;
    }
    VkProtectedSubmitInfo: vk::ProtectedSubmitInfo<'static> = Some(1000145000), Chained::Once, [] {
        protected_submit: Ty::U32, Shape::Value, 0;
    }
    VkPushConstantRange: vk::PushConstantRange = None, Chained::Once, [] {
        stage_flags: Ty::U32, Shape::Value, 0;
        offset: Ty::U32, Shape::Value, 0;
        size: Ty::U32, Shape::Value, 0;
    }
}
