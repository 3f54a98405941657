//! The device extensions that a guest is shown.
//!
//! An extension is listed when everything it adds can be decoded, audited and restored. What is
//! missing on purpose: sparse resources, descriptor buffers, acceleration structures, host image
//! copies and transform feedback (no restore yet), and every sharing extension whose handles
//! would leave the arena.

use std::ffi::CStr;

use ash::vk;

/// Name and registry number. The number is a bit of the Venus capset's extension mask.
const ADVERTISED: &[(&CStr, u32)] = &[
    (c"VK_KHR_16bit_storage", 84),
    (c"VK_KHR_8bit_storage", 178),
    (c"VK_KHR_bind_memory2", 158),
    (c"VK_KHR_buffer_device_address", 258),
    (c"VK_KHR_copy_commands2", 338),
    (c"VK_KHR_create_renderpass2", 110),
    (c"VK_KHR_dedicated_allocation", 128),
    (c"VK_KHR_depth_stencil_resolve", 200),
    (c"VK_KHR_descriptor_update_template", 86),
    (c"VK_KHR_device_group", 61),
    (c"VK_KHR_draw_indirect_count", 170),
    (c"VK_KHR_driver_properties", 197),
    (c"VK_KHR_dynamic_rendering", 45),
    (c"VK_KHR_external_fence", 114),
    (c"VK_KHR_external_memory", 73),
    (c"VK_KHR_external_semaphore", 78),
    (c"VK_KHR_format_feature_flags2", 361),
    (c"VK_KHR_get_memory_requirements2", 147),
    (c"VK_KHR_image_format_list", 148),
    (c"VK_KHR_imageless_framebuffer", 109),
    (c"VK_KHR_maintenance1", 70),
    (c"VK_KHR_maintenance2", 118),
    (c"VK_KHR_maintenance3", 169),
    (c"VK_KHR_maintenance4", 414),
    (c"VK_KHR_multiview", 54),
    (c"VK_KHR_relaxed_block_layout", 145),
    (c"VK_KHR_sampler_mirror_clamp_to_edge", 15),
    (c"VK_KHR_sampler_ycbcr_conversion", 157),
    (c"VK_KHR_separate_depth_stencil_layouts", 242),
    (c"VK_KHR_shader_atomic_int64", 181),
    (c"VK_KHR_shader_draw_parameters", 64),
    (c"VK_KHR_shader_float16_int8", 83),
    (c"VK_KHR_shader_float_controls", 198),
    (c"VK_KHR_shader_integer_dot_product", 281),
    (c"VK_KHR_shader_non_semantic_info", 294),
    (c"VK_KHR_shader_subgroup_extended_types", 176),
    (c"VK_KHR_shader_terminate_invocation", 216),
    (c"VK_KHR_spirv_1_4", 237),
    (c"VK_KHR_storage_buffer_storage_class", 132),
    (c"VK_KHR_synchronization2", 315),
    (c"VK_KHR_timeline_semaphore", 208),
    (c"VK_KHR_uniform_buffer_standard_layout", 254),
    (c"VK_KHR_variable_pointers", 121),
    (c"VK_KHR_vulkan_memory_model", 212),
    (c"VK_KHR_zero_initialize_workgroup_memory", 326),
    (c"VK_EXT_descriptor_indexing", 162),
    (c"VK_EXT_host_query_reset", 262),
    (c"VK_EXT_image_robustness", 336),
    (c"VK_EXT_pipeline_creation_cache_control", 298),
    (c"VK_EXT_pipeline_creation_feedback", 193),
    (c"VK_EXT_private_data", 296),
    (c"VK_EXT_robustness2", 287),
    (c"VK_EXT_sampler_filter_minmax", 131),
    (c"VK_EXT_scalar_block_layout", 222),
    (c"VK_EXT_separate_stencil_usage", 247),
    (c"VK_EXT_shader_demote_to_helper_invocation", 277),
    (c"VK_EXT_shader_viewport_index_layer", 163),
    (c"VK_EXT_subgroup_size_control", 226),
    (c"VK_EXT_texel_buffer_alignment", 282),
];

/// Device extensions that Hesper itself implements, whether or not the host has them, with their
/// registry numbers and spec versions. The host never hears of them.
///
/// Stock Mesa shows Vulkan 1.3 only where the renderer's semaphores and fences can be sync files.
/// What crosses the wire is never a descriptor: the guest makes its sync files from virtio fences,
/// and tells the renderer only what that does to the payload of the object.
const EMULATED: &[(&CStr, u32, u32)] = &[
    (c"VK_KHR_external_fence_fd", 116, 1),
    (c"VK_KHR_external_semaphore_fd", 80, 1),
];

/// Instance-level extensions whose numbers the mask carries as well: Venus commands themselves.
const VENUS_EXTENSIONS: &[u32] = &[385, 384];

/// Names of the extensions that may be advertised where the host has them.
pub fn extension_names() -> impl Iterator<Item = &'static CStr> {
    ADVERTISED.iter().map(|(name, _)| *name)
}

/// Whether Hesper implements an extension without the host.
pub fn is_emulated(name: &CStr) -> bool {
    EMULATED.iter().any(|(emulated, ..)| *emulated == name)
}

/// The extensions that Hesper implements without the host, as a guest is shown them.
pub(crate) fn emulated_properties() -> impl Iterator<Item = vk::ExtensionProperties> {
    EMULATED.iter().map(|(name, _, spec_version)| {
        let mut properties = vk::ExtensionProperties::default().spec_version(*spec_version);
        for (slot, byte) in properties
            .extension_name
            .iter_mut()
            .zip(name.to_bytes_with_nul())
        {
            *slot = *byte as std::ffi::c_char;
        }
        properties
    })
}

/// The capset's extension mask: bit `n` of the whole for extension number `n`; bit 0 says that
/// the mask is valid.
pub fn extension_mask() -> [u32; 32] {
    let mut mask = [0; 32];
    mask[0] = 1;
    for number in ADVERTISED
        .iter()
        .map(|(_, number)| *number)
        .chain(EMULATED.iter().map(|(_, number, _)| *number))
        .chain(VENUS_EXTENSIONS.iter().copied())
    {
        mask[number as usize / 32] |= 1 << (number % 32);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_mask_has_a_bit_for_each_name() {
        let bits: u32 = extension_mask().iter().map(|word| word.count_ones()).sum();
        assert_eq!(
            bits as usize,
            ADVERTISED.len() + EMULATED.len() + VENUS_EXTENSIONS.len() + 1
        );
        assert_eq!(extension_mask()[287 / 32] >> (287 % 32) & 1, 1);
    }
}
