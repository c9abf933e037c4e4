"""How results of a GEMM are judged."""

from __future__ import annotations

from collections.abc import Iterator

from bitgate.model.measure import Measuring
from bitgate.model.numerics import Values, Weights
from bitgate.numerics.certificate import few_terms
from bitgate.numerics.contraction import ContractionNumerics
from bitgate.ops.gemm import checksum, reference
from bitgate.ops.gemm.form import GemmForm
from bitgate.ops.gemm.problem import GemmProblem

_FORM = GemmForm()


class GemmNumerics(ContractionNumerics):
    """What the form says, faster: nothing but the sums of a row is other than the default."""

    def form(self, problem: GemmProblem) -> GemmForm:
        return _FORM

    def terms(self, problem: GemmProblem) -> int:
        return problem.k

    def largest_sum(self, problem: GemmProblem, measuring: Measuring) -> float:
        """max|A| times the largest sum|B| of a column."""
        found = {"in": measuring("in", ()), "wei": measuring("wei", (0, 1))}
        sums = found["in"].largest * float(found["wei"].sums.max())
        return min(sums, few_terms(problem, measuring, found))

    write_exact = staticmethod(reference.write_exact)
    ordered_sums = staticmethod(reference.ordered_sums)

    def checksum_cost(self, problem: GemmProblem) -> int:
        return checksum.cost(problem)

    def checksum(self, problem: GemmProblem, weights: Weights, values: Values) -> Iterator[int]:
        return checksum.parts(problem, weights, values)
