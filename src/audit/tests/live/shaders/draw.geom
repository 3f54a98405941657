#version 450
// Hands triangles on, and stores through binding 0 of set 0, once for each.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 0) buffer Triangles { uint triangles[]; };
void main() {
    triangles[(push.first * 3u + gl_PrimitiveIDIn) & 0xffffu] = push.value + 77u;
    for (int i = 0; i < 3; ++i) {
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
    EndPrimitive();
}
