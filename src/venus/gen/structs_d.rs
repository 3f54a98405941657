//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkDependencyInfo: vk::DependencyInfo<'static> = Some(1000314003), Chained::Once, [] {
        dependency_flags: Ty::U32, Shape::Value, 0;
        memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_memory_barriers: Ty::Struct(&super::structs_i::VkMemoryBarrier2), Shape::Array(Len::U32(offset_of!(vk::DependencyInfo<'static>, memory_barrier_count))), 0;
        buffer_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_buffer_memory_barriers: Ty::Struct(&super::structs_a::VkBufferMemoryBarrier2), Shape::Array(Len::U32(offset_of!(vk::DependencyInfo<'static>, buffer_memory_barrier_count))), 0;
        image_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_image_memory_barriers: Ty::Struct(&super::structs_i::VkImageMemoryBarrier2), Shape::Array(Len::U32(offset_of!(vk::DependencyInfo<'static>, image_memory_barrier_count))), 0;
    }
    VkDescriptorBufferInfo: vk::DescriptorBufferInfo = None, Chained::Once, [] {
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        range: Ty::U64, Shape::Value, 0;
    }
    VkDescriptorImageInfo: vk::DescriptorImageInfo = None, Chained::Once, [] {
        sampler: Ty::Handle(vk::ObjectType::SAMPLER), Shape::Value, 0;
        image_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Value, 0;
        image_layout: Ty::U32, Shape::Value, 0;
    }
    VkDescriptorPoolCreateInfo: vk::DescriptorPoolCreateInfo<'static> = Some(33), Chained::Once, [
        &super::structs_d::VkDescriptorPoolInlineUniformBlockCreateInfo,
        &super::structs_i::VkMutableDescriptorTypeCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        max_sets: Ty::U32, Shape::Value, 0;
        pool_size_count: Ty::U32, Shape::Value, LEN;
        p_pool_sizes: Ty::Struct(&super::structs_d::VkDescriptorPoolSize), Shape::Array(Len::U32(offset_of!(vk::DescriptorPoolCreateInfo<'static>, pool_size_count))), 0;
    }
    VkDescriptorPoolInlineUniformBlockCreateInfo: vk::DescriptorPoolInlineUniformBlockCreateInfo<'static> = Some(1000138003), Chained::Once, [] {
        max_inline_uniform_block_bindings: Ty::U32, Shape::Value, 0;
    }
    VkDescriptorPoolSize: vk::DescriptorPoolSize = None, Chained::Once, [] {
        ty: Ty::U32, Shape::Value, 0;
        descriptor_count: Ty::U32, Shape::Value, 0;
    }
    VkDescriptorSetAllocateInfo: vk::DescriptorSetAllocateInfo<'static> = Some(34), Chained::Once, [
        &super::structs_d::VkDescriptorSetVariableDescriptorCountAllocateInfo,
    ] {
        descriptor_pool: Ty::Handle(vk::ObjectType::DESCRIPTOR_POOL), Shape::Value, 0;
        descriptor_set_count: Ty::U32, Shape::Value, LEN;
        p_set_layouts: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET_LAYOUT), Shape::Array(Len::U32(offset_of!(vk::DescriptorSetAllocateInfo<'static>, descriptor_set_count))), 0;
    }
    VkDescriptorSetLayoutBinding: vk::DescriptorSetLayoutBinding<'static> = None, Chained::Once, [] {
        binding: Ty::U32, Shape::Value, 0;
        descriptor_type: Ty::U32, Shape::Value, 0;
        descriptor_count: Ty::U32, Shape::Value, LEN;
        stage_flags: Ty::U32, Shape::Value, 0;
        p_immutable_samplers: Ty::Handle(vk::ObjectType::SAMPLER), Shape::Array(Len::U32(offset_of!(vk::DescriptorSetLayoutBinding<'static>, descriptor_count))), OPT;
    }
    VkDescriptorSetLayoutBindingFlagsCreateInfo: vk::DescriptorSetLayoutBindingFlagsCreateInfo<'static> = Some(1000161000), Chained::Once, [] {
        binding_count: Ty::U32, Shape::Value, LEN;
        p_binding_flags: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DescriptorSetLayoutBindingFlagsCreateInfo<'static>, binding_count))), 0;
    }
    VkDescriptorSetLayoutCreateInfo: vk::DescriptorSetLayoutCreateInfo<'static> = Some(32), Chained::Once, [
        &super::structs_d::VkDescriptorSetLayoutBindingFlagsCreateInfo,
        &super::structs_i::VkMutableDescriptorTypeCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        binding_count: Ty::U32, Shape::Value, LEN;
        p_bindings: Ty::Struct(&super::structs_d::VkDescriptorSetLayoutBinding), Shape::Array(Len::U32(offset_of!(vk::DescriptorSetLayoutCreateInfo<'static>, binding_count))), 0;
    }
    VkDescriptorSetLayoutSupport: vk::DescriptorSetLayoutSupport<'static> = Some(1000168001), Chained::Once, [
        &super::structs_d::VkDescriptorSetVariableDescriptorCountLayoutSupport,
    ] {
        supported: Ty::U32, Shape::Value, 0;
    }
    VkDescriptorSetVariableDescriptorCountAllocateInfo: vk::DescriptorSetVariableDescriptorCountAllocateInfo<'static> = Some(1000161003), Chained::Once, [] {
        descriptor_set_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_counts: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DescriptorSetVariableDescriptorCountAllocateInfo<'static>, descriptor_set_count))), 0;
    }
    VkDescriptorSetVariableDescriptorCountLayoutSupport: vk::DescriptorSetVariableDescriptorCountLayoutSupport<'static> = Some(1000161004), Chained::Once, [] {
        max_variable_descriptor_count: Ty::U32, Shape::Value, 0;
    }
    VkDeviceBufferMemoryRequirements: vk::DeviceBufferMemoryRequirements<'static> = Some(1000413002), Chained::Once, [] {
        p_create_info: Ty::Struct(&super::structs_a::VkBufferCreateInfo), Shape::Ptr, 0;
    }
    VkDeviceCreateInfo: vk::DeviceCreateInfo<'static> = Some(3), Chained::Once, [
        &super::structs_physical_device::VkPhysicalDeviceVulkan11Features,
        &super::structs_physical_device::VkPhysicalDeviceVulkan12Features,
        &super::structs_physical_device::VkPhysicalDeviceVulkan13Features,
        &super::structs_physical_device::VkPhysicalDeviceTransformFeedbackFeaturesEXT,
        &super::structs_physical_device::VkPhysicalDeviceDynamicRenderingFeatures,
        &super::structs_physical_device::VkPhysicalDeviceMultiviewFeatures,
        &super::structs_physical_device::VkPhysicalDeviceFeatures2,
        &super::structs_physical_device::VkPhysicalDeviceShaderDrawParametersFeatures,
        &super::structs_physical_device::VkPhysicalDeviceTextureCompressionASTCHDRFeatures,
        &super::structs_d::VkDeviceGroupDeviceCreateInfo,
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
        &super::structs_d::VkDevicePrivateDataCreateInfo,
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
        flags: Ty::U32, Shape::Value, 0;
        queue_create_info_count: Ty::U32, Shape::Value, LEN;
        p_queue_create_infos: Ty::Struct(&super::structs_d::VkDeviceQueueCreateInfo), Shape::Array(Len::U32(offset_of!(vk::DeviceCreateInfo<'static>, queue_create_info_count))), 0;
        enabled_layer_count: Ty::U32, Shape::Value, LEN;
        pp_enabled_layer_names: Ty::U8, Shape::Strs(Len::U32(offset_of!(vk::DeviceCreateInfo<'static>, enabled_layer_count))), 0;
        enabled_extension_count: Ty::U32, Shape::Value, LEN;
        pp_enabled_extension_names: Ty::U8, Shape::Strs(Len::U32(offset_of!(vk::DeviceCreateInfo<'static>, enabled_extension_count))), 0;
        p_enabled_features: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceFeatures), Shape::Ptr, OPT;
    }
    VkDeviceGroupBindSparseInfo: vk::DeviceGroupBindSparseInfo<'static> = Some(1000060006), Chained::Once, [] {
        resource_device_index: Ty::U32, Shape::Value, 0;
        memory_device_index: Ty::U32, Shape::Value, 0;
    }
    VkDeviceGroupCommandBufferBeginInfo: vk::DeviceGroupCommandBufferBeginInfo<'static> = Some(1000060004), Chained::Once, [] {
        device_mask: Ty::U32, Shape::Value, 0;
    }
    VkDeviceGroupDeviceCreateInfo: vk::DeviceGroupDeviceCreateInfo<'static> = Some(1000070001), Chained::Once, [] {
        physical_device_count: Ty::U32, Shape::Value, LEN;
        p_physical_devices: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Array(Len::U32(offset_of!(vk::DeviceGroupDeviceCreateInfo<'static>, physical_device_count))), 0;
    }
    VkDeviceGroupRenderPassBeginInfo: vk::DeviceGroupRenderPassBeginInfo<'static> = Some(1000060003), Chained::Once, [] {
        device_mask: Ty::U32, Shape::Value, 0;
        device_render_area_count: Ty::U32, Shape::Value, LEN;
        p_device_render_areas: Ty::Struct(&super::structs_q::VkRect2D), Shape::Array(Len::U32(offset_of!(vk::DeviceGroupRenderPassBeginInfo<'static>, device_render_area_count))), 0;
    }
    VkDeviceGroupSubmitInfo: vk::DeviceGroupSubmitInfo<'static> = Some(1000060005), Chained::Once, [] {
        wait_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_wait_semaphore_device_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DeviceGroupSubmitInfo<'static>, wait_semaphore_count))), 0;
        command_buffer_count: Ty::U32, Shape::Value, LEN;
        p_command_buffer_device_masks: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DeviceGroupSubmitInfo<'static>, command_buffer_count))), 0;
        signal_semaphore_count: Ty::U32, Shape::Value, LEN;
        p_signal_semaphore_device_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DeviceGroupSubmitInfo<'static>, signal_semaphore_count))), 0;
    }
    VkDeviceImageMemoryRequirements: vk::DeviceImageMemoryRequirements<'static> = Some(1000413003), Chained::Once, [] {
        p_create_info: Ty::Struct(&super::structs_i::VkImageCreateInfo), Shape::Ptr, 0;
        plane_aspect: Ty::U32, Shape::Value, 0;
    }
    VkDeviceImageSubresourceInfo: vk::DeviceImageSubresourceInfoKHR<'static> = Some(1000470004), Chained::Once, [] {
        p_create_info: Ty::Struct(&super::structs_i::VkImageCreateInfo), Shape::Ptr, 0;
        p_subresource: Ty::Struct(&super::structs_i::VkImageSubresource2), Shape::Ptr, 0;
    }
    VkDeviceMemoryOpaqueCaptureAddressInfo: vk::DeviceMemoryOpaqueCaptureAddressInfo<'static> = Some(1000257004), Chained::Once, [] {
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
    }
    VkDevicePrivateDataCreateInfo: vk::DevicePrivateDataCreateInfo<'static> = Some(1000295001), Chained::Many, [] {
        private_data_slot_request_count: Ty::U32, Shape::Value, 0;
    }
    VkDeviceQueueCreateInfo: vk::DeviceQueueCreateInfo<'static> = Some(2), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        queue_family_index: Ty::U32, Shape::Value, 0;
        queue_count: Ty::U32, Shape::Value, LEN;
        p_queue_priorities: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::DeviceQueueCreateInfo<'static>, queue_count))), 0;
    }
    VkDeviceQueueInfo2: vk::DeviceQueueInfo2<'static> = Some(1000145003), Chained::Once, [
        &super::structs_d::VkDeviceQueueTimelineInfoMESA,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        queue_family_index: Ty::U32, Shape::Value, 0;
        queue_index: Ty::U32, Shape::Value, 0;
    }
    VkDeviceQueueTimelineInfoMESA: mesa::VkDeviceQueueTimelineInfoMESA = Some(1000384005), Chained::Once, [] {
        ring_idx: Ty::U32, Shape::Value, 0;
    }
    VkDrmFormatModifierProperties2EXT: vk::DrmFormatModifierProperties2EXT = None, Chained::Once, [] {
        drm_format_modifier: Ty::U64, Shape::Value, 0;
        drm_format_modifier_plane_count: Ty::U32, Shape::Value, 0;
        drm_format_modifier_tiling_features: Ty::U64, Shape::Value, 0;
    }
    VkDrmFormatModifierPropertiesEXT: vk::DrmFormatModifierPropertiesEXT = None, Chained::Once, [] {
        drm_format_modifier: Ty::U64, Shape::Value, 0;
        drm_format_modifier_plane_count: Ty::U32, Shape::Value, 0;
        drm_format_modifier_tiling_features: Ty::U32, Shape::Value, 0;
    }
    VkDrmFormatModifierPropertiesList2EXT: vk::DrmFormatModifierPropertiesList2EXT<'static> = Some(1000158006), Chained::Once, [] {
        drm_format_modifier_count: Ty::U32, Shape::Value, LEN;
        p_drm_format_modifier_properties: Ty::Struct(&super::structs_d::VkDrmFormatModifierProperties2EXT), Shape::Array(Len::U32(offset_of!(vk::DrmFormatModifierPropertiesList2EXT<'static>, drm_format_modifier_count))), OPT;
    }
    VkDrmFormatModifierPropertiesListEXT: vk::DrmFormatModifierPropertiesListEXT<'static> = Some(1000158000), Chained::Once, [] {
        drm_format_modifier_count: Ty::U32, Shape::Value, LEN;
        p_drm_format_modifier_properties: Ty::Struct(&super::structs_d::VkDrmFormatModifierPropertiesEXT), Shape::Array(Len::U32(offset_of!(vk::DrmFormatModifierPropertiesListEXT<'static>, drm_format_modifier_count))), OPT;
    }
    VkEventCreateInfo: vk::EventCreateInfo<'static> = Some(10), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
    }
    VkExportFenceCreateInfo: vk::ExportFenceCreateInfo<'static> = Some(1000113000), Chained::Once, [] {
        handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExportMemoryAllocateInfo: vk::ExportMemoryAllocateInfo<'static> = Some(1000072002), Chained::Once, [] {
        handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExportSemaphoreCreateInfo: vk::ExportSemaphoreCreateInfo<'static> = Some(1000077000), Chained::Once, [] {
        handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExtensionProperties: vk::ExtensionProperties = None, Chained::Once, [] {
        extension_name: Ty::U8, Shape::Static(256), 0;
        spec_version: Ty::U32, Shape::Value, 0;
    }
    VkExtent2D: vk::Extent2D = None, Chained::Once, [] {
        width: Ty::U32, Shape::Value, 0;
        height: Ty::U32, Shape::Value, 0;
    }
    VkExtent3D: vk::Extent3D = None, Chained::Once, [] {
        width: Ty::U32, Shape::Value, 0;
        height: Ty::U32, Shape::Value, 0;
        depth: Ty::U32, Shape::Value, 0;
    }
    VkExternalBufferProperties: vk::ExternalBufferProperties<'static> = Some(1000071003), Chained::Once, [] {
        external_memory_properties: Ty::Struct(&super::structs_d::VkExternalMemoryProperties), Shape::Value, 0;
    }
    VkExternalFenceProperties: vk::ExternalFenceProperties<'static> = Some(1000112001), Chained::Once, [] {
        export_from_imported_handle_types: Ty::U32, Shape::Value, 0;
        compatible_handle_types: Ty::U32, Shape::Value, 0;
        external_fence_features: Ty::U32, Shape::Value, 0;
    }
    VkExternalImageFormatProperties: vk::ExternalImageFormatProperties<'static> = Some(1000071001), Chained::Once, [] {
        external_memory_properties: Ty::Struct(&super::structs_d::VkExternalMemoryProperties), Shape::Value, 0;
    }
    VkExternalMemoryAcquireUnmodifiedEXT: vk::ExternalMemoryAcquireUnmodifiedEXT<'static> = Some(1000453000), Chained::Once, [] {
        acquire_unmodified_memory: Ty::U32, Shape::Value, 0;
    }
    VkExternalMemoryBufferCreateInfo: vk::ExternalMemoryBufferCreateInfo<'static> = Some(1000072000), Chained::Once, [] {
        handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExternalMemoryImageCreateInfo: vk::ExternalMemoryImageCreateInfo<'static> = Some(1000072001), Chained::Once, [] {
        handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExternalMemoryProperties: vk::ExternalMemoryProperties = None, Chained::Once, [] {
        external_memory_features: Ty::U32, Shape::Value, 0;
        export_from_imported_handle_types: Ty::U32, Shape::Value, 0;
        compatible_handle_types: Ty::U32, Shape::Value, 0;
    }
    VkExternalSemaphoreProperties: vk::ExternalSemaphoreProperties<'static> = Some(1000076001), Chained::Once, [] {
        export_from_imported_handle_types: Ty::U32, Shape::Value, 0;
        compatible_handle_types: Ty::U32, Shape::Value, 0;
        external_semaphore_features: Ty::U32, Shape::Value, 0;
    }
    VkFenceCreateInfo: vk::FenceCreateInfo<'static> = Some(8), Chained::Once, [
        &super::structs_d::VkExportFenceCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
    }
    VkFormatProperties: vk::FormatProperties = None, Chained::Once, [] {
        linear_tiling_features: Ty::U32, Shape::Value, 0;
        optimal_tiling_features: Ty::U32, Shape::Value, 0;
        buffer_features: Ty::U32, Shape::Value, 0;
    }
    VkFormatProperties2: vk::FormatProperties2<'static> = Some(1000059002), Chained::Once, [
        &super::structs_d::VkDrmFormatModifierPropertiesListEXT,
        &super::structs_d::VkDrmFormatModifierPropertiesList2EXT,
        &super::structs_d::VkFormatProperties3,
    ] {
        format_properties: Ty::Struct(&super::structs_d::VkFormatProperties), Shape::Value, 0;
    }
    VkFormatProperties3: vk::FormatProperties3<'static> = Some(1000360000), Chained::Once, [] {
        linear_tiling_features: Ty::U64, Shape::Value, 0;
        optimal_tiling_features: Ty::U64, Shape::Value, 0;
        buffer_features: Ty::U64, Shape::Value, 0;
    }
    VkFragmentShadingRateAttachmentInfoKHR: vk::FragmentShadingRateAttachmentInfoKHR<'static> = Some(1000226000), Chained::Once, [] {
        p_fragment_shading_rate_attachment: Ty::Struct(&super::structs_a::VkAttachmentReference2), Shape::Ptr, OPT;
        shading_rate_attachment_texel_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Value, 0;
    }
    VkFramebufferAttachmentImageInfo: vk::FramebufferAttachmentImageInfo<'static> = Some(1000108002), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        width: Ty::U32, Shape::Value, 0;
        height: Ty::U32, Shape::Value, 0;
        layer_count: Ty::U32, Shape::Value, 0;
        view_format_count: Ty::U32, Shape::Value, LEN;
        p_view_formats: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::FramebufferAttachmentImageInfo<'static>, view_format_count))), 0;
    }
    VkFramebufferAttachmentsCreateInfo: vk::FramebufferAttachmentsCreateInfo<'static> = Some(1000108001), Chained::Once, [] {
        attachment_image_info_count: Ty::U32, Shape::Value, LEN;
        p_attachment_image_infos: Ty::Struct(&super::structs_d::VkFramebufferAttachmentImageInfo), Shape::Array(Len::U32(offset_of!(vk::FramebufferAttachmentsCreateInfo<'static>, attachment_image_info_count))), 0;
    }
    VkFramebufferCreateInfo: vk::FramebufferCreateInfo<'static> = Some(37), Chained::Once, [
        &super::structs_d::VkFramebufferAttachmentsCreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Array(Len::U32(offset_of!(vk::FramebufferCreateInfo<'static>, attachment_count))), OPT;
        width: Ty::U32, Shape::Value, 0;
        height: Ty::U32, Shape::Value, 0;
        layers: Ty::U32, Shape::Value, 0;
    }
    VkGraphicsPipelineCreateInfo: vk::GraphicsPipelineCreateInfo<'static> = Some(28), Chained::Once, [
        &super::structs_p::VkPipelineRenderingCreateInfo,
        &super::structs_p::VkPipelineCreationFeedbackCreateInfo,
        &super::structs_p::VkPipelineFragmentShadingRateStateCreateInfoKHR,
        &super::structs_p::VkPipelineLibraryCreateInfoKHR,
        &super::structs_d::VkGraphicsPipelineLibraryCreateInfoEXT,
        &super::structs_p::VkPipelineCreateFlags2CreateInfo,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        stage_count: Ty::U32, Shape::Value, LEN;
        p_stages: Ty::Struct(&super::structs_p::VkPipelineShaderStageCreateInfo), Shape::Array(Len::U32(offset_of!(vk::GraphicsPipelineCreateInfo<'static>, stage_count))), OPT;
        p_vertex_input_state: Ty::Struct(&super::structs_p::VkPipelineVertexInputStateCreateInfo), Shape::Ptr, OPT;
        p_input_assembly_state: Ty::Struct(&super::structs_p::VkPipelineInputAssemblyStateCreateInfo), Shape::Ptr, OPT;
        p_tessellation_state: Ty::Struct(&super::structs_p::VkPipelineTessellationStateCreateInfo), Shape::Ptr, OPT;
        p_viewport_state: Ty::Struct(&super::structs_p::VkPipelineViewportStateCreateInfo), Shape::Ptr, OPT;
        p_rasterization_state: Ty::Struct(&super::structs_p::VkPipelineRasterizationStateCreateInfo), Shape::Ptr, OPT;
        p_multisample_state: Ty::Struct(&super::structs_p::VkPipelineMultisampleStateCreateInfo), Shape::Ptr, OPT;
        p_depth_stencil_state: Ty::Struct(&super::structs_p::VkPipelineDepthStencilStateCreateInfo), Shape::Ptr, OPT;
        p_color_blend_state: Ty::Struct(&super::structs_p::VkPipelineColorBlendStateCreateInfo), Shape::Ptr, OPT;
        p_dynamic_state: Ty::Struct(&super::structs_p::VkPipelineDynamicStateCreateInfo), Shape::Ptr, OPT;
        layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        subpass: Ty::U32, Shape::Value, 0;
        base_pipeline_handle: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Value, 0;
        base_pipeline_index: Ty::U32, Shape::Value, 0;
    }
    VkGraphicsPipelineLibraryCreateInfoEXT: vk::GraphicsPipelineLibraryCreateInfoEXT<'static> = Some(1000320002), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
    }
}
