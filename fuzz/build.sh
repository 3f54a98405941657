#!/bin/sh
# Builds the fuzz targets with stable Rust: coverage as libFuzzer wants it, given by hand.
# `cargo fuzz` on nightly works as well. Usage: fuzz/build.sh [--asan] [cargo's options], then
# fuzz/target/x86_64-unknown-linux-gnu/release/TARGET, with --asan fuzz/target/asan/…/release/TARGET.
# --asan adds AddressSanitizer, and with it the search for leaks; it takes a flag that stable Rust hides.
set -eu
cd "$(dirname "$0")"
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
if [ "${1:-}" = --asan ]; then
    shift
    flags="$flags -Zsanitizer=address"
    export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/asan
fi
RUSTFLAGS="$flags" exec cargo build --release --target x86_64-unknown-linux-gnu "$@"
