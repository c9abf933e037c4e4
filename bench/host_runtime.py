"""What the host runtime costs, each figure beside a floor: ``python bench/host_runtime.py``.

CPU time of the process, the best of nine rounds, one OS thread; nothing here is a test.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

from bitgate.build.builder import Builder
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.operation import F32_ACCUMULATION
from bitgate.operations.convolution import Pass

MIB = 1 << 20
SIZES = (("1 KiB", 1024, 2000), ("1 MiB", MIB, 100), ("64 MiB", 64 * MIB, 3))


def load() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """The runtime, and the measurements in C++."""
    builder = Builder("host")
    runtime = ctypes.CDLL(str(builder.runtime()), mode=ctypes.RTLD_GLOBAL)
    family = KernelFamily(
        name="bench_host_runtime",
        operations=(Pass.FWD,),
        sources=("host_runtime.hip.cpp",),
        folder=Path(__file__).parent,
        platforms=("host",),
        instances=(Instance("only", "one", ("f32",), ("nhwgc",), (2,), F32_ACCUMULATION),),
    )
    return runtime, ctypes.CDLL(str(builder.family(family)))


def rows(runtime: ctypes.CDLL, library: ctypes.CDLL) -> Iterator[tuple[str, float, str, float]]:
    """``(what, nanoseconds, the floor's name, its nanoseconds)``."""

    def measure(name: str, *arguments: object) -> float:
        function = getattr(library, f"bench_{name}_ns")
        function.restype = ctypes.c_double
        return float(function(*arguments))

    runtime.bitgateHostSetThreads(1)
    call = measure("function_call")
    barrier = measure("barrier", 256, 1)
    for sites in (1, 2, 4):
        share = measure("barrier", 256, sites) / 256
        yield f"context switch (a barrier's share of a thread), {sites} in the loop", share, "function call", call
    yield "launch of an empty kernel, 1 block of 1 thread", measure("launch", 1, 1), "function call", call
    yield "launch of an empty kernel, 1 block of 256", measure("launch", 1, 256), "256 function calls", 256 * call
    yield "one more barrier, block of 256", barrier, "256 function calls", 256 * call
    yield "launch of an empty kernel, 256 blocks of 256", measure("launch", 256, 256), "65536 calls", 65536 * call
    yield "launch with one barrier, block of 256", measure("one_barrier_kernel", 256), "512 calls", 512 * call
    for label, size, repeats in SIZES:
        bytes_ = ctypes.c_size_t(size)
        floor = measure("malloc", bytes_, repeats)
        yield f"hipMalloc + hipFree, {label}", measure("hip_malloc", bytes_, repeats), "malloc + memset", floor
    memory = ctypes.c_void_p()
    runtime.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(16 * MIB))
    runtime.hipMemset(memory, 0, ctypes.c_size_t(16 * MIB))
    elements = ctypes.c_long(4 * MIB)
    floor = measure("loop", memory, elements)
    yield "kernel without barrier, 4 Mi elements", measure("kernel", memory, elements), "the same loop", floor
    floor = measure("memcpy", memory, elements)
    yield "copy of 8 MiB, one element a thread", measure("copy_one", memory, elements), "memcpy", floor
    floor = measure("matmul_loop", memory, 512)
    yield "matmul of 512 x 512, tiles of 16 in LDS", measure("matmul", memory, 512), "plain loops", floor


def main() -> None:
    runtime, library = load()
    print(f"{'':62}{'us':>12}   {'floor':22}{'us':>12}{'ratio':>10}")
    for what, time, floor_name, floor in rows(runtime, library):
        print(f"{what:62}{time / 1e3:12.3f}   {floor_name:22}{floor / 1e3:12.3f}{time / floor:10.2f}")


if __name__ == "__main__":
    main()
