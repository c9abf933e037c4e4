"""A choice that becomes the plain one: no operation, packed tensors, the default layouts, no split."""

from __future__ import annotations

from bitgate.ops.convolution.space.batch import PLAIN_VALUES, Batch
from bitgate.ops.convolution.space.steps.step import Step


def plain_values(row: Batch) -> list[Step]:
    return [{(name, -1): value} for name, value in PLAIN_VALUES.items() if getattr(row, name)[0] != value]
