//! Memory that the contexts of a guest share, as a guest is told of it.
//!
//! A guest's driver speaks of such memory by dma-bufs. Those are the guest kernel's: the wire
//! carries ids of resources. On the host the memory is pages of the arena, imported as host memory, so
//! images on it are linear. `VK_EXT_image_drm_format_modifier` is therefore Hesper's own, with the one
//! modifier that says so.

use ash::vk;

/// The one handle type of shared memory, as stock Mesa speaks of it to a renderer.
pub const SHARED_HANDLE_TYPE: vk::ExternalMemoryHandleTypeFlags =
    vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;

/// `DRM_FORMAT_MOD_LINEAR` of `drm_fourcc.h`.
pub const DRM_FORMAT_MOD_LINEAR: u64 = 0;

/// What may be done with memory of a handle type: nothing but for [`SHARED_HANDLE_TYPE`].
pub fn shared_memory_properties(
    handle_type: vk::ExternalMemoryHandleTypeFlags,
) -> vk::ExternalMemoryProperties {
    let properties = vk::ExternalMemoryProperties::default().compatible_handle_types(handle_type);
    if handle_type != SHARED_HANDLE_TYPE {
        return properties;
    }
    properties
        .export_from_imported_handle_types(handle_type)
        .external_memory_features(
            vk::ExternalMemoryFeatureFlags::EXPORTABLE | vk::ExternalMemoryFeatureFlags::IMPORTABLE,
        )
}

/// Whether images of a format are offered with the linear modifier: those of one plane and of
/// colours.
pub fn has_linear_modifier(format: vk::Format) -> bool {
    let depth_or_stencil = vk::Format::D16_UNORM.as_raw()..=vk::Format::D32_SFLOAT_S8_UINT.as_raw();
    // Y′CBCR formats, those of two or three planes among them: all values of the extensions that
    // brought them.
    let ycbcr = [
        vk::Format::G8B8G8R8_422_UNORM.as_raw()..=vk::Format::G16_B16_R16_3PLANE_444_UNORM.as_raw(),
        vk::Format::G8_B8R8_2PLANE_444_UNORM.as_raw()
            ..=vk::Format::G16_B16R16_2PLANE_444_UNORM.as_raw(),
    ];
    let format = format.as_raw();
    format != vk::Format::UNDEFINED.as_raw()
        && !depth_or_stencil.contains(&format)
        && !ycbcr.iter().any(|range| range.contains(&format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dma_bufs_are_shared() {
        let features = |ty| shared_memory_properties(ty).external_memory_features;

        assert_eq!(
            features(SHARED_HANDLE_TYPE),
            vk::ExternalMemoryFeatureFlags::EXPORTABLE | vk::ExternalMemoryFeatureFlags::IMPORTABLE
        );
        for other in [
            vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD,
            vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT,
            SHARED_HANDLE_TYPE | vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD,
        ] {
            assert!(features(other).is_empty(), "{other:?}");
        }
    }

    #[test]
    fn linear_modifier_is_for_colours_of_one_plane() {
        for format in [
            vk::Format::R8G8B8A8_UNORM,
            vk::Format::R32_SFLOAT,
            vk::Format::BC1_RGB_UNORM_BLOCK,
            vk::Format::A4R4G4B4_UNORM_PACK16,
        ] {
            assert!(has_linear_modifier(format), "{format:?}");
        }
        for format in [
            vk::Format::UNDEFINED,
            vk::Format::D32_SFLOAT,
            vk::Format::S8_UINT,
            vk::Format::G8_B8R8_2PLANE_420_UNORM,
            vk::Format::G8_B8R8_2PLANE_444_UNORM,
        ] {
            assert!(!has_linear_modifier(format), "{format:?}");
        }
    }
}
