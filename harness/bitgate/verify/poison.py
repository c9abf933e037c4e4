"""Poison: the bits of a result's cells before a launch, by which a cell that was never written is recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Tensor
from bitgate.model.host_tensor import HostTensor

# Signalling NaNs with a pattern: arithmetic and conversions only ever give quiet ones, so no kernel computes these
# bits, not even from poisoned LDS. Types without such a NaN have the nearest thing; an integer may hold its pattern by
# chance.
PATTERNS: dict[str, int] = {
    "f64": 0x7FF5A5A5A5A5A5A5,
    "f32": 0x7FA5A5A5,
    "f16": 0x7D5A,
    "bf16": 0x7FA5,
    "i8": 0xA5,
    "f8ocp": 0xFF,
    "bf8ocp": 0x7D,
    "f8fnuz": 0x80,
    "bf8fnuz": 0x80,
    "i32": 0xA5A5A5A5,
}

# The second launch: a cell that was never written, and is right by luck with the first pattern, is wrong with this one.
# It is a number, so that a kernel that replaces NaN does not replace it; small types have their largest below zero.
SECOND_PATTERNS: dict[str, int] = {
    "f64": 0xC7E3C3C3C3C3C3C3,
    "f32": 0xC7C3C3C3,
    "f16": 0xF8C3,
    "bf16": 0xC7C3,
    "i8": 0x5A,
    "f8ocp": 0xFE,
    "bf8ocp": 0xFD,
    "f8fnuz": 0xFF,
    "bf8fnuz": 0xFF,
    "i32": 0x5A5A5A5A,
}

SCRATCH_BYTES = (0xFF, 0x7F)
"""Bytes that fill workspace, LDS and new memory before a first and a second launch. The first give NaN and -1; the
second give numbers near the largest, for kernels that drop NaN (``fmax(x, 0)``) or ignore -1."""


def poison_bits(dtype: Dtype, turn: int = 0) -> int:
    """Return the poison of a case's first launch, or of its second (``turn`` 1)."""
    return (PATTERNS, SECOND_PATTERNS)[turn][dtype.name]


def unwritten(bits: NDArray[Any], dtype: Dtype) -> NDArray[np.bool_]:
    """Return a mask of the cells that hold a poison which no kernel computes: they were never written."""
    own = dtype.bits.type
    found = np.zeros(bits.shape, np.bool_)
    for turn in (0, 1):
        pattern = np.array(poison_bits(dtype, turn), own)
        with np.errstate(invalid="ignore"):  # a signalling NaN is made a quiet one on its way
            is_nan = bool(np.isnan(pattern.view(dtype.numpy).astype(np.float64)))
        if is_nan and not has_one_nan(dtype):
            found |= bits == pattern
    return found


def has_one_nan(dtype: Dtype) -> bool:
    """Return True for types with a single NaN: a kernel computes the same bits."""
    return dtype.name in ("f8fnuz", "bf8fnuz")


def poisoned(tensor: Tensor, turn: int = 0) -> HostTensor:
    """Return a tensor of poison; its padding has the usual pattern."""
    host = HostTensor.empty(tensor)
    host.bits[...] = tensor.dtype.bits.type(poison_bits(tensor.dtype, turn))
    return host
