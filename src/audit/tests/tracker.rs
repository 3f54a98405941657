//! Scenarios of the tracker: what a context creates, records and submits, and the ranges that come out.

mod audited;

use ash::vk;
use hesper_audit::AuditError;
use hesper_audit::descriptors::{Descriptor, LayoutBinding};
use hesper_audit::dirty::CHUNK_SIZE;
use hesper_audit::marks::Marks;
use hesper_audit::tracker::Robustness;

use audited::Audited;

const C: u64 = CHUNK_SIZE;

const DEVICE_MEMORY: u64 = 1;
const HOST_MEMORY: u64 = 2;
const LAYOUT: u64 = 20;
const POOL: u64 = 30;
const COMMAND_POOL: u64 = 40;
const SET: u64 = 50;
const PIPELINE: u64 = 60;
const CB: u64 = 70;

const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

fn buffer(id: u64, offset: u64, range: u64) -> Descriptor {
    Descriptor::Buffer {
        buffer: id,
        offset,
        range,
    }
}

/// 64 chunks of device-local and of host-visible memory. Buffers 100 + n are 4 chunks each, at chunk 4 n of device-local
/// memory; buffers 200 + n the same in host-visible memory. One set of storage buffers 0..4, one command buffer.
fn tracker() -> Audited {
    let mut tracker = Audited::new(Robustness::Descriptor, 1);
    tracker.memory_created(DEVICE_MEMORY, 64 * C, true).unwrap();
    tracker.memory_created(HOST_MEMORY, 64 * C, false).unwrap();
    for n in 0..8 {
        for (base, memory) in [(100, DEVICE_MEMORY), (200, HOST_MEMORY)] {
            tracker.create_buffer(base + n, 4 * C, false);
            tracker.bind_buffer(base + n, memory, n * 4 * C).unwrap();
        }
    }
    let bindings = (0..4).map(|binding| LayoutBinding {
        binding,
        descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
        count: 1,
    });
    tracker
        .set_layout_created(LAYOUT, bindings.collect())
        .unwrap();
    tracker.descriptor_pool_created(POOL).unwrap();
    tracker.set_allocated(SET, POOL, LAYOUT, None).unwrap();
    tracker.command_pool_created(COMMAND_POOL).unwrap();
    tracker.command_buffer_allocated(CB, COMMAND_POOL).unwrap();
    tracker
}

/// Pipeline `id` from the shader, with its entry point "main".
fn pipeline(tracker: &mut Audited, id: u64, spv: &[u8]) {
    let module = 1000 + id;
    tracker.module_created(module, &words(spv)).unwrap();
    let writes = tracker.module(module).unwrap();
    tracker
        .pipeline_created(id, &[(writes, "main", 5)])
        .unwrap();
    tracker.module_destroyed(module);
}

/// Writes set 0, binding 3; reads binding 0.
const STORE: &[u8] = include_bytes!("../spirv/shaders/store.spv");
/// Writes set 0, binding 1.
const ATOMIC: &[u8] = include_bytes!("../spirv/shaders/atomic.spv");
const READ_ONLY: &[u8] = include_bytes!("../spirv/shaders/read_only.spv");
const ADDRESS: &[u8] = include_bytes!("../spirv/shaders/device_address.spv");
const IMAGE: &[u8] = include_bytes!("../spirv/shaders/image_write.spv");
const UNDEFINED: &[u8] = include_bytes!("../spirv/shaders/undefined_pointer.spv");
/// Writes set 2, binding 7, an array.
const ARRAY: &[u8] = include_bytes!("../spirv/shaders/descriptor_array.spv");

/// (memory, offset, length) of all ranges, device-local ones first.
fn submit(tracker: &mut Audited, command_buffers: &[u64]) -> Vec<(u64, u64, u64)> {
    let mut marks = Marks::new();
    tracker
        .resolve_submit(command_buffers.iter().copied(), &mut marks)
        .unwrap();
    let host = marks.host_ranges().iter().copied();
    marks
        .device_ranges()
        .chain(host)
        .map(|range| (range.memory, range.offset, range.len))
        .collect()
}

const EVERYTHING: [(u64, u64, u64); 2] = [(DEVICE_MEMORY, 0, 64 * C), (HOST_MEMORY, 0, 64 * C)];

#[test]
fn submit_transfers_gives_exact_ranges_in_both_memories() {
    let mut tracker = tracker();
    tracker.record_buffer_write(CB, 101, 10, 20).unwrap();
    tracker.record_buffer_write(CB, 203, 5, 7).unwrap();
    tracker.record_buffer_write(CB, 101, 30, 4).unwrap();
    tracker
        .record_buffer_write(CB, 102, 3 * C, vk::WHOLE_SIZE)
        .unwrap();
    tracker.record_buffer_write(CB, 102, 0, 0).unwrap();

    let ranges = submit(&mut tracker, &[CB]);

    assert_eq!(
        ranges,
        [
            (DEVICE_MEMORY, 4 * C + 10, 24),
            (DEVICE_MEMORY, 11 * C, C),
            (HOST_MEMORY, 12 * C + 5, 7),
        ]
    );
}

#[test]
fn submit_transfer_beyond_the_buffer_is_cut_at_the_memory_only() {
    let mut tracker = tracker();
    tracker
        .record_buffer_write(CB, 107, 3 * C, u64::MAX - 1)
        .unwrap();

    assert_eq!(
        submit(&mut tracker, &[CB]),
        [(DEVICE_MEMORY, 31 * C, 33 * C)]
    );
}

#[test]
fn submit_twice_and_after_reset_follows_the_recording() {
    let mut tracker = tracker();
    tracker.record_buffer_write(CB, 100, 0, 8).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]).len(), 1);
    assert_eq!(submit(&mut tracker, &[CB]).len(), 1);
    tracker.command_buffer_reset(CB).unwrap();
    assert_eq!(submit(&mut tracker, &[CB]), []);
    tracker.record_buffer_write(CB, 101, 0, 8).unwrap();
    assert_eq!(submit(&mut tracker, &[CB]), [(DEVICE_MEMORY, 4 * C, 8)]);
    tracker.command_pool_reset(COMMAND_POOL);
    assert_eq!(submit(&mut tracker, &[CB]), []);
}

#[test]
fn submit_dispatch_marks_the_written_binding_only() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    let set = [
        buffer(100, 0, vk::WHOLE_SIZE),
        buffer(101, 0, C),
        Descriptor::Empty,
        buffer(102, C, 2 * C),
    ];
    tracker.descriptors_written(SET, 0, 0, set).unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), [(DEVICE_MEMORY, 9 * C, 2 * C)]);
    let counters = tracker.counters();
    assert_eq!(
        (counters.submissions, counters.descriptor_bytes),
        (1, 2 * C)
    );
    assert_eq!((counters.transfer_bytes, counters.everything), (0, 0));
}

#[test]
fn submit_dispatch_uses_descriptors_as_they_are_at_submit() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    tracker
        .descriptors_written(SET, 3, 0, [buffer(100, 0, C)])
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();
    tracker
        .descriptors_written(SET, 3, 0, [buffer(201, 16, vk::WHOLE_SIZE)])
        .unwrap();

    assert_eq!(
        submit(&mut tracker, &[CB]),
        [(HOST_MEMORY, 4 * C + 16, 4 * C - 16)]
    );
}

#[test]
fn submit_dispatches_between_binds_each_count() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    pipeline(&mut tracker, PIPELINE + 1, ATOMIC);
    tracker.set_allocated(SET + 1, POOL, LAYOUT, None).unwrap();
    tracker
        .descriptors_written(
            SET,
            0,
            0,
            [
                buffer(100, 0, C),
                buffer(101, 0, C),
                Descriptor::Empty,
                buffer(103, 0, C),
            ],
        )
        .unwrap();
    tracker
        .descriptors_written(
            SET + 1,
            0,
            0,
            [
                buffer(104, 0, C),
                buffer(105, 0, C),
                Descriptor::Empty,
                buffer(106, 0, C),
            ],
        )
        .unwrap();
    for (pipeline, set) in [
        (PIPELINE, SET),
        (PIPELINE + 1, SET),
        (PIPELINE, SET + 1),
        (PIPELINE, SET),
        (PIPELINE + 1, SET + 1),
    ] {
        tracker.record_bind_pipeline(CB, COMPUTE, pipeline).unwrap();
        tracker.record_bind_set(CB, COMPUTE, 0, set, &[]).unwrap();
        tracker.record_shaders(CB, COMPUTE).unwrap();
        tracker.record_shaders(CB, COMPUTE).unwrap();
    }

    let chunks: Vec<u64> = submit(&mut tracker, &[CB])
        .iter()
        .map(|range| range.1 / C)
        .collect();

    assert_eq!(chunks, [4, 12, 20, 24]);
}

#[test]
fn submit_dispatch_with_dynamic_offset_adds_it() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    let binding = |binding, dynamic| LayoutBinding {
        binding,
        descriptor_type: match dynamic {
            true => vk::DescriptorType::STORAGE_BUFFER_DYNAMIC,
            false => vk::DescriptorType::STORAGE_BUFFER,
        },
        count: 1,
    };
    tracker
        .set_layout_created(
            LAYOUT + 1,
            vec![binding(3, true), binding(0, true), binding(1, false)],
        )
        .unwrap();
    tracker
        .set_allocated(SET + 1, POOL, LAYOUT + 1, None)
        .unwrap();
    tracker
        .descriptors_written(SET + 1, 3, 0, [buffer(100, 16, 64)])
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    for offset in [0, 256, 256] {
        tracker
            .record_bind_set(CB, COMPUTE, 0, SET + 1, &[4096, offset])
            .unwrap();
        tracker.record_shaders(CB, COMPUTE).unwrap();
    }

    let ranges = submit(&mut tracker, &[CB]);
    let too_few = tracker.record_bind_set(CB, COMPUTE, 0, SET + 1, &[4096]);

    assert_eq!(ranges, [(DEVICE_MEMORY, 16, 64), (DEVICE_MEMORY, 272, 64)]);
    assert!(matches!(too_few, Err(AuditError::BadArguments { .. })));
}

#[test]
fn submit_array_of_descriptors_marks_every_element_of_the_binding() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, ARRAY);
    let binding = |binding, count| LayoutBinding {
        binding,
        descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
        count,
    };
    tracker
        .set_layout_created(LAYOUT + 1, vec![binding(7, 100), binding(1, 4)])
        .unwrap();
    tracker
        .set_allocated(SET + 1, POOL, LAYOUT + 1, Some(50))
        .unwrap();
    tracker
        .descriptors_written(SET + 1, 1, 0, [buffer(107, 0, C)])
        .unwrap();
    tracker
        .descriptors_written(SET + 1, 7, 3, [buffer(101, 0, 8), buffer(999, 0, 8)])
        .unwrap();
    tracker
        .descriptors_copied((SET + 1, 7, 3), (SET + 1, 7, 40), 1)
        .unwrap();
    tracker
        .descriptors_written(SET + 1, 7, 3, [buffer(102, 0, 8)])
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker
        .record_bind_set(CB, COMPUTE, 2, SET + 1, &[])
        .unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    assert_eq!(
        submit(&mut tracker, &[CB]),
        [(DEVICE_MEMORY, 4 * C, 8), (DEVICE_MEMORY, 8 * C, 8)]
    );
}

#[test]
fn submit_descriptor_range_is_rounded_to_the_bounds_check_and_cut_at_the_buffer() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    tracker
        .descriptors_written(SET, 3, 0, [buffer(100, 0, 5)])
        .unwrap();
    let odd = submit(&mut tracker, &[CB]);
    tracker
        .descriptors_written(SET, 3, 0, [buffer(100, 3 * C, 100 * C)])
        .unwrap();
    let beyond = submit(&mut tracker, &[CB]);

    assert_eq!(odd, [(DEVICE_MEMORY, 0, 8)]);
    assert_eq!(beyond, [(DEVICE_MEMORY, 3 * C, C)]);
}

#[test]
fn submit_without_robustness_marks_the_whole_memory_object() {
    let mut tracker = Audited::new(Robustness::MemoryObject, 1);
    tracker.memory_created(DEVICE_MEMORY, 8 * C, true).unwrap();
    tracker.create_buffer(100, C, false);
    tracker.bind_buffer(100, DEVICE_MEMORY, 2 * C).unwrap();
    let binding = LayoutBinding {
        binding: 1,
        descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
        count: 1,
    };
    tracker.set_layout_created(LAYOUT, vec![binding]).unwrap();
    tracker.descriptor_pool_created(POOL).unwrap();
    tracker.set_allocated(SET, POOL, LAYOUT, None).unwrap();
    tracker.command_pool_created(COMMAND_POOL).unwrap();
    tracker.command_buffer_allocated(CB, COMMAND_POOL).unwrap();
    pipeline(&mut tracker, PIPELINE, ATOMIC);
    tracker
        .descriptors_written(SET, 1, 0, [buffer(100, 0, 4)])
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    let dispatched = submit(&mut tracker, &[CB]);
    tracker.command_buffer_reset(CB).unwrap();
    tracker.record_buffer_write(CB, 100, 0, 4).unwrap();
    let copied = submit(&mut tracker, &[CB]);

    assert_eq!(dispatched, [(DEVICE_MEMORY, 0, 8 * C)]);
    assert_eq!(copied, [(DEVICE_MEMORY, 2 * C, 4)]);
}

#[test]
fn submit_read_only_dispatch_marks_nothing() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, READ_ONLY);
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), []);
}

#[test]
fn submit_address_store_marks_every_buffer_with_an_address() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, ADDRESS);
    for (id, memory, offset) in [
        (300, DEVICE_MEMORY, 40 * C),
        (301, HOST_MEMORY, 50 * C),
        (302, DEVICE_MEMORY, 60 * C),
    ] {
        tracker.create_buffer(id, 2 * C, true);
        tracker.bind_buffer(id, memory, offset).unwrap();
    }
    tracker.create_buffer(303, C, true);
    tracker.destroy_buffer(302);
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    let ranges = submit(&mut tracker, &[CB]);

    assert_eq!(
        ranges,
        [(DEVICE_MEMORY, 40 * C, 2 * C), (HOST_MEMORY, 50 * C, 2 * C)]
    );
    assert_eq!(tracker.counters().address_bytes, 4 * C);
}

#[test]
fn submit_unknown_shader_marks_all_that_is_bound_and_addressed() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, UNDEFINED);
    tracker.create_buffer(300, C, true);
    tracker.bind_buffer(300, DEVICE_MEMORY, 40 * C).unwrap();
    tracker
        .descriptors_written(SET, 0, 0, [buffer(100, 0, C), buffer(203, 0, C)])
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 5, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    assert_eq!(
        submit(&mut tracker, &[CB]),
        [
            (DEVICE_MEMORY, 0, C),
            (DEVICE_MEMORY, 40 * C, C),
            (HOST_MEMORY, 12 * C, C)
        ]
    );
}

#[test]
fn submit_texel_buffers_go_through_views_and_views_that_are_gone_mark_nothing() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, IMAGE);
    tracker.buffer_view_created(400, 101, 64, 128).unwrap();
    tracker
        .buffer_view_created(401, 102, 64, vk::WHOLE_SIZE)
        .unwrap();
    tracker
        .descriptors_written(
            SET,
            2,
            0,
            [
                Descriptor::TexelView { view: 400 },
                Descriptor::TexelView { view: 401 },
            ],
        )
        .unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    let texels = submit(&mut tracker, &[CB]);
    tracker
        .descriptors_written(SET, 1, 0, [Descriptor::Image { view: 500 }])
        .unwrap();
    let image = submit(&mut tracker, &[CB]);

    assert_eq!(
        texels,
        [
            (DEVICE_MEMORY, 4 * C + 64, 128),
            (DEVICE_MEMORY, 8 * C + 64, 4 * C - 64)
        ]
    );
    assert_eq!(image, texels);
    assert_eq!(tracker.counters().everything, 0);
}

#[test]
fn submit_pushed_descriptors_keep_what_each_dispatch_saw() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    tracker.pipeline_layout_created(90, &[LAYOUT, 0]).unwrap();
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    for id in [100, 102] {
        let pushed = [buffer(id, 0, 4)];
        tracker
            .record_push_descriptors(CB, COMPUTE, (90, 0), (3, 0), pushed)
            .unwrap();
        tracker.record_shaders(CB, COMPUTE).unwrap();
    }
    let nowhere =
        tracker.record_push_descriptors(CB, COMPUTE, (90, 1), (3, 0), [buffer(100, 0, 4)]);

    assert_eq!(
        submit(&mut tracker, &[CB]),
        [(DEVICE_MEMORY, 0, 4), (DEVICE_MEMORY, 8 * C, 4)]
    );
    assert!(matches!(nowhere, Err(AuditError::BadArguments { .. })));
}

#[test]
fn submit_secondary_command_buffers_count_as_recorded_at_submit() {
    let mut tracker = tracker();
    tracker
        .command_buffer_allocated(CB + 1, COMMAND_POOL)
        .unwrap();
    tracker.record_buffer_write(CB + 1, 105, 0, 4).unwrap();
    tracker.record_buffer_write(CB, 100, 0, 4).unwrap();
    tracker.record_secondary(CB, CB + 1).unwrap();

    let both = submit(&mut tracker, &[CB]);
    let secondary_alone = submit(&mut tracker, &[CB + 1]);
    let missing = tracker.record_secondary(CB, 12345);

    assert_eq!(both, [(DEVICE_MEMORY, 0, 4), (DEVICE_MEMORY, 20 * C, 4)]);
    assert_eq!(secondary_alone, [(DEVICE_MEMORY, 20 * C, 4)]);
    assert!(matches!(missing, Err(AuditError::UnknownObject { .. })));
}

#[test]
fn submit_secondary_that_runs_itself_counts_as_everything() {
    let mut tracker = tracker();
    tracker.record_secondary(CB, CB).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
}

#[test]
fn submit_query_results_mark_each_stride() {
    let mut tracker = tracker();
    tracker.query_pool_created(80, 1).unwrap();
    let wait = vk::QueryResultFlags::WAIT;
    let wide = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
    tracker
        .record_query_results(CB, 80, 3, (100, 8, 16), wait)
        .unwrap();
    tracker
        .record_query_results(CB, 80, 2, (101, 0, 2 * C), wide)
        .unwrap();
    tracker
        .record_query_results(CB, 80, 0, (102, 0, 4), wait)
        .unwrap();

    let ranges = submit(&mut tracker, &[CB]);
    tracker
        .record_query_results(CB, 80, u32::MAX, (102, 0, 2 * C), wide)
        .unwrap();

    assert_eq!(
        ranges,
        [
            (DEVICE_MEMORY, 8, 36),
            (DEVICE_MEMORY, 4 * C, 16),
            (DEVICE_MEMORY, 6 * C, 16)
        ]
    );
    assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
}

#[test]
fn submit_with_a_set_that_is_gone_counts_as_everything() {
    for lose in [
        (|tracker: &mut Audited| tracker.set_freed(SET)) as fn(&mut Audited),
        |tracker| tracker.descriptor_pool_reset(POOL),
        |tracker| tracker.descriptor_pool_destroyed(POOL),
    ] {
        let mut tracker = tracker();
        pipeline(&mut tracker, PIPELINE, STORE);
        tracker
            .descriptors_written(SET, 3, 0, [buffer(100, 0, C)])
            .unwrap();
        tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
        tracker.record_bind_set(CB, COMPUTE, 0, SET, &[]).unwrap();
        tracker.record_shaders(CB, COMPUTE).unwrap();
        assert_eq!(submit(&mut tracker, &[CB]), [(DEVICE_MEMORY, 0, C)]);

        lose(&mut tracker);

        assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
    }
}

#[test]
fn submit_dispatch_without_the_needed_set_counts_as_everything() {
    let mut tracker = tracker();
    pipeline(&mut tracker, PIPELINE, STORE);
    tracker.record_bind_pipeline(CB, COMPUTE, PIPELINE).unwrap();
    tracker.record_shaders(CB, COMPUTE).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
}

#[test]
fn submit_write_to_a_buffer_without_memory_counts_as_everything() {
    let mut tracker = tracker();
    tracker.create_buffer(500, C, false);
    tracker.record_buffer_write(CB, 500, 0, 4).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
}

#[test]
fn submit_recorded_everything_lasts_until_the_reset() {
    let mut tracker = tracker();
    tracker.record_everything(CB).unwrap();
    tracker.record_buffer_write(CB, 100, 0, 4).unwrap();

    assert_eq!(submit(&mut tracker, &[CB]), EVERYTHING);
    tracker.command_buffer_reset(CB).unwrap();
    assert_eq!(submit(&mut tracker, &[CB]), []);
}

#[test]
fn submit_very_many_scattered_writes_stays_exact() {
    let mut tracker = Audited::new(Robustness::Descriptor, 1);
    let count = 200_000u64;
    tracker
        .memory_created(DEVICE_MEMORY, count * 16, true)
        .unwrap();
    tracker.create_buffer(100, count * 16, false);
    tracker.bind_buffer(100, DEVICE_MEMORY, 0).unwrap();
    tracker.command_pool_created(COMMAND_POOL).unwrap();
    tracker.command_buffer_allocated(CB, COMMAND_POOL).unwrap();
    for index in (0..count).rev() {
        tracker.record_buffer_write(CB, 100, index * 16, 8).unwrap();
    }

    let ranges = submit(&mut tracker, &[CB]);

    assert_eq!(ranges.len() as u64, count);
    assert_eq!(ranges[1], (DEVICE_MEMORY, 16, 8));
}

#[test]
fn submit_unknown_command_buffer_is_an_error_and_marks_nothing() {
    let mut tracker = tracker();
    tracker.record_buffer_write(CB, 100, 0, 4).unwrap();
    let mut marks = Marks::new();

    let freed = {
        tracker.command_buffer_freed(CB);
        tracker.resolve_submit([CB], &mut marks)
    };

    assert!(matches!(freed, Err(AuditError::UnknownObject { .. })));
    assert!(marks.is_empty());
}

#[test]
fn marks_of_freed_memory_can_still_be_applied() {
    let mut tracker = tracker();
    let map = tracker.dirty_map(DEVICE_MEMORY).unwrap();
    tracker.record_buffer_write(CB, 101, 0, 4).unwrap();
    let mut marks = Marks::new();
    tracker.resolve_submit([CB], &mut marks).unwrap();
    marks.mark_device();
    assert_eq!(map.take().iter().collect::<Vec<_>>(), [4]);

    tracker.memory_freed(DEVICE_MEMORY);
    marks.mark_device();

    assert_eq!(map.take().iter().collect::<Vec<_>>(), [4]);
    assert!(tracker.dirty_map(DEVICE_MEMORY).is_none());
    assert!(tracker.dirty_map(HOST_MEMORY).is_none());
}

#[test]
fn capture_between_the_two_marks_leaves_the_second_behind() {
    let mut tracker = tracker();
    let map = tracker.dirty_map(DEVICE_MEMORY).unwrap();
    tracker.record_buffer_write(CB, 100, 0, C + 1).unwrap();
    let mut marks = Marks::new();
    tracker.resolve_submit([CB], &mut marks).unwrap();

    marks.mark_device();
    let too_early = map.take();
    marks.mark_device();

    assert_eq!(too_early.len(), 2);
    assert_eq!(map.take(), too_early);
}

#[test]
fn bind_outside_of_the_memory_is_an_error() {
    let mut tracker = tracker();
    tracker.create_buffer(500, 2 * C, false);

    for offset in [63 * C, u64::MAX] {
        let result = tracker.bind_buffer(500, DEVICE_MEMORY, offset);
        assert!(matches!(result, Err(AuditError::BindOutOfRange { .. })));
    }
    assert!(tracker.bind_buffer(500, DEVICE_MEMORY, 62 * C).is_ok());
}

#[test]
fn created_twice_is_an_error() {
    let mut tracker = tracker();

    let memory = tracker.memory_created(DEVICE_MEMORY, C, true);
    let set = tracker.set_allocated(SET, POOL, LAYOUT, None);

    for result in [memory, set] {
        assert!(matches!(result, Err(AuditError::DuplicateObject { .. })));
    }
}

#[test]
fn module_of_the_same_code_is_analyzed_once() {
    let mut tracker = tracker();
    let code = words(STORE);
    tracker.module_created(1, &code).unwrap();
    tracker.module_created(2, &code).unwrap();
    tracker.module_created(3, &words(ATOMIC)).unwrap();

    assert_eq!(tracker.counters().modules_analyzed, 2);
    assert_eq!(tracker.module(1).unwrap(), tracker.module(2).unwrap());
    assert_ne!(tracker.module(1).unwrap(), tracker.module(3).unwrap());
}

#[test]
fn pipeline_of_a_missing_entry_point_is_an_error() {
    let mut tracker = tracker();
    let module = tracker.analyze_code(&words(STORE)).unwrap();

    let name = tracker.pipeline_created(1, &[(module.clone(), "other", 5)]);
    let model = tracker.pipeline_created(1, &[(module, "main", 4)]);

    for result in [name, model] {
        assert!(matches!(result, Err(AuditError::EntryPointMissing { .. })));
    }
}

#[test]
fn module_that_is_no_spirv_is_an_error() {
    let mut tracker = tracker();

    assert!(matches!(
        tracker.module_created(1, &[1, 2, 3]),
        Err(AuditError::Spirv(_))
    ));
    assert!(matches!(
        tracker.module(1),
        Err(AuditError::UnknownObject { .. })
    ));
}

#[test]
fn repeats_same_command_buffers_until_something_changes() {
    let mut tracker = tracker();
    tracker
        .command_buffer_allocated(CB + 1, COMMAND_POOL)
        .unwrap();
    tracker.record_buffer_write(CB, 100, 0, 4).unwrap();
    let mut marks = Marks::new();
    assert!(!tracker.repeats([], &marks), "made from nothing");
    tracker.resolve_submit([CB], &mut marks).unwrap();
    let once = (tracker.counters(), tracker.marked_bytes().next());

    assert!(tracker.repeats([CB], &marks));
    assert!(!tracker.repeats([CB, CB], &marks));
    assert!(!tracker.repeats([CB + 1], &marks));
    assert!(!tracker.repeats([], &marks));

    let twice = tracker.counters();
    assert_eq!(twice.submissions, 2 * once.0.submissions);
    assert_eq!(twice.transfer_bytes, 2 * once.0.transfer_bytes);
    let by_command = once.1.map(|(name, bytes)| (name, 2 * bytes));
    assert_eq!(tracker.marked_bytes().next(), by_command);

    tracker.changed();
    assert!(!tracker.repeats([CB], &marks));
    marks.clear();
    assert!(!tracker.repeats([], &marks), "cleared");
}
