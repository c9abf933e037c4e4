"""Numbers at the edges of a type, as bits: the fill ``special`` strews them among small integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bitgate.model import Dtype
from bitgate.numerics.rounding import largest, rounded, smallest, smallest_normal


@dataclass(frozen=True)
class Special:
    """The ``bits`` of one number; ``finite`` says that it is finite also when rounded to the type that it is multiplied
    as."""

    name: str
    bits: int
    finite: bool


@lru_cache(maxsize=64)
def specials(dtype: Dtype, factor: Dtype) -> tuple[Special, ...]:
    """Return the special numbers of a type whose elements are multiplied as ``factor``.

    They are NaN, infinities, both zeros, the largest, the smallest and the numbers at the edge of the subnormals, as
    far as the type has them; and the factor's own edges, if it differs.
    """
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        named: dict[str, float] = {
            "largest": limits.max,
            "lowest": limits.min,
            "-largest": -limits.max,
            "0": 0.0,
        }
        return tuple(Special(name, _bits(value, dtype), True) for name, value in named.items())
    named = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "0": 0.0, "-0": -0.0}
    for prefix, own in (("", dtype), *((("factor's ", factor),) if factor != dtype else ())):
        normal = smallest_normal(own)
        named |= {
            f"{prefix}largest": largest(own),
            f"-{prefix}largest": -largest(own),
            f"{prefix}smallest": smallest(own),
            f"-{prefix}smallest": -smallest(own),
            f"{prefix}largest subnormal": normal - smallest(own),
            f"-{prefix}smallest normal": -normal,
        }
    found: dict[int, Special] = {}
    for name, value in named.items():
        bits = _bits(value, dtype)
        multiplied = rounded(np.array(value).astype(np.float64), factor)
        found.setdefault(bits, Special(name, bits, bool(np.isfinite(multiplied))))
    return tuple(found.values())


def _bits(value: float, dtype: Dtype) -> int:
    return int(rounded(np.array(value, np.float64), dtype).view(dtype.bits))
