"""Recorded seconds order the work: medians of the last runs on machines of this class, else a pace fitted to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bitgate.core import paths
from bitgate.core.project import ours
from bitgate.model import parse_case_id
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.runtime.targets import Target
from bitgate.suite import durations
from bitgate.suite.durations import Durations, History, Pace
from bitgate.suite.suites import make_plan

HERE, THERE = "Xeon/2", "Ryzen/16"


def verdict(case: str, seconds: float, outcome: Outcome = Outcome.PASS, fill: str = "exact", seed: int = 0) -> Verdict:
    return Verdict(Key(case, "toy", "v8", (), fill, seed, "forward", "host"), outcome, seconds={"total": seconds})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))
    (tmp_path / "durations").mkdir()
    return tmp_path / "durations" / "toytarget.json"


def remember(machine: str, *seconds: float) -> None:
    for one in seconds:
        durations.remember("toytarget", machine, [verdict("a", one)], {"a": 1000})


def test_recorded_seconds_win_over_the_estimate() -> None:
    known = Durations({"a__toy_v8__exact": 3.0}, {"toy": Pace(0.5, 1e-3)})
    assert known.estimate("a", "toy", "v8", "exact", 10**6) == 3.0
    assert known.estimate("a", "toy", "v8", "decimal", 1000) == pytest.approx(1.5)
    assert known.estimate("b", "toy", "v8", "exact", 1000) == pytest.approx(1.5)


def test_a_family_without_records_is_taken_for_a_typical_one() -> None:
    known = Durations({}, {"slow": Pace(3, 3e-3), "typical": Pace(2, 2e-3), "fast": Pace(1, 1e-3)})
    assert known.estimate("b", "new", "v1", "exact", 1000) == pytest.approx(4.0)
    assert Durations().estimate("b", "new", "v1", "exact", 0) == durations.UNHEARD_OF.base


def test_one_busy_night_changes_nothing(cache: Path) -> None:
    remember(HERE, 2.0, 2.1, 90.0)
    assert durations.load("toytarget", HERE).seconds == {"a__toy_v8__exact": 2.1}


def test_the_last_runs_count_and_older_ones_are_forgotten(cache: Path) -> None:
    remember(HERE, *[9.0] * 20, *[1.0] * durations.RUNS)
    assert durations.load("toytarget", HERE).seconds == {"a__toy_v8__exact": 1.0}
    assert cache.read_text().count("9.0") == 0


def test_other_classes_of_machine_only_fill_holes(cache: Path) -> None:
    remember(HERE, 2.0)
    remember(THERE, 50.0)
    durations.remember("toytarget", THERE, [verdict("b", 7.0)], {"b": 1})
    assert durations.load("toytarget", HERE).seconds == {"a__toy_v8__exact": 2.0, "b__toy_v8__exact": 7.0}
    assert durations.load("toytarget", THERE).seconds["a__toy_v8__exact"] == 50.0
    assert durations.load("toytarget").seconds["a__toy_v8__exact"] == 26.0  # of no known machine: the middle of both
    assert durations.carried("toytarget", ours().shelves) == Durations()  # what is learned here is not carried


def test_classes_are_told_by_cpu_and_cores_or_by_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2})
    assert durations.machine_of(Target("host", "host", "cpu", "Xeon")) == "Xeon/3"
    assert durations.machine_of(Target("sm_90", "nvidia", "hardware", "NVIDIA H200")) == "NVIDIA H200"


def test_only_compared_cases_count_and_each_fill_separately() -> None:
    verdicts = [verdict("a", 2.0), verdict("b", 9.0, Outcome.CRASHED), verdict("a", 5.0, fill="probe")]
    learned = durations.learn(History({"c__toy_v8__exact": (5.0,)}), verdicts, {"a": 1000, "b": 1})
    assert learned.seconds == {"a__toy_v8__exact": (2.0,), "a__toy_v8__probe": (5.0,), "c__toy_v8__exact": (5.0,)}


def test_seeds_of_one_run_are_one_sample() -> None:
    learned = durations.learn(History(), [verdict("a", s, seed=n) for n, s in enumerate((1.0, 2.0, 30.0))], {})
    assert learned.seconds == {"a__toy_v8__exact": (2.0,)}


@example(0.1, 1e-10, [*[1000] * 19, 10**9])  # one of the two large ones is small
@given(st.floats(0.001, 0.1), st.floats(1e-10, 1e-7), st.lists(st.integers(10**3, 10**9), min_size=8, max_size=60))
def test_a_pace_gives_the_seconds_back_that_it_was_fitted_to(base: float, per_flop: float, sizes: list[int]) -> None:
    total = sum(base + size * per_flop for size in sizes)
    pace = durations.fitted((size, base + size * per_flop) for size in sizes)
    assert total / 3 < sum(pace.seconds(size) for size in sizes) < total * 3


def test_a_disturbed_case_does_not_set_the_pace() -> None:
    cases = [(10**6 * n, 0.01 + 0.001 * n) for n in range(1, 41)]
    assert durations.fitted([*cases[:-1], (cases[-1][0], 60.0)]).per_flop == pytest.approx(1e-9, rel=0.5)


def test_a_run_of_few_cases_does_not_change_a_familys_pace() -> None:
    known = History({}, {"toy": (Pace(0.1, 1e-9),)})
    assert durations.learn(known, [verdict("a", 500.0)], {"a": 10}).paces == known.paces


def test_a_fresh_clone_knows_what_smoke_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said 1,239 s for what takes 25 s on two cores: nearly every family had the pace of the slowest."""
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))
    monkeypatch.setattr(durations, "machine_of", lambda target: "another machine/64")
    assert 50 / 3 < make_plan("smoke", "host", ours()).seconds < 50 * 3


def test_what_the_suites_carry_knows_every_family_of_smoke() -> None:
    (machine,) = json.loads((paths.data_folder("suites") / "durations" / "host.json").read_text())["machines"].values()
    assert {item.key.kernel for item in make_plan("smoke", "host", ours()).cases} <= set(machine["paces"])


def test_the_file_of_an_earlier_version_is_begun_anew(cache: Path) -> None:
    cache.write_text('{"rates": {"toy": 1.0}, "seconds": {"a__toy_v8": 500.0}}')
    assert durations.load("toytarget", HERE) == Durations()
    remember(HERE, 2.0)
    assert durations.load("toytarget", HERE).seconds == {"a__toy_v8__exact": 2.0}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"schema": 2}',
        '{"schema": 2, "machines": {"x": {"seconds": {"a": []}, "paces": {}}}}',
        '{"schema": 2, "machines": {"x": {"seconds": {"a": [NaN]}, "paces": {}}}}',
        '{"schema": 2, "machines": {"x": {"seconds": {"a": [-1]}, "paces": {}}}}',
        '{"schema": 2, "machines": {"x": {"seconds": {}, "paces": {"toy": [[1]]}}}}',
    ],
)
def test_a_damaged_file_is_reported_and_fixed_by_the_next_run(cache: Path, text: str, capsys) -> None:
    cache.write_text(text)
    assert durations.load("toytarget", HERE) == Durations()
    assert f"{cache}: ignored, no table of durations" in capsys.readouterr().err
    remember(HERE, 2.0)
    assert durations.load("toytarget").seconds == {"a__toy_v8__exact": 2.0}


def test_a_case_of_few_flops_and_gigabytes_is_no_small_one() -> None:
    """Run last, because it was taken for one, it would hold a night's last worker up."""
    strided = parse_case_id("fwd_f32_nhwgc_g1n256k4c192_y2x2_h224x224_s224x224")
    assert strided.flops < 10**7
    assert durations.work_of(strided) == strided.bytes > 9 * 2**30
    usual = parse_case_id("fwd_f32_nhwgc_n2k64c64_y3x3_h28x28_p1x1")
    assert durations.work_of(usual) == usual.flops
