#!/usr/bin/env python3
"""Renders with wgpu-py on the Vulkan device that the environment chooses, and prints a digest of each picture.

A stock client that knows nothing of us. Each picture is rendered to a texture, copied to a buffer and read back; the
digests must be the same natively and over a server on the same device.

    python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
    VK_DRIVER_FILES=.../lvp_icd.json VENV/bin/python triangle.py

Exit code: 0 drawn, 1 a picture is empty, 3 no Vulkan adapter.
"""

import array
import hashlib
import os
import sys

# Read by wgpu when it is imported: only Vulkan, whatever else is there.
os.environ["WGPU_BACKEND_TYPE"] = "Vulkan"

import wgpu  # noqa: E402

SIZE = 256
FORMAT = "rgba8unorm"
DEPTH = "depth24plus-stencil8"

SHADER = """
struct Out { @builtin(position) at: vec4<f32>, @location(0) color: vec3<f32> }
@group(0) @binding(0) var<storage, read_write> hits: array<atomic<u32>>;

@vertex
fn corner(@builtin(vertex_index) i: u32, @builtin(instance_index) n: u32) -> Out {
    var at = array(vec2(-0.9, -0.8), vec2(0.9, -0.7), vec2(0.1, 0.9));
    var color = array(vec3(1.0, 0.0, 0.0), vec3(0.0, 1.0, 0.0), vec3(0.0, 0.0, 1.0));
    let turned = vec2(at[i].x * (1.0 - 1.6 * f32(n)), at[i].y);
    return Out(vec4(turned, 0.2 + 0.3 * f32(i), 1.0), color[i]);
}

@fragment
fn paint(in: Out) -> @location(0) vec4<f32> {
    atomicAdd(&hits[u32(in.at.x) % 64u], 1u);
    return vec4(in.color, 1.0);
}
"""

SHRINK = """
@group(0) @binding(0) var from_level: texture_2d<f32>;
@group(0) @binding(1) var to_level: texture_storage_2d<rgba8unorm, write>;

@compute @workgroup_size(8, 8)
fn shrink(@builtin(global_invocation_id) id: vec3<u32>) {
    if (all(id.xy < textureDimensions(to_level))) {
        let at = id.xy * 2u;
        let sum = textureLoad(from_level, at, 0) + textureLoad(from_level, at + vec2(1u, 0u), 0)
            + textureLoad(from_level, at + vec2(0u, 1u), 0) + textureLoad(from_level, at + vec2(1u, 1u), 0);
        textureStore(to_level, id.xy, sum / 4.0);
    }
}
"""


def vulkan_adapter():
    """The first Vulkan adapter, or None."""
    adapters = wgpu.gpu.enumerate_adapters_sync()
    return next((a for a in adapters if a.info["backend_type"] == "Vulkan"), None)


def texture(device, samples=1, levels=1, form=FORMAT):
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT
    if samples == 1:
        usage |= wgpu.TextureUsage.COPY_SRC | wgpu.TextureUsage.TEXTURE_BINDING
        if form == FORMAT:
            usage |= wgpu.TextureUsage.STORAGE_BINDING | wgpu.TextureUsage.COPY_DST
    return device.create_texture(
        size=(SIZE, SIZE, 1), format=form, usage=usage, sample_count=samples, mip_level_count=levels
    )


def pictures(adapter):
    """Gives (name, bytes) of each picture."""
    device = adapter.request_device_sync()
    module = device.create_shader_module(code=SHADER)
    group_layout = device.create_bind_group_layout(
        entries=[{"binding": 0, "visibility": wgpu.ShaderStage.FRAGMENT, "buffer": {"type": "storage"}}]
    )
    hits = device.create_buffer(size=256, usage=wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC)
    group = device.create_bind_group(
        layout=group_layout, entries=[{"binding": 0, "resource": {"buffer": hits}}]
    )
    layout = device.create_pipeline_layout(bind_group_layouts=[group_layout])

    def pipeline(samples, depth):
        return device.create_render_pipeline(
            layout=layout,
            vertex={"module": module, "entry_point": "corner"},
            fragment={"module": module, "entry_point": "paint", "targets": [{"format": FORMAT}]},
            multisample={"count": samples},
            depth_stencil={"format": DEPTH, "depth_write_enabled": True, "depth_compare": "less"}
            if depth
            else None,
        )

    def draw(target, samples=1, depth=False, load="clear"):
        encoder = device.create_command_encoder()
        color = {"view": target.create_view(mip_level_count=1), "load_op": load, "store_op": "store"}
        color["clear_value"] = (0.1, 0.2, 0.3, 1.0)
        if samples > 1:
            color["resolve_target"], color["view"] = color["view"], texture(device, samples).create_view()
        stencil = {
            "view": texture(device, samples, form=DEPTH).create_view(),
            "depth_load_op": "clear",
            "depth_store_op": "store",
            "depth_clear_value": 1.0,
            "stencil_load_op": "clear",
            "stencil_store_op": "discard",
        }
        work = encoder.begin_render_pass(
            color_attachments=[color], depth_stencil_attachment=stencil if depth else None
        )
        work.set_pipeline(pipeline(samples, depth))
        work.set_bind_group(0, group)
        work.draw(3, 2)
        work.end()
        device.queue.submit([encoder.finish()])

    def read(source, level=0):
        side = SIZE >> level
        return bytes(
            device.queue.read_texture(
                {"texture": source, "mip_level": level, "origin": (0, 0, 0)},
                {"offset": 0, "bytes_per_row": side * 4, "rows_per_image": side},
                (side, side, 1),
            )
        )

    plain = texture(device, levels=4)
    draw(plain)
    yield "triangle", read(plain)

    depth = texture(device)
    draw(depth, depth=True)
    yield "depth", read(depth)

    resolved = texture(device)
    draw(resolved, samples=4)
    yield "msaa", read(resolved)
    draw(resolved, samples=4, depth=True)
    yield "msaa-depth", read(resolved)

    # Levels of the first picture, each made from the one above by a compute shader.
    shrink = device.create_compute_pipeline(
        layout="auto",
        compute={"module": device.create_shader_module(code=SHRINK), "entry_point": "shrink"},
    )
    for level in range(1, 4):
        entries = [
            {"binding": i, "resource": plain.create_view(base_mip_level=level - 1 + i, mip_level_count=1)}
            for i in range(2)
        ]
        levels = device.create_bind_group(layout=shrink.get_bind_group_layout(0), entries=entries)
        encoder = device.create_command_encoder()
        work = encoder.begin_compute_pass()
        work.set_pipeline(shrink)
        work.set_bind_group(0, levels)
        work.dispatch_workgroups((SIZE >> level) // 8, (SIZE >> level) // 8)
        work.end()
        device.queue.submit([encoder.finish()])
        yield f"level-{level}", read(plain, level)

    # A part of one texture over another, from the CPU, and drawn upon without a clear.
    mixed = texture(device)
    noise = array.array("I", ((i * 2654435761) & 0xFFFFFFFF for i in range(SIZE * SIZE)))
    device.queue.write_texture(
        {"texture": mixed}, noise, {"bytes_per_row": SIZE * 4, "rows_per_image": SIZE}, (SIZE, SIZE, 1)
    )
    encoder = device.create_command_encoder()
    encoder.copy_texture_to_texture(
        {"texture": resolved, "origin": (10, 20, 0)}, {"texture": mixed, "origin": (99, 3, 0)}, (100, 77, 1)
    )
    device.queue.submit([encoder.finish()])
    draw(mixed, load="load")
    yield "copy", read(mixed)
    yield "fragment-writes", bytes(device.queue.read_buffer(hits))


def main():
    adapter = vulkan_adapter()
    if adapter is None:
        print("wgpu: no Vulkan adapter", file=sys.stderr)
        return 3
    info = adapter.info
    print(f"wgpu: adapter=\"{info['device']}\" driver=\"{info['description']}\"")
    empty = 0
    total = hashlib.sha256()
    for name, content in pictures(adapter):
        total.update(content)
        empty += len(set(content)) < 3
        print(f"wgpu: {name}: {len(content)} bytes sha256={hashlib.sha256(content).hexdigest()[:16]}")
    print(f"wgpu: sha256={total.hexdigest()}")
    print(f"wgpu: done errors={empty}")
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
