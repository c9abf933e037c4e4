"""A defect of a small kernel of a user's is located by the command, from a case that is red with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths

PATIENCE_SECONDS = 300
SOURCE = Path("kernels") / "weighted_sums" / "weighted_sums.hip.cpp"
RIGHT, WRONG = "x[r * shape.x_row", "x[r * shape.columns"
LINE = "      sum += x[r * shape.columns + c * shape.x_column] * w[c * shape.w];"
RED, ALSO_RED, GREEN = (f"weighted_sums_f32_{shape}" for shape in ("r3c5_gap", "r64c33_gap", "r3c5"))


@dataclass
class Repository:
    """A user's checkout, and an overlay of it with a defect that shows where rows are apart."""

    folder: Path
    overlay: Path

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        place = {"PYTHONPATH": path, "BITGATE_OUT": str(self.folder / "out")}
        place |= {"BITGATE_OVERLAY": str(self.overlay), "BITGATE_OVERLAY_ROOT": str(self.folder)}
        command = [sys.executable, "-m", "bitgate", "faults", "locate", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **place, **environment}, stdout=pipe, stderr=pipe, text=True
        )

    def locate(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tmp_path_factory.mktemp("owner") / "weighted_sums"
    shutil.copytree(paths.root() / "examples" / "weighted_sums", folder)
    overlay = folder.parent / "overlay"
    text = (folder / SOURCE).read_text()
    assert text.count(RIGHT) == 1
    (overlay / SOURCE).parent.mkdir(parents=True)
    (overlay / SOURCE).write_text(text.replace(RIGHT, WRONG))
    return Repository(folder, overlay)


@pytest.fixture(scope="module")
def located(repository: Repository) -> Any:
    code, out, err = repository.locate(RED, ALSO_RED, "--kernel=weighted_sums.f32", "--json")
    assert code == 0, err
    return json.loads(out)


def test_the_first_line_is_the_defects(repository: Repository, located: Any) -> None:
    text = (repository.overlay / SOURCE).read_text().split("\n")
    first = located["candidates"][0]
    assert first["file"] == SOURCE.as_posix()
    assert text[first["line"] - 1] == LINE
    assert (first["original"], first["mutated"]) == ("shape.columns", "shape.x_row")


def test_it_is_confirmed_on_other_cases_of_the_tier(located: Any) -> None:
    first = located["candidates"][0]
    assert (first["reds"], first["passed"]) == (1, 1)
    assert (first["greens"], first["broken"]) == (3, 0)
    assert located["edits"] == located["tried"] > 50


def test_people_read_line_and_edit(repository: Repository, located: Any) -> None:
    code, out, _ = repository.locate(RED, "--top=1")
    line = located["candidates"][0]["line"]
    assert code == 0
    assert out.startswith(f"{SOURCE.as_posix()}:{line}: shape.columns -> shape.x_row\n")
    assert "edits on the lines that the red cases reach were tried" in out


def test_what_was_found_before_an_interrupt_is_printed(repository: Repository, located: Any) -> None:
    process = repository.start(RED, "-j1")
    assert process.stderr is not None
    said = ""
    end = time.monotonic() + PATIENCE_SECONDS
    while "a library of" not in said and time.monotonic() < end:
        said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, err
    assert "edits on the lines that the red cases reach were tried" in out


NO_DEFECT = {"BITGATE_OVERLAY": ""}


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "words"),
    [
        ((GREEN,), {}, 0, "no case is red (PASS on 1 kernels): there is nothing to locate"),
        ((RED,), NO_DEFECT, 0, "there is nothing to locate"),
        (("weighted_sums_f32_r3",), {}, 2, "weighted_sums_f32_r3"),
        ((RED, "--kernel=no_such"), {}, 2, "no_such"),
        ((RED, "--fill=exactly"), {}, 2, "did you mean 'exact'?"),
        ((RED, "--schedule=race"), {}, 2, "in an order of threads"),
        ((RED, "--tier=smok"), {}, 2, "did you mean 'smoke'?"),
        (("gemm_f32_rcr_b2m40n40k20", "softmax_f32_r3c5", "--kernel=*"), NO_DEFECT, 2, "name one with --kernel"),
    ],
)
def test_what_there_is_nothing_to_locate_in(
    repository: Repository, arguments: tuple[str, ...], environment: Mapping[str, str], code: int, words: str
) -> None:
    found, out, err = repository.locate(*arguments, **environment)
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_without_tree_sitter_one_line_says_what_to_install(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "tree_sitter_cpp.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), str(Path(paths.__file__).parents[2])])
    code, out, err = repository.locate(RED, PYTHONPATH=path)
    assert (code, out) == (2, "")
    assert "pip install 'bitgate[mutate]'" in err
