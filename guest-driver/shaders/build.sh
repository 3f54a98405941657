#!/bin/sh
# Compiles every shader beside this script into the .spv files that the crate embeds, or into $1.
# The test `shaders_rebuilt_equal_committed` runs it and compares.
set -eu
cd "$(dirname "$0")"
out=${1:-.}
index=0
for name in mix fold scatter; do
    glslangValidator -V --quiet --target-env vulkan1.0 -DKERNEL=$index -o "$out/$name.spv" kernel.comp
    index=$((index + 1))
done
