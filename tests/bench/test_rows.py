"""Rows from what became of contenders: no device, no process."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bitgate.kernel.declaration import Refusal
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Stamp, verdict_on
from bitgate.results.record.timing import Timing, TimingStatus
from bitgate.runtime.targets import absent
from bitgate.tools.bench.arm import Arm, Candidate, TimedShape
from bitgate.tools.bench.rounds import ArmSamples
from bitgate.tools.bench.rows import refused_row, timed_row
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.worker import CandidateRun, share_batch
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening

PROBLEM = parse_case_id("fwd_f32_nhwgc_g1n1k8c8_y3x3_h8x8_p1")
TARGET = absent("sm_90")
STAMP = Stamp("night-1", 1, "2026-01-01T00:00:00+00:00")
EVENTS = {"settings": {"clock": "device events", "batch": 50}, "includes": ["zero_fill"], "launches": 1}


@pytest.fixture
def entrant() -> CandidateRun:
    family = families()["naive_conv"]
    kernel = Kernel(family, next(one for one in family.instances if one.dtypes == ("f32",)))
    planned = PlannedCase(PROBLEM, kernel, target="sm_90")
    side = Arm("B", build="c0ffee")
    process = CaseProcess(Opening("host"))
    one = CandidateRun(Candidate(side, kernel), TimedShape(PROBLEM, "small", "some"), planned, process, Settings())
    return replace(one, verdict=verdict_on(planned, TARGET, Outcome.PASS, digest="bg1:0"), facts=EVENTS)


def row(entrant: CandidateRun, seconds: list[float], stopped: str = "", host_seconds: float = 1e-6) -> Timing:
    lane = ArmSamples("B", entrant, seconds=seconds, rounds=list(range(len(seconds))), stopped=stopped)
    entrant.host_seconds = [host_seconds] * len(seconds)
    clocks = {"sm_mhz": (1700.0, 1980.0)}
    return timed_row(entrant, lane, TARGET, clocks, STAMP, "bitgate bench ...")


def test_what_was_timed(entrant: CandidateRun) -> None:
    found = row(entrant, [1e-3] * 20)
    assert (found.status, found.verdict, found.digest) == (TimingStatus.TIMED, "PASS", "bg1:0")
    assert (found.side, found.build, found.name, found.sweep) == ("B", "c0ffee", "small", "some")
    assert (len(found.seconds), found.rounds) == (20, tuple(range(20)))
    assert (found.includes, found.launches, found.settings["batch"]) == (("zero_fill",), 1, 50)
    assert found.clocks == {"sm_mhz": (1700.0, 1980.0)}
    assert "launch_bound" not in found.settings


def test_kernels_of_like_speed_have_like_launches_in_a_sample(entrant: CandidateRun) -> None:
    """The warm-up of the second was disturbed: alone it would have a tenth of the launches."""
    facts = [{"fastest": seconds, "most": most} for seconds, most in ((1e-4, 1000), (1.4e-4, 1000), (1e-2, 1000))]
    first, second, slow = (replace(entrant, facts=one) for one in facts)
    share_batch([first, second, slow])
    assert (first.batch, second.batch, slow.batch) == (50, 50, 2)
    assert row(second, [1e-4] * 20).settings["batch"] == 50
    second.facts["most"] = 7  # of a kernel of many launches, that are to be queued
    share_batch([first, second])
    assert (first.batch, second.batch) == (7, 7)
    share_batch([])


def test_a_launch_that_costs_the_thread_more_than_the_device(entrant: CandidateRun) -> None:
    assert row(entrant, [5e-6] * 20, host_seconds=6e-6).settings["launch_bound"] is True


def test_a_sample_that_is_queued_in_time_waits_for_no_thread(entrant: CandidateRun) -> None:
    queued = replace(entrant, settings=Settings(queued=True))
    assert "launch_bound" not in row(queued, [5e-6] * 20, host_seconds=6e-6).settings
    late = replace(queued, unqueued=1)
    assert row(late, [5e-6] * 20, host_seconds=6e-6).settings["launch_bound"] is True


def test_who_fell_behind_keeps_what_it_has(entrant: CandidateRun) -> None:
    found = row(entrant, [1e-3] * 4, "behind")
    assert (found.status, len(found.seconds), found.settings["stopped"]) == (TimingStatus.TIMED, 4, "behind")


@pytest.mark.parametrize(("samples", "status"), [(2, TimingStatus.OVER_BUDGET), (5, TimingStatus.TIMED)])
def test_who_ran_out_of_time(entrant: CandidateRun, samples: int, status: TimingStatus) -> None:
    found = row(entrant, [1e-3] * samples, "budget")
    assert (found.status, len(found.seconds)) == (status, samples)
    assert ("2 samples when the 300 s of the shape were up" in found.reason) == (status is TimingStatus.OVER_BUDGET)


@pytest.mark.parametrize("status", [TimingStatus.NOT_VERIFIED, TimingStatus.FAILED])
def test_samples_of_what_is_wrong_are_thrown_away(entrant: CandidateRun, status: TimingStatus) -> None:
    wrong: Any = replace(entrant, status=status, reason="the result's digest is another")
    found = row(wrong, [1e-3] * 20, "failed")
    assert (found.status, found.seconds, found.rounds, found.host_seconds) == (status, (), (), 0.0)
    assert (found.clocks, found.reason) == ({}, "the result's digest is another")


def test_what_is_refused(entrant: CandidateRun) -> None:
    refusal = Refusal("c_vector", "C = 7")
    found = refused_row(entrant.planned, ("B", ""), entrant.shape, refusal, Settings(), TARGET, STAMP)
    assert (found.status, found.reason, found.seconds) == (TimingStatus.REFUSED, "c_vector: C = 7", ())
