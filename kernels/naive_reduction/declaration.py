"""Plain reductions: one thread a row, in order. What it sums, and in which order, is what
``bitgate.ops.reduction`` states, so real numbers come out bit for bit as well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bitgate.kernel import Dispatch, Instance, KernelFamily, Refusal
from bitgate.operation import DTYPES, F32_ACCUMULATION, Accumulation, Kind, ReductionProblem

from ..thread_maps import LinearMap, linear_launch, row_number

BLOCK, MOST_BLOCKS = 64, 1 << 20

SPELLINGS = {"f32": ("f32",), "f16": ("f16",), "bf16": ("bf16",), "i8": ("i8", "i8_i8_i32"), "i32": ("i32",)}


def _instance(element: str) -> Instance:
    return Instance(
        name=element,
        group="naive_reduction",
        dtypes=SPELLINGS[element],
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION if DTYPES[element].is_float else Accumulation(DTYPES["i32"]),
        vector=(1, 1, 1),
        block_size=BLOCK,
    )


def supports(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if not isinstance(problem, ReductionProblem):
        return Refusal("operation", f"only reduction, not {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    if problem.split_k != 1:
        return Refusal("split_k", f"split_k = {problem.split_k}: a row is one thread's")
    return None


def dispatch(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return Dispatch(path="naive", launches=1, facts={"split_k": 1})


def thread_map(problem: ReductionProblem, instance: Instance, options: Mapping[str, str]) -> LinearMap:
    kernel = "kernel_sum" if problem.kind is Kind.SUM else "kernel_max"
    results = problem.outer * problem.inner
    launch = linear_launch(kernel, "one thread a row, in order", results, BLOCK, MOST_BLOCKS)
    return LinearMap(launch, lambda cell: row_number(cell, (problem.inner,)))


FAMILY = KernelFamily(
    name="naive_reduction",
    operations=("reduction",),
    sources=("naive_reduction.hip.cpp",),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(map(_instance, SPELLINGS)),
    options=(),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
    computes_references=True,
)
