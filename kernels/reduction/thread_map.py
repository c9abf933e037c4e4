"""Which threads of a reduction have a row, and how what they found of it meets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from bitgate.kernel import CellWrite, Instance, MapLaunch, SumLevel, ThreadMap
from bitgate.operation import ReductionProblem

from ..thread_maps import WORKSPACE, linear_launch, linear_write, row_number


class ReductionMap(ThreadMap):
    """The map of a way (block, wave or columns), with the slices of each row along block y."""

    def __init__(self, problem: ReductionProblem, instance: Instance, slices: int, most_blocks: int) -> None:
        self.wave, self._threads = instance.wave_size, instance.block_size
        self._way = str(instance.traits["way"])
        self._problem, self._slices, self._most_blocks = problem, slices, most_blocks
        self._results = problem.outer * problem.inner

    @cached_property
    def launches(self) -> Sequence[MapLaunch]:
        wanted = {
            "block": self._results,
            "wave": -(-self._results // (self._threads // self.wave)),
            "columns": self._problem.outer * -(-self._problem.inner // self.wave),
        }[self._way]
        grid = (min(wanted, self._most_blocks), self._slices, 1)
        main = MapLaunch(f"kernel_{self._way}", "reduces rows, or slices of them", grid, self._threads)
        if self._slices == 1:
            return (main,)
        clear = MapLaunch("clear_partials", "clears what slices add to")
        finish = linear_launch("kernel_finish", "makes results of it", self._results, self._threads, self._most_blocks)
        return (clear, main, finish)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        number = row_number(cell, (self._problem.inner,))
        is_split = self._slices > 1
        block, thread = self._place(cell, number)
        memory = WORKSPACE if is_split else "the result"
        parts = []
        for slice_ in range(self._slices):
            cells = self._cells(slice_)
            brings = f"slice {slice_} of {self._slices}: {_terms(cells)}" if is_split else ""
            parts.append(CellWrite(int(is_split), (block, slice_, 0), thread, memory, is_split, brings))
        if not is_split:
            return parts
        return (CellWrite(0, memory=WORKSPACE), *parts, linear_write(self.launches[2], 2, number))

    def _place(self, cell: tuple[int, ...], number: int) -> tuple[int, int]:
        """Return block x, and the thread that stores the result of a row."""
        blocks = self.launches[int(self._slices > 1)].grid[0]
        if self._way == "block":
            return number % blocks, 0
        if self._way == "wave":
            block, wave = divmod(number, self._threads // self.wave)
            return block % blocks, wave * self.wave
        tiles = -(-self._problem.inner // self.wave)
        tile, column = divmod(cell[1], self.wave)
        return (cell[0] * tiles + tile) % blocks, column

    def _cells(self, slice_: int) -> range:
        length = self._problem.length
        each = -(-length // self._slices)
        return range(min(length, each * slice_), min(length, each * (slice_ + 1)))

    def tree(self) -> Sequence[SumLevel]:
        """Return the levels: each thread's cells in order, lanes, waves or steps in LDS, then slices."""
        wave, threads, cells = self.wave, self._threads, len(self._cells(0))
        lanes = {"block": threads, "wave": wave, "columns": threads // wave}[self._way]
        each = -(-cells // lanes)
        of = "its slice" if self._slices > 1 else "the row"
        apart = f"each takes every {lanes}th cell of {of} in order, at most {each}"
        levels = [
            SumLevel("cell", self._problem.length, 1, "a row of x"),
            SumLevel("thread", lanes * self._slices, 1, apart),
        ]
        if self._way == "block":
            levels.append(SumLevel("wave", threads // wave * self._slices, wave, "its lanes, by shuffles"))
            levels.append(SumLevel("block", self._slices, threads // wave, "its waves, in LDS by the first wave"))
        elif self._way == "wave":
            levels.append(SumLevel("wave", self._slices, wave, "its lanes, by shuffles"))
        else:
            levels.append(SumLevel("block", self._slices, lanes, "its threads of one column, in LDS"))
        if self._slices > 1:
            levels.append(SumLevel("result", 1, self._slices, "slices, by atomics in the workspace; then one thread"))
        return levels


def _terms(cells: range) -> str:
    return f"cells {cells[0]} to {cells[-1]}" if cells else "no cell"
