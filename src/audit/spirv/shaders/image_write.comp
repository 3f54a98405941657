#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba8) uniform readonly image2D src;
layout(set = 0, binding = 1, rgba8) uniform writeonly image2D dst;
layout(set = 0, binding = 2, r32ui) uniform uimageBuffer texels;
layout(set = 0, binding = 3, r32ui) uniform uimage2D counters;
layout(set = 0, binding = 4, r32ui) uniform readonly uimageBuffer quiet;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    imageStore(dst, at, imageLoad(src, at));
    imageStore(texels, at.x, imageLoad(quiet, at.x));
    imageAtomicAdd(counters, at, 1u);
}
