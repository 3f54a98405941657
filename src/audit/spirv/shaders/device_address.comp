#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 64) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430) buffer Node { uint value; Node next; };
layout(push_constant) uniform Push { Node head; uvec2 raw; } push;
layout(set = 0, binding = 0) buffer In { uint data[]; } src;
void bump(Node node) { node.value += src.data[0]; }
void main() { bump(push.head.next); }
