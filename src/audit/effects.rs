//! What a command buffer will write once it is submitted.
//!
//! Effects are kept as recorded: copies as buffer ranges, dispatches as the pipeline's written bindings with the sets bound
//! to them. Which memory that is gets decided at submit, since descriptors may be updated after they were bound.

use std::sync::Arc;

use ash::vk;

use crate::descriptors::DescriptorSet;
use crate::images::ImageRange;
use crate::spirv::{BindingRef, EntryPointWrites};

/// Most effects, or dynamic offsets, of one command buffer; beyond it the command buffer counts as writing anything.
pub const EFFECTS_MAX: usize = 1 << 20;
/// Most descriptor sets of a pipeline layout, and so the first set number that cannot be bound.
pub const BOUND_SETS_MAX: u32 = 256;

/// How many of the last dispatches are compared with, so that loops over a few pipelines stay short.
const RECENT: usize = 8;

/// What the stages of a pipeline may write through descriptors and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShaderWrites {
    /// In order, each once.
    pub bindings: Vec<BindingRef>,
    pub addresses: bool,
    pub unknown: bool,
}

impl ShaderWrites {
    /// Adds what another stage writes.
    pub fn add(&mut self, stage: &EntryPointWrites) {
        self.bindings.extend_from_slice(&stage.bindings);
        self.bindings.sort_unstable();
        self.bindings.dedup();
        self.addresses |= stage.addresses;
        self.unknown |= stage.unknown;
    }

    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && !self.addresses && !self.unknown
    }
}

/// A descriptor set as bound.
#[derive(Clone, Debug, Default)]
pub(crate) enum BoundSet {
    #[default]
    None,
    Set {
        id: u64,
        /// Where its dynamic offsets start in the command buffer's list, and how many it has.
        dynamic: (u32, u32),
    },
    Pushed(Arc<DescriptorSet>),
}

/// One thing a command buffer writes. `command` is the number of the command that recorded it first.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// `len` bytes of a buffer (`VK_WHOLE_SIZE`: to its end), written exactly.
    Buffer {
        command: u16,
        buffer: u64,
        offset: u64,
        len: u64,
    },
    /// Subresources of an image.
    Image { command: u16, range: ImageRange },
    /// A dispatch or draw, with the sets that were bound then (`sets`: start and count in the list of the command buffer).
    Shader {
        command: u16,
        writes: Arc<ShaderWrites>,
        sets: (u32, u32),
    },
    /// All that a secondary command buffer writes.
    Secondary { command_buffer: u64 },
}

#[derive(Debug, Default)]
struct BindPoint {
    pipeline: Option<Arc<ShaderWrites>>,
    sets: Vec<BoundSet>,
    /// Something was bound since the last dispatch.
    changed: bool,
}

/// A command buffer's effects and the state of its recording.
#[derive(Debug, Default)]
pub(crate) struct CommandBuffer {
    pub pool: u64,
    effects: Vec<Effect>,
    /// Sets of the shader effects, end to end.
    sets: Vec<BoundSet>,
    dynamic_offsets: Vec<u32>,
    points: [BindPoint; 3],
    /// Writes anything: there was too much to keep, or something that could not be followed.
    everything: bool,
}

impl CommandBuffer {
    pub fn new(pool: u64) -> Self {
        Self {
            pool,
            ..Self::default()
        }
    }

    /// Forgets the recording and keeps the room.
    pub fn reset(&mut self) {
        self.effects.clear();
        self.sets.clear();
        self.dynamic_offsets.clear();
        for point in &mut self.points {
            point.pipeline = None;
            point.sets.clear();
            point.changed = false;
        }
        self.everything = false;
    }

    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    pub fn writes_everything(&self) -> bool {
        self.everything
    }

    pub fn sets(&self, (start, count): (u32, u32)) -> &[BoundSet] {
        self.sets
            .get(start as usize..(start + count) as usize)
            .unwrap_or(&[])
    }

    pub fn dynamic_offsets(&self, (start, count): (u32, u32)) -> &[u32] {
        self.dynamic_offsets
            .get(start as usize..(start + count) as usize)
            .unwrap_or(&[])
    }

    pub fn set_everything(&mut self) {
        self.reset();
        self.everything = true;
    }

    fn push(&mut self, effect: Effect) {
        if self.everything {
            return;
        }
        if self.effects.len() >= EFFECTS_MAX {
            self.set_everything();
            return;
        }
        self.effects.push(effect);
    }

    /// A write of `len` bytes at `offset` of a buffer. One that goes on where the last one of the same command ended is joined
    /// with it.
    pub fn write_buffer(&mut self, command: u16, buffer: u64, offset: u64, len: u64) {
        if len == 0 {
            return;
        }
        if let Some(Effect::Buffer {
            command: last_command,
            buffer: last_buffer,
            offset: last_offset,
            len: last_len,
        }) = self.effects.last_mut()
            && *last_command == command
            && *last_buffer == buffer
            && *last_len != vk::WHOLE_SIZE
            && len != vk::WHOLE_SIZE
        {
            let last_end = last_offset.saturating_add(*last_len);
            let end = offset.saturating_add(len);
            if *last_offset <= offset && offset <= last_end {
                // One byte short of u64::MAX at most, so that the sum never reads as VK_WHOLE_SIZE.
                *last_len = (last_end.max(end) - *last_offset).min(vk::WHOLE_SIZE - 1);
                return;
            }
        }
        self.push(Effect::Buffer {
            command,
            buffer,
            offset,
            len,
        });
    }

    /// A write to subresources of an image.
    pub fn write_image(&mut self, command: u16, range: ImageRange) {
        let empty = range.subresources.mips == 0 || range.subresources.layers == 0;
        let recent = self.effects.iter().rev().take(RECENT);
        let known = recent
            .into_iter()
            .any(|effect| matches!(effect, Effect::Image { range: old, .. } if *old == range));
        if !empty && !known {
            self.push(Effect::Image { command, range });
        }
    }

    pub fn execute_secondary(&mut self, command_buffer: u64) {
        self.push(Effect::Secondary { command_buffer });
    }

    fn point(&mut self, bind_point: vk::PipelineBindPoint) -> Option<&mut BindPoint> {
        let index = match bind_point {
            vk::PipelineBindPoint::COMPUTE => 0,
            vk::PipelineBindPoint::GRAPHICS => 1,
            vk::PipelineBindPoint::RAY_TRACING_KHR => 2,
            _ => return None,
        };
        self.points.get_mut(index)
    }

    pub fn bind_pipeline(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        writes: Option<Arc<ShaderWrites>>,
    ) {
        let Some(point) = self.point(bind_point) else {
            self.set_everything();
            return;
        };
        let same = match (&point.pipeline, &writes) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            _ => false,
        };
        if !same {
            point.pipeline = writes;
            point.changed = true;
        }
    }

    /// Keeps `offsets` for one set to be bound.
    pub fn keep_dynamic_offsets(&mut self, offsets: &[u32]) -> (u32, u32) {
        if self.everything || offsets.is_empty() {
            return (0, 0);
        }
        if self.dynamic_offsets.len() + offsets.len() > EFFECTS_MAX {
            self.set_everything();
            return (0, 0);
        }
        let start = self.dynamic_offsets.len() as u32;
        self.dynamic_offsets.extend_from_slice(offsets);
        (start, offsets.len() as u32)
    }

    pub fn bind_set(&mut self, bind_point: vk::PipelineBindPoint, number: u32, set: BoundSet) {
        if self.everything {
            return;
        }
        let Some(point) = self.point(bind_point).filter(|_| number < BOUND_SETS_MAX) else {
            self.set_everything();
            return;
        };
        if point.sets.len() <= number as usize {
            point.sets.resize(number as usize + 1, BoundSet::None);
        }
        let same = match (&point.sets[number as usize], &set) {
            (
                BoundSet::Set {
                    id: old,
                    dynamic: (_, 0),
                },
                BoundSet::Set {
                    id,
                    dynamic: (_, 0),
                },
            ) => old == id,
            _ => false,
        };
        if !same {
            point.sets[number as usize] = set;
            point.changed = true;
        }
    }

    /// The pushed set at `number`, to be written to.
    pub fn pushed_set(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        number: u32,
    ) -> Option<&mut Arc<DescriptorSet>> {
        let point = self.point(bind_point)?;
        point.changed = true;
        match point.sets.get_mut(number as usize)? {
            BoundSet::Pushed(set) => Some(set),
            _ => None,
        }
    }

    /// A dispatch or draw with what is bound now.
    pub fn run_shaders(&mut self, command: u16, bind_point: vk::PipelineBindPoint) {
        if self.everything {
            return;
        }
        let Some(point) = self.point(bind_point) else {
            self.set_everything();
            return;
        };
        if !std::mem::take(&mut point.changed) {
            return;
        }
        let Some(writes) = point.pipeline.clone() else {
            self.set_everything();
            return;
        };
        if writes.is_empty() {
            return;
        }
        let needed = match (writes.unknown, writes.bindings.last()) {
            (true, _) => point.sets.len(),
            // The bindings are in order, so that the last one has the highest set number.
            (false, Some(last)) => (last.set as usize).saturating_add(1).min(point.sets.len()),
            (false, None) => 0,
        };
        let bound: Vec<BoundSet> = point.sets[..needed].to_vec();
        if self.has_recent(&writes, &bound) {
            return;
        }
        let start = self.sets.len();
        if start + bound.len() > EFFECTS_MAX {
            self.set_everything();
            return;
        }
        let sets = (start as u32, bound.len() as u32);
        self.sets.extend(bound);
        self.push(Effect::Shader {
            command,
            writes,
            sets,
        });
    }

    fn has_recent(&self, writes: &Arc<ShaderWrites>, bound: &[BoundSet]) -> bool {
        self.effects.iter().rev().take(RECENT).any(|effect| {
            let Effect::Shader {
                writes: old, sets, ..
            } = effect
            else {
                return false;
            };
            let old_bound = self.sets(*sets);
            Arc::ptr_eq(old, writes)
                && old_bound.len() == bound.len()
                && old_bound
                    .iter()
                    .zip(bound)
                    .all(|(old, new)| self.same_set(old, new))
        })
    }

    fn same_set(&self, old: &BoundSet, new: &BoundSet) -> bool {
        match (old, new) {
            (BoundSet::None, BoundSet::None) => true,
            (
                BoundSet::Set {
                    id: a,
                    dynamic: old,
                },
                BoundSet::Set {
                    id: b,
                    dynamic: new,
                },
            ) => a == b && self.dynamic_offsets(*old) == self.dynamic_offsets(*new),
            (BoundSet::Pushed(old), BoundSet::Pushed(new)) => Arc::ptr_eq(old, new),
            _ => false,
        }
    }
}
