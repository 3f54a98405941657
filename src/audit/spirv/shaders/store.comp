#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uint data[]; } src;
layout(set = 0, binding = 3) buffer Out { uint data[]; } dst;
layout(set = 1, binding = 0) uniform Params { uint scale; } params;
void main() {
    uint i = gl_GlobalInvocationID.x;
    dst.data[i] = src.data[i] * params.scale;
}
