#version 450
// Takes its time: stores again and again through binding 0 of set 0.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint rounds; uint start; uint seed; } push;
layout(set = 0, binding = 0) buffer Out { uint data[]; } dst;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint value = push.seed + i;
    for (uint round = 0u; round < push.rounds; ++round) {
        value = value * 1664525u + 1013904223u;
        dst.data[(push.start & 0xfffu) + i] = value;
    }
}
