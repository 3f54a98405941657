#!/bin/sh -e
# Rebuilds the .spv files beside this script from their sources (needs glslang-tools).
cd "$(dirname "$0")"
for f in *.comp; do
    glslangValidator --quiet --target-env vulkan1.3 -V "$f" -o "${f%.comp}.spv"
done
