#version 450
// Writes a texel buffer, and beyond its end.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint step; uint start; uint seed; } push;
layout(set = 0, binding = 2, r32ui) uniform writeonly uimageBuffer texels;
void main() {
    uint i = gl_GlobalInvocationID.x;
    imageStore(texels, int(i * push.step + push.start), uvec4(push.seed * (i + 1)));
}
