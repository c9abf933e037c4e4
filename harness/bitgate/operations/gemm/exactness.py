"""How results of a GEMM are judged."""

from __future__ import annotations

from bitgate.operation.exactness import Exactness


class GemmExactness(Exactness):
    """How results of a GEMM are judged."""
