#version 450
#extension GL_GOOGLE_include_directive : require
// Members of structures in arrays in structures: 16 bytes of head, then items of 40 bytes.
#include "common.glsl"

struct Part { uvec2 pair; uint word; };
struct Item { uint head; Part parts[2]; };

layout(set = 0, binding = 0, std430) buffer Target {
    uvec4 head;
    Item items[];
} target;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i >= count) {
        return;
    }
    switch (extra & 3u) {
    case 0u: target.items[first + i].parts[key & 1u].pair.y = hash(i, key); break;
    case 1u: target.items[first + i].parts[1].word += key; break;
    case 2u: target.items[first + i] = Item(i, Part[2](Part(uvec2(key), i), Part(uvec2(i), key))); break;
    default:
        if (i == 0u) {
            target.head.z = key;
        }
        break;
    }
}
