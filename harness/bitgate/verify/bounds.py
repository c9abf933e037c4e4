"""Bounds for results whose bits depend on the order of summation: each cell may be off by what its own sum can lose.

A cell sums n products with magnitude S = sum |a||b|. A kernel that accumulates with unit roundoff u loses at most
(n + 4) * u * S in any order; 4 is for the element-wise operation. Each partial sum in a narrower type adds one
rounding of that type, and the last rounding adds half a unit of the result's type. There is no global tolerance: a
border cell with few terms gets a small bound. Operands are first rounded to what they are multiplied as
(numerics/rounding.py): that rounding is part of the definition, not an error.

Some cells are held to more or to less (docs/exactness.md states the rules). Cells are compared by bits where all terms
are integers within the accumulator's exact range, and by class where the result is NaN or infinite. They are not
compared where several huge terms meet and the accumulator may or may not overflow on the way. A cell may also be NaN
where its window reaches into the padding and the other factor is infinite there. On targets that flush subnormals, it
may also be NaN where a subnormal meets an infinity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bitgate.core import paths
from bitgate.core.errors import NoBoundError, UsageError
from bitgate.model import Accumulation, Dtype, Elementwise, Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import bits_of, parts
from bitgate.numerics.ordered import sums, through_epilogue
from bitgate.numerics.rounding import factors, flushed, largest, rounded, smallest, smallest_normal
from bitgate.numerics.stated import defined, rounded_to, stated_bounds
from bitgate.verify.poison import poison_bits, unwritten

OPERATION_STEPS = 4
MOST_PARTIALS = 128
"""The most partial sums that an automatically split reduction has: CK's cap."""

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class Judge(Protocol):
    """A decision on which cells of a result are wrong, where that is more than a comparison of bits."""

    def outside(self, result: Array) -> Mask: ...


@dataclass(frozen=True, eq=False)
class Bounds:
    """The f64 result (``value``) and how far each cell may be from it (``slack``), both in logical order."""

    value: NDArray[np.float64]
    slack: NDArray[np.float64]
    reference: Array
    """The value rounded to the result's type."""
    dtype: Dtype
    exact: Mask
    """Cells that are compared by bits."""
    open: Mask
    """Cells that may hold anything: whether the accumulator overflows depends on the order."""
    nan: Mask
    """Cells that may also be NaN: a kernel may multiply an infinity by a zero of the padding, or by a subnormal that
    was flushed to zero."""

    def outside(self, result: Array) -> Mask:
        """Return a mask, true where a cell is farther from the value than it may be, or of another class."""
        found = np.empty_like(result, np.bool_)
        fields = (self.value, self.slack, self.reference, self.exact, self.open, self.nan)
        for cells, value, slack, reference, exact, open_cells, nan, outside in parts(result, *fields, found):
            part = Bounds(value, slack, reference, self.dtype, exact, open_cells, nan)
            outside[...] = part._outside(cells)
        return found

    def _outside(self, result: Array) -> Mask:
        """Return the mask of a part: the computation holds several copies in f64."""
        most = largest(self.dtype)
        finite = np.isfinite(self.value)
        with np.errstate(invalid="ignore"):
            wide = result.astype(np.float64)
            inside = np.abs(wide - self._held_to) <= self.slack
            if not self.dtype.is_float8:
                overflow = np.isinf(wide) & (np.sign(wide) == np.sign(self.value))
                inside |= overflow & (np.abs(self.value) + self.slack > most)
            same_class = (wide == self.reference.astype(np.float64)) | (np.isnan(wide) & np.isnan(self.reference))
        is_same = bits_of(result) == bits_of(self.reference)
        inside = np.where(self.exact, is_same, np.where(finite, inside, same_class))
        inside |= self.nan & np.isnan(wide)
        inside &= ~unwritten(bits_of(result), self.dtype) | is_same
        return np.asarray(~(inside | self.open))

    @cached_property
    def _held_to(self) -> NDArray[np.float64]:
        """The value within the type's range: an 8-bit float ends at its largest number, others at infinity."""
        if not self.dtype.is_float8:
            return self.value
        most = largest(self.dtype)
        return np.where(np.isfinite(self.value), np.clip(self.value, -most, most), 0.0)

    @cached_property
    def is_loose(self) -> bool:
        """True if a result that is zero in every cell would lie within the bounds, which then show nothing."""
        return not self.outside(np.zeros_like(self.reference)).any()

    def error(self, result: Array) -> dict[str, float]:
        """Return how far off finite cells are, as in ``Verdict.error``; empty if there is none."""
        with np.errstate(invalid="ignore", over="ignore"):
            wide = result.astype(np.float64)
            counted = np.isfinite(self.value) & np.isfinite(wide) & ~self.open
        value, slack = self._held_to[counted], self.slack[counted]
        off = wide[counted] - value
        with np.errstate(over="ignore"):
            size = float(np.sqrt(np.mean(np.square(value)))) if value.size else 0.0
        if size == 0.0 or not np.isfinite(size):
            return {}
        share = np.divide(np.abs(off), slack, out=np.zeros_like(off), where=slack > 0)
        return {"rms": float(np.sqrt(np.mean(np.square(off)))) / size, "of_bound": float(share.max())}


@dataclass(frozen=True, eq=False)
class NanClass:
    """A comparison by bits in which every NaN equals every other, since NaN payloads differ between platforms. A cell
    that was never written is wrong even where its poison is a NaN."""

    reference: Array
    poison: int
    second_poison: int | None = None
    """The poison of a second launch."""

    def outside(self, result: Array) -> Mask:
        """Return a mask, true where bits differ, except where both are NaN."""
        ours, theirs = bits_of(result), bits_of(self.reference)
        both = np.isnan(result) & np.isnan(self.reference)
        for poison in (self.poison, self.second_poison):
            if poison is not None:
                both &= ours != ours.dtype.type(poison)
        return np.asarray((ours != theirs) & ~both)


def bounded_results(
    problem: Problem, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> tuple[dict[str, HostTensor], dict[str, Bounds]]:
    """Return the f64 outputs by role, rounded to their types, and the bounds of those that are not compared by bits.

    Integers are exact or wrong: UsageError for a form that gives them. An operation that states a bound and leaves them
    out has them compared by bits. Raises NoBoundError where no bound is stated, also for an output next to that of the
    form.
    """
    is_float = any(problem.tensors[role].dtype.is_float for role in problem.outputs)
    if problem.operation.numerics.form(problem) is None:
        try:
            return _stated(problem, inputs, accumulation)
        except NoBoundError:
            if is_float:
                raise
            raise NoBoundError(
                f"no bound stated: {problem.operation} gives integers: take a fill that claims exact bits"
            ) from None
    if not is_float:
        raise UsageError(f"{problem.dtypes}: only float results have bounds; use --fill exact")
    tensor, own = _derived(problem, inputs, accumulation)
    tensors, bounds = _stated(problem, inputs, accumulation) if len(problem.outputs) > 1 else ({}, {})
    return {**tensors, problem.result: tensor}, {**bounds, problem.result: own}


def _derived(problem: Problem, inputs: dict[str, HostTensor], accumulation: Accumulation) -> tuple[HostTensor, Bounds]:
    own = problem.tensors[problem.result]
    terms = _Terms(problem, factors(problem, inputs), accumulation.accumulator)
    op = problem.operation.numerics.epilogue(problem)
    value, magnitude = terms.through_epilogue(_as_is), terms.through_epilogue(_finite_magnitude, op.of_magnitudes)
    # As a sum is before alpha makes it small, and in the fractions that alpha and beta make of integers.
    largest_on_way = magnitude
    if op.in_units != op:
        largest_on_way = terms.through_epilogue(_finite_magnitude, op.in_units)
    unit = 2.0**-accumulation.accumulator.mantissa
    # The f64 reference rounds as well; it counts only where the kernel sums in f64 too.
    length = problem.operation.numerics.terms(problem) + OPERATION_STEPS
    steps = length * (unit + 2.0**-53)
    partials = _partials(problem)
    if accumulation.partial is not None:
        steps += partials * 2.0**-accumulation.partial.mantissa  # each is rounded, and so is each sum of two
    with np.errstate(invalid="ignore", over="ignore"):
        enlarged = max(1.0, abs(op.alpha))
        slack = steps * magnitude + enlarged * length * smallest(accumulation.accumulator)
        if partials > 1:  # slices meet by atomics in memory, and those of GPUs take a subnormal for zero
            slack += enlarged * OPERATION_STEPS * partials * smallest_normal(accumulation.accumulator)
        if accumulation.flushes_subnormals:
            slack += magnitude - terms.through_epilogue(_flushed_magnitude, op.of_magnitudes)
        slack += 2.0**-own.dtype.mantissa * (np.abs(value) + slack) + smallest(own.dtype)
    reference = HostTensor.empty(own)
    reference.logical[...] = rounded(value, own.dtype)
    exact = terms.integers() & (largest_on_way <= accumulation.exact_range) & (op.unit > 0)
    anything = terms.overflow(largest_on_way, accumulation.accumulator)
    if accumulation.partial is not None:
        anything |= terms.overflow(largest_on_way, accumulation.partial)
    nan = terms.beside_padding()
    if accumulation.flushes_subnormals:
        nan |= terms.flushed_beside_infinity()
    return reference, Bounds(value, slack, reference.logical, own.dtype, exact, anything, nan)


class CellView(Protocol):
    """A transformation of the cells of a tensor, given its type."""

    def __call__(self, cells: NDArray[np.float64], dtype: Dtype, /) -> NDArray[np.float64]: ...


def _stated(
    problem: Problem, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> tuple[dict[str, HostTensor], dict[str, Bounds]]:
    """Compute outputs by the operation's own reference, and bounds by its own bound of each cell plus the last
    rounding.

    A cell is round-safe, and compared by bits, if both ends of its bound are rounded to one pattern: everything between
    them then rounds to it, too.
    """
    cells = {name: host.logical.astype(np.float64) for name, host in inputs.items()}
    values = defined(problem, cells)
    tensors = {role: rounded_to(problem, role, value) for role, value in values.items()}
    bounds = {}
    for role, slack in stated_bounds(problem, cells, accumulation, values).items():
        own, value = problem.tensors[role], values[role]
        safe = _round_safe(value, slack, own.dtype)
        slack = slack + 2.0**-own.dtype.mantissa * (np.abs(value) + slack) + smallest(own.dtype)
        none = np.zeros(own.lengths, np.bool_)
        bounds[role] = Bounds(value, slack, tensors[role].logical, own.dtype, safe, none, none)
    return tensors, bounds


def round_safe(bounds: Mapping[str, Bounds]) -> str:
    """Return a sentence on how many cells with a bound are nevertheless compared by bits, and how many may be zero."""
    cells = sum(one.exact.size for one in bounds.values())
    safe = sum(int(np.count_nonzero(one.exact)) for one in bounds.values())
    loose = sum(int(np.count_nonzero(~one.outside(np.zeros_like(one.reference)))) for one in bounds.values())
    if not cells:
        return ""
    text = f"{safe} of {cells} cells are round-safe: compared by bits"
    return f"{text}; the bounds of {loose} admit zero" if loose else text


def _round_safe(value: NDArray[np.float64], slack: NDArray[np.float64], dtype: Dtype) -> Mask:
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = (bits_of(rounded(value + end, dtype)) for end in (-slack, slack))
    return np.asarray((low == high) & np.isfinite(value))


def _partials(problem: Problem) -> int:
    """Return the number of slices of a sum that meet in memory: as the problem asks, or at most when the kernel
    chooses."""
    slices = problem.operation.numerics.slices(problem)
    return slices if slices > 0 else MOST_PARTIALS


MOST_KEPT = 1 << 26
"""Bytes of an f64 operand that is kept for its next use; larger ones are made anew."""


class _Terms:
    """Sums over the terms of each result cell, in f64, with the factors transformed by a view."""

    def __init__(self, problem: Problem, inputs: dict[str, HostTensor], accumulator: Dtype) -> None:
        self._problem = problem
        self._numerics = problem.operation.numerics
        self._operands = self._numerics.operands(problem)
        self._inputs = inputs
        self._accumulator = accumulator
        self._cached: dict[str, NDArray[np.float64]] = {}

    def through_epilogue(self, view: CellView, op: Elementwise | None = None) -> NDArray[np.float64]:
        """Return the sums of all factors, and d0, seen through ``view``, as the epilogue, or ``op``, leaves them."""
        cells = {name: self._transformed(name, view) for name in self._inputs}
        return through_epilogue(self._problem, self._run(cells), cells, op=op)

    def integers(self) -> Mask:
        """Return a mask of the cells whose terms, and d0, are all integers."""
        limit = self._accumulator.exact_integer

        def odd(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
            with np.errstate(invalid="ignore"):
                return np.asarray(~((np.trunc(cells) == cells) & (np.abs(cells) <= limit)), np.float64)

        operands = {name: self._transformed(name, odd) for name in self._operands}
        if any(cells.mean() > 0.5 for cells in operands.values()):  # such as decimals: hardly any cell is without one
            return self._none()
        found = self._counted(operands)
        if "d0" in self._inputs:
            found += self._transformed("d0", odd)
        return np.asarray(found == 0)

    def overflow(self, magnitude: NDArray[np.float64], kind: Dtype) -> Mask:
        """Return a mask of the cells in which the order decides whether sums of type ``kind`` overflow, and to which
        side.

        There huge terms meet each other, or an infinity. One huge term alone overflows or does not; but where alpha
        makes sums smaller, an overflow leaves a finite value.
        """
        most = largest(kind)
        root = np.sqrt(most)

        def huge(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
            with np.errstate(invalid="ignore"):
                return np.asarray((np.abs(cells) >= root) & np.isfinite(cells), np.float64)

        near = magnitude > most / 4
        if not near.any() or abs(self._numerics.epilogue(self._problem).alpha) < 1:
            return near
        met, infinite = self._count(huge), self._count(_endless)
        if "d0" in self._inputs:
            met, infinite = (
                counted + self._transformed("d0", view) for counted, view in ((met, huge), (infinite, _endless))
            )
        return near & ((met >= 2) | ((met >= 1) & (infinite >= 1)))

    def beside_padding(self) -> Mask:
        """Return a mask of the cells with a term in the padding whose other factor is NaN or infinite."""
        found = self._numerics.beside_padding(
            self._problem, lambda name: self._transformed(name, _endless), paths.threads()
        )
        return self._none() if found is None else found

    def flushed_beside_infinity(self) -> Mask:
        """Return a mask of the cells with a term of an infinity and a subnormal that a matrix instruction may take for
        zero."""
        met = np.zeros(self._lengths)
        for tiny in self._operands:
            for huge in self._operands:
                if tiny == huge:
                    continue
                flags = {tiny: self._transformed(tiny, _flushed), huge: self._transformed(huge, _infinite)}
                if flags[tiny].any() and flags[huge].any():
                    met += self._run(self._ones() | flags)
        return np.asarray(met > 0)

    def _count(self, view: CellView) -> NDArray[np.float64]:
        """Return the number of terms in which either factor shows in ``view``; those in which both do count twice."""
        return self._counted({name: self._transformed(name, view) for name in self._operands})

    def _counted(self, flagged: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Count terms as ``_count`` does, of factors that were transformed already."""
        count = np.zeros(self._lengths)
        for name, flags in flagged.items():
            if flags.any():
                count += self._run(self._ones() | {name: flags})
        return count

    def _ones(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.broadcast_to(1.0, self._inputs[name].tensor.lengths) for name in self._operands}

    def _none(self) -> Mask:
        return np.zeros(self._lengths, np.bool_)

    @property
    def _lengths(self) -> tuple[int, ...]:
        return self._problem.tensors[self._problem.result].lengths

    def _run(self, cells: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return sums(self._problem, cells)

    def _transformed(self, name: str, view: CellView) -> NDArray[np.float64]:
        host = self._inputs[name]
        cells = self._cached.get(name)
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            if cells is None:
                cells = host.logical.astype(np.float64)
                cells.flags.writeable = False
                if cells.nbytes <= MOST_KEPT:
                    self._cached[name] = cells
            return view(cells, host.tensor.dtype)


def _as_is(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
    return cells


def _endless(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
    return np.asarray(~np.isfinite(cells), np.float64)


def _infinite(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
    return np.asarray(np.isinf(cells), np.float64)


def _flushed(cells: NDArray[np.float64], dtype: Dtype) -> NDArray[np.float64]:
    return np.asarray((_finite_magnitude(cells, dtype) != _flushed_magnitude(cells, dtype)), np.float64)


def _finite_magnitude(cells: NDArray[np.float64], _: Dtype) -> NDArray[np.float64]:
    return np.where(np.isfinite(cells), np.abs(cells), 0.0)


def _flushed_magnitude(cells: NDArray[np.float64], dtype: Dtype) -> NDArray[np.float64]:
    return flushed(_finite_magnitude(cells, dtype), dtype)


def nan_class(reference: HostTensor, poison: int) -> NanClass | None:
    """Return the judge of a reference that holds a NaN, or None where bits decide."""
    holds = reference.tensor.dtype.is_float and bool(np.isnan(reference.logical).any())
    return NanClass(reference.logical, poison, poison_bits(reference.tensor.dtype, 1)) if holds else None
