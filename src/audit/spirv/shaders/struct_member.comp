#version 450
layout(local_size_x = 64) in;
struct Cell { vec4 place; uint flags[4]; };
layout(set = 0, binding = 0) buffer Cells { Cell cells[]; } cells;
layout(set = 0, binding = 1) buffer Copies { Cell cells[]; } copies;
void touch(inout Cell cell, uint by) { cell.flags[2] += by; }
void main() {
    uint i = gl_GlobalInvocationID.x;
    Cell cell = cells.cells[i];
    touch(cell, i);
    copies.cells[i] = cell;
}
