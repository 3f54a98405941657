#version 450
#extension GL_GOOGLE_include_directive : require
// Data decides whether a word is stored, and where.
#include "common.glsl"

layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count && (hash(a[i], key) & 7u) == 0u) {
        b[first + hash(a[i], extra) % count] = key;
    }
}
