"""Every variable that bitgate reads, and nonsense in each: one line and exit code 2, whatever the command needs."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bitgate.cli.main import run
from bitgate.core import paths, settings
from bitgate.core.errors import UsageError

HARNESS = Path(settings.__file__).parents[1]
NUMBERS = ["text", "-1", "nan", "inf", "0", "1e999", "9" * 400, "1_0", " 5", "0x1", "٣"]
NAMES = ["a\nb", "x" * 5000, "tab\there"]
SPECIAL = {
    "BITGATE_CACHE": ["pyproject.toml"],
    "BITGATE_OUT": ["pyproject.toml"],
    "BITGATE_DIAGNOSIS_SECONDS": ["1000001", *NUMBERS],
    "BITGATE_FETCH_ONLY": ["yes", *NUMBERS],
    "BITGATE_QUICK_BUILD": ["yes", *NUMBERS],
    "BITGATE_HOST_PRETEND_CPU": ["x86-64-v5", *NUMBERS],
    "BITGATE_LOAD": ["caf\udce9"],
    "BITGATE_OVERLAY": NUMBERS,
    "BITGATE_OVERLAY_ROOT": NUMBERS,
    "BITGATE_DATA_ROOT": NUMBERS,
    "BITGATE_ROOMS": NUMBERS,
    "BITGATE_RUN_ATTEMPT": NUMBERS,
    "BITGATE_SPIN_SECONDS": ["0.0", "1000001", "1.2.3", *NUMBERS],
    "BITGATE_SYSTEM_ROOT": NUMBERS,
    "BITGATE_THREADS": ["1.5", "1025", *NUMBERS],
}
"""Beside what no variable may hold. Any text is a run's id, a history and the name of a folder to be made."""


def read_in_sources() -> set[str]:
    """Names that stand alone as a text in Python, and those that C++ asks the environment for."""
    trees = [ast.parse(path.read_text()) for path in HARNESS.rglob("*.py") if path.name != "settings.py"]
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    found = {text for text in texts if isinstance(text, str) and re.fullmatch("BITGATE_[A-Z_]+[A-Z]", text)}
    kernels = paths.data_folder("kernels")
    for path in (path for path in kernels.rglob("*") if path.suffix in (".cpp", ".hpp", ".h")):
        found |= set(re.findall(r'(?:getenv|read)\("(BITGATE_[A-Z_]+)"', path.read_text()))
    return found


def test_every_variable_of_the_sources_is_in_the_table() -> None:
    assert read_in_sources() == {*settings.VARIABLES, *settings.OWN}


def test_every_variable_is_in_the_documents() -> None:
    said = (paths.root() / "docs" / "environment.md").read_text()
    assert set(re.findall(r"^\| `(BITGATE_\w+)` \|", said, re.MULTILINE)) == set(settings.VARIABLES)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in settings.VARIABLES for value in (*SPECIAL.get(name, ()), *NAMES)]
)
def test_nonsense_ends_a_command_with_2_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.chdir(paths.root())
    monkeypatch.setenv(name, value)
    assert run(["explain", "PASS"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith(f"bitgate: {name}={settings.shown(value)}: ")


@pytest.mark.parametrize("name", [*settings.VARIABLES, *settings.OWN])
def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "")
    assert run(["explain", "PASS"]) == 0
    monkeypatch.undo()
    settings.check({name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BITGATE_THREADS", "1"),
        ("BITGATE_THREADS", "1024"),
        ("BITGATE_SPIN_SECONDS", "0.5"),
        ("BITGATE_SPIN_SECONDS", "1e6"),
        ("BITGATE_RUN_ATTEMPT", "3"),
        ("BITGATE_RUN_ID", "nightly 2026-11-22 (é)"),
        ("BITGATE_OUT", "not/there/yet"),
        ("BITGATE_CACHE", os.fsdecode(b"caf\xe9")),
        ("BITGATE_HISTORY", "postgresql://ci@db/bitgate"),
        ("BITGATE_HISTORY", f"postgresql://ci:{'t' * 900}@db/bitgate"),
        ("BITGATE_LOAD", "one.py:two/declaration.py"),
        ("BITGATE_FETCH_ONLY", "1"),
    ],
)
def test_what_makes_sense_may_stand(name: str, value: str) -> None:
    settings.check({name: value})


def test_variables_between_bitgates_processes_are_not_checked() -> None:
    for name in settings.OWN:
        settings.check({name: "nonsense"})


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["explain", "-h"]])
def test_help_needs_no_sound_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setenv("BITGATE_THREADS", "many")
    assert run(words) == 0
    assert capsys.readouterr().out


def test_plain_pytest_tells_it_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            str(paths.data_folder("suites") / "reference"),
            "--co",
            "-q",
            "-p",
            "no:cacheprovider",
        ],
        cwd=tmp_path,
        env={**os.environ, "BITGATE_SPIN_SECONDS": "nan", "BITGATE_OUT": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.strip().endswith("BITGATE_SPIN_SECONDS=nan: give seconds, more than 0 and at most 1000000")
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "value", "words", "said"),
    [
        ("BITGATE_LOAD", "absent.py", ["cases", "--target", "host"], "absent.py: no such declaration file"),
        ("BITGATE_ARTEFACTS", "nosuch://store", ["compile", "--target", "host"], "nosuch://store"),
        ("BITGATE_HISTORY", "nosuch://host/name", ["history", "runs"], "nosuch"),
    ],
)
def test_what_a_variable_names_is_asked_for_where_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: str,
    words: list[str],
    said: str,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path))  # which lacks every library
    monkeypatch.setenv(name, value)
    assert run(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.parametrize("name", ["BITGATE_DATA_ROOT", "BITGATE_ROOMS"])
def test_a_data_root_without_kernels(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(tmp_path))
    paths.root.cache_clear()
    try:
        with pytest.raises(UsageError, match=f"{name}=.*unset it"):
            paths.root()
    finally:
        paths.root.cache_clear()
