"""Do fragments keep the subnormal numbers of 8- and 16-bit operands, or flush them to zero?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bitgate.core.targets import FLUSHED, KEPT, architecture_of
from bitgate.numerics.rounding import smallest
from bitgate.runtime.probe.workbench import Deviation, Fragment, Workbench

_LIFT = {"bf16": 40}
"""Power of two of the other factor: the product must be no subnormal f32, which is another question."""


def subnormals(bench: Workbench) -> Iterator[Deviation]:
    """A finding for each fragment that does not treat them as its target is known to."""
    found: dict[str, str] = {}
    for fragment in bench.fragments():
        if not (fragment.a.is_float and fragment.b.is_float and max(fragment.a.bytes, fragment.b.bytes) <= 2):
            continue
        declared = _declared(bench.target, fragment)
        for operand in ("A", "B"):
            said = _treatment(bench, fragment, operand)
            found[f"{fragment.name} {operand}"] = said
            if said not in ((declared,) if declared else (KEPT, FLUSHED)):
                wanted = declared or f"{KEPT} or {FLUSHED}"
                text = f"subnormals of {operand} are {said}, on {bench.target} they are to be {wanted}"
                yield Deviation(text, fragment.name)
    bench.found["subnormals"] = found


def _declared(target: str, fragment: Fragment) -> str:
    """What becomes of subnormals of the fragment's operands; empty where nobody knows: then either is taken, as long as
    it is one of the two."""
    matrix = architecture_of(target).matrix
    if matrix is None:
        return ""
    # Without instructions for 8-bit floats they are multiplied as bf16, where each is a normal number.
    as_bf16 = fragment.a.is_float8 and not matrix.float8
    return KEPT if as_bf16 and matrix.subnormals else matrix.subnormals


def _treatment(bench: Workbench, fragment: Fragment, operand: str) -> str:
    """The smallest subnormal of one operand meets a power of two of the other."""
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
