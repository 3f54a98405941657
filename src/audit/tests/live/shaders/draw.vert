#version 450
// Stores through binding 2 of set 0, once for each corner.
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 2) buffer Corners { uint corners[]; };
void main() {
    corners[(push.first + gl_VertexIndex * push.step) & 0xffffu] = push.value + gl_VertexIndex;
    float turn = float(push.value & 0xffu) / 255.0;
    gl_Position = vec4(gl_VertexIndex == 1 ? 1.0 : -1.0 + turn, gl_VertexIndex == 2 ? 1.0 : -1.0, turn * 0.9, 1.0);
}
