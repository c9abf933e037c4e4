"""Element types and the sets of them that problems have, by their canonical names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Dtype:
    """An element type, and all that differs from one to the next: a row of ``DTYPES``.

    ``code`` is the value of ``enum bitgate_dtype`` in abi.h. ``mantissa`` counts significant bits with the hidden one
    (0 for integers), and ``exact_integer`` is the largest m such that every integer in [-m, m] is representable.

    ``poison`` holds the bits of a result's cells before a first and a second launch. The first is a signalling NaN with
    a pattern: arithmetic and conversions only ever give quiet ones, so no kernel computes these bits, not even from
    poisoned LDS. Types without such a NaN have the nearest thing; an integer may hold its pattern by chance. The second
    is a number, so that a kernel that replaces NaN leaves it alone; small types have their largest below zero.

    ``preferred`` is the largest integer worth feeding. f32 goes beyond what bf16 and TF32 hold, and f64 beyond f32, so
    that a kernel which multiplies or sums in fewer bits is wrong. The 16-bit types stay small, so that sums of small
    cases are exact in the output and those of large ones are rounded. ``comfortable`` bounds the root mean square of
    the sums, so that outputs seldom leave the type's range.

    ``nan`` holds the bits of an 8-bit float's canonical NaN. A type that only sums are kept in is no ``is_operand``.
    """

    name: str
    code: int
    bytes: int
    mantissa: int
    exact_integer: int
    numpy: np.dtype[Any]
    poison: tuple[int, int]
    preferred: int
    comfortable: float = float("inf")
    nan: int = 0
    is_operand: bool = True

    @property
    def is_float(self) -> bool:
        return self.mantissa > 0

    @property
    def is_float8(self) -> bool:
        return self.is_float and self.bytes == 1

    @property
    def has_one_nan(self) -> bool:
        """True of the FNUZ types, whose single NaN has the bits of -0: a kernel computes the bits of the poison."""
        return self.is_float8 and self.nan == 0x80

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned integer type of the same width: results are compared through it."""
        return np.dtype(f"u{self.bytes}")

    def __hash__(self) -> int:
        return hash(self.name)  # the only field that identifies a dtype

    def __str__(self) -> str:
        return self.name


def _float(
    name: str, code: int, bytes_: int, mantissa: int, storage: Any, poison: tuple[int, int], preferred: int, **more: Any
) -> Dtype:
    return Dtype(name, code, bytes_, mantissa, 2**mantissa, np.dtype(storage), poison, preferred, **more)


_F8, _BF8 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_F8_FNUZ, _BF8_FNUZ = ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz

DTYPES: dict[str, Dtype] = {
    dtype.name: dtype
    for dtype in (
        _float("f64", 0, 8, 53, np.float64, (0x7FF5A5A5A5A5A5A5, 0xC7E3C3C3C3C3C3C3), 2**20),
        _float("f32", 1, 4, 24, np.float32, (0x7FA5A5A5, 0xC7C3C3C3), 2**11),
        _float("f16", 2, 2, 11, np.float16, (0x7D5A, 0xF8C3), 16, comfortable=1e4),
        _float("bf16", 3, 2, 8, ml_dtypes.bfloat16, (0x7FA5, 0xC7C3), 4),
        Dtype("i8", 4, 1, 0, 127, np.dtype(np.int8), (0xA5, 0x5A), 127, comfortable=80.0),
        _float("f8ocp", 5, 1, 4, _F8, (0xFF, 0xFE), 4, comfortable=75.0, nan=0x7F),
        _float("bf8ocp", 6, 1, 3, _BF8, (0x7D, 0xFD), 4, comfortable=9e3, nan=0x7E),
        _float("f8fnuz", 7, 1, 4, _F8_FNUZ, (0x80, 0xFF), 4, comfortable=40.0, nan=0x80),
        _float("bf8fnuz", 8, 1, 3, _BF8_FNUZ, (0x80, 0xFF), 4, comfortable=9e3, nan=0x80),
        Dtype("i32", 9, 4, 0, 2**31 - 1, np.dtype(np.int32), (0xA5A5A5A5, 0x5A5A5A5A), 2**11, is_operand=False),
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
        """Parse ``f16``, ``bf16_f32_bf16`` or either with ``_ct<dtype>``; ValueError names the bad part."""
        return _parsed(text)

    @property
    def compute_dtype(self) -> Dtype:
        """The multiplicands' type: stated, else the narrower of the two operands of the forward pass."""
        if self.compute is not None:
            return self.compute
        return self.inp if self.inp.bytes <= self.wei.bytes else self.wei

    def multiplicand(self, operand: Dtype) -> Dtype:
        """Return the type that an operand is rounded to before it is multiplied: the compute type.

        Two 8-bit floats are multiplied as they are, whichever types meet: a matrix instruction takes f8 together with
        bf8.
        """
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
    """Parse once for all problems of a table: the object caches its spelling."""
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
    """Return the dtype of a canonical name; ValueError lists the known ones."""
    try:
        return DTYPES[name]
    except KeyError:
        raise ValueError(f"unknown dtype '{name}': known are {', '.join(DTYPES)}") from None


@dataclass(frozen=True)
class TensorTypes:
    """One type for each tensor whose type may differ, in their order; a single one stands for all."""

    names: tuple[Dtype, ...]

    @classmethod
    def parse(cls, text: str) -> TensorTypes:
        """Parse ``f16`` or ``f16_f32``: one name if all agree. ValueError names the bad part."""
        types = tuple(dtype_named(name) for name in text.split("_"))
        return cls(types[:1] if len(set(types)) == 1 else types)

    def of(self, place: int) -> Dtype:
        """Return the type of the tensor at a place among those whose types may differ."""
        return self.names[0] if len(self.names) == 1 else self.names[place]

    @property
    def canonical(self) -> str:
        """The spelling by which instances name what they take."""
        return str(self)

    def __str__(self) -> str:
        return "_".join(map(str, self.names))


def spelled(text: str) -> str:
    """Return types as case ids write them: of operands and result, or one name for each tensor of other operations.

    Raises ValueError, which names the bad part.
    """
    plain = all(name in DTYPES for name in text.split("_"))
    return str(TensorTypes.parse(text) if plain else DtypeSet.parse(text))
