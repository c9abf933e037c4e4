"""Batched GEMM, multiple D: C = op(A * B, D) for each matrix of a batch, in the layouts rcr, rrr, crr and ccr.

``supports`` and ``dispatch`` follow what an instance asserts about a problem, not the C++: where the two disagree, one
is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from bitgate.kernel import CellWrite, Dispatch, Instance, MapLaunch, Refusal, Registered, Steps, units
from bitgate.operation import GEMM_LAYOUTS, ConvProblem, GemmProblem

from ..clauses import VectorAccess, broken_vectors, grid_blocks, too_many_threads, wrong_types
from ..cpp_names import WAVES, types
from ..library_family import library_family
from ..limits import MAX_COORDINATE, MAX_GRID_YZ
from ..shape import Shape
from ..thread_maps import GemmCell, GemmMap, GemmSize, TileThreads, linear_launch, linear_write, row_number

# tile, vectors (A, B, C), waves, fragment, lanes of a wave: each in all four layouts. The first takes any sizes.
TILES_16 = (
    Shape((32, 32, 32), (1, 1, 1), 1, (16, 16, 16), 64),
    Shape((128, 64, 64), (8, 8, 8), 4, (32, 32, 8), 64),
    Shape((32, 32, 32), (1, 1, 1), 4, (16, 16, 16), 32),
    Shape((64, 64, 32), (8, 8, 8), 4, (16, 16, 16), 32),
)
TILES_32 = (
    Shape((32, 32, 16), (1, 1, 1), 1, (16, 16, 4), 64),
    Shape((128, 64, 32), (4, 4, 4), 4, (16, 16, 4), 64),
    Shape((32, 32, 16), (1, 1, 1), 4, (16, 16, 4), 32),
    Shape((64, 64, 16), (4, 4, 4), 4, (16, 16, 4), 32),
)
TILES = {"f32": TILES_32, "f16": TILES_16, "bf16": TILES_16}


def _instance(dtype: str, layout: str, shape: Shape) -> Instance:
    return shape.instance(
        f"batched_gemm_{dtype}{shape.end}",
        dtype,
        name=shape.name(f"{dtype}_{layout}"),
        layouts=(layout,),
        ndims=(0,),
        rounds_slices=True,
    )


def supports(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Refusal | None:
    """None, or the first clause that fails, in the order in which the library tests them."""
    if not isinstance(problem, GemmProblem):
        return Refusal("operation", f"only gemm, not {problem.operation}")
    if refusal := wrong_types(problem, instance):
        return refusal
    if problem.in_op.name != "pass" or problem.wei_op.name != "pass":
        return Refusal("op", f"operations on the operands: A {problem.in_op.name}, B {problem.wei_op.name}")
    if problem.split_k > 1 and (problem.op.name != "pass" or problem.split_k > MAX_GRID_YZ):
        return Refusal("split_k", f"split_k = {problem.split_k} with operation {problem.op.name}")
    a, b, _ = tuple(instance.layouts[0])
    m, n, k = problem.sizes
    # What lies contiguous in A, B and C, how long it is, and its place in the logical shape.
    accesses = (
        VectorAccess("in", "k", k, 2) if a == "r" else VectorAccess("in", "m", m, 1),
        VectorAccess("wei", "n", n, 1) if b == "r" else VectorAccess("wei", "k", k, 2),
        VectorAccess("out", "n", n, 2),
    )
    for one in accesses:
        strides = problem.tensors[one.tensor].strides
        if strides[one.along] != 1:
            return Refusal("layout", f"{one.letter} of {one.tensor} is not contiguous: strides {strides}")
    return broken_vectors(problem.tensors, accesses, instance) or _index_range(problem, instance)


def _index_range(problem: GemmProblem, instance: Instance) -> Refusal | None:
    m, n, _ = problem.sizes
    if max(problem.sizes) > MAX_COORDINATE:
        return Refusal("index_range", f"a length of {max(problem.sizes)} is over 2^30")
    if problem.batch > MAX_GRID_YZ:
        return Refusal("index_range", f"a batch of {problem.batch} is over {MAX_GRID_YZ}")
    return too_many_threads(grid_blocks(m, n, instance), instance)


def dispatch(problem: ConvProblem, instance: Instance, options: Mapping[str, str]) -> Dispatch | None:
    """One launch for the batch; C is cleared first where slices add up in it."""
    slices = max(1, problem.split_k)
    facts = {"gemms_count": 1, "buckets": 1, "split_k": slices}
    return Dispatch(path="batched", launches=1, zero_fill=slices > 1, facts=facts)


class BatchedMap(GemmMap):
    """The map of one GEMM a batch item."""

    def __init__(self, problem: GemmProblem, instance: Instance) -> None:
        threads = TileThreads.of(instance)
        size = GemmSize(problem.m, problem.n, threads.tile)
        super().__init__(instance, threads, size, max(1, problem.split_k))
        self._problem = problem

    @cached_property
    def _clear(self) -> tuple[MapLaunch, ...]:
        c = self._problem.tensors["out"]
        if self._slices == 1:
            return ()
        return (
            linear_launch("zero_fill", "clears C", c.elements) if c.has_gaps else MapLaunch("zero_fill", "clears C"),
        )

    @property
    def main(self) -> int:
        return len(self._clear)

    @property
    def launches(self) -> Sequence[MapLaunch]:
        return (*self._clear, self.gemm_launch("kernel_gemm", "C = A * B", 1, self._problem.batch, 1))

    def locate(self, cell: tuple[int, ...]) -> GemmCell:
        batch, m, n = cell
        return GemmCell(m, n, 0, batch, 0)

    def steps(self, cell: tuple[int, ...]) -> Steps:
        return Steps(1, self._problem.k, self._size.tile[2], self._slices)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        number = row_number(cell, self._problem.tensors["out"].lengths[1:])
        cleared = [linear_write(one, 0, number) if one.threads else CellWrite(0) for one in self._clear]
        return (*cleared, *self.gemm_writes(cell))


def thread_map(problem: GemmProblem, instance: Instance, options: Mapping[str, str]) -> BatchedMap:
    return BatchedMap(problem, instance)


def _registered(dtype: str, wave: int) -> Registered:
    return Registered(f"InstancesWave{wave}<{types(dtype)}>", (dtype,), wave)


GENERATED = units(
    "batched_gemm",
    {f"batched_gemm_{dtype}{end}": [_registered(dtype, wave)] for dtype in TILES for wave, end in WAVES.items()},
)

FAMILY = library_family(
    __file__,
    ("gemm",),
    GENERATED,
    instances=tuple(
        _instance(dtype, layout, shape)
        for dtype, shapes in TILES.items()
        for layout in GEMM_LAYOUTS
        for shape in shapes
    ),
    options=(),
    supports=supports,
    dispatch=dispatch,
    thread_map=thread_map,
)
