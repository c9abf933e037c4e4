"""Fills: the numbers that a case is fed with, a function of (seed, tensor name, logical index) only."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from math import ceil, isqrt, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.core.errors import NoBoundError, UsageError
from bitgate.model import Accumulation, Operation, Problem, Tensor, operations
from bitgate.model.fill import CORE_FILLS, Fill
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics import counter, native, one_hot
from bitgate.numerics.rounding import gain_of
from bitgate.numerics.special import Special, specials
from bitgate.numerics.stated import stated_data

FILLS = tuple(fill.name for fill in CORE_FILLS)
"""The fills that the core makes; ``fill_names`` are all that a case may request."""

DECIMAL = "decimal"

# Fewer distinct values than these are worth a word: permuted data may then look alike.
_PLENTY = 4


@dataclass(frozen=True)
class TensorFill:
    """The kind of data of one tensor, and its parameters.

    ``integer``: the non-zero integers of [-range, range], each cell kept with probability ``keep`` / 2^32, else 0.
    ``real``: uniform in [-1, 1), rounded to the tensor's type. ``special``: integers, but every ``spacing``-th cell
    holds one of the bit patterns ``specials``, cycling through them. ``codes``: every bit pattern of the type, one
    after the other. ``hot``: ones at the indices of a probe. ``distinct``: the integers from 1 to range, repeated.
    ``stated``: made by the operation.
    """

    kind: str
    range: int = 1
    keep: int = counter.FULL_DENSITY
    spacing: int = 1
    specials: tuple[int, ...] = ()

    @property
    def density(self) -> float:
        return self.keep / counter.FULL_DENSITY


@dataclass(frozen=True)
class FillPlan:
    """The fill of each tensor; ``note`` says what was reduced so that sums stay exact, empty if nothing was."""

    fill: str
    seed: int
    tensors: tuple[tuple[str, TensorFill], ...]
    note: str = ""

    def of(self, name: str) -> TensorFill:
        return dict(self.tensors)[name]


def fill_names() -> tuple[str, ...]:
    """Return the fills of all operations, those that the core makes first."""
    return _fill_names(tuple(operations().values()))


@lru_cache(maxsize=4)
def _fill_names(every: tuple[Operation, ...]) -> tuple[str, ...]:
    own = (name for operation in every for name in operation.numerics.own_fills)
    return tuple(dict.fromkeys((*FILLS, *own)))


def fill_named(problem: Problem, name: str) -> Fill:
    """Return the problem's fill of that name.

    Raises UsageError that names the known fills, and NoBoundError for real numbers that the operation states no bound
    for.
    """
    every = {fill.name: fill for fill in problem.operation.numerics.fills(problem)}
    if name not in every and name == DECIMAL and problem.operation.numerics.form(problem) is None:
        raise NoBoundError(f"no bound stated: {problem.operation} has no fill of real numbers and no bound for them")
    if name not in every:
        near = get_close_matches(name, every, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"unknown fill '{name}': {hint}known are {', '.join(every)}")
    return every[name]


def is_stored(problem: Problem, name: str) -> bool:
    """Return whether the suites' files have digests of what the problem gives on that fill."""
    return any(fill.name == name and fill.is_stored for fill in problem.operation.numerics.fills(problem))


@lru_cache(maxsize=64)
def plan_fill(problem: Problem, accumulation: Accumulation, fill: str = "exact", seed: int = 0) -> FillPlan:
    """Plan ranges and densities of the operands and of d0. Raises UsageError for a fill that the problem does not have.

    Plans are cached, since the cases of a problem follow each other.
    """
    named = fill_named(problem, fill)
    alike = _alike(problem, named)
    if alike is not None:
        read = (name for name in problem.tensors if name not in problem.outputs)
        return FillPlan(fill, seed, tuple((name, alike) for name in read), named.reason)
    exact = _plan_exact(problem, accumulation, seed)
    if fill == "exact":
        return exact
    if fill == "special":
        return plan_special(problem, seed)
    if fill == "probe":
        return _plan_probe(problem, accumulation, exact)
    changed = {"decimal": TensorFill("real"), "codes": TensorFill("codes")}[fill]
    tensors = problem.tensors
    # Decimals are for floats; D tensors stay as they are next to operands that hold every code.
    keeps = {name for name, _ in exact.tensors if not tensors[name].dtype.is_float} if fill == "decimal" else {"d0"}
    return FillPlan(fill, seed, tuple((name, own if name in keeps else changed) for name, own in exact.tensors))


def _alike(problem: Problem, named: Fill) -> TensorFill | None:
    """Return the fill of every tensor that is read, where none is planned by the sums that it meets in."""
    if named.make is not None:
        return TensorFill("stated")
    if named.integers is not None:
        stated = named.integers(problem)
        return TensorFill("integer", stated.range, round(stated.share * counter.FULL_DENSITY))
    if named.name == DECIMAL and problem.operation.numerics.form(problem) is None:
        return TensorFill("real")
    return None


def make_inputs(problem: Problem, plan: FillPlan, threads: int | None = None) -> dict[str, HostTensor]:
    """Make the operands and, if the epilogue reads one, d0; padding holds GAP_PATTERN."""
    if any(own.kind == "stated" for _, own in plan.tensors):
        return stated_data(problem, fill_named(problem, plan.fill), plan.seed, [name for name, _ in plan.tensors])
    return {name: _make_input(problem, name, own, plan.seed, threads) for name, own in plan.tensors}


def _make_input(problem: Problem, name: str, own: TensorFill, seed: int, threads: int | None) -> HostTensor:
    if own.kind == "hot":
        return one_hot.make_hot(problem, name, seed)
    if own.kind == "distinct":
        return one_hot.make_distinct(problem, name, own.range, seed)
    return make_tensor(problem.tensors[name], own, seed, threads)


def make_tensor(tensor: Tensor, fill: TensorFill, seed: int, threads: int | None = None) -> HostTensor:
    host = HostTensor.empty(tensor)
    write_tensor(host, fill, seed, threads)
    return host


def write_tensor(host: HostTensor, fill: TensorFill, seed: int, threads: int | None = None) -> None:
    """Fill the cells of a tensor that has its memory already; its padding stays as it is."""
    tensor = host.tensor
    stream = counter.stream(seed, tensor.name)
    if fill.kind == "integer":
        # Elements of up to two bytes are looked up; wider ones are converted natively and need no table.
        span = fill.range if tensor.dtype.bytes <= 2 else 0
        table = np.arange(-span, span + 1).astype(tensor.dtype.numpy)
        native.fill_integers(host, stream, fill.range, fill.keep, table, threads)
    elif fill.kind != "real" or not native.fill_reals(host, stream, threads):
        host.bits[...] = definition(tensor, fill, seed).view(tensor.dtype.bits)


def definition(tensor: Tensor, fill: TensorFill, seed: int) -> NDArray[Any]:
    """Return what ``make_tensor`` stores, in logical order, by numpy alone. A broadcast axis (stride 0) counts as index
    0."""
    index = np.zeros(tensor.lengths, np.uint64)
    for axis, stride in enumerate(tensor.strides):
        if stride != 0:
            shape = [1] * len(tensor.lengths)
            shape[axis] = -1
            steps = np.arange(tensor.lengths[axis], dtype=np.uint64) * np.uint64(prod(tensor.lengths[axis + 1 :]))
            index += steps.reshape(shape)
    stream = counter.stream(seed, tensor.name)
    words = counter.words(stream, index)
    if fill.kind == "codes":
        return _codes(tensor, index, words)
    if fill.kind == "special":
        integers = counter.integers(words, fill.range, fill.keep).astype(tensor.dtype.numpy)
        turn = index // np.uint64(fill.spacing) % np.uint64(len(fill.specials))
        patterns = np.array(fill.specials, tensor.dtype.bits)[turn.astype(np.intp)]
        here = index % np.uint64(fill.spacing) == np.uint64(stream % fill.spacing)
        return np.where(here, patterns, integers.view(tensor.dtype.bits)).view(tensor.dtype.numpy)
    if fill.kind == "integer":
        values: NDArray[Any] = counter.integers(words, fill.range, fill.keep)
    elif tensor.dtype.name == "f64":
        values = counter.real64(words)
    else:
        values = counter.real32(words)
    return values.astype(tensor.dtype.numpy)


def _codes(tensor: Tensor, index: NDArray[np.uint64], words: counter.Words) -> NDArray[Any]:
    """Return the index itself, modulo the number of codes, where the tensor has room for all; else 1, then the words'
    upper bits."""
    bits = 8 * tensor.dtype.bytes
    if bits <= 16 and tensor.elements >= 2**bits:
        patterns = index
    else:
        one = np.ones((), tensor.dtype.numpy).view(tensor.dtype.bits).astype(np.uint64)
        patterns = np.where(index == 0, one, words >> np.uint64(64 - bits))
    return patterns.astype(tensor.dtype.bits).view(tensor.dtype.numpy)


def _plan_exact(problem: Problem, accumulation: Accumulation, seed: int) -> FillPlan:
    numerics, tensors = problem.operation.numerics, problem.tensors
    limit, op, reduction = accumulation.exact_range, numerics.epilogue(problem), numerics.terms(problem)
    operands = numerics.operands(problem)
    units = op.in_units
    alpha, enlarged = ceil(units.alpha), max(1, ceil(abs(op.alpha)))
    d_fills: tuple[tuple[str, TensorFill], ...] = ()
    if op.num_d:
        beta = max(1, ceil(units.d_factor))
        d = TensorFill("integer", max(1, min(tensors["d0"].dtype.preferred, 16, limit // (8 * beta))))
        d_fills = (("d0", d),)
        limit -= beta * d.range
    for name in operands:
        alpha, enlarged = alpha * gain_of(problem, name), enlarged * gain_of(problem, name)
    reduction = max(1, reduction)
    budget = limit // alpha // reduction
    caps = tuple(_largest(problem, name) for name in operands)
    comfort = tensors[problem.result].dtype.comfortable / enlarged
    ranges = _ranges(max(1, budget), caps, comfort, reduction)
    notes: list[str] = []
    if any(range_ < min(cap, _PLENTY) for range_, cap in zip(ranges, caps, strict=True)):
        notes.append(f"range lowered to {' x '.join(map(str, ranges))}")
    keep, why = _density(limit // alpha, budget, reduction, comfort if set(ranges) == {1} else float("inf"))
    if why:
        notes.append(why)
    sparse = numerics.sparse_operand(problem)
    fills = tuple(
        (name, TensorFill("integer", range_, keep if name == sparse else counter.FULL_DENSITY))
        for name, range_ in zip(operands, ranges, strict=True)
    )
    return FillPlan("exact", seed, fills + d_fills, "; ".join(notes))


def _plan_probe(problem: Problem, accumulation: Accumulation, exact: FillPlan) -> FillPlan:
    """Plan the operands of a probe, next to the d0 of the exact fill."""
    names = problem.operation.numerics.operands(problem)
    rest = tuple((name, own) for name, own in exact.tensors if name not in names)
    hot, values = one_hot.plan_probe(problem, accumulation, exact.seed, max((own.range for _, own in rest), default=0))
    kinds = {name: "hot" if name == hot else "distinct" for name in names}
    operands = tuple((name, TensorFill(kinds[name], values[name])) for name in names)
    return FillPlan("probe", exact.seed, operands + rest)


def _largest(problem: Problem, operand: str) -> int:
    """Return the largest integer for an operand that every type holds on its way to the multiplication."""
    factor = problem.operation.numerics.multiplicand(problem, operand)
    own = min(problem.tensors[operand].dtype.preferred, factor.preferred)
    return min(own, factor.exact_integer // gain_of(problem, operand))


def _ranges(budget: int, caps: tuple[int, ...], comfort: float, reduction: int) -> tuple[int, ...]:
    """Return ranges, as equal as their caps allow, with a product of at most ``budget`` and sums with a root mean
    square of at most ``comfort``."""
    ranges = _balanced(budget, caps)
    while max(ranges) > 1 and _rms(ranges, reduction) > comfort:
        largest = ranges.index(max(ranges))
        ranges = (*ranges[:largest], ranges[largest] - 1, *ranges[largest + 1 :])
    return ranges


def _balanced(budget: int, caps: tuple[int, ...]) -> tuple[int, ...]:
    """Return ranges, each at most its cap and their product at most the budget; what one leaves to its cap another may
    take."""
    if len(caps) == 1:
        return (min(caps[0], budget),)
    root = isqrt(budget) if len(caps) == 2 else int(budget ** (1 / len(caps)))
    first = max(1, min(caps[0], root))
    rest = _balanced(budget // first, caps[1:])
    return min(caps[0], budget // prod(rest)), *rest


def _rms(ranges: tuple[int, ...], reduction: int) -> float:
    return sqrt(prod(map(_mean_square, ranges), start=float(reduction)))


def _mean_square(range_: int) -> float:
    """Return the mean square of the non-zero integers of [-range, range], as in a ``TensorFill`` of full density."""
    return (range_ + 1) * (2 * range_ + 1) / 6


def _density(limit: int, budget: int, reduction: int, comfort: float) -> tuple[int, str]:
    """Return the threshold of the sparse operand when all values are +-1: full, unless sums would be inexact or
    overflow."""
    full = counter.FULL_DENSITY
    if limit < 1:
        return full, f"no sum fits an exact range of {limit}: not exact"
    terms, why = float(reduction), ""
    if budget < 1:
        # Non-zero terms of a cell are binomial: their mean plus six standard deviations stays within the limit.
        terms, why = (sqrt(9 + limit) - 3) ** 2, f"sums of {reduction} terms stay within {limit}"
    if comfort**2 < terms:
        terms, why = comfort**2, "most outputs stay within their type's range"
    if not why:
        return full, ""
    keep = max(1, int(full * terms / reduction))
    return keep, f"density lowered to {keep / full:.3g} so that {why}"


_FEW_TERMS = 2
"""Integers that a result cell sums on average under ``special``."""
_SMALL_FACTORS = 2
"""Largest integer of the other operand: half of them are units, so that an extreme number passes as it is."""
_D_SPACING = 23


def plan_special(problem: Problem, seed: int) -> FillPlan:
    """Plan small integers, few of them in one operand, so that many a cell sums little but specials.

    NaN and infinities are only in that operand (of convolutions x, dy for bwd_data) and in d0. Where the other operand
    held them, a kernel that multiplies the padding's zeros would give NaN and one that leaves them out would not, and
    both are right. They are few enough to leave half of the result finite.
    """
    endless = problem.operation.numerics.endless_operand(problem, seed)
    fills = tuple(
        (name, _special(problem, tensor, "d" if name == "d0" else "endless" if name == endless else "other", seed))
        for name, tensor in problem.tensors.items()
        if name not in problem.outputs
    )
    return FillPlan("special", seed, fills, "small integers and the edges of each type")


def _special(problem: Problem, tensor: Tensor, role: str, seed: int) -> TensorFill:
    numerics = problem.operation.numerics
    most = max(1, numerics.terms(problem))
    factor = tensor.dtype if role == "d" else numerics.multiplicand(problem, tensor.name)
    cells = prod(n for n, stride in zip(tensor.lengths, tensor.strides, strict=True) if stride != 0)
    # One cell of an operand reaches at most the share most / cells of the result.
    endless = {"endless": cells // (2 * most), "other": 0, "d": cells // 8}[role]
    chosen = _chosen(specials(tensor.dtype, factor), endless, seed)
    few = min(1.0, _FEW_TERMS / most) if role == "endless" else 1.0
    return TensorFill(
        "special",
        range=_SMALL_FACTORS if role == "other" else min(tensor.dtype.preferred, factor.preferred),
        keep=int(few * counter.FULL_DENSITY),
        spacing=_spacing(min(cells // len(chosen), _D_SPACING if role == "d" else most)),
        specials=tuple(special.bits for special in chosen),
    )


def _chosen(every: tuple[Special, ...], endless: int, seed: int) -> tuple[Special, ...]:
    """Return at most ``endless`` numbers that are not finite, beginning with another one for each seed, and all finite
    ones."""
    others = [special for special in every if not special.finite]
    first = seed % max(1, len(others))
    turned = others[first:] + others[:first]
    return (*turned[:endless], *(special for special in every if special.finite))


def _spacing(most: int) -> int:
    """Return a spacing of at most ``most`` and at least 2, free of small factors, so that it falls in step with no
    axis."""
    spacing = max(2, most)
    while any(spacing % factor == 0 for factor in (2, 3, 5, 7) if factor != spacing):
        spacing -= 1
    return spacing
