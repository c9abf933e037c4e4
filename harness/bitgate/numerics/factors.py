"""The values that operands are multiplied as: each element through its operation, then rounded once to the
multiplicands' type.

An element that just passes and has that type already is not changed. The operation acts in f64 for f64 and i8 operands,
else in f32.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bitgate.model import Elementwise, Problem
from bitgate.model.elementwise import applied
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.rounding import rounded


def factors(problem: Problem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """Return the inputs with all operands as they are multiplied; what does not change is the same object."""
    numerics = problem.operation.numerics
    if numerics.form(problem) is None:
        return inputs
    operands = numerics.operands(problem)
    return {name: _factor(problem, host) if name in operands else host for name, host in inputs.items()}


def gain(op: Elementwise) -> int:
    """Return how much larger an operand's operation can make an element."""
    return int(op.alpha) if op.name == "scale" else 1


def gain_of(problem: Problem, operand: str) -> int:
    """Return the gain of an operand's own operation."""
    return gain(problem.operation.numerics.operation_of(problem, operand))


def _factor(problem: Problem, host: HostTensor) -> HostTensor:
    own, numerics = host.tensor.dtype, problem.operation.numerics
    op = numerics.operation_of(problem, host.tensor.name)
    dtype = numerics.multiplicand(problem, host.tensor.name)
    if op.name == "pass" and dtype == own:
        return host
    epilogue = np.float32 if own.is_float and own.bytes <= 4 else np.float64
    factor = HostTensor.empty(replace(host.tensor, dtype=dtype))
    with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN, a scaled infinity: both are data here
        factor.logical[...] = rounded(applied(op, host.logical.astype(epilogue)), dtype)
    return factor
