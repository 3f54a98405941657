//! Descriptor sets and command buffers: objects that live in pools.

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_venus::{Args, Command, Decoded, Encoder, args};

use crate::context::{CommandBuffer, Context, DescriptorSet, Entry, Kind, Slot, SlotContent};
use crate::error::{WorkerError, argument};
use crate::raw;

/// Bytes that one command buffer's recording may have.
const RECORDING_LEN_MAX: usize = 64 << 20;

impl Context {
    pub(crate) fn allocate_sets(
        &mut self,
        decoded: &mut Decoded<'_>,
        _bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let outputs: Vec<u64> = decoded.output_ids().map(|(_, id)| id).collect();
        for id in &outputs {
            self.make_room(*id)?;
        }
        let Command::VkAllocateDescriptorSets(args) = &decoded.command else {
            return Err(argument("vkAllocateDescriptorSets", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let (device, pool, layouts, counts) = unsafe {
            let info = raw::get(args.p_allocate_info)
                .ok_or_else(|| argument("vkAllocateDescriptorSets", "no allocate info"))?;
            let counts = raw::find::<vk::DescriptorSetVariableDescriptorCountAllocateInfo<'_>>(
                info.p_next,
                vk::StructureType::DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
            )
            .map_or(&[][..], |counts| {
                raw::slice(counts.p_descriptor_counts, counts.descriptor_set_count)
            });
            let layouts = raw::slice(info.p_set_layouts, info.descriptor_set_count);
            let layouts: Vec<u64> = layouts.iter().map(|layout| layout.as_raw()).collect();
            (
                args.device.as_raw(),
                info.descriptor_pool.as_raw(),
                layouts,
                counts.to_vec(),
            )
        };
        let Some(handles) = self.call_for_outputs(decoded)? else {
            return Ok(());
        };
        for (at, id) in outputs.iter().enumerate() {
            let (Some(layout), Some(handle)) = (layouts.get(at), handles.get(at)) else {
                return Err(argument(
                    "vkAllocateDescriptorSets",
                    "fewer layouts than sets",
                ));
            };
            let single = single_set(device, pool, *layout, counts.get(at).copied(), *id)?;
            let creation = self
                .objects
                .begin_creation(&single, [device, pool, *layout]);
            let data = Entry {
                device,
                kind: Kind::DescriptorSet(DescriptorSet {
                    pool,
                    ..Default::default()
                }),
            };
            self.objects
                .add(creation, vk::ObjectType::DESCRIPTOR_SET, *id, *handle, data)?;
        }
        Ok(())
    }

    /// Calls a device function and returns what it put in the output places; `None` when it
    /// failed. The ids are back afterwards.
    fn call_for_outputs(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<Option<Vec<u64>>, WorkerError> {
        let device = self.target(decoded)?;
        self.map(decoded)?;
        decoded.clear_outputs();
        // SAFETY: handles were looked up by type and live; the device is theirs.
        let called =
            unsafe { hesper_venus::call_device(&self.dev(device)?.fns, &mut decoded.command) };
        let handles: Vec<u64> = decoded.output_values().map(|(_, handle)| handle).collect();
        Self::unmap(decoded);
        called?;
        Ok(handles.iter().all(|handle| *handle != 0).then_some(handles))
    }

    pub(crate) fn free_sets(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let Command::VkFreeDescriptorSets(args) = &decoded.command else {
            return Err(argument("vkFreeDescriptorSets", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let sets: Vec<u64> =
            unsafe { raw::slice(args.p_descriptor_sets, args.descriptor_set_count) }
                .iter()
                .map(|set| set.as_raw())
                .filter(|id| *id != 0)
                .collect();
        self.plain(decoded)?;
        for id in sets {
            self.objects.remove(vk::ObjectType::DESCRIPTOR_SET, id)?;
        }
        Ok(())
    }

    pub(crate) fn reset_descriptor_pool(
        &mut self,
        decoded: &mut Decoded<'_>,
        pool: u64,
    ) -> Result<(), WorkerError> {
        self.plain(decoded)?;
        self.forget_sets(pool)?;
        Ok(())
    }

    /// Takes the sets of a pool out of the table.
    pub(crate) fn forget_sets(&mut self, pool: u64) -> Result<(), WorkerError> {
        let sets: Vec<u64> = self
            .objects
            .iter()
            .filter(|(_, o)| matches!(&o.data.kind, Kind::DescriptorSet(set) if set.pool == pool))
            .map(|(id, _)| id)
            .collect();
        for id in sets {
            self.objects.remove(vk::ObjectType::DESCRIPTOR_SET, id)?;
        }
        Ok(())
    }

    pub(crate) fn update_sets(&mut self, decoded: &mut Decoded<'_>) -> Result<(), WorkerError> {
        let Command::VkUpdateDescriptorSets(args) = &decoded.command else {
            return Err(argument("vkUpdateDescriptorSets", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let (writes, copies) = unsafe {
            (
                raw::slice(args.p_descriptor_writes, args.descriptor_write_count),
                raw::slice(args.p_descriptor_copies, args.descriptor_copy_count),
            )
        };
        for write in writes {
            let set = self.set_mut(write.dst_set.as_raw())?;
            for index in 0..write.descriptor_count {
                let Some(content) = written(write, index) else {
                    continue;
                };
                let order = set.order;
                set.order += 1;
                let key = (
                    write.dst_binding,
                    write.dst_array_element.saturating_add(index),
                );
                set.slots.insert(
                    key,
                    Slot {
                        ty: write.descriptor_type.as_raw(),
                        content,
                        order,
                    },
                );
            }
        }
        for copy in copies {
            for index in 0..copy.descriptor_count {
                let from = (
                    copy.src_binding,
                    copy.src_array_element.saturating_add(index),
                );
                let to = (
                    copy.dst_binding,
                    copy.dst_array_element.saturating_add(index),
                );
                let slot = self
                    .set_mut(copy.src_set.as_raw())?
                    .slots
                    .get(&from)
                    .copied();
                let set = self.set_mut(copy.dst_set.as_raw())?;
                if let Some(mut slot) = slot {
                    slot.order = set.order;
                    set.order += 1;
                    set.slots.insert(to, slot);
                }
            }
        }
        self.plain_bound(decoded)?;
        Ok(())
    }

    fn set_mut(&mut self, id: u64) -> Result<&mut DescriptorSet, WorkerError> {
        match &mut self
            .objects
            .get_mut(vk::ObjectType::DESCRIPTOR_SET, id)?
            .data
            .kind
        {
            Kind::DescriptorSet(set) => Ok(set),
            _ => Err(argument("a descriptor set", "has no data")),
        }
    }

    pub(crate) fn allocate_command_buffers(
        &mut self,
        decoded: &mut Decoded<'_>,
        _bytes: &[u8],
    ) -> Result<(), WorkerError> {
        let outputs: Vec<u64> = decoded.output_ids().map(|(_, id)| id).collect();
        for id in &outputs {
            self.make_room(*id)?;
        }
        let Command::VkAllocateCommandBuffers(args) = &decoded.command else {
            return Err(argument("vkAllocateCommandBuffers", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let info = unsafe { raw::get(args.p_allocate_info) }
            .ok_or_else(|| argument("vkAllocateCommandBuffers", "no allocate info"))?;
        let (device, pool, level) = (args.device.as_raw(), info.command_pool.as_raw(), info.level);
        let Some(handles) = self.call_for_outputs(decoded)? else {
            return Ok(());
        };
        for (id, handle) in outputs.iter().zip(handles) {
            let single = single_command_buffer(device, pool, level, *id)?;
            let creation = self.objects.begin_creation(&single, [device, pool]);
            let data = Entry {
                device,
                kind: Kind::CommandBuffer(CommandBuffer {
                    pool,
                    recorded: Vec::new(),
                }),
            };
            self.objects
                .add(creation, vk::ObjectType::COMMAND_BUFFER, *id, handle, data)?;
        }
        Ok(())
    }

    pub(crate) fn free_command_buffers(
        &mut self,
        decoded: &mut Decoded<'_>,
    ) -> Result<(), WorkerError> {
        let Command::VkFreeCommandBuffers(args) = &decoded.command else {
            return Err(argument("vkFreeCommandBuffers", "is another command"));
        };
        // SAFETY: arguments of the decoded command.
        let ids: Vec<u64> =
            unsafe { raw::slice(args.p_command_buffers, args.command_buffer_count) }
                .iter()
                .map(|command_buffer| command_buffer.as_raw())
                .filter(|id| *id != 0)
                .collect();
        self.plain(decoded)?;
        for id in ids {
            self.objects.remove(vk::ObjectType::COMMAND_BUFFER, id)?;
        }
        Ok(())
    }

    /// Takes the command buffers of a pool out of the table.
    pub(crate) fn forget_command_buffers(&mut self, pool: u64) -> Result<(), WorkerError> {
        let ids: Vec<u64> = self
            .objects
            .iter()
            .filter(|(_, o)| matches!(&o.data.kind, Kind::CommandBuffer(c) if c.pool == pool))
            .map(|(id, _)| id)
            .collect();
        for id in ids {
            self.objects.remove(vk::ObjectType::COMMAND_BUFFER, id)?;
        }
        Ok(())
    }

    fn command_buffer_mut(&mut self, id: u64) -> Result<&mut CommandBuffer, WorkerError> {
        match &mut self
            .objects
            .get_mut(vk::ObjectType::COMMAND_BUFFER, id)?
            .data
            .kind
        {
            Kind::CommandBuffer(command_buffer) => Ok(command_buffer),
            _ => Err(argument("a command buffer", "has no data")),
        }
    }

    pub(crate) fn begin(
        &mut self,
        decoded: &mut Decoded<'_>,
        bytes: &[u8],
        id: u64,
    ) -> Result<(), WorkerError> {
        self.forget_recording(id)?;
        self.append(bytes, id)?;
        self.plain(decoded)?;
        Ok(())
    }

    /// Keeps the bytes of a command that was recorded.
    pub(crate) fn append(&mut self, bytes: &[u8], id: u64) -> Result<(), WorkerError> {
        let command_buffer = self.command_buffer_mut(id)?;
        if command_buffer.recorded.len() + bytes.len() > RECORDING_LEN_MAX {
            return Err(argument("a command buffer", "is too long"));
        }
        command_buffer.recorded.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn forget_recording(&mut self, id: u64) -> Result<(), WorkerError> {
        self.command_buffer_mut(id)?.recorded.clear();
        Ok(())
    }

    pub(crate) fn forget_recordings(&mut self, pool: u64) {
        for (_, object) in self.objects.iter_mut() {
            if let Kind::CommandBuffer(command_buffer) = &mut object.data.kind
                && command_buffer.pool == pool
            {
                command_buffer.recorded.clear();
            }
        }
    }
}

/// What a descriptor write puts at its `index`-th place, `None` for what needs no keeping.
fn written(write: &vk::WriteDescriptorSet<'_>, index: u32) -> Option<SlotContent> {
    let at = index as usize;
    // SAFETY: arguments of a decoded command: the array that the type selects has
    // `descriptor_count` elements, or is null.
    unsafe {
        match write.descriptor_type {
            vk::DescriptorType::UNIFORM_BUFFER
            | vk::DescriptorType::STORAGE_BUFFER
            | vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC
            | vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => {
                let info = raw::slice(write.p_buffer_info, write.descriptor_count).get(at)?;
                Some(SlotContent::Buffer {
                    buffer: info.buffer.as_raw(),
                    offset: info.offset,
                    range: info.range,
                })
            }
            vk::DescriptorType::UNIFORM_TEXEL_BUFFER | vk::DescriptorType::STORAGE_TEXEL_BUFFER => {
                let view = raw::slice(write.p_texel_buffer_view, write.descriptor_count).get(at)?;
                Some(SlotContent::Texel {
                    view: view.as_raw(),
                })
            }
            vk::DescriptorType::SAMPLER
            | vk::DescriptorType::COMBINED_IMAGE_SAMPLER
            | vk::DescriptorType::SAMPLED_IMAGE
            | vk::DescriptorType::STORAGE_IMAGE
            | vk::DescriptorType::INPUT_ATTACHMENT => {
                let info = raw::slice(write.p_image_info, write.descriptor_count).get(at)?;
                Some(SlotContent::Image {
                    sampler: info.sampler.as_raw(),
                    view: info.image_view.as_raw(),
                    layout: info.image_layout.as_raw(),
                })
            }
            _ => None,
        }
    }
}

/// The command that allocates one descriptor set, as bytes: sets of one command die separately,
/// so each is re-created by itself.
fn single_set(
    device: u64,
    pool: u64,
    layout: u64,
    count: Option<u32>,
    id: u64,
) -> Result<Vec<u8>, WorkerError> {
    let layouts = [vk::DescriptorSetLayout::from_raw(layout)];
    let counts = [count.unwrap_or(0)];
    let mut variable =
        vk::DescriptorSetVariableDescriptorCountAllocateInfo::default().descriptor_counts(&counts);
    let mut info = vk::DescriptorSetAllocateInfo::default()
        .descriptor_pool(vk::DescriptorPool::from_raw(pool))
        .set_layouts(&layouts);
    if count.is_some() {
        info = info.push_next(&mut variable);
    }
    let mut set = vk::DescriptorSet::from_raw(id);
    let bump = Bump::new();
    let args = bump.alloc(args::VkAllocateDescriptorSets {
        device: vk::Device::from_raw(device),
        p_allocate_info: (&raw const info).cast(),
        p_descriptor_sets: &raw mut set,
        ret: vk::Result::SUCCESS,
    });
    encode(&Command::VkAllocateDescriptorSets(Args::new(args)))
}

/// As [`single_set`], for a command buffer.
fn single_command_buffer(
    device: u64,
    pool: u64,
    level: vk::CommandBufferLevel,
    id: u64,
) -> Result<Vec<u8>, WorkerError> {
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(vk::CommandPool::from_raw(pool))
        .level(level)
        .command_buffer_count(1);
    let mut command_buffer = vk::CommandBuffer::from_raw(id);
    let bump = Bump::new();
    let args = bump.alloc(args::VkAllocateCommandBuffers {
        device: vk::Device::from_raw(device),
        p_allocate_info: (&raw const info).cast(),
        p_command_buffers: &raw mut command_buffer,
        ret: vk::Result::SUCCESS,
    });
    encode(&Command::VkAllocateCommandBuffers(Args::new(args)))
}

fn encode(command: &Command<'_>) -> Result<Vec<u8>, WorkerError> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::append(&mut bytes, 4096);
    // SAFETY: every pointer in the command points at a live local of the caller.
    unsafe { hesper_venus::encode_request(command, false, &mut encoder) }?;
    Ok(bytes)
}
