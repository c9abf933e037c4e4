"""The judging of an operation's results: data, certificates, references and bounds.

A multilinear operation states its ``form``, and all else follows from that; what it overrides is a faster, or a
tighter, way to the same. Any other operation states its fills with their reason, an ``Operation.reference``, and, for
real numbers, a ``bound``. Pure: the core makes data, sums and compares; this module holds what the core cannot know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import UsageError
from bitgate.model.dtype import DTYPES, Dtype
from bitgate.model.elementwise import ELEMENTWISE, Elementwise
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.form import Array, Form
from bitgate.model.host_tensor import HostTensor

if TYPE_CHECKING:
    from bitgate.model.problem import Problem


@dataclass(frozen=True)
class Accumulation:
    """The accumulation contract of a kernel, from which certificates follow.

    ``accumulator`` sums the products. ``partial`` is the type that partial sums are rounded to before the last addition
    (split-K partials or atomics), None if they stay in the accumulator. ``exact_range`` is the largest m such that
    every integer in [-m, m] survives each of these steps. A platform whose matrix cores sum in fewer bits than their
    type states a ``measured_range``. ``flushes_subnormals``: subnormal f16 and bf16 operands may count as zero.
    """

    accumulator: Dtype
    partial: Dtype | None = None
    measured_range: int | None = None
    flushes_subnormals: bool = False

    @property
    def exact_range(self) -> int:
        ranges = [self.accumulator.exact_integer]
        if self.partial is not None:
            ranges.append(self.partial.exact_integer)
        if self.measured_range is not None:
            ranges.append(self.measured_range)
        return min(ranges)


F32_ACCUMULATION = Accumulation(DTYPES["f32"])


@dataclass(frozen=True)
class Measure:
    """The known facts about a tensor's numbers, so that its cells need not be read again.

    Its fields are ``largest`` |v|, the numbers of elements that are not zero and that are not integers, and sums of |v|
    over all axes but those kept (in logical order).
    """

    largest: float
    nonzeros: int
    fractions: int
    sums: NDArray[np.float64]


Measuring = Callable[[str, tuple[int, ...]], Measure]
"""``measuring(role, axes)`` returns the known facts about a tensor, with sums of |v| over all axes but these; none:
no sums."""


Index = tuple[int, ...]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Values = Callable[[str, NDArray[np.uint64]], Ints]
"""``values(role, index)`` returns an operand's integers at flat logical indices."""


class Weights(Protocol):
    """The weight of a result's cell (g, row, channel, place...): a factor of (g, channel) times one of the rest."""

    def of_channel(self, index: NDArray[Any], /) -> Ints:
        """Return the factors of (g, channel), which ``index`` counts."""

    def of_place(self, index: NDArray[Any], /) -> Ints:
        """Return the factors of (g, row, place), which ``index`` counts."""


class Numerics:
    """The questions that the core asks before it compares a result; ``problem`` is of the operation's type."""

    def form(self, problem: Any) -> Form | None:
        """Return the maths without rounding, if it is multilinear in the operands."""
        return None

    # ---- data

    own_fills: tuple[str, ...] = ()
    """Names of fills that only this operation has, so that a case table may name them."""

    def fills(self, problem: Any) -> tuple[Fill, ...]:
        """Return the data that make sense for a problem, the default first."""
        return CORE_FILLS if self.form(problem) is not None else ()

    def operands(self, problem: Any) -> tuple[str, ...]:
        """Return the roles whose elements are multiplied, or summed; all else that is read belongs to the epilogue."""
        return _form(self, problem).operands

    def operation_of(self, problem: Any, operand: str) -> Elementwise:
        """Return the operation that an operand goes through before it is multiplied."""
        return ELEMENTWISE["pass"]

    def multiplicand(self, problem: Any, operand: str) -> Dtype:
        """Return the type that an operand is rounded to before it is multiplied."""
        dtype: Dtype = problem.tensors[operand].dtype
        return dtype

    def epilogue(self, problem: Any) -> Elementwise:
        """Return the operation on the sums before they are rounded to the result's type; it may read ``d0``."""
        return ELEMENTWISE["pass"]

    def terms(self, problem: Any) -> int:
        """Return the largest number of products in one cell."""
        return _terms(self, problem)

    def slices(self, problem: Any) -> int:
        """Return the requested number of parts of a sum, whose partial sums meet in memory; -1: the kernel chooses."""
        return 1

    def has_products(self, problem: Any) -> bool:
        """Return whether any cell is a sum of anything; if none is, the result proves nothing about a kernel's sums."""
        return self.terms(problem) > 0

    def sparse_operand(self, problem: Any) -> str:
        """Return the operand that gets zeros where sums would be too large: more cells see its reduction indices."""
        return self.operands(problem)[-1]

    def endless_operand(self, problem: Any, seed: int) -> str:
        """Return the operand that may hold NaN and infinities: the one that a border pads, if one does.

        Where the other operand holds them, a kernel that multiplies the padding's zeros gives NaN and one that leaves
        them out does not. Where nothing is padded each seed has another operand, as a kernel may leave out what is
        multiplied by a zero.
        """
        operands = self.operands(problem)
        return operands[seed % len(operands)]

    # ---- probes

    def probed_operands(self, problem: Any) -> tuple[str, ...]:
        """Return the operands in the order in which seeds put the ones of a probe into them."""
        return self.operands(problem)

    def shared_axes(self, problem: Any, operand: str) -> Index:
        """Return the axes of an operand that the result has too: ones that differ in them meet no common cell."""
        return _form(self, problem).shared_axes(operand)

    def met(self, problem: Any, hot: str, one: Index, cell: Index) -> Index | None:
        """Return the element of the other operand that a result cell multiplies with element ``one`` of ``hot``.

        None: the cell is outside that element's receptive field.
        """
        form = _form(self, problem)
        at = dict(zip(form.axes[hot], one, strict=True))
        for name, index in zip(form.axes[form.result], cell, strict=True):
            if at.setdefault(name, index) != index:
                return None
        return tuple(at[name] for role in form.operands if role != hot for name in form.axes[role])

    # ---- certificates

    def largest_sum(self, problem: Any, measuring: Measuring) -> float | None:
        """Return a bound of every cell's sum of magnitudes, from the operands' measures; None: use the form."""
        return None

    def silent_indices(self, problem: Any, measuring: Measuring) -> tuple[int, int]:
        """Return how many indices of the reduction meet no product that is not zero, and the number of all indices."""
        form = _form(self, problem)
        heard = np.ones((), np.bool_)
        for role in form.operands:
            axes = tuple(form.axes[role].index(name) for name in form.summed)
            heard = heard & _in_order(measuring(role, tuple(sorted(axes))).sums > 0, axes)
        return int(heard.size - np.count_nonzero(heard)), heard.size

    # ---- references

    def exact(
        self,
        problem: Any,
        inputs: Mapping[str, HostTensor],
        results: Mapping[str, HostTensor],
        dtype: np.dtype[Any],
        threads: int,
    ) -> bool:
        """Write the results of integers of which ``dtype``, f32 or f64, holds every sum; ``inputs`` are the operands as
        they are multiplied, and d0. False: the core applies the form, or the reference."""
        return False

    states_order = False
    """True if naive kernels keep an order of summation; ``ordered_sums`` then gives it."""

    def ordered_sums(self, problem: Any, arrays: Mapping[str, Array], accumulator: Dtype, threads: int) -> Array | None:
        """Return the sums in the order that the operation states for naive kernels; None: there is no such order.

        Operands and sums are in logical order; sums use explicit fma in the accumulator's type (i32 wraps).
        """
        return None

    def bound(
        self, problem: Any, inputs: Mapping[str, Array], accumulation: Accumulation
    ) -> Mapping[str, NDArray[np.float64]] | None:
        """Return how far each cell of each result may be from ``Operation.reference`` before it is rounded.

        This is for operations without a form. An output that is left out is compared by bits. None: no bound is stated,
        and real numbers are compared with nothing.
        """
        return None

    def beside_padding(self, problem: Any, endless: Callable[[str], Array], threads: int) -> Mask | None:
        """Return a mask of cells with a term in the padding whose other factor is NaN or infinite: they may be NaN as
        well.

        ``endless(role)`` flags such elements, 1.0 or 0.0. None: there are none.
        """
        return None

    # ---- checksums

    def checksum_cost(self, problem: Any) -> int | None:
        """Return the number of operand cells that the checksum identity reads; None: there is no identity."""
        return None

    def checksum(self, problem: Any, weights: Weights, values: Values) -> Iterator[int]:
        """Yield parts of the sum, modulo 2^64, of the result under the weights, from the operands alone."""
        raise UsageError(f"{problem.operation} states no checksum identity")


def _form(numerics: Numerics, problem: Problem) -> Form:
    form = numerics.form(problem)
    if form is None:
        raise UsageError(f"{problem.operation} is not multilinear: it has no sums to plan or to bound")
    return form


@lru_cache(maxsize=4096)
def _terms(numerics: Numerics, problem: Problem) -> int:
    lengths = {role: tensor.lengths for role, tensor in problem.tensors.items()}
    return _form(numerics, problem).terms(lengths)


def _in_order(flags: Mask, axes: Index) -> Mask:
    """Transpose flags whose axes are sorted to the order of ``axes``."""
    places = sorted(axes)
    return np.asarray(np.transpose(flags, [places.index(axis) for axis in axes]) if axes else flags.all())
