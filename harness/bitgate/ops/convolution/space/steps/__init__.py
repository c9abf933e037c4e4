"""What a convolution's problem is made smaller by: a file for each kind of step.

A step is a change of columns: (column, axis) -> value, axis -1 for what has none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bitgate.ops.convolution.space.batch import PLAIN_VALUES, Batch
from bitgate.ops.convolution.space.steps.joint import all_axes_at_once, tied_quantities
from bitgate.ops.convolution.space.steps.length import LEAST, single_axes, single_lengths
from bitgate.ops.convolution.space.steps.plain import plain_values
from bitgate.ops.convolution.space.steps.span import spans
from bitgate.ops.convolution.space.steps.step import Step

KINDS: tuple[Callable[[Batch], list[Step]], ...] = (
    single_lengths,
    single_axes,
    spans,
    tied_quantities,
    all_axes_at_once,
    plain_values,
)
"""The order decides between steps of the same cost."""


def one_step_smaller(row: Batch) -> Batch:
    """All problems one step smaller than the only row of ``row``."""
    steps = [step for kind in KINDS for step in kind(row)]
    steps = [s for s in steps if all(v >= LEAST.get(name, PLAIN_VALUES.get(name, 1)) for (name, _), v in s.items())]
    columns = {name: np.repeat(column, len(steps), axis=0) for name, column in row.columns().items()}
    for index, step in enumerate(steps):
        for (name, axis), value in step.items():
            if axis < 0:
                columns[name][index] = value
            else:
                columns[name][index, axis] = value
    return Batch(row.direction, **columns)
