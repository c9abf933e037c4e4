"""Numerics of operations that multiply and sum two operands (model/contraction.py): the problem answers the questions
that the core asks of any operation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.model.contraction import Contraction
from bitgate.model.dtype import Dtype
from bitgate.model.elementwise import Elementwise
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import Numerics


class ContractionNumerics(Numerics):
    """The part of the numerics that convolution and GEMM share."""

    states_order = True

    def fills(self, problem: Contraction) -> tuple[Fill, ...]:
        """Return the core's; where alpha or beta rounds no bits are claimed."""
        rounds = not problem.op.unit
        return tuple(replace(fill, exact=fill.exact and not rounds) for fill in CORE_FILLS) if rounds else CORE_FILLS

    def operands(self, problem: Contraction) -> tuple[str, ...]:
        return problem.operands

    def operation_of(self, problem: Contraction, operand: str) -> Elementwise:
        return problem.operation_of(operand)

    def multiplicand(self, problem: Contraction, operand: str) -> Dtype:
        return problem.multiplicand(operand)

    def epilogue(self, problem: Contraction) -> Elementwise:
        return problem.op

    def slices(self, problem: Contraction) -> int:
        return problem.split_k

    def probed_operands(self, problem: Contraction) -> tuple[str, ...]:
        """Return the operands in the order of seeds: even ones put the ones into x, dy or A, odd ones into w or B (of
        bwd_weight into dy)."""
        return tuple(sorted(problem.operands, key=lambda name: name == "wei"))

    # ---- references

    @staticmethod
    @abstractmethod
    def write_exact(
        problem: Any, inputs: Mapping[str, HostTensor], result: HostTensor, dtype: np.dtype[Any], threads: int
    ) -> None:
        """Store the result of integers, with sums that ``dtype`` holds; ``inputs`` are the operands as multiplied, and
        d0."""

    def exact(
        self,
        problem: Contraction,
        inputs: Mapping[str, HostTensor],
        results: Mapping[str, HostTensor],
        dtype: np.dtype[Any],
        threads: int,
    ) -> bool:
        self.write_exact(problem, inputs, results[problem.result], dtype, threads)
        return True
