#version 450
#extension GL_GOOGLE_include_directive : require
// The result of a group, passed through shared memory and stored by its first invocation.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Source { uint source[]; };
layout(set = 0, binding = 1) buffer Target { uint target[]; };

shared uint sums[64];

void main() {
    uint i = gl_GlobalInvocationID.x;
    uint lane = gl_LocalInvocationID.x;
    sums[lane] = i < count ? hash(source[i], key) : 0u;
    barrier();
    for (uint step = 32u; step > 0u; step >>= 1) {
        if (lane < step) {
            sums[lane] += sums[lane + step];
        }
        barrier();
    }
    if (lane == 0u && i < count) {
        target[first + gl_WorkGroupID.x] = sums[0];
    }
}
