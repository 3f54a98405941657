//! What the audit costs, printed: `cargo test --release -p hesper-audit --test cost -- --ignored --nocapture`.

mod audited;

use std::time::Instant;

use ash::vk;
use hesper_audit::descriptors::{Descriptor, LayoutBinding};
use hesper_audit::dirty::{CHUNK_SIZE, DirtyMap};
use hesper_audit::marks::Marks;
use hesper_audit::spirv;
use hesper_audit::tracker::Robustness;

use audited::Audited;

const COMPUTE: vk::PipelineBindPoint = vk::PipelineBindPoint::COMPUTE;

/// Nanoseconds of one of `count` calls.
fn time(name: &str, count: u64, mut call: impl FnMut(u64)) {
    let start = Instant::now();
    for index in 0..count {
        call(index);
    }
    println!(
        "{name}: {:.1} ns",
        start.elapsed().as_nanos() as f64 / count as f64
    );
}

#[test]
#[ignore = "prints times"]
fn cost_of_recording_and_submitting() {
    let words: Vec<u32> = include_bytes!("../spirv/shaders/store.spv")
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let mut tracker = Audited::new(Robustness::Descriptor, 1);
    tracker.memory_created(1, 1 << 30, true).unwrap();
    let bindings = (0..4).map(|binding| LayoutBinding {
        binding,
        descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
        count: 1,
    });
    tracker.set_layout_created(2, bindings.collect()).unwrap();
    tracker.descriptor_pool_created(3).unwrap();
    tracker.command_pool_created(4).unwrap();
    tracker.command_buffer_allocated(5, 4).unwrap();
    let module = tracker.analyze_code(&words).unwrap();
    for id in 0..32 {
        tracker.create_buffer(100 + id, 1 << 20, false);
        tracker.bind_buffer(100 + id, 1, id << 20).unwrap();
        tracker.set_allocated(200 + id, 3, 2, None).unwrap();
        let descriptor = Descriptor::Buffer {
            buffer: 100 + id,
            offset: 0,
            range: vk::WHOLE_SIZE,
        };
        tracker
            .descriptors_written(200 + id, 0, 0, [descriptor; 4])
            .unwrap();
        tracker
            .pipeline_created(300 + id, &[(module.clone(), "main", 5)])
            .unwrap();
    }
    let mut marks = Marks::new();
    for (name, variants) in [
        ("one pipeline", 1),
        ("two pipelines", 2),
        ("32 pipelines", 32),
    ] {
        println!("{name}, 1000 dispatches:");
        time("  bind, bind, dispatch", 200_000, |index| {
            if index % 1000 == 0 {
                tracker.command_buffer_reset(5).unwrap();
            }
            let variant = index % variants;
            tracker
                .record_bind_pipeline(5, COMPUTE, 300 + variant)
                .unwrap();
            tracker
                .record_bind_set(5, COMPUTE, 0, 200 + variant, &[])
                .unwrap();
            tracker.record_shaders(5, COMPUTE).unwrap();
        });
        time("  submit", 1000, |_| {
            marks.clear();
            tracker.resolve_submit([5], &mut marks).unwrap();
            marks.mark_device();
            marks.mark_device();
        });
    }
    let map = DirtyMap::new(1 << 30);
    time("mark of 1 MiB", 1_000_000, |index| {
        map.mark((index % 1000) << 20, 1 << 20)
    });
    time("take of 1 GiB", 10_000, |_| {
        map.mark(0, CHUNK_SIZE);
        assert!(!map.take().is_empty());
    });
    time("analysis of a small module", 1000, |_| {
        spirv::analyze(&words).unwrap();
    });
}
