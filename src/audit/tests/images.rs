//! Scenarios of the tracker with images: subresources that are marked, and memory that is shared with other objects.

mod audited;

use ash::vk;
use hesper_audit::AuditError;
use hesper_audit::descriptors::{Descriptor, LayoutBinding};
use hesper_audit::dirty::CHUNK_SIZE;
use hesper_audit::images::{BufferRegion, ImageFacts, ImageRange, RenderPassWrites, Subresources};
use hesper_audit::marks::Marks;
use hesper_audit::tracker::Robustness;

use audited::Audited;

const C: u64 = CHUNK_SIZE;
const MEMORY: u64 = 1;
const BUFFER: u64 = 2;
const CB: u64 = 3;
/// 5 levels of 4 layers, 6 chunks at chunk 10.
const IMAGE: u64 = 10;
/// As `IMAGE`, at chunk 15: the last chunk of `IMAGE` is its first one.
const ALIAS: u64 = 11;
/// As `IMAGE`, at chunk 40.
const OTHER: u64 = 12;

fn facts() -> ImageFacts {
    ImageFacts {
        flags: vk::ImageCreateFlags::empty(),
        image_type: vk::ImageType::TYPE_2D,
        format: vk::Format::R8G8B8A8_UNORM,
        extent: vk::Extent3D::default().width(64).height(64).depth(1),
        mips: 5,
        layers: 4,
        samples: vk::SampleCountFlags::TYPE_1,
        tiling: vk::ImageTiling::OPTIMAL,
        usage: vk::ImageUsageFlags::STORAGE,
    }
}

/// Memory of 64 chunks, a buffer of 4 chunks at its start, the three images, a command buffer.
fn tracker() -> Audited {
    let mut tracker = Audited::new(Robustness::Descriptor, 1);
    tracker.memory_created(MEMORY, 64 * C, true).unwrap();
    tracker.create_buffer(BUFFER, 4 * C, false);
    tracker.bind_buffer(BUFFER, MEMORY, 0).unwrap();
    for (image, chunk) in [(IMAGE, 10), (ALIAS, 15), (OTHER, 40)] {
        tracker.image_created(image, facts()).unwrap();
        tracker.image_sized(image, 6 * C);
        tracker.image_bound(image, MEMORY, chunk * C).unwrap();
    }
    tracker.command_pool_created(4).unwrap();
    tracker.command_buffer_allocated(CB, 4).unwrap();
    tracker
}

fn part(mip: u32, mips: u32, layer: u32, layers: u32) -> Subresources {
    Subresources {
        aspects: 1,
        mip,
        mips,
        layer,
        layers,
    }
}

const ALL: Subresources = Subresources {
    aspects: u32::MAX,
    mip: 0,
    mips: 5,
    layer: 0,
    layers: 4,
};

/// (offset, length) of the ranges of memory, and the images with their subresources.
type Marked = (Vec<(u64, u64)>, Vec<(u64, Subresources)>);

fn submit(tracker: &mut Audited) -> Marked {
    let mut marks = Marks::new();
    tracker.resolve_submit([CB], &mut marks).unwrap();
    marks.mark_device();
    (
        marks.device_ranges().map(|r| (r.offset, r.len)).collect(),
        marks
            .image_ranges()
            .map(|r| (r.image, r.subresources))
            .collect(),
    )
}

#[test]
fn submit_image_write_marks_its_subresources_and_all_of_its_memory() {
    let mut tracker = tracker();
    tracker
        .record_image_write(CB, OTHER, part(1, 2, 3, u32::MAX))
        .unwrap();

    let marked = submit(&mut tracker);

    assert_eq!(
        marked,
        (vec![(40 * C, 6 * C)], vec![(OTHER, part(1, 2, 3, 1))])
    );
    let taken = tracker.image_map(OTHER).unwrap().take();
    assert_eq!(taken, [(1, 3), (2, 3)]);
    assert_eq!(tracker.image_map(IMAGE).unwrap().take(), []);
}

#[test]
fn submit_image_write_marks_all_of_images_in_the_same_memory() {
    let mut tracker = tracker();
    tracker
        .record_image_write(CB, IMAGE, part(0, 1, 0, 1))
        .unwrap();

    let marked = submit(&mut tracker);

    assert_eq!(
        marked,
        (
            vec![(10 * C, 6 * C)],
            vec![(IMAGE, part(0, 1, 0, 1)), (ALIAS, ALL)]
        )
    );
}

#[test]
fn submit_buffer_write_marks_images_that_have_bytes_there_only() {
    let mut tracker = tracker();
    tracker.create_buffer(90, C, false);
    tracker.bind_buffer(90, MEMORY, 9 * C + 1).unwrap();
    tracker.record_buffer_write(CB, 90, 0, C - 1).unwrap();
    assert_eq!(submit(&mut tracker).1, []);
    tracker.record_buffer_write(CB, 90, C - 1, 1).unwrap();

    let marked = submit(&mut tracker);

    assert_eq!(marked, (vec![(9 * C + 1, C)], vec![(IMAGE, ALL)]));
}

#[test]
fn submit_destroyed_image_is_no_alias_any_more_but_its_write_is_in_doubt() {
    let mut tracker = tracker();
    tracker
        .record_image_write(CB, IMAGE, part(0, 1, 0, 1))
        .unwrap();
    tracker.image_destroyed(ALIAS);
    assert_eq!(submit(&mut tracker).1, [(IMAGE, part(0, 1, 0, 1))]);

    tracker.image_destroyed(IMAGE);
    let marked = submit(&mut tracker);

    assert_eq!(marked, (vec![(0, 64 * C)], vec![(OTHER, ALL)]));
    assert_eq!(tracker.counters().everything, 1);
}

#[test]
fn bind_beyond_the_memory_is_an_error_and_unknown_size_reaches_to_its_end() {
    let mut tracker = tracker();
    tracker.image_created(20, facts()).unwrap();
    tracker.image_created(21, facts()).unwrap();
    tracker.image_sized(20, 6 * C);

    let result = tracker.image_bound(20, MEMORY, 59 * C);
    tracker.image_bound(21, MEMORY, 60 * C).unwrap();
    tracker
        .record_image_write(CB, 21, part(0, 1, 0, 1))
        .unwrap();

    assert!(matches!(result, Err(AuditError::ImageOutOfRange { .. })));
    assert!(tracker.image_bound(21, MEMORY, u64::MAX).is_err());
    assert_eq!(submit(&mut tracker).0, [(60 * C, 4 * C)]);
}

#[test]
fn submit_storage_image_marks_what_its_view_shows() {
    let mut tracker = tracker();
    let bindings = (0..5).map(|binding| LayoutBinding {
        binding,
        descriptor_type: vk::DescriptorType::STORAGE_IMAGE,
        count: 1,
    });
    tracker.set_layout_created(30, bindings.collect()).unwrap();
    tracker.descriptor_pool_created(31).unwrap();
    tracker.set_allocated(32, 31, 30, None).unwrap();
    // Writes bindings 1 to 3, reads 0 and 4.
    let code = include_bytes!("../spirv/shaders/image_write.spv");
    let words: Vec<u32> = code
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    tracker.module_created(33, &words).unwrap();
    let module = tracker.module(33).unwrap();
    tracker
        .pipeline_created(34, &[(module, "main", 5)])
        .unwrap();
    for (view, image, mip) in [(40, IMAGE, 1), (41, OTHER, 2), (42, OTHER, 3)] {
        let subresources = part(mip, 1, 2, u32::MAX);
        tracker
            .image_view_created(
                view,
                ImageRange {
                    image,
                    subresources,
                },
            )
            .unwrap();
    }
    let views = [40, 41, 42].map(|view| Descriptor::Image { view });
    tracker.descriptors_written(32, 0, 0, views).unwrap();
    let compute = vk::PipelineBindPoint::COMPUTE;
    tracker.record_bind_pipeline(CB, compute, 34).unwrap();
    tracker.record_bind_set(CB, compute, 0, 32, &[]).unwrap();
    tracker.record_shaders(CB, compute).unwrap();

    let marked = submit(&mut tracker);

    assert_eq!(
        marked,
        (
            vec![(40 * C, 6 * C)],
            vec![(OTHER, part(2, 1, 2, 2)), (OTHER, part(3, 1, 2, 2))]
        )
    );
}

#[test]
fn submit_render_pass_marks_written_attachments_of_either_framebuffer() {
    let mut tracker = tracker();
    for (view, image) in [(40, IMAGE), (41, OTHER)] {
        let subresources = part(0, 1, 1, 2);
        tracker
            .image_view_created(
                view,
                ImageRange {
                    image,
                    subresources,
                },
            )
            .unwrap();
    }
    let attachments = vec![false, true];
    tracker
        .render_pass_created(
            50,
            RenderPassWrites {
                attachments,
                ..Default::default()
            },
        )
        .unwrap();
    tracker
        .framebuffer_created(51, [40, 41].into_iter())
        .unwrap();
    tracker.framebuffer_created(52, [].into_iter()).unwrap();
    let expected = (vec![(40 * C, 6 * C)], vec![(OTHER, part(0, 1, 1, 2))]);

    tracker.record_render_pass(CB, 50, 51, &[]).unwrap();
    let own = submit(&mut tracker);
    tracker.command_buffer_reset(CB).unwrap();
    tracker.record_render_pass(CB, 50, 52, &[40, 41]).unwrap();
    let given = submit(&mut tracker);

    assert_eq!(own, expected);
    assert_eq!(given, expected);
    assert!(tracker.record_render_pass(CB, 50, 52, &[40]).is_err());
    assert!(tracker.record_view_write(CB, 99, None).is_err());
}

#[test]
fn submit_depth_resolve_marks_all_of_the_image() {
    let mut tracker = tracker();
    let range = ImageRange {
        image: OTHER,
        subresources: part(0, 1, 1, 1),
    };
    tracker.image_view_created(40, range).unwrap();
    let writes = RenderPassWrites {
        attachments: vec![true],
        whole_images: vec![0],
    };
    tracker.render_pass_created(50, writes).unwrap();
    tracker.framebuffer_created(51, [40].into_iter()).unwrap();
    let expected = (vec![(40 * C, 6 * C)], vec![(OTHER, part(0, 5, 0, 4))]);

    tracker.record_render_pass(CB, 50, 51, &[]).unwrap();
    let passed = submit(&mut tracker);
    tracker.command_buffer_reset(CB).unwrap();
    tracker.record_depth_resolve(CB, 40).unwrap();
    let dynamic = submit(&mut tracker);

    let exact = |(memory, images): (Vec<_>, Vec<(u64, Subresources)>)| {
        let images = images.into_iter().map(|(image, range)| {
            let aspects = 1;
            (image, Subresources { aspects, ..range })
        });
        (memory, images.collect::<Vec<_>>())
    };
    assert_eq!(exact(passed), expected);
    assert_eq!(exact(dynamic), expected);
}

fn region(row_length: u32, image_height: u32, layers: u32) -> BufferRegion {
    BufferRegion {
        offset: 100,
        row_length,
        image_height,
        aspects: 1,
        layers,
        extent: vk::Extent3D::default().width(10).height(3).depth(1),
    }
}

#[test]
fn submit_image_to_buffer_copy_ends_with_its_last_texel() {
    let mut ranges = Vec::new();
    for region in [
        region(0, 0, 1),
        region(16, 0, 1),
        region(16, 5, 2),
        // Rows further apart than a chunk.
        region(32 * 1024, 0, 1),
    ] {
        let mut tracker = tracker();
        tracker
            .record_image_to_buffer(CB, IMAGE, BUFFER, region)
            .unwrap();
        ranges.push(submit(&mut tracker).0);
    }

    assert_eq!(ranges[0], [(100, 120)]);
    assert_eq!(ranges[1], [(100, 2 * 64 + 40)]);
    assert_eq!(ranges[2], [(100, 5 * 64 + 2 * 64 + 40)]);
    assert_eq!(ranges[3], [(100, 40), (100 + 2 * C, 40), (100 + 4 * C, 40)]);
}

#[test]
fn submit_image_to_buffer_copy_of_hostile_size_reaches_to_the_end_of_the_buffer() {
    let mut tracker = tracker();
    let mut hostile = region(u32::MAX, u32::MAX, u32::MAX - 1);
    hostile.extent = vk::Extent3D::default()
        .width(1)
        .height(u32::MAX)
        .depth(u32::MAX);

    tracker
        .record_image_to_buffer(CB, IMAGE, BUFFER, hostile)
        .unwrap();

    assert_eq!(submit(&mut tracker).0, [(100, 4 * C - 100)]);
}
