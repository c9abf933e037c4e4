"""GEMMs have coverage, rounds of fuzzing and shrinking, out of their lengths and choices."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.problems import gemm

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.kernel.registry import families, select
from bitgate.kernel.resolved import kernel_called
from bitgate.model import case_id, operation_called, parse_case_id
from bitgate.model.space.candidates import problems_of
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.suite.known_bug_fields import PropertyMatch
from bitgate.suite.vocabulary import value_of
from bitgate.tools.fuzz.failure import FuzzFailure
from bitgate.tools.fuzz.round import subjects
from bitgate.tools.fuzz.shrink import Shrinker
from bitgate.verify.planned import PlannedCase

SPACE = operation_called("gemm").space
ODD = "gemm_f16_crr_b3m40n65k129_bilinear_gap_sk2"


def test_problems_come_back_from_their_columns():
    problems = [parse_case_id(case) for case in (ODD, "gemm_f32_rcr_b1m1n2k3_inscale_weirelu_skauto")]
    assert list(problems_of(SPACE.batch(problems))) == problems


def test_a_suite_is_covered_as_a_convolutions_is(capsys: pytest.CaptureFixture[str]):
    table = paths.data_folder("suites") / "gemm" / "cases.toml"
    assert run(["coverage", "--cases", str(table), "--strength", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["pass"] for one in document["passes"]] == ["gemm"]
    assert {"batch", "m", "n", "k", "layout", "dtypes", "op", "gap", "split_k"} <= set(document["passes"][0]["factors"])
    assert 0 < document["covered"] < document["total"]
    assert all(hole["row"].startswith("gemm_") for hole in document["uncovered"])
    assert document["refused"]["lines"] == 0


def test_assumptions_narrow_the_question(capsys: pytest.CaptureFixture[str], tmp_path):
    path = tmp_path / "rows.toml"
    assumed = [word for name in ("pass=gemm", "numd=0", "layout=rcr", "dtypes=f16") for word in ("--assume", name)]
    assert run(["coverage", "--generate", str(path), "--strength", "2", *assumed, "--json"]) == 0
    generated = json.loads(capsys.readouterr().out)["generated"]
    assert generated["covered"] == generated["total"]
    cases = [line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("case = ")]
    assert all(case.startswith("gemm_f16_rcr_") for case in cases)
    assert {gemm(case).op.name for case in cases} == {"pass"}


def test_a_round_of_fuzzing_meets_every_instance():
    (lane,) = dict.fromkeys(subjects(select("batched_gemm", None, "host")))
    first, again = (list(lane.cases(3, 0, "host")) for _ in range(2))
    assert first == again
    met = Counter(planned.key.instance for planned in first if not planned.refused)
    assert set(met) == {instance.name for instance in lane.instances}
    assert any(planned.refused for planned in first)


def test_a_failure_shrinks_to_the_lengths_that_matter():
    def judge(planned: Any) -> Verdict:
        _, n, k = planned.problem.sizes
        if n % 8 and k > 32:
            return Verdict(planned.key, Outcome.MISMATCH, "wrong", diagnosis=Diagnosis(("other",), "wrong"))
        return Verdict(planned.key, Outcome.PASS)

    kernel = kernel_called(families(target="host"), "batched_gemm", "f16_rcr_32x32x32_a1b1c1")
    planned = PlannedCase(parse_case_id("gemm_f16_rcr_b3m40n65k129_bilinear_gap"), kernel)
    shrunk = Shrinker(judge, FuzzFailure(planned, judge(planned))).run()
    assert shrunk.minimal
    assert case_id(shrunk.planned.problem) == "gemm_f16_rcr_b1m1n1k33"
    assert {neighbour.quantity for neighbour in shrunk.neighbours} == {"n", "k"}


def test_what_is_a_convolutions_is_none_of_its():
    problem = parse_case_id(ODD)
    assert [value_of(problem, name) for name in ("batch", "m", "n", "k", "split_k")] == [3, 40, 65, 129, 2]
    assert value_of(problem, "gemms_count") is None
    assert value_of(problem, "filter") is None
    assert SPACE.keywords(problem) == ("b3", "bilinear")


def test_a_known_bug_matches_only_what_has_the_property():
    problem = parse_case_id(ODD)
    assert PropertyMatch("pass", ("gemm",)).fits(problem)
    assert PropertyMatch("k", least=100).fits(problem)
    assert not PropertyMatch("m", least=100).fits(problem)
    assert not PropertyMatch("gemms_count", (1,)).fits(problem)
