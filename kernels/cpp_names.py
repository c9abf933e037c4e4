"""How declarations spell in C++ what their generated translation units register."""

from __future__ import annotations

from collections.abc import Sequence

from bitgate.kernel import element
from bitgate.operation import DtypeSet

WAVES = {64: "", 32: "_w32"}
"""Lanes of a wave -> how names end of what is for them alone."""

FWD, BWD_DATA, BWD_WEIGHT = ("in", "wei", "out"), ("out", "wei", "in"), ("out", "in", "wei")
"""The tensors of a convolution that an implicit GEMM takes as A, B and C."""

F16_IN_F8_OUT_BF8 = tuple(f"f16_ctinf8{flavour}_ctoutbf8{flavour}" for flavour in ("ocp", "fnuz"))
F16_WEI_F8_OUT_BF8 = tuple(f"f16_ctweif8{flavour}_ctoutbf8{flavour}" for flavour in ("ocp", "fnuz"))
"""CK's ``f16_comp_bf8_f8`` of backward weight and backward data: f16 tensors, dy multiplied as bf8, the other as f8."""


def types(dtypes: str, matrices: Sequence[str] = FWD) -> str:
    """The elements of A, B and C, and the factors of A and B where they are rounded to others."""
    stated = DtypeSet.parse(dtypes)
    factors = map(stated.multiplicand, matrices[:2]) if stated.compute or stated.own else ()
    return f"Types<{', '.join(element(dtype.name) for dtype in (*map(stated.of, matrices), *factors))}>"
