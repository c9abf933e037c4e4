"""A test that needs more than README promises says so by ``needs``, and neither skips nor hides by any other way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import NEEDS, lacking

from bitgate.core import paths

TESTS = paths.root() / "tests"
ASKS = """
import pytest
@pytest.mark.needs("slurm")
def test_promised(): assert False
@pytest.mark.needs("nvcc")
def test_not_promised(): assert False
def test_without(): pass
"""


def ask(folder: Path, *words: str, **environment: str) -> str:
    """What pytest prints of those tests on a machine without programs."""
    for name in ("conftest.py", "slow.txt"):
        (folder / name).write_text((TESTS / name).read_text())
    (folder / "test_it.py").write_text(ASKS)
    base = {name: value for name, value in os.environ.items() if not name.startswith(("BITGATE_", "PYTEST_"))}
    own = {"PATH": str(folder), "PYTHONPATH": os.pathsep.join([str(TESTS.parent), base.get("PYTHONPATH", "")])}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rs",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:warnings",
        *words,
        str(folder),
    ]
    done = subprocess.run(
        command, cwd=folder, env=base | own | environment, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_what_is_lacking_is_skipped_with_its_reason(tmp_path: Path) -> None:
    said = ask(tmp_path)
    assert "1 passed, 2 skipped" in said
    assert "needs nvcc (install the CUDA toolkit), which README does not promise; the nightly has not" in said
    assert f"needs slurm (apt install {' '.join(NEEDS['slurm'].packages)}), which README does not promise" in said


def test_what_the_nightly_promises_is_red_there(tmp_path: Path) -> None:
    said = ask(tmp_path, BITGATE_NIGHTLY="1")
    assert "1 passed, 1 skipped, 1 error" in said
    assert "; the nightly has it" in said


@pytest.mark.parametrize("name", ["slurm", "nvcc"])
def test_what_is_asked_for_by_name_is_not_skipped(tmp_path: Path, name: str) -> None:
    said = ask(tmp_path, "-m", f"needs_{name}")
    assert "2 deselected, 1 error" in said
    assert f"needs {name} (" in said


def test_an_unknown_need_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("import pytest\n@pytest.mark.needs('slrm')\ndef test_it(): pass\n")
    assert "needs('slrm'): tests/needs.py has apt, " in ask(tmp_path)


@pytest.mark.parametrize("name", [name for name, need in NEEDS.items() if need.programs])
def test_a_need_is_met_by_its_programs_in_path(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lacking(name).startswith(f"needs {name} (")
    for program in NEEDS[name].programs:
        (tmp_path / program).write_text("#!/bin/sh\n")
        (tmp_path / program).chmod(0o755)
    assert lacking(name) == ""


def test_no_test_is_skipped_in_another_way() -> None:
    # g++ is promised, where zig's compiler is not the one in use; a suite that is a text is its own matter.
    # What the kernel of the system offers (Landlock), and its users, no package brings.
    known = {"build/test_prelude.py", "pytest_plugin/test_kernel_processes.py", "worker/test_outside.py"}
    known |= {"worker/test_sandbox.py", "worker/test_state.py"}
    pattern = re.compile(r"\bskipif\(|\bimportorskip\(|\bcollect_ignore\b")
    found = {str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py") if pattern.search(path.read_text())}
    assert found - {"repository/test_needs.py"} == known
