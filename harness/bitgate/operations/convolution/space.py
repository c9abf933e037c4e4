"""The problems that a convolution has."""

from __future__ import annotations

from bitgate.operation.space import Space


class ConvolutionSpace(Space):
    """The problems that a convolution has."""
