#version 450
// The three kernels of the verifying workload, selected with -DKERNEL=0|1|2. Integers only, so that
// `model.rs` knows every result bit for bit. Each invocation writes one word, and no word is
// written twice in a dispatch.
layout(local_size_x = 64) in;

layout(set = 0, binding = 0, std430) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1, std430) buffer Target { uint target[]; };

layout(push_constant) uniform Push {
    uint source_first; // words, from the start of the binding
    uint target_first; // words, from the start of the binding
    uint count;        // words
    uint key;
    uint stride;       // odd; KERNEL 2 only, where count is a power of two
};

uint mix_word(uint word, uint index) {
    uint hash = (word ^ key) + index * 0x9e3779b1u;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6du;
    return hash ^ (hash >> 13);
}

void main() {
    // Two dimensions lift the limit of 65535 groups; the groups count on in rows.
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint index = group * 64u + gl_LocalInvocationID.x;
    if (index >= count) {
        return;
    }
#if KERNEL == 0
    target[target_first + index] = mix_word(source[source_first + index], index);
#elif KERNEL == 1
    target[target_first + index] =
        mix_word(target[target_first + index], index) + source[source_first + index];
#else
    uint slot = (index * stride + key) & (count - 1u);
    target[target_first + slot] = mix_word(source[source_first + index], index);
#endif
}
