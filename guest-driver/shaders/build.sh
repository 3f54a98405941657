#!/bin/sh
# Compiles every shader below this script's folder into the .spv files that the crate embeds, in
# place or below $1. The test `shaders_rebuilt_equal_committed` runs it and compares.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
mkdir -p "$out/oracle" "$out/bad"

index=0
for name in mix fold scatter; do
    glslangValidator -V --quiet --target-env vulkan1.0 -DKERNEL=$index -o "$out/$name.spv" kernel.comp
    index=$((index + 1))
done

glslangValidator -V --quiet --target-env vulkan1.0 -o "$out/endless.spv" endless.comp

for stage in vert frag; do
    glslangValidator -V --quiet --target-env vulkan1.0 -o "$out/triangle_$stage.spv" "triangle.$stage"
done

# Both ways of SPIR-V to say "storage buffer": Uniform with BufferBlock (1.0), StorageBuffer (1.2).
for name in store atomic texel guarded inout shared image count; do
    glslangValidator -V --quiet --target-env vulkan1.0 -Ioracle -o "$out/oracle/$name.spv" "oracle/$name.comp"
done
for name in array readonly unwritten beyond special nested args address table; do
    glslangValidator -V --quiet --target-env vulkan1.2 -Ioracle -o "$out/oracle/$name.spv" "oracle/$name.comp"
done
spirv-as --target-env spv1.3 -o "$out/oracle/pointer.spv" oracle/pointer.spvasm

# What no driver should see; the assembler does not check it.
for name in call type; do
    spirv-as --target-env spv1.3 -o "$out/bad/$name.spv" "bad/$name.spvasm"
done
