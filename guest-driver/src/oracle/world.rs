//! The buffers that random programs write: alone in their memory, several in one, on the same bytes.

use std::rc::Rc;

use ash::vk;

use super::pictures::{PICTURE_BYTES_MAX, Pictures};
use crate::error::Error;
use crate::model::Rng;
use crate::vulkan::command::Level;
use crate::vulkan::memory::Memory;
use crate::vulkan::{Batch, Buffer, Commands, Fence, Gpu, Place, Recorder};

pub const KIB: u64 = 1024;
const SMALLEST: u64 = 4 * KIB;
const ALONE: usize = 3;
const ALONE_MAX: u64 = 1024 * KIB;
const PACKED: usize = 2;
const PACKED_SIZE: u64 = 2048 * KIB;
const PACKED_BUFFER_MAX: u64 = 512 * KIB;
const PACKED_BUFFERS_MAX: usize = 6;
const ALIASED_SIZE: u64 = 1024 * KIB;
const ALIASED_BUFFERS: usize = 3;
pub const CONTROL_SIZE: u64 = 4 * KIB;
pub const UPLOAD_SIZE: u64 = 64 * KIB;
pub const READBACK_SIZE: u64 = 64 * KIB;

/// Device-local bytes at most: 3 + 4 + 1 MiB, images, and the control buffer (and alignment).
pub const DEVICE_BYTES_MAX: u64 = ALONE as u64 * ALONE_MAX
    + PACKED as u64 * PACKED_SIZE
    + ALIASED_SIZE
    + PICTURE_BYTES_MAX
    + 16 * CONTROL_SIZE;

const _: () = assert!(DEVICE_BYTES_MAX <= 16 << 20);

/// How the buffers of a memory lie in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lay {
    Alone,
    Packed,
    Aliased,
}

/// One memory.
struct Home {
    lay: Lay,
    /// Over all of the memory, to fill and to read it.
    whole: Buffer,
    memory: Rc<Memory>,
}

/// One buffer, with what it may be used for.
pub struct Item {
    /// Never given twice.
    pub uid: u64,
    pub buffer: Rc<Buffer>,
    home: usize,
    /// Byte offset in its memory.
    offset: u64,
    pub storage: bool,
    pub transfer: bool,
    pub texel: bool,
    pub addressed: bool,
}

impl Item {
    /// Whether byte ranges of two buffers may lie on the same memory.
    pub fn overlaps(&self, start: u64, other: &Item, other_start: u64, size: u64) -> bool {
        self.home == other.home
            && self.offset + start < other.offset + other_start + size
            && other.offset + other_start < self.offset + start + size
    }
}

/// All buffers and images.
pub struct World {
    /// None: programs without images.
    pub pictures: Option<Pictures>,
    homes: Vec<Home>,
    pub items: Vec<Item>,
    uid_next: u64,
    /// Device-local: indirect counts and address tables, which programs mustn't scribble over.
    pub control: Rc<Buffer>,
    /// Host-visible, random words; its first KiB is 64 group counts of 16 bytes: (1 + i, 1, 1, 0).
    pub upload: Rc<Buffer>,
    /// Host-visible, written by the GPU.
    pub readback: Rc<Buffer>,
    commands: Commands,
    fence: Fence,
    /// Every byte has a value before programs run.
    tame: bool,
}

/// What a new buffer may be used for.
#[derive(Clone, Copy)]
struct Uses {
    storage: bool,
    transfer: bool,
    addressed: bool,
}

const ALL_USES: Uses = Uses {
    storage: true,
    transfer: true,
    addressed: true,
};

impl World {
    /// Makes all memories and buffers, and `images` if wanted. `tame`: every memory gets a value, else only some.
    pub fn new(gpu: &Gpu, rng: &mut Rng, tame: bool, images: bool) -> Result<Self, Error> {
        let transfer = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let storage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let control = gpu.buffer(
            Place::DeviceLocal,
            CONTROL_SIZE,
            transfer | storage | vk::BufferUsageFlags::INDIRECT_BUFFER,
        )?;
        let upload = gpu.buffer(Place::HostVisible, UPLOAD_SIZE, transfer)?;
        let readback = gpu.buffer(Place::HostVisible, READBACK_SIZE, transfer)?;
        let mut words: Vec<u32> = (1..=64).flat_map(|groups| [groups, 1, 1, 0]).collect();
        words.extend(rng.words(UPLOAD_SIZE as usize / 4 - words.len()));
        upload.write(0, &words);
        readback.write(0, &vec![0; READBACK_SIZE as usize / 4]);
        let mut world = Self {
            pictures: None,
            homes: Vec::new(),
            items: Vec::new(),
            uid_next: 0,
            control: Rc::new(control),
            upload: Rc::new(upload),
            readback: Rc::new(readback),
            commands: gpu.commands(Level::Primary)?,
            fence: gpu.fence()?,
            tame,
        };
        for _ in 0..ALONE {
            let size = draw_size(rng, ALONE_MAX);
            let home = world.home(gpu, rng, Lay::Alone, size)?;
            world.place(gpu, home, 0, size, ALL_USES)?;
        }
        for _ in 0..PACKED {
            let home = world.home(gpu, rng, Lay::Packed, PACKED_SIZE)?;
            world.pack(gpu, rng, home)?;
        }
        let home = world.home(gpu, rng, Lay::Aliased, ALIASED_SIZE)?;
        for _ in 0..ALIASED_BUFFERS {
            world.alias(gpu, rng, home)?;
        }
        if images {
            let pictures = Pictures::new(gpu, rng, &world.homes[home].memory)?;
            world.run(gpu, |recorder| pictures.prepare(recorder))?;
            world.pictures = Some(pictures);
        }
        Ok(world)
    }

    /// Whether a buffer lies in the memory that others lie in on the same bytes.
    pub fn is_aliased(&self, item: &Item) -> bool {
        self.homes[item.home].lay == Lay::Aliased
    }

    /// Destroys a buffer and makes another in its place, now and then with new memory. The queue
    /// must be idle.
    pub fn churn(&mut self, gpu: &Gpu, rng: &mut Rng) -> Result<(), Error> {
        let old = self.items.remove(rng.below(self.items.len()));
        let (home, offset, size) = (old.home, old.offset, old.buffer.size());
        drop(old);
        match self.homes[home].lay {
            Lay::Alone => {
                let size = draw_size(rng, ALONE_MAX);
                self.homes[home] = self.make_home(gpu, rng, Lay::Alone, size)?;
                self.place(gpu, home, 0, size, ALL_USES)
            }
            Lay::Packed => {
                let uses = draw_uses(rng);
                self.place(gpu, home, offset, draw_size(rng, size), uses)
            }
            Lay::Aliased => self.alias(gpu, rng, home),
        }
    }

    fn home(&mut self, gpu: &Gpu, rng: &mut Rng, lay: Lay, size: u64) -> Result<usize, Error> {
        let home = self.make_home(gpu, rng, lay, size)?;
        self.homes.push(home);
        Ok(self.homes.len() - 1)
    }

    fn make_home(&self, gpu: &Gpu, rng: &mut Rng, lay: Lay, size: u64) -> Result<Home, Error> {
        let memory = memory(gpu, size)?;
        let transfer = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
        let whole = gpu.create_buffer(size, transfer)?.bind(&memory, 0)?;
        let value = rng.word();
        if self.tame || value.is_multiple_of(2) {
            self.run(gpu, |recorder| {
                recorder.fill(&whole, 0, vk::WHOLE_SIZE, value);
            })?;
        }
        Ok(Home { lay, whole, memory })
    }

    /// A number that depends on every byte of device-local memory and of the readback buffer
    /// (FNV-1a by words). The queue must be idle.
    pub fn digest(&self, gpu: &Gpu) -> Result<u64, Error> {
        let mut digest = 0xcbf2_9ce4_8422_2325u64;
        let mut words = vec![0; READBACK_SIZE as usize / 4];
        let mut add = |size: u64| {
            let part = &mut words[..size as usize / 4];
            self.readback.read(0, part);
            for word in part {
                digest = (digest ^ u64::from(*word)).wrapping_mul(0x100_0000_01b3);
            }
        };
        add(READBACK_SIZE);
        for home in &self.homes {
            let size = home.whole.size();
            for start in (0..size).step_by(READBACK_SIZE as usize) {
                let part = READBACK_SIZE.min(size - start);
                self.run(gpu, |recorder| {
                    recorder.barrier();
                    recorder.copy(&home.whole, &self.readback, &[(start, 0, part)]);
                    recorder.barrier_to_host();
                })?;
                add(part);
            }
        }
        Ok(digest)
    }

    fn run(&self, gpu: &Gpu, body: impl FnOnce(&Recorder<'_>)) -> Result<(), Error> {
        self.commands.record(false, body)?;
        let batch = Batch {
            commands: vec![&self.commands],
            ..Batch::default()
        };
        gpu.submit(&[batch], Some(&self.fence))?;
        self.fence.wait_and_reset()
    }

    /// Buffers one after the other, with gaps.
    fn pack(&mut self, gpu: &Gpu, rng: &mut Rng, home: usize) -> Result<(), Error> {
        let mut offset = 0;
        for _ in 0..PACKED_BUFFERS_MAX {
            // Whole KiB, coarser than any alignment that buffers have.
            offset += (rng.below(64) as u64) * KIB;
            let size = draw_size(rng, PACKED_BUFFER_MAX);
            if offset + size + KIB > PACKED_SIZE {
                break;
            }
            let uses = draw_uses(rng);
            self.place(gpu, home, offset, size, uses)?;
            offset = (offset + size).next_multiple_of(KIB);
        }
        Ok(())
    }

    fn alias(&mut self, gpu: &Gpu, rng: &mut Rng, home: usize) -> Result<(), Error> {
        let size = draw_size(rng, ALIASED_SIZE * 3 / 4);
        let room = (ALIASED_SIZE - size) / KIB;
        let offset = rng.below(room as usize) as u64 * KIB;
        let uses = draw_uses(rng);
        self.place(gpu, home, offset, size, uses)
    }

    fn place(
        &mut self,
        gpu: &Gpu,
        home: usize,
        offset: u64,
        size: u64,
        uses: Uses,
    ) -> Result<(), Error> {
        let buffer = gpu
            .create_buffer(size, usage(gpu, uses))?
            .bind(&self.homes[home].memory, offset)?;
        self.items.push(Item {
            uid: self.uid_next,
            buffer: Rc::new(buffer),
            home,
            offset,
            storage: uses.storage,
            transfer: uses.transfer,
            texel: uses.storage && gpu.storage_texel,
            addressed: uses.addressed && gpu.features.device_address,
        });
        self.uid_next += 1;
        Ok(())
    }
}

/// Memory of `size` bytes and what alignment adds, for buffers of any use.
fn memory(gpu: &Gpu, size: u64) -> Result<Rc<Memory>, Error> {
    let sample = gpu.create_buffer(size, usage(gpu, ALL_USES))?;
    let needs = sample.requirements;
    gpu.allocate(Place::DeviceLocal, needs.size, needs.memory_type_bits)
}

fn usage(gpu: &Gpu, uses: Uses) -> vk::BufferUsageFlags {
    let mut usage = vk::BufferUsageFlags::empty();
    if uses.transfer {
        usage |= vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    }
    if uses.storage {
        usage |= vk::BufferUsageFlags::STORAGE_BUFFER;
        if gpu.storage_texel {
            usage |= vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER;
        }
    }
    if uses.addressed && gpu.features.device_address {
        usage |= vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
    }
    usage
}

/// Bytes from 4 KiB to `longest`, a multiple of 4, small ones as likely as large ones.
fn draw_size(rng: &mut Rng, longest: u64) -> u64 {
    let octaves = (longest / SMALLEST).max(1).ilog2() as usize + 1;
    let top = (longest >> rng.below(octaves)).max(SMALLEST);
    let below = rng.below((top / 2) as usize) as u64 & !3;
    (top - below).max(SMALLEST.min(longest)) & !3
}

/// One in five can't be bound to shaders, one in five can't be copied, one in three has an address.
fn draw_uses(rng: &mut Rng) -> Uses {
    let kind = rng.below(5);
    Uses {
        storage: kind != 0,
        transfer: kind != 1,
        addressed: kind != 0 && rng.below(3) == 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draw_size_stays_in_its_range() {
        let mut rng = Rng::new(5);
        for longest in [SMALLEST, 5000, 6 * KIB, ALONE_MAX] {
            for _ in 0..500 {
                let size = draw_size(&mut rng, longest);
                assert!((SMALLEST..=longest).contains(&size) && size.is_multiple_of(4));
            }
        }
    }
}
