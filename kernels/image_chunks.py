"""Split-N: in how many equal chunks of images a kernel takes a problem, so that each stays within some bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isqrt

from bitgate.kernel import ANY_INTEGER, Option
from bitgate.operation import ConvProblem, Tensor

from .channels_last import channels_last

SPLIT_N = Option(
    "split_n_bytes",
    ANY_INTEGER,
    str(2**31),
    "split-N: images are taken in equal chunks, as few as keep a chunk's input and output within this many bytes.",
    drawn=("1", "256", "4096", "65536"),
)


def split_n(problem: ConvProblem, options: Mapping[str, str]) -> int:
    """Chunks of images."""
    return image_chunks(problem, int(options.get(SPLIT_N.name, SPLIT_N.production)))


@lru_cache(maxsize=1024)
def image_chunks(problem: ConvProblem, threshold: int) -> int:
    """The least divisor of N such that a chunk of that many parts spans at most ``threshold`` bytes of the input and of
    the output, as the kernel sees them. N if even single images are larger."""
    tensors = channels_last(problem).tensors
    chunks = problem.n
    for divisor in range(1, isqrt(problem.n) + 1):
        if problem.n % divisor == 0:
            if _span(tensors, problem.n // divisor) <= threshold:
                return divisor
            if _span(tensors, divisor) <= threshold:
                chunks = problem.n // divisor
    return chunks


def _span(tensors: Mapping[str, Tensor], images: int) -> int:
    """Bytes between the first and the last cell of some images of one group, whatever lies between."""
    spans = []
    for tensor in (tensors["in"], tensors["out"]):
        lengths = (images, *tensor.lengths[2:])
        corner = sum((n - 1) * stride for n, stride in zip(lengths, tensor.strides[1:], strict=True))
        spans.append((corner + 1) * tensor.dtype.bytes)
    return max(spans)
