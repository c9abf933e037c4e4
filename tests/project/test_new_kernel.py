"""``bitgate kernels new``: a repository of one's own by one command, green and with a defect that it finds."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from bitgate.cli.main import run
from bitgate.core.errors import UsageError
from bitgate.kernel import skeleton
from bitgate.kernel.build.device_module import parameters_in_ptx

NAME = "row_sums"
RUNS = tuple(kind for kind in skeleton.KINDS if kind != "module")
"""The kinds that run on the host."""


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("operation", ["", "gemm"])
def test_the_commands_that_it_prints_work_at_once(empty: Any, operation: str, kind: str) -> None:
    said = empty.bitgate("kernels", "new", NAME, f"--operation={operation}", f"--kind={kind}")
    assert said.code == 0, said.said
    smoke, faults = (line.partition("#")[0].strip() for line in said.out.partition("next\n")[2].splitlines())
    enter, _, smoke = smoke.partition(" && ")
    assert enter == f"cd {NAME}"
    (program, *words), (same_program, *other_words) = shlex.split(smoke), shlex.split(faults)
    assert {program, same_program} == {"bitgate"}

    ran = empty.bitgate(*words, below=NAME)
    assert ran.code == 0, ran.said
    verdicts = re.search(r"green: (\d+) verdicts", said.out)
    assert verdicts
    assert f"GREEN: {verdicts[1]} verdicts on host (smoke)" in ran.said

    tried = empty.bitgate(*other_words, "--json", below=NAME)
    if kind == "callable":  # nothing is compiled, so nothing is seeded
        (row,) = tried.document["kernels"]
        assert (tried.code, row["family"], row["suites"][NAME]) == (0, NAME, int(verdicts[1]))
        return
    (fault,) = tried.document["faults"]
    assert (tried.code, fault["killed"], fault["diagnosed"]) == (0, True, True), tried.said
    found = re.match(r"the last 1 of (\d+) (?:steps of c|terms of K) are missing", fault["sentence"])
    assert found, fault["sentence"]
    assert f"{'k' if operation else 'c'}{found[1]}_" in fault["by"]  # the case's own number of steps


@pytest.mark.parametrize("operation", ["", "gemm"])
def test_a_module_is_held_to_its_file(empty: Any, operation: str) -> None:
    said = empty.bitgate("kernels", "new", NAME, f"--operation={operation}", "--kind=module")
    assert said.code == 0, said.said
    (command,) = re.findall(r" && bitgate (.*?)\s+#", said.out)
    held = empty.bitgate(*shlex.split(command), below=NAME)
    assert held.code == 3, held.said
    assert f"runs on no host; what its launches pass fits {NAME}.ptx (sm_75, launches: 1)" in held.said

    declaration = empty.folder / NAME / "kernels" / NAME / "declaration.py"
    right = declaration.read_text()
    declaration.write_text(right.replace("n, k, *strides", "n, *strides").replace('"w", ', ""))
    assert (done := empty.bitgate(*shlex.split(command), below=NAME)).code == 1
    assert re.search(r"CRASHED .*\n.*\n  no GPU was needed to see: declaration\.py:\d+: \w+ takes \d arg", done.said)


@pytest.mark.needs("nvcc")
@pytest.mark.parametrize("operation", ["", "gemm"])
def test_the_module_is_what_nvcc_makes_of_its_source(tmp_path: Path, operation: str) -> None:
    made = skeleton.Skeleton(NAME, operation, "module")
    skeleton.make(made, tmp_path)
    folder = tmp_path / NAME / "kernels" / NAME
    kept = dict(parameters_in_ptx((folder / f"{NAME}.ptx").read_text()))
    subprocess.run(["nvcc", "-ptx", "-arch=compute_75", f"{NAME}.cu"], cwd=folder, check=True)
    assert dict(parameters_in_ptx((folder / f"{NAME}.ptx").read_text())) == kept != {}


def test_a_module_to_be_filled_in_is_begun_as_a_source() -> None:
    with pytest.raises(UsageError, match="--kind module: of fwd there is none to begin with: take --kind source"):
        skeleton.Skeleton(NAME, "fwd", "module")


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("operation", sorted({*skeleton.CASES} - {"gemm"}))
def test_what_is_to_be_filled_in_is_named(empty: Any, operation: str, kind: str) -> None:
    said = empty.bitgate("kernels", "new", NAME, f"--operation={operation}", f"--kind={kind}")
    assert (said.code, f"red: says what is to be filled in, in kernels/{NAME}" in said.out) == (0, True)
    ran = empty.bitgate("run", "--tier=smoke", "--target=host", below=NAME)
    source = skeleton.Skeleton(NAME, operation, cast(Any, kind)).source
    assert (ran.code, f"{NAME}: to_fill_in: write the kernel in {source}" in ran.said) == (1, True), ran.said


def test_a_stub_without_its_clause_computes_zeros(empty: Any) -> None:
    assert empty.bitgate("kernels", "new", NAME, "--operation=fwd", "--kind=source").code == 0
    declaration = empty.folder / NAME / "kernels" / NAME / "declaration.py"
    declaration.write_text(re.sub(r"return Refusal\(.*", "return None", declaration.read_text()))
    ran = empty.bitgate("run", "--tier=smoke", "--target=host", below=NAME)
    assert (ran.code, "54 of 54 cells of y are wrong, spread over the whole tensor; they are zero" in ran.said) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--operation", "gem"), "--operation gem: did you mean 'gemm'?; leave it out for your own"),
        (("--kind", "sources"), "--kind sources: did you mean 'source'?"),
    ],
)
def test_an_unknown_operation_or_kind_is_refused(
    tmp_path: Path, words: tuple[str, ...], said: str, capsys: Any
) -> None:
    assert run(["kernels", "new", NAME, *words]) == 2
    assert said in capsys.readouterr().err


def test_other_commands_serve_it_too(empty: Any) -> None:
    document = empty.bitgate("kernels", "new", NAME, "--json").document
    assert (document["folder"], len(document["files"])) == (NAME, len(skeleton.Skeleton(NAME).files))
    assert all((empty.folder / path).is_file() for path in document["files"])
    verdicts = skeleton.Skeleton(NAME).verdicts
    (row,) = empty.bitgate("kernels", "--target=host", "--json", below=NAME).document["kernels"]
    assert (row["family"], row["planned"], row["suites"]) == (NAME, verdicts, {NAME: verdicts})
    (part,) = empty.bitgate("coverage", "--json", below=NAME).document["passes"]
    assert part["pass"] == NAME


def test_every_template_is_written_and_none_keeps_a_placeholder(tmp_path: Path) -> None:
    templates = {entry.name.removesuffix(".template") for entry in (files(skeleton) / "files").iterdir()}
    every = [
        skeleton.Skeleton(f"a{number}", operation, kind)
        for number, (operation, kind) in enumerate(product(("", *skeleton.CASES), skeleton.KINDS))
        if kind != "module" or operation in ("", "gemm")  # of others there is none to begin with
    ]
    assert templates == {template for one in every for template in one.files.values()}
    for one in every:
        for path in skeleton.make(one, tmp_path):
            text = (tmp_path / path).read_text()
            assert not re.search(r"@[A-Z_]+@", f"{path}{text}")
            assert max(map(len, text.splitlines())) <= 120, path


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
        skeleton.make(skeleton.Skeleton(name), tmp_path)


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
        skeleton.make(skeleton.Skeleton(NAME), tmp_path)
    assert os.path.lexists(place)
    assert list(tmp_path.rglob("*")) == [place]


def test_an_unwritable_place_is_reported_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made: Not a directory: go to a folder that can be written"):
        skeleton.make(skeleton.Skeleton(NAME), tmp_path / "file")


def test_a_disk_that_is_full_midway_leaves_nothing(tmp_path: Path) -> None:
    """In a process whose files may have no byte."""
    import resource
    import signal

    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
        try:
            skeleton.make(skeleton.Skeleton(NAME), tmp_path)
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
