#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer In { uint data[]; } src;
layout(set = 0, binding = 1, rgba8) uniform readonly image2D picture;
layout(set = 0, binding = 2) uniform sampler2D tex;
shared float total[64];
void main() {
    float sum = 0.0;
    float parts[4];
    for (int i = 0; i < 4; i++) {
        parts[i] = float(src.data[i]) + imageLoad(picture, ivec2(i, 0)).x + texture(tex, vec2(0.5)).y;
        sum += modf(parts[i], parts[(i + 1) % 4]);
    }
    total[gl_LocalInvocationIndex] = sum;
}
