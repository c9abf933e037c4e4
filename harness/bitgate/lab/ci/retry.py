"""What is run again in a night, and why: decided from what the attempts left, never from hope for a better colour.

| what an attempt left | then |
|---|---|
| cases without an answer: a machine, device or process was lost, or INFRA, LOST | those once more, elsewhere |
| the same, out of time | those once more, with twice the time |
| the same, out of memory | those once more, alone on a machine |
| a red answer about a kernel | the case once more, to tell whether it is deterministic: that can turn nothing green |
| more than ``SICK_SHARE`` of its cases INFRA or CRASHED | nothing: device or build is sick |
| shards failed on a sick machine, and no other is known to be well | nothing |
| no capacity, cancelled | nothing |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome

SICK_SHARE = 0.05
"""ReFrame's threshold. Fewer than ``SICK_CASES`` say nothing."""
SICK_CASES = 3
SICK_SHARDS = 3
"""Failed on one machine, and more than went well there."""

TIMES_LONGER = 2.0

TO_CLASSIFY = (Outcome.MISMATCH, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG)
"""Reds that may be another thing on the next run. What the build or the kernel's own checks say is not."""


@dataclass(frozen=True)
class AttemptHistory:
    """An attempt that has ended: ``outcomes`` by the ids of the cases that it recorded, ``red`` those that count."""

    status: TaskStatus
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    red: frozenset[str] = frozenset()

    @cached_property
    def answered(self) -> frozenset[str]:
        """NOT_RUN is one: the run gave its reason."""
        return frozenset(i for i, one in self.outcomes.items() if one not in (Outcome.INFRA, Outcome.LOST))


@dataclass(frozen=True)
class Decision:
    """``why`` it runs again, or why no more of it does: empty if it has all its answers. ``only``: the ids that are
    run, none: the whole shard. ``longer``: times the minutes; ``alone``: on a machine of its own."""

    again: bool
    why: str = ""
    only: frozenset[str] = frozenset()
    avoid: tuple[str, ...] = ()
    longer: float = 1.0
    alone: bool = False


@dataclass(frozen=True)
class Health:
    """Machines, by what shards met there."""

    failed: Mapping[str, int] = field(default_factory=dict)
    went_well: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Collection[tuple[Collection[str], Sequence[AttemptHistory]]]) -> Health:
        """Of all shards of a night: what each had to answer, and its attempts."""
        failed: Counter[str] = Counter()
        well: Counter[str] = Counter()
        for planned, attempts in shards:
            todo = frozenset(planned)
            for attempt in attempts:
                todo -= attempt.answered
                if attempt.status.node and _is_machines(attempt.status.state):
                    (failed if todo else well)[attempt.status.node] += 1
        return cls(failed, well)

    @property
    def sick(self) -> tuple[str, ...]:
        known = self.failed.items()
        return tuple(sorted(n for n, count in known if count >= SICK_SHARDS and count > self.went_well.get(n, 0)))

    @property
    def is_hopeless(self) -> bool:
        """Is there a sick machine, and none that is known to be well?"""
        return bool(self.sick) and not any(node not in self.sick for node in self.went_well)


def decide(planned: Collection[str], attempts: Sequence[AttemptHistory], health: Health | None = None) -> Decision:
    """What follows from a shard's attempts, of which the last has just ended. ``planned``: the ids of its cases."""
    last, health = attempts[-1], health or Health()
    if last.status.state is TaskState.NO_CAPACITY:
        return Decision(False, f"no capacity: {last.status.reason or 'no machine can run it'}")
    if last.status.state is TaskState.CANCELLED:
        return Decision(False, "cancelled")
    missing = unanswered(planned, attempts)
    unclear = _unclear(attempts)
    if (missing or unclear) and (sick := _sick(planned, last)):
        return Decision(False, sick)
    if missing:
        return _for_answers(planned, attempts, missing, unclear, health)
    if unclear:
        return Decision(
            True,
            f"again to tell whether {cases_of(unclear)} {'fails' if len(unclear) == 1 else 'fail'} alike each time",
            unclear,
        )
    return Decision(False)


def unanswered(planned: Collection[str], attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """The cases that no attempt has an answer for."""
    return frozenset(planned).difference(*(attempt.answered for attempt in attempts))


def part(planned: Collection[str], wanted: frozenset[str]) -> frozenset[str]:
    """As ``Decision.only``: nothing if all of it is wanted."""
    return frozenset() if wanted >= frozenset(planned) else wanted


def _for_answers(
    planned: Collection[str],
    attempts: Sequence[AttemptHistory],
    missing: frozenset[str],
    unclear: frozenset[str],
    health: Health,
) -> Decision:
    status = attempts[-1].status
    lack = f"{cases_of(missing)} without an answer: {said(status)}"
    if sum(bool(unanswered(planned, attempts[: n + 1])) for n in range(len(attempts))) > 1:
        return Decision(False, f"ran again, and still {lack}")
    if health.is_hopeless:
        return Decision(False, f"{lack}; {', '.join(health.sick)} fails again and again, and no machine is well")
    here = (status.node,) if status.node and status.state is not TaskState.PREEMPTED else ()
    return Decision(
        True,
        lack,
        part(planned, missing | unclear),
        avoid=tuple(dict.fromkeys((*here, *health.sick))),
        longer=TIMES_LONGER if status.state is TaskState.TIMED_OUT else 1.0,
        alone=status.state is TaskState.OUT_OF_MEMORY,
    )


def _unclear(attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """Red cases that have been seen once."""
    times = Counter(i for attempt in attempts for i in attempt.answered)
    last = attempts[-1]
    return frozenset(i for i in last.red if times[i] == 1 and last.outcomes[i] in TO_CLASSIFY)


def _sick(planned: Collection[str], last: AttemptHistory) -> str:
    ill = [outcome for outcome in last.outcomes.values() if outcome in (Outcome.INFRA, Outcome.CRASHED)]
    if len(ill) < SICK_CASES or len(ill) <= SICK_SHARE * len(planned):
        return ""
    where = f" on {last.status.node}" if last.status.node else ""
    return f"sick{where}: {len(ill)} of {len(planned)} cases ended INFRA or CRASHED: nothing of it is run again"


def said(status: TaskStatus) -> str:
    """How an attempt ended, in words."""
    where = f" on {status.node}" if status.node else ""
    if status.state is TaskState.ENDED and not status.reason:
        return f"its run ended with {status.exit_code}{where}"
    return f"{status.reason or status.state.value}{where}"


def _is_machines(state: TaskState) -> bool:
    """Does such an end tell anything about the machine?"""
    return state not in (TaskState.PREEMPTED, TaskState.CANCELLED, TaskState.NO_CAPACITY)


def cases_of(ids: Collection[str]) -> str:
    """``1 case``, ``2 cases``."""
    return f"{len(ids)} case{'s' * (len(ids) != 1)}"
