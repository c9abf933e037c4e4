"""Sum, maximum, or maximum and its place, along one axis."""

from bitgate.ops.reduction.operation import OPERATIONS
from bitgate.ops.reduction.problem import Kind, ReductionProblem, types_of

__all__ = ["OPERATIONS", "Kind", "ReductionProblem", "types_of"]
