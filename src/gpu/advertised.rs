//! The device extensions that a guest is shown.
//!
//! An extension is listed when everything it adds can be decoded, audited and restored. What is
//! missing on purpose: sparse resources, descriptor buffers, acceleration structures, host image
//! copies and transform feedback (no restore yet), and every sharing extension whose handles
//! would leave the arena. Memory that a guest's contexts share stays in it: see `external`.

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
    (c"VK_EXT_queue_family_foreign", 127),
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
/// and tells the renderer only what that does to the payload of the object. Shared memory is
/// the same: dma-bufs are the guest kernel's, the wire carries ids of resources in the arena. Images on
/// it are linear whatever the host can do, so the format modifiers are Hesper's as well.
const EMULATED: &[(&CStr, u32, u32)] = &[
    (c"VK_EXT_external_memory_dma_buf", 126, 1),
    (c"VK_EXT_image_drm_format_modifier", 159, 2),
    (c"VK_KHR_external_fence_fd", 116, 1),
    (c"VK_KHR_external_memory_fd", 75, 1),
    (c"VK_KHR_external_semaphore_fd", 80, 1),
];

/// Extensions that stock Venus could pass on and that are not shown, each with its reason.
const HIDDEN: &[(&str, &str)] = &[
    ("VK_EXT_4444_formats", "not tested yet"),
    ("VK_EXT_attachment_feedback_loop_layout", NOT_AUDITED),
    ("VK_EXT_border_color_swizzle", "not tested yet"),
    (
        "VK_EXT_calibrated_timestamps",
        "the device's clock jumps when a context is restored",
    ),
    ("VK_EXT_color_write_enable", STATE),
    (
        "VK_EXT_conditional_rendering",
        "a read of the device decides what is executed: not audited yet",
    ),
    ("VK_EXT_conservative_rasterization", "not tested yet"),
    ("VK_EXT_custom_border_color", "not tested yet"),
    ("VK_EXT_depth_clip_control", "not tested yet"),
    ("VK_EXT_depth_clip_enable", "not tested yet"),
    (
        "VK_EXT_descriptor_buffer",
        "descriptors live in memory as opaque bytes of the host's driver",
    ),
    (
        "VK_EXT_dynamic_rendering_unused_attachments",
        "not tested yet",
    ),
    (
        "VK_EXT_extended_dynamic_state",
        "part of Vulkan 1.3; as an extension for 1.2 not tested",
    ),
    (
        "VK_EXT_extended_dynamic_state2",
        "part of Vulkan 1.3; as an extension for 1.2 not tested",
    ),
    ("VK_EXT_extended_dynamic_state3", STATE),
    (
        "VK_EXT_external_memory_acquire_unmodified",
        "not tested yet",
    ),
    (
        "VK_EXT_external_memory_host",
        "the guest's pointers mean nothing to the host",
    ),
    ("VK_EXT_fragment_shader_interlock", NOT_AUDITED),
    (
        "VK_EXT_graphics_pipeline_library",
        "pipelines made of parts are not restored yet",
    ),
    (
        "VK_EXT_host_image_copy",
        "the host would write images outside submissions",
    ),
    ("VK_EXT_image_2d_view_of_3d", NOT_AUDITED),
    ("VK_EXT_image_view_min_lod", "not tested yet"),
    ("VK_EXT_index_type_uint8", "not tested yet"),
    (
        "VK_EXT_inline_uniform_block",
        "the content of inline uniform blocks is not saved yet",
    ),
    ("VK_EXT_line_rasterization", "not tested yet"),
    ("VK_EXT_load_store_op_none", "not tested yet"),
    ("VK_EXT_multi_draw", NOT_AUDITED),
    (
        "VK_EXT_mutable_descriptor_type",
        "the audit knows one type for each binding",
    ),
    ("VK_EXT_non_seamless_cube_map", "not tested yet"),
    ("VK_EXT_pci_bus_info", "the guest's own bus is shown"),
    ("VK_EXT_primitive_topology_list_restart", "not tested yet"),
    (
        "VK_EXT_primitives_generated_query",
        "queries are not restored yet",
    ),
    ("VK_EXT_provoking_vertex", "not tested yet"),
    ("VK_EXT_rasterization_order_attachment_access", NOT_AUDITED),
    ("VK_EXT_shader_stencil_export", NOT_AUDITED),
    ("VK_EXT_shader_subgroup_ballot", "not tested yet"),
    (
        "VK_EXT_transform_feedback",
        "what is written, and the counters behind it, are not audited yet",
    ),
    ("VK_EXT_vertex_attribute_divisor", "not tested yet"),
    ("VK_EXT_vertex_input_dynamic_state", STATE),
    ("VK_EXT_ycbcr_2plane_444_formats", "not tested yet"),
    (
        "VK_KHR_acceleration_structure",
        "opaque structures of the host's driver, full of addresses",
    ),
    ("VK_KHR_fragment_shading_rate", "not tested yet"),
    ("VK_KHR_maintenance5", "not tested yet"),
    (
        "VK_KHR_pipeline_library",
        "pipelines made of parts are not restored yet",
    ),
    (
        "VK_KHR_push_descriptor",
        "descriptors inside of recordings are not audited yet",
    ),
    (
        "VK_KHR_shader_clock",
        "the device's clock jumps when a context is restored",
    ),
    ("VK_KHR_shader_expect_assume", "not tested yet"),
    (
        "VK_VALVE_mutable_descriptor_type",
        "the audit knows one type for each binding",
    ),
];

const NOT_AUDITED: &str = "what it lets a shader or a draw write is not audited yet";
const STATE: &str = "its dynamic state is not tested yet";

/// Extensions that are not shown, and why.
pub fn hidden_extensions() -> impl Iterator<Item = (&'static str, &'static str)> {
    HIDDEN.iter().copied()
}

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

    #[test]
    fn hidden_extensions_are_not_shown() {
        for (hidden, _) in hidden_extensions() {
            assert!(
                extension_names().all(|name| name.to_bytes() != hidden.as_bytes()),
                "{hidden} is shown and hidden"
            );
        }
    }

    /// The member's name as Vulkan spells it.
    fn camel(member: &str) -> String {
        let mut parts = member.split('_');
        let mut name = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let mut chars = part.chars();
            name.extend(chars.next().map(|c| c.to_ascii_uppercase()));
            name.push_str(chars.as_str());
        }
        name
    }

    fn tables() -> String {
        let mut text = String::from("| extension shown | by |\n| --- | --- |\n");
        let mut shown: Vec<_> = ADVERTISED
            .iter()
            .map(|(name, _)| (name.to_str().unwrap(), "the host"))
            .chain(
                EMULATED
                    .iter()
                    .map(|(name, ..)| (name.to_str().unwrap(), "Hesper")),
            )
            .collect();
        shown.sort_unstable();
        for (name, by) in shown {
            text += &format!("| {name} | {by} |\n");
        }
        text += "\n| extension hidden | why |\n| --- | --- |\n";
        for (name, why) in hidden_extensions() {
            text += &format!("| {name} | {why} |\n");
        }
        text += "\n| structure | feature hidden | why |\n| --- | --- | --- |\n";
        for (structure, member, why) in crate::hidden_features() {
            text += &format!("| {structure} | {} | {why} |\n", camel(member));
        }
        text
    }

    /// The tables in docs/vulkan.md are those of the code. `HESPER_BLESS=1` writes them anew.
    #[test]
    fn docs_vulkan_has_the_tables_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/vulkan.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mark = "<!-- tables: made by a test of src/gpu -->\n";
        let (head, found) = text.split_once(mark).unwrap();
        let wanted = tables();
        if std::env::var_os("HESPER_BLESS").is_some() {
            std::fs::write(path, format!("{head}{mark}{wanted}")).unwrap();
            return;
        }

        assert_eq!(found, wanted);
    }
}
