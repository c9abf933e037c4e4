"""Naive reference convolutions: one thread a result cell, in a stated order of summation (naive_conv.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.problem import CONVOLUTIONS, DTYPES, ConvProblem
from bitgate.problem.accumulation import Accumulation
from bitgate.problem.layout import INPUT_LAYOUTS

ACCUMULATORS = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "i8": "i32"}
LAYOUTS = tuple(layout for layouts in INPUT_LAYOUTS.values() for layout in layouts)

INSTANCES = tuple(
    Instance(
        name=f"{direction}_{dtype}",
        group=f"naive_conv_{dtype}",
        dtypes=(dtype,),
        layouts=LAYOUTS,
        ndims=(1, 2, 3),
        accumulation=Accumulation(DTYPES[accumulator]),
        vector=(1, 1, 1),
        operations=(direction,),
    )
    for direction in CONVOLUTIONS
    for dtype, accumulator in ACCUMULATORS.items()
)


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """Everything but a split reduction and mixed types."""
    if problem.direction not in (instance.operations or ()):
        return Refusal("operation", f"{instance.name} does not compute {problem.direction}")
    types = {problem.dtypes.inp, problem.dtypes.wei, problem.dtypes.out, problem.dtypes.compute_dtype}
    if {dtype.name for dtype in types} != set(instance.dtypes):
        return Refusal("dtypes", f"{problem.dtypes} is not {instance.dtypes[0]} throughout")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for the whole pass; every cell is written, so nothing is cleared first."""
    return Dispatch(path="naive", gemms_count=1, launches=1, buckets=1, zero_fill=False)


FAMILY = KernelFamily(
    name="naive_conv",
    operations=CONVOLUTIONS,
    sources=("library.hip.cpp", *(f"naive_conv_{dtype}.hip.cpp" for dtype in ACCUMULATORS)),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=INSTANCES,
    options=(),
    supports=supports,
    dispatch=dispatch,
    factors=("dtypes", "ndim"),
    is_reference=True,
)
