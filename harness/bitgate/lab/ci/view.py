"""A night at one moment: its targets by what their shards do, and how their cases ended so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bitgate.lab.ci import task as tasks
from bitgate.lab.ci.attempts import folder_of, name_of
from bitgate.lab.ci.journal import Attempt, Place, Progress
from bitgate.lab.ci.tally import OutcomeTally
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome

TELLING = 0.05
"""Share of the cases that must be done before an end is estimated."""


@dataclass(frozen=True)
class TargetProgress:
    """One target: how many of its shards do what; its cases, those with an answer, and those that are red so far."""

    target: str
    shards: Mapping[str, int]
    """By a word of ``WORDS``."""
    cases: int
    answered: int
    red: int
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)


WORDS = ("done", "running", "waiting", "given up")


@dataclass(frozen=True)
class NightView:
    """``longest``: which shard has run longest, in words; ``seconds``: since the first one began."""

    rows: Sequence[TargetProgress]
    longest: str = ""
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        return sum(row.cases for row in self.rows)

    @property
    def answered(self) -> int:
        return sum(row.answered for row in self.rows)

    @property
    def left(self) -> float | None:
        """Seconds to the end, if it goes on like this; None while too little is done to tell."""
        if not self.answered or self.answered < TELLING * self.cases:
            return None
        return self.seconds * (self.cases - self.answered) / self.answered

    @property
    def line(self) -> str:
        shards = {word: sum(row.shards.get(word, 0) for row in self.rows) for word in WORDS}
        told = ", ".join(f"{count} {word}" for word, count in shards.items() if count)
        longest = f"; {self.longest}" if self.longest else ""
        end = f"; about {duration(self.left)} to go" if self.left else ""
        red = sum(row.red for row in self.rows)
        return f"shards: {told}; cases: {self.answered} of {self.cases}, {red} red{longest}{end}"


def view_of(
    night: Path,
    shards: Mapping[Place, Progress],
    states: Mapping[Place, TaskStatus],
    tally: Callable[[Place, Attempt], OutcomeTally],
) -> NightView:
    """Of a night's shards, and how their open attempts stood when the engine was asked last."""
    targets = dict.fromkeys(target for target, _ in shards)
    rows = tuple(_row(target, shards, states, tally) for target in targets)
    running = {place: p.open for place, p in shards.items() if p.open and _word(place, p, states) == "running"}
    began = {place: _began(night, place, attempt) for place, attempt in running.items()}
    first = min((start for start in began.values() if start), default=0.0)
    longest = next((place for place, start in began.items() if start and start == first), None)
    now = time.time()
    words = f"{name_of(longest)} has run for {duration(now - first)}" if longest else ""
    begun = [_began(night, place, p.attempts[0]) for place, p in shards.items() if p.attempts]
    since = min((start for start in begun if start), default=now)
    return NightView(rows, words, now - since)


def _row(
    target: str,
    shards: Mapping[Place, Progress],
    states: Mapping[Place, TaskStatus],
    tally: Callable[[Place, Attempt], OutcomeTally],
) -> TargetProgress:
    own = {place: progress for place, progress in shards.items() if place[0] == target}
    outcomes: Counter[Outcome] = Counter()
    red = 0
    for place, progress in own.items():
        counts, reds = _shard([tally(place, attempt) for attempt in progress.attempts])
        outcomes += counts
        red += reds
    words = Counter(_word(place, progress, states) for place, progress in own.items())
    answered = sum(count for outcome, count in outcomes.items() if not _is_open(outcome))
    return TargetProgress(target, words, sum(progress.cases for progress in own.values()), answered, red, outcomes)


def _shard(tallies: Sequence[OutcomeTally]) -> tuple[Counter[Outcome], int]:
    """How the cases of a shard ended, and how many of them are red. Most shards have one attempt, and a night has
    200,000 cases."""
    if len(tallies) == 1:
        return tallies[0].counts, len(tallies[0].red)
    outcomes: dict[str, Outcome] = {}
    red: set[str] = set()
    for one in tallies:
        _take(one, outcomes, red)
    return Counter(outcomes.values()), len(red)


def _take(found: OutcomeTally, outcomes: dict[str, Outcome], red: set[str]) -> None:
    """A later attempt takes the place of what was no answer, and turns nothing red green."""
    for name, outcome in found.outcomes.items():
        if _is_open(outcome) and name in outcomes:
            continue
        if name not in outcomes or _is_open(outcomes[name]):
            red.discard(name)
        outcomes[name] = outcome
        if name in found.red:
            red.add(name)


def _is_open(outcome: Outcome) -> bool:
    return outcome in (Outcome.INFRA, Outcome.LOST)


def _word(place: Place, progress: Progress, states: Mapping[Place, TaskStatus]) -> str:
    if progress.settled is not None:
        return "given up" if progress.settled else "done"
    status = states.get(place)
    return "running" if progress.open and status and status.state is TaskState.RUNNING else "waiting"


def _began(night: Path, place: Place, attempt: Attempt) -> float | None:
    process = tasks.process_of(folder_of(night, place, attempt.number))
    return process.started if process else None


def duration(seconds: float) -> str:
    """``42 s``, ``12 min``, ``3 h 05 min``."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
