"""Maps of a kernel's work: which block, wave and thread of which launch writes a cell of the result. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = tuple[int, ...]
"""A cell of the result, by its logical coordinates."""
Place: TypeAlias = tuple[int, int, int]
"""The coordinates of a block in its grid; or a grid."""


@dataclass(frozen=True)
class MapLaunch:
    """One launch of a kernel, or a memset, which has no grid; ``name`` is how names in dispatch records begin."""

    name: str
    does: str
    grid: Place = (0, 0, 0)
    threads: int = 0
    """Threads of a block."""


@dataclass(frozen=True)
class CellWrite:
    """One thread's write of a cell. ``launch`` is a place in the map's launches; a memset has no thread.

    ``memory`` is the result, or the workspace where a later launch finishes it. ``adds``: atomically, to what others
    leave there. ``brings`` says which part of the sum it is.
    """

    launch: int
    block: Place = (0, 0, 0)
    thread: int | None = None
    memory: str = "the result"
    adds: bool = False
    brings: str = ""


@dataclass(frozen=True)
class Tile:
    """The tile of sums that holds a cell: its number along rows and columns of its GEMM, its span, and the cell."""

    number: tuple[int, int]
    rows: tuple[int, int]
    columns: tuple[int, int]
    row: int
    column: int


@dataclass(frozen=True)
class Steps:
    """The steps of a reduction: ``runs`` times ``length`` terms, each run in steps of ``size``; slices take whole ones.

    A run is a filter tap where kernels go from tap to tap, and its last step may be partly empty.
    """

    runs: int
    length: int
    size: int
    slices: int = 1
    run: str = "tap"
    """The noun of a run."""

    @property
    def of_run(self) -> int:
        return -(-self.length // self.size)

    @property
    def count(self) -> int:
        return self.runs * self.of_run

    @property
    def tail(self) -> int:
        """The terms of the last step of a run, 0 where it is full."""
        return self.length % self.size

    def slice(self, number: int) -> range:
        """Return the steps of a slice: equal ones from the front, so that the last may be shorter or empty."""
        each = -(-self.count // self.slices)
        return range(min(self.count, each * number), min(self.count, each * (number + 1)))

    def terms(self, steps: range) -> str:
        """Format which terms some steps in a row take: ``terms 64 to 95``, or by runs where there are several."""
        if not steps:
            return "no term"
        (first, at), (last, end) = divmod(steps[0], self.of_run), divmod(steps[-1], self.of_run)
        low, high = at * self.size, min(self.length, (end + 1) * self.size) - 1
        if self.runs == 1:
            return f"terms {low} to {high} of {self.length}"
        return f"{self.run} {first} term {low} to {self.run} {last} term {high}"


@dataclass(frozen=True)
class SumLevel:
    """One level of a reduction's tree: ``count`` nodes of one result, each of ``each`` above it."""

    noun: str
    count: int
    each: int
    how: str


class ThreadMap(ABC):
    """The map of one kernel's work at one problem."""

    wave: int = 0
    """The lanes of a wave; 0 where the kernel does not care."""
    matrix: tuple[int, int, int, int] | None = None
    """Rows and columns of each GEMM, and of its tiles."""

    @property
    @abstractmethod
    def launches(self) -> Sequence[MapLaunch]:
        """Return the launches in their order."""

    @abstractmethod
    def writes(self, cell: Cell) -> Sequence[CellWrite]:
        """Return every write of a cell of the first output, in the order of the launches; its last one stays."""

    def tile(self, cell: Cell) -> Tile | None:
        """Return the tile of sums that the cell is in; None where no tile is, or none is launched for it."""
        return None

    def steps(self, cell: Cell) -> Steps | None:
        """Return the steps of the cell's reduction, where it goes by steps."""
        return None

    def tree(self) -> Sequence[SumLevel]:
        """Return the levels by which the terms of one result meet, where a tree says it best."""
        return ()
