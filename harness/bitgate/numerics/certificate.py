"""Certificates, which say why bits can be compared: a rigorous bound on every sum, measured on the data, and the exact
ranges of the types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, erfc, floor, isfinite, log2, prod, sqrt

import numpy as np

from bitgate.model import Accumulation, Dtype, Problem
from bitgate.model.gap import packed
from bitgate.model.host_tensor import HostTensor
from bitgate.model.numerics import Measure, Measuring
from bitgate.numerics import sampled
from bitgate.numerics.fill import FillPlan, fill_named, make_tensor
from bitgate.numerics.native import measure
from bitgate.numerics.rounding import factors, gain_of
from bitgate.results.record.verdict import Certificate

MEASURABLE = 64 << 20
"""Largest size in bytes of a sparse operand that is made on the host only to be measured."""


@dataclass(frozen=True)
class Bound:
    """A bound on the sums of a case: no cell's |alpha| * sum|a||b| + |beta| * |d|, counted in the units of its
    operation (``Elementwise.unit``), nor its bare sum exceeds ``value``, which is 0 if some are not finite.
    ``integers`` is true if all factors and d0 are integers; ``measures`` holds the figures of each tensor.
    """

    value: int
    integers: bool
    measures: dict[str, Measure]


def measure_bound(problem: Problem, inputs: Mapping[str, HostTensor]) -> Bound:
    """Return the largest sum of magnitudes that one result cell can meet, through the epilogue; in integers, rounded
    up.

    ``inputs`` are the operands as they are multiplied (rounding.py), and d0.
    """
    with np.errstate(over="ignore"):  # sums of f64 may leave f64; an infinite bound bounds nothing, and is 0
        return _bound(problem, lambda name, axes: measure(inputs[name], axes), inputs)


def _bound(problem: Problem, measuring: Measuring, inputs: Mapping[str, HostTensor] | None = None) -> Bound:
    """Return the bound from measures; without ``inputs``, the tensors, the range of each operand has to suffice."""
    numerics = problem.operation.numerics
    measured: dict[str, Measure] = {}

    def remembered(name: str, axes: tuple[int, ...]) -> Measure:
        found = measuring(name, axes)
        measured.setdefault(name, found)
        return found

    sums = numerics.largest_sum(problem, remembered)
    found = {name: measured.get(name) or measuring(name, ()) for name in numerics.operands(problem)}
    if sums is None:
        sums = _sum_by_form(problem, found, inputs)
    op = numerics.epilogue(problem).in_units
    bound = op.alpha * sums
    if op.num_d:
        found["d0"] = measuring("d0", ())
        bound += op.d_factor * found["d0"].largest
    integers = all(m.fractions == 0 for m in found.values())
    return Bound(ceil(bound) if isfinite(bound) else 0, integers, found)


def _sum_by_form(problem: Problem, found: Mapping[str, Measure], inputs: Mapping[str, HostTensor] | None) -> float:
    numerics = problem.operation.numerics
    form = numerics.form(problem)
    if form is None or inputs is None or not all(isfinite(one.largest) for one in found.values()):
        return numerics.terms(problem) * prod(one.largest for one in found.values())
    return form.largest_sum({name: inputs[name].logical for name in found})


def certify(problem: Problem, plan: FillPlan, inputs: dict[str, HostTensor], accumulation: Accumulation) -> Certificate:
    """Return the certificate of a case's data under a kernel's accumulation contract.

    Raises UsageError as ``check_claim`` does.
    """
    check_claim(problem, plan, inputs, accumulation)
    return measured_certificate(problem, plan, inputs, accumulation)


def check_claim(problem: Problem, plan: FillPlan, inputs: dict[str, HostTensor], accumulation: Accumulation) -> None:
    """Raise UsageError if an operation's own reference refutes what the operation claims of the data: exact bits."""
    if problem.operation.numerics.form(problem) is not None:
        return
    fill = fill_named(problem, plan.fill)
    if fill.exact:
        # Packed: gaps of results may be larger than the host's memory.
        sampled.check_claim(packed(problem), inputs, accumulation, fill.name)


def measured_certificate(
    problem: Problem, plan: FillPlan, inputs: dict[str, HostTensor], accumulation: Accumulation
) -> Certificate:
    """Return the certificate of data whose claim has been checked."""
    numerics = problem.operation.numerics
    if numerics.form(problem) is None:
        return _certify_by_reason(problem, plan, inputs, accumulation)
    inputs = factors(problem, inputs)
    bound = measure_bound(problem, inputs)
    cells = {name: inputs[name].tensor.elements for name in numerics.operands(problem)}
    density = sum(bound.measures[name].nonzeros for name in cells) / sum(cells.values())
    kept = prod(bound.measures[name].nonzeros / count for name, count in cells.items())
    notes = [plan.note] if plan.note else []
    op = numerics.epilogue(problem)
    if not bound.integers:
        notes.append("data are not integers: no claim of exactness")
    elif not op.unit:
        notes.append(f"{' '.join(op.words)} rounds what it multiplies: no claim of exactness")
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
        sensitivity=kept * _survival(problem, bound, kept),
        holds=_holds(problem, bound, accumulation),
        note="; ".join(notes),
    )
    return certificate if has_products(problem) else blind(certificate, NO_PRODUCT)


def _certify_by_reason(
    problem: Problem, plan: FillPlan, inputs: Mapping[str, HostTensor], accumulation: Accumulation
) -> Certificate:
    """Return the certificate of data that the operation itself vouches for, with the sensitivity measured by its
    reference. No sum is bounded."""
    fill = fill_named(problem, plan.fill)
    lost = sampled.losses(packed(problem), inputs, plan.seed)
    note = f"{fill.reason}; {lost.text}"
    return Certificate(0, accumulation.exact_range, sampled.density(inputs), lost.sensitivity, fill.exact, note)


def certify_plan(problem: Problem, plan: FillPlan, accumulation: Accumulation) -> Certificate:
    """Return the certificate of integer data that are not made on the host: what the plan alone guarantees.

    Only a small operand that is sparse, so that its range says too little, is made and measured. Without a form the
    operation itself vouches for the data.
    """
    numerics = problem.operation.numerics
    operands = numerics.operands(problem)
    cells = {name: problem.tensors[name].elements for name in operands}
    density = sum(plan.of(name).density * count for name, count in cells.items()) / sum(cells.values())
    if numerics.form(problem) is None:
        named = fill_named(problem, plan.fill)
        note = f"{named.reason}; {sampled.UNTRIED.text}"
        return Certificate(0, accumulation.exact_range, density, sampled.UNTRIED.sensitivity, named.exact, note)

    def measuring(name: str, axes: tuple[int, ...]) -> Measure:
        tensor, fill = problem.tensors[name], plan.of(name)
        if fill.density < 1 and tensor.bytes <= MEASURABLE:
            return measure(factors(problem, {name: make_tensor(tensor, fill, plan.seed)})[name], axes)
        kept = tuple(tensor.lengths[axis] for axis in axes)
        largest = fill.range * (gain_of(problem, name) if name in operands else 1)
        held = name not in operands or largest <= numerics.multiplicand(problem, name).exact_integer
        sums = np.full(kept if axes else (0,), float(largest * (tensor.elements // prod(kept))))
        return Measure(largest, round(tensor.elements * fill.density), 0 if held else tensor.elements, sums)

    bound = _bound(problem, measuring)
    kept = prod(plan.of(name).density for name in operands)
    certificate = Certificate(
        bound=bound.value,
        exact_range=accumulation.exact_range,
        density=density,
        sensitivity=kept * _survival(problem, bound, kept),
        holds=_holds(problem, bound, accumulation),
        note="; ".join([plan.note] * bool(plan.note) + ["by the plan, not measured"]),
    )
    return certificate if has_products(problem) else blind(certificate, NO_PRODUCT)


def _holds(problem: Problem, bound: Bound, accumulation: Accumulation) -> bool:
    """Return whether every number is exact up to the last rounding."""
    is_exact = problem.operation.numerics.epilogue(problem).unit > 0
    return is_exact and bound.integers and bound.value <= accumulation.exact_range


def has_products(problem: Problem) -> bool:
    """Return whether any cell of the result is a sum of anything; True for operations that are no sums."""
    numerics = problem.operation.numerics
    return numerics.form(problem) is None or numerics.has_products(problem)


NO_PRODUCT = "no product exists: every tap of every position lies in the padding"
ZERO_RESULT = "the expected result is zero in every cell: a kernel that only clears its result passes"


def blind(certificate: Certificate, note: str) -> Certificate:
    """Return the certificate of data whose result does not depend on what a kernel sums."""
    full_note = certificate.note if note in certificate.note else "; ".join(filter(None, (certificate.note, note)))
    return replace(certificate, sensitivity=0.0, note=full_note)


def silent_indices(problem: Problem, inputs: Mapping[str, HostTensor]) -> tuple[int, int]:
    """Return the number of indices of the reduction that meet no non-zero product, and of all."""
    return problem.operation.numerics.silent_indices(problem, lambda name, axes: measure(inputs[name], axes))


def few_terms(problem: Problem, measuring: Measuring, found: Mapping[str, Measure]) -> float:
    """Return a bound on sums of two operands with zeros: a cell meets only those of one that share the cell's own
    indices.

    The bound is infinite where neither operand has zeros.
    """
    numerics = problem.operation.numerics
    operands = numerics.operands(problem)
    best = float("inf")
    for name, other in zip(operands, reversed(operands), strict=True):
        if found[name].nonzeros < problem.tensors[name].elements:
            sums = measuring(name, numerics.shared_axes(problem, name)).sums
            best = min(best, found[other].largest * float(sums.max()))
    return best


def _survival(problem: Problem, bound: Bound, kept: float) -> float:
    """Return the estimated share of non-zero products whose loss changes the rounded output.

    Those are the products that are not small compared with the spacing of the output type at the typical size of a sum,
    in cells that do not saturate. ``kept`` is the share of products that are not zero.
    """
    numerics = problem.operation.numerics
    first, *rest = (bound.measures[name].largest for name in numerics.operands(problem))
    second = prod(rest)
    alpha = abs(numerics.epilogue(problem).alpha)
    if alpha == 0 or first == 0 or second == 0 or not isfinite(first * second):
        return 0.0
    sizes = (max(1.0, alpha) * first, second, kept * numerics.terms(problem))
    return _visible(*sizes, problem.tensors[problem.result].dtype)


@lru_cache(maxsize=4096)
def _visible(first: float, second: float, terms: float, out: Dtype) -> float:
    """Return the share for factors that are uniform up to ``first`` and ``second``, ``terms`` products a sum."""
    # Sixteen typical sizes of each; integers are at least 1.
    a, b = (np.ceil(largest * np.arange(1, 17) / 16) for largest in (first, second))
    rms = sqrt(terms * float(np.mean(a**2)) * float(np.mean(b**2)))
    spacing = 2.0 ** (floor(log2(max(rms, 1e-300))) - out.mantissa + 1) if out.is_float else 1.0
    share = float(np.minimum(1.0, np.outer(a, b) / spacing).mean())
    return share if out.is_float or rms == 0 else share * (1 - erfc(out.exact_integer / rms / sqrt(2)))
