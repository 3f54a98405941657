//! Reading decoded arguments: the only place where pointers of a decoded command are followed.
//!
//! The codec guarantees that every non-null pointer in a decoded command points at as many valid
//! elements as its count says, in an arena that outlives the command, and that pNext chains hold
//! only structures of the sTypes they name.

use ash::vk;

pub use hesper_venus::chain::find;

/// sType of `VkDeviceQueueTimelineInfoMESA`.
pub const DEVICE_QUEUE_TIMELINE_INFO: vk::StructureType =
    vk::StructureType::from_raw(1_000_384_005);
/// sType of `VkRingMonitorInfoMESA`.
pub const RING_MONITOR_INFO: vk::StructureType = vk::StructureType::from_raw(1_000_384_006);
/// sType of `VkMemoryResourceAllocationSizePropertiesMESA`.
pub const MEMORY_RESOURCE_ALLOCATION_SIZE_PROPERTIES: vk::StructureType =
    vk::StructureType::from_raw(1_000_384_003);

/// The elements behind a decoded pointer and its count.
///
/// # Safety
/// `pointer` and `count` belong together in one decoded command, which outlives `'a`.
pub unsafe fn slice<'a, T>(pointer: *const T, count: u32) -> &'a [T] {
    if pointer.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

/// The structure behind a decoded pointer.
///
/// # Safety
/// `pointer` comes from a decoded command, which outlives `'a`; nothing writes there meanwhile.
pub unsafe fn get<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: by the contract of this function.
    unsafe { pointer.as_ref() }
}

/// The structure behind a decoded pointer, to change it before the driver sees it.
///
/// # Safety
/// As [`get`], and nobody else refers to it.
pub unsafe fn get_mut<'a, T>(pointer: *const T) -> Option<&'a mut T> {
    // SAFETY: by the contract of this function; the arena is ours to write.
    unsafe { pointer.cast_mut().as_mut() }
}

/// Calls `visit` with each structure of a chain. `visit` may change what it points at, but not
/// its links.
///
/// # Safety
/// `next` starts a chain of a decoded command.
pub unsafe fn chain(
    next: *const std::ffi::c_void,
    mut visit: impl FnMut(*mut vk::BaseOutStructure<'static>),
) {
    let mut next = next.cast::<vk::BaseOutStructure<'static>>().cast_mut();
    while !next.is_null() {
        visit(next);
        // SAFETY: by the contract of this function; every chained structure starts with the base.
        next = unsafe { (*next).p_next };
    }
}

/// Takes the structures of the given types out of a chain whose head is `*next`.
///
/// # Safety
/// `*next` starts a chain of a decoded command that nobody else refers to.
pub unsafe fn unlink(next: &mut *const std::ffi::c_void, s_types: &[vk::StructureType]) {
    let mut link: *mut *mut vk::BaseOutStructure<'static> = std::ptr::from_mut(next).cast();
    // SAFETY: by the contract of this function: links lead from structure to structure.
    unsafe {
        while !(*link).is_null() {
            let structure = *link;
            if s_types.contains(&(*structure).s_type) {
                *link = (*structure).p_next;
            } else {
                link = &raw mut (*structure).p_next;
            }
        }
    }
}
