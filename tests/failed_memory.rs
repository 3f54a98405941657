//! Memory that could not be allocated, while the guest did not wait for that answer: what would be bound to it stays
//! unbound, freeing it does nothing, its blob is out of memory, and all that is so over a cut and a restore, too. A use
//! of what has no memory ends the context, before a driver sees it.

#[macro_use]
mod raw;

use ash::vk::{self, Handle};
use hesper_front::{FrontError, Quotas};
use hesper_memory::Mapping;
use hesper_venus::Command;

use raw::{ARENA_LEN, CTX, MEMORY_TYPE_DEVICE, MEMORY_TYPE_HOST, World, arena, binding, device};

const OTHER: u32 = CTX + 1;
const MEMORY: u64 = 20;
const GOOD: u64 = 21;
const BUFFER: u64 = 22;
const VIEW: u64 = 23;
const IMAGE: u64 = 24;
const IMAGE_VIEW: u64 = 25;
const POOL: u64 = 26;
const COMMANDS: u64 = 27;
const SET_LAYOUT: u64 = 28;
const SET_POOL: u64 = 29;
const SET: u64 = 30;
const BLOB: u32 = 7;

const LEN: u64 = 65536;
const DEVICE_MEMORY_MAX: u64 = 16 << 20;

const NO_DEVICE_MEMORY: vk::Result = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
const NO_HOST_MEMORY: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;

/// Why there is no memory: what, quota of device-local memory, type, length, answer.
#[rustfmt::skip]
const REASONS: [(&str, u64, u32, u64, vk::Result); 3] = [
    ("quota", DEVICE_MEMORY_MAX, MEMORY_TYPE_DEVICE, 32 << 20, NO_DEVICE_MEMORY),
    ("window", DEVICE_MEMORY_MAX, MEMORY_TYPE_HOST, ARENA_LEN, NO_HOST_MEMORY),
    ("driver", u64::MAX, MEMORY_TYPE_DEVICE, 1 << 50, NO_DEVICE_MEMORY),
];

fn world(arena: &Mapping, device_memory_max: u64) -> World {
    let quotas = Quotas {
        device_memory_max,
        ..Quotas::default()
    };
    World::limited(arena, quotas)
}

impl World {
    fn allocate(&self, id: u64, memory_type: u32, len: u64) {
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(len)
            .memory_type_index(memory_type);
        self.allocate_as(CTX, id, &info);
    }

    fn create_buffer(&self) {
        let usage = vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER;
        let info = vk::BufferCreateInfo::default().size(LEN).usage(usage);
        self.create_buffer_as(CTX, BUFFER, &info);
    }

    /// Sends a command; what it is answered, if that is `heard`.
    fn tell(&mut self, command: &Command<'_>, heard: bool) -> Option<vk::Result> {
        if heard {
            return Some(self.ask(command));
        }
        self.send(command);
        None
    }

    fn bind(&mut self, memory: u64, heard: bool) -> Option<vk::Result> {
        binding(BUFFER, memory, |command| self.tell(command, heard))
    }

    fn create_view(&mut self, heard: bool) -> Option<vk::Result> {
        let info = vk::BufferViewCreateInfo::default()
            .buffer(vk::Buffer::from_raw(BUFFER))
            .format(vk::Format::R32_UINT)
            .range(vk::WHOLE_SIZE);
        self.tell(
            &create!(VkCreateBufferView {
                p_create_info: &info,
                p_view: &mut vk::BufferView::from_raw(VIEW),
            }),
            heard,
        )
    }

    fn destroy_view(&self) {
        let buffer_view = vk::BufferView::from_raw(VIEW);
        self.send(&destroy!(VkDestroyBufferView { buffer_view }));
    }

    fn destroy_buffer(&self) {
        let buffer = vk::Buffer::from_raw(BUFFER);
        self.send(&destroy!(VkDestroyBuffer { buffer }));
    }

    /// An image on the memory and a view of it, made, asked about and destroyed.
    fn image(&self) {
        let memory = vk::DeviceMemory::from_raw(MEMORY);
        let extent = vk::Extent3D {
            width: 16,
            height: 16,
            depth: 1,
        };
        let info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .extent(extent)
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(vk::ImageUsageFlags::SAMPLED);
        let mut image = vk::Image::from_raw(IMAGE);
        self.send(&create!(VkCreateImage {
            p_create_info: &info,
            p_image: &mut image,
        }));
        let bind = vk::BindImageMemoryInfo::default()
            .image(image)
            .memory(memory);
        self.send(&command!(VkBindImageMemory2 {
            device: device(),
            bind_info_count: 1,
            p_bind_infos: &bind,
            ret: vk::Result::SUCCESS,
        }));
        let range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        };
        let info = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(vk::Format::R8G8B8A8_UNORM)
            .subresource_range(range);
        let mut image_view = vk::ImageView::from_raw(IMAGE_VIEW);
        self.send(&create!(VkCreateImageView {
            p_create_info: &info,
            p_view: &mut image_view,
        }));
        self.send(&destroy!(VkDestroyImageView { image_view }));
        self.send(&destroy!(VkDestroyImage { image }));
        self.send(&command!(VkGetDeviceMemoryCommitment {
            device: device(),
            memory,
            p_committed_memory_in_bytes: &mut 7,
        }));
        let info = vk::DeviceMemoryOpaqueCaptureAddressInfo::default().memory(memory);
        self.send(&command!(VkGetDeviceMemoryOpaqueCaptureAddress {
            device: device(),
            p_info: &info,
            ret: 0,
        }));
    }

    /// Records a fill of the buffer.
    fn record(&self) {
        let flags = vk::CommandPoolCreateFlags::empty();
        let command_buffer = self.create_command_buffer(CTX, POOL, flags, COMMANDS);
        self.begin_filling(CTX, command_buffer, BUFFER, vk::WHOLE_SIZE, 7);
    }

    /// Writes the buffer into a descriptor.
    fn describe(&self) {
        let binding = vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE);
        let bindings = [binding];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let mut layout = vk::DescriptorSetLayout::from_raw(SET_LAYOUT);
        self.send(&create!(VkCreateDescriptorSetLayout {
            p_create_info: (&raw const info).cast(),
            p_set_layout: &mut layout,
        }));
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: 1,
        }];
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(1)
            .pool_sizes(&sizes);
        let mut pool = vk::DescriptorPool::from_raw(SET_POOL);
        self.send(&create!(VkCreateDescriptorPool {
            p_create_info: (&raw const info).cast(),
            p_descriptor_pool: &mut pool,
        }));
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(&layouts);
        let mut set = vk::DescriptorSet::from_raw(SET);
        self.send(&command!(VkAllocateDescriptorSets {
            device: device(),
            p_allocate_info: (&raw const info).cast(),
            p_descriptor_sets: &mut set,
            ret: vk::Result::SUCCESS,
        }));
        let buffers = [vk::DescriptorBufferInfo {
            buffer: vk::Buffer::from_raw(BUFFER),
            offset: 0,
            range: vk::WHOLE_SIZE,
        }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&buffers);
        self.send(&command!(VkUpdateDescriptorSets {
            device: device(),
            descriptor_write_count: 1,
            p_descriptor_writes: (&raw const write).cast(),
            descriptor_copy_count: 0,
            p_descriptor_copies: std::ptr::null(),
        }));
    }

    /// Shows the memory as a blob, which must be out of memory.
    fn blob_is_out_of_memory(&self) {
        let blob = self.front.create_blob(CTX, BLOB, MEMORY, LEN);
        assert!(
            matches!(blob, Err(FrontError::OutOfMemory(LEN))),
            "{blob:?}"
        );
    }
}

#[test]
fn unheard_failures_of_memory_cost_no_context_and_survive_a_restore() {
    let Some(arena) = arena() else { return };
    for (reason, quota, memory_type, len, answer) in REASONS {
        println!("no memory: {reason}");
        let mut world = world(&arena, quota);
        world.set_up();
        world.set_up_as(OTHER);

        // Used, freed, and its id used again: the second time for what stays.
        world.create_buffer();
        for _ in 0..2 {
            world.allocate(MEMORY, memory_type, len);
            world.bind(MEMORY, false);
            world.create_view(false);
            world.destroy_view();
            world.finish();
            world.blob_is_out_of_memory();
            world.free(CTX, MEMORY);
        }
        world.allocate(MEMORY, memory_type, len);
        assert_eq!(world.bind(MEMORY, true), Some(answer));
        assert_eq!(world.create_view(true), Some(NO_DEVICE_MEMORY));
        world.finish_of(OTHER);

        let mut world = world.restored(|| self::world(&arena, quota));
        world.blob_is_out_of_memory();
        world.bind(MEMORY, false);
        world.free(CTX, MEMORY);
        // It is as unbound as ever, so other memory may take the place.
        world.allocate(GOOD, MEMORY_TYPE_DEVICE, LEN);
        world.bind(GOOD, false);
        world.create_view(false);
        world.record();
        world.describe();
        world.finish();
        world.finish_of(OTHER);

        // Freed, it is nothing any more.
        world.free(CTX, MEMORY);
        let lost = world.loss();
        assert!(lost.contains("No object"), "{lost}");
    }
}

#[test]
fn image_on_memory_that_never_came_to_be_costs_no_context() {
    let Some(arena) = arena() else { return };
    for (reason, quota, memory_type, len, _) in REASONS {
        println!("no memory: {reason}");
        let mut world = world(&arena, quota);
        world.set_up();
        world.allocate(MEMORY, memory_type, len);
        world.image();
        world.free(CTX, MEMORY);
        world.finish();
    }
}

#[test]
fn buffer_that_never_came_to_be_is_bound_without_harm() {
    let Some(arena) = arena() else { return };
    let mut world = world(&arena, DEVICE_MEMORY_MAX);
    world.set_up();
    world.allocate(GOOD, MEMORY_TYPE_DEVICE, LEN);
    let info = vk::BufferCreateInfo::default()
        .size(u64::MAX)
        .usage(vk::BufferUsageFlags::TRANSFER_DST);
    world.create_buffer_as(CTX, BUFFER, &info);
    world.bind(GOOD, false);
    world.destroy_buffer();
    world.finish();
}

/// A use of the buffer, with its name.
type Use = (&'static str, fn(&World));

#[test]
fn use_of_a_buffer_without_memory_ends_the_context_alone() {
    let Some(arena) = arena() else { return };
    let uses: [Use; 2] = [("command", World::record), ("descriptor", World::describe)];
    for bound in [true, false] {
        for (name, use_it) in uses {
            println!("{name}, bound: {bound}");
            let mut world = world(&arena, DEVICE_MEMORY_MAX);
            world.set_up();
            world.set_up_as(OTHER);
            world.create_buffer();
            if bound {
                world.allocate(MEMORY, MEMORY_TYPE_DEVICE, 32 << 20);
                world.bind(MEMORY, false);
            }
            world.finish();

            use_it(&world);

            let lost = world.loss();
            assert!(lost.contains("has no memory"), "{name}: {lost}");
            world.finish_of(OTHER);
        }
    }
}
