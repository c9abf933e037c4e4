"""A snapshot of a night: its targets by the states of their shards, and the outcomes of their cases so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from bitgate.lab.ci import task as tasks
from bitgate.lab.ci.attempts import folder_of, name_of
from bitgate.lab.ci.journal import Attempt, Place, Progress
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome

OUT_OF_MEMORY = "out of memory"
"""Words in the reason of a case that ran out of memory, by which JUnit names it too."""


class _TallyLine(Struct):
    test: str
    verdict: Outcome
    green: bool
    reason: str = ""


def case_of(test: str) -> str:
    """Return the id of the case that a pytest node id names."""
    return test.partition("[")[2].removesuffix("]")


class OutcomeTally:
    """Outcomes by the id of the case, read from one results file as it grows.

    A line that cannot be read is ignored here: the merge reports it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outcomes: dict[str, Outcome] = {}
        self.counts: Counter[Outcome] = Counter()
        self.red: set[str] = set()
        self.short: set[str] = set()
        """The cases that ran out of memory."""
        self._read = 0
        self._decoder = msgspec.json.Decoder(_TallyLine)

    def update(self) -> OutcomeTally:
        """Read the whole lines that were added since the last update."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:  # not begun, or its machine is gone
            return self
        whole = data.rfind(b"\n") + 1
        self._read += whole
        for line in data[:whole].splitlines():
            self._take(line)
        return self

    def _take(self, line: bytes) -> None:
        try:
            found = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        name = case_of(found.test)
        if name in self.outcomes:
            self.counts[self.outcomes[name]] -= 1
        self.outcomes[name] = found.verdict
        self.counts[found.verdict] += 1
        (self.red.discard if found.green else self.red.add)(name)
        is_short = found.verdict is Outcome.INFRA and OUT_OF_MEMORY in found.reason
        (self.short.add if is_short else self.short.discard)(name)


ESTIMATE_SHARE = 0.05
"""Share of the cases that must be done before an end is estimated."""


@dataclass(frozen=True)
class TargetProgress:
    """One target: its shards by state; its cases, those with an answer, and those that are red so far."""

    target: str
    shards: Mapping[str, int]
    """Numbers by a word of ``WORDS``."""
    cases: int
    answered: int
    red: int
    outcomes: Mapping[Outcome, int] = field(default_factory=dict)


WORDS = ("done", "running", "waiting", "given up")


@dataclass(frozen=True)
class NightView:
    """The view of a night. ``longest``: the longest running shard, in words; ``seconds``: since the first one began."""

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
        """Estimated seconds to the end; None while too little is done for an estimate."""
        if not self.answered or self.answered < ESTIMATE_SHARE * self.cases:
            return None
        return self.seconds * (self.cases - self.answered) / self.answered

    @property
    def line(self) -> str:
        shards = {word: sum(row.shards.get(word, 0) for row in self.rows) for word in WORDS}
        counts = ", ".join(f"{count} {word}" for word, count in shards.items() if count)
        longest = f"; {self.longest}" if self.longest else ""
        end = f"; about {duration(self.left)} to go" if self.left else ""
        red = sum(row.red for row in self.rows)
        return f"shards: {counts}; cases: {self.answered} of {self.cases}, {red} red{longest}{end}"


def view_of(
    night: Path,
    shards: Mapping[Place, Progress],
    states: Mapping[Place, TaskStatus],
    tally: Callable[[Place, Attempt], OutcomeTally],
) -> NightView:
    """Return the view of a night's shards, with the states of their open attempts at the last poll."""
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
    """Return the outcomes of a shard's cases, and the number of red ones.

    Most shards have one attempt, and a night has 200,000 cases.
    """
    if len(tallies) == 1:
        return tallies[0].counts, len(tallies[0].red)
    outcomes: dict[str, Outcome] = {}
    red: set[str] = set()
    for one in tallies:
        _take(one, outcomes, red)
    return Counter(outcomes.values()), len(red)


def _take(found: OutcomeTally, outcomes: dict[str, Outcome], red: set[str]) -> None:
    """Add a later attempt: it replaces missing answers, and turns nothing red green."""
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
    """Format a duration: ``42 s``, ``12 min``, ``3 h 05 min``."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
