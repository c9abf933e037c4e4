"""A user's ``__global__`` function in CUDA (gemm.cu), launched by bitgate: on the host, on AMD and NVIDIA GPUs.

bitgate verify gemm_f32_m33n17k40 --load examples/tiled_gemm/declaration.py --kernel 'tiled_gemm*'
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch, Refusal
from bitgate.operation import F32_ACCUMULATION, Problem

TILE = 16
TYPES = {"f32": "float", "f16": "__half"}


def supports(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """A plain product: whatever else a problem asks for is an attribute that it states."""
    if problem.attributes:
        return Refusal("attributes", f"nothing but the product, not {', '.join(problem.attributes)}")
    return None


def launches(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Iterator[KernelLaunch]:
    """A block for each tile of the result. Roles are pointers, numbers become the types of the parameters."""
    a, b, c = (problem.tensors[role] for role in ("in", "wei", "out"))
    (batches, m, k), n = a.lengths, b.lengths[1]
    strides = (struct.pack("<3q", *tensor.strides) for tensor in (a, b, c))
    yield KernelLaunch(
        f"gemm<{TYPES[instance.name]}>",
        grid=(-(-n // TILE), -(-m // TILE), batches),
        block=(TILE, TILE),
        args=("in", "wei", "out", m, n, k, *strides),
    )


FAMILY = KernelFamily(
    name="tiled_gemm",
    operations=("gemm",),
    sources=("gemm.cu",),
    source=DeviceSource(kernels=("gemm<float>", "gemm<__half>"), launches=launches),
    platforms=("host", "amd", "nvidia"),
    instances=tuple(
        Instance(dtype, "gemm", (dtype,), ("rcr", "rrr", "crr", "ccr"), (0,), F32_ACCUMULATION) for dtype in TYPES
    ),
    supports=supports,
)
