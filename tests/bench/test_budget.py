"""The seconds that a shape has: who is at work when they are up is stopped, and called what it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bitgate.results.record.timing import Timing, TimingStatus, timings

CASE = "fwd_f32_nhwgc_g1n1k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"
OTHER = "fwd_f32_nhwgc_g1n2k8c8_y3x3_h8x8_s1x1_d1x1_p1x1_q1x1"

Bench = Callable[..., tuple[int, str, list[Timing]]]


def test_who_has_no_time_left_is_told(bench: Bench) -> None:
    code, said, rows = bench(CASE, "--budget", "0")
    assert (code, {row.status for row in rows}) == (3, {TimingStatus.OVER_BUDGET})
    assert "the 0 s of the shape were up before it was verified" in said


SLEEPS = ("--option", "harm=sleeps", "--budget", "1")


def test_a_verification_is_stopped_when_the_budget_is_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch that takes long is no hang yet. The others go on, in a new process."""
    monkeypatch.setattr("bitgate.tools.bench.worker.MOST_LAUNCH_SECONDS", 2.0)
    monkeypatch.setattr("bitgate.tools.bench.sweep_run.FIRST_SECONDS", 0.2)
    _, said, rows = bench(CASE, OTHER, *SLEEPS)
    found = {(row.case, row.instance): row for row in rows}
    stopped, timed = found[CASE, "second"], found[OTHER, "first"]
    assert stopped.status is TimingStatus.OVER_BUDGET, said
    assert stopped.reason == "the 1 s of the shape were up while it was running"
    assert (stopped.verdict, stopped.seconds, timed.verdict) == ("", (), "PASS")
    assert re.search(r"^  changing\.second harm=sleeps: being running, \d+ s so far$", said, re.MULTILINE)


def test_a_kernel_that_hangs_in_verification_is_reported_hung(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitgate.tools.bench.worker.LAUNCH_SECONDS", 2.0)
    code, said, rows = bench(CASE, *SLEEPS)
    (hung,) = (row for row in rows if row.instance == "second")
    assert (code, hung.status, hung.verdict) == (1, TimingStatus.NOT_VERIFIED, "HUNG"), said
    assert re.fullmatch(r"it has not ended after \d+ s", hung.reason)


def test_a_warm_up_is_stopped_when_the_budget_is_over(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    _, said, rows = bench(CASE, "--kernel", "*.second", *SLEEPS, "--option", "from=14")
    assert [(row.status, row.verdict) for row in rows] == [(TimingStatus.OVER_BUDGET, "PASS")], said
    assert rows[0].reason == "the 1 s of the shape were up while it was warmed up"


def test_a_failed_measurement_keeps_the_last_record(bench: Bench, tmp_path: Path) -> None:
    words = ("--kernel", "*.first", "--samples", "3")
    _, _, before = bench(CASE, *words)
    code, said, rows = bench(CASE, "--compare-tree", str(tmp_path))
    assert (code, rows) == (2, before), said
    assert not (tmp_path / "host" / "bench.prev.jsonl").exists()
    _, _, now = bench(OTHER, *words)
    assert [row.case for row in now] == [OTHER]
    assert list(timings(tmp_path / "host" / "bench.prev.jsonl")) == before
