"""The exact reference: data are integers, so any order of summation gives the same bits, and the fastest one is taken.

Each operation has a method that ends in BLAS; where it has none its form is applied to whole numbers. For an operation
that is not multilinear it is the plain definition, on data for which the operation itself says why every cell has one
bit pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from bitgate.core import paths
from bitgate.model import DTYPES, Problem, Tensor
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.certificate import measure_bound
from bitgate.numerics.rounding import factors, rounded
from bitgate.numerics.stated import defined, rounded_to


class InexactError(ValueError):
    """An error about data that give other bits in other orders of summation; the ordered reference takes them."""


def exact_reference(problem: Problem, inputs: dict[str, HostTensor], threads: int | None = None) -> HostTensor:
    """Return the ``problem.result`` of ``exact_results``."""
    return exact_results(problem, inputs, threads)[problem.result]


def exact_results(problem: Problem, inputs: dict[str, HostTensor], threads: int | None = None) -> dict[str, HostTensor]:
    """Return the outputs of ``problem`` by role, each exact sum rounded once; padding holds GAP_PATTERN.

    Raises InexactError unless the data are integers whose sums stay within f64's 53 bits. f32 BLAS is used where they
    stay below 2^24.
    """
    numerics = problem.operation.numerics
    if numerics.form(problem) is None:
        return _define(problem, factors(problem, inputs), np.dtype(np.float64))
    inputs = factors(problem, inputs)
    bound = measure_bound(problem, inputs)
    op = numerics.epilogue(problem)
    if not bound.integers or not op.unit or bound.value > DTYPES["f64"].exact_integer:
        what = f"sums may reach {bound.value}" if bound.integers else "the data are not integers"
        what = what if op.unit else f"{' '.join(op.words)} rounds"
        raise InexactError(f"{what}: use the ordered reference")
    dtype = np.dtype(np.float32 if bound.value < DTYPES["f32"].exact_integer else np.float64)
    results = _empty(problem)
    if numerics.exact(problem, inputs, results, dtype, paths.threads() if threads is None else threads):
        return results
    return _define(problem, inputs, np.dtype(np.int64))


def defined_results(problem: Problem, inputs: dict[str, HostTensor]) -> dict[str, HostTensor]:
    """Return the outputs of integer data by the plain definition, which is slow.

    It is the code of ``exact_results`` for operations without a BLAS method.
    """
    whole = problem.operation.numerics.form(problem) is not None
    return _define(problem, factors(problem, inputs), np.dtype(np.int64 if whole else np.float64))


def _define(problem: Problem, inputs: dict[str, HostTensor], dtype: np.dtype[Any]) -> dict[str, HostTensor]:
    """Return the outputs by the plain definition, in numbers of ``dtype``, which holds all of them."""
    cells = {name: host.logical.astype(np.float64).astype(dtype) for name, host in inputs.items()}
    return {name: rounded_to(problem, name, values) for name, values in defined(problem, cells).items()}


def _empty(problem: Problem) -> dict[str, HostTensor]:
    return {role: HostTensor.empty(problem.tensors[role]) for role in problem.outputs}


@contextmanager
def unrounded(result: HostTensor, dtype: np.dtype[Any]) -> Iterator[HostTensor]:
    """Yield a tensor for native code to store into: the result itself, or for an 8-bit float a twin of ``dtype``.

    The twin is rounded into the result at the end, since ml_dtypes rounds 8-bit floats.
    """
    own = result.tensor
    if not own.dtype.is_float8:
        yield result
        return
    wide = DTYPES["f32" if dtype == np.float32 else "f64"]
    strides = tuple(prod(own.lengths[axis + 1 :]) for axis in range(len(own.lengths)))
    staging = HostTensor.empty(Tensor(own.name, wide, own.layout, own.lengths, strides))
    yield staging
    result.logical[...] = rounded(staging.logical, own.dtype)
