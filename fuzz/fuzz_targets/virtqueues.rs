//! The control and the cursor queue under a script of moves: descriptors, rings and indices that no driver writes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| hesper_device::fuzzing::virtqueues(script));
