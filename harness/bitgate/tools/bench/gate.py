"""Decision whether a change may go in: arm A is the base, arm B the change, and only what is slower twice is red."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from bitgate.results.record import UNKNOWN, Outcome
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.tools.bench.compare import SIDES, ShapeResult, compare, format_kernel
from bitgate.tools.bench.settings import Significance


class Ruling(str, Enum):
    """The gate's decision on a shape."""

    SLOWER = "slower"
    """Significantly slower, by more than the minimum effect, also when measured again alone in new processes."""
    NOT_VERIFIED = "not verified"
    """The change computes something else here, or died; nothing else counts then."""
    NOT_CONFIRMED = "not confirmed"
    """Slower at first, but not when it was measured again."""
    FASTER = "faster"
    """Faster in both measurements."""
    SAME = "no slower"
    NO_BASE = "no base"
    """Nothing to measure against: the kernel is new, or the base does not build or is wrong itself."""
    GONE = "gone"
    """The base has a kernel for it, the change refuses it."""
    NEITHER = "not timed"
    """Neither arm has a kernel for it."""
    TOO_LITTLE = "too little data"


RED = frozenset({Ruling.SLOWER, Ruling.NOT_VERIFIED})
OPEN = frozenset({Ruling.TOO_LITTLE, Ruling.GONE, Ruling.NEITHER})
"""Not green either: a kernel that is gone cannot be shown to be as fast."""
COMPARED = frozenset({Ruling.SLOWER, Ruling.NOT_CONFIRMED, Ruling.FASTER, Ruling.SAME})

FAR_LONGER = 1.5
STALLS = 0.2
"""If one sample in twenty took this long by chance, this share of twenty would be met in 3 of 200 measurements. It
would be met twice in a row in one of 4,000."""

Shape = tuple[str, str]
"""Case id and name."""


@dataclass(frozen=True)
class GateResult:
    """The ruling on one shape. ``again`` is the second measurement, where there was one; ``why`` is for people."""

    shape: ShapeResult
    ruling: Ruling
    why: str = ""
    again: ShapeResult | None = None

    def as_json(self) -> dict[str, Any]:
        again = self.again.as_json() if self.again else None
        return {**self.shape.as_json(), "ruling": self.ruling.value, "why": self.why, "again": again}


@dataclass(frozen=True)
class Gate:
    """All shapes, in the order in which they were measured."""

    shapes: tuple[GateResult, ...]
    significance: Significance

    @property
    def exit_code(self) -> int:
        """1 if a shape is red; 3 if too little is known of one, or none was compared; else 0."""
        if self.of(*RED):
            return 1
        return 3 if self.of(*OPEN) or not self.of(*COMPARED) else 0

    @property
    def counts(self) -> dict[str, int]:
        return {ruling.value: sum(one.ruling is ruling for one in self.shapes) for ruling in Ruling}

    @property
    def same_builds(self) -> int:
        """The number of compared shapes where both arms are one kernel of one build: noise against noise."""
        return sum(_is_same_build(one.shape) for one in self.of(*COMPARED))

    def of(self, *rulings: Ruling) -> list[GateResult]:
        return [one for one in self.shapes if one.ruling in rulings]

    def as_json(self) -> dict[str, Any]:
        return {
            "exit_code": self.exit_code,
            "counts": self.counts,
            "same_builds": self.same_builds,
            "significance": vars(self.significance),
            "shapes": [one.as_json() for one in self.shapes],
        }


def judge(
    rows: Sequence[Timing], significance: Significance, again: Callable[[Sequence[Shape]], Sequence[Timing]]
) -> Gate:
    """Rule on every shape of the rows.

    ``again`` measures the given shapes once more, in new processes. It is called once at most, with the shapes that
    have a winner or seem slower, are verified, and differ in their builds: with the same build a difference can only be
    noise.
    """
    first = compare(rows, significance)
    wrong = _wrong(rows)
    suspects = [
        (one.case, one.name)
        for one in first.shapes
        if (one.winner in SIDES or _seems_slower(one, significance))
        and (one.case, one.name) not in wrong
        and not _is_same_build(one)
    ]
    more = list(again(suspects)) if suspects else []
    wrong |= _wrong(more)
    second = {(one.case, one.name): one for one in compare(more, significance).shapes}
    late = {
        (row.case, row.name, row.side) for row in rows if row.status is TimingStatus.OVER_BUDGET or _found_no_room(row)
    }
    ruled = [_ruled(one, second.get((one.case, one.name)), wrong, late, significance) for one in first.shapes]
    return Gate(tuple(ruled), significance)


def _is_same_build(one: ShapeResult) -> bool:
    """Say whether both arms are one kernel of one library. A kernel launched by Python may differ from its key."""
    if one.a is None or one.b is None:
        return False
    builds = {best.row.fingerprint.get("build", "") for best in (one.a, one.b)}
    is_native = {best.row.settings.get("loop") for best in (one.a, one.b)} == {"C"}
    return is_native and one.a.words == one.b.words and len(builds) == 1 and not builds & {"", UNKNOWN}


def _seems_slower(one: ShapeResult, significance: Significance) -> bool:
    """Say whether a tie is slower by the minimum effect, which may be noise, or stalls: that is not shown to be as
    fast."""
    if one.winner != "tie":
        return False
    return (one.ratio > 1 and one.gain >= significance.minimum_effect) or _stalls(one) >= STALLS


def _stalls(one: ShapeResult) -> float:
    """Return how much larger the change's share of samples is that take far longer than most of their arm.

    A median does not show such samples.
    """
    shares = []
    for best in (one.a, one.b):
        seconds = np.array(best.row.seconds if best else [1.0])
        shares.append(float(np.mean(seconds > FAR_LONGER * np.median(seconds))))
    return shares[1] - shares[0]


def _wrong(rows: Sequence[Timing]) -> dict[Shape, str]:
    """Return by shape how the change failed: not verified, or died."""
    latest = {(row.name, row.identity): row for row in rows if row.side == "B"}
    found: dict[Shape, str] = {}
    for row in latest.values():
        if row.status in (TimingStatus.NOT_VERIFIED, TimingStatus.FAILED) and not _found_no_room(row):
            why = ": ".join(filter(None, [f"{format_kernel(row)} {row.status.value}", row.verdict, row.reason]))
            found.setdefault((row.case, row.name), why)
    return found


def _found_no_room(row: Timing) -> bool:
    """Say whether a row was not run, for lack of memory for example: nothing is wrong with the kernel then."""
    return row.verdict == Outcome.NOT_RUN.value


def _ruled(
    one: ShapeResult,
    again: ShapeResult | None,
    wrong: dict[Shape, str],
    late: Collection[tuple[str, str, str]],
    significance: Significance,
) -> GateResult:
    """Rule on one shape. ``late`` holds the arms of shapes that ran out of time or memory."""
    if why := wrong.get((one.case, one.name)):
        return GateResult(one, Ruling.NOT_VERIFIED, why, again)
    if one.compared and _is_same_build(one):
        noise = "both sides are the same build: what differs is noise, of which there is much here"
        return GateResult(one, Ruling.SAME, noise if one.winner in SIDES else one.note)
    if one.winner == "A" or _seems_slower(one, significance):
        return _confirmed(one, again, significance)
    if one.winner == "B" and (again is None or again.winner != "B"):
        return GateResult(one, Ruling.SAME, "faster at first, and not when it was measured again", again)
    if one.compared:
        return GateResult(one, Ruling.FASTER if one.winner == "B" else Ruling.SAME, one.note, again)
    absent = [side for side, best in (("A", one.a), ("B", one.b)) if best is None]
    if not absent or any((one.case, one.name, side) in late for side in absent):
        return GateResult(one, Ruling.TOO_LITTLE, one.note)
    if len(absent) == 2:
        return GateResult(one, Ruling.NEITHER, one.note)
    return GateResult(one, Ruling.NO_BASE if "A" in absent else Ruling.GONE, one.note)


def _confirmed(one: ShapeResult, again: ShapeResult | None, significance: Significance) -> GateResult:
    """Rule on a shape that was slower at first: red only if it is so twice; what only seems so twice is left open."""
    if again is None or not again.compared:
        why = again.note if again else "it was not measured again"
        return GateResult(one, Ruling.TOO_LITTLE, f"slower at first, then: {why}", again)
    if one.winner == again.winner == "A":
        return GateResult(one, Ruling.SLOWER, again.note, again)
    if again.winner != "A" and not _seems_slower(again, significance):
        return GateResult(one, Ruling.NOT_CONFIRMED, again.note, again)
    why = "seems slower twice, not significantly: take more --samples"
    if _stalls(again) >= STALLS:
        why = f"now and then it takes over {FAR_LONGER:g} times as long: {100 * _stalls(again):.0f} % more often"
    return GateResult(one, Ruling.TOO_LITTLE, why, again)
