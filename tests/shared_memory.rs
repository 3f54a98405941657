//! Memory that two contexts share: one range of the arena, which lasts for as long as any of them has it, is marked whoever
//! writes, and comes back with a context that imported it.

#[macro_use]
mod raw;

use std::ffi::c_void;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use ash::vk::{self, Handle};
use hesper_memory::{DirtyBitmap, Mapping};
use hesper_venus::mesa;

use raw::{
    ARENA_LEN, CTX, LIMIT, MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, World, arena, binding, is_skipped,
};

const EXPORTER: u32 = CTX;
const IMPORTER: u32 = CTX + 1;
const MEMORY: u64 = 30;
const OTHER: u64 = 31;
const BUFFER: u64 = 32;
const POOL: u64 = 33;
const COMMANDS: u64 = 34;
const RESOURCE: u32 = 7;
const LEN: u64 = 100_000;

impl World {
    fn allocate(&self, ctx_id: u32, id: u64, len: u64, memory_type: u32, chain: *const c_void) {
        let info = vk::MemoryAllocateInfo {
            p_next: chain,
            ..vk::MemoryAllocateInfo::default()
                .allocation_size(len)
                .memory_type_index(memory_type)
        };
        self.allocate_as(ctx_id, id, &info);
    }

    fn export(&self, memory_type: u32) {
        let export = vk::ExportMemoryAllocateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT);
        self.allocate(
            EXPORTER,
            MEMORY,
            LEN,
            memory_type,
            (&raw const export).cast(),
        );
    }

    fn import(&self, id: u64, len: u64, resource_id: u32) {
        let import = mesa::VkImportMemoryResourceInfoMESA {
            s_type: vk::StructureType::from_raw(1_000_384_002),
            p_next: std::ptr::null(),
            resource_id,
        };
        let chain = (&raw const import).cast();
        self.allocate(IMPORTER, id, len, MEMORY_TYPE_HOST, chain);
    }

    /// A buffer over all of a memory.
    fn buffer(&self, ctx_id: u32, memory: u64) {
        let mut external = vk::ExternalMemoryBufferCreateInfo::default()
            .handle_types(vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT);
        let info = vk::BufferCreateInfo::default()
            .size(LEN)
            .usage(vk::BufferUsageFlags::TRANSFER_DST)
            .push_next(&mut external);
        self.create_buffer_as(ctx_id, BUFFER, &info);
        binding(BUFFER, memory, |command| self.send_to(ctx_id, command));
        let flags = vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER;
        self.create_command_buffer(ctx_id, POOL, flags, COMMANDS);
    }

    /// The GPU fills the buffer; waited for.
    fn fill(&mut self, ctx_id: u32, word: u32) {
        let command_buffer = vk::CommandBuffer::from_raw(COMMANDS);
        self.begin_filling(ctx_id, command_buffer, BUFFER, LEN, word);
        self.send_to(
            ctx_id,
            &command!(VkEndCommandBuffer {
                command_buffer,
                ret: vk::Result::SUCCESS,
            }),
        );
        let batch = vk::SubmitInfo::default();
        self.submit_as(ctx_id, &batch.command_buffers(&[command_buffer]));
        self.finish_of(ctx_id);
    }

    /// Nobody holds a range any more: soon, for a context tells the front that it has left one on its own time, whatever
    /// fences say.
    fn all_comes_back(&self) {
        let started = Instant::now();
        loop {
            let used = self.front.status().window_used;
            if used == 0 {
                return;
            }
            assert!(started.elapsed() < LIMIT, "{used} bytes are still held");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The words of a range of the arena, if they are all the same.
    fn word_at(&self, offset: u64) -> Option<u32> {
        let mut bytes = vec![0; LEN as usize];
        self.arena.read(offset, &mut bytes).unwrap();
        let first = &bytes[..4];
        bytes
            .chunks_exact(4)
            .all(|word| word == first)
            .then(|| u32::from_le_bytes(first.try_into().unwrap()))
    }
}

/// Whether every page of a range is marked; takes the marks.
fn is_marked(bitmap: &DirtyBitmap, offset: u64) -> bool {
    let mut pages = Vec::new();
    bitmap.take(|page| pages.push(page)).unwrap();
    (offset / 4096..(offset + LEN).div_ceil(4096)).all(|page| pages.contains(&page))
}

fn bitmap() -> DirtyBitmap {
    let words = Mapping::anonymous("test", DirtyBitmap::file_len(ARENA_LEN)).unwrap();
    DirtyBitmap::new(words, ARENA_LEN).unwrap()
}

/// Two contexts, the second with [`OTHER`] imported from the first; where it lies in the arena.
fn share(world: &mut World, memory_type: u32) -> u64 {
    world.set_up_as(EXPORTER);
    world.set_up_as(IMPORTER);
    world.export(memory_type);
    world.finish_of(EXPORTER);
    let blob = world
        .front
        .create_blob(EXPORTER, RESOURCE, MEMORY, LEN)
        .unwrap();
    world.front.attach_resource(IMPORTER, RESOURCE).unwrap();
    world.import(OTHER, LEN, RESOURCE);
    world.buffer(IMPORTER, OTHER);
    world.finish_of(IMPORTER);
    blob.offset
}

#[test]
fn writes_of_both_contexts_are_marked_in_one_range_that_the_last_gives_back() {
    let Some(arena) = arena() else { return };
    let bitmap = bitmap();
    let mut world = World::marking(&arena, Some(bitmap.clone()));
    // Any memory type is host-visible once it is exported.
    let offset = share(&mut world, MEMORY_TYPE_DEVICE);
    world.buffer(EXPORTER, MEMORY);

    for (ctx_id, word) in [(IMPORTER, 0x1111_1111), (EXPORTER, 0x2222_2222)] {
        bitmap.take(|_| {}).unwrap();
        world.fill(ctx_id, word);
        assert_eq!(world.word_at(offset), Some(word));
        assert!(is_marked(&bitmap, offset), "context {ctx_id}");
    }

    let used = world.front.status().window_used;
    assert_eq!(used, LEN.next_multiple_of(4096), "one range");
    world.front.unref_resource(RESOURCE).unwrap();
    world.free(EXPORTER, MEMORY);
    world.finish_of(EXPORTER);
    assert_eq!(world.front.status().window_used, used, "the importer's");
    world.fill(IMPORTER, 0x3333_3333);
    assert_eq!(world.word_at(offset), Some(0x3333_3333));

    world.free(IMPORTER, OTHER);
    world.finish_of(IMPORTER);
    world.all_comes_back();
    assert_eq!(world.word_at(offset), Some(0), "zeroed for the next");
}

#[test]
fn imported_memory_comes_back_without_its_resource() {
    let Some(arena) = arena() else { return };
    let mut world = World::marking(&arena, Some(bitmap()));
    let offset = share(&mut world, MEMORY_TYPE_HOST);
    world.fill(IMPORTER, 0x4444_4444);
    world.front.unref_resource(RESOURCE).unwrap();
    world.free(EXPORTER, MEMORY);
    world.finish_of(EXPORTER);

    let bitmap = bitmap();
    let mut world = world.restored(|| World::marking(&arena, Some(bitmap.clone())));

    assert_eq!(world.word_at(offset), Some(0x4444_4444));
    bitmap.take(|_| {}).unwrap();
    world.fill(IMPORTER, 0x5555_5555);
    assert_eq!(world.word_at(offset), Some(0x5555_5555));
    assert!(is_marked(&bitmap, offset));
    world.free(IMPORTER, OTHER);
    world.finish_of(IMPORTER);
    world.all_comes_back();
}

#[test]
fn import_that_is_too_long_or_of_nothing_holds_nothing_and_costs_no_context() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
    share(&mut world, MEMORY_TYPE_HOST);
    let used = world.front.status().window_used;

    world.import(40, used + 1, RESOURCE);
    world.import(41, u64::MAX, RESOURCE);
    world.import(42, LEN, RESOURCE + 1);
    world.import(43, LEN, 0);
    world.finish_of(IMPORTER);

    world.free(IMPORTER, OTHER);
    world.finish_of(IMPORTER);
    world.front.unref_resource(RESOURCE).unwrap();
    world.free(EXPORTER, MEMORY);
    world.finish_of(EXPORTER);
    world.all_comes_back();
}

#[test]
fn lost_importer_gives_its_hold_back() {
    let Some(arena) = arena() else { return };
    let mut world = World::new(&arena);
    share(&mut world, MEMORY_TYPE_HOST);
    world.front.unref_resource(RESOURCE).unwrap();
    world.free(EXPORTER, MEMORY);
    world.finish_of(EXPORTER);
    assert_ne!(world.front.status().window_used, 0);

    world.front.destroy_context(IMPORTER).unwrap();

    world.all_comes_back();
}

#[test]
fn import_without_an_arena_is_the_memory_file() {
    if is_skipped() {
        return;
    }
    let mut world = World::without_arena();
    world.set_up_as(IMPORTER);
    let blob = world
        .front
        .create_vtest_blob(IMPORTER, RESOURCE, 0, LEN)
        .unwrap();
    world.import(OTHER, LEN, RESOURCE);
    world.buffer(IMPORTER, OTHER);
    world.front.unref_resource(RESOURCE).unwrap();

    world.fill(IMPORTER, 0x6666_6666);

    let mut bytes = vec![0; LEN as usize];
    blob.file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0x66));
}
