"""One length less: of a whole problem, or of one axis."""

from __future__ import annotations

from bitgate.model.space.neighbour import smaller_values
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps.step import Step, spatial_values

LEAST = {"filter": 1, "input": 1, "stride": 1, "dilation": 1, "left_pad": 0, "right_pad": 0}
_SCALARS = ("g", "n", "k", "c")


def single_lengths(row: Batch) -> list[Step]:
    """G, N, K, C."""
    return [{(name, -1): new} for name in _SCALARS for new in smaller_values(int(getattr(row, name)[0]), 1)]


def single_axes(row: Batch) -> list[Step]:
    """A spatial quantity of one axis."""
    return [{at: new} for at, value in spatial_values(row).items() for new in smaller_values(value, LEAST[at[0]])]
