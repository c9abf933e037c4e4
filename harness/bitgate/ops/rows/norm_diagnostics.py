"""Diagnostics of layernorm and rmsnorm: their mistakes recomputed on whole rows, and their laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bitgate.model.diagnostics import Diagnostics
from bitgate.model.finding import Finding, Rule
from bitgate.model.law import Data, KernelFunction, Law, Pair, on_exact
from bitgate.model.sized import SizedProblem
from bitgate.model.thread_map import Cell
from bitgate.ops.rows.mistakes import LAWS, TILES, Parts, merged, parts_of, shorter, threads_of
from bitgate.ops.rows.norm import EPSILON, affine
from bitgate.ops.rows.rows import Floats
from bitgate.verify.diagnose.row_mistakes import KnownRows, RowMistake, explained
from bitgate.verify.diagnose.scene import Scene


def mistaken(scene: Scene[SizedProblem]) -> Finding | None:
    """Find the defect that gives every wrong cell of some rows."""
    if not scene.inputs or scene.channels is not None:
        return None
    return explained(KnownRows(scene), _Mistakes(KnownRows(scene)).all())


@dataclass(frozen=True)
class _Mistakes:
    """The defects of norms, each as what rows it makes."""

    known: KnownRows

    @property
    def is_centred(self) -> bool:
        return bool(self.known.scene.problem.operation.is_centred)  # type: ignore[attr-defined]

    def made(
        self, text: str, mean: Floats, variance: Floats, rstd: Floats | None = None, kind: str = "other"
    ) -> RowMistake:
        """Return the mistake of these moments, shape (r, 1)."""
        with np.errstate(all="ignore"):
            found = 1 / np.sqrt(variance + EPSILON) if rstd is None else rstd
            inputs = {role: np.asarray(cells, np.float64) for role, cells in self.known.scene.inputs.items()}
            y = affine((self.known.x - mean) * found, inputs)
        return RowMistake(text, {"y": y, "mean": mean[:, 0], "rstd": found[:, 0]}, kind)

    def all(self) -> Iterator[RowMistake]:
        x = self.known.x
        mean = x.mean(axis=1, keepdims=True) if self.is_centred else np.zeros_like(x[:, :1])
        variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            yield self.made("epsilon stands outside the root", mean, variance, 1 / (np.sqrt(variance) + EPSILON))
            yield self.made("epsilon is left out", mean, variance, 1 / np.sqrt(variance))
            yield self.made("the root is left out", mean, variance, 1 / (variance + EPSILON))
            columns = x.shape[1]
            if not self.is_centred:
                own = x.mean(axis=1, keepdims=True)
                yield self.made("the mean is subtracted", own, ((x - own) ** 2).mean(axis=1, keepdims=True))
            yield self.made("squares are divided by c - 1", mean, variance * columns / (columns - np.float64(1)))
            yield RowMistake("rstd holds the variance", {"rstd": variance[:, 0]})
            yield RowMistake("rstd holds the root, not one over it", {"rstd": np.sqrt(variance[:, 0] + EPSILON)})
        square = (x**2).mean(axis=1, keepdims=True)
        yield self.made("squares are taken of the cells, not of what is away from the mean", mean, square)
        yield self.made("the mean is not subtracted", mean * 0, variance)
        yield from self._affine(mean, variance)
        yield from self._shortened(mean)
        yield from self._padded(mean)
        yield from self._merged(mean, variance)

    def _affine(self, mean: Floats, variance: Floats) -> Iterator[RowMistake]:
        scene = self.known.scene
        inputs = {role: np.asarray(cells, np.float64) for role, cells in scene.inputs.items()}
        cells = (self.known.x - mean) / np.sqrt(variance + EPSILON)
        for role in ("gamma", "beta"):
            if role in inputs:
                own = inputs[role]
                for words, other in (
                    ("left out", own * 0 + (role == "gamma")),
                    ("read at the next column", np.roll(own, -1)),
                    ("read at the first column", own[:1]),
                ):
                    yield RowMistake(f"{role} is {words}", {"y": affine(cells, inputs | {role: other})})
        if "gamma" in inputs:
            more = {"gamma": inputs["gamma"] + 1}
            yield RowMistake("1 is added to gamma", {"y": affine(cells, inputs | more)})
        if "beta" in inputs:
            turned = {"gamma": inputs["beta"], "beta": inputs["gamma"]}
            yield RowMistake("gamma and beta are swapped", {"y": affine(cells, turned)})
            scaled = {"beta": inputs["gamma"] * inputs["beta"]}
            yield RowMistake("beta is added first, so that gamma scales it too", {"y": affine(cells, inputs | scaled)})
            yield RowMistake("beta is subtracted", {"y": affine(cells, inputs | {"beta": -inputs["beta"]})})

    def _shortened(self, mean: Floats) -> Iterator[RowMistake]:
        x, columns = self.known.x, self.known.x.shape[1]
        for words, end in shorter(columns):
            sums, squares = x[:, :end].sum(axis=1, keepdims=True), x[:, :end]
            for count, by in ((columns, "divided by all"), (end, "divided by the rest")):
                own = sums / count if self.is_centred else mean
                variance = ((squares - own) ** 2).sum(axis=1, keepdims=True) / count
                text = f"{words} of each row is missing from its sums, which are {by}"
                yield self.made(text, own, variance, kind="k_tail")
                variance = ((squares - mean) ** 2).sum(axis=1, keepdims=True) / count
                yield self.made(f"{words} of each row is missing from its squares, {by}", mean, variance, kind="k_tail")
                variance = ((x - own) ** 2).mean(axis=1, keepdims=True)
                yield self.made(f"{words} of each row is missing from its mean, {by}", own, variance, kind="k_tail")

    def _padded(self, mean: Floats) -> Iterator[RowMistake]:
        """Yield sums over the length that whole tiles have, as if what pads the row were part of it."""
        x = self.known.x
        for tile in TILES:
            count = -(-x.shape[1] // tile) * tile
            own = mean * x.shape[1] / count
            variance = ((x - own) ** 2).sum(axis=1, keepdims=True) / count
            yield self.made(f"sums are divided by {count}, the length of whole tiles of {tile} cells", own, variance)

    def _merged(self, mean: Floats, variance: Floats) -> Iterator[RowMistake]:
        """Yield moments of parts that met wrongly."""
        if not self.is_centred:
            return
        for words, parts in parts_of(self.known.x, np.nan):
            count = np.count_nonzero(~np.isnan(parts), axis=2)
            with np.errstate(invalid="ignore"):
                means = np.where(count > 0, np.nansum(parts, axis=2) / count, 0)
            away = np.nansum((parts - means[..., None]) ** 2, axis=2)
            within = away.sum(axis=1, keepdims=True) / self.known.x.shape[1]
            text = f"the moments of {words} meet without the squares between their means"
            yield self.made(text, mean, within)
            filled = np.count_nonzero(count, axis=1, keepdims=True)
            plain = means.sum(axis=1, keepdims=True) / filled
            yield self.made(f"the means of {words} meet without their counts", plain, variance)
            yield self.made(f"the means of {words} meet without their counts", plain, within)

        for words, by_thread in threads_of(self.known.x, np.nan):
            count = np.count_nonzero(~np.isnan(by_thread), axis=1).astype(np.float64)
            with np.errstate(invalid="ignore"):
                means = np.where(count > 0, np.nansum(by_thread, axis=1) / count, 0)
            squares = np.nansum((by_thread - means[:, None]) ** 2, axis=1)
            for weigh, merge in (
                ("half each, whatever their counts", partial(_met, lambda own, other: 0.5)),
                ("as much as the other's count", partial(_met, lambda own, other: own / (own + other))),
            ):
                _, found, away = (part[:, 0, :1] for part in merged((count, means, squares), merge))
                text = f"where the moments of {words} meet by twos, their means weigh {weigh}"
                yield self.made(text, found, away / self.known.x.shape[1])


def _met(share: Callable[[Floats, Floats], Any], one: Parts, two: Parts) -> Parts:
    """Return the moments of two parts: count, mean and squares. ``share`` is the weight that the second mean gets."""
    both = one[0] + two[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        due = np.where(both > 0, two[0] / both, 0)
        weight = np.where((due > 0) & (due < 1), share(one[0], two[0]), due)
    apart = two[1] - one[1]
    return both, one[1] + apart * weight, one[2] + two[2] + apart**2 * one[0] * due


def _opposite(problem: SizedProblem, kernel: KernelFunction, data: Data) -> Iterator[Pair]:
    """Yield y of cells of the opposite sign, which gamma of the opposite sign, or nothing, undoes."""
    negative = {role: -data[role] for role in ("x", "gamma") if role == "x" or problem.sizes.affine}
    sign = 1 if problem.sizes.affine else -1
    yield "y of -x", kernel(problem, data), sign * kernel(problem, {**data, **negative})


OPPOSITE = on_exact(Law("opposite", "-x and -gamma give the same y", lambda problem, kernel: True, _opposite))


class NormDiagnostics(Diagnostics):
    """The explanations of a norm's results."""

    rules: tuple[Rule, ...] = (mistaken,)
    laws: tuple[Law, ...] = (*LAWS, OPPOSITE)

    def derived(self, problem: SizedProblem) -> tuple[str, ...]:
        sizes = problem.sizes
        read = "gamma and beta" if problem.operation.is_centred else "gamma"  # type: ignore[attr-defined]
        return (f"{sizes.r} rows of {sizes.c} cells{f', {read} a column' if sizes.affine else ''}",)

    def cell_lines(self, problem: SizedProblem, cell: Cell) -> Sequence[str]:
        row = cell[0]
        return [f"inputs: all {problem.sizes.c} cells of row {row}", f"  first x[{row},0]"]
