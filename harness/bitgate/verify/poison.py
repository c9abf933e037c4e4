"""What a result's cells hold before a launch, so that a cell that nobody wrote can be told from every computed one."""

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

# Of a second launch: a cell that nobody wrote and that is right by luck of the first pattern is wrong with this one. A
# number, so that a kernel that mends what is NaN does not mend it; small types have their largest below zero.
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
"""Fill workspace, LDS and new memory before a first and a second launch: NaN and -1, then numbers near the largest,
which pass where a kernel drops NaN (``fmax(x, 0)``) or takes -1 for nothing."""


def poison_bits(dtype: Dtype, turn: int = 0) -> int:
    """Of a case's first launch, or of its second (``turn`` 1)."""
    return (PATTERNS, SECOND_PATTERNS)[turn][dtype.name]


def unwritten(bits: NDArray[Any], dtype: Dtype) -> NDArray[np.bool_]:
    """Where a cell holds a poison that no kernel computes: nobody wrote it."""
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
    """True of types with a single NaN: a kernel computes the same bits."""
    return dtype.name in ("f8fnuz", "bf8fnuz")


def poisoned(tensor: Tensor, turn: int = 0) -> HostTensor:
    """A tensor of poison, its gaps as gaps are."""
    host = HostTensor.empty(tensor)
    host.bits[...] = tensor.dtype.bits.type(poison_bits(tensor.dtype, turn))
    return host
