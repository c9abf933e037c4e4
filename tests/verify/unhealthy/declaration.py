"""A kernel family of a user's own, which misbehaves on request."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.declaration import Dispatch, Instance, KernelFamily, Option, Refusal
from bitgate.model import F32_ACCUMULATION
from bitgate.ops.convolution import ConvProblem
from bitgate.ops.convolution.layout import INPUT_LAYOUTS

ILLNESSES = (
    "none",
    "wrong",
    "past",
    "before",
    "input",
    "gap",
    "race",
    "idle",
    "hang",
    "abort",
    "fail",
    "record",
    "third",
    "cached",
    "kept",
    "later",
)
DISAGREEMENTS = ("more", "less", "blind")


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    if options.get("illness") == "less":
        return Refusal("mood", "the declaration does not feel like it")
    if options.get("illness") == "blind" and any(stride != 1 for stride in problem.stride):
        return Refusal("stride_1", f"strides of {problem.stride}")
    if problem.c % 2:
        return Refusal("c_even", f"C = {problem.c} is odd")
    return None


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return Dispatch(path="naive", launches=1, facts={"gemms_count": 1, "buckets": 1, "split_k": 1, "split_n": 1})


FAMILY = KernelFamily(
    name="unhealthy",
    operations=("fwd",),
    sources=("unhealthy.hip.cpp",),
    platforms=("host",),
    instances=(
        Instance(
            name="fwd_f32",
            group="unhealthy",
            dtypes=("f32",),
            layouts=tuple(layout for layouts in INPUT_LAYOUTS.values() for layout in layouts),
            ndims=(1, 2, 3),
            accumulation=F32_ACCUMULATION,
            vector=(1, 1, 1),
            operations=("fwd",),
        ),
    ),
    options=(Option("illness", (*ILLNESSES, *DISAGREEMENTS), "none", "what goes wrong"),),
    supports=supports,
    dispatch=dispatch,
)
