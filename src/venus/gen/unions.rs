//! What each union looks like on the wire.
// Written by hesper-codegen from the Vulkan registry and codegen/data. Do not edit.

use std::mem::offset_of;

use ash::vk;

use super::mesa;
use crate::schema::Chained;

crate::macros::union_tables! {
    VkClearColorValue: vk::ClearColorValue = 2 {
        float32: Ty::U32, Shape::Static(4), 0;
        int32: Ty::U32, Shape::Static(4), 0;
        uint32: Ty::U32, Shape::Static(4), 0;
    }
    VkClearValue: vk::ClearValue = 0 {
        color: Ty::Union(&super::unions::VkClearColorValue), Shape::Value, 0;
        depth_stencil: Ty::Struct(&super::structs_a::VkClearDepthStencilValue), Shape::Value, 0;
    }
}
