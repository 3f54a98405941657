//! Device memory and buffers.

use std::ptr::NonNull;
use std::rc::Rc;

use ash::vk;

use super::{Gpu, Shared};
use crate::error::{Error, Named};

/// What a memory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Written by GPU commands only.
    DeviceLocal,
    /// Mapped for the CPU for as long as it lives; coherent.
    HostVisible,
}

/// Picks the memory type of a place among `bits`.
pub(super) fn choose_type(
    memory: &vk::PhysicalDeviceMemoryProperties,
    place: Place,
    bits: u32,
) -> Result<u32, Error> {
    let visible = vk::MemoryPropertyFlags::HOST_VISIBLE;
    let local = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    let coherent = visible | vk::MemoryPropertyFlags::HOST_COHERENT;
    // Types that only extensions may use (or that may have no pages yet) are never wanted.
    let odd = vk::MemoryPropertyFlags::PROTECTED
        | vk::MemoryPropertyFlags::LAZILY_ALLOCATED
        | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD;
    let find = |with: vk::MemoryPropertyFlags, without: vk::MemoryPropertyFlags| {
        (0u32..)
            .zip(memory.memory_types_as_slice())
            .find(|(index, kind)| {
                bits & (1 << index) != 0
                    && kind.property_flags.contains(with)
                    && !kind.property_flags.intersects(without | odd)
            })
            .map(|(index, _)| index)
    };
    let none = vk::MemoryPropertyFlags::empty();
    match place {
        Place::DeviceLocal => find(local, visible)
            .or_else(|| find(local, none))
            .ok_or(Error::NoMemoryType("device-local")),
        Place::HostVisible => find(coherent | vk::MemoryPropertyFlags::HOST_CACHED, none)
            .or_else(|| find(coherent, none))
            .ok_or(Error::NoMemoryType("host-visible, coherent")),
    }
}

/// One vkAllocateMemory.
pub struct Memory {
    pub(super) shared: Rc<Shared>,
    pub(super) handle: vk::DeviceMemory,
    pub(super) size: u64,
    pub(super) type_index: u32,
    pub(super) mapped: Option<NonNull<u8>>,
}

impl Memory {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for everything bound here, and buffers hold their memory
        // through an `Rc`. Freeing unmaps.
        unsafe { self.shared.raw.free_memory(self.handle, None) };
    }
}

/// A buffer, bound to its memory. All positions and counts are in bytes unless named otherwise.
pub struct Buffer {
    memory: Rc<Memory>,
    offset: u64,
    pub(super) handle: vk::Buffer,
    size: u64,
    /// Device address; 0 unless made with one.
    pub address: u64,
}

/// A buffer without memory, and what it needs.
pub struct Unbound {
    shared: Rc<Shared>,
    handle: vk::Buffer,
    size: u64,
    addressed: bool,
    pub requirements: vk::MemoryRequirements,
}

impl Unbound {
    /// Binds at `offset` of `memory`; [`Error::Unfit`] where the device wants another alignment or
    /// more room. Several buffers may lie on the same bytes.
    pub fn bind(self, memory: &Rc<Memory>, offset: u64) -> Result<Buffer, Error> {
        let needs = self.requirements;
        if !offset.is_multiple_of(needs.alignment) || offset + needs.size > memory.size {
            return Err(Error::Unfit { offset, needs });
        }
        let raw = &self.shared.raw;
        // SAFETY: the buffer is new, and the range was checked above.
        unsafe { raw.bind_buffer_memory(self.handle, memory.handle, offset) }
            .named("vkBindBufferMemory")?;
        let mut address = 0;
        if self.addressed {
            let info = vk::BufferDeviceAddressInfo::default().buffer(self.handle);
            // SAFETY: the buffer has the address usage and is bound.
            address = unsafe { raw.get_buffer_device_address(&info) };
        }
        let buffer = Buffer {
            memory: memory.clone(),
            offset,
            handle: self.handle,
            size: self.size,
            address,
        };
        // The handle has passed to `buffer`; the reference to the device is released as usual.
        let mut this = self;
        this.handle = vk::Buffer::null();
        Ok(buffer)
    }
}

impl Drop for Unbound {
    fn drop(&mut self) {
        // SAFETY: never used; destroying a null handle does nothing.
        unsafe { self.shared.raw.destroy_buffer(self.handle, None) };
    }
}

impl Gpu {
    /// Makes a buffer without memory. `addressed` (and the usage for it) needs the feature.
    pub fn create_buffer(&self, size: u64, usage: vk::BufferUsageFlags) -> Result<Unbound, Error> {
        self.create_buffer_as(&vk::BufferCreateInfo::default().size(size).usage(usage))
    }

    /// Makes the buffer that `create` says, without memory.
    pub(super) fn create_buffer_as(
        &self,
        create: &vk::BufferCreateInfo<'_>,
    ) -> Result<Unbound, Error> {
        let (size, usage) = (create.size, create.usage);
        let addressed = usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
        let raw = &self.shared.raw;
        // SAFETY: `create` lives across the call.
        let handle = unsafe { raw.create_buffer(create, None) }.named("vkCreateBuffer")?;
        // SAFETY: the buffer was just made.
        let requirements = unsafe { raw.get_buffer_memory_requirements(handle) };
        Ok(Unbound {
            shared: self.shared.clone(),
            handle,
            size,
            addressed,
            requirements,
        })
    }

    /// Allocates memory of a place, of one of the types in `bits`. Device-local memory can give
    /// its buffers device addresses if the feature is on.
    pub fn allocate(&self, place: Place, size: u64, bits: u32) -> Result<Rc<Memory>, Error> {
        let mut flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let type_index = self.memory_type(place, bits)?;
        let mut allocate = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(type_index);
        if self.features.device_address && place == Place::DeviceLocal {
            allocate = allocate.push_next(&mut flags);
        }
        let raw = &self.shared.raw;
        // SAFETY: the type index is valid, and the flag is used with its feature only.
        let handle = unsafe { raw.allocate_memory(&allocate, None) }.named("vkAllocateMemory")?;
        // Owned from here on, so that a failed map frees it.
        let mut memory = Memory {
            shared: self.shared.clone(),
            handle,
            size,
            type_index,
            mapped: None,
        };
        if place == Place::HostVisible {
            // SAFETY: the type is host-visible, and the memory is mapped once.
            let pointer =
                unsafe { raw.map_memory(handle, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }
                    .named("vkMapMemory")?;
            memory.mapped = NonNull::new(pointer.cast());
        }
        Ok(Rc::new(memory))
    }

    /// A buffer with a memory of its own.
    pub fn buffer(
        &self,
        place: Place,
        size: u64,
        usage: vk::BufferUsageFlags,
    ) -> Result<Buffer, Error> {
        let unbound = self.create_buffer(size, usage)?;
        let needs = unbound.requirements;
        let memory = self.allocate(place, needs.size, needs.memory_type_bits)?;
        unbound.bind(&memory, 0)
    }
}

impl Buffer {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Copies words out of a mapped buffer. The GPU must be done with them.
    pub fn read(&self, first_word: usize, words: &mut [u32]) {
        let source = self.mapped_words(first_word, words.len());
        // SAFETY: the range was checked against the mapping, the GPU doesn't write it now (idle),
        // and the destination is a distinct Rust allocation.
        unsafe { source.copy_to_nonoverlapping(words.as_mut_ptr(), words.len()) };
    }

    /// Copies words into a mapped buffer. The GPU must be done with them.
    pub fn write(&self, first_word: usize, words: &[u32]) {
        let target = self.mapped_words(first_word, words.len());
        // SAFETY: as in `read`, the other way round.
        unsafe { target.copy_from_nonoverlapping(words.as_ptr(), words.len()) };
    }

    fn mapped_words(&self, first_word: usize, count: usize) -> *mut u32 {
        let end = (first_word + count) as u64 * 4;
        assert!(end <= self.size);
        let base = self
            .memory
            .mapped
            .expect("only buffers made with Place::HostVisible are read or written by the CPU");
        // SAFETY: offset and end lie inside the memory, which is mapped whole; the offset is a
        // multiple of the buffer's alignment, so of 4 at least.
        unsafe {
            base.as_ptr()
                .add(self.offset as usize)
                .cast::<u32>()
                .add(first_word)
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this buffer.
        unsafe { self.memory.shared.raw.destroy_buffer(self.handle, None) };
    }
}

/// A storage texel view of R32_UINT.
pub struct TexelView {
    pub(super) handle: vk::BufferView,
    shared: Rc<Shared>,
}

impl Gpu {
    /// Views `range` bytes of a buffer as R32_UINT texels.
    pub fn texel_view(&self, buffer: &Buffer, offset: u64, range: u64) -> Result<TexelView, Error> {
        let create = vk::BufferViewCreateInfo::default()
            .buffer(buffer.handle)
            .format(vk::Format::R32_UINT)
            .offset(offset)
            .range(range);
        // SAFETY: the buffer is alive, and `create` lives across the call.
        let handle = unsafe { self.shared.raw.create_buffer_view(&create, None) }
            .named("vkCreateBufferView")?;
        Ok(TexelView {
            handle,
            shared: self.shared.clone(),
        })
    }
}

impl Drop for TexelView {
    fn drop(&mut self) {
        // SAFETY: the queue is idle for this view.
        unsafe { self.shared.raw.destroy_buffer_view(self.handle, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(flags: &[vk::MemoryPropertyFlags]) -> vk::PhysicalDeviceMemoryProperties {
        let mut memory = vk::PhysicalDeviceMemoryProperties {
            memory_type_count: flags.len() as u32,
            ..Default::default()
        };
        for (kind, flags) in memory.memory_types.iter_mut().zip(flags) {
            kind.property_flags = *flags;
        }
        memory
    }

    const LOCAL: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    const SEEN: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
        vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw()
            | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw()
            | vk::MemoryPropertyFlags::HOST_CACHED.as_raw(),
    );

    #[test]
    fn device_local_with_a_hidden_type_skips_the_visible_one() {
        let memory = types(&[LOCAL | SEEN, LOCAL]);

        assert_eq!(choose_type(&memory, Place::DeviceLocal, 0b11).unwrap(), 1);
    }

    #[test]
    fn device_local_with_one_type_takes_it() {
        let memory = types(&[LOCAL | SEEN]);

        assert_eq!(choose_type(&memory, Place::DeviceLocal, 0b1).unwrap(), 0);
    }

    #[test]
    fn host_visible_outside_the_bits_is_refused() {
        let memory = types(&[LOCAL, SEEN]);

        assert!(choose_type(&memory, Place::HostVisible, 0b01).is_err());
    }
}
