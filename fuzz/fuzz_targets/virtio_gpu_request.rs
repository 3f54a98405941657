//! The decoder of virtio-gpu requests, control and cursor queue.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../src/device/protocol.rs"]
mod protocol;

fuzz_target!(|data: &[u8]| {
    let Some((queue, request)) = data.split_first() else {
        return;
    };
    let Some(header) = protocol::decode_header(request) else {
        return;
    };
    if queue & 1 == 0 {
        let _ = protocol::decode_control(&header, request);
    } else {
        let _ = protocol::decode_cursor(&header, request);
    }
});
