#!/bin/sh -e
# Rebuilds the .spv files beside this script from their sources (needs glslang-tools and spirv-tools).
cd "$(dirname "$0")"
for f in *.comp; do
    glslangValidator --quiet --target-env vulkan1.3 -V "$f" -o "${f%.comp}.spv"
done
# The same as store, in the old form: a Uniform variable of a BufferBlock.
glslangValidator --quiet --target-env vulkan1.0 -V store.comp -o buffer_block.spv
for f in *.spvasm; do
    case "$f" in
    coop_matrix.spvasm) env=spv1.6 val=vulkan1.3 ;;
    *) env=spv1.3 val=vulkan1.1 ;;
    esac
    spirv-as --target-env $env "$f" -o "${f%.spvasm}.spv"
    # These two are wrong on purpose.
    case "$f" in
    recursion.spvasm | undefined_pointer.spvasm) ;;
    *) spirv-val --target-env $val "${f%.spvasm}.spv" ;;
    esac
done
