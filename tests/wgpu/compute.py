#!/usr/bin/env python3
"""Computes with wgpu-py on the Vulkan device that the environment chooses, and prints a digest.

A stock client that knows nothing of us: saxpy (floats that hold whole numbers, so that every device
rounds alike) and an integer mix, many passes over storage buffers. The result must be the CPU's own;
its SHA-256 must be the same natively and over a server.

    python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
    VK_DRIVER_FILES=.../lvp_icd.json VENV/bin/python compute.py

Exit code: 0 right, 1 wrong, 3 no Vulkan adapter.
"""

import argparse
import array
import hashlib
import os
import sys
import time

# Read by wgpu when it is imported: only Vulkan, whatever else is there.
os.environ["WGPU_BACKEND_TYPE"] = "Vulkan"

import wgpu  # noqa: E402

SHADER = """
struct Params { count: u32, key: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(64)
fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < params.count) {
        y[id.x] = 2.0 * x[id.x] + y[id.x];
    }
}

@compute @workgroup_size(64)
fn mix(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < params.count) {
        let word = (words[id.x] ^ params.key) * 2654435761u;
        words[id.x] = word ^ (word >> 15u);
    }
}
"""
KEY = 0x5EED
STORAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


def vulkan_adapter():
    """The first Vulkan adapter, or None."""
    adapters = wgpu.gpu.enumerate_adapters_sync()
    return next((a for a in adapters if a.info["backend_type"] == "Vulkan"), None)


def compute(adapter, count, passes, pause_s, corrupt):
    """Runs the passes, each in a submission of its own; gives (floats, words)."""
    device = adapter.request_device_sync()
    x = array.array("f", (i % 97 for i in range(count)))
    y = array.array("f", (i % 89 for i in range(count)))
    words = array.array("I", range(count))
    params = array.array("I", [count, KEY])
    buffers = [
        device.create_buffer_with_data(data=params, usage=wgpu.BufferUsage.UNIFORM),
        device.create_buffer_with_data(data=x, usage=STORAGE),
        device.create_buffer_with_data(data=y, usage=STORAGE),
        device.create_buffer_with_data(data=words, usage=STORAGE),
    ]
    kinds = ["uniform", "read-only-storage", "storage", "storage"]
    layout = device.create_bind_group_layout(
        entries=[
            {
                "binding": number,
                "visibility": wgpu.ShaderStage.COMPUTE,
                "buffer": {"type": kind},
            }
            for number, kind in enumerate(kinds)
        ]
    )
    group = device.create_bind_group(
        layout=layout,
        entries=[
            {"binding": number, "resource": {"buffer": buffer}}
            for number, buffer in enumerate(buffers)
        ],
    )
    module = device.create_shader_module(code=SHADER)
    pipeline_layout = device.create_pipeline_layout(bind_group_layouts=[layout])
    pipelines = [
        device.create_compute_pipeline(
            layout=pipeline_layout, compute={"module": module, "entry_point": name}
        )
        for name in ("saxpy", "mix")
    ]
    for _ in range(passes):
        encoder = device.create_command_encoder()
        for pipeline in pipelines:
            work = encoder.begin_compute_pass()
            work.set_pipeline(pipeline)
            work.set_bind_group(0, group)
            work.dispatch_workgroups((count + 63) // 64)
            work.end()
        device.queue.submit([encoder.finish()])
        if pause_s:
            # Lets a checkpoint or a move come between two passes.
            device.queue.read_buffer(buffers[3], 0, 4)
            time.sleep(pause_s)
    if corrupt:
        device.queue.write_buffer(buffers[3], 4 * (count // 2), array.array("I", [0xBAD]))
    floats = array.array("f", bytes(device.queue.read_buffer(buffers[2])))
    result = array.array("I", bytes(device.queue.read_buffer(buffers[3])))
    return floats, result


def expected(count, passes):
    """What the CPU says: (floats, words)."""
    floats = array.array("f", (2 * passes * (i % 97) + i % 89 for i in range(count)))
    words = array.array("I", range(count))
    for _ in range(passes):
        for i, word in enumerate(words):
            word = ((word ^ KEY) * 2654435761) & 0xFFFFFFFF
            words[i] = word ^ (word >> 15)
    return floats, words


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20000, help="elements (default 20000)")
    parser.add_argument("--passes", type=int, default=20, help="submissions (default 20)")
    parser.add_argument("--pause-ms", type=int, default=0, help="rest after each submission")
    # Spoils a word on the device, to see that it is found.
    parser.add_argument("--corrupt", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    # Floats stay exact below 2**24: 2 * passes * 96 + 88.
    if not (1 <= args.count <= 4_000_000 and 1 <= args.passes <= 80_000):
        parser.error("--count takes 1 to 4000000, --passes 1 to 80000")

    adapter = vulkan_adapter()
    if adapter is None:
        print("wgpu: no Vulkan adapter", file=sys.stderr)
        return 3
    info = adapter.info
    print(f"wgpu: adapter=\"{info['device']}\" driver=\"{info['description']}\"")
    got = compute(adapter, args.count, args.passes, args.pause_ms / 1000, args.corrupt)
    wrong = 0
    for name, have, want in zip(("floats", "words"), got, expected(args.count, args.passes)):
        bad = [i for i, (a, b) in enumerate(zip(have, want)) if a != b]
        wrong += len(bad) + abs(len(have) - len(want))
        if bad:
            i = bad[0]
            print(f"wgpu: {name}: {len(bad)} wrong, the first: [{i}] = {have[i]}, not {want[i]}")
    digest = hashlib.sha256(got[0].tobytes() + got[1].tobytes()).hexdigest()
    print(f"wgpu: sha256={digest}")
    print(f"wgpu: done passes={args.passes} errors={wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
