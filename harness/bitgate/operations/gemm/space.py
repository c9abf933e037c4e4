"""The problems that a GEMM has."""

from __future__ import annotations

from bitgate.operation.space import Space


class GemmSpace(Space):
    """The problems that a GEMM has."""
