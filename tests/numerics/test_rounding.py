"""The rounding rule, against a search among all numbers of the type."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bitgate.model import DTYPES
from bitgate.numerics.rounding import largest, rounded, smallest, smallest_normal

FLOAT8 = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_float8)


def finite_codes(name: str) -> list[tuple[Fraction, int]]:
    """(value, code) of every finite number from 0 up."""
    codes = np.arange(128, dtype=np.uint8)
    values = codes.view(DTYPES[name].numpy).astype(np.float64)
    return [(Fraction(float(v)), int(c)) for v, c in zip(values, codes, strict=True) if np.isfinite(v)]


def nearest(name: str, value: float) -> int:
    """The code of the nearest number, the even one of two; the largest one for what lies beyond."""
    known = finite_codes(name)
    size = abs(Fraction(value))
    at = bisect_left([v for v, _ in known], size)
    if at == len(known):
        code = known[-1][1]
    else:
        near = known[max(0, at - 1) : at + 1]
        code = min(near, key=lambda pair: (abs(pair[0] - size), pair[1] % 2))[1]
    negative = np.signbit(value) and not (code == 0 and name.endswith("fnuz"))
    return code | (0x80 if negative else 0)


@pytest.mark.parametrize("name", FLOAT8)
@given(value=st.floats(allow_nan=False, allow_infinity=False, width=64))
@example(value=1.0625 + 2**-40)  # beyond a tie by less than f32 holds
@example(value=464.0)
@example(value=61440.0)
@example(value=-(2.0**-18))
@settings(max_examples=150, deadline=None)
def test_8_bit_floats_round_once_to_nearest_even_and_saturate(name: str, value: float) -> None:
    result = rounded(np.array([value]), DTYPES[name])
    assert int(result.view(np.uint8)[0]) == nearest(name, value)


@pytest.mark.parametrize("name", FLOAT8)
def test_what_is_not_finite(name: str) -> None:
    result = rounded(np.array([np.nan, -np.nan, np.inf, -np.inf], np.float32), DTYPES[name]).view(np.uint8).tolist()
    dtype = DTYPES[name]
    endless = np.array([np.inf, -np.inf], np.float32).astype(dtype.numpy)  # as ml_dtypes has them
    infinity = endless.view(np.uint8).tolist() if np.isinf(endless).all() else [dtype.nan] * 2
    assert result == [dtype.nan, dtype.nan, *infinity]


def test_the_canonical_nan_of_8_bit_floats_is_the_standards() -> None:
    known = {"f8ocp": 0x7F, "bf8ocp": 0x7E, "f8fnuz": 0x80, "bf8fnuz": 0x80}
    assert known.items() <= {name: DTYPES[name].nan for name in FLOAT8}.items()
    assert all(np.isnan(np.uint8(DTYPES[name].nan).view(DTYPES[name].numpy)) for name in FLOAT8)


@pytest.mark.parametrize("name", [*FLOAT8, "f16", "bf16", "f32", "f64"])
def test_the_edges_of_a_type_are_its_own_numbers(name: str) -> None:
    dtype = DTYPES[name]
    edges = np.array([largest(dtype), smallest(dtype), smallest_normal(dtype), -largest(dtype)])
    assert np.array_equal(rounded(edges, dtype).astype(np.float64), edges)
    assert rounded(np.array([smallest(dtype) / 2]), dtype)[0] == 0
    assert smallest(dtype) < smallest_normal(dtype) < 1 < largest(dtype)


TORCH = {"f8ocp": "float8_e4m3fn", "bf8ocp": "float8_e5m2", "f8fnuz": "float8_e4m3fnuz", "bf8fnuz": "float8_e5m2fnuz"}


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", TORCH)
def test_pytorch_decodes_and_rounds_alike_in_range(name: str) -> None:
    import torch

    theirs, dtype = getattr(torch, TORCH[name]), DTYPES[name]
    codes = torch.arange(256, dtype=torch.uint8).view(theirs).to(torch.float32).numpy()
    ours = np.arange(256, dtype=np.uint8).view(dtype.numpy).astype(np.float32)
    assert np.array_equal(codes, ours, equal_nan=True)
    values = np.unique(ours[np.isfinite(ours)])
    between = np.concatenate([values, (values[1:] + values[:-1]) / 2]).astype(np.float32)
    points = np.concatenate([between, np.nextafter(between, np.float32(0))])
    bits = torch.from_numpy(points).to(theirs).view(torch.uint8).numpy()
    assert np.array_equal(rounded(points, dtype).view(np.uint8), bits)
