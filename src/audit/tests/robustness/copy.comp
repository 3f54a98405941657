#version 450
// A copy: bound by memory.
layout(local_size_x = 256) in;
layout(push_constant) uniform Push { uint mask; uint rounds; } push;
layout(set = 0, binding = 0) readonly buffer In { uint src[]; };
layout(set = 0, binding = 1) buffer Out { uint dst[]; };
void main() {
    uint i = gl_GlobalInvocationID.x & push.mask;
    dst[i] = src[i] + push.rounds;
}
