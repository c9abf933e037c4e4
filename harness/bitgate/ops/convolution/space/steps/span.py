"""Less filter, stride or dilation, with an image that keeps the output.

They set how much image an output needs: without it the output grows, and the smaller problem looks dearer.
"""

from __future__ import annotations

from bitgate.model.space.neighbour import smaller_values
from bitgate.ops.convolution.space.batch import Batch
from bitgate.ops.convolution.space.steps.step import Step, axes_of, spatial_values


def spans(row: Batch) -> list[Step]:
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
    """Image cells that one less of the quantity saves at the same output."""
    counts = {"filter": row.dilation, "stride": row.output - 1, "dilation": row.filter - 1}
    return int(counts[name][0, axis])
