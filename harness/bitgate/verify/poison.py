"""Poison: the bits of a result's cells before a launch, by which a cell that was never written is recognised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Dtype, Tensor
from bitgate.model.host_tensor import HostTensor

SCRATCH_BYTES = (0xFF, 0x7F)
"""Bytes that fill workspace, LDS and new memory before a first and a second launch. The first give NaN and -1; the
second give numbers near the largest, for kernels that drop NaN (``fmax(x, 0)``) or ignore -1."""


def poison_bits(dtype: Dtype, turn: int = 0) -> int:
    """Return the poison of a case's first launch, or of its second (``turn`` 1)."""
    return dtype.poison[turn]


def unwritten(bits: NDArray[Any], dtype: Dtype) -> NDArray[np.bool_]:
    """Return a mask of the cells that hold a poison which no kernel computes: no kernel wrote them."""
    own = dtype.bits.type
    found = np.zeros(bits.shape, np.bool_)
    for poison in dtype.poison:
        pattern = np.array(poison, own)
        with np.errstate(invalid="ignore"):  # a signalling NaN is made a quiet one on its way
            is_nan = bool(np.isnan(pattern.view(dtype.numpy).astype(np.float64)))
        if is_nan and not dtype.has_one_nan:
            found |= bits == pattern
    return found


def poisoned(tensor: Tensor, turn: int = 0) -> HostTensor:
    """Return a tensor of poison; its padding has the usual pattern."""
    host = HostTensor.empty(tensor)
    host.bits[...] = tensor.dtype.bits.type(poison_bits(tensor.dtype, turn))
    return host
