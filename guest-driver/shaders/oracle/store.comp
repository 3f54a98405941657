#version 450
#extension GL_GOOGLE_include_directive : require
// A plain store; also the target of the dynamic storage buffer.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint target[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        target[first + i] = hash(i, key);
    }
}
