"""The parts of the local runner that read other people's languages: GitHub's expressions, and jobs in order."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths

LOCAL = paths.root() / ".ci" / "local"
NAMES = {
    "matrix": {"target": "gfx942", "minutes": 20, "container": {"image": "a:1.2.3"}},
    "needs": {"matrix": {"result": "success", "outputs": {"matrix": '{"include": [{"n": 1}]}'}}},
    "inputs": {"tier": "smoke"},
    "status": {"always": True, "success": False, "failure": True},
}


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(LOCAL))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${{ matrix.minutes }}", 20),
        ("${{ matrix.container }}", {"image": "a:1.2.3"}),
        ("${{ inputs.tier }} on ${{ matrix.target }}", "smoke on gfx942"),
        ("${{ fromJSON(needs.matrix.outputs.matrix) }}", {"include": [{"n": 1}]}),
        ("${{ always() && needs.matrix.result == 'success' }}", True),
        ("${{ success() || inputs.tier != 'smoke' }}", False),
        ("${{ !success() && (failure() || always()) }}", True),
        ("${{ inputs.nothing }}", ""),
        ({"a": ["${{ inputs.tier }}"]}, {"a": ["smoke"]}),
    ],
)
def test_an_expression_has_githubs_value(text: Any, value: Any) -> None:
    from expression import fill_in  # type: ignore[import-not-found]

    assert fill_in(text, NAMES) == value


@pytest.mark.parametrize("text", ["${{ hashFiles('x') }}", "${{ a b }}", "${{ a == }}", "${{ (a }}", "${{ a + 1 }}"])
def test_what_is_not_known_is_told(text: str) -> None:
    from expression import fill_in

    with pytest.raises(ValueError, match=r"."):
        fill_in(text, NAMES)


def test_jobs_come_behind_what_they_need() -> None:
    from machine import StepError, in_order  # type: ignore[import-not-found]

    assert in_order({"merge": ["run", "plan"], "run": ["plan"], "plan": []}) == ["plan", "run", "merge"]
    with pytest.raises(StepError, match="need each other"):
        in_order({"a": ["b"], "b": ["a"]})


def test_a_checkout_has_changed_and_added_files_but_no_ignored(tmp_path: Path) -> None:
    from machine import Machine

    repository = tmp_path / "repository"
    repository.mkdir()
    for name, text in ((".gitignore", "out\n"), ("kept", "1"), ("changed", "1"), ("gone", "1")):
        (repository / name).write_text(text)
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    (repository / "changed").write_text("2")
    (repository / "gone").unlink()
    (repository / "added").write_text("1")
    (repository / "out").mkdir()
    (repository / "out" / "old").touch()
    Machine(repository, tmp_path / "work").checkout(tmp_path / "copy")
    found = {path.name: path.read_text() for path in (tmp_path / "copy").iterdir() if path.is_file()}
    assert found == {".gitignore": "out\n", "kept": "1", "changed": "2", "added": "1"}
    assert not (tmp_path / "copy" / "out").exists()
