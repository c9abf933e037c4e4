"""Batched GEMM with an epilogue."""

from bitgate.ops.gemm.operation import OPERATIONS
from bitgate.ops.gemm.problem import GEMM_LAYOUTS, GemmProblem, gemm_problem

__all__ = ["GEMM_LAYOUTS", "OPERATIONS", "GemmProblem", "gemm_problem"]
