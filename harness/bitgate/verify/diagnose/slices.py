"""Mistakes of a reduction's parts: slices of a split reduction, lanes, terms that are missing or taken twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray

from bitgate.model.finding import Finding, Role
from bitgate.numerics.bits import bits_of
from bitgate.verify.diagnose.mistakes import SURPLUS_BITS, Mistake, Recomputed, mantissa_bits
from bitgate.verify.diagnose.sums import Floats, Index, S, applied_to, finish

MOST_SLICES = 32
"""Of more slices only the first ones are tried."""


def slice_edges(length: int, step: int, slices: int) -> list[int]:
    """Return where slices begin, and the end of the last: equal numbers of whole steps, the last ones fewer.

    The last step may reach beyond the terms.
    """
    steps = -(-length // step)
    each = -(-steps // slices)
    return [step * min(steps, each * number) for number in range(slices + 1)]


def slice_mistakes(
    known: Recomputed[S],
    sequence: Callable[[Index], Floats],
    edges: Sequence[int],
    step: int,
    group: str = "",
) -> Iterator[Mistake]:
    """Yield mistakes of a reduction that is cut at ``edges`` into slices of whole steps.

    ``sequence`` returns the terms of a cell. ``group`` is the noun of axis 0, whose number may be mixed up with that of
    the slice; empty where there is only one.
    """
    problem = known.scene.problem
    op, slices = problem.op, len(edges) - 1

    def parts(cell: Index) -> list[Floats]:
        terms = sequence(cell)
        return [terms[begin:end] for begin, end in pairwise(edges)]

    def mistake(text: str, summed: Callable[[Index], float]) -> Mistake:
        def value(cell: Index) -> float:
            return float(applied_to(op, np.array(summed(cell)), known.d(cell) if op.num_d else 0.0))

        return Mistake(text, "split_slice", value, evidence={"split_k": slices, "step": step})

    def plus(changes: Sequence[tuple[int, int]]) -> Callable[[Index], float]:
        """Return the sum, plus slices times their factor."""
        return lambda cell: float(sequence(cell).sum() + sum(by * parts(cell)[i].sum() for i, by in changes))

    whole = f"of {slices} of the split reduction"
    for number in range(min(slices, MOST_SLICES)):
        name = f"slice {number + 1} {whole}"
        yield mistake(f"{name} is missing from the sums", plus([(number, -1)]))
        others = [(other, -1) for other in range(slices) if other != number]
        yield mistake(f"the sums hold {name} alone: slices overwrite each other, or the rest is lost", plus(others))
        yield mistake(f"{name} is added twice", plus([(number, 1)]))
        for other in sorted({0, number - 1, number + 1} - {number, -1, slices}):
            yield mistake(f"{name} holds the terms of slice {other + 1}", plus([(number, -1), (other, 1)]))
    text = f"every slice {whole} is added twice: each cell is finished two times"
    yield mistake(text, plus([(number, 1) for number in range(slices)]))
    yield mistake(f"every slice {whole} holds the terms of slice 1", lambda c: slices * parts(c)[0].sum())
    for by in dict.fromkeys((1, step, -1, -step)):
        words = f"{abs(by)} term{'s' * (abs(by) > 1)} {'late' if by > 0 else 'early'}"
        every = range(1, slices)
        for number in every[:MOST_SLICES]:
            name = f"slice {number + 1} {whole}"
            yield mistake(f"{name} begins {words}", _moved(sequence, edges, [number], by, 0))
            yield mistake(f"slice {number} {whole} ends {words}", _moved(sequence, edges, [number], 0, by))
            yield mistake(f"{name} is read {words}", _moved(sequence, edges, [number], by, 0, by))
        yield mistake(f"every slice but the first {whole} begins {words}", _moved(sequence, edges, every, by, 0))
        yield mistake(f"every slice but the last {whole} ends {words}", _moved(sequence, edges, every, 0, by))
        yield mistake(f"every slice but the first {whole} is read {words}", _moved(sequence, edges, every, by, 0, by))
    groups = known.scene.problem.tensors[known.scene.role].lengths[0]
    if group and groups > 1:
        yield mistake(
            f"the number of a slice is taken for that of the {group}",
            lambda c: sum(parts((i % groups, *c[1:]))[i].sum() for i in range(slices)),
        )
        yield mistake(
            f"the number of the {group} is taken for that of a slice",
            lambda c: slices * parts(c)[c[0]].sum() if c[0] < slices else 0.0,
        )


def _moved(
    sequence: Callable[[Index], Floats],
    edges: Sequence[int],
    which: Sequence[int],
    begin: int,
    before: int,
    end: int = 0,
) -> Callable[[Index], float]:
    """Return the sum of slices of which some begin or end later by a number of terms, or those ``before`` them do."""

    def value(cell: Index) -> float:
        terms = sequence(cell)
        sums = np.concatenate([[0.0], np.cumsum(terms)])
        total = 0.0
        for number, (first, last) in enumerate(pairwise(edges)):
            first += begin if number in which else 0
            last += before if number + 1 in which else 0
            last += end if number in which else 0
            total += sums[min(max(last, first, 0), terms.size)] - sums[min(max(first, 0), terms.size)]
        return float(total)

    return value


MOST_STEPS = 48


def step_mistakes(
    known: Recomputed[S], sequence: Callable[[Index], Floats], step: int, slices: int = 1
) -> Iterator[Mistake]:
    """Yield mistakes of the loop over a reduction in steps: a step that holds another one's terms.

    The steps may be cut into ``slices``, each of which begins anew.
    """
    op = known.scene.problem.op
    length = known.scene.problem.operation.numerics.terms(known.scene.problem)
    steps = -(-length // step)

    def mistake(text: str, factors: Sequence[int]) -> Mistake:
        def value(cell: Index) -> float:
            terms = sequence(cell)
            sums = [terms[step * at : step * (at + 1)].sum() for at in range(steps)]
            return float(applied_to(op, np.array(np.dot(factors, sums)), known.d(cell) if op.num_d else 0.0))

        return Mistake(text, "other", value, evidence={"step": step, "steps": steps})

    for at in range(1, steps) if steps <= MOST_STEPS else ():
        words = f"of {steps} steps of K ({step} terms each)"
        stuck = [1] * (at - 1) + [steps - at + 1] + [0] * (steps - at)
        yield mistake(f"step {at} {words} is computed again for all steps after it", stuck)
        for other in (at - 1, at + 1, 0):
            if other != at and other < steps:
                counts = [int(one != at) + int(one == other) for one in range(steps)]
                yield mistake(f"step {at + 1} {words} holds the terms of step {other + 1}", counts)
    each = -(-steps // slices)
    seen: set[tuple[int, ...]] = set()
    for places in PLACES if steps <= MOST_STEPS else ():
        for first in range(1, min(2 * places, each)):
            for by in dict.fromkeys((-1, 1, -places)):
                counts = _stale(steps, each, range(first, each, places), by)
                if tuple(counts) in seen or (slices == 1 and first + places >= each):
                    continue
                seen.add(tuple(counts))
                which = f"every {_ORDINALS[places]} step from step {first + 1} on"
                which = f"step {first + 1}" if first + places >= each else which
                whole = f"of {each} steps of K ({step} terms each)" + f" in each of {slices} slices" * (slices > 1)
                where = f"{abs(by)} step{'s' * (abs(by) > 1)} {'later' if by > 0 else 'earlier'}"
                yield mistake(f"{which} {whole} holds the terms of {where}", counts)


PLACES = (2, 3, 4)
"""Numbers of steps that shared memory may hold at a time, one of whose places is stale, or is taken too early."""
_ORDINALS = {2: "second", 3: "third", 4: "fourth"}


def _stale(steps: int, each: int, which: Sequence[int], by: int) -> list[int]:
    """Return how often each step is summed where some of a slice hold the terms of the step that is ``by`` further on.

    A slice has ``each`` steps, the last one fewer.
    """
    counts = [1] * steps
    for begin in range(0, steps, each):
        for at in (begin + one for one in which if begin + one < steps):
            counts[at] -= 1
            if begin <= at + by < min(begin + each, steps):
                counts[at + by] += 1
    return counts


WIDEST = 256
WAVES = (32, 64)
BLOCKS = (64, 128, 256, 512, 1024)


def lane_mistakes(
    known: Recomputed[S], sequence: Callable[[Index], Floats], words: str, each: int = 0
) -> Iterator[Mistake]:
    """Yield mistakes that lose runs of terms, as a shuffle over half of the lanes does, or a block without a wave.

    ``words`` name the terms: "terms of K". Runs begin anew in each slice of ``each`` terms, if there are slices.
    """
    op = known.scene.problem.op
    each = each or known.scene.problem.operation.numerics.terms(known.scene.problem)
    for name, period, begin, end in lost_runs(each):

        def value(cell: Index, period: int = period, begin: int = begin, end: int = end) -> float:
            terms = sequence(cell)
            kept = terms[~run_of(np.arange(terms.size) % each, period, begin, end)]
            return float(applied_to(op, np.array(kept.sum()), known.d(cell) if op.num_d else 0.0))

        text = f"{name} of every {period} {words} {'are' if name.startswith('numbers') else 'is'} missing from the sums"
        yield Mistake(text, "other", value, evidence={"period": period, "begin": begin, "end": end})


def lost_runs(length: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield runs of terms that threads lose again and again: words, the period, and where a run begins and ends."""
    period = 2
    while period <= min(WIDEST, length):
        for half, name in enumerate(("first", "second")):
            yield f"the {name} half", period, half * (period // 2), (half + 1) * (period // 2)
        period *= 2
    for block in BLOCKS:
        for wave in WAVES:
            for begin in (0, block - wave) if 2 * wave < block < length else ():
                yield f"numbers {begin + 1} to {begin + wave}, a wave,", block, begin, begin + wave


def run_of(numbers: NDArray[np.intp], period: int, begin: int, end: int) -> NDArray[np.bool_]:
    """Return a mask of the terms of these numbers that lie in a run of each period."""
    at = numbers % period
    return np.asarray((at >= begin) & (at < end))


MOST_ENDS = 300
"""The most places between the terms at which a part may begin or end; of longer reductions only every n-th is tried."""


@dataclass(frozen=True)
class _Parts:
    """All contiguous parts of a reduction of ``length`` terms: part i has the terms begin[i] up to end[i]."""

    length: int
    begin: NDArray[np.intp]
    end: NDArray[np.intp]


def part_finding(
    known: Recomputed[S], sequence: Callable[[Index], Floats], words: str, kind: str = "other"
) -> Finding | None:
    """Return the finding of one contiguous part of the terms that is missing from all recomputed cells, or added twice.

    ``words`` name the terms: "terms of K".
    """
    scene, places = known.scene, known.places
    cells = [scene.true_cell(place) for place in places]
    lengths = {sequence(cell).size for cell in cells[:1]}
    if not lengths or not scene.exact:
        return None
    parts = _parts(lengths.pop())
    evidence_bits = 0.0
    left = {-1: np.arange(parts.begin.size), 1: np.arange(parts.begin.size)}
    for place, cell in zip(places, cells, strict=True):
        terms = sequence(cell)
        if terms.size != parts.length:
            return None
        found = bits_of(scene.result[place].reshape(1))[0]
        sums = np.concatenate([[0.0], np.cumsum(terms)])
        for sign, which in left.items():
            part = sums[parts.end[which]] - sums[parts.begin[which]]
            values = finish(scene.problem, scene.inputs, cell, sums[-1] + sign * part)
            left[sign] = which[(values == found) & (part != 0)]
        if not any(which.size for which in left.values()):
            return None
        evidence_bits += min(mantissa_bits(scene), log2(1 + abs(float(scene.result[place]))))
    if evidence_bits < SURPLUS_BITS + log2(2 * parts.begin.size):
        return None
    sign = -1 if left[-1].size else 1
    best = max(left[sign], key=lambda part: (_evenness(parts, int(part)), -parts.end[part] + parts.begin[part]))
    begin, end = int(parts.begin[best]), int(parts.end[best])
    what = "missing from" if sign < 0 else "counted twice in"
    kind = "other" if kind == "k_tail" and end != parts.length else kind
    text = f"{_named(begin, end, parts.length, words)} {what} the sums of the wrong cells"
    evidence = {"begin": begin, "end": end, "of": parts.length, "recomputed": len(places)}
    implied = frozenset({"zero", "other", "k_tail"}) - {kind}
    return Finding(kind, Role.CAUSE, 0.95, text, evidence, implied, examined=len(places))


def _parts(length: int) -> _Parts:
    step = 1
    while length // step > MOST_ENDS:
        step *= 2
    ends = np.append(np.arange(0, length, step), length)
    begin, end = np.triu_indices(ends.size, 1)
    is_part = ends[end] - ends[begin] < length  # without all of them nothing is left that could be seen
    return _Parts(length, ends[begin][is_part], ends[end][is_part])


def _evenness(parts: _Parts, part: int) -> int:
    """Return a rank of parts of equal effect: ends that are multiples of large powers of two are the likely ones."""

    def rank(at: int) -> int:
        return 10 if at in (0, parts.length) else (at & -at).bit_length()

    return rank(int(parts.begin[part])) + rank(int(parts.end[part]))


def _named(begin: int, end: int, length: int, words: str) -> str:
    count = end - begin
    if begin == 0 or end == length:
        verb = "is" if count == 1 else "are"
        return f"the {'first' if begin == 0 else 'last'} {count} of {length} {words} {verb}"
    if count == 1:
        return f"term {begin + 1} of {length} {words} is"
    return f"terms {begin + 1} to {end} of {length} {words} are"
