#version 450
#extension GL_GOOGLE_include_directive : require
// The first binding may be written by its declaration, and isn't.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Source { uint source[]; };
layout(set = 0, binding = 1) buffer Target { uint target[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        uint sum = 0u;
        for (uint k = 0u; k < (extra & 3u) + 1u; ++k) {
            sum += source[i ^ k];
        }
        target[first + i] += hash(sum, key);
    }
}
