//! Rules of single commands, where programs do not go: failures, odd pointers, refusals.

mod audited;

use ash::vk::{self, Handle};
use hesper_audit::AuditError;
use hesper_audit::marks::Marks;
use hesper_audit::rules::{RULES, Rule, submitted};
use hesper_audit::tracker::Robustness;
use hesper_venus::{Args, Command, args};

use audited::Audited;

const C: u64 = 64 * 1024;
const MEMORY: u64 = 11;
const BUFFER: u64 = 12;
const COMMAND_BUFFER: u64 = 14;

macro_rules! command {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        Command::$name(Args::new(&mut args::$name { $($field: $value),* }))
    };
}

fn follow(tracker: &mut Audited, command: &Command<'_>) -> Result<(), AuditError> {
    tracker.follow(command)
}

fn allocate(
    tracker: &mut Audited,
    id: u64,
    memory_type: u32,
    ret: vk::Result,
) -> Result<(), AuditError> {
    allocate_chained(tracker, id, memory_type, std::ptr::null(), ret)
}

fn allocate_chained(
    tracker: &mut Audited,
    id: u64,
    memory_type: u32,
    chain: *const std::ffi::c_void,
    ret: vk::Result,
) -> Result<(), AuditError> {
    let info = vk::MemoryAllocateInfo {
        p_next: chain,
        ..vk::MemoryAllocateInfo::default()
            .allocation_size(4 * C)
            .memory_type_index(memory_type)
    };
    let mut memory = vk::DeviceMemory::from_raw(id);
    follow(
        tracker,
        &command!(VkAllocateMemory {
            device: vk::Device::null(),
            p_allocate_info: &info,
            p_allocator: std::ptr::null(),
            p_memory: &mut memory,
            ret: ret,
        }),
    )
}

fn create_buffer(
    tracker: &mut Audited,
    id: u64,
    info: &vk::BufferCreateInfo<'static>,
) -> Result<(), AuditError> {
    let mut buffer = vk::Buffer::from_raw(id);
    follow(
        tracker,
        &command!(VkCreateBuffer {
            device: vk::Device::null(),
            p_create_info: info,
            p_allocator: std::ptr::null(),
            p_buffer: &mut buffer,
            ret: vk::Result::SUCCESS,
        }),
    )
}

/// Binds [`BUFFER`].
fn bind(tracker: &mut Audited, memory: u64, offset: u64) -> Result<(), AuditError> {
    let bind = [vk::BindBufferMemoryInfo::default()
        .buffer(vk::Buffer::from_raw(BUFFER))
        .memory(vk::DeviceMemory::from_raw(memory))
        .memory_offset(offset)];
    follow(
        tracker,
        &command!(VkBindBufferMemory2 {
            device: vk::Device::null(),
            bind_info_count: 1,
            p_bind_infos: bind.as_ptr(),
            ret: vk::Result::SUCCESS,
        }),
    )
}

/// Device-local memory with a buffer of two chunks at its second one, and a command buffer.
fn tracker() -> Audited {
    let mut tracker = Audited::new(Robustness::Descriptor, 0b01);
    allocate(&mut tracker, MEMORY, 0, vk::Result::SUCCESS).unwrap();
    create_buffer(
        &mut tracker,
        BUFFER,
        &vk::BufferCreateInfo::default().size(2 * C),
    )
    .unwrap();
    bind(&mut tracker, MEMORY, C).unwrap();
    let mut pool = vk::CommandPool::from_raw(13);
    let info = vk::CommandPoolCreateInfo::default();
    follow(
        &mut tracker,
        &command!(VkCreateCommandPool {
            device: vk::Device::null(),
            p_create_info: &info,
            p_allocator: std::ptr::null(),
            p_command_pool: &mut pool,
            ret: vk::Result::SUCCESS,
        }),
    )
    .unwrap();
    let mut command_buffer = vk::CommandBuffer::from_raw(COMMAND_BUFFER);
    let info = vk::CommandBufferAllocateInfo::default()
        .command_pool(pool)
        .command_buffer_count(1);
    follow(
        &mut tracker,
        &command!(VkAllocateCommandBuffers {
            device: vk::Device::null(),
            p_allocate_info: &info,
            p_command_buffers: &mut command_buffer,
            ret: vk::Result::SUCCESS,
        }),
    )
    .unwrap();
    tracker
}

fn fill(tracker: &mut Audited, size: u64) -> Result<(), AuditError> {
    follow(
        tracker,
        &command!(VkCmdFillBuffer {
            command_buffer: vk::CommandBuffer::from_raw(COMMAND_BUFFER),
            dst_buffer: vk::Buffer::from_raw(BUFFER),
            dst_offset: 8,
            size: size,
            data: 1,
        }),
    )
}

fn submit(tracker: &mut Audited) -> Vec<(u64, u64, u64)> {
    let command_buffers = [vk::CommandBuffer::from_raw(COMMAND_BUFFER)];
    let submits = [
        vk::SubmitInfo::default(),
        vk::SubmitInfo::default().command_buffers(&command_buffers),
    ];
    let mut marks = Marks::new();
    let mut args = args::VkQueueSubmit {
        queue: vk::Queue::null(),
        submit_count: 2,
        p_submits: submits.as_ptr().cast(),
        fence: vk::Fence::null(),
        ret: vk::Result::SUCCESS,
    };
    let command = Command::VkQueueSubmit(Args::new(&mut args));
    // SAFETY: every pointer in the commands of these tests is null or valid for its count.
    unsafe { submitted(&mut tracker.tracker, &tracker.buffers, &command, &mut marks) }.unwrap();
    let ranges = marks
        .device_ranges()
        .chain(marks.host_ranges().iter().copied());
    ranges
        .map(|range| (range.memory, range.offset, range.len))
        .collect()
}

#[test]
fn rules_name_each_command_once_and_follow_every_kind() {
    let mut names: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();

    assert_eq!(names.len(), count);
    for kind in [
        Rule::Nothing,
        Rule::Before,
        Rule::After,
        Rule::Submit,
        Rule::Refused,
    ] {
        assert!(RULES.iter().any(|(_, rule)| *rule == kind), "{kind:?}");
    }
}

/// The table in the document is the table in the code.
#[test]
fn rules_that_do_something_stand_in_the_document() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md");
    let document = std::fs::read_to_string(path).unwrap();

    for (name, rule) in RULES {
        if *rule != Rule::Nothing {
            let name = format!("vk{}", &name[2..]);
            assert!(
                document.contains(&format!("`{name}`")),
                "{name} is not in docs/audit.md"
            );
        }
    }
}

#[test]
fn fill_whole_size_reaches_the_end_of_the_buffer() {
    let mut tracker = tracker();

    fill(&mut tracker, vk::WHOLE_SIZE).unwrap();

    assert_eq!(submit(&mut tracker), [(MEMORY, C + 8, 2 * C - 8)]);
}

#[test]
fn begin_forgets_what_was_recorded() {
    let mut tracker = tracker();
    fill(&mut tracker, 4).unwrap();
    let info = vk::CommandBufferBeginInfo::default();

    follow(
        &mut tracker,
        &command!(VkBeginCommandBuffer {
            command_buffer: vk::CommandBuffer::from_raw(COMMAND_BUFFER),
            p_begin_info: (&raw const info).cast(),
            ret: vk::Result::SUCCESS,
        }),
    )
    .unwrap();

    assert_eq!(submit(&mut tracker), []);
}

#[test]
fn allocation_that_failed_makes_nothing() {
    let mut tracker = tracker();

    allocate(&mut tracker, 99, 0, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY).unwrap();

    assert!(tracker.dirty_map(99).is_none());
}

#[test]
fn allocation_memory_type_says_what_is_device_local() {
    let mut tracker = tracker();

    for (id, memory_type) in [(90, 0), (91, 1), (92, 31), (93, 32), (94, u32::MAX)] {
        allocate(&mut tracker, id, memory_type, vk::Result::SUCCESS).unwrap();
    }

    assert!(tracker.dirty_map(90).is_some());
    for id in 91..=94 {
        assert!(tracker.dirty_map(id).is_none(), "{id}");
    }
}

#[test]
fn bind_outside_of_memory_or_of_nothing_is_refused_before_the_driver_sees_it() {
    let mut tracker = tracker();
    for offset in [3 * C, u64::MAX] {
        let result = bind(&mut tracker, MEMORY, offset);
        assert!(matches!(result, Err(AuditError::BindOutOfRange { .. })));
    }
    let no_memory = bind(&mut tracker, MEMORY + 100, 0);
    tracker.destroy_buffer(BUFFER);
    let no_buffer = bind(&mut tracker, MEMORY, 0);

    for (result, expected) in [(no_memory, "memory"), (no_buffer, "buffer")] {
        let kind = match result {
            Err(AuditError::UnknownObject { kind, .. }) => kind,
            other => panic!("{other:?}"),
        };
        assert_eq!(kind, expected);
    }
}

#[test]
fn buffer_with_wide_usage_flags_has_an_address() {
    // A store through an address marks the buffer.
    for wide in [false, true] {
        let mut tracker = tracker();
        let mut flags = vk::BufferUsageFlags2CreateInfoKHR::default()
            .usage(vk::BufferUsageFlags2KHR::SHADER_DEVICE_ADDRESS);
        let mut info = vk::BufferCreateInfo::default().size(C);
        match wide {
            true => info.p_next = (&raw mut flags).cast(),
            false => info.usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS,
        }
        create_buffer(&mut tracker, 77, &info).unwrap();
        tracker.bind_buffer(77, MEMORY, 3 * C).unwrap();
        let bytes = include_bytes!("../spirv/shaders/device_address.spv");
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let module = tracker.analyze_code(&words).unwrap();
        tracker.pipeline_created(5, &[(module, "main", 5)]).unwrap();
        let compute = vk::PipelineBindPoint::COMPUTE;
        tracker
            .record_bind_pipeline(COMMAND_BUFFER, compute, 5)
            .unwrap();
        tracker.record_shaders(COMMAND_BUFFER, compute).unwrap();

        assert_eq!(submit(&mut tracker), [(MEMORY, 3 * C, C)]);
    }
}

#[test]
fn sparse_buffer_is_refused_before_the_driver_sees_it() {
    let mut tracker = tracker();
    let info = vk::BufferCreateInfo::default()
        .size(C)
        .flags(vk::BufferCreateFlags::SPARSE_BINDING);

    let result = create_buffer(&mut tracker, 77, &info);

    assert!(matches!(result, Err(AuditError::Refused { .. })));
}

#[test]
fn transform_feedback_is_refused() {
    let mut tracker = tracker();
    let mut args = args::VkCmdBeginTransformFeedbackEXT {
        command_buffer: vk::CommandBuffer::from_raw(COMMAND_BUFFER),
        first_counter_buffer: 0,
        counter_buffer_count: 0,
        p_counter_buffers: std::ptr::null(),
        p_counter_buffer_offsets: std::ptr::null(),
    };
    let command = Command::VkCmdBeginTransformFeedbackEXT(Args::new(&mut args));

    let error = follow(&mut tracker, &command).unwrap_err();

    assert_eq!(
        error,
        AuditError::Refused {
            command: "VkCmdBeginTransformFeedbackEXT"
        }
    );
    assert_eq!(error.answer(), None);
}

fn create_module(
    tracker: &mut Audited,
    code: &[u32],
    code_size: usize,
    ret: vk::Result,
) -> Result<(), AuditError> {
    let mut info = vk::ShaderModuleCreateInfo::default().code(code);
    info.code_size = code_size;
    let mut module = vk::ShaderModule::from_raw(50);
    follow(
        tracker,
        &command!(VkCreateShaderModule {
            device: vk::Device::null(),
            p_create_info: (&raw const info).cast(),
            p_allocator: std::ptr::null(),
            p_shader_module: &mut module,
            ret: ret,
        }),
    )
}

#[test]
fn module_that_is_no_spirv_is_answered_and_harms_nothing() {
    let mut tracker = tracker();

    let error = create_module(&mut tracker, &[1, 2, 3], 12, vk::Result::SUCCESS).unwrap_err();
    let odd_size = create_module(&mut tracker, &[1, 2, 3], 11, vk::Result::SUCCESS);

    assert_eq!(error.answer(), Some(vk::Result::ERROR_INVALID_SHADER_NV));
    assert!(matches!(odd_size, Err(AuditError::BadArguments { .. })));
    fill(&mut tracker, 4).unwrap();
    assert_eq!(submit(&mut tracker).len(), 1);
}

#[test]
fn module_that_the_driver_refused_is_forgotten() {
    let mut tracker = tracker();
    let bytes = include_bytes!("../spirv/shaders/store.spv");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();

    create_module(
        &mut tracker,
        &words,
        bytes.len(),
        vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    )
    .unwrap();
    assert!(tracker.module(50).is_err());
    create_module(&mut tracker, &words, bytes.len(), vk::Result::SUCCESS).unwrap();
    assert!(tracker.module(50).is_ok());
}

#[test]
fn pipeline_with_its_module_in_the_chain_is_followed() {
    let mut tracker = tracker();
    let bytes = include_bytes!("../spirv/shaders/store.spv");
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let mut module = vk::ShaderModuleCreateInfo::default().code(&words);
    let mut subgroup = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
    let create = |tracker: &mut Audited, id: u64, stage: vk::PipelineShaderStageCreateInfo<'_>| {
        let infos = [vk::ComputePipelineCreateInfo::default().stage(stage)];
        let mut pipeline = vk::Pipeline::from_raw(id);
        follow(
            tracker,
            &command!(VkCreateComputePipelines {
                device: vk::Device::null(),
                pipeline_cache: vk::PipelineCache::null(),
                create_info_count: 1,
                p_create_infos: infos.as_ptr().cast(),
                p_allocator: std::ptr::null(),
                p_pipelines: &mut pipeline,
                ret: vk::Result::SUCCESS,
            }),
        )
    };

    let stage = vk::PipelineShaderStageCreateInfo::default().name(c"main");
    let without = create(&mut tracker, 60, stage);
    let with = create(
        &mut tracker,
        61,
        stage.push_next(&mut module).push_next(&mut subgroup),
    );
    let nameless = create(
        &mut tracker,
        62,
        vk::PipelineShaderStageCreateInfo::default(),
    );
    let other_name = {
        let mut module = vk::ShaderModuleCreateInfo::default().code(&words);
        create(
            &mut tracker,
            63,
            stage.name(c"other").push_next(&mut module),
        )
    };

    assert!(matches!(without, Err(AuditError::BadArguments { .. })));
    assert_eq!(with, Ok(()));
    assert!(matches!(nameless, Err(AuditError::BadArguments { .. })));
    assert!(matches!(
        other_name,
        Err(AuditError::EntryPointMissing { .. })
    ));
}

#[test]
fn descriptor_write_without_its_array_is_an_error() {
    let mut tracker = tracker();
    tracker
        .set_layout_created(
            1,
            vec![hesper_audit::descriptors::LayoutBinding {
                binding: 0,
                descriptor_type: vk::DescriptorType::STORAGE_BUFFER,
                count: 4,
            }],
        )
        .unwrap();
    tracker.descriptor_pool_created(2).unwrap();
    tracker.set_allocated(3, 2, 1, None).unwrap();
    let infos = [vk::DescriptorBufferInfo::default()];
    let good = vk::WriteDescriptorSet::default()
        .dst_set(vk::DescriptorSet::from_raw(3))
        .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
        .buffer_info(&infos);
    let mut bad = good;
    bad.p_buffer_info = std::ptr::null();

    let mut write = |write: vk::WriteDescriptorSet<'_>| {
        let writes = [write];
        follow(
            &mut tracker,
            &command!(VkUpdateDescriptorSets {
                device: vk::Device::null(),
                descriptor_write_count: 1,
                p_descriptor_writes: writes.as_ptr().cast(),
                descriptor_copy_count: 0,
                p_descriptor_copies: std::ptr::null(),
            }),
        )
    };

    assert_eq!(write(good), Ok(()));
    assert!(matches!(write(bad), Err(AuditError::BadArguments { .. })));
}

#[test]
fn null_pointers_are_errors_or_nothing() {
    let mut tracker = tracker();

    let allocation = follow(
        &mut tracker,
        &command!(VkAllocateMemory {
            device: vk::Device::null(),
            p_allocate_info: std::ptr::null(),
            p_allocator: std::ptr::null(),
            p_memory: std::ptr::null_mut(),
            ret: vk::Result::SUCCESS,
        }),
    );
    let copy = follow(
        &mut tracker,
        &command!(VkCmdCopyBuffer2 {
            command_buffer: vk::CommandBuffer::from_raw(COMMAND_BUFFER),
            p_copy_buffer_info: std::ptr::null(),
        }),
    );
    let no_regions = follow(
        &mut tracker,
        &command!(VkCmdCopyBuffer {
            command_buffer: vk::CommandBuffer::from_raw(COMMAND_BUFFER),
            src_buffer: vk::Buffer::null(),
            dst_buffer: vk::Buffer::from_raw(BUFFER),
            region_count: 3,
            p_regions: std::ptr::null(),
        }),
    );

    assert!(matches!(allocation, Err(AuditError::BadArguments { .. })));
    assert!(matches!(copy, Err(AuditError::BadArguments { .. })));
    assert_eq!(no_regions, Ok(()));
    assert_eq!(submit(&mut tracker), []);
}

#[test]
fn shared_memory_is_host_visible_whatever_its_type() {
    let mut tracker = Audited::new(Robustness::Descriptor, 0b01);
    let dma_buf = vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;
    let exported = vk::ExportMemoryAllocateInfo::default().handle_types(dma_buf);
    let kept = vk::ExportMemoryAllocateInfo::default();
    let imported = hesper_venus::mesa::VkImportMemoryResourceInfoMESA {
        s_type: vk::StructureType::from_raw(1_000_384_002),
        p_next: std::ptr::null(),
        resource_id: 7,
    };
    let mut allocate = |id, chain| {
        allocate_chained(&mut tracker, id, 0, chain, vk::Result::SUCCESS).unwrap();
        tracker.dirty_map(id).is_some()
    };

    assert!(!allocate(1, (&raw const exported).cast()));
    assert!(!allocate(2, (&raw const imported).cast()));
    assert!(allocate(3, (&raw const kept).cast()), "exported as nothing");
    assert!(allocate(4, std::ptr::null()));
}
