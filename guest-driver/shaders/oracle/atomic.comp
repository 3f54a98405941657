#version 450
#extension GL_GOOGLE_include_directive : require
// Atomics only, several invocations to a word.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint target[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) {
        return;
    }
    uint at = first + i / 4u;
    switch (extra & 3u) {
    case 0u: atomicAdd(target[at], hash(i, key)); break;
    case 1u: atomicXor(target[at], hash(i, key)); break;
    case 2u: atomicMax(target[at], hash(i, key)); break;
    default: atomicExchange(target[at], key); break;
    }
}
