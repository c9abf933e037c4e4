"""Sums of which zeros are no terms, as a reference shows them: few terms that are not zero say how each is rounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bitgate.tools.judge.data import Cells

Axes = Mapping[int, Sequence[str | int]]
Run = Callable[[Mapping[int, Cells]], Sequence[Cells] | None]

POWERS = (1, 2)
"""Powers of a result that may be a sum: 2 for a norm."""
PARTS = 3
CLOSE = 1e-9
"""The relative difference of two sums in f64 that are the same sum."""


def summed_sizes(names: Sequence[str], axes: Axes, inputs: Mapping[int, Cells], run: Run) -> list[str]:
    """Return the sizes along which each result is a sum of terms that are zero where the inputs are.

    ``names`` are sizes that no result has, ``axes`` the names of the axes of ``inputs``, which are reals. Scaled inputs
    have to scale the results: in a difference of two sums of exponentials zeros are terms, too, which cancel.
    """
    whole = run(inputs)
    if not whole or any(one.dtype.kind != "f" or not one.any() for one in whole) or not _is_scaled(whole, inputs, run):
        return []
    return [name for name in names if _is_summed(name, whole, axes, inputs, run)]


def terms_of(names: Sequence[str], axes: Axes, inputs: Mapping[int, Cells]) -> dict[int, Cells]:
    """Return for each input which cells are terms: those at places of each summed size where some input is not zero."""
    found = {place: np.ones(cells.shape, bool) for place, cells in inputs.items()}
    for name in names:
        spots = [(place, axis) for place in inputs for axis, one in enumerate(axes[place]) if one == name]
        lines = [np.moveaxis(inputs[place], axis, 0) for place, axis in spots]
        is_term = np.any([one.reshape(len(one), -1).any(1) for one in lines], axis=0)
        for place, axis in spots:
            found[place] = found[place] & is_term.reshape(_along(axis, inputs[place].ndim))
    return found


def _is_scaled(whole: Sequence[Cells], inputs: Mapping[int, Cells], run: Run) -> bool:
    """Return whether inputs twice as large make results larger by one factor, and four times as large by its square."""
    twice, more = (run({place: cells * by for place, cells in inputs.items()}) for by in (2.0, 4.0))
    if twice is None or more is None:
        return False
    for one, second, fourth in zip(whole, twice, more, strict=True):
        at = int(np.argmax(np.abs(one)))
        factor = float(second.flat[at] / one.flat[at])
        if not (factor > 1 and _is_close(second, factor * one) and _is_close(fourth, factor**2 * one)):
            return False
    return True


def _is_summed(name: str, whole: Sequence[Cells], axes: Axes, inputs: Mapping[int, Cells], run: Run) -> bool:
    found = []
    for part in range(PARTS):
        given = dict(inputs)
        for place, cells in inputs.items():
            for axis in (axis for axis, one in enumerate(axes[place]) if one == name):
                is_kept = np.arange(cells.shape[axis]) % PARTS == part
                given[place] = given[place] * is_kept.reshape(_along(axis, cells.ndim))
        if (outputs := run(given)) is None:
            return False
        found.append(outputs)
    return all(
        any(_is_close(sum(one**power for one in parts), of**power) for power in POWERS)
        for of, *parts in zip(whole, *found, strict=True)
    )


def _is_close(one: Cells, other: Cells) -> bool:
    return bool(np.all(np.abs(one - other) <= CLOSE * np.max(np.abs(other), initial=0.0)))


def _along(axis: int, ndim: int) -> list[int]:
    return [-1 if at == axis else 1 for at in range(ndim)]
