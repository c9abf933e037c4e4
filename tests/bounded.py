"""The bounded reference of a problem with one result, as most tests want it."""

from __future__ import annotations

from bitgate.model import Accumulation, Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.verify.bounds import Bounds, bounded_results


def bounded_reference(
    problem: Problem, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> tuple[HostTensor, Bounds]:
    """The f64 result rounded to the result's type, and the bound of each cell: of ``problem.result``."""
    tensors, bounds = bounded_results(problem, inputs, accumulation)
    return tensors[problem.result], bounds[problem.result]
