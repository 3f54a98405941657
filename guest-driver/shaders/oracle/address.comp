#version 450
#extension GL_GOOGLE_include_directive : require
// A store through a device address in the push constants.
#extension GL_EXT_buffer_reference : require
#define NO_PUSH
#include "common.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint words[]; };
layout(push_constant) uniform Push {
    Words target;
    uint count;
    uint key;
};

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < count) {
        target.words[i] = hash(i, key);
    }
}
