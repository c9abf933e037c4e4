"""A defect of a small kernel of a user's is located by the command, from a case that is red with it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.faults.user_checkout import PATIENCE_SECONDS, SOURCE, UserCheckout, edited, example_folder

from bitgate.cli.faults_locate import _format_found
from bitgate.core import paths
from bitgate.tools.faults.locate.candidate import Localization

RIGHT, WRONG = "x[r * shape.x_row", "x[r * shape.columns"
LINE = "      sum += x[r * shape.columns + c * shape.x_column] * w[c * shape.w];"
RED, ALSO_RED, GREEN = (f"weighted_sums_f32_{shape}" for shape in ("r3c5_gap", "r64c33_gap", "r3c5"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> UserCheckout:
    """A user's checkout, and an overlay of it with a defect that shows where rows are apart."""
    folder = example_folder(tmp_path_factory)
    overlay = folder.parent / "overlay"
    (overlay / SOURCE).parent.mkdir(parents=True)
    (overlay / SOURCE).write_text(edited((folder / SOURCE).read_text(), {RIGHT: WRONG}))
    return UserCheckout(folder, ("locate",), {"BITGATE_OVERLAY": str(overlay), "BITGATE_OVERLAY_ROOT": str(folder)})


@pytest.fixture(scope="module")
def located(repository: UserCheckout) -> Any:
    code, out, err = repository.run(RED, ALSO_RED, "--kernel=weighted_sums.f32", "--json")
    assert code == 0, err
    return json.loads(out)


def test_the_first_line_is_the_defects(repository: UserCheckout, located: Any) -> None:
    text = (repository.folder.parent / "overlay" / SOURCE).read_text().split("\n")
    first = located["candidates"][0]
    assert first["file"] == SOURCE.as_posix()
    assert text[first["line"] - 1] == LINE
    assert (first["original"], first["mutated"]) == ("shape.columns", "shape.x_row")


def test_it_is_confirmed_on_other_cases_of_the_tier(located: Any) -> None:
    first = located["candidates"][0]
    assert (first["reds"], first["passed"]) == (1, 1)
    assert (first["greens"], first["broken"]) == (3, 0)
    assert located["edits"] == located["tried"] > 50


def test_people_read_line_and_edit(repository: UserCheckout, located: Any) -> None:
    code, out, _ = repository.run(RED, "--top=1")
    line = located["candidates"][0]["line"]
    assert code == 0
    assert out.startswith(f"{SOURCE.as_posix()}:{line}: shape.columns -> shape.x_row\n")
    assert "edits on the lines that the red cases reach were tried" in out


def test_what_was_found_before_an_interrupt_is_printed(repository: UserCheckout, located: Any) -> None:
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
        ((RED, "--reference=none"), NO_DEFECT, 3, "no case is red (NOT_RUN on 1 kernels)"),
        (("weighted_sums_f32_r3",), {}, 2, "weighted_sums_f32_r3"),
        ((RED, "--kernel=no_such"), {}, 2, "no_such"),
        ((RED, "--fill=exactly"), {}, 2, "did you mean 'exact'?"),
        ((RED, "--schedule=race"), {}, 2, "in an order of threads"),
        ((RED, "--tier=smok"), {}, 2, "did you mean 'smoke'?"),
        (("gemm_f32_rcr_b2m40n40k20", "softmax_f32_r3c5", "--kernel=*"), NO_DEFECT, 2, "name one with --kernel"),
    ],
)
def test_what_there_is_nothing_to_locate_in(
    repository: UserCheckout, arguments: tuple[str, ...], environment: Mapping[str, str], code: int, words: str
) -> None:
    found, out, err = repository.run(*arguments, **environment)
    assert (found, out) == (code, "")
    assert words in err
    assert "Traceback" not in err


def test_without_tree_sitter_one_line_says_what_to_install(repository: UserCheckout, tmp_path: Path) -> None:
    (tmp_path / "tree_sitter_cpp.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), str(Path(paths.__file__).parents[2])])
    code, out, err = repository.run(RED, PYTHONPATH=path)
    assert (code, out) == (2, "")
    assert "pip install 'bitgate[mutate]'" in err


def test_an_interrupt_before_the_search_says_nothing_of_the_lines() -> None:
    assert _format_found(Localization(is_interrupted=True), 5) == "no edit was tried before the interrupt"
    assert _format_found(Localization(), 5).startswith("no line that can be edited")


def test_a_case_that_the_machine_leaves_unanswered_may_be_red(repository: UserCheckout, tmp_path: Path) -> None:
    """Files have a limit, as on a full disk: the kernel is not launched."""
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
    (tmp_path / "sitecustomize.py").write_text(limit)
    path = os.pathsep.join([str(tmp_path), str(Path(paths.__file__).parents[2])])
    code, out, err = repository.run(RED, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1")
    assert (code, out) == (2, "")
    assert "on weighted_sums.f32: INFRA: " in err


def test_a_source_that_is_not_utf_8_is_named_with_its_line(repository: UserCheckout, tmp_path: Path) -> None:
    """Compilers take any bytes in a comment."""
    (tmp_path / SOURCE).parent.mkdir(parents=True)
    text = (repository.folder.parent / "overlay" / SOURCE).read_bytes()
    (tmp_path / SOURCE).write_bytes(text + b"// Stra\xdfe\n")
    code, out, err = repository.run(RED, BITGATE_OVERLAY=str(tmp_path))
    assert (code, out) == (2, "")
    line = text.count(b"\n") + 1
    assert f"{SOURCE}:{line}: no UTF-8" in err
    assert "Traceback" not in err
