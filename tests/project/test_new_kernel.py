"""``bitgate kernels new``: a repository of one's own by one command, green and with a defect that it finds."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.kernel import skeleton

NAME = "row_sums"


def test_the_commands_that_it_prints_work_at_once(empty: Any) -> None:
    said = empty.bitgate("kernels", "new", NAME)
    assert said.code == 0, said.said
    smoke, faults = (line.partition("#")[0].strip() for line in said.out.partition("next\n")[2].splitlines())
    enter, _, smoke = smoke.partition(" && ")
    assert enter == f"cd {NAME}"
    (program, *words), (same_program, *other_words) = shlex.split(smoke), shlex.split(faults)
    assert {program, same_program} == {"bitgate"}

    ran = empty.bitgate(*words, below=NAME)
    assert ran.code == 0, ran.said
    assert f"GREEN: {skeleton.VERDICTS} verdicts on host (smoke)" in ran.said
    assert f"green: {skeleton.VERDICTS} verdicts" in said.out

    tried = empty.bitgate(*other_words, "--json", below=NAME)
    (fault,) = tried.document["faults"]
    assert (tried.code, fault["killed"], fault["diagnosed"]) == (0, True, True), tried.said
    found = re.match(r"the last 1 of (\d+) steps of c are missing", fault["sentence"])
    assert found, fault["sentence"]
    assert f"c{found[1]}_" in fault["by"]  # the case's own number of steps


def test_other_commands_serve_it_too(empty: Any) -> None:
    document = empty.bitgate("kernels", "new", NAME, "--json").document
    assert (document["folder"], len(document["files"])) == (NAME, len(skeleton.FILES))
    assert all((empty.folder / path).is_file() for path in document["files"])
    (row,) = empty.bitgate("kernels", "--target=host", "--json", below=NAME).document["kernels"]
    assert (row["family"], row["planned"]) == (NAME, skeleton.VERDICTS)
    (part,) = empty.bitgate("coverage", "--json", below=NAME).document["passes"]
    assert part["pass"] == NAME


def test_every_template_is_written_and_none_keeps_a_placeholder(tmp_path: Path) -> None:
    templates = {entry.name.removesuffix(".template") for entry in (files(skeleton) / "files").iterdir()}
    assert templates == set(skeleton.FILES.values())
    for path in skeleton.make(NAME, tmp_path):
        assert skeleton.PLACE not in f"{path}{(tmp_path / path).read_text()}"


@pytest.mark.parametrize(
    "name",
    ["", "Row", "2d", "_row", "row_", "row__sums", "row-sums", "row sums", "../row", "/row", "ro\nw", "é", "r" * 41],
)
def test_an_odd_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["kernels", "new", "--", name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "can be no name of a kernel: a-z, 0-9 and single _ between them" in line
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gemm", "bitgate has an operation 'gemm': choose another name"),
        ("naive_conv", "bitgate has a kernel family 'naive_conv': choose another name"),
    ],
)
def test_a_name_that_bitgate_has_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        skeleton.make(name, tmp_path)


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_is_left_alone(tmp_path: Path, kind: str) -> None:
    place = tmp_path / NAME
    there: dict[str, Callable[[], object]] = {
        "folder": place.mkdir,
        "file": lambda: place.write_text("mine"),
        "link": lambda: place.symlink_to("nowhere"),
    }
    there[kind]()
    with pytest.raises(UsageError, match=f"{place} is there already: choose another name, or move it away"):
        skeleton.make(NAME, tmp_path)
    assert os.path.lexists(place)
    assert list(tmp_path.rglob("*")) == [place]


def test_an_unwritable_place_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made: Not a directory: go to a folder that can be written"):
        skeleton.make(NAME, tmp_path / "file")


def test_a_disk_that_is_full_midway_leaves_nothing(tmp_path: Path) -> None:
    """In a process whose files may have no byte."""
    import resource
    import signal

    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
        try:
            skeleton.make(NAME, tmp_path)
        except UsageError as error:
            os._exit(0 if "cannot be made: File too large" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not any(tmp_path.iterdir())


def test_options_of_the_list_are_not_swallowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["kernels", "--target", "host", "new", NAME]) == 2
    assert "options of the list go without 'new': leave them out" in capsys.readouterr().err
    assert run(["kernels", "nwe"]) == 2
    assert "nwe" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
