//! What commands and structures look like on the wire and in memory, as data.
//!
//! The generated tables hold one [`StructDesc`] or [`CommandDesc`] per structure or command. Offsets and
//! sizes come from the compiler (`offset_of!`), and [`Field::new`] checks at compile time that a field is
//! as large as its description says, so a table that disagrees with `ash` does not build.

use ash::vk;

/// The type of one element of a field.
#[derive(Clone, Copy)]
pub enum Ty {
    /// A byte, character or opaque byte.
    U8,
    U16,
    /// Any 32-bit value: integer, float, enum, flags, boolean.
    U32,
    /// Any 64-bit value: integer, float, size, flags, address.
    U64,
    /// A handle: a 64-bit id on the wire.
    Handle(vk::ObjectType),
    Struct(&'static StructDesc),
    Union(&'static UnionDesc),
    /// Something without a wire form: only a null pointer to it can be sent.
    Opaque,
}

impl Ty {
    /// Bytes in memory.
    pub const fn size(&self) -> usize {
        match self {
            Ty::U8 => 1,
            Ty::U16 => 2,
            Ty::U32 => 4,
            Ty::U64 | Ty::Handle(_) => 8,
            Ty::Struct(desc) => desc.size,
            Ty::Union(desc) => desc.size,
            Ty::Opaque => 0,
        }
    }

    /// The fewest bytes that one element takes on the wire, for a quick check of counts.
    pub(crate) const fn wire_min(&self) -> u64 {
        match self {
            Ty::U8 => 1,
            Ty::U16 => 2,
            Ty::U32 => 4,
            Ty::U64 | Ty::Handle(_) => 8,
            Ty::Union(_) => 4,
            Ty::Struct(_) | Ty::Opaque => 0,
        }
    }
}

/// Where the number of elements of an array is, relative to the structure that holds the array.
#[derive(Clone, Copy)]
pub enum Len {
    /// A 32-bit field at this offset.
    U32(usize),
    /// A 64-bit field at this offset.
    U64(usize),
    /// A 32-bit field at this offset, in bytes or bits: divided, rounding up.
    DivU32(usize, u32),
    /// A 64-bit field at this offset, divided.
    DivU64(usize, u64),
    /// A pointer at this offset, to a 32-bit count.
    PtrU32(usize),
    /// A pointer at this offset, to a 64-bit count.
    PtrU64(usize),
    /// A pointer at the first offset, to a structure with a 32-bit count at the second.
    InU32(usize, usize),
}

/// How the elements hang on a field.
#[derive(Clone, Copy)]
pub enum Shape {
    /// The element itself.
    Value,
    /// A fixed array; the count is on the wire as well.
    Static(u64),
    /// A pointer to one element.
    Ptr,
    /// A pointer to a counted array.
    Array(Len),
    /// A pointer to a NUL-terminated string.
    Str,
    /// A pointer to a counted array of strings.
    Strs(Len),
}

/// The pointer may be null.
pub const OPT: u8 = 1;
/// The field says how long another one is, so it is sent even in a partial structure.
pub const LEN: u8 = 2;
/// A command's output, sent in the partial form with the request and in full with the reply.
pub const OUT: u8 = 4;
/// With [`OUT`]: the value is an input as well (a count that the driver rewrites).
pub const INOUT: u8 = 8;

pub struct Field {
    pub name: &'static str,
    pub offset: usize,
    pub ty: Ty,
    pub shape: Shape,
    /// [`OPT`], [`LEN`], [`OUT`], [`INOUT`].
    pub flags: u8,
}

impl Field {
    pub const fn new(
        name: &'static str,
        offset: usize,
        size: usize,
        ty: Ty,
        shape: Shape,
        flags: u8,
    ) -> Self {
        let expected = match shape {
            Shape::Value => ty.size(),
            Shape::Static(count) => ty.size() * count as usize,
            _ => size_of::<usize>(),
        };
        assert!(
            size == expected,
            "The description of a field disagrees with its type"
        );
        Field {
            name,
            offset,
            ty,
            shape,
            flags,
        }
    }

    pub(crate) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// What becomes of a structure in a pNext chain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Chained {
    Once,
    /// May be in a chain more than once.
    Many,
    /// Decoded and left out of the chain: it means something in the guest only.
    Dropped,
}

pub struct StructDesc {
    pub name: &'static str,
    pub size: usize,
    pub align: usize,
    /// The structure's sType; its first two fields are then sType and pNext.
    pub stype: Option<i32>,
    /// What becomes of it in a chain.
    pub chained: Chained,
    /// What may be in the pNext chain, sorted by sType.
    pub chain: &'static [&'static StructDesc],
    /// The fields after sType and pNext in wire order.
    pub fields: &'static [Field],
}

impl StructDesc {
    /// The description of the structure with this sType in this one's chain.
    pub(crate) fn find_chained(&self, stype: i32) -> Option<&'static StructDesc> {
        let at = self
            .chain
            .binary_search_by_key(&stype, |desc| desc.stype.unwrap_or(0))
            .ok()?;
        Some(self.chain[at])
    }
}

pub struct UnionDesc {
    pub name: &'static str,
    pub size: usize,
    pub align: usize,
    /// By tag.
    pub members: &'static [Field],
    /// The tag that an encoder writes.
    pub default_tag: u32,
}

pub struct CommandDesc {
    pub id: u32,
    /// Of the argument structure.
    pub size: usize,
    pub align: usize,
    pub fields: &'static [Field],
    /// The return value, when there is one.
    pub ret: Option<Field>,
}

/// The size of what a pointer points at.
pub const fn pointee_size<T>(_: *const T) -> usize {
    size_of::<T>()
}

/// A [`Field`] of a type: its offset and size are the compiler's.
macro_rules! field {
    ($t:ty, $name:ident, $element:expr, $shape:expr, $flags:expr) => {
        $crate::schema::Field::new(
            stringify!($name),
            ::std::mem::offset_of!($t, $name),
            {
                let value = ::std::mem::MaybeUninit::<$t>::uninit();
                // SAFETY: the address of a field is taken, nothing is read.
                $crate::schema::pointee_size(unsafe { &raw const (*value.as_ptr()).$name })
            },
            $element,
            $shape,
            $flags,
        )
    };
}

pub(crate) use field;
