"""Poison is what no kernel computes."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.exact.tensor import GAP_PATTERN
from bitgate.problem import DTYPES, parse_case_id
from bitgate.verify.poison import PATTERNS, poison_bits, poisoned


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "bf8ocp"])
def test_float_poison_is_a_signalling_nan(name):
    dtype = DTYPES[name]
    fraction = dtype.mantissa - 1
    bits = poison_bits(dtype)
    exponent = (1 << (8 * dtype.bytes - 1 - fraction)) - 1
    assert bits >> fraction == exponent  # positive, exponent all ones
    assert bits % 2**fraction  # no infinity
    assert not bits & 1 << (fraction - 1)  # the quiet bit, which every computed NaN has


def test_every_type_has_one_that_fits():
    assert set(PATTERNS) == set(DTYPES)
    assert all(bits < 2 ** (8 * DTYPES[name].bytes) for name, bits in PATTERNS.items())


def test_gaps_stay_gaps():
    tensor = parse_case_id("fwd_f16_nhwgc_g2n1k3c4_y1_h4_gap").tensors["out"]
    host = poisoned(tensor)
    assert (host.bits == poison_bits(tensor.dtype)).all()
    cells = host.storage.view(np.uint16)
    assert (cells != poison_bits(tensor.dtype)).sum() == tensor.space - tensor.elements
    assert set(cells[cells != poison_bits(tensor.dtype)]) == {GAP_PATTERN * 257}
