"""How declarations spell in C++ what their generated translation units register."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.kernel import element
from bitgate.operation import DtypeSet

WAVES = {64: "", 32: "_w32"}
"""Lanes of a wave -> how names end of what is for them alone."""

FWD, BWD_DATA, BWD_WEIGHT = ("inp", "wei", "out"), ("out", "wei", "inp"), ("out", "inp", "wei")
"""The tensors of a convolution that an implicit GEMM takes as A, B and C."""


def types(dtypes: str, matrices: Sequence[str] = FWD) -> str:
    """The elements of A, B and C, and the factors of A and B where they are rounded to others."""
    stated = DtypeSet.parse(dtypes)
    elements = [element(getattr(stated, tensor).name) for tensor in matrices]
    factors = [element(stated.compute.name)] * 2 if stated.compute else []
    return f"Types<{', '.join(elements + factors)}>"
