"""One step: the columns that change, and to what."""

from __future__ import annotations

from bitgate.ops.convolution.space.batch import AXES, Batch

Step = dict[tuple[str, int], int]

SPATIAL = ("filter", "input", "stride", "dilation", "left_pad", "right_pad")


def axes_of(row: Batch) -> range:
    """The axes in use."""
    return range(AXES - int(row.ndim[0]), AXES)


def spatial_values(row: Batch) -> dict[tuple[str, int], int]:
    """Every spatial quantity of every axis in use."""
    return {(name, axis): int(getattr(row, name)[0, axis]) for name in SPATIAL for axis in axes_of(row)}
