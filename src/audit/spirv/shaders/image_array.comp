#version 450
layout(local_size_x = 8) in;
layout(set = 1, binding = 2, rgba8) uniform image2D pictures[5];
layout(set = 1, binding = 3, rgba8) uniform image2D others[5];
void main() {
    imageStore(pictures[gl_WorkGroupID.x % 5], ivec2(0), imageLoad(others[0], ivec2(0)));
}
