"""Sum, maximum, or maximum and its place, along one axis."""

from bitgate.operations.reduction.operation import OPERATIONS
from bitgate.operations.reduction.problem import Kind, ReductionProblem, types_of

__all__ = ["OPERATIONS", "Kind", "ReductionProblem", "types_of"]
