"""tox is the front door: every environment that a document, a workflow or the matrix names is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from bitgate.core import paths
from bitgate.core.choices import TIERS
from bitgate.results.targets_file import read_targets

CHECKOUT = paths.root()
TOX = (CHECKOUT / "tox.ini").read_text()


def _expanded(name: str) -> set[str]:
    """``smoke{,-host}`` -> ``smoke``, ``smoke-host``."""
    found = re.search(r"\{([^}]*)\}", name)
    if not found:
        return {name}
    return {one for part in found[1].split(",") for one in _expanded(name.replace(found[0], part, 1))}


TARGETS = [target.name for target in read_targets(paths.data_folder("ci") / "targets.toml").targets]
OF_TARGETS = {f"{tier}-{target}" for tier in TIERS for target in TARGETS}
ENVIRONMENTS = {name for section in re.findall(r"^\[testenv:(.+)\]$", TOX, re.MULTILINE) for name in _expanded(section)}
ENVIRONMENTS |= OF_TARGETS


def test_smoke_regression_and_our_own_checks_are_there() -> None:
    assert {"smoke", "regression", "py", "lint", "type"} <= ENVIRONMENTS


def test_every_matrix_cell_is_an_environment_with_its_target(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "tox", "config", "--workdir", str(tmp_path), "-k", "commands"]
    asked += ["-e", ",".join(sorted(OF_TARGETS))]
    done = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    line = r"^\[testenv:(.+)\]\ncommands = python -m pytest suites (.+) -n auto$"
    listed = dict(re.findall(line, done.stdout, re.MULTILINE))
    assert listed.keys() == OF_TARGETS
    for name, options in listed.items():
        tier, _, target = name.partition("-")
        assert options == f"--tier={tier} --target={target}"


def test_every_environment_that_a_document_names_is_there() -> None:
    documents = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
    named = {name for path in documents for name in re.findall(r"tox run -e ([\w-]*\w)", path.read_text())}
    assert named
    assert named <= ENVIRONMENTS


def test_every_environment_that_a_workflow_names_is_there() -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github" / "workflows" / "smoke.yml").read_text())
    named = set(workflow["jobs"]["checks"]["strategy"]["matrix"]["env"])
    assert named
    assert named <= ENVIRONMENTS


def test_the_visible_devices_of_the_caller_reach_the_run() -> None:
    passed = re.search(r"^pass_env =\n((?: +.+\n)+)", TOX, re.MULTILINE)
    assert passed is not None
    wanted = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCM_*", "BITGATE_*"}
    assert wanted <= set(passed[1].split())


def test_the_readme_opens_with_the_two_commands() -> None:
    assert re.search(r"```\ntox run -e smoke .*\ntox run -e py .*\n```", (CHECKOUT / "README.md").read_text())
