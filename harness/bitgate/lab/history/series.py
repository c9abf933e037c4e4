"""What one case answered on one target, in the order of time, and which of the answers fall out of line.

A case is well or ill for a while: a commit breaks it, another one mends it. An answer that stands alone against its
neighbours is no such change but a deviation, which something else than a commit has to answer for: the case, the
machine, or the night. The steady state behind the answers is the likeliest path of a chain of two states (Viterbi,
IEEE Trans. Inf. Theory 13, 1967), with the weights below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import NamedTuple

from bitgate.results.record import UNKNOWN, Outcome

CHANGE = -log(1 / 20)
"""What a change of state costs where the build changed too."""
CHANGE_OF_NOTHING = -log(1 / 8000)
"""The same where it did not: then a driver, a runtime or a machine has to have changed, at the third answer."""
DEVIATION = -log(1 / 25)
"""What an answer against the state costs: one alone is a deviation, two on end with new builds are a state."""
MOST_CHANGES = 6
"""Three bugs in one case, each of them mended, are as many as one believes in."""


class RunAnswer(NamedTuple):
    """``run`` is the number of the run in the database, ``node`` the machine's name."""

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
        """The bits were wrong, also where a ledger knows of it."""
        return not self.green or self.outcome is Outcome.KNOWN_BUG


@dataclass(frozen=True)
class Period:
    """Answers ``first`` to ``last`` of a series are of one state, but for those among them that deviate."""

    red: bool
    first: int
    last: int


@dataclass(frozen=True)
class Series:
    """Only what is an answer: nothing is learned of a case that did not run."""

    answers: tuple[RunAnswer, ...]
    states: tuple[bool, ...]
    """Whether the case was ill, for each answer."""

    @classmethod
    def of(cls, told: Sequence[RunAnswer]) -> Series:
        answers = tuple(answer for answer in told if not answer.outcome.is_unanswered)
        return cls(answers, steady([answer.red for answer in answers], [answer.build for answer in answers]))

    @property
    def deviations(self) -> list[int]:
        return [place for place, answer in enumerate(self.answers) if answer.red != self.states[place]]

    @property
    def is_red(self) -> bool:
        """Is it ill by its last answer?"""
        return bool(self.states) and self.states[-1] and self.answers[-1].red

    @property
    def periods(self) -> list[Period]:
        starts = [place for place, ill in enumerate(self.states) if place == 0 or ill != self.states[place - 1]]
        ends = [*(start - 1 for start in starts[1:]), len(self.states) - 1]
        return [Period(self.states[start], start, end) for start, end in zip(starts, ends, strict=False)]

    def is_certain(self, place: int) -> bool:
        """Has the very build of a deviation answered otherwise? Then no commit can be behind it."""
        build = self.answers[place].build
        ill = self.states[place]
        return build != UNKNOWN and any(one.build == build and one.red == ill for one in self.answers)


def steady(red: Sequence[bool], builds: Sequence[str]) -> tuple[bool, ...]:
    """The likeliest state behind each answer. What would have been broken and mended again and again was neither."""
    path = likeliest(red, builds)
    changes = sum(one != other for one, other in pairwise(path))
    return path if changes <= MOST_CHANGES else (2 * sum(red) > len(red),) * len(red)


def likeliest(red: Sequence[bool], builds: Sequence[str]) -> tuple[bool, ...]:
    """The path of least cost."""
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
