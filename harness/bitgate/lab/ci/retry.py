"""Decisions on what is run again in a night, from what the attempts left, never from hope for a better result.

| what an attempt left | then |
|---|---|
| cases without an answer: a machine, device or process was lost, or INFRA, LOST | those once more, elsewhere |
| the same, preempted or on a node that failed | those again, for as long as each attempt answers some |
| the same, and cases under way when the run died | the others first, then the suspects one by one |
| a suspect that ended its run alone | nothing: it is the culprit, and its verdict names it |
| the same, out of time | those once more, with twice the time |
| the same, out of memory | those once more, alone on a machine, with all of its memory |
| a red answer about a kernel | the case once more, to see whether it is deterministic: that turns nothing green |
| more than ``UNHEALTHY_SHARE`` of its cases INFRA or CRASHED, or ``MOST_DEATHS`` runs died | nothing: it is unhealthy |
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

MOST_CHARGES = 2
"""Attempts that may leave a case without an answer, other than those that are excused."""
MOST_FRUITLESS = 3
"""Attempts in a row that are preempted, or lose their node, before the first answer."""
MOST_DEATHS = 12
"""Runs of a shard that may die with cases under way, and ``MOST_NEW_DEATHS`` of those that ran no suspect."""
MOST_NEW_DEATHS = 4
FEW = 2
"""Suspects of which each runs alone at once: a process has a case under way, and one ahead."""

TO_CLASSIFY = (Outcome.MISMATCH, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG)
"""Outcomes that may differ on the next run. Those of the build and of checks in the kernel may not."""


@dataclass(frozen=True)
class AttemptHistory:
    """An attempt that has ended.

    ``outcomes`` are by the ids of the cases that it recorded, ``red`` holds those that count, ``short`` those that ran
    out of memory. ``asked`` are the ids that it was given, empty for the whole shard; ``under_way`` those in the black
    boxes that it left.
    """

    status: TaskStatus
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    red: frozenset[str] = frozenset()
    short: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    under_way: frozenset[str] = frozenset()

    @cached_property
    def answered(self) -> frozenset[str]:
        """The cases with an answer. NOT_RUN is one: the run gave its reason."""
        return frozenset(i for i, one in self.outcomes.items() if one not in (Outcome.INFRA, Outcome.LOST))

    @property
    def suspects(self) -> frozenset[str]:
        """The cases that may have ended the run: those under way when it died. Preemption has a known cause."""
        known = (TaskState.PREEMPTED, TaskState.CANCELLED, TaskState.NO_CAPACITY)
        return frozenset() if self.status.state in known else self.under_way

    @property
    def culprit(self) -> str:
        """The case that ended its run alone; empty if none did."""
        alone = next(iter(self.asked)) if len(self.asked) == 1 and self.asked <= self.suspects else ""
        return alone if self.outcomes.get(alone) in (None, Outcome.CRASHED, Outcome.INFRA) else ""

    @property
    def is_short(self) -> bool:
        """True if the run, or a process of it, ran out of memory."""
        return self.status.state is TaskState.OUT_OF_MEMORY or bool(self.short)


@dataclass(frozen=True)
class Decision:
    """A decision on a shard.

    ``why`` it runs again, or why no more of it does: empty if it has all its answers. ``only``: the ids to run; empty
    stands for the whole shard. ``longer``: factor on the minutes; ``alone``: without other tasks on the machine, and
    with all of its memory. ``in_turn``: one case after the other, in one process.
    """

    again: bool
    why: str = ""
    only: frozenset[str] = frozenset()
    avoid: tuple[str, ...] = ()
    longer: float = 1.0
    alone: bool = False
    in_turn: bool = False


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
        return Decision(False, f"cancelled: {last.status.reason}" if last.status.reason else "cancelled")
    guilty = culprits(attempts)
    missing = unanswered(planned, attempts) - guilty
    unclear = _unclear(attempts) - guilty
    if (missing or unclear) and (unhealthy := _unhealthy(planned, attempts)):
        return Decision(False, unhealthy)
    if missing:
        return _for_answers(planned, attempts, missing, unclear, health)
    if unclear:
        fail = "fails" if len(unclear) == 1 else "fail"
        why = f"again to see whether {cases_of(unclear)} {fail} alike each time"
        return Decision(True, why, unclear, alone=last.status.state is TaskState.OUT_OF_MEMORY)
    return Decision(False)


def culprits(attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """Return the cases that ended a run in which nothing else ran."""
    return frozenset(filter(None, (attempt.culprit for attempt in attempts)))


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
    charges = _charges(planned, attempts)
    still_open = frozenset(i for i in missing if charges[i] < MOST_CHARGES)
    if not still_open:
        return Decision(False, f"ran again, and still {lack}")
    if _fruitless(planned, attempts) >= MOST_FRUITLESS:
        return Decision(False, f"{MOST_FRUITLESS} attempts in a row gave no answer, and still {lack}")
    if health.is_hopeless:
        return Decision(False, f"{lack}; {', '.join(health.unhealthy)} keeps failing, and no machine is healthy")
    longer = TIMES_LONGER if status.state is TaskState.TIMED_OUT else 1.0
    suspected = Counter(i for attempt in attempts for i in attempt.suspects)
    short = frozenset(i for attempt in attempts for i in attempt.short)
    if new := still_open - suspected.keys() - short:
        alone = status.state is TaskState.OUT_OF_MEMORY and not attempts[-1].suspects
        return Decision(True, lack, part(planned, new | unclear), _avoided(attempts, new, health), longer, alone)
    if full := (still_open & short) - suspected.keys():
        why = f"{cases_of(full)} ran out of memory: alone, with all of a machine's"
        return Decision(True, why, full, _avoided(attempts, full, health), longer, True, True)
    once = frozenset(i for i in still_open if suspected[i] == 1)
    chosen = once if len(once) > FEW else frozenset([min(once or still_open)])
    named = f": {min(chosen)}" if len(chosen) == 1 else ""
    alone = any(attempt.is_short and attempt.under_way & chosen for attempt in attempts)
    memory = ", with all of a machine's memory" if alone else ""
    why = f"{cases_of(chosen)} last and alone{memory}, under way when a run died{named}"
    return Decision(True, why, chosen, _avoided(attempts, chosen, health), longer, alone, True)


def _avoided(attempts: Sequence[AttemptHistory], chosen: frozenset[str], health: Health) -> tuple[str, ...]:
    """Return the machines that are not to run ``chosen``: where the last attempt at any of them failed, and unhealthy
    ones. A machine that answered all it was asked is a good one, and may be the only one left."""
    tried = (one for one in reversed(attempts) if (chosen if not one.asked else chosen & one.asked) - one.answered)
    last = next(tried, attempts[-1]).status
    here = (last.node,) if last.node and last.state is not TaskState.PREEMPTED else ()
    return tuple(dict.fromkeys((*here, *health.unhealthy)))


def _charges(planned: Collection[str], attempts: Sequence[AttemptHistory]) -> Counter[str]:
    """Count by case the attempts that left it without an answer, for no reason that excuses them.

    A preempted run, or one whose node failed, is excused. A run that died with cases under way excuses the others.
    """
    charges: Counter[str] = Counter()
    for attempt in attempts:
        if attempt.status.state not in (TaskState.PREEMPTED, TaskState.NODE_FAILED) and not attempt.suspects:
            charges.update((attempt.asked or frozenset(planned)) - attempt.answered)
    return charges


def _fruitless(planned: Collection[str], attempts: Sequence[AttemptHistory]) -> int:
    """Count the last attempts that answered nothing new, and were excused for it."""
    count, todo = 0, frozenset(planned)
    for attempt in attempts:
        fruitless = not todo & attempt.answered and attempt.status.state in (TaskState.PREEMPTED, TaskState.NODE_FAILED)
        count = count + 1 if fruitless else 0
        todo -= attempt.answered
    return count


def _unclear(attempts: Sequence[AttemptHistory]) -> frozenset[str]:
    """Return the red cases that were run once."""
    times = Counter(i for attempt in attempts for i in attempt.answered)
    red = ((i, attempt.outcomes[i]) for attempt in attempts for i in attempt.red)
    return frozenset(i for i, outcome in red if times[i] == 1 and outcome in TO_CLASSIFY)


def _unhealthy(planned: Collection[str], attempts: Sequence[AttemptHistory]) -> str:
    last = attempts[-1]
    where = f" on {last.status.node}" if last.status.node else ""
    unsound = (Outcome.INFRA, Outcome.CRASHED)
    ill = [i for i, outcome in last.outcomes.items() if outcome in unsound and i not in last.short]
    if len(ill) >= UNHEALTHY_CASES and len(ill) > UNHEALTHY_SHARE * len(planned):
        return (
            f"unhealthy{where}: {len(ill)} of {len(planned)} cases ended INFRA or CRASHED: nothing of it is run again"
        )
    died = [attempt for attempt in attempts if attempt.suspects and attempt.status.state is not TaskState.NODE_FAILED]
    seen: set[str] = set()
    new = 0
    for attempt in died:
        new += not attempt.asked or not attempt.asked <= seen
        seen |= attempt.suspects
    if len(died) >= MOST_DEATHS or new >= MOST_NEW_DEATHS:
        return f"unhealthy{where}: {len(died)} runs died with cases under way: nothing of it is run again"
    return ""


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
