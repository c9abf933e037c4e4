"""Layernorm and rmsnorm of rows: ``layernorm_f16_r64c1000_affine_stats``, ``rmsnorm_f32_r3c5``.

``affine`` adds gamma, and of layernorm beta, of which each column has one. ``stats`` adds outputs in f32: mean (of
layernorm) and rstd, the reciprocal of the root of variance (rmsnorm: mean square) plus EPSILON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.fill import Fill
from bitgate.model.numerics import Accumulation, Numerics
from bitgate.model.sized import SizedProblem, StatedTensor, read, written
from bitgate.ops.rows.rows import Floats, RowNumerics, RowOperation, real, words

EPSILON = 2.0**-16
"""It is added to a row's variance or mean square: 1.53e-5, whose root is exact."""

SMALL = 2.0**-9
"""Rows whose mean square is 3 EPSILON, so that rstd is 2^7, are made of multiples of it."""
_THREES = (6, -2, -2, -2)
_ENDS = ((), (5, 3, -4, -3, -1), (6, -6, 0, 0, 0, 0), (6, -5, -3, 3, -2, 1, 0))
"""Multiples of SMALL with sum 0 and a mean square of 12: four of them, and what ends a row of 4 n + 1, 2 or 3 cells."""
_ONES = (2, -2)
_ODD = (3, -3, 1, -1, 0)
"""Halves of a deviation with sum 0 and a mean square of 4: two of them, and what ends a row of an odd length."""


@dataclass(frozen=True)
class NormSizes:
    """Rows and columns, and whether gamma and beta are read and mean and rstd written."""

    r: int
    c: int
    affine: bool = False
    stats: bool = False


def _deviations(columns: int, is_small: bool) -> NDArray[np.int64] | None:
    """Return small integers with sum 0 whose mean square is 12, or 4; None if a row is too short for any."""
    if is_small:
        rest = columns % 4
        if columns < 4:
            return None
        end = _ENDS[rest]
        return np.array(_THREES * ((columns - len(end)) // 4) + end, np.int64)
    end = _ODD if columns % 2 else ()
    return None if columns < len(end) else np.array(_ONES * ((columns - len(end)) // 2) + end, np.int64)


def balanced(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return rows of which mean, variance and rstd are exact, their cells in an order that is turned in each row."""
    sizes: NormSizes = problem.sizes
    is_centred = problem.operation.is_centred  # type: ignore[attr-defined]
    row = np.arange(sizes.r)
    random = words(problem, seed, "turn", "r").astype(np.int64)
    size = 2.0 ** (4 + (row + seed) % 3)  # of halves: deviations are 32, 64 and 128
    plain, small = _deviations(sizes.c, False), _deviations(sizes.c, True)
    if plain is None:
        plain = np.array({1: (0,), 3: (2, 0, -2)}[sizes.c] if is_centred else (2, -2, 2)[: sizes.c], np.int64)
    is_small = ((row + seed) % 2 == 1) & (small is not None)
    unit = np.where(is_small, SMALL, size)
    # No part of a row has the moments of another: the order of the columns has no period.
    order = np.argsort(words(problem, seed, "order", "c"), kind="stable")
    place = order[(np.arange(sizes.c)[None, :] + random[:, None]) % sizes.c]
    cells = np.where(is_small[:, None], (plain if small is None else small)[place], plain[place])
    mean = (5 + random // 7 % 11) * np.where(random // 3 % 2, 1, -1) * is_centred
    x = (cells * np.where(random % 2, 1, -1)[:, None] + mean[:, None]) * unit[:, None]
    return {"x": x, **_affine(problem, seed)}


def _affine(problem: SizedProblem, seed: int) -> dict[str, Floats]:
    """Return gamma from 1 to 7 of both signs, and beta above it, so that no cell is near 0."""
    found = {}
    for role, base in (("gamma", 1), ("beta", 16)):
        if role in problem.tensors:
            word = words(problem, seed, role, "c").astype(np.int64)
            found[role] = ((base + word // 2 % 7) * np.where(word % 2, 1, -1)).astype(np.float64)
    return found


def decimal(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return real numbers around another mean in each row, of deviations that EPSILON is large or small beside."""
    row = np.arange(problem.sizes.r)[:, None]
    deviation = np.choose((row + seed) % 3, (1.0, 2.0**-6, 16.0))
    mean = np.choose(row // 3 % 3, (0.0, 1.0, -2.0)) * deviation
    x = real(words(problem, seed, "x")) * deviation + mean
    own = {"gamma": (1.5, 0.25), "beta": (0.0, 2.0)}
    found = {role: at + by * real(words(problem, seed, role, "c")) for role, (at, by) in own.items()}
    return {"x": x, **{role: cells for role, cells in found.items() if role in problem.tensors}}


def _is_exact(problem: SizedProblem) -> bool:
    """Return whether each cell of the balanced rows is one pattern, though Welford's algorithm rounds on the way.

    That takes 16-bit results away from 0: a cell that equals its row's mean is 0 only if the mean has no error at all.
    Rows of three cells have no exact mean and variance at once.
    """
    sizes: NormSizes = problem.sizes
    if any(problem.tensors[role].dtype.bytes != 2 for role in problem.outputs):
        return False
    is_centred = problem.operation.is_centred  # type: ignore[attr-defined]
    return not is_centred or (sizes.affine and sizes.c != 3) or sizes.c % 4 == 0


class NormNumerics(RowNumerics):
    """The judging of a norm: of f16 and bf16 without further outputs the balanced rows give one bit pattern."""

    def fills(self, problem: SizedProblem) -> tuple[Fill, ...]:
        reason = "balanced rows: their sums are exact in any order, rstd is a power of two"
        return Fill("exact", reason, balanced, exact=_is_exact(problem)), *super().fills(problem)


@dataclass(frozen=True)
class Moments:
    """Mean, variance (or mean square about 0) and rstd of each row, shape (r, 1)."""

    mean: NDArray[Any]
    variance: NDArray[Any]
    rstd: NDArray[Any]


def moments(x: NDArray[Any], is_centred: bool, epsilon: float = EPSILON) -> Moments:
    """Return the moments of rows, in the type of x."""
    mean = x.mean(axis=1, keepdims=True) if is_centred else np.zeros_like(x[:, :1])
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return Moments(mean, variance, 1 / np.sqrt(variance + x.dtype.type(epsilon)))


def affine(cells: NDArray[Any], inputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return normalised cells times gamma plus beta, as far as a problem has them: -0 plus nothing stays."""
    cells = cells * inputs["gamma"] if "gamma" in inputs else cells
    return cells + inputs["beta"] if "beta" in inputs else cells


class Norm(RowOperation):
    """y[r,c] = (x[r,c] - mean[r]) * rstd[r] * gamma[c] + beta[c]."""

    sizes = NormSizes
    is_centred: bool
    groups: Mapping[str, str] = {
        "space": "bitgate.ops.rows.rows:RowSpace",
        "diagnostics": "bitgate.ops.rows.norm_diagnostics:NormDiagnostics",
    }
    fills = (Fill("decimal", "real numbers, each cell within the bound of its row's moments", decimal),)

    @cached_property
    def numerics(self) -> Numerics:
        return NormNumerics(self)

    def check(self, sizes: NormSizes) -> str | None:
        is_zero = self.is_centred and sizes.c == 1 and not sizes.affine
        return "c = 1 without affine: a cell is its row's mean, and every result 0" if is_zero else None

    def tensors(self, sizes: NormSizes) -> Iterator[StatedTensor]:
        yield read("x", r=sizes.r, c=sizes.c)
        if sizes.affine:
            yield read("gamma", c=sizes.c)
            if self.is_centred:
                yield read("beta", c=sizes.c)
        yield written("y", r=sizes.r, c=sizes.c)
        if sizes.stats:
            if self.is_centred:
                yield written("mean", dtype="f32", r=sizes.r)
            yield written("rstd", dtype="f32", r=sizes.r)

    def reference(self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        x = np.asarray(inputs["x"])
        of = moments(x, self.is_centred)
        every = {"y": affine((x - of.mean) * of.rstd, inputs), "mean": of.mean[:, 0], "rstd": of.rstd[:, 0]}
        return {role: every[role] for role in problem.outputs}

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, Floats]:
        """Return bounds that two passes and Welford's algorithm keep, in any order and merged in any way.

        With N = 2 (n + 8) u: the mean is off by N max|x|, the variance by N (v + sqrt(v) |mean|) and the square of
        that (Chan, Golub and LeVeque, Algorithms for computing the sample variance, table 1.1: n u times the condition
        number). rstd has half the relative error of v + EPSILON, and 4 u of addition, root and quotient; y the errors
        of both, and u for each of its four operations.
        """
        x = np.asarray(inputs["x"], np.float64)
        of, unit = moments(x, self.is_centred), 2.0**-accumulation.accumulator.mantissa
        steps = 2 * (x.shape[1] + 8) * unit
        mean = steps * np.abs(x).max(axis=1, keepdims=True) * self.is_centred
        variance = steps * (of.variance + np.sqrt(of.variance) * np.abs(of.mean)) + mean**2
        rstd = of.rstd * (variance / (of.variance + EPSILON) / 2 + 4 * unit)
        gamma, beta = (np.abs(np.asarray(inputs.get(role, 0.0), np.float64)) for role in ("gamma", "beta"))
        gamma = gamma if "gamma" in inputs else np.float64(1)
        away = np.abs(x - of.mean)
        y = gamma * (away * rstd + mean * (of.rstd + rstd)) + 4 * unit * (gamma * away * of.rstd + beta)
        every = {"y": y, "mean": mean[:, 0], "rstd": rstd[:, 0]}
        return {role: every[role] for role in problem.outputs}


class LayerNorm(Norm):
    name, is_centred = "layernorm", True


class RmsNorm(Norm):
    name, is_centred = "rmsnorm", False
