//! Reading memory and images of the programs back.

use std::collections::BTreeMap;
use std::ops::Range;

use ash::vk::{self, Handle};

use super::gpu::{Access, Gpu};
use super::host::Host;

/// Bytes of all images of a program.
const IMAGES_LEN: u64 = 2 << 20;
/// Bytes of all device-local memory of a program, where the device copies it.
const COPIES_LEN: u64 = 32 << 20;
/// Where the copy of an image's subresource may start: a multiple of every texel block and of 4.
const IMAGE_UNIT: usize = 16;

/// Byte ranges by memory object.
pub type Opaque = BTreeMap<u64, Vec<Range<usize>>>;

/// (image, level, layer).
pub type Subresource = (u64, u32, u32);

/// The guest's memory as the host sees it.
pub struct Memory {
    /// Where its content can be read: the mapped memory itself, or its last copy.
    at: *const u8,
    /// A buffer over all of it, where the device copies.
    alias: vk::Buffer,
    pub device_local: bool,
    /// Content at the last check, to the byte.
    pub copy: Vec<u8>,
}

/// A buffer of the host that is mapped.
struct Staging {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    at: *const u8,
}

/// What the device copies with.
pub struct Reader {
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    images: Staging,
    copies: Option<Staging>,
}

impl Reader {
    pub fn new(gpu: &Gpu) -> Self {
        let pool_info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        // SAFETY: new objects of the device, which lives.
        let (pool, commands) = unsafe {
            let pool = gpu.device.create_command_pool(&pool_info, None).unwrap();
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .command_buffer_count(1);
            (pool, gpu.device.allocate_command_buffers(&info).unwrap()[0])
        };
        Self {
            pool,
            commands,
            images: Staging::new(gpu, IMAGES_LEN),
            copies: (gpu.access == Access::Copied).then(|| Staging::new(gpu, COPIES_LEN)),
        }
    }

    pub fn destroy(&mut self, gpu: &Gpu) {
        // SAFETY: nothing uses them after the host's last command, and this is called once.
        unsafe {
            let _ = gpu.device.device_wait_idle();
            gpu.device.destroy_command_pool(self.pool, None);
        }
        self.images.destroy(gpu);
        if let Some(copies) = &self.copies {
            copies.destroy(gpu);
        }
    }

    /// Records and runs commands to their end.
    fn run(&self, gpu: &Gpu, record: impl FnOnce(vk::CommandBuffer)) {
        let begin = vk::CommandBufferBeginInfo::default();
        let commands = [self.commands];
        let submits = [vk::SubmitInfo::default().command_buffers(&commands)];
        let barrier = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(
                vk::AccessFlags::MEMORY_READ
                    | vk::AccessFlags::MEMORY_WRITE
                    | vk::AccessFlags::HOST_READ,
            )];
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        // SAFETY: the device is idle before and after, and its queue is used by this thread only.
        unsafe {
            gpu.device
                .begin_command_buffer(self.commands, &begin)
                .unwrap();
            record(self.commands);
            gpu.device.cmd_pipeline_barrier(
                self.commands,
                all,
                all | vk::PipelineStageFlags::HOST,
                vk::DependencyFlags::empty(),
                &barrier,
                &[],
                &[],
            );
            gpu.device.end_command_buffer(self.commands).unwrap();
            gpu.device
                .queue_submit(gpu.queue, &submits, vk::Fence::null())
                .unwrap();
            gpu.device.queue_wait_idle(gpu.queue).unwrap();
        }
    }

    /// Brings the content of all memory where it can be read.
    pub fn snapshot(&self, gpu: &Gpu, memories: &mut BTreeMap<u64, Memory>) {
        let Some(copies) = &self.copies else {
            return;
        };
        let mut offset = 0;
        self.run(gpu, |commands| {
            for memory in memories.values_mut().filter(|memory| memory.device_local) {
                let size = memory.copy.len() as u64;
                assert!(offset + size <= COPIES_LEN);
                let region = [vk::BufferCopy {
                    src_offset: 0,
                    dst_offset: offset,
                    size,
                }];
                // SAFETY: the region lies inside of both buffers, which live.
                unsafe {
                    gpu.device
                        .cmd_copy_buffer(commands, memory.alias, copies.buffer, &region);
                    memory.at = copies.at.add(offset as usize);
                }
                offset += size.next_multiple_of(IMAGE_UNIT as u64);
            }
        });
    }
}

impl Staging {
    fn new(gpu: &Gpu, size: u64) -> Self {
        let info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: new objects of the device, which lives; the type of the memory can be mapped.
        unsafe {
            let buffer = gpu.device.create_buffer(&info, None).unwrap();
            let needs = gpu.device.get_buffer_memory_requirements(buffer);
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(gpu.visible_type);
            let memory = gpu.device.allocate_memory(&info, None).unwrap();
            gpu.device.bind_buffer_memory(buffer, memory, 0).unwrap();
            Self {
                buffer,
                memory,
                at: map(gpu, memory).cast_const(),
            }
        }
    }

    fn destroy(&self, gpu: &Gpu) {
        // SAFETY: nothing uses them any more, and this is called once.
        unsafe {
            gpu.device.destroy_buffer(self.buffer, None);
            gpu.device.free_memory(self.memory, None);
        }
    }
}

fn map(gpu: &Gpu, memory: vk::DeviceMemory) -> *mut u8 {
    let flags = vk::MemoryMapFlags::empty();
    // SAFETY: the memory is of a type that can be mapped, and not mapped yet.
    unsafe { gpu.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags) }
        .unwrap()
        .cast()
}

impl Memory {
    /// New memory of the guest, zeroed.
    pub fn new(
        gpu: &Gpu,
        reader: &Reader,
        memory: vk::DeviceMemory,
        size: u64,
        device_local: bool,
    ) -> Self {
        let mut new = Self {
            at: std::ptr::null(),
            alias: vk::Buffer::null(),
            device_local,
            copy: vec![0; size as usize],
        };
        if device_local && gpu.access == Access::Copied {
            let info = vk::BufferCreateInfo::default()
                .size(size)
                .usage(vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST);
            // SAFETY: a new buffer of the device over memory that is large enough, as the host allocates it.
            unsafe {
                new.alias = gpu.device.create_buffer(&info, None).unwrap();
                gpu.device.bind_buffer_memory(new.alias, memory, 0).unwrap();
            }
            let alias = new.alias;
            reader.run(gpu, |commands| {
                // SAFETY: the buffer lives.
                unsafe {
                    gpu.device
                        .cmd_fill_buffer(commands, alias, 0, vk::WHOLE_SIZE, 0)
                };
            });
            return new;
        }
        let at = map(gpu, memory);
        // SAFETY: the mapping is at least as large as the guest's memory, and nothing uses it yet.
        unsafe { at.write_bytes(0, size as usize) };
        new.at = at.cast_const();
        new
    }

    /// The memory is freed.
    pub fn forget(self, gpu: &Gpu) {
        // SAFETY: the device is idle between commands of the programs.
        unsafe { gpu.device.destroy_buffer(self.alias, None) };
    }

    /// Its content now, or as of the last snapshot.
    ///
    /// # Safety
    /// The memory is mapped still, or was in the last snapshot, and the GPU does not write to it now.
    pub unsafe fn content(&self) -> &[u8] {
        assert!(!self.at.is_null());
        // SAFETY: the mapping, or the copy, is as large as the memory, by the contract of this function.
        unsafe { std::slice::from_raw_parts(self.at, self.copy.len()) }
    }

    /// As [`Self::content`], with the content at the last check to be changed.
    ///
    /// # Safety
    /// As [`Self::content`].
    pub unsafe fn content_and_copy(&mut self) -> (&[u8], &mut [u8]) {
        assert!(!self.at.is_null());
        // SAFETY: as in `content`; the copy is memory of its own.
        let content = unsafe { std::slice::from_raw_parts(self.at, self.copy.len()) };
        (content, &mut self.copy)
    }

    /// Where its content lies, for captures while the GPU works; mapped memory only.
    pub fn address(&self) -> usize {
        assert!(self.alias.is_null());
        self.at as usize
    }
}

/// Reads memory for the oracle; opaque bytes are zeros to it.
pub fn reader<'m>(
    memories: &'m BTreeMap<u64, Memory>,
    opaque: &'m Opaque,
) -> impl FnMut(u64, u64, &mut [u8]) -> Result<(), String> + 'm {
    |id, offset, out| {
        let memory = memories.get(&id).ok_or("unknown memory")?;
        let start = offset as usize;
        // SAFETY: memory in the table is mapped or was copied, and the GPU is idle.
        out.copy_from_slice(unsafe { &memory.content()[start..start + out.len()] });
        for range in opaque.get(&id).into_iter().flatten() {
            let from = range.start.clamp(start, start + out.len()) - start;
            let to = range.end.clamp(start, start + out.len()) - start;
            out[from..to].fill(0);
        }
        Ok(())
    }
}

impl Host {
    /// Content of all images of one sample.
    pub(super) fn read_images(&mut self) -> Vec<(Subresource, &[u8])> {
        if self.images.is_empty() {
            return Vec::new();
        }
        let (gpu, reader) = (&self.gpu, &self.reader);
        let mut offset = 0usize;
        let mut places = Vec::new();
        reader.run(gpu, |commands| {
            for (id, texels) in &self.images {
                if texels.samples != vk::SampleCountFlags::TYPE_1 {
                    continue;
                }
                let image = vk::Image::from_raw(self.handles[&(vk::ObjectType::IMAGE, *id)]);
                let mut regions = Vec::new();
                for mip in 0..texels.mips {
                    for layer in 0..texels.layers {
                        let start = offset;
                        for plane in texels.planes() {
                            regions.push(vk::BufferImageCopy {
                                buffer_offset: offset as u64,
                                image_subresource: vk::ImageSubresourceLayers {
                                    aspect_mask: plane.aspect,
                                    mip_level: mip,
                                    base_array_layer: layer,
                                    layer_count: 1,
                                },
                                image_extent: texels.plane_extent(*plane, mip),
                                ..Default::default()
                            });
                            let len = texels.len(*plane, mip);
                            offset += len.next_multiple_of(IMAGE_UNIT);
                        }
                        places.push(((*id, mip, layer), start, offset - start));
                    }
                }
                assert!(offset as u64 <= IMAGES_LEN);
                let layout = vk::ImageLayout::GENERAL;
                // SAFETY: the image lives and is in GENERAL layout, and the regions lie in the buffer.
                unsafe {
                    gpu.device.cmd_copy_image_to_buffer(
                        commands,
                        image,
                        layout,
                        reader.images.buffer,
                        &regions,
                    );
                }
            }
        });
        places
            .into_iter()
            .map(|(at, offset, len)| {
                // SAFETY: inside of the mapped buffer, and the GPU is idle while the host is borrowed.
                let bytes =
                    unsafe { std::slice::from_raw_parts(reader.images.at.add(offset), len) };
                (at, bytes)
            })
            .collect()
    }
}
