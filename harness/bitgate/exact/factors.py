"""What operands are multiplied as: each element through its operation, then rounded once to the multiplicands' type.

An element that just passes and has that type already is not touched. The operation acts in f64 for f64 and i8 operands,
else in f32: scale v = alpha * v; relu v = 0 if v < 0 else v, so that NaN and -0 stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.exact.rounding import rounded
from bitgate.exact.tensor import HostTensor
from bitgate.operation import Elementwise
from bitgate.operations.convolution import ConvProblem


def factors(problem: ConvProblem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """The inputs with both operands as they are multiplied; what does not change is the same object."""
    return {name: _factor(problem, host) if name in problem.operands else host for name, host in inputs.items()}


def gain(op: Elementwise) -> int:
    """How much larger an operand's operation can make an element."""
    return int(op.alpha) if op.name == "scale" else 1


def _factor(problem: ConvProblem, host: HostTensor) -> HostTensor:
    own = host.tensor.dtype
    op, dtype = problem.operation_of(host.tensor.name), problem.dtypes.multiplicand(own)
    if op.name == "pass" and dtype == own:
        return host
    epilogue = np.float32 if own.is_float and own.bytes <= 4 else np.float64
    factor = HostTensor.empty(replace(host.tensor, dtype=dtype))
    with np.errstate(over="ignore", invalid="ignore"):  # a signalling NaN, a scaled infinity: both are data here
        factor.logical[...] = rounded(_apply(op, host.logical.astype(epilogue)), dtype)
    return factor


def _apply(op: Elementwise, values: NDArray[Any]) -> NDArray[Any]:
    if op.name == "scale":
        values = values * values.dtype.type(op.alpha)
    if op.name == "relu":
        values = np.where(values < 0, values.dtype.type(0), values)
    return values
