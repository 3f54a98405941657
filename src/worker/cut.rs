//! The cut: everything that a context holds goes into the image.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ash::vk::{self, Handle};
use hesper_image::{
    ChunkTable, Extent, ImageArea, ImageError, JournalPosition, JournalWriter, SealedExtent,
    encode_message, encode_record,
};
use serde::{Deserialize, Serialize};

use crate::channel::{Area, CutError, CutReport, Warning};
use crate::context::{Context, Kind, Slot};
use crate::error::WorkerError;
use crate::port::Port;
use crate::streams::{Streams, StreamsRecord};
use crate::submit::Held;
use crate::table::CreationSeq;

/// Kind and version of the state record.
pub(crate) const STATE_KIND: u32 = u32::from_le_bytes(*b"CTXT");
pub(crate) const STATE_VERSION: u32 = 4;
/// Largest state record, bytes.
pub(crate) const STATE_LEN_MAX: u64 = 256 << 20;
/// Kind of a journal record that holds a change of the object table.
pub(crate) const CHANGE_KIND: u32 = 1;
/// A journal shorter than this is never rewritten, bytes.
const REWRITE_MIN: u64 = 1 << 20;

/// Memory in the state record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryRecord {
    pub id: u64,
    /// Host-visible: the arena range, in place.
    pub window: Option<Extent>,
    /// Device-local: the shadow, unless the memory is all zeros.
    pub shadow: Option<(Extent, ChunkTable)>,
}

/// A queue in the state record. Numbers count from what had retired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueRecord {
    pub id: u64,
    pub held: Vec<Held>,
    pub fences: Vec<(u64, u64)>,
}

/// A descriptor set's slots by (binding, element), in the order in which they were written.
pub(crate) type Slots = Vec<((u32, u32), Slot)>;

/// The state record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContextState {
    pub journal: JournalPosition,
    pub next_seq: CreationSeq,
    /// Objects that creations made and the guest destroyed, while others still need the creation.
    pub dead: Vec<(CreationSeq, u64)>,
    /// Objects that never came to be, which the guest may not know: type, id, what the creation was answered.
    pub failed: Vec<(i32, u64, i32)>,
    pub resources: Vec<(u32, Extent)>,
    pub streams: StreamsRecord,
    pub queues: Vec<QueueRecord>,
    pub memories: Vec<MemoryRecord>,
    /// Buffer, memory, offset.
    pub binds: Vec<(u64, u64, u64)>,
    pub sets: Vec<(u64, Slots)>,
    /// Command buffers with their recordings.
    pub recordings: Vec<(u64, Vec<u8>)>,
    pub signalled_fences: Vec<u64>,
    pub timelines: Vec<(u64, u64)>,
    pub signalled_semaphores: Vec<u64>,
    /// Binary semaphores with the signalled payloads that the guest lent them.
    pub imports: Vec<(u64, u32)>,
    pub set_events: Vec<u64>,
    pub image: ImageExtents,
}

/// Ranges of the image that are not reachable from the journal's position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageExtents {
    /// The two places of state records: one is current, the other is next.
    pub state: [Option<Extent>; 2],
    pub turn: usize,
    /// Extents of a journal that was rewritten, free once the next superblock is there.
    pub old_journal: Vec<Extent>,
    pub next_journal_id: u64,
}

/// What a context has in the image.
pub(crate) struct Image {
    pub journal: JournalWriter,
    pub extents: ImageExtents,
    /// Records of creations that went away since.
    pub dropped: u64,
}

fn allocate(port: &mut Port, len: u64) -> Option<u64> {
    match port.allocate(Area::Image, len) {
        Ok(extent) => extent.map(|extent| extent.offset),
        Err(error) => {
            port.warn(Warning::ImageExtent, &error);
            None
        }
    }
}

impl Context {
    /// Gate and cut. On an error nothing is lost: what was dirty is dirty still.
    pub(crate) fn cut(
        &mut self,
        streams: &Streams,
        deadline: Duration,
    ) -> Result<CutReport, CutError> {
        let started = Instant::now();
        let failed = |error: WorkerError| CutError::Failed(error.to_string());
        if let Some(reason) = &self.not_migratable {
            return Err(CutError::NotMigratable(reason.clone()));
        }
        let Some(area) = self.arena.as_ref().map(|arena| arena.area.clone()) else {
            return Err(CutError::NotMigratable("there is no arena".into()));
        };
        if !self.finish(deadline).map_err(failed)? {
            return Err(CutError::Hung(started.elapsed()));
        }
        self.settle_fences().map_err(failed)?;
        let gate = started.elapsed();
        let before = self.drain.figures();
        if let Err(error) = self.drain.drain_all(&mut self.port, &self.tracker) {
            // A step may have broken off between taking chunks and storing them.
            for (_, map) in self.tracker.device_memories() {
                map.mark_all();
            }
            return Err(failed(error));
        }
        let drained = self.drain.figures();
        let state = self.write_state(&area, streams).map_err(failed)?;
        Ok(CutReport {
            state,
            gate,
            cut: started.elapsed().saturating_sub(gate),
            drained_bytes: drained.copied_bytes - before.copied_bytes,
            pages_moved: drained.pages_moved - before.pages_moved,
        })
    }

    fn write_state(
        &mut self,
        area: &ImageArea,
        streams: &Streams,
    ) -> Result<SealedExtent, WorkerError> {
        let journal = self.write_journal(area)?;
        let state = self.collect(journal, streams)?;
        let bytes = encode_record(STATE_KIND, STATE_VERSION, &state)?;
        let len = bytes.len() as u64;
        let image = self.image_mut()?;
        let turn = image.extents.turn;
        let place = match image.extents.state[turn] {
            Some(extent) if extent.len >= len => extent,
            small => {
                if let Some(small) = small {
                    image.extents.state[turn] = None;
                    self.port.free(Area::Image, small)?;
                }
                // Room to grow, so that the next ones fit as well. The place is part of what the
                // record says, so the record is made again below.
                let wanted = (len + 4096).next_multiple_of(hesper_image::EXTENT_ALIGN);
                let extent = self
                    .port
                    .allocate(Area::Image, wanted)?
                    .ok_or(ImageError::Full { wanted })?;
                self.image_mut()?.extents.state[turn] = Some(extent);
                extent
            }
        };
        let image = self.image_mut()?;
        image.extents.turn = 1 - turn;
        let extents = image.extents.clone();
        let bytes = encode_record(
            STATE_KIND,
            STATE_VERSION,
            &ContextState {
                image: extents,
                ..state
            },
        )?;
        if bytes.len() as u64 > place.len {
            return Err(ImageError::Full {
                wanted: bytes.len() as u64,
            }
            .into());
        }
        Ok(SealedExtent::write(area, place.offset, &bytes)?)
    }

    fn image_mut(&mut self) -> Result<&mut Image, WorkerError> {
        self.image
            .as_mut()
            .ok_or_else(|| WorkerError::Restore("there is no journal".into()))
    }

    /// Brings the journal up to date, and rewrites it when most of it speaks of the dead.
    fn write_journal(&mut self, area: &ImageArea) -> Result<JournalPosition, WorkerError> {
        if let Some(image) = &mut self.image {
            for extent in std::mem::take(&mut image.extents.old_journal) {
                self.port.free(Area::Image, extent)?;
            }
        }
        let rewrite = self.image.as_ref().is_some_and(|image| {
            let position = image.journal.position();
            position.bytes > REWRITE_MIN && image.dropped * 2 > position.records
        });
        let mut extents = match (&self.image, rewrite) {
            (None, _) => Some(ImageExtents::default()),
            (Some(image), true) => {
                let mut extents = image.extents.clone();
                extents.old_journal = image.journal.extents().to_vec();
                Some(extents)
            }
            (Some(_), false) => None,
        };
        let port = &mut self.port;
        if let Some(extents) = &mut extents {
            extents.next_journal_id += 1;
            let id = u64::from(self.config.ctx_id) << 32 | extents.next_journal_id;
            let journal = JournalWriter::new(area, id, &mut |len| allocate(port, len))?;
            self.image = Some(Image {
                journal,
                extents: std::mem::take(extents),
                dropped: 0,
            });
            self.objects.journal_again();
        }
        let Some(image) = &mut self.image else {
            return Err(WorkerError::Restore("there is no journal".into()));
        };
        self.objects.take_changes(|change| {
            let bytes = encode_message(change)?;
            image
                .journal
                .append(CHANGE_KIND, &bytes, &mut |len| allocate(port, len))?;
            if matches!(change, crate::table::Change::Dropped(_)) {
                image.dropped += 1;
            }
            Ok::<(), WorkerError>(())
        })?;
        Ok(image.journal.position())
    }

    fn collect(
        &mut self,
        journal: JournalPosition,
        streams: &Streams,
    ) -> Result<ContextState, WorkerError> {
        let mut state = ContextState {
            journal,
            next_seq: self.objects.next_seq(),
            dead: self.objects.dead_outputs(),
            failed: self.objects.all_failed().collect(),
            resources: self
                .resources
                .iter()
                .filter_map(|(id, resource)| Some((*id, resource.extent?)))
                .collect(),
            streams: streams.record(),
            queues: Vec::new(),
            memories: Vec::new(),
            binds: Vec::new(),
            sets: Vec::new(),
            recordings: Vec::new(),
            signalled_fences: Vec::new(),
            timelines: Vec::new(),
            signalled_semaphores: Vec::new(),
            imports: Vec::new(),
            set_events: Vec::new(),
            image: self
                .image
                .as_ref()
                .map(|image| image.extents.clone())
                .unwrap_or_default(),
        };
        for (id, object) in self.objects.iter() {
            match &object.data.kind {
                Kind::Memory(memory) => state.memories.push(MemoryRecord {
                    id,
                    window: memory.extent,
                    shadow: self
                        .drain
                        .shadow(id)
                        .map(|(extent, table)| (extent, table.clone())),
                }),
                Kind::Buffer(buffer) => {
                    if let Some((memory, offset)) = buffer.facts.binding {
                        state.binds.push((id, memory, offset));
                    }
                }
                Kind::DescriptorSet(set) if !set.slots.is_empty() => {
                    let mut slots: Vec<_> = set.slots.iter().map(|(k, v)| (*k, *v)).collect();
                    slots.sort_unstable_by_key(|(_, slot)| slot.order);
                    state.sets.push((id, slots));
                }
                Kind::CommandBuffer(command_buffer) if !command_buffer.recorded.is_empty() => {
                    state.recordings.push((id, command_buffer.recorded.clone()));
                }
                Kind::Queue(index) => {
                    let queue = &self.queues[*index];
                    let base = queue.retired();
                    state.queues.push(QueueRecord {
                        id,
                        held: queue
                            .held
                            .iter()
                            .map(|held| Held {
                                number: held.number - base,
                                bytes: held.bytes.clone(),
                            })
                            .collect(),
                        fences: queue
                            .fences
                            .iter()
                            .map(|(after, fence)| (after - base, *fence))
                            .collect(),
                    });
                }
                Kind::Semaphore(semaphore) if semaphore.timeline => {
                    let raw = self.dev(object.data.device)?.host.raw();
                    let handle = vk::Semaphore::from_raw(object.handle);
                    // SAFETY: semaphore and device live.
                    let value = unsafe { raw.get_semaphore_counter_value(handle) }
                        .map_err(|result| vulkan("vkGetSemaphoreCounterValue", result))?;
                    state.timelines.push((id, value));
                }
                Kind::Semaphore(semaphore) => {
                    if semaphore.imports != 0 {
                        state.imports.push((id, semaphore.imports));
                    }
                    if semaphore.pending != 0 {
                        state.signalled_semaphores.push(id);
                    }
                }
                _ if object.ty == vk::ObjectType::FENCE => {
                    let raw = self.dev(object.data.device)?.host.raw();
                    let handle = vk::Fence::from_raw(object.handle);
                    // SAFETY: fence and device live.
                    let signalled = unsafe { raw.get_fence_status(handle) }
                        .map_err(|result| vulkan("vkGetFenceStatus", result))?;
                    if signalled {
                        state.signalled_fences.push(id);
                    }
                }
                _ if object.ty == vk::ObjectType::EVENT => {
                    let raw = self.dev(object.data.device)?.host.raw();
                    let handle = vk::Event::from_raw(object.handle);
                    // SAFETY: event and device live.
                    let set = unsafe { raw.get_event_status(handle) }
                        .map_err(|result| vulkan("vkGetEventStatus", result))?;
                    if set {
                        state.set_events.push(id);
                    }
                }
                _ => {}
            }
        }
        Ok(state)
    }

    /// Gives up what the context has in the image: nothing needs it. What the shadows held is
    /// dirty again.
    pub(crate) fn drop_image(&mut self) -> Result<(), WorkerError> {
        let maps: HashMap<u64, std::sync::Arc<hesper_audit::dirty::DirtyMap>> = self
            .tracker
            .device_memories()
            .map(|(id, map)| (id, std::sync::Arc::clone(map)))
            .collect();
        for extent in self.drain.drop_shadows(&maps)? {
            self.port.free(Area::Image, extent)?;
        }
        if let Some(image) = self.image.take() {
            let extents = image.extents;
            for extent in image
                .journal
                .extents()
                .iter()
                .chain(&extents.old_journal)
                .chain(extents.state.iter().flatten())
            {
                self.port.free(Area::Image, *extent)?;
            }
            self.objects.journal_again();
        }
        Ok(())
    }
}

pub(crate) fn vulkan(call: &'static str, result: vk::Result) -> WorkerError {
    hesper_gpu::GpuError::Vulkan { call, result }.into()
}
