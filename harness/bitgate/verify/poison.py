"""What a result's cells hold before a launch, so that a cell that nobody wrote can be told from every computed one."""

from __future__ import annotations

from bitgate.exact.tensor import HostTensor
from bitgate.problem import Dtype, Tensor

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


def poison_bits(dtype: Dtype) -> int:
    return PATTERNS[dtype.name]


def has_one_nan(dtype: Dtype) -> bool:
    """True of types with a single NaN: a kernel computes the same bits."""
    return dtype.name in ("f8fnuz", "bf8fnuz")


def poisoned(tensor: Tensor) -> HostTensor:
    """A tensor of poison, its gaps as gaps are."""
    host = HostTensor.empty(tensor)
    host.bits[...] = tensor.dtype.bits.type(poison_bits(tensor.dtype))
    return host
