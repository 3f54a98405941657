//! The features that a guest is not shown, each with its reason.
//!
//! Two tables: single features of structures that are shown, and structures of extensions that
//! [`crate::extension_names`] leaves out. A query has them cleared; a device that asks for one of
//! them is refused, as on a device that lacks it.

use std::mem::{offset_of, size_of};

use ash::vk::{self, TaggedStructure};

use crate::advertised::extension_names;

const SPARSE: &str = "sparse bindings change with submissions that are not audited or restored";
const PROTECTED: &str = "protected memory can't be read, so it can't be saved";
const REPLAY: &str = "addresses are given by the host; they can't be asked for";
const GROUPS: &str = "a guest has one device";
const INLINE: &str = "the content of inline uniform blocks is not saved yet";

/// A feature that is hidden although its structure is shown.
#[derive(Clone, Copy, Debug)]
pub struct HiddenFeature {
    /// Name of the structure.
    pub structure: &'static str,
    /// Name of the member, as `ash` spells it.
    pub member: &'static str,
    /// Why it is hidden.
    pub why: &'static str,
    s_type: vk::StructureType,
    offset: usize,
}

/// A feature structure that comes with an extension.
#[derive(Clone, Copy, Debug)]
pub struct FeatureStructure {
    /// Name of the structure.
    pub structure: &'static str,
    /// The extension that brings it.
    pub extension: &'static str,
    s_type: vk::StructureType,
    size: usize,
}

macro_rules! hidden_features {
    ($($ty:ident { $($member:ident: $why:expr,)* })*) => {
        &[$($(HiddenFeature {
            structure: concat!("Vk", stringify!($ty)),
            member: stringify!($member),
            why: $why,
            s_type: <vk::$ty<'static> as TaggedStructure>::STRUCTURE_TYPE,
            offset: offset_of!(vk::$ty<'static>, $member),
        },)*)*]
    };
}

/// Hidden features of structures with a pNext chain.
const HIDDEN: &[HiddenFeature] = hidden_features! {
    PhysicalDeviceVulkan11Features {
        protected_memory: PROTECTED,
    }
    PhysicalDeviceProtectedMemoryFeatures {
        protected_memory: PROTECTED,
    }
    PhysicalDeviceVulkan12Features {
        buffer_device_address_capture_replay: REPLAY,
        buffer_device_address_multi_device: GROUPS,
    }
    PhysicalDeviceBufferDeviceAddressFeatures {
        buffer_device_address_capture_replay: REPLAY,
        buffer_device_address_multi_device: GROUPS,
    }
    PhysicalDeviceVulkan13Features {
        inline_uniform_block: INLINE,
        descriptor_binding_inline_uniform_block_update_after_bind: INLINE,
    }
    PhysicalDeviceInlineUniformBlockFeatures {
        inline_uniform_block: INLINE,
        descriptor_binding_inline_uniform_block_update_after_bind: INLINE,
    }
};

macro_rules! hidden_core {
    ($($member:ident,)*) => {
        /// Hidden features of `VkPhysicalDeviceFeatures`: member and offset.
        const HIDDEN_CORE: &[(&str, usize)] =
            &[$((stringify!($member), offset_of!(vk::PhysicalDeviceFeatures, $member)),)*];
    };
}

hidden_core! {
    sparse_binding,
    sparse_residency_buffer,
    sparse_residency_image2_d,
    sparse_residency_image3_d,
    sparse_residency2_samples,
    sparse_residency4_samples,
    sparse_residency8_samples,
    sparse_residency16_samples,
    sparse_residency_aliased,
}

macro_rules! feature_structures {
    ($($extension:literal $ty:ident,)*) => {
        &[$(FeatureStructure {
            structure: concat!("Vk", stringify!($ty)),
            extension: $extension,
            s_type: <vk::$ty<'static> as TaggedStructure>::STRUCTURE_TYPE,
            size: size_of::<vk::$ty<'static>>(),
        },)*]
    };
}

/// Feature structures of extensions that Vulkan 1.3 does not have whole, as far as the codec knows
/// them. They are shown where their extension is.
const STRUCTURES: &[FeatureStructure] = feature_structures! {
    "VK_EXT_4444_formats" PhysicalDevice4444FormatsFeaturesEXT,
    "VK_EXT_attachment_feedback_loop_layout" PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT,
    "VK_EXT_border_color_swizzle" PhysicalDeviceBorderColorSwizzleFeaturesEXT,
    "VK_EXT_color_write_enable" PhysicalDeviceColorWriteEnableFeaturesEXT,
    "VK_EXT_conditional_rendering" PhysicalDeviceConditionalRenderingFeaturesEXT,
    "VK_EXT_custom_border_color" PhysicalDeviceCustomBorderColorFeaturesEXT,
    "VK_EXT_depth_clip_control" PhysicalDeviceDepthClipControlFeaturesEXT,
    "VK_EXT_depth_clip_enable" PhysicalDeviceDepthClipEnableFeaturesEXT,
    "VK_EXT_dynamic_rendering_unused_attachments" PhysicalDeviceDynamicRenderingUnusedAttachmentsFeaturesEXT,
    "VK_EXT_extended_dynamic_state" PhysicalDeviceExtendedDynamicStateFeaturesEXT,
    "VK_EXT_extended_dynamic_state2" PhysicalDeviceExtendedDynamicState2FeaturesEXT,
    "VK_EXT_extended_dynamic_state3" PhysicalDeviceExtendedDynamicState3FeaturesEXT,
    "VK_EXT_fragment_shader_interlock" PhysicalDeviceFragmentShaderInterlockFeaturesEXT,
    "VK_EXT_graphics_pipeline_library" PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT,
    "VK_EXT_image_2d_view_of_3d" PhysicalDeviceImage2DViewOf3DFeaturesEXT,
    "VK_EXT_image_view_min_lod" PhysicalDeviceImageViewMinLodFeaturesEXT,
    "VK_EXT_index_type_uint8" PhysicalDeviceIndexTypeUint8FeaturesKHR,
    "VK_EXT_line_rasterization" PhysicalDeviceLineRasterizationFeaturesKHR,
    "VK_EXT_multi_draw" PhysicalDeviceMultiDrawFeaturesEXT,
    "VK_EXT_mutable_descriptor_type" PhysicalDeviceMutableDescriptorTypeFeaturesEXT,
    "VK_EXT_non_seamless_cube_map" PhysicalDeviceNonSeamlessCubeMapFeaturesEXT,
    "VK_EXT_primitive_topology_list_restart" PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT,
    "VK_EXT_primitives_generated_query" PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT,
    "VK_EXT_provoking_vertex" PhysicalDeviceProvokingVertexFeaturesEXT,
    "VK_EXT_rasterization_order_attachment_access" PhysicalDeviceRasterizationOrderAttachmentAccessFeaturesEXT,
    "VK_EXT_transform_feedback" PhysicalDeviceTransformFeedbackFeaturesEXT,
    "VK_EXT_vertex_attribute_divisor" PhysicalDeviceVertexAttributeDivisorFeaturesKHR,
    "VK_EXT_vertex_input_dynamic_state" PhysicalDeviceVertexInputDynamicStateFeaturesEXT,
    "VK_EXT_ycbcr_2plane_444_formats" PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT,
    "VK_KHR_fragment_shading_rate" PhysicalDeviceFragmentShadingRateFeaturesKHR,
    "VK_KHR_maintenance5" PhysicalDeviceMaintenance5FeaturesKHR,
    "VK_KHR_shader_clock" PhysicalDeviceShaderClockFeaturesKHR,
};

/// Single features that are hidden: structure, member as `ash` spells it, and the reason.
pub fn hidden_features() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    HIDDEN_CORE
        .iter()
        .map(|(member, _)| ("VkPhysicalDeviceFeatures", *member, SPARSE))
        .chain(HIDDEN.iter().map(|f| (f.structure, f.member, f.why)))
}

fn is_shown(structure: &FeatureStructure) -> bool {
    extension_names().any(|name| name.to_bytes() == structure.extension.as_bytes())
}

/// Visits every hidden feature of a structure: its place, and a name to tell.
///
/// # Safety
/// `next` is a valid structure of the type that its sType names, and nothing else refers to it.
unsafe fn visit_hidden(
    next: *mut vk::BaseOutStructure<'static>,
    mut visit: impl FnMut(&mut vk::Bool32, &'static str),
) {
    // SAFETY: by the contract of this function; the tables have the sizes and offsets of the type.
    unsafe {
        let s_type = (*next).s_type;
        if s_type == vk::StructureType::PHYSICAL_DEVICE_FEATURES_2 {
            let features = &mut (*next.cast::<vk::PhysicalDeviceFeatures2<'_>>()).features;
            visit_core(features, &mut visit);
        }
        for hidden in HIDDEN.iter().filter(|hidden| hidden.s_type == s_type) {
            visit(&mut *next.byte_add(hidden.offset).cast(), hidden.member);
        }
        for hidden in STRUCTURES
            .iter()
            .filter(|hidden| hidden.s_type == s_type && !is_shown(hidden))
        {
            let start = size_of::<vk::BaseOutStructure<'_>>();
            for offset in (start..hidden.size).step_by(size_of::<vk::Bool32>()) {
                visit(&mut *next.byte_add(offset).cast(), hidden.structure);
            }
        }
    }
}

fn visit_core(
    features: &mut vk::PhysicalDeviceFeatures,
    visit: &mut impl FnMut(&mut vk::Bool32, &'static str),
) {
    for (member, offset) in HIDDEN_CORE {
        // SAFETY: the offset is that of a Bool32 of this structure.
        visit(
            unsafe { &mut *std::ptr::from_mut(features).byte_add(*offset).cast() },
            member,
        );
    }
}

/// Takes the hidden features out of one structure of an answer.
///
/// # Safety
/// `next` is a valid feature structure of the type that its sType names, and nothing else refers
/// to it.
pub unsafe fn hide_features(next: *mut vk::BaseOutStructure<'static>) {
    // SAFETY: by the contract of this function.
    unsafe { visit_hidden(next, |feature, _| *feature = vk::FALSE) };
}

/// A hidden feature that a device creation asks for.
///
/// # Safety
/// `info` and its chain are valid, and nothing else refers to the chain.
pub unsafe fn asks_for_hidden(info: &vk::DeviceCreateInfo<'_>) -> Option<&'static str> {
    let mut found = None;
    let mut look = |feature: &mut vk::Bool32, name| {
        if *feature != vk::FALSE {
            found = Some(name);
        }
    };
    // SAFETY: by the contract of this function.
    unsafe {
        if let Some(features) = info.p_enabled_features.cast_mut().as_mut() {
            visit_core(features, &mut look);
        }
        let mut next = info
            .p_next
            .cast_mut()
            .cast::<vk::BaseOutStructure<'static>>();
        while !next.is_null() {
            visit_hidden(next, &mut look);
            next = (*next).p_next;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hide_features_clears_what_is_hidden_and_nothing_else() {
        let mut features = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(true)
            .buffer_device_address_capture_replay(true);
        let mut other = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
            .transform_feedback(true)
            .geometry_streams(true);

        // SAFETY: both are valid structures.
        unsafe {
            hide_features((&raw mut features).cast());
            hide_features((&raw mut other).cast());
        }

        assert_eq!(features.buffer_device_address, vk::TRUE);
        assert_eq!(features.buffer_device_address_capture_replay, vk::FALSE);
        assert_eq!(
            (other.transform_feedback, other.geometry_streams),
            (vk::FALSE, vk::FALSE)
        );
    }

    #[test]
    fn asks_for_hidden_finds_core_and_chained_features() {
        let sparse = vk::PhysicalDeviceFeatures::default().sparse_binding(true);
        let core = vk::DeviceCreateInfo::default().enabled_features(&sparse);
        let mut protected = vk::PhysicalDeviceVulkan11Features::default().protected_memory(true);
        let chained = vk::DeviceCreateInfo::default().push_next(&mut protected);
        let mut fine = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let plain = vk::DeviceCreateInfo::default().push_next(&mut fine);

        // SAFETY: chains and structures live here.
        let found = unsafe {
            [
                asks_for_hidden(&core),
                asks_for_hidden(&chained),
                asks_for_hidden(&plain),
            ]
        };

        assert_eq!(
            found,
            [Some("sparse_binding"), Some("protected_memory"), None]
        );
    }
}
