#version 450
#extension GL_KHR_memory_scope_semantics : require
#pragma use_vulkan_memory_model
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint data[]; } a;
layout(set = 0, binding = 1) buffer B { uint data[]; } b;
layout(set = 0, binding = 2) buffer C { uint data[]; } c;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint seen = atomicLoad(a.data[i], gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
    atomicStore(b.data[i], seen, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    atomicCompSwap(c.data[i], seen, 1u);
}
