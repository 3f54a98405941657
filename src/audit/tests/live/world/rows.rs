//! The rows of the benchmark, as commands to be counted.

use ash::vk::{self, Handle};
use hesper_venus::{Args, Command, args};

use super::super::host::run;
use super::{Kind, World};

impl World<'_> {
    /// Runs a row between `measure` and `end_measurement` of the host.
    pub fn row(&mut self, name: &str, audited: bool) {
        // The first submission makes the oracle's copies.
        self.one_fill();
        self.host.measure(audited);
        match name {
            "submits" => {
                for _ in 0..200 {
                    self.submit_primary();
                }
            }
            "readbacks" => {
                for _ in 0..200 {
                    self.one_copy();
                }
            }
            "dispatches" => {
                for _ in 0..20 {
                    self.dispatches(20);
                    self.submit_primary();
                }
            }
            "recording" => self.dispatches(10_000 / 3),
            "copies" => self.copies(10_000),
            "buffers" => {
                for _ in 0..2000 {
                    self.make_and_destroy();
                }
            }
            _ => panic!("no row {name}"),
        }
        self.host.end_measurement();
    }

    fn submit_primary(&mut self) {
        let primary = vk::CommandBuffer::from_raw(self.primaries[0]);
        self.submit(&[&[primary]]);
    }

    fn one_fill(&mut self) {
        let primary = self.begin(self.primaries[0]);
        self.fill(primary);
        self.end(primary);
        self.submit_primary();
    }

    fn one_copy(&mut self) {
        let primary = self.begin(self.primaries[0]);
        self.copies_into(primary, 1);
        self.end(primary);
        self.submit_primary();
    }

    fn copies(&mut self, count: u64) {
        let primary = self.begin(self.primaries[0]);
        self.copies_into(primary, count);
        self.end(primary);
    }

    /// Copies of 64 bytes from the first buffer to the last, whose memory is host-visible.
    fn copies_into(&mut self, command_buffer: vk::CommandBuffer, count: u64) {
        let (source, target) = (self.buffers[0], self.node);
        for index in 0..count {
            // Never where the last one ended, so that each is an effect of its own.
            let region = (index % 32 * 64, index % 2 * 128, 64);
            self.copy_buffer(command_buffer, [source, target], &[region], false);
        }
    }

    /// Dispatches as the benchmark records them: a barrier, constants and a dispatch each, everything bound once.
    fn dispatches(&mut self, count: u32) {
        let primary = self.begin(self.primaries[0]);
        let pipeline = self.pipelines[0];
        self.bind_pipeline(primary, vk::PipelineBindPoint::COMPUTE, pipeline.id);
        let sets = [self.plain_sets[0], self.uniform_set];
        self.bind_sets(primary, Kind::Plain, 0, &sets, &[]);
        for index in 0..count {
            self.barrier(primary);
            let push = [1, index];
            run!(
                self.host,
                VkCmdPushConstants {
                    command_buffer: primary,
                    layout: vk::PipelineLayout::from_raw(self.layout(Kind::Plain)),
                    stage_flags: World::stages(),
                    offset: 0,
                    size: 8,
                    p_values: push.as_ptr().cast(),
                }
            );
            run!(
                self.host,
                VkCmdDispatch {
                    command_buffer: primary,
                    group_count_x: 1,
                    group_count_y: 1,
                    group_count_z: 1,
                }
            );
        }
        self.end(primary);
    }

    fn make_and_destroy(&mut self) {
        self.next_id += 1;
        let mut buffer = vk::Buffer::from_raw(self.next_id);
        let info = vk::BufferCreateInfo::default()
            .size(4096)
            .usage(vk::BufferUsageFlags::STORAGE_BUFFER);
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
        run!(
            self.host,
            VkDestroyBuffer {
                device: Self::device(),
                buffer: vk::Buffer::from_raw(self.next_id),
                p_allocator: std::ptr::null(),
            }
        );
    }
}
