//! What some of the structures look like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::struct_tables! {
    VkImageAlignmentControlCreateInfoMESA: mesa::VkImageAlignmentControlCreateInfoMESA = Some(1000575002), Chained::Once, [] {
        maximum_requested_alignment: Ty::U32, Shape::Value, 0;
    }
    VkImageBlit: vk::ImageBlit = None, Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offsets: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Static(2), 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offsets: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Static(2), 0;
    }
    VkImageBlit2: vk::ImageBlit2<'static> = Some(1000337008), Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offsets: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Static(2), 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offsets: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Static(2), 0;
    }
    VkImageCopy: vk::ImageCopy = None, Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkImageCopy2: vk::ImageCopy2<'static> = Some(1000337007), Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkImageCreateInfo: vk::ImageCreateInfo<'static> = Some(14), Chained::Once, [
        &super::structs_d::VkExternalMemoryImageCreateInfo,
        &super::structs_i::VkImageFormatListCreateInfo,
        &super::structs_i::VkImageDrmFormatModifierListCreateInfoEXT,
        &super::structs_i::VkImageDrmFormatModifierExplicitCreateInfoEXT,
        &super::structs_i::VkImageStencilUsageCreateInfo,
        &super::structs_i::VkImageAlignmentControlCreateInfoMESA,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        image_type: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
        mip_levels: Ty::U32, Shape::Value, 0;
        array_layers: Ty::U32, Shape::Value, 0;
        samples: Ty::U32, Shape::Value, 0;
        tiling: Ty::U32, Shape::Value, 0;
        usage: Ty::U32, Shape::Value, 0;
        sharing_mode: Ty::U32, Shape::Value, 0;
        queue_family_index_count: Ty::U32, Shape::Value, LEN;
        p_queue_family_indices: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::ImageCreateInfo<'static>, queue_family_index_count))), OPT;
        initial_layout: Ty::U32, Shape::Value, 0;
    }
    VkImageDrmFormatModifierExplicitCreateInfoEXT: vk::ImageDrmFormatModifierExplicitCreateInfoEXT<'static> = Some(1000158004), Chained::Once, [] {
        drm_format_modifier: Ty::U64, Shape::Value, 0;
        drm_format_modifier_plane_count: Ty::U32, Shape::Value, LEN;
        p_plane_layouts: Ty::Struct(&super::structs_q::VkSubresourceLayout), Shape::Array(Len::U32(offset_of!(vk::ImageDrmFormatModifierExplicitCreateInfoEXT<'static>, drm_format_modifier_plane_count))), 0;
    }
    VkImageDrmFormatModifierListCreateInfoEXT: vk::ImageDrmFormatModifierListCreateInfoEXT<'static> = Some(1000158003), Chained::Once, [] {
        drm_format_modifier_count: Ty::U32, Shape::Value, LEN;
        p_drm_format_modifiers: Ty::U64, Shape::Array(Len::U32(offset_of!(vk::ImageDrmFormatModifierListCreateInfoEXT<'static>, drm_format_modifier_count))), 0;
    }
    VkImageDrmFormatModifierPropertiesEXT: vk::ImageDrmFormatModifierPropertiesEXT<'static> = Some(1000158005), Chained::Once, [] {
        drm_format_modifier: Ty::U64, Shape::Value, 0;
    }
    VkImageFormatListCreateInfo: vk::ImageFormatListCreateInfo<'static> = Some(1000147000), Chained::Once, [] {
        view_format_count: Ty::U32, Shape::Value, LEN;
        p_view_formats: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::ImageFormatListCreateInfo<'static>, view_format_count))), 0;
    }
    VkImageFormatProperties: vk::ImageFormatProperties = None, Chained::Once, [] {
        max_extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
        max_mip_levels: Ty::U32, Shape::Value, 0;
        max_array_layers: Ty::U32, Shape::Value, 0;
        sample_counts: Ty::U32, Shape::Value, 0;
        max_resource_size: Ty::U64, Shape::Value, 0;
    }
    VkImageFormatProperties2: vk::ImageFormatProperties2<'static> = Some(1000059003), Chained::Once, [
        &super::structs_d::VkExternalImageFormatProperties,
        &super::structs_q::VkSamplerYcbcrConversionImageFormatProperties,
    ] {
        image_format_properties: Ty::Struct(&super::structs_i::VkImageFormatProperties), Shape::Value, 0;
    }
    VkImageMemoryBarrier: vk::ImageMemoryBarrier<'static> = Some(45), Chained::Once, [
        &super::structs_d::VkExternalMemoryAcquireUnmodifiedEXT,
    ] {
        src_access_mask: Ty::U32, Shape::Value, 0;
        dst_access_mask: Ty::U32, Shape::Value, 0;
        old_layout: Ty::U32, Shape::Value, 0;
        new_layout: Ty::U32, Shape::Value, 0;
        src_queue_family_index: Ty::U32, Shape::Value, 0;
        dst_queue_family_index: Ty::U32, Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        subresource_range: Ty::Struct(&super::structs_i::VkImageSubresourceRange), Shape::Value, 0;
    }
    VkImageMemoryBarrier2: vk::ImageMemoryBarrier2<'static> = Some(1000314002), Chained::Once, [
        &super::structs_d::VkExternalMemoryAcquireUnmodifiedEXT,
    ] {
        src_stage_mask: Ty::U64, Shape::Value, 0;
        src_access_mask: Ty::U64, Shape::Value, 0;
        dst_stage_mask: Ty::U64, Shape::Value, 0;
        dst_access_mask: Ty::U64, Shape::Value, 0;
        old_layout: Ty::U32, Shape::Value, 0;
        new_layout: Ty::U32, Shape::Value, 0;
        src_queue_family_index: Ty::U32, Shape::Value, 0;
        dst_queue_family_index: Ty::U32, Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        subresource_range: Ty::Struct(&super::structs_i::VkImageSubresourceRange), Shape::Value, 0;
    }
    VkImageMemoryRequirementsInfo2: vk::ImageMemoryRequirementsInfo2<'static> = Some(1000146001), Chained::Once, [
        &super::structs_i::VkImagePlaneMemoryRequirementsInfo,
    ] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
    }
    VkImagePlaneMemoryRequirementsInfo: vk::ImagePlaneMemoryRequirementsInfo<'static> = Some(1000156003), Chained::Once, [] {
        plane_aspect: Ty::U32, Shape::Value, 0;
    }
    VkImageResolve: vk::ImageResolve = None, Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkImageResolve2: vk::ImageResolve2<'static> = Some(1000337010), Chained::Once, [] {
        src_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        src_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        dst_subresource: Ty::Struct(&super::structs_i::VkImageSubresourceLayers), Shape::Value, 0;
        dst_offset: Ty::Struct(&super::structs_i::VkOffset3D), Shape::Value, 0;
        extent: Ty::Struct(&super::structs_d::VkExtent3D), Shape::Value, 0;
    }
    VkImageSparseMemoryRequirementsInfo2: vk::ImageSparseMemoryRequirementsInfo2<'static> = Some(1000146002), Chained::Once, [] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
    }
    VkImageStencilUsageCreateInfo: vk::ImageStencilUsageCreateInfo<'static> = Some(1000246000), Chained::Once, [] {
        stencil_usage: Ty::U32, Shape::Value, 0;
    }
    VkImageSubresource: vk::ImageSubresource = None, Chained::Once, [] {
        aspect_mask: Ty::U32, Shape::Value, 0;
        mip_level: Ty::U32, Shape::Value, 0;
        array_layer: Ty::U32, Shape::Value, 0;
    }
    VkImageSubresource2: vk::ImageSubresource2KHR<'static> = Some(1000338003), Chained::Once, [] {
        image_subresource: Ty::Struct(&super::structs_i::VkImageSubresource), Shape::Value, 0;
    }
    VkImageSubresourceLayers: vk::ImageSubresourceLayers = None, Chained::Once, [] {
        aspect_mask: Ty::U32, Shape::Value, 0;
        mip_level: Ty::U32, Shape::Value, 0;
        base_array_layer: Ty::U32, Shape::Value, 0;
        layer_count: Ty::U32, Shape::Value, 0;
    }
    VkImageSubresourceRange: vk::ImageSubresourceRange = None, Chained::Once, [] {
        aspect_mask: Ty::U32, Shape::Value, 0;
        base_mip_level: Ty::U32, Shape::Value, 0;
        level_count: Ty::U32, Shape::Value, 0;
        base_array_layer: Ty::U32, Shape::Value, 0;
        layer_count: Ty::U32, Shape::Value, 0;
    }
    VkImageViewCreateInfo: vk::ImageViewCreateInfo<'static> = Some(15), Chained::Once, [
        &super::structs_i::VkImageViewUsageCreateInfo,
        &super::structs_q::VkSamplerYcbcrConversionInfo,
        &super::structs_i::VkImageViewMinLodCreateInfoEXT,
    ] {
        flags: Ty::U32, Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        view_type: Ty::U32, Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        components: Ty::Struct(&super::structs_a::VkComponentMapping), Shape::Value, 0;
        subresource_range: Ty::Struct(&super::structs_i::VkImageSubresourceRange), Shape::Value, 0;
    }
    VkImageViewMinLodCreateInfoEXT: vk::ImageViewMinLodCreateInfoEXT<'static> = Some(1000391001), Chained::Once, [] {
        min_lod: Ty::U32, Shape::Value, 0;
    }
    VkImageViewUsageCreateInfo: vk::ImageViewUsageCreateInfo<'static> = Some(1000117002), Chained::Once, [] {
        usage: Ty::U32, Shape::Value, 0;
    }
    VkImportMemoryFdInfoKHR: vk::ImportMemoryFdInfoKHR<'static> = Some(1000074000), Chained::Dropped, [] {
        handle_type: Ty::U32, Shape::Value, 0;
        fd: Ty::U32, Shape::Value, 0;
    }
    VkImportMemoryResourceInfoMESA: mesa::VkImportMemoryResourceInfoMESA = Some(1000384002), Chained::Once, [] {
        resource_id: Ty::U32, Shape::Value, 0;
    }
    VkImportSemaphoreResourceInfoMESA: mesa::VkImportSemaphoreResourceInfoMESA = Some(1000384004), Chained::Once, [] {
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
        resource_id: Ty::U32, Shape::Value, 0;
    }
    VkInputAttachmentAspectReference: vk::InputAttachmentAspectReference = None, Chained::Once, [] {
        subpass: Ty::U32, Shape::Value, 0;
        input_attachment_index: Ty::U32, Shape::Value, 0;
        aspect_mask: Ty::U32, Shape::Value, 0;
    }
    VkInstanceCreateInfo: vk::InstanceCreateInfo<'static> = Some(1), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        p_application_info: Ty::Struct(&super::structs_a::VkApplicationInfo), Shape::Ptr, OPT;
        enabled_layer_count: Ty::U32, Shape::Value, LEN;
        pp_enabled_layer_names: Ty::U8, Shape::Strs(Len::U32(offset_of!(vk::InstanceCreateInfo<'static>, enabled_layer_count))), 0;
        enabled_extension_count: Ty::U32, Shape::Value, LEN;
        pp_enabled_extension_names: Ty::U8, Shape::Strs(Len::U32(offset_of!(vk::InstanceCreateInfo<'static>, enabled_extension_count))), 0;
    }
    VkMemoryAllocateFlagsInfo: vk::MemoryAllocateFlagsInfo<'static> = Some(1000060000), Chained::Once, [] {
        flags: Ty::U32, Shape::Value, 0;
        device_mask: Ty::U32, Shape::Value, 0;
    }
    VkMemoryAllocateInfo: vk::MemoryAllocateInfo<'static> = Some(5), Chained::Once, [
        &super::structs_i::VkMemoryAllocateFlagsInfo,
        &super::structs_d::VkExportMemoryAllocateInfo,
        &super::structs_i::VkImportMemoryFdInfoKHR,
        &super::structs_i::VkMemoryDedicatedAllocateInfo,
        &super::structs_i::VkMemoryOpaqueCaptureAddressAllocateInfo,
        &super::structs_i::VkImportMemoryResourceInfoMESA,
    ] {
        allocation_size: Ty::U64, Shape::Value, 0;
        memory_type_index: Ty::U32, Shape::Value, 0;
    }
    VkMemoryBarrier: vk::MemoryBarrier<'static> = Some(46), Chained::Once, [] {
        src_access_mask: Ty::U32, Shape::Value, 0;
        dst_access_mask: Ty::U32, Shape::Value, 0;
    }
    VkMemoryBarrier2: vk::MemoryBarrier2<'static> = Some(1000314000), Chained::Once, [] {
        src_stage_mask: Ty::U64, Shape::Value, 0;
        src_access_mask: Ty::U64, Shape::Value, 0;
        dst_stage_mask: Ty::U64, Shape::Value, 0;
        dst_access_mask: Ty::U64, Shape::Value, 0;
    }
    VkMemoryDedicatedAllocateInfo: vk::MemoryDedicatedAllocateInfo<'static> = Some(1000127001), Chained::Once, [] {
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
    }
    VkMemoryDedicatedRequirements: vk::MemoryDedicatedRequirements<'static> = Some(1000127000), Chained::Once, [] {
        prefers_dedicated_allocation: Ty::U32, Shape::Value, 0;
        requires_dedicated_allocation: Ty::U32, Shape::Value, 0;
    }
    VkMemoryHeap: vk::MemoryHeap = None, Chained::Once, [] {
        size: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    }
    VkMemoryOpaqueCaptureAddressAllocateInfo: vk::MemoryOpaqueCaptureAddressAllocateInfo<'static> = Some(1000257003), Chained::Once, [] {
        opaque_capture_address: Ty::U64, Shape::Value, 0;
    }
    VkMemoryRequirements: vk::MemoryRequirements = None, Chained::Once, [] {
        size: Ty::U64, Shape::Value, 0;
        alignment: Ty::U64, Shape::Value, 0;
        memory_type_bits: Ty::U32, Shape::Value, 0;
    }
    VkMemoryRequirements2: vk::MemoryRequirements2<'static> = Some(1000146003), Chained::Once, [
        &super::structs_i::VkMemoryDedicatedRequirements,
    ] {
        memory_requirements: Ty::Struct(&super::structs_i::VkMemoryRequirements), Shape::Value, 0;
    }
    VkMemoryResourceAllocationSizePropertiesMESA: mesa::VkMemoryResourceAllocationSizePropertiesMESA = Some(1000384003), Chained::Once, [] {
        allocation_size: Ty::U64, Shape::Value, 0;
    }
    VkMemoryResourcePropertiesMESA: mesa::VkMemoryResourcePropertiesMESA = Some(1000384001), Chained::Once, [
        &super::structs_i::VkMemoryResourceAllocationSizePropertiesMESA,
    ] {
        memory_type_bits: Ty::U32, Shape::Value, 0;
    }
    VkMemoryType: vk::MemoryType = None, Chained::Once, [] {
        property_flags: Ty::U32, Shape::Value, 0;
        heap_index: Ty::U32, Shape::Value, 0;
    }
    VkMultiDrawIndexedInfoEXT: vk::MultiDrawIndexedInfoEXT = None, Chained::Once, [] {
        first_index: Ty::U32, Shape::Value, 0;
        index_count: Ty::U32, Shape::Value, 0;
        vertex_offset: Ty::U32, Shape::Value, 0;
    }
    VkMultiDrawInfoEXT: vk::MultiDrawInfoEXT = None, Chained::Once, [] {
        first_vertex: Ty::U32, Shape::Value, 0;
        vertex_count: Ty::U32, Shape::Value, 0;
    }
    VkMutableDescriptorTypeCreateInfoEXT: vk::MutableDescriptorTypeCreateInfoEXT<'static> = Some(1000351002), Chained::Once, [] {
        mutable_descriptor_type_list_count: Ty::U32, Shape::Value, LEN;
        p_mutable_descriptor_type_lists: Ty::Struct(&super::structs_i::VkMutableDescriptorTypeListEXT), Shape::Array(Len::U32(offset_of!(vk::MutableDescriptorTypeCreateInfoEXT<'static>, mutable_descriptor_type_list_count))), 0;
    }
    VkMutableDescriptorTypeListEXT: vk::MutableDescriptorTypeListEXT<'static> = None, Chained::Once, [] {
        descriptor_type_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_types: Ty::U32, Shape::Array(Len::U32(offset_of!(vk::MutableDescriptorTypeListEXT<'static>, descriptor_type_count))), 0;
    }
    VkOffset2D: vk::Offset2D = None, Chained::Once, [] {
        x: Ty::U32, Shape::Value, 0;
        y: Ty::U32, Shape::Value, 0;
    }
    VkOffset3D: vk::Offset3D = None, Chained::Once, [] {
        x: Ty::U32, Shape::Value, 0;
        y: Ty::U32, Shape::Value, 0;
        z: Ty::U32, Shape::Value, 0;
    }
}
