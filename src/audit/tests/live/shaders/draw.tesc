#version 450
// Hands patches on, and stores through binding 0 of set 0, once for each corner.
layout(vertices = 3) out;
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 0) buffer Patches { uint patches[]; };
void main() {
    patches[(push.first + gl_InvocationID * push.step) & 0xffffu] = push.value + 5u;
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelInner[0] = 2.0;
    gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = 2.0;
}
