"""Rules of diagnosis for any operation: what wrong cells hold, and where else their values belong.

Each takes a Scene and returns a Finding, or None if it does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.model.host_tensor import has_gaps
from bitgate.numerics.bits import Array, bits_of, parts
from bitgate.numerics.rounding import largest, ulps_between
from bitgate.verify.diagnose.places import empty_slices
from bitgate.verify.diagnose.receptive_field import holders
from bitgate.verify.diagnose.scene import Scene, is_zero


def never_written(scene: Scene[Problem]) -> Finding | None:
    """Find cells that still hold the poison from before the launch: they were never written."""
    count = untouched(scene)
    if count == 0:
        return None
    evidence = {"untouched": count, "wrong": scene.count}
    if count == scene.result.size:
        text = f"nothing was written: every cell of {scene.tensor_name} still holds the poison from before the launch"
        return Finding("never_written", Role.CAUSE, 0.95, text, evidence)
    if count == scene.count:
        return Finding("never_written", Role.CONTENT, 0.9, "they were never written and still hold poison", evidence)
    if scene.dtype.has_one_nan:
        return None  # a NaN that was computed has the same bits
    return Finding("never_written", Role.CONTENT, 0.5, f"{count} of them were never written", evidence)


def untouched(scene: Scene[Problem]) -> int:
    """Return the number of wrong cells that hold the poison; 0 if they may do so by chance."""
    count = int(np.count_nonzero(bits_of(scene.wrong_result) == scene.poison))
    return 0 if _is_plausible(scene, count) else count


def _is_plausible(scene: Scene[Problem], count: int) -> bool:
    """Return whether chance may explain the poison in a few cells: an integer type has no NaN."""
    return not scene.dtype.is_float and count < max(2, scene.count // 16)


def zero(scene: Scene[Problem]) -> Finding | None:
    """Find wrong cells that are zero: their sums never happened, or something cleared them."""
    zeros = int(np.count_nonzero(is_zero(scene.wrong_result)))
    evidence = {"zeros": zeros, "wrong": scene.count}
    if zeros == scene.count:
        return Finding("zero", Role.CONTENT, 1.0, "they are zero", evidence)
    if 2 * zeros > scene.count:
        return Finding("zero", Role.CONTENT, 0.4, f"{zeros} of them are zero", evidence)
    return None


def poison(scene: Scene[Problem]) -> Finding | None:
    """Find NaN though no input has one: the kernel read what was never written, which bitgate poisons."""
    if not scene.dtype.is_float or not _has_infinity(scene):
        return None
    result = scene.wrong_result
    nan = np.isnan(result.astype(np.float64)) & (bits_of(result) != scene.poison)
    count = int(np.count_nonzero(nan))
    if count == 0:
        return None
    if any(map(_holds_nan, scene.inputs.values())):
        return None
    adds = scene.problem.operation.diagnostics.adds_to_result(scene.problem)
    added = f"{scene.tensor_name} itself before its zero-fill, " if adds else ""
    between = "padding between rows, " if any(map(has_gaps, scene.problem.tensors.values())) else ""
    text = (
        f"{'all' if count == scene.count else count} of them are NaN, which no input holds: the kernel read what"
        f" nothing had written ({added}{between}LDS, workspace, memory beyond a tensor, or a lane that takes no part"
        " in a shuffle)"
    )
    evidence = {"nan": count, "wrong": scene.count}
    return Finding("poison", Role.CONTENT, 0.95, text, evidence, frozenset({"special_value"}))


def _holds_nan(array: Array) -> bool:
    return array.dtype.kind not in "iu" and any(
        bool(np.isnan(part.astype(np.float32)).any()) for (part,) in parts(array)
    )


def _has_infinity(scene: Scene[Problem]) -> bool:
    """Return whether the type has an infinity; the others overflow into NaN, which then does not mean poison."""
    return bool(np.isinf(np.asarray(np.inf).astype(scene.dtype.numpy).astype(np.float64)))


def overflow(scene: Scene[Problem]) -> Finding | None:
    """Find infinite, NaN or saturated cells: an accumulator or a conversion is too narrow."""
    counted = [_count_overflows(scene, cells) for (cells,) in parts(scene.wrong_result)]
    count, infinite = (sum(numbers) for numbers in zip(*counted, strict=True))
    # Two values of an integer type are its ends: some wrong cells hold them by chance.
    if count == 0 or (not scene.dtype.is_float and 2 * count < scene.count):
        return None
    words = "infinite" if infinite == count else "at the end of the range of " + scene.dtype.name
    subject = "they are all" if count == scene.count else f"{count} of them are"
    evidence = {"overflowed": count, "infinite": infinite, "wrong": scene.count}
    return Finding("overflow", Role.CONTENT, 0.9 if count == scene.count else 0.5, f"{subject} {words}", evidence)


def _count_overflows(scene: Scene[Problem], cells: Array) -> tuple[int, int]:
    """Return the number of cells at the end of their range, and of infinite ones."""
    values = cells.astype(np.float64)
    if scene.dtype.is_float:
        most = largest(scene.dtype)
        without_infinity = not np.isinf(np.asarray(np.inf).astype(scene.dtype.numpy).astype(np.float64))
        nan = np.isnan(values) & (bits_of(cells) != scene.poison)
        over = np.isinf(values) | (np.abs(values) == most) | (nan & without_infinity)
    else:
        info = np.iinfo(scene.dtype.numpy)
        over = (values == info.min) | (values == info.max)
    return int(np.count_nonzero(over)), int(np.count_nonzero(np.isinf(values)))


MOST_ULPS = 2
"""The largest distance, in units in the last place."""
ROUNDING_CELLS = 1 << 16
"""The number of cells that are examined at once."""


def rounding(scene: Scene[Problem]) -> Finding | None:
    """Find whether every wrong cell is a last place or two off: the sums are right and a rounding is not."""
    if not scene.dtype.is_float:
        return None
    worst = 0
    for cells in parts(scene.wrong_result, scene.wrong_reference, cells=ROUNDING_CELLS):
        most = _largest_distance(*cells)
        if not most:
            return None
        worst = max(worst, most)
    unit = "1 unit" if worst == 1 else f"{worst} units"
    text = f"every difference is at most {unit} in the last place of {scene.dtype}: a rounding step, not an index"
    evidence = {"largest_ulps": worst, "wrong": scene.count}
    return Finding("rounding", Role.CAUSE, 0.9, text, evidence, frozenset({"other"}))


def _largest_distance(result: Array, reference: Array) -> int:
    """Return the largest distance in units in the last place, 0 if it is no matter of rounding.

    The distance of -0 from 0 counts as 0: that is a lost sign.
    """
    if not (_finite(result).all() and _finite(reference).all()):
        return 0
    worst = ulps_between(result, reference)
    return worst if worst <= MOST_ULPS else 0


def _finite(array: Array) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(array.astype(np.float64)))


DISTANCES = (1, -1, 2, -2)
SHIFT_SAMPLE = 64
LEAST_AGREEING = 8
"""Fewer cells than this may agree by chance."""


def shifted(scene: Scene[Problem]) -> Finding | None:
    """Find right values in the wrong place: each cell holds its neighbour's."""
    left = bits_of(scene.wrong_result)
    if not (left != left[0]).any():
        return None  # zeros, or poison: their origin is unknown
    sample = list(scene.sample(SHIFT_SAMPLE))
    for axis in scene.neighbours:
        if axis == scene.channel_axis and scene.channels is not None:
            continue  # the examined channels are not neighbours
        for distance in DISTANCES:
            if _sample_agrees(scene, sample, axis, distance) and _all_agree(scene, axis, distance):
                letter = scene.letters[axis]
                source = f"{letter} {'-' if distance > 0 else '+'} {abs(distance)}"
                text = f"the values are shifted by {abs(distance)} along {letter}: cell {letter} holds that of {source}"
                # At the edge, cells without that neighbour are not explained.
                edge = scene.wrong_along(axis)[:distance] if distance > 0 else scene.wrong_along(axis)[distance:]
                score = 0.9 if edge.any() else 0.97
                return Finding("shifted", Role.CAUSE, score, text, {"axis": letter, "distance": distance})
    return None


def _sample_agrees(scene: Scene[Problem], sample: list[tuple[int, ...]], axis: int, distance: int) -> bool:
    tried = 0
    ours, theirs = bits_of(scene.result), bits_of(scene.reference)
    for cell in sample:
        source = cell[axis] - distance
        if not 0 <= source < scene.result.shape[axis]:
            continue
        tried += 1
        neighbour = (*cell[:axis], source, *cell[axis + 1 :])
        if ours[cell] != theirs[neighbour]:
            return False
    return tried > 0


def _all_agree(scene: Scene[Problem], axis: int, distance: int) -> bool:
    """Return whether all wrong cells that have such a neighbour hold its value, and the values are not all alike."""
    length = scene.result.shape[axis]
    to = _slice(axis, slice(max(0, distance), length + min(0, distance)))
    source = _slice(axis, slice(max(0, -distance), length + min(0, -distance)))
    wrong = scene.wrong[to]
    ours, theirs = bits_of(scene.result)[to][wrong], bits_of(scene.reference)[source][wrong]
    return ours.size >= LEAST_AGREEING and np.array_equal(ours, theirs) and bool((ours != ours[0]).any())


FOUND = 64
"""The number of wrong cells whose values are sought elsewhere."""


def misplaced(scene: Scene[Problem]) -> Finding | None:
    """Find right values in other places along one axis: mirrored, doubled, in another order."""
    places = list(scene.sample(FOUND))
    values = {place: float(scene.result[place]) for place in places}
    if scene.channels is not None or len(set(values.values())) < LEAST_AGREEING or scene.count < LEAST_AGREEING:
        return None
    origins = holders(scene.reference, set(values.values()) - {0.0})
    found = {place: origins[value] for place, value in values.items() if value in origins}
    apart = {axis for place, origin in found.items() for axis in range(len(place)) if place[axis] != origin[axis]}
    if 2 * len(found) < len(places) or len(apart) != 1:
        return None
    axis = apart.pop()
    move = {place[axis]: origin[axis] for place, origin in found.items()}
    if not _is_moved(scene, axis, move):
        return None
    letter, length = scene.letters[axis], scene.result.shape[axis]
    pairs = [f"{ours} that of {theirs}" for ours, theirs in sorted(move.items())[:SHOWN_PAIRS]]
    text = f"the right values stand in another order along {letter}: {letter} {', '.join(pairs)}"
    steps = {(ours - theirs) % length for ours, theirs in move.items()}
    if len(steps) == 1:
        (step,) = steps
        step -= length * (2 * step > length)
        source = f"{letter} {'-' if step > 0 else '+'} {abs(step)}"
        text = f"the values are shifted by {abs(step)} along {letter}, modulo {length}"
        text += f": cell {letter} holds that of {source}"
    elif all(theirs == length - 1 - ours for ours, theirs in move.items()):
        text = f"the values are mirrored along {letter}"
    elif len(move) > SHOWN_PAIRS:
        text += ", ..."
    evidence = {"axis": letter, "holds": {str(ours): theirs for ours, theirs in sorted(move.items())[:32]}}
    return Finding("shifted", Role.CAUSE, 0.97, text, evidence)


def _is_moved(scene: Scene[Problem], axis: int, move: Mapping[int, int]) -> bool:
    """Return whether every wrong cell holds the value that its coordinate's origin along the axis has."""
    wrong = scene.wrong_along(axis).nonzero()[0]
    if not set(map(int, wrong)) <= set(move):
        return False
    result, reference, mask = (
        np.moveaxis(one, axis, 0) for one in (bits_of(scene.result), bits_of(scene.reference), scene.wrong)
    )
    return all(np.array_equal(result[at][mask[at]], reference[move[int(at)]][mask[at]]) for at in wrong)


SHOWN_PAIRS = 4


def _slice(axis: int, part: slice) -> tuple[slice, ...]:
    return (*([slice(None)] * axis), part)


MEMORY = "a read of memory that was never written"
RACE_OR_MEMORY = f"a race, or {MEMORY}"


def race(scene: Scene[Problem]) -> Finding | None:
    """Find whether two runs differ on the same input: a race, or a read of memory that was never written."""
    if scene.other_run is None:
        return None
    differs = bits_of(scene.result) != bits_of(scene.other_run)
    if scene.count and scene.dtype.is_float:  # the bits of a NaN follow from the order of operands alone
        differs = differs & ~(_is_nan(scene.result) & _is_nan(scene.other_run))
    differ = int(np.count_nonzero(differs))
    if differ == 0:
        return None
    other_wrong = int(np.count_nonzero(bits_of(scene.other_run) != bits_of(scene.reference)))
    # Slices that neither run computes differ by what was there before: threads did not meet in them.
    is_left_out = any(empty_slices(scene, axis) for axis in range(scene.result.ndim))
    text = (
        f"{scene.runs[0]} and {scene.runs[1]} on the same input differ in {differ} of {scene.result.size} cells:"
        f" {MEMORY if is_left_out else RACE_OR_MEMORY}"
    )
    evidence = {
        "differ": differ,
        "runs": [{"run": scene.runs[0], "wrong": scene.count}, {"run": scene.runs[1], "wrong": other_wrong}],
    }
    return Finding("race", Role.CONTENT if is_left_out else Role.CAUSE, 1.0, text, evidence)


def _is_nan(values: Array) -> NDArray[np.bool_]:
    return np.isnan(values.astype(np.float64))
