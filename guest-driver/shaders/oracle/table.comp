#version 450
#extension GL_GOOGLE_include_directive : require
// A store through a device address that lies in a buffer.
#extension GL_EXT_buffer_reference : require
#include "common.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint words[]; };
layout(set = 0, binding = 0) readonly buffer Table { Words entries[256]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        atomicAdd(entries[first].words[i], hash(i, key));
    }
}
