"""Recorded seconds order the work: what was measured wins, what was not is estimated from its family's pace."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.cases import durations
from bitgate.cases.durations import Durations
from bitgate.errors import UsageError
from bitgate.record import Key, Outcome, Verdict


def verdict(case: str, seconds: float, outcome: Outcome = Outcome.PASS) -> Verdict:
    key = Key(case, "toy", "v8", (), "exact", 0, "forward", "host")
    return Verdict(key, outcome, seconds={"total": seconds})


def test_recorded_seconds_win_over_the_estimate() -> None:
    known = Durations({"a__toy_v8": 3.0}, {"toy": 1e-3})
    assert known.estimate("a", "toy", "v8", 10**6) == 3.0
    assert known.estimate("b", "toy", "v8", 1000) == pytest.approx(1.0 + durations.BASE_SECONDS)


def test_a_family_without_records_is_taken_for_a_typical_one() -> None:
    known = Durations({}, {"slow": 3e-3, "typical": 2e-3, "fast": 1e-3})
    assert known.estimate("b", "new", "v1", 1000) == pytest.approx(2.0 + durations.BASE_SECONDS)


def test_only_what_was_compared_teaches() -> None:
    verdicts = [verdict("a", 2.0), verdict("b", 9.0, Outcome.CRASHED)]
    learned = durations.learn(Durations({"a__toy_v8": 1.0, "c__toy_v8": 5.0}), verdicts, {"a": 1000, "b": 1})
    assert learned.seconds == {"a__toy_v8": 2.0, "c__toy_v8": 5.0}
    assert learned.rates["toy"] == pytest.approx(1.99e-3)


def test_durations_survive_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))
    durations.remember("toytarget", [verdict("a", 2.0)], {"a": 1000})
    durations.remember("toytarget", [verdict("b", 4.0)], {"b": 2000})
    assert durations.load("toytarget").seconds == {"a__toy_v8": 2.0, "b__toy_v8": 4.0}


def test_a_broken_file_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))
    path = tmp_path / "durations" / "toytarget.json"
    path.parent.mkdir()
    path.write_text("[]")
    with pytest.raises(UsageError, match="delete it, it is written anew"):
        durations.load("toytarget")
