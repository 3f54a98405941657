//! Command numbers, names and driver functions.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use super::commands;
use crate::fns::Level;
use crate::schema::CommandDesc;

crate::macros::ids! {
    names {
        0 "vkCreateInstance"
        1 "vkDestroyInstance"
        2 "vkEnumeratePhysicalDevices"
        3 "vkGetPhysicalDeviceFeatures"
        4 "vkGetPhysicalDeviceFormatProperties"
        5 "vkGetPhysicalDeviceImageFormatProperties"
        6 "vkGetPhysicalDeviceProperties"
        7 "vkGetPhysicalDeviceQueueFamilyProperties"
        8 "vkGetPhysicalDeviceMemoryProperties"
        9 "vkGetInstanceProcAddr"
        10 "vkGetDeviceProcAddr"
        11 "vkCreateDevice"
        12 "vkDestroyDevice"
        13 "vkEnumerateInstanceExtensionProperties"
        14 "vkEnumerateDeviceExtensionProperties"
        15 "vkEnumerateInstanceLayerProperties"
        16 "vkEnumerateDeviceLayerProperties"
        17 "vkGetDeviceQueue"
        18 "vkQueueSubmit"
        19 "vkQueueWaitIdle"
        20 "vkDeviceWaitIdle"
        21 "vkAllocateMemory"
        22 "vkFreeMemory"
        23 "vkMapMemory"
        24 "vkUnmapMemory"
        25 "vkFlushMappedMemoryRanges"
        26 "vkInvalidateMappedMemoryRanges"
        27 "vkGetDeviceMemoryCommitment"
        28 "vkBindBufferMemory"
        29 "vkBindImageMemory"
        30 "vkGetBufferMemoryRequirements"
        31 "vkGetImageMemoryRequirements"
        32 "vkGetImageSparseMemoryRequirements"
        33 "vkGetPhysicalDeviceSparseImageFormatProperties"
        34 "vkQueueBindSparse"
        35 "vkCreateFence"
        36 "vkDestroyFence"
        37 "vkResetFences"
        38 "vkGetFenceStatus"
        39 "vkWaitForFences"
        40 "vkCreateSemaphore"
        41 "vkDestroySemaphore"
        42 "vkCreateEvent"
        43 "vkDestroyEvent"
        44 "vkGetEventStatus"
        45 "vkSetEvent"
        46 "vkResetEvent"
        47 "vkCreateQueryPool"
        48 "vkDestroyQueryPool"
        49 "vkGetQueryPoolResults"
        50 "vkCreateBuffer"
        51 "vkDestroyBuffer"
        52 "vkCreateBufferView"
        53 "vkDestroyBufferView"
        54 "vkCreateImage"
        55 "vkDestroyImage"
        56 "vkGetImageSubresourceLayout"
        57 "vkCreateImageView"
        58 "vkDestroyImageView"
        59 "vkCreateShaderModule"
        60 "vkDestroyShaderModule"
        61 "vkCreatePipelineCache"
        62 "vkDestroyPipelineCache"
        63 "vkGetPipelineCacheData"
        64 "vkMergePipelineCaches"
        65 "vkCreateGraphicsPipelines"
        66 "vkCreateComputePipelines"
        67 "vkDestroyPipeline"
        68 "vkCreatePipelineLayout"
        69 "vkDestroyPipelineLayout"
        70 "vkCreateSampler"
        71 "vkDestroySampler"
        72 "vkCreateDescriptorSetLayout"
        73 "vkDestroyDescriptorSetLayout"
        74 "vkCreateDescriptorPool"
        75 "vkDestroyDescriptorPool"
        76 "vkResetDescriptorPool"
        77 "vkAllocateDescriptorSets"
        78 "vkFreeDescriptorSets"
        79 "vkUpdateDescriptorSets"
        80 "vkCreateFramebuffer"
        81 "vkDestroyFramebuffer"
        82 "vkCreateRenderPass"
        83 "vkDestroyRenderPass"
        84 "vkGetRenderAreaGranularity"
        85 "vkCreateCommandPool"
        86 "vkDestroyCommandPool"
        87 "vkResetCommandPool"
        88 "vkAllocateCommandBuffers"
        89 "vkFreeCommandBuffers"
        90 "vkBeginCommandBuffer"
        91 "vkEndCommandBuffer"
        92 "vkResetCommandBuffer"
        93 "vkCmdBindPipeline"
        94 "vkCmdSetViewport"
        95 "vkCmdSetScissor"
        96 "vkCmdSetLineWidth"
        97 "vkCmdSetDepthBias"
        98 "vkCmdSetBlendConstants"
        99 "vkCmdSetDepthBounds"
        100 "vkCmdSetStencilCompareMask"
        101 "vkCmdSetStencilWriteMask"
        102 "vkCmdSetStencilReference"
        103 "vkCmdBindDescriptorSets"
        104 "vkCmdBindIndexBuffer"
        105 "vkCmdBindVertexBuffers"
        106 "vkCmdDraw"
        107 "vkCmdDrawIndexed"
        108 "vkCmdDrawIndirect"
        109 "vkCmdDrawIndexedIndirect"
        110 "vkCmdDispatch"
        111 "vkCmdDispatchIndirect"
        112 "vkCmdCopyBuffer"
        113 "vkCmdCopyImage"
        114 "vkCmdBlitImage"
        115 "vkCmdCopyBufferToImage"
        116 "vkCmdCopyImageToBuffer"
        117 "vkCmdUpdateBuffer"
        118 "vkCmdFillBuffer"
        119 "vkCmdClearColorImage"
        120 "vkCmdClearDepthStencilImage"
        121 "vkCmdClearAttachments"
        122 "vkCmdResolveImage"
        123 "vkCmdSetEvent"
        124 "vkCmdResetEvent"
        125 "vkCmdWaitEvents"
        126 "vkCmdPipelineBarrier"
        127 "vkCmdBeginQuery"
        128 "vkCmdEndQuery"
        129 "vkCmdResetQueryPool"
        130 "vkCmdWriteTimestamp"
        131 "vkCmdCopyQueryPoolResults"
        132 "vkCmdPushConstants"
        133 "vkCmdBeginRenderPass"
        134 "vkCmdNextSubpass"
        135 "vkCmdEndRenderPass"
        136 "vkCmdExecuteCommands"
        137 "vkEnumerateInstanceVersion"
        138 "vkBindBufferMemory2"
        139 "vkBindImageMemory2"
        140 "vkGetDeviceGroupPeerMemoryFeatures"
        141 "vkCmdSetDeviceMask"
        142 "vkCmdDispatchBase"
        143 "vkEnumeratePhysicalDeviceGroups"
        144 "vkGetImageMemoryRequirements2"
        145 "vkGetBufferMemoryRequirements2"
        146 "vkGetImageSparseMemoryRequirements2"
        147 "vkGetPhysicalDeviceFeatures2"
        148 "vkGetPhysicalDeviceProperties2"
        149 "vkGetPhysicalDeviceFormatProperties2"
        150 "vkGetPhysicalDeviceImageFormatProperties2"
        151 "vkGetPhysicalDeviceQueueFamilyProperties2"
        152 "vkGetPhysicalDeviceMemoryProperties2"
        153 "vkGetPhysicalDeviceSparseImageFormatProperties2"
        154 "vkTrimCommandPool"
        155 "vkGetDeviceQueue2"
        156 "vkCreateSamplerYcbcrConversion"
        157 "vkDestroySamplerYcbcrConversion"
        158 "vkCreateDescriptorUpdateTemplate"
        159 "vkDestroyDescriptorUpdateTemplate"
        160 "vkUpdateDescriptorSetWithTemplate"
        161 "vkGetPhysicalDeviceExternalBufferProperties"
        162 "vkGetPhysicalDeviceExternalFenceProperties"
        163 "vkGetPhysicalDeviceExternalSemaphoreProperties"
        164 "vkGetDescriptorSetLayoutSupport"
        165 "vkCmdDrawIndirectCount"
        166 "vkCmdDrawIndexedIndirectCount"
        167 "vkCreateRenderPass2"
        168 "vkCmdBeginRenderPass2"
        169 "vkCmdNextSubpass2"
        170 "vkCmdEndRenderPass2"
        171 "vkResetQueryPool"
        172 "vkGetSemaphoreCounterValue"
        173 "vkWaitSemaphores"
        174 "vkSignalSemaphore"
        175 "vkGetBufferDeviceAddress"
        176 "vkGetBufferOpaqueCaptureAddress"
        177 "vkGetDeviceMemoryOpaqueCaptureAddress"
        178 "vkSetReplyCommandStreamMESA"
        179 "vkSeekReplyCommandStreamMESA"
        180 "vkExecuteCommandStreamsMESA"
        181 "vkCmdBindTransformFeedbackBuffersEXT"
        182 "vkCmdBeginTransformFeedbackEXT"
        183 "vkCmdEndTransformFeedbackEXT"
        184 "vkCmdBeginQueryIndexedEXT"
        185 "vkCmdEndQueryIndexedEXT"
        186 "vkCmdDrawIndirectByteCountEXT"
        187 "vkGetImageDrmFormatModifierPropertiesEXT"
        188 "vkCreateRingMESA"
        189 "vkDestroyRingMESA"
        190 "vkNotifyRingMESA"
        191 "vkWriteRingExtraMESA"
        192 "vkGetMemoryResourcePropertiesMESA"
        193 "vkGetMemoryFdKHR"
        194 "vkGetMemoryFdPropertiesKHR"
        196 "vkGetPhysicalDeviceToolProperties"
        197 "vkCreatePrivateDataSlot"
        198 "vkDestroyPrivateDataSlot"
        199 "vkSetPrivateData"
        200 "vkGetPrivateData"
        201 "vkCmdSetEvent2"
        202 "vkCmdResetEvent2"
        203 "vkCmdWaitEvents2"
        204 "vkCmdPipelineBarrier2"
        205 "vkCmdWriteTimestamp2"
        206 "vkQueueSubmit2"
        207 "vkCmdCopyBuffer2"
        208 "vkCmdCopyImage2"
        209 "vkCmdCopyBufferToImage2"
        210 "vkCmdCopyImageToBuffer2"
        211 "vkCmdBlitImage2"
        212 "vkCmdResolveImage2"
        213 "vkCmdBeginRendering"
        214 "vkCmdEndRendering"
        215 "vkCmdSetCullMode"
        216 "vkCmdSetFrontFace"
        217 "vkCmdSetPrimitiveTopology"
        218 "vkCmdSetViewportWithCount"
        219 "vkCmdSetScissorWithCount"
        220 "vkCmdBindVertexBuffers2"
        221 "vkCmdSetDepthTestEnable"
        222 "vkCmdSetDepthWriteEnable"
        223 "vkCmdSetDepthCompareOp"
        224 "vkCmdSetDepthBoundsTestEnable"
        225 "vkCmdSetStencilTestEnable"
        226 "vkCmdSetStencilOp"
        227 "vkCmdSetRasterizerDiscardEnable"
        228 "vkCmdSetDepthBiasEnable"
        229 "vkCmdSetPrimitiveRestartEnable"
        230 "vkGetDeviceBufferMemoryRequirements"
        231 "vkGetDeviceImageMemoryRequirements"
        232 "vkGetDeviceImageSparseMemoryRequirements"
        233 "vkCmdSetPatchControlPointsEXT"
        234 "vkCmdSetLogicOpEXT"
        235 "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"
        236 "vkGetCalibratedTimestampsEXT"
        237 "vkCmdSetLineStippleEXT"
        238 "vkImportFenceFdKHR"
        239 "vkGetFenceFdKHR"
        240 "vkCmdBeginConditionalRenderingEXT"
        241 "vkCmdEndConditionalRenderingEXT"
        242 "vkImportSemaphoreFdKHR"
        243 "vkGetSemaphoreFdKHR"
        244 "vkResetFenceResourceMESA"
        245 "vkWaitSemaphoreResourceMESA"
        246 "vkImportSemaphoreResourceMESA"
        247 "vkCmdDrawMultiEXT"
        248 "vkCmdDrawMultiIndexedEXT"
        249 "vkCmdPushDescriptorSetKHR"
        250 "vkCmdPushDescriptorSetWithTemplateKHR"
        251 "vkSubmitVirtqueueSeqnoMESA"
        252 "vkWaitVirtqueueSeqnoMESA"
        253 "vkWaitRingSeqnoMESA"
        254 "vkCmdSetColorWriteEnableEXT"
        255 "vkCmdSetVertexInputEXT"
        256 "vkCmdSetTessellationDomainOriginEXT"
        257 "vkCmdSetDepthClampEnableEXT"
        258 "vkCmdSetPolygonModeEXT"
        259 "vkCmdSetRasterizationSamplesEXT"
        260 "vkCmdSetSampleMaskEXT"
        261 "vkCmdSetAlphaToCoverageEnableEXT"
        262 "vkCmdSetAlphaToOneEnableEXT"
        263 "vkCmdSetLogicOpEnableEXT"
        264 "vkCmdSetColorBlendEnableEXT"
        265 "vkCmdSetColorBlendEquationEXT"
        266 "vkCmdSetColorWriteMaskEXT"
        267 "vkCmdSetRasterizationStreamEXT"
        268 "vkCmdSetConservativeRasterizationModeEXT"
        269 "vkCmdSetExtraPrimitiveOverestimationSizeEXT"
        270 "vkCmdSetDepthClipEnableEXT"
        271 "vkCmdSetSampleLocationsEnableEXT"
        272 "vkCmdSetColorBlendAdvancedEXT"
        273 "vkCmdSetProvokingVertexModeEXT"
        274 "vkCmdSetLineRasterizationModeEXT"
        275 "vkCmdSetLineStippleEnableEXT"
        276 "vkCmdSetDepthClipNegativeOneToOneEXT"
        277 "vkGetPhysicalDeviceFragmentShadingRatesKHR"
        278 "vkCmdSetFragmentShadingRateKHR"
        279 "vkCmdBindIndexBuffer2KHR"
        280 "vkGetRenderingAreaGranularityKHR"
        281 "vkGetDeviceImageSubresourceLayoutKHR"
        282 "vkGetImageSubresourceLayout2KHR"
    }
    descs 283 {
        Some(&commands::VkCreateInstance),
        Some(&commands::VkDestroyInstance),
        Some(&commands::VkEnumeratePhysicalDevices),
        None,
        None,
        None,
        Some(&commands::VkGetPhysicalDeviceProperties),
        None,
        None,
        None,
        None,
        Some(&commands::VkCreateDevice),
        Some(&commands::VkDestroyDevice),
        None,
        Some(&commands::VkEnumerateDeviceExtensionProperties),
        None,
        None,
        None,
        Some(&commands::VkQueueSubmit),
        None,
        None,
        Some(&commands::VkAllocateMemory),
        Some(&commands::VkFreeMemory),
        None,
        None,
        None,
        None,
        Some(&commands::VkGetDeviceMemoryCommitment),
        None,
        None,
        None,
        None,
        None,
        None,
        Some(&commands::VkQueueBindSparse),
        Some(&commands::VkCreateFence),
        Some(&commands::VkDestroyFence),
        Some(&commands::VkResetFences),
        Some(&commands::VkGetFenceStatus),
        Some(&commands::VkWaitForFences),
        Some(&commands::VkCreateSemaphore),
        Some(&commands::VkDestroySemaphore),
        Some(&commands::VkCreateEvent),
        Some(&commands::VkDestroyEvent),
        Some(&commands::VkGetEventStatus),
        Some(&commands::VkSetEvent),
        Some(&commands::VkResetEvent),
        Some(&commands::VkCreateQueryPool),
        Some(&commands::VkDestroyQueryPool),
        Some(&commands::VkGetQueryPoolResults),
        Some(&commands::VkCreateBuffer),
        Some(&commands::VkDestroyBuffer),
        Some(&commands::VkCreateBufferView),
        Some(&commands::VkDestroyBufferView),
        Some(&commands::VkCreateImage),
        Some(&commands::VkDestroyImage),
        Some(&commands::VkGetImageSubresourceLayout),
        Some(&commands::VkCreateImageView),
        Some(&commands::VkDestroyImageView),
        Some(&commands::VkCreateShaderModule),
        Some(&commands::VkDestroyShaderModule),
        Some(&commands::VkCreatePipelineCache),
        Some(&commands::VkDestroyPipelineCache),
        Some(&commands::VkGetPipelineCacheData),
        Some(&commands::VkMergePipelineCaches),
        Some(&commands::VkCreateGraphicsPipelines),
        Some(&commands::VkCreateComputePipelines),
        Some(&commands::VkDestroyPipeline),
        Some(&commands::VkCreatePipelineLayout),
        Some(&commands::VkDestroyPipelineLayout),
        Some(&commands::VkCreateSampler),
        Some(&commands::VkDestroySampler),
        Some(&commands::VkCreateDescriptorSetLayout),
        Some(&commands::VkDestroyDescriptorSetLayout),
        Some(&commands::VkCreateDescriptorPool),
        Some(&commands::VkDestroyDescriptorPool),
        Some(&commands::VkResetDescriptorPool),
        Some(&commands::VkAllocateDescriptorSets),
        Some(&commands::VkFreeDescriptorSets),
        Some(&commands::VkUpdateDescriptorSets),
        Some(&commands::VkCreateFramebuffer),
        Some(&commands::VkDestroyFramebuffer),
        Some(&commands::VkCreateRenderPass),
        Some(&commands::VkDestroyRenderPass),
        Some(&commands::VkGetRenderAreaGranularity),
        Some(&commands::VkCreateCommandPool),
        Some(&commands::VkDestroyCommandPool),
        Some(&commands::VkResetCommandPool),
        Some(&commands::VkAllocateCommandBuffers),
        Some(&commands::VkFreeCommandBuffers),
        Some(&commands::VkBeginCommandBuffer),
        Some(&commands::VkEndCommandBuffer),
        Some(&commands::VkResetCommandBuffer),
        Some(&commands::VkCmdBindPipeline),
        Some(&commands::VkCmdSetViewport),
        Some(&commands::VkCmdSetScissor),
        Some(&commands::VkCmdSetLineWidth),
        Some(&commands::VkCmdSetDepthBias),
        Some(&commands::VkCmdSetBlendConstants),
        Some(&commands::VkCmdSetDepthBounds),
        Some(&commands::VkCmdSetStencilCompareMask),
        Some(&commands::VkCmdSetStencilWriteMask),
        Some(&commands::VkCmdSetStencilReference),
        Some(&commands::VkCmdBindDescriptorSets),
        Some(&commands::VkCmdBindIndexBuffer),
        Some(&commands::VkCmdBindVertexBuffers),
        Some(&commands::VkCmdDraw),
        Some(&commands::VkCmdDrawIndexed),
        Some(&commands::VkCmdDrawIndirect),
        Some(&commands::VkCmdDrawIndexedIndirect),
        Some(&commands::VkCmdDispatch),
        Some(&commands::VkCmdDispatchIndirect),
        Some(&commands::VkCmdCopyBuffer),
        Some(&commands::VkCmdCopyImage),
        Some(&commands::VkCmdBlitImage),
        Some(&commands::VkCmdCopyBufferToImage),
        Some(&commands::VkCmdCopyImageToBuffer),
        Some(&commands::VkCmdUpdateBuffer),
        Some(&commands::VkCmdFillBuffer),
        Some(&commands::VkCmdClearColorImage),
        Some(&commands::VkCmdClearDepthStencilImage),
        Some(&commands::VkCmdClearAttachments),
        Some(&commands::VkCmdResolveImage),
        Some(&commands::VkCmdSetEvent),
        Some(&commands::VkCmdResetEvent),
        Some(&commands::VkCmdWaitEvents),
        Some(&commands::VkCmdPipelineBarrier),
        Some(&commands::VkCmdBeginQuery),
        Some(&commands::VkCmdEndQuery),
        Some(&commands::VkCmdResetQueryPool),
        Some(&commands::VkCmdWriteTimestamp),
        Some(&commands::VkCmdCopyQueryPoolResults),
        Some(&commands::VkCmdPushConstants),
        Some(&commands::VkCmdBeginRenderPass),
        Some(&commands::VkCmdNextSubpass),
        Some(&commands::VkCmdEndRenderPass),
        Some(&commands::VkCmdExecuteCommands),
        Some(&commands::VkEnumerateInstanceVersion),
        Some(&commands::VkBindBufferMemory2),
        Some(&commands::VkBindImageMemory2),
        Some(&commands::VkGetDeviceGroupPeerMemoryFeatures),
        Some(&commands::VkCmdSetDeviceMask),
        Some(&commands::VkCmdDispatchBase),
        Some(&commands::VkEnumeratePhysicalDeviceGroups),
        Some(&commands::VkGetImageMemoryRequirements2),
        Some(&commands::VkGetBufferMemoryRequirements2),
        Some(&commands::VkGetImageSparseMemoryRequirements2),
        Some(&commands::VkGetPhysicalDeviceFeatures2),
        Some(&commands::VkGetPhysicalDeviceProperties2),
        Some(&commands::VkGetPhysicalDeviceFormatProperties2),
        Some(&commands::VkGetPhysicalDeviceImageFormatProperties2),
        Some(&commands::VkGetPhysicalDeviceQueueFamilyProperties2),
        Some(&commands::VkGetPhysicalDeviceMemoryProperties2),
        Some(&commands::VkGetPhysicalDeviceSparseImageFormatProperties2),
        Some(&commands::VkTrimCommandPool),
        Some(&commands::VkGetDeviceQueue2),
        Some(&commands::VkCreateSamplerYcbcrConversion),
        Some(&commands::VkDestroySamplerYcbcrConversion),
        None,
        None,
        None,
        Some(&commands::VkGetPhysicalDeviceExternalBufferProperties),
        Some(&commands::VkGetPhysicalDeviceExternalFenceProperties),
        Some(&commands::VkGetPhysicalDeviceExternalSemaphoreProperties),
        Some(&commands::VkGetDescriptorSetLayoutSupport),
        Some(&commands::VkCmdDrawIndirectCount),
        Some(&commands::VkCmdDrawIndexedIndirectCount),
        Some(&commands::VkCreateRenderPass2),
        Some(&commands::VkCmdBeginRenderPass2),
        Some(&commands::VkCmdNextSubpass2),
        Some(&commands::VkCmdEndRenderPass2),
        Some(&commands::VkResetQueryPool),
        Some(&commands::VkGetSemaphoreCounterValue),
        Some(&commands::VkWaitSemaphores),
        Some(&commands::VkSignalSemaphore),
        Some(&commands::VkGetBufferDeviceAddress),
        Some(&commands::VkGetBufferOpaqueCaptureAddress),
        Some(&commands::VkGetDeviceMemoryOpaqueCaptureAddress),
        Some(&commands::VkSetReplyCommandStreamMESA),
        Some(&commands::VkSeekReplyCommandStreamMESA),
        Some(&commands::VkExecuteCommandStreamsMESA),
        Some(&commands::VkCmdBindTransformFeedbackBuffersEXT),
        Some(&commands::VkCmdBeginTransformFeedbackEXT),
        Some(&commands::VkCmdEndTransformFeedbackEXT),
        Some(&commands::VkCmdBeginQueryIndexedEXT),
        Some(&commands::VkCmdEndQueryIndexedEXT),
        Some(&commands::VkCmdDrawIndirectByteCountEXT),
        Some(&commands::VkGetImageDrmFormatModifierPropertiesEXT),
        Some(&commands::VkCreateRingMESA),
        Some(&commands::VkDestroyRingMESA),
        Some(&commands::VkNotifyRingMESA),
        Some(&commands::VkWriteRingExtraMESA),
        Some(&commands::VkGetMemoryResourcePropertiesMESA),
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        Some(&commands::VkCmdSetEvent2),
        Some(&commands::VkCmdResetEvent2),
        Some(&commands::VkCmdWaitEvents2),
        Some(&commands::VkCmdPipelineBarrier2),
        Some(&commands::VkCmdWriteTimestamp2),
        Some(&commands::VkQueueSubmit2),
        Some(&commands::VkCmdCopyBuffer2),
        Some(&commands::VkCmdCopyImage2),
        Some(&commands::VkCmdCopyBufferToImage2),
        Some(&commands::VkCmdCopyImageToBuffer2),
        Some(&commands::VkCmdBlitImage2),
        Some(&commands::VkCmdResolveImage2),
        Some(&commands::VkCmdBeginRendering),
        Some(&commands::VkCmdEndRendering),
        Some(&commands::VkCmdSetCullMode),
        Some(&commands::VkCmdSetFrontFace),
        Some(&commands::VkCmdSetPrimitiveTopology),
        Some(&commands::VkCmdSetViewportWithCount),
        Some(&commands::VkCmdSetScissorWithCount),
        Some(&commands::VkCmdBindVertexBuffers2),
        Some(&commands::VkCmdSetDepthTestEnable),
        Some(&commands::VkCmdSetDepthWriteEnable),
        Some(&commands::VkCmdSetDepthCompareOp),
        Some(&commands::VkCmdSetDepthBoundsTestEnable),
        Some(&commands::VkCmdSetStencilTestEnable),
        Some(&commands::VkCmdSetStencilOp),
        Some(&commands::VkCmdSetRasterizerDiscardEnable),
        Some(&commands::VkCmdSetDepthBiasEnable),
        Some(&commands::VkCmdSetPrimitiveRestartEnable),
        Some(&commands::VkGetDeviceBufferMemoryRequirements),
        Some(&commands::VkGetDeviceImageMemoryRequirements),
        Some(&commands::VkGetDeviceImageSparseMemoryRequirements),
        Some(&commands::VkCmdSetPatchControlPointsEXT),
        Some(&commands::VkCmdSetLogicOpEXT),
        Some(&commands::VkGetPhysicalDeviceCalibrateableTimeDomainsEXT),
        Some(&commands::VkGetCalibratedTimestampsEXT),
        Some(&commands::VkCmdSetLineStippleEXT),
        None,
        None,
        Some(&commands::VkCmdBeginConditionalRenderingEXT),
        Some(&commands::VkCmdEndConditionalRenderingEXT),
        None,
        None,
        Some(&commands::VkResetFenceResourceMESA),
        Some(&commands::VkWaitSemaphoreResourceMESA),
        Some(&commands::VkImportSemaphoreResourceMESA),
        Some(&commands::VkCmdDrawMultiEXT),
        Some(&commands::VkCmdDrawMultiIndexedEXT),
        Some(&commands::VkCmdPushDescriptorSetKHR),
        None,
        Some(&commands::VkSubmitVirtqueueSeqnoMESA),
        Some(&commands::VkWaitVirtqueueSeqnoMESA),
        Some(&commands::VkWaitRingSeqnoMESA),
        Some(&commands::VkCmdSetColorWriteEnableEXT),
        Some(&commands::VkCmdSetVertexInputEXT),
        Some(&commands::VkCmdSetTessellationDomainOriginEXT),
        Some(&commands::VkCmdSetDepthClampEnableEXT),
        Some(&commands::VkCmdSetPolygonModeEXT),
        Some(&commands::VkCmdSetRasterizationSamplesEXT),
        Some(&commands::VkCmdSetSampleMaskEXT),
        Some(&commands::VkCmdSetAlphaToCoverageEnableEXT),
        Some(&commands::VkCmdSetAlphaToOneEnableEXT),
        Some(&commands::VkCmdSetLogicOpEnableEXT),
        Some(&commands::VkCmdSetColorBlendEnableEXT),
        Some(&commands::VkCmdSetColorBlendEquationEXT),
        Some(&commands::VkCmdSetColorWriteMaskEXT),
        Some(&commands::VkCmdSetRasterizationStreamEXT),
        Some(&commands::VkCmdSetConservativeRasterizationModeEXT),
        Some(&commands::VkCmdSetExtraPrimitiveOverestimationSizeEXT),
        Some(&commands::VkCmdSetDepthClipEnableEXT),
        Some(&commands::VkCmdSetSampleLocationsEnableEXT),
        Some(&commands::VkCmdSetColorBlendAdvancedEXT),
        Some(&commands::VkCmdSetProvokingVertexModeEXT),
        Some(&commands::VkCmdSetLineRasterizationModeEXT),
        Some(&commands::VkCmdSetLineStippleEnableEXT),
        Some(&commands::VkCmdSetDepthClipNegativeOneToOneEXT),
        Some(&commands::VkGetPhysicalDeviceFragmentShadingRatesKHR),
        Some(&commands::VkCmdSetFragmentShadingRateKHR),
        Some(&commands::VkCmdBindIndexBuffer2KHR),
        Some(&commands::VkGetRenderingAreaGranularityKHR),
        Some(&commands::VkGetDeviceImageSubresourceLayoutKHR),
        Some(&commands::VkGetImageSubresourceLayout2KHR),
    }
    fns {
        1 Instance [c"vkDestroyInstance"]
        2 Instance [c"vkEnumeratePhysicalDevices"]
        6 Instance [c"vkGetPhysicalDeviceProperties"]
        11 Instance [c"vkCreateDevice"]
        12 Device [c"vkDestroyDevice"]
        14 Instance [c"vkEnumerateDeviceExtensionProperties"]
        18 Device [c"vkQueueSubmit"]
        21 Device [c"vkAllocateMemory"]
        22 Device [c"vkFreeMemory"]
        27 Device [c"vkGetDeviceMemoryCommitment"]
        34 Device [c"vkQueueBindSparse"]
        35 Device [c"vkCreateFence"]
        36 Device [c"vkDestroyFence"]
        37 Device [c"vkResetFences"]
        38 Device [c"vkGetFenceStatus"]
        39 Device [c"vkWaitForFences"]
        40 Device [c"vkCreateSemaphore"]
        41 Device [c"vkDestroySemaphore"]
        42 Device [c"vkCreateEvent"]
        43 Device [c"vkDestroyEvent"]
        44 Device [c"vkGetEventStatus"]
        45 Device [c"vkSetEvent"]
        46 Device [c"vkResetEvent"]
        47 Device [c"vkCreateQueryPool"]
        48 Device [c"vkDestroyQueryPool"]
        49 Device [c"vkGetQueryPoolResults"]
        50 Device [c"vkCreateBuffer"]
        51 Device [c"vkDestroyBuffer"]
        52 Device [c"vkCreateBufferView"]
        53 Device [c"vkDestroyBufferView"]
        54 Device [c"vkCreateImage"]
        55 Device [c"vkDestroyImage"]
        56 Device [c"vkGetImageSubresourceLayout"]
        57 Device [c"vkCreateImageView"]
        58 Device [c"vkDestroyImageView"]
        59 Device [c"vkCreateShaderModule"]
        60 Device [c"vkDestroyShaderModule"]
        61 Device [c"vkCreatePipelineCache"]
        62 Device [c"vkDestroyPipelineCache"]
        63 Device [c"vkGetPipelineCacheData"]
        64 Device [c"vkMergePipelineCaches"]
        65 Device [c"vkCreateGraphicsPipelines"]
        66 Device [c"vkCreateComputePipelines"]
        67 Device [c"vkDestroyPipeline"]
        68 Device [c"vkCreatePipelineLayout"]
        69 Device [c"vkDestroyPipelineLayout"]
        70 Device [c"vkCreateSampler"]
        71 Device [c"vkDestroySampler"]
        72 Device [c"vkCreateDescriptorSetLayout"]
        73 Device [c"vkDestroyDescriptorSetLayout"]
        74 Device [c"vkCreateDescriptorPool"]
        75 Device [c"vkDestroyDescriptorPool"]
        76 Device [c"vkResetDescriptorPool"]
        77 Device [c"vkAllocateDescriptorSets"]
        78 Device [c"vkFreeDescriptorSets"]
        79 Device [c"vkUpdateDescriptorSets"]
        80 Device [c"vkCreateFramebuffer"]
        81 Device [c"vkDestroyFramebuffer"]
        82 Device [c"vkCreateRenderPass"]
        83 Device [c"vkDestroyRenderPass"]
        84 Device [c"vkGetRenderAreaGranularity"]
        85 Device [c"vkCreateCommandPool"]
        86 Device [c"vkDestroyCommandPool"]
        87 Device [c"vkResetCommandPool"]
        88 Device [c"vkAllocateCommandBuffers"]
        89 Device [c"vkFreeCommandBuffers"]
        90 Device [c"vkBeginCommandBuffer"]
        91 Device [c"vkEndCommandBuffer"]
        92 Device [c"vkResetCommandBuffer"]
        93 Cmd [c"vkCmdBindPipeline"]
        94 Cmd [c"vkCmdSetViewport"]
        95 Cmd [c"vkCmdSetScissor"]
        96 Cmd [c"vkCmdSetLineWidth"]
        97 Cmd [c"vkCmdSetDepthBias"]
        98 Cmd [c"vkCmdSetBlendConstants"]
        99 Cmd [c"vkCmdSetDepthBounds"]
        100 Cmd [c"vkCmdSetStencilCompareMask"]
        101 Cmd [c"vkCmdSetStencilWriteMask"]
        102 Cmd [c"vkCmdSetStencilReference"]
        103 Cmd [c"vkCmdBindDescriptorSets"]
        104 Cmd [c"vkCmdBindIndexBuffer"]
        105 Cmd [c"vkCmdBindVertexBuffers"]
        106 Cmd [c"vkCmdDraw"]
        107 Cmd [c"vkCmdDrawIndexed"]
        108 Cmd [c"vkCmdDrawIndirect"]
        109 Cmd [c"vkCmdDrawIndexedIndirect"]
        110 Cmd [c"vkCmdDispatch"]
        111 Cmd [c"vkCmdDispatchIndirect"]
        112 Cmd [c"vkCmdCopyBuffer"]
        113 Cmd [c"vkCmdCopyImage"]
        114 Cmd [c"vkCmdBlitImage"]
        115 Cmd [c"vkCmdCopyBufferToImage"]
        116 Cmd [c"vkCmdCopyImageToBuffer"]
        117 Cmd [c"vkCmdUpdateBuffer"]
        118 Cmd [c"vkCmdFillBuffer"]
        119 Cmd [c"vkCmdClearColorImage"]
        120 Cmd [c"vkCmdClearDepthStencilImage"]
        121 Cmd [c"vkCmdClearAttachments"]
        122 Cmd [c"vkCmdResolveImage"]
        123 Cmd [c"vkCmdSetEvent"]
        124 Cmd [c"vkCmdResetEvent"]
        125 Cmd [c"vkCmdWaitEvents"]
        126 Cmd [c"vkCmdPipelineBarrier"]
        127 Cmd [c"vkCmdBeginQuery"]
        128 Cmd [c"vkCmdEndQuery"]
        129 Cmd [c"vkCmdResetQueryPool"]
        130 Cmd [c"vkCmdWriteTimestamp"]
        131 Cmd [c"vkCmdCopyQueryPoolResults"]
        132 Cmd [c"vkCmdPushConstants"]
        133 Cmd [c"vkCmdBeginRenderPass"]
        134 Cmd [c"vkCmdNextSubpass"]
        135 Cmd [c"vkCmdEndRenderPass"]
        136 Cmd [c"vkCmdExecuteCommands"]
        138 Device [c"vkBindBufferMemory2", c"vkBindBufferMemory2KHR"]
        139 Device [c"vkBindImageMemory2", c"vkBindImageMemory2KHR"]
        140 Device [c"vkGetDeviceGroupPeerMemoryFeatures", c"vkGetDeviceGroupPeerMemoryFeaturesKHR"]
        141 Cmd [c"vkCmdSetDeviceMask", c"vkCmdSetDeviceMaskKHR"]
        142 Cmd [c"vkCmdDispatchBase", c"vkCmdDispatchBaseKHR"]
        143 Instance [c"vkEnumeratePhysicalDeviceGroups", c"vkEnumeratePhysicalDeviceGroupsKHR"]
        144 Device [c"vkGetImageMemoryRequirements2", c"vkGetImageMemoryRequirements2KHR"]
        145 Device [c"vkGetBufferMemoryRequirements2", c"vkGetBufferMemoryRequirements2KHR"]
        146 Device [c"vkGetImageSparseMemoryRequirements2", c"vkGetImageSparseMemoryRequirements2KHR"]
        147 Instance [c"vkGetPhysicalDeviceFeatures2", c"vkGetPhysicalDeviceFeatures2KHR"]
        148 Instance [c"vkGetPhysicalDeviceProperties2", c"vkGetPhysicalDeviceProperties2KHR"]
        149 Instance [c"vkGetPhysicalDeviceFormatProperties2", c"vkGetPhysicalDeviceFormatProperties2KHR"]
        150 Instance [c"vkGetPhysicalDeviceImageFormatProperties2", c"vkGetPhysicalDeviceImageFormatProperties2KHR"]
        151 Instance [c"vkGetPhysicalDeviceQueueFamilyProperties2", c"vkGetPhysicalDeviceQueueFamilyProperties2KHR"]
        152 Instance [c"vkGetPhysicalDeviceMemoryProperties2", c"vkGetPhysicalDeviceMemoryProperties2KHR"]
        153 Instance [c"vkGetPhysicalDeviceSparseImageFormatProperties2", c"vkGetPhysicalDeviceSparseImageFormatProperties2KHR"]
        154 Device [c"vkTrimCommandPool", c"vkTrimCommandPoolKHR"]
        155 Device [c"vkGetDeviceQueue2"]
        156 Device [c"vkCreateSamplerYcbcrConversion", c"vkCreateSamplerYcbcrConversionKHR"]
        157 Device [c"vkDestroySamplerYcbcrConversion", c"vkDestroySamplerYcbcrConversionKHR"]
        161 Instance [c"vkGetPhysicalDeviceExternalBufferProperties", c"vkGetPhysicalDeviceExternalBufferPropertiesKHR"]
        162 Instance [c"vkGetPhysicalDeviceExternalFenceProperties", c"vkGetPhysicalDeviceExternalFencePropertiesKHR"]
        163 Instance [c"vkGetPhysicalDeviceExternalSemaphoreProperties", c"vkGetPhysicalDeviceExternalSemaphorePropertiesKHR"]
        164 Device [c"vkGetDescriptorSetLayoutSupport", c"vkGetDescriptorSetLayoutSupportKHR"]
        165 Cmd [c"vkCmdDrawIndirectCount", c"vkCmdDrawIndirectCountAMD", c"vkCmdDrawIndirectCountKHR"]
        166 Cmd [c"vkCmdDrawIndexedIndirectCount", c"vkCmdDrawIndexedIndirectCountAMD", c"vkCmdDrawIndexedIndirectCountKHR"]
        167 Device [c"vkCreateRenderPass2", c"vkCreateRenderPass2KHR"]
        168 Cmd [c"vkCmdBeginRenderPass2", c"vkCmdBeginRenderPass2KHR"]
        169 Cmd [c"vkCmdNextSubpass2", c"vkCmdNextSubpass2KHR"]
        170 Cmd [c"vkCmdEndRenderPass2", c"vkCmdEndRenderPass2KHR"]
        171 Device [c"vkResetQueryPool", c"vkResetQueryPoolEXT"]
        172 Device [c"vkGetSemaphoreCounterValue", c"vkGetSemaphoreCounterValueKHR"]
        173 Device [c"vkWaitSemaphores", c"vkWaitSemaphoresKHR"]
        174 Device [c"vkSignalSemaphore", c"vkSignalSemaphoreKHR"]
        175 Device [c"vkGetBufferDeviceAddress", c"vkGetBufferDeviceAddressEXT", c"vkGetBufferDeviceAddressKHR"]
        176 Device [c"vkGetBufferOpaqueCaptureAddress", c"vkGetBufferOpaqueCaptureAddressKHR"]
        177 Device [c"vkGetDeviceMemoryOpaqueCaptureAddress", c"vkGetDeviceMemoryOpaqueCaptureAddressKHR"]
        181 Cmd [c"vkCmdBindTransformFeedbackBuffersEXT"]
        182 Cmd [c"vkCmdBeginTransformFeedbackEXT"]
        183 Cmd [c"vkCmdEndTransformFeedbackEXT"]
        184 Cmd [c"vkCmdBeginQueryIndexedEXT"]
        185 Cmd [c"vkCmdEndQueryIndexedEXT"]
        186 Cmd [c"vkCmdDrawIndirectByteCountEXT"]
        187 Device [c"vkGetImageDrmFormatModifierPropertiesEXT"]
        201 Cmd [c"vkCmdSetEvent2", c"vkCmdSetEvent2KHR"]
        202 Cmd [c"vkCmdResetEvent2", c"vkCmdResetEvent2KHR"]
        203 Cmd [c"vkCmdWaitEvents2", c"vkCmdWaitEvents2KHR"]
        204 Cmd [c"vkCmdPipelineBarrier2", c"vkCmdPipelineBarrier2KHR"]
        205 Cmd [c"vkCmdWriteTimestamp2", c"vkCmdWriteTimestamp2KHR"]
        206 Device [c"vkQueueSubmit2", c"vkQueueSubmit2KHR"]
        207 Cmd [c"vkCmdCopyBuffer2", c"vkCmdCopyBuffer2KHR"]
        208 Cmd [c"vkCmdCopyImage2", c"vkCmdCopyImage2KHR"]
        209 Cmd [c"vkCmdCopyBufferToImage2", c"vkCmdCopyBufferToImage2KHR"]
        210 Cmd [c"vkCmdCopyImageToBuffer2", c"vkCmdCopyImageToBuffer2KHR"]
        211 Cmd [c"vkCmdBlitImage2", c"vkCmdBlitImage2KHR"]
        212 Cmd [c"vkCmdResolveImage2", c"vkCmdResolveImage2KHR"]
        213 Cmd [c"vkCmdBeginRendering", c"vkCmdBeginRenderingKHR"]
        214 Cmd [c"vkCmdEndRendering", c"vkCmdEndRenderingKHR"]
        215 Cmd [c"vkCmdSetCullMode", c"vkCmdSetCullModeEXT"]
        216 Cmd [c"vkCmdSetFrontFace", c"vkCmdSetFrontFaceEXT"]
        217 Cmd [c"vkCmdSetPrimitiveTopology", c"vkCmdSetPrimitiveTopologyEXT"]
        218 Cmd [c"vkCmdSetViewportWithCount", c"vkCmdSetViewportWithCountEXT"]
        219 Cmd [c"vkCmdSetScissorWithCount", c"vkCmdSetScissorWithCountEXT"]
        220 Cmd [c"vkCmdBindVertexBuffers2", c"vkCmdBindVertexBuffers2EXT"]
        221 Cmd [c"vkCmdSetDepthTestEnable", c"vkCmdSetDepthTestEnableEXT"]
        222 Cmd [c"vkCmdSetDepthWriteEnable", c"vkCmdSetDepthWriteEnableEXT"]
        223 Cmd [c"vkCmdSetDepthCompareOp", c"vkCmdSetDepthCompareOpEXT"]
        224 Cmd [c"vkCmdSetDepthBoundsTestEnable", c"vkCmdSetDepthBoundsTestEnableEXT"]
        225 Cmd [c"vkCmdSetStencilTestEnable", c"vkCmdSetStencilTestEnableEXT"]
        226 Cmd [c"vkCmdSetStencilOp", c"vkCmdSetStencilOpEXT"]
        227 Cmd [c"vkCmdSetRasterizerDiscardEnable", c"vkCmdSetRasterizerDiscardEnableEXT"]
        228 Cmd [c"vkCmdSetDepthBiasEnable", c"vkCmdSetDepthBiasEnableEXT"]
        229 Cmd [c"vkCmdSetPrimitiveRestartEnable", c"vkCmdSetPrimitiveRestartEnableEXT"]
        230 Device [c"vkGetDeviceBufferMemoryRequirements", c"vkGetDeviceBufferMemoryRequirementsKHR"]
        231 Device [c"vkGetDeviceImageMemoryRequirements", c"vkGetDeviceImageMemoryRequirementsKHR"]
        232 Device [c"vkGetDeviceImageSparseMemoryRequirements", c"vkGetDeviceImageSparseMemoryRequirementsKHR"]
        233 Cmd [c"vkCmdSetPatchControlPointsEXT"]
        234 Cmd [c"vkCmdSetLogicOpEXT"]
        235 Instance [c"vkGetPhysicalDeviceCalibrateableTimeDomainsKHR", c"vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"]
        236 Device [c"vkGetCalibratedTimestampsKHR", c"vkGetCalibratedTimestampsEXT"]
        237 Cmd [c"vkCmdSetLineStipple", c"vkCmdSetLineStippleEXT", c"vkCmdSetLineStippleKHR"]
        240 Cmd [c"vkCmdBeginConditionalRenderingEXT"]
        241 Cmd [c"vkCmdEndConditionalRenderingEXT"]
        247 Cmd [c"vkCmdDrawMultiEXT"]
        248 Cmd [c"vkCmdDrawMultiIndexedEXT"]
        249 Cmd [c"vkCmdPushDescriptorSet", c"vkCmdPushDescriptorSetKHR"]
        254 Cmd [c"vkCmdSetColorWriteEnableEXT"]
        255 Cmd [c"vkCmdSetVertexInputEXT"]
        256 Cmd [c"vkCmdSetTessellationDomainOriginEXT"]
        257 Cmd [c"vkCmdSetDepthClampEnableEXT"]
        258 Cmd [c"vkCmdSetPolygonModeEXT"]
        259 Cmd [c"vkCmdSetRasterizationSamplesEXT"]
        260 Cmd [c"vkCmdSetSampleMaskEXT"]
        261 Cmd [c"vkCmdSetAlphaToCoverageEnableEXT"]
        262 Cmd [c"vkCmdSetAlphaToOneEnableEXT"]
        263 Cmd [c"vkCmdSetLogicOpEnableEXT"]
        264 Cmd [c"vkCmdSetColorBlendEnableEXT"]
        265 Cmd [c"vkCmdSetColorBlendEquationEXT"]
        266 Cmd [c"vkCmdSetColorWriteMaskEXT"]
        267 Cmd [c"vkCmdSetRasterizationStreamEXT"]
        268 Cmd [c"vkCmdSetConservativeRasterizationModeEXT"]
        269 Cmd [c"vkCmdSetExtraPrimitiveOverestimationSizeEXT"]
        270 Cmd [c"vkCmdSetDepthClipEnableEXT"]
        271 Cmd [c"vkCmdSetSampleLocationsEnableEXT"]
        272 Cmd [c"vkCmdSetColorBlendAdvancedEXT"]
        273 Cmd [c"vkCmdSetProvokingVertexModeEXT"]
        274 Cmd [c"vkCmdSetLineRasterizationModeEXT"]
        275 Cmd [c"vkCmdSetLineStippleEnableEXT"]
        276 Cmd [c"vkCmdSetDepthClipNegativeOneToOneEXT"]
        277 Instance [c"vkGetPhysicalDeviceFragmentShadingRatesKHR"]
        278 Cmd [c"vkCmdSetFragmentShadingRateKHR"]
        279 Cmd [c"vkCmdBindIndexBuffer2", c"vkCmdBindIndexBuffer2KHR"]
        280 Device [c"vkGetRenderingAreaGranularity", c"vkGetRenderingAreaGranularityKHR"]
        281 Device [c"vkGetDeviceImageSubresourceLayout", c"vkGetDeviceImageSubresourceLayoutKHR"]
        282 Device [c"vkGetImageSubresourceLayout2", c"vkGetImageSubresourceLayout2EXT", c"vkGetImageSubresourceLayout2KHR"]
    }
}
