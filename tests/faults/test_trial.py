"""What a run with a fault in it proves, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bitgate.core.project import ours
from bitgate.results.record import Diagnosis, Key, Outcome, Verdict
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.share import Share
from bitgate.tools.faults.tier_run import TierRun
from bitgate.tools.faults.trial import TrialSetup, exit_code, found_share, judge, shares_by_family, try_faults

FAULT = Fault("drops_sub_gemms", "RL#7732", "kernels/k.hip.cpp", "a", "b", "missing_sub_gemm")
TEST = "suites/conv_bwd_data/test_correctness.py::test_correctness[c]"


def _verdict(outcome: Outcome, kinds: tuple[str, ...] = (), test: str = TEST, **changes: Any) -> Verdict:
    key = Key("c", "grouped_bwd_data", "t64", (), "exact", 0, "forward", "host")
    diagnosis = Diagnosis(kinds, "what is wrong") if kinds else None
    return Verdict(key, outcome, test=test, diagnosis=diagnosis, **changes)


def _run(*verdicts: Verdict, code: int | None = 1, output: str = "") -> TierRun:
    return TierRun(code, verdicts, output, 1.5)


def test_a_red_verdict_kills_and_its_report_is_shown() -> None:
    trial = judge(FAULT, _run(_verdict(Outcome.PASS), _verdict(Outcome.MISMATCH, ("missing_sub_gemm", "zero"))))
    assert (trial.killed, trial.by, trial.verdict, trial.diagnosed) == (True, TEST, "MISMATCH", True)
    assert trial.as_json()["diagnosis"] == "missing_sub_gemm"
    assert trial.as_json()["seconds"] == 1.5


def test_a_killer_that_names_another_kind_does_not_diagnose() -> None:
    trial = judge(FAULT, _run(_verdict(Outcome.MISMATCH, ("border",))))
    assert (trial.killed, trial.diagnosed) == (True, False)
    assert trial.as_json()["diagnosis"] == "border"


def test_the_killer_of_the_expected_kind_is_shown_first() -> None:
    earlier = _verdict(Outcome.MISMATCH, ("border",), test="t::early")
    telling = _verdict(Outcome.MISMATCH, ("zero", "missing_sub_gemm"), test="t::late")
    assert judge(FAULT, _run(earlier, telling)).by == "t::late"


def test_a_fault_without_an_expected_kind_has_no_diagnosis() -> None:
    assert judge(replace(FAULT, diagnosis=""), _run(_verdict(Outcome.MISMATCH, ("border",)))).diagnosed is None


def test_a_fault_that_stays_green_is_a_hole() -> None:
    trial = judge(FAULT, _run(_verdict(Outcome.PASS), code=0))
    assert (trial.valid, trial.killed) == (True, False)
    assert "a hole" in trial.note


def test_a_fault_that_does_not_compile_is_not_valid() -> None:
    trial = judge(FAULT, _run(_verdict(Outcome.BUILD_FAILED, reason="expected ';'")))
    assert (trial.valid, trial.killed) == (False, False)


@pytest.mark.parametrize(("code", "verdict"), [(None, "HUNG"), (-11, "CRASHED")])
def test_a_run_that_a_fault_hangs_or_crashes_is_a_kill(code: int | None, verdict: str) -> None:
    trial = judge(FAULT, _run(_verdict(Outcome.PASS), code=code))
    assert (trial.killed, trial.verdict) == (True, verdict)


def test_a_run_whose_time_is_up_before_a_first_verdict_shows_nothing() -> None:
    trial = judge(FAULT, _run(code=None))
    assert (trial.valid, trial.killed) == (False, False)
    assert "--limit" in trial.note


@pytest.mark.parametrize(("plain", "killed"), [(0, True), (1, True), (None, False), (-9, False)])
@pytest.mark.parametrize("code", [None, -9])
def test_the_end_of_a_whole_run_kills_if_it_comes_by_the_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int | None, plain: int | None, killed: bool
) -> None:
    def run_tier(*_: Any, overlay: Path | None, **__: Any) -> TierRun:
        is_planted = overlay is not None and any(overlay.rglob("*.cpp"))
        return _run(_verdict(Outcome.PASS), code=code if is_planted else plain)

    (tmp_path / "kernel.hip.cpp").write_text("a")
    monkeypatch.setattr("bitgate.tools.faults.trial.run_tier", run_tier)
    setup = TrialSetup("smoke", "host", 20, replace(ours(), root=tmp_path))
    (trial,) = try_faults([replace(FAULT, file="kernel.hip.cpp")], setup, lambda _: None)
    assert (trial.valid, trial.killed) == (killed, killed)
    assert ("without the fault too" in trial.note) is not killed


def test_a_test_that_fails_without_a_verdict_kills_by_its_name() -> None:
    trial = judge(FAULT, _run(code=1, output=f"...\nFAILED {TEST} - worker 'gw1' crashed\n"))
    assert (trial.killed, trial.by) == (True, TEST)


@pytest.mark.parametrize("outcome", [Outcome.INFRA, Outcome.LOST])
def test_a_broken_machine_kills_nothing(outcome: Outcome) -> None:
    trial = judge(FAULT, _run(_verdict(outcome), code=2, output="...\ndevice lost\n\n"))
    assert (trial.valid, trial.killed) == (False, False)
    assert "ended with 2 and said: device lost" in trial.note


def test_score_and_exit_code() -> None:
    killed = judge(FAULT, _run(_verdict(Outcome.MISMATCH)))
    hole = judge(FAULT, _run(_verdict(Outcome.PASS), code=0))
    broken = judge(FAULT, _run(_verdict(Outcome.BUILD_FAILED)))
    assert (found_share([killed, killed, hole, broken]), exit_code([killed, hole])) == (Share(2, 3), 1)
    assert exit_code([killed]) == 0
    assert exit_code([killed, hole, broken]) == 2


def test_shares_of_families_and_of_what_they_share() -> None:
    of_gemm = replace(FAULT, file="kernels/batched_gemm/dispatch.hpp")
    shared = replace(FAULT, file="kernels/include/bitgate/number.hpp")
    trials = [judge(of_gemm, _run(_verdict(Outcome.MISMATCH))), judge(shared, _run(_verdict(Outcome.PASS), code=0))]
    assert shares_by_family(trials) == {"batched_gemm": Share(1, 1), "several families": Share(0, 1)}
