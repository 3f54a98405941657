//! The Venus decoder on any stream, and the reply encoder on whatever it accepts.
#![no_main]

use bumpalo::Bump;
use hesper_venus::{Encoder, Limits, decode, encode_reply, reply_size};
use libfuzzer_sys::fuzz_target;

/// Commands of one input.
const COMMANDS_MAX: usize = 64;
const REPLY_MAX: usize = 1 << 20;

fuzz_target!(|data: &[u8]| {
    // What a guest may make us hold is bounded, and here it is bounded where a fuzzer notices.
    let limits = Limits {
        bytes_max: 8 << 20,
        ..Limits::default()
    };
    let mut rest = data;
    for _ in 0..COMMANDS_MAX {
        let bump = Bump::new();
        let Ok(mut decoded) = decode(rest, &bump, &limits) else {
            return;
        };
        assert!(decoded.len > 0 && decoded.len <= rest.len());
        assert!(bump.allocated_bytes() < 64 << 20);
        let len = decoded.len;
        // As the worker does: ids become handles, the driver fills outputs, the ids come back.
        let mapped = decoded.map_handles(|_, id| Ok::<_, ()>(id ^ 0x5555));
        assert!(mapped.is_ok());
        decoded.clear_outputs();
        let size = reply_size(&decoded);
        let mut reply = Vec::new();
        let encoded = encode_reply(&mut decoded, &mut Encoder::append(&mut reply, REPLY_MAX));
        assert_eq!(encoded.is_ok(), size <= REPLY_MAX);
        if encoded.is_ok() {
            assert_eq!(reply.len(), size);
        }
        rest = &rest[len..];
    }
});
