"""Explanations of a case: how a kernel covers its result, and who writes one cell, as lines and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bitgate.kernel.resolved import Kernel
from bitgate.model import Problem
from bitgate.model.figure import Figure
from bitgate.model.thread_map import Cell, CellWrite, MapLaunch, ThreadMap

MOST_WRITES, END_WRITES = 12, 3
"""Writes of a cell that are listed, the last ones among them."""


@dataclass(frozen=True)
class Explanation:
    """The facts of a problem on a kernel: the same lines and figures for a terminal and a picture."""

    lines: tuple[str, ...]
    figures: tuple[Figure, ...]


def explain_case(problem: Problem, kernel: Kernel | None, cell: Cell | None) -> Explanation:
    """Return what a kernel does with a problem, and with one cell of the result. None: facts of the problem alone."""
    threads = kernel.thread_map(problem) if kernel else None
    lines = [*_kernel_lines(kernel, threads)] if kernel else []
    if cell is not None:
        lines += _cell_lines(problem, threads, cell)
    return Explanation(tuple(lines), tuple(problem.operation.diagnostics.figures(problem, threads, cell)))


def _kernel_lines(kernel: Kernel, threads: ThreadMap | None) -> Iterator[str]:
    options = " ".join(f"{name}={value}" for name, value in kernel.options)
    yield f"kernel: {kernel.name}{options and ' ' + options}"
    if threads is None:
        yield "launches: nothing states which block and thread write which cell of this case"
        return
    if threads.matrix:
        rows, columns, m, n = threads.matrix
        tails = [
            f"{total % tile} {noun}"
            for noun, total, tile in (("rows", rows, m), ("columns", columns, n))
            if total % tile
        ]
        tail = f"; the last ones have {' and '.join(tails)}" if tails else ""
        yield f"tiles: {rows} x {columns} sums in {-(-rows // m)} x {-(-columns // n)} tiles of {m} x {n}{tail}"
        if kernel.instance.fragment:
            fragment = " x ".join(map(str, kernel.instance.fragment))
            yield f"  waves multiply fragments of {fragment}; the sums meet in LDS, from which threads write them"
    for level in threads.tree():
        each = f", each of {level.each} above" if level.each > 1 else ""
        yield f"  {level.count} {level.noun}{'s' * (level.count > 1)}{each}: {level.how}"
    yield "launches:"
    for number, launch in enumerate(threads.launches):
        yield f"  {number} {launch.name}: {launch.does}{_grid(launch, threads.wave)}"


def _grid(launch: MapLaunch, wave: int) -> str:
    if not launch.threads:
        return " (memset)"
    count = launch.threads // wave if wave else 0
    waves = f", {count} wave{'s' * (count > 1)} of {wave}" if count else ""
    return f"; grid {' x '.join(map(str, launch.grid))}, blocks of {launch.threads} threads{waves}"


def _cell_lines(problem: Problem, threads: ThreadMap | None, cell: Cell) -> Iterator[str]:
    diagnostics = problem.operation.diagnostics
    name = diagnostics.names(problem)[problem.result]
    yield f"{name}[{','.join(map(str, cell))}], axes {','.join(diagnostics.letters(problem, problem.result))}:"
    for line in diagnostics.cell_lines(problem, cell):
        yield f"  {line}"
    if threads is None:
        yield "  written by: not stated"
        return
    if tile := threads.tile(cell):
        (top, bottom), (left, right) = tile.rows, tile.columns
        within = f"row {tile.row - top}, column {tile.column - left} of it"
        spans = f"rows {top} to {bottom - 1}, columns {left} to {right - 1}"
        yield f"  tile: {tile.number[0]},{tile.number[1]}, {spans}; {within}"
    elif threads.matrix:
        yield "  tile: none, no launch has this cell in a tile"
    yield "  written by:"
    writes = threads.writes(cell)
    first, last = writes[: MOST_WRITES - END_WRITES], writes[MOST_WRITES - END_WRITES :]
    yield from (f"    {_write(write, threads)}" for write in first)
    if len(last) > END_WRITES:
        yield f"    ... {len(last) - END_WRITES} more ..."
    yield from (f"    {_write(write, threads)}" for write in last[-END_WRITES:])


def _write(write: CellWrite, threads: ThreadMap) -> str:
    launch = threads.launches[write.launch]
    where = "" if write.memory == "the result" else f" in {write.memory}"
    if write.thread is None:
        return f"{write.launch} {launch.name}{where}"
    lane = f" (wave {write.thread // threads.wave}, lane {write.thread % threads.wave})" if threads.wave else ""
    place = ",".join(map(str, write.block))
    does = " adds" if write.adds else ""
    brings = f", {write.brings}" if write.brings else ""
    return f"{write.launch} {launch.name} block {place} thread {write.thread}{lane}{does}{where}{brings}"


def cell_named(problem: Problem, text: str) -> Cell:
    """Return the cell that coordinates in the result's axes name. ValueError says what is wrong with them."""
    diagnostics = problem.operation.diagnostics
    letters = diagnostics.letters(problem, problem.result)
    lengths: Sequence[int] = problem.tensors[problem.result].lengths
    name = diagnostics.names(problem)[problem.result]
    axes = ", ".join(f"{letter} 0 to {length - 1}" for letter, length in zip(letters, lengths, strict=True))
    words = text.split(",")
    if len(words) != len(lengths) or not all(word.strip().isascii() and word.strip().isdigit() for word in words):
        raise ValueError(f"give {len(lengths)} numbers separated by commas, one for each axis of {name}: {axes}")
    cell = tuple(int(word) for word in words if len(word) < 20)
    if len(cell) < len(lengths) or any(at >= length for at, length in zip(cell, lengths, strict=True)):
        raise ValueError(f"{name} has no such cell: {axes}")
    return cell
