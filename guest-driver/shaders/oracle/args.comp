#version 450
#extension GL_GOOGLE_include_directive : require
// Writes the group counts of an indirect dispatch.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint target[]; };

void main() {
    if (gl_GlobalInvocationID.x == 0u) {
        target[first] = extra;
        target[first + 1u] = 1u;
        target[first + 2u] = 1u;
    }
}
