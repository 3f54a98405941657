//! Reading what decoded commands point at: the only place in this crate that follows raw pointers.
//!
//! The codec builds a command's arguments in an arena the way a driver wants them: every pointer is null or leads to as
//! many valid elements as the count beside it says, chains end, strings are closed.

use std::ffi::{CStr, c_char, c_void};

use ash::vk;
use hesper_venus::chain::Sharing;

/// Longest pNext chain that is walked; the codec allows no longer one.
const CHAIN_LENGTH_MAX: usize = 128;

/// Arguments that the codec decoded. All that they point at is valid for `'c`, too.
pub(crate) struct Decoded<'c, T> {
    args: &'c T,
}

impl<T> Clone for Decoded<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Decoded<'_, T> {}

impl<T> std::ops::Deref for Decoded<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.args
    }
}

impl<'c, T> Decoded<'c, T> {
    /// # Safety
    /// `args` were decoded by the codec, or hold only pointers as the codec makes them; what they point at lives, and is
    /// not written to, for `'c`.
    pub unsafe fn new(args: &'c T) -> Self {
        Self { args }
    }

    /// The `count` elements at `pointer`, none for null. Both must come from these arguments, or from what they point at.
    pub fn slice<U>(self, pointer: *const U, count: u32) -> &'c [U] {
        if pointer.is_null() || count == 0 {
            return &[];
        }
        // SAFETY: by the contract of `new`, a pointer that is not null leads to as many elements as its count says.
        unsafe { std::slice::from_raw_parts(pointer, count as usize) }
    }

    /// The structure at `pointer`; as with [`Self::slice`].
    pub fn get<U>(self, pointer: *const U) -> Option<&'c U> {
        // SAFETY: by the contract of `new`, a pointer that is not null leads to a structure.
        unsafe { pointer.as_ref() }
    }

    /// The string at `pointer`; as with [`Self::slice`].
    pub fn string(self, pointer: *const c_char) -> Option<&'c CStr> {
        if pointer.is_null() {
            return None;
        }
        // SAFETY: by the contract of `new`, a string that is not null ends in NUL.
        Some(unsafe { CStr::from_ptr(pointer) })
    }

    /// The structure of type `U` in the chain at `p_next`; as with [`Self::slice`].
    pub fn chained<U: vk::TaggedStructure>(self, p_next: *const c_void) -> Option<&'c U> {
        let mut next = p_next.cast::<vk::BaseInStructure<'_>>();
        for _ in 0..CHAIN_LENGTH_MAX {
            // SAFETY: by the contract of `new`, every element of a chain starts with these two members.
            let base = unsafe { next.as_ref() }?;
            if base.s_type == U::STRUCTURE_TYPE {
                // SAFETY: the structure type says that this is a U.
                return unsafe { next.cast::<U>().as_ref() };
            }
            next = base.p_next;
        }
        None
    }

    /// How an allocation with the chain at `p_next` is shared; as with [`Self::slice`].
    pub fn sharing(self, p_next: *const c_void) -> Sharing {
        // SAFETY: by the contract of `new`, a chain is valid.
        unsafe { Sharing::of(p_next) }
    }
}
