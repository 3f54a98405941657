//! A command buffer's worth of random commands: drawn, its descriptors written, recorded.

use std::rc::Rc;

use ash::vk;

use super::catalogue::{Catalogue, KINDS, Kind, Rule};
use super::pictures::Paint;
use super::world::{CONTROL_SIZE, Item, KIB, READBACK_SIZE, UPLOAD_SIZE, World};
use crate::error::Error;
use crate::model::Rng;
use crate::vulkan::command::Level;
use crate::vulkan::memory::TexelView;
use crate::vulkan::pipeline::{Resource, Write};
use crate::vulkan::sync::Event;
use crate::vulkan::{Buffer, Commands, Gpu, Recorder, Set};

/// Sets of each kind in a slot, and so dispatches of a kind with descriptors of their own.
pub const SETS_PER_KIND: usize = 3;
const COMMANDS_MAX: usize = 6;
const COUNT_MAX: usize = 16 * 1024;
const GROUP: usize = 64;
const ITEM_BYTES: u64 = 40;
/// Limits that all devices keep to (Vulkan, "Required Limits").
const ALIGN_MAX: u64 = 256;
const TEXELS_MIN: u64 = 65536;
/// The control buffer: indirect counts in the first half, address tables in the second.
const TABLE_FIRST: u64 = CONTROL_SIZE / 2;

/// What may be drawn.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// Only what gives the same bytes on every device: no dispatch reads what it writes elsewhere.
    pub tame: bool,
    /// No copies, fills, updates and renderings.
    pub dispatches_only: bool,
}

/// One random command with all that it needs, or a few that belong together.
enum Op {
    Dispatch {
        program: usize,
        /// Kind and place of the set in the slot; None if nothing is bound.
        set: Option<(Kind, usize)>,
        dynamic: Vec<u32>,
        push: [u32; 4],
        groups: Groups,
        /// Address to put into the control buffer before: (offset, address).
        table: Option<(u64, u64)>,
    },
    Copy {
        source: Rc<Buffer>,
        target: Rc<Buffer>,
        regions: Vec<(u64, u64, u64)>,
    },
    Fill {
        target: Rc<Buffer>,
        offset: u64,
        size: u64,
        value: u32,
    },
    Update {
        target: Rc<Buffer>,
        offset: u64,
        words: Vec<u32>,
    },
    /// Only where the world has pictures.
    Paint(Paint),
}

impl Op {
    fn is_pass(&self) -> bool {
        matches!(self, Self::Paint(paint) if paint.is_pass())
    }
}

/// Where a dispatch's group count comes from.
enum Groups {
    Direct(u32),
    /// Byte offset in the control buffer, count, and how it gets there.
    Indirect(u64, u32, By),
}

enum By {
    Update,
    Copy,
    /// By a shader, through this set of [`Kind::One`].
    Shader(usize),
}

/// A primary and a secondary command buffer, with sets and an event of their own.
pub struct Slot {
    primary: Commands,
    secondary: Commands,
    event: Event,
    sets: Vec<Vec<Set>>,
    used: [usize; KINDS.len()],
    views: Vec<TexelView>,
    /// Buffers that the recorded commands name; None if nothing (valid) is recorded.
    names: Option<Vec<u64>>,
}

impl Slot {
    pub fn new(gpu: &Gpu, catalogue: &Catalogue) -> Result<Self, Error> {
        let sets = KINDS
            .iter()
            .map(|kind| {
                (0..SETS_PER_KIND)
                    .map(|_| catalogue.set(gpu, *kind))
                    .collect::<Result<Vec<_>, _>>()
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            primary: gpu.commands(Level::Primary)?,
            secondary: gpu.commands(Level::Secondary)?,
            event: gpu.event()?,
            sets,
            used: [0; KINDS.len()],
            views: Vec::new(),
            names: None,
        })
    }

    /// The command buffer to submit.
    pub fn commands(&self) -> &Commands {
        &self.primary
    }

    /// Whether the recorded commands may be submitted once more.
    pub fn reusable(&self, world: &World) -> bool {
        self.names.as_ref().is_some_and(|names| {
            names
                .iter()
                .all(|uid| world.items.iter().any(|item| item.uid == *uid))
        })
    }

    /// Draws and records anew. The queue must be idle for the slot.
    pub fn record(
        &mut self,
        gpu: &Gpu,
        catalogue: &Catalogue,
        world: &World,
        rng: &mut Rng,
        mode: Mode,
    ) -> Result<(), Error> {
        self.names = None;
        self.views.clear();
        self.used = [0; KINDS.len()];
        let mut draw = Draw {
            slot: self,
            gpu,
            catalogue,
            world,
            rng,
            mode,
            names: Vec::new(),
        };
        let mut ops = Vec::new();
        for _ in 0..1 + draw.rng.below(COMMANDS_MAX) {
            ops.extend(draw.op()?);
        }
        let names = draw.names;
        // Three parts: straight, inside a secondary command buffer, around an event.
        let wanted = rng.below(3) == 0;
        let with_event = rng.below(3) == 0;
        let reusable = rng.below(2) == 0;
        let (head, rest) = ops.split_at(ops.len() / 2);
        let into_secondary = wanted && !rest.iter().any(Op::is_pass);
        if into_secondary {
            self.secondary.record(reusable, |recorder| {
                self.record_ops(recorder, catalogue, world, rest);
            })?;
        }
        self.primary.record(reusable, |recorder| {
            self.record_ops(recorder, catalogue, world, head);
            if with_event {
                recorder.barrier();
                recorder.set_event(&self.event);
                recorder.wait_event(&self.event);
            }
            if into_secondary {
                recorder.execute(&[&self.secondary]);
            } else {
                self.record_ops(recorder, catalogue, world, rest);
            }
            if with_event {
                recorder.barrier();
                recorder.reset_event(&self.event);
            }
            recorder.barrier_to_host();
        })?;
        if reusable {
            self.names = Some(names);
        }
        Ok(())
    }

    fn record_ops(
        &self,
        recorder: &Recorder<'_>,
        catalogue: &Catalogue,
        world: &World,
        ops: &[Op],
    ) {
        for op in ops {
            recorder.barrier();
            match op {
                Op::Dispatch { .. } => self.record_dispatch(recorder, catalogue, world, op),
                Op::Copy {
                    source,
                    target,
                    regions,
                } => recorder.copy(source, target, regions),
                Op::Fill {
                    target,
                    offset,
                    size,
                    value,
                } => recorder.fill(target, *offset, *size, *value),
                Op::Update {
                    target,
                    offset,
                    words,
                } => recorder.update(target, *offset, words),
                Op::Paint(paint) => {
                    recorder.barrier_all();
                    if let Some(pictures) = &world.pictures {
                        pictures.record(recorder, paint);
                    }
                    recorder.barrier_all();
                }
            }
        }
    }

    fn record_dispatch(
        &self,
        recorder: &Recorder<'_>,
        catalogue: &Catalogue,
        world: &World,
        op: &Op,
    ) {
        let Op::Dispatch {
            program,
            set,
            dynamic,
            push,
            groups,
            table,
        } = op
        else {
            return;
        };
        if let Some((offset, address)) = table {
            let words = [*address as u32, (*address >> 32) as u32];
            recorder.update(&world.control, *offset, &words);
            recorder.barrier();
        }
        if let Groups::Indirect(offset, count, by) = groups {
            match by {
                By::Update => recorder.update(&world.control, *offset, &[*count, 1, 1]),
                By::Copy => {
                    let region = (u64::from(*count - 1) * 16, *offset, 12);
                    recorder.copy(&world.upload, &world.control, &[region]);
                }
                By::Shader(set) => {
                    let layout = catalogue.layout(Kind::One);
                    recorder.pipeline(&catalogue.programs[catalogue.counts].pipeline);
                    recorder.set(layout, &self.sets[Kind::One as usize][*set], &[]);
                    recorder.push(layout, &[(*offset / 4) as u32, 1, 0, *count]);
                    recorder.dispatch(1, 1);
                }
            }
            recorder.barrier();
        }
        let program = &catalogue.programs[*program];
        let layout = catalogue.layout(program.kind);
        recorder.pipeline(&program.pipeline);
        if let Some((kind, set)) = set {
            recorder.set(layout, &self.sets[*kind as usize][*set], dynamic);
        }
        recorder.push(layout, push);
        match groups {
            Groups::Direct(count) => recorder.dispatch(*count, 1),
            Groups::Indirect(offset, ..) => recorder.dispatch_indirect(&world.control, *offset),
        }
    }
}

/// A range of a buffer that a descriptor names, in bytes.
struct Range<'a> {
    item: &'a Item,
    offset: u64,
    size: u64,
}

/// Draws the commands of one recording.
struct Draw<'a> {
    slot: &'a mut Slot,
    gpu: &'a Gpu,
    catalogue: &'a Catalogue,
    world: &'a World,
    rng: &'a mut Rng,
    mode: Mode,
    names: Vec<u64>,
}

impl<'a> Draw<'a> {
    /// A command; None where the draw can't be had.
    fn op(&mut self) -> Result<Option<Op>, Error> {
        let kinds = match (self.mode.dispatches_only, &self.world.pictures) {
            (true, _) => 6,
            (false, None) => 10,
            (false, Some(_)) => 16,
        };
        match self.rng.below(kinds) {
            0..=5 => self.dispatch(),
            6..=7 => Ok(Some(self.copy())),
            8 => Ok(Some(self.fill())),
            9 => Ok(Some(self.update())),
            _ => Ok(self.paint()),
        }
    }

    fn paint(&mut self) -> Option<Op> {
        let pictures = self.world.pictures.as_ref()?;
        let paint = pictures.draw(self.rng, self.world, &mut self.names)?;
        Some(Op::Paint(paint))
    }

    fn item(&mut self, fits: impl Fn(&Item) -> bool) -> &'a Item {
        let fitting: Vec<_> = self.world.items.iter().filter(|i| fits(i)).collect();
        // Buffers alone in their memory may be used for everything the device has.
        let item = fitting[self.rng.below(fitting.len())];
        self.names.push(item.uid);
        item
    }

    /// Bytes of a buffer: an offset of this alignment and a size in whole words, 256 at least.
    fn range(&mut self, fits: impl Fn(&Item) -> bool, align: u64, longest: u64) -> Range<'a> {
        let item = self.item(fits);
        let whole = item.buffer.size();
        let (offset, size) = match self.rng.below(4) {
            0 => (0, whole),
            _ => {
                let offset = self.rng.below((whole - 256) as usize) as u64 / align * align;
                let most = (whole - offset - 256) / 4 + 1;
                (offset, 256 + 4 * self.rng.below(most as usize) as u64)
            }
        };
        Range {
            item,
            offset,
            size: size.min(longest) & !3,
        }
    }

    fn storage(&mut self) -> Range<'a> {
        let align = self.storage_align();
        let longest = u64::from(self.gpu.properties.limits.max_storage_buffer_range);
        self.range(|item| item.storage, align, longest)
    }

    /// Alignment of descriptors: the device's own, or in a tame draw the coarsest that any device
    /// asks for.
    fn storage_align(&self) -> u64 {
        match self.mode.tame {
            true => ALIGN_MAX,
            false => self
                .gpu
                .properties
                .limits
                .min_storage_buffer_offset_alignment
                .max(4),
        }
    }

    /// A set of this kind that isn't in use in this recording yet.
    fn set(&mut self, kind: Kind) -> Option<usize> {
        let used = &mut self.slot.used[kind as usize];
        let free = (*used < SETS_PER_KIND).then_some(*used)?;
        *used += 1;
        Some(free)
    }

    fn dispatch(&mut self) -> Result<Option<Op>, Error> {
        let drawn = &self.catalogue.drawn;
        let program = drawn[self.rng.below(drawn.len())];
        let (kind, rule) = {
            let program = &self.catalogue.programs[program];
            (program.kind, program.rule)
        };
        if rule == Rule::Address {
            return Ok(Some(self.by_address(program)));
        }
        let Some(set) = self.set(kind) else {
            return Ok(None);
        };
        if rule == Rule::Table {
            return Ok(Some(self.by_table(program, set)));
        }
        if rule == Rule::Image {
            return Ok(self.image_stores(program, set));
        }
        let mut dynamic = Vec::new();
        let smallest = match kind {
            Kind::Texel => self.bind_texels(set)?,
            Kind::Dynamic => {
                let (size, offset) = self.bind_dynamic(set);
                dynamic.push(offset);
                size
            }
            _ => match self.bind(kind, set) {
                Some(size) => size,
                None => return Ok(None),
            },
        };
        let push = self.push(rule, smallest);
        let groups = self.groups((push[1] as usize).div_ceil(GROUP));
        Ok(Some(Op::Dispatch {
            program,
            set: Some((kind, set)),
            dynamic,
            push,
            groups,
            table: None,
        }))
    }

    /// Binds random ranges; the size of the smallest. None if a tame draw found the two of them on
    /// the same bytes.
    fn bind(&mut self, kind: Kind, set: usize) -> Option<u64> {
        let (descriptor, count) = kind.descriptors();
        let ranges: Vec<_> = (0..count).map(|_| self.storage()).collect();
        if let (true, [a, b]) = (self.mode.tame, ranges.as_slice())
            && a.item
                .overlaps(a.offset, b.item, b.offset, a.size.max(b.size))
        {
            return None;
        }
        let writes: Vec<_> = (0u32..)
            .zip(&ranges)
            .map(|(index, range)| {
                let array = kind == Kind::Array;
                Write {
                    binding: if array { 0 } else { index },
                    element: if array { index } else { 0 },
                    kind: descriptor,
                    resource: Resource::Buffer {
                        buffer: &range.item.buffer,
                        offset: range.offset,
                        // Now and then the rest of the buffer, where that is the same.
                        range: if range.offset + range.size == range.item.buffer.size()
                            && range.size % 8 == 0
                        {
                            vk::WHOLE_SIZE
                        } else {
                            range.size
                        },
                    },
                }
            })
            .collect();
        self.slot.sets[kind as usize][set].update(&writes);
        ranges.iter().map(|range| range.size).min()
    }

    /// Binds a range that is moved by a dynamic offset; its size and the offset.
    fn bind_dynamic(&mut self, set: usize) -> (u64, u32) {
        let range = self.storage();
        let align = self.storage_align();
        let room = (range.item.buffer.size() - range.offset - range.size) / align;
        let offset = self.rng.below(room as usize + 1) as u64 * align;
        let (descriptor, _) = Kind::Dynamic.descriptors();
        self.slot.sets[Kind::Dynamic as usize][set].update(&[Write {
            binding: 0,
            element: 0,
            kind: descriptor,
            resource: Resource::Buffer {
                buffer: &range.item.buffer,
                offset: range.offset,
                range: range.size,
            },
        }]);
        (range.size, offset as u32)
    }

    fn bind_texels(&mut self, set: usize) -> Result<u64, Error> {
        let limits = &self.gpu.properties.limits;
        let (align, longest) = match self.mode.tame {
            true => (ALIGN_MAX, TEXELS_MIN * 4),
            false => (
                limits.min_texel_buffer_offset_alignment.max(4),
                u64::from(limits.max_texel_buffer_elements) * 4,
            ),
        };
        let range = self.range(|item| item.texel, align, longest);
        let view = self
            .gpu
            .texel_view(&range.item.buffer, range.offset, range.size)?;
        let (descriptor, _) = Kind::Texel.descriptors();
        self.slot.sets[Kind::Texel as usize][set].update(&[Write {
            binding: 0,
            element: 0,
            kind: descriptor,
            resource: Resource::Texels(&view),
        }]);
        self.slot.views.push(view);
        Ok(range.size)
    }

    /// A dispatch that stores to an image.
    fn image_stores(&mut self, program: usize, set: usize) -> Option<Op> {
        let views = &self.world.pictures.as_ref()?.storage;
        let view = &views[self.rng.below(views.len())];
        let (descriptor, _) = Kind::Image.descriptors();
        self.slot.sets[Kind::Image as usize][set].update(&[Write {
            binding: 0,
            element: 0,
            kind: descriptor,
            resource: Resource::Image(view),
        }]);
        let side = view.image.shape.side >> view.part.level;
        let texels = (side * side) as usize;
        let count = 1 + self.rng.below(texels);
        let first = self.rng.below(texels - count + 1);
        Some(Op::Dispatch {
            program,
            set: Some((Kind::Image, set)),
            dynamic: Vec::new(),
            push: [first as u32, count as u32, self.rng.word(), side],
            groups: self.groups(count.div_ceil(GROUP)),
            table: None,
        })
    }

    /// Push constants for a binding of so many bytes.
    fn push(&mut self, rule: Rule, bytes: u64) -> [u32; 4] {
        let room = match rule {
            Rule::Items => (bytes - 16) / ITEM_BYTES,
            // A multiple of 4: one of the shaders reads a word's neighbours.
            _ => bytes / 16 * 4,
        } as usize;
        let count = match self.rng.below(8) {
            0 => room.min(COUNT_MAX),
            _ => 1 + self.rng.below(room.min(COUNT_MAX)),
        };
        let first = self.rng.below(room - count + 1);
        let extra = match rule {
            // Strides from the next word to far away, and past the end of all buffers.
            Rule::Beyond => [1, 3, 1024, 0x4000, 0x10_0000, 0x1000_0001][self.rng.below(6)],
            _ => self.rng.word(),
        };
        let first = match rule {
            Rule::Beyond => first + room * self.rng.below(2),
            _ => first,
        };
        [first as u32, count as u32, self.rng.word(), extra]
    }

    fn groups(&mut self, count: usize) -> Groups {
        // Up to 64, the counts that the upload buffer has ready.
        if count > 64 || self.rng.below(4) != 0 {
            return Groups::Direct(count as u32);
        }
        let offset = self.rng.below((TABLE_FIRST / 16) as usize) as u64 * 16;
        let by = match self.rng.below(3) {
            0 => By::Update,
            1 => By::Copy,
            _ => match self.set(Kind::One) {
                None => By::Update,
                Some(set) => {
                    self.bind_control(set, 0, TABLE_FIRST);
                    By::Shader(set)
                }
            },
        };
        Groups::Indirect(offset, count as u32, by)
    }

    fn bind_control(&mut self, set: usize, offset: u64, range: u64) {
        let (descriptor, _) = Kind::One.descriptors();
        self.slot.sets[Kind::One as usize][set].update(&[Write {
            binding: 0,
            element: 0,
            kind: descriptor,
            resource: Resource::Buffer {
                buffer: &self.world.control,
                offset,
                range,
            },
        }]);
    }

    /// An address in a buffer, and the words from there to its end (or fewer).
    fn address(&mut self) -> (u64, u32) {
        let item = self.item(|item| item.addressed);
        let words = item.buffer.size() as usize / 4;
        let first = self.rng.below(words);
        let count = 1 + self.rng.below((words - first).min(COUNT_MAX));
        (item.buffer.address + first as u64 * 4, count as u32)
    }

    fn by_address(&mut self, program: usize) -> Op {
        let (address, count) = self.address();
        Op::Dispatch {
            program,
            set: None,
            dynamic: Vec::new(),
            push: [
                address as u32,
                (address >> 32) as u32,
                count,
                self.rng.word(),
            ],
            groups: self.groups((count as usize).div_ceil(GROUP)),
            table: None,
        }
    }

    fn by_table(&mut self, program: usize, set: usize) -> Op {
        let (address, count) = self.address();
        self.bind_control(set, TABLE_FIRST, CONTROL_SIZE - TABLE_FIRST);
        let place = self.rng.below(((CONTROL_SIZE - TABLE_FIRST) / 8) as usize);
        Op::Dispatch {
            program,
            set: Some((Kind::One, set)),
            dynamic: Vec::new(),
            push: [place as u32, count, self.rng.word(), 0],
            groups: self.groups((count as usize).div_ceil(GROUP)),
            table: Some((TABLE_FIRST + place as u64 * 8, address)),
        }
    }

    /// A copy of bytes, any alignment, one or two regions, between device-local buffers or from or
    /// into host-visible ones.
    fn copy(&mut self) -> Op {
        let one = self.item(|item| item.transfer);
        let size_one = one.buffer.size();
        match self.rng.below(5) {
            0 => {
                let regions = self.regions(UPLOAD_SIZE, size_one);
                Op::Copy {
                    source: self.world.upload.clone(),
                    target: one.buffer.clone(),
                    regions,
                }
            }
            1 => {
                let regions = self.regions(size_one, READBACK_SIZE);
                Op::Copy {
                    source: one.buffer.clone(),
                    target: self.world.readback.clone(),
                    regions,
                }
            }
            _ => {
                let two = self.item(|item| item.transfer);
                let regions = self.regions(size_one, two.buffer.size());
                // Source and target bytes may not meet, in aliased buffers either.
                let meet = regions.iter().any(|(from, _, size)| {
                    regions
                        .iter()
                        .any(|(_, to, other)| one.overlaps(*from, two, *to, *size.max(other)))
                });
                if meet {
                    return self.fill();
                }
                Op::Copy {
                    source: one.buffer.clone(),
                    target: two.buffer.clone(),
                    regions,
                }
            }
        }
    }

    fn regions(&mut self, from: u64, to: u64) -> Vec<(u64, u64, u64)> {
        let longest = from.min(to).min(256 * KIB);
        let size = 1 + self.rng.below(longest as usize) as u64;
        let source = self.rng.below((from - size) as usize + 1) as u64;
        let target = self.rng.below((to - size) as usize + 1) as u64;
        let half = size / 2;
        if half == 0 || self.rng.below(2) == 0 {
            return vec![(source, target, size)];
        }
        // The halves change places.
        vec![
            (source, target + size - half, half),
            (source + half, target, size - half),
        ]
    }

    fn fill(&mut self) -> Op {
        let item = self.item(|item| item.transfer);
        let words = item.buffer.size() as usize / 4;
        let first = self.rng.below(words);
        let size = match self.rng.below(8) {
            0 => vk::WHOLE_SIZE,
            _ => 4 * (1 + self.rng.below((words - first).min(COUNT_MAX))) as u64,
        };
        Op::Fill {
            target: item.buffer.clone(),
            offset: first as u64 * 4,
            size,
            value: self.rng.word(),
        }
    }

    fn update(&mut self) -> Op {
        let item = self.item(|item| item.transfer);
        let words = item.buffer.size() as usize / 4;
        let first = self.rng.below(words);
        let longest = match self.rng.below(8) {
            0 => 16 * 1024,
            _ => 256,
        };
        let count = 1 + self.rng.below((words - first).min(longest));
        Op::Update {
            target: item.buffer.clone(),
            offset: first as u64 * 4,
            words: self.rng.words(count),
        }
    }
}
