//! Re-creating a context from the image.
//!
//! Objects come back by executing the very commands that made them, in the order in which they
//! first ran; content comes from the shadows. Everything read is checked before it is used: an
//! image is hostile input.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_audit::descriptors::Descriptor;
use hesper_image::{Extent, ImageArea, JournalReader, SealedExtent, decode_message, decode_record};
use hesper_venus::{Command, decode};

use crate::channel::Warning;
use crate::context::{Context, Kind, Slot, SlotContent};
use crate::cut::{
    CHANGE_KIND, ContextState, Image, QueueRecord, STATE_KIND, STATE_LEN_MAX, STATE_VERSION, vulkan,
};
use crate::error::WorkerError;
use crate::exec::Step;
use crate::streams::Streams;
use crate::table::{Change, Creation, CreationSeq};

/// Where things go while a context is restored.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// Arena range of each host-visible memory.
    windows: HashMap<u64, Extent>,
    /// Objects that are made only because others need them.
    dead: HashSet<(CreationSeq, u64)>,
}

impl Placement {
    pub(crate) fn extent(&self, memory: u64) -> Option<Extent> {
        self.windows.get(&memory).copied()
    }
}

fn restore_error(reason: impl Into<String>) -> WorkerError {
    WorkerError::Restore(reason.into())
}

/// Re-creates the context that `sealed` describes. Nothing runs yet.
pub(crate) fn restore(context: &mut Context, sealed: SealedExtent) -> Result<Streams, WorkerError> {
    let area = context
        .arena
        .as_ref()
        .map(|arena| arena.area.clone())
        .ok_or_else(|| restore_error("there is no arena"))?;
    if !context.objects.is_empty() {
        return Err(restore_error("the context is in use"));
    }
    let bytes = sealed.read(&area, "Context state", STATE_LEN_MAX)?;
    let state: ContextState = decode_record(STATE_KIND, STATE_VERSION, &bytes, STATE_LEN_MAX)?;
    for (res_id, extent) in &state.resources {
        context.attach(*res_id, Some(*extent), extent.len, None)?;
    }
    let reader = JournalReader::open(&area, &state.journal)?;
    let creations = fold(&area, &state)?;
    context.restoring = Some(Placement {
        windows: state
            .memories
            .iter()
            .filter_map(|memory| Some((memory.id, memory.window?)))
            .collect(),
        dead: state.dead.iter().copied().collect(),
    });
    for (seq, creation) in &creations {
        replay(context, *seq, creation)?;
    }
    bind(context, &state.binds)?;
    for memory in &state.memories {
        if let Some((extent, table)) = &memory.shadow {
            context
                .drain
                .restore_memory(memory.id, *extent, table.clone())?;
        }
    }
    for (set, slots) in &state.sets {
        write_set(context, *set, slots)?;
    }
    record_all(context, &state.recordings);
    payloads(context, &state)?;
    for queue in &state.queues {
        requeue(context, queue)?;
    }
    let dead: Vec<u64> = state.dead.iter().map(|(_, id)| *id).collect();
    for id in dead {
        context.drop_kept(id);
    }
    context.restoring = None;
    // Replayed creations may have failed in part, as they did before.
    context.objects.forget_all_failed();
    for (ty, id, result) in &state.failed {
        let (ty, result) = (vk::ObjectType::from_raw(*ty), vk::Result::from_raw(*result));
        context.objects.add_failed(ty, *id, result)?;
    }
    context.objects.resume_after_restore(state.next_seq);
    context.image = Some(Image {
        journal: reader.into_writer(),
        extents: state.image,
        dropped: 0,
    });
    Streams::restore(context, state.streams)
}

/// The creations that the journal leaves.
fn fold(
    area: &ImageArea,
    state: &ContextState,
) -> Result<BTreeMap<CreationSeq, Creation>, WorkerError> {
    let mut creations = BTreeMap::new();
    for record in JournalReader::open(area, &state.journal)? {
        let record = record?;
        if record.kind != CHANGE_KIND {
            return Err(restore_error(format!(
                "journal record of kind {}",
                record.kind
            )));
        }
        match decode_message(&record.payload)? {
            Change::Created(seq, creation) => {
                creations.insert(seq, creation);
            }
            Change::Dropped(seq) => {
                creations.remove(&seq);
            }
        }
    }
    Ok(creations)
}

fn replay(context: &mut Context, seq: CreationSeq, creation: &Creation) -> Result<(), WorkerError> {
    context.objects.set_next_seq(seq);
    let bump = Bump::new();
    let mut decoded = decode(&creation.bytes, &bump, &context.limits)?;
    if decoded.len != creation.bytes.len() {
        return Err(restore_error(format!("creation {seq} has bytes behind it")));
    }
    let command = decoded.command_type();
    let step = context.execute(&mut decoded, &creation.bytes, Instant::now())?;
    if step != Step::Done {
        return Err(restore_error(format!("creation {seq} ({command}) waits")));
    }
    for (ty, id) in &creation.outputs {
        let ty = vk::ObjectType::from_raw(*ty);
        match context.objects.get(ty, *id) {
            Ok(object) if object.creation == seq => {}
            _ => {
                return Err(restore_error(format!(
                    "creation {seq} ({command}) made no {ty:?} {id:#x}"
                )));
            }
        }
    }
    Ok(())
}

fn bind(context: &mut Context, binds: &[(u64, u64, u64)]) -> Result<(), WorkerError> {
    for (buffer, memory, offset) in binds {
        // The memory may be gone: then so is what the buffer held.
        let Ok(target) = context.objects.get(vk::ObjectType::DEVICE_MEMORY, *memory) else {
            continue;
        };
        let target = vk::DeviceMemory::from_raw(target.handle);
        context.tracker.changed();
        let object = context.objects.get_mut(vk::ObjectType::BUFFER, *buffer)?;
        if let Kind::Buffer(data) = &mut object.data.kind {
            let facts = (*buffer, data.facts);
            context.tracker.buffer_binding(facts, *memory, *offset)?;
            data.facts.binding = Some((*memory, *offset));
        }
        let (handle, device) = (vk::Buffer::from_raw(object.handle), object.data.device);
        let info = [vk::BindBufferMemoryInfo::default()
            .buffer(handle)
            .memory(target)
            .memory_offset(*offset)];
        // SAFETY: buffer, memory and device live.
        unsafe { context.dev(device)?.host.raw().bind_buffer_memory2(&info) }
            .map_err(|result| vulkan("vkBindBufferMemory2", result))?;
    }
    Ok(())
}

/// Writes a set's descriptors as they were; those that name something gone stay empty.
fn write_set(
    context: &mut Context,
    id: u64,
    slots: &[((u32, u32), Slot)],
) -> Result<(), WorkerError> {
    let object = context.objects.get(vk::ObjectType::DESCRIPTOR_SET, id)?;
    let (set, device) = (
        vk::DescriptorSet::from_raw(object.handle),
        object.data.device,
    );
    let raw = context.dev(device)?.host.raw().clone();
    for ((binding, element), slot) in slots {
        let lookup = |ty, id: u64| match id {
            0 => Some(0),
            id => context.objects.get(ty, id).ok().map(|object| object.handle),
        };
        let is_unbound = |buffer| {
            let object = context.objects.get(vk::ObjectType::BUFFER, buffer);
            object.is_ok_and(|object| object.data.is_unbound())
        };
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(*binding)
            .dst_array_element(*element)
            .descriptor_type(vk::DescriptorType::from_raw(slot.ty));
        let descriptor = match slot.content {
            SlotContent::Buffer {
                buffer,
                offset,
                range,
            } => {
                let Some(handle) = lookup(vk::ObjectType::BUFFER, buffer) else {
                    continue;
                };
                if is_unbound(buffer) {
                    continue;
                }
                let info = [vk::DescriptorBufferInfo {
                    buffer: vk::Buffer::from_raw(handle),
                    offset,
                    range,
                }];
                // SAFETY: set, buffer and device live.
                unsafe { raw.update_descriptor_sets(&[write.buffer_info(&info)], &[]) };
                Descriptor::Buffer {
                    buffer,
                    offset,
                    range,
                }
            }
            SlotContent::Texel { view } => {
                let Some(handle) = lookup(vk::ObjectType::BUFFER_VIEW, view) else {
                    continue;
                };
                let views = [vk::BufferView::from_raw(handle)];
                // SAFETY: set, view and device live.
                unsafe { raw.update_descriptor_sets(&[write.texel_buffer_view(&views)], &[]) };
                Descriptor::TexelView { view }
            }
            SlotContent::Image {
                sampler,
                view,
                layout,
            } => {
                let (Some(sampler), Some(handle)) = (
                    lookup(vk::ObjectType::SAMPLER, sampler),
                    lookup(vk::ObjectType::IMAGE_VIEW, view),
                ) else {
                    continue;
                };
                let info = [vk::DescriptorImageInfo {
                    sampler: vk::Sampler::from_raw(sampler),
                    image_view: vk::ImageView::from_raw(handle),
                    image_layout: vk::ImageLayout::from_raw(layout),
                }];
                // SAFETY: set, sampler, view and device live.
                unsafe { raw.update_descriptor_sets(&[write.image_info(&info)], &[]) };
                Descriptor::Image { view }
            }
        };
        context
            .tracker
            .descriptors_written(id, *binding, *element, [descriptor])?;
        if let Kind::DescriptorSet(set) = &mut context
            .objects
            .get_mut(vk::ObjectType::DESCRIPTOR_SET, id)?
            .data
            .kind
        {
            set.order = set.order.max(slot.order + 1);
            set.slots.insert((*binding, *element), *slot);
        }
    }
    Ok(())
}

/// Records command buffers again, those that execute others last. One that names something gone
/// is invalid to the guest, too: it stays empty.
fn record_all(context: &mut Context, recordings: &[(u64, Vec<u8>)]) {
    let mut primaries = Vec::new();
    for (id, bytes) in recordings {
        if executes_others(context, bytes) {
            primaries.push((*id, bytes));
        } else if let Err(error) = record(context, bytes) {
            tracing::debug!(id, %error, "Recording left out");
        }
    }
    for (id, bytes) in primaries {
        if let Err(error) = record(context, bytes) {
            tracing::debug!(id, %error, "Recording left out");
        }
    }
}

fn executes_others(context: &Context, bytes: &[u8]) -> bool {
    let mut at = 0;
    while at < bytes.len() {
        let bump = Bump::new();
        match decode(&bytes[at..], &bump, &context.limits) {
            Ok(decoded) if matches!(decoded.command, Command::VkCmdExecuteCommands(_)) => {
                return true;
            }
            Ok(decoded) if decoded.len > 0 => at += decoded.len,
            _ => return false,
        }
    }
    false
}

fn record(context: &mut Context, bytes: &[u8]) -> Result<(), WorkerError> {
    let mut at = 0;
    while at < bytes.len() {
        let bump = Bump::new();
        let mut decoded = decode(&bytes[at..], &bump, &context.limits)?;
        let len = decoded.len;
        let recorded = matches!(
            decoded.command,
            Command::VkBeginCommandBuffer(_) | Command::VkEndCommandBuffer(_)
        ) || decoded.command_type().is_recorded();
        if !recorded || len == 0 {
            return Err(restore_error("a recording holds another command"));
        }
        context.execute(&mut decoded, &bytes[at..at + len], Instant::now())?;
        at += len;
    }
    Ok(())
}

/// Signals what was signalled.
fn payloads(context: &mut Context, state: &ContextState) -> Result<(), WorkerError> {
    for id in &state.signalled_fences {
        let (handle, device) = handle_of(context, vk::ObjectType::FENCE, *id)?;
        let dev = context.dev(device)?;
        // SAFETY: fence and device live; the queue is used by this thread only.
        unsafe {
            dev.host
                .raw()
                .queue_submit(dev.queue, &[], vk::Fence::from_raw(handle))
        }
        .map_err(|result| vulkan("vkQueueSubmit", result))?;
    }
    for (id, value) in &state.timelines {
        let (handle, device) = handle_of(context, vk::ObjectType::SEMAPHORE, *id)?;
        let semaphore = vk::Semaphore::from_raw(handle);
        let raw = context.dev(device)?.host.raw();
        // SAFETY: semaphore and device live; a timeline may only grow.
        unsafe {
            let now = raw
                .get_semaphore_counter_value(semaphore)
                .map_err(|result| vulkan("vkGetSemaphoreCounterValue", result))?;
            if *value > now {
                let info = vk::SemaphoreSignalInfo::default()
                    .semaphore(semaphore)
                    .value(*value);
                raw.signal_semaphore(&info)
                    .map_err(|result| vulkan("vkSignalSemaphore", result))?;
            }
        }
        set_pending(context, *id, *value)?;
    }
    for id in &state.signalled_semaphores {
        let (handle, device) = handle_of(context, vk::ObjectType::SEMAPHORE, *id)?;
        let semaphores = [vk::Semaphore::from_raw(handle)];
        let submit = [vk::SubmitInfo::default().signal_semaphores(&semaphores)];
        let dev = context.dev(device)?;
        // SAFETY: semaphore and device live; the queue is used by this thread only.
        unsafe {
            dev.host
                .raw()
                .queue_submit(dev.queue, &submit, vk::Fence::null())
        }
        .map_err(|result| vulkan("vkQueueSubmit", result))?;
        set_pending(context, *id, 1)?;
    }
    for (id, imports) in &state.imports {
        if let Kind::Semaphore(semaphore) = &mut context
            .objects
            .get_mut(vk::ObjectType::SEMAPHORE, *id)?
            .data
            .kind
        {
            semaphore.imports = *imports;
        }
    }
    for id in &state.set_events {
        let (handle, device) = handle_of(context, vk::ObjectType::EVENT, *id)?;
        // SAFETY: event and device live.
        unsafe {
            context
                .dev(device)?
                .host
                .raw()
                .set_event(vk::Event::from_raw(handle))
        }
        .map_err(|result| vulkan("vkSetEvent", result))?;
    }
    for dev in context.devices.values() {
        // SAFETY: the device lives; nothing else submits.
        unsafe { dev.host.raw().device_wait_idle() }
            .map_err(|result| vulkan("vkDeviceWaitIdle", result))?;
    }
    Ok(())
}

fn handle_of(context: &Context, ty: vk::ObjectType, id: u64) -> Result<(u64, u64), WorkerError> {
    let object = context.objects.get(ty, id)?;
    Ok((object.handle, object.data.device))
}

fn set_pending(context: &mut Context, id: u64, value: u64) -> Result<(), WorkerError> {
    if let Kind::Semaphore(semaphore) = &mut context
        .objects
        .get_mut(vk::ObjectType::SEMAPHORE, id)?
        .data
        .kind
    {
        semaphore.pending = semaphore.pending.max(value);
    }
    Ok(())
}

fn requeue(context: &mut Context, record: &QueueRecord) -> Result<(), WorkerError> {
    let Kind::Queue(index) = context
        .objects
        .get(vk::ObjectType::QUEUE, record.id)?
        .data
        .kind
    else {
        return Err(restore_error("a queue has no data"));
    };
    let queue = &mut context.queues[index];
    queue.arrived = record.held.len() as u64;
    queue.held = record.held.iter().cloned().collect();
    queue.fences = record.fences.iter().copied().collect();
    Ok(())
}

impl Context {
    /// Destroys an object that was re-created only because others needed it.
    pub(crate) fn drop_kept(&mut self, id: u64) {
        let Some(placement) = &self.restoring else {
            return;
        };
        let found = self
            .objects
            .iter()
            .find(|(other, object)| *other == id && placement.dead.contains(&(object.creation, id)))
            .map(|(_, object)| (object.ty, object.handle, object.data.device));
        let Some((ty, handle, device)) = found else {
            return;
        };
        crate::exec_physical::forget_in_tracker(&mut self.tracker, ty, id);
        if ty == vk::ObjectType::DEVICE_MEMORY {
            if let Err(error) = self.drop_memory(id) {
                self.port.warn(Warning::KeptMemory, &error);
            }
            return;
        }
        if let Ok(dev) = self.dev(device) {
            destroy(dev.host.raw(), ty, handle);
        }
        if let Err(error) = self.objects.remove(ty, id) {
            self.port.warn(Warning::KeptObject, &error);
        }
    }
}

fn destroy(raw: &ash::Device, ty: vk::ObjectType, handle: u64) {
    // SAFETY: the object lives and nothing runs; parents that others need may go once those are
    // made.
    unsafe {
        match ty {
            vk::ObjectType::SHADER_MODULE => {
                raw.destroy_shader_module(vk::ShaderModule::from_raw(handle), None);
            }
            vk::ObjectType::PIPELINE_LAYOUT => {
                raw.destroy_pipeline_layout(vk::PipelineLayout::from_raw(handle), None);
            }
            vk::ObjectType::DESCRIPTOR_SET_LAYOUT => {
                raw.destroy_descriptor_set_layout(vk::DescriptorSetLayout::from_raw(handle), None);
            }
            vk::ObjectType::PIPELINE => raw.destroy_pipeline(vk::Pipeline::from_raw(handle), None),
            vk::ObjectType::PIPELINE_CACHE => {
                raw.destroy_pipeline_cache(vk::PipelineCache::from_raw(handle), None);
            }
            vk::ObjectType::BUFFER => raw.destroy_buffer(vk::Buffer::from_raw(handle), None),
            vk::ObjectType::BUFFER_VIEW => {
                raw.destroy_buffer_view(vk::BufferView::from_raw(handle), None);
            }
            vk::ObjectType::RENDER_PASS => {
                raw.destroy_render_pass(vk::RenderPass::from_raw(handle), None);
            }
            vk::ObjectType::SAMPLER => raw.destroy_sampler(vk::Sampler::from_raw(handle), None),
            // Rare as a destroyed parent: it goes with the device.
            other => tracing::debug!(?other, "Kept until the device goes"),
        }
    }
}
