"""GFLOP/s of kernels on the host, beside numpy's sgemm: prints a table, checks each result's digest, gates nothing.

    python benchmarks/host_kernels.py [--kernel GLOB] [--case CASE] [--repeat N] [--threads N]

One instance a type, the one with the largest tile, on a ResNet layer of two images (1.85 GFLOP). Kernel and sgemm run
interleaved, so that they see the same machine; the fastest of each counts. The aim is 20 GFLOP/s for f16 on two cores.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from bitgate.core import paths
from bitgate.kernel.build import Builder
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.registry import select
from bitgate.model import parse_case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import matrix
from bitgate.numerics.digest import digest
from bitgate.numerics.fill import make_inputs, plan_fill
from bitgate.numerics.reference import exact_reference
from bitgate.ops.convolution import ConvProblem
from bitgate.runtime.buffers import Buffer
from bitgate.runtime.device import Device
from bitgate.runtime.runtime import open_device
from bitgate.runtime.targets import named

CASES = ("fwd_{}_nhwgc_g1n2k256c256_y3x3_h28x28_p1x1", "bwd_data_{}_nhwgc_g1n2k256c256_y3x3_h28x28_p1x1")
SGEMM_SIDE = 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="grouped_*", help="glob over family.instance")
    parser.add_argument("--case", action="append", help="a case id with {} for the types; may be repeated")
    parser.add_argument("--threads", type=int, default=paths.threads())
    parser.add_argument("--repeat", type=int, default=5, help="repetitions; the fastest counts")
    options = parser.parse_args()
    os.environ["BITGATE_THREADS"] = str(options.threads)
    builder = Builder("host")
    device = open_device(named("host"), builder)
    device.set_threads(options.threads)
    print(f"{options.threads} threads, fastest of {options.repeat}; sgemm of {SGEMM_SIDE}^3 in turns with each kernel")
    libraries: dict[str, KernelLibrary] = {}
    for pattern in options.case or CASES:
        for family, instance, problem in chosen(options.kernel, pattern):
            if family.name not in libraries:
                libraries[family.name] = KernelLibrary.load(builder.family(family), family, target="host")
            kernel, plain = measure(device, libraries[family.name], instance, problem, options.repeat, options.threads)
            print(
                f"{family.name:18} {instance.name:40} {kernel:7.1f} GFLOP/s,"
                f" {100 * kernel / plain:3.0f} % of sgemm's {plain:.0f}"
            )


def chosen(kernels: str, pattern: str) -> Iterator[tuple[KernelFamily, Instance, ConvProblem]]:
    """For each family and type the supporting instance with the largest tile."""
    best: dict[tuple[str, str], tuple[KernelFamily, Instance, ConvProblem]] = {}
    for family, instance in select(kernels):
        problem = parse_case_id(pattern.format(instance.dtypes[0]))
        key = family.name, instance.dtypes[0]
        if instance.tile is None or family.supports(problem, instance, {}) is not None:
            continue
        if key not in best or np.prod(instance.tile) > np.prod(best[key][1].tile or 0):
            best[key] = family, instance, problem
    yield from best.values()


def measure(
    device: Device, library: KernelLibrary, instance: Instance, problem: ConvProblem, repeat: int, threads: int
) -> tuple[float, float]:
    """GFLOP/s of the kernel and of sgemm. SystemExit if the kernel's bits are wrong."""
    plan = plan_fill(problem, instance.accumulation_for(problem))
    inputs = make_inputs(problem, plan)
    expected = exact_reference(problem, inputs)
    result = HostTensor.empty(problem.tensors[problem.result])
    a, b = (np.ones((SGEMM_SIDE, SGEMM_SIDE), np.float32) for _ in range(2))
    kernel, plain = [], []
    with on_device(device, {**inputs, problem.result: result}) as buffers:
        pointers = {name: buffer.pointer for name, buffer in buffers.items()}
        for _ in range(repeat):
            start = time.perf_counter()
            library.run(problem, instance.name, {}, pointers, stream=device.stream)
            device.synchronize()
            kernel.append(time.perf_counter() - start)
            with matrix.blas_threads(threads):
                start = time.perf_counter()
                a @ b
                plain.append(time.perf_counter() - start)
        buffers[problem.result].download(result.storage)
    if digest(result) != digest(expected):
        raise SystemExit(f"{instance.name} gives wrong bits: bitgate verify {problem} tells which")
    return problem.flops / min(kernel) / 1e9, 2 * SGEMM_SIDE**3 / min(plain) / 1e9


@contextmanager
def on_device(device: Device, tensors: Mapping[str, HostTensor]) -> Iterator[dict[str, Buffer]]:
    buffers: dict[str, Buffer] = {}
    try:
        for name, tensor in tensors.items():
            buffers[name] = device.alloc(tensor.tensor.bytes, name=name)
            buffers[name].upload(tensor.storage)
        yield buffers
    finally:
        for buffer in buffers.values():
            buffer.free()


if __name__ == "__main__":
    main()
