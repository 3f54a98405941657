#version 450
// Many loads from near by for one store: what a check of each access costs where it is not hidden behind memory.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint mask; uint rounds; } push;
layout(set = 0, binding = 0) readonly buffer In { uint src[]; };
layout(set = 0, binding = 1) buffer Out { uint dst[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint sum = 0u;
    for (uint round = 0u; round < push.rounds; ++round) {
        uint at = (i + round * 37u) & 0x3fffu;
        sum += src[at] ^ src[at + 1u] ^ src[at + 2u] ^ src[at + 3u];
    }
    dst[i & push.mask] = sum;
}
