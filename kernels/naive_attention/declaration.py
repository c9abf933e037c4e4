"""Plain attention and its backward pass: a thread a logit, a thread a query, a thread a cell of a result, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.kernel import CellWrite, Dispatch, Instance, KernelFamily, MapLaunch, Refusal, ThreadMap
from bitgate.operation import F32_ACCUMULATION, SizedProblem

from ..thread_maps import linear_launch, linear_write, row_number

OPERATIONS = ("attention", "attention_bwd")
ELEMENTS = ("f32", "f16", "bf16")
KEYS = ("f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz")
"""Narrower types of keys and values."""
NUMBERS = ("cu_seqlens_q", "cu_seqlens_k", "page_table", "k_scale", "v_scale")
"""The tensors that are read as neighbouring numbers."""
BLOCK, MOST_BLOCKS = 64, 1 << 20
MOST_CELLS = 1 << 50


def unsupported(problem: SizedProblem, instance: Instance) -> Refusal | None:
    """None, or the first clause of any kernel of attention that fails."""
    if str(problem.operation) not in (instance.operations or ()):
        return Refusal("operation", f"{instance.name} does not compute {problem.operation}")
    if problem.dtypes.canonical not in instance.dtypes:
        return Refusal("dtypes", f"{problem.dtypes} is not {' or '.join(instance.dtypes)}")
    sizes = problem.sizes
    cells = query_count(problem) * (sizes.t + sizes.d)
    if cells > MOST_CELLS:
        return Refusal("index_range", f"b h s (t + d) = {cells} is over 2^50")
    for role in NUMBERS:
        if (own := problem.tensors.get(role)) and own.strides[-1] != 1:
            return Refusal("layout", f"numbers of {role} are {own.strides[-1]} apart, not 1")
    return None


def supports(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    return unsupported(problem, instance)


def query_count(problem: SizedProblem) -> int:
    """Return the queries of all heads; packed sequences are one batch."""
    sizes = problem.sizes
    return int((1 if sizes.packed else sizes.b) * sizes.h * sizes.s)


def _launches(problem: SizedProblem) -> tuple[MapLaunch, ...]:
    sizes, queries = problem.sizes, query_count(problem)
    logits, cells = queries * sizes.t, queries * sizes.d
    forward = (
        ("kernel_forward_logits", "a thread a logit", logits),
        ("kernel_powers", "a thread a query: maximum, powers and their sum", queries),
        ("kernel_values", "a thread a cell, over the keys in order", cells),
    )
    keys = sizes.b * sizes.kv * sizes.t * sizes.d
    backward = (
        ("kernel_logits", "a thread a logit", logits),
        ("kernel_logits", "a thread a product of do and v", logits),
        ("kernel_slopes", "a thread a query: weights and slopes", queries),
        ("kernel_of_queries", "a thread a cell of dq, over the keys in order", cells),
        ("kernel_of_keys", "a thread a cell of dk, over heads and queries in order", keys),
        ("kernel_of_keys", "a thread a cell of dv, over heads and queries in order", keys),
    )
    every = forward if problem.operation.name == "attention" else backward
    return tuple(linear_launch(name, does, count, BLOCK, MOST_BLOCKS) for name, does, count in every)


def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    is_forward = problem.operation.name == "attention"
    numbers = problem.sizes.t + 1 if is_forward else 2 * problem.sizes.t
    return Dispatch("naive", len(_launches(problem)), workspace_bytes=query_count(problem) * numbers * 4)


class NaiveMap(ThreadMap):
    """The map of launches of which one has a thread for each cell of o, or of dq."""

    def __init__(self, problem: SizedProblem) -> None:
        self._problem = problem

    @property
    def launches(self) -> Sequence[MapLaunch]:
        return _launches(self._problem)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        sizes, place = self._problem.sizes, 2 if self._problem.operation.name == "attention" else 3
        lengths = (sizes.h, sizes.s, sizes.d)[1 - len(cell) :]  # packed sequences have no axis of batches
        return (linear_write(self.launches[place], place, row_number(cell, lengths)),)


def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> NaiveMap:
    return NaiveMap(problem)


def with_keys(dtype: str, key: str) -> str:
    """Return the types of q, k, v and o."""
    return dtype if key == dtype else f"{dtype}_{key}_{key}_{dtype}"


def _instance(operation: str, dtype: str, key: str = "") -> Instance:
    own = f"{dtype}_{key}" if key else dtype
    return Instance(
        name=own if operation == "attention" else f"bwd_{dtype}",
        group="naive_attention",
        dtypes=(with_keys(dtype, key or dtype),),
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        vector=(1, 1, 1),
        block_size=BLOCK,
        operations=(operation,),
    )


FAMILY = KernelFamily(
    name="naive_attention",
    operations=OPERATIONS,
    sources=("naive_attention.hip.cpp",),
    folder=Path(__file__).parent,
    platforms=("host", "amd", "nvidia"),
    instances=(
        *(_instance("attention", dtype) for dtype in ELEMENTS),
        *(_instance("attention", dtype, key) for dtype in ELEMENTS[1:] for key in KEYS),
        *(_instance("attention_bwd", dtype) for dtype in ELEMENTS),
    ),
    options=(),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
