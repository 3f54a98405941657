//! What the audit needs to know of buffers. Whoever executes the commands keeps it with its own table of objects, and the
//! audit asks there: buffers come and go in such numbers that a second table would cost more than all else that the audit
//! does for them.

use std::collections::HashMap;
use std::hash::BuildHasher;

use ash::vk;

use crate::raw::Decoded;

/// A buffer, as the guest made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Bytes.
    pub size: u64,
    /// Memory id and offset in bytes, once bound.
    pub binding: Option<(u64, u64)>,
    /// It has a device address.
    pub addressed: bool,
}

/// Where buffers are kept.
pub trait Buffers {
    /// The buffer that the guest's `id` names; `None` when it is gone, never was, or is another kind of object.
    fn buffer(&self, id: u64) -> Option<Buffer>;
}

/// For those who keep nothing else.
impl<S: BuildHasher> Buffers for HashMap<u64, Buffer, S> {
    fn buffer(&self, id: u64) -> Option<Buffer> {
        self.get(&id).copied()
    }
}

impl Buffer {
    /// A buffer that was created with `info`, not bound yet.
    ///
    /// # Safety
    /// `info` and its chain were decoded by the codec (or hold pointers as the codec makes them), and live.
    pub unsafe fn new(info: &vk::BufferCreateInfo<'_>) -> Self {
        // SAFETY: by the contract of this function.
        let addressed = has_address(unsafe { Decoded::new(info) });
        Self {
            size: info.size,
            binding: None,
            addressed,
        }
    }
}

/// Whether buffers of this kind have a device address.
fn has_address(info: Decoded<'_, vk::BufferCreateInfo<'_>>) -> bool {
    // The wider flags take the place of the others where they are there; counting both errs on the safe side.
    let wide = info.chained::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(info.p_next);
    info.usage
        .contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS)
        || wide.is_some_and(|wide| {
            wide.usage
                .contains(vk::BufferUsageFlags2KHR::SHADER_DEVICE_ADDRESS)
        })
}
