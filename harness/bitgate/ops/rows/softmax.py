"""Softmax of rows: ``softmax_f16_r64c1000_full``, ``_causal`` or ``_padded``.

A mask says how many cells of a row, from the first on, are admitted: all of them (``full``), c - r + 1 + its number
(``causal``: the last row admits all), or what ``lengths`` says of it (``padded``), at least 0 and at most c. A masked
cell of y is 0, so a row that admits no cell is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitgate.model.fill import Fill
from bitgate.model.numerics import Accumulation
from bitgate.model.sized import SizedProblem, StatedTensor, read, written
from bitgate.ops.rows.rows import EDGES, Floats, Ints, RowOperation, real, words

STEP, LEVEL, WINNER, DECOY = 4, 256, 120, 240
"""Logits are multiples of STEP, which bf16 holds up to 1024.

Rows rise by LEVEL, four in a row, so that the cell after a row's end is a decoy. A winner is 112 above the other cells
and a decoy 120 above a winner, where exp(-104) is 0 in f32.
"""


class Mask(str, Enum):
    """The cells of a row that are admitted."""

    FULL = "full"
    CAUSAL = "causal"
    PADDED = "padded"


@dataclass(frozen=True)
class SoftmaxSizes:
    """Rows, columns and the mask."""

    r: int
    c: int
    mask: Mask = Mask.FULL


def admitted(sizes: SoftmaxSizes, lengths: NDArray[Any] | None = None) -> Ints:
    """Return how many cells of each row the mask admits; ``lengths`` is what a padded problem reads."""
    if sizes.mask is Mask.PADDED and lengths is not None:
        return np.asarray(np.clip(np.asarray(lengths).astype(np.int64), 0, sizes.c))
    last = np.arange(sizes.r) + 1 + sizes.c - sizes.r if sizes.mask is Mask.CAUSAL else np.full(sizes.r, sizes.c)
    return np.asarray(np.clip(last, 0, sizes.c))


def _lengths(problem: SizedProblem, seed: int) -> dict[str, Ints]:
    """Return lengths of a padded problem: one short of all, all, the edge of a wave or block, none, and any."""
    sizes: SoftmaxSizes = problem.sizes
    if sizes.mask is not Mask.PADDED:
        return {}
    row = np.arange(sizes.r)
    edges = EDGES[: max(1, int(np.searchsorted(EDGES, sizes.c)))]
    anything = 1 + words(problem, seed, "lengths", "r").astype(np.int64) % sizes.c
    turns = (np.full_like(row, max(1, sizes.c - 1)), np.full_like(row, sizes.c), edges[row // 5 % edges.size])
    return {"lengths": np.choose(row % 5, (*turns, np.zeros_like(row), anything))}


def _logits(problem: SizedProblem, seed: int, is_flat: NDArray[np.bool_]) -> Mapping[str, NDArray[Any]]:
    """Return rows with one winner, or flat ones: a power of two of equal winners."""
    sizes: SoftmaxSizes = problem.sizes
    lengths = _lengths(problem, seed)
    limit = admitted(sizes, lengths.get("lengths"))[:, None]
    row, column = np.arange(sizes.r)[:, None], np.arange(sizes.c)[None, :]
    found = words(problem, seed, "x").astype(np.int64)
    # A third of the winners is last, a third at an edge of a wave or block.
    edges = EDGES[row // 3 % np.maximum(np.searchsorted(EDGES, limit), 1)]
    winner = np.choose((row + seed) % 3, (limit - 1, edges, found[:, :1] % np.maximum(limit, 1)))
    equal = 1 << np.frexp(np.maximum(limit, 1).astype(np.float64))[1].astype(np.int64) - 1
    first = np.where(row // 2 % 2, 0, limit - equal)
    wins = np.where(is_flat, (column >= first) & (column < first + equal), column == winner)
    cells = np.where(wins, WINNER, STEP * (found % 5 - 2))
    cells = np.where(column < limit, cells, DECOY)
    return {"x": (cells + LEVEL * (row % 4)).astype(np.float64), **lengths}


def peaked(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return logits of which one a row is far above all others, and every masked one far above that."""
    return _logits(problem, seed, np.zeros((problem.sizes.r, 1), np.bool_))


def flat(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return equal logits, at the beginning or the end of what is admitted, and all others far below."""
    return _logits(problem, seed, np.ones((problem.sizes.r, 1), np.bool_))


def both(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return rows of both kinds, interleaved."""
    return _logits(problem, seed, np.arange(problem.sizes.r)[:, None] % 2 == 1)


def infinite(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return rows of both kinds, with -inf for what is far below, a caller's own mask; in every third row what is left
    is far below 0, too."""
    made = dict(both(problem, seed))
    x, is_in = made["x"], np.arange(problem.sizes.c) < limits(problem, made)
    top = np.max(x, axis=1, keepdims=True, where=is_in, initial=-np.inf)
    low = -(2.0**15) if problem.tensors["x"].dtype.name == "f16" else -(2.0**17)
    wins = np.where(np.arange(problem.sizes.r)[:, None] % 3 == 1, low, top)
    return {**made, "x": np.where(is_in, np.where(x < top, -np.inf, wins), x)}


def decimal(problem: SizedProblem, seed: int) -> Mapping[str, NDArray[Any]]:
    """Return real logits from -2 to 2, and masked ones above them."""
    lengths = _lengths(problem, seed)
    limit = admitted(problem.sizes, lengths.get("lengths"))[:, None]
    x = 2 * real(words(problem, seed, "x"))
    return {"x": np.where(np.arange(problem.sizes.c) < limit, x, x + 4), **lengths}


_PEAKED = "one logit of a row is 112 above the other admitted ones, whose exp is 0 in f32, and 120 below masked ones"
_FLAT = "a power of two of the admitted logits are equal and the others 112 below: each is one over their number"


class Softmax(RowOperation):
    """y[r,c] = exp(x[r,c] - m) / sum over c of that, where m is the maximum of the row's admitted cells."""

    name = "softmax"
    sizes = SoftmaxSizes
    groups: Mapping[str, str] = {
        "space": "bitgate.ops.rows.rows:RowSpace",
        "diagnostics": "bitgate.ops.rows.softmax_diagnostics:SoftmaxDiagnostics",
    }
    fills = (
        Fill("exact", f"rows in turn: {_PEAKED}; {_FLAT}", both, exact=True),
        Fill("peaked", _PEAKED, peaked, exact=True),
        Fill("flat", _FLAT, flat, exact=True),
        Fill("infinite", "rows of both kinds, the other admitted logits -inf: exp of them is 0", infinite, exact=True),
        Fill("decimal", "real logits within 4 of each other, each cell within the bound of its row", decimal),
    )

    def tensors(self, sizes: SoftmaxSizes) -> Iterator[StatedTensor]:
        yield read("x", r=sizes.r, c=sizes.c)
        if sizes.mask is Mask.PADDED:
            yield read("lengths", dtype="i32", r=sizes.r)
        yield written("y", r=sizes.r, c=sizes.c)

    def reference(self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        return {"y": normalised(inputs["x"], limits(problem, inputs))}

    def bound(
        self, problem: SizedProblem, inputs: Mapping[str, NDArray[Any]], accumulation: Accumulation
    ) -> Mapping[str, Floats]:
        """Return y times (6 n + 9 d + 12) u, for n admitted cells that differ by at most d, in any order of summation.

        Twice 3 d for the rounded exponents of both sides of the quotient, 4 for each exp (2 ulp), n - 1 for the sum
        (Higham, Accuracy and Stability of Numerical Algorithms, 4.2) and 3 for the quotient. A sum that is rescaled
        when its maximum grows has 3 d more for all steps together, and 5 for each (Milakov and Gimelshein, Online
        normalizer calculation for softmax).
        """
        x, limit = np.asarray(inputs["x"], np.float64), limits(problem, inputs)
        is_in = np.arange(x.shape[1]) < limit
        spread = np.max(x, axis=1, where=is_in, initial=-np.inf) - np.min(x, axis=1, where=is_in, initial=np.inf)
        spread = np.where(limit[:, 0] > 0, spread, 0.0)[:, None]
        unit = 2.0**-accumulation.accumulator.mantissa
        return {"y": normalised(x, limit) * (6 * limit + 9 * spread + 12) * unit}


def limits(problem: SizedProblem, inputs: Mapping[str, NDArray[Any]]) -> Ints:
    """Return how many cells of each row are admitted, shape (r, 1)."""
    return admitted(problem.sizes, inputs.get("lengths"))[:, None]


def normalised(x: NDArray[Any], limit: Ints) -> NDArray[Any]:
    """Return the softmax of the first ``limit`` cells of each row, in the type of x, and 0 for the others."""
    x = np.asarray(x)
    is_in = np.arange(x.shape[1]) < limit
    top = np.max(x, axis=1, keepdims=True, where=is_in, initial=-np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        powers = np.where(is_in, np.exp(x - np.where(limit > 0, top, 0)), 0)
        sums = powers.sum(axis=1, keepdims=True)
        return np.asarray(np.where(limit > 0, powers / np.where(limit > 0, sums, 1), 0))
