"""Rules on sums of products: the end of a reduction is missing, or D in the result's own buffer was overwritten.

Operations call them with the products of a cell. The tools to compute sums again are here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bitgate.model import Elementwise, Problem
from bitgate.model.elementwise import applied
from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import Array, bits_of
from bitgate.numerics.rounding import rounded
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.scene import Scene, take

Floats = NDArray[np.float64]
Index = tuple[int, ...]


class Summed(Problem, Protocol):
    """A problem in which each cell of the result is a sum of products, followed by an element-wise operation."""

    @property
    def op(self) -> Elementwise:
        """The element-wise operation on the sum."""


S = TypeVar("S", bound=Summed)

Terms: TypeAlias = Callable[[S, Mapping[str, Array], Index], Floats]
"""The products of one cell in f64; 0 where there is none."""

CELLS = 48
PRODUCTS = 4_000_000
"""The most products that a rule computes, over all sampled cells."""


def cells_at_most(products: int) -> int:
    """Return the number of cells that a rule may examine if each takes ``products`` products."""
    return max(4, min(CELLS, PRODUCTS // max(1, products)))


def finish(problem: Summed, inputs: Mapping[str, Array], cell: Index, sums: Floats) -> Array:
    """Return the bits of sums of products in the result's type, after the problem's element-wise operation.

    They are exact as long as the sums are: there is one rounding, the last.
    """
    op = problem.op
    d0 = float(inputs["d0"][cell]) if op.num_d else 0.0
    return bits_of(rounded(applied_to(op, np.asarray(sums), d0), problem.tensors[problem.result].dtype))


def applied_to(op: Elementwise, sums: Floats, d: float) -> Floats:
    """Return sums after an element-wise operation, in f64."""
    return applied(op, sums, np.asarray(d))


ENOUGH = 8
"""Cells that all lengths of a tail cannot agree with by chance."""
DIGITS = 14
"""Bits that the wrong cells must have together, eight of which choose among the tails."""
KEPT_SHARE, DIFFERENT = 4, 4
"""Wrong cells that hold D are reported from a fourth of them on, if their numbers are not few."""
LONGEST = 256
"""The longest tail that is tried, in terms of the reduction."""


@dataclass(frozen=True)
class SumOrder:
    """An order in which a kernel may run over the products of a cell.

    ``words`` say what the ``length`` steps are; ``sequence`` returns the steps' sums for a cell of the result. ``why``
    returns words for what would leave out a number of the last steps; empty if nothing is known that does. ``others``
    are lengths of the problem that a kernel may take for this one, by their names.
    """

    order: str
    words: str
    length: int
    sequence: Callable[[Index], Floats]
    why: Callable[[int], str] = lambda missing: ""
    others: Mapping[str, int] = field(default_factory=dict)


def lost_end(scene: Scene[S], reductions: Sequence[SumOrder]) -> Finding | None:
    """Return the finding for a reduction that lacks its end: channels that do not fill a vector or a K block (#12089).

    ``reductions`` are the orders in which the end may be lost, the simpler one first.
    """
    if not scene.inputs:
        return None
    limit = cells_at_most(max(reduction.length for reduction in reductions))
    for reduction in reductions:
        missing = _common_tail(scene, reduction, limit)
        if missing and (scene.count >= ENOUGH or not _in_last_place(scene)) and not _is_chance(scene):
            evidence = {"missing": missing, "of": reduction.length, "order": reduction.order}
            text = _tail_sentence(missing, reduction, scene.split_k)
            # As sure as a mistake that gives every cell, unless there are few cells for the lengths that are tried.
            score = 0.985 if scene.count >= ENOUGH else 0.97
            implied = frozenset({"other", "zero"})
            return Finding("k_tail", Role.CAUSE, score, text, evidence, implied, examined=min(limit, scene.count))
    return None


def _is_chance(scene: Scene[S]) -> bool:
    """Return whether the digits of the wrong cells are too few to choose one of the tails that are tried."""
    digits = scene.dtype.mantissa if scene.dtype.is_float else 8 * scene.dtype.bytes
    return scene.count * digits < DIGITS


def _in_last_place(scene: Scene[S]) -> bool:
    """Return whether the wrong cells are so near to the right ones that some tail gives each of them by chance."""
    wrong, right = scene.wrong_result.astype(np.float64), scene.wrong_reference.astype(np.float64)
    return scene.dtype.is_float and bool(
        (np.abs(wrong - right) <= 2.0 ** (2 - scene.dtype.mantissa) * np.abs(right)).all()
    )


def _tail_sentence(missing: int, reduction: SumOrder, slices: int) -> str:
    length = reduction.length
    vector = next((v for v in (64, 32, 16, 8, 4, 2) if v < length and length % v == missing), None)
    why = f"{length} mod {vector} = {missing}" if vector else ""
    if slices > 1 and length % slices == missing:
        why = f"{length} mod {slices} slices = {missing}: slices of {length // slices} do not reach the end"
    why = reduction.why(missing) or why
    ends = [f"it ends at {name} = {other}" for name, other in reduction.others.items() if length - missing == other]
    why = format_list([*([why] if why else []), *ends], "or")
    text = f"the last {missing} of {length} {reduction.words} are missing from the sums of the wrong cells"
    return f"{text} ({why})" if why else text


def _common_tail(scene: Scene[S], reduction: SumOrder, limit: int) -> int | None:
    """Return the one tail length that explains every sampled wrong cell, None if there is none.

    A cell that is zero without its tail agrees, and shows nothing: half of the cells must have something left.
    """
    agree = np.ones(LONGEST, np.bool_)
    telling = np.zeros(LONGEST, np.int64)
    seen = 0
    for cell in scene.sample(limit):
        matches, left = _tails(scene, cell, reduction)
        size = min(agree.size, matches.size)  # the cells' sums may be of different lengths
        agree = agree[:size] & matches[:size]
        telling = telling[:size] + left[:size]
        seen += 1
        if not agree.any():
            return None
    agree &= 2 * telling >= seen
    return int(agree.argmax()) + 1 if seen and agree.any() else None


def _tails(scene: Scene[S], cell: Index, reduction: SumOrder) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for r = 1, 2, ... whether the cell is the sum without the last r terms, and whether a non-zero one is
    left."""
    true = scene.true_cell(cell)
    sequence = reduction.sequence(true)
    longest = min(LONGEST, sequence.size - 1)
    whole = sequence.sum()
    without = whole - np.cumsum(sequence[::-1])[:longest]
    bits = finish(scene.problem, scene.inputs, true, without)
    found: Array = bits_of(scene.result[cell].reshape(1))
    left = np.count_nonzero(sequence) - np.cumsum(sequence[::-1] != 0)[:longest]
    # A 0 agrees with every sum that an operation such as relu clears.
    return np.asarray(bits == found[0]), np.asarray(left > 0) & bool(scene.result[cell] != 0)


def aliased_d(scene: Scene[S], terms: Terms[S]) -> Finding | None:
    """Find what became of a D in the result's own buffer, from the contents of the wrong cells."""
    if not scene.problem.op.in_place or "d0" not in scene.inputs:
        return None
    d = np.asarray(scene.inputs["d0"])
    if scene.channels is not None:
        d = take(d, scene.channels, scene.channel_axis)
    kept = bits_of(scene.wrong_result) == bits_of(np.asarray(d[scene.wrong]))
    count = int(np.count_nonzero(kept))
    evidence = {"untouched": count, "wrong": scene.count}
    if count == scene.count:
        text = f"they hold D as it was before the launch, unchanged: {scene.tensor_name} was never written there"
        return Finding("never_written", Role.CONTENT, 0.95, text, evidence)
    name, beta = scene.tensor_name, scene.problem.op.beta
    if _explains(scene, terms, np.zeros_like):
        text = f"D is in {name} itself and counts as 0 in the wrong cells: it was cleared before the kernel had read it"
        return Finding("zero", Role.CAUSE, 0.985, text, {}, frozenset({"zero", "other"}))
    if _explains(scene, terms, lambda d: np.asarray((beta * d.astype(np.float64)).astype(d.dtype))):
        text = f"D is in {name} itself and was overwritten with op(0, D) before the kernel had read it"
        return Finding("other", Role.CAUSE, 0.985, text)
    if count * KEPT_SHARE >= scene.count and np.unique(bits_of(scene.wrong_result)[kept]).size >= DIFFERENT:
        text = f"{count} of them hold D as it was before the launch: {scene.tensor_name} was never written there"
        return Finding("never_written", Role.CONTENT, 0.9, text, evidence)
    return None


def _explains(scene: Scene[S], terms: Terms[S], became: Callable[[Array], Array]) -> bool:
    """Return whether the wrong cells are what they would be with what became of D."""
    d = np.asarray(scene.inputs["d0"])
    for cell in scene.sample(cells_at_most(scene.problem.operation.numerics.terms(scene.problem))):
        true = scene.true_cell(cell)
        sums = terms(scene.problem, scene.inputs, true).sum().reshape(1)
        read = np.broadcast_to(became(d[true].reshape(1)), d.shape)
        bits = finish(scene.problem, {**scene.inputs, "d0": read}, true, sums)
        if bits[0] != bits_of(scene.result[cell].reshape(1))[0]:
            return False
    return True
