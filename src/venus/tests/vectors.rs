//! Commands and replies against bytes written by hand from the protocol's rules.

use std::ffi::{CStr, c_void};

use ash::vk::{self, Handle};
use bumpalo::Bump;
use hesper_venus::{
    Command, DecodeErrorKind, Decoded, Encoder, Limits, chain, decode, encode_reply, mesa,
};

mod common;
use common::Wire;

const REPLY: u32 = 1;

fn create_buffer() -> Vec<u8> {
    Wire::command(50, REPLY)
        .u64(0x11) // device
        .u64(1) // pCreateInfo
        .u32(12) // VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO
        .u64(1) // pNext: one structure
        .u32(1_000_072_000) // VkExternalMemoryBufferCreateInfo
        .u64(0) // its pNext
        .u32(0x200) // handleTypes: DMA_BUF
        .u32(0) // flags
        .u64(4096) // size
        .u32(0x20) // usage: STORAGE_BUFFER
        .u32(0) // sharingMode: EXCLUSIVE
        .u32(7) // queueFamilyIndexCount, to be ignored
        .u64(0) // pQueueFamilyIndices
        .u64(0) // pAllocator
        .u64(1) // pBuffer
        .u64(0x22) // its id
        .0
}

fn reply(decoded: &mut Decoded<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_reply(decoded, &mut Encoder::append(&mut bytes, 1 << 20)).unwrap();
    bytes
}

#[test]
fn decode_create_buffer_gives_driver_arguments() {
    let bytes = create_buffer();
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    assert_eq!(decoded.len, bytes.len());
    assert!(decoded.wants_reply);
    assert_eq!(decoded.command_type().name(), Some("vkCreateBuffer"));
    assert_eq!(
        decoded.input_ids().collect::<Vec<_>>(),
        [(vk::ObjectType::DEVICE, 0x11)]
    );
    assert_eq!(
        decoded.output_ids().collect::<Vec<_>>(),
        [(vk::ObjectType::BUFFER, 0x22)]
    );
    let Command::VkCreateBuffer(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made these pointers, into the arena.
    let (info, external) = unsafe {
        let info = *args.p_create_info;
        let stype = vk::StructureType::EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
        (
            info,
            chain::find::<vk::ExternalMemoryBufferCreateInfo>(info.p_next, stype).unwrap(),
        )
    };
    assert_eq!(info.s_type, vk::StructureType::BUFFER_CREATE_INFO);
    assert_eq!(info.size, 4096);
    assert_eq!(info.usage, vk::BufferUsageFlags::STORAGE_BUFFER);
    assert_eq!(info.queue_family_index_count, 7);
    assert!(info.p_queue_family_indices.is_null());
    assert_eq!(
        external.handle_types,
        vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT
    );
    assert!(external.p_next.is_null());
    assert!(args.p_allocator.is_null());
}

#[test]
fn encode_reply_create_buffer_has_the_guests_id() {
    let bytes = create_buffer();
    let bump = Bump::new();
    let mut decoded = decode(&bytes, &bump, &Limits::default()).unwrap();
    decoded
        .map_handles(|_, id| Ok::<_, ()>(id + 0x7000_0000))
        .unwrap();
    let Command::VkCreateBuffer(args) = &mut decoded.command else {
        panic!("another command")
    };
    assert_eq!(args.device.as_raw(), 0x7000_0011);

    // As a driver would.
    // SAFETY: the decoder made this pointer, into the arena.
    unsafe { args.p_buffer.write(vk::Buffer::from_raw(0xdead_beef)) };
    args.ret = vk::Result::ERROR_OUT_OF_DEVICE_MEMORY;
    let made: Vec<u64> = decoded.output_values().map(|(_, handle)| handle).collect();
    let bytes = reply(&mut decoded);

    assert_eq!(made, [0xdead_beef]);
    assert_eq!(
        bytes,
        Wire::default()
            .u32(50)
            .u32(-2_i32 as u32)
            .u64(1)
            .u64(0x22)
            .0
    );
}

#[test]
fn encode_reply_with_an_answered_query_has_the_objects_id() {
    let mut wire = Wire::command(143, REPLY)
        .u64(0x11) // instance
        .u64(1) // pPhysicalDeviceGroupCount
        .u32(1)
        .u64(1) // pPhysicalDeviceGroupProperties: one
        .u32(1_000_070_000) // VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES
        .u64(0) // pNext
        .u64(32); // physicalDevices
    for _ in 0..32 {
        wire = wire.u64(0); // asks which device is there
    }
    let bump = Bump::new();
    let mut decoded = decode(&wire.0, &bump, &Limits::default()).unwrap();
    assert_eq!(decoded.output_ids().count(), 32);

    decoded.answer_output_ids(|at, ty| {
        (at == 0 && ty == vk::ObjectType::PHYSICAL_DEVICE).then_some(0x22)
    });
    let Command::VkEnumeratePhysicalDeviceGroups(args) = &mut decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made this pointer, into the arena.
    unsafe { (*args.p_physical_device_group_properties).physical_device_count = 1 };
    let bytes = reply(&mut decoded);

    let mut expected = Wire::default()
        .u32(143)
        .u32(0) // VK_SUCCESS
        .u64(1)
        .u32(1)
        .u64(1)
        .u32(1_000_070_000)
        .u64(0)
        .u32(1) // physicalDeviceCount
        .u64(32)
        .u64(0x22);
    for _ in 1..32 {
        expected = expected.u64(0);
    }
    assert_eq!(bytes, expected.u32(0).0);
}

#[test]
fn decode_allocate_memory_with_resource_import_can_be_unlinked() {
    let bytes = Wire::command(21, 0)
        .u64(3) // device
        .u64(1)
        .u32(5) // VkMemoryAllocateInfo
        .u64(1)
        .u32(1_000_384_002) // VkImportMemoryResourceInfoMESA
        .u64(1)
        .u32(1_000_127_001) // VkMemoryDedicatedAllocateInfo, in the chain of the one before
        .u64(0)
        .u64(0) // its image
        .u64(9) // its buffer
        .u32(77) // resourceId: the fields of the first come after its chain
        .u64(1 << 20) // allocationSize
        .u32(2) // memoryTypeIndex
        .u64(0)
        .u64(1)
        .u64(4) // id of the memory
        .0;
    let bump = Bump::new();

    let mut decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    let ids: Vec<_> = decoded.input_ids().collect();
    assert_eq!(
        ids,
        [(vk::ObjectType::DEVICE, 3), (vk::ObjectType::BUFFER, 9)]
    );
    let Command::VkAllocateMemory(args) = &mut decoded.command else {
        panic!("another command")
    };
    let info = args.p_allocate_info.cast_mut().cast::<c_void>();
    let stype = vk::StructureType::from_raw(1_000_384_002);
    // SAFETY: the decoder made these structures, in the arena.
    unsafe {
        let import = chain::unlink::<mesa::VkImportMemoryResourceInfoMESA>(info, stype).unwrap();
        assert_eq!(import.as_ref().resource_id, 77);
        let next = (*args.p_allocate_info)
            .p_next
            .cast::<vk::MemoryDedicatedAllocateInfo>();
        assert_eq!(
            (*next).s_type,
            vk::StructureType::MEMORY_DEDICATED_ALLOCATE_INFO
        );
        assert_eq!((*next).buffer.as_raw(), 9);
        assert!((*next).p_next.is_null());
        assert_eq!((*args.p_allocate_info).memory_type_index, 2);
    }
}

#[test]
fn decode_allocate_memory_with_a_guests_file_drops_it() {
    let bytes = Wire::command(21, 0)
        .u64(3)
        .u64(1)
        .u32(5)
        .u64(1)
        .u32(1_000_074_000) // VkImportMemoryFdInfoKHR
        .u64(0)
        .u32(0x200)
        .u32(12) // a file descriptor of the guest
        .u64(4096)
        .u32(0)
        .u64(0)
        .u64(1)
        .u64(4)
        .0;
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    let Command::VkAllocateMemory(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made this structure, in the arena.
    let info = unsafe { *args.p_allocate_info };
    assert!(info.p_next.is_null());
    assert_eq!(info.allocation_size, 4096);
}

#[test]
fn decode_queue_submit_lists_handles_in_wire_order() {
    let bytes = Wire::command(18, 0)
        .u64(1) // queue
        .u32(1) // submitCount
        .u64(1) // pSubmits
        .u32(4) // VkSubmitInfo
        .u64(1)
        .u32(1_000_207_003) // VkTimelineSemaphoreSubmitInfo
        .u64(0)
        .u32(1)
        .u64(1)
        .u64(42) // pWaitSemaphoreValues
        .u32(0)
        .u64(0)
        .u32(1) // waitSemaphoreCount
        .u64(1)
        .u64(0x50)
        .u64(1)
        .u32(0x800) // pWaitDstStageMask: COMPUTE_SHADER
        .u32(2) // commandBufferCount
        .u64(2)
        .u64(0x60)
        .u64(0x61)
        .u32(0) // signalSemaphoreCount
        .u64(0)
        .u64(0) // fence: none
        .0;
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    assert!(!decoded.wants_reply);
    let expected = [
        (vk::ObjectType::QUEUE, 1),
        (vk::ObjectType::SEMAPHORE, 0x50),
        (vk::ObjectType::COMMAND_BUFFER, 0x60),
        (vk::ObjectType::COMMAND_BUFFER, 0x61),
    ];
    assert_eq!(decoded.input_ids().collect::<Vec<_>>(), expected);
    let Command::VkQueueSubmit(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made these pointers, into the arena.
    unsafe {
        let submit = *args.p_submits;
        let timeline = *submit.p_next.cast::<vk::TimelineSemaphoreSubmitInfo>();
        assert_eq!(*timeline.p_wait_semaphore_values, 42);
        assert_eq!(
            *submit.p_wait_dst_stage_mask,
            vk::PipelineStageFlags::COMPUTE_SHADER
        );
        assert_eq!((*submit.p_command_buffers.add(1)).as_raw(), 0x61);
        assert!(submit.p_signal_semaphores.is_null());
    }
    assert!(args.fence.is_null());
}

#[test]
fn encode_reply_enumerate_physical_devices_shrinks_with_the_count() {
    let bytes = Wire::command(2, REPLY)
        .u64(1) // instance
        .u64(1)
        .u32(2) // *pPhysicalDeviceCount
        .u64(2)
        .u64(0x31) // ids that the guest chose
        .u64(0x32)
        .0;
    let bump = Bump::new();
    let mut decoded = decode(&bytes, &bump, &Limits::default()).unwrap();
    let Command::VkEnumeratePhysicalDevices(args) = &mut decoded.command else {
        panic!("another command")
    };

    // SAFETY: the decoder made these pointers, into the arena.
    unsafe {
        args.p_physical_device_count.write(1);
        args.p_physical_devices
            .write(vk::PhysicalDevice::from_raw(0xffff));
    }
    let bytes = reply(&mut decoded);

    assert_eq!(
        bytes,
        Wire::default()
            .u32(2)
            .u32(0)
            .u64(1)
            .u32(1)
            .u64(1)
            .u64(0x31)
            .0
    );
}

#[test]
fn encode_reply_physical_device_properties2_fills_the_chain() {
    // A partial structure: headers, and of the fixed arrays in it those of structures only.
    let bytes = Wire::command(148, REPLY)
        .u64(2) // physicalDevice
        .u64(1)
        .u32(1_000_059_001) // VkPhysicalDeviceProperties2
        .u64(1)
        .u32(1_000_094_000) // VkPhysicalDeviceSubgroupProperties
        .u64(0)
        .0;
    let bump = Bump::new();
    let mut decoded = decode(&bytes, &bump, &Limits::default()).unwrap();
    assert_eq!(decoded.len, bytes.len());
    let Command::VkGetPhysicalDeviceProperties2(args) = &mut decoded.command else {
        panic!("another command")
    };

    // SAFETY: the decoder made these structures, in the arena.
    unsafe {
        let properties = &mut *args.p_properties;
        properties.properties.api_version = vk::API_VERSION_1_3;
        properties.properties.device_name[0] = b'h' as _;
        properties.properties.pipeline_cache_uuid = [7; 16];
        let subgroup = &mut *properties
            .p_next
            .cast::<vk::PhysicalDeviceSubgroupProperties>();
        subgroup.subgroup_size = 8;
    }
    let reply = reply(&mut decoded);

    let mut name = [0; 256];
    name[0] = b'h';
    let front = Wire::default()
        .u32(148)
        .u64(1)
        .u32(1_000_059_001)
        .u64(1)
        .u32(1_000_094_000)
        .u64(0)
        .u32(8) // subgroupSize
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(vk::API_VERSION_1_3)
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(0)
        .u64(256)
        .bytes(&name)
        .u64(16)
        .bytes(&[7; 16])
        .u32(0) // limits: maxImageDimension1D
        .0;
    assert_eq!(&reply[..front.len()], front);
    // After the limits, five booleans of sparse properties.
    assert_eq!(reply.len(), front.len() - 4 + LIMITS_WIRE_SIZE + 5 * 4);
}

/// VkPhysicalDeviceLimits on the wire: 106 members, of which 6 are fixed arrays with a count each.
const LIMITS_WIRE_SIZE: usize = 540;

#[test]
fn decode_update_descriptor_sets_reads_only_what_is_there() {
    let bytes = Wire::command(79, 0)
        .u64(1) // device
        .u32(1) // descriptorWriteCount
        .u64(1)
        .u32(35) // VkWriteDescriptorSet
        .u64(0)
        .u64(0x70) // dstSet
        .u32(3) // dstBinding
        .u32(0)
        .u32(1) // descriptorCount
        .u32(7) // STORAGE_BUFFER
        .u64(0) // pImageInfo
        .u64(1) // pBufferInfo
        .u64(0x22)
        .u64(256)
        .u64(u64::MAX) // VK_WHOLE_SIZE
        .u64(0) // pTexelBufferView
        .u32(0)
        .u64(0)
        .0;
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    let Command::VkUpdateDescriptorSets(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made these pointers, into the arena.
    unsafe {
        let write = *args.p_descriptor_writes;
        assert_eq!(write.descriptor_type, vk::DescriptorType::STORAGE_BUFFER);
        assert!(write.p_image_info.is_null() && write.p_texel_buffer_view.is_null());
        assert_eq!((*write.p_buffer_info).offset, 256);
        assert_eq!((*write.p_buffer_info).range, vk::WHOLE_SIZE);
    }
    let kinds: Vec<_> = decoded.input_ids().map(|(kind, _)| kind).collect();
    let expected = [
        vk::ObjectType::DEVICE,
        vk::ObjectType::DESCRIPTOR_SET,
        vk::ObjectType::BUFFER,
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn decode_create_ring_with_monitor_gives_the_layout() {
    let bytes = Wire::command(188, 0)
        .u64(0xabc) // ring
        .u64(1)
        .u32(1_000_384_000)
        .u64(1)
        .u32(1_000_384_006) // VkRingMonitorInfoMESA
        .u64(0)
        .u32(3_000_000)
        .u32(0)
        .u32(5) // resourceId
        .u64(0)
        .u64(131_268)
        .u64(50_000)
        .u64(0)
        .u64(64)
        .u64(128)
        .u64(192)
        .u64(131_072)
        .u64(131_264)
        .u64(4)
        .0;
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    let Command::VkCreateRingMESA(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made this structure, in the arena.
    let info = unsafe { *args.p_create_info };
    assert_eq!(args.ring, 0xabc);
    assert_eq!((info.resource_id, info.size), (5, 131_268));
    assert_eq!(
        (info.tail_offset, info.buffer_offset, info.extra_offset),
        (64, 192, 131_264)
    );
    // SAFETY: as above.
    let monitor = unsafe { *info.p_next.cast::<mesa::VkRingMonitorInfoMESA>() };
    assert_eq!(monitor.max_reporting_period_microseconds, 3_000_000);
}

#[test]
fn decode_strings_and_union_and_blob_keep_their_padding() {
    let bytes = Wire::command(132, 0)
        .u64(1) // commandBuffer
        .u64(2) // layout
        .u32(0x20) // stageFlags
        .u32(0) // offset
        .u32(6) // size
        .u64(6)
        .bytes(b"abcdef")
        .0;
    let bump = Bump::new();

    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();

    assert_eq!(decoded.len, 8 + 16 + 12 + 8 + 8);
    let Command::VkCmdPushConstants(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder made this array, in the arena.
    let values = unsafe { std::slice::from_raw_parts(args.p_values.cast::<u8>(), 6) };
    assert_eq!(values, b"abcdef");
    assert!(decoded.command_type().is_recorded());

    let bytes = Wire::command(14, 0)
        .u64(1)
        .u64(5)
        .bytes(b"name\0") // pLayerName
        .u64(1)
        .u32(0)
        .u64(0)
        .0;
    let decoded = decode(&bytes, &bump, &Limits::default()).unwrap();
    let Command::VkEnumerateDeviceExtensionProperties(args) = &decoded.command else {
        panic!("another command")
    };
    // SAFETY: the decoder checked the terminator.
    assert_eq!(unsafe { CStr::from_ptr(args.p_layer_name) }, c"name");
}

#[test]
fn decode_bad_bytes_names_the_fault() {
    let bump = Bump::new();
    let kind = |bytes: Vec<u8>| decode(&bytes, &bump, &Limits::default()).unwrap_err().kind;
    let mut wrong_stype = create_buffer();
    wrong_stype[24..28].copy_from_slice(&13u32.to_le_bytes());
    let mut bad_pointer = create_buffer();
    bad_pointer[16] = 2;
    let mut null_info = create_buffer();
    null_info[16] = 0;
    let mut unknown_chain = create_buffer();
    unknown_chain[36..40].copy_from_slice(&5u32.to_le_bytes());
    let mut concurrent = create_buffer();
    let at = concurrent.len() - 32; // pQueueFamilyIndices
    concurrent[at] = 3;

    assert_eq!(
        kind(Wire::command(1000, 0).0),
        DecodeErrorKind::UnknownCommand
    );
    assert_eq!(
        kind(Wire::command(23, 0).0),
        DecodeErrorKind::UnsupportedCommand
    );
    assert_eq!(kind(Wire::command(50, 6).0), DecodeErrorKind::BadFlags(6));
    assert_eq!(
        kind(wrong_stype),
        DecodeErrorKind::WrongStructureType {
            expected: "VkBufferCreateInfo",
            found: 13
        }
    );
    assert_eq!(
        kind(bad_pointer),
        DecodeErrorKind::BadPointer {
            field: "p_create_info",
            found: 2
        }
    );
    assert_eq!(
        kind(null_info),
        DecodeErrorKind::NullPointer {
            field: "p_create_info"
        }
    );
    assert_eq!(
        kind(unknown_chain),
        DecodeErrorKind::UnknownStructureType {
            parent: "VkBufferCreateInfo",
            stype: 5
        }
    );
    assert_eq!(
        kind(concurrent),
        DecodeErrorKind::CountMismatch {
            field: "p_queue_family_indices",
            found: 3,
            expected: 7
        }
    );
}

#[test]
fn decode_error_text_says_command_and_offset() {
    let bump = Bump::new();

    let error = decode(&create_buffer()[..30], &bump, &Limits::default()).unwrap_err();

    let text = "vkCreateBuffer at byte 28: The command ends early: 8 more bytes wanted, 2 left";
    assert_eq!(error.to_string(), text);
}

#[test]
fn decode_over_limits_is_an_error() {
    let bump = Bump::new();
    // vkGetQueryPoolResults asks for a buffer of any size.
    let query = |size: u64| {
        Wire::command(49, REPLY)
            .u64(1)
            .u64(2)
            .u32(0)
            .u32(1)
            .u64(size)
            .u64(size)
            .u64(8)
            .u32(0)
            .0
    };
    let limits = Limits {
        array_len_max: 1 << 20,
        bytes_max: 1 << 16,
        chain_len_max: 0,
    };

    let fits = decode(&query(4096), &bump, &limits);
    let large = decode(&query(1 << 17), &bump, &limits).unwrap_err().kind;
    let huge = decode(&query(1 << 40), &bump, &limits).unwrap_err().kind;
    let chained = decode(&create_buffer(), &bump, &limits).unwrap_err().kind;

    assert!(fits.is_ok());
    assert_eq!(large, DecodeErrorKind::OverBudget(1 << 16));
    let expected = DecodeErrorKind::CountOverLimit {
        field: "p_data",
        found: 1 << 40,
        limit: 1 << 20,
    };
    assert_eq!(huge, expected);
    assert_eq!(chained, DecodeErrorKind::ChainTooLong(0));
}

#[test]
fn decode_second_command_of_a_stream_starts_where_the_first_ended() {
    let bump = Bump::new();
    let mut bytes = create_buffer();
    bytes.extend_from_slice(&Wire::command(190, 0).u64(0x11).u32(1).u32(0).0);

    let first = decode(&bytes, &bump, &Limits::default()).unwrap();
    let second = decode(&bytes[first.len..], &bump, &Limits::default()).unwrap();

    assert_eq!(second.command_type().name(), Some("vkNotifyRingMESA"));
    assert_eq!(first.len + second.len, bytes.len());
}
