"""Plain attention in three kernels: a thread a logit, a thread a query, a thread a cell of the result, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.kernel import CellWrite, Dispatch, Instance, KernelFamily, MapLaunch, Refusal, ThreadMap
from bitgate.operation import F32_ACCUMULATION, SizedProblem

from ..thread_maps import linear_launch, linear_write, row_number

ELEMENTS = ("f32", "f16", "bf16")
BLOCK, MOST_BLOCKS = 64, 1 << 20
MOST_CELLS = 1 << 50


def unsupported(problem: SizedProblem, instance: Instance) -> Refusal | None:
    """None, or the first clause of any kernel of attention that fails."""
    if str(problem.operation) != "attention":
        return Refusal("operation", f"{instance.name} does not compute {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    sizes = problem.sizes
    cells = sizes.b * sizes.h * sizes.s * (sizes.t + sizes.d)
    return Refusal("index_range", f"b h s (t + d) = {cells} is over 2^50") if cells > MOST_CELLS else None


def supports(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    return unsupported(problem, instance)


def _queries(problem: SizedProblem) -> int:
    return int(problem.sizes.b * problem.sizes.h * problem.sizes.s)


def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    return Dispatch(path="naive", launches=3, workspace_bytes=_queries(problem) * (problem.sizes.t + 1) * 4)


class NaiveMap(ThreadMap):
    """The map of three launches, the last of which has a thread a cell."""

    def __init__(self, problem: SizedProblem) -> None:
        self._problem = problem

    @property
    def launches(self) -> Sequence[MapLaunch]:
        sizes, queries = self._problem.sizes, _queries(self._problem)
        every = (
            ("kernel_logits", "a thread a logit", queries * sizes.t),
            ("kernel_powers", "a thread a query: maximum, powers and their sum", queries),
            ("kernel_values", "a thread a cell, over the keys in order", queries * sizes.d),
        )
        return tuple(linear_launch(name, does, cells, BLOCK, MOST_BLOCKS) for name, does, cells in every)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        sizes = self._problem.sizes
        return (linear_write(self.launches[2], 2, row_number(cell, (sizes.h, sizes.s, sizes.d))),)


def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> NaiveMap:
    return NaiveMap(problem)


def _instance(dtype: str) -> Instance:
    return Instance(
        name=dtype,
        group="naive_attention",
        dtypes=(dtype,),
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        vector=(1, 1, 1),
        block_size=BLOCK,
    )


FAMILY = KernelFamily(
    name="naive_attention",
    operations=("attention",),
    sources=("naive_attention.hip.cpp",),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=tuple(map(_instance, ELEMENTS)),
    options=(),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
