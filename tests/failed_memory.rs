//! Memory that could not be allocated, while the guest did not wait for that answer: what would be bound to it stays
//! unbound, freeing it does nothing, its blob is out of memory, and all that is so over a cut and a restore, too. A use
//! of what has no memory ends the context, before a driver sees it.

mod raw;

use std::path::Path;

use ash::vk::{self, Handle};
use hesper_front::{FrontError, Quotas};
use hesper_memory::Mapping;
use hesper_venus::{Args, Command, args};

use raw::{CTX, DEVICE, LAVAPIPE, LIMIT, World};

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

/// The two memory types that every guest sees: device-local, host-visible.
const MEMORY_TYPE_DEVICE: u32 = 0;
const MEMORY_TYPE_HOST: u32 = 1;
const LEN: u64 = 65536;
const ARENA_LEN: u64 = 64 << 20;
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

fn device() -> vk::Device {
    vk::Device::from_raw(DEVICE)
}

fn world(arena: &Mapping, device_memory_max: u64) -> World {
    let quotas = Quotas {
        device_memory_max,
        ..Quotas::default()
    };
    World::limited(arena, quotas)
}

/// `None`, told, where there is no lavapipe.
fn arena() -> Option<Mapping> {
    if !Path::new(LAVAPIPE).exists() {
        println!("SKIPPED: no {LAVAPIPE}");
        return None;
    }
    Some(Mapping::anonymous("test", ARENA_LEN).unwrap())
}

impl World {
    fn allocate(&self, id: u64, memory_type: u32, len: u64) {
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(len)
            .memory_type_index(memory_type);
        let mut memory = vk::DeviceMemory::from_raw(id);
        self.send(&Command::VkAllocateMemory(Args::new(
            &mut args::VkAllocateMemory {
                device: device(),
                p_allocate_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_memory: &raw mut memory,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    fn free(&self) {
        self.send(&Command::VkFreeMemory(Args::new(&mut args::VkFreeMemory {
            device: device(),
            memory: vk::DeviceMemory::from_raw(MEMORY),
            p_allocator: std::ptr::null(),
        })));
    }

    fn create_buffer(&self) {
        let usage = vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER;
        let info = vk::BufferCreateInfo::default().size(LEN).usage(usage);
        let mut buffer = vk::Buffer::from_raw(BUFFER);
        self.send(&Command::VkCreateBuffer(Args::new(
            &mut args::VkCreateBuffer {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_buffer: &raw mut buffer,
                ret: vk::Result::SUCCESS,
            },
        )));
    }

    /// Binds the buffer; what that is answered, if it is `heard`.
    fn bind(&mut self, memory: u64, heard: bool) -> Option<vk::Result> {
        let bind = vk::BindBufferMemoryInfo::default()
            .buffer(vk::Buffer::from_raw(BUFFER))
            .memory(vk::DeviceMemory::from_raw(memory));
        let mut args = args::VkBindBufferMemory2 {
            device: device(),
            bind_info_count: 1,
            p_bind_infos: (&raw const bind).cast(),
            ret: vk::Result::SUCCESS,
        };
        let command = Command::VkBindBufferMemory2(Args::new(&mut args));
        if heard {
            return Some(self.ask(&command));
        }
        self.send(&command);
        None
    }

    fn create_view(&mut self, heard: bool) -> Option<vk::Result> {
        let info = vk::BufferViewCreateInfo::default()
            .buffer(vk::Buffer::from_raw(BUFFER))
            .format(vk::Format::R32_UINT)
            .range(vk::WHOLE_SIZE);
        let mut view = vk::BufferView::from_raw(VIEW);
        let mut args = args::VkCreateBufferView {
            device: device(),
            p_create_info: (&raw const info).cast(),
            p_allocator: std::ptr::null(),
            p_view: &raw mut view,
            ret: vk::Result::SUCCESS,
        };
        let command = Command::VkCreateBufferView(Args::new(&mut args));
        if heard {
            return Some(self.ask(&command));
        }
        self.send(&command);
        None
    }

    fn destroy_view(&self) {
        self.send(&Command::VkDestroyBufferView(Args::new(
            &mut args::VkDestroyBufferView {
                device: device(),
                buffer_view: vk::BufferView::from_raw(VIEW),
                p_allocator: std::ptr::null(),
            },
        )));
    }

    fn destroy_buffer(&self) {
        self.send(&Command::VkDestroyBuffer(Args::new(
            &mut args::VkDestroyBuffer {
                device: device(),
                buffer: vk::Buffer::from_raw(BUFFER),
                p_allocator: std::ptr::null(),
            },
        )));
    }

    /// An image on the memory and a view of it, made, asked about and destroyed.
    fn image(&self) {
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
        self.send(&Command::VkCreateImage(Args::new(
            &mut args::VkCreateImage {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_image: &raw mut image,
                ret: vk::Result::SUCCESS,
            },
        )));
        let bind = vk::BindImageMemoryInfo::default()
            .image(image)
            .memory(vk::DeviceMemory::from_raw(MEMORY));
        self.send(&Command::VkBindImageMemory2(Args::new(
            &mut args::VkBindImageMemory2 {
                device: device(),
                bind_info_count: 1,
                p_bind_infos: (&raw const bind).cast(),
                ret: vk::Result::SUCCESS,
            },
        )));
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
        let mut view = vk::ImageView::from_raw(IMAGE_VIEW);
        self.send(&Command::VkCreateImageView(Args::new(
            &mut args::VkCreateImageView {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_view: &raw mut view,
                ret: vk::Result::SUCCESS,
            },
        )));
        self.send(&Command::VkDestroyImageView(Args::new(
            &mut args::VkDestroyImageView {
                device: device(),
                image_view: view,
                p_allocator: std::ptr::null(),
            },
        )));
        self.send(&Command::VkDestroyImage(Args::new(
            &mut args::VkDestroyImage {
                device: device(),
                image,
                p_allocator: std::ptr::null(),
            },
        )));
        let mut bytes = 7;
        self.send(&Command::VkGetDeviceMemoryCommitment(Args::new(
            &mut args::VkGetDeviceMemoryCommitment {
                device: device(),
                memory: vk::DeviceMemory::from_raw(MEMORY),
                p_committed_memory_in_bytes: &raw mut bytes,
            },
        )));
        let info = vk::DeviceMemoryOpaqueCaptureAddressInfo::default()
            .memory(vk::DeviceMemory::from_raw(MEMORY));
        self.send(&Command::VkGetDeviceMemoryOpaqueCaptureAddress(Args::new(
            &mut args::VkGetDeviceMemoryOpaqueCaptureAddress {
                device: device(),
                p_info: (&raw const info).cast(),
                ret: 0,
            },
        )));
    }

    /// Records a fill of the buffer.
    fn record(&self) {
        let info = vk::CommandPoolCreateInfo::default();
        let mut pool = vk::CommandPool::from_raw(POOL);
        self.send(&Command::VkCreateCommandPool(Args::new(
            &mut args::VkCreateCommandPool {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_command_pool: &raw mut pool,
                ret: vk::Result::SUCCESS,
            },
        )));
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .command_buffer_count(1);
        let mut command_buffer = vk::CommandBuffer::from_raw(COMMANDS);
        self.send(&Command::VkAllocateCommandBuffers(Args::new(
            &mut args::VkAllocateCommandBuffers {
                device: device(),
                p_allocate_info: (&raw const info).cast(),
                p_command_buffers: &raw mut command_buffer,
                ret: vk::Result::SUCCESS,
            },
        )));
        let info = vk::CommandBufferBeginInfo::default();
        self.send(&Command::VkBeginCommandBuffer(Args::new(
            &mut args::VkBeginCommandBuffer {
                command_buffer,
                p_begin_info: (&raw const info).cast(),
                ret: vk::Result::SUCCESS,
            },
        )));
        self.send(&Command::VkCmdFillBuffer(Args::new(
            &mut args::VkCmdFillBuffer {
                command_buffer,
                dst_buffer: vk::Buffer::from_raw(BUFFER),
                dst_offset: 0,
                size: vk::WHOLE_SIZE,
                data: 7,
            },
        )));
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
        self.send(&Command::VkCreateDescriptorSetLayout(Args::new(
            &mut args::VkCreateDescriptorSetLayout {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_set_layout: &raw mut layout,
                ret: vk::Result::SUCCESS,
            },
        )));
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: 1,
        }];
        let info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(1)
            .pool_sizes(&sizes);
        let mut pool = vk::DescriptorPool::from_raw(SET_POOL);
        self.send(&Command::VkCreateDescriptorPool(Args::new(
            &mut args::VkCreateDescriptorPool {
                device: device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_descriptor_pool: &raw mut pool,
                ret: vk::Result::SUCCESS,
            },
        )));
        let layouts = [layout];
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(&layouts);
        let mut set = vk::DescriptorSet::from_raw(SET);
        self.send(&Command::VkAllocateDescriptorSets(Args::new(
            &mut args::VkAllocateDescriptorSets {
                device: device(),
                p_allocate_info: (&raw const info).cast(),
                p_descriptor_sets: &raw mut set,
                ret: vk::Result::SUCCESS,
            },
        )));
        let buffers = [vk::DescriptorBufferInfo {
            buffer: vk::Buffer::from_raw(BUFFER),
            offset: 0,
            range: vk::WHOLE_SIZE,
        }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .buffer_info(&buffers);
        self.send(&Command::VkUpdateDescriptorSets(Args::new(
            &mut args::VkUpdateDescriptorSets {
                device: device(),
                descriptor_write_count: 1,
                p_descriptor_writes: (&raw const write).cast(),
                descriptor_copy_count: 0,
                p_descriptor_copies: std::ptr::null(),
            },
        )));
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
            world.free();
        }
        world.allocate(MEMORY, memory_type, len);
        assert_eq!(world.bind(MEMORY, true), Some(answer));
        assert_eq!(world.create_view(true), Some(NO_DEVICE_MEMORY));
        world.finish_of(OTHER);
        world.front.quiesce(b"tables", LIMIT).unwrap();
        let saved = world.front.save().unwrap();
        drop(world);

        let mut world = self::world(&arena, quota);
        world.front.load(&saved).unwrap();
        world.front.resume();
        world.blob_is_out_of_memory();
        world.bind(MEMORY, false);
        world.free();
        // It is as unbound as ever, so other memory may take the place.
        world.allocate(GOOD, MEMORY_TYPE_DEVICE, LEN);
        world.bind(GOOD, false);
        world.create_view(false);
        world.record();
        world.describe();
        world.finish();
        world.finish_of(OTHER);

        // Freed, it is nothing any more.
        world.free();
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
        world.free();
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
    let mut buffer = vk::Buffer::from_raw(BUFFER);
    world.send(&Command::VkCreateBuffer(Args::new(
        &mut args::VkCreateBuffer {
            device: device(),
            p_create_info: (&raw const info).cast(),
            p_allocator: std::ptr::null(),
            p_buffer: &raw mut buffer,
            ret: vk::Result::SUCCESS,
        },
    )));
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
