#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 1) in;
layout(buffer_reference, std430) buffer Cell { uint value; };
layout(push_constant) uniform Push { uvec2 words; uint64_t number; } push;
void main() {
    Cell cell = push.number == 0 ? Cell(push.words) : Cell(push.number);
    atomicAdd(cell.value, 1);
}
