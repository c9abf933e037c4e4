"""An owner's repository, under git: what a change of theirs selects, and that it runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PACKED = "bwd_data_f32_nhwgc_g2n2k5c3_y1x1_h5x7_s1x1_d1x1_p0x0_q0x0"
GROUPS = "bwd_data_f32_gnhwc_g2n2k5c3_y1x1_h5x7_s1x1_d1x1_p0x0_q0x0"


@pytest.fixture(scope="module")
def committed(served: Any) -> Any:
    """One that tests copy."""
    git(served, "init", "-q", "-b", "main")
    git(served, "config", "user.email", "me@here")
    git(served, "config", "user.name", "me")
    served.write(".gitignore", "out/\n")
    served.write("README.md", "Ours.\n")
    git(served, "add", "-A")
    git(served, "commit", "-q", "-m", "all")
    return served


@pytest.fixture
def owner(committed: Any, tmp_path: Path) -> Any:
    shutil.copytree(committed.folder, tmp_path, dirs_exist_ok=True)
    return type(committed)(tmp_path)


def git(owner: Any, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(owner.folder), *arguments], check=True, capture_output=True)


def edit(owner: Any, name: str, find: str, replace: str) -> None:
    path = owner.folder / name
    assert find in path.read_text()
    path.write_text(path.read_text().replace(find, replace, 1))


def selected(owner: Any, *arguments: str) -> set[str]:
    """Cases of the smoke tier, which has two."""
    done = owner.bitgate("ci", "select", "--target=host", "--out=ids", *arguments)
    assert done.code == 0, done.said
    return {line.partition("__")[0] for line in (owner.folder / "ids").read_text().splitlines()}


def test_a_kernels_source_selects_its_cases_and_they_run(owner: Any) -> None:
    edit(owner, "kernels/mine/pointwise.hip.cpp", "at_y.column < shape.k", "at_y.column < shape.k - 1")
    git(owner, "commit", "-qam", "a bug")
    assert selected(owner, "--base=HEAD~1") == {PACKED, GROUPS}
    done = owner.bitgate("run", "--target=host", "--select=ids", "-n0")
    assert done.code == 1
    assert "2 asked" in done.said


def test_a_row_selects_its_cases_alone(owner: Any) -> None:
    owner.write(
        "suites/mine/cases.toml",
        (owner.folder / "suites/mine/cases.toml").read_text()
        + '\n[[case]]\nwhy = "new"\ncase = "bwd_data_f32_nwgc_g1n1k2c2_y1_h4"\ntier = "smoke"\n',
    )
    assert selected(owner, "--base=HEAD", "--uncommitted") == {"bwd_data_f32_nwgc_g1n1k2c2_y1_h4_s1_d1_p0_q0"}
    done = owner.bitgate("run", "--target=host", "--select=ids", "-n0")
    assert done.code == 0, done.said
    assert "1 asked, 1 compared" in done.said


def test_documents_select_nothing_and_an_empty_run_is_not_green(owner: Any) -> None:
    edit(owner, "README.md", "Ours", "Mine")
    done = owner.bitgate("ci", "select", "--target=host", "--base=HEAD", "--uncommitted", "--out=ids")
    assert done.code == 0
    assert "0 of 2 cases of smoke (0.0%), by 1 file\n" in done.out
    assert "nothing to run: documents only" in done.out
    assert (owner.folder / "ids").read_bytes() == b""
    done = owner.bitgate("run", "--target=host", "--select=ids", "-n0")
    assert done.code == 3
    assert "nothing was compared" in done.said


def test_files_that_are_only_named(owner: Any) -> None:
    """One run for all of them: each is reported with what it selects alone."""
    names = {
        "kernels/mine/declaration.py": 2,
        "kernels/mine/tables.json": 2,
        "suites/mine/test_mine.py": 2,
        "suites/conftest.py": 2,
        "suites/mine/cases.toml": 2,
        "bitgate.toml": 2,
        "Makefile": 2,
        "suites/faults/mine.toml": 0,
        "notes.md": 0,
    }
    owner.write("names", "\n".join(names))
    owner.write("suites/conftest.py", "")
    done = owner.bitgate("ci", "select", "--target=host", "--changed=names", "--json")
    (target,) = done.document["select"]["targets"]
    assert {one["file"]: one["cases"] for one in target["files"]} == names


@pytest.mark.nightly
def test_why_is_told_of_each_file_and_of_a_case(owner: Any) -> None:
    edit(owner, "kernels/mine/pointwise.hip.cpp", "at_y.column < shape.k", "at_y.column < shape.k - 1")
    edit(owner, "README.md", "Ours", "Mine")
    done = owner.bitgate("ci", "select", "--target=host", "--base=HEAD", "--uncommitted", "--explain")
    assert "README.md\n    0 cases: nothing\n    no run of a tier reads it" in done.out
    assert "kernels/mine/pointwise.hip.cpp\n    2 cases: kernels of " in done.out
    assert "\n    kernels are compiled from it\n" in done.out

    ids = owner.bitgate("ci", "select", "--target=host", "--base=HEAD", "--uncommitted", "--out=ids", "--json")
    (target,) = ids.document["select"]["targets"]
    assert (target["selected"], target["planned"], len(target["files"])) == (2, 2, 2)
    case = (owner.folder / "ids").read_text().split()[0]
    done = owner.bitgate("ci", "select", "--target=host", f"--explain-case={case}", "--json")
    files = {one["file"]: one["why"] for one in done.document["select"]["files"]}
    assert files["suites/mine/cases.toml"] == "rows that are new or changed"
    assert files["bitgate.toml"] == "nothing is known of such a file"
    assert "README.md" not in files


def test_kernels_that_a_table_loads_are_the_projects_too(owner: Any) -> None:
    owner.write("bitgate.toml", "[bitgate]\n")
    table = (owner.folder / "suites/mine/cases.toml").read_text()
    owner.write("suites/mine/cases.toml", f'load = ["../../kernels/mine"]\n{table}')
    assert selected(owner, "kernels/mine/pointwise.hip.cpp") == {PACKED, GROUPS}


def test_several_targets_have_a_file_each(owner: Any) -> None:
    done = owner.bitgate("ci", "select", "bitgate.toml", "--target=host", "--target=gfx942", "--out=ids")
    assert done.code == 0, done.said
    assert sorted(path.name for path in (owner.folder / "ids").iterdir()) == ["gfx942.txt", "host.txt"]


@pytest.mark.nightly
def test_a_selection_is_split_by_shard_and_picks_from_a_plan(owner: Any) -> None:
    assert len(selected(owner, "bitgate.toml")) == 2
    done = owner.bitgate("run", "--target=host", "--select=ids", "--shard=2/2", "-n0")
    assert "1 asked, 1 compared" in done.said
    assert owner.bitgate("ci", "plan", "--target=host", "--out=plan.json").code == 0
    owner.write("ids", (owner.folder / "ids").read_text().splitlines()[0])
    done = owner.bitgate("run", "--target=host", "--select=ids", "--plan=plan.json", "-n0")
    assert "1 asked, 1 compared" in done.said


@pytest.mark.nightly
def test_a_selection_is_planned_and_merged(owner: Any) -> None:
    """Of two targets, with a case each."""
    assert owner.bitgate("ci", "select", "bitgate.toml", "--target=host", "--target=gfx942", "--out=ids").code == 0
    for name in ("host", "gfx942"):
        ids = owner.folder / "ids" / f"{name}.txt"
        owner.write(f"ids/{name}.txt", ids.read_text().splitlines()[0])
    targets = ("--target=host", "--target=gfx942")
    done = owner.bitgate("ci", "plan", *targets, "--select=ids", "--out=plan.json", "--json")
    assert [(part["target"], part["cases"]) for part in done.document["plan"]["shards"]] == [("host", 1), ("gfx942", 1)]
    owner.write("ids/gfx942.txt", "")
    assert owner.bitgate("ci", "plan", *targets, "--select=ids", "--out=plan.json").code == 0
    assert owner.bitgate("run", "--target=host", "--plan=plan.json", "-n0").code == 0
    done = owner.bitgate("ci", "merge", "out/host", "--plan=plan.json", "--out=merged")
    assert done.code == 0, done.said
    owner.write("ids/host.txt", "")
    done = owner.bitgate("ci", "plan", *targets, "--select=ids", "--out=plan.json")
    assert (done.code, "selects nothing: there is no run to plan" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what changed: --base REV, or names of files"),
        (("--base=HEAD", "README.md"), "give --base, or the names of files, not both"),
        (("--uncommitted", "README.md"), "--uncommitted: say since when: --base HEAD"),
        (("--base=nowhere",), "--base nowhere: git knows no such commit here"),
        (("--changed=nothing",), "--changed nothing: "),
        (("--explain-case=nothing",), "no case of the plan is called 'nothing'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_is_said_in_one_line(owner: Any, arguments: tuple[str, ...], said: str) -> None:
    done = owner.bitgate("ci", "select", "--target=host", *arguments)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
