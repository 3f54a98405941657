//! The relay of vhost-user messages under a front end that cuts them anywhere and sends descriptors with any piece.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| hesper_device::fuzzing::framing::relay_framing(script));
