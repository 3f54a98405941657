//! Random commands through the encoder, the decoder and the encoder again.

use std::ptr;

use ash::vk;
use bumpalo::Bump;
use proptest::prelude::*;

use crate::command::{Command, CommandType};
use crate::decoder::{Limits, Mode, decode};
use crate::encoder::{Encoder, encode_reply, encode_request, reply_size};
use crate::generated::ids;
use crate::schema::{Chained, Field, LEN, OPT, Shape, StructDesc, Ty};

/// Fills arguments with random values, as a client would: counts fit their arrays.
struct Maker<'b> {
    bump: &'b Bump,
    state: u64,
}

impl Maker<'_> {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn chance(&mut self, percent: u64) -> bool {
        (self.next() >> 33) % 100 < percent
    }

    fn memory(&self, size: usize) -> *mut u8 {
        let words = self
            .bump
            .alloc_slice_fill_copy(size.div_ceil(8).max(1), 0u64);
        words.as_mut_ptr().cast()
    }

    fn command(&mut self, id: CommandType) -> Command<'static> {
        let desc = id.desc().expect("only known commands are made");
        let args = self.memory(desc.size);
        self.fields(desc.fields, args);
        let args = ptr::NonNull::new(args).expect("the arena gives no null");
        // SAFETY: the arguments were just made for this command; the test keeps the arena.
        unsafe { Command::from_raw(id, args) }.expect("a known command")
    }

    fn fields(&mut self, fields: &[Field], base: *mut u8) {
        for field in fields {
            // SAFETY: base is zeroed memory for these fields.
            unsafe { self.field(field, base) };
        }
    }

    unsafe fn field(&mut self, field: &Field, base: *mut u8) {
        // SAFETY: the caller's base is memory for the structure; lengths before this field are set.
        unsafe {
            let place = base.add(field.offset);
            let pointer = place.cast::<*mut u8>();
            match field.shape {
                // The second is the count of an array that hangs on the command, not on its structure.
                Shape::Value if field.flags & LEN != 0 || field.name == "command_buffer_count" => {
                    let count = (self.next() >> 33) % 3;
                    ptr::copy_nonoverlapping((&raw const count).cast(), place, field.ty.size());
                }
                Shape::Value => self.elements(&field.ty, place, 1),
                Shape::Static(count) => self.elements(&field.ty, place, count as usize),
                Shape::Ptr if matches!(field.ty, Ty::Opaque) => {}
                Shape::Ptr if field.flags & LEN != 0 && !matches!(field.ty, Ty::Struct(_)) => {
                    let count = self.bump.alloc((self.next() >> 33) % 3);
                    pointer.write(ptr::from_mut(count).cast());
                }
                Shape::Ptr => {
                    if field.flags & OPT == 0 || self.chance(50) {
                        pointer.write(self.memory(field.ty.size()));
                        self.elements(&field.ty, pointer.read(), 1);
                    }
                }
                Shape::Array(len) => {
                    let count = len.eval(base) as usize;
                    if count > 0 && (field.flags & OPT == 0 || self.chance(70)) {
                        pointer.write(self.memory(field.ty.size() * count));
                        self.elements(&field.ty, pointer.read(), count);
                    }
                }
                Shape::Str => {
                    if field.flags & OPT == 0 || self.chance(50) {
                        pointer.write(self.string());
                    }
                }
                Shape::Strs(len) => {
                    let count = len.eval(base) as usize;
                    if count > 0 {
                        pointer.write(self.memory(8 * count));
                        for at in 0..count {
                            pointer
                                .read()
                                .cast::<*mut u8>()
                                .add(at)
                                .write(self.string());
                        }
                    }
                }
            }
        }
    }

    fn string(&mut self) -> *mut u8 {
        let texts = ["main\0", "\0", "VK_KHR_maintenance1\0", "abc\0"];
        let text = texts[(self.next() >> 33) as usize % texts.len()];
        self.bump.alloc_str(text).as_mut_ptr()
    }

    unsafe fn elements(&mut self, ty: &Ty, dst: *mut u8, count: usize) {
        // SAFETY: the caller's dst is zeroed memory for this many elements.
        unsafe {
            match ty {
                Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::Handle(_) => {
                    for at in 0..ty.size() * count {
                        dst.add(at).write(self.next() as u8);
                    }
                }
                Ty::Struct(desc) => {
                    for at in 0..count {
                        self.structure(desc, dst.add(at * desc.size));
                    }
                }
                Ty::Union(desc) => {
                    for at in 0..count {
                        let member = &desc.members[desc.default_tag as usize];
                        self.field(member, dst.add(at * desc.size));
                    }
                }
                Ty::Opaque => {}
            }
        }
    }

    unsafe fn structure(&mut self, desc: &'static StructDesc, dst: *mut u8) {
        // SAFETY: the caller's dst is zeroed memory for this structure.
        unsafe {
            if let Some(stype) = desc.stype {
                let mut tail = dst.cast::<vk::BaseOutStructure>();
                (*tail).s_type = vk::StructureType::from_raw(stype);
                let wanted = if desc.chain.len() > 8 { 15 } else { 40 };
                for node in desc.chain {
                    if node.chained != Chained::Dropped && self.chance(wanted) {
                        let memory = self.memory(node.size);
                        let base = memory.cast::<vk::BaseOutStructure>();
                        (*base).s_type = vk::StructureType::from_raw(node.stype.unwrap_or(0));
                        self.fields(node.fields, memory);
                        (*tail).p_next = base;
                        tail = base;
                    }
                }
            }
            self.fields(desc.fields, dst);
        }
    }
}

fn request(command: &Command<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: the maker's pointers are valid for their counts.
    unsafe { encode_request(command, true, &mut Encoder::append(&mut bytes, usize::MAX)) }
        .expect("a vector has room");
    bytes
}

fn known() -> Vec<CommandType> {
    ids::DESCS
        .iter()
        .flatten()
        .map(|desc| CommandType(desc.id))
        .collect()
}

proptest! {
    // Seeds of failures are printed, not kept in files beside the crate.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decode_every_command_made_at_random_encodes_to_the_same_bytes(seed in 1u64..) {
        for id in known() {
            let arena = Bump::new();
            let made = Maker { bump: &arena, state: seed ^ u64::from(id.0) << 40 | 1 }.command(id);
            let bytes = request(&made);

            let bump = Bump::new();
            let decoded = decode(&bytes, &bump, &Limits::default())
                .map_err(|error| TestCaseError::fail(error.to_string()))?;

            prop_assert_eq!(decoded.len, bytes.len());
            prop_assert_eq!(decoded.command_type(), id);
            prop_assert!(decoded.wants_reply);
            prop_assert_eq!(request(&decoded.command), bytes);
        }
    }

    #[test]
    fn decode_handles_mapped_and_restored_gives_the_same_bytes(seed in 1u64..) {
        for id in known() {
            let arena = Bump::new();
            let made = Maker { bump: &arena, state: seed ^ u64::from(id.0) << 40 | 1 }.command(id);
            let bytes = request(&made);
            let bump = Bump::new();
            let mut decoded = decode(&bytes, &bump, &Limits::default())
                .map_err(|error| TestCaseError::fail(error.to_string()))?;

            decoded.map_handles(|_, id| Ok::<u64, ()>(!id)).ok();
            let mapped = request(&decoded.command);
            decoded.map_handles(|_, id| Ok::<u64, ()>(id)).ok();

            let has_inputs = decoded.input_ids().next().is_some();
            prop_assert_eq!(mapped != bytes, has_inputs, "{}", id);
            prop_assert_eq!(request(&decoded.command), bytes);
        }
    }

    #[test]
    fn encode_reply_of_any_command_is_as_long_as_reply_size_says(seed in 1u64..) {
        for id in known() {
            let arena = Bump::new();
            let made = Maker { bump: &arena, state: seed ^ u64::from(id.0) << 40 | 1 }.command(id);
            let bytes = request(&made);
            let bump = Bump::new();
            let mut decoded = decode(&bytes, &bump, &Limits::default())
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
            let size = reply_size(&decoded);

            let mut reply = vec![0xaa; size];
            let fits = encode_reply(&mut decoded, &mut Encoder::new(&mut reply));
            let mut short = vec![0; size - 4];
            let short = encode_reply(&mut decoded, &mut Encoder::new(&mut short));

            prop_assert!(fits.is_ok());
            prop_assert!(short.is_err());
            prop_assert_eq!(&reply[..4], id.0.to_le_bytes());
        }
    }

    #[test]
    fn decode_every_truncation_is_an_error(seed in 1u64..) {
        let mut bump = Bump::new();
        for id in known() {
            let arena = Bump::new();
            let made = Maker { bump: &arena, state: seed ^ u64::from(id.0) << 40 | 1 }.command(id);
            let bytes = request(&made);
            // Long commands are cut at a sample of their bytes, to keep the test short.
            let step = bytes.len().div_ceil(64).max(1);
            for end in (0..bytes.len()).step_by(step) {
                bump.reset();
                prop_assert!(decode(&bytes[..end], &bump, &Limits::default()).is_err());
            }
        }
    }

    #[test]
    fn decode_damaged_commands_never_panics(seed in 1u64.., damage in any::<u64>()) {
        let mut bump = Bump::new();
        for id in known() {
            let arena = Bump::new();
            let mut maker = Maker { bump: &arena, state: seed ^ u64::from(id.0) << 40 | 1 };
            let made = maker.command(id);
            let mut bytes = request(&made);
            for _ in 0..=damage % 4 {
                let at = (maker.next() >> 8) as usize % bytes.len();
                bytes[at] = if maker.chance(50) { bytes[at] ^ 1 } else { maker.next() as u8 };
            }
            bump.reset();
            let limits = Limits { bytes_max: 1 << 20, ..Limits::default() };
            if let Ok(mut decoded) = decode(&bytes, &bump, &limits) {
                prop_assert!(decoded.len <= bytes.len());
                let _ = reply_size(&decoded);
                let _ = decoded.map_handles(|_, id| if id % 2 == 0 { Ok(id) } else { Err(()) });
            }
        }
    }

    #[test]
    fn decode_random_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..256), id in 0u32..300) {
        let bump = Bump::new();
        let mut framed = id.to_le_bytes().to_vec();
        framed.extend_from_slice(&[1, 0, 0, 0]);
        framed.extend_from_slice(&bytes);
        let _ = decode(&bytes, &bump, &Limits::default());
        let _ = decode(&framed, &bump, &Limits { bytes_max: 1 << 20, ..Limits::default() });
    }
}

#[test]
fn schema_every_structure_reached_is_in_one_mode_only_when_partial() {
    // Handles, structures and unions are the only kinds that differ between the modes.
    let field = Field::new("x", 0, 4, Ty::U32, Shape::Value, 0);
    assert!(field.mode_in(Mode::Partial) == Mode::Absent);
    let counted = Field::new("x", 0, 4, Ty::U32, Shape::Value, LEN);
    assert!(counted.mode_in(Mode::Partial) == Mode::Full);
}
