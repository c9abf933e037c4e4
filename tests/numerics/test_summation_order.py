"""The ordered reference sums in exactly the order it states: against rational arithmetic, one fma at a time."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor, log2

import numpy as np
import pytest
from hypothesis import assume, given, settings
from tests.numerics.small_convolutions import convolutions, inputs_of
from tests.oracle import through_operation
from tests.problems import convolution

from bitgate.model import DTYPES
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.ordered import accumulator_of, ordered_reference
from bitgate.numerics.rounding import rounded
from bitgate.ops.convolution import CONVOLUTIONS, ConvProblem, Pass


def nearest(value: Fraction, bits: int) -> Fraction:
    """``value`` rounded to that many significant bits, ties to even; no subnormals occur here."""
    if value == 0:
        return value
    exponent = floor(log2(abs(value.numerator)) - log2(value.denominator))
    for guess in (exponent - 1, exponent, exponent + 1):
        if Fraction(2) ** guess <= abs(value) < Fraction(2) ** (guess + 1):
            spacing = Fraction(2) ** (guess - bits + 1)
            return round(value / spacing) * spacing
    raise AssertionError(value)


def place_of(*at: int) -> tuple[int, ...]:
    return at


def factors(
    problem: ConvProblem, inputs: dict[str, HostTensor], cell: tuple[int, ...], backwards: bool = False
) -> Iterator[tuple[float, float]]:
    """The two factors of each product of one result cell, in the stated order: by the gather formula."""
    p = problem
    g, first, second, *at = cell

    def arrays(*names: str) -> list[np.ndarray]:
        return [through_operation(p, name, inputs[name].logical.astype(np.float64)) for name in names]

    def inner(count: int) -> range:
        return range(count)[:: -1 if backwards else 1]

    if p.direction is Pass.BWD_WEIGHT:
        x, dy = arrays("in", "out")
        for n, o in product(inner(p.n), product(*map(range, p.output))):
            i = [o[a] * p.stride[a] + at[a] * p.dilation[a] - p.left_pad[a] for a in range(p.ndim)]
            if all(0 <= v < size for v, size in zip(i, p.input, strict=True)):
                yield dy[place_of(g, n, first, *o)], x[place_of(g, n, second, *i)]
        return
    (w,) = arrays("wei")
    for tap in product(*map(range, p.filter)):
        if p.direction is Pass.FWD:
            (x,) = arrays("in")
            i = [at[a] * p.stride[a] + tap[a] * p.dilation[a] - p.left_pad[a] for a in range(p.ndim)]
            if all(0 <= v < size for v, size in zip(i, p.input, strict=True)):
                yield from ((x[place_of(g, first, c, *i)], w[place_of(g, second, c, *tap)]) for c in inner(p.c))
        else:
            (dy,) = arrays("out")
            offset = [at[a] + p.left_pad[a] - tap[a] * p.dilation[a] for a in range(p.ndim)]
            there = [v // s for v, s in zip(offset, p.stride, strict=True)]
            hit = all(v % s == 0 for v, s in zip(offset, p.stride, strict=True))
            if hit and all(0 <= v < size for v, size in zip(there, p.output, strict=True)):
                yield from ((dy[place_of(g, first, k, *there)], w[place_of(g, k, second, *tap)]) for k in inner(p.k))


def rational_sums(problem: ConvProblem, inputs: dict[str, HostTensor], backwards: bool = False) -> np.ndarray:
    bits = accumulator_of(problem).mantissa
    tensor = problem.tensors[problem.result]
    sums = np.zeros(tensor.lengths)
    for cell in product(*map(range, tensor.lengths)):
        acc = Fraction(0)
        for a, b in factors(problem, inputs, cell, backwards):
            acc = nearest(Fraction(float(a)) * Fraction(float(b)) + acc, bits)
        v, d = acc, Fraction(float(inputs["d0"].logical[cell])) if "d0" in inputs else Fraction(0)
        alpha, beta = Fraction(problem.op.alpha), Fraction(problem.op.beta)
        sums[cell] = {
            "pass": v,
            "scale": nearest(alpha * v, bits),
            "bias": nearest(v + d, bits),
            "nd1": nearest(v + d, bits),
            "bilinear": nearest(beta * d + nearest(alpha * v, bits), bits),
            "inplace": nearest(beta * d + nearest(alpha * v, bits), bits),
            "relu": max(v, Fraction(0)),
        }[problem.op.name]
    return rounded(sums, tensor.dtype)


@given(convolutions(("f64", "f32", "f16", "bf16")))
@settings(max_examples=40, deadline=None)
def test_decimal_sums_follow_the_stated_order(problem: ConvProblem) -> None:
    assume(np.prod(problem.tensors[problem.result].lengths) * problem.reduction <= 20_000)
    inputs = inputs_of(problem, "decimal")
    result = ordered_reference(problem, inputs)
    assert np.array_equal(
        result.logical.astype(np.float64), rational_sums(problem, inputs).astype(np.float64), equal_nan=True
    )


@pytest.mark.parametrize("direction", CONVOLUTIONS)
def test_another_order_gives_other_bits(direction: Pass) -> None:
    """So the test above can fail."""
    problem = convolution(f"{direction}_f32_nwgc_n4k9c9_y2_h5")
    inputs = inputs_of(problem, "decimal")
    assert np.any(rational_sums(problem, inputs) != rational_sums(problem, inputs, backwards=True))


def test_integers_wrap_and_saturate() -> None:
    problem = convolution("fwd_i8_nwgc_n1k1c4_y1_h2_scale")
    inputs = inputs_of(problem)
    inputs["in"].logical[...] = np.reshape([[127, 1], [127, 0], [127, 0], [127, 0]], (1, 1, 4, 2))
    inputs["wei"].logical[...] = -20
    assert ordered_reference(problem, inputs).logical.ravel().tolist() == [-128, -40]


def test_relu_leaves_nan_and_minus_zero() -> None:
    problem = convolution("fwd_f32_nwgc_n1k1c1_y1_h3_relu")
    inputs = inputs_of(problem)
    inputs["in"].logical[...] = np.reshape([np.nan, -1e-30, -3.0], (1, 1, 1, 3))
    inputs["wei"].logical[...] = 1e-30
    result = ordered_reference(problem, inputs).logical.ravel()
    assert np.isnan(result[0])
    assert result[1] == 0
    assert np.signbit(result[1])
    assert result[2] == 0
    assert not np.signbit(result[2])


@pytest.mark.parametrize("name", ["f16", "bf16", "f8ocp", "bf8ocp", "f8fnuz", "bf8fnuz"])
def test_rounding_from_f64_decides_a_tie_once(name: str) -> None:
    dtype = DTYPES[name]
    tie = 1 + 2.0**-dtype.mantissa
    values = np.array([tie, tie + 2.0**-45, tie - 2.0**-45, -tie - 2.0**-45])
    above = 1 + 2.0 ** (1 - dtype.mantissa)
    assert rounded(values, dtype).astype(np.float64).tolist() == [1, above, 1, -above]
