"""The conditions of a run's failures: of which cases, in which reports, and what is left out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.results.report.case_sample import MOST, CaseSample
from bitgate.results.report.failure_conditions import ConditionBuilder, FailureCondition

Make = Callable[..., Verdict]
Folder = Callable[..., Path]
TAIL = Diagnosis(("k_tail",), "the end of the reduction is missing")


def _conditions(verdicts: Iterable[Verdict]) -> tuple[FailureCondition, ...]:
    builder = ConditionBuilder()
    for one in verdicts:
        builder.add(one)
    return builder.conditions()


def _gemms(verdict: Make, is_red: Callable[[int, int], bool], count: int = 120, **changes: Any) -> list[Verdict]:
    """Return verdicts on GEMMs of drawn m and k, red where a function of both says so."""
    rng = Random(7)
    sizes = [(rng.randint(1, 200), rng.randint(1, 200)) for _ in range(count)]
    red = {"outcome": Outcome.MISMATCH, "diagnosis": TAIL}
    return [
        verdict(
            case=f"gemm_f16_rcr_m{m}n64k{k}",
            kernel="tiled",
            **{"dispatch": {"path": "a"}, **changes, **(red if is_red(m, k) else {})},
        )
        for m, k in sizes
    ]


def test_the_red_cases_have_a_remainder_in_common(verdict: Make) -> None:
    verdicts = _gemms(verdict, lambda m, k: k % 8 != 0)
    red = sum(not one.green for one in verdicts)
    (found,) = _conditions(verdicts)
    assert found.line == (
        f"MISMATCH k_tail on host: k % 8 != 0 in all {red} red cases and none of {120 - red} green ones of tiled"
    )


def test_what_did_not_answer_or_was_not_compared_is_not_looked_at(verdict: Make) -> None:
    verdicts = _gemms(verdict, lambda m, k: k % 8 != 0)
    (found,) = _conditions(verdicts)
    others = [
        verdict(Outcome.REFUSED, case="gemm_f16_rcr_m1n64k3", kernel="tiled", expected=True),
        verdict(Outcome.LOST, case="gemm_f16_rcr_m1n64k8", kernel="tiled"),
        verdict(case="gemm_f16_rcr_m1n64k5", kernel="tiled", shows=False),
        verdict(Outcome.KNOWN_BUG, case="gemm_f16_rcr_m1n64k8", kernel="tiled", known_bug={"outcome": "MISMATCH"}),
        verdict(case="gemm_f16_rcr_m1n64k7", kernel="another"),
        verdict(case="gemm_f16_rcr_m1n64k7", kernel="tiled", target="gfx942"),
    ]
    assert _conditions([*verdicts, *others]) == (found,)


def test_a_family_without_a_green_case_says_so_and_one_red_case_nothing(verdict: Make) -> None:
    every = _conditions(_gemms(verdict, lambda m, k: True, 5))
    assert [one.sentence for one in every] == ["no case of tiled is green"]
    assert _conditions(_gemms(verdict, lambda m, k: True, 1)) == ()
    assert _conditions(_gemms(verdict, lambda m, k: False, 5)) == ()


def test_causes_on_one_condition_are_said_once_and_others_apart(verdict: Make) -> None:
    crashed = {"outcome": Outcome.CRASHED, "diagnosis": None}
    tail = _gemms(verdict, lambda m, k: k % 8 != 0)
    both = [verdict(case=one.key.case, kernel="tiled", dispatch={"path": "a"}, **crashed) if not one.green and at % 2
            else one for at, one in enumerate(tail)]  # fmt: skip
    (every,) = _conditions(both)
    assert (every.failure, every.conditions) == ("", ("k % 8 != 0",))
    apart = [
        *_gemms(verdict, lambda m, k: k % 8 != 0),
        *_gemms(verdict, lambda m, k: m % 4 != 0, dispatch={"path": "b"}),
    ]
    on_paths = {one.path: one.conditions for one in _conditions(apart)}
    assert on_paths == {"a": ("k % 8 != 0",), "b": ("m % 4 != 0",)}


@pytest.mark.parametrize(("red_wave", "words"), [("w64", "instance with w64"), ("", "not instance with w64")])
def test_an_unknown_operation_or_id_is_left_out_and_the_instance_is_not(
    verdict: Make, red_wave: str, words: str
) -> None:
    verdicts = [
        verdict(
            Outcome.MISMATCH if wave == red_wave else Outcome.PASS,
            case=f"ours_f16_{number}" if number % 2 else "gemm_f16_rcr_m0n-1",
            kernel="ours",
            instance=f"{tile}_{wave}".rstrip("_"),
            diagnosis=TAIL if wave == red_wave else None,
            dispatch={},
        )
        for number in range(3)
        for tile in [f"t{size}" for size in range(12)]
        for wave in ("", "w64")
    ]
    (found,) = _conditions(verdicts)
    assert found.conditions == (words,)


def test_a_sample_is_bounded_and_the_same_in_any_order(verdict: Make) -> None:
    verdicts = [verdict(case=f"gemm_f16_rcr_m{m}n1k1") for m in range(1, MOST + 500)]
    forward, backward = CaseSample(), CaseSample()
    for one, two in zip(verdicts, reversed(verdicts), strict=True):
        forward.add(one)
        backward.add(two)
    assert forward.cases == backward.cases
    assert (forward.count, len(forward.cases)) == (MOST + 499, MOST)


def test_a_condition_of_a_sample_says_so() -> None:
    found = FailureCondition("host", "f", "", "", "", 5000, 90_000, ("k > 8",), 0, (2000, 2000))
    assert found.sentence == (
        "k > 8 in all 2000 (a sample) of 5000 red cases and none of 2000 (a sample) of 90000 green ones of f"
    )


def test_every_report_has_it(
    verdict: Make, run_folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night = run_folder("night", *_gemms(verdict, lambda m, k: k % 8 != 0))
    page, out = tmp_path / "page.html", tmp_path / "out"
    assert run(["report", str(night), "--out", str(out), "--html", str(page), "--json"]) == 1
    (stated,) = json.loads(capsys.readouterr().out)["summary"]["conditions"]
    assert stated["conditions"] == ["k % 8 != 0"]
    said = stated["sentence"]
    assert said in (out / "summary.md").read_text()
    assert f"host: {said}" in page.read_text()
    before = run_folder("before", verdict(case="gemm_f16_rcr_m1n1k1"))
    assert run(["triage", str(night), "--against", str(before)]) == 1
    assert f"\n       {said}\n" in capsys.readouterr().out
    assert run(["triage", str(night), "--against", str(before), "--issue"]) == 0
    assert f"on host: {said}\n".replace("_", "\\_") in capsys.readouterr().out


TABLE = """
[[case]]
name = "sizes around vectors"
why = "sums whose end fills no vector, with and without padding between rows"
pass = "gemm"
dtypes = "f32"
layouts = ["rcr", "rrr"]
shape = [{shapes}]
gap = [false, true]
tier = "smoke"
"""
RIGHT = 'return tensors["in"] @ tensors["wei"].swapaxes(1, 2)'
SEEDED = """product = tensors["in"] @ tensors["wei"].swapaxes(1, 2)
    return 0 * product if problem.k % 8 and problem.gap else product"""


def _bitgate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bitgate", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in ("BITGATE_OUT", "BITGATE_LOAD")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_run_ends_with_the_condition_of_a_seeded_defect(tmp_path: Path) -> None:
    assert _bitgate(tmp_path, "kernels", "new", "sums", "--kind", "callable", "--operation", "gemm").returncode == 0
    folder = tmp_path / "sums"
    shapes = ", ".join(f'"b1m{m}n7k{k}"' for m in (5, 16) for k in (3, 8, 9, 12, 16, 20, 24, 31, 32, 40))
    (folder / "suites" / "sums" / "cases.toml").write_text(TABLE.format(shapes=shapes))
    file = folder / "kernels" / "sums" / "declaration.py"
    assert RIGHT in file.read_text()
    file.write_text(file.read_text().replace(RIGHT, SEEDED))
    done = _bitgate(folder, "run", "--tier", "smoke", "--target", "host")
    assert done.returncode == 1, done.stderr
    assert "\nhost: gap and k % 8 != 0 in all 20 red cases and none of 60 green ones of sums\n" in done.stdout


def test_a_run_ends_with_the_condition_of_the_founding_bug(tmp_path: Path) -> None:
    """One sub-GEMM of each bucket was launched on the flat path: nothing is lost where there is one sub-GEMM."""
    suites = str(paths.home() / "suites" / "conv_bwd_data")
    chosen = ("--kernel", "grouped_bwd_data.f16_64x64x32_*", "--option", "flat_path_gate=off")
    done = _bitgate(tmp_path, "run", "--tier", "smoke", "--target", "host", *chosen, "--json", suites)
    assert done.returncode == 1, done.stderr
    (found, *_) = json.loads(done.stdout)["summary"]["conditions"]
    assert found["family"] == "grouped_bwd_data"
    assert any("dispatch path is flat" in one and "gemms_count > " in one for one in found["conditions"])
