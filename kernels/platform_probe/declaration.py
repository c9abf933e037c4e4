"""Probes of the platform: what every kernel takes for granted of fragments, waves, LDS and atomics, measured.

A family like any other, so that probes are built, loaded, planned, recorded and reported as every case is. Its
instances compute nothing: they are planned on the platform itself, run tiles or write figures (probe_problem.hpp), and
``bitgate.runtime.probe`` judges those. ``probe.h`` declares the one function that a library has beside the C ABI.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import F32_ACCUMULATION, Problem

PROBES = {
    "wave": ("device", 256),
    "lds": ("device", 256),
    "atomics": ("device", 256),
    "lanes": ("fragments", 64),
    "accumulators": ("fragments", 64),
    "subnormals": ("fragments", 64),
}
"""Instance -> its translation unit and the threads of a block."""


def supports(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """Only what is no computation."""
    if problem.operation.name != "probe":
        return Refusal("operation", f"{instance.name} measures the platform, and computes no {problem.operation}")
    return None


def dispatch(problem: Problem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """A probe's launches are its own affair: nothing is predicted."""
    return None


FAMILY = KernelFamily(
    name="platform_probe",
    operations=("probe",),
    sources=("library.hip.cpp", "device.hip.cpp", "fragments.hip.cpp"),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(
        Instance(
            name=name,
            group=unit,
            dtypes=("f32",),
            layouts=("nwgc",),
            ndims=(1,),
            accumulation=F32_ACCUMULATION,
            vector=(1, 1, 1),
            block_size=threads,
        )
        for name, (unit, threads) in PROBES.items()
    ),
    options=(),
    supports=supports,
    dispatch=dispatch,
    is_probe=True,
)
