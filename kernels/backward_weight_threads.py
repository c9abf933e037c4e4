"""Which threads write dw in the families of backward weight: in one stage or two, whole or in slices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from bitgate.kernel import CellWrite, Instance, MapLaunch, Steps
from bitgate.operation import ConvProblem

from .channels_last import channels_last
from .thread_maps import (
    WORKSPACE,
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


class BackwardWeightMap(GemmMap):
    """The map of one GEMM a group, or a set of merged groups: rows are channels k, columns are (tap, channel c).

    ``finishes``: sums go to the workspace, and a second launch makes dw of them.
    """

    def __init__(
        self,
        problem: ConvProblem,
        instance: Instance,
        threads: TileThreads,
        slices: int,
        *,
        kernel: str,
        finishes: bool,
    ) -> None:
        self._merge = int(instance.traits["merge"])
        rows, channels = (self._merge, self._merge) if self._merge > 1 else (problem.k, problem.c)
        size = GemmSize(rows, channels * prod(problem.filter), threads.tile)
        super().__init__(instance, threads, size, slices)
        self._problem, self._kernel, self._finishes, self._channels = problem, kernel, finishes, channels
        self._copies = Copies(problem)

    @cached_property
    def _clear(self) -> tuple[MapLaunch, ...]:
        """What clears the memory that slices add to."""
        if self._slices == 1:
            return ()
        if self._finishes:
            return (MapLaunch("clear_workspace", "clears the sums"),)
        dw = channels_last(self._problem).tensors["wei"]
        if dw.has_gaps:
            return (linear_launch("zero_fill", "clears dw", dw.elements),)
        return (MapLaunch("zero_fill", "clears dw"),)

    @cached_property
    def _finish(self) -> tuple[MapLaunch, ...]:
        cells = self._problem.tensors["wei"].elements
        launch = linear_launch("kernel_finish", "rounds each sum to dw, through the operation", cells)
        return (launch,) * self._finishes

    @property
    def main(self) -> int:
        return len(self._copies.before) + len(self._clear)

    @property
    def launches(self) -> Sequence[MapLaunch]:
        groups = self._problem.g // self._merge
        does = "dw = dy * x" if self._merge == 1 else f"dw = dy * x, {self._merge} groups a GEMM"
        main = self.gemm_launch(self._kernel, does, 1, groups, 1)
        return (*self._copies.before, *self._clear, main, *self._finish, *self._copies.after)

    def locate(self, cell: tuple[int, ...]) -> GemmCell:
        set_of, member = divmod(cell[0], self._merge)
        row, channel = (member, member) if self._merge > 1 else (cell[1], cell[2])
        tap = row_number((0, *cell[3:]), self._problem.filter)
        return GemmCell(row, tap * self._channels + channel, 0, set_of, 0)

    def steps(self, cell: tuple[int, ...]) -> Steps:
        terms = self._problem.n * prod(self._problem.output)
        return Steps(1, terms, self._size.tile[2], self._slices)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        memory = WORKSPACE if self._finishes else self._copies.memory
        number = cell_number(cell, self._problem.tensors["wei"].lengths)
        cleared = [self._cleared(number, memory, at) for at in range(len(self._copies.before), self.main)]
        finish = [linear_write(one, self.main + 1, number, self._copies.memory) for one in self._finish]
        after = self._copies.writes(cell, self.main + 1 + len(self._finish))
        return (*cleared, *self.gemm_writes(cell, memory), *finish, *after)

    def _cleared(self, number: int, memory: str, place: int) -> CellWrite:
        launch = self._clear[0]
        return linear_write(launch, place, number, memory) if launch.threads else CellWrite(place, memory=memory)
