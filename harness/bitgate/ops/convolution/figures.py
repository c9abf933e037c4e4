"""Figures of a convolution: sub-GEMMs as colours over dx, tiles, padding, and the cells that contribute to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product

import numpy as np

from bitgate.model.figure import (
    PADDING,
    PLAIN,
    UNLAUNCHED,
    UNREACHED,
    Figure,
    Span,
    SquaresFigure,
    Swatch,
    figures_of,
    window,
)
from bitgate.model.thread_map import Cell, ThreadMap
from bitgate.ops.convolution.contributions import axis_pairs, contributions
from bitgate.ops.convolution.decomposition import axis_classes, gemms_count, owner_of, sub_gemms
from bitgate.ops.convolution.problem import ConvProblem, Pass


def figures(problem: ConvProblem, threads: ThreadMap | None, cell: Cell | None) -> list[Figure]:
    """Return the result's plane, the operands' planes of a cell, and what the kernel makes of the GEMMs."""
    corner = (0,) * (3 + problem.ndim)
    planes: list[Figure] = []
    if problem.direction is Pass.BWD_DATA:
        planes.append(_dx(problem, threads, cell))
    elif problem.direction is Pass.FWD:
        planes.append(_y(problem, threads, cell))
    planes += _operand_planes(problem, cell)
    return [*planes, *figures_of(threads, cell, corner)]


def owner_number(problem: ConvProblem, spatial: tuple[int, ...]) -> int | None:
    """Return the index of the sub-GEMM that owns the cells of dx at a position, None if none does."""
    number = 0
    for axis, x in enumerate(spatial):
        tilde = _owner(problem, axis, x)
        if tilde is None:
            return None
        number = number * len(axis_classes(problem, axis)) + tilde
    return number


def sub_gemm_line(problem: ConvProblem, cell: Cell) -> str:
    """Return which sub-GEMM has a cell of dx, and its residue class, by the number that diagnoses have."""
    number = owner_number(problem, cell[3:])
    if number is None:
        return "sub-GEMM: none, no tap reaches this residue class or place; the sum is empty"
    parts = zip(cell[3:], problem.left_pad, problem.stride, strict=True)
    residues = ", ".join(str((x + pad) % stride) for x, pad, stride in parts)
    gemm = sub_gemms(problem)[number]
    taps, stride = ("x".join(map(str, sizes)) for sizes in (gemm.taps, problem.stride))
    return f"sub-GEMM: {number} of {gemms_count(problem)}, (x + pad) mod {stride} = ({residues}), {taps} taps"


@lru_cache(maxsize=4096)
def _owner(problem: ConvProblem, axis: int, x: int) -> int | None:
    return owner_of(problem, axis, x)


def _dx(problem: ConvProblem, threads: ThreadMap | None, cell: Cell | None) -> SquaresFigure:
    """Return the plane of dx with its padding; a colour is a sub-GEMM, a shade a tile of rows."""
    count = gemms_count(problem)
    keys = [Swatch(f"colour{number}", f"sub-GEMM {number}") for number in range(count)]
    keys += [
        Swatch(PADDING, "padding"),
        Swatch(UNREACHED, "no window reaches it: zero"),
        Swatch(UNLAUNCHED, "no launch takes it"),
    ]
    plane = _Plane(problem, problem.input, "dx", cell, pads=True)

    def key_of(spatial: tuple[int, ...]) -> int:
        if not plane.holds(spatial):
            return count
        number = owner_number(problem, spatial)
        if number is None or not all(axis_pairs(problem, axis, x) for axis, x in enumerate(spatial)):
            return count + 1
        if threads is not None and threads.matrix is not None and threads.tile(plane.cell_at(spatial)) is None:
            return count + 2
        return number

    texts = plane.texts(lambda spatial: owner_number(problem, spatial), problem) if count > 1 else ()
    return plane.squares(tuple(keys), key_of, threads, texts=texts)


def _y(problem: ConvProblem, threads: ThreadMap | None, cell: Cell | None) -> SquaresFigure:
    """Return the plane of y; a shade is a tile of rows."""
    plane = _Plane(problem, problem.output, "y", cell)
    return plane.squares((Swatch("colour0", "an output; neighbouring tiles differ in shade"),), lambda _: 0, threads)


def _operand_planes(problem: ConvProblem, cell: Cell | None) -> Iterator[SquaresFigure]:
    """Yield the image that a cell is computed from, with what contributes to it; of a forward pass without a cell, x
    with its padding."""
    keys = (
        Swatch(PLAIN, "not read for this cell"),
        Swatch("colour2", "read for this cell"),
        Swatch(PADDING, "padding"),
    )
    if cell is None:
        if problem.direction is Pass.BWD_DATA:
            return
        plane = _Plane(problem, problem.input, "x", None, pads=True)
        keys = (
            Swatch("colour2", "x"),
            Swatch(UNREACHED, "no window reads it"),
            Swatch(PADDING, "padding"),
        )

        def kind(at: tuple[int, ...]) -> int:
            return 2 if not plane.holds(at) else 1 - all(_is_read(problem, axis, x) for axis, x in enumerate(at))

        yield plane.squares(keys, kind, None)
        return
    found = contributions(problem, cell)
    read = [{pair[1] for pair in axis} for axis in found.pairs]
    middle = tuple(min(axis, default=0) for axis in read)
    is_dy = problem.direction is Pass.BWD_DATA
    name, lengths = ("dy", problem.output) if is_dy else ("x", problem.input)
    image = (cell[0], 0 if problem.direction is Pass.BWD_WEIGHT else cell[1], 0, *middle)
    of_cell = _Plane(problem, lengths, name, image, pads=not is_dy, marks=False)
    yield of_cell.squares(
        keys,
        lambda at: 2 if not of_cell.holds(at) else int(all(x in axis for x, axis in zip(at, read, strict=True))),
        None,
    )


def _is_read(problem: ConvProblem, axis: int, x: int) -> bool:
    s, d, p = problem.stride[axis], problem.dilation[axis], problem.left_pad[axis]
    touched = (divmod(x + p - tap * d, s) for tap in range(problem.filter[axis]))
    return any(rest == 0 and 0 <= out < problem.output[axis] for out, rest in touched)


class _Plane:
    """The last two spatial axes of an image, the others where a cell is, or at 0."""

    def __init__(
        self,
        problem: ConvProblem,
        lengths: tuple[int, ...],
        name: str,
        cell: Cell | None,
        *,
        pads: bool = False,
        marks: bool = True,
    ) -> None:
        self._lengths, self._marks = lengths, marks and cell is not None
        self._cell = cell or (0,) * (3 + len(lengths))
        left, right = (problem.left_pad, problem.right_pad) if pads else ((0,) * len(lengths),) * 2
        spans = [
            window(letter, -before, length + after, at if cell else None)
            for letter, before, length, after, at in zip(
                "dhw"[3 - len(lengths) :], left, lengths, right, self._cell[3:], strict=True
            )
        ]
        self._across = spans[-1]
        self._down = spans[-2] if len(spans) > 1 else Span("", 0, 1)
        outer = f", d {self._cell[3]}" if len(lengths) == 3 else ""
        self._title = f"{name}, group {self._cell[0]}, image {self._cell[1]}{outer}"

    def _spatial(self, y: int, x: int) -> tuple[int, ...]:
        return ((self._cell[3],) * (len(self._lengths) == 3) + (y, x))[-len(self._lengths) :]

    def holds(self, spatial: tuple[int, ...]) -> bool:
        """Return whether a position is in the image, and not in its padding."""
        return all(0 <= x < length for x, length in zip(spatial, self._lengths, strict=True))

    def cell_at(self, spatial: tuple[int, ...]) -> Cell:
        return (*self._cell[:3], *spatial)

    def _places(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        for i, j in product(range(self._down.count), range(self._across.count)):
            yield i, j, self._spatial(self._down.first + i, self._across.first + j)

    def texts(
        self, number: Callable[[tuple[int, ...]], int | None], problem: ConvProblem
    ) -> tuple[tuple[int, int, str], ...]:
        """Return each sub-GEMM's number in the first square that it has."""
        first: dict[int, tuple[int, int]] = {}
        for i, j, spatial in self._places():
            found = number(spatial) if self.holds(spatial) else None
            if found is not None:
                first.setdefault(found, (i, j))
        return tuple((i, j, str(found)) for found, (i, j) in first.items())

    def squares(
        self,
        keys: tuple[Swatch, ...],
        key_of: Callable[[tuple[int, ...]], int],
        threads: ThreadMap | None,
        texts: tuple[tuple[int, int, str], ...] = (),
    ) -> SquaresFigure:
        shape = (self._down.count, self._across.count)
        keys_at, dark = np.zeros(shape, np.int64), np.zeros(shape, bool)
        for i, j, spatial in self._places():
            keys_at[i, j] = key_of(spatial)
            tile = threads.tile(self.cell_at(spatial)) if threads and self.holds(spatial) else None
            dark[i, j] = tile is not None and tile.number[0] % 2 == 1
        used = sorted(set(keys_at.ravel().tolist()))
        places = {old: new for new, old in enumerate(used)}
        renumbered = np.vectorize(places.__getitem__, otypes=[np.int64])(keys_at)
        marked = None
        if self._marks:
            y = self._cell[-2] if len(self._lengths) > 1 else 0
            marked = (y - self._down.first, self._cell[-1] - self._across.first)
        keys = tuple(keys[old] for old in used)
        return SquaresFigure(self._title, self._down, self._across, keys, renumbered, dark, texts, marked)
