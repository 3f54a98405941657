//! The structures that the Venus protocol adds to Vulkan.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::ffi::c_void;

use ash::vk;

crate::macros::mesa! {
    VkCommandStreamDependencyMESA {
        src_command_stream: u32,
        dst_command_stream: u32,
    }
    VkCommandStreamDescriptionMESA {
        resource_id: u32,
        offset: usize,
        size: usize,
    }
    VkDeviceQueueTimelineInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        ring_idx: u32,
    }
    VkImageAlignmentControlCreateInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        maximum_requested_alignment: u32,
    }
    VkImportMemoryResourceInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        resource_id: u32,
    }
    VkImportSemaphoreResourceInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        semaphore: vk::Semaphore,
        resource_id: u32,
    }
    VkMemoryResourceAllocationSizePropertiesMESA {
        s_type: vk::StructureType,
        p_next: *mut c_void,
        allocation_size: u64,
    }
    VkMemoryResourcePropertiesMESA {
        s_type: vk::StructureType,
        p_next: *mut c_void,
        memory_type_bits: u32,
    }
    VkPhysicalDeviceImageAlignmentControlFeaturesMESA {
        s_type: vk::StructureType,
        p_next: *mut c_void,
        image_alignment_control: vk::Bool32,
    }
    VkPhysicalDeviceImageAlignmentControlPropertiesMESA {
        s_type: vk::StructureType,
        p_next: *mut c_void,
        supported_image_alignment_mask: u32,
    }
    VkRingCreateInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        flags: u32,
        resource_id: u32,
        offset: usize,
        size: usize,
        idle_timeout: u64,
        head_offset: usize,
        tail_offset: usize,
        status_offset: usize,
        buffer_offset: usize,
        buffer_size: usize,
        extra_offset: usize,
        extra_size: usize,
    }
    VkRingMonitorInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        max_reporting_period_microseconds: u32,
    }
    VkRingPriorityInfoMESA {
        s_type: vk::StructureType,
        p_next: *const c_void,
        priority: i32,
    }
}
