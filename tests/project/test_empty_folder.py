"""A folder without ``bitgate.toml``, and one whose file is all there is: what works does, and the rest says what to
write."""

from __future__ import annotations

from typing import Any

import pytest

from bitgate.cli.main import run

CASE = "bwd_data_f32_nhwgc_g1n1k2c2_y1x1_h3x3"


def test_a_case_runs_on_bitgates_kernels(empty: Any) -> None:
    done = empty.bitgate("verify", CASE, "--kernel=naive_conv*", "--target=host")
    assert done.code == 0, done.said


def test_bitgates_own_suites_are_said_to_be_bitgates(empty: Any) -> None:
    done = empty.bitgate("cases", "--tier=smoke", "--kernel=platform_probe", "--target=host", "--json")
    assert {case["suite"] for case in done.document["plan"]["cases"]} == {"platform"}
    assert done.err == "no bitgate.toml here or above: these are bitgate's own suites\n"


def test_there_is_no_table_to_look_at(empty: Any) -> None:
    done = empty.bitgate("coverage")
    assert done.code == 2
    assert "nothing to look at: name a table with --cases FILE" in done.err
    assert done.err.endswith("a repository with a bitgate.toml has its suites looked at\n")


def test_there_is_nothing_to_report_yet(empty: Any) -> None:
    done = empty.bitgate("report")
    assert done.code == 2
    assert done.err.endswith("out: no such file or folder; give a results.jsonl or a folder that holds some\n")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["run", "-n0"], "suites: holds no suites; a suite is a folder with a cases.toml and test modules"),
        (["cases"], "suites: holds no suites; a suite is"),
        (["coverage"], "suites: holds no suites; a suite is"),
        (["kernels"], "suites: holds no suites; a suite is"),
        (["faults", "run"], "suites: holds no suites; a suite is"),
        (["faults", "list"], "faults is missing, and {folder}/suites/faults holds none: name a file, or give --file"),
        (["ci", "matrix"], "targets is missing: write targets = 'ci/targets.toml', or give --targets"),
        (["ci", "plan", "--out=plan.json", "--target=host"], "suites: holds no suites; a suite is"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_missing_is_one_line(
    empty: Any,
    command: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    empty.write("bitgate.toml", "[bitgate]\n")
    (empty.folder / "suites").mkdir()
    monkeypatch.chdir(empty.folder)
    assert run(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message.replace("{folder}", str(empty.folder)) in line


def test_above_kernels_that_no_file_names_nothing_runs(empty: Any, monkeypatch: Any, capsys: Any) -> None:
    empty.write("kernels/mine/declaration.py", "")
    monkeypatch.chdir(empty.folder)
    assert run(["run", "-n0", "--target=host"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "kernels/mine/declaration.py is a kernel of yours, and no bitgate.toml here or above names it" in line
    done = empty.bitgate("run", "-n0", "--target=host", "--bitgate-suites", "-k", "no_such_case")
    assert (done.code, "these are bitgate's own suites" in done.err) == (3, True), done.said
