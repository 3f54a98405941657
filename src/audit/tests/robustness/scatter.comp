#version 450
// Stores all over a buffer that fits into a cache.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint mask; uint rounds; } push;
layout(set = 0, binding = 0) readonly buffer In { uint src[]; };
layout(set = 0, binding = 1) buffer Out { uint dst[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint round = 0u; round < push.rounds; ++round) {
        dst[(i * 33u + round * 1031u) & 0xffffu] = i + round;
    }
}
