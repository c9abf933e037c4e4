"""Sources of other commits, and a project as it is in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.project_file import read
from bitgate.kernel.registry import families
from bitgate.tools.bench.trees import commit_of, sources_of, tree_of


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Below the top of its repository; two commits of one kernel."""
    monkeypatch.setenv("BITGATE_CACHE", str(tmp_path / "cache"))
    top = tmp_path / "repository"
    folder = top / "lab"
    (folder / "kernel").mkdir(parents=True)
    (folder / "bitgate.toml").write_text('[bitgate]\nload = ["kernel"]\n')
    git(top, "init", "--quiet")
    for words in ("first", "second"):
        (folder / "kernel" / "declaration.py").write_text(f"# {words}\n")
        git(top, "add", "--all")
        git(top, "-c", "user.name=o", "-c", "user.email=o@example.org", "commit", "--quiet", "-m", words)
    return read(folder / "bitgate.toml")


def test_the_files_of_a_commit_are_unpacked_once(project: Project) -> None:
    commit = commit_of(project, "HEAD~1", "--compare-commit")
    folder = sources_of(project, commit)
    assert (folder / "lab" / "kernel" / "declaration.py").read_text() == "# first\n"
    (folder / "kept").touch()
    assert (sources_of(project, commit) / "kept").exists()
    assert [path.name for path in folder.parent.iterdir()] == [commit]
    assert git(project.root, "status", "--porcelain") == ""
    assert (project.root / "kernel" / "declaration.py").read_text() == "# second\n"


def test_an_owners_project_lies_as_deep_in_its_repository_there(project: Project) -> None:
    added = project.root / "more" / "declaration.py"
    elsewhere = Path("/elsewhere/declaration.py")
    folder = sources_of(project, commit_of(project, "HEAD~1", "--base"))
    tree = tree_of(project.loading([added, elsewhere]), folder)
    assert tree.project.load == (folder / "lab" / "kernel" / "declaration.py",)
    assert tree.project.added == (folder / "lab" / "more" / "declaration.py", elsewhere)
    assert (tree.declarations, tree.environment) == (None, None)


def test_our_own_kernels_come_from_another_checkout(tmp_path: Path) -> None:
    (tmp_path / "kernels" / "include" / "bitgate").mkdir(parents=True)
    (tmp_path / "kernels" / "include" / "bitgate" / "abi.h").touch()
    (tmp_path / "kernels" / "naive_conv").symlink_to(paths.root() / "kernels" / "naive_conv")
    tree = tree_of(ours(), tmp_path)
    assert tree.project.root == tmp_path
    assert tree.environment is not None
    assert tree.environment["BITGATE_DATA_ROOT"] == str(tmp_path)
    assert tree.declarations == (tmp_path / "kernels" / "naive_conv" / "declaration.py",)
    assert list(families(own=())) == []


def test_what_is_no_such_tree(project: Project, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        tree_of(project, tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"holds no bitgate\.toml: name a checkout of the same project"):
        tree_of(project, tmp_path)
    with pytest.raises(UsageError, match=r"holds no kernels/include/bitgate/abi\.h"):
        tree_of(ours(), tmp_path)
    with pytest.raises(UsageError, match=r"--base nosuch: .* knows no such commit"):
        commit_of(project, "nosuch", "--base")


def test_a_data_root_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITGATE_DATA_ROOT", str(tmp_path))
    with pytest.raises(UsageError, match=r"BITGATE_DATA_ROOT=.*holds no kernels/include/bitgate/abi\.h; unset it"):
        paths.root.__wrapped__()
