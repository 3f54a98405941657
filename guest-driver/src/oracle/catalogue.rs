//! The committed shaders, how each is bound, and what it may be told.

use std::rc::Rc;

use ash::vk;

use crate::error::Error;
use crate::vulkan::{Features, Gpu, Layout, Pipeline, Set, SetPool};

/// Kinds of set 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One storage buffer.
    One,
    /// Two storage buffers.
    Two,
    /// One dynamic storage buffer.
    Dynamic,
    /// An array of four storage buffers.
    Array,
    /// One storage texel buffer.
    Texel,
    /// One storage image.
    Image,
}

pub const KINDS: [Kind; 6] = [
    Kind::One,
    Kind::Two,
    Kind::Dynamic,
    Kind::Array,
    Kind::Texel,
    Kind::Image,
];

impl Kind {
    /// Descriptor type and number of descriptors. Two buffers are two bindings, four are an array.
    pub fn descriptors(self) -> (vk::DescriptorType, u32) {
        match self {
            Self::One => (vk::DescriptorType::STORAGE_BUFFER, 1),
            Self::Two => (vk::DescriptorType::STORAGE_BUFFER, 2),
            Self::Dynamic => (vk::DescriptorType::STORAGE_BUFFER_DYNAMIC, 1),
            Self::Array => (vk::DescriptorType::STORAGE_BUFFER, 4),
            Self::Texel => (vk::DescriptorType::STORAGE_TEXEL_BUFFER, 1),
            Self::Image => (vk::DescriptorType::STORAGE_IMAGE, 1),
        }
    }
}

/// What the push constants must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// `first + count` words lie inside each binding.
    Words,
    /// `first + count` items of 40 bytes after 16 lie inside the binding.
    Items,
    /// `first + count` texels lie inside the image, which is `extra` texels wide.
    Image,
    /// Stores leave the binding.
    Beyond,
    /// Device address, `count`, `key`; nothing bound.
    Address,
    /// Word `2 * first` of the binding is the start of a device address.
    Table,
    /// Three words at `first`, where an indirect dispatch reads them.
    Counts,
}

/// A shader of the catalogue.
struct Entry {
    name: &'static str,
    kind: Kind,
    rule: Rule,
    spirv: &'static [u8],
    constants: &'static [u32],
    needs: fn(&Features) -> bool,
}

macro_rules! entry {
    ($kind:ident, $rule:ident, $name:literal) => {
        Entry {
            name: $name,
            kind: Kind::$kind,
            rule: Rule::$rule,
            spirv: include_bytes!(concat!("../../shaders/oracle/", $name, ".spv")),
            constants: &[],
            needs: |_| true,
        }
    };
}

const ENTRIES: [Entry; 20] = [
    entry!(One, Words, "store"),
    Entry {
        name: "dynamic",
        ..entry!(Dynamic, Words, "store")
    },
    entry!(One, Words, "atomic"),
    entry!(Texel, Words, "texel"),
    entry!(Image, Image, "image"),
    entry!(Image, Image, "count"),
    entry!(Two, Words, "readonly"),
    entry!(Two, Words, "unwritten"),
    entry!(Two, Words, "guarded"),
    entry!(One, Words, "inout"),
    entry!(Two, Words, "shared"),
    entry!(One, Items, "nested"),
    entry!(Two, Words, "special"),
    Entry {
        name: "special-first",
        constants: &[1, 5],
        ..entry!(Two, Words, "special")
    },
    Entry {
        needs: |has| has.array_indexing,
        ..entry!(Array, Words, "array")
    },
    Entry {
        needs: |has| has.robust_buffer,
        ..entry!(One, Beyond, "beyond")
    },
    Entry {
        needs: |has| has.variable_pointers,
        ..entry!(One, Words, "pointer")
    },
    Entry {
        needs: |has| has.device_address,
        ..entry!(One, Address, "address")
    },
    Entry {
        needs: |has| has.device_address,
        ..entry!(One, Table, "table")
    },
    // The last one: `Catalogue::counts`.
    entry!(One, Counts, "args"),
];

/// A shader made for the device.
pub struct Program {
    pub kind: Kind,
    pub rule: Rule,
    pub pipeline: Pipeline,
}

/// Everything that stays the same for the whole run.
pub struct Catalogue {
    /// By the order of [`KINDS`].
    layouts: Vec<Layout>,
    /// Those that the device can run.
    pub programs: Vec<Program>,
    /// Place of the program of [`Rule::Counts`].
    pub counts: usize,
    /// Programs to draw from; never empty.
    pub drawn: Vec<usize>,
    pool: Rc<SetPool>,
}

impl Catalogue {
    /// Makes layouts, pipelines and a pool for `sets` sets of each kind. `only`: draw this program
    /// alone. `tame`: none whose effect the device decides. `images`: those that store to images, too.
    pub fn new(
        gpu: &Gpu,
        sets: u32,
        only: Option<&str>,
        tame: bool,
        images: bool,
    ) -> Result<Self, Error> {
        let layouts = KINDS
            .iter()
            .map(|kind| {
                let (descriptor, count) = kind.descriptors();
                match kind {
                    Kind::Two => gpu.layout(&[(descriptor, 1), (descriptor, 1)], 16),
                    _ => gpu.layout(&[(descriptor, count)], 16),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut programs = Vec::new();
        let mut drawn = Vec::new();
        for entry in &ENTRIES {
            let bound = match entry.kind {
                Kind::Texel => gpu.storage_texel,
                Kind::Image => images,
                _ => true,
            };
            if !bound || !(entry.needs)(&gpu.features) {
                continue;
            }
            if entry.rule != Rule::Counts
                && !(tame && entry.rule == Rule::Beyond)
                && only.is_none_or(|only| only == entry.name)
            {
                drawn.push(programs.len());
            }
            programs.push(Program {
                kind: entry.kind,
                rule: entry.rule,
                pipeline: gpu.pipeline(
                    &layouts[entry.kind as usize],
                    entry.spirv,
                    entry.constants,
                )?,
            });
        }
        if drawn.is_empty() {
            let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
            return Err(Error::Option(format!(
                "--only takes a program that this device can run, not args, and not beyond, image \
                 and count with --digest: {}",
                names.join(", ")
            )));
        }
        let counts = programs.len() - 1;
        let kinds: Vec<_> = KINDS
            .iter()
            .map(|kind| {
                let (descriptor, count) = kind.descriptors();
                (descriptor, count * sets)
            })
            .collect();
        let pool = gpu.set_pool(sets * KINDS.len() as u32, &kinds)?;
        Ok(Self {
            layouts,
            programs,
            counts,
            drawn,
            pool,
        })
    }

    /// Layout of a kind.
    pub fn layout(&self, kind: Kind) -> &Layout {
        &self.layouts[kind as usize]
    }

    /// A new set of a kind.
    pub fn set(&self, gpu: &Gpu, kind: Kind) -> Result<Set, Error> {
        gpu.set(&self.pool, self.layout(kind))
    }
}
