#version 450
// Never ends: nothing ever writes what it waits for.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) coherent volatile buffer Words { uint awaited; uint turns; } words;
void main() {
    while (atomicAdd(words.awaited, 0u) != 0xfeedfaceu) {
        atomicAdd(words.turns, 1u);
    }
}
