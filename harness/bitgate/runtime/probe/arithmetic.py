"""Probes of a fragment's arithmetic: the range in which its sums are exact, the bits of its operands, and subnormals.

2^p + 1 is summed for every p below the range that a fragment declares. The two terms meet in three ways, since hardware
may align the products of one instruction differently from the sums of two: together in one multiplication, the large
one first, the small one first; each way with both signs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log2

import numpy as np

from bitgate.core.targets import FLUSHED, KEPT, architecture_of
from bitgate.model import Dtype
from bitgate.numerics.rounding import largest, smallest
from bitgate.runtime.probe.workbench import Deviation, Fragment, Tiles, Workbench

MOST_EXPONENT = 30
"""Largest exponent of an operand's power of two, where its type has larger ones."""

LONG = 32
"""The number of multiplications from which a sum is long."""

WAYS = ("in one multiplication", "the large one first", "the small one first")


@dataclass(frozen=True)
class _Term:
    """The power of two 2^power as ``repeats`` multiplications in which ``lit`` values of k carry 2^a x 2^b."""

    a: int
    b: int
    lit: int
    repeats: int


def accumulators(bench: Workbench) -> Iterator[Deviation]:
    """Yield a finding for each fragment whose sums are exact for fewer integers than it declares."""
    measured: dict[str, int] = {}
    for fragment in bench.fragments():
        if error := _operands(bench, fragment):
            yield Deviation(error, fragment.name)
        error, measured[fragment.name] = _measure(bench, fragment)
        if error:
            yield Deviation(error, fragment.name)
    bench.found["exact_range"] = measured


def _operands(bench: Workbench, fragment: Fragment) -> str:
    """Return what is wrong with the product of 1 and the largest integer with all bits of a type: xf32 and its like
    have fewer."""
    for operand, dtype in (("A", fragment.a), ("B", fragment.b)):
        value = min(dtype.exact_integer - dtype.is_float, fragment.exact_range)
        a = np.zeros((1, 1, fragment.m, fragment.k))
        b = np.zeros((1, 1, fragment.k, fragment.n))
        a[..., 0], b[..., 0, :] = (value, 1) if operand == "A" else (1, value)
        sums = bench.sums(fragment, a, b).astype(np.float64)
        wrong = sums[sums != value]
        if wrong.size:
            return (
                f"elements of {operand} are multiplied with fewer bits than {dtype} has: {value} became {wrong[0]:.17g}"
            )
    return ""


def _measure(bench: Workbench, fragment: Fragment) -> tuple[str, int]:
    """Return what is wrong, and the measured range: every integer up to it is a sum that is right."""
    powers = [p for p in range(1, 63) if 2**p + 1 <= fragment.exact_range]
    blocks = [(p, way, sign) for p in powers for way in WAYS for sign in (1, -1)]
    blocks = [block for block in blocks if _is_worth_it(fragment, *block)]
    a = np.zeros((len(blocks), 2, fragment.m, fragment.k))
    b = np.zeros((len(blocks), 2, fragment.k, fragment.n))
    repeats = np.ones((len(blocks), 2), np.int32)
    for index, (p, way, sign) in enumerate(blocks):
        large = _term(fragment, p)
        if way == WAYS[0]:
            _place_term(a[index, 0], b[index, 0], large, sign)
            a[index, 0, :, -1], b[index, 0, -1] = sign, 1
            continue
        first, second = (0, 1) if way == WAYS[1] else (1, 0)
        _place_term(a[index, first], b[index, first], large, sign)
        repeats[index, first] = large.repeats
        a[index, second, :, 0], b[index, second, 0] = sign, 1
    found = bench.sums(fragment, a, b, repeats).astype(np.float64)
    for index, (p, way, sign) in enumerate(blocks):
        expected = sign * (2.0**p + 1)
        wrong = found[index][found[index] != expected]
        if wrong.size:
            words = f"2^{p} + 1 = {2**p + 1}, {way}, came out as {abs(wrong[0]):.17g}"
            return f"sums are exact up to {2**p} only, it declares {fragment.exact_range}: {words}", 2**p
    return "", min(fragment.exact_range, 2 ** (powers[-1] + 1))


def _is_worth_it(fragment: Fragment, power: int, way: str, sign: int) -> bool:
    """Return whether to try a sum: one product holds only the powers of its operands, long sums are tried one way."""
    if _term(fragment, power).repeats > LONG:
        return way == WAYS[1] and sign == 1
    return way != WAYS[0] or power <= sum(_exponents(fragment))


def _exponents(fragment: Fragment) -> tuple[int, int]:
    return _exponent(fragment.a), _exponent(fragment.b)


def _exponent(dtype: Dtype) -> int:
    """Return the largest power of two that an operand may hold."""
    return min(MOST_EXPONENT, floor(log2(largest(dtype))))


def _term(fragment: Fragment, power: int) -> _Term:
    most_a, most_b = _exponents(fragment)
    a = min(most_a, power)
    b = min(most_b, power - a)
    rest = 2 ** (power - a - b)
    lit = min(fragment.k, rest)
    return _Term(a, b, lit, rest // lit)


def _place_term(a: Tiles, b: Tiles, term: _Term, sign: int) -> None:
    a[:, : term.lit], b[: term.lit] = sign * 2.0**term.a, 2.0**term.b


_LIFT = {"bf16": 40}
"""Power of two of the other factor: the product must be no subnormal f32, which is another question."""


def subnormals(bench: Workbench) -> Iterator[Deviation]:
    """Yield a finding for each fragment that flushes subnormals of its operands where its target keeps them, or the
    reverse."""
    found: dict[str, str] = {}
    for fragment in bench.fragments():
        if not (fragment.a.is_float and fragment.b.is_float and max(fragment.a.bytes, fragment.b.bytes) <= 2):
            continue
        declared = _declared(bench.target, fragment)
        for operand in ("A", "B"):
            treatment = _treatment(bench, fragment, operand)
            found[f"{fragment.name} {operand}"] = treatment
            if treatment not in ((declared,) if declared else (KEPT, FLUSHED)):
                wanted = declared or f"{KEPT} or {FLUSHED}"
                text = f"subnormals of {operand} are {treatment}, on {bench.target} they are to be {wanted}"
                yield Deviation(text, fragment.name)
    bench.found["subnormals"] = found


def _declared(target: str, fragment: Fragment) -> str:
    """Return what becomes of subnormals of the fragment's operands; empty where that is unknown, and either treatment
    is accepted."""
    matrix = architecture_of(target).matrix
    if matrix is None:
        return ""
    # Without instructions for 8-bit floats they are multiplied as bf16, where each is a normal number.
    as_bf16 = fragment.a.is_float8 and not matrix.float8
    return KEPT if as_bf16 and matrix.subnormals else matrix.subnormals


def _treatment(bench: Workbench, fragment: Fragment, operand: str) -> str:
    """Return what becomes of the smallest subnormal of one operand times a power of two of the other."""
    dtype = fragment.a if operand == "A" else fragment.b
    least = smallest(dtype)
    factor = 2.0 ** _LIFT.get(dtype.name, 0)
    a = np.zeros((1, 1, fragment.m, fragment.k))
    b = np.zeros((1, 1, fragment.k, fragment.n))
    a[..., 0], b[..., 0, :] = (least, factor) if operand == "A" else (factor, least)
    sums = bench.sums(fragment, a, b).astype(np.float64)
    wrong = sums[sums != least * factor]
    if not wrong.size:
        return KEPT
    return FLUSHED if (sums == 0).all() else f"taken for others ({least * factor:g} became {wrong[0]:g})"
