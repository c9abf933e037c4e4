"""Grouped convolution, forward, multiple D: one implicit GEMM, with CK's specialisations and split-N.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from bitgate.kernel import CellWrite, Dispatch, Instance, MapLaunch, Refusal, Registered, Steps, units
from bitgate.operation import ConvProblem, Pass

from ..channels_last import channels_last
from ..clauses import (
    broken_assertion,
    broken_vectors,
    channel_access,
    grid_blocks,
    operand_operations,
    split,
    too_many_threads,
    wrong_types,
)
from ..cpp_names import WAVES, types
from ..image_chunks import SPLIT_N, split_n
from ..library_family import library_family
from ..limits import MAX_COORDINATE, MAX_GRID_YZ
from ..shape import GENERAL, ODD_C, POINTWISE, POINTWISE_STRIDE_1, Shape
from ..thread_maps import GemmCell, GemmMap, GemmSize, TileThreads, row_number
from ..transposes import Copies

PATHS = {
    GENERAL: "default",
    ODD_C: "odd_c",
    POINTWISE: "filter1x1_pad0",
    POINTWISE_STRIDE_1: "filter1x1_stride1_pad0",
}
"""Specialisation -> the path that its instances always take."""

# Tile, vectors (x, w, y), waves, fragment, lanes of a wave, specialisation or depth. odd_c takes any K and C.
TILES_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64, ODD_C),
    Shape((64, 64, 32), (4, 4, 1), 2, (32, 32, 8), 64),
    Shape((64, 32, 32), (8, 8, 4), 1, (32, 32, 8), 64),
    Shape((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((64, 64, 32), (8, 8, 8), 2, (32, 32, 8), 64, POINTWISE),
    Shape((64, 64, 64), (8, 8, 8), 1, (32, 32, 8), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (8, 8, 4), 2, (32, 32, 8), 64, depth=2),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32, ODD_C),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
    Shape((64, 32, 32), (4, 4, 4), 2, (16, 16, 16), 32, POINTWISE),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32, POINTWISE_STRIDE_1),
    Shape((64, 64, 32), (8, 8, 4), 4, (16, 16, 16), 32, depth=2),
)
# Of 16 bits alone: three steps in a ring, and many rows of few channels.
LARGE_16 = (
    Shape((128, 128, 32), (8, 8, 8), 4, (32, 32, 8), 64, depth=3),
    Shape((128, 128, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((128, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((64, 64, 64), (8, 8, 8), 4, (16, 16, 16), 32, depth=3),
    Shape((128, 64, 32), (1, 1, 8), 16, (16, 16, 16), 32, ODD_C, depth=2),
)
TILES_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64, ODD_C),
    Shape((64, 64, 16), (2, 2, 1), 2, (16, 16, 4), 64),
    Shape((64, 32, 16), (4, 4, 2), 1, (16, 16, 4), 64),
    Shape((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), 64),
    Shape((64, 64, 16), (4, 4, 4), 2, (16, 16, 4), 64, POINTWISE),
    Shape((64, 64, 32), (4, 4, 4), 1, (16, 16, 4), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 16), (4, 4, 2), 2, (16, 16, 4), 64, depth=2),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32, ODD_C),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32),
    Shape((64, 32, 16), (2, 2, 2), 2, (16, 16, 4), 32, POINTWISE),
    Shape((64, 64, 32), (4, 4, 4), 4, (16, 16, 4), 32, POINTWISE_STRIDE_1),
    Shape((64, 64, 16), (4, 4, 2), 4, (16, 16, 4), 32, depth=2),
)
TILES_I8 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64, ODD_C),
    Shape((64, 32, 64), (4, 4, 1), 2, (16, 16, 32), 64),
    Shape((128, 64, 64), (16, 16, 16), 4, (16, 16, 32), 64),
    Shape((64, 64, 64), (8, 8, 8), 2, (16, 16, 32), 64, POINTWISE_STRIDE_1),
    Shape((64, 64, 64), (16, 16, 8), 2, (16, 16, 32), 64, depth=2),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32, ODD_C),
    Shape((64, 32, 32), (4, 4, 1), 2, (16, 16, 16), 32),
    Shape((64, 64, 64), (16, 16, 8), 4, (16, 16, 16), 32, depth=2),
)
TILES_F8_MIXED = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 32), 64, ODD_C),
    Shape((64, 32, 64), (8, 8, 4), 2, (16, 16, 32), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32, ODD_C),
    Shape((64, 32, 32), (8, 8, 4), 2, (16, 16, 16), 32),
)
TILES_F8 = (
    *TILES_F8_MIXED,
    Shape((64, 64, 64), (16, 16, 8), 2, (16, 16, 32), 64, depth=2),
    Shape((64, 64, 64), (16, 16, 8), 4, (16, 16, 16), 32, depth=2),
)

# Translation unit, of each wave size -> the types that it holds -> their tiles.
GROUPS: dict[str, dict[str, tuple[Shape, ...]]] = {
    "f32": {"f32": TILES_32},
    "f16": {"f16": TILES_16 + LARGE_16},
    "bf16": {"bf16": TILES_16 + LARGE_16},
    "i8": {"i8": TILES_I8},
    **{
        f8: {
            f8: TILES_F8,
            **dict.fromkeys(
                (f"b{f8}", f"b{f8}_b{f8}_{f8}", f"{f8}_b{f8}_{f8}", f"b{f8}_{f8}_{f8}", f"f16_ct{f8}"), TILES_F8_MIXED
            ),
        }
        for f8 in ("f8ocp", "f8fnuz")
    },
}


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if problem.direction is not Pass.FWD:
        return Refusal("operation", f"only fwd, not {problem.direction}")
    seen = channels_last(problem)
    if seen.refusal:
        return seen.refusal
    accesses = channel_access(problem, "in", "wei", "out")
    return (
        wrong_types(problem, instance)
        or operand_operations(problem)
        or split(problem)
        or broken_assertion(problem, instance)
        or broken_vectors(seen.tensors, accesses, instance)
        or _index_range(problem, instance, split_n(problem, options))
    )


def _index_range(problem: ConvProblem, instance: Instance, chunks: int) -> Refusal | None:
    padded = [sum(axis) for axis in zip(problem.input, problem.left_pad, problem.right_pad, strict=True)]
    terms = problem.c * prod(problem.filter)
    largest = max(*padded, *problem.stride, *problem.dilation, problem.n, problem.k, terms)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if problem.g > MAX_GRID_YZ or chunks > MAX_GRID_YZ:
        return Refusal("index_range", f"{problem.g} groups, {chunks} chunks: more than a grid has")
    rows = problem.n // chunks * prod(problem.output)
    return too_many_threads(grid_blocks(rows, problem.k, instance), instance)


def steps(problem: ConvProblem, instance: Instance) -> int:
    """Steps of each tile's reduction: of taps and channels together for odd_c, else of each tap's channels."""
    tile_k = (instance.tile or (1, 1, 1))[2]
    taps = prod(problem.filter)
    if instance.traits["special"] == ODD_C:
        return -(-taps * problem.c // tile_k)
    return taps * -(-problem.c // tile_k)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for all chunks; every cell of y is written, so nothing is cleared first."""
    return Dispatch(
        path=PATHS[str(instance.traits["special"])],
        launches=1,
        transposes=len(channels_last(problem).copies),
        workspace_bytes=channels_last(problem).workspace_bytes,
        facts={
            "gemms_count": 1,
            "buckets": 1,
            "split_n": split_n(problem, options),
            "split_k": 1,
            "main_loop": "all" if steps(problem, instance) > 1 else "none",
        },
    )


class ForwardMap(GemmMap):
    """The map of one GEMM a group and chunk: rows are images and output positions, columns are channels k."""

    def __init__(self, problem: ConvProblem, instance: Instance, chunks: int) -> None:
        threads = TileThreads.of(instance)
        size = GemmSize(problem.n // chunks * prod(problem.output), problem.k, threads.tile)
        super().__init__(instance, threads, size, 1)
        self._problem, self._chunks, self._copies = problem, chunks, Copies(problem)
        self._merges_taps = instance.traits["special"] == ODD_C

    @property
    def main(self) -> int:
        return len(self._copies.before)

    @property
    def launches(self) -> Sequence[MapLaunch]:
        main = self.gemm_launch("kernel_fwd", "y = x * w", 1, self._problem.g, self._chunks)
        return (*self._copies.before, main, *self._copies.after)

    def locate(self, cell: tuple[int, ...]) -> GemmCell:
        chunk, image = divmod(cell[1], self._problem.n // self._chunks)
        return GemmCell(row_number((image, *cell[3:]), self._problem.output), cell[2], 0, cell[0], chunk)

    def steps(self, cell: tuple[int, ...]) -> Steps:
        taps, tile_k = prod(self._problem.filter), self._size.tile[2]
        return Steps(1, taps * self._problem.c, tile_k) if self._merges_taps else Steps(taps, self._problem.c, tile_k)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        return (*self.gemm_writes(cell, self._copies.memory), *self._copies.writes(cell, self.main + 1))


def thread_map(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> ForwardMap:
    return ForwardMap(problem, instance, split_n(problem, options))


TABLES = {"f32": "Instances", "f16": "Instances", "bf16": "Instances", "i8": "InstancesI8"}
"""In C++, of groups that are no 8-bit floats."""


def _registered(group: str, wave: int) -> list[Registered]:
    """Of 8-bit floats one type has prefetching instances too; those of 16 bits have large ones."""
    table = TABLES.get(group, "InstancesF8")
    held = [Registered(f"{table}Wave{wave}<{types(dtypes)}>", (dtypes,), wave) for dtypes in GROUPS[group]]
    more = "" if group in ("f32", "i8") else "Large" if group in TABLES else "PrefetchedF8"
    return [*held, Registered(f"{more}Wave{wave}<{types(group)}>", (group,), wave)] if more else held


GENERATED = units(
    "grouped_fwd",
    {f"grouped_fwd_{group}{end}": _registered(group, wave) for group in GROUPS for wave, end in WAVES.items()},
)

FAMILY = library_family(
    __file__,
    ("fwd",),
    GENERATED,
    instances=tuple(
        shape.instance(f"grouped_fwd_{group}{shape.end}", dtypes, operations=("fwd",))
        for group, held in GROUPS.items()
        for dtypes, shapes in held.items()
        for shape in shapes
    ),
    options=(SPLIT_N,),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
