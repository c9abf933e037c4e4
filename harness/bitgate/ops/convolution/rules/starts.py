"""Mistakes of the filter tap at which a slice of backward data's reduction begins: its number is divided wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.rules.sums import class_only
from bitgate.verify.diagnose.mistakes import Mistake, Recomputed
from bitgate.verify.diagnose.sums import Floats, Index, applied_to

Lengths = tuple[int, ...]
Divisors = Callable[[Lengths], Lengths]
"""The numbers by which a tap's number is divided, of the taps that a sub-GEMM has along each axis."""


def start_mistakes(known: Recomputed[ConvProblem]) -> Iterator[Mistake]:
    """Yield slices whose first tap is computed with another length than that of an axis of the sub-GEMM's taps."""
    scene = known.scene
    problem = scene.problem
    if scene.split_k < 2 or scene.tile is None or problem.direction is not Pass.BWD_DATA or problem.ndim < 2:
        return
    letters = "dhw"[-problem.ndim :]
    for axis, letter in enumerate(letters):
        if axis:  # nothing is left to divide after the first axis
            for other, theirs in enumerate(letters):
                if other != axis:
                    words = f"its number is divided by the taps of {theirs} for those of {letter}"
                    yield _mistake(known, words, partial(_of_axis, axis, other))
            words = f"its number is divided by the filter's {problem.filter[axis]} taps of {letter}"
            yield _mistake(known, f"{words}, not the sub-GEMM's", partial(_of_filter, axis, problem.filter))
            yield _mistake(known, f"its number is not divided by the taps of {letter}", partial(_by_one, axis))
    words = f"its number is divided by the taps of the whole filter {problem.filter}, not by the sub-GEMM's"
    yield _mistake(known, words, _whole(problem))
    words = f"its number is divided by the taps of {letters[0]} first, not of {letters[-1]}: axes are in reverse order"
    yield _mistake(known, words, lambda taps: taps, is_turned=True)


def _of_axis(axis: int, other: int, taps: Lengths) -> Lengths:
    return (*taps[:axis], taps[other], *taps[axis + 1 :])


def _of_filter(axis: int, lengths: Lengths, taps: Lengths) -> Lengths:
    return (*taps[:axis], lengths[axis], *taps[axis + 1 :])


def _by_one(axis: int, taps: Lengths) -> Lengths:
    return (*taps[:axis], 1, *taps[axis + 1 :])


def _whole(problem: ConvProblem) -> Divisors:
    return lambda taps: problem.filter


def _mistake(known: Recomputed[ConvProblem], words: str, divisors: Divisors, is_turned: bool = False) -> Mistake:
    scene = known.scene
    problem = scene.problem
    tile_k = (scene.tile or (0, 0, 1))[2]

    def value(cell: Index) -> float:
        total = sum_from(class_only(problem, known.products(cell), cell), tile_k, scene.split_k, divisors, is_turned)
        return float(applied_to(problem.op, np.asarray(total), known.d(cell) if problem.op.num_d else 0.0))

    text = f"slices of the split reduction begin at a wrong filter tap: {words}"
    return Mistake(text, "split_slice", value, evidence={"split_k": scene.split_k})


def sum_from(products: Floats, tile_k: int, slices: int, divisors: Divisors, is_turned: bool = False) -> float:
    """Return a sum whose slices begin at taps computed with other divisors, and go on from there in the right order.

    ``products`` has the shape (channels, taps...); a tap takes whole steps of ``tile_k`` channels. With ``is_turned``
    the first axis of the taps is taken for the fastest one.
    """
    channels, *taps = products.shape
    each_tap = -(-channels // tile_k)
    flat = np.moveaxis(products, 0, -1).reshape(-1, channels)
    steps = np.pad(flat, ((0, 0), (0, each_tap * tile_k - channels))).reshape(-1, tile_k).sum(axis=1)
    each = max(1, -(-steps.size // slices))
    total = 0.0
    for first in range(0, steps.size, each):
        tap, rest = divmod(first, each_tap)
        dot, axes = [0] * len(taps), range(len(taps))
        for axis in axes if is_turned else reversed(axes):
            dot[axis] = tap % taps[axis]
            tap //= divisors(tuple(taps))[axis]
        begin = int(np.ravel_multi_index(dot, taps))
        count = min(each, steps.size - first)
        total += steps[begin * each_tap + rest :][:count].sum()
    return float(total)
