"""The answers of one case on one target, in the order of time, and those among them that fall out of line.

A case is red or green for a while: a commit breaks it, another one fixes it. An answer that differs from its neighbours
is no such change but a deviation, whose root cause is not a commit: the case, the machine, or the night. The steady
state of the answers is the likeliest path of a chain of two states (Viterbi, IEEE Trans. Inf. Theory 13, 1967),
with the weights below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

from bitgate.results.record import UNKNOWN, Outcome

CHANGE = -log(1 / 20)
"""Cost of a change of state where the build changed too."""
CHANGE_OF_NOTHING = -log(1 / 8000)
"""Cost of a change where the build did not change: a driver, a runtime or a machine must have, at the third answer."""
DEVIATION = -log(1 / 25)
"""Cost of an answer against the state: one alone is a deviation, two in a row with new builds are a state."""
MOST_CHANGES = 6
"""Most changes that are plausible: three bugs in one case, each of them fixed."""


class RunAnswer(NamedTuple):
    """An answer of a case. ``run`` is the number of the run in the database, ``node`` the machine's name."""

    time: str
    run: int
    node: str
    build: str
    commit: str
    outcome: Outcome
    green: bool
    digest: str
    seconds: float

    @property
    def red(self) -> bool:
        """True if the bits were wrong, also for a known bug."""
        return not self.green or self.outcome is Outcome.KNOWN_BUG


@dataclass(frozen=True)
class Period:
    """Answers ``first`` to ``last`` of a series, which are of one state except for deviations among them."""

    red: bool
    first: int
    last: int


@dataclass(frozen=True)
class Series:
    """The answers of a case, without runs in which it gave none."""

    answers: tuple[RunAnswer, ...]
    states: tuple[bool, ...]
    """The state for each answer: True is red."""

    @classmethod
    def of(cls, recorded: Sequence[RunAnswer]) -> Series:
        answers = tuple(answer for answer in recorded if not answer.outcome.is_unanswered)
        return cls(answers, steady([answer.red for answer in answers], [answer.build for answer in answers]))

    @property
    def deviations(self) -> list[int]:
        return [place for place, answer in enumerate(self.answers) if answer.red != self.states[place]]

    @property
    def is_red(self) -> bool:
        """True if the case is red by its last answer."""
        return bool(self.states) and self.states[-1] and self.answers[-1].red

    @property
    def periods(self) -> list[Period]:
        starts = [place for place, ill in enumerate(self.states) if place == 0 or ill != self.states[place - 1]]
        ends = [*(start - 1 for start in starts[1:]), len(self.states) - 1]
        return [Period(self.states[start], start, end) for start, end in zip(starts, ends, strict=False)]

    def is_certain(self, place: int) -> bool:
        """Say whether the build of a deviation has also answered otherwise: then no commit can be the reason."""
        build = self.answers[place].build
        ill = self.states[place]
        return build != UNKNOWN and any(one.build == build and one.red == ill for one in self.answers)


def steady(red: Sequence[bool], builds: Sequence[str]) -> tuple[bool, ...]:
    """Return the likeliest state for each answer; a case that would have changed too often has a single state."""
    path = likeliest(red, builds)
    changes = sum(one != other for one, other in pairwise(path))
    return path if changes <= MOST_CHANGES else (2 * sum(red) > len(red),) * len(red)


def likeliest(red: Sequence[bool], builds: Sequence[str]) -> tuple[bool, ...]:
    """Return the path of least cost."""
    if not red:
        return ()
    cost = [DEVIATION * red[0], DEVIATION * (not red[0])]
    came: list[tuple[bool, bool]] = []
    for place in range(1, len(red)):
        same = builds[place] == builds[place - 1] != UNKNOWN
        change = CHANGE_OF_NOTHING if same else CHANGE
        switched = (cost[1] + change < cost[0], cost[0] + change < cost[1])
        came.append(switched)
        best = [cost[1] + change if switched[0] else cost[0], cost[0] + change if switched[1] else cost[1]]
        cost = [best[0] + DEVIATION * red[place], best[1] + DEVIATION * (not red[place])]
    state = cost[1] < cost[0]
    path = [state]
    for switched in reversed(came):
        state = state != switched[state]
        path.append(state)
    return tuple(reversed(path))


@dataclass(frozen=True)
class TrendPoint:
    """A verdict in a trend.

    ``changed``: its digest differs from the one before; ``deviates``: it differs from its neighbours.
    """

    run: str
    answer: RunAnswer
    changed: bool
    deviates: bool

    def as_json(self) -> dict[str, Any]:
        answer = self.answer
        return {
            "run": self.run,
            "time": answer.time,
            "verdict": answer.outcome.value,
            "seconds": answer.seconds,
            "digest": answer.digest,
            "changed": self.changed,
            "deviates": self.deviates,
            "node": answer.node,
            "build": answer.build,
            "commit": answer.commit,
        }


def trend(recorded: Sequence[RunAnswer], names: Mapping[int, str]) -> list[TrendPoint]:
    """Return the points in the order of time; ``names`` are those of the runs by their numbers."""
    series = Series.of(recorded)
    odd = {id(series.answers[place]) for place in series.deviations}
    points, digest = [], ""
    for answer in recorded:
        changed = bool(digest and answer.digest and answer.digest != digest)
        digest = answer.digest or digest
        points.append(TrendPoint(names[answer.run], answer, changed, id(answer) in odd))
    return points
