"""The page of a night knows its failures' past: new, known, flaky, since when, and the commits between."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.history.nights import Lab, Planted, key_of, write
from tests.report.pages import Page

from bitgate.cli.main import run
from bitgate.lab.history.ingest import ingest
from bitgate.lab.history.store import opened
from bitgate.results.record import Outcome, Verdict

NAMES = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]

LOG = f"git log {0:012}..{0:012}"
"""Commits of this laboratory begin alike."""


def remember(url: str, folder: Path, *nights: list[Verdict]) -> None:
    with opened(url) as store:
        for number, night in enumerate(nights):
            for _ in ingest(store, [write(folder / f"{number}" / "results.jsonl", night)]):
                pass


def page(record: Path, url: str, folder: Path, *more: str, code: int = 1) -> Page:
    file = folder / "page.html"
    assert run(["report", str(record), "--out", str(folder), "--html", str(file), "--history", url, *more]) == code
    return Page.of(file)


def states(found: Page, target: str = "gfx942") -> dict[str, str]:
    """The states of red cases on a target, by case."""
    return {row["case"]: row["state"] for row in found.rows if row["target"] == target and row["state"]}


def test_failures_are_new_known_and_fixed(url: str, tmp_path: Path) -> None:
    known, new, fixed, other = 0, 1, 2, 3
    nights = [Lab(cases=5, planted=Planted(broken=((known, fixed, other), 1))).night(number) for number in range(4)]
    tonight = Lab(cases=5, planted=Planted(broken=((known, new), 0))).night(4)
    crashed = key_of(other, "gfx942").case
    tonight = [replace(one, outcome=Outcome.CRASHED) if one.key.case == crashed else one for one in tonight]
    remember(url, tmp_path / "before", *nights)
    record = write(tmp_path / "tonight" / "results.jsonl", tonight)
    found = page(record, url, tmp_path)
    expected = {key_of(known, "").case: "known", key_of(new, "").case: "new", crashed: "new"}
    assert states(found) == expected
    histories = {one.one("p", "history").text for one in found.root.all("details", "failure")}
    assert histories >= {
        f"known red since night-01, last good run night-00; {LOG}",
        f"new first red in this run, last good run night-03; {LOG}",
    }
    fixes = [one.text for one in found.root.one("section", id="fixed").all("li")]
    assert len(fixes) == 3
    assert all(key_of(fixed, "").case in one and one.endswith("was MISMATCH in night-03") for one in fixes)

    # A run that is in the history itself is not held against itself.
    remember(url, tmp_path / "again", tonight)
    assert states(page(record, url, tmp_path)) == expected


def test_a_flaky_case_is_no_new_failure(tmp_path: Path) -> None:
    lab = Lab(cases=6, nights=40, planted=Planted(flakes={(2, "gfx942"): 0.25}))
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, *(lab.night(number) for number in range(40)))
    tonight = [
        replace(one, outcome=Outcome.MISMATCH, digest="") if one.key == key_of(2, "gfx942") else one
        for one in lab.night(40)
    ]
    record = write(tmp_path / "tonight" / "results.jsonl", tonight)
    assert states(page(record, url, tmp_path)) == {key_of(2, "").case: "flaky"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three commits in the current folder."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    environment = os.environ | dict.fromkeys(NAMES, "a@b")
    for subject in ("good", "harmless", "guilty"):
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", subject]):
            subprocess.run(["git", *command], env=environment, check=True)
    log = subprocess.run(["git", "log", "--reverse", "--format=%H"], capture_output=True, text=True, check=True)
    return log.stdout.split()


def of_commit(night: list[Verdict], commit: str) -> list[Verdict]:
    return [replace(one, fingerprint=one.fingerprint | {"commit": commit}) for one in night]


def test_the_commits_since_the_last_good_run(tmp_path: Path, repository: list[str]) -> None:
    lab = Lab(cases=2, planted=Planted(broken=((1,), 1)))
    remember(url := str(tmp_path / "h.sqlite"), tmp_path, of_commit(lab.night(0), repository[0]))
    record = write(tmp_path / "tonight" / "results.jsonl", of_commit(lab.night(1), repository[2]))
    found = page(record, url, tmp_path).root.one("details", "failure")
    good, bad = repository[0][:12], repository[2][:12]
    assert found.one("p", "history").text == (
        f"new first red in this run, last good run night-00; git log {good}..{bad}"
    )
    assert [one.text.split()[1] for one in found.one("ul", "commits").all("li")] == ["guilty", "harmless"]


def test_a_merge_writes_its_page_on_the_first_night(tmp_path: Path, capsys: Any) -> None:
    record = write(tmp_path / "results.jsonl", Lab(cases=2, planted=Planted(broken=((1,), 0))).night(0))
    merge = ["ci", "merge", str(record), "--out", str(tmp_path / "o"), "--html", str(tmp_path / "p.html")]
    assert run([*merge, "--history", str(tmp_path / "h.sqlite")]) == 1
    assert set(states(Page.of(tmp_path / "p.html")).values()) == {"new"}
    assert run([*merge, "--history", str(tmp_path / "o")]) == 1  # a folder is no database
    assert "not remembered" in capsys.readouterr().err
    assert not states(Page.of(tmp_path / "p.html"))
