"""What is said of results of a convolution."""

from __future__ import annotations

from bitgate.operation.insight import Insight


class ConvolutionInsight(Insight):
    """What is said of results of a convolution."""
