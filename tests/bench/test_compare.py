"""A compared with B: which one won, and when there is no winner."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.bench.timings import Device, row

from bitgate.results.record.timing import TimingStatus
from bitgate.tools.bench.compare import LEAST_ROUNDS, SweepComparison, compare
from bitgate.tools.bench.settings import Significance

QUICK = Significance(resamples=200)


def noise(seed: int, median: float = 1e-3, rounds: int = 20) -> list[float]:
    return list(median * np.random.default_rng(seed).lognormal(0, 0.01, rounds))


def test_the_faster_side_wins_by_the_share_that_it_saves() -> None:
    (shape,) = compare([row("A", noise(1, 0.131e-3)), row("B", noise(2, 0.088e-3))], QUICK).shapes
    assert (shape.winner, shape.significant) == ("B", True)
    assert shape.gain == pytest.approx(0.32, abs=0.01)
    assert shape.low < shape.ratio < shape.high < 1
    (turned,) = compare([row("B", noise(1, 0.131e-3)), row("A", noise(2, 0.088e-3))], QUICK).shapes
    assert turned.winner == "A"
    assert turned.gain == pytest.approx(shape.gain, abs=1e-6)


def test_a_difference_that_nobody_cares_for_is_a_tie() -> None:
    rows = [row("A", noise(1, rounds=60)), row("B", noise(2, 1.012e-3, rounds=60))]
    (shape,) = compare(rows, QUICK).shapes
    assert (shape.winner, shape.significant, shape.note) == ("tie", True, "")
    (told,) = compare(rows, Significance(minimum_effect=0.005, resamples=200)).shapes
    assert told.winner == "A"


def test_noise_is_a_tie_that_says_what_it_does_not_rule_out() -> None:
    wild = np.random.default_rng(0).lognormal(0, 0.3, (2, 20))
    (shape,) = compare([row("A", wild[0]), row("B", wild[1])], QUICK).shapes
    assert shape.winner == "tie"
    assert "not ruled out" in shape.note


def sweep_of(seed: int, **said: float) -> SweepComparison:
    return compare(Device().sweep(np.random.default_rng(seed), **said), QUICK)  # type: ignore[arg-type]


@pytest.mark.parametrize("instances", [1, 3])
def test_a_beside_itself_has_no_winner(instances: int) -> None:
    """`python benchmarks/ab_error.py` counts more sweeps."""
    for seed in range(3):
        assert sweep_of(seed, instances=instances).wins == {"A": 0, "tie": 40, "B": 0, "unknown": 0}


def test_a_slow_down_of_a_tenth_among_forty_shapes_is_found() -> None:
    for seed in range(3):
        found = sweep_of(seed, slower=1.1)
        assert [one.name for one in found.shapes if one.winner == "A"] == ["shape 0"]
        assert found.wins["B"] == 0


def test_the_luckiest_of_thirty_instances_does_not_win() -> None:
    """All are alike. Chosen on all rounds and judged on the same ones, the best of thirty beats a single one."""
    draw = np.random.default_rng(5)
    one = [row("A", noise(1))]
    thirty = [row("B", 1e-3 * draw.lognormal(0, 0.05, 20), instance=f"x{place}") for place in range(30)]
    (shape,) = compare(one + thirty, QUICK).shapes
    assert shape.winner == "tie"
    assert shape.b is not None
    assert shape.b.of == 30
    early = {r.instance: np.median(r.seconds[:6]) for r in thirty}
    assert early[shape.b.row.instance] == min(early.values()), "the first third of the rounds chooses"
    late = shape.b.row.seconds[6:]
    assert shape.b.seconds.median == pytest.approx(np.median(late)), "and the others judge"


def test_too_little_data_is_no_winner() -> None:
    rows = [row("A", noise(1, 2e-3, LEAST_ROUNDS - 1)), row("B", noise(2, 1e-3, LEAST_ROUNDS - 1))]
    (shape,) = compare(rows, QUICK).shapes
    assert shape.winner == "unknown"
    assert shape.note.startswith("too little data: 5 rounds of both to judge by, 6 are needed")
    rows = [row("A", noise(1, 2e-3, LEAST_ROUNDS)), row("B", noise(2, 1e-3, LEAST_ROUNDS))]
    assert compare(rows, QUICK).shapes[0].winner == "B"


def test_a_side_out_of_time_leaves_the_rounds_that_both_have() -> None:
    """Of 12 shared rounds 4 choose and 8 judge, however long the other side went on."""
    rows = [row("A", noise(n, 2e-3, 12), instance=f"x{n}") for n in range(2)]
    rows += [row("B", noise(n, 1e-3, 40), instance=f"x{n}") for n in range(2, 4)]
    (shape,) = compare(rows, QUICK).shapes
    assert shape.winner == "B"
    assert shape.b is not None
    assert shape.b.seconds.median == pytest.approx(np.median(shape.b.row.seconds[4:12]))


def test_a_side_alone_shows_its_best() -> None:
    rows = [row("A", noise(1, 2e-3)), row("A", noise(2, 1e-3), instance="x2")]
    (shape,) = compare(rows, QUICK).shapes
    assert shape.a is not None
    assert (shape.winner, shape.a.row.instance) == ("unknown", "x2")


def test_samples_of_one_round_are_no_news_of_each_other() -> None:
    """Ten samples in each of two rounds are two of each side."""
    rounds = (0,) * 10 + (1,) * 10
    rows = [row("A", noise(1), rounds=rounds), row("B", noise(2, 2e-3), rounds=rounds)]
    assert compare(rows, QUICK).shapes[0].note.startswith("too little data: 2 rounds")


def test_what_was_not_timed_stands_in_its_shape() -> None:
    wrong = row(
        "B", [], instance="x2", status=TimingStatus.NOT_VERIFIED, verdict="MISMATCH", reason="dx has zero slices"
    )
    (shape,) = compare([row("A", noise(1)), row("B", noise(2)), wrong], QUICK).shapes
    assert (shape.winner, shape.note) == ("tie", "B: grouped_fwd.x2 not verified (MISMATCH: dx has zero slices)")
    (alone,) = compare([row("A", noise(1)), wrong], QUICK).shapes
    assert (alone.winner, alone.b) == ("unknown", None)
    assert alone.note == "B not timed; B: grouped_fwd.x2 not verified (MISMATCH: dx has zero slices)"
    assert alone.a is not None
    (nothing,) = compare([wrong], QUICK).shapes
    assert nothing.note.startswith("A and B not timed")


def test_what_ran_out_of_time_is_judged_by_what_it_has() -> None:
    rows = [row("A", noise(1, 2e-3)), row("B", noise(2, 1e-3, 8), status=TimingStatus.OVER_BUDGET)]
    (shape,) = compare(rows, QUICK).shapes
    assert (shape.winner, shape.note) == ("B", "B: grouped_fwd.x1 over budget")


def test_the_later_attempt_at_the_same_counts() -> None:
    failed = row("B", [], status=TimingStatus.FAILED, reason="hung")
    (shape,) = compare([row("A", noise(1)), failed, row("B", noise(2))], QUICK).shapes
    assert (shape.winner, shape.note) == ("tie", "")


def test_sides_of_different_runs_were_not_timed_in_turns() -> None:
    rows = [row("A", noise(1), run={"id": "monday"}), row("B", noise(2, 2e-3), run={"id": "tuesday"})]
    (shape,) = compare(rows, QUICK).shapes
    assert (shape.winner, shape.note) == ("unknown", "A and B were timed in different runs")


def test_a_clock_that_tells_nothing() -> None:
    (shape,) = compare([row("A", [0.0] * 20), row("B", noise(1))], QUICK).shapes
    assert (shape.winner, shape.note) == ("unknown", "a sample of 0 s: the clock is too coarse for it")


def test_refusals_are_reported_once_and_each_defect_by_itself() -> None:
    rows = [row("A", [], instance=f"x{n}", status=TimingStatus.REFUSED, reason=f"c: not {n}") for n in range(9)]
    (shape,) = compare([*rows, row("B", noise(1))], QUICK).shapes
    assert shape.note == "A not timed; A: grouped_fwd.x0 and 8 more refused (c: not 0)"
    late = row("A", [], instance="x1", status=TimingStatus.OVER_BUDGET, verdict="PASS", reason="the 12 s were up")
    died = [
        row("A", [], instance=f"x{n}", status=TimingStatus.FAILED, reason=why) for n, why in enumerate(("hung", "lost"))
    ]
    (shape,) = compare([late, *died, row("B", noise(1))], QUICK).shapes
    assert "A: grouped_fwd.x1 failed (lost)" in shape.note
    (shape,) = compare([late, row("B", noise(1))], QUICK).shapes
    assert shape.note == "A not timed; A: grouped_fwd.x1 over budget (the 12 s were up)"


def test_a_launch_that_takes_longer_than_its_kernel_is_told() -> None:
    rows = [row("A", noise(1)), row("B", noise(2), settings={"launch_bound": True})]
    assert compare(rows, QUICK).shapes[0].note == "B is bound by its launches"


@pytest.mark.parametrize(("load", "told"), [((0.2, 1.1), False), ((3.9, 4.4), True)])
def test_a_host_that_others_keep_busy_is_told(load: tuple[float, float], told: bool) -> None:
    (shape,) = compare([row(side, [1e-3] * 8, clocks={"load": load}) for side in "AB"], Significance()).shapes
    assert ("others keep the machine busy: 3.9 threads a core want to run" in shape.note) == told


def test_disturbed_rounds_do_not_hide_a_slow_down() -> None:
    draw = np.random.default_rng(4)
    sides = {side: draw.normal(1.0, 0.01, 20) for side in "AB"}
    sides["B"] *= 1.05
    for seconds in sides.values():
        seconds[4:12] *= np.exp(draw.uniform(0.1, 1.2, 8))
    (shape,) = compare([row(side, list(seconds)) for side, seconds in sides.items()], QUICK).shapes
    assert (shape.winner, shape.note) == ("A", "judged by 12 of 20 rounds: in the rest the machine was disturbed")


def test_names_apart_are_shapes_apart() -> None:
    rows = [row(side, noise(place), name=name) for name in ("L61", "again") for place, side in enumerate("AB")]
    assert [one.name for one in compare(rows, QUICK).shapes] == ["L61", "again"]
    assert compare([], QUICK).shapes == ()


def test_its_json_has_all_that_was_judged_by() -> None:
    told = json.loads(json.dumps(compare([row("A", noise(1)), row("B", noise(2))], QUICK).as_json()))
    assert told["wins"] == {"A": 0, "tie": 1, "B": 0, "unknown": 0}
    (shape,) = told["shapes"]
    assert shape["a"]["instance"] == "x1"
    assert shape["low"] <= shape["ratio"] <= shape["high"]
    assert told["significance"]["minimum_effect"] == 0.03
