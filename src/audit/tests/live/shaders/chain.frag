#version 450
// Reads what the subpass before drew, draws something else, and stores through binding 1 of set 0.
layout(push_constant) uniform Push { uint step; uint first; uint value; } push;
layout(set = 0, binding = 1) buffer Pixels { uint pixels[]; };
layout(set = 1, binding = 0, input_attachment_index = 0) uniform subpassInput before;
layout(location = 0) out vec4 color;
void main() {
    uint at = uint(gl_FragCoord.x) + 64u * uint(gl_FragCoord.y);
    pixels[(at + push.first) & 0xffffu] = push.value * 3u + at;
    color = vec4(1.0) - subpassLoad(before);
}
