//! At submit: from effects to ranges of memory.

use ash::vk;

use crate::buffers::Buffers;
use crate::descriptors::{Descriptor, DescriptorSet};
use crate::effects::{BoundSet, CommandBuffer, Effect, ShaderWrites};
use crate::error::AuditError;
use crate::images::{ImageRange, Subresources};
use crate::marks::{Marks, MemoryRange, Part, PartRange, merge};
use crate::tracker::{AuditCounters, Robustness, Tracker};

/// Most descriptors and effects that one submission is followed through; beyond it, it counts as writing everything.
const STEPS_MAX: u64 = 4 << 20;
/// From this many ranges on they are merged while they come.
const RANGES_MERGE: usize = 1 << 16;
/// How deep secondary command buffers may call others.
const SECONDARY_DEPTH_MAX: u32 = 8;

/// A descriptor's range is rounded up to this when it is bounds-checked: the larger value that
/// robustStorageBufferAccessSizeAlignment may have.
const STORAGE_ALIGNMENT: u64 = 4;

/// The submission writes what cannot be told.
struct Everything;

struct Resolver<'a> {
    tracker: &'a Tracker,
    buffers: &'a dyn Buffers,
    ranges: &'a mut Vec<MemoryRange>,
    images: &'a mut Vec<ImageRange>,
    counters: &'a mut AuditCounters,
    /// The command whose effect is looked at, and what was marked for each.
    command: u16,
    tallies: &'a mut Vec<(u16, u64)>,
    parts: Option<&'a mut Vec<Part>>,
    steps: u64,
}

pub(crate) fn submit(
    tracker: &mut Tracker,
    buffers: &dyn Buffers,
    command_buffers: impl Iterator<Item = u64> + Clone,
    marks: &mut Marks,
) -> Result<(), AuditError> {
    let mut ranges = std::mem::take(&mut tracker.scratch);
    let mut images = std::mem::take(&mut tracker.image_scratch);
    let mut tallies = std::mem::take(&mut marks.tallies);
    let mut counters = AuditCounters {
        submissions: 1,
        ..AuditCounters::default()
    };
    ranges.clear();
    images.clear();
    tallies.clear();
    let result = resolve(
        (tracker, buffers),
        command_buffers.clone(),
        (&mut ranges, &mut images),
        (&mut counters, &mut tallies),
        marks.parts_mut(),
    );
    if result.is_ok() {
        merge(&mut ranges);
        images.sort_unstable();
        images.dedup();
        for range in &images {
            let Some(image) = tracker.images.get(&range.image) else {
                continue;
            };
            // The id may name another image than when the command was recorded.
            let range = ImageRange {
                subresources: image.facts.clamp(range.subresources),
                ..*range
            };
            if range.subresources.mips > 0 && range.subresources.layers > 0 {
                marks.push_image(&image.map, range);
            }
        }
        for range in &ranges {
            // Every range was made from a memory object in the table.
            let Some(memory) = tracker.memories.get(&range.memory) else {
                continue;
            };
            match &memory.map {
                Some(map) => marks.push_device(map, *range),
                None => marks.push_host(*range),
            }
        }
        marks.tallies = tallies;
        marks.counters = counters;
        marks.source.generation = tracker.generation;
        marks.source.command_buffers.clear();
        marks.source.command_buffers.extend(command_buffers);
        count(tracker, marks);
    }
    tracker.scratch = ranges;
    tracker.image_scratch = images;
    result
}

/// Whether submitting `command_buffers` now means the same as what `marks` were made from. Counts it then.
pub(crate) fn repeat(
    tracker: &mut Tracker,
    command_buffers: impl Iterator<Item = u64>,
    marks: &Marks,
) -> bool {
    let source = &marks.source;
    let same = source.generation == tracker.generation
        && command_buffers.eq(source.command_buffers.iter().copied());
    if same {
        count(tracker, marks);
    }
    same
}

/// Adds a submission to the figures.
fn count(tracker: &mut Tracker, marks: &Marks) {
    tracker.counters.add(&marks.counters);
    for (command, bytes) in &marks.tallies {
        tracker.marked_by[usize::from(*command)] += bytes;
    }
}

fn resolve(
    (tracker, buffers): (&Tracker, &dyn Buffers),
    command_buffers: impl Iterator<Item = u64> + Clone,
    (ranges, images): (&mut Vec<MemoryRange>, &mut Vec<ImageRange>),
    (counters, tallies): (&mut AuditCounters, &mut Vec<(u16, u64)>),
    parts: Option<&mut Vec<Part>>,
) -> Result<(), AuditError> {
    for id in command_buffers.clone() {
        if !tracker.command_buffers.contains_key(&id) {
            return Err(AuditError::UnknownObject {
                kind: "command buffer",
                id,
            });
        }
    }
    let mut resolver = Resolver {
        tracker,
        buffers,
        ranges,
        images,
        counters,
        command: crate::rules::COMMAND_NONE,
        tallies,
        parts,
        steps: STEPS_MAX,
    };
    let mut command_buffers = command_buffers;
    let followed = command_buffers
        .try_for_each(|id| resolver.command_buffer(id, 0))
        .and_then(|()| resolver.aliases());
    if followed.is_err() {
        counters.everything += 1;
        ranges.clear();
        let memories = tracker
            .memories
            .iter()
            .filter(|(_, memory)| memory.size > 0);
        ranges.extend(memories.map(|(id, memory)| MemoryRange {
            memory: *id,
            offset: 0,
            len: memory.size,
        }));
        images.clear();
        images.extend(tracker.images.iter().map(|(id, image)| ImageRange {
            image: *id,
            subresources: image.facts.clamp(Subresources::ALL),
        }));
    }
    Ok(())
}

impl<'a> Resolver<'a> {
    fn step(&mut self) -> Result<(), Everything> {
        self.steps = self.steps.checked_sub(1).ok_or(Everything)?;
        Ok(())
    }

    fn command_buffer(&mut self, id: u64, depth: u32) -> Result<(), Everything> {
        self.step()?;
        let tracker = self.tracker;
        let command_buffer = tracker.command_buffers.get(&id).ok_or(Everything)?;
        if command_buffer.writes_everything() || depth > SECONDARY_DEPTH_MAX {
            return Err(Everything);
        }
        for effect in command_buffer.effects() {
            self.step()?;
            match effect {
                Effect::Buffer {
                    command,
                    buffer,
                    offset,
                    len,
                } => {
                    self.command = *command;
                    self.counters.transfer_bytes += self.transfer(*buffer, *offset, *len)?;
                }
                Effect::Image { command, range } => {
                    self.command = *command;
                    self.image(*range)?;
                }
                Effect::Shader {
                    command,
                    writes,
                    sets,
                } => {
                    self.command = *command;
                    self.shader(command_buffer, writes, command_buffer.sets(*sets))?;
                }
                Effect::Secondary { command_buffer } => {
                    self.command_buffer(*command_buffer, depth + 1)?
                }
            }
        }
        Ok(())
    }

    /// A write to memory by the command whose effect is looked at; how many bytes that is.
    fn push(&mut self, memory: u64, offset: u64, end: u64) -> u64 {
        let Some(range) = self.add(memory, offset, end) else {
            return 0;
        };
        self.part(range.len, PartRange::Memory(range));
        range.len
    }

    /// Adds the part of a range that its memory object has, if any.
    fn add(&mut self, memory: u64, offset: u64, end: u64) -> Option<MemoryRange> {
        let size = self.tracker.memories.get(&memory)?.size;
        let end = end.min(size);
        if offset >= end {
            return None;
        }
        let range = MemoryRange {
            memory,
            offset,
            len: end - offset,
        };
        self.ranges.push(range);
        if self.ranges.len().is_multiple_of(RANGES_MERGE) {
            merge(self.ranges);
        }
        Some(range)
    }

    /// Counts `len` bytes for the command whose effect is looked at.
    fn part(&mut self, len: u64, range: PartRange) {
        match self.tallies.last_mut() {
            Some((command, bytes)) if *command == self.command => *bytes += len,
            _ => self.tallies.push((self.command, len)),
        }
        if let Some(parts) = &mut self.parts {
            parts.push(Part {
                command: self.command,
                range,
            });
        }
    }

    /// A write by a transfer, exact. A buffer that nobody knows, or that has no memory, means that the audit lost track.
    fn transfer(&mut self, buffer: u64, offset: u64, len: u64) -> Result<u64, Everything> {
        let buffer = self.buffers.buffer(buffer).ok_or(Everything)?;
        let (memory, base) = buffer.binding.ok_or(Everything)?;
        let end = match len {
            vk::WHOLE_SIZE => buffer.size,
            len => offset.saturating_add(len),
        };
        Ok(self.push(
            memory,
            base.saturating_add(offset),
            base.saturating_add(end),
        ))
    }

    /// A write to an image, which the audit must know and which must have memory.
    fn image(&mut self, range: ImageRange) -> Result<(), Everything> {
        let image = self.tracker.images.get(&range.image).ok_or(Everything)?;
        if image.bindings.is_empty() {
            return Err(Everything);
        }
        if self.images.last() != Some(&range) {
            self.images.push(range);
        }
        // The memory is pushed when all is known; it counts here, where the command is.
        for binding in &image.bindings {
            let memory = MemoryRange {
                memory: binding.memory,
                offset: binding.offset,
                len: binding.end - binding.offset,
            };
            self.part(memory.len, PartRange::Memory(memory));
        }
        self.part(0, PartRange::Image(range));
        if self.images.len().is_multiple_of(RANGES_MERGE) {
            self.images.sort_unstable();
            self.images.dedup();
        }
        Ok(())
    }

    /// What was written as one thing and is another as well: all of the images in written memory, and the memory of
    /// written images.
    fn aliases(&mut self) -> Result<(), Everything> {
        let tracker = self.tracker;
        if tracker.images.is_empty() {
            return Ok(());
        }
        merge(self.ranges);
        self.images.sort_unstable();
        self.images.dedup();
        let mut found = Vec::new();
        for range in self.ranges.iter() {
            let memory = tracker.memories.get(&range.memory).ok_or(Everything)?;
            let end = range.offset + range.len;
            if !memory
                .images
                .overlapping(range.offset, end, &mut self.steps, &mut found)
            {
                return Err(Everything);
            }
        }
        let mut last = None;
        for at in 0..self.images.len() {
            let id = self.images[at].image;
            if last.replace(id) == Some(id) {
                continue;
            }
            let image = tracker.images.get(&id).ok_or(Everything)?;
            for binding in &image.bindings {
                self.step()?;
                let marked = self.add(binding.memory, binding.offset, binding.end);
                self.counters.image_bytes += marked.map_or(0, |range| range.len);
                let Some(memory) = tracker.memories.get(&binding.memory) else {
                    continue;
                };
                let before = found.len();
                let (offset, end) = (binding.offset, binding.end);
                if !memory
                    .images
                    .overlapping(offset, end, &mut self.steps, &mut found)
                {
                    return Err(Everything);
                }
                // Its own subresources are exact already.
                if found.len() == before + 1 && found[before] == id {
                    found.pop();
                } else {
                    let mut others = found.split_off(before);
                    others.retain(|other| *other != id);
                    found.append(&mut others);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        for id in found {
            self.step()?;
            let image = tracker.images.get(&id).ok_or(Everything)?;
            self.images.push(ImageRange {
                image: id,
                subresources: image.facts.clamp(Subresources::ALL),
            });
        }
        Ok(())
    }

    fn shader(
        &mut self,
        command_buffer: &CommandBuffer,
        writes: &ShaderWrites,
        bound: &[BoundSet],
    ) -> Result<(), Everything> {
        if writes.addresses || writes.unknown {
            self.addresses()?;
        }
        if writes.unknown {
            for bound in bound {
                let Some((set, offsets)) = self.bound_set(command_buffer, bound)? else {
                    continue;
                };
                for (descriptors, dynamic) in set.all() {
                    self.descriptors(descriptors, dynamic, offsets)?;
                }
            }
            return Ok(());
        }
        for binding in &writes.bindings {
            self.step()?;
            let bound = bound.get(binding.set as usize).ok_or(Everything)?;
            let (set, offsets) = self.bound_set(command_buffer, bound)?.ok_or(Everything)?;
            let (descriptors, dynamic) = set.binding(binding.binding).ok_or(Everything)?;
            self.descriptors(descriptors, dynamic, offsets)?;
        }
        Ok(())
    }

    /// The set and its dynamic offsets; None where nothing is bound.
    fn bound_set<'b>(
        &self,
        command_buffer: &'b CommandBuffer,
        bound: &'b BoundSet,
    ) -> Result<Option<(&'b DescriptorSet, &'b [u32])>, Everything>
    where
        'a: 'b,
    {
        Ok(match bound {
            BoundSet::None => None,
            BoundSet::Set { id, dynamic } => {
                let set = self.tracker.sets.get(id).ok_or(Everything)?;
                Some((set, command_buffer.dynamic_offsets(*dynamic)))
            }
            BoundSet::Pushed(set) => Some((set, &[])),
        })
    }

    fn descriptors(
        &mut self,
        descriptors: &[Descriptor],
        dynamic: Option<u64>,
        offsets: &[u32],
    ) -> Result<(), Everything> {
        for (index, descriptor) in descriptors.iter().enumerate() {
            self.step()?;
            let marked = match *descriptor {
                Descriptor::Empty => 0,
                Descriptor::Buffer {
                    buffer,
                    offset,
                    range,
                } => {
                    let added = match dynamic {
                        None => 0,
                        Some(first) => {
                            let at = usize::try_from(first)
                                .ok()
                                .and_then(|at| at.checked_add(index));
                            let offset = at.and_then(|at| offsets.get(at)).ok_or(Everything)?;
                            u64::from(*offset)
                        }
                    };
                    self.described(buffer, offset.saturating_add(added), range)
                }
                Descriptor::TexelView { view } => match self.tracker.views.get(&view) {
                    Some(view) => self.described(view.buffer, view.offset, view.range),
                    None => 0,
                },
                Descriptor::Image { view } => {
                    // As with buffers: what is gone is not used.
                    let known = self.tracker.image_views.get(&view);
                    if let Some(range) = known
                        && let Some(image) = self.tracker.images.get(&range.image)
                        && !image.bindings.is_empty()
                    {
                        self.image(*range)?;
                    }
                    0
                }
            };
            self.counters.descriptor_bytes += marked;
        }
        Ok(())
    }

    /// A write through a descriptor, anywhere in its range. Descriptors of buffers that are gone may stay in a set as
    /// long as no shader uses them.
    fn described(&mut self, id: u64, offset: u64, range: u64) -> u64 {
        let Some(buffer) = self.buffers.buffer(id) else {
            return 0;
        };
        let Some((memory, base)) = buffer.binding else {
            return 0;
        };
        if self.robustness_is_memory() {
            return self.push(memory, 0, u64::MAX);
        }
        let end = match range {
            vk::WHOLE_SIZE => buffer.size,
            range => offset.saturating_add(range).min(buffer.size),
        };
        let end = base.saturating_add(end);
        let end = end.checked_next_multiple_of(STORAGE_ALIGNMENT);
        self.push(memory, base.saturating_add(offset), end.unwrap_or(u64::MAX))
    }

    fn robustness_is_memory(&self) -> bool {
        self.tracker.robustness == Robustness::MemoryObject
    }

    /// A write through device addresses: to any buffer that has one.
    fn addresses(&mut self) -> Result<(), Everything> {
        for id in &self.tracker.addressed {
            self.step()?;
            let Some(buffer) = self.buffers.buffer(*id) else {
                continue;
            };
            if let Some((memory, base)) = buffer.binding {
                let marked = self.push(memory, base, base.saturating_add(buffer.size));
                self.counters.address_bytes += marked;
            }
        }
        Ok(())
    }
}
