#version 450
// Stores through binding 1 of set 0 and changes binding 3 by atomics.
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 1) buffer Pixels { uint pixels[]; };
layout(set = 0, binding = 3) buffer Counts { uint counts[]; };
layout(location = 0) out vec4 color;
void main() {
    uint at = uint(gl_FragCoord.x) + 64u * uint(gl_FragCoord.y);
    pixels[at * push.step & 0xffffu] = push.value ^ at;
    atomicAdd(counts[0], 1u);
    color = vec4(push.value & 0xffu, push.value >> 8 & 0xffu, push.value >> 16 & 0xffu, 255u) / 255.0;
}
