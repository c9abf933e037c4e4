"""What is said of results of a GEMM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bitgate.model.diagnostics import Diagnostics, tensor_line
from bitgate.ops.gemm.laws import LAWS
from bitgate.ops.gemm.problem import GemmProblem
from bitgate.ops.gemm.rules import RULES

NAMES: Mapping[str, str] = {"in": "A", "wei": "B", "out": "C"}

_TRACED = {"in": "n_c", "wei": "k_c", "out": "n_k"}
"""Axes of A, B and C behind the batch, in the letters of a convolution without space, as traces have them."""


class GemmDiagnostics(Diagnostics):
    """What is said of results of a GEMM."""

    rules = RULES
    laws = LAWS

    def names(self, problem: GemmProblem) -> Mapping[str, str]:
        return NAMES

    def letters(self, problem: GemmProblem, role: str) -> str:
        return {"in": "bmk", "wei": "bnk"}.get(role, problem.result_letters)

    def neighbours(self, problem: GemmProblem) -> Sequence[int]:
        """The columns of C; the batch has a rule of its own."""
        return (2,)

    def adds_to_result(self, problem: GemmProblem) -> bool:
        """Slices of a split reduction meet in the result."""
        return problem.split_k > 1

    def tensor_lines(self, problem: GemmProblem) -> list[str]:
        """``in_g_n_c: dim 3, ..``: each tensor in logical order, without the batch where it is 1."""
        lines = []
        for name, tensor in problem.tensors.items():
            axes = _TRACED[name if name in _TRACED else problem.result]
            lengths, strides = tensor.lengths, tensor.strides
            if problem.batch == 1:
                lines.append(tensor_line(f"{name}_{axes}", lengths[1:], strides[1:]))
            else:
                lines.append(tensor_line(f"{name}_g_{axes}", lengths, strides))
        return lines
