"""Rounds: in each every contender gives one sample, so that a drift of the machine hits all alike. The order is drawn,
and the next round has it the other way round: who follows whom may cost time, and must cost all of them as often.
Nothing here knows what a sample is of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import median
from typing import Protocol

ROUNDS_BEFORE_PRUNING = 4
FAR_BEHIND = 1.5
"""A contender whose fastest sample takes so many times as long as the best median of its side cannot become the best:
it stops, and keeps what it has."""

FEWEST_SAMPLES = 5
"""Of a contender that counts as timed though the time was up."""


class SampleTaker(Protocol):
    """What gives samples."""

    def sample(self) -> float | None:
        """Seconds; None: it cannot go on, and says elsewhere why."""


@dataclass(eq=False)
class ArmSamples:
    """One contender's samples. ``cost``: seconds that a sample takes, as far as known."""

    side: str
    taker: SampleTaker
    cost: float = 0.0
    seconds: list[float] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    stopped: str = ""
    """Why it ended before it had all samples: ``behind``, ``budget`` or ``failed``."""


def play(
    lanes: Sequence[ArmSamples],
    samples: int,
    left: Callable[[], float],
    seed: int | str,
    between: Callable[[int], None] = lambda number: None,
) -> None:
    """Rounds until every lane has its samples or has stopped. ``left``: seconds that are left for all; ``between`` is
    called behind each round."""
    draw = random.Random(seed)
    order = list(lanes)
    for number in count():
        if number % 2:
            order.reverse()
        else:
            draw.shuffle(order)
        running = [lane for lane in order if not lane.stopped and len(lane.seconds) < samples]
        if not running:
            return
        for lane in running:
            if not lane.stopped:
                _step(lane, number, left())
        if number + 1 >= ROUNDS_BEFORE_PRUNING:
            _prune([lane for lane in lanes if lane.stopped != "failed"], samples)
        between(number)


def _step(lane: ArmSamples, number: int, left: float) -> None:
    if left <= lane.cost:
        lane.stopped = "budget"
        return
    taken = lane.taker.sample()
    if taken is None:
        lane.stopped = "failed"
        return
    lane.seconds.append(taken)
    lane.rounds.append(number)


def _prune(lanes: Sequence[ArmSamples], samples: int) -> None:
    best: dict[str, float] = {}
    for lane in lanes:
        if lane.seconds:
            own = median(lane.seconds)
            best[lane.side] = min(best.get(lane.side, own), own)
    for lane in lanes:
        is_running = lane.seconds and not lane.stopped and len(lane.seconds) < samples
        if is_running and min(lane.seconds) > FAR_BEHIND * best[lane.side]:
            lane.stopped = "behind"
