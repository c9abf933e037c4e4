"""Probes of the platform: what every kernel takes for granted of fragments, waves, LDS and atomics, measured.

A family like any other, so that probes are built, loaded, planned, recorded and reported as every case is. Its
instances compute no convolution: they are planned on a problem of one cell, of which the library hears nothing, run
tiles or write figures (probe_problem.hpp), and ``bitgate.verify.platform`` judges those. ``probe.h`` declares the one
function that a library has beside the C ABI.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import F32_ACCUMULATION
from bitgate.operations.convolution import ConvProblem, Pass

PROBES = {
    "wave": ("device", 256),
    "lds": ("device", 256),
    "atomics": ("device", 256),
    "lanes": ("fragments", 64),
    "accumulators": ("fragments", 64),
    "subnormals": ("fragments", 64),
}
"""Instance -> its translation unit and the threads of a block."""


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """Only the problem of one cell that probes are planned on."""
    if problem.direction is not Pass.FWD:
        return Refusal("operation", f"{instance.name} is planned as fwd, not {problem.direction}")
    if str(problem.dtypes) != "f32":
        return Refusal("dtypes", f"{problem.dtypes} is not f32")
    cells = sum(tensor.elements for tensor in problem.tensors.values())
    if problem.ndim != 1 or cells != 3:
        return Refusal("one_cell", "a probe of the platform is planned on a 1D convolution of one cell")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """A probe's launches are its own affair: nothing is predicted."""
    return None


FAMILY = KernelFamily(
    name="platform_probe",
    operations=("fwd",),
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
