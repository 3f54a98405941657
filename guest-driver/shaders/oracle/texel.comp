#version 450
#extension GL_GOOGLE_include_directive : require
// Stores and atomics through a storage texel buffer.
#include "common.glsl"

layout(set = 0, binding = 0, r32ui) uniform uimageBuffer target;

void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= int(count)) {
        return;
    }
    if ((extra & 1u) == 0u) {
        imageStore(target, int(first) + i, uvec4(hash(uint(i), key)));
    } else {
        imageAtomicAdd(target, int(first) + i, key | 1u);
    }
}
