//! A device whose process dies, and the next one that goes on from its live tables.

use std::sync::atomic::Ordering;

use vhost_user_backend::VringT;

use crate::protocol::{Refusal, resp};
use crate::test_rig::{ROOM, Rig, TestFront, cmd, fenced, refused, request, with_context};

/// Where the live tables say how far the control queue is: used index, next available << 16.
const PLACE_AT: u64 = 32;

fn submit(len: u32) -> Vec<u8> {
    let mut bytes = with_context(request(cmd::SUBMIT, &[len, 0]), 1);
    bytes.extend(vec![0; len as usize]);
    bytes
}

fn used(rig: &Rig) -> u16 {
    rig.vrings[0].queue_used_idx().unwrap()
}

#[test]
fn resources_and_scanouts_are_there_and_contexts_are_lost() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.blob(7, 4096);
    let map = rig.serve_window(0);
    rig.ask(&request(cmd::MAP_BLOB, &[7, 0, 0x4000, 0]));
    map.join().unwrap();
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    rig.ask(&request(cmd::ATTACH_BACKING, &[1, 1, 0x1000, 0, 64, 0]));
    rig.ask(&request(cmd::SET_SCANOUT, &[0, 0, 4, 4, 3, 1]));
    rig.ask(&request(cmd::CREATE_2D, &[2, 2, 4, 4]));
    rig.ask(&request(cmd::UNREF, &[2, 0]));

    let mut rig = rig.reopened(TestFront::default());

    assert_eq!(rig.front.noted("adopt [(7, "), 1);
    let tables = rig.device.0.gpu.save();
    assert_eq!(tables.resources.keys().copied().collect::<Vec<_>>(), [1, 7]);
    assert_eq!(tables.scanouts[3].map(|scanout| scanout.res_id), Some(1));
    assert_eq!(rig.ask(&submit(4)).0, refused(Refusal::Unspecified));
    assert_eq!(
        rig.ask(&request(cmd::TRANSFER, &[0, 0, 4, 4, 0, 0, 1, 0]))
            .0,
        resp::OK_NODATA
    );
    let unmap = rig.serve_window(0);
    assert_eq!(
        rig.ask(&request(cmd::UNMAP_BLOB, &[7, 0])).0,
        resp::OK_NODATA
    );
    assert_eq!(unmap.join().unwrap(), (3, [0, 0x4000, 4096]));
    assert_eq!(rig.ask(&request(cmd::UNREF, &[7, 0])).0, resp::OK_NODATA);
    let destroy = with_context(request(cmd::CTX_DESTROY, &[]), 1);
    assert_eq!(rig.ask(&destroy).0, resp::OK_NODATA);
    rig.context();
    assert_eq!(rig.ask(&submit(4)).0, resp::OK_NODATA);
    assert_eq!(rig.front.noted("submit"), 1);
}

#[test]
fn open_fences_are_answered_once_and_nothing_is_executed_twice() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let waiting = [
        rig.push(0, &fenced(1, 1, 5), ROOM),
        rig.push(0, &fenced(1, 2, 6), ROOM),
    ];
    rig.kick(0);
    // These are answered before the ones that came earlier.
    for _ in 0..3 {
        assert_eq!(rig.ask(&submit(4)).0, resp::OK_NODATA);
    }
    assert_eq!(used(&rig), 4);
    // Not yet seen by the device that dies.
    let later = rig.push(0, &request(cmd::GET_CAPSET_INFO, &[0, 0]), ROOM);

    let mut rig = rig.reopened(TestFront::default());

    for slot in waiting {
        assert_eq!(rig.response(slot).unwrap().0, resp::OK_NODATA);
    }
    assert_eq!(rig.response(later).unwrap().0, resp::OK_CAPSET_INFO);
    assert_eq!(used(&rig), 7, "each request is used once");
    assert_eq!(rig.front.noted("submit"), 0);
    assert_eq!(
        rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0,
        resp::OK_CAPSET_INFO
    );
    assert_eq!(used(&rig), 8);
}

#[test]
fn answer_that_was_not_written_down_is_not_given_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    for _ in 0..3 {
        rig.ask(&submit(4));
    }
    // As if it had died between the used ring and its own tables.
    let extent = rig.arena().live_tables().unwrap();
    let arena = rig.arena();
    let place = arena.mapping.atomic_u64(extent.offset + PLACE_AT).unwrap();
    assert_eq!(place.load(Ordering::Relaxed), 1 << 32 | 4 << 16 | 4);
    place.store(1 << 32 | 3 << 16 | 3, Ordering::Relaxed);

    let rig = rig.reopened(TestFront::default());

    assert_eq!(used(&rig), 4);
}

#[test]
fn deferred_request_whose_answer_was_not_written_down_is_not_answered_again() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    let arena = rig.arena();
    let extent = arena.live_tables().unwrap();
    let mut before = vec![0; 256 << 10];
    arena.mapping.read(extent.offset, &mut before).unwrap();
    rig.front.signal(1, 1, 5);
    assert_eq!(used(&rig), 2);
    arena.mapping.write(extent.offset, &before).unwrap();

    let mut rig = rig.reopened(TestFront::default());

    assert_eq!(used(&rig), 2);
    assert_eq!(
        rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0,
        resp::OK_CAPSET_INFO
    );
}

#[test]
fn queue_that_is_not_as_it_was_left_goes_on_where_the_front_end_says() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    let arena = rig.arena();
    let extent = arena.live_tables().unwrap();
    let place = arena.mapping.atomic_u64(extent.offset + PLACE_AT).unwrap();
    place.store(1 << 32 | 0x7777 << 16 | 0x5555, Ordering::Relaxed);

    let mut rig = rig.reopened(TestFront::default());

    assert_eq!(
        rig.ask(&request(cmd::GET_CAPSET_INFO, &[0, 0])).0,
        resp::OK_CAPSET_INFO
    );
}

#[test]
fn reset_before_the_next_process_runs_forgets_what_was_left() {
    let mut rig = Rig::started(TestFront::default());
    rig.context();
    rig.push(0, &fenced(1, 1, 5), ROOM);
    rig.kick(0);
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));

    let mut rig = rig.reopened(TestFront::default());
    rig.stop();
    rig.window_message(6);
    while rig.front.noted("reset") == 0 {
        std::thread::yield_now();
    }
    let rig = rig.reopened(TestFront::default());

    let tables = rig.device.0.gpu.save();
    assert!(tables.resources.is_empty() && tables.contexts.is_empty());
    assert!(rig.device.0.completions.waiting().is_empty());
}

#[test]
fn damaged_tables_leave_a_device_that_works() {
    let mut rig = Rig::started(TestFront::default());
    rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4]));
    let arena = rig.arena();
    let extent = arena.live_tables().unwrap();
    let garbage = vec![0xa5; extent.len as usize - 16];
    arena.mapping.write(extent.offset + 16, &garbage).unwrap();

    let mut rig = rig.reopened(TestFront::default());

    assert_eq!(
        rig.ask(&request(cmd::CREATE_2D, &[1, 2, 4, 4])).0,
        resp::OK_NODATA
    );
}
