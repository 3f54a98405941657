// Push constants and hash of all shaders here; `count` invocations store, from word `first`.
layout(local_size_x = 64) in;

#ifndef NO_PUSH
layout(push_constant) uniform Push {
    uint first;
    uint count;
    uint key;
    uint extra;
};
#endif

uint hash(uint x, uint k) {
    x = (x ^ k) * 0x9e3779b1u;
    return x ^ (x >> 15);
}
