"""How results of a convolution are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from bitgate.model import DTYPES
from bitgate.model.form import Array
from bitgate.model.measure import Measuring
from bitgate.model.numerics import Index, Mask, Values, Weights
from bitgate.numerics.contraction import ContractionNumerics
from bitgate.ops.convolution import checksum, ordered, reference, sums
from bitgate.ops.convolution.form import POSITIONS, ConvolutionForm
from bitgate.ops.convolution.problem import ConvProblem, Pass
from bitgate.ops.convolution.window import third

BESIDE_PADDING = {
    Pass.FWD: ("in", "wei", 1, 2),
    Pass.BWD_DATA: ("out", "wei", 2, 2),
    Pass.BWD_WEIGHT: ("in", "out", 2, 1),
}
"""The operand that the border pads, the other one, and where that and the result have the channel that they share."""


class ConvolutionNumerics(ContractionNumerics):
    """One for all three passes: the problem says which it is."""

    def form(self, problem: ConvProblem) -> ConvolutionForm:
        return _form(problem)

    # ---- data

    def terms(self, problem: ConvProblem) -> int:
        return sums.terms(problem)

    def has_products(self, problem: ConvProblem) -> bool:
        return sums.has_products(problem)

    def sparse_operand(self, problem: ConvProblem) -> str:
        if problem.direction is Pass.BWD_WEIGHT:
            return "out" if problem.k >= problem.c else "in"
        return "wei"

    def endless_operand(self, problem: ConvProblem, seed: int) -> str:
        return "out" if problem.direction is Pass.BWD_DATA else "in"

    def met(self, problem: ConvProblem, hot: str, one: Index, cell: Index) -> Index | None:
        other = next(name for name in problem.operands if name != hot)
        axes = self.form(problem).axes
        at = dict(zip(axes[hot][:3], one, strict=False))
        for name, index in zip(axes[problem.result][:3], cell, strict=False):
            if at.setdefault(name, index) != index:
                return None
        lengths = problem.tensors[other].lengths
        element = [at[name] for name in axes[other][:3]]
        for axis in range(problem.ndim):
            known = {POSITIONS[hot]: one[3 + axis], POSITIONS[problem.result]: cell[3 + axis]}
            place = third(problem, axis, known)
            if place is None or not 0 <= place < lengths[3 + axis]:
                return None
            element.append(place)
        return tuple(element)

    # ---- certificates

    def largest_sum(self, problem: ConvProblem, measuring: Measuring) -> float:
        return sums.largest_sum(problem, measuring)

    def silent_indices(self, problem: ConvProblem, measuring: Measuring) -> tuple[int, int]:
        return sums.silent_indices(problem, measuring)

    # ---- references

    write_exact = staticmethod(reference.write_exact)
    ordered_sums = staticmethod(ordered.sums)

    def beside_padding(self, problem: ConvProblem, endless: Callable[[str], Array], threads: int) -> Mask | None:
        """Of backward data every tap counts, whether or not its class meets the cell."""
        padded, other, channels, result_channels = BESIDE_PADDING[problem.direction]
        flags = endless(other)
        if not flags.any():
            return None
        ones = np.broadcast_to(1.0, problem.tensors[padded].lengths)
        inside = ordered.sums(problem, {padded: ones, other: flags}, DTYPES["f64"], threads)
        every = flags.sum(axis=tuple(axis for axis in range(1, flags.ndim) if axis != channels))
        shape = [1] * inside.ndim
        shape[0], shape[result_channels] = every.shape
        return np.asarray(inside < every.reshape(shape))

    # ---- checksums

    def checksum_cost(self, problem: ConvProblem) -> int:
        return checksum.cost(problem)

    def checksum(self, problem: ConvProblem, weights: Weights, values: Values) -> Iterator[int]:
        return checksum.parts(problem, weights, values)


@lru_cache(maxsize=256)
def _form(problem: ConvProblem) -> ConvolutionForm:
    return ConvolutionForm(problem)
