"""Rules on places: which slices, channels or rows of a tile the wrong cells are in.

Operations call them with their axes. Index lists are formatted here, too: ``1 to 8``, ``0 and 1``, ``0, 2 and 5 to 7``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.scene import Scene, holds_bits, is_zero

SLICES = 64
"""The most slices along the axis that are tried for a permutation: the work grows with the square."""
SPELLED = 4
FEW = 256
"""Cells that two slices must have in common before all are compared."""


def slice_finding(scene: Scene[Problem], axis: int, kind: str, noun: str, along: str = "") -> Finding | None:
    """Return the finding for slices along ``axis`` (groups, images): only some are wrong, or they hold each other's
    results.

    ``along`` is the axis' letter, if naming the slices says where along it the wrong cells are.
    """
    unwritten = _unwritten(scene, axis)
    moved = permuted(scene, axis, unwritten)
    if moved:
        pairs = list(moved.items())
        text = ", ".join(f"{noun} {ours} holds the result of {noun} {theirs}" for ours, theirs in pairs[:SPELLED])
        if len(pairs) > SPELLED:
            text += f" and {len(pairs) - SPELLED} more likewise"
        if unwritten:
            text += f"; {noun if len(unwritten) == 1 else noun + 's'} {format_indices(unwritten)} was never written"
        evidence = {"holds": {str(ours): theirs for ours, theirs in pairs[:32]}}
        # Where the sum counts for nothing, the slices hold each other's D.
        op = getattr(scene.problem, "op", None)
        score = 0.975 if op is not None and op.num_d and op.alpha == 0 else 0.985
        implied = frozenset({"never_written"}) if unwritten else frozenset()
        return Finding(kind, Role.CAUSE, score, text, evidence, implied)
    length = scene.result.shape[axis]
    wrong = [int(index) for index in scene.wrong_along(axis).nonzero()[0]]
    if len(wrong) == length or scene.by_chance(len(wrong) / length):
        return None
    text = f"only in {noun if len(wrong) == 1 else noun + 's'} {format_indices(wrong)} of {length}"
    return Finding(kind, Role.PLACE, 0.9, text, {"wrong": format_indices(wrong), "of": length}, along=along)


def left_out(scene: Scene[Problem], axis: int, noun: str) -> Finding | None:
    """Return the finding for slices along ``axis`` that nothing computed: no more than zeros, or poison, is in them."""
    empty, length = empty_slices(scene, axis), scene.result.shape[axis]
    if not empty or scene.by_chance(len(empty) / length):
        return None
    is_poison = bool(holds_bits(scene.wrong_result, scene.poison).all())
    subject = (
        f"{noun} {empty[0]} of {length} is" if len(empty) == 1 else f"{noun}s {format_indices(empty)} of {length} are"
    )
    held = "hold poison from before the launch" if is_poison else "are zero"
    text = f"{subject} not computed: all cells there {held}, and all others are right"
    evidence = {"left_out": format_indices(empty), "of": length}
    kind = "never_written" if is_poison else "zero"
    implied = frozenset({"never_written", "zero", "other"})
    # Zeros alone say little for a mistake that gives them.
    return Finding(kind, Role.CAUSE, 0.985, text, evidence, implied)


def empty_slices(scene: Scene[Problem], axis: int) -> list[int]:
    """Return the wrong slices, if they hold nothing but zeros, or nothing but poison, and no run has them right."""
    wrong = [int(index) for index in np.flatnonzero(scene.wrong_along(axis))]
    result, reference = (np.moveaxis(cells, axis, 0) for cells in (scene.result, scene.reference))
    held = result[wrong]
    if len(wrong) == result.shape[0] or not (is_zero(held).all() or holds_bits(held, scene.poison).all()):
        return []
    if scene.other_run is not None:
        other = bits_of(np.moveaxis(scene.other_run, axis, 0))
        same = np.all(other == bits_of(result), axis=tuple(range(1, other.ndim)))
        is_right = [np.array_equal(other[index], bits_of(reference[index])) for index in wrong]
        if any(is_right) or not np.delete(same, wrong).all():
            return []
    return wrong


def _unwritten(scene: Scene[Problem], axis: int) -> list[int]:
    """Return slices in which nothing but poison is."""
    others = tuple(a for a in range(scene.result.ndim) if a != axis)
    empty = (bits_of(scene.result) == scene.poison).all(axis=others)
    return [int(index) for index in np.flatnonzero(empty & scene.wrong_along(axis))]


def permuted(scene: Scene[Problem], axis: int, without: Sequence[int] = ()) -> dict[int, int]:
    """Return {slice of the result: slice of the reference that it equals} for every wrong slice, or {} if one has no
    twin. Slices in ``without`` need none.

    A constant slice has no identity (all zero equals all zero) and counts as having no twin.
    """
    length = scene.result.shape[axis]
    if not 2 <= length <= SLICES:
        return {}
    result = np.moveaxis(bits_of(scene.result), axis, 0)
    reference = np.moveaxis(bits_of(scene.reference), axis, 0)
    moved: dict[int, int] = {}
    few = _few(result[0].shape)
    for ours in set(map(int, scene.wrong_along(axis).nonzero()[0])) - set(without):
        cells = result[ours]
        if (cells == cells[(0,) * cells.ndim]).all():
            return {}
        alike = [t for t in range(length) if t != ours and np.array_equal(cells[few], reference[t][few])]
        twin = next((t for t in alike if np.array_equal(cells, reference[t])), None)
        if twin is None:
            return {}
        moved[ours] = twin
    return dict(sorted(moved.items()))


def _few(shape: tuple[int, ...]) -> tuple[NDArray[np.intp], ...]:
    """Return places spread over a slice."""
    places = np.linspace(0, prod(shape) - 1, min(FEW, prod(shape))).astype(np.intp)
    return tuple(np.asarray(axis) for axis in np.unravel_index(places, shape))


VECTORS = (2, 4, 8, 16, 32, 64, 128, 256)


def tail_along(scene: Scene[Problem], axis: int, along: str = "") -> Finding | None:
    """Return the finding for wrong cells in the last channels along ``axis`` only: a tail that does not fill a vector
    or a tile. ``along`` is as in ``Finding``."""
    wrong = scene.wrong_along(axis)
    first = int(wrong.argmax())
    if first == 0 or not wrong[first:].all():
        return None
    channels, length = scene.channels, scene.result.shape[axis]
    if axis == scene.channel_axis and channels is not None:
        first, length = channels[first], scene.problem.tensors[scene.problem.result].lengths[axis]
    tail = length - first
    if 2 * tail > length or scene.by_chance(tail / length):
        return None
    name = scene.letters[axis].upper()
    # The widest vector whose remainder this is says which access lost its tail.
    vector = next((v for v in reversed(VECTORS) if v < length and length % v == tail), None)
    why = f" ({name} mod {vector} = {tail})" if vector else ""
    noun = f"channel of {name}" if tail == 1 else f"{tail} channels of {name}"
    evidence = {"axis": name, "channels": length, "first_wrong": first, "tail": tail}
    text = f"only in the last {noun} = {length}{why}"
    return Finding("channel_tail", Role.PLACE, 0.95 if vector else 0.7, text, evidence, along=along)


def tail_of_rows(scene: Scene[Problem], rows: NDArray[np.bool_]) -> Finding | None:
    """Return the finding, of kind other, for wrong cells in the last, partial tile of the GEMM's rows only.

    ``rows`` says for each row of the GEMM, in its order, whether any cell of it is wrong.
    """
    if scene.tile is None:
        return None
    height = scene.tile[0]
    full = rows.size // height * height
    if full == 0 or full == rows.size or rows[:full].any() or scene.by_chance(1 - full / rows.size):
        return None
    text = f"only in the last, partial tile of the GEMM's rows ({rows.size - full} of {height} rows, M = {rows.size})"
    return Finding("other", Role.PLACE, 0.7, text, {"gemm_m": rows.size, "tile_m": height, "first_row": full})


FEWEST_LAST = 8
BLOCKS = 64
"""Grids are whole numbers of waves: cells that begin anywhere else were not left by one."""


def last_cells(scene: Scene[Problem]) -> Finding | None:
    """Find that the wrong cells are all those after some whole number of waves: a grid that covers no more, or a loop
    over it that ends early."""
    wrong = np.flatnonzero(scene.wrong)
    if scene.channels is not None or wrong.size < FEWEST_LAST:
        return None
    first, last = int(wrong[0]), int(wrong[-1])
    if first == 0 or last + 1 < scene.wrong.size or wrong.size < last + 1 - first or first % BLOCKS:
        return None
    text = f"only from cell {first} on, in logical order ({first // BLOCKS} * {BLOCKS} cells are right)"
    return Finding("other", Role.PLACE, 0.72, text, {"first": first}, along="")


LISTED_RANGES = 6
"""The number of ranges that are listed; the rest are counted."""


def ranges(indices: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive indices as (first, last)."""
    runs: list[tuple[int, int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def format_indices(indices: Sequence[int]) -> str:
    words: list[str] = []
    left = len(set(indices))
    for first, last in ranges(indices)[:LISTED_RANGES]:
        left -= last - first + 1
        # A run of two reads better as two.
        words += [str(index) for index in range(first, last + 1)] if last < first + 2 else [f"{first} to {last}"]
    if left:
        words.append(f"{left} more")
    return format_list(words)


def format_list(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
