"""What ABI 1 has no word for."""

from __future__ import annotations

from functools import lru_cache

from bitgate.operation import Problem, parse_case_id

PROBE = "probe"


def crossing(problem: Problem) -> Problem:
    """The problem as a library of ABI 1 is asked about it. Its enumeration of operations and its structure of three
    tensors cannot say that a probe computes nothing: libraries of probes were written for the smallest convolution
    there is in its place. It goes with ABI 2, where an operation crosses by name and tensors are a list."""
    return _one_cell() if problem.operation.name == PROBE else problem


@lru_cache(maxsize=1)
def _one_cell() -> Problem:
    return parse_case_id("fwd_f32_nwgc_g1n1k1c1_y1_h1")
