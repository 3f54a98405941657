#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;
layout(set = 2, binding = 7) buffer Outs { uint data[]; } outs[];
layout(set = 2, binding = 1) buffer Ins { uint data[]; } ins[4];
void main() {
    uint i = gl_GlobalInvocationID.x;
    outs[nonuniformEXT(i % 3)].data[i] = ins[i % 4].data[i];
}
