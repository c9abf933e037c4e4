"""How many cells are wrong, and by how much at most, in one line of terminal, summary and JUnit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.results.report.render import render
from bitgate.results.report.result import extent_line

WRONG = {"wrong": 3, "of": 40}


@pytest.fixture
def red(verdict: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """A wrong result of some extent."""

    def make(error: dict[str, float] | None = None, **extent: Any) -> Verdict:
        diagnosis = Diagnosis(("other",), "they are wrong", {"extent": {**WRONG, **extent}})
        return verdict(Outcome.MISMATCH, diagnosis=diagnosis, error=error or {})

    return make


@pytest.mark.parametrize(
    ("extent", "words"),
    [
        ({"difference": "12.0", "ulps": 5}, "by 12 at most, 5 units in the last place"),
        ({"difference": "0.25", "ulps": 1}, "by 0.25 at most, 1 unit in the last place"),
        ({"difference": "7.0"}, "by 7 at most"),
        ({"difference": "inf"}, "some by NaN or an infinity"),
        ({"difference": "0.0", "ulps": 0}, "by the sign of zero"),
        ({"difference": "1e30", "ulps": 2_000_000_000}, "by 1e30 at most"),
    ],
)
def test_of_bits(red: Callable[..., Verdict], extent: dict[str, Any], words: str) -> None:
    assert extent_line(red(**extent)) == f"3 of 40 cells are wrong, {words}"


def test_of_a_bound(red: Callable[..., Verdict]) -> None:
    line = extent_line(red(difference="0.5", error={"rms": 0.1, "of_bound": 12.34}))
    assert line == "3 of 40 cells are wrong, by 0.5 at most, 12.3 times its bound"


@pytest.mark.parametrize("extent", [None, 3, {}, {"wrong": 0}])
def test_where_it_is_not_known(verdict: Callable[..., Verdict], extent: Any) -> None:
    diagnosis = Diagnosis(("other",), "they are wrong", {"extent": extent})
    assert extent_line(verdict(Outcome.MISMATCH, diagnosis=diagnosis)) == ""
    assert extent_line(verdict()) == ""


def test_the_reports_of_a_run_have_it(red: Callable[..., Verdict], run_folder: Callable[..., Path]) -> None:
    wrong = red(difference="12.0", ulps=5)
    folder = run_folder("host", wrong, planned=[wrong])
    render(folder, tier="smoke", target="host")
    for report in ("summary.md", "junit.xml"):
        assert "3 of 40 cells are wrong, by 12 at most, 5 units in the last place" in (folder / report).read_text()
