"""Workflows call tox and bitgate and nothing else, so that a laptop can do whatever the CI machine does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from bitgate.core import paths

WORKFLOWS = sorted((paths.root() / ".github" / "workflows").glob("*.yml"))
# The shell around the two: to install them, and to hand their output on.
ALLOWED = {"tox", "bitgate", "cat", "echo", "mkdir"}
CHECKOUT = paths.root()


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
        for needed in [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", []):
            assert needed in _load(path)["jobs"], name


# Releases of each action, by the commit that its tag stands for: a tag can be moved, a commit cannot.
PINNED = {
    "actions/checkout": "11bd71901bbe5b1630ceea73d27597364c9af683",
    "actions/setup-python": "a26af69be951a213d495a4c3e4e4022e16d87065",
    "actions/upload-artifact": "ea165f8d65b6e75b540449e92b4886f43607fa02",
    "actions/download-artifact": "d3f86a106a0bac45b974a628896c90dbdf5c8093",
}


def _steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in _load(path)["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_name_their_release(path: Path) -> None:
    for step in _steps(path):
        if "uses" in step:
            name, _, commit = step["uses"].partition("@")
            assert commit == PINNED[name]
    for line in path.read_text().splitlines():
        if "uses: actions/" in line:
            assert re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_expression_becomes_a_part_of_a_shell_line(path: Path) -> None:
    for script in _runs(_load(path)):
        assert "${{" not in script


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_no_token_is_left_on_disk_and_none_may_write(path: Path) -> None:
    document = _load(path)
    assert document["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in document["jobs"].values())
    for step in _steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_rerun_can_upload_its_artifacts(path: Path) -> None:
    """Names are unique within a run, and a run's attempts share them."""
    for step in _steps(path):
        if step.get("uses", "").startswith("actions/upload-artifact@"):
            stated = step["with"]
            assert stated.get("overwrite") is True or "${{ github.run_attempt }}" in stated["name"], stated


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_of_a_matrix_do_not_share_an_artifact(path: Path) -> None:
    for job in _load(path)["jobs"].values():
        uploads = [s for s in job.get("steps", []) if s.get("uses", "").startswith("actions/upload-artifact@")]
        if "matrix" in job.get("strategy", {}):
            assert all("matrix.target" in s["with"]["name"] and "matrix.part" in s["with"]["name"] for s in uploads)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_variables_are_quoted_in_shell_lines(path: Path) -> None:
    for script in _runs(_load(path)):
        for line in script.splitlines():
            for word in re.findall(r"\$\w+", re.sub(r'"[^"]*"', "", line)):
                raise AssertionError(f"{word} stands unquoted in: {line}")
