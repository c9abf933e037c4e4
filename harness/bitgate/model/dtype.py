"""Element types and the sets of them that problems have, by their canonical names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import takewhile
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


ROLES = ("in", "wei", "out")
"""The roles of the two operands and the result, as in a forward pass. They are the salts of a case's data as well."""


@dataclass(frozen=True)
class DtypeSet:
    """Types of the three tensors, as in the forward pass: x, w, y; and of the multiplicands if they differ.

    ``own`` holds the types that single operands are rounded to instead, by role in the order of ROLES: CK's
    ``f16_comp_bf8_f8``.
    """

    inp: Dtype
    wei: Dtype
    out: Dtype
    compute: Dtype | None = None
    own: tuple[tuple[str, Dtype], ...] = ()

    @classmethod
    def parse(cls, text: str) -> DtypeSet:
        """Parse ``f16``, ``bf16_f32_bf16`` or either with ``_ct<dtype>`` or ``_ctin<dtype>`` (``wei``, ``out``) after
        it; ValueError names the bad part."""
        return _parsed(text)

    @property
    def compute_dtype(self) -> Dtype:
        """The multiplicands' type: stated, else the narrower of the two operands of the forward pass."""
        if self.compute is not None:
            return self.compute
        return self.inp if self.inp.bytes <= self.wei.bytes else self.wei

    def of(self, role: str) -> Dtype:
        """Return the type of a tensor in memory."""
        return {"in": self.inp, "wei": self.wei, "out": self.out}[role]

    def multiplicand(self, role: str) -> Dtype:
        """Return the type that an operand is rounded to before it is multiplied: its own one, else the compute type.

        Two 8-bit floats are multiplied as they are unless one has its own type, whichever types meet: a matrix
        instruction takes f8 together with bf8.
        """
        if own := dict(self.own).get(role):
            return own
        return operand if (operand := self.of(role)).is_float8 and self.compute_dtype.is_float8 else self.compute_dtype

    def settled(self, result: str) -> DtypeSet:
        """Return the same types in the one spelling that case ids have: a compute type where one says all, else the
        operands' own ones that do not go without saying. ValueError for one of the result."""
        if not self.own:
            return self
        if (own := dict(self.own)).get(result):
            raise ValueError(f"ct{result}{own[result]}: '{result}' is written here, not multiplied")
        factors = {role: self.multiplicand(role) for role in ROLES if role != result}
        for compute in (None, *factors.values()):
            shared = replace(self, compute=compute, own=())
            if all(shared.multiplicand(role) == factor for role, factor in factors.items()):
                return shared
        plain = replace(self, compute=None, own=())
        told = ((role, factor) for role, factor in factors.items() if factor != plain.multiplicand(role))
        return replace(plain, own=tuple(told))

    @cached_property
    def canonical(self) -> str:
        """The spelling without a compute type that goes without saying: how instances name what they take."""
        plain = replace(self, compute=None)
        return str(self if self.compute != plain.compute_dtype else plain)

    @cached_property
    def _spelled(self) -> str:
        names = [self.inp.name] if self.inp == self.wei == self.out else [self.inp.name, self.wei.name, self.out.name]
        computed = [f"ct{self.compute}"] if self.compute else []
        return "_".join([*names, *computed, *(f"ct{role}{dtype}" for role, dtype in self.own)])

    def __str__(self) -> str:
        return self._spelled


@lru_cache(maxsize=1024)
def _parsed(text: str) -> DtypeSet:
    """Parse once for all problems of a table: the object caches its spelling."""
    parts = text.split("_")
    names = [*takewhile(lambda part: not part.startswith("ct"), parts)]
    if len(names) not in (1, 3):
        raise ValueError(f"dtypes '{text}': give one name or three (in, wei, out)")
    computed = [_computed(word) for word in parts[len(names) :]]
    if len(stated := dict(computed)) < len(computed):
        raise ValueError(f"dtypes '{text}': a compute type stands twice")
    inp, wei, out = (dtype_named(name) for name in (names * 3 if len(names) == 1 else names))
    return DtypeSet(inp, wei, out, stated.get(""), tuple((role, stated[role]) for role in ROLES if role in stated))


def _computed(word: str) -> tuple[str, Dtype]:
    """Parse ``ctf16`` or ``ctinf16``: the operand's role ("": all of them), and the type."""
    if not word.startswith("ct"):
        raise ValueError(f"'{word}' stands after a compute type")
    role = next((role for role in ROLES if word.startswith(role, 2)), "")
    return role, dtype_named(word[2 + len(role) :])


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
