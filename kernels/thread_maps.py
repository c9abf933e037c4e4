"""How the threads of our kernels cover a result: what the maps of several families share.

It follows the device code (implicit_gemm/tiling.hpp and the epilogues); tests compare it with instrumented launches.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bitgate.kernel import CellWrite, Instance, MapLaunch, ThreadMap, Tile

SUM_BYTES = 4
MOST_LDS_BYTES = 65536
FILL_BLOCK, MOST_FILL_BLOCKS = 256, 1024
WORKSPACE = "the workspace"


@dataclass(frozen=True)
class TileThreads:
    """The threads that write a tile of sums: vectors side by side, then rows, in rounds that fit LDS.

    ``first`` threads of the block before them write nothing.
    """

    tile: tuple[int, int, int]
    vector: int
    threads: int
    first: int = 0

    @classmethod
    def of(cls, instance: Instance, *, first: int = 0, vector: int = 0) -> TileThreads:
        """Return those of an instance; ``vector`` replaces that of its result."""
        assert instance.tile is not None
        assert instance.vector is not None
        return cls(instance.tile, vector or instance.vector[2], instance.block_size - first, first)

    def thread(self, row: int, column: int) -> int:
        """Return the thread that writes the cell at a row and column of the tile."""
        m, n, _ = self.tile
        rounds = 2 if m * (n + 4) * SUM_BYTES > MOST_LDS_BYTES else 1
        lanes = n // self.vector
        return self.first + row % (m // rounds) % (self.threads // lanes) * lanes + column // self.vector


@dataclass(frozen=True)
class GemmCell:
    """A cell as a GEMM sees it: row and column, the first block of the GEMM in its launch, and block y and z."""

    row: int
    column: int
    first_block: int
    y: int
    z: int
    launch: int = 0


@dataclass(frozen=True)
class GemmSize:
    """The rows and columns of each GEMM, and the tiles that cover them."""

    rows: int
    columns: int
    tile: tuple[int, int, int]

    @property
    def column_blocks(self) -> int:
        return -(-self.columns // self.tile[1])

    @property
    def blocks(self) -> int:
        return -(-self.rows // self.tile[0]) * self.column_blocks


class GemmMap(ThreadMap):
    """The map of GEMMs whose tiles stand in a row along block x, columns fastest."""

    def __init__(self, instance: Instance, threads: TileThreads, size: GemmSize, slices: int) -> None:
        self.wave = instance.wave_size
        self.matrix = (size.rows, size.columns, *size.tile[:2])
        self._instance, self._threads, self._size, self._slices = instance, threads, size, slices

    @abstractmethod
    def locate(self, cell: tuple[int, ...]) -> GemmCell | None:
        """Return where a cell of the result is in its GEMM; None if no launched GEMM has it."""

    @property
    def main(self) -> int:
        """The place of the first launch that computes GEMMs."""
        return 0

    def tile(self, cell: tuple[int, ...]) -> Tile | None:
        at = self.locate(cell)
        if at is None:
            return None
        m, n, _ = self._size.tile
        i, j = at.row // m, at.column // n
        rows, columns = (
            (k * t, min(total, (k + 1) * t)) for k, t, total in ((i, m, self._size.rows), (j, n, self._size.columns))
        )
        return Tile((i, j), rows, columns, at.row, at.column)

    def gemm_writes(self, cell: tuple[int, ...], memory: str = "the result") -> Iterator[CellWrite]:
        """Yield the write of each slice that has a step; one of several adds."""
        at, steps = self.locate(cell), self.steps(cell)
        if at is None or steps is None:
            return
        m, n, _ = self._size.tile
        block = at.first_block + at.row // m * self._size.column_blocks + at.column // n
        thread = self._threads.thread(at.row % m, at.column % n)
        for number in range(self._slices):
            taken = steps.slice(number)
            if not taken:
                break  # nor has any slice after it
            cut = f"slice {number} of {self._slices}: {steps.terms(taken)}" if self._slices > 1 else ""
            place = (block, at.y, at.z * self._slices + number)
            yield CellWrite(self.main + at.launch, place, thread, memory, self._slices > 1, cut)

    def gemm_launch(self, name: str, does: str, gemms: int, y: int, z: int) -> MapLaunch:
        """Return a launch of some GEMMs in a row."""
        return MapLaunch(name, does, (self._size.blocks * gemms, y, z * self._slices), self._instance.block_size)


def row_number(images_and_positions: Sequence[int], lengths: Sequence[int]) -> int:
    """Return the row of an image and its positions, the last axis fastest; ``lengths`` are those of the positions."""
    row = images_and_positions[0]
    for at, length in zip(images_and_positions[1:], lengths, strict=True):
        row = row * length + at
    return row


def cell_number(cell: Sequence[int], lengths: Sequence[int]) -> int:
    """Return the number of a convolution's cell [g][row][spatial...][channel], as kernels of a thread a cell count."""
    number = row_number((cell[0], cell[1], *cell[3:]), (lengths[1], *lengths[3:]))
    return number * lengths[2] + cell[2]


def linear_launch(name: str, does: str, cells: int, block: int = FILL_BLOCK, most: int = MOST_FILL_BLOCKS) -> MapLaunch:
    """Return a launch whose threads take one cell at a time, by the stride of the grid."""
    return MapLaunch(name, does, (min(most, -(-cells // block)), 1, 1), block)


def linear_write(launch: MapLaunch, place: int, number: int, memory: str = "the result") -> CellWrite:
    """Return the write of cell ``number`` by such a launch, which is at ``place`` among the launches."""
    block, thread = divmod(number, launch.threads)
    return CellWrite(place, (block % launch.grid[0], 0, 0), thread, memory)


class LinearMap(ThreadMap):
    """The map of one launch whose threads each take one cell at a time; ``number`` counts the cells."""

    def __init__(self, launch: MapLaunch, number: Callable[[tuple[int, ...]], int]) -> None:
        self._launch, self._number = launch, number

    @property
    def launches(self) -> Sequence[MapLaunch]:
        return (self._launch,)

    def writes(self, cell: tuple[int, ...]) -> Sequence[CellWrite]:
        return (linear_write(self._launch, 0, self._number(cell)),)
