"""Several quantities at once, which a property may tie to each other, so that only a joint step keeps it."""

from __future__ import annotations

from bitgate.model.space.neighbour import smaller_values
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps.length import LEAST
from bitgate.ops.convolution.space.steps.step import SPATIAL, Step, axes_of, spatial_values

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
    """The same amount less of each of a group, on one axis and on all."""
    axes, at = axes_of(row), spatial_values(row)
    steps: list[Step] = []
    for group in _TOGETHER:
        for amount in (1, 2, *(max(at[name, axis] for name in group for axis in axes) >> s for s in (1, 3, 6))):
            step = {(name, axis): at[name, axis] - amount for name in group for axis in axes}
            steps += [{key: v for key, v in step.items() if key[1] == axis} for axis in axes]
            steps.append(step)
    return steps


def all_axes_at_once(row: Batch) -> list[Step]:
    """Isotropic properties need that."""
    axes, at = axes_of(row), spatial_values(row)
    return [
        {(name, axis): min(smaller, at[name, axis]) for axis in axes}
        for name in SPATIAL
        for smaller in smaller_values(max(at[name, axis] for axis in axes), LEAST[name])
    ]
