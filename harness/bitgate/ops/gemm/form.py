"""Batched GEMM without rounding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from bitgate.model.form import Array, Form


class GemmForm(Form):
    """C[b,m,n] = sum_k A[b,m,k] * B[b,n,k]; B's logical order is (batch, N, K)."""

    axes = MappingProxyType({"in": ("b", "m", "k"), "wei": ("b", "n", "k"), "out": ("b", "m", "n")})
    result = "out"

    def apply(self, arrays: Mapping[str, Array]) -> Array:
        return np.asarray(np.einsum("bmk,bnk->bmn", arrays["in"], arrays["wei"]))
