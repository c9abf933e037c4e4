"""Rules on values: NaN, infinities, signed zeros and ends of the range, and wrong cells that all differ alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Problem
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.rounding import largest
from bitgate.verify.diagnose.scene import Scene, holds_bits

NUMBER, NAN, INFINITY, PLUS_ZERO, MINUS_ZERO, END = range(6)
NOUNS = ("another number", "NaN", "an infinity", "+0", "-0", "the largest number")
CAUSES = {
    (NAN, NUMBER): "NaN of the inputs was lost",
    (NAN, PLUS_ZERO): "NaN was taken for less than 0, or was lost",
    (NAN, MINUS_ZERO): "NaN was taken for less than 0, or was lost",
    (NAN, INFINITY): "an infinity took the place of NaN",
    (NAN, NAN): "its bits are not those that the type's NaN has here",
    (NAN, END): "NaN was taken for a number that is too large",
    (INFINITY, NAN): "inf - inf, 0 * inf, or a conversion without infinities",
    (INFINITY, INFINITY): "its sign is wrong",
    (INFINITY, NUMBER): "an infinity was lost",
    (INFINITY, PLUS_ZERO): "an infinity was lost",
    (INFINITY, END): "it saturates instead of overflowing",
    (PLUS_ZERO, MINUS_ZERO): "the sign of a zero is wrong",
    (MINUS_ZERO, PLUS_ZERO): "the sign of a zero was lost",
    (END, INFINITY): "it overflows instead of saturating",
    (END, NAN): "it overflows instead of saturating",
}
"""The special values that are due and those that are held, and what that means."""


def special_values(scene: Scene[Problem]) -> Finding | None:
    """Find that one special value stands where another is due, in every wrong cell."""
    if not scene.dtype.is_float:
        return None
    due, held = _classes(scene, scene.wrong_reference), _classes(scene, scene.wrong_result)
    pairs = Counter(zip(due.tolist(), held.tolist(), strict=True))
    if not set(pairs) <= set(CAUSES) or holds_bits(scene.wrong_result, scene.poison).any():
        return None
    # Where all of such cells are wrong, the data says which these are: their place is no news.
    kinds = {one for one, _ in pairs}
    right = _classes(scene, np.asarray(scene.reference[~scene.wrong]))
    spared = int(np.isin(right, list(kinds)).sum())
    texts = [
        f"{NOUNS[have] if have != want else 'another ' + NOUNS[have].split(' ')[-1]} where {NOUNS[want]} is due"
        f" ({CAUSES[want, have]})" + (f" in {count} cells" if len(pairs) > 1 else "")
        for (want, have), count in pairs.most_common()
    ]
    everywhere = f", in every cell where {_either(kinds)} is due" if not spared else ""
    evidence = {"pairs": [[NOUNS[want], NOUNS[have], count] for (want, have), count in pairs.most_common()]}
    implied = {"zero", "overflow", "poison", "rounding", "shifted", "k_tail", "other"}
    if not spared:
        implied |= {"wrong_image", "wrong_group", "channel_tail", "border", "pad_side"}
    text = f"the wrong cells hold {', and '.join(texts)}{everywhere}"
    return Finding("special_value", Role.CAUSE, 0.975, text, evidence, frozenset(implied))


def _either(kinds: set[int]) -> str:
    return " or ".join(NOUNS[kind] for kind in sorted(kinds))


def _classes(scene: Scene[Problem], cells: Array) -> NDArray[np.int8]:
    values = cells.astype(np.float64)
    classes = np.zeros(values.shape, np.int8)
    negative = np.signbit(values)
    classes[np.abs(values) == largest(scene.dtype)] = END
    classes[(values == 0) & ~negative] = PLUS_ZERO
    classes[(values == 0) & negative] = MINUS_ZERO
    classes[np.isinf(values)] = INFINITY
    classes[np.isnan(values)] = NAN
    return classes


def turned_nan(scene: Scene[Problem]) -> Finding | None:
    """Find cells that are NaN where numbers are due, of data that hold NaN or infinities themselves."""
    if not scene.dtype.is_float:
        return None
    nan = np.isnan(scene.wrong_result.astype(np.float64)) & ~np.isnan(scene.wrong_reference.astype(np.float64))
    unwritten = holds_bits(scene.wrong_result, scene.poison)
    # Where the type has one NaN alone, poison shows that a cell was never written only if all wrong cells hold it.
    count = int(np.count_nonzero(nan if scene.dtype.has_one_nan and not unwritten.all() else nan & ~unwritten))
    if not count:
        return None
    text = f"{'all' if count == scene.count else count} of them are NaN where a number is due"
    return Finding("special_value", Role.CONTENT, 0.85, text, {"nan": count, "wrong": scene.count})


SIZES = (1 / 8, 1 / 4, 1 / 3, 1 / 2, 1, 3 / 2, 2, 3, 4, 8)
FACTORS = tuple(sign * size for size in SIZES for sign in (1, -1) if sign * size != 1)
ENOUGH = 4
"""Fewer cells may differ alike by chance."""


def alike(scene: Scene[Problem]) -> Finding | None:
    """Find that every wrong cell is the same multiple of what it should be, or off by the same number."""
    result, reference = scene.wrong_result, scene.wrong_reference
    if result.size < ENOUGH:
        return None
    if (bits_of(reference) == bits_of(reference)[0]).all():
        return _constant(scene)
    ours, theirs = result.astype(np.float64), reference.astype(np.float64)
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()) or not ours.any():
        return None
    off = ours - theirs
    if (off == off[0]).all() and (scene.exact or not scene.dtype.is_float):
        text = f"each is {abs(off[0]):g} {'more' if off[0] > 0 else 'less'} than it should be"
        return Finding("other", Role.CONTENT, 0.9, text, {"offset": float(off[0])})
    top = int(np.argmax(np.abs(theirs)))
    ratio = ours[top] / theirs[top]
    factor = min(FACTORS, key=lambda one: abs(one - ratio))
    near = 2 * np.spacing(np.abs(result)).astype(np.float64) if scene.dtype.is_float else 0.0
    if (np.abs(ours - factor * theirs) > near).any():
        return None
    words = {-1: "has the wrong sign", 1 / 3: "is a third of what it should be"}
    text = f"each {words.get(factor, f'is {factor:g} times what it should be')}"
    return Finding("other", Role.CONTENT, 0.9, text, {"factor": factor})


def _constant(scene: Scene[Problem]) -> Finding | None:
    """Find that an integer stands at the end of its type's range where another is due, or the other way around."""
    ours, due = scene.wrong_result, scene.wrong_reference
    if scene.dtype.is_float or (ours != ours[0]).any():
        return None
    ends = np.iinfo(scene.dtype.numpy)
    if int(due[0]) not in (ends.min, ends.max):
        return None
    text = f"each holds {ours[0]} where {due[0]}, an end of {scene.dtype}, is due: it saturates elsewhere"
    return Finding("overflow", Role.CONTENT, 0.9, text, {"held": int(ours[0]), "due": int(due[0])})


WIDEST = 256


def repeated_rows(scene: Scene[Problem], rows: NDArray[np.bool_], words: str) -> Finding | None:
    """Find that the same rows of every wave or tile are wrong: a pattern that repeats along the GEMM's rows.

    ``rows`` says for each row, in its order, whether any cell of it is wrong; ``words`` name the rows.
    """
    for period in (8, 16, 32, 64, 128, WIDEST):
        if rows.size < 2 * period:
            return None
        whole = rows[: rows.size // period * period].reshape(-1, period)
        pattern = whole[0]
        rest = rows[whole.size :]
        if (whole == pattern).all() and (rest == pattern[: rest.size]).all() and pattern.any() and not pattern.all():
            break
    else:
        return None
    hit = np.flatnonzero(pattern)
    if hit[-1] - hit[0] + 1 != hit.size or scene.by_chance(hit.size / period, int(rows.sum())):
        return None
    which = f"row {hit[0]}" if hit.size == 1 else f"rows {hit[0]} to {hit[-1]}"
    text = f"only in {which} of every {period} of {words}"
    evidence = {"period": period, "first": int(hit[0]), "last": int(hit[-1])}
    return Finding("other", Role.PLACE, 0.92, text, evidence)
