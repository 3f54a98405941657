//! What each command looks like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::args;

crate::macros::command_tables! {
    VkCreateInstance = 0 {
        p_create_info: Ty::Struct(&super::structs_i::VkInstanceCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_instance: Ty::Handle(vk::ObjectType::INSTANCE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyInstance = 1 {
        instance: Ty::Handle(vk::ObjectType::INSTANCE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkEnumeratePhysicalDevices = 2 {
        instance: Ty::Handle(vk::ObjectType::INSTANCE), Shape::Value, 0;
        p_physical_device_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_physical_devices: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Array(Len::PtrU32(offset_of!(args::VkEnumeratePhysicalDevices, p_physical_device_count))), OPT | OUT;
    } -> Ty::U32;
    VkGetPhysicalDeviceProperties = 6 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceProperties), Shape::Ptr, OUT;
    };
    VkCreateDevice = 11 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkDeviceCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyDevice = 12 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkEnumerateDeviceExtensionProperties = 14 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_layer_name: Ty::U8, Shape::Str, OPT;
        p_property_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_properties: Ty::Struct(&super::structs_d::VkExtensionProperties), Shape::Array(Len::PtrU32(offset_of!(args::VkEnumerateDeviceExtensionProperties, p_property_count))), OPT | OUT;
    } -> Ty::U32;
    VkQueueSubmit = 18 {
        queue: Ty::Handle(vk::ObjectType::QUEUE), Shape::Value, 0;
        submit_count: Ty::U32, Shape::Value, LEN;
        p_submits: Ty::Struct(&super::structs_q::VkSubmitInfo), Shape::Array(Len::U32(offset_of!(args::VkQueueSubmit, submit_count))), 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
    } -> Ty::U32;
    VkAllocateMemory = 21 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_allocate_info: Ty::Struct(&super::structs_i::VkMemoryAllocateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkFreeMemory = 22 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetDeviceMemoryCommitment = 27 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        memory: Ty::Handle(vk::ObjectType::DEVICE_MEMORY), Shape::Value, 0;
        p_committed_memory_in_bytes: Ty::U64, Shape::Ptr, OUT;
    };
    VkQueueBindSparse = 34 {
        queue: Ty::Handle(vk::ObjectType::QUEUE), Shape::Value, 0;
        bind_info_count: Ty::U32, Shape::Value, LEN;
        p_bind_info: Ty::Struct(&super::structs_a::VkBindSparseInfo), Shape::Array(Len::U32(offset_of!(args::VkQueueBindSparse, bind_info_count))), 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
    } -> Ty::U32;
    VkCreateFence = 35 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkFenceCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyFence = 36 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkResetFences = 37 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        fence_count: Ty::U32, Shape::Value, LEN;
        p_fences: Ty::Handle(vk::ObjectType::FENCE), Shape::Array(Len::U32(offset_of!(args::VkResetFences, fence_count))), 0;
    } -> Ty::U32;
    VkGetFenceStatus = 38 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
    } -> Ty::U32;
    VkWaitForFences = 39 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        fence_count: Ty::U32, Shape::Value, LEN;
        p_fences: Ty::Handle(vk::ObjectType::FENCE), Shape::Array(Len::U32(offset_of!(args::VkWaitForFences, fence_count))), 0;
        wait_all: Ty::U32, Shape::Value, 0;
        timeout: Ty::U64, Shape::Value, 0;
    } -> Ty::U32;
    VkCreateSemaphore = 40 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkSemaphoreCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroySemaphore = 41 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateEvent = 42 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkEventCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_event: Ty::Handle(vk::ObjectType::EVENT), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyEvent = 43 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetEventStatus = 44 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
    } -> Ty::U32;
    VkSetEvent = 45 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
    } -> Ty::U32;
    VkResetEvent = 46 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
    } -> Ty::U32;
    VkCreateQueryPool = 47 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkQueryPoolCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyQueryPool = 48 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetQueryPoolResults = 49 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        first_query: Ty::U32, Shape::Value, 0;
        query_count: Ty::U32, Shape::Value, 0;
        data_size: Ty::U64, Shape::Value, LEN;
        p_data: Ty::U8, Shape::Array(Len::U64(offset_of!(args::VkGetQueryPoolResults, data_size))), OUT;
        stride: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    } -> Ty::U32;
    VkCreateBuffer = 50 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_a::VkBufferCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyBuffer = 51 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateBufferView = 52 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_a::VkBufferViewCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_view: Ty::Handle(vk::ObjectType::BUFFER_VIEW), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyBufferView = 53 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        buffer_view: Ty::Handle(vk::ObjectType::BUFFER_VIEW), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateImage = 54 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_i::VkImageCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyImage = 55 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetImageSubresourceLayout = 56 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        p_subresource: Ty::Struct(&super::structs_i::VkImageSubresource), Shape::Ptr, 0;
        p_layout: Ty::Struct(&super::structs_q::VkSubresourceLayout), Shape::Ptr, OUT;
    };
    VkCreateImageView = 57 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_i::VkImageViewCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyImageView = 58 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        image_view: Ty::Handle(vk::ObjectType::IMAGE_VIEW), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateShaderModule = 59 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkShaderModuleCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_shader_module: Ty::Handle(vk::ObjectType::SHADER_MODULE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyShaderModule = 60 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        shader_module: Ty::Handle(vk::ObjectType::SHADER_MODULE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreatePipelineCache = 61 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_p::VkPipelineCacheCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_pipeline_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyPipelineCache = 62 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetPipelineCacheData = 63 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Value, 0;
        p_data_size: Ty::U64, Shape::Ptr, LEN | OUT | INOUT;
        p_data: Ty::U8, Shape::Array(Len::PtrU64(offset_of!(args::VkGetPipelineCacheData, p_data_size))), OPT | OUT;
    } -> Ty::U32;
    VkMergePipelineCaches = 64 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        dst_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Value, 0;
        src_cache_count: Ty::U32, Shape::Value, LEN;
        p_src_caches: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Array(Len::U32(offset_of!(args::VkMergePipelineCaches, src_cache_count))), 0;
    } -> Ty::U32;
    VkCreateGraphicsPipelines = 65 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Value, 0;
        create_info_count: Ty::U32, Shape::Value, LEN;
        p_create_infos: Ty::Struct(&super::structs_d::VkGraphicsPipelineCreateInfo), Shape::Array(Len::U32(offset_of!(args::VkCreateGraphicsPipelines, create_info_count))), 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_pipelines: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Array(Len::U32(offset_of!(args::VkCreateGraphicsPipelines, create_info_count))), OUT;
    } -> Ty::U32;
    VkCreateComputePipelines = 66 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline_cache: Ty::Handle(vk::ObjectType::PIPELINE_CACHE), Shape::Value, 0;
        create_info_count: Ty::U32, Shape::Value, LEN;
        p_create_infos: Ty::Struct(&super::structs_a::VkComputePipelineCreateInfo), Shape::Array(Len::U32(offset_of!(args::VkCreateComputePipelines, create_info_count))), 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_pipelines: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Array(Len::U32(offset_of!(args::VkCreateComputePipelines, create_info_count))), OUT;
    } -> Ty::U32;
    VkDestroyPipeline = 67 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreatePipelineLayout = 68 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_p::VkPipelineLayoutCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_pipeline_layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyPipelineLayout = 69 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        pipeline_layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateSampler = 70 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkSamplerCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_sampler: Ty::Handle(vk::ObjectType::SAMPLER), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroySampler = 71 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        sampler: Ty::Handle(vk::ObjectType::SAMPLER), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateDescriptorSetLayout = 72 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkDescriptorSetLayoutCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_set_layout: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET_LAYOUT), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyDescriptorSetLayout = 73 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        descriptor_set_layout: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET_LAYOUT), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateDescriptorPool = 74 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkDescriptorPoolCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_descriptor_pool: Ty::Handle(vk::ObjectType::DESCRIPTOR_POOL), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyDescriptorPool = 75 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        descriptor_pool: Ty::Handle(vk::ObjectType::DESCRIPTOR_POOL), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkResetDescriptorPool = 76 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        descriptor_pool: Ty::Handle(vk::ObjectType::DESCRIPTOR_POOL), Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    } -> Ty::U32;
    VkAllocateDescriptorSets = 77 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_allocate_info: Ty::Struct(&super::structs_d::VkDescriptorSetAllocateInfo), Shape::Ptr, LEN;
        p_descriptor_sets: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Array(Len::InU32(offset_of!(args::VkAllocateDescriptorSets, p_allocate_info), offset_of!(vk::DescriptorSetAllocateInfo<'static>, descriptor_set_count))), OUT;
    } -> Ty::U32;
    VkFreeDescriptorSets = 78 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        descriptor_pool: Ty::Handle(vk::ObjectType::DESCRIPTOR_POOL), Shape::Value, 0;
        descriptor_set_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_sets: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Array(Len::U32(offset_of!(args::VkFreeDescriptorSets, descriptor_set_count))), OPT;
    } -> Ty::U32;
    VkUpdateDescriptorSets = 79 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        descriptor_write_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_writes: Ty::Struct(&super::structs_q::VkWriteDescriptorSet), Shape::Array(Len::U32(offset_of!(args::VkUpdateDescriptorSets, descriptor_write_count))), 0;
        descriptor_copy_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_copies: Ty::Struct(&super::structs_a::VkCopyDescriptorSet), Shape::Array(Len::U32(offset_of!(args::VkUpdateDescriptorSets, descriptor_copy_count))), 0;
    };
    VkCreateFramebuffer = 80 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkFramebufferCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_framebuffer: Ty::Handle(vk::ObjectType::FRAMEBUFFER), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyFramebuffer = 81 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        framebuffer: Ty::Handle(vk::ObjectType::FRAMEBUFFER), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkCreateRenderPass = 82 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkRenderPassCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyRenderPass = 83 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetRenderAreaGranularity = 84 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Value, 0;
        p_granularity: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Ptr, OUT;
    };
    VkCreateCommandPool = 85 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_a::VkCommandPoolCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroyCommandPool = 86 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkResetCommandPool = 87 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    } -> Ty::U32;
    VkAllocateCommandBuffers = 88 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_allocate_info: Ty::Struct(&super::structs_a::VkCommandBufferAllocateInfo), Shape::Ptr, LEN;
        p_command_buffers: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Array(Len::InU32(offset_of!(args::VkAllocateCommandBuffers, p_allocate_info), offset_of!(vk::CommandBufferAllocateInfo<'static>, command_buffer_count))), OUT;
    } -> Ty::U32;
    VkFreeCommandBuffers = 89 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Value, 0;
        command_buffer_count: Ty::U32, Shape::Value, LEN;
        p_command_buffers: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Array(Len::U32(offset_of!(args::VkFreeCommandBuffers, command_buffer_count))), OPT;
    };
    VkBeginCommandBuffer = 90 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_begin_info: Ty::Struct(&super::structs_a::VkCommandBufferBeginInfo), Shape::Ptr, 0;
    } -> Ty::U32;
    VkEndCommandBuffer = 91 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
    } -> Ty::U32;
    VkResetCommandBuffer = 92 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    } -> Ty::U32;
    VkCmdBindPipeline = 93 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        pipeline_bind_point: Ty::U32, Shape::Value, 0;
        pipeline: Ty::Handle(vk::ObjectType::PIPELINE), Shape::Value, 0;
    };
    VkCmdSetViewport = 94 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_viewport: Ty::U32, Shape::Value, 0;
        viewport_count: Ty::U32, Shape::Value, LEN;
        p_viewports: Ty::Struct(&super::structs_q::VkViewport), Shape::Array(Len::U32(offset_of!(args::VkCmdSetViewport, viewport_count))), 0;
    };
    VkCmdSetScissor = 95 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_scissor: Ty::U32, Shape::Value, 0;
        scissor_count: Ty::U32, Shape::Value, LEN;
        p_scissors: Ty::Struct(&super::structs_q::VkRect2D), Shape::Array(Len::U32(offset_of!(args::VkCmdSetScissor, scissor_count))), 0;
    };
    VkCmdSetLineWidth = 96 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        line_width: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthBias = 97 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_bias_constant_factor: Ty::U32, Shape::Value, 0;
        depth_bias_clamp: Ty::U32, Shape::Value, 0;
        depth_bias_slope_factor: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetBlendConstants = 98 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        blend_constants: Ty::U32, Shape::Static(4), 0;
    };
    VkCmdSetDepthBounds = 99 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        min_depth_bounds: Ty::U32, Shape::Value, 0;
        max_depth_bounds: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetStencilCompareMask = 100 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        face_mask: Ty::U32, Shape::Value, 0;
        compare_mask: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetStencilWriteMask = 101 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        face_mask: Ty::U32, Shape::Value, 0;
        write_mask: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetStencilReference = 102 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        face_mask: Ty::U32, Shape::Value, 0;
        reference: Ty::U32, Shape::Value, 0;
    };
    VkCmdBindDescriptorSets = 103 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        pipeline_bind_point: Ty::U32, Shape::Value, 0;
        layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        first_set: Ty::U32, Shape::Value, 0;
        descriptor_set_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_sets: Ty::Handle(vk::ObjectType::DESCRIPTOR_SET), Shape::Array(Len::U32(offset_of!(args::VkCmdBindDescriptorSets, descriptor_set_count))), 0;
        dynamic_offset_count: Ty::U32, Shape::Value, LEN;
        p_dynamic_offsets: Ty::U32, Shape::Array(Len::U32(offset_of!(args::VkCmdBindDescriptorSets, dynamic_offset_count))), 0;
    };
    VkCmdBindIndexBuffer = 104 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        index_type: Ty::U32, Shape::Value, 0;
    };
    VkCmdBindVertexBuffers = 105 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_binding: Ty::U32, Shape::Value, 0;
        binding_count: Ty::U32, Shape::Value, LEN;
        p_buffers: Ty::Handle(vk::ObjectType::BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers, binding_count))), 0;
        p_offsets: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers, binding_count))), 0;
    };
    VkCmdDraw = 106 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        vertex_count: Ty::U32, Shape::Value, 0;
        instance_count: Ty::U32, Shape::Value, 0;
        first_vertex: Ty::U32, Shape::Value, 0;
        first_instance: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawIndexed = 107 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        index_count: Ty::U32, Shape::Value, 0;
        instance_count: Ty::U32, Shape::Value, 0;
        first_index: Ty::U32, Shape::Value, 0;
        vertex_offset: Ty::U32, Shape::Value, 0;
        first_instance: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawIndirect = 108 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        draw_count: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawIndexedIndirect = 109 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        draw_count: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
    };
    VkCmdDispatch = 110 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        group_count_x: Ty::U32, Shape::Value, 0;
        group_count_y: Ty::U32, Shape::Value, 0;
        group_count_z: Ty::U32, Shape::Value, 0;
    };
    VkCmdDispatchIndirect = 111 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
    };
    VkCmdCopyBuffer = 112 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferCopy), Shape::Array(Len::U32(offset_of!(args::VkCmdCopyBuffer, region_count))), 0;
    };
    VkCmdCopyImage = 113 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageCopy), Shape::Array(Len::U32(offset_of!(args::VkCmdCopyImage, region_count))), 0;
    };
    VkCmdBlitImage = 114 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageBlit), Shape::Array(Len::U32(offset_of!(args::VkCmdBlitImage, region_count))), 0;
        filter: Ty::U32, Shape::Value, 0;
    };
    VkCmdCopyBufferToImage = 115 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferImageCopy), Shape::Array(Len::U32(offset_of!(args::VkCmdCopyBufferToImage, region_count))), 0;
    };
    VkCmdCopyImageToBuffer = 116 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_a::VkBufferImageCopy), Shape::Array(Len::U32(offset_of!(args::VkCmdCopyImageToBuffer, region_count))), 0;
    };
    VkCmdUpdateBuffer = 117 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_offset: Ty::U64, Shape::Value, 0;
        data_size: Ty::U64, Shape::Value, LEN;
        p_data: Ty::U8, Shape::Array(Len::U64(offset_of!(args::VkCmdUpdateBuffer, data_size))), 0;
    };
    VkCmdFillBuffer = 118 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        data: Ty::U32, Shape::Value, 0;
    };
    VkCmdClearColorImage = 119 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        image_layout: Ty::U32, Shape::Value, 0;
        p_color: Ty::Union(&super::unions::VkClearColorValue), Shape::Ptr, OPT;
        range_count: Ty::U32, Shape::Value, LEN;
        p_ranges: Ty::Struct(&super::structs_i::VkImageSubresourceRange), Shape::Array(Len::U32(offset_of!(args::VkCmdClearColorImage, range_count))), 0;
    };
    VkCmdClearDepthStencilImage = 120 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        image_layout: Ty::U32, Shape::Value, 0;
        p_depth_stencil: Ty::Struct(&super::structs_a::VkClearDepthStencilValue), Shape::Ptr, 0;
        range_count: Ty::U32, Shape::Value, LEN;
        p_ranges: Ty::Struct(&super::structs_i::VkImageSubresourceRange), Shape::Array(Len::U32(offset_of!(args::VkCmdClearDepthStencilImage, range_count))), 0;
    };
    VkCmdClearAttachments = 121 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_attachments: Ty::Struct(&super::structs_a::VkClearAttachment), Shape::Array(Len::U32(offset_of!(args::VkCmdClearAttachments, attachment_count))), 0;
        rect_count: Ty::U32, Shape::Value, LEN;
        p_rects: Ty::Struct(&super::structs_a::VkClearRect), Shape::Array(Len::U32(offset_of!(args::VkCmdClearAttachments, rect_count))), 0;
    };
    VkCmdResolveImage = 122 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        src_image_layout: Ty::U32, Shape::Value, 0;
        dst_image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        dst_image_layout: Ty::U32, Shape::Value, 0;
        region_count: Ty::U32, Shape::Value, LEN;
        p_regions: Ty::Struct(&super::structs_i::VkImageResolve), Shape::Array(Len::U32(offset_of!(args::VkCmdResolveImage, region_count))), 0;
    };
    VkCmdSetEvent = 123 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
        stage_mask: Ty::U32, Shape::Value, 0;
    };
    VkCmdResetEvent = 124 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
        stage_mask: Ty::U32, Shape::Value, 0;
    };
    VkCmdWaitEvents = 125 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event_count: Ty::U32, Shape::Value, LEN;
        p_events: Ty::Handle(vk::ObjectType::EVENT), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents, event_count))), 0;
        src_stage_mask: Ty::U32, Shape::Value, 0;
        dst_stage_mask: Ty::U32, Shape::Value, 0;
        memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_memory_barriers: Ty::Struct(&super::structs_i::VkMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents, memory_barrier_count))), 0;
        buffer_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_buffer_memory_barriers: Ty::Struct(&super::structs_a::VkBufferMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents, buffer_memory_barrier_count))), 0;
        image_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_image_memory_barriers: Ty::Struct(&super::structs_i::VkImageMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents, image_memory_barrier_count))), 0;
    };
    VkCmdPipelineBarrier = 126 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        src_stage_mask: Ty::U32, Shape::Value, 0;
        dst_stage_mask: Ty::U32, Shape::Value, 0;
        dependency_flags: Ty::U32, Shape::Value, 0;
        memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_memory_barriers: Ty::Struct(&super::structs_i::VkMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdPipelineBarrier, memory_barrier_count))), 0;
        buffer_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_buffer_memory_barriers: Ty::Struct(&super::structs_a::VkBufferMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdPipelineBarrier, buffer_memory_barrier_count))), 0;
        image_memory_barrier_count: Ty::U32, Shape::Value, LEN;
        p_image_memory_barriers: Ty::Struct(&super::structs_i::VkImageMemoryBarrier), Shape::Array(Len::U32(offset_of!(args::VkCmdPipelineBarrier, image_memory_barrier_count))), 0;
    };
    VkCmdBeginQuery = 127 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    };
    VkCmdEndQuery = 128 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
    };
    VkCmdResetQueryPool = 129 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        first_query: Ty::U32, Shape::Value, 0;
        query_count: Ty::U32, Shape::Value, 0;
    };
    VkCmdWriteTimestamp = 130 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        pipeline_stage: Ty::U32, Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
    };
    VkCmdCopyQueryPoolResults = 131 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        first_query: Ty::U32, Shape::Value, 0;
        query_count: Ty::U32, Shape::Value, 0;
        dst_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        dst_offset: Ty::U64, Shape::Value, 0;
        stride: Ty::U64, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    };
    VkCmdPushConstants = 132 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        stage_flags: Ty::U32, Shape::Value, 0;
        offset: Ty::U32, Shape::Value, 0;
        size: Ty::U32, Shape::Value, LEN;
        p_values: Ty::U8, Shape::Array(Len::U32(offset_of!(args::VkCmdPushConstants, size))), 0;
    };
    VkCmdBeginRenderPass = 133 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_render_pass_begin: Ty::Struct(&super::structs_q::VkRenderPassBeginInfo), Shape::Ptr, 0;
        contents: Ty::U32, Shape::Value, 0;
    };
    VkCmdNextSubpass = 134 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        contents: Ty::U32, Shape::Value, 0;
    };
    VkCmdEndRenderPass = 135 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
    };
    VkCmdExecuteCommands = 136 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        command_buffer_count: Ty::U32, Shape::Value, LEN;
        p_command_buffers: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdExecuteCommands, command_buffer_count))), 0;
    };
    VkEnumerateInstanceVersion = 137 {
        p_api_version: Ty::U32, Shape::Ptr, OUT;
    } -> Ty::U32;
    VkBindBufferMemory2 = 138 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        bind_info_count: Ty::U32, Shape::Value, LEN;
        p_bind_infos: Ty::Struct(&super::structs_a::VkBindBufferMemoryInfo), Shape::Array(Len::U32(offset_of!(args::VkBindBufferMemory2, bind_info_count))), 0;
    } -> Ty::U32;
    VkBindImageMemory2 = 139 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        bind_info_count: Ty::U32, Shape::Value, LEN;
        p_bind_infos: Ty::Struct(&super::structs_a::VkBindImageMemoryInfo), Shape::Array(Len::U32(offset_of!(args::VkBindImageMemory2, bind_info_count))), 0;
    } -> Ty::U32;
    VkGetDeviceGroupPeerMemoryFeatures = 140 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        heap_index: Ty::U32, Shape::Value, 0;
        local_device_index: Ty::U32, Shape::Value, 0;
        remote_device_index: Ty::U32, Shape::Value, 0;
        p_peer_memory_features: Ty::U32, Shape::Ptr, OUT;
    };
    VkCmdSetDeviceMask = 141 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        device_mask: Ty::U32, Shape::Value, 0;
    };
    VkCmdDispatchBase = 142 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        base_group_x: Ty::U32, Shape::Value, 0;
        base_group_y: Ty::U32, Shape::Value, 0;
        base_group_z: Ty::U32, Shape::Value, 0;
        group_count_x: Ty::U32, Shape::Value, 0;
        group_count_y: Ty::U32, Shape::Value, 0;
        group_count_z: Ty::U32, Shape::Value, 0;
    };
    VkEnumeratePhysicalDeviceGroups = 143 {
        instance: Ty::Handle(vk::ObjectType::INSTANCE), Shape::Value, 0;
        p_physical_device_group_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_physical_device_group_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceGroupProperties), Shape::Array(Len::PtrU32(offset_of!(args::VkEnumeratePhysicalDeviceGroups, p_physical_device_group_count))), OPT | OUT;
    } -> Ty::U32;
    VkGetImageMemoryRequirements2 = 144 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_i::VkImageMemoryRequirementsInfo2), Shape::Ptr, 0;
        p_memory_requirements: Ty::Struct(&super::structs_i::VkMemoryRequirements2), Shape::Ptr, OUT;
    };
    VkGetBufferMemoryRequirements2 = 145 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_a::VkBufferMemoryRequirementsInfo2), Shape::Ptr, 0;
        p_memory_requirements: Ty::Struct(&super::structs_i::VkMemoryRequirements2), Shape::Ptr, OUT;
    };
    VkGetImageSparseMemoryRequirements2 = 146 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_i::VkImageSparseMemoryRequirementsInfo2), Shape::Ptr, 0;
        p_sparse_memory_requirement_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_sparse_memory_requirements: Ty::Struct(&super::structs_q::VkSparseImageMemoryRequirements2), Shape::Array(Len::PtrU32(offset_of!(args::VkGetImageSparseMemoryRequirements2, p_sparse_memory_requirement_count))), OPT | OUT;
    };
    VkGetPhysicalDeviceFeatures2 = 147 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_features: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceFeatures2), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceProperties2 = 148 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceProperties2), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceFormatProperties2 = 149 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        format: Ty::U32, Shape::Value, 0;
        p_format_properties: Ty::Struct(&super::structs_d::VkFormatProperties2), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceImageFormatProperties2 = 150 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_image_format_info: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceImageFormatInfo2), Shape::Ptr, 0;
        p_image_format_properties: Ty::Struct(&super::structs_i::VkImageFormatProperties2), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkGetPhysicalDeviceQueueFamilyProperties2 = 151 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_queue_family_property_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_queue_family_properties: Ty::Struct(&super::structs_q::VkQueueFamilyProperties2), Shape::Array(Len::PtrU32(offset_of!(args::VkGetPhysicalDeviceQueueFamilyProperties2, p_queue_family_property_count))), OPT | OUT;
    };
    VkGetPhysicalDeviceMemoryProperties2 = 152 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_memory_properties: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceMemoryProperties2), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceSparseImageFormatProperties2 = 153 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_format_info: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceSparseImageFormatInfo2), Shape::Ptr, 0;
        p_property_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_properties: Ty::Struct(&super::structs_q::VkSparseImageFormatProperties2), Shape::Array(Len::PtrU32(offset_of!(args::VkGetPhysicalDeviceSparseImageFormatProperties2, p_property_count))), OPT | OUT;
    };
    VkTrimCommandPool = 154 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        command_pool: Ty::Handle(vk::ObjectType::COMMAND_POOL), Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    };
    VkGetDeviceQueue2 = 155 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_queue_info: Ty::Struct(&super::structs_d::VkDeviceQueueInfo2), Shape::Ptr, 0;
        p_queue: Ty::Handle(vk::ObjectType::QUEUE), Shape::Ptr, OUT;
    };
    VkCreateSamplerYcbcrConversion = 156 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkSamplerYcbcrConversionCreateInfo), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_ycbcr_conversion: Ty::Handle(vk::ObjectType::SAMPLER_YCBCR_CONVERSION), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkDestroySamplerYcbcrConversion = 157 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        ycbcr_conversion: Ty::Handle(vk::ObjectType::SAMPLER_YCBCR_CONVERSION), Shape::Value, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
    };
    VkGetPhysicalDeviceExternalBufferProperties = 161 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_external_buffer_info: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceExternalBufferInfo), Shape::Ptr, 0;
        p_external_buffer_properties: Ty::Struct(&super::structs_d::VkExternalBufferProperties), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceExternalFenceProperties = 162 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_external_fence_info: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceExternalFenceInfo), Shape::Ptr, 0;
        p_external_fence_properties: Ty::Struct(&super::structs_d::VkExternalFenceProperties), Shape::Ptr, OUT;
    };
    VkGetPhysicalDeviceExternalSemaphoreProperties = 163 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_external_semaphore_info: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceExternalSemaphoreInfo), Shape::Ptr, 0;
        p_external_semaphore_properties: Ty::Struct(&super::structs_d::VkExternalSemaphoreProperties), Shape::Ptr, OUT;
    };
    VkGetDescriptorSetLayoutSupport = 164 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_d::VkDescriptorSetLayoutCreateInfo), Shape::Ptr, 0;
        p_support: Ty::Struct(&super::structs_d::VkDescriptorSetLayoutSupport), Shape::Ptr, OUT;
    };
    VkCmdDrawIndirectCount = 165 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        count_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        count_buffer_offset: Ty::U64, Shape::Value, 0;
        max_draw_count: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawIndexedIndirectCount = 166 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        count_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        count_buffer_offset: Ty::U64, Shape::Value, 0;
        max_draw_count: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
    };
    VkCreateRenderPass2 = 167 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkRenderPassCreateInfo2), Shape::Ptr, 0;
        p_allocator: Ty::Opaque, Shape::Ptr, OPT;
        p_render_pass: Ty::Handle(vk::ObjectType::RENDER_PASS), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkCmdBeginRenderPass2 = 168 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_render_pass_begin: Ty::Struct(&super::structs_q::VkRenderPassBeginInfo), Shape::Ptr, 0;
        p_subpass_begin_info: Ty::Struct(&super::structs_q::VkSubpassBeginInfo), Shape::Ptr, 0;
    };
    VkCmdNextSubpass2 = 169 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_subpass_begin_info: Ty::Struct(&super::structs_q::VkSubpassBeginInfo), Shape::Ptr, 0;
        p_subpass_end_info: Ty::Struct(&super::structs_q::VkSubpassEndInfo), Shape::Ptr, 0;
    };
    VkCmdEndRenderPass2 = 170 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_subpass_end_info: Ty::Struct(&super::structs_q::VkSubpassEndInfo), Shape::Ptr, 0;
    };
    VkResetQueryPool = 171 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        first_query: Ty::U32, Shape::Value, 0;
        query_count: Ty::U32, Shape::Value, 0;
    };
    VkGetSemaphoreCounterValue = 172 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
        p_value: Ty::U64, Shape::Ptr, OUT;
    } -> Ty::U32;
    VkWaitSemaphores = 173 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_wait_info: Ty::Struct(&super::structs_q::VkSemaphoreWaitInfo), Shape::Ptr, 0;
        timeout: Ty::U64, Shape::Value, 0;
    } -> Ty::U32;
    VkSignalSemaphore = 174 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_signal_info: Ty::Struct(&super::structs_q::VkSemaphoreSignalInfo), Shape::Ptr, 0;
    } -> Ty::U32;
    VkGetBufferDeviceAddress = 175 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_a::VkBufferDeviceAddressInfo), Shape::Ptr, 0;
    } -> Ty::U64;
    VkGetBufferOpaqueCaptureAddress = 176 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_a::VkBufferDeviceAddressInfo), Shape::Ptr, 0;
    } -> Ty::U64;
    VkGetDeviceMemoryOpaqueCaptureAddress = 177 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_d::VkDeviceMemoryOpaqueCaptureAddressInfo), Shape::Ptr, 0;
    } -> Ty::U64;
    VkSetReplyCommandStreamMESA = 178 {
        p_stream: Ty::Struct(&super::structs_a::VkCommandStreamDescriptionMESA), Shape::Ptr, 0;
    };
    VkSeekReplyCommandStreamMESA = 179 {
        position: Ty::U64, Shape::Value, 0;
    };
    VkExecuteCommandStreamsMESA = 180 {
        stream_count: Ty::U32, Shape::Value, LEN;
        p_streams: Ty::Struct(&super::structs_a::VkCommandStreamDescriptionMESA), Shape::Array(Len::U32(offset_of!(args::VkExecuteCommandStreamsMESA, stream_count))), 0;
        p_reply_positions: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkExecuteCommandStreamsMESA, stream_count))), OPT;
        dependency_count: Ty::U32, Shape::Value, LEN;
        p_dependencies: Ty::Struct(&super::structs_a::VkCommandStreamDependencyMESA), Shape::Array(Len::U32(offset_of!(args::VkExecuteCommandStreamsMESA, dependency_count))), OPT;
        flags: Ty::U32, Shape::Value, 0;
    };
    VkCmdBindTransformFeedbackBuffersEXT = 181 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_binding: Ty::U32, Shape::Value, 0;
        binding_count: Ty::U32, Shape::Value, LEN;
        p_buffers: Ty::Handle(vk::ObjectType::BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdBindTransformFeedbackBuffersEXT, binding_count))), 0;
        p_offsets: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindTransformFeedbackBuffersEXT, binding_count))), 0;
        p_sizes: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindTransformFeedbackBuffersEXT, binding_count))), OPT;
    };
    VkCmdBeginTransformFeedbackEXT = 182 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_counter_buffer: Ty::U32, Shape::Value, 0;
        counter_buffer_count: Ty::U32, Shape::Value, LEN;
        p_counter_buffers: Ty::Handle(vk::ObjectType::BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdBeginTransformFeedbackEXT, counter_buffer_count))), OPT;
        p_counter_buffer_offsets: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBeginTransformFeedbackEXT, counter_buffer_count))), OPT;
    };
    VkCmdEndTransformFeedbackEXT = 183 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_counter_buffer: Ty::U32, Shape::Value, 0;
        counter_buffer_count: Ty::U32, Shape::Value, LEN;
        p_counter_buffers: Ty::Handle(vk::ObjectType::BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdEndTransformFeedbackEXT, counter_buffer_count))), OPT;
        p_counter_buffer_offsets: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdEndTransformFeedbackEXT, counter_buffer_count))), OPT;
    };
    VkCmdBeginQueryIndexedEXT = 184 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
        index: Ty::U32, Shape::Value, 0;
    };
    VkCmdEndQueryIndexedEXT = 185 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
        index: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawIndirectByteCountEXT = 186 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        instance_count: Ty::U32, Shape::Value, 0;
        first_instance: Ty::U32, Shape::Value, 0;
        counter_buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        counter_buffer_offset: Ty::U64, Shape::Value, 0;
        counter_offset: Ty::U32, Shape::Value, 0;
        vertex_stride: Ty::U32, Shape::Value, 0;
    };
    VkGetImageDrmFormatModifierPropertiesEXT = 187 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        p_properties: Ty::Struct(&super::structs_i::VkImageDrmFormatModifierPropertiesEXT), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkCreateRingMESA = 188 {
        ring: Ty::U64, Shape::Value, 0;
        p_create_info: Ty::Struct(&super::structs_q::VkRingCreateInfoMESA), Shape::Ptr, 0;
    };
    VkDestroyRingMESA = 189 {
        ring: Ty::U64, Shape::Value, 0;
    };
    VkNotifyRingMESA = 190 {
        ring: Ty::U64, Shape::Value, 0;
        seqno: Ty::U32, Shape::Value, 0;
        flags: Ty::U32, Shape::Value, 0;
    };
    VkWriteRingExtraMESA = 191 {
        ring: Ty::U64, Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        value: Ty::U32, Shape::Value, 0;
    };
    VkGetMemoryResourcePropertiesMESA = 192 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        resource_id: Ty::U32, Shape::Value, 0;
        p_memory_resource_properties: Ty::Struct(&super::structs_i::VkMemoryResourcePropertiesMESA), Shape::Ptr, OUT;
    } -> Ty::U32;
    VkCmdSetEvent2 = 201 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
        p_dependency_info: Ty::Struct(&super::structs_d::VkDependencyInfo), Shape::Ptr, 0;
    };
    VkCmdResetEvent2 = 202 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event: Ty::Handle(vk::ObjectType::EVENT), Shape::Value, 0;
        stage_mask: Ty::U64, Shape::Value, 0;
    };
    VkCmdWaitEvents2 = 203 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        event_count: Ty::U32, Shape::Value, LEN;
        p_events: Ty::Handle(vk::ObjectType::EVENT), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents2, event_count))), 0;
        p_dependency_infos: Ty::Struct(&super::structs_d::VkDependencyInfo), Shape::Array(Len::U32(offset_of!(args::VkCmdWaitEvents2, event_count))), 0;
    };
    VkCmdPipelineBarrier2 = 204 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_dependency_info: Ty::Struct(&super::structs_d::VkDependencyInfo), Shape::Ptr, 0;
    };
    VkCmdWriteTimestamp2 = 205 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        stage: Ty::U64, Shape::Value, 0;
        query_pool: Ty::Handle(vk::ObjectType::QUERY_POOL), Shape::Value, 0;
        query: Ty::U32, Shape::Value, 0;
    };
    VkQueueSubmit2 = 206 {
        queue: Ty::Handle(vk::ObjectType::QUEUE), Shape::Value, 0;
        submit_count: Ty::U32, Shape::Value, LEN;
        p_submits: Ty::Struct(&super::structs_q::VkSubmitInfo2), Shape::Array(Len::U32(offset_of!(args::VkQueueSubmit2, submit_count))), 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
    } -> Ty::U32;
    VkCmdCopyBuffer2 = 207 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_copy_buffer_info: Ty::Struct(&super::structs_a::VkCopyBufferInfo2), Shape::Ptr, 0;
    };
    VkCmdCopyImage2 = 208 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_copy_image_info: Ty::Struct(&super::structs_a::VkCopyImageInfo2), Shape::Ptr, 0;
    };
    VkCmdCopyBufferToImage2 = 209 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_copy_buffer_to_image_info: Ty::Struct(&super::structs_a::VkCopyBufferToImageInfo2), Shape::Ptr, 0;
    };
    VkCmdCopyImageToBuffer2 = 210 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_copy_image_to_buffer_info: Ty::Struct(&super::structs_a::VkCopyImageToBufferInfo2), Shape::Ptr, 0;
    };
    VkCmdBlitImage2 = 211 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_blit_image_info: Ty::Struct(&super::structs_a::VkBlitImageInfo2), Shape::Ptr, 0;
    };
    VkCmdResolveImage2 = 212 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_resolve_image_info: Ty::Struct(&super::structs_q::VkResolveImageInfo2), Shape::Ptr, 0;
    };
    VkCmdBeginRendering = 213 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_rendering_info: Ty::Struct(&super::structs_q::VkRenderingInfo), Shape::Ptr, 0;
    };
    VkCmdEndRendering = 214 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
    };
    VkCmdSetCullMode = 215 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        cull_mode: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetFrontFace = 216 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        front_face: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetPrimitiveTopology = 217 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        primitive_topology: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetViewportWithCount = 218 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        viewport_count: Ty::U32, Shape::Value, LEN;
        p_viewports: Ty::Struct(&super::structs_q::VkViewport), Shape::Array(Len::U32(offset_of!(args::VkCmdSetViewportWithCount, viewport_count))), 0;
    };
    VkCmdSetScissorWithCount = 219 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        scissor_count: Ty::U32, Shape::Value, LEN;
        p_scissors: Ty::Struct(&super::structs_q::VkRect2D), Shape::Array(Len::U32(offset_of!(args::VkCmdSetScissorWithCount, scissor_count))), 0;
    };
    VkCmdBindVertexBuffers2 = 220 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_binding: Ty::U32, Shape::Value, 0;
        binding_count: Ty::U32, Shape::Value, LEN;
        p_buffers: Ty::Handle(vk::ObjectType::BUFFER), Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers2, binding_count))), 0;
        p_offsets: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers2, binding_count))), 0;
        p_sizes: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers2, binding_count))), OPT;
        p_strides: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkCmdBindVertexBuffers2, binding_count))), OPT;
    };
    VkCmdSetDepthTestEnable = 221 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_test_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthWriteEnable = 222 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_write_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthCompareOp = 223 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_compare_op: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthBoundsTestEnable = 224 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_bounds_test_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetStencilTestEnable = 225 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        stencil_test_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetStencilOp = 226 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        face_mask: Ty::U32, Shape::Value, 0;
        fail_op: Ty::U32, Shape::Value, 0;
        pass_op: Ty::U32, Shape::Value, 0;
        depth_fail_op: Ty::U32, Shape::Value, 0;
        compare_op: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetRasterizerDiscardEnable = 227 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        rasterizer_discard_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthBiasEnable = 228 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_bias_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetPrimitiveRestartEnable = 229 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        primitive_restart_enable: Ty::U32, Shape::Value, 0;
    };
    VkGetDeviceBufferMemoryRequirements = 230 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_d::VkDeviceBufferMemoryRequirements), Shape::Ptr, 0;
        p_memory_requirements: Ty::Struct(&super::structs_i::VkMemoryRequirements2), Shape::Ptr, OUT;
    };
    VkGetDeviceImageMemoryRequirements = 231 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_d::VkDeviceImageMemoryRequirements), Shape::Ptr, 0;
        p_memory_requirements: Ty::Struct(&super::structs_i::VkMemoryRequirements2), Shape::Ptr, OUT;
    };
    VkGetDeviceImageSparseMemoryRequirements = 232 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_d::VkDeviceImageMemoryRequirements), Shape::Ptr, 0;
        p_sparse_memory_requirement_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_sparse_memory_requirements: Ty::Struct(&super::structs_q::VkSparseImageMemoryRequirements2), Shape::Array(Len::PtrU32(offset_of!(args::VkGetDeviceImageSparseMemoryRequirements, p_sparse_memory_requirement_count))), OPT | OUT;
    };
    VkCmdSetPatchControlPointsEXT = 233 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        patch_control_points: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetLogicOpEXT = 234 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        logic_op: Ty::U32, Shape::Value, 0;
    };
    VkGetPhysicalDeviceCalibrateableTimeDomainsEXT = 235 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_time_domain_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_time_domains: Ty::U32, Shape::Array(Len::PtrU32(offset_of!(args::VkGetPhysicalDeviceCalibrateableTimeDomainsEXT, p_time_domain_count))), OPT | OUT;
    } -> Ty::U32;
    VkGetCalibratedTimestampsEXT = 236 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        timestamp_count: Ty::U32, Shape::Value, LEN;
        p_timestamp_infos: Ty::Struct(&super::structs_a::VkCalibratedTimestampInfoKHR), Shape::Array(Len::U32(offset_of!(args::VkGetCalibratedTimestampsEXT, timestamp_count))), 0;
        p_timestamps: Ty::U64, Shape::Array(Len::U32(offset_of!(args::VkGetCalibratedTimestampsEXT, timestamp_count))), OUT;
        p_max_deviation: Ty::U64, Shape::Ptr, OUT;
    } -> Ty::U32;
    VkCmdSetLineStippleEXT = 237 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        line_stipple_factor: Ty::U32, Shape::Value, 0;
        line_stipple_pattern: Ty::U16, Shape::Value, 0;
    };
    VkCmdBeginConditionalRenderingEXT = 240 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_conditional_rendering_begin: Ty::Struct(&super::structs_a::VkConditionalRenderingBeginInfoEXT), Shape::Ptr, 0;
    };
    VkCmdEndConditionalRenderingEXT = 241 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
    };
    VkResetFenceResourceMESA = 244 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        fence: Ty::Handle(vk::ObjectType::FENCE), Shape::Value, 0;
    };
    VkWaitSemaphoreResourceMESA = 245 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        semaphore: Ty::Handle(vk::ObjectType::SEMAPHORE), Shape::Value, 0;
    };
    VkImportSemaphoreResourceMESA = 246 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_import_semaphore_resource_info: Ty::Struct(&super::structs_i::VkImportSemaphoreResourceInfoMESA), Shape::Ptr, 0;
    };
    VkCmdDrawMultiEXT = 247 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        draw_count: Ty::U32, Shape::Value, LEN;
        p_vertex_info: Ty::Struct(&super::structs_i::VkMultiDrawInfoEXT), Shape::Array(Len::U32(offset_of!(args::VkCmdDrawMultiEXT, draw_count))), OPT;
        instance_count: Ty::U32, Shape::Value, 0;
        first_instance: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
    };
    VkCmdDrawMultiIndexedEXT = 248 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        draw_count: Ty::U32, Shape::Value, LEN;
        p_index_info: Ty::Struct(&super::structs_i::VkMultiDrawIndexedInfoEXT), Shape::Array(Len::U32(offset_of!(args::VkCmdDrawMultiIndexedEXT, draw_count))), OPT;
        instance_count: Ty::U32, Shape::Value, 0;
        first_instance: Ty::U32, Shape::Value, 0;
        stride: Ty::U32, Shape::Value, 0;
        p_vertex_offset: Ty::U32, Shape::Ptr, OPT;
    };
    VkCmdPushDescriptorSetKHR = 249 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        pipeline_bind_point: Ty::U32, Shape::Value, 0;
        layout: Ty::Handle(vk::ObjectType::PIPELINE_LAYOUT), Shape::Value, 0;
        set: Ty::U32, Shape::Value, 0;
        descriptor_write_count: Ty::U32, Shape::Value, LEN;
        p_descriptor_writes: Ty::Struct(&super::structs_q::VkWriteDescriptorSet), Shape::Array(Len::U32(offset_of!(args::VkCmdPushDescriptorSetKHR, descriptor_write_count))), 0;
    };
    VkSubmitVirtqueueSeqnoMESA = 251 {
        ring: Ty::U64, Shape::Value, 0;
        seqno: Ty::U64, Shape::Value, 0;
    };
    VkWaitVirtqueueSeqnoMESA = 252 {
        seqno: Ty::U64, Shape::Value, 0;
    };
    VkWaitRingSeqnoMESA = 253 {
        ring: Ty::U64, Shape::Value, 0;
        seqno: Ty::U64, Shape::Value, 0;
    };
    VkCmdSetColorWriteEnableEXT = 254 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_write_enables: Ty::U32, Shape::Array(Len::U32(offset_of!(args::VkCmdSetColorWriteEnableEXT, attachment_count))), 0;
    };
    VkCmdSetVertexInputEXT = 255 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        vertex_binding_description_count: Ty::U32, Shape::Value, LEN;
        p_vertex_binding_descriptions: Ty::Struct(&super::structs_q::VkVertexInputBindingDescription2EXT), Shape::Array(Len::U32(offset_of!(args::VkCmdSetVertexInputEXT, vertex_binding_description_count))), 0;
        vertex_attribute_description_count: Ty::U32, Shape::Value, LEN;
        p_vertex_attribute_descriptions: Ty::Struct(&super::structs_q::VkVertexInputAttributeDescription2EXT), Shape::Array(Len::U32(offset_of!(args::VkCmdSetVertexInputEXT, vertex_attribute_description_count))), 0;
    };
    VkCmdSetTessellationDomainOriginEXT = 256 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        domain_origin: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthClampEnableEXT = 257 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_clamp_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetPolygonModeEXT = 258 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        polygon_mode: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetRasterizationSamplesEXT = 259 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        rasterization_samples: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetSampleMaskEXT = 260 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        samples: Ty::U32, Shape::Value, LEN;
        p_sample_mask: Ty::U32, Shape::Array(Len::DivU32(offset_of!(args::VkCmdSetSampleMaskEXT, samples), 32)), 0;
    };
    VkCmdSetAlphaToCoverageEnableEXT = 261 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        alpha_to_coverage_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetAlphaToOneEnableEXT = 262 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        alpha_to_one_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetLogicOpEnableEXT = 263 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        logic_op_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetColorBlendEnableEXT = 264 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_attachment: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_blend_enables: Ty::U32, Shape::Array(Len::U32(offset_of!(args::VkCmdSetColorBlendEnableEXT, attachment_count))), 0;
    };
    VkCmdSetColorBlendEquationEXT = 265 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_attachment: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_blend_equations: Ty::Struct(&super::structs_a::VkColorBlendEquationEXT), Shape::Array(Len::U32(offset_of!(args::VkCmdSetColorBlendEquationEXT, attachment_count))), 0;
    };
    VkCmdSetColorWriteMaskEXT = 266 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_attachment: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_write_masks: Ty::U32, Shape::Array(Len::U32(offset_of!(args::VkCmdSetColorWriteMaskEXT, attachment_count))), 0;
    };
    VkCmdSetRasterizationStreamEXT = 267 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        rasterization_stream: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetConservativeRasterizationModeEXT = 268 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        conservative_rasterization_mode: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetExtraPrimitiveOverestimationSizeEXT = 269 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        extra_primitive_overestimation_size: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthClipEnableEXT = 270 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        depth_clip_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetSampleLocationsEnableEXT = 271 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        sample_locations_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetColorBlendAdvancedEXT = 272 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        first_attachment: Ty::U32, Shape::Value, 0;
        attachment_count: Ty::U32, Shape::Value, LEN;
        p_color_blend_advanced: Ty::Struct(&super::structs_a::VkColorBlendAdvancedEXT), Shape::Array(Len::U32(offset_of!(args::VkCmdSetColorBlendAdvancedEXT, attachment_count))), 0;
    };
    VkCmdSetProvokingVertexModeEXT = 273 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        provoking_vertex_mode: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetLineRasterizationModeEXT = 274 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        line_rasterization_mode: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetLineStippleEnableEXT = 275 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        stippled_line_enable: Ty::U32, Shape::Value, 0;
    };
    VkCmdSetDepthClipNegativeOneToOneEXT = 276 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        negative_one_to_one: Ty::U32, Shape::Value, 0;
    };
    VkGetPhysicalDeviceFragmentShadingRatesKHR = 277 {
        physical_device: Ty::Handle(vk::ObjectType::PHYSICAL_DEVICE), Shape::Value, 0;
        p_fragment_shading_rate_count: Ty::U32, Shape::Ptr, LEN | OUT | INOUT;
        p_fragment_shading_rates: Ty::Struct(&super::structs_physical_device::VkPhysicalDeviceFragmentShadingRateKHR), Shape::Array(Len::PtrU32(offset_of!(args::VkGetPhysicalDeviceFragmentShadingRatesKHR, p_fragment_shading_rate_count))), OPT | OUT;
    } -> Ty::U32;
    VkCmdSetFragmentShadingRateKHR = 278 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        p_fragment_size: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Ptr, 0;
        combiner_ops: Ty::U32, Shape::Static(2), 0;
    };
    VkCmdBindIndexBuffer2KHR = 279 {
        command_buffer: Ty::Handle(vk::ObjectType::COMMAND_BUFFER), Shape::Value, 0;
        buffer: Ty::Handle(vk::ObjectType::BUFFER), Shape::Value, 0;
        offset: Ty::U64, Shape::Value, 0;
        size: Ty::U64, Shape::Value, 0;
        index_type: Ty::U32, Shape::Value, 0;
    };
    VkGetRenderingAreaGranularityKHR = 280 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_rendering_area_info: Ty::Struct(&super::structs_q::VkRenderingAreaInfo), Shape::Ptr, 0;
        p_granularity: Ty::Struct(&super::structs_d::VkExtent2D), Shape::Ptr, OUT;
    };
    VkGetDeviceImageSubresourceLayoutKHR = 281 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        p_info: Ty::Struct(&super::structs_d::VkDeviceImageSubresourceInfo), Shape::Ptr, 0;
        p_layout: Ty::Struct(&super::structs_q::VkSubresourceLayout2), Shape::Ptr, OUT;
    };
    VkGetImageSubresourceLayout2KHR = 282 {
        device: Ty::Handle(vk::ObjectType::DEVICE), Shape::Value, 0;
        image: Ty::Handle(vk::ObjectType::IMAGE), Shape::Value, 0;
        p_subresource: Ty::Struct(&super::structs_i::VkImageSubresource2), Shape::Ptr, 0;
        p_layout: Ty::Struct(&super::structs_q::VkSubresourceLayout2), Shape::Ptr, OUT;
    };
}
