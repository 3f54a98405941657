//! The write analysis on any words, as vkCreateShaderModule and a pipeline of each entry point drive it.
#![no_main]

use hesper_audit::tracker::{Robustness, Tracker};
use libfuzzer_sys::fuzz_target;

const MAGIC: u32 = 0x0723_0203;
/// Ids of an input whose header is made to fit.
const BOUND: u32 = 512;

fuzz_target!(|data: &[u8]| {
    let mut code: Vec<u32> = data
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    // What is left over after the last word says that the header is made to fit: else most inputs end there.
    if !data.len().is_multiple_of(4)
        && let [magic, _, _, bound, ..] = &mut code[..]
    {
        (*magic, *bound) = (MAGIC, BOUND);
    }
    let mut tracker = Tracker::new(Robustness::Descriptor, 1);
    let Ok(writes) = tracker.analyze_code(&code) else {
        return;
    };
    for (id, entry) in (1..).zip(&writes.entry_points) {
        assert!(entry.bindings.is_sorted_by(|one, next| one < next));
        let stage = (writes.clone(), entry.name.as_str(), entry.execution_model);
        tracker.pipeline_created(id, &[stage]).unwrap();
    }
    let again = tracker.analyze_code(&code).unwrap();
    assert_eq!(*again, *writes);
});
