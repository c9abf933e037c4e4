"""Why bits can be compared: a rigorous bound on every sum, measured on the data, beside what the types hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import ceil, erfc, floor, gcd, isfinite, log2, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from bitgate.exact.factors import factors, gain
from bitgate.exact.fill import FillPlan, make_tensor, terms
from bitgate.exact.native import Measure, measure
from bitgate.exact.probe import shared_axes
from bitgate.exact.tensor import HostTensor
from bitgate.operation import Accumulation, Dtype
from bitgate.operations.convolution import ConvProblem, Pass
from bitgate.record.verdict import Certificate

MEASURABLE = 64 << 20
"""Bytes of a sparse operand that is made on the host only to be measured."""


@dataclass(frozen=True)
class Bound:
    """``value``: no cell's alpha * sum|a||b| + beta * |d| exceeds it; 0 if some are not finite.
    ``integers``: all factors and d0 are. ``measures``: what was found of each tensor."""

    value: int
    integers: bool
    measures: dict[str, Measure]


Measuring = Callable[[str, tuple[int, ...]], Measure]
"""``measuring(name, axes)``: what is known of a tensor, with sums of |v| over all axes but these."""


def measure_bound(problem: ConvProblem, inputs: dict[str, HostTensor]) -> Bound:
    """max|a| times the largest sum|b| that one result cell can meet, through the operation; in integers, rounded up.

    ``inputs`` are the operands as they are multiplied (factors.py), and d0.
    """
    return _bound(problem, lambda name, axes: measure(inputs[name], axes))


def _bound(problem: ConvProblem, measuring: Measuring) -> Bound:
    first, second = problem.operands
    if problem.direction is Pass.BWD_DATA:
        axes: tuple[int, ...] = (0, 2, *range(3, 3 + problem.ndim))
        found = {"out": measuring("out", ()), "wei": measuring("wei", axes)}
        sums = found["out"].largest * _largest_class(problem, found["wei"].sums)
    elif problem.direction is Pass.FWD:
        found = {"in": measuring("in", ()), "wei": measuring("wei", (0, 1))}
        sums = found["in"].largest * float(found["wei"].sums.max())
    else:
        # Either operand may be the one that is summed; x is summed over more cells than any one tap meets.
        found = {name: measuring(name, (0, 2)) for name in (first, second)}
        sums = min(
            found[first].largest * float(found[second].sums.max()),
            found[second].largest * float(found[first].sums.max()),
        )
    bound = problem.op.alpha * min(sums, _few_terms(problem, measuring, found))
    if problem.op.num_d:
        found["d0"] = measuring("d0", ())
        bound += max(1.0, problem.op.beta) * found["d0"].largest
    integers = all(m.fractions == 0 for m in found.values())
    return Bound(ceil(bound) if isfinite(bound) else 0, integers, found)


def _few_terms(problem: ConvProblem, measuring: Measuring, found: dict[str, Measure]) -> float:
    """A bound for operands with zeros: a cell meets no more of one than what shares the cell's own indices."""
    best = float("inf")
    for name, other in zip(problem.operands, reversed(problem.operands), strict=True):
        if found[name].nonzeros < problem.tensors[name].elements:
            sums = measuring(name, shared_axes(problem, name)).sums
            best = min(best, found[other].largest * float(sums.max()))
    return best


def certify(
    problem: ConvProblem, plan: FillPlan, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> Certificate:
    """The certificate of a case's data under a kernel's accumulation contract."""
    inputs = factors(problem, inputs)
    bound = measure_bound(problem, inputs)
    first, second = problem.operands
    cells = {name: inputs[name].tensor.elements for name in (first, second)}
    density = sum(bound.measures[name].nonzeros for name in cells) / sum(cells.values())
    both = prod(bound.measures[name].nonzeros / count for name, count in cells.items())
    notes = [plan.note] if plan.note else []
    if not bound.integers:
        notes.append("data are not integers: no claim of exactness")
    elif bound.value > accumulation.exact_range:
        notes.append(f"sums may reach {bound.value}, exact only to {accumulation.exact_range}")
    if any(bound.measures[name].nonzeros < count for name, count in cells.items()):
        silent, indices = silent_indices(problem, inputs)
        if silent:
            notes.append(f"{silent} of {indices} reduction indices contribute nothing")
    certificate = Certificate(
        bound=bound.value,
        exact_range=accumulation.exact_range,
        density=density,
        sensitivity=both * _survival(problem, bound, both),
        holds=bound.integers and bound.value <= accumulation.exact_range,
        note="; ".join(notes),
    )
    return certificate if has_products(problem) else blind(certificate, NO_PRODUCT)


def certify_plan(problem: ConvProblem, plan: FillPlan, accumulation: Accumulation) -> Certificate:
    """A certificate of integer data that nobody has made on the host: what the plan alone guarantees. Only an operand
    that is sparse, so that its range says too little, is made and measured, if it is small."""

    def measuring(name: str, axes: tuple[int, ...]) -> Measure:
        tensor, fill = problem.tensors[name], plan.of(name)
        if fill.density < 1 and tensor.bytes <= MEASURABLE:
            return measure(factors(problem, {name: make_tensor(tensor, fill, plan.seed)})[name], axes)
        kept = tuple(tensor.lengths[axis] for axis in axes)
        is_operand = name in problem.operands
        largest = fill.range * (gain(problem.operation_of(name)) if is_operand else 1)
        held = not is_operand or largest <= problem.multiplicand(name).exact_integer
        sums = np.full(kept if axes else (0,), float(largest * (tensor.elements // prod(kept))))
        return Measure(largest, round(tensor.elements * fill.density), 0 if held else tensor.elements, sums)

    bound = _bound(problem, measuring)
    both = prod(plan.of(name).density for name in problem.operands)
    cells = {name: problem.tensors[name].elements for name in problem.operands}
    certificate = Certificate(
        bound=bound.value,
        exact_range=accumulation.exact_range,
        density=sum(plan.of(name).density * count for name, count in cells.items()) / sum(cells.values()),
        sensitivity=both * _survival(problem, bound, both),
        holds=bound.integers and bound.value <= accumulation.exact_range,
        note="; ".join([plan.note] * bool(plan.note) + ["by the plan, not measured"]),
    )
    return certificate if has_products(problem) else blind(certificate, NO_PRODUCT)


@lru_cache(maxsize=4096)
def has_products(problem: ConvProblem) -> bool:
    """Does any tap of any output position lie within the input? If none does the result holds no product at all."""
    return all(
        any(
            (first := max(0, -(-(pad - tap * d) // s))) < output and first * s + tap * d - pad < length
            for tap in range(taps)
        )
        for length, output, taps, s, d, pad in zip(
            problem.input,
            problem.output,
            problem.filter,
            problem.stride,
            problem.dilation,
            problem.left_pad,
            strict=True,
        )
    )


NO_PRODUCT = "no product exists: every tap of every position lies in the padding"
ZERO_RESULT = "the expected result is zero in every cell: a kernel that only clears its result passes"


def blind(certificate: Certificate, note: str) -> Certificate:
    """The certificate of data whose result tells nothing of what a kernel sums."""
    said = certificate.note if note in certificate.note else "; ".join(filter(None, (certificate.note, note)))
    return replace(certificate, sensitivity=0.0, note=said)


def silent_indices(problem: ConvProblem, inputs: dict[str, HostTensor]) -> tuple[int, int]:
    """How many reduction indices (group; channel and tap, or image and position) meet no non-zero product, of all."""
    spatial = tuple(range(3, 3 + problem.ndim))
    if problem.direction is Pass.BWD_WEIGHT:
        dy = measure(inputs["out"], (0, 1, *spatial)).sums > 0
        x = measure(inputs["in"], (0, 1, *spatial)).sums > 0
        heard = dy & _seen_by_a_tap(problem, x)
    else:
        name, channel = ("in", 2) if problem.direction is Pass.FWD else ("out", 1)
        factor = measure(inputs[name], (0, 2)).sums > 0  # (g, c) or (g, k)
        weights = measure(inputs["wei"], (0, channel, *spatial)).sums > 0
        heard = weights & factor.reshape(*factor.shape, *(1,) * problem.ndim)
    return int(heard.size - np.count_nonzero(heard)), heard.size


def _seen_by_a_tap(problem: ConvProblem, x: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """For each (g, n, output position): is x non-zero somewhere under the filter?"""
    seen = np.zeros((problem.g, problem.n, *problem.output), np.bool_)
    for tap in product(*(range(f) for f in problem.filter)):
        positions, cells = [], []
        for axis, f in enumerate(tap):
            cell = np.arange(problem.output[axis]) * problem.stride[axis]
            cell += f * problem.dilation[axis] - problem.left_pad[axis]
            inside = (cell >= 0) & (cell < problem.input[axis])
            positions.append(np.flatnonzero(inside))
            cells.append(cell[inside])
        if all(len(p) for p in positions):
            images = [np.arange(problem.g), np.arange(problem.n)]
            seen[np.ix_(*images, *positions)] |= x[np.ix_(*images, *cells)]
    return seen


def _largest_class(problem: ConvProblem, sums: NDArray[np.float64]) -> float:
    """The largest sum over one residue class of taps; ``sums`` is (g, c, filter...). Taps f and f' of an axis meet in
    one cell of dx only if they agree modulo stride / gcd(stride, dilation)."""
    for axis, (f, s, d) in enumerate(zip(problem.filter, problem.stride, problem.dilation, strict=True), 2):
        tildes = s // gcd(s, d)
        starts = range(min(tildes, f))
        index = [slice(None)] * sums.ndim
        classes = []
        for start in starts:
            index[axis] = slice(start, None, tildes)
            classes.append(sums[tuple(index)].sum(axis=axis))
        sums = np.stack(classes, axis=axis)
    return float(sums.max())


def _survival(problem: ConvProblem, bound: Bound, both: float) -> float:
    """Estimated share of non-zero products whose loss changes the rounded output: those not small beside the spacing of
    the output type at the typical size of a sum, in cells that do not saturate."""
    first, second = (bound.measures[name] for name in problem.operands)
    if first.largest == 0 or second.largest == 0 or not isfinite(first.largest * second.largest):
        return 0.0
    factors = (max(1.0, problem.op.alpha) * first.largest, second.largest, both * terms(problem))
    return _visible(*factors, problem.tensors[problem.result].dtype)


@lru_cache(maxsize=4096)
def _visible(first: float, second: float, terms: float, out: Dtype) -> float:
    """The share for factors that are uniform up to ``first`` and ``second``, ``terms`` products a sum."""
    # Sixteen typical sizes of each; integers are at least 1.
    a, b = (np.ceil(largest * np.arange(1, 17) / 16) for largest in (first, second))
    rms = sqrt(terms * float(np.mean(a**2)) * float(np.mean(b**2)))
    spacing = 2.0 ** (floor(log2(max(rms, 1e-300))) - out.mantissa + 1) if out.is_float else 1.0
    share = float(np.minimum(1.0, np.outer(a, b) / spacing).mean())
    return share if out.is_float or rms == 0 else share * (1 - erfc(out.exact_integer / rms / sqrt(2)))
