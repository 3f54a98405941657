//! The device with real descriptor chains.

use hesper_front::ContextEvent;
use vhost_user_backend::VringT;
use virtio_queue::QueueT;
use vm_memory::{Bytes, GuestAddress, GuestAddressSpace};

use crate::protocol::{FLAG_FENCE, Refusal, resp};
use crate::test_rig::{
    ROOM, Rig, SHORT, TestFront, WINDOW_LEN, buffer_addr, cmd, fenced, head, refused, request,
    ring_addr, with_context,
};

#[test]
fn unknown_command_gets_the_unspecified_error() {
    let mut rig = Rig::started(TestFront::default());
    assert_eq!(rig.ask(&request(0x4242, &[])).0, 0x1200);
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn request_shorter_than_a_header_gets_an_error() {
    let mut rig = Rig::started(TestFront::default());
    assert_eq!(rig.ask(&[1, 2, 3]).0, refused(Refusal::Unspecified));
    assert_eq!(rig.ask(&[]).0, refused(Refusal::Unspecified));
}

#[test]
fn request_without_room_for_a_response_is_used_all_the_same() {
    let mut rig = Rig::started(TestFront::default());
    rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), 0);
    rig.kick(0);
    assert_eq!(rig.vrings[0].queue_used_idx().unwrap(), 1);
}

#[test]
fn descriptor_outside_guest_memory_gets_no_further_than_its_request() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    let memory = rig.memory.memory();
    let descriptor = GuestAddress(ring_addr(0) + u64::from(head(slot)) * 16);
    memory.write_obj(u64::MAX - 8, descriptor).unwrap();
    rig.kick(0);
    assert_eq!(rig.response(slot).unwrap().0, refused(Refusal::Unspecified));
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn descriptor_loop_ends() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    let memory = rig.memory.memory();
    // The second descriptor's successor is the first.
    let next = GuestAddress(ring_addr(0) + u64::from(head(slot)) * 16 + 16 + 14);
    memory.write_obj(head(slot), next).unwrap();
    rig.kick(0);
    assert_eq!(rig.vrings[0].queue_used_idx().unwrap(), 1);
}

#[test]
fn capset_of_venus_is_returned_whole_and_no_other() {
    let mut rig = Rig::started(TestFront::default());
    let (kind, info) = rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0]));
    assert_eq!(kind, resp::OK_CAPSET_INFO);
    assert_eq!(info[..12], [4, 0, 0, 0, 0, 0, 0, 0, 160, 0, 0, 0]);
    let (kind, capset) = rig.ask(&request(cmd::GET_CAPSET, &[4, 0]));
    assert_eq!(kind, resp::OK_CAPSET);
    assert_eq!(capset, (0..160).collect::<Vec<u8>>());
    for index in [1, u32::MAX] {
        let (kind, _) = rig.ask(&request(cmd::GET_CAPSET_INFO, &[index, 0]));
        assert_eq!(kind, refused(Refusal::Parameter));
        let (kind, _) = rig.ask(&request(cmd::GET_CAPSET, &[index, 0]));
        assert_eq!(kind, refused(Refusal::Parameter));
    }
}

#[test]
fn capset_into_a_small_buffer_fills_that_and_no_more() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_CAPSET, &[4, 0]), 32);
    rig.kick(0);
    let (_, body) = rig.response(slot).unwrap();
    assert_eq!(body.len(), 8);
    let after: u64 = rig
        .memory
        .memory()
        .read_obj(GuestAddress(buffer_addr(slot) + 0x8000 + 32))
        .unwrap();
    assert_eq!(after, 0);
}

#[test]
fn image_whose_size_wraps_in_32_bits_is_out_of_memory() {
    let mut rig = Rig::started(TestFront::default());
    for (width, height) in [(0x8000, 0x8000), (0x1_0001, 0x4000), (u32::MAX, u32::MAX)] {
        let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 2, width, height]));
        assert_eq!(kind, refused(Refusal::OutOfMemory), "{width}×{height}");
    }
    let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 2, 0, 4]));
    assert_eq!(kind, refused(Refusal::Parameter));
    let (kind, _) = rig.ask(&request(cmd::CREATE_2D, &[1, 99, 4, 4]));
    assert_eq!(kind, refused(Refusal::Parameter));
}

#[test]
fn images_together_stay_below_their_limit() {
    let mut rig = Rig::started(TestFront::default());
    let large = [2, 8192, 8192];
    let create = |id: u32| request(cmd::CREATE_2D, &[&[id][..], &large].concat());
    assert_eq!(rig.ask(&create(1)).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&create(2)).0, refused(Refusal::OutOfMemory));
    assert_eq!(rig.ask(&request(cmd::UNREF, &[1, 0])).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&create(2)).0, resp::OK_NODATA);
}

#[test]
fn transfer_past_the_backing_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    let backing = request(cmd::ATTACH_BACKING, &[1, 1, 0x1000, 0, 64, 0]);
    assert_eq!(rig.ask(&backing).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&backing).0, refused(Refusal::Unspecified));
    for (rect, offset) in [
        ([0, 0, 4, 4], [u32::MAX, u32::MAX]),
        ([0, 0, 4, 4], [4, 0]),
        ([1, 0, 4, 4], [0, 0]),
        ([u32::MAX, 0, 2, 4], [0, 0]),
    ] {
        let words = [&rect[..], &offset, &[1, 0]].concat();
        let (kind, _) = rig.ask(&request(cmd::TRANSFER, &words));
        assert_eq!(kind, refused(Refusal::Parameter), "{rect:?} {offset:?}");
    }
    let (kind, _) = rig.ask(&request(cmd::TRANSFER, &[0, 0, 4, 4, 0, 0, 1, 0]));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn scanout_outside_its_image_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    for (words, refusal) in [
        ([0, 0, 5, 4, 0, 1], Refusal::Parameter),
        ([u32::MAX, 0, 4, 4, 0, 1], Refusal::Parameter),
        ([0, 0, 0, 0, 0, 1], Refusal::Parameter),
        ([0, 0, 4, 4, 16, 1], Refusal::ScanoutId),
        ([0, 0, 4, 4, 0, 9], Refusal::ResourceId),
    ] {
        let (kind, _) = rig.ask(&request(cmd::SET_SCANOUT, &words));
        assert_eq!(kind, refused(refusal), "{words:?}");
    }
    let (kind, _) = rig.ask(&request(cmd::SET_SCANOUT, &[0, 0, 4, 4, 0, 1]));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn scanout_past_its_blob_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    for (rect, size, stride, offset) in [
        ([0, 0, 16, 17], [16, 17], 256, 0),
        ([0, 0, 16, 16], [16, 16], 256, 4096 - 15 * 256),
        ([0, u32::MAX - 1, 16, 1], [16, u32::MAX], u32::MAX, u32::MAX),
        ([0, 0, 16, 16], [16, 16], 63, 0),
    ] {
        let words = [
            &rect[..],
            &[0, 7],
            &size,
            &[2, 0, stride, 0, 0, 0, offset, 0, 0, 0],
        ]
        .concat();
        let (kind, _) = rig.ask(&request(cmd::SCANOUT_BLOB, &words));
        assert_eq!(kind, refused(Refusal::Parameter), "{words:?}");
    }
    let words = [0, 0, 16, 16, 0, 7, 16, 16, 2, 0, 256, 0, 0, 0, 0, 0, 0, 0];
    let (kind, _) = rig.ask(&request(cmd::SCANOUT_BLOB, &words));
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn context_that_is_no_venus_context_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    for (ctx_id, capset, refusal) in [(1, 2, Refusal::Parameter), (0, 4, Refusal::ContextId)] {
        let mut bytes = request(cmd::CTX_CREATE, &[0, capset]);
        bytes.extend([0; 64]);
        assert_eq!(rig.ask(&with_context(bytes, ctx_id)).0, refused(refusal));
    }
    rig.context();
    assert_eq!(rig.front.noted("context 1 nnnn"), 1);
}

#[test]
fn context_of_no_capset_takes_resources_and_nothing_else() {
    let mut rig = Rig::started(TestFront::default());
    let mut create = request(cmd::CTX_CREATE, &[0, 0]);
    create.extend([0; 64]);
    assert_eq!(rig.ask(&with_context(create, 1)).0, resp::OK_NODATA);
    rig.ask(&request(cmd::CREATE_2D, &[3, 2, 4, 4]));
    let attach = with_context(request(cmd::CTX_ATTACH, &[3, 0]), 1);
    assert_eq!(rig.ask(&attach).0, resp::OK_NODATA);
    let submit = with_context(request(cmd::SUBMIT, &[4, 0, 0]), 1);
    assert_eq!(rig.ask(&submit).0, refused(Refusal::Parameter));
    let blob = with_context(request(cmd::CREATE_BLOB, &[7, 2, 1, 0, 5, 0, 4096, 0]), 1);
    assert_eq!(rig.ask(&blob).0, refused(Refusal::Parameter));
    let destroy = with_context(request(cmd::CTX_DESTROY, &[]), 1);
    assert_eq!(rig.ask(&destroy).0, resp::OK_NODATA);
    assert_eq!(rig.front.noted(""), 1, "only the arena reaches the front");
}

#[test]
fn fence_on_ring_0_or_none_is_answered_at_once() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    assert_eq!(rig.ask(&fenced(1, 0, 5)).0, resp::OK_NODATA);
    let mut global = request(cmd::SUBMIT, &[0, 0]);
    global[4] = FLAG_FENCE as u8;
    assert_eq!(rig.ask(&with_context(global, 1)).0, resp::OK_NODATA);
    assert_eq!(rig.front.noted("fence"), 0);
}

#[test]
fn fences_of_a_timeline_are_answered_up_to_the_one_that_signals() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let slots: Vec<u16> = [(1, 10), (2, 11), (1, 12), (1, 13)]
        .iter()
        .map(|(ring, fence)| rig.push(0, &fenced(1, *ring, *fence), ROOM))
        .collect();
    rig.kick(0);
    let answered = |rig: &Rig| -> Vec<bool> {
        slots
            .iter()
            .map(|slot| rig.response(*slot).is_some())
            .collect()
    };
    assert_eq!(answered(&rig), [false; 4]);

    rig.front.signal(1, 1, 12);
    assert_eq!(answered(&rig), [true, false, true, false]);
    rig.front.signal(1, 1, 12);
    rig.front.signal(1, 3, 11);
    rig.front.signal(2, 2, 11);
    assert_eq!(answered(&rig), [true, false, true, false]);
    rig.front.signal(1, 2, 11);
    rig.front.signal(1, 1, 13);
    assert_eq!(answered(&rig), [true; 4]);
    let (kind, _) = rig.response(slots[0]).unwrap();
    assert_eq!(kind, resp::OK_NODATA);
}

#[test]
fn fence_that_signals_before_it_was_asked_for_is_answered() {
    let mut rig = Rig::started(TestFront {
        signal_at_once: true,
        ..TestFront::default()
    });
    rig.context();
    assert_eq!(rig.ask(&fenced(1, 1, 5)).0, resp::OK_NODATA);
}

#[test]
fn fence_of_no_context_or_no_timeline_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    assert_eq!(rig.ask(&fenced(2, 1, 5)).0, refused(Refusal::ContextId));
    assert_eq!(rig.ask(&fenced(1, 64, 5)).0, refused(Refusal::Parameter));
}

#[test]
fn lost_context_answers_all_its_fences() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let slot = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    assert!(rig.response(slot).is_none());
    rig.front.handler.lock().unwrap().as_ref().unwrap()(ContextEvent::Lost {
        ctx_id: 1,
        reason: "test".into(),
    });
    assert_eq!(rig.response(slot).unwrap().0, resp::OK_NODATA);
}

#[test]
fn destroyed_context_answers_all_its_fences() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let slot = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    assert!(rig.response(slot).is_none());
    let destroy = with_context(request(cmd::CTX_DESTROY, &[]), 1);
    assert_eq!(rig.ask(&destroy).0, resp::OK_NODATA);
    assert_eq!(rig.response(slot).unwrap().0, resp::OK_NODATA);
}

#[test]
fn save_after_a_reset_makes_a_cut_of_its_own() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    assert_eq!(rig.quiesce(), 0);
    rig.stop();
    rig.window_message(6);
    while rig.front.noted("reset") == 0 {
        std::thread::yield_now();
    }
    rig.device.0.cut(SHORT).unwrap();
    assert_eq!(rig.front.noted("quiesce"), 2);
    let tables = rig.front.tables.lock().unwrap().clone();
    assert!(
        crate::tables::decode(&tables)
            .unwrap()
            .tables
            .contexts
            .is_empty()
    );
}

#[test]
fn blob_is_mapped_through_the_window_and_unmapped_with_its_resource() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 5000);
    rig.blob(8, 4096);

    let map = rig.serve_window(0);
    let (kind, body) = rig.ask(&request(cmd::MAP_BLOB, &[8, 0, 0x4000, 0]));
    assert_eq!(map.join().unwrap(), (2, [8192, 0x4000, 4096]));
    assert_eq!((kind, body[0]), (resp::OK_MAP_INFO, 1));
    let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[8, 0, 0x8000, 0]));
    assert_eq!(kind, refused(Refusal::Parameter));

    let unmap = rig.serve_window(0);
    assert_eq!(rig.ask(&request(cmd::UNREF, &[8, 0])).0, resp::OK_NODATA);
    assert_eq!(unmap.join().unwrap(), (3, [0, 0x4000, 4096]));
    assert_eq!(rig.front.noted("unref 8"), 1);
    assert_eq!(
        rig.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        refused(Refusal::Parameter)
    );
}

#[test]
fn map_that_qemu_refuses_or_that_lies_outside_is_refused() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 8192);
    for offset in [
        [1, 0],
        [WINDOW_LEN as u32, 0],
        [WINDOW_LEN as u32 - 4096, 0],
        [0xffff_f000, u32::MAX],
    ] {
        let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[7, 0, offset[0], offset[1]]));
        assert_eq!(kind, refused(Refusal::Parameter), "{offset:x?}");
    }
    let map = rig.serve_window(libc::EEXIST as u32);
    let (kind, _) = rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0]));
    map.join().unwrap();
    assert_eq!(kind, refused(Refusal::Parameter));
}

#[test]
fn resource_that_is_mapped_stays_when_it_can_not_be_unmapped() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let map = rig.serve_window(0);
    rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0, 0]));
    map.join().unwrap();
    // Nobody answers this one.
    assert_eq!(
        rig.ask(&request(cmd::UNREF, &[7, 0])).0,
        refused(Refusal::Unspecified)
    );
    assert_eq!(rig.front.noted("unref"), 0);
}

#[test]
fn display_info_waits_for_a_display() {
    let mut rig = Rig::started(TestFront::default());
    let slot = rig.push(0, &request(cmd::GET_DISPLAY_INFO, &[]), ROOM);
    rig.kick(0);
    assert!(rig.response(slot).is_none());
    assert_eq!(rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0, 0x1102);
}

#[test]
fn quiesced_device_writes_nothing_until_it_runs_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let open = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);

    assert_eq!(rig.quiesce(), 0);
    let late = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    rig.kick(0);
    rig.front.signal(1, 1, 5);
    assert_eq!(rig.response(open), None);
    assert_eq!(rig.response(late), None);
    assert_eq!(rig.front.noted("resume"), 0);

    rig.stop();
    rig.start();
    assert_eq!(rig.response(open).unwrap().0, resp::OK_NODATA);
    assert_eq!(rig.response(late).unwrap().0, resp::OK_CAPSET_INFO);
    assert_eq!(rig.front.noted("quiesce"), 1);
    assert_eq!(rig.front.noted("resume"), 1);
}

#[test]
fn start_that_quiesce_overtakes_does_not_run() {
    let mut rig = Rig::new(TestFront::default());
    assert_eq!(rig.quiesce(), 0);
    let slot = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);
    rig.start();
    assert_eq!(rig.response(slot), None);
    rig.stop();
    rig.start();
    assert!(rig.response(slot).is_some());
}

#[test]
fn hung_front_is_echoed_as_such_and_resumed_later() {
    let mut rig = Rig::started(TestFront {
        hung: true,
        ..TestFront::default()
    });
    assert_ne!(rig.quiesce(), 0);
    rig.stop();
    // A save asks for no second cut: the monitor would wait for that, too.
    assert!(rig.device.0.cut(SHORT).is_err());
    assert_eq!(rig.front.noted("quiesce"), 1);
    rig.start();
    assert_eq!(rig.front.noted("resume"), 1);
}

#[test]
fn reset_before_the_next_start_drops_everything_that_was() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let open = rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    assert_eq!(rig.quiesce(), 0);
    rig.stop();

    rig.window_message(6);
    rig.start();

    assert_eq!(rig.front.noted("reset"), 1);
    rig.front.signal(1, 1, 5);
    assert_eq!(rig.response(open), None);
    assert_eq!(
        rig.ask(&request(cmd::UNREF, &[7, 0])).0,
        refused(Refusal::ResourceId)
    );
    rig.context();
}

#[test]
fn loaded_device_asks_again_for_open_fences_and_answers_them() {
    let mut source = Rig::started(TestFront::default());
    source.context();
    source.blob(7, 4096);
    let map = source.serve_window(0);
    source.ask(&request(cmd::MAP_BLOB, &[7, 0, 0x2000, 0]));
    map.join().unwrap();
    let open = source.push(0, &fenced(1, 1, 5), ROOM);
    let answered = source.push(0, &fenced(1, 2, 6), ROOM);
    source.kick(0);
    let tables = crate::tables::encode(
        source.device.0.gpu.save(),
        source.device.0.completions.save(),
    )
    .unwrap();
    // What signals between the save and the stop is in the ring, and must not come twice.
    source.front.signal(1, 2, 6);
    assert!(source.response(answered).is_some());
    assert_eq!(source.quiesce(), 0);
    source.stop();

    let mut target = Rig::over(TestFront::default(), source.memory.clone());
    target.next = source.next;
    target.device.0.replace(&tables).unwrap();
    target.vrings[0].set_queue_next_avail(source.vrings[0].queue_next_avail());
    target.start();

    assert_eq!(target.front.noted("resume"), 1);
    assert_eq!(target.front.noted("fence 1 5"), 1);
    assert_eq!(target.front.noted("fence 2 6"), 0);
    let used = target.vrings[0].queue_used_idx().unwrap();
    target.front.signal(1, 2, 6);
    assert_eq!(target.vrings[0].queue_used_idx().unwrap(), used);
    target.front.signal(1, 1, 5);
    assert_eq!(target.response(open).unwrap().0, resp::OK_NODATA);
    let unmap = target.serve_window(0);
    assert_eq!(
        target.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        resp::OK_NODATA
    );
    assert_eq!(unmap.join().unwrap(), (3, [0, 0x2000, 4096]));
}

#[test]
fn load_of_garbage_is_refused() {
    let rig = Rig::new(TestFront::default());
    assert!(rig.device.0.replace(b"garbage").is_err());
}

#[test]
fn live_ring_keeps_its_used_index_when_its_addresses_are_set_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0]));
    rig.vrings[0].set_queue_next_used(0);
    assert_eq!(rig.vrings[0].get_ref().get_queue().next_used(), 1);
    rig.vrings[0].set_queue_ready(false);
    rig.vrings[0].set_queue_next_used(0);
    assert_eq!(rig.vrings[0].get_ref().get_queue().next_used(), 0);
}

/// Words that are on the edge of something.
const EDGES: [u32; 14] = [
    0,
    1,
    2,
    3,
    4,
    7,
    64,
    4095,
    4096,
    0x8000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_f000,
    u32::MAX,
];

#[test]
fn random_requests_and_chains_leave_a_device_that_answers() {
    let mut rig = Rig::started(TestFront {
        signal_at_once: true,
        ..TestFront::default()
    });
    rig.serve_window_always();
    rig.context();
    rig.blob(4, 4096);
    rig.ask(&request(cmd::CREATE_2D, &[3, 2, 64, 64]));
    // xorshift64: the same requests in every run.
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 16) as usize % below
    };
    let mut answered = 0;
    for round in 0..20_000 {
        let kind = match random(8) {
            0 => random(0x400) as u32,
            // No context is destroyed, so that there is something to hurt.
            _ => [
                0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10c, 0x10d, 0x200,
                0x202, 0x203, 0x207, 0x208, 0x209,
            ][random(17)],
        };
        let words: Vec<u32> = (0..random(24))
            .map(|_| EDGES[random(EDGES.len())])
            .collect();
        let mut bytes = with_context(request(kind, &words), random(3) as u32);
        bytes[4] = random(4) as u8;
        bytes[20] = random(66) as u8;
        bytes.truncate(random(256).max(bytes.len() / 2));
        let slot = rig.push(0, &bytes, [0, 8, 24, ROOM][random(4)]);
        if random(4) == 0 {
            // One byte of one descriptor becomes something else.
            let at = ring_addr(0) + u64::from(head(slot)) * 16 + random(48) as u64;
            let memory = rig.memory.memory();
            memory
                .write_obj(random(256) as u8, GuestAddress(at))
                .unwrap();
        }
        rig.kick(0);
        if round % 100 == 0 {
            let (kind, _) = rig.ask(&request(cmd::GET_CAPSET, &[4, 0]));
            answered += u32::from(kind == resp::OK_CAPSET);
        }
    }
    assert_eq!(answered, 200);
}
