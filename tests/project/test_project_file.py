"""What ``bitgate.toml`` may say, and the one line that each mistake in it gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.project_file import KEYS, find, read


def write(folder: Path, text: str = "") -> Path:
    """A repository in which these exist: ``suites/a``, ``k/declaration.py``, ``ci/targets.toml``, and some files."""
    files = ("suites/a/cases.toml", "suites/faults/f.toml", "k/declaration.py", "ci/targets.toml", "op.py", "bugs.toml")
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / "bitgate.toml").write_text(f"[bitgate]\n{text}")
    return folder / "bitgate.toml"


def test_all_that_it_may_say(tmp_path: Path) -> None:
    project = read(
        write(
            tmp_path,
            'suites = ["suites"]\nload = ["k"]\ntargets = "ci/targets.toml"\ntiers = ["regression"]\n'
            'faults = ["suites/faults"]\nknown_bugs = ["bugs.toml"]\noperations = ["op.py"]\nrules = ["op.py"]\n',
        )
    )
    assert project == Project(
        root=tmp_path,
        suites=(tmp_path / "suites",),
        load=(tmp_path / "k" / "declaration.py",),
        targets=tmp_path / "ci" / "targets.toml",
        tiers=("regression",),
        faults=(tmp_path / "suites" / "faults" / "f.toml",),
        known_bugs=(tmp_path / "bugs.toml",),
        operations=(tmp_path / "op.py",),
        rules=(tmp_path / "op.py",),
        file=tmp_path / "bitgate.toml",
    )
    assert Project.from_json(project.as_json()) == project


def test_the_documentation_shows_each_key() -> None:
    text = (ours().root / "docs" / "project.md").read_text()
    shown = re.findall(r"^(\w+) = ", text.split("```")[1], re.MULTILINE)
    assert sorted(shown) == sorted(KEYS)
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == shown


def test_what_has_a_usual_place_need_not_be_said(tmp_path: Path) -> None:
    project = read(write(tmp_path))
    assert project.suites == (tmp_path / "suites",)
    assert project.faults == (tmp_path / "suites" / "faults" / "f.toml",)
    assert project.targets == tmp_path / "ci" / "targets.toml"
    assert project.tiers == ("smoke", "regression")


def test_without_suites_of_its_own_it_is_served_bitgates(tmp_path: Path) -> None:
    (tmp_path / "bitgate.toml").write_text("")
    project = read(tmp_path / "bitgate.toml")
    assert (project.suites, project.faults, project.targets) == (ours().suites, (), None)
    with pytest.raises(UsageError, match=r"bitgate\.toml: targets is missing: write targets = 'ci/targets\.toml'"):
        _ = project.ci_targets


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('suits = ["suites"]', "suits: no such field; did you mean 'suites'?"),
        ("xyz = 1", "xyz: no such field; known are suites, load, targets"),
        ('[more]\nload = ["k"]', "'more' is unknown: all keys stand below [bitgate]"),
        ("suites = [", "not TOML: "),
        ('suites = "suites"', "suites: 'suites' is not a list of texts such as [\"...\"]"),
        ("suites = []", "suites: [] is not a list of texts"),
        ("load = [7]", "load: [7] is not a list of texts"),
        ('suites = ["nowhere"]', "nowhere does not exist; paths are relative to the file"),
        ('suites = ["op.py"]', "suites: {folder}/op.py is no folder"),
        ('suites = ["suites", "suites"]', "suites: 'suites' appears twice"),
        ('load = ["ci"]', "load: {folder}/ci/declaration.py does not exist: name a declaration, or the folder of its"),
        ('load = ["x/declaration.py"]', "load: {folder}/x/declaration.py does not exist"),
        ('load = ["\\u0000"]', "load: '\\x00' is no path: embedded null byte"),
        ('targets = ["ci/targets.toml"]', "targets: ['ci/targets.toml'] is not a text such as \"...\""),
        ('targets = "targets.toml"', "targets: {folder}/targets.toml does not exist"),
        ('targets = "ci"', "targets: {folder}/ci is no file"),
        ('tiers = ["smok"]', "tiers: 'smok' is not one of smoke, regression; did you mean 'smoke'?"),
        ('faults = ["ci/more.toml"]', "faults: {folder}/ci/more.toml does not exist"),
        ('faults = ["k"]', "faults: {folder}/k holds no .toml file"),
        ('known_bugs = ["k"]', "known_bugs: {folder}/k is no file"),
        ('operations = ["mine.py"]', "operations: {folder}/mine.py does not exist"),
        ('rules = ["k"]', "rules: {folder}/k is no file"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(write(tmp_path, text))
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/bitgate.toml: ")
    assert message.replace("{folder}", str(tmp_path)) in said
    assert "\n" not in said


def test_all_keys_stand_below_one_table(tmp_path: Path) -> None:
    (tmp_path / "bitgate.toml").write_text("bitgate = 7")
    with pytest.raises(UsageError, match=r"'bitgate' is a table: write \[bitgate\] above the keys"):
        read(tmp_path / "bitgate.toml")


def test_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path, 'suites = ["suites", "more"]')
    (tmp_path / "more" / "a").mkdir(parents=True)
    (tmp_path / "more" / "a" / "cases.toml").touch()
    with pytest.raises(UsageError, match=r"more/a: .*suites/a is a suite of that name already; rename one"):
        read(file).tables()


def test_it_is_found_from_suites_then_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = write(tmp_path / "mine").parent, write(tmp_path / "theirs").parent
    monkeypatch.chdir(mine / "suites" / "a")
    assert find().root == mine
    assert find(theirs / "suites" / "a" / "cases.toml").root == theirs
    assert find(ours().suites[0]).root == mine, "bitgate's own suites, for the kernels of this folder"
    monkeypatch.chdir(tmp_path)
    assert find() is ours()
    assert find(None, mine).root == mine


def test_bitgates_own_checkout_is_of_no_project_around_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bitgate.core import project_file

    write(tmp_path)
    home = Project(tmp_path / "third_party" / "bitgate", (tmp_path / "third_party" / "bitgate" / "suites",))
    home.suites[0].mkdir(parents=True)
    monkeypatch.setattr(project_file, "ours", lambda: home)
    monkeypatch.chdir(home.suites[0])
    assert find() is home
    write(home.root / "examples" / "owner")
    monkeypatch.chdir(home.root / "examples" / "owner")
    assert find().root == home.root / "examples" / "owner", "a repository within the checkout is one"


def test_what_a_command_loads_goes_before_what_the_file_does(tmp_path: Path) -> None:
    project = read(write(tmp_path, 'load = ["k"]')).loading([tmp_path / "other.py"])
    assert project.declarations == (tmp_path / "k" / "declaration.py", tmp_path / "other.py")
    assert project.runs_on == (tmp_path / "other.py",)


def test_a_tier_that_the_repository_does_not_have(tmp_path: Path) -> None:
    project = read(write(tmp_path, 'tiers = ["smoke"]'))
    project.check_tier("smoke")
    with pytest.raises(UsageError, match=r"--tier regression: .*bitgate\.toml has smoke only"):
        project.check_tier("regression")
    with pytest.raises(UsageError, match="--tier smoky: did you mean 'smoke'"):
        project.check_tier("smoky")
