#version 450
#extension GL_GOOGLE_include_directive : require
// A store into one of an array of descriptors, chosen by a push constant.
#include "common.glsl"

layout(set = 0, binding = 0) buffer Target { uint words[]; } targets[4];

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        targets[extra & 3u].words[first + i] = hash(i, key);
    }
}
