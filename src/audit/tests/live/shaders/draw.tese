#version 450
// Places the corners of a patch, and counts them in binding 0 of set 0.
layout(triangles, equal_spacing, ccw) in;
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 0) buffer Patches { uint patches[]; };
void main() {
    atomicAdd(patches[(push.first + 9u) & 0xffffu], 1u);
    gl_Position = gl_TessCoord.x * gl_in[0].gl_Position + gl_TessCoord.y * gl_in[1].gl_Position
        + gl_TessCoord.z * gl_in[2].gl_Position;
}
