#version 450
// Loads a texel and its neighbours and stores one, in storage images.
layout(local_size_x = 16, local_size_y = 16) in;
layout(push_constant) uniform Push { uint mask; uint rounds; } push;
layout(set = 0, binding = 2, rgba8) uniform readonly image2D src;
layout(set = 0, binding = 3, rgba8) uniform writeonly image2D dst;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec4 sum = vec4(0.0);
    for (uint round = 0u; round < push.rounds; ++round) {
        ivec2 near = (at + ivec2(round & 3u, round >> 2u)) & ivec2(1023);
        sum += imageLoad(src, near);
    }
    imageStore(dst, at & ivec2(1023), sum / float(push.rounds));
}
