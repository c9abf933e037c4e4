"""What is asked of a GEMM by code that still speaks of convolutions: it goes with the last line that asks.

As maths a GEMM is the forward convolution without space: x = A with N = M, C = K; w = B with K = N; y = C. N, M and K
themselves mean other sizes there, so they are not among these.
"""

from __future__ import annotations


class AsConvolution:
    """Answers of a problem that has ``batch`` and ``k``."""

    batch: int
    k: int

    direction = "fwd"
    wei_layout = ""
    filter = input = output = stride = dilation = left_pad = right_pad = ()
    strided = False

    @property
    def g(self) -> int:
        return self.batch

    @property
    def c(self) -> int:
        return self.k

    @property
    def reduction(self) -> int:
        return self.k
