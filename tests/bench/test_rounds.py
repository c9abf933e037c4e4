"""Rounds without any device: who is sampled when, and who stops."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.timings import row

from bitgate.tools.bench.compare import compare
from bitgate.tools.bench.rounds import ROUNDS_BEFORE_PRUNING, ArmSamples, play
from bitgate.tools.bench.settings import Significance

ENDLESS = float("inf")


@dataclass
class Steady:
    """Gives the same number each time, and fails at sample ``until``."""

    seconds: float
    until: int = 10**9
    log: list[str] = field(default_factory=list)
    name: str = ""

    def sample(self) -> float | None:
        self.log.append(self.name)
        self.until -= 1
        return self.seconds if self.until >= 0 else None


def test_every_round_samples_each_in_a_separate_order() -> None:
    log: list[str] = []
    lanes = [ArmSamples("", Steady(1.0, log=log, name=name)) for name in "abcd"]
    play(lanes, 20, lambda: ENDLESS, seed=0)
    rounds = [tuple(log[first : first + 4]) for first in range(0, len(log), 4)]
    assert [sorted(one) for one in rounds] == [list("abcd")] * 20
    assert len(set(rounds)) > 10
    assert all(lane.rounds == list(range(20)) for lane in lanes)


def test_who_comes_first_in_one_round_comes_last_in_the_next() -> None:
    log: list[str] = []
    play([ArmSamples("", Steady(1.0, log=log, name=name)) for name in "abc"], 20, lambda: ENDLESS, seed=0)
    rounds = [log[first : first + 3] for first in range(0, len(log), 3)]
    assert all(one == other[::-1] for one, other in zip(rounds[::2], rounds[1::2], strict=True))


@pytest.mark.parametrize("rounds", [8, 20])
def test_a_place_in_the_round_that_costs_time_makes_no_winner(rounds: int) -> None:
    """Of both sides whoever is second takes 6 % longer, on each of 40 shapes, in five sweeps."""
    noise = np.random.default_rng(2)

    class Machine:
        samples = 0

        def sample(self) -> float:
            self.samples += 1
            return float((1.0 if self.samples % 2 else 1.06) * np.exp(noise.normal(0, 0.01)))

    for sweep in range(5):
        rows = []
        for shape in range(40):
            machine = Machine()
            lanes = [ArmSamples(side, machine) for side in "AB"]
            play(lanes, rounds, lambda: ENDLESS, seed=f"{sweep} {shape}")
            rows += [row(lane.side, lane.seconds, name=f"shape {shape}") for lane in lanes]
        assert {one.winner for one in compare(rows, Significance(resamples=50)).shapes} == {"tie"}


def test_the_seed_draws_the_order() -> None:
    def order(seed: int) -> list[str]:
        log: list[str] = []
        play([ArmSamples("", Steady(1.0, log=log, name=name)) for name in "abcd"], 5, lambda: ENDLESS, seed)
        return log

    assert order(1) == order(1) != order(2)


def test_a_candidate_far_behind_its_side_stops_with_its_samples() -> None:
    fast, slow = ArmSamples("A", Steady(1.0)), ArmSamples("A", Steady(2.0))
    alone = ArmSamples("B", Steady(9.0))
    play([fast, slow, alone], 20, lambda: ENDLESS, seed=0)
    assert (slow.stopped, len(slow.seconds)) == ("behind", ROUNDS_BEFORE_PRUNING)
    assert [(len(lane.seconds), lane.stopped) for lane in (fast, alone)] == [(20, "")] * 2


def test_who_fails_is_out_and_pulls_nobody_down() -> None:
    wrong, right = ArmSamples("A", Steady(0.1, until=3)), ArmSamples("A", Steady(1.0))
    play([wrong, right], 20, lambda: ENDLESS, seed=0)
    assert (wrong.stopped, right.stopped, len(right.seconds)) == ("failed", "", 20)


def test_a_sample_that_would_outlast_the_budget_is_not_begun() -> None:
    spent = 0.0

    class Costly(Steady):
        def sample(self) -> float | None:
            nonlocal spent
            spent += self.seconds
            return super().sample()

    lanes = [ArmSamples("A", Costly(1.0), cost=1.0), ArmSamples("B", Costly(1.0), cost=1.0)]
    play(lanes, 100, lambda: 10.5 - spent, seed=0)
    assert spent <= 10.5
    assert [lane.stopped for lane in lanes] == ["budget"] * 2
    assert {len(lane.seconds) for lane in lanes} == {5}


@given(
    st.lists(st.tuples(st.sampled_from("AB"), st.floats(0.5, 2.0), st.integers(0, 30)), min_size=1, max_size=8),
    st.integers(1, 25),
)
def test_samples_and_rounds_belong_together(drawn: list[tuple[str, float, int]], samples: int) -> None:
    """Whichever fails or is slower: no lane has more than it should, each sample its own round, and the fastest of a
    side that never fails has them all."""
    lanes = [ArmSamples(side, Steady(seconds, until)) for side, seconds, until in drawn]
    play(lanes, samples, lambda: ENDLESS, seed=0)
    for lane in lanes:
        assert len(lane.seconds) == len(lane.rounds) <= samples
        assert lane.rounds == sorted(set(lane.rounds))
        assert len(lane.seconds) == samples or lane.stopped in ("failed", "behind")
    for side in {lane.side for lane in lanes}:
        own = [lane for lane in lanes if lane.side == side]
        best = min(own, key=lambda lane: lane.taker.seconds)  # type: ignore[attr-defined]
        assert best.stopped != "behind"
