"""Attention in tiles with an online softmax on matrix fragments, split over keys where there are few queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from bitgate.kernel import (
    ANY_INTEGER,
    CellWrite,
    Dispatch,
    Instance,
    MapLaunch,
    Option,
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
from ..naive_attention.declaration import ELEMENTS, query_count, unsupported, with_keys
from ..thread_maps import WORKSPACE, linear_launch, linear_write, row_number

KEYS, HEADS = 32, (64, 128, 256)
TYPES = (*((dtype, dtype) for dtype in ELEMENTS), ("f16", "f8ocp"), ("bf16", "f8ocp"))
"""Types of queries and results, and those of keys and values."""
ENOUGH_BLOCKS, LEAST_TILES = 128, 4
MERGE_BLOCK, MOST_MERGE_BLOCKS = 256, 1 << 20


def _named(dtype: str, key: str) -> str:
    return dtype if key == dtype else f"{dtype}_{key}"


def _instance(dtype: str, key: str, head: int, wave: int) -> Instance:
    queries, fragment = (32, (16, 16, 4)) if dtype == "f32" else (64, (16, 16, 16))
    return Instance(
        name=f"{_named(dtype, key)}_{queries}x{KEYS}x{head}{WAVES[wave]}",
        group=f"attention_{_named(dtype, key)}",
        dtypes=(with_keys(dtype, key),),
        layouts=(),
        ndims=(0,),
        accumulation=F32_ACCUMULATION,
        tile=(queries, KEYS, head),
        vector=(1, 1, 1),
        block_size=queries // 16 * wave,
        wave_size=wave,
        fragment=fragment,
        operations=("attention",),
    )


def _tile(instance: Instance) -> tuple[int, int, int]:
    assert instance.tile is not None
    return instance.tile


def _blocks(problem: SizedProblem, instance: Instance) -> int:
    """Blocks of a slice; of packed sequences as many as there may be, wherever they begin."""
    sizes, queries = problem.sizes, _tile(instance)[0]
    if sizes.packed:
        return int(sizes.h * (sizes.s // queries + sizes.b))
    return int(sizes.b * sizes.h * -(-sizes.s // queries))


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
    if (threads := _blocks(problem, instance) * instance.block_size) > MAX_GRID_THREADS:
        return Refusal("index_range", f"a grid of {threads} threads is over 2^32")
    return None


def slices_of(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> int:
    """Slices of the keys: as many as make enough blocks, none shorter than a few tiles."""
    asked = int(options.get("key_slices", "0"))
    most = -(-problem.sizes.t // (KEYS * LEAST_TILES))
    return asked or min(-(-ENOUGH_BLOCKS // _blocks(problem, instance)), most)


def dispatch(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch; of keys in slices a second one, which merges what they left in the workspace."""
    sizes, slices = problem.sizes, slices_of(problem, instance, options)
    is_split = slices > 1
    return Dispatch(
        path="split" if is_split else "whole",
        launches=1 + is_split,
        workspace_bytes=slices * query_count(problem) * (sizes.d + 2) * 4 * is_split,
        facts={"key_slices": slices},
    )


class AttentionMap(ThreadMap):
    """The map of a block for some queries of a head: its threads write vectors side by side, then rows."""

    def __init__(self, problem: SizedProblem, instance: Instance, slices: int) -> None:
        self.wave, self._problem, self._instance, self._slices = instance.wave_size, problem, instance, slices
        sizes = problem.sizes
        self.matrix = (sizes.s, sizes.t, *_tile(instance)[:2])

    @cached_property
    def launches(self) -> Sequence[MapLaunch]:
        blocks, sizes = _blocks(self._problem, self._instance), self._problem.sizes
        does = "logits, their powers and the sums of values, a tile of keys after the other"
        tiles = MapLaunch("kernel_tiles", does, (blocks, self._slices, 1), self._instance.block_size)
        if self._slices == 1:
            return (tiles,)
        cells = sizes.b * sizes.h * sizes.s * sizes.d
        return tiles, linear_launch("kernel_merge", "merges slices", cells, MERGE_BLOCK, MOST_MERGE_BLOCKS)

    def steps(self, cell: tuple[int, ...]) -> Steps:
        return Steps(1, self._problem.sizes.t, KEYS, self._slices)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        batch, head, query, column = cell
        sizes, bytes_of = self._problem.sizes, self._problem.tensors["o"].dtype.bytes
        queries, vector = _tile(self._instance)[0], 16 // bytes_of
        columns = 32 if bytes_of == 4 and self.wave == 32 else 64
        block = (batch * sizes.h + head) * -(-sizes.s // queries) + query // queries
        lanes = columns // vector
        row = query % queries % (self._instance.block_size // lanes)
        thread = row * lanes + column % columns // vector
        if self._slices == 1:
            return (CellWrite(0, (block, 0, 0), thread),)
        parts = [
            CellWrite(0, (block, number, 0), thread, WORKSPACE, brings=f"slice {number} of the keys that are admitted")
            for number in range(self._slices)
        ]
        cells = row_number(cell, (sizes.h, sizes.s, sizes.d))
        return (*parts, linear_write(self.launches[1], 1, cells))


def thread_map(problem: SizedProblem, instance: Instance, options: Mapping[str, str]) -> AttentionMap | None:
    """Return the map, or None of packed sequences: data say where each begins."""
    return None if problem.sizes.packed else AttentionMap(problem, instance, slices_of(problem, instance, options))


def _registered(dtype: str, key: str) -> list[Registered]:
    texts = (_named(dtype, key), with_keys(dtype, key))
    return [Registered(f"Registrations<{element(dtype)}, {element(key)}, {wave}>", texts, wave) for wave in WAVES]


_more: dict[str, Any] = {"supports": supports, "dispatch": dispatch, "thread_map": thread_map}

FAMILY = library_family(
    __file__,
    ("attention",),
    units("attention", {f"attention_{_named(*types)}": _registered(*types) for types in TYPES}, "dispatch.hpp"),
    instances=tuple(_instance(*types, head, wave) for types in TYPES for wave in WAVES for head in HEADS),
    options=(
        Option(
            "key_slices",
            ANY_INTEGER,
            "0",
            "parts of the keys that blocks of their own take; 0: by the problem",
            drawn=("1", "2", "3", "7"),
        ),
    ),
    **_more,
)
