#version 450
// One triangle without vertex buffers; where it lies and how deep comes with the draw.
layout(push_constant) uniform Push { vec2 shift; float depth; float shade; } push;
layout(location = 0) out vec3 color;
const vec2 CORNERS[3] = vec2[](vec2(-0.75, -0.75), vec2(0.75, -0.5), vec2(0.0, 0.75));
void main() {
    gl_Position = vec4(CORNERS[gl_VertexIndex] + push.shift, push.depth, 1.0);
    color = push.shade * vec3(gl_VertexIndex == 0, gl_VertexIndex == 1, gl_VertexIndex == 2);
}
