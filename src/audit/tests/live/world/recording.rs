//! What a program records and submits.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::{QUEUE, run};
use super::commands::Region;
use super::{Buffer, Kind, World};

impl World<'_> {
    pub(super) fn begin(&mut self, id: u64) -> vk::CommandBuffer {
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

    pub(super) fn end(&mut self, command_buffer: vk::CommandBuffer) {
        run!(
            self.host,
            VkEndCommandBuffer {
                command_buffer: command_buffer,
                ret: vk::Result::SUCCESS,
            }
        );
    }

    pub(super) fn barrier(&mut self, command_buffer: vk::CommandBuffer) {
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
    pub(super) fn record_one(&mut self, command_buffer: vk::CommandBuffer, secondary: bool) {
        if self.random.one_in(2) {
            self.record_images(command_buffer, secondary);
            self.barrier(command_buffer);
        }
        match self.random.below(12) {
            0 => self.fill(command_buffer),
            1 => self.update_buffer(command_buffer),
            way @ (2 | 3) => self.copy(command_buffer, way == 3),
            4 => self.queries(command_buffer),
            _ => self.dispatch(command_buffer),
        }
        self.barrier(command_buffer);
    }

    pub(super) fn fill(&mut self, command_buffer: vk::CommandBuffer) {
        let buffer = self.random.pick(&self.buffers.clone());
        let dst_offset = self.random.multiple(4, buffer.size);
        let size = match self.random.one_in(4) {
            true => vk::WHOLE_SIZE,
            false => 4 + self.random.multiple(4, buffer.size - dst_offset - 3),
        };
        let data = self.random.next() as u32;
        self.note(format!("fill {} +{dst_offset} {size:#x}", buffer.id));
        self.fill_buffer(command_buffer, buffer, (dst_offset, size), data);
    }

    pub(super) fn put(
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

    pub(super) fn update_buffer(&mut self, command_buffer: vk::CommandBuffer) {
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
    pub(super) fn regions(&mut self) -> Option<(Buffer, Buffer, Vec<Region>)> {
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

    /// A copy between buffers, by the second form if `wide`.
    pub(super) fn copy(&mut self, command_buffer: vk::CommandBuffer, wide: bool) {
        let Some((source, target, regions)) = self.regions() else {
            return;
        };
        let form = 1 + u32::from(wide);
        self.note(format!(
            "copy{form} {} to {} {regions:?}",
            source.id, target.id
        ));
        self.copy_buffer(command_buffer, [source, target], &regions, wide);
    }

    pub(super) fn queries(&mut self, command_buffer: vk::CommandBuffer) {
        let (query_type, pool) = self.random.pick(&self.query_pools.clone());
        let pool = vk::QueryPool::from_raw(pool);
        run!(
            self.host,
            VkCmdResetQueryPool {
                command_buffer: command_buffer,
                query_pool: pool,
                first_query: 0,
                query_count: 16,
            }
        );
        let count = 1 + self.random.below(8) as u32;
        for query in 0..count {
            if query_type == vk::QueryType::TIMESTAMP {
                run!(
                    self.host,
                    VkCmdWriteTimestamp {
                        command_buffer: command_buffer,
                        pipeline_stage: vk::PipelineStageFlags::ALL_COMMANDS,
                        query_pool: pool,
                        query: query,
                    }
                );
                continue;
            }
            run!(
                self.host,
                VkCmdBeginQuery {
                    command_buffer: command_buffer,
                    query_pool: pool,
                    query: query,
                    flags: vk::QueryControlFlags::empty(),
                }
            );
            run!(
                self.host,
                VkCmdEndQuery {
                    command_buffer: command_buffer,
                    query_pool: pool,
                    query: query,
                }
            );
        }
        self.barrier(command_buffer);
        let buffer = self.random.pick(&self.buffers.clone());
        // Two values and the availability at most.
        let stride = 24
            + self
                .random
                .multiple(8, (buffer.size - 24) / u64::from(count) - 24);
        let needed = stride * u64::from(count - 1) + 24;
        let dst_offset = self.random.multiple(8, buffer.size - needed + 1);
        let mut flags = vk::QueryResultFlags::WAIT | vk::QueryResultFlags::TYPE_64;
        if self.random.one_in(2) {
            flags |= vk::QueryResultFlags::WITH_AVAILABILITY;
        }
        self.note(format!(
            "{query_type:?} {} +{dst_offset} {count} by {stride}",
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

    pub(super) fn bind_sets(
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

    pub(super) fn push_descriptors(&mut self, command_buffer: vk::CommandBuffer) {
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
    pub(super) fn aim_node(&mut self, command_buffer: vk::CommandBuffer) -> u64 {
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

    pub(super) fn dispatch(&mut self, command_buffer: vk::CommandBuffer) {
        let pipeline = self.random.pick(&self.pipelines.clone());
        let compute = vk::PipelineBindPoint::COMPUTE;
        self.bind_pipeline(command_buffer, compute, pipeline.id);
        let mut push = [
            self.random.pick(&[0, 1, 2, 7, 1000, 123_457, u32::MAX]),
            self.random.pick(&[0, 1, 333, 70_000, 0x4000_0000]),
            self.random.next() as u32 | 1,
        ]
        .to_vec();
        let mut groups = 1 + self.random.below(300) as u32;
        if pipeline.name == "slow" {
            // Some milliseconds on a CPU.
            (push[0], groups) = (2_000, 4);
        }
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
            // By themselves: `store_image` and draws.
            Kind::Storage | Kind::Input => return,
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
                stage_flags: World::stages(),
                offset: 0,
                size: push.len() as u32 * 4,
                p_values: push.as_ptr().cast(),
            }
        );
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

    pub(super) fn note(&mut self, what: String) {
        self.summary.push_str(&what);
        self.summary.push_str(", ");
    }

    /// Submits batches of command buffers, by either form.
    pub(super) fn submit(&mut self, batches: &[&[vk::CommandBuffer]]) {
        if self.one_in(2) {
            let infos: Vec<Vec<_>> = batches
                .iter()
                .map(|batch| {
                    batch
                        .iter()
                        .map(|handle| {
                            vk::CommandBufferSubmitInfo::default().command_buffer(*handle)
                        })
                        .collect()
                })
                .collect();
            let submits: Vec<_> = infos
                .iter()
                .map(|infos| vk::SubmitInfo2::default().command_buffer_infos(infos))
                .collect();
            run!(
                self.host,
                VkQueueSubmit2 {
                    queue: vk::Queue::from_raw(QUEUE),
                    submit_count: submits.len() as u32,
                    p_submits: submits.as_ptr().cast(),
                    fence: vk::Fence::null(),
                    ret: vk::Result::SUCCESS,
                }
            );
        } else {
            let submits: Vec<_> = batches
                .iter()
                .map(|batch| vk::SubmitInfo::default().command_buffers(batch))
                .collect();
            run!(
                self.host,
                VkQueueSubmit {
                    queue: vk::Queue::from_raw(QUEUE),
                    submit_count: submits.len() as u32,
                    p_submits: submits.as_ptr().cast(),
                    fence: vk::Fence::null(),
                    ret: vk::Result::SUCCESS,
                }
            );
        }
    }

    pub(super) fn execute(&mut self, command_buffer: vk::CommandBuffer, secondary: u64) {
        let secondaries = [vk::CommandBuffer::from_raw(secondary)];
        run!(
            self.host,
            VkCmdExecuteCommands {
                command_buffer: command_buffer,
                command_buffer_count: 1,
                p_command_buffers: secondaries.as_ptr(),
            }
        );
    }

    /// Records something and submits it, once at least; the oracle's answer.
    pub fn step(&mut self) -> Result<(), String> {
        self.summary.clear();
        self.inner.clone_from(&self.all_inner);
        if self.one_in(4) {
            let binding = self.random.below(4) as u32;
            let set = self.dynamic_set;
            self.write_buffer_descriptor(
                set,
                binding,
                0,
                vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            );
            self.write_texel_descriptor(self.texel_set, 2);
        }
        let primary = self.begin(self.primaries[0]);
        for _ in 0..1 + self.random.below(4) {
            self.record_one(primary, false);
        }
        if self.one_in(4) {
            self.note("secondary:".into());
            let secondary = self.begin(self.secondary);
            self.record_one(secondary, true);
            self.end(secondary);
            self.execute(primary, self.secondary);
        }
        self.end(primary);
        let mut second = None;
        if self.one_in(4) {
            self.note("second command buffer:".into());
            let primary = self.begin(self.primaries[1]);
            self.barrier(primary);
            self.record_one(primary, false);
            self.end(primary);
            second = Some(primary);
        }
        if self.one_in(3) {
            self.update_late();
        }
        if self.trace {
            eprintln!("oracle: {}", self.summary);
        }
        match second {
            None => self.submit(&[&[primary]]),
            Some(second) if self.one_in(2) => self.submit(&[&[primary, second]]),
            Some(second) => self.submit(&[&[primary], &[second]]),
        }
        self.host.check(self.summary.clone())?;
        // By dice of their own: a seed records the same with them.
        std::mem::swap(&mut self.random, &mut self.again);
        let again = self.submit_again(primary, second);
        std::mem::swap(&mut self.random, &mut self.again);
        again
    }

    /// Now and then submits what was just recorded once more, or a part of it, as it is or with other descriptors.
    fn submit_again(
        &mut self,
        primary: vk::CommandBuffer,
        second: Option<vk::CommandBuffer>,
    ) -> Result<(), String> {
        while self.one_in(3) {
            self.note("again:".into());
            if self.one_in(2) {
                self.update_late();
                self.write_texel_descriptor(self.texel_set, 2);
            }
            match second {
                Some(second) if self.one_in(2) => self.submit(&[&[primary, second]]),
                Some(second) if self.one_in(2) => self.submit(&[&[second], &[primary]]),
                _ => self.submit(&[&[primary]]),
            }
            self.host.check(self.summary.clone())?;
        }
        Ok(())
    }

    /// The sets allow updates after they were bound.
    fn update_late(&mut self) {
        let set = self.random.pick(&self.plain_sets.clone());
        let binding = self.random.below(4) as u32;
        self.write_buffer_descriptor(set, binding, 0, vk::DescriptorType::STORAGE_BUFFER);
        let element = self.random.below(3) as u32;
        let array = self.array_set;
        self.write_buffer_descriptor(array, 7, element, vk::DescriptorType::STORAGE_BUFFER);
        if self.one_in(2) {
            let from = self.random.pick(&self.plain_sets.clone());
            let copies = [vk::CopyDescriptorSet::default()
                .src_set(vk::DescriptorSet::from_raw(from))
                .src_binding(self.random.below(4) as u32)
                .dst_set(vk::DescriptorSet::from_raw(array))
                .dst_binding(7)
                .dst_array_element(element)
                .descriptor_count(1)];
            run!(
                self.host,
                VkUpdateDescriptorSets {
                    device: Self::device(),
                    descriptor_write_count: 0,
                    p_descriptor_writes: std::ptr::null(),
                    descriptor_copy_count: 1,
                    p_descriptor_copies: copies.as_ptr(),
                }
            );
        }
    }
}
