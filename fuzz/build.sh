#!/bin/sh
# Builds the fuzz targets with stable Rust: coverage as libFuzzer wants it, given by hand.
# `cargo fuzz` on nightly works as well. Usage: fuzz/build.sh, then fuzz/target/…/release/TARGET.
set -eu
cd "$(dirname "$0")"
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1" \
    exec cargo build --release --target x86_64-unknown-linux-gnu "$@"
