"""A kernel family of a user's own, each of whose instances goes wrong somewhere else."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Refusal
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.convolution.layout import INPUT_LAYOUTS


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if str(problem.dtypes) != "f32":
        return Refusal("dtypes", f"{problem.dtypes} is not f32")
    if problem.split_k not in (1, -1):
        return Refusal("split_k", f"split_k = {problem.split_k}: the reduction is not split")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return Dispatch(path="naive", launches=1, facts={"gemms_count": 1, "buckets": 1, "split_k": 1, "split_n": 1})


FAMILY = KernelFamily(
    name="flaky",
    operations=("fwd",),
    sources=("flaky.hip.cpp",),
    platforms=("host",),
    instances=tuple(
        Instance(
            name=name,
            group="flaky",
            dtypes=("f32",),
            layouts=tuple(layout for layouts in INPUT_LAYOUTS.values() for layout in layouts),
            ndims=(1, 2, 3),
            accumulation=F32_ACCUMULATION,
            vector=(1, 1, 1),
        )
        for name in ("well", "wrong", "dies", "denies")
    ),
    supports=supports,
    dispatch=dispatch,
)
