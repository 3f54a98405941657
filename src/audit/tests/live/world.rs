//! Random programs: a guest that makes buffers, descriptors and pipelines, and records whatever comes.

use std::ffi::CString;

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::host::{DEVICE, DEVICE_LOCAL, HOST_VISIBLE, Host, QUEUE, run};

const CHUNK: u64 = 64 * 1024;

/// xorshift64*: the seed is the whole state.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// A multiple of `unit` that is less than `limit`, 0 at least.
    fn multiple(&mut self, unit: u64, limit: u64) -> u64 {
        self.below(limit.div_ceil(unit)) * unit
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    id: u64,
    size: u64,
    memory: u64,
    addressed: bool,
}

/// Which layout a pipeline has, and so how its descriptors are given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Set 0 of four storage buffers, set 1 a uniform buffer.
    Plain,
    Dynamic,
    Pushed,
    Texel,
    Array,
    Address,
}

#[derive(Clone, Copy, Debug)]
struct Pipeline {
    id: u64,
    kind: Kind,
    name: &'static str,
}

pub struct World<'h> {
    host: &'h mut Host,
    random: Random,
    next_id: u64,
    made: Vec<(vk::ObjectType, u64)>,
    buffers: Vec<Buffer>,
    node: Buffer,
    indirect: Buffer,
    /// By kind.
    layouts: Vec<(Kind, u64)>,
    pipelines: Vec<Pipeline>,
    plain_sets: Vec<u64>,
    uniform_set: u64,
    dynamic_set: u64,
    texel_set: u64,
    array_set: u64,
    query_pool: u64,
    primary: u64,
    secondary: u64,
    summary: String,
}

macro_rules! code {
    ($name:literal) => {
        include_bytes!(concat!("../../spirv/shaders/", $name, ".spv"))
    };
}

/// (offset in the source, offset in the target, length).
type Region = (u64, u64, u64);

const NONE: Buffer = Buffer {
    id: 0,
    size: 0,
    memory: 0,
    addressed: false,
};

impl<'h> World<'h> {
    pub fn new(host: &'h mut Host, seed: u64) -> Self {
        let mut world = World {
            host,
            random: Random::new(seed),
            next_id: 100,
            made: Vec::new(),
            buffers: Vec::new(),
            node: NONE,
            indirect: NONE,
            layouts: Vec::new(),
            pipelines: Vec::new(),
            plain_sets: Vec::new(),
            uniform_set: 0,
            dynamic_set: 0,
            texel_set: 0,
            array_set: 0,
            query_pool: 0,
            primary: 0,
            secondary: 0,
            summary: String::new(),
        };
        world.make_memory();
        world.make_layouts();
        world.make_pipelines();
        world.make_recording();
        world
    }

    fn id(&mut self, object_type: vk::ObjectType) -> u64 {
        self.next_id += 1;
        self.made.push((object_type, self.next_id));
        self.next_id
    }

    fn device() -> vk::Device {
        vk::Device::from_raw(DEVICE)
    }

    fn memory(&mut self, size: u64, memory_type: u32) -> u64 {
        let id = self.id(vk::ObjectType::DEVICE_MEMORY);
        let mut flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut flags);
        let mut memory = vk::DeviceMemory::from_raw(id);
        run!(
            self.host,
            VkAllocateMemory {
                device: Self::device(),
                p_allocate_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_memory: &mut memory,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    fn buffer(&mut self, memory: u64, memory_size: u64, size: u64, addressed: bool) -> Buffer {
        let id = self.id(vk::ObjectType::BUFFER);
        let mut usage = vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER;
        if addressed {
            usage |= vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
        }
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let mut buffer = vk::Buffer::from_raw(id);
        run!(
            self.host,
            VkCreateBuffer {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_buffer: &mut buffer,
                ret: vk::Result::SUCCESS,
            }
        );
        let needs = self.host.requirements(id);
        assert!(needs.size <= memory_size);
        let offset = self
            .random
            .multiple(needs.alignment.max(256), memory_size - needs.size + 1);
        let bind = [vk::BindBufferMemoryInfo::default()
            .buffer(buffer)
            .memory(vk::DeviceMemory::from_raw(memory))
            .memory_offset(offset)];
        run!(
            self.host,
            VkBindBufferMemory2 {
                device: Self::device(),
                bind_info_count: 1,
                p_bind_infos: bind.as_ptr(),
                ret: vk::Result::SUCCESS,
            }
        );
        Buffer {
            id,
            size,
            memory,
            addressed,
        }
    }

    /// A few memory objects with buffers that may overlap.
    fn make_memory(&mut self) {
        for index in 0..4 {
            let chunks = 6 + self.random.below(14);
            let size = chunks * CHUNK + self.random.multiple(4096, CHUNK);
            let memory_type = if index == 3 {
                HOST_VISIBLE
            } else {
                DEVICE_LOCAL
            };
            let memory = self.memory(size, memory_type);
            for _ in 0..2 + self.random.below(3) {
                let limit = self.random.pick(&[4096, CHUNK, 5 * CHUNK]);
                let size = 4096 + self.random.multiple(4, limit);
                let addressed = self.random.one_in(3);
                let buffer = self.buffer(memory, chunks * CHUNK, size, addressed);
                self.buffers.push(buffer);
            }
        }
        if !self.buffers.iter().any(|buffer| buffer.addressed) {
            let memory = self.memory(2 * CHUNK, DEVICE_LOCAL);
            let buffer = self.buffer(memory, 2 * CHUNK, CHUNK, true);
            self.buffers.push(buffer);
        }
        // What these hold must be right, so that they have memory of their own.
        let memory = self.memory(2 * CHUNK, DEVICE_LOCAL);
        self.node = self.buffer(memory, 2 * CHUNK, 256, true);
        let memory = self.memory(2 * CHUNK, DEVICE_LOCAL);
        self.indirect = self.buffer(memory, 2 * CHUNK, 256, false);
    }

    fn set_layout(
        &mut self,
        bindings: &[(u32, vk::DescriptorType, u32)],
        flags: vk::DescriptorSetLayoutCreateFlags,
    ) -> u64 {
        let id = self.id(vk::ObjectType::DESCRIPTOR_SET_LAYOUT);
        let late = flags.contains(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL);
        let binding_flags = vec![
            match late {
                true =>
                    vk::DescriptorBindingFlags::UPDATE_AFTER_BIND
                        | vk::DescriptorBindingFlags::PARTIALLY_BOUND,
                false => vk::DescriptorBindingFlags::empty(),
            };
            bindings.len()
        ];
        let bindings: Vec<_> = bindings
            .iter()
            .map(|(binding, descriptor_type, count)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(*binding)
                    .descriptor_type(*descriptor_type)
                    .descriptor_count(*count)
                    .stage_flags(vk::ShaderStageFlags::COMPUTE)
            })
            .collect();
        let mut binding_flags =
            vk::DescriptorSetLayoutBindingFlagsCreateInfo::default().binding_flags(&binding_flags);
        let info = vk::DescriptorSetLayoutCreateInfo::default()
            .flags(flags)
            .bindings(&bindings)
            .push_next(&mut binding_flags);
        let mut layout = vk::DescriptorSetLayout::from_raw(id);
        run!(
            self.host,
            VkCreateDescriptorSetLayout {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_set_layout: &mut layout,
                ret: vk::Result::SUCCESS,
            }
        );
        id
    }

    fn pipeline_layout(&mut self, kind: Kind, sets: &[u64]) {
        let id = self.id(vk::ObjectType::PIPELINE_LAYOUT);
        let sets: Vec<_> = sets
            .iter()
            .map(|set| vk::DescriptorSetLayout::from_raw(*set))
            .collect();
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            offset: 0,
            size: 32,
        }];
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&sets)
            .push_constant_ranges(&ranges);
        let mut layout = vk::PipelineLayout::from_raw(id);
        run!(
            self.host,
            VkCreatePipelineLayout {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_pipeline_layout: &mut layout,
                ret: vk::Result::SUCCESS,
            }
        );
        self.layouts.push((kind, id));
    }

    fn make_layouts(&mut self) {
        const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
        const DYNAMIC: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;
        const TEXEL: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
        const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
        let late = vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL;
        let none = vk::DescriptorSetLayoutCreateFlags::empty();
        let four = |descriptor_type| [0, 1, 2, 3].map(|binding| (binding, descriptor_type, 1));
        let plain = self.set_layout(&four(STORAGE), late);
        let uniform = self.set_layout(&[(0, UNIFORM, 1)], none);
        let dynamic = self.set_layout(&four(DYNAMIC), none);
        let pushed = self.set_layout(
            &four(STORAGE),
            vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR,
        );
        let texel = self.set_layout(&[(2, TEXEL, 1)], late);
        let array = self.set_layout(&[(7, STORAGE, 8), (1, STORAGE, 4)], late);
        self.pipeline_layout(Kind::Plain, &[plain, uniform]);
        self.pipeline_layout(Kind::Dynamic, &[dynamic]);
        self.pipeline_layout(Kind::Pushed, &[pushed]);
        self.pipeline_layout(Kind::Texel, &[texel]);
        self.pipeline_layout(Kind::Array, &[plain, plain, array]);
        self.pipeline_layout(Kind::Address, &[plain]);

        let pool = self.id(vk::ObjectType::DESCRIPTOR_POOL);
        let sizes = [STORAGE, DYNAMIC, TEXEL, UNIFORM].map(|ty| vk::DescriptorPoolSize {
            ty,
            descriptor_count: 64,
        });
        let info = vk::DescriptorPoolCreateInfo::default()
            .flags(vk::DescriptorPoolCreateFlags::UPDATE_AFTER_BIND)
            .max_sets(16)
            .pool_sizes(&sizes);
        let mut handle = vk::DescriptorPool::from_raw(pool);
        run!(
            self.host,
            VkCreateDescriptorPool {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_descriptor_pool: &mut handle,
                ret: vk::Result::SUCCESS,
            }
        );
        let layouts = [plain, plain, plain, uniform, dynamic, texel, array]
            .map(vk::DescriptorSetLayout::from_raw);
        let mut sets: Vec<_> = layouts
            .iter()
            .map(|_| {
                self.next_id += 1;
                vk::DescriptorSet::from_raw(self.next_id)
            })
            .collect();
        let info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(handle)
            .set_layouts(&layouts);
        run!(
            self.host,
            VkAllocateDescriptorSets {
                device: Self::device(),
                p_allocate_info: (&raw const info).cast(),
                p_descriptor_sets: sets.as_mut_ptr(),
                ret: vk::Result::SUCCESS,
            }
        );
        let sets: Vec<u64> = sets.iter().map(|set| set.as_raw()).collect();
        self.plain_sets = sets[..3].to_vec();
        (
            self.uniform_set,
            self.dynamic_set,
            self.texel_set,
            self.array_set,
        ) = (sets[3], sets[4], sets[5], sets[6]);
        for set in self.plain_sets.clone() {
            for binding in 0..4 {
                self.write_buffer_descriptor(set, binding, 0, STORAGE);
            }
        }
        for binding in 0..4 {
            self.write_buffer_descriptor(self.dynamic_set, binding, 0, DYNAMIC);
        }
        self.write_buffer_descriptor(self.uniform_set, 0, 0, UNIFORM);
        for element in 0..4 {
            self.write_buffer_descriptor(self.array_set, 1, element, STORAGE);
        }
        for element in 0..3 {
            self.write_buffer_descriptor(self.array_set, 7, element, STORAGE);
        }
        self.write_texel_descriptor();
    }

    fn buffer_info(&mut self, descriptor_type: vk::DescriptorType) -> vk::DescriptorBufferInfo {
        let buffer = self.random.pick(&self.buffers.clone());
        let uniform = descriptor_type == vk::DescriptorType::UNIFORM_BUFFER;
        let offset = self.random.multiple(256, buffer.size - 2048);
        let rest = buffer.size - offset;
        let range = match descriptor_type {
            // Room for the dynamic offset.
            vk::DescriptorType::STORAGE_BUFFER_DYNAMIC => {
                4 + self.random.multiple(4, rest - 1024 - 4)
            }
            _ if uniform => 256,
            _ if self.random.one_in(4) => vk::WHOLE_SIZE,
            _ => 4 + self.random.multiple(4, rest - 4),
        };
        vk::DescriptorBufferInfo {
            buffer: vk::Buffer::from_raw(buffer.id),
            offset,
            range,
        }
    }

    fn update(&mut self, write: vk::WriteDescriptorSet<'_>) {
        let writes = [write];
        run!(
            self.host,
            VkUpdateDescriptorSets {
                device: Self::device(),
                descriptor_write_count: 1,
                p_descriptor_writes: writes.as_ptr().cast(),
                descriptor_copy_count: 0,
                p_descriptor_copies: std::ptr::null(),
            }
        );
    }

    fn write_buffer_descriptor(
        &mut self,
        set: u64,
        binding: u32,
        element: u32,
        descriptor_type: vk::DescriptorType,
    ) {
        let info = [self.buffer_info(descriptor_type)];
        self.update(
            vk::WriteDescriptorSet::default()
                .dst_set(vk::DescriptorSet::from_raw(set))
                .dst_binding(binding)
                .dst_array_element(element)
                .descriptor_type(descriptor_type)
                .buffer_info(&info),
        );
    }

    fn write_texel_descriptor(&mut self) {
        let buffer = self.random.pick(&self.buffers.clone());
        let offset = self.random.multiple(256, buffer.size - 2048);
        let range = 4 + self
            .random
            .multiple(4, (buffer.size - offset - 4).min(CHUNK));
        let id = self.id(vk::ObjectType::BUFFER_VIEW);
        let info = vk::BufferViewCreateInfo::default()
            .buffer(vk::Buffer::from_raw(buffer.id))
            .format(vk::Format::R32_UINT)
            .offset(offset)
            .range(range);
        let mut view = vk::BufferView::from_raw(id);
        run!(
            self.host,
            VkCreateBufferView {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_view: &mut view,
                ret: vk::Result::SUCCESS,
            }
        );
        let views = [view];
        self.update(
            vk::WriteDescriptorSet::default()
                .dst_set(vk::DescriptorSet::from_raw(self.texel_set))
                .dst_binding(2)
                .descriptor_type(vk::DescriptorType::STORAGE_TEXEL_BUFFER)
                .texel_buffer_view(&views),
        );
    }

    fn layout(&self, kind: Kind) -> u64 {
        self.layouts.iter().find(|(of, _)| *of == kind).unwrap().1
    }

    fn pipeline(&mut self, name: &'static str, code: &[u8], entry: &str, kind: Kind) {
        let words: Vec<u32> = code
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        self.next_id += 1;
        let mut module = vk::ShaderModule::from_raw(self.next_id);
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        run!(
            self.host,
            VkCreateShaderModule {
                device: Self::device(),
                p_create_info: (&raw const info).cast(),
                p_allocator: std::ptr::null(),
                p_shader_module: &mut module,
                ret: vk::Result::SUCCESS,
            }
        );
        let id = self.id(vk::ObjectType::PIPELINE);
        let entry = CString::new(entry).unwrap();
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&entry);
        let infos = [vk::ComputePipelineCreateInfo::default()
            .stage(stage)
            .layout(vk::PipelineLayout::from_raw(self.layout(kind)))];
        let mut pipeline = vk::Pipeline::from_raw(id);
        run!(
            self.host,
            VkCreateComputePipelines {
                device: Self::device(),
                pipeline_cache: vk::PipelineCache::null(),
                create_info_count: 1,
                p_create_infos: infos.as_ptr().cast(),
                p_allocator: std::ptr::null(),
                p_pipelines: &mut pipeline,
                ret: vk::Result::SUCCESS,
            }
        );
        run!(
            self.host,
            VkDestroyShaderModule {
                device: Self::device(),
                shader_module: module,
                p_allocator: std::ptr::null(),
            }
        );
        self.pipelines.push(Pipeline { id, kind, name });
    }

    fn make_pipelines(&mut self) {
        self.pipeline("wide", code!("wide"), "main", Kind::Plain);
        self.pipeline("store", code!("store"), "main", Kind::Plain);
        self.pipeline("atomic", code!("atomic"), "main", Kind::Plain);
        self.pipeline("struct_member", code!("struct_member"), "main", Kind::Plain);
        self.pipeline("ssbo_members", code!("ssbo_members"), "main", Kind::Plain);
        self.pipeline("select", code!("select"), "main", Kind::Plain);
        self.pipeline(
            "pointer_in_variable",
            code!("pointer_in_variable"),
            "main",
            Kind::Plain,
        );
        self.pipeline(
            "function_argument",
            code!("function_argument"),
            "main",
            Kind::Plain,
        );
        self.pipeline("copy_memory", code!("copy_memory"), "main", Kind::Plain);
        self.pipeline("first", code!("two_entry_points"), "first", Kind::Plain);
        self.pipeline("second", code!("two_entry_points"), "second", Kind::Plain);
        self.pipeline("wide dynamic", code!("wide"), "main", Kind::Dynamic);
        self.pipeline(
            "ssbo_members dynamic",
            code!("ssbo_members"),
            "main",
            Kind::Dynamic,
        );
        self.pipeline("wide pushed", code!("wide"), "main", Kind::Pushed);
        self.pipeline(
            "copy_memory pushed",
            code!("copy_memory"),
            "main",
            Kind::Pushed,
        );
        self.pipeline("texel", code!("texel"), "main", Kind::Texel);
        self.pipeline(
            "descriptor_array",
            code!("descriptor_array"),
            "main",
            Kind::Array,
        );
        self.pipeline(
            "device_address",
            code!("device_address"),
            "main",
            Kind::Address,
        );
    }

    fn make_recording(&mut self) {
        self.query_pool = self.id(vk::ObjectType::QUERY_POOL);
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TIMESTAMP)
            .query_count(8);
        let mut pool = vk::QueryPool::from_raw(self.query_pool);
        run!(
            self.host,
            VkCreateQueryPool {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_query_pool: &mut pool,
                ret: vk::Result::SUCCESS,
            }
        );
        let command_pool = self.id(vk::ObjectType::COMMAND_POOL);
        let info = vk::CommandPoolCreateInfo::default()
            .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
        let mut pool = vk::CommandPool::from_raw(command_pool);
        run!(
            self.host,
            VkCreateCommandPool {
                device: Self::device(),
                p_create_info: &info,
                p_allocator: std::ptr::null(),
                p_command_pool: &mut pool,
                ret: vk::Result::SUCCESS,
            }
        );
        for level in [
            vk::CommandBufferLevel::PRIMARY,
            vk::CommandBufferLevel::SECONDARY,
        ] {
            self.next_id += 1;
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(pool)
                .level(level)
                .command_buffer_count(1);
            let mut command_buffer = vk::CommandBuffer::from_raw(self.next_id);
            run!(
                self.host,
                VkAllocateCommandBuffers {
                    device: Self::device(),
                    p_allocate_info: &info,
                    p_command_buffers: &mut command_buffer,
                    ret: vk::Result::SUCCESS,
                }
            );
            match level {
                vk::CommandBufferLevel::PRIMARY => self.primary = self.next_id,
                _ => self.secondary = self.next_id,
            }
        }
    }

    fn begin(&mut self, id: u64) -> vk::CommandBuffer {
        let command_buffer = vk::CommandBuffer::from_raw(id);
        let inheritance = vk::CommandBufferInheritanceInfo::default();
        let info = vk::CommandBufferBeginInfo::default().inheritance_info(&inheritance);
        run!(
            self.host,
            VkBeginCommandBuffer {
                command_buffer: command_buffer,
                p_begin_info: (&raw const info).cast(),
                ret: vk::Result::SUCCESS,
            }
        );
        command_buffer
    }

    fn end(&mut self, command_buffer: vk::CommandBuffer) {
        run!(
            self.host,
            VkEndCommandBuffer {
                command_buffer: command_buffer,
                ret: vk::Result::SUCCESS,
            }
        );
    }

    fn barrier(&mut self, command_buffer: vk::CommandBuffer) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let barriers = [vk::MemoryBarrier::default()
            .src_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)
            .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE)];
        run!(
            self.host,
            VkCmdPipelineBarrier {
                command_buffer: command_buffer,
                src_stage_mask: all,
                dst_stage_mask: all,
                dependency_flags: vk::DependencyFlags::empty(),
                memory_barrier_count: 1,
                p_memory_barriers: barriers.as_ptr(),
                buffer_memory_barrier_count: 0,
                p_buffer_memory_barriers: std::ptr::null(),
                image_memory_barrier_count: 0,
                p_image_memory_barriers: std::ptr::null(),
            }
        );
    }

    /// Records one random thing and a barrier.
    fn record_one(&mut self, command_buffer: vk::CommandBuffer) {
        match self.random.below(12) {
            0 => self.fill(command_buffer),
            1 => self.update_buffer(command_buffer),
            2 => self.copy(command_buffer),
            3 => self.copy2(command_buffer),
            4 => self.queries(command_buffer),
            _ => self.dispatch(command_buffer),
        }
        self.barrier(command_buffer);
    }

    fn fill(&mut self, command_buffer: vk::CommandBuffer) {
        let buffer = self.random.pick(&self.buffers.clone());
        let dst_offset = self.random.multiple(4, buffer.size);
        let size = match self.random.one_in(4) {
            true => vk::WHOLE_SIZE,
            false => 4 + self.random.multiple(4, buffer.size - dst_offset - 3),
        };
        let data = self.random.next() as u32;
        self.note(format!("fill {} +{dst_offset} {size:#x}", buffer.id));
        run!(
            self.host,
            VkCmdFillBuffer {
                command_buffer: command_buffer,
                dst_buffer: vk::Buffer::from_raw(buffer.id),
                dst_offset: dst_offset,
                size: size,
                data: data,
            }
        );
    }

    fn put(
        &mut self,
        command_buffer: vk::CommandBuffer,
        buffer: Buffer,
        dst_offset: u64,
        data: &[u32],
    ) {
        run!(
            self.host,
            VkCmdUpdateBuffer {
                command_buffer: command_buffer,
                dst_buffer: vk::Buffer::from_raw(buffer.id),
                dst_offset: dst_offset,
                data_size: data.len() as u64 * 4,
                p_data: data.as_ptr().cast(),
            }
        );
    }

    fn update_buffer(&mut self, command_buffer: vk::CommandBuffer) {
        let buffer = self.random.pick(&self.buffers.clone());
        let dst_offset = self.random.multiple(4, buffer.size);
        let words = 1 + self
            .random
            .below(((buffer.size - dst_offset) / 4).min(1000));
        let data: Vec<u32> = (0..words).map(|_| self.random.next() as u32).collect();
        self.note(format!("update {} +{dst_offset} {words} words", buffer.id));
        self.put(command_buffer, buffer, dst_offset, &data);
    }

    /// Source, target and regions of a copy between different memory objects, so that nothing overlaps.
    fn regions(&mut self) -> Option<(Buffer, Buffer, Vec<Region>)> {
        let source = self.random.pick(&self.buffers.clone());
        let target = self.random.pick(&self.buffers.clone());
        if source.memory == target.memory {
            return None;
        }
        let mut regions = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let from = self.random.below(source.size);
            let to = self.random.below(target.size);
            let most = (source.size - from).min(target.size - to);
            regions.push((from, to, 1 + self.random.below(most)));
        }
        // Regions of one copy must not overlap in the target.
        regions.sort_by_key(|region| region.1);
        for index in 1..regions.len() {
            let next = regions[index].1;
            let previous = &mut regions[index - 1];
            previous.2 = previous.2.min(next - previous.1);
        }
        regions.retain(|region| region.2 > 0);
        Some((source, target, regions))
    }

    fn copy(&mut self, command_buffer: vk::CommandBuffer) {
        let Some((source, target, regions)) = self.regions() else {
            return;
        };
        self.note(format!("copy {} to {} {regions:?}", source.id, target.id));
        let regions: Vec<_> = regions
            .iter()
            .map(|(src_offset, dst_offset, size)| vk::BufferCopy {
                src_offset: *src_offset,
                dst_offset: *dst_offset,
                size: *size,
            })
            .collect();
        run!(
            self.host,
            VkCmdCopyBuffer {
                command_buffer: command_buffer,
                src_buffer: vk::Buffer::from_raw(source.id),
                dst_buffer: vk::Buffer::from_raw(target.id),
                region_count: regions.len() as u32,
                p_regions: regions.as_ptr(),
            }
        );
    }

    fn copy2(&mut self, command_buffer: vk::CommandBuffer) {
        let Some((source, target, regions)) = self.regions() else {
            return;
        };
        self.note(format!("copy2 {} to {} {regions:?}", source.id, target.id));
        let regions: Vec<_> = regions
            .iter()
            .map(|(from, to, size)| {
                vk::BufferCopy2::default()
                    .src_offset(*from)
                    .dst_offset(*to)
                    .size(*size)
            })
            .collect();
        let info = vk::CopyBufferInfo2::default()
            .src_buffer(vk::Buffer::from_raw(source.id))
            .dst_buffer(vk::Buffer::from_raw(target.id))
            .regions(&regions);
        run!(
            self.host,
            VkCmdCopyBuffer2 {
                command_buffer: command_buffer,
                p_copy_buffer_info: (&raw const info).cast(),
            }
        );
    }

    fn queries(&mut self, command_buffer: vk::CommandBuffer) {
        let pool = vk::QueryPool::from_raw(self.query_pool);
        run!(
            self.host,
            VkCmdResetQueryPool {
                command_buffer: command_buffer,
                query_pool: pool,
                first_query: 0,
                query_count: 8,
            }
        );
        let count = 1 + self.random.below(8) as u32;
        for query in 0..count {
            run!(
                self.host,
                VkCmdWriteTimestamp {
                    command_buffer: command_buffer,
                    pipeline_stage: vk::PipelineStageFlags::ALL_COMMANDS,
                    query_pool: pool,
                    query: query,
                }
            );
        }
        self.barrier(command_buffer);
        let buffer = self.random.pick(&self.buffers.clone());
        let stride = 16
            + self
                .random
                .multiple(8, (buffer.size - 16) / u64::from(count) - 16);
        let needed = stride * u64::from(count - 1) + 16;
        let dst_offset = self.random.multiple(8, buffer.size - needed + 1);
        let mut flags = vk::QueryResultFlags::WAIT | vk::QueryResultFlags::TYPE_64;
        if self.random.one_in(2) {
            flags |= vk::QueryResultFlags::WITH_AVAILABILITY;
        }
        self.note(format!(
            "queries {} +{dst_offset} {count} by {stride}",
            buffer.id
        ));
        run!(
            self.host,
            VkCmdCopyQueryPoolResults {
                command_buffer: command_buffer,
                query_pool: pool,
                first_query: 0,
                query_count: count,
                dst_buffer: vk::Buffer::from_raw(buffer.id),
                dst_offset: dst_offset,
                stride: stride,
                flags: flags,
            }
        );
    }

    fn bind_sets(
        &mut self,
        command_buffer: vk::CommandBuffer,
        kind: Kind,
        first: u32,
        sets: &[u64],
        offsets: &[u32],
    ) {
        let sets: Vec<_> = sets
            .iter()
            .map(|set| vk::DescriptorSet::from_raw(*set))
            .collect();
        run!(
            self.host,
            VkCmdBindDescriptorSets {
                command_buffer: command_buffer,
                pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                layout: vk::PipelineLayout::from_raw(self.layout(kind)),
                first_set: first,
                descriptor_set_count: sets.len() as u32,
                p_descriptor_sets: sets.as_ptr(),
                dynamic_offset_count: offsets.len() as u32,
                p_dynamic_offsets: offsets.as_ptr(),
            }
        );
    }

    fn push_descriptors(&mut self, command_buffer: vk::CommandBuffer) {
        let infos: Vec<_> = (0..4)
            .map(|_| [self.buffer_info(vk::DescriptorType::STORAGE_BUFFER)])
            .collect();
        let writes: Vec<_> = (0u32..)
            .zip(&infos)
            .map(|(binding, info)| {
                vk::WriteDescriptorSet::default()
                    .dst_binding(binding)
                    .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                    .buffer_info(info)
            })
            .collect();
        run!(
            self.host,
            VkCmdPushDescriptorSetKHR {
                command_buffer: command_buffer,
                pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                layout: vk::PipelineLayout::from_raw(self.layout(Kind::Pushed)),
                set: 0,
                descriptor_write_count: writes.len() as u32,
                p_descriptor_writes: writes.as_ptr().cast(),
            }
        );
    }

    /// Points the node at a random buffer with an address and returns the node's own address.
    fn aim_node(&mut self, command_buffer: vk::CommandBuffer) -> u64 {
        let targets: Vec<_> = self
            .buffers
            .iter()
            .copied()
            .filter(|buffer| buffer.addressed)
            .collect();
        let target = self.random.pick(&targets);
        let address = self.host.address(target.id) + self.random.multiple(16, target.size - 16);
        let node = self.node;
        self.put(
            command_buffer,
            node,
            0,
            &[0, 0, address as u32, (address >> 32) as u32],
        );
        self.barrier(command_buffer);
        self.host.address(node.id)
    }

    fn dispatch(&mut self, command_buffer: vk::CommandBuffer) {
        let pipeline = self.random.pick(&self.pipelines.clone());
        run!(
            self.host,
            VkCmdBindPipeline {
                command_buffer: command_buffer,
                pipeline_bind_point: vk::PipelineBindPoint::COMPUTE,
                pipeline: vk::Pipeline::from_raw(pipeline.id),
            }
        );
        let mut push = [
            self.random.pick(&[0, 1, 2, 7, 1000, 123_457, u32::MAX]),
            self.random.pick(&[0, 1, 333, 70_000, 0x4000_0000]),
            self.random.next() as u32 | 1,
        ]
        .to_vec();
        let plain = self.random.pick(&self.plain_sets.clone());
        match pipeline.kind {
            Kind::Plain => {
                let uniform = self.uniform_set;
                self.bind_sets(command_buffer, Kind::Plain, 0, &[plain, uniform], &[]);
            }
            Kind::Dynamic => {
                let offsets = [0; 4].map(|_: i32| self.random.multiple(256, 1024) as u32);
                let set = self.dynamic_set;
                self.bind_sets(command_buffer, Kind::Dynamic, 0, &[set], &offsets);
            }
            Kind::Pushed => self.push_descriptors(command_buffer),
            Kind::Texel => {
                let set = self.texel_set;
                self.bind_sets(command_buffer, Kind::Texel, 0, &[set], &[]);
            }
            Kind::Array => {
                let set = self.array_set;
                self.bind_sets(command_buffer, Kind::Array, 2, &[set], &[]);
            }
            Kind::Address => {
                self.bind_sets(command_buffer, Kind::Address, 0, &[plain], &[]);
                let node = self.aim_node(command_buffer);
                push = vec![node as u32, (node >> 32) as u32, 0, 0];
            }
        }
        run!(
            self.host,
            VkCmdPushConstants {
                command_buffer: command_buffer,
                layout: vk::PipelineLayout::from_raw(self.layout(pipeline.kind)),
                stage_flags: vk::ShaderStageFlags::COMPUTE,
                offset: 0,
                size: push.len() as u32 * 4,
                p_values: push.as_ptr().cast(),
            }
        );
        let groups = 1 + self.random.below(300) as u32;
        let way = self.random.below(3);
        self.note(format!("{} {push:?} by {groups} way {way}", pipeline.name));
        match way {
            0 => {
                run!(
                    self.host,
                    VkCmdDispatch {
                        command_buffer: command_buffer,
                        group_count_x: groups,
                        group_count_y: 1,
                        group_count_z: 1,
                    }
                );
            }
            1 => {
                run!(
                    self.host,
                    VkCmdDispatchBase {
                        command_buffer: command_buffer,
                        base_group_x: 0,
                        base_group_y: 0,
                        base_group_z: 0,
                        group_count_x: groups,
                        group_count_y: 1,
                        group_count_z: 1,
                    }
                );
            }
            _ => {
                let indirect = self.indirect;
                self.put(command_buffer, indirect, 16, &[groups, 1, 1]);
                self.barrier(command_buffer);
                run!(
                    self.host,
                    VkCmdDispatchIndirect {
                        command_buffer: command_buffer,
                        buffer: vk::Buffer::from_raw(indirect.id),
                        offset: 16,
                    }
                );
            }
        }
    }

    fn note(&mut self, what: String) {
        self.summary.push_str(&what);
        self.summary.push_str(", ");
    }

    fn submit(&mut self, wide: bool) {
        let command_buffers = [vk::CommandBuffer::from_raw(self.primary)];
        if wide {
            let infos = command_buffers
                .map(|handle| vk::CommandBufferSubmitInfo::default().command_buffer(handle));
            let submits = [vk::SubmitInfo2::default().command_buffer_infos(&infos)];
            run!(
                self.host,
                VkQueueSubmit2 {
                    queue: vk::Queue::from_raw(QUEUE),
                    submit_count: 1,
                    p_submits: submits.as_ptr().cast(),
                    fence: vk::Fence::null(),
                    ret: vk::Result::SUCCESS,
                }
            );
        } else {
            let submits = [vk::SubmitInfo::default().command_buffers(&command_buffers)];
            run!(
                self.host,
                VkQueueSubmit {
                    queue: vk::Queue::from_raw(QUEUE),
                    submit_count: 1,
                    p_submits: submits.as_ptr().cast(),
                    fence: vk::Fence::null(),
                    ret: vk::Result::SUCCESS,
                }
            );
        }
    }

    /// One submission and the oracle's answer.
    pub fn step(&mut self) -> Result<(), String> {
        self.summary.clear();
        if self.random.one_in(4) {
            let binding = self.random.below(4) as u32;
            let set = self.dynamic_set;
            self.write_buffer_descriptor(
                set,
                binding,
                0,
                vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            );
            self.write_texel_descriptor();
        }
        let primary = self.begin(self.primary);
        for _ in 0..1 + self.random.below(4) {
            self.record_one(primary);
        }
        if self.random.one_in(4) {
            self.note("secondary:".into());
            let secondary = self.begin(self.secondary);
            self.record_one(secondary);
            self.end(secondary);
            let secondaries = [secondary];
            run!(
                self.host,
                VkCmdExecuteCommands {
                    command_buffer: primary,
                    command_buffer_count: 1,
                    p_command_buffers: secondaries.as_ptr(),
                }
            );
        }
        self.end(primary);
        if self.random.one_in(3) {
            // The sets allow updates after they were bound.
            let set = self.random.pick(&self.plain_sets.clone());
            let binding = self.random.below(4) as u32;
            self.write_buffer_descriptor(set, binding, 0, vk::DescriptorType::STORAGE_BUFFER);
            let element = self.random.below(3) as u32;
            let set = self.array_set;
            self.write_buffer_descriptor(set, 7, element, vk::DescriptorType::STORAGE_BUFFER);
        }
        let wide = self.random.one_in(2);
        self.submit(wide);
        self.host.check(self.summary.clone())
    }

    /// Destroys everything, children first.
    pub fn end_world(mut self) {
        let device = Self::device();
        let p_allocator = std::ptr::null();
        while let Some((object_type, id)) = self.made.pop() {
            macro_rules! destroy {
                ($name:ident, $field:ident, $handle:ty) => {
                    run!(
                        self.host,
                        $name {
                            device: device,
                            $field: <$handle>::from_raw(id),
                            p_allocator: p_allocator
                        }
                    )
                };
            }
            match object_type {
                vk::ObjectType::DEVICE_MEMORY => destroy!(VkFreeMemory, memory, vk::DeviceMemory),
                vk::ObjectType::BUFFER => destroy!(VkDestroyBuffer, buffer, vk::Buffer),
                vk::ObjectType::BUFFER_VIEW => {
                    destroy!(VkDestroyBufferView, buffer_view, vk::BufferView)
                }
                vk::ObjectType::DESCRIPTOR_SET_LAYOUT => {
                    destroy!(
                        VkDestroyDescriptorSetLayout,
                        descriptor_set_layout,
                        vk::DescriptorSetLayout
                    )
                }
                vk::ObjectType::PIPELINE_LAYOUT => {
                    destroy!(VkDestroyPipelineLayout, pipeline_layout, vk::PipelineLayout)
                }
                vk::ObjectType::DESCRIPTOR_POOL => {
                    destroy!(VkDestroyDescriptorPool, descriptor_pool, vk::DescriptorPool)
                }
                vk::ObjectType::PIPELINE => destroy!(VkDestroyPipeline, pipeline, vk::Pipeline),
                vk::ObjectType::QUERY_POOL => {
                    destroy!(VkDestroyQueryPool, query_pool, vk::QueryPool)
                }
                vk::ObjectType::COMMAND_POOL => {
                    destroy!(VkDestroyCommandPool, command_pool, vk::CommandPool)
                }
                other => unreachable!("nothing makes a {other:?}"),
            };
        }
    }
}
