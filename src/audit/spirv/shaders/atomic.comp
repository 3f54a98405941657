#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uint data[]; } src;
layout(set = 0, binding = 1) buffer Counter { uint count; } counter;
shared uint local_count;
void main() {
    atomicAdd(local_count, 1);
    if (src.data[gl_GlobalInvocationID.x] > 5) {
        atomicAdd(counter.count, 1);
    }
}
