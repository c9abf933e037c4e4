"""Decisions on what is run again in a night, from what the attempts left, never from hope for a better result.

| what an attempt left | then |
|---|---|
| cases without an answer: a machine, device or process was lost, or INFRA, LOST | those once more, elsewhere |
| the same, out of time | those once more, with twice the time |
| the same, out of memory | those once more, alone on a machine |
| a red answer about a kernel | the case once more, to see whether it is deterministic: that turns nothing green |
| more than ``UNHEALTHY_SHARE`` of its cases INFRA or CRASHED | nothing: device or build is unhealthy |
| shards failed on an unhealthy machine, and no other is known to be healthy | nothing |
| no capacity, cancelled | nothing |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.record import Outcome

UNHEALTHY_SHARE = 0.05
"""Threshold of an unhealthy attempt, as in ReFrame. Fewer than ``UNHEALTHY_CASES`` are ignored."""
UNHEALTHY_CASES = 3
UNHEALTHY_SHARDS = 3
"""Shards that failed on one machine, and more than succeeded there, to call it unhealthy."""

TIMES_LONGER = 2.0

TO_CLASSIFY = (Outcome.MISMATCH, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG)
"""Outcomes that may differ on the next run. Those of the build and of checks in the kernel may not."""


@dataclass(frozen=True)
class AttemptHistory:
    """An attempt that has ended.

    ``outcomes`` are by the ids of the cases that it recorded, ``red`` holds those that count.
    """

    status: TaskStatus
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    red: frozenset[str] = frozenset()

    @cached_property
    def answered(self) -> frozenset[str]:
        """The cases with an answer. NOT_RUN is one: the run gave its reason."""
        return frozenset(i for i, one in self.outcomes.items() if one not in (Outcome.INFRA, Outcome.LOST))


@dataclass(frozen=True)
class Decision:
    """A decision on a shard.

    ``why`` it runs again, or why no more of it does: empty if it has all its answers. ``only``: the ids to run; empty
    stands for the whole shard. ``longer``: factor on the minutes; ``alone``: without other tasks on the machine.
    """

    again: bool
    why: str = ""
    only: frozenset[str] = frozenset()
    avoid: tuple[str, ...] = ()
    longer: float = 1.0
    alone: bool = False


@dataclass(frozen=True)
class Health:
    """The health of machines, from the shards that ran there."""

    failed: Mapping[str, int] = field(default_factory=dict)
    went_well: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, shards: Collection[tuple[Collection[str], Sequence[AttemptHistory]]]) -> Health:
        """Judge the machines from all shards of a night: what each had to answer, and its attempts."""
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
    def unhealthy(self) -> tuple[str, ...]:
        known = self.failed.items()
        return tuple(sorted(n for n, count in known if count >= UNHEALTHY_SHARDS and count > self.went_well.get(n, 0)))

    @property
    def is_hopeless(self) -> bool:
        """True if there is an unhealthy machine, and none that is known to be healthy."""
        return bool(self.unhealthy) and not any(node not in self.unhealthy for node in self.went_well)


def decide(planned: Collection[str], attempts: Sequence[AttemptHistory], health: Health | None = None) -> Decision:
    """Decide on a shard after the last of its attempts has ended. ``planned``: the ids of its cases."""
    last, health = attempts[-1], health or Health()
    if last.status.state is TaskState.NO_CAPACITY:
        return Decision(False, f"no capacity: {last.status.reason or 'no machine can run it'}")
    if last.status.state is TaskState.CANCELLED:
        return Decision(False, "cancelled")
    missing = unanswered(planned, attempts)
    unclear = _unclear(attempts)
    if (missing or unclear) and (unhealthy := _unhealthy(planned, last)):
        return Decision(False, unhealthy)
    if missing:
        return _for_answers(planned, attempts, missing, unclear, health)
    if unclear:
        return Decision(
            True,
            f"again to see whether {cases_of(unclear)} {'fails' if len(unclear) == 1 else 'fail'} alike each time",
            unclear,
        )
    return Decision(False)


def unanswered(planned: Collection[str], attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """Return the cases that have no answer from any attempt."""
    return frozenset(planned).difference(*(attempt.answered for attempt in attempts))


def part(planned: Collection[str], wanted: frozenset[str]) -> frozenset[str]:
    """Return the ids for ``Decision.only``: none if the whole shard is wanted."""
    return frozenset() if wanted >= frozenset(planned) else wanted


def _for_answers(
    planned: Collection[str],
    attempts: Sequence[AttemptHistory],
    missing: frozenset[str],
    unclear: frozenset[str],
    health: Health,
) -> Decision:
    status = attempts[-1].status
    lack = f"{cases_of(missing)} without an answer: {format_status(status)}"
    if sum(bool(unanswered(planned, attempts[: n + 1])) for n in range(len(attempts))) > 1:
        return Decision(False, f"ran again, and still {lack}")
    if health.is_hopeless:
        return Decision(False, f"{lack}; {', '.join(health.unhealthy)} keeps failing, and no machine is healthy")
    here = (status.node,) if status.node and status.state is not TaskState.PREEMPTED else ()
    return Decision(
        True,
        lack,
        part(planned, missing | unclear),
        avoid=tuple(dict.fromkeys((*here, *health.unhealthy))),
        longer=TIMES_LONGER if status.state is TaskState.TIMED_OUT else 1.0,
        alone=status.state is TaskState.OUT_OF_MEMORY,
    )


def _unclear(attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """Return the red cases that were run once."""
    times = Counter(i for attempt in attempts for i in attempt.answered)
    last = attempts[-1]
    return frozenset(i for i in last.red if times[i] == 1 and last.outcomes[i] in TO_CLASSIFY)


def _unhealthy(planned: Collection[str], last: AttemptHistory) -> str:
    ill = [outcome for outcome in last.outcomes.values() if outcome in (Outcome.INFRA, Outcome.CRASHED)]
    if len(ill) < UNHEALTHY_CASES or len(ill) <= UNHEALTHY_SHARE * len(planned):
        return ""
    where = f" on {last.status.node}" if last.status.node else ""
    return f"unhealthy{where}: {len(ill)} of {len(planned)} cases ended INFRA or CRASHED: nothing of it is run again"


def format_status(status: TaskStatus) -> str:
    """Format how an attempt ended."""
    where = f" on {status.node}" if status.node else ""
    if status.state is TaskState.ENDED and not status.reason:
        return f"its run ended with {status.exit_code}{where}"
    return f"{status.reason or status.state.value}{where}"


def _is_machines(state: TaskState) -> bool:
    """Say whether such an end depends on the machine."""
    return state not in (TaskState.PREEMPTED, TaskState.CANCELLED, TaskState.NO_CAPACITY)


def cases_of(ids: Collection[str]) -> str:
    """Format a number of cases: ``1 case``, ``2 cases``."""
    return f"{len(ids)} case{'s' * (len(ids) != 1)}"
