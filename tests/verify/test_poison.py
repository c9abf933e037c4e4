"""Poison is what no kernel computes."""

from __future__ import annotations

import numpy as np
import pytest

from bitgate.model import DTYPES, parse_case_id
from bitgate.model.host_tensor import GAP_PATTERN
from bitgate.verify.poison import SCRATCH_BYTES, poison_bits, poisoned, unwritten


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "bf8ocp"])
def test_the_first_poison_of_floats_is_a_signalling_nan(name):
    dtype = DTYPES[name]
    fraction = dtype.mantissa - 1
    bits = poison_bits(dtype)
    exponent = (1 << (8 * dtype.bytes - 1 - fraction)) - 1
    assert bits >> fraction == exponent  # positive, exponent all ones
    assert bits % 2**fraction  # no infinity
    assert not bits & 1 << (fraction - 1)  # the quiet bit, which every computed NaN has


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "f8ocp"])
def test_the_second_poison_is_a_number_that_nan_filters_keep(name):
    dtype = DTYPES[name]
    value = np.array(poison_bits(dtype, 1), dtype.bits).view(dtype.numpy).astype(np.float64)
    assert -np.inf < value < -300  # far from what small integers sum to


def test_every_type_has_one_that_fits():
    assert all(0 < bits < 2 ** (8 * dtype.bytes) for dtype in DTYPES.values() for bits in dtype.poison)


def test_the_two_of_a_type_differ():
    assert all(len(set(dtype.poison)) == 2 for dtype in DTYPES.values())
    assert len(set(SCRATCH_BYTES)) == 2


@pytest.mark.parametrize(("name", "known"), [("f32", [True, False]), ("f16", [True, False]), ("bf8ocp", [True, True])])
def test_unwritten_cells_are_known_if_no_kernel_computes_poison(name, known):
    dtype = DTYPES[name]
    bits = np.array([poison_bits(dtype, 0), poison_bits(dtype, 1), 0], dtype.bits)
    assert unwritten(bits, dtype).tolist() == [*known, False]


@pytest.mark.parametrize(("name", "known"), [("f8fnuz", [False, False]), ("f8ocp", [True, False])])
def test_a_pattern_that_a_kernel_computes_tells_nothing(name, known):
    dtype = DTYPES[name]
    assert unwritten(np.array([poison_bits(dtype, 0), poison_bits(dtype, 1)], dtype.bits), dtype).tolist() == known


def test_gaps_stay_gaps():
    tensor = parse_case_id("fwd_f16_nhwgc_g2n1k3c4_y1_h4_gap").tensors["out"]
    host = poisoned(tensor)
    assert (host.bits == poison_bits(tensor.dtype)).all()
    cells = host.storage.view(np.uint16)
    assert (cells != poison_bits(tensor.dtype)).sum() == tensor.space - tensor.elements
    assert set(cells[cells != poison_bits(tensor.dtype)]) == {GAP_PATTERN * 257}
