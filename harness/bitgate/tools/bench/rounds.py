"""Rounds of samples: each candidate gives one a round, so that a drift of the machine hits all alike.

The order is drawn, and the next round runs in reverse: the predecessor may cost time, and must cost all of them
equally often. This module does not know what a sample measures.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from typing import Protocol

ROUNDS_BEFORE_PRUNING = 4
FAR_BEHIND = 1.5
"""A candidate whose fastest sample takes this many times as long as the best median of its arm cannot become the best.
It stops, and keeps what it has."""

FEWEST_SAMPLES = 5
"""Samples of a candidate that counts as timed though the budget was used up."""


class SampleTaker(Protocol):
    """A source of samples."""

    def sample(self) -> float | None:
        """Return the seconds of one sample, or None if it cannot go on; it reports elsewhere why."""


@dataclass(eq=False)
class ArmSamples:
    """The samples of one candidate. ``cost``: seconds that a sample takes, as far as known."""

    side: str
    taker: SampleTaker
    cost: float = 0.0
    seconds: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    stopped: str = ""
    """Why it ended before it had all samples: ``behind``, ``budget`` or ``failed``."""


def play(
    arms: Sequence[ArmSamples],
    samples: int,
    left: Callable[[], float],
    seed: int | str,
    between: Callable[[int], None] = lambda number: None,
) -> None:
    """Run rounds until every arm has its samples or has stopped.

    ``left`` returns the seconds that are left for all; ``between`` is called after each round.
    """
    draw = random.Random(seed)
    order = list(arms)
    for number in count():
        if number % 2:
            order.reverse()
        else:
            draw.shuffle(order)
        running = [arm for arm in order if not arm.stopped and len(arm.seconds) < samples]
        if not running:
            return
        for arm in running:
            if not arm.stopped:
                _step(arm, number, left())
        if number + 1 >= ROUNDS_BEFORE_PRUNING:
            _prune([arm for arm in arms if arm.stopped != "failed"], samples)
        between(number)


def _step(arm: ArmSamples, number: int, left: float) -> None:
    if left <= arm.cost:
        arm.stopped = "budget"
        return
    taken = arm.taker.sample()
    if taken is None:
        arm.stopped = "failed"
        return
    arm.seconds.append(taken)
    arm.rounds.append(number)


def _prune(arms: Sequence[ArmSamples], samples: int) -> None:
    best: dict[str, float] = {}
    for arm in arms:
        if arm.seconds:
            own = median(arm.seconds)
            best[arm.side] = min(best.get(arm.side, own), own)
    for arm in arms:
        is_running = arm.seconds and not arm.stopped and len(arm.seconds) < samples
        if is_running and min(arm.seconds) > FAR_BEHIND * best[arm.side]:
            arm.stopped = "behind"
