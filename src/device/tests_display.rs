//! A display that gets another size: what the front end says of it, and what the guest then does.

use std::time::Instant;

use vhost_user_backend::VhostUserBackend;

use crate::protocol::{HEADER_LEN, resp};
use crate::test_rig::{ROOM, Rig, SHORT, Shown, TestFront, cmd, request};

/// Messages of the display socket.
const GET_DISPLAY_INFO: u32 = 3;
const SCANOUT: u32 = 7;
const UPDATE: u32 = 8;

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn shown_on(rig: &Rig) -> Shown {
    Shown::on(|socket| rig.device.set_gpu_socket(socket).unwrap())
}

/// The guest asks how large its displays are, the front end says so. Returns what the guest gets.
fn display_size(rig: &mut Rig, shown: &mut Shown, width: u32, height: u32) -> [u32; 2] {
    let slot = rig.push(0, &request(cmd::GET_DISPLAY_INFO, &[]), ROOM);
    rig.kick(0);
    assert_eq!(shown.next(), (GET_DISPLAY_INFO, Vec::new()));
    let mut info = words(&[resp::OK_DISPLAY_INFO, 0, 0, 0, 0, 0]);
    info.extend(words(&[0, 0, width, height, 1, 0]));
    info.resize(HEADER_LEN + 16 * 24, 0);
    shown.reply(GET_DISPLAY_INFO, &info);
    let deadline = Instant::now() + SHORT;
    let (kind, modes) = loop {
        if let Some(response) = rig.response(slot) {
            break response;
        }
        assert!(Instant::now() < deadline, "no answer");
        std::thread::yield_now();
    };
    assert_eq!((kind, modes.len()), (resp::OK_DISPLAY_INFO, 16 * 24));
    [8, 12].map(|at| u32::from_le_bytes(modes[at..at + 4].try_into().unwrap()))
}

/// The guest makes an image of that size and shows it on display 0.
fn show_image(rig: &mut Rig, res_id: u32, width: u32, height: u32) {
    let create = request(cmd::CREATE_2D, &[res_id, 2, width, height]);
    assert_eq!(rig.ask(&create).0, resp::OK_NODATA);
    let scanout = request(cmd::SET_SCANOUT, &[0, 0, width, height, 0, res_id]);
    assert_eq!(rig.ask(&scanout).0, resp::OK_NODATA);
}

fn is_shown(shown: &mut Shown, width: u32, height: u32) {
    assert_eq!(shown.next(), (SCANOUT, words(&[0, width, height])));
    let (kind, update) = shown.next();
    let whole = words(&[0, 0, 0, width, height]);
    assert_eq!((kind, &update[..20]), (UPDATE, &whole[..]));
    assert_eq!(update.len(), 20 + (width * height * 4) as usize);
}

#[test]
fn display_that_the_front_end_makes_larger_is_as_large_for_the_guest_and_shown_as_large() {
    let mut rig = Rig::started(TestFront::default());
    let mut shown = shown_on(&rig);
    let flush = |res_id| request(cmd::FLUSH, &[0, 0, 64, 48, res_id, 0]);

    assert_eq!(display_size(&mut rig, &mut shown, 64, 48), [64, 48]);
    show_image(&mut rig, 1, 64, 48);
    is_shown(&mut shown, 64, 48);

    // The front end has told the guest by its configuration; it asks again.
    assert_eq!(display_size(&mut rig, &mut shown, 80, 60), [80, 60]);
    show_image(&mut rig, 2, 80, 60);
    is_shown(&mut shown, 80, 60);

    // The image of before is on no display any more.
    assert_eq!(rig.ask(&flush(1)).0, resp::OK_NODATA);
    assert_eq!(rig.ask(&request(cmd::UNREF, &[1, 0])).0, resp::OK_NODATA);
    assert!(shown.is_silent());
    assert_eq!(rig.ask(&flush(2)).0, resp::OK_NODATA);
    assert_eq!(shown.next().1[..20], words(&[0, 0, 0, 64, 48]));

    // Whoever comes next finds the size of now: another front end, and another process.
    drop(shown);
    is_shown(&mut shown_on(&rig), 80, 60);
    let rig = rig.reopened(TestFront::default());
    is_shown(&mut shown_on(&rig), 80, 60);
}

#[test]
fn guest_may_show_another_part_of_one_image() {
    let mut rig = Rig::started(TestFront::default());
    let mut shown = shown_on(&rig);
    show_image(&mut rig, 1, 64, 48);
    is_shown(&mut shown, 64, 48);

    let scanout = request(cmd::SET_SCANOUT, &[32, 16, 32, 24, 0, 1]);
    assert_eq!(rig.ask(&scanout).0, resp::OK_NODATA);
    is_shown(&mut shown, 32, 24);
    // A flush is in the image's coordinates.
    let flush = request(cmd::FLUSH, &[40, 20, 100, 2, 1, 0]);
    assert_eq!(rig.ask(&flush).0, resp::OK_NODATA);
    assert_eq!(shown.next().1[..20], words(&[0, 8, 4, 24, 2]));

    // One that does not fit leaves the display as it is.
    let outside = request(cmd::SET_SCANOUT, &[33, 16, 32, 24, 0, 1]);
    assert!(rig.ask(&outside).0 >= 0x1200);
    assert!(shown.is_silent());
}
