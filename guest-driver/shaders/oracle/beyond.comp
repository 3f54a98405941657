#version 450
#extension GL_GOOGLE_include_directive : require
// Stores outside what is bound; robust access decides what becomes of them.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint target[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        target[first + i * extra] = hash(i, key);
    }
}
