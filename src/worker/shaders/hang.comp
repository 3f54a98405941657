#version 450
// Never ends: the awaited value is never written.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) coherent volatile buffer Words { uint awaited; uint turns; } words;
void main() {
    while (atomicAdd(words.awaited, 0u) != 0xfeedfaceu) {
        atomicAdd(words.turns, 1u);
    }
}
