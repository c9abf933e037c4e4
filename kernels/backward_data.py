"""What the families of backward data declare alike."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from bitgate.kernel import Refusal
from bitgate.operation import ConvProblem, gemms_count

from .limits import MAX_COORDINATE

MAX_SUB_GEMMS = 65536


@lru_cache(maxsize=1024)
def too_large(problem: ConvProblem) -> Refusal | None:
    """The clause index_range, but for the grid."""
    windows = [o + d * (f - 1) for o, d, f in zip(problem.output, problem.dilation, problem.filter, strict=True)]
    padded = [i + p for i, p in zip(problem.input, problem.left_pad, strict=True)]
    largest = max(*windows, *padded, *problem.stride, problem.n, problem.k * prod(problem.filter), problem.c)
    if largest > MAX_COORDINATE:
        return Refusal("index_range", f"a coordinate or a reduction of {largest} is over 2^30")
    if gemms_count(problem) > MAX_SUB_GEMMS:
        return Refusal("index_range", f"{gemms_count(problem)} sub-GEMMs are over {MAX_SUB_GEMMS}")
    return None
