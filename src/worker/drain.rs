//! Moving device-local content into the shadow: the drain.
//!
//! A drain step takes dirty chunks, has the device copy them into a staging buffer, and, once that
//! is done, compares them with the shadow: only pages that changed are written (and so sent). A
//! chunk that a submission may still write is marked again when the submission retires, so a step
//! may run at any time.

use std::collections::HashMap;
use std::rc::Rc;

use ash::vk;
use hesper_audit::dirty::{CHUNK_SIZE, DirtyMap};
use hesper_audit::narrow;
use hesper_gpu::{Device, DeviceMemory, GpuError, HostPages};
use hesper_image::{ChunkTable, Extent, ImageArea};
use hesper_memory::Mapping;

use crate::channel::Area;
use crate::error::WorkerError;
use crate::port::Port;

/// Length of the staging buffer, bytes.
const STAGING_LEN: u64 = 8 << 20;
/// Longest wait for a copy of ours, ns.
const COPY_TIMEOUT_NS: u64 = 10_000_000_000;

/// A memory object with its shadow.
struct Shadowed {
    host: Rc<Device>,
    /// A buffer over all of the memory, for copies.
    alias: vk::Buffer,
    len: u64,
    shadow: Option<(Extent, ChunkTable)>,
}

/// What copies on one device.
struct Copier {
    host: Rc<Device>,
    queue: vk::Queue,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    staging: vk::Buffer,
    memory: Option<DeviceMemory>,
    pages: Mapping,
}

/// A chunk on its way: memory id, chunk, offset in the staging buffer, length.
type Moving = (u64, u64, u64, u64);

/// Figures of a drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainFigures {
    /// Bytes copied from the device.
    pub copied_bytes: u64,
    /// Pages that had changed.
    pub pages_moved: u64,
}

/// The shadows of a context.
pub struct Drain {
    area: Option<ImageArea>,
    memories: HashMap<u64, Shadowed>,
    copiers: Vec<Copier>,
    moving: Option<(usize, Vec<Moving>)>,
    figures: DrainFigures,
    old: Vec<u8>,
    new: Vec<u8>,
}

fn vulkan(call: &'static str) -> impl Fn(vk::Result) -> WorkerError {
    move |result| GpuError::Vulkan { call, result }.into()
}

fn is_out_of_memory(result: vk::Result) -> bool {
    matches!(
        result,
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY
    )
}

impl Drain {
    /// A drain into `area`; without one, only the oracle reads memory.
    pub fn new(area: Option<ImageArea>) -> Self {
        Self {
            area,
            memories: HashMap::new(),
            copiers: Vec::new(),
            moving: None,
            figures: DrainFigures::default(),
            old: Vec::new(),
            new: Vec::new(),
        }
    }

    /// The figures so far.
    pub fn figures(&self) -> DrainFigures {
        self.figures
    }

    /// Prepares a device for copies on `queue`.
    ///
    /// # Errors
    /// [`WorkerError::Gpu`].
    pub fn add_device(
        &mut self,
        host: &Rc<Device>,
        queue: vk::Queue,
        family: u32,
    ) -> Result<(), WorkerError> {
        let raw = host.raw();
        let pages = Mapping::anonymous("hesper-staging", STAGING_LEN)?;
        let memory = DeviceMemory::import(
            host,
            HostPages {
                mapping: pages.clone(),
                offset: 0,
                len: STAGING_LEN,
            },
            vk::MemoryAllocateFlags::empty(),
        )?;
        let pool_info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER)
            .queue_family_index(family);
        let mut external = vk::ExternalMemoryBufferCreateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT);
        let staging_info = vk::BufferCreateInfo::default()
            .size(STAGING_LEN)
            .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST)
            .push_next(&mut external);
        // SAFETY: the device lives; every info outlives its call; the memory is as long as the
        // buffer.
        unsafe {
            let pool = raw
                .create_command_pool(&pool_info, None)
                .map_err(vulkan("vkCreateCommandPool"))?;
            let commands = raw
                .allocate_command_buffers(
                    &vk::CommandBufferAllocateInfo::default()
                        .command_pool(pool)
                        .level(vk::CommandBufferLevel::PRIMARY)
                        .command_buffer_count(1),
                )
                .map_err(vulkan("vkAllocateCommandBuffers"))?
                .into_iter()
                .next()
                .unwrap_or_default();
            let fence = raw
                .create_fence(&vk::FenceCreateInfo::default(), None)
                .map_err(vulkan("vkCreateFence"))?;
            let staging = raw
                .create_buffer(&staging_info, None)
                .map_err(vulkan("vkCreateBuffer"))?;
            raw.bind_buffer_memory(staging, memory.handle, 0)
                .map_err(vulkan("vkBindBufferMemory"))?;
            self.copiers.push(Copier {
                host: Rc::clone(host),
                queue,
                pool,
                commands,
                fence,
                staging,
                memory: Some(memory),
                pages,
            });
        }
        Ok(())
    }

    fn copier(&self, host: &Rc<Device>) -> Result<usize, WorkerError> {
        self.copiers
            .iter()
            .position(|copier| Rc::ptr_eq(&copier.host, host))
            .ok_or_else(|| crate::error::argument("a drain", "the device can't copy"))
    }

    /// Takes a fresh memory object in, and zeroes it: whatever lay there before is nobody's.
    /// When the driver has no room for what that needs, its answer is the inner error, and the memory was not taken in.
    ///
    /// # Errors
    /// [`WorkerError::Gpu`].
    pub fn add_memory(
        &mut self,
        host: &Rc<Device>,
        id: u64,
        memory: vk::DeviceMemory,
        len: u64,
    ) -> Result<Result<(), vk::Result>, WorkerError> {
        let copier = self.copier(host)?;
        self.finish_moving()?;
        let info = vk::BufferCreateInfo::default()
            .size(len.next_multiple_of(4))
            .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: the device lives; the memory was allocated with room for its length rounded up.
        let alias = unsafe {
            let alias = match host.raw().create_buffer(&info, None) {
                Ok(alias) => alias,
                Err(answer) => return Ok(Err(answer)),
            };
            if let Err(answer) = host.raw().bind_buffer_memory(alias, memory, 0) {
                host.raw().destroy_buffer(alias, None);
                return Ok(Err(answer));
            }
            alias
        };
        let copier = &self.copiers[copier];
        let filled = copier.run(|raw, commands| {
            // SAFETY: recording; the buffer lives.
            unsafe { raw.cmd_fill_buffer(commands, alias, 0, vk::WHOLE_SIZE, 0) };
        });
        if let Err(error) = filled {
            // SAFETY: nothing was submitted.
            unsafe { host.raw().destroy_buffer(alias, None) };
            return match error {
                WorkerError::Gpu(error) if is_out_of_memory(error.result()) => {
                    Ok(Err(error.result()))
                }
                error => Err(error),
            };
        }
        copier.wait()?;
        self.memories.insert(
            id,
            Shadowed {
                host: Rc::clone(host),
                alias,
                len,
                shadow: None,
            },
        );
        Ok(Ok(()))
    }

    /// Lets a memory object go. Returns its shadow's range, to be given back.
    ///
    /// # Errors
    /// [`WorkerError::Gpu`].
    pub fn remove_memory(&mut self, id: u64) -> Result<Option<Extent>, WorkerError> {
        self.finish_moving()?;
        let Some(memory) = self.memories.remove(&id) else {
            return Ok(None);
        };
        // SAFETY: no copy of ours is on its way any more.
        unsafe { memory.host.raw().destroy_buffer(memory.alias, None) };
        Ok(memory.shadow.map(|(extent, _)| extent))
    }

    /// Drops what was made on a device.
    pub fn forget_device(&mut self, host: &Rc<Device>) {
        self.copiers.retain_mut(|copier| {
            let mine = Rc::ptr_eq(&copier.host, host);
            if mine {
                copier.destroy();
            }
            !mine
        });
    }

    /// Gives the shadows up: what they held is dirty again in `maps`. Returns their ranges.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn drop_shadows(
        &mut self,
        maps: &HashMap<u64, std::sync::Arc<DirtyMap>>,
    ) -> Result<Vec<Extent>, WorkerError> {
        self.finish_moving()?;
        let mut ranges = Vec::new();
        for (id, memory) in &mut self.memories {
            let Some((extent, table)) = memory.shadow.take() else {
                continue;
            };
            if let Some(map) = maps.get(id) {
                for chunk in table.not_zero() {
                    let offset = chunk as u64 * CHUNK_SIZE;
                    map.mark(offset, (memory.len - offset).min(CHUNK_SIZE));
                }
            }
            ranges.push(extent);
        }
        Ok(ranges)
    }

    /// True while a step is on its way.
    pub fn is_moving(&self) -> bool {
        self.moving.is_some()
    }

    /// The shadow of a memory object.
    pub fn shadow(&self, id: u64) -> Option<(Extent, &ChunkTable)> {
        let (extent, table) = self.memories.get(&id)?.shadow.as_ref()?;
        Some((*extent, table))
    }

    /// Starts a step over what is dirty, if nothing is on its way. False when nothing is dirty.
    ///
    /// # Errors
    /// [`WorkerError`]: no room in the image, or the driver.
    pub fn start_step<'a>(
        &mut self,
        port: &mut Port,
        maps: impl Iterator<Item = (u64, &'a std::sync::Arc<DirtyMap>)>,
    ) -> Result<bool, WorkerError> {
        if self.moving.is_some() {
            return Ok(true);
        }
        let mut moving: Vec<Moving> = Vec::new();
        let mut regions: Vec<(vk::Buffer, vk::BufferCopy)> = Vec::new();
        let mut used = 0;
        let mut on: Option<Rc<Device>> = None;
        for (id, map) in maps {
            let Some(memory) = self.memories.get_mut(&id) else {
                continue;
            };
            if used >= STAGING_LEN
                || on
                    .as_ref()
                    .is_some_and(|host| !Rc::ptr_eq(host, &memory.host))
            {
                break;
            }
            let mut taken = map.take();
            if taken.is_empty() {
                continue;
            }
            if memory.shadow.is_none()
                && let Err(error) = make_shadow(port, memory)
            {
                map.put_back(&taken);
                // What was taken before must reach its shadow all the same; the next step fails.
                if moving.is_empty() {
                    return Err(error);
                }
                break;
            }
            let chunks: Vec<u64> = taken.iter().collect();
            for chunk in chunks {
                let offset = chunk * CHUNK_SIZE;
                let len = (memory.len - offset).min(CHUNK_SIZE);
                if used + CHUNK_SIZE > STAGING_LEN {
                    break;
                }
                taken.remove(chunk);
                moving.push((id, chunk, used, len));
                regions.push((
                    memory.alias,
                    vk::BufferCopy {
                        src_offset: offset,
                        dst_offset: used,
                        size: len,
                    },
                ));
                used += CHUNK_SIZE;
            }
            if !taken.is_empty() {
                map.put_back(&taken);
            }
            on = Some(Rc::clone(&memory.host));
        }
        let Some(host) = on else {
            return Ok(false);
        };
        let at = self.copier(&host)?;
        let copier = &self.copiers[at];
        copier.run(|raw, commands| {
            // SAFETY: recording; buffers live and the regions lie inside of them.
            unsafe { copy_grouped(raw, commands, &regions, |region| (copier.staging, region)) }
        })?;
        self.moving = Some((at, moving));
        Ok(true)
    }

    /// Writes what a step brought into the shadow, once the device is done. True when no step is
    /// on its way any more.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn poll_step(&mut self) -> Result<bool, WorkerError> {
        let Some((at, _)) = &self.moving else {
            return Ok(true);
        };
        if !self.copiers[*at].is_done()? {
            return Ok(false);
        }
        self.store()?;
        Ok(true)
    }

    fn finish_moving(&mut self) -> Result<(), WorkerError> {
        if let Some((at, _)) = &self.moving {
            self.copiers[*at].wait()?;
            self.store()?;
        }
        Ok(())
    }

    fn store(&mut self) -> Result<(), WorkerError> {
        let Some((at, moving)) = self.moving.take() else {
            return Ok(());
        };
        let Some(area) = self.area.clone() else {
            return Ok(());
        };
        for (id, chunk, offset, len) in moving {
            let Some((extent, table)) = self
                .memories
                .get_mut(&id)
                .and_then(|memory| memory.shadow.as_mut())
            else {
                continue;
            };
            self.old.resize(len as usize, 0);
            self.new.resize(len as usize, 0);
            let target = extent.offset + chunk * CHUNK_SIZE;
            self.copiers[at].pages.read(offset, &mut self.new)?;
            area.read(target, &mut self.old)?;
            let changed = narrow::compare(&self.old, &self.new);
            for (first, count) in changed.runs() {
                let start = first as usize * 4096;
                let end = (start + count as usize * 4096).min(self.new.len());
                area.write(target + start as u64, &self.new[start..end])?;
            }
            if !changed.is_empty() {
                table.update(&area, *extent, chunk as usize)?;
            }
            self.figures.copied_bytes += len;
            self.figures.pages_moved += u64::from(changed.count());
        }
        Ok(())
    }

    /// Drains until nothing is dirty: for the cut, when nothing runs.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn drain_all(
        &mut self,
        port: &mut Port,
        tracker: &hesper_audit::tracker::Tracker,
    ) -> Result<(), WorkerError> {
        self.finish_moving()?;
        while self.start_step(port, tracker.device_memories())? {
            self.finish_moving()?;
        }
        Ok(())
    }

    /// Content of memory `id` for the oracle, chunk by chunk.
    ///
    /// # Errors
    /// [`WorkerError`].
    pub fn read_back(
        &mut self,
        id: u64,
        mut visit: impl FnMut(u64, &[u8]) -> Result<(), WorkerError>,
    ) -> Result<(), WorkerError> {
        self.finish_moving()?;
        let Some(memory) = self.memories.get(&id) else {
            return Ok(());
        };
        let copier = &self.copiers[self.copier(&memory.host)?];
        let mut offset = 0;
        while offset < memory.len {
            let len = (memory.len - offset).min(STAGING_LEN);
            let region = vk::BufferCopy {
                src_offset: offset,
                dst_offset: 0,
                size: len,
            };
            copier.run(|raw, commands| {
                // SAFETY: recording; the region lies inside both buffers.
                unsafe { raw.cmd_copy_buffer(commands, memory.alias, copier.staging, &[region]) };
            })?;
            copier.wait()?;
            self.new.resize(len as usize, 0);
            copier.pages.read(0, &mut self.new)?;
            for (at, part) in self.new.chunks(CHUNK_SIZE as usize).enumerate() {
                visit(offset / CHUNK_SIZE + at as u64, part)?;
            }
            offset += len;
        }
        Ok(())
    }

    /// Puts a shadow's content back into fresh memory, each chunk checked.
    ///
    /// # Errors
    /// [`WorkerError::Image`] for content that does not match its checksum.
    pub fn restore_memory(
        &mut self,
        id: u64,
        extent: Extent,
        table: ChunkTable,
    ) -> Result<(), WorkerError> {
        let missing = || WorkerError::Restore(format!("no memory {id:#x} for its shadow"));
        let area = self.area.clone().ok_or_else(missing)?;
        let memory = self.memories.get(&id).ok_or_else(missing)?;
        let chunks = memory.len.div_ceil(CHUNK_SIZE);
        if extent.len < memory.len || (table.len() as u64) < chunks {
            return Err(WorkerError::Restore(format!(
                "the shadow of memory {id:#x} is shorter than the memory"
            )));
        }
        let copier = &self.copiers[self.copier(&memory.host)?];
        let mut regions = Vec::new();
        let mut used = 0;
        for chunk in 0..chunks {
            let bytes = table.read(&area, extent, chunk as usize)?;
            let offset = chunk * CHUNK_SIZE;
            let len = (memory.len - offset).min(CHUNK_SIZE);
            // Fresh memory is zeroed already.
            if bytes.iter().any(|byte| *byte != 0) {
                copier.pages.write(used, &bytes[..len as usize])?;
                regions.push((
                    memory.alias,
                    vk::BufferCopy {
                        src_offset: used,
                        dst_offset: offset,
                        size: len,
                    },
                ));
                used += CHUNK_SIZE;
            }
            if !regions.is_empty() && (used + CHUNK_SIZE > STAGING_LEN || chunk + 1 == chunks) {
                copier.run(|raw, commands| {
                    for (alias, region) in &regions {
                        // SAFETY: recording; the regions lie inside both buffers.
                        unsafe {
                            raw.cmd_copy_buffer(commands, copier.staging, *alias, &[*region]);
                        }
                    }
                })?;
                copier.wait()?;
                regions.clear();
                used = 0;
            }
        }
        if let Some(memory) = self.memories.get_mut(&id) {
            memory.shadow = Some((extent, table));
        }
        Ok(())
    }
}

/// Records one copy for each run of regions with the same source.
///
/// # Safety
/// As `vkCmdCopyBuffer`.
unsafe fn copy_grouped(
    raw: &ash::Device,
    commands: vk::CommandBuffer,
    regions: &[(vk::Buffer, vk::BufferCopy)],
    target: impl Fn(vk::BufferCopy) -> (vk::Buffer, vk::BufferCopy),
) {
    for group in regions.chunk_by(|a, b| a.0 == b.0) {
        let mut copies: Vec<vk::BufferCopy> = Vec::with_capacity(group.len());
        let mut to = vk::Buffer::null();
        for (_, region) in group {
            let (buffer, copy) = target(*region);
            to = buffer;
            // Neighbours on both sides are one region: the device pays for each.
            match copies.last_mut() {
                Some(last)
                    if last.src_offset + last.size == copy.src_offset
                        && last.dst_offset + last.size == copy.dst_offset =>
                {
                    last.size += copy.size;
                }
                _ => copies.push(copy),
            }
        }
        // SAFETY: by the contract of this function.
        unsafe { raw.cmd_copy_buffer(commands, group[0].0, to, &copies) };
    }
}

fn make_shadow(port: &mut Port, memory: &mut Shadowed) -> Result<(), WorkerError> {
    let extent = port
        .allocate(Area::Image, memory.len.next_multiple_of(CHUNK_SIZE))?
        .ok_or_else(|| {
            WorkerError::Restore(format!("the image has no room for {} bytes", memory.len))
        })?;
    let zeros = ChunkTable::zeros(extent);
    memory.shadow = Some((extent, zeros));
    Ok(())
}

impl Copier {
    /// Records with `record` and submits.
    fn run(&self, record: impl FnOnce(&ash::Device, vk::CommandBuffer)) -> Result<(), WorkerError> {
        let raw = self.host.raw();
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        let before = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::TRANSFER_READ | vk::AccessFlags::TRANSFER_WRITE)];
        let after = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::TRANSFER_WRITE)
            .dst_access_mask(vk::AccessFlags::HOST_READ | vk::AccessFlags::MEMORY_READ)];
        let commands = [self.commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the last run was waited for, so the command buffer and the fence are free; the
        // queue is used by this thread only.
        unsafe {
            raw.reset_fences(&[self.fence])
                .map_err(vulkan("vkResetFences"))?;
            raw.begin_command_buffer(self.commands, &begin)
                .map_err(vulkan("vkBeginCommandBuffer"))?;
            raw.cmd_pipeline_barrier(
                self.commands,
                vk::PipelineStageFlags::ALL_COMMANDS,
                vk::PipelineStageFlags::TRANSFER,
                vk::DependencyFlags::empty(),
                &before,
                &[],
                &[],
            );
            record(raw, self.commands);
            raw.cmd_pipeline_barrier(
                self.commands,
                vk::PipelineStageFlags::TRANSFER,
                vk::PipelineStageFlags::ALL_COMMANDS | vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &after,
                &[],
                &[],
            );
            raw.end_command_buffer(self.commands)
                .map_err(vulkan("vkEndCommandBuffer"))?;
            raw.queue_submit(self.queue, &submit, self.fence)
                .map_err(vulkan("vkQueueSubmit"))?;
        }
        Ok(())
    }

    fn is_done(&self) -> Result<bool, WorkerError> {
        // SAFETY: the fence lives.
        unsafe { self.host.raw().get_fence_status(self.fence) }.map_err(vulkan("vkGetFenceStatus"))
    }

    fn wait(&self) -> Result<(), WorkerError> {
        // SAFETY: the fence lives.
        unsafe {
            self.host
                .raw()
                .wait_for_fences(&[self.fence], true, COPY_TIMEOUT_NS)
        }
        .map_err(vulkan("vkWaitForFences"))
    }

    fn destroy(&mut self) {
        let raw = self.host.raw();
        // SAFETY: the device is idle when its copier goes.
        unsafe {
            raw.destroy_buffer(self.staging, None);
            raw.destroy_fence(self.fence, None);
            raw.destroy_command_pool(self.pool, None);
            if let Some(memory) = self.memory.take() {
                memory.free(&self.host);
            }
        }
    }
}
