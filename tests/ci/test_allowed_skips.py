"""A target may have gaps, until a day: what is tolerated is skipped with its reason, and red on the day after."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.results.allowed_skips import AllowedSkip, judged
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.results.report.result import result_of
from bitgate.results.targets_file import read_targets

FILE = """
schema = 2
[target.host]
platform = "host"
gate = "pull_request"
minutes = { smoke = 15, regression = 60 }
[[target.host.tolerated]]
kernel = "tiled_*"
case = "*_f8ocp_*"
not_run = "*no conversion*"
reason = "the compiler lacks it"
owner = "ann@lab"
expires = 2026-12-31
[[pool]]
name = "hosted"
target = "host"
backend = "github"
labels = ["ubuntu-24.04"]
state = "up"
"""
KEY = Key("gemm_f8ocp_rcr_b1m8n8k8", "tiled_gemm", "a", (), "exact", 0, "forward", "host")
NOT_RUN = Verdict(KEY, Outcome.NOT_RUN, "gfx942 has no conversion to f8ocp")
LAST_DAY = date(2026, 12, 31)


def _gaps(tmp_path: Path, text: str = FILE) -> tuple[AllowedSkip, ...]:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    promise = read_targets(path).target("host")
    assert promise is not None
    return promise.tolerated


def test_a_tolerated_case_is_skipped_and_says_until_when(tmp_path: Path) -> None:
    verdict = judged(NOT_RUN, _gaps(tmp_path), LAST_DAY)
    assert verdict.green
    result = result_of(verdict)
    assert result is not None
    assert (result.element, result.type) == ("skipped", "unsupported")
    assert result.message.startswith("tolerated until 2026-12-31 (ann@lab: the compiler lacks it): gfx942 has no")


def test_on_the_day_after_it_is_red_again(tmp_path: Path) -> None:
    verdict = judged(NOT_RUN, _gaps(tmp_path), date(2027, 1, 1))
    assert not verdict.green
    assert "tolerated until 2026-12-31 only" in verdict.reason


@pytest.mark.parametrize(
    "other",
    [
        replace(NOT_RUN, key=replace(KEY, case="gemm_f16_rcr_b1m8n8k8")),
        replace(NOT_RUN, key=replace(KEY, kernel="naive_gemm")),
        replace(NOT_RUN, reason="the device was never asked"),
        replace(NOT_RUN, outcome=Outcome.MISMATCH),
        replace(NOT_RUN, outcome=Outcome.LOST),
    ],
    ids=["case", "kernel", "reason", "a wrong result", "a lost one"],
)
def test_a_gap_takes_in_nothing_but_what_it_names(tmp_path: Path, other: Verdict) -> None:
    assert judged(other, _gaps(tmp_path), LAST_DAY) == other


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('owner = "ann@lab"\n', "", "[[target.host.tolerated]] 1: owner: is missing; who will make them run"),
        ('"ann@lab"', '" "', "owner: ' ' is not a text"),
        ("2026-12-31", '"soon"', "expires: soon is not a date such as 2030-01-31"),
        ("case =", "cases =", "cases: no such field; did you mean 'case'?"),
        ('kernel = "tiled_*"\ncase = "*_f8ocp_*"\nnot_run = "*no conversion*"\n', "", "it takes in everything"),
        (
            "[[target.host.tolerated]]",
            "[target.host.tolerated]",
            "tolerated: is not a list of tables; write [[target.NAME.tolerated]]",
        ),
    ],
)
def test_a_mistake_in_a_gap_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        _gaps(tmp_path, FILE.replace(old, new))
    assert said in str(error.value)


def test_a_night_whose_gap_expired_is_red(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(FILE.replace("2026-12-31", "2020-02-29"))
    matrix = tmp_path / "matrix.json"
    assert run(["ci", "matrix", "--targets", str(path), "--out", str(matrix)]) == 0
    assert "expired: host: the skip (case *_f8ocp_*, kernel tiled_*" in capsys.readouterr().err
    out = tmp_path / "merged"
    sample = tmp_path / "results"
    sample.mkdir()
    assert run(["ci", "merge", str(sample), "--matrix", str(matrix), "--out", str(out)]) == 3
    assert "was allowed until 2020-02-29: ann@lab: the compiler lacks it" in (out / "summary.md").read_text()
    assert "ExpiredGap" in (out / "junit.xml").read_text()


def test_our_own_gaps_have_not_expired() -> None:
    config = read_targets(paths.data_folder("ci") / "targets.toml")
    assert [gap for target in config.targets for gap in target.tolerated if gap.expired()] == []
