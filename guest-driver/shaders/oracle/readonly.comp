#version 450
#extension GL_GOOGLE_include_directive : require
// The first binding says that it is read only.
#include "common.glsl"

layout(set = 0, binding = 0) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1) writeonly buffer Target { uint target[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        target[first + i] = hash(source[i], key);
    }
}
