//! What a program makes before it records.

use std::ffi::CString;

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::{DEVICE_LOCAL, HOST_VISIBLE, run};
use super::{Buffer, CHUNK, Kind, Pipeline, World};

macro_rules! code {
    ($name:literal) => {
        include_bytes!(concat!("../../../spirv/shaders/", $name, ".spv"))
    };
}

impl World<'_> {
    pub(super) fn memory(&mut self, size: u64, memory_type: u32) -> u64 {
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

    pub(super) fn buffer(
        &mut self,
        memory: u64,
        memory_size: u64,
        size: u64,
        addressed: bool,
    ) -> Buffer {
        let id = self.id(vk::ObjectType::BUFFER);
        let mut usage = vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST
            | vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER
            | vk::BufferUsageFlags::INDIRECT_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER
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
    pub(super) fn make_memory(&mut self) {
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

    /// Two buffers of 8 chunks with memory of their own.
    pub(super) fn exact_buffers(&mut self) -> [Buffer; 2] {
        if let Some(pair) = self.exact_pair {
            return pair;
        }
        let pair = [(); 2].map(|()| {
            let memory = self.memory(10 * CHUNK, DEVICE_LOCAL);
            self.buffer(memory, 10 * CHUNK, 8 * CHUNK, false)
        });
        self.exact_pair = Some(pair);
        pair
    }

    /// The stages that every layout is for.
    pub(super) fn stages() -> vk::ShaderStageFlags {
        vk::ShaderStageFlags::COMPUTE | vk::ShaderStageFlags::ALL_GRAPHICS
    }

    pub(super) fn set_layout(
        &mut self,
        bindings: &[(u32, vk::DescriptorType, u32)],
        flags: vk::DescriptorSetLayoutCreateFlags,
        variable: bool,
    ) -> u64 {
        let id = self.id(vk::ObjectType::DESCRIPTOR_SET_LAYOUT);
        let late = flags.contains(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL);
        let last = bindings.iter().map(|(binding, ..)| *binding).max();
        let binding_flags: Vec<_> = bindings
            .iter()
            .map(|(binding, ..)| {
                let mut flags = vk::DescriptorBindingFlags::empty();
                if late {
                    flags |= vk::DescriptorBindingFlags::UPDATE_AFTER_BIND
                        | vk::DescriptorBindingFlags::PARTIALLY_BOUND;
                }
                if variable && Some(*binding) == last {
                    flags |= vk::DescriptorBindingFlags::VARIABLE_DESCRIPTOR_COUNT;
                }
                flags
            })
            .collect();
        let bindings: Vec<_> = bindings
            .iter()
            .map(|(binding, descriptor_type, count)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(*binding)
                    .descriptor_type(*descriptor_type)
                    .descriptor_count(*count)
                    .stage_flags(match *descriptor_type {
                        vk::DescriptorType::INPUT_ATTACHMENT => vk::ShaderStageFlags::FRAGMENT,
                        _ => Self::stages(),
                    })
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

    pub(super) fn pipeline_layout(&mut self, kind: Kind, sets: &[u64]) {
        let id = self.id(vk::ObjectType::PIPELINE_LAYOUT);
        let sets: Vec<_> = sets
            .iter()
            .map(|set| vk::DescriptorSetLayout::from_raw(*set))
            .collect();
        let ranges = [vk::PushConstantRange {
            stage_flags: Self::stages(),
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

    pub(super) fn make_layouts(&mut self) {
        const STORAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER;
        const DYNAMIC: vk::DescriptorType = vk::DescriptorType::STORAGE_BUFFER_DYNAMIC;
        const TEXEL: vk::DescriptorType = vk::DescriptorType::STORAGE_TEXEL_BUFFER;
        const UNIFORM: vk::DescriptorType = vk::DescriptorType::UNIFORM_BUFFER;
        let late = vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL;
        let none = vk::DescriptorSetLayoutCreateFlags::empty();
        let four = |descriptor_type| [0, 1, 2, 3].map(|binding| (binding, descriptor_type, 1));
        let plain = self.set_layout(&four(STORAGE), late, false);
        let uniform = self.set_layout(&[(0, UNIFORM, 1)], none, false);
        let dynamic = self.set_layout(&four(DYNAMIC), none, false);
        let pushed = self.set_layout(
            &four(STORAGE),
            vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR,
            false,
        );
        let texel = self.set_layout(&[(2, TEXEL, 1)], late, false);
        // Three of the eight are there, whether or not the set has room for all.
        let variable = self.host.has().variable_count && self.one_in(2);
        let array = self.set_layout(&[(7, STORAGE, 8), (1, STORAGE, 4)], late, variable);
        const IMAGE: vk::DescriptorType = vk::DescriptorType::STORAGE_IMAGE;
        let storage = self.set_layout(
            &[
                (0, IMAGE, 1),
                (1, IMAGE, 1),
                (2, TEXEL, 1),
                (3, IMAGE, 1),
                (4, TEXEL, 1),
            ],
            none,
            false,
        );
        const INPUT: vk::DescriptorType = vk::DescriptorType::INPUT_ATTACHMENT;
        let input = self.set_layout(&[(0, INPUT, 1)], none, false);
        self.pipeline_layout(Kind::Input, &[plain, input]);
        self.pipeline_layout(Kind::Storage, &[storage]);
        self.pipeline_layout(Kind::Plain, &[plain, uniform]);
        self.pipeline_layout(Kind::Dynamic, &[dynamic]);
        self.pipeline_layout(Kind::Pushed, &[pushed]);
        self.pipeline_layout(Kind::Texel, &[texel]);
        self.pipeline_layout(Kind::Array, &[plain, plain, array]);
        self.pipeline_layout(Kind::Address, &[plain]);

        let pool = self.id(vk::ObjectType::DESCRIPTOR_POOL);
        let sizes =
            [STORAGE, DYNAMIC, TEXEL, UNIFORM, IMAGE, INPUT].map(|ty| vk::DescriptorPoolSize {
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
        let layouts = [
            plain, plain, plain, uniform, dynamic, texel, array, storage, input,
        ]
        .map(vk::DescriptorSetLayout::from_raw);
        let mut sets: Vec<_> = layouts
            .iter()
            .map(|_| {
                self.next_id += 1;
                vk::DescriptorSet::from_raw(self.next_id)
            })
            .collect();
        let counts = layouts.map(|layout| match layout.as_raw() == array {
            true => 3,
            false => 0,
        });
        let mut variable_counts = vk::DescriptorSetVariableDescriptorCountAllocateInfo::default()
            .descriptor_counts(&counts);
        let mut info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(handle)
            .set_layouts(&layouts);
        if variable {
            info = info.push_next(&mut variable_counts);
        }
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
        (self.storage_set, self.input_set) = (sets[7], sets[8]);
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
        self.write_texel_descriptor(self.texel_set, 2);
        self.write_texel_descriptor(self.storage_set, 2);
        self.write_texel_descriptor(self.storage_set, 4);
    }

    pub(super) fn buffer_info(
        &mut self,
        descriptor_type: vk::DescriptorType,
    ) -> vk::DescriptorBufferInfo {
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

    pub(super) fn update(&mut self, write: vk::WriteDescriptorSet<'_>) {
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

    pub(super) fn write_buffer_descriptor(
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

    pub(super) fn write_texel_descriptor(&mut self, set: u64, binding: u32) {
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
                .dst_set(vk::DescriptorSet::from_raw(set))
                .dst_binding(binding)
                .descriptor_type(vk::DescriptorType::STORAGE_TEXEL_BUFFER)
                .texel_buffer_view(&views),
        );
    }

    pub(super) fn layout(&self, kind: Kind) -> u64 {
        self.layouts.iter().find(|(of, _)| *of == kind).unwrap().1
    }

    pub(super) fn pipeline(&mut self, name: &'static str, code: &[u8], entry: &str, kind: Kind) {
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

    pub(super) fn make_pipelines(&mut self) {
        self.pipeline("wide", code!("wide"), "main", Kind::Plain);
        self.pipeline("store", code!("store"), "main", Kind::Plain);
        let slow = include_bytes!("../shaders/slow_comp.spv");
        self.pipeline("slow", slow, "main", Kind::Plain);
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
        self.pipeline("image_write", code!("image_write"), "main", Kind::Storage);
        self.pipeline(
            "device_address",
            code!("device_address"),
            "main",
            Kind::Address,
        );
    }

    pub(super) fn make_recording(&mut self) {
        let mut kinds = vec![vk::QueryType::TIMESTAMP, vk::QueryType::OCCLUSION];
        if self.host.has().statistics {
            kinds.push(vk::QueryType::PIPELINE_STATISTICS);
        }
        for query_type in kinds {
            let id = self.id(vk::ObjectType::QUERY_POOL);
            // Twice what is used: lavapipe of Mesa 25.0.7 takes a query for each view of the last pass, in passes or not.
            let mut info = vk::QueryPoolCreateInfo::default()
                .query_type(query_type)
                .query_count(16);
            if query_type == vk::QueryType::PIPELINE_STATISTICS {
                // Not of compute shaders: lavapipe of Mesa 25.0.7 crashes of that where nothing was dispatched before.
                info = info.pipeline_statistics(
                    vk::QueryPipelineStatisticFlags::INPUT_ASSEMBLY_VERTICES
                        | vk::QueryPipelineStatisticFlags::VERTEX_SHADER_INVOCATIONS,
                );
            }
            let mut pool = vk::QueryPool::from_raw(id);
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
            self.query_pools.push((query_type, id));
        }
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
        let (first, second) = (
            vk::CommandBufferLevel::PRIMARY,
            vk::CommandBufferLevel::SECONDARY,
        );
        self.primaries = [
            self.command_buffer(pool, first),
            self.command_buffer(pool, first),
        ];
        self.secondary = self.command_buffer(pool, second);
        self.all_inner = (0..6).map(|_| self.command_buffer(pool, second)).collect();
    }

    fn command_buffer(&mut self, pool: vk::CommandPool, level: vk::CommandBufferLevel) -> u64 {
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
        self.next_id
    }
}
