//! From driver results to reply bytes.

use std::ptr;

use crate::command::Command;
use crate::decoder::{Decoded, FLAG_REPLY, Mode, padded};
use crate::error::EncodeError;
use crate::schema::{Field, OUT, Shape, StructDesc, Ty};

enum Sink<'a> {
    Slice(&'a mut [u8]),
    Vec {
        bytes: &'a mut Vec<u8>,
        start: usize,
        limit: usize,
    },
    Count,
}

/// Where a reply is written.
pub struct Encoder<'a> {
    sink: Sink<'a>,
    pos: usize,
}

impl<'a> Encoder<'a> {
    /// Writes to the front of `bytes`.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Encoder {
            sink: Sink::Slice(bytes),
            pos: 0,
        }
    }

    /// Appends at most `limit` bytes to a vector.
    pub fn append(bytes: &'a mut Vec<u8>, limit: usize) -> Self {
        let start = bytes.len();
        Encoder {
            sink: Sink::Vec {
                bytes,
                start,
                limit,
            },
            pos: 0,
        }
    }

    fn counting() -> Self {
        Encoder {
            sink: Sink::Count,
            pos: 0,
        }
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.pos
    }

    pub fn is_empty(&self) -> bool {
        self.pos == 0
    }

    /// Writes bytes and pads them with zeros to the wire's alignment.
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        // A slice has fewer bytes than half the address space, so padding can't overflow.
        let end = self.pos + padded(bytes.len() as u64) as usize;
        match &mut self.sink {
            Sink::Slice(out) => {
                let space = out.len();
                let out = out
                    .get_mut(self.pos..end)
                    .ok_or(EncodeError::NoSpace(space))?;
                out[..bytes.len()].copy_from_slice(bytes);
                out[bytes.len()..].fill(0);
            }
            Sink::Vec {
                bytes: out,
                start,
                limit,
            } => {
                if end > *limit {
                    return Err(EncodeError::NoSpace(*limit));
                }
                out.extend_from_slice(bytes);
                out.resize(*start + end, 0);
            }
            Sink::Count => {}
        }
        self.pos = end;
        Ok(())
    }

    fn u32(&mut self, value: u32) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> Result<(), EncodeError> {
        self.put(&value.to_le_bytes())
    }

    /// # Safety
    /// `base` points at the valid structure that `field` belongs to; its pointers are null or valid for
    /// the counts beside them.
    unsafe fn field(
        &mut self,
        field: &Field,
        mode: Mode,
        base: *const u8,
    ) -> Result<(), EncodeError> {
        // SAFETY: by the contract of this function, for every access through base and its pointers.
        unsafe {
            let place = base.add(field.offset);
            match field.shape {
                Shape::Value | Shape::Static(_) if mode == Mode::Absent => Ok(()),
                Shape::Value => self.elements(&field.ty, mode, place, 1),
                Shape::Static(count) => {
                    self.u64(count)?;
                    self.elements(&field.ty, mode, place, count)
                }
                Shape::Ptr => {
                    let target = place.cast::<*const u8>().read();
                    if target.is_null() || matches!(field.ty, Ty::Opaque) {
                        return self.u64(0);
                    }
                    self.u64(1)?;
                    if mode == Mode::Absent {
                        return Ok(());
                    }
                    self.elements(&field.ty, mode, target, 1)
                }
                Shape::Array(len) => {
                    let target = place.cast::<*const u8>().read();
                    let count = if target.is_null() { 0 } else { len.eval(base) };
                    self.u64(count)?;
                    if mode == Mode::Absent {
                        return Ok(());
                    }
                    self.elements(&field.ty, mode, target, count)
                }
                Shape::Str => self.string(place.cast::<*const i8>().read()),
                Shape::Strs(len) => {
                    let target = place.cast::<*const *const i8>().read();
                    let count = if target.is_null() { 0 } else { len.eval(base) };
                    self.u64(count)?;
                    for at in 0..count as usize {
                        self.string(target.add(at).read())?;
                    }
                    Ok(())
                }
            }
        }
    }

    /// # Safety
    /// `string` is null or NUL-terminated.
    unsafe fn string(&mut self, string: *const i8) -> Result<(), EncodeError> {
        if string.is_null() {
            return self.u64(0);
        }
        // SAFETY: by the contract of this function.
        let bytes = unsafe { std::ffi::CStr::from_ptr(string.cast()) }.to_bytes_with_nul();
        self.u64(bytes.len() as u64)?;
        self.put(bytes)
    }

    /// # Safety
    /// `src` points at `count` valid elements of this type.
    unsafe fn elements(
        &mut self,
        ty: &Ty,
        mode: Mode,
        src: *const u8,
        count: u64,
    ) -> Result<(), EncodeError> {
        let count = count as usize;
        // SAFETY: by the contract of this function.
        unsafe {
            match ty {
                Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::Handle(_) => {
                    if count == 0 {
                        return Ok(());
                    }
                    let size = ty.size() * count;
                    self.put(&*ptr::slice_from_raw_parts(src, size))
                }
                Ty::Struct(desc) => {
                    for at in 0..count {
                        self.structure(desc, mode, src.add(at * desc.size))?;
                    }
                    Ok(())
                }
                Ty::Union(desc) => {
                    for at in 0..count {
                        self.u32(desc.default_tag)?;
                        let member = &desc.members[desc.default_tag as usize];
                        self.field(member, Mode::Full, src.add(at * desc.size))?;
                    }
                    Ok(())
                }
                Ty::Opaque => Ok(()),
            }
        }
    }

    /// # Safety
    /// `src` points at a valid structure of this description.
    unsafe fn structure(
        &mut self,
        desc: &'static StructDesc,
        mode: Mode,
        src: *const u8,
    ) -> Result<(), EncodeError> {
        // SAFETY: by the contract of this function.
        unsafe {
            if let Some(stype) = desc.stype {
                self.u32(stype as u32)?;
                let base = src.cast::<ash::vk::BaseInStructure>();
                self.chain(desc, mode, (*base).p_next)?;
            }
            for field in desc.fields {
                self.field(field, field.mode_in(mode), src)?;
            }
        }
        Ok(())
    }

    /// Headers first, then the bodies from the last one back; structures that the codec doesn't know are
    /// left out. Recursion ends with the chain, which a decoder or the embedder bounded.
    ///
    /// # Safety
    /// `node` is null or a valid chain.
    unsafe fn chain(
        &mut self,
        desc: &'static StructDesc,
        mode: Mode,
        mut node: *const ash::vk::BaseInStructure<'static>,
    ) -> Result<(), EncodeError> {
        while !node.is_null() {
            // SAFETY: by the contract of this function.
            unsafe {
                let next = (*node).p_next;
                if let Some(known) = desc.find_chained((*node).s_type.as_raw()) {
                    self.u64(1)?;
                    self.u32((*node).s_type.as_raw() as u32)?;
                    self.chain(desc, mode, next)?;
                    for field in known.fields {
                        self.field(field, field.mode_in(mode), node.cast())?;
                    }
                    return Ok(());
                }
                node = next;
            }
        }
        self.u64(0)
    }

    fn command_reply(&mut self, command: &Command<'_>) -> Result<(), EncodeError> {
        let (desc, args) = command.parts();
        self.u32(desc.id)?;
        let outputs = desc.fields.iter().filter(|field| field.has(OUT));
        for field in desc.ret.iter().chain(outputs) {
            // SAFETY: the arguments were decoded for this command, or made by the embedder, who answers
            // for the pointers he put in; a driver leaves counts at or under the room it was given.
            unsafe { self.field(field, Mode::Full, args.as_ptr())? };
        }
        Ok(())
    }
}

/// Writes the reply to a command whose outputs and `ret` are set.
///
/// The ids of output handles are put back first, so read the driver's handles
/// ([`Decoded::output_values`]) before.
///
/// # Errors
/// [`EncodeError::NoSpace`]; what was written until then is not a reply.
pub fn encode_reply(decoded: &mut Decoded<'_>, out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    decoded.restore_output_ids();
    out.command_reply(&decoded.command)
}

/// Bytes that [`encode_reply`] would write now.
pub fn reply_size(decoded: &Decoded<'_>) -> usize {
    let mut counter = Encoder::counting();
    // A counting encoder has no end of space to meet.
    let _ = counter.command_reply(&decoded.command);
    counter.len()
}

/// Writes a command as a guest would send it: for tests and tools.
///
/// # Safety
/// The pointers in the command's arguments are null or valid for the counts beside them.
///
/// # Errors
/// [`EncodeError::NoSpace`].
pub unsafe fn encode_request(
    command: &Command<'_>,
    wants_reply: bool,
    out: &mut Encoder<'_>,
) -> Result<(), EncodeError> {
    let (desc, args) = command.parts();
    out.u32(desc.id)?;
    out.u32(if wants_reply { FLAG_REPLY } else { 0 })?;
    for field in desc.fields {
        // SAFETY: by the contract of this function.
        unsafe { out.field(field, field.request_mode(), args.as_ptr())? };
    }
    Ok(())
}
