#version 450
#extension GL_GOOGLE_include_directive : require
// Atomics on an image, `extra` texels wide.
#include "common.glsl"

layout(set = 0, binding = 0, r32ui) uniform uimage2D target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) {
        return;
    }
    ivec2 place = ivec2((first + i) % extra, (first + i) / extra);
    imageAtomicAdd(target, place, hash(i, key));
}
