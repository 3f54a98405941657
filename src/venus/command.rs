//! Commands as values.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

pub use crate::generated::command::Command;
use crate::generated::ids;
use crate::schema::CommandDesc;

/// A command's number on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandType(pub u32);

impl CommandType {
    /// The Vulkan name, `None` for a number that names nothing.
    pub fn name(self) -> Option<&'static str> {
        let at = ids::NAMES
            .binary_search_by_key(&self.0, |(id, _)| *id)
            .ok()?;
        Some(ids::NAMES[at].1)
    }

    /// True for a command that is recorded into a command buffer (`vkCmd*`).
    pub fn is_recorded(self) -> bool {
        usize::try_from(self.0).is_ok_and(|id| ids::RECORDED.get(id) == Some(&true))
    }

    pub(crate) fn desc(self) -> Option<&'static CommandDesc> {
        *ids::DESCS.get(usize::try_from(self.0).ok()?)?
    }
}

/// By command number, whether its name is `vkCmd*`.
pub(crate) const fn recorded<const N: usize>(names: &[(u32, &str)]) -> [bool; N] {
    let mut recorded = [false; N];
    let mut at = 0;
    while at < names.len() {
        let (id, name) = names[at];
        if let [b'v', b'k', b'C', b'm', b'd', ..] = name.as_bytes()
            && (id as usize) < N
        {
            recorded[id as usize] = true;
        }
        at += 1;
    }
    recorded
}

impl fmt::Display for CommandType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "command {}", self.0),
        }
    }
}

impl fmt::Debug for CommandType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The arguments of a command, in the arena they were decoded into.
///
/// Behaves as `&'b mut T`, but lets the codec write handles into the same memory between two uses.
pub struct Args<'b, T> {
    ptr: NonNull<T>,
    arena: PhantomData<&'b mut T>,
}

impl<'b, T> Args<'b, T> {
    /// Wraps arguments that live elsewhere, to encode or call a command that was not decoded.
    pub fn new(args: &'b mut T) -> Self {
        Args {
            ptr: NonNull::from(args),
            arena: PhantomData,
        }
    }

    /// # Safety
    /// `ptr` points at a valid `T` that nothing else refers to for `'b`, the codec's handle slots excepted.
    pub(crate) unsafe fn from_raw(ptr: NonNull<u8>) -> Self {
        Args {
            ptr: ptr.cast(),
            arena: PhantomData,
        }
    }

    pub(crate) fn raw(&self) -> NonNull<u8> {
        self.ptr.cast()
    }
}

impl<T> Deref for Args<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: valid for 'b by the constructors, and borrowed through self.
        unsafe { self.ptr.as_ref() }
    }
}

impl<T> DerefMut for Args<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: valid for 'b by the constructors, and borrowed mutably through self.
        unsafe { self.ptr.as_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Args<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
