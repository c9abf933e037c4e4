"""What is said of results of a GEMM."""

from __future__ import annotations

from bitgate.operation.insight import Insight


class GemmInsight(Insight):
    """What is said of results of a GEMM."""
