//! Helpers for pNext chains.

use std::ffi::c_void;
use std::ptr::NonNull;

use ash::vk;

/// The first structure with this sType in a chain.
///
/// # Safety
/// `chain` is null or a valid chain of Vulkan structures that lives for `'x`, such as a decoded `p_next`;
/// `T` is the structure that `stype` names.
pub unsafe fn find<'x, T>(chain: *const c_void, stype: vk::StructureType) -> Option<&'x T> {
    let mut node = chain.cast::<vk::BaseInStructure>();
    while !node.is_null() {
        // SAFETY: by the contract of this function, node is a valid structure.
        unsafe {
            if (*node).s_type == stype {
                return Some(&*node.cast::<T>());
            }
            node = (*node).p_next;
        }
    }
    None
}

/// sType of `VkImportMemoryResourceInfoMESA`.
const IMPORT_MEMORY_RESOURCE_INFO: vk::StructureType = vk::StructureType::from_raw(1_000_384_002);

/// How the memory of an allocation is shared with other contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// It may become a resource that others import, whatever its memory type.
    pub exported: bool,
    /// It is that of this resource.
    pub imported: Option<u32>,
}

impl Sharing {
    /// Whether others may see the memory.
    pub fn is_shared(self) -> bool {
        self.exported || self.imported.is_some()
    }

    /// What the chain of a `VkMemoryAllocateInfo` says.
    ///
    /// # Safety
    /// As [`find`].
    pub unsafe fn of(chain: *const c_void) -> Self {
        // SAFETY: by the contract of this function.
        unsafe {
            Self {
                exported: find::<vk::ExportMemoryAllocateInfo<'_>>(
                    chain,
                    vk::StructureType::EXPORT_MEMORY_ALLOCATE_INFO,
                )
                .is_some_and(|info| !info.handle_types.is_empty()),
                imported: find::<crate::mesa::VkImportMemoryResourceInfoMESA>(
                    chain,
                    IMPORT_MEMORY_RESOURCE_INFO,
                )
                .map(|info| info.resource_id),
            }
        }
    }
}

/// Takes the first structure with this sType out of the chain of `parent`: what is the protocol's own, or
/// asks for something that the host does otherwise, must not reach the driver.
///
/// # Safety
/// `parent` is a valid Vulkan structure with sType and pNext, whose chain is valid and writable, such as
/// a decoded one; `T` is the structure that `stype` names. No reference into the chain is alive.
pub unsafe fn unlink<T>(parent: *mut c_void, stype: vk::StructureType) -> Option<NonNull<T>> {
    let mut holder = parent.cast::<vk::BaseOutStructure>();
    loop {
        // SAFETY: by the contract of this function, holder is a valid structure.
        unsafe {
            let node = (*holder).p_next;
            if node.is_null() {
                return None;
            }
            if (*node).s_type == stype {
                (*holder).p_next = (*node).p_next;
                return NonNull::new(node.cast());
            }
            holder = node;
        }
    }
}
