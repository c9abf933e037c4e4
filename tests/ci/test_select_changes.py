"""Changes as git reports them, in real repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.lab.ci.select_changes import FileChange, named, since


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "me@here")
        self.git("config", "user.name", "me")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.folder), *arguments], check=True, capture_output=True)

    def commit(self, **files: str | None) -> None:
        for name, text in files.items():
            if text is None:
                (self.folder / name).unlink()
            else:
                (self.folder / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "next")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path)
    found.commit(kept="1", edited="old", deleted="gone", renamed="a text that is long enough to be known again")
    return found


def told(changes: tuple[FileChange, ...]) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {change.path.name: (change.before, change.now) for change in changes}


def test_each_file_that_differs_is_told_with_what_it_was(repository: Repository) -> None:
    repository.git("tag", "base")
    repository.git("mv", "renamed", "new_name")
    repository.commit(edited="new", deleted=None, added="now")
    text = b"a text that is long enough to be known again"
    assert told(since("base", repository.folder)) == {
        "edited": (b"old", b"new"),
        "deleted": (b"gone", None),
        "added": (None, b"now"),
        "renamed": (text, None),
        "new_name": (None, text),
    }


def test_what_the_base_did_meanwhile_is_not_the_changes_doing(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "feature")
    repository.commit(edited="mine")
    repository.git("checkout", "-q", "main")
    repository.commit(kept="theirs")
    repository.git("checkout", "-q", "feature")
    assert told(since("main", repository.folder)) == {"edited": (b"old", b"mine")}


def test_without_a_shared_ancestor_the_base_is_compared_with(repository: Repository) -> None:
    repository.git("checkout", "-q", "--orphan", "elsewhere")
    repository.commit(edited="other")
    assert told(since("main", repository.folder)) == {"edited": (b"old", b"other")}


def test_what_is_not_committed_counts_if_asked(repository: Repository) -> None:
    (repository.folder / "edited").write_text("draft")
    (repository.folder / "unknown").write_text("new")
    (repository.folder / ".gitignore").write_text("ignored\n")
    (repository.folder / "ignored").write_text("build output")
    assert since("HEAD", repository.folder) == ()
    names = told(since("HEAD", repository.folder, uncommitted=True))
    assert names == {
        "edited": (b"old", b"draft"),
        "unknown": (None, b"new"),
        ".gitignore": (None, b"ignored\n"),
    }


def test_a_project_in_a_subfolder_sees_all_changes_of_the_repo(repository: Repository) -> None:
    (repository.folder / "inner").mkdir()
    repository.git("tag", "base")
    repository.commit(edited="new", **{"inner/mine": "1"})
    paths = {change.path for change in since("base", repository.folder / "inner")}
    assert paths == {repository.folder / "edited", repository.folder / "inner" / "mine"}


def test_odd_names_are_told_as_they_are(repository: Repository) -> None:
    repository.git("tag", "base")
    repository.commit(**{"a b": "1", 'quote"d': "2", "grün": "3", "line\nbreak": "4"})
    assert set(told(since("base", repository.folder))) == {"a b", 'quote"d', "grün", "line\nbreak"}


@pytest.mark.parametrize("base", ["no/such", "--output=x", "deadbeef"])
def test_a_commit_that_git_does_not_know_is_said_in_one_line(repository: Repository, base: str) -> None:
    with pytest.raises(UsageError, match="git knows no such commit here; fetch it first"):
        since(base, repository.folder)
    assert not (repository.folder / "x").exists()


def test_outside_of_a_repository_git_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match=r"not a git repository.*give the changed files by name"):
        since("HEAD", tmp_path)


def test_files_that_are_only_named_have_no_former_content(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "a").write_text("1")
    (one,) = named([tmp_path / "a", tmp_path / "link" / "a"])
    assert (one.path, one.before, one.now) == (tmp_path / "a", None, b"1")
