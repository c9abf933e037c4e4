"""Shards of a plan: every case in one, the same parts on every machine, and none much longer than the others."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.core.errors import UsageError
from bitgate.results.plan import PlannedItem
from bitgate.results.record import Key
from bitgate.results.shard import GRAIN, MOST, ShardTime, count_for, limit_minutes, split
from bitgate.suite.durations import Durations, History

LEAST = 1e-3
"""What a case weighs of which nothing is known."""


def case(problem: str, instance: int, seconds: float, fill: str = "exact") -> PlannedItem:
    key = Key(problem, "toy", f"v{instance}", (), fill, 0, "forward", "host")
    return PlannedItem(f"{problem}__toy_v{instance}__{fill}", key, seconds=seconds)


def problems(*seconds: float) -> list[PlannedItem]:
    """One case each."""
    return [case(f"p{number}", 0, one) for number, one in enumerate(seconds)]


seconds = st.floats(0, 50).map(lambda value: round(value, 5))
plans = st.lists(st.lists(seconds, min_size=1, max_size=6), min_size=1, max_size=12).map(
    lambda plan: [case(f"p{p}", c, s) for p, problem in enumerate(plan) for c, s in enumerate(problem)]
)


def weight(item: PlannedItem) -> float:
    return max(item.seconds, LEAST)


def longest(parts: tuple[tuple[PlannedItem, ...], ...]) -> float:
    return max(sum(map(weight, part)) for part in parts)


def shards_of(plan: list[PlannedItem], wanted: int) -> int:
    """As many as can each have a problem."""
    return min(wanted, len({item.key.case for item in plan}))


@given(plans, st.integers(1, 8))
def test_every_case_is_in_one_shard_and_no_shard_is_empty(plan: list[PlannedItem], wanted: int) -> None:
    parts = split(plan, shards_of(plan, wanted))
    assert sorted(item.id for part in parts for item in part) == sorted(item.id for item in plan)
    assert all(parts)


@given(plans, st.integers(1, 8), st.randoms(use_true_random=False))
def test_the_parts_do_not_depend_on_the_order_of_the_plan(plan: list[PlannedItem], wanted: int, random) -> None:
    """Two machines may collect in two orders; sums of seconds in another order would round otherwise."""
    count = shards_of(plan, wanted)
    other = random.sample(plan, len(plan))
    assert [set(map(id_of, part)) for part in split(plan, count)] == [set(map(id_of, p)) for p in split(other, count)]


def id_of(item: PlannedItem) -> str:
    return item.id


@given(plans, st.integers(1, 8))
def test_no_shard_exceeds_the_mean_plus_the_longest_atom(plan: list[PlannedItem], wanted: int):
    count = shards_of(plan, wanted)
    mean = sum(map(weight, plan)) / count
    assert longest(split(plan, count)) <= mean + max(*map(weight, plan), mean / GRAIN) + 1e-4


@given(st.lists(seconds, min_size=4, max_size=7), st.integers(2, 4))
def test_the_longest_shard_is_at_most_4_thirds_of_the_best(several: list[float], count: int) -> None:
    plan = problems(*several)
    best = min(
        longest(tuple(tuple(i for i, at in zip(plan, places, strict=True) if at == one) for one in range(count)))
        for places in product(range(count), repeat=len(plan))
    )
    assert longest(split(plan, count)) <= 4 / 3 * best + 1e-4


def test_tests_of_one_problem_go_together() -> None:
    plan = [case(f"p{problem}", instance, 1.0) for problem in range(40) for instance in range(3)]
    for part in split(plan, 4):
        assert len(part) == 30
        assert len({item.key.case for item in part}) == 10


def test_a_problem_longer_than_a_shard_is_cut_between_fills() -> None:
    """Of 4 s on 36 instances no shard of 1 s can have all: the night would take four times as long as it must."""
    huge = [case("huge", instance, 0.1, fill) for instance in range(18) for fill in ("exact", "decimal")]
    parts = split([*huge, *problems(*[0.01] * 40)], 4)
    assert longest(parts) <= 1.1 * (3.6 + 0.4) / 4
    assert sum(any(i.key.fill == "decimal" and i.key.case == "huge" for i in part) for part in parts) <= 3


def test_probes_stay_together_however_long_they_take() -> None:
    probes = [case("probe_platform", instance, 9.0, "probe") for instance in range(6)]
    parts = split([*probes, *problems(*[0.1] * 40)], 4)
    assert any(set(probes) <= set(part) for part in parts)


def test_cases_of_which_nothing_is_known_are_spread_too() -> None:
    assert [len(part) for part in split(problems(*[0.0] * 100), 4)] == [25] * 4


def test_an_empty_shard_is_refused() -> None:
    with pytest.raises(UsageError, match="3 shards for 2 problems: one would compare nothing; ask for fewer"):
        split(problems(1, 1), 3)


@given(plans, st.floats(10, 100), st.floats(0, 0.5))
def test_the_fewest_shards_of_a_wanted_length(plan: list[PlannedItem], wanted: float, setup_part: float) -> None:
    left = wanted * (1 - setup_part)
    count = count_for(plan, wanted, wanted * setup_part)
    split(plan, count)
    total = sum(map(weight, plan))
    assert count == 1 or total / (count - 1) > left * 0.999
    if total / count > left * 1.001:  # more would be empty
        with pytest.raises(UsageError, match="would compare nothing"):
            split(plan, count + 1)


@pytest.mark.parametrize(
    ("wanted", "setup", "error"),
    [
        (10, 10, "--shard-seconds 10: the set-up of a shard alone takes 10 s; ask for more"),
        (0.002, 0, f"--shard-seconds 0.002: 5000 shards, more than {MOST}; ask for longer ones"),
    ],
)
def test_a_length_that_cannot_be_is_refused(wanted: float, setup: float, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        count_for(problems(*[0.01] * 1000), wanted, setup)


def test_a_shards_limit_is_the_95th_percentile_and_one_hang() -> None:
    """Seven nights, one of them busy: the median decides who runs what, the busy night when a shard is ended."""
    runs = History({"p0__toy_v0__exact": (60.0, 61, 62, 59, 60, 240, 60)})
    known = runs.durations
    assert known.seconds["p0__toy_v0__exact"] == 60.0
    length = known.length(problems(60.0))
    assert length == ShardTime(60.0, 240.0, 60.0)
    assert limit_minutes(length, setup_seconds=20) == 29  # 20 s, twice 240 s, and 20 times 60 s of a hung case


def test_unrecorded_cases_may_take_three_times_their_estimate() -> None:
    assert Durations().length(problems(1.0, 2.0)) == ShardTime(3.0, 9.0, 2.0)
    assert limit_minutes(ShardTime(0, 0)) == 6  # a hung case is reported after five minutes
