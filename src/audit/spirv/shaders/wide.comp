#version 450
// Writes all over the buffer and beyond its end.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint step; uint start; uint seed; } push;
layout(set = 0, binding = 0) buffer Out { uint data[]; } dst;
void main() {
    uint i = gl_GlobalInvocationID.x;
    dst.data[i * push.step + push.start] = push.seed * (i + 1);
}
