"""Element types by their canonical names, with numpy storage and the exact integer range of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Dtype:
    """One element type.

    ``mantissa`` counts significant bits with the hidden one (0 for integers), ``exact_integer`` is the largest m such
    that every integer in [-m, m] is representable, ``code`` is the value of ``enum bitgate_dtype`` in abi.h, ``nan``
    the bits of an 8-bit float's canonical NaN.
    """

    name: str
    code: int
    bytes: int
    mantissa: int
    exact_integer: int
    numpy: np.dtype[Any]
    nan: int = 0

    @property
    def is_float(self) -> bool:
        return self.mantissa > 0

    @property
    def is_float8(self) -> bool:
        return self.is_float and self.bytes == 1

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer type of the same width: results are compared through it."""
        return np.dtype(f"u{self.bytes}")

    def __hash__(self) -> int:
        return hash(self.name)  # of its fields it is the one that tells them apart

    def __str__(self) -> str:
        return self.name


def _float(name: str, code: int, bytes_: int, mantissa: int, storage: Any, nan: int = 0) -> Dtype:
    return Dtype(name, code, bytes_, mantissa, 2**mantissa, np.dtype(storage), nan)


DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (
        _float("f64", 0, 8, 53, np.float64),
        _float("f32", 1, 4, 24, np.float32),
        _float("f16", 2, 2, 11, np.float16),
        _float("bf16", 3, 2, 8, ml_dtypes.bfloat16),
        Dtype("i8", 4, 1, 0, 127, np.dtype(np.int8)),
        _float("f8ocp", 5, 1, 4, ml_dtypes.float8_e4m3fn, 0x7F),
        _float("bf8ocp", 6, 1, 3, ml_dtypes.float8_e5m2, 0x7E),
        _float("f8fnuz", 7, 1, 4, ml_dtypes.float8_e4m3fnuz, 0x80),
        _float("bf8fnuz", 8, 1, 3, ml_dtypes.float8_e5m2fnuz, 0x80),
        Dtype("i32", 9, 4, 0, 2**31 - 1, np.dtype(np.int32)),
    )
}


@dataclass(frozen=True)
class DtypeSet:
    """Types of the three tensors, as in the forward pass: x, w, y; and of the multiplicands if they differ."""

    inp: Dtype
    wei: Dtype
    out: Dtype
    compute: Dtype | None = None

    @classmethod
    def parse(cls, text: str) -> DtypeSet:
        """``f16``, ``bf16_f32_bf16`` or either with ``_ct<dtype>``. Raises ValueError naming the bad part."""
        return _parsed(text)

    @property
    def compute_dtype(self) -> Dtype:
        """The multiplicands' type: stated, else the narrower of the two operands of the forward pass."""
        if self.compute is not None:
            return self.compute
        return self.inp if self.inp.bytes <= self.wei.bytes else self.wei

    def multiplicand(self, operand: Dtype) -> Dtype:
        """What an operand of that type is rounded to before it is multiplied: the compute type. But 8-bit floats are
        multiplied as they are, whichever two meet: a matrix instruction takes f8 beside bf8."""
        return operand if operand.is_float8 and self.compute_dtype.is_float8 else self.compute_dtype

    @cached_property
    def canonical(self) -> str:
        """The spelling without a compute type that goes without saying: how instances name what they take."""
        plain = replace(self, compute=None)
        return str(self if self.compute != plain.compute_dtype else plain)

    @cached_property
    def _spelled(self) -> str:
        names = [self.inp.name] if self.inp == self.wei == self.out else [self.inp.name, self.wei.name, self.out.name]
        return "_".join(names + ([f"ct{self.compute.name}"] if self.compute else []))

    def __str__(self) -> str:
        return self._spelled


@lru_cache(maxsize=1024)
def _parsed(text: str) -> DtypeSet:
    """One object for the problems of a table, which knows how it is spelled."""
    parts = text.split("_")
    compute = None
    if parts[-1].startswith("ct"):
        compute = dtype_named(parts.pop()[2:])
    if len(parts) not in (1, 3):
        raise ValueError(f"dtypes '{text}': give one name or three (in, wei, out)")
    names = parts * 3 if len(parts) == 1 else parts
    inp, wei, out = (dtype_named(name) for name in names)
    return DtypeSet(inp, wei, out, compute)


def dtype_named(name: str) -> Dtype:
    """The dtype of that canonical name; ValueError lists the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(f"unknown dtype '{name}': known are {', '.join(DTYPES)}") from None
