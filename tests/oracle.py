"""The yardstick: what a convolution and a GEMM are, product by product, slow and without a line of bitgate's own maths.

Sums are in the type of the cells that are given: int64 for integers, f64 for others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from bitgate.model import Dtype
from bitgate.model.host_tensor import HostTensor
from bitgate.ops.convolution import ConvProblem, Pass
from bitgate.ops.gemm import GemmProblem

Index = tuple[int, ...]
Cells = np.ndarray[Any, Any]


def terms(problem: ConvProblem) -> Iterator[tuple[Index, Index, Index]]:
    """(output position, tap, input cell) of every product that the border leaves."""
    for position in product(*map(range, problem.output)):
        for tap in product(*map(range, problem.filter)):
            cell = tuple(
                o * s + f * d - p
                for o, s, f, d, p in zip(position, problem.stride, tap, problem.dilation, problem.left_pad, strict=True)
            )
            if all(0 <= at < size for at, size in zip(cell, problem.input, strict=True)):
                yield position, tap, cell


def at_place(index: Index) -> tuple[slice | int, ...]:
    """The index of all groups, images and channels at one place."""
    return (slice(None), slice(None), slice(None), *index)


def sums(problem: ConvProblem | GemmProblem, cells: Mapping[str, Cells]) -> Cells:
    """Of the operands as they are multiplied, in logical order."""
    if isinstance(problem, GemmProblem):
        return np.asarray(np.einsum("bmk,bnk->bmn", cells["in"], cells["wei"]))
    result = np.zeros(problem.tensors[problem.result].lengths, np.result_type(*(cells[r] for r in problem.operands)))
    for position, tap, cell in terms(problem):
        x, w, y = (at_place(index) for index in (cell, tap, position))
        if problem.direction is Pass.FWD:
            result[y] += np.einsum("gnc,gkc->gnk", cells["in"][x], cells["wei"][w])
        elif problem.direction is Pass.BWD_DATA:
            result[x] += np.einsum("gnk,gkc->gnc", cells["out"][y], cells["wei"][w])
        else:
            result[w] += np.einsum("gnk,gnc->gkc", cells["out"][y], cells["in"][x])
    return result


def through_operation(problem: ConvProblem | GemmProblem, operand: str, values: Cells) -> Cells:
    """An operand's numbers as its own operation leaves them, none of which needs a rounding."""
    op = problem.operation_of(operand)
    return {
        "pass": lambda: values,
        "scale": lambda: values * values.dtype.type(op.alpha),
        "relu": lambda: np.maximum(values, values.dtype.type(0)),
    }[op.name]()


def after(problem: ConvProblem | GemmProblem, values: Cells, d: Cells | int = 0) -> Cells:
    """Sums as the operation on the result leaves them; f64 holds what fractions, and -1, make of integers."""
    if problem.op.name in ("scale", "bilinear", "inplace"):
        values = values.astype(np.float64)
    alpha, beta = (values.dtype.type(factor) for factor in (problem.op.alpha, problem.op.beta))
    return {
        "pass": lambda: values,
        "scale": lambda: alpha * values,
        "bias": lambda: values + d,
        "nd1": lambda: values + d,
        "bilinear": lambda: alpha * values + beta * d,
        "inplace": lambda: alpha * values + beta * d,
        "relu": lambda: np.maximum(values, 0),
    }[problem.op.name]()


def whole(inputs: Mapping[str, HostTensor]) -> dict[str, Cells]:
    """The integers of tensors."""
    return {name: host.logical.astype(np.float64).astype(np.int64) for name, host in inputs.items()}


def exact_sums(problem: ConvProblem | GemmProblem, inputs: Mapping[str, HostTensor]) -> Cells:
    """The result before rounding, from integer inputs: multiples of a fraction that the operation states."""
    cells = whole(inputs)
    cells |= {name: through_operation(problem, name, cells[name]) for name in problem.operands}
    return after(problem, sums(problem, cells), cells.get("d0", 0))


def rounded(values: Cells, dtype: Dtype) -> Cells:
    """Such numbers in a type, by numpy and ml_dtypes: to nearest even, the 8-bit ones saturate. They must be such that
    the way to the narrow types, through f32, rounds once."""
    if not dtype.is_float:
        return np.clip(np.rint(values), -128, 127).astype(np.int8)
    if dtype.name == "f64":
        return values.astype(np.float64)
    assert np.abs(values).max() <= 2**24
    if dtype.is_float8:
        most = int(ml_dtypes.finfo(dtype.numpy).max)
        values = np.clip(values, -most, most)
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(dtype.numpy)


def expected(problem: ConvProblem | GemmProblem, inputs: Mapping[str, HostTensor]) -> Cells:
    """The result of integer inputs in its own type."""
    return rounded(exact_sums(problem, inputs), problem.tensors[problem.result].dtype)


def gaps(host: HostTensor) -> Cells:
    """The bytes of a storage that belong to no cell."""
    free = HostTensor(host.tensor, np.zeros_like(host.storage))
    free.bits[...] = ~free.bits.dtype.type(0)
    return host.storage.view(np.uint8)[free.storage.view(np.uint8) == 0]
