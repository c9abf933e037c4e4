"""A verdict is right only if all that decides was compared, the timed calls too."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.results.record import Key, Outcome, Verdict
from bitgate.tools.judge.findings import Findings
from bitgate.tools.judge.problems import JudgedCase, Problems
from bitgate.tools.judge.run import JudgeRequest
from bitgate.tools.judge.timing import Time


@pytest.fixture
def found() -> Findings:
    return Findings(JudgeRequest(Path("s.py"), "t.py"), Problems("task_t", ()), "custom_kernel", 3, ["a wall"])


def test_nothing_compared_is_open(found: Findings) -> None:
    assert (found.verdict, found.exit) == ("open", 3)
    found.refused["case"] = "plain: no padding"
    assert found.diagnosis == "it takes none of the task's problems: plain: no padding"


def test_few_right_of_many_refused_are_open(found: Findings) -> None:
    case = "gemm_f32_m3n4k5"
    verdict = Verdict(Key(case, "mine", "f32", (), "exact", 0, "forward", "host"), Outcome.PASS)
    found.verdicts = [(JudgedCase(case, "exact", "own"), verdict)]
    assert found.verdict == "right"
    found.refused = dict.fromkeys(("gemm_f16_m3n4k5", "gemm_i8_m3n4k5"), "dtypes: f32 only")
    assert (found.verdict, found.exit) == ("open", 3)
    assert found.diagnosis == "it refuses more of the task's problems than it takes: dtypes: f32 only"


def test_a_case_that_was_run_on_no_data_is_open(found: Findings) -> None:
    """A declaration may predict a workspace that no device has, for the very sizes that it gets wrong."""

    def judged(case: str, fill: str, outcome: Outcome, reason: str = "") -> tuple[JudgedCase, Verdict]:
        key = Key(case, "mine", "f32", (), fill, 0, "forward", "host")
        verdict = Verdict(key, outcome, reason=reason, expected=outcome is Outcome.NOT_RUN)
        assert verdict.green
        return JudgedCase(case, fill, "own"), verdict

    own, other = "gemm_f32_m3n4k5", "gemm_f32_m4n5k6"
    found.verdicts = [judged(own, "exact", Outcome.PASS), judged(own, "decimal", Outcome.NOT_RUN, "no bound stated")]
    assert found.verdict == "right"
    found.verdicts.append(judged(other, "exact", Outcome.NOT_RUN, "the case needs 1048576.00 GiB of device memory"))
    assert (found.verdict, found.exit) == ("open", 3)
    assert (
        found.diagnosis == f"1 of the task's cases were not compared, such as {other}: {found.verdicts[-1][1].reason}"
    )


def test_a_source_that_does_not_build_is_built_once(found: Findings) -> None:
    assert found.why_stop(False) == ""
    key = Key("gemm_f32_m3n4k5", "mine", "f32", (), "exact", 0, "forward", "host")
    verdict = Verdict(key, Outcome.BUILD_FAILED, reason="mine does not build")
    found.verdicts = [(JudgedCase(key.case, "exact", "own"), verdict)]
    assert (found.why_stop(False), found.exit) == ("it does not build", 1)


def test_wrong_results_of_timed_calls_are_wrong(found: Findings) -> None:
    found.times = Time((), "case: wrong results while it was timed")
    assert (found.verdict, found.exit) == ("wrong", 1)
    report = found.report()
    assert report["diagnosis"] == "while it was timed: case: wrong results while it was timed"
    assert report["time"] == {"kind": "bounded", "ms": None, "wrong": found.times.wrong, "rows": []}


def test_a_wrong_zero_length_is_wrong(found: Findings) -> None:
    found.zero = {"a": "", "b": "it returned float32 of [1]: output 0 is float32 of [0]"}
    assert (found.exit, found.report()["summary"]["outcomes"]) == (1, {"PASS": 1, "MISMATCH": 1})
    assert found.diagnosis.startswith("where b is 0: it returned")


def test_a_file_that_does_not_load_says_so_first(found: Findings) -> None:
    found.does_not_load, found.zero = "its file does not load: SyntaxError", {"a": "wrong"}
    assert (found.verdict, found.diagnosis) == ("wrong", "its file does not load: SyntaxError")
