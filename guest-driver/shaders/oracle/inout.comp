#version 450
#extension GL_GOOGLE_include_directive : require
// A store through inout and out parameters of functions.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint target[]; };

void twist(inout uint word, uint with_key) {
    word = hash(word, with_key);
}

void split(uint word, out uint low) {
    low = word & 0xffffu;
    twist(low, key);
}

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) {
        return;
    }
    if ((i & 1u) == 0u) {
        twist(target[first + i], key);
    } else {
        split(i, target[first + i]);
    }
}
