"""Which threads write a convolution's copies with channels last, beside thread_maps.py, which knows no operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from bitgate.kernel import CellWrite, MapLaunch
from bitgate.operation import ConvProblem, Tensor

from .channels_last import channels_last
from .thread_maps import row_number

TRANSPOSE_SIDE, TRANSPOSE_BLOCK, MOST_TRANSPOSE_BLOCKS = 32, 256, 2048
COPY = "its copy with channels last"


@dataclass(frozen=True)
class Copies:
    """The copies with channels last that a convolution's kernel runs on, and the transposes that make them."""

    problem: ConvProblem

    @cached_property
    def before(self) -> tuple[MapLaunch, ...]:
        problem = self.problem
        return tuple(
            self._launch("transpose_in", f"copies {copy.name} to the workspace, channels last", copy)
            for copy in channels_last(problem).copies
            if copy.name != problem.result
        )

    @cached_property
    def after(self) -> tuple[MapLaunch, ...]:
        copies = {copy.name: copy for copy in channels_last(self.problem).copies}
        copy = copies.get(self.problem.result)
        return (self._launch("transpose_out", "copies the result to its own layout", copy),) if copy else ()

    @property
    def memory(self) -> str:
        """Return where the kernel's result goes."""
        return COPY if self.after else "the result"

    def writes(self, cell: tuple[int, ...], place: int) -> Iterator[CellWrite]:
        """Yield the write of the transpose of the result, if there is one, at ``place`` among the launches."""
        for launch in self.after:
            lengths = self.problem.tensors[self.problem.result].lengths
            at = row_number((0, *cell[3:]), lengths[3:])
            (cell_tile, x), (channel_tile, y) = divmod(at, TRANSPOSE_SIDE), divmod(cell[2], TRANSPOSE_SIDE)
            cell_tiles, channel_tiles = self._tiles(lengths)
            tile = ((cell[0] * lengths[1] + cell[1]) * channel_tiles + channel_tile) * cell_tiles + cell_tile
            thread = y % (TRANSPOSE_BLOCK // TRANSPOSE_SIDE) * TRANSPOSE_SIDE + x
            yield CellWrite(place, (tile % launch.grid[0], 0, 0), thread)

    def _launch(self, name: str, does: str, tensor: Tensor) -> MapLaunch:
        blocks = tensor.lengths[0] * tensor.lengths[1] * prod(self._tiles(tensor.lengths))
        return MapLaunch(name, does, (min(MOST_TRANSPOSE_BLOCKS, blocks), 1, 1), TRANSPOSE_BLOCK)

    @staticmethod
    def _tiles(lengths: Sequence[int]) -> tuple[int, int]:
        return -(-prod(lengths[3:]) // TRANSPOSE_SIDE), -(-lengths[2] // TRANSPOSE_SIDE)
