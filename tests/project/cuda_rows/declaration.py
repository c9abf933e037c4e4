"""Sums of rows by a kernel of a whole program in CUDA (rows.cu), in waves of 32 lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bitgate.kernel import DeviceSource, Instance, KernelFamily, KernelLaunch, Refusal
from bitgate.operation import F32_ACCUMULATION, Problem

TYPES = {"f32": "float", "bf16": "__nv_bfloat16"}


def supports(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if dict(problem.attributes) != {"kind": "sum"} or any(tensor.has_gaps for tensor in problem.tensors.values()):
        return Refusal("sums", "sums of rows without padding")
    return None


def launches(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Iterator[KernelLaunch]:
    outer, length, inner = problem.tensors["x"].lengths
    yield KernelLaunch(f"row_sums<{TYPES[instance.name]}, 64>", outer * inner, 64, ("x", "y", length, inner))


FAMILY = KernelFamily(
    name="cuda_rows",
    operations=("reduction",),
    sources=("rows.cu",),
    source=DeviceSource(kernels=(*(f"row_sums<{name}, 64>" for name in TYPES.values()), "copy4"), launches=launches),
    platforms=("host", "amd", "nvidia"),
    instances=tuple(Instance(name, "rows", (name,), (), (0,), F32_ACCUMULATION, wave_size=32) for name in TYPES),
    supports=supports,
)
