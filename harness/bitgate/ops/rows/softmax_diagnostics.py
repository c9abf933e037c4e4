"""Diagnostics of a softmax: its mistakes recomputed on whole rows, and its laws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Role, Rule
from bitgate.model.law import Data, KernelFunction, Law, Pair, on_exact
from bitgate.model.sized import SizedProblem
from bitgate.model.thread_map import Cell
from bitgate.ops.rows.mistakes import LAWS, Parts, merged, parts_of, shorter, threads_of
from bitgate.ops.rows.rows import Floats, Ints
from bitgate.ops.rows.softmax import LEVEL, Mask, limits
from bitgate.verify.diagnose.row_mistakes import KnownRows, RowMistake, explained
from bitgate.verify.diagnose.scene import Scene

SCALES = ((1.1, "1.1"), (0.5, "1/2"), (2.0, "2"), (np.log(2), "ln 2: powers of 2 without log2 e"))
"""Scales of the logits that are tried, before the one that fits a row."""


FLOORS = (
    ("0", 0.0),
    ("the lowest number of f16", -65504.0),
    ("the lowest number of f32", -float(np.finfo(np.float32).max)),
    ("the least normal number of f32", float(np.finfo(np.float32).tiny)),
)
"""Numbers at which a maximum may begin though a row can lie below them."""


def mistaken(scene: Scene[SizedProblem]) -> Finding | None:
    """Find the defect that gives every wrong cell of some rows."""
    if not scene.inputs or scene.channels is not None:
        return None
    known = KnownRows(scene)
    limit = limits(scene.problem, scene.inputs)[known.rows]
    return explained(known, _mistakes(known, limit))


def masked_cells(scene: Scene[SizedProblem]) -> Finding | None:
    """Find that the wrong cells are those which the mask does not admit."""
    if scene.problem.sizes.mask is Mask.FULL or not scene.inputs or scene.channels is not None or not scene.count:
        return None
    masked = np.arange(scene.result.shape[1]) >= limits(scene.problem, scene.inputs)
    if (scene.wrong & ~masked).any() or scene.by_chance(float(masked.mean())):
        return None
    which = "all cells" if (scene.wrong == masked).all() else f"{scene.count} of {np.count_nonzero(masked)} cells"
    text = f"only {which} that the mask does not admit, which should be 0"
    return Finding("other", Role.PLACE, 0.96, text, {"masked": int(np.count_nonzero(masked))}, along=scene.letters)


def _mistakes(known: KnownRows, limit: Ints) -> Iterator[RowMistake]:
    x, columns = known.x, known.x.shape[1]
    yield RowMistake("a cell more than each row admits is let in", {"y": _let_in(known, limit)})
    if known.scene.problem.sizes.mask is not Mask.FULL:
        yield RowMistake("the mask is left out: masked cells are let in", {"y": softmax(x, limit * 0 + columns)})
        yield from _other_limits(known, columns)
    for words, end in shorter(columns):
        if known.scene.problem.sizes.mask is Mask.FULL:
            yield from _shortened(x, limit, limit * 0 + end, words)
    yield from _shortened(x, limit, np.maximum(limit - 1, 0), "the last admitted cell")
    yield from _unscaled(x, limit)
    yield from _half_scaled(x, limit)
    for scale, words in SCALES:
        yield RowMistake(f"the logits are scaled by {words}", {"y": softmax(x * scale, limit)})
    if (scale := _fitted(known, limit)) is not None:
        yield RowMistake(f"the logits are scaled by {scale:.4g}", {"y": softmax(x * scale, limit)})
    for words, floor in FLOORS:
        yield RowMistake(f"the maximum of each row begins at {words}, not at -inf", {"y": _floored(x, limit, floor)})
    yield RowMistake("the powers are not divided by their sum", {"y": _over(x, limit, np.ones_like(x[:, :1]))})


def _other_limits(known: KnownRows, columns: int) -> Iterator[RowMistake]:
    """Yield rows whose limits are those of another mask, or of another row."""
    rows, lengths = known.rows[:, None], known.scene.inputs.get("lengths")
    first = np.clip(rows + 1, 0, columns)
    yield RowMistake("a causal mask begins at the first column", {"y": softmax(known.x, first)})
    if lengths is None:
        text = "a causal mask begins at column r - c, not at c - r"
        limit = np.clip(rows + 1 + known.scene.problem.sizes.r - columns, 0, columns)
        yield RowMistake(text, {"y": softmax(known.x, limit)})
        return
    for words, other in (("the row before", np.roll(lengths, 1)), ("the next row", np.roll(lengths, -1))):
        limit = np.clip(other[known.rows].astype(np.int64), 0, columns)[:, None]
        yield RowMistake(f"the length of {words} is taken", {"y": softmax(known.x, limit)})
    limit = np.full_like(first, np.clip(int(lengths[0]), 0, columns))
    yield RowMistake("the length of row 0 is taken for all", {"y": softmax(known.x, limit)})


def softmax(x: Floats, limit: Ints, sums_of: Ints | None = None) -> Floats:
    """Return the softmax of the first ``limit`` cells, with maximum and sum of the first ``sums_of`` ones."""
    ends = limit if sums_of is None else sums_of
    is_in = np.arange(x.shape[1]) < ends
    top = np.max(x, axis=1, keepdims=True, where=is_in, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.where(is_in, np.exp(x - top), 0).sum(axis=1, keepdims=True)
        return np.asarray(np.where(np.arange(x.shape[1]) < limit, np.exp(x - top) / sums, 0))


def _over(x: Floats, limit: Ints, sums: Floats) -> Floats:
    """Return powers over other sums."""
    is_in = np.arange(x.shape[1]) < limit
    top = np.max(x, axis=1, keepdims=True, where=is_in, initial=-np.inf)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(is_in, np.exp(x - top) / sums, 0))


def _floored(x: Floats, limit: Ints, floor: float) -> Floats:
    """Return the softmax of rows whose maximum is not below ``floor``, with powers as f32 has them."""
    is_in = np.arange(x.shape[1]) < limit
    top = np.max(x, axis=1, keepdims=True, where=is_in, initial=floor)
    with np.errstate(all="ignore"):
        powers = np.where(is_in, np.exp(x - top), 0)
        powers[powers < np.finfo(np.float32).smallest_subnormal] = 0
        return np.asarray(np.where(is_in, powers / powers.sum(axis=1, keepdims=True), 0))


def _let_in(known: KnownRows, limit: Ints) -> Floats:
    """Return rows with one cell more: after the last column comes the next row's first one."""
    whole = np.asarray(known.scene.inputs["x"], np.float64)
    after = np.append(whole[1:, :1], [[-np.inf]], axis=0)[known.rows]
    return softmax(np.append(known.x, after, axis=1), limit + 1)[:, :-1]


def _shortened(x: Floats, limit: Ints, end: Ints, words: str) -> Iterator[RowMistake]:
    text = f"{words} of each row is missing from its sum"
    yield RowMistake(text, {"y": softmax(x, limit, end)}, "k_tail")
    yield RowMistake(f"{words} of each row is left out", {"y": softmax(x, end)}, "k_tail")


def _unscaled(x: Floats, limit: Ints) -> Iterator[RowMistake]:
    """Yield sums that were not rescaled when a maximum grew, or when parts met."""
    cells = np.where(np.arange(x.shape[1]) < limit, x, -np.inf)
    with np.errstate(invalid="ignore"):
        for words, parts in parts_of(cells, -np.inf):
            tops = parts.max(axis=2, keepdims=True)
            own = np.nan_to_num(np.exp(parts - tops)).sum(axis=2)
            text = f"the sums of {words} meet without being rescaled to the common maximum"
            yield RowMistake(text, {"y": _over(x, limit, own.sum(axis=1, keepdims=True))})
            growing = np.maximum.accumulate(parts, axis=2)
            grown = np.nan_to_num(np.exp(parts - growing)).sum(axis=2)
            rescaled = grown * np.nan_to_num(np.exp(tops[..., 0] - tops.max(axis=1)))
            text = f"the sum of each of {words} is not rescaled when its maximum grows"
            yield RowMistake(text, {"y": _over(x, limit, rescaled.sum(axis=1, keepdims=True))})


def _half_scaled(x: Floats, limit: Ints) -> Iterator[RowMistake]:
    """Yield sums of which one of two is not rescaled where they meet."""

    def rescaled(part: Parts, top: Floats) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.asarray(part[1] * np.nan_to_num(np.exp(part[0] - top)))

    def other(one: Parts, two: Parts) -> Parts:
        top = np.maximum(one[0], two[0])
        return top, rescaled(one, top) + two[1]

    def own(one: Parts, two: Parts) -> Parts:
        top = np.maximum(one[0], two[0])
        return top, one[1] + rescaled(two, top)

    cells = np.where(np.arange(x.shape[1]) < limit, x, -np.inf)
    for words, by_thread in threads_of(cells, -np.inf):
        tops = by_thread.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            sums = np.nan_to_num(np.exp(by_thread - tops)).sum(axis=1)
        for which, merge in (("second", other), ("first", own)):
            found = merged((tops[:, 0], sums), merge)[1].reshape(len(x), -1)
            text = f"where the sums of {words} meet by twos, the {which} is not rescaled to the common maximum"
            of_cells = found[:, np.arange(x.shape[1]) % found.shape[1]]
            yield RowMistake(text, {"y": _over(x, limit, of_cells)})


def _fitted(known: KnownRows, limit: Ints) -> float | None:
    """Return the scale of logits that the first rows agree with; None if they differ too little."""
    found = known.scene.result[known.rows].astype(np.float64)
    scales = []
    for row, x, last in zip(found[:8], known.x, limit[:, 0], strict=False):
        usable = np.flatnonzero(row[:last] > 0)
        if usable.size > 1:
            low, high = usable[np.argmin(x[usable])], usable[np.argmax(x[usable])]
            if x[high] - x[low] > 1 / LEVEL:
                scales.append(np.log(row[high] / row[low]) / (x[high] - x[low]))
    return float(np.median(scales)) if scales else None


def _shifted(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    yield "y of x - 512", kernel(problem, data), kernel(problem, {**data, "x": data["x"] - 2 * LEVEL})


SHIFT = on_exact(Law("shift", "logits may all be lower by a number", lambda problem, kernel: True, _shifted))


class SoftmaxDiagnostics(Diagnostics):
    """The explanations of a softmax's results."""

    rules: tuple[Rule, ...] = (mistaken, masked_cells)
    laws: tuple[Law, ...] = (*LAWS, SHIFT)

    def derived(self, problem: SizedProblem) -> tuple[str, ...]:
        sizes = problem.sizes
        return (f"{sizes.r} rows of {sizes.c} logits, mask {sizes.mask.value}",)

    def cell_lines(self, problem: SizedProblem, cell: Cell) -> Sequence[str]:
        row = cell[0]
        return [f"inputs: the admitted cells of row {row}", f"  first x[{row},0]"]
