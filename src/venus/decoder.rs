//! From guest bytes to driver arguments.

use std::alloc::Layout;
use std::ptr::{self, NonNull};

use ash::vk;
use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use crate::command::{Command, CommandType};
use crate::error::{DecodeError, DecodeErrorKind as Kind};
use crate::schema::{Chained, Field, INOUT, LEN, Len, OPT, OUT, Shape, StructDesc, Ty, UnionDesc};

/// The flag bit that asks for a reply.
pub(crate) const FLAG_REPLY: u32 = 1;

/// Input handles that there is room for from the start.
const INPUTS_ROOM: usize = 8;

/// What one command may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Elements of one array.
    pub array_len_max: u64,
    /// Bytes of memory for all the structures, arrays and strings of a command, outputs included.
    pub bytes_max: usize,
    /// Structures in one pNext chain.
    pub chain_len_max: usize,
}

impl Default for Limits {
    /// 64 Mi elements, 256 MiB, 128 structures: above what stock clients send, queries of whole result
    /// buffers and pipeline caches included.
    fn default() -> Self {
        Limits {
            array_len_max: 64 << 20,
            bytes_max: 256 << 20,
            chain_len_max: 128,
        }
    }
}

/// A place in decoded arguments that holds a handle.
#[derive(Debug, Clone, Copy)]
pub struct HandleSlot {
    pub object_type: vk::ObjectType,
    /// The guest's id, kept when the place is overwritten. 0 is the null handle.
    pub id: u64,
    ptr: NonNull<u64>,
}

/// A decoded command.
#[derive(Debug)]
pub struct Decoded<'b> {
    pub command: Command<'b>,
    /// The guest reads a reply.
    pub wants_reply: bool,
    /// Bytes that the command took.
    pub len: usize,
    /// Every handle that is an input, in wire order.
    pub handles: &'b [HandleSlot],
    /// Every handle that is an output, with the id that the guest chose for it, in wire order.
    pub outputs: &'b mut [HandleSlot],
}

impl Decoded<'_> {
    pub fn command_type(&self) -> CommandType {
        self.command.command_type()
    }

    /// The input handles: object type and guest id, null handles left out.
    pub fn input_ids(&self) -> impl Iterator<Item = (vk::ObjectType, u64)> {
        self.handles
            .iter()
            .filter(|slot| slot.id != 0)
            .map(|slot| (slot.object_type, slot.id))
    }

    /// The output handles: object type and the id that the guest chose.
    pub fn output_ids(&self) -> impl Iterator<Item = (vk::ObjectType, u64)> {
        self.outputs.iter().map(|slot| (slot.object_type, slot.id))
    }

    /// Puts what `lookup` returns in the place of every input id; null handles stay null.
    ///
    /// `lookup` is always asked for the guest's id, also when called again. On an error the arguments
    /// hold ids and host handles mixed: map again or drop the command.
    pub fn map_handles<E>(
        &mut self,
        mut lookup: impl FnMut(vk::ObjectType, u64) -> Result<u64, E>,
    ) -> Result<(), E> {
        for slot in self.handles.iter().filter(|slot| slot.id != 0) {
            let handle = lookup(slot.object_type, slot.id)?;
            // SAFETY: the slot points into this command's arguments in the arena, aligned for a handle,
            // and no reference into them is alive while self is borrowed mutably.
            unsafe { slot.ptr.write(handle) };
        }
        Ok(())
    }

    /// What the output places hold now: after a driver call, the host handles, in wire order.
    pub fn output_values(&self) -> impl Iterator<Item = (HandleSlot, u64)> {
        // SAFETY: as in map_handles; the driver wrote handles there or left the id.
        self.outputs
            .iter()
            .map(|slot| (*slot, unsafe { slot.ptr.read() }))
    }

    /// Puts null into the output places: a driver that makes nothing leaves them as they are.
    pub fn clear_outputs(&mut self) {
        for slot in self.outputs.iter() {
            // SAFETY: as in map_handles.
            unsafe { slot.ptr.write(0) };
        }
    }

    /// Answers outputs whose id the guest left 0, which asks which object is there: `answer` gives
    /// the id of the object, by its place in wire order. [`Decoded::restore_output_ids`] keeps it.
    pub fn answer_output_ids(
        &mut self,
        mut answer: impl FnMut(usize, vk::ObjectType) -> Option<u64>,
    ) {
        for (at, slot) in self.outputs.iter_mut().enumerate() {
            if slot.id == 0
                && let Some(id) = answer(at, slot.object_type)
            {
                slot.id = id;
            }
        }
        self.restore_output_ids();
    }

    /// Puts the guest's ids back into the output places, as a reply needs them.
    pub fn restore_output_ids(&mut self) {
        for slot in self.outputs.iter() {
            // SAFETY: as in map_handles.
            unsafe { slot.ptr.write(slot.id) };
        }
    }
}

/// Decodes the command at the front of `bytes`, a private copy of guest memory.
///
/// Arguments, arrays and the lists of handles live in `bump`; reset it between commands.
///
/// # Errors
/// [`DecodeError`] for bytes that are no command, or one over the `limits`. The stream can't go on.
pub fn decode<'b>(
    bytes: &[u8],
    bump: &'b Bump,
    limits: &Limits,
) -> Result<Decoded<'b>, DecodeError> {
    let mut decoder = Decoder {
        bytes,
        pos: 0,
        bump,
        budget: limits.bytes_max,
        limits,
        // Most commands name fewer: growing step by step costs more than the room.
        inputs: BumpVec::with_capacity_in(INPUTS_ROOM, bump),
        outputs: BumpVec::new_in(bump),
        fault: None,
    };
    let mut id = CommandType(u32::MAX);
    match decoder.command(&mut id) {
        Ok((command, flags)) => Ok(Decoded {
            command,
            wants_reply: flags & FLAG_REPLY != 0,
            len: decoder.pos,
            handles: decoder.inputs.into_bump_slice(),
            outputs: decoder.outputs.into_bump_slice_mut(),
        }),
        Err(Fault) => {
            // Every Fault comes from Decoder::fail, which leaves the reason.
            let kind = decoder.fault.unwrap_or(Kind::UnknownCommand);
            Err(DecodeError {
                command: id,
                offset: decoder.pos,
                kind,
            })
        }
    }
}

/// How much of a value is on the wire.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All of it: an input, or an output in a reply.
    Full,
    /// sType, pNext, counts and handles only: a structure that the driver will fill.
    Partial,
    /// Nothing but whether and how many: a scalar that the driver will fill.
    Absent,
}

impl Field {
    /// How a structure's field is sent when the structure is sent in `mode`.
    pub(crate) fn mode_in(&self, mode: Mode) -> Mode {
        if mode == Mode::Full || self.has(LEN) {
            return Mode::Full;
        }
        match self.ty {
            Ty::Handle(_) | Ty::Struct(_) => Mode::Partial,
            _ => Mode::Absent,
        }
    }

    /// How a command's argument is sent in a request.
    pub(crate) fn request_mode(&self) -> Mode {
        if self.has(OUT) && !self.has(INOUT) {
            self.mode_in(Mode::Partial)
        } else {
            Mode::Full
        }
    }
}

impl Len {
    /// The number of elements that the count beside an array asks for.
    ///
    /// # Safety
    /// `base` points at the valid structure that this length belongs to; pointers in it are null or valid.
    pub(crate) unsafe fn eval(self, base: *const u8) -> u64 {
        // SAFETY: by the contract of this function and, for the offsets, by the generated tables.
        unsafe {
            match self {
                Len::U32(at) => u64::from(base.add(at).cast::<u32>().read()),
                Len::U64(at) => base.add(at).cast::<u64>().read(),
                Len::DivU32(at, by) => {
                    u64::from(base.add(at).cast::<u32>().read()).div_ceil(u64::from(by))
                }
                Len::DivU64(at, by) => base.add(at).cast::<u64>().read() / by,
                Len::PtrU32(at) => {
                    let count = base.add(at).cast::<*const u32>().read();
                    if count.is_null() {
                        0
                    } else {
                        u64::from(count.read())
                    }
                }
                Len::PtrU64(at) => {
                    let count = base.add(at).cast::<*const u64>().read();
                    if count.is_null() { 0 } else { count.read() }
                }
                Len::InU32(at, inner) => {
                    let holder = base.add(at).cast::<*const u8>().read();
                    if holder.is_null() {
                        0
                    } else {
                        u64::from(holder.add(inner).cast::<u32>().read())
                    }
                }
            }
        }
    }
}

pub(crate) fn padded(bytes: u64) -> u64 {
    bytes.saturating_add(3) & !3
}

struct Decoder<'a, 'b> {
    bytes: &'a [u8],
    pos: usize,
    bump: &'b Bump,
    /// Bytes of memory that the command may still take.
    budget: usize,
    limits: &'a Limits,
    inputs: BumpVec<'b, HandleSlot>,
    outputs: BumpVec<'b, HandleSlot>,
    /// What went wrong, once something has.
    fault: Option<Kind>,
}

/// Says that decoding stopped; [`Decoder::fault`] says why. Errors are rare and large, so they don't
/// travel through every return.
struct Fault;

impl<'a, 'b> Decoder<'a, 'b> {
    fn command(&mut self, id: &mut CommandType) -> Result<(Command<'b>, u32), Fault> {
        *id = CommandType(self.u32()?);
        let Some(desc) = id.desc() else {
            let known = id.name().is_some();
            let kind = if known {
                Kind::UnsupportedCommand
            } else {
                Kind::UnknownCommand
            };
            return Err(self.fail(kind));
        };
        let flags = self.u32()?;
        if flags & !FLAG_REPLY != 0 {
            return Err(self.fail(Kind::BadFlags(flags)));
        }
        let args = self.alloc(desc.size as u64, desc.align)?;
        for field in desc.fields {
            // SAFETY: args is zeroed memory of the size and alignment that the description was made for.
            unsafe { self.field(field, field.request_mode(), args.as_ptr())? };
        }
        // SAFETY: args was allocated for this command and every argument is decoded; nothing refers to it.
        match unsafe { Command::from_raw(*id, args) } {
            Some(command) => Ok((command, flags)),
            None => Err(self.fail(Kind::UnsupportedCommand)),
        }
    }

    #[cold]
    fn fail(&mut self, kind: Kind) -> Fault {
        self.fault = Some(kind);
        Fault
    }

    #[cold]
    fn over_budget(&mut self) -> Fault {
        self.fail(Kind::OverBudget(self.limits.bytes_max))
    }

    /// The next `len` bytes.
    fn take(&mut self, len: u64) -> Result<&'a [u8], Fault> {
        let left = self.bytes.len() - self.pos;
        match usize::try_from(len) {
            Ok(len) if len <= left => {
                let taken = &self.bytes[self.pos..self.pos + len];
                self.pos += len;
                Ok(taken)
            }
            _ => Err(self.fail(Kind::Truncated { needed: len, left })),
        }
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let mut value = [0; 4];
        value.copy_from_slice(self.take(4)?);
        Ok(u32::from_le_bytes(value))
    }

    fn u64(&mut self) -> Result<u64, Fault> {
        let mut value = [0; 8];
        value.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(value))
    }

    /// Zeroed memory in the arena.
    fn alloc(&mut self, size: u64, align: usize) -> Result<NonNull<u8>, Fault> {
        let memory = self.alloc_uninit(size, align)?;
        // SAFETY: the arena just handed out this many bytes at this address.
        unsafe { memory.as_ptr().write_bytes(0, size as usize) };
        Ok(memory)
    }

    /// Memory in the arena that the caller fills wholly.
    fn alloc_uninit(&mut self, size: u64, align: usize) -> Result<NonNull<u8>, Fault> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let Some(budget) = self.budget.checked_sub(size) else {
            return Err(self.over_budget());
        };
        self.budget = budget;
        // An empty array still gets an address of its own.
        let layout = Layout::from_size_align(size.max(1), align.max(8));
        match layout.map(|layout| self.bump.try_alloc_layout(layout)) {
            Ok(Ok(memory)) => Ok(memory),
            _ => Err(self.fail(Kind::OutOfMemory)),
        }
    }

    /// Memory for elements: zeroed, unless they are scalars that `mode` reads from the wire at once.
    fn alloc_elements(&mut self, ty: &Ty, mode: Mode, count: u64) -> Result<NonNull<u8>, Fault> {
        let align = match ty {
            Ty::Struct(desc) => desc.align,
            Ty::Union(desc) => desc.align,
            _ => 8,
        };
        // A product that saturates is over any budget.
        let size = (ty.size() as u64).saturating_mul(count);
        let scalar = matches!(ty, Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64);
        if scalar && mode == Mode::Full {
            self.alloc_uninit(size, align)
        } else {
            self.alloc(size, align)
        }
    }

    /// Reads a pointer's flag.
    fn pointer(&mut self, field: &Field) -> Result<bool, Fault> {
        match self.u64()? {
            0 if field.has(OPT) => Ok(false),
            0 => Err(self.fail(Kind::NullPointer { field: field.name })),
            1 => Ok(true),
            found => Err(self.fail(Kind::BadPointer {
                field: field.name,
                found,
            })),
        }
    }

    /// Reads an array's count and checks it against what the count field beside it says.
    ///
    /// # Safety
    /// As [`Len::eval`].
    unsafe fn count(&mut self, field: &Field, len: Len, base: *const u8) -> Result<u64, Fault> {
        let found = self.u64()?;
        // SAFETY: by the contract of this function.
        let expected = unsafe { len.eval(base) };
        if found != expected && !(found == 0 && field.has(OPT)) {
            return Err(self.fail(Kind::CountMismatch {
                field: field.name,
                found,
                expected,
            }));
        }
        if found > self.limits.array_len_max {
            let limit = self.limits.array_len_max;
            return Err(self.fail(Kind::CountOverLimit {
                field: field.name,
                found,
                limit,
            }));
        }
        Ok(found)
    }

    /// # Safety
    /// `base` is the start of zeroed memory for the structure that `field` belongs to, with the fields
    /// before this one decoded.
    unsafe fn field(&mut self, field: &Field, mode: Mode, base: *mut u8) -> Result<(), Fault> {
        // SAFETY: the offset is inside the structure, by its description.
        let place = unsafe { base.add(field.offset) };
        match field.shape {
            Shape::Value | Shape::Static(_) if mode == Mode::Absent => Ok(()),
            // The commonest fields first, without the general loop.
            Shape::Value if matches!(field.ty, Ty::U32) => {
                let value = self.u32()?;
                // SAFETY: the place is a 32-bit value, by its description.
                unsafe { place.cast::<u32>().write(value) };
                Ok(())
            }
            Shape::Value if matches!(field.ty, Ty::U64) => {
                let value = self.u64()?;
                // SAFETY: the place is a 64-bit value, by its description.
                unsafe { place.cast::<u64>().write(value) };
                Ok(())
            }
            Shape::Value if let Ty::Handle(object_type) = field.ty => {
                self.budget = match self.budget.checked_sub(size_of::<HandleSlot>()) {
                    Some(budget) => budget,
                    None => return Err(self.over_budget()),
                };
                // SAFETY: the place is a handle, by its description.
                unsafe { self.handle(object_type, mode, place.cast()) }
            }
            // SAFETY: the place is inside the structure, zeroed, and of this type.
            Shape::Value => unsafe { self.elements(&field.ty, mode, place, 1) },
            Shape::Static(count) => {
                let found = self.u64()?;
                if found != count {
                    return Err(self.fail(Kind::CountMismatch {
                        field: field.name,
                        found,
                        expected: count,
                    }));
                }
                // SAFETY: the place is a fixed array of this many elements.
                unsafe { self.elements(&field.ty, mode, place, count) }
            }
            Shape::Ptr if matches!(field.ty, Ty::Opaque) => match self.u64()? {
                0 => Ok(()),
                _ => Err(self.fail(Kind::Unserializable { field: field.name })),
            },
            Shape::Ptr => {
                if self.pointer(field)? {
                    let memory = self.alloc_elements(&field.ty, mode, 1)?;
                    // SAFETY: the place holds a pointer; memory is one zeroed element.
                    unsafe {
                        place.cast::<*mut u8>().write(memory.as_ptr());
                        if mode != Mode::Absent {
                            self.elements(&field.ty, mode, memory.as_ptr(), 1)?;
                        }
                    }
                }
                Ok(())
            }
            Shape::Array(len) => {
                // SAFETY: by the contract of this function.
                let count = unsafe { self.count(field, len, base)? };
                if count == 0 {
                    return Ok(());
                }
                if mode == Mode::Full {
                    // Not needed for safety: refuses a lie before memory is set aside for it.
                    let needed = field.ty.wire_min().saturating_mul(count);
                    let left = self.bytes.len() - self.pos;
                    if needed > left as u64 {
                        return Err(self.fail(Kind::Truncated { needed, left }));
                    }
                }
                let memory = self.alloc_elements(&field.ty, mode, count)?;
                // SAFETY: the place holds a pointer; memory is this many zeroed elements.
                unsafe {
                    place.cast::<*mut u8>().write(memory.as_ptr());
                    if mode != Mode::Absent {
                        self.elements(&field.ty, mode, memory.as_ptr(), count)?;
                    }
                }
                Ok(())
            }
            Shape::Str => {
                if let Some(string) = self.string(field)? {
                    // SAFETY: the place holds a pointer.
                    unsafe { place.cast::<*mut u8>().write(string.as_ptr()) };
                } else if !field.has(OPT) {
                    return Err(self.fail(Kind::NullPointer { field: field.name }));
                }
                Ok(())
            }
            Shape::Strs(len) => {
                // SAFETY: by the contract of this function.
                let count = unsafe { self.count(field, len, base)? };
                if count == 0 {
                    return Ok(());
                }
                let memory = self.alloc_elements(&Ty::U64, Mode::Partial, count)?;
                // SAFETY: the place holds a pointer.
                unsafe { place.cast::<*mut u8>().write(memory.as_ptr()) };
                for at in 0..count as usize {
                    let Some(string) = self.string(field)? else {
                        return Err(self.fail(Kind::NullPointer { field: field.name }));
                    };
                    // SAFETY: memory has room for this many pointers.
                    unsafe { memory.cast::<*mut u8>().add(at).write(string.as_ptr()) };
                }
                Ok(())
            }
        }
    }

    fn string(&mut self, field: &Field) -> Result<Option<NonNull<u8>>, Fault> {
        let size = self.u64()?;
        if size == 0 {
            return Ok(None);
        }
        let bytes = self.take(padded(size))?;
        // The padded size fits in memory, so the size does.
        let bytes = &bytes[..size as usize];
        if bytes.last() != Some(&0) {
            return Err(self.fail(Kind::StringNotTerminated { field: field.name }));
        }
        let memory = self.alloc_uninit(size, 1)?;
        // SAFETY: memory has size bytes and is new.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        Ok(Some(memory))
    }

    /// # Safety
    /// `dst` is memory for a handle.
    unsafe fn handle(
        &mut self,
        object_type: vk::ObjectType,
        mode: Mode,
        dst: *mut u64,
    ) -> Result<(), Fault> {
        let id = self.u64()?;
        // SAFETY: by the contract of this function, it is not null.
        let ptr = unsafe { NonNull::new_unchecked(dst) };
        // SAFETY: by the contract of this function.
        unsafe { ptr.write(id) };
        let slot = HandleSlot {
            object_type,
            id,
            ptr,
        };
        let slots = if mode == Mode::Full {
            &mut self.inputs
        } else {
            &mut self.outputs
        };
        slots.push(slot);
        Ok(())
    }

    /// # Safety
    /// `dst` is zeroed memory for `count` elements of this type.
    unsafe fn elements(
        &mut self,
        ty: &Ty,
        mode: Mode,
        dst: *mut u8,
        count: u64,
    ) -> Result<(), Fault> {
        match ty {
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => {
                let size = (ty.size() as u64).saturating_mul(count);
                let bytes = self.take(padded(size))?;
                // SAFETY: dst has room for count elements; the padded bytes are at least as many.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), dst, size as usize) };
            }
            Ty::Handle(object_type) => {
                let slots_size = (size_of::<HandleSlot>() as u64).saturating_mul(count);
                let slots_size = usize::try_from(slots_size).unwrap_or(usize::MAX);
                let Some(budget) = self.budget.checked_sub(slots_size) else {
                    return Err(self.over_budget());
                };
                self.budget = budget;
                for at in 0..count as usize {
                    // SAFETY: dst has room for count handles, and is aligned for them.
                    unsafe { self.handle(*object_type, mode, dst.cast::<u64>().add(at))? };
                }
            }
            Ty::Struct(desc) => {
                for at in 0..count as usize {
                    // SAFETY: dst has room for count structures.
                    unsafe { self.structure(desc, mode, dst.add(at * desc.size))? };
                }
            }
            Ty::Union(desc) => {
                for at in 0..count as usize {
                    // SAFETY: dst has room for count unions.
                    unsafe { self.union(desc, dst.add(at * desc.size))? };
                }
            }
            Ty::Opaque => {}
        }
        Ok(())
    }

    /// # Safety
    /// `dst` is zeroed memory for this structure.
    unsafe fn structure(
        &mut self,
        desc: &'static StructDesc,
        mode: Mode,
        dst: *mut u8,
    ) -> Result<(), Fault> {
        if let Some(stype) = desc.stype {
            let found = self.u32()? as i32;
            if found != stype {
                return Err(self.fail(Kind::WrongStructureType {
                    expected: desc.name,
                    found,
                }));
            }
            let base = dst.cast::<vk::BaseOutStructure>();
            // SAFETY: a structure with an sType starts as vk::BaseOutStructure does.
            unsafe { (&raw mut (*base).s_type).write(vk::StructureType::from_raw(stype)) };
            // SAFETY: as above, and zeroed.
            unsafe { self.chain(desc, mode, base)? };
        }
        // SAFETY: by the contract of this function.
        unsafe { self.body(desc, mode, dst) }
    }

    /// # Safety
    /// `dst` is zeroed memory for this structure but for its sType and pNext.
    unsafe fn body(
        &mut self,
        desc: &'static StructDesc,
        mode: Mode,
        dst: *mut u8,
    ) -> Result<(), Fault> {
        for field in desc.fields {
            // SAFETY: by the contract of this function; fields are visited in their order.
            unsafe { self.field(field, field.mode_in(mode), dst)? };
        }
        Ok(())
    }

    /// Decodes a pNext chain: each structure's own chain comes before its fields, so the headers of all
    /// come first and the bodies follow, last one first.
    ///
    /// # Safety
    /// `root` is a valid structure header of this description's type.
    unsafe fn chain(
        &mut self,
        desc: &'static StructDesc,
        mode: Mode,
        root: *mut vk::BaseOutStructure<'static>,
    ) -> Result<(), Fault> {
        let mut nodes: BumpVec<(&'static StructDesc, *mut u8)> = BumpVec::new_in(self.bump);
        let mut tail = root;
        loop {
            match self.u64()? {
                0 => break,
                1 => {}
                found => {
                    return Err(self.fail(Kind::BadPointer {
                        field: "pNext",
                        found,
                    }));
                }
            }
            if nodes.len() >= self.limits.chain_len_max {
                return Err(self.fail(Kind::ChainTooLong(self.limits.chain_len_max)));
            }
            let stype = self.u32()? as i32;
            let Some(node) = desc.find_chained(stype) else {
                let parent = desc.name;
                return Err(self.fail(Kind::UnknownStructureType { parent, stype }));
            };
            let repeated = nodes.iter().any(|(known, _)| ptr::eq(*known, node));
            if repeated && node.chained != Chained::Many {
                return Err(self.fail(Kind::DuplicateStructure(node.name)));
            }
            let memory = self.alloc(node.size as u64, node.align)?.as_ptr();
            let base = memory.cast::<vk::BaseOutStructure>();
            // SAFETY: chained structures start as vk::BaseOutStructure does; tail is the root or one.
            unsafe {
                (&raw mut (*base).s_type).write(vk::StructureType::from_raw(stype));
                if node.chained != Chained::Dropped {
                    (&raw mut (*tail).p_next).write(base);
                    tail = base;
                }
            }
            nodes.push((node, memory));
        }
        for (node, memory) in nodes.iter().rev() {
            // SAFETY: the memory was allocated for this structure above.
            unsafe { self.body(node, mode, *memory)? };
        }
        Ok(())
    }

    /// # Safety
    /// `dst` is zeroed memory for this union.
    unsafe fn union(&mut self, desc: &'static UnionDesc, dst: *mut u8) -> Result<(), Fault> {
        let tag = self.u32()?;
        let Some(member) = desc.members.get(tag as usize) else {
            return Err(self.fail(Kind::BadUnionTag {
                union: desc.name,
                tag,
            }));
        };
        // SAFETY: a member's memory is the union's.
        unsafe { self.field(member, Mode::Full, dst) }
    }
}
