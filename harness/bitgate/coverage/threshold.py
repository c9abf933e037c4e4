"""Where host code takes one way or another, and whether cases stand on both sides.

One table: each threshold is a number of a case and an edge; up to the edge is one side, beyond it the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from bitgate.coverage.ran import Ran

FLAT_VECTOR = 8
"""Elements that a packed descriptor moves at once, where an instance does not state its own."""


@dataclass(frozen=True)
class Threshold:
    """``quantity`` None: the threshold says nothing of this case."""

    name: str
    below: str
    beyond: str
    edge: int
    quantity: Callable[[Ran], int | None]
    option: str = ""
    """The option that moves the threshold, so that small cases pass it."""


def _vector(ran: Ran, place: int) -> int:
    """Of an instance that moves single elements the packed descriptor's, which then is what K is measured by."""
    stated = (ran.instance.vector or (1, 1, 1))[place]
    return stated if stated > 1 else FLAT_VECTOR


def _tile(ran: Ran, place: int) -> int | None:
    return ran.instance.tile[place] if ran.instance.tile else None


def _tail(length: Callable[[Ran], int], place: int) -> Callable[[Ran], int | None]:
    def quantity(ran: Ran) -> int | None:
        tile = _tile(ran, place)
        return None if tile is None else length(ran) % tile

    return quantity


def _blocks(length: Callable[[Ran], int], place: int) -> Callable[[Ran], int | None]:
    def quantity(ran: Ran) -> int | None:
        tile = _tile(ran, place)
        return None if tile is None else -(-length(ran) // tile)

    return quantity


def _columns(ran: Ran) -> int:
    return ran.problem.c if ran.problem.result == "in" else ran.problem.k


def _reduced(ran: Ran) -> int:
    return ran.problem.k if ran.problem.result == "in" else ran.problem.c


def _is_bwd_data(quantity: Callable[[Ran], int]) -> Callable[[Ran], int | None]:
    return lambda ran: quantity(ran) if ran.problem.result == "in" else None


THRESHOLDS: tuple[Threshold, ...] = (
    Threshold("gemms_count", "one sub-GEMM", "several sub-GEMMs", 1, _is_bwd_data(lambda r: r.gemms_count)),
    Threshold(
        "bucket",
        "sub-GEMMs that fit one bucket",
        "sub-GEMMs beyond one bucket",
        0,
        _is_bwd_data(lambda r: r.gemms_count - r.option("bucket_size", 32)),
    ),
    Threshold(
        "two_buckets",
        "sub-GEMMs that fit two buckets",
        "sub-GEMMs beyond two buckets",
        0,
        _is_bwd_data(lambda r: r.gemms_count - 2 * r.option("bucket_size", 32)),
    ),
    Threshold("g", "one group", "several groups", 1, lambda r: r.problem.g),
    Threshold("numd", "no D tensor", "a D tensor", 0, lambda r: r.problem.op.num_d),
    Threshold("k_vector", "K in whole vectors", "K with a ragged vector", 0, lambda r: r.problem.k % _vector(r, 0)),
    Threshold("c_vector", "C in whole vectors", "C with a ragged vector", 0, lambda r: r.problem.c % _vector(r, 1)),
    Threshold("k_length", "K of at least one vector", "K below one vector", 0, lambda r: _vector(r, 0) - r.problem.k),
    Threshold("columns_tail", "whole tiles of columns", "a ragged tile of columns", 0, _tail(_columns, 1)),
    Threshold("columns", "one tile of columns", "several tiles of columns", 1, _blocks(_columns, 1)),
    Threshold("k_tail", "whole tiles of channels summed", "a ragged tile of them", 0, _tail(_reduced, 2)),
    Threshold("k_blocks", "one tile of channels summed", "several tiles of them", 1, _blocks(_reduced, 2)),
    Threshold("split_n", "images in one chunk", "images in several chunks", 1, lambda r: r.split_n, "split_n_bytes"),
    Threshold("split_k", "K in one slice", "K in several slices", 1, lambda r: r.split_k),
    Threshold("launches", "one launch", "several launches", 1, lambda r: r.launches),
    Threshold("zero_fill", "output not cleared first", "output cleared first", 0, lambda r: int(r.zero_fill)),
    Threshold("taps", "a single tap", "several taps", 1, lambda r: prod(r.problem.filter)),
)


@dataclass(frozen=True)
class Side:
    """Cases on one side; ``nearest`` is how far from the edge the closest one is: at best 0 below it, 1 beyond."""

    words: str
    cases: int
    nearest: int | None
    is_possible: bool


@dataclass(frozen=True)
class Crossing:
    """A threshold with its two sides."""

    name: str
    below: Side
    beyond: Side

    @property
    def missing(self) -> str:
        """The side that could have a case and has none, in words. Empty too where one side cannot be: that is no
        threshold of this kernel."""
        if not (self.below.is_possible and self.beyond.is_possible):
            return ""
        return next((side.words for side in (self.below, self.beyond) if not side.cases), "")


def crossings(ran: Sequence[Ran], possible: Sequence[Ran]) -> list[Crossing]:
    """Every threshold that says something of these cases, of one family. ``possible`` tells which sides there are; an
    option that moves a threshold makes its far side possible too, where else only gigabytes would."""
    found = []
    for threshold in THRESHOLDS:
        met, could = _values(threshold, ran), _values(threshold, possible)
        if not met and not could:
            continue
        sides = []
        for is_beyond, words in ((False, threshold.below), (True, threshold.beyond)):
            here = [abs(v - threshold.edge) for v in met if (v > threshold.edge) is is_beyond]
            possibly = any((v > threshold.edge) is is_beyond for v in could)
            forced = is_beyond and any(one.family.option(threshold.option) for one in (*ran[:1], *possible[:1]))
            sides.append(Side(words, len(here), min(here, default=None), possibly or bool(here) or forced))
        found.append(Crossing(threshold.name, *sides))
    return found


def _values(threshold: Threshold, ran: Sequence[Ran]) -> list[int]:
    values = (threshold.quantity(one) for one in ran)
    return [value for value in values if value is not None]
