"""Capsules of an owner's operation with two outputs, and of its kernel that does harm on request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitgate.cli.main import run
from bitgate.model import registry

CASE = "row_counts_f32_r9c40"
ROW_COUNTS = Path(__file__).parent / "row_counts"
LOAD = ("--load", str(ROW_COUNTS))


@pytest.fixture(autouse=True)
def known_here_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_added", {})


def document(capsys: Any, *command: str) -> Any:
    capsys.readouterr()
    run([*command, "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return json.loads(said.out)


def write(capsys: Any, folder: Path, *more: str) -> Any:
    return document(capsys, "capsule", "write", CASE, "--target", "gfx1100", "--out", str(folder), *LOAD, *more)


def replay(capsys: Any, folder: Path) -> Any:
    return document(capsys, "capsule", "replay", str(folder), "--target", "host", *LOAD)


def test_it_is_written_and_passes(capsys, tmp_path):
    written = write(capsys, tmp_path)
    assert written["host_run"] == "PASS"
    done = replay(capsys, tmp_path)
    assert (done["exit"], done["verdict"], done["digest"]) == (0, "PASS", written["digest"])
    (verdict,) = document(capsys, "verify", CASE, "--target", "host", *LOAD)["verdicts"]
    assert verdict["digest"] == done["digest"]


def test_real_numbers_have_bounds_and_counts_their_bits(capsys, tmp_path):
    write(capsys, tmp_path, "--fill", "decimal")
    value, count = json.loads((tmp_path / "manifest.json").read_text())["expected"]
    assert (value["digest"], count["tolerance"]) == ("", None)
    assert (np.load(tmp_path / value["tolerance"]["slack"]["file"]) > 0).all()
    done = replay(capsys, tmp_path)
    assert (done["verdict"], done["digest"]) == ("PASS", f"count={count['digest']}")


HARMS = {
    "count": ("MISMATCH", "1 of 9 cells of count are wrong"),
    "past_count": ("CORRUPTED", "byte 0 past the end of buffer count (36 bytes) was written"),
    "input": ("CORRUPTED", "input x was changed: 1 of 360 elements, the first at index 0 of its memory"),
    "rounding": ("CORRUPTED", "floating-point environment"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_harm_is_reported_as_verify_reports_it(capsys, tmp_path, harm):
    verdict, words = HARMS[harm]
    option = ("--option", f"harm={harm}")
    written = write(capsys, tmp_path, *option)
    done = replay(capsys, tmp_path)
    (same,) = document(capsys, "verify", CASE, "--target", "host", *LOAD, *option)["verdicts"]
    assert (done["exit"], done["verdict"], same["verdict"]) == (1, verdict, verdict)
    assert words in done["reason"]
    assert written["host_run"] == f"{verdict}: {same['reason']}"
    assert done["reason"] == same["reason"]
    assert done["diagnosis"]["sentence"] == same["diagnosis"]["sentence"]
    assert done["diagnosis"]["kinds"] == same["diagnosis"]["kinds"]


def test_tensors_whose_files_would_have_one_name_are_reported(capsys, tmp_path):
    """An input ``expected_value`` beside what is expected of ``value``."""
    folder = Path(shutil.copytree(ROW_COUNTS, tmp_path / "row_counts"))
    for file in folder.glob("*.*"):
        file.write_text(file.read_text().replace('"x"', '"expected_value"'))
    command = ["capsule", "write", CASE, "--target", "gfx1100", "--out", str(tmp_path / "none"), "--load", str(folder)]
    capsys.readouterr()
    assert run(command) == 2
    assert "two tensors of the case want the file expected_value.npy: give one of them" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
