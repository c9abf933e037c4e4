"""What the families of backward data declare alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

from bitgate.kernel import CellWrite, Instance, MapLaunch, Refusal, Steps
from bitgate.operation import ConvProblem, gemms_count, sub_gemm_rows, sub_gemms

from .channels_last import channels_last
from .limits import MAX_COORDINATE
from .thread_maps import (
    GemmCell,
    GemmMap,
    GemmSize,
    TileThreads,
    cell_number,
    linear_launch,
    linear_write,
    row_number,
)
from .transposes import Copies

MAX_SUB_GEMMS = 65536


@lru_cache(maxsize=1024)
def too_large(problem: ConvProblem) -> Refusal | None:
    """The clause index_range, but for the grid."""
    windows = [o + d * (f - 1) for o, d, f in zip(problem.output, problem.dilation, problem.filter, strict=True)]
    padded = [i + p for i, p in zip(problem.input, problem.left_pad, strict=True)]
    largest = max(*windows, *padded, *problem.stride, problem.n, problem.k * prod(problem.filter), problem.c)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if gemms_count(problem) > MAX_SUB_GEMMS:
        return Refusal("index_range", f"{gemms_count(problem)} sub-GEMMs are over {MAX_SUB_GEMMS}")
    return None


@dataclass(frozen=True)
class LaunchedGemms:
    """Which sub-GEMMs each launch of ``name`` takes, in their order; what no launch takes stays as it was filled."""

    name: str
    each: Sequence[Sequence[int]]

    def find(self, gemm: int) -> tuple[int, int] | None:
        """Return launch and place of a sub-GEMM."""
        for number, taken in enumerate(self.each):
            if gemm in taken:
                return number, taken.index(gemm)
        return None


def in_buckets(count: int, size: int) -> list[range]:
    """Return the sub-GEMMs in buckets of a size."""
    return [range(first, min(count, first + size)) for first in range(0, count, size)]


class BackwardDataMap(GemmMap):
    """The map of sub-GEMMs whose rows are images and window positions, and whose columns are the channels of dx."""

    def __init__(
        self, problem: ConvProblem, instance: Instance, launched: LaunchedGemms, *, chunks: int = 1, slices: int = 1
    ) -> None:
        threads = TileThreads.of(instance)
        size = GemmSize(sub_gemm_rows(problem) // chunks, problem.c, threads.tile)
        super().__init__(instance, threads, size, slices)
        self._problem, self._launched, self._chunks = problem, launched, chunks
        self._copies = Copies(problem)
        self._gemms = {gemm.tilde: gemm for gemm in sub_gemms(problem)}
        axes = zip(*(gemm.axes for gemm in self._gemms.values()), strict=True)
        self._classes = [tuple(dict.fromkeys(of_axis)) for of_axis in axes]

    @cached_property
    def _fill(self) -> MapLaunch:
        """The launch that gives dx what it holds where no sub-GEMM writes."""
        problem = self._problem
        dx = channels_last(problem).tensors["in"]
        if self._fills_unowned:
            return linear_launch("fill_unowned", "fills the cells that no sub-GEMM writes", dx.elements)
        if problem.op.num_d == 0 and not dx.has_gaps:
            return MapLaunch("zero_fill", "clears dx")
        return linear_launch("fill", "fills dx with op(0, d)", dx.elements)

    @property
    def _fills_unowned(self) -> bool:
        return self._problem.op.in_place and not self._copies.after

    @property
    def main(self) -> int:
        return len(self._copies.before) + 1

    @property
    def launches(self) -> Sequence[MapLaunch]:
        y, z = self._problem.g, self._chunks
        main = (
            self.gemm_launch(self._launched.name, f"sub-GEMM{'s' * (len(of) > 1)} {_span(of)}", len(of), y, z)
            for of in self._launched.each
        )
        return (*self._copies.before, self._fill, *main, *self._copies.after)

    def locate(self, cell: tuple[int, ...]) -> GemmCell | None:
        problem = self._problem
        found = self._window(cell)
        if found is None:
            return None
        tilde, positions, lengths = found
        gemm = self._gemms[tilde].index
        place = self._launched.find(gemm)
        if place is None:
            return None
        launch, member = place
        chunk, image = divmod(cell[1], problem.n // self._chunks)
        row = row_number((image, *positions), lengths)
        return GemmCell(row, cell[2], member * self._size.blocks, cell[0], chunk, launch)

    def _window(self, cell: tuple[int, ...]) -> tuple[tuple[int, ...], list[int], list[int]] | None:
        """Return the class of a cell, its window positions from the first one on, and how many each axis has."""
        problem = self._problem
        tilde, positions, lengths = [], [], []
        for axis, x in enumerate(cell[3:]):
            s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
            for of_axis in self._classes[axis]:
                position, rest = divmod(x + p - of_axis.tilde * d, s)
                if rest == 0 and of_axis.begin <= position < of_axis.end:
                    tilde.append(of_axis.tilde)
                    positions.append(position - of_axis.begin)
                    lengths.append(of_axis.length)
                    break
            else:
                return None
        return tuple(tilde), positions, lengths

    def steps(self, cell: tuple[int, ...]) -> Steps | None:
        found = self._window(cell)
        if found is None:
            return None
        taps = prod(self._gemms[found[0]].taps)
        return Steps(taps, self._problem.k, self._size.tile[2], self._slices)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        memory, place = self._copies.memory, len(self._copies.before)
        fills = () if self._fills_unowned and self._window(cell) else (self._fill_write(cell, memory, place),)
        after = self._copies.writes(cell, self.main + len(self._launched.each))
        return (*fills, *self.gemm_writes(cell, memory), *after)

    def _fill_write(self, cell: tuple[int, ...], memory: str, place: int) -> CellWrite:
        if not self._fill.threads:
            return CellWrite(place, memory=memory)
        return linear_write(self._fill, place, cell_number(cell, self._problem.tensors["in"].lengths), memory)


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
