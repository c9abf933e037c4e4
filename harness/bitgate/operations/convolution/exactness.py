"""How results of a convolution are judged."""

from __future__ import annotations

from bitgate.operation.exactness import Exactness


class ConvolutionExactness(Exactness):
    """How results of a convolution are judged."""
