#!/usr/bin/env python3
"""Runs a network of ten convolutions with ncnn on the Vulkan device that the environment chooses.

A stock client that knows nothing of us. The network is made here: its weights and its input come from a generator with a
fixed seed. What the device computes is compared with what ncnn computes on the CPU, within the rounding of another order of
additions, and its digest printed: natively and over a server on the same device it must be the same.

    python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
    VK_DRIVER_FILES=.../lvp_icd.json VENV/bin/python convolutions.py

With --time N it prints the median time of N inferences after a warm-up as well, in milliseconds: inference_ms=...

Exit code: 0 right, 1 wrong, 3 no Vulkan device.
"""

import argparse
import hashlib
import os
import statistics
import sys
import tempfile
import time

import ncnn
import numpy as np

SEED = 20
WARM_UP = 3
# Channels in and out, and the stride of each 3x3 convolution.
LAYERS = [
    (3, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 32, 1),
    (32, 64, 2), (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1),
]
SIDE = 64
# Largest difference to the CPU's result, as a part of the largest value.
TOLERANCE = 1e-3


def make(folder):
    """Writes the network's two files; ncnn's text format, and raw 32-bit floats with a tag of 0 before each weight."""
    random = np.random.default_rng(SEED)
    lines = [f"Input data 0 1 b0 0={SIDE} 1={SIDE} 2={LAYERS[0][0]}"]
    weights = bytearray()
    for n, (inputs, outputs, stride) in enumerate(LAYERS):
        count = inputs * outputs * 9
        # Padding 1, a bias, and ReLU after all but the last.
        relu = 1 if n + 1 < len(LAYERS) else 0
        lines.append(
            f"Convolution c{n} 1 1 b{n} b{n + 1} 0={outputs} 1=3 3={stride} 4=1 5=1 6={count} 9={relu}"
        )
        scale = np.sqrt(2.0 / (inputs * 9))
        weights += b"\0\0\0\0"
        weights += (random.standard_normal(count) * scale).astype("<f4").tobytes()
        weights += (random.standard_normal(outputs) * 0.01).astype("<f4").tobytes()
    param, model = os.path.join(folder, "net.param"), os.path.join(folder, "net.bin")
    with open(param, "w", encoding="ascii") as file:
        file.write(f"7767517\n{len(lines)} {len(lines)}\n" + "\n".join(lines) + "\n")
    with open(model, "wb") as file:
        file.write(weights)
    return param, model


def load(files, vulkan):
    net = ncnn.Net()
    net.opt.use_vulkan_compute = vulkan
    # 32-bit floats all along: what the device has of shorter ones must not change the result.
    for name in [
        "use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_fp16_uniform", "use_bf16_storage",
        "use_bf16_packed", "use_int8_inference", "use_cooperative_matrix", "use_winograd_convolution",
    ]:
        if hasattr(net.opt, name):
            setattr(net.opt, name, False)
    if vulkan:
        net.set_vulkan_device(0)
    param, model = files
    if net.load_param(param) != 0 or net.load_model(model) != 0:
        sys.exit("ncnn does not take the network")
    return net


def infer(net, data):
    extractor = net.create_extractor()
    extractor.input("b0", ncnn.Mat(data))
    code, out = extractor.extract(f"b{len(LAYERS)}")
    if code != 0:
        sys.exit(f"ncnn: extract answered {code}")
    return np.array(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--time", type=int, default=0, metavar="N")
    options = parser.parse_args()
    if ncnn.get_gpu_count() < 1:
        print("no Vulkan device")
        return 3
    print(f'device "{ncnn.get_gpu_info(0).device_name()}", ncnn {ncnn.__version__}')
    shape = (LAYERS[0][0], SIDE, SIDE)
    data = np.random.default_rng(SEED + 1).standard_normal(shape).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        files = make(folder)
        cpu = infer(load(files, False), data)
        net = load(files, True)
        out = infer(net, data)
        again = infer(net, data)
    peak = float(np.abs(cpu).max())
    difference = float(np.abs(out - cpu).max()) / peak
    print(f"shape={'x'.join(map(str, out.shape))} peak={peak:.4f} difference={difference:.2e}")
    print(f"sha256={hashlib.sha256(np.ascontiguousarray(out).tobytes()).hexdigest()}")
    good = difference < TOLERANCE and peak > 0.01 and np.array_equal(out, again)
    if options.time > 0:
        for _ in range(WARM_UP):
            infer(net, data)
        times = []
        for _ in range(options.time):
            start = time.perf_counter()
            infer(net, data)
            times.append((time.perf_counter() - start) * 1e3)
        print(f"inference_ms={statistics.median(times):.3f}")
    print("convolutions: " + ("right" if good else "WRONG"))
    return 0 if good else 1


if __name__ == "__main__":
    code = main()
    # ncnn's instance must go before the libraries that it uses are unloaded.
    ncnn.destroy_gpu_instance()
    sys.stdout.flush()
    sys.exit(code)
