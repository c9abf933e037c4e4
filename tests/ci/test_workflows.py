"""Workflows call tox and bitgate and nothing else, so that a laptop can do whatever the CI machine does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from bitgate import rooms

WORKFLOWS = sorted((rooms.room("ci") / "workflows").glob("*.yml"))
# The shell around the two: to install them, and to hand their output on.
ALLOWED = {"tox", "bitgate", "cat", "echo", "mkdir"}
CHECKOUT = rooms.root()


def _load(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text())
    document["on"] = document.pop(True)  # YAML 1.1 reads the key `on` as a truth value
    return document


def _runs(document: dict[str, Any]) -> list[str]:
    return [step["run"] for job in document["jobs"].values() for step in job.get("steps", []) if "run" in step]


def test_there_is_one_for_pull_requests_and_one_for_the_night() -> None:
    on = {path.stem: set(_load(path)["on"]) for path in WORKFLOWS}
    assert "pull_request" in on["smoke"]
    assert "schedule" in on["nightly"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_github_reads_the_same_file(path: Path) -> None:
    assert (CHECKOUT / ".github" / "workflows" / path.name).read_bytes() == path.read_bytes()


def test_github_reads_no_other_file() -> None:
    assert [path.name for path in sorted((CHECKOUT / ".github" / "workflows").iterdir())] == [p.name for p in WORKFLOWS]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_steps_call_tox_and_bitgate_only(path: Path) -> None:
    for script in _runs(_load(path)):
        for line in filter(None, map(str.strip, script.splitlines())):
            words = shlex.split(re.sub(r"^\w+=\$\((.*)\)$", r"\1", line))
            assert words[0] in ALLOWED or words[:2] == ["pip", "install"], line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_job_has_a_machine_and_every_reference_a_source(path: Path) -> None:
    for name, job in _load(path)["jobs"].items():
        if "uses" in job:
            assert (CHECKOUT / job["uses"]).is_file(), name
            continue
        assert "runs-on" in job, name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), (name, step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1")), (name, step)
        for needed in [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []):
            assert needed in _load(path)["jobs"], name
