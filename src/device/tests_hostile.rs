//! Descriptor chains and requests that no driver makes. Each of them may fail; the device goes on, and nothing of
//! the guest's but its response is written.

use vhost_user_backend::VringT;
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};

use crate::gpu::DeviceLimits;
use crate::protocol::{Refusal, resp};
use crate::test_rig::{
    QUEUE_SIZE, ROOM, Rig, TestFront, Warnings, cmd, fenced, head, refused, request, ring_addr,
    with_context,
};

const NEXT: u16 = 1;
const WRITE: u16 = 2;
const INDIRECT: u16 = 4;
/// Where requests and tables lie that no rig has made.
const RAW: u64 = 0x80_0000;
/// A response's place.
const ANSWER: u64 = 0x90_0000;

type Descriptor = (u64, u32, u16, u16);

fn put_table(rig: &Rig, at: u64, descriptors: &[Descriptor]) {
    let memory = rig.memory.memory();
    for (index, (addr, len, flags, next)) in (0u64..).zip(descriptors) {
        let mut bytes = addr.to_le_bytes().to_vec();
        bytes.extend(len.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        memory
            .write_slice(&bytes, GuestAddress(at + index * 16))
            .unwrap();
    }
}

/// Makes a chain of the control queue available that starts at descriptor `head`, and lets the device run. Returns
/// the type of the response, 0 for none.
fn run(rig: &mut Rig, descriptors: &[Descriptor], head: u16) -> u32 {
    let base = ring_addr(0);
    put_table(rig, base, descriptors);
    let memory = rig.memory.memory();
    memory.write_obj(0u32, GuestAddress(ANSWER)).unwrap();
    let slot = rig.next[0];
    let entry = base + 0x4000 + 4 + u64::from(slot % QUEUE_SIZE) * 2;
    memory.write_obj(head, GuestAddress(entry)).unwrap();
    rig.next[0] = slot.wrapping_add(1);
    memory
        .write_obj(rig.next[0], GuestAddress(base + 0x4002))
        .unwrap();
    drop(memory);
    rig.kick(0);
    rig.memory.memory().read_obj(GuestAddress(ANSWER)).unwrap()
}

/// The device still answers.
fn alive(rig: &mut Rig) {
    let (kind, _) = rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0]));
    assert_eq!(kind, resp::OK_CAPSET_INFO);
}

fn rig_with_request(words: &[u32]) -> Rig {
    let rig = Rig::started(TestFront::default());
    let bytes = request(cmd::GET_CAPSET_INFO, words);
    rig.memory
        .memory()
        .write_slice(&bytes, GuestAddress(RAW))
        .unwrap();
    rig
}

#[test]
fn good_chain_is_answered_through_this_file_too() {
    let mut rig = rig_with_request(&[0, 0]);
    let chain = [(RAW, 32, NEXT, 1), (ANSWER, 64, WRITE, 0)];
    assert_eq!(run(&mut rig, &chain, 0), resp::OK_CAPSET_INFO);
    let table = [(RAW + 0x1000, 32, INDIRECT, 0)];
    put_table(&rig, RAW + 0x1000, &chain);
    assert_eq!(run(&mut rig, &table, 0), resp::OK_CAPSET_INFO);
    alive(&mut rig);
}

#[test]
fn indirect_table_inside_an_indirect_table_is_not_followed() {
    let mut rig = rig_with_request(&[0, 0]);
    let inner = [(RAW, 32, NEXT, 1), (ANSWER, 64, WRITE, 0)];
    put_table(&rig, RAW + 0x2000, &inner);
    put_table(&rig, RAW + 0x1000, &[(RAW + 0x2000, 32, INDIRECT, 0)]);
    let kind = run(&mut rig, &[(RAW + 0x1000, 16, INDIRECT, 0)], 0);
    assert_ne!(kind, resp::OK_CAPSET_INFO);
    alive(&mut rig);
}

#[test]
fn indirect_tables_that_are_none_are_survived() {
    let mut rig = rig_with_request(&[0, 0]);
    for (addr, len) in [
        (RAW, 0),
        (RAW, 15),
        (RAW + 8, u32::MAX),
        (u64::MAX - 15, 16),
        (0xffff_ffff_0000, 32),
    ] {
        run(&mut rig, &[(addr, len, INDIRECT, 0)], 0);
        alive(&mut rig);
    }
    // A table that is its own entry.
    put_table(
        &rig,
        RAW + 0x1000,
        &[(RAW + 0x1000, 16, INDIRECT | NEXT, 0)],
    );
    run(&mut rig, &[(RAW + 0x1000, 16, INDIRECT, 0)], 0);
    alive(&mut rig);
}

#[test]
fn response_before_the_request_and_only_one_kind_of_descriptors_are_survived() {
    let mut rig = rig_with_request(&[0, 0]);
    for chain in [
        [(ANSWER, 64, WRITE | NEXT, 1), (RAW, 32, 0, 0)],
        [(ANSWER, 64, WRITE | NEXT, 1), (ANSWER, 64, WRITE, 0)],
        [(RAW, 32, NEXT, 1), (RAW, 32, 0, 0)],
    ] {
        let kind = run(&mut rig, &chain, 0);
        assert_ne!(kind, resp::OK_DISPLAY_INFO);
        alive(&mut rig);
    }
}

#[test]
fn descriptors_of_no_length_are_passed_over() {
    let mut rig = rig_with_request(&[0, 0]);
    let chain = [
        (RAW, 0, NEXT, 1),
        (RAW, 32, NEXT, 2),
        (ANSWER, 0, WRITE | NEXT, 3),
        (ANSWER, 64, WRITE, 0),
    ];
    run(&mut rig, &chain, 0);
    alive(&mut rig);
}

#[test]
fn lengths_whose_sum_wraps_are_survived() {
    let mut rig = rig_with_request(&[0, 0]);
    let long = u32::MAX - 3;
    let chain = [
        (RAW, long, NEXT, 1),
        (RAW, long, NEXT, 2),
        (ANSWER, long, WRITE | NEXT, 3),
        (ANSWER, long, WRITE, 0),
    ];
    run(&mut rig, &chain, 0);
    alive(&mut rig);
}

#[test]
fn heads_and_indices_outside_the_queue_are_survived() {
    let mut rig = rig_with_request(&[0, 0]);
    let chain = [(RAW, 32, NEXT, u16::MAX), (ANSWER, 64, WRITE, 0)];
    run(&mut rig, &chain, 0);
    run(&mut rig, &chain, QUEUE_SIZE);
    run(&mut rig, &chain, u16::MAX);
    alive(&mut rig);
}

#[test]
fn available_index_far_ahead_does_not_hang_the_device() {
    let rig = rig_with_request(&[0, 0]);
    let ahead = GuestAddress(ring_addr(0) + 0x4002);
    rig.memory.memory().write_obj(0x7fffu16, ahead).unwrap();
    rig.kick(0);
    // Nothing of it was a request: no more used than there are entries.
    assert!(rig.vrings[0].queue_used_idx().unwrap() <= QUEUE_SIZE);
    rig.memory.memory().write_obj(0u16, ahead).unwrap();
    rig.kick(0);
}

#[test]
fn heads_that_no_descriptor_has_are_passed_over_and_what_follows_is_answered() {
    let mut rig = rig_with_request(&[0, 0]);
    let base = ring_addr(0);
    put_table(&rig, base, &[(RAW, 32, NEXT, 1), (ANSWER, 64, WRITE, 0)]);
    let memory = rig.memory.memory();
    for (entry, head) in [(0, QUEUE_SIZE), (1, u16::MAX), (2, 0)] {
        let at = GuestAddress(base + 0x4000 + 4 + entry * 2);
        memory.write_obj::<u16>(head, at).unwrap();
    }
    memory.write_obj(3u16, GuestAddress(base + 0x4002)).unwrap();
    drop(memory);
    rig.next[0] = 3;
    rig.kick(0);
    let kind: u32 = rig.memory.memory().read_obj(GuestAddress(ANSWER)).unwrap();
    assert_eq!(kind, resp::OK_CAPSET_INFO);
    assert_eq!(rig.vrings[0].queue_used_idx().unwrap(), 1);
}

#[test]
fn more_open_requests_than_descriptors_are_refused_and_kept_nowhere() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    // A fence that never signals; its chain is made available again and again.
    let slot = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    let base = ring_addr(0);
    for _ in 0..3 * QUEUE_SIZE {
        let entry = base + 0x4000 + 4 + u64::from(rig.next[0] % QUEUE_SIZE) * 2;
        rig.next[0] += 1;
        let memory = rig.memory.memory();
        memory.write_obj(head(slot), GuestAddress(entry)).unwrap();
        memory
            .write_obj(rig.next[0], GuestAddress(base + 0x4002))
            .unwrap();
        drop(memory);
        rig.kick(0);
    }
    assert_eq!(
        rig.device.0.completions.waiting().len(),
        usize::from(QUEUE_SIZE)
    );
    assert_eq!(rig.response(slot).unwrap().0, refused(Refusal::OutOfMemory));
    rig.front.signal(1, 1, 5);
    alive(&mut rig);
}

#[test]
fn response_buffer_that_is_the_used_ring_harms_nobody_else() {
    let mut rig = rig_with_request(&[0, 0]);
    let chain = [(RAW, 32, NEXT, 1), (ring_addr(0) + 0x8000, 64, WRITE, 0)];
    run(&mut rig, &chain, 0);
    // The guest's own queue is garbage now; a reset makes it a queue again.
    rig.stop();
}

#[test]
fn backing_past_its_limits_is_out_of_memory_and_outside_ram_is_refused_when_read() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 64, 64]));
    let many = request(cmd::ATTACH_BACKING, &[1, u32::MAX]);
    assert_eq!(rig.ask(&many).0, refused(Refusal::OutOfMemory));
    // Segments at the end of the address space, and of lengths whose sum wraps.
    let outside = [
        1,
        2,
        0xffff_f000,
        u32::MAX,
        u32::MAX,
        0,
        0x1000,
        0,
        u32::MAX,
        0,
    ];
    let attach = request(cmd::ATTACH_BACKING, &outside);
    assert_eq!(rig.ask(&attach).0, resp::OK_NODATA);
    let transfer = request(cmd::TRANSFER, &[0, 0, 64, 64, 0, 0, 1, 0]);
    assert_eq!(rig.ask(&transfer).0, refused(Refusal::Parameter));
    alive(&mut rig);
}

#[test]
fn image_reads_as_zeros_before_anything_was_transferred() {
    // CVE-2022-0175's kind: a resource showed what the host's memory had held before.
    let mut rig = Rig::started(TestFront::default());
    for _ in 0..3 {
        rig.ask(&request(cmd::CREATE_2D, &[1, 2, 256, 256]));
        let tables = rig.device.0.gpu.save();
        let crate::tables::Kind::Image { pixels, .. } = &tables.resources[&1].kind else {
            panic!("not an image");
        };
        assert!(pixels.lock().unwrap().iter().all(|byte| *byte == 0));
        pixels.lock().unwrap().fill(0xee);
        rig.ask(&request(cmd::UNREF, &[1, 0]));
    }
}

#[test]
fn resource_id_is_free_again_after_unref_and_refused_before() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let blob = with_context(request(cmd::CREATE_BLOB, &[7, 2, 1, 0, 5, 0, 4096, 0]), 1);
    assert_eq!(rig.ask(&blob).0, refused(Refusal::ResourceId));
    let image = request(cmd::CREATE_2D, &[7, 2, 4, 4]);
    assert_eq!(rig.ask(&image).0, refused(Refusal::ResourceId));
    assert_eq!(rig.ask(&request(cmd::UNREF, &[7, 0])).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&image).0, resp::OK_NODATA);
    assert_eq!(
        rig.ask(&request(cmd::UNREF, &[8, 0])).0,
        refused(Refusal::ResourceId)
    );
    assert_eq!(
        rig.ask(&request(cmd::CREATE_2D, &[0, 2, 4, 4])).0,
        refused(Refusal::ResourceId)
    );
}

#[test]
fn attaching_and_dropping_again_and_again_leaves_nothing() {
    // CVE-2021-3544's kind: backing and resources leaked.
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    for _ in 0..50 {
        rig.ask(&request(cmd::CREATE_2D, &[1, 2, 64, 64]));
        let attach = request(cmd::ATTACH_BACKING, &[1, 1, 0x1000, 0, 0x4000, 0]);
        assert_eq!(rig.ask(&attach).0, resp::OK_NODATA);
        assert_eq!(rig.ask(&attach).0, refused(Refusal::Unspecified));
        let context = with_context(request(cmd::CTX_ATTACH, &[1, 0]), 1);
        assert_eq!(rig.ask(&context).0, resp::OK_NODATA);
        assert_eq!(rig.ask(&context).0, resp::OK_NODATA);
        assert_eq!(rig.ask(&request(cmd::UNREF, &[1, 0])).0, resp::OK_NODATA);
    }
    let tables = rig.device.0.gpu.save();
    assert!(tables.resources.is_empty());
    assert_eq!(tables.backing_total(), 0);
    assert_eq!(tables.image_bytes(), 0);
    assert!(tables.contexts[&1].attached.is_empty());
}

#[test]
fn blob_of_a_size_past_64_bits_is_refused() {
    // CVE-2026-3886's kind: a size that wraps when it is rounded up.
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    for size in [
        [0, 0],
        [u32::MAX, u32::MAX],
        [u32::MAX - 4094, u32::MAX],
        [0, 1 << 31],
    ] {
        for kind in [1, 2, 3] {
            let words = [[7, kind, 1, 0, 5, 0], [size[0], size[1], 0, 0, 0, 0]].concat();
            let (kind, _) = rig.ask(&with_context(request(cmd::CREATE_BLOB, &words[..8]), 1));
            assert!(kind >= 0x1200, "{size:?} gave {kind:#x}");
        }
    }
    assert!(rig.device.0.gpu.save().resources.is_empty());
}

#[test]
fn limits_are_out_of_memory_and_what_is_below_them_goes_on() {
    let mut rig = Rig::started(TestFront {
        limits: DeviceLimits {
            contexts_max: 1,
            resources_max: 2,
            maps_max: 1,
        },
        ..TestFront::default()
    });
    rig.context();
    let mut second = request(cmd::CTX_CREATE, &[4, 4]);
    second.extend([b'n'; 64]);
    let second = with_context(second, 2);
    assert_eq!(rig.ask(&second).0, refused(Refusal::OutOfMemory));

    rig.blob(7, 4096);
    rig.blob(8, 4096);
    let image = request(cmd::CREATE_2D, &[9, 2, 4, 4]);
    assert_eq!(rig.ask(&image).0, refused(Refusal::OutOfMemory));

    rig.serve_window_always();
    let map = |id: u32, at: u32| request(cmd::MAP_BLOB, &[id, 0, at, 0]);
    assert_eq!(rig.ask(&map(7, 0)).0, resp::OK_MAP_INFO);
    assert_eq!(rig.ask(&map(8, 0x4000)).0, refused(Refusal::OutOfMemory));
    assert_eq!(
        rig.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        resp::OK_NODATA
    );
    assert_eq!(rig.ask(&map(8, 0x4000)).0, resp::OK_MAP_INFO);

    assert_eq!(rig.ask(&request(cmd::UNREF, &[7, 0])).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&image).0, resp::OK_NODATA);
    let destroy = with_context(request(cmd::CTX_DESTROY, &[]), 1);
    assert_eq!(rig.ask(&destroy).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&second).0, resp::OK_NODATA);
}

#[test]
fn uuid_of_a_resource_stays_and_is_its_own() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    rig.ask(&request(cmd::CREATE_2D, &[2, 2, 4, 4]));
    let (kind, first) = rig.ask(&request(cmd::ASSIGN_UUID, &[1, 0]));
    assert_eq!((kind, first.len()), (resp::OK_RESOURCE_UUID, 16));
    assert_eq!(rig.ask(&request(cmd::ASSIGN_UUID, &[1, 0])).1, first);
    assert_ne!(rig.ask(&request(cmd::ASSIGN_UUID, &[2, 0])).1, first);
    let (kind, _) = rig.ask(&request(cmd::ASSIGN_UUID, &[3, 0]));
    assert_eq!(kind, refused(Refusal::ResourceId));
    let mut rig = rig.reopened(TestFront::default());
    assert_eq!(rig.ask(&request(cmd::ASSIGN_UUID, &[1, 0])).1, first);
}

#[test]
fn blob_of_host_and_guest_takes_backing_that_is_enough() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let create = |entry: [u32; 4]| {
        let words = [&[7, 3, 1, 1, 5, 0, 8192, 0][..], &entry].concat();
        with_context(request(cmd::CREATE_BLOB, &words), 1)
    };
    let short = create([0x1000, 0, 4096, 0]);
    assert_eq!(rig.ask(&short).0, refused(Refusal::Parameter));
    assert_eq!(rig.ask(&create([0x1000, 0, 8192, 0])).0, resp::OK_NODATA);
    let map = rig.serve_window(0);
    assert_eq!(
        rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0])).0,
        resp::OK_MAP_INFO
    );
    map.join().unwrap();
}

#[test]
fn cursor_queue_takes_its_own_commands_only() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 64, 64]));
    rig.ask(&request(cmd::CREATE_2D, &[2, 2, 32, 32]));
    let mut ask = |bytes: &[u8]| {
        let slot = rig.push(1, bytes, ROOM);
        rig.kick(1);
        let at = GuestAddress(crate::test_rig::buffer_addr(slot) + 0x8000);
        rig.memory.memory().read_obj::<u32>(at).unwrap()
    };
    let update = |scanout, id| request(cmd::UPDATE_CURSOR, &[scanout, 5, 6, 0, id, 1, 2, 0]);
    assert_eq!(ask(&update(0, 1)), resp::OK_NODATA);
    assert_eq!(ask(&update(0, 2)), refused(Refusal::Parameter));
    assert_eq!(ask(&update(0, 3)), refused(Refusal::ResourceId));
    assert_eq!(ask(&update(16, 1)), refused(Refusal::ScanoutId));
    assert_eq!(
        ask(&request(cmd::MOVE_CURSOR, &[0, 9, 9, 0])),
        resp::OK_NODATA
    );
    assert_eq!(
        ask(&request(cmd::MOVE_CURSOR, &[0])),
        refused(Refusal::Parameter)
    );
    assert_eq!(
        ask(&request(cmd::GET_CAPSET_INFO, &[0, 0, 0])),
        refused(Refusal::Unspecified)
    );
    assert_eq!(ask(&update(0, 0)), resp::OK_NODATA);
    let cursor = rig.device.0.gpu.save().cursor.unwrap();
    assert_eq!((cursor.res_id, cursor.hot_spot), (0, (1, 2)));
}

#[test]
fn guest_that_does_wrong_again_and_again_fills_no_log() {
    const TIMES: u16 = 200;
    let limit = hesper_log::FULL as usize;
    let mut rig = rig_with_request(&[0, 0]);
    rig.context();
    rig.blob(7, 4096);
    // As QEMU answers a map over another one.
    rig.serve_window_with(libc::EEXIST as u32);
    let refused_maps = Warnings::during(|| {
        for _ in 0..TIMES {
            let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0]));
            assert_eq!(kind, refused(Refusal::Parameter));
        }
    });
    assert!(refused_maps <= limit, "{refused_maps}");

    let chain = [(RAW, 32, NEXT, 1), (ANSWER, 64, WRITE, 0)];
    let bad_heads = Warnings::during(|| {
        for _ in 0..TIMES {
            run(&mut rig, &chain, QUEUE_SIZE);
        }
    });
    assert!(bad_heads <= limit, "{bad_heads}");

    let ahead = GuestAddress(ring_addr(0) + 0x4002);
    let bad_indices = Warnings::during(|| {
        for _ in 0..TIMES {
            let index = rig.next[0].wrapping_add(0x7fff);
            rig.memory.memory().write_obj(index, ahead).unwrap();
            rig.kick(0);
        }
    });
    assert!(bad_indices <= limit, "{bad_indices}");
    alive(&mut rig);
}

#[test]
fn first_of_what_a_guest_does_wrong_is_logged() {
    let once = Warnings::during(|| {
        for _ in 0..3 {
            hesper_log::guest_warn!(number = 1, "What a guest did");
            hesper_log::guest_error!("What a guest did");
        }
    });
    assert_eq!(once, 6);
}
