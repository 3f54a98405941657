//! The audit's state: what exists, what is bound to what, and what each command buffer writes.
//!
//! Fed by guest ids from decoded commands; knows nothing of the host's handles. One tracker serves one context, behind the
//! context's lock; the dirty maps it hands out need no lock.
//!
//! Images and what renders to them are in [`crate::images`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Weak};

use ash::vk;
use xxhash_rust::xxh3::Xxh3;

use crate::buffers::{Buffer, Buffers};
use crate::descriptors::{Descriptor, DescriptorSet, LayoutBinding, SetLayout};
use crate::dirty::{CHUNK_SIZE, DirtyMap};
use crate::effects::{BoundSet, CommandBuffer, EFFECTS_MAX, ShaderWrites};
use crate::error::AuditError;
use crate::ids::{IdMap, IdSet};
use crate::images::{BoundImages, Image, ImageRange, RenderPassWrites};
use crate::marks::{Marks, MemoryRange};
use crate::rules;
use crate::spirv::{self, ModuleWrites};

/// Most objects of one kind.
pub const OBJECTS_MAX: usize = 1 << 20;
/// Largest memory object, 1 TiB.
pub const MEMORY_SIZE_MAX: u64 = 1 << 40;

/// How far a shader's write through a buffer descriptor can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Robustness {
    /// robustBufferAccess2 is on: no further than the descriptor's range.
    Descriptor,
    /// It is not: anywhere in the memory object that the buffer is bound to.
    MemoryObject,
}

#[derive(Debug)]
pub(crate) struct Memory {
    pub size: u64,
    /// None: host-visible.
    pub map: Option<Arc<DirtyMap>>,
    pub images: BoundImages,
}

#[derive(Debug)]
pub(crate) struct BufferView {
    pub buffer: u64,
    pub offset: u64,
    pub range: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueryPool {
    /// Values of one query, without the availability.
    values: u64,
}

/// Figures of the audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditCounters {
    /// Calls of `resolve_submit`.
    pub submissions: u64,
    /// Bytes of ranges by transfers.
    pub transfer_bytes: u64,
    /// Bytes of ranges by shaders through descriptors.
    pub descriptor_bytes: u64,
    /// Bytes of ranges by shaders through device addresses.
    pub address_bytes: u64,
    /// Bytes of memory that written images are bound to, each image once a submission.
    pub image_bytes: u64,
    /// Submissions that had to count as writing everything.
    pub everything: u64,
    /// Modules analyzed, those found in the cache not included.
    pub modules_analyzed: u64,
}

impl AuditCounters {
    /// Adds what `other` counted.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            submissions,
            transfer_bytes,
            descriptor_bytes,
            address_bytes,
            image_bytes,
            everything,
            modules_analyzed,
        } = other;
        self.submissions += submissions;
        self.transfer_bytes += transfer_bytes;
        self.descriptor_bytes += descriptor_bytes;
        self.address_bytes += address_bytes;
        self.image_bytes += image_bytes;
        self.everything += everything;
        self.modules_analyzed += modules_analyzed;
    }
}

/// See the module's description.
#[derive(Debug)]
pub struct Tracker {
    pub(crate) robustness: Robustness,
    device_local_types: u32,
    pub(crate) memories: IdMap<Memory>,
    pub(crate) views: IdMap<BufferView>,
    /// Buffers that have a device address and memory behind it.
    pub(crate) addressed: IdSet,
    pub(crate) images: IdMap<Image>,
    pub(crate) image_views: IdMap<ImageRange>,
    pub(crate) render_passes: IdMap<RenderPassWrites>,
    /// Attachments by number; none of imageless ones.
    pub(crate) framebuffers: IdMap<Vec<ImageRange>>,
    set_layouts: IdMap<Arc<SetLayout>>,
    pipeline_layouts: IdMap<Vec<Option<Arc<SetLayout>>>>,
    pub(crate) sets: IdMap<DescriptorSet>,
    set_pools: IdMap<u64>,
    descriptor_pools: IdMap<IdSet>,
    modules: IdMap<Arc<ModuleWrites>>,
    /// By the code's hash; entries without a user are dropped now and then.
    module_cache: HashMap<u128, Weak<ModuleWrites>>,
    pipelines: IdMap<Arc<ShaderWrites>>,
    query_pools: IdMap<QueryPool>,
    command_pools: IdMap<IdSet>,
    pub(crate) command_buffers: IdMap<CommandBuffer>,
    pub(crate) scratch: Vec<MemoryRange>,
    pub(crate) image_scratch: Vec<ImageRange>,
    copied: Vec<Descriptor>,
    /// Grows with everything that may change what a submission writes.
    pub(crate) generation: u64,
    /// Number of the command that is followed now.
    pub(crate) command: u16,
    /// Bytes marked, by number of the command.
    pub(crate) marked_by: Vec<u64>,
    pub(crate) counters: AuditCounters,
}

pub(crate) fn insert<T>(
    table: &mut IdMap<T>,
    kind: &'static str,
    id: u64,
    value: T,
) -> Result<(), AuditError> {
    if table.len() >= OBJECTS_MAX {
        return Err(AuditError::TooMany {
            what: "objects of one kind",
            limit: OBJECTS_MAX as u64,
        });
    }
    match table.entry(id) {
        Entry::Occupied(_) => Err(AuditError::DuplicateObject { kind, id }),
        Entry::Vacant(place) => {
            place.insert(value);
            Ok(())
        }
    }
}

pub(crate) fn unknown(kind: &'static str, id: u64) -> AuditError {
    AuditError::UnknownObject { kind, id }
}

impl Tracker {
    /// An empty tracker. Bit n of `device_local_types` says that the guest's memory type n is device-local and never
    /// mapped by the guest; all others count as host-visible.
    pub fn new(robustness: Robustness, device_local_types: u32) -> Self {
        Self {
            robustness,
            device_local_types,
            memories: IdMap::default(),
            views: IdMap::default(),
            addressed: IdSet::default(),
            images: IdMap::default(),
            image_views: IdMap::default(),
            render_passes: IdMap::default(),
            framebuffers: IdMap::default(),
            set_layouts: IdMap::default(),
            pipeline_layouts: IdMap::default(),
            sets: IdMap::default(),
            set_pools: IdMap::default(),
            descriptor_pools: IdMap::default(),
            modules: IdMap::default(),
            module_cache: HashMap::new(),
            pipelines: IdMap::default(),
            query_pools: IdMap::default(),
            command_pools: IdMap::default(),
            command_buffers: IdMap::default(),
            scratch: Vec::new(),
            image_scratch: Vec::new(),
            copied: Vec::new(),
            generation: 1,
            command: rules::COMMAND_NONE,
            marked_by: vec![0; rules::COMMANDS],
            counters: AuditCounters::default(),
        }
    }

    /// Something changes that a submission's writes may depend on. The rules say so themselves; whoever calls a method of
    /// the tracker that changes something, without a rule, says it, so that [`Self::repeats`] knows.
    pub fn changed(&mut self) {
        self.generation += 1;
    }

    /// The figures so far.
    pub fn counters(&self) -> AuditCounters {
        self.counters
    }

    /// Bytes that submissions marked for each command (by its name in vk.xml) that marked some. Each effect counts by
    /// itself, and a write to an image with all the memory that the image is bound to.
    pub fn marked_bytes(&self) -> impl Iterator<Item = (String, u64)> + '_ {
        let marked = self.marked_by.iter().enumerate();
        marked
            .filter(|(_, bytes)| **bytes > 0)
            .map(|(number, bytes)| (rules::command_name(number as u16), *bytes))
    }

    // Memory and buffers.

    pub(crate) fn is_device_local(&self, memory_type: u32) -> bool {
        memory_type < u32::BITS && self.device_local_types >> memory_type & 1 == 1
    }

    /// Memory of `size` bytes came to be. Device-local memory gets a dirty map, a clean one: new memory is zeroed.
    pub fn memory_created(
        &mut self,
        id: u64,
        size: u64,
        device_local: bool,
    ) -> Result<(), AuditError> {
        if size > MEMORY_SIZE_MAX {
            return Err(AuditError::TooMany {
                what: "bytes in a memory object",
                limit: MEMORY_SIZE_MAX,
            });
        }
        let map = device_local.then(|| Arc::new(DirtyMap::new(size)));
        let memory = Memory {
            size,
            map,
            images: BoundImages::default(),
        };
        insert(&mut self.memories, "memory", id, memory)
    }

    pub fn memory_freed(&mut self, id: u64) {
        self.memories.remove(&id);
    }

    /// The dirty map of device-local memory `id`.
    pub fn dirty_map(&self, id: u64) -> Option<Arc<DirtyMap>> {
        self.memories.get(&id)?.map.clone()
    }

    /// Every device-local memory object with its dirty map.
    pub fn device_memories(&self) -> impl Iterator<Item = (u64, &Arc<DirtyMap>)> {
        self.memories
            .iter()
            .filter_map(|(id, memory)| Some((*id, memory.map.as_ref()?)))
    }

    /// `buffer`, whose id is `id`, is about to be bound to `memory` at `offset`.
    ///
    /// # Errors
    /// No such memory, or the buffer would lie outside of it: it must not be bound.
    pub fn buffer_binding(
        &mut self,
        (id, buffer): (u64, Buffer),
        memory: u64,
        offset: u64,
    ) -> Result<(), AuditError> {
        let target = self.memories.get(&memory);
        let target = target.ok_or(unknown("memory", memory))?;
        match offset.checked_add(buffer.size) {
            Some(end) if end <= target.size => {}
            _ => {
                return Err(AuditError::BindOutOfRange {
                    buffer: id,
                    memory,
                    offset,
                });
            }
        }
        // From here on an address may lead to memory.
        if buffer.addressed {
            self.addressed.insert(id);
        }
        Ok(())
    }

    pub fn buffer_destroyed(&mut self, id: u64) {
        // Few programs use addresses, but all destroy buffers.
        if !self.addressed.is_empty() {
            self.addressed.remove(&id);
        }
    }

    /// A texel view of `range` bytes (`VK_WHOLE_SIZE`: to the end) of a buffer.
    pub fn buffer_view_created(
        &mut self,
        id: u64,
        buffer: u64,
        offset: u64,
        range: u64,
    ) -> Result<(), AuditError> {
        let view = BufferView {
            buffer,
            offset,
            range,
        };
        insert(&mut self.views, "buffer view", id, view)
    }

    pub fn buffer_view_destroyed(&mut self, id: u64) {
        self.views.remove(&id);
    }

    // Descriptors.

    pub fn set_layout_created(
        &mut self,
        id: u64,
        bindings: Vec<LayoutBinding>,
    ) -> Result<(), AuditError> {
        let layout = Arc::new(SetLayout::new(bindings)?);
        insert(&mut self.set_layouts, "descriptor set layout", id, layout)
    }

    /// Sets that have the layout keep it.
    pub fn set_layout_destroyed(&mut self, id: u64) {
        self.set_layouts.remove(&id);
    }

    /// `set_layouts` by set number; id 0 stands for a set number that nothing uses.
    pub fn pipeline_layout_created(
        &mut self,
        id: u64,
        set_layouts: &[u64],
    ) -> Result<(), AuditError> {
        let mut layouts = Vec::with_capacity(set_layouts.len());
        for layout in set_layouts {
            layouts.push(match layout {
                0 => None,
                id => Some(self.set_layout(*id)?),
            });
        }
        insert(&mut self.pipeline_layouts, "pipeline layout", id, layouts)
    }

    pub fn pipeline_layout_destroyed(&mut self, id: u64) {
        self.pipeline_layouts.remove(&id);
    }

    fn set_layout(&self, id: u64) -> Result<Arc<SetLayout>, AuditError> {
        let layout = self.set_layouts.get(&id);
        layout.cloned().ok_or(unknown("descriptor set layout", id))
    }

    pub fn descriptor_pool_created(&mut self, id: u64) -> Result<(), AuditError> {
        insert(
            &mut self.descriptor_pools,
            "descriptor pool",
            id,
            IdSet::default(),
        )
    }

    /// Every set of the pool is gone.
    pub fn descriptor_pool_reset(&mut self, id: u64) {
        if let Some(sets) = self.descriptor_pools.get_mut(&id) {
            for set in sets.drain() {
                self.sets.remove(&set);
                self.set_pools.remove(&set);
            }
        }
    }

    pub fn descriptor_pool_destroyed(&mut self, id: u64) {
        self.descriptor_pool_reset(id);
        self.descriptor_pools.remove(&id);
    }

    /// A set came to be; `variable_count` where its layout's last binding has a variable count.
    pub fn set_allocated(
        &mut self,
        id: u64,
        pool: u64,
        layout: u64,
        variable_count: Option<u32>,
    ) -> Result<(), AuditError> {
        let set = DescriptorSet::new(self.set_layout(layout)?, variable_count)?;
        let sets = self
            .descriptor_pools
            .get_mut(&pool)
            .ok_or(unknown("descriptor pool", pool))?;
        insert(&mut self.sets, "descriptor set", id, set)?;
        sets.insert(id);
        self.set_pools.insert(id, pool);
        Ok(())
    }

    pub fn set_freed(&mut self, id: u64) {
        self.sets.remove(&id);
        if let Some(pool) = self.set_pools.remove(&id)
            && let Some(sets) = self.descriptor_pools.get_mut(&pool)
        {
            sets.remove(&id);
        }
    }

    /// Descriptors were written at (`binding`, `element`) and on.
    pub fn descriptors_written(
        &mut self,
        set: u64,
        binding: u32,
        element: u32,
        descriptors: impl IntoIterator<Item = Descriptor>,
    ) -> Result<(), AuditError> {
        let target = self
            .sets
            .get_mut(&set)
            .ok_or(unknown("descriptor set", set))?;
        target.write(set, binding, element, descriptors)
    }

    /// `count` descriptors were copied from `from` to `to`, each a (set, binding, element).
    pub fn descriptors_copied(
        &mut self,
        from: (u64, u32, u32),
        to: (u64, u32, u32),
        count: u32,
    ) -> Result<(), AuditError> {
        let source = self
            .sets
            .get(&from.0)
            .ok_or(unknown("descriptor set", from.0))?;
        self.copied.clear();
        source.read(from.0, from.1, from.2, count, &mut self.copied)?;
        let target = self
            .sets
            .get_mut(&to.0)
            .ok_or(unknown("descriptor set", to.0))?;
        target.write(to.0, to.1, to.2, self.copied.drain(..))
    }

    // Shaders and pipelines.

    /// Analyzes a module's code, or finds the same code analyzed already.
    ///
    /// # Errors
    /// The code is no SPIR-V that can be followed: the module must not be created.
    pub fn analyze_code(&mut self, code: &[u32]) -> Result<Arc<ModuleWrites>, AuditError> {
        let mut hasher = Xxh3::new();
        for part in code.chunks(1024) {
            let mut bytes = [0u8; 4096];
            for (to, word) in bytes.chunks_exact_mut(4).zip(part) {
                to.copy_from_slice(&word.to_le_bytes());
            }
            hasher.update(&bytes[..part.len() * 4]);
        }
        let hash = hasher.digest128();
        if let Some(writes) = self.module_cache.get(&hash).and_then(Weak::upgrade) {
            return Ok(writes);
        }
        let writes = Arc::new(spirv::analyze(code)?);
        self.counters.modules_analyzed += 1;
        if self.module_cache.len() >= 1024 {
            self.module_cache
                .retain(|_, writes| writes.strong_count() > 0);
        }
        self.module_cache.insert(hash, Arc::downgrade(&writes));
        Ok(writes)
    }

    /// A shader module of `code` came to be. Call it before the driver sees the code.
    pub fn module_created(&mut self, id: u64, code: &[u32]) -> Result<(), AuditError> {
        let writes = self.analyze_code(code)?;
        insert(&mut self.modules, "shader module", id, writes)
    }

    /// Pipelines made from the module keep what it writes.
    pub fn module_destroyed(&mut self, id: u64) {
        self.modules.remove(&id);
    }

    /// What module `id` writes.
    pub fn module(&self, id: u64) -> Result<Arc<ModuleWrites>, AuditError> {
        let module = self.modules.get(&id);
        module.cloned().ok_or(unknown("shader module", id))
    }

    /// A pipeline came to be from `stages`: modules with an entry point's name and execution model each.
    pub fn pipeline_created(
        &mut self,
        id: u64,
        stages: &[(Arc<ModuleWrites>, &str, u32)],
    ) -> Result<(), AuditError> {
        let mut writes = ShaderWrites::default();
        for (module, name, execution_model) in stages {
            let stage = module.entry_point(name, *execution_model);
            writes.add(&stage.ok_or_else(|| AuditError::EntryPointMissing {
                name: (*name).into(),
                execution_model: *execution_model,
            })?);
        }
        insert(&mut self.pipelines, "pipeline", id, Arc::new(writes))
    }

    pub fn pipeline_destroyed(&mut self, id: u64) {
        self.pipelines.remove(&id);
    }

    // Queries.

    /// A query pool whose queries yield `values` values each, the availability not counted.
    pub fn query_pool_created(&mut self, id: u64, values: u32) -> Result<(), AuditError> {
        let pool = QueryPool {
            values: u64::from(values),
        };
        insert(&mut self.query_pools, "query pool", id, pool)
    }

    pub fn query_pool_destroyed(&mut self, id: u64) {
        self.query_pools.remove(&id);
    }

    // Command buffers.

    pub fn command_pool_created(&mut self, id: u64) -> Result<(), AuditError> {
        insert(
            &mut self.command_pools,
            "command pool",
            id,
            IdSet::default(),
        )
    }

    /// Every command buffer of the pool went back to the initial state.
    pub fn command_pool_reset(&mut self, id: u64) {
        for command_buffer in self.command_pools.get(&id).into_iter().flatten() {
            if let Some(command_buffer) = self.command_buffers.get_mut(command_buffer) {
                command_buffer.reset();
            }
        }
    }

    pub fn command_pool_destroyed(&mut self, id: u64) {
        for command_buffer in self.command_pools.remove(&id).into_iter().flatten() {
            self.command_buffers.remove(&command_buffer);
        }
    }

    pub fn command_buffer_allocated(&mut self, id: u64, pool: u64) -> Result<(), AuditError> {
        let members = self
            .command_pools
            .get_mut(&pool)
            .ok_or(unknown("command pool", pool))?;
        insert(
            &mut self.command_buffers,
            "command buffer",
            id,
            CommandBuffer::new(pool),
        )?;
        members.insert(id);
        Ok(())
    }

    pub fn command_buffer_freed(&mut self, id: u64) {
        if let Some(command_buffer) = self.command_buffers.remove(&id)
            && let Some(members) = self.command_pools.get_mut(&command_buffer.pool)
        {
            members.remove(&id);
        }
    }

    /// The command buffer began to record, or was reset: nothing is recorded in it.
    pub fn command_buffer_reset(&mut self, id: u64) -> Result<(), AuditError> {
        self.recording(id)?.reset();
        Ok(())
    }

    pub(crate) fn recording(&mut self, id: u64) -> Result<&mut CommandBuffer, AuditError> {
        let command_buffer = self.command_buffers.get_mut(&id);
        command_buffer.ok_or(unknown("command buffer", id))
    }

    /// Recorded: `len` bytes at `offset` of a buffer are written (`VK_WHOLE_SIZE`: to the buffer's end).
    pub fn record_buffer_write(
        &mut self,
        command_buffer: u64,
        buffer: u64,
        offset: u64,
        len: u64,
    ) -> Result<(), AuditError> {
        let command = self.command;
        let recording = self.recording(command_buffer)?;
        recording.write_buffer(command, buffer, offset, len);
        Ok(())
    }

    /// Recorded: results of `count` queries go to a buffer.
    pub fn record_query_results(
        &mut self,
        command_buffer: u64,
        query_pool: u64,
        count: u32,
        (buffer, offset, stride): (u64, u64, u64),
        flags: vk::QueryResultFlags,
    ) -> Result<(), AuditError> {
        let pool = self.query_pools.get(&query_pool);
        let values = pool.ok_or(unknown("query pool", query_pool))?.values;
        let extra = flags.intersects(
            vk::QueryResultFlags::WITH_AVAILABILITY | vk::QueryResultFlags::WITH_STATUS_KHR,
        );
        let value_size = if flags.contains(vk::QueryResultFlags::TYPE_64) {
            8
        } else {
            4
        };
        let size = (values + u64::from(extra)) * value_size;
        let command = self.command;
        let recording = self.recording(command_buffer)?;
        if count == 0 {
            return Ok(());
        }
        let last = u64::from(count - 1);
        if stride <= CHUNK_SIZE {
            // Each chunk in between holds a result, so that one range is as exact as many.
            let len = stride.saturating_mul(last).saturating_add(size);
            recording.write_buffer(command, buffer, offset, len);
        } else if last >= EFFECTS_MAX as u64 {
            recording.set_everything();
        } else {
            for query in 0..=last {
                let at = offset.saturating_add(stride.saturating_mul(query));
                recording.write_buffer(command, buffer, at, size);
            }
        }
        Ok(())
    }

    /// Recorded: `pipeline` is bound.
    pub fn record_bind_pipeline(
        &mut self,
        command_buffer: u64,
        bind_point: vk::PipelineBindPoint,
        pipeline: u64,
    ) -> Result<(), AuditError> {
        let writes = self.pipelines.get(&pipeline).cloned();
        let writes = writes.ok_or(unknown("pipeline", pipeline))?;
        self.recording(command_buffer)?
            .bind_pipeline(bind_point, Some(writes));
        Ok(())
    }

    /// Recorded: `set` is bound at `number`. `dynamic_offsets` are those of this set, in the order of its bindings, and
    /// those of others behind. Returns how many it took.
    pub fn record_bind_set(
        &mut self,
        command_buffer: u64,
        bind_point: vk::PipelineBindPoint,
        number: u32,
        set: u64,
        dynamic_offsets: &[u32],
    ) -> Result<usize, AuditError> {
        let recording = self.command_buffers.get_mut(&command_buffer);
        let recording = recording.ok_or(unknown("command buffer", command_buffer))?;
        if set == 0 {
            recording.bind_set(bind_point, number, BoundSet::None);
            return Ok(0);
        }
        let layout = self
            .sets
            .get(&set)
            .ok_or(unknown("descriptor set", set))?
            .layout();
        let count = usize::try_from(layout.dynamic_count()).unwrap_or(usize::MAX);
        let offsets = dynamic_offsets
            .get(..count)
            .ok_or(AuditError::BadArguments {
                command: "vkCmdBindDescriptorSets",
            })?;
        let dynamic = recording.keep_dynamic_offsets(offsets);
        recording.bind_set(bind_point, number, BoundSet::Set { id: set, dynamic });
        Ok(count)
    }

    /// Recorded: descriptors are pushed at (`binding`, `element`) of set number `number` in `layout`.
    pub fn record_push_descriptors(
        &mut self,
        command_buffer: u64,
        bind_point: vk::PipelineBindPoint,
        (layout, number): (u64, u32),
        (binding, element): (u32, u32),
        descriptors: impl IntoIterator<Item = Descriptor>,
    ) -> Result<(), AuditError> {
        let layouts = self.pipeline_layouts.get(&layout);
        let layouts = layouts.ok_or(unknown("pipeline layout", layout))?;
        let Some(Some(set_layout)) = layouts.get(number as usize).cloned() else {
            return Err(AuditError::BadArguments {
                command: "vkCmdPushDescriptorSet",
            });
        };
        let recording = self.recording(command_buffer)?;
        if recording.writes_everything() {
            return Ok(());
        }
        let fits = recording
            .pushed_set(bind_point, number)
            .is_some_and(|set| *set.layout() == *set_layout);
        if !fits {
            let set = Arc::new(DescriptorSet::new(set_layout, None)?);
            recording.bind_set(bind_point, number, BoundSet::Pushed(set));
        }
        match recording.pushed_set(bind_point, number) {
            // What a dispatch recorded before keeps its own copy.
            Some(set) => Arc::make_mut(set).write(0, binding, element, descriptors),
            None => Ok(()),
        }
    }

    /// Recorded: a dispatch, or a draw, with what is bound now.
    pub fn record_shaders(
        &mut self,
        command_buffer: u64,
        bind_point: vk::PipelineBindPoint,
    ) -> Result<(), AuditError> {
        let command = self.command;
        self.recording(command_buffer)?
            .run_shaders(command, bind_point);
        Ok(())
    }

    /// Recorded: a secondary command buffer runs.
    pub fn record_secondary(
        &mut self,
        command_buffer: u64,
        secondary: u64,
    ) -> Result<(), AuditError> {
        if !self.command_buffers.contains_key(&secondary) {
            return Err(unknown("command buffer", secondary));
        }
        self.recording(command_buffer)?.execute_secondary(secondary);
        Ok(())
    }

    /// Recorded: something whose writes are not known.
    pub fn record_everything(&mut self, command_buffer: u64) -> Result<(), AuditError> {
        self.recording(command_buffer)?.set_everything();
        Ok(())
    }

    /// Adds to `marks` what the command buffers may write when they run now, to `buffers` among others. The caller marks
    /// before it submits and again when the submission has retired.
    ///
    /// # Errors
    /// A command buffer that does not exist.
    pub fn resolve_submit(
        &mut self,
        buffers: &dyn Buffers,
        command_buffers: impl IntoIterator<Item = u64, IntoIter: Clone>,
        marks: &mut Marks,
    ) -> Result<(), AuditError> {
        crate::resolve::submit(self, buffers, command_buffers.into_iter(), marks)
    }

    /// Whether submitting `command_buffers` now may write what `marks` say, because nothing changed since they were made
    /// from the same ones: counted as a submission then, and there is nothing to resolve.
    pub fn repeats(
        &mut self,
        command_buffers: impl IntoIterator<Item = u64>,
        marks: &Marks,
    ) -> bool {
        crate::resolve::repeat(self, command_buffers.into_iter(), marks)
    }
}
