//! Sources of the shaders, and how they were built, are in `shaders/`.

use super::*;

fn words(bytes: &[u8]) -> Vec<u32> {
    assert_eq!(bytes.len() % 4, 0);
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

macro_rules! shader {
    ($name:literal) => {
        words(include_bytes!(concat!("shaders/", $name, ".spv")))
    };
}

/// Bindings of the only entry point, checked to write nothing else.
fn bindings(code: &[u32]) -> Vec<(u32, u32)> {
    let writes = analyze(code).unwrap();
    assert_eq!(writes.entry_points.len(), 1);
    let entry = &writes.entry_points[0];
    assert_eq!((entry.name.as_str(), entry.execution_model), ("main", 5));
    assert!(!entry.addresses, "addresses");
    assert!(!entry.unknown, "unknown");
    entry.bindings.iter().map(|b| (b.set, b.binding)).collect()
}

#[test]
fn analyze_store_to_buffer_reports_only_that_binding() {
    assert_eq!(bindings(&shader!("store")), [(0, 3)]);
}

#[test]
fn analyze_atomic_add_reports_only_that_binding() {
    assert_eq!(bindings(&shader!("atomic")), [(0, 1)]);
}

#[test]
fn analyze_shader_that_only_reads_reports_nothing() {
    assert_eq!(bindings(&shader!("read_only")), []);
}

#[test]
fn analyze_array_of_descriptors_reports_the_whole_binding() {
    assert_eq!(bindings(&shader!("descriptor_array")), [(2, 7)]);
}

#[test]
fn analyze_image_writes_and_atomics_report_their_bindings() {
    assert_eq!(bindings(&shader!("image_write")), [(0, 1), (0, 2), (0, 3)]);
}

#[test]
fn analyze_array_of_images_reports_only_the_written_array() {
    assert_eq!(bindings(&shader!("image_array")), [(1, 2)]);
}

#[test]
fn analyze_store_of_structs_reports_only_that_binding() {
    assert_eq!(bindings(&shader!("struct_member")), [(0, 1)]);
}

#[test]
fn analyze_atomic_load_store_swap_reports_the_last_two() {
    assert_eq!(bindings(&shader!("ssbo_members")), [(0, 1), (0, 2)]);
}

#[test]
fn analyze_selected_pointer_reports_both_choices() {
    assert_eq!(bindings(&shader!("select")), [(0, 0), (0, 1)]);
}

#[test]
fn analyze_phi_of_a_later_pointer_reports_both_sources() {
    assert_eq!(bindings(&shader!("phi")), [(0, 0), (0, 2)]);
}

#[test]
fn analyze_pointer_through_function_variable_is_followed() {
    assert_eq!(bindings(&shader!("pointer_in_variable")), [(0, 1)]);
}

#[test]
fn analyze_pointer_arguments_and_returned_pointers_are_followed() {
    assert_eq!(bindings(&shader!("function_argument")), [(0, 1), (0, 2)]);
}

#[test]
fn analyze_copy_memory_reports_the_target_and_not_the_source() {
    assert_eq!(bindings(&shader!("copy_memory")), [(0, 1), (0, 2)]);
}

#[test]
fn analyze_function_never_called_does_not_count() {
    assert_eq!(bindings(&shader!("dead_function")), [(0, 1)]);
}

#[test]
fn analyze_cooperative_matrix_store_reports_its_buffer() {
    assert_eq!(bindings(&shader!("coop_matrix")), [(0, 1)]);
}

#[test]
fn analyze_decoration_groups_give_the_binding() {
    assert_eq!(bindings(&shader!("decoration_group")), [(4, 9)]);
}

#[test]
fn analyze_store_through_device_address_sets_the_flag() {
    let writes = analyze(&shader!("device_address")).unwrap();

    let entry = writes.entry_point("main", 5).unwrap();
    assert!(entry.addresses);
    assert!(!entry.unknown);
    assert!(entry.bindings.is_empty());
}

#[test]
fn analyze_number_cast_to_device_address_sets_the_flag() {
    let writes = analyze(&shader!("address_cast")).unwrap();

    assert!(writes.entry_points[0].addresses);
    assert!(!writes.entry_points[0].unknown);
}

#[test]
fn analyze_buffer_block_of_spirv_1_0_reports_its_binding() {
    assert_eq!(bindings(&shader!("buffer_block")), [(0, 3)]);
}

#[test]
fn analyze_load_through_device_address_reports_only_the_buffer() {
    assert_eq!(bindings(&shader!("device_address_read")), [(0, 0)]);
}

#[test]
fn analyze_two_entry_points_each_get_their_own_writes() {
    let writes = analyze(&shader!("two_entry_points")).unwrap();

    let of = |name: &str| -> Vec<u32> {
        let entry = writes.entry_point(name, 5).unwrap();
        assert!(!entry.unknown);
        entry.bindings.iter().map(|b| b.binding).collect()
    };
    assert_eq!(of("first"), [0]);
    assert_eq!(of("second"), [1, 2]);
    assert_eq!(writes.entry_point("first", 4), None);
    assert_eq!(writes.entry_point("third", 5), None);
}

#[test]
fn analyze_store_through_undefined_pointer_is_unknown() {
    let writes = analyze(&shader!("undefined_pointer")).unwrap();

    assert!(writes.entry_points[0].unknown);
}

#[test]
fn analyze_recursion_is_an_error() {
    assert!(matches!(
        analyze(&shader!("recursion")),
        Err(SpirvError::Recursion { .. })
    ));
}

/// Instruction words of `code` as (position, length).
fn instructions(code: &[u32]) -> Vec<(usize, usize)> {
    let mut at = 5;
    let mut found = Vec::new();
    while at < code.len() {
        let count = (code[at] >> 16) as usize;
        found.push((at, count));
        at += count;
    }
    found
}

#[test]
fn analyze_binding_without_decoration_is_unknown() {
    let mut code = shader!("store");
    // OpDecorate %x Binding n, for every x: turn Binding (33) into Location (30).
    for (at, count) in instructions(&code) {
        if code[at] & 0xffff == 71 && count == 4 && code[at + 2] == 33 {
            code[at + 2] = 30;
        }
    }

    let writes = analyze(&code).unwrap();

    assert!(writes.entry_points[0].unknown);
}

#[test]
fn analyze_unknown_opcode_in_function_is_unknown() {
    let mut code = shader!("read_only");
    let (at, _) = *instructions(&code).last().unwrap();
    // Before OpFunctionEnd, an instruction of three words that no grammar has.
    code.splice(at..at, [(3 << 16) | 0xfffe, 1, 2]);

    let writes = analyze(&code).unwrap();

    assert!(writes.entry_points[0].unknown);
}

#[test]
fn analyze_same_entry_point_twice_gives_the_union() {
    let entry = |binding| EntryPointWrites {
        name: "main".into(),
        execution_model: 5,
        bindings: vec![BindingRef { set: 0, binding }],
        ..EntryPointWrites::default()
    };
    let writes = ModuleWrites {
        entry_points: vec![entry(4), entry(1)],
    };

    let union = writes.entry_point("main", 5).unwrap();

    let numbers: Vec<u32> = union.bindings.iter().map(|b| b.binding).collect();
    assert_eq!(numbers, [1, 4]);
}

#[test]
fn analyze_wrong_header_is_an_error() {
    let good = shader!("store");
    let with = |index: usize, value: u32| {
        let mut code = good.clone();
        code[index] = value;
        analyze(&code)
    };

    assert_eq!(analyze(&[]), Err(SpirvError::TooShort { words: 0 }));
    assert_eq!(
        with(0, 0x0302_2307),
        Err(SpirvError::BadMagic { magic: 0x0302_2307 })
    );
    assert_eq!(with(3, 0), Err(SpirvError::BadBound { bound: 0 }));
    assert_eq!(
        with(3, u32::MAX),
        Err(SpirvError::BadBound { bound: u32::MAX })
    );
    assert!(matches!(with(3, 5), Err(SpirvError::IdOutOfBound { .. })));
    assert_eq!(with(5, 0), Err(SpirvError::BadLength { at: 5, words: 0 }));
    let huge = vec![0u32; MODULE_WORDS_MAX + 1];
    assert!(matches!(analyze(&huge), Err(SpirvError::TooLong { .. })));
}

const ALL: &[&[u8]] = &[
    include_bytes!("shaders/atomic.spv"),
    include_bytes!("shaders/coop_matrix.spv"),
    include_bytes!("shaders/copy_memory.spv"),
    include_bytes!("shaders/decoration_group.spv"),
    include_bytes!("shaders/descriptor_array.spv"),
    include_bytes!("shaders/device_address.spv"),
    include_bytes!("shaders/function_argument.spv"),
    include_bytes!("shaders/image_write.spv"),
    include_bytes!("shaders/phi.spv"),
    include_bytes!("shaders/pointer_in_variable.spv"),
    include_bytes!("shaders/recursion.spv"),
    include_bytes!("shaders/select.spv"),
    include_bytes!("shaders/two_entry_points.spv"),
];

#[test]
fn analyze_truncated_module_never_passes_for_a_whole_one() {
    for bytes in ALL {
        let code = words(bytes);
        for length in 0..code.len() {
            // What is left after the cut lacks a function, an end of one, or the entry point itself.
            if let Ok(writes) = analyze(&code[..length]) {
                assert!(writes.entry_points.is_empty(), "length {length}");
            }
        }
    }
}

#[test]
fn analyze_out_of_steps_answers_unknown() {
    let code = shader!("two_entry_points");
    let facts = module::ModuleFacts::collect(words::Module::new(&code).unwrap()).unwrap();
    let exact = flow::resolve(&facts, flow::STEPS_MAX).unwrap();
    let enough = (0..)
        .find(|steps| flow::resolve(&facts, *steps).unwrap() == exact)
        .unwrap();

    assert!(enough > 5);
    for steps in 0..enough {
        let writes = flow::resolve(&facts, steps).unwrap();
        for (entry, exact) in writes.entry_points.iter().zip(&exact.entry_points) {
            assert!(
                entry == exact || (entry.unknown && entry.addresses),
                "{steps} steps"
            );
        }
        assert_ne!(writes, exact);
    }
}

/// xorshift64*: the seed is the whole state, so that a failure can be replayed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

#[test]
fn analyze_random_words_never_panic() {
    let mut random = Random(0x5eed);
    for _ in 0..20_000 {
        let length = 5 + random.below(60);
        let mut code: Vec<u32> = (0..length).map(|_| random.next() as u32).collect();
        code[0] = 0x0723_0203;
        code[3] = 1 + random.below(64) as u32;
        let mut at = 5;
        // Mostly plausible framing, so that the passes behind it are reached.
        while at < length {
            let count = 1 + random.below(6);
            code[at] = ((count as u32) << 16) | (random.below(420) as u32);
            for word in code.iter_mut().skip(at + 1).take(count - 1) {
                *word %= 70;
            }
            at += count;
        }
        let _ = analyze(&code);
    }
}

#[test]
fn analyze_mutated_modules_never_panic() {
    let mut random = Random(0xbadc0de);
    for round in 0..30_000 {
        let mut code = words(ALL[round % ALL.len()]);
        for _ in 0..1 + random.below(4) {
            let at = random.below(code.len());
            code[at] = match random.below(4) {
                0 => random.next() as u32,
                1 => code[at].wrapping_add(1),
                2 => code[random.below(code.len())],
                _ => code[at] ^ (1 << random.below(32)),
            };
        }
        let _ = analyze(&code);
    }
}

#[test]
fn analyze_deep_type_and_call_nesting_is_bounded() {
    // A chain of 60,000 structs and one of 60,000 functions, each naming the one before.
    let depth = 60_000u32;
    let mut code = vec![0x0723_0203, 0x0001_0300, 0, 200_000, 0];
    code.extend([(5 << 16) | 15, 5, 100_000 + depth, 0x6e69_616d, 0]);
    code.extend([(2 << 16) | 19, 1]); // %1 = OpTypeVoid
    code.extend([(3 << 16) | 33, 2, 1]); // %2 = OpTypeFunction %1
    code.extend([(4 << 16) | 21, 3, 32, 0]); // %3 = OpTypeInt 32 0
    for index in 0..depth {
        code.extend([(3 << 16) | 30, 4 + index, 3 + index]);
    }
    for index in 0..=depth {
        code.extend([(5 << 16) | 54, 1, 100_000 + index, 0, 2]);
        if index > 0 {
            code.extend([
                (4 << 16) | 57,
                1,
                170_000 + index % 20_000,
                100_000 + index - 1,
            ]);
        }
        code.extend([(1 << 16) | 56]);
    }

    let result = analyze(&code);

    assert!(
        matches!(result, Err(SpirvError::IdRedefined { .. })),
        "ids of calls repeat: {result:?}"
    );
    let mut code_without_results = code.clone();
    for (at, _) in instructions(&code) {
        if code[at] & 0xffff == 57 {
            // Give each call an id of its own, beyond the functions.
            code_without_results[at + 2] = 200_000 + (code[at + 3] - 100_000);
        }
    }
    code_without_results[3] = 300_000;
    let writes = analyze(&code_without_results).unwrap();
    assert!(writes.entry_points[0].bindings.is_empty());
}
