#version 450
#extension GL_GOOGLE_include_directive : require
// Specialization constants decide which binding is written and where.
#include "common.glsl"

layout(constant_id = 0) const bool WRITE_FIRST = false;
layout(constant_id = 1) const uint SKIP = 0u;

layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i + SKIP >= count) {
        return;
    }
    if (WRITE_FIRST) {
        a[i + SKIP] = hash(i, key);
    } else {
        b[first + i + SKIP] = hash(a[i], key);
    }
}
