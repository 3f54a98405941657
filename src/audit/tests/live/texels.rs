//! How the texels of an image lie in a buffer.

use ash::vk;

/// One aspect of a format as copies see it.
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    pub aspect: vk::ImageAspectFlags,
    /// Bytes of a texel block, and its width and height in texels.
    pub bytes: u32,
    pub block: u32,
    /// Texels of the image for one of the plane, in both directions.
    pub shrink: u32,
}

const fn plane(aspect: vk::ImageAspectFlags, bytes: u32) -> Plane {
    Plane {
        aspect,
        bytes,
        block: 1,
        shrink: 1,
    }
}

const COLOR: &[Plane] = &[plane(vk::ImageAspectFlags::COLOR, 4)];
const DEPTH: &[Plane] = &[plane(vk::ImageAspectFlags::DEPTH, 4)];
const DEPTH_STENCIL: &[Plane] = &[
    plane(vk::ImageAspectFlags::DEPTH, 4),
    plane(vk::ImageAspectFlags::STENCIL, 1),
];
const BLOCKS: &[Plane] = &[Plane {
    block: 4,
    ..plane(vk::ImageAspectFlags::COLOR, 8)
}];
const TWO_PLANES: &[Plane] = &[
    plane(vk::ImageAspectFlags::PLANE_0, 1),
    Plane {
        shrink: 2,
        ..plane(vk::ImageAspectFlags::PLANE_1, 2)
    },
];

/// What a program makes of an image.
#[derive(Clone, Copy, Debug)]
pub struct Texels {
    pub format: vk::Format,
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    pub mips: u32,
    pub layers: u32,
    pub samples: vk::SampleCountFlags,
}

impl Texels {
    pub fn planes(&self) -> &'static [Plane] {
        match self.format {
            vk::Format::D32_SFLOAT => DEPTH,
            vk::Format::D32_SFLOAT_S8_UINT => DEPTH_STENCIL,
            vk::Format::BC1_RGB_UNORM_BLOCK => BLOCKS,
            vk::Format::G8_B8R8_2PLANE_420_UNORM => TWO_PLANES,
            _ => COLOR,
        }
    }

    /// The aspects of a view of all of it.
    pub fn aspects(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::G8_B8R8_2PLANE_420_UNORM => vk::ImageAspectFlags::COLOR,
            _ => self
                .planes()
                .iter()
                .fold(vk::ImageAspectFlags::empty(), |all, plane| {
                    all | plane.aspect
                }),
        }
    }

    /// Whether clears can't reach it: compressed blocks, several planes.
    pub fn is_packed(&self) -> bool {
        matches!(
            self.format,
            vk::Format::BC1_RGB_UNORM_BLOCK | vk::Format::G8_B8R8_2PLANE_420_UNORM
        )
    }

    pub fn is_depth(&self) -> bool {
        self.aspects().contains(vk::ImageAspectFlags::DEPTH)
    }

    pub fn extent(&self, mip: u32) -> vk::Extent3D {
        vk::Extent3D {
            width: (self.width >> mip).max(1),
            height: (self.height >> mip).max(1),
            depth: (self.depth >> mip).max(1),
        }
    }

    /// Texels of a plane of a level.
    pub fn plane_extent(&self, plane: Plane, mip: u32) -> vk::Extent3D {
        let extent = self.extent(mip);
        vk::Extent3D {
            width: extent.width.div_ceil(plane.shrink),
            height: extent.height.div_ceil(plane.shrink),
            depth: extent.depth,
        }
    }

    /// Bytes of a plane of a level's layer, packed.
    pub fn len(&self, plane: Plane, mip: u32) -> usize {
        let extent = self.plane_extent(plane, mip);
        let blocks = |texels: u32| texels.div_ceil(plane.block);
        (blocks(extent.width) * blocks(extent.height) * extent.depth * plane.bytes) as usize
    }
}
