"""Steps from one row of a batch of convolutions to smaller problems, and the columns that they change.

A step is a change of columns: (column, axis) -> value, axis -1 for a column without axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bitgate.model.space.neighbour import smaller_values

if TYPE_CHECKING:
    from bitgate.ops.convolution.space.batch import Batch

AXES = 3
PLAIN_VALUES = {"op": 0, "in_op": 0, "wei_op": 0, "gap": 0, "split_k": 1, "layout": 0, "wei_layout": 0}
OPERATION_COLUMNS = ("op", "in_op", "wei_op")
SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")
LEAST = {"filter": 1, "input": 1, "stride": 1, "dilation": 1, "left_pad": 0, "right_pad": 0}
"""The least value of each spatial quantity, which the axes not in use have."""

SCALARS = ("g", "n", "k", "c")

Step = dict[tuple[str, int], int]


def axes_of(row: Batch) -> range:
    """Return the axes in use."""
    return range(AXES - int(row.ndim[0]), AXES)


def spatial_values(row: Batch) -> dict[tuple[str, int], int]:
    """Return every spatial quantity of every axis in use."""
    return {(name, axis): int(getattr(row, name)[0, axis]) for name in SPATIAL for axis in axes_of(row)}


def single_lengths(row: Batch) -> list[Step]:
    """Return steps of G, N, K, C."""
    return [{(name, -1): new} for name in SCALARS for new in smaller_values(int(getattr(row, name)[0]), 1)]


def single_axes(row: Batch) -> list[Step]:
    """Return steps of a spatial quantity of one axis."""
    return [{at: new} for at, value in spatial_values(row).items() for new in smaller_values(value, LEAST[at[0]])]


def spans(row: Batch) -> list[Step]:
    """Return steps of less filter, stride or dilation, with an image that keeps the output.

    They set how much image an output needs: without it the output grows, and the smaller problem looks more expensive.
    """
    at = spatial_values(row)
    steps: list[Step] = []
    for name in ("filter", "stride", "dilation"):
        for axis in axes_of(row):
            spared = _spared(row, name, axis)
            for smaller in smaller_values(at[name, axis], 1):
                image = at["input", axis] - spared * (at[name, axis] - smaller)
                steps.append({(name, axis): smaller, ("input", axis): max(1, image)})
    return steps


def _spared(row: Batch, name: str, axis: int) -> int:
    """Return the image cells that one less of the quantity saves at the same output."""
    counts = {"filter": row.dilation, "stride": row.output - 1, "dilation": row.filter - 1}
    return int(counts[name][0, axis])


_TOGETHER = (
    ("left_pad", "right_pad"),
    ("dilation", "left_pad", "right_pad"),
    ("input", "stride"),
    ("filter", "stride"),
    ("filter", "input", "stride"),
    ("stride", "dilation"),
    ("stride", "dilation", "input"),
)


def tied_quantities(row: Batch) -> list[Step]:
    """Return steps that take the same amount from each of a group, which a property may tie to each other.

    They are on one axis and on all.
    """
    axes, at = axes_of(row), spatial_values(row)
    steps: list[Step] = []
    for group in _TOGETHER:
        for amount in (1, 2, *(max(at[name, axis] for name in group for axis in axes) >> s for s in (1, 3, 6))):
            step = {(name, axis): at[name, axis] - amount for name in group for axis in axes}
            steps += [{key: v for key, v in step.items() if key[1] == axis} for axis in axes]
            steps.append(step)
    return steps


def all_axes_at_once(row: Batch) -> list[Step]:
    """Return steps of a quantity on all axes, which isotropic properties need."""
    axes, at = axes_of(row), spatial_values(row)
    return [
        {(name, axis): min(smaller, at[name, axis]) for axis in axes}
        for name in SPATIAL
        for smaller in smaller_values(max(at[name, axis] for axis in axes), LEAST[name])
    ]


def plain_values(row: Batch) -> list[Step]:
    """Return steps to plain choices: no operation, packed tensors, the default layouts, no split."""
    return [{(name, -1): value} for name, value in PLAIN_VALUES.items() if getattr(row, name)[0] != value]


KINDS: tuple[Callable[[Batch], list[Step]], ...] = (
    single_lengths,
    single_axes,
    spans,
    tied_quantities,
    all_axes_at_once,
    plain_values,
)
"""The order decides between steps of the same cost."""


def steps_of(row: Batch) -> list[Step]:
    """Return all steps of the only row of ``row`` whose values exist."""
    steps = [step for kind in KINDS for step in kind(row)]
    return [s for s in steps if all(v >= LEAST.get(name, PLAIN_VALUES.get(name, 1)) for (name, _), v in s.items())]
