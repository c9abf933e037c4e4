"""Attention's backward pass in tiles on matrix fragments: weights taken anew, and no two blocks add to one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bitgate.kernel import (
    CellWrite,
    Dispatch,
    Instance,
    MapLaunch,
    Refusal,
    Registered,
    Steps,
    ThreadMap,
    element,
    units,
)
from bitgate.operation import F32_ACCUMULATION, SizedProblem

from ..cpp_names import WAVES
from ..library_family import library_family
from ..limits import MAX_COORDINATE, MAX_GRID_THREADS
from ..naive_attention.declaration import ELEMENTS, unsupported
from ..thread_maps import linear_launch

OTHERS, HEADS = 32, (64, 128, 256)
SAVED_BLOCK, MOST_SAVED_BLOCKS = 64, 1 << 20
STATISTICS = 3
"""Numbers of a query that the workspace keeps."""


def _instance(dtype: str, head: int, wave: int) -> Instance:
    rows = 16 if dtype == "f32" and head > 64 else 32
    return Instance(
        name=f"{dtype}_{rows}x{OTHERS}x{head}{WAVES[wave]}",
        group=f"attention_bwd_{dtype}",
        dtypes=(dtype,),
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        tile=(rows, OTHERS, head),
        vector=(1, 1, 1),
        block_size=rows // 16 * 2 * wave,
        wave_size=wave,
        fragment=(16, 16, 4) if dtype == "f32" else (16, 16, 16),
        operations=("attention_bwd",),
    )


def _tile(instance: Instance) -> tuple[int, int, int]:
    assert instance.tile is not None
    return instance.tile


def _blocks(problem: SizedProblem, instance: Instance) -> tuple[int, int]:
    """Blocks of queries, and of keys."""
    sizes, rows = problem.sizes, _tile(instance)[0]
    return sizes.b * sizes.h * -(-sizes.s // rows), sizes.b * sizes.kv * -(-sizes.t // rows)


def supports(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    own = unsupported(problem, instance)
    if own and own.clause in ("operation", "dtypes"):
        return own
    head = problem.sizes.d
    if head > _tile(instance)[2]:
        return Refusal("head_size", f"a head of {head} is over {_tile(instance)[2]}")
    if own:
        return own
    if problem.sizes.t > MAX_COORDINATE:
        return Refusal("index_range", f"{problem.sizes.t} keys are over 2^30")
    if (threads := max(_blocks(problem, instance)) * instance.block_size) > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    sizes = problem.sizes
    return Dispatch("saved" if sizes.saved else "anew", 3, workspace_bytes=sizes.b * sizes.h * sizes.s * STATISTICS * 4)


class BackwardMap(ThreadMap):
    """The map of dq: a block for some queries of a head, whose threads write vectors side by side, then rows."""

    def __init__(self, problem: SizedProblem, instance: Instance) -> None:
        self.wave, self._problem, self._instance = instance.wave_size, problem, instance
        sizes = problem.sizes
        self.matrix = (sizes.s, sizes.t, *_tile(instance)[:2])

    @property
    def launches(self) -> Sequence[MapLaunch]:
        of_queries, of_keys = _blocks(self._problem, self._instance)
        threads = self._instance.block_size
        sizes = self._problem.sizes
        first = MapLaunch(
            "kernel_statistics", "largest logits, sums of powers and of p dp", (of_queries, 1, 1), threads
        )
        if sizes.saved:
            queries = sizes.b * sizes.h * sizes.s
            first = linear_launch("kernel_saved", "a thread a query: do . o", queries, SAVED_BLOCK, MOST_SAVED_BLOCKS)
        return (
            first,
            MapLaunch("kernel_keys", "dk and dv, a tile of queries after the other", (of_keys, 1, 1), threads),
            MapLaunch("kernel_queries", "dq, a tile of keys after the other", (of_queries, 1, 1), threads),
        )

    def steps(self, cell: tuple[int, ...]) -> Steps:
        return Steps(1, self._problem.sizes.t, OTHERS, 1)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        batch, head, query, column = cell
        sizes, bytes_of = self._problem.sizes, self._problem.tensors["dq"].dtype.bytes
        rows, vector = _tile(self._instance)[0], 16 // bytes_of
        columns = 32 if bytes_of == 4 and self.wave == 32 else 64
        block = (batch * sizes.h + head) * -(-sizes.s // rows) + query // rows
        lanes = columns // vector
        row = query % rows % (self._instance.block_size // lanes)
        return (CellWrite(2, (block, 0, 0), row * lanes + column % columns // vector),)


def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> BackwardMap:
    return BackwardMap(problem, instance)


def _registered(dtype: str) -> list[Registered]:
    return [Registered(f"Registrations<{element(dtype)}, {wave}>", (dtype,), wave) for wave in WAVES]


_more: dict[str, Any] = {"supports": supports, "dispatch": dispatch, "thread_map": thread_map}

FAMILY = library_family(
    __file__,
    ("attention_bwd",),
    units("attention_bwd", {f"attention_bwd_{dtype}": _registered(dtype) for dtype in ELEMENTS}, "dispatch.hpp"),
    instances=tuple(_instance(dtype, head, wave) for dtype in ELEMENTS for wave in WAVES for head in HEADS),
    options=(),
    **_more,
)
