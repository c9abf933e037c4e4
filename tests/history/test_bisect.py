"""``bitgate bisect`` on real repositories, with a small kernel in whose past a bug lies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import paths
from bitgate.lab.history.step import ABORT, BAD, GOOD, SKIP, judged

CASE = "bwd_data_f32_nhwgc_g2n2k5c3_y1x1_h5x7"
KERNEL = "kernels/mine/pointwise.hip.cpp"
DROPS_ONE: tuple[str, str] = ("at_y.column < shape.k", "at_y.column < shape.k - 1")
DOES_NOT_BUILD = ("at_y.column < shape.k", "at_y.column <<< shape.k")
SUBJECTS = {
    2: "Words",
    3: "A loop that does not compile",
    4: "The loop compiles again",
    5: "The last channel is left out",
    6: "More words",
}


class Repository:
    """The owner's: a kernel that is right (0, 1, 2), does not build (3), is right (4), and drops a channel (5, 6)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commits: list[str] = []
        shutil.copytree(paths.root() / "examples" / "pointwise", folder / "kernels" / "mine")
        (folder / "bitgate.toml").write_text('[bitgate]\nload = ["kernels/mine"]\n')
        self.git("init", "-q", "-b", "main")
        right = (folder / KERNEL).read_text()
        sources = [right, right, right, right.replace(*DOES_NOT_BUILD), right, right.replace(*DROPS_ONE)]
        for number, source in enumerate([*sources, sources[-1]]):
            (folder / KERNEL).write_text(source)
            (folder / "words.txt").write_text(f"{number}\n")
            self.git("add", "-A")
            self.git("commit", "-q", "-m", SUBJECTS.get(number, f"Commit {number}"))
            self.commits.append(self.git("rev-parse", "HEAD").strip())

    def git(self, *arguments: str) -> str:
        who = {"GIT_AUTHOR_NAME": "An Owner", "GIT_AUTHOR_EMAIL": "me@here", "GIT_AUTHOR_DATE": "2026-03-01T12:00:00Z"}
        who |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in who.items()}
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, env=os.environ | who, capture_output=True, text=True, check=True).stdout

    @property
    def state(self) -> tuple[str, ...]:
        """All that a bisection could leave."""
        asked = (["worktree", "list"], ["for-each-ref"], ["status", "--porcelain"], ["branch", "-a"])
        return (*(self.git(*one) for one in asked), (self.folder / KERNEL).read_text())

    def start(self, *arguments: str, below: str = ".") -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(paths.__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        return subprocess.Popen(
            [sys.executable, "-m", "bitgate", "bisect", *arguments],
            cwd=self.folder / below,
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def bisect(self, *arguments: str, below: str = ".") -> tuple[int, str, str]:
        process = self.start(CASE, "--target=host", *arguments, below=below)
        out, err = process.communicate(timeout=600)
        return process.returncode, out, err


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("owners"))


def test_the_breaking_commit_is_found_and_no_worktree_left(tmp_path: Path) -> None:
    """On its way lies a commit that does not build; and the user works on another fix."""
    repository = Repository(tmp_path)
    kernel = repository.folder / KERNEL
    kernel.write_text(kernel.read_text().replace(DROPS_ONE[1], DROPS_ONE[0]))
    before = repository.state
    ends = (f"--good={repository.commits[1]}", f"--bad={repository.commits[5]}")
    code, out, err = repository.bisect(*ends, "--json", below="kernels")
    assert code == 1, out + err
    (commit,) = json.loads(out)["bisect"]["commits"]
    assert commit.pop("date").startswith("2026-03-01T12:00:00")
    assert commit == {"id": repository.commits[5], "subject": "The last channel is left out", "author": "An Owner"}
    assert "1 file with uncommitted changes: only committed ones are bisected" in err
    assert f"step bad  {repository.commits[5][:7]} The last channel is left out" in err
    assert f"step skip {repository.commits[3][:7]} A loop that does not compile" in err
    assert "the kernel does not build" in err
    assert "steps to go: about 2; commits among which it is: " in err
    assert repository.state == before


def test_what_is_found_is_told_for_people() -> None:
    from bitgate.cli.bisect import _lines
    from bitgate.lab.history.bisect import BisectResult, Commit

    one, other = (Commit(letter * 40, f"Subject {letter}", "An Owner", "2026-03-01") for letter in "ab")
    assert _lines(BisectResult((one,), "", "", 3)) == [
        f"first bad commit: {'a' * 40}",
        "  Subject a",
        "  An Owner, 2026-03-01",
    ]
    assert _lines(BisectResult((one, other), "", "", 3))[0] == "it is one of these; those between could not be tested:"


WRONG: dict[str, tuple[list[str], str]] = {
    "good is bad": (["--good=HEAD~1"], "--good HEAD~1: the case is bad there"),
    "bad is good": (["--good=HEAD~6", "--bad=HEAD~2"], "--bad HEAD~2: the case is good there"),
    "no such commit": (["--good=v9"], "--good v9: {folder} has no such commit"),
    "an option for a commit": (["--good=--all"], "has no such commit"),
    "the same": (["--good=HEAD"], "are one commit"),
    "the wrong way": (["--good=HEAD", "--bad=HEAD~3"], "is not an ancestor of"),
    "does not build": (["--good=HEAD~6", "--bad=HEAD~3"], "--bad HEAD~3: the case cannot be tested there: the kernel"),
    "no such kernel": (["--good=HEAD~6", "--kernel=nobodys*"], "--bad HEAD: the case cannot be tested there"),
}
CHEAP = set(WRONG) - {"does not build", "bad is good"}
"""Each of the others has to run the case again."""


@pytest.mark.parametrize(
    "wrong", [one if one in CHEAP else pytest.param(one, marks=pytest.mark.nightly) for one in WRONG]
)
def test_what_cannot_be_bisected_is_told_in_one_line(repository: Repository, wrong: str) -> None:
    arguments, said = WRONG[wrong]
    before = repository.state
    code, _, err = repository.bisect(*arguments)
    assert code == 2
    assert said.format(folder=repository.folder) in err.splitlines()[-1]
    assert "Traceback" not in err
    assert repository.state == before


def test_a_folder_in_no_repository(tmp_path: Path) -> None:
    plain = Repository(tmp_path)
    shutil.rmtree(tmp_path / ".git")
    code, _, err = plain.bisect("--good=HEAD~1")
    assert (code, "is in no git repository" in err) == (2, True)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_an_interrupt_leaves_neither_worktree_nor_bisection(repository: Repository, number: signal.Signals) -> None:
    before = repository.state
    process = repository.start(CASE, "--target=host", f"--good={repository.commits[0]}")
    deadline = time.monotonic() + 300
    while len(repository.git("worktree", "list").splitlines()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # in the midst of the first step
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert repository.state == before


def _verdict(outcome: str, **more: Any) -> dict[str, Any]:
    return {"verdict": outcome, "green": outcome == "PASS", "compared": outcome == "PASS", "reason": "", **more}


def test_a_repro_line_is_a_case_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    from bitgate.cli.bisect import _repro

    declaration = tmp_path / "kernels" / "mine" / "declaration.py"
    line = f"bitgate verify {CASE} --kernel mine.f32 --load {declaration} --fill exact --seed 3 --race --target host"
    words = _repro(line, tmp_path)
    assert words == line.replace(f"{tmp_path}/", "").split()[2:], "each commit has a declaration of its own"
    assert _repro(CASE, tmp_path) == [CASE]
    assert _repro("ckProfiler grouped_conv_fwd 1 'odd", tmp_path) == ["ckProfiler grouped_conv_fwd 1 'odd"]


STEPS = {
    "a pass": (0, [_verdict("PASS")], GOOD),
    "a mismatch": (1, [_verdict("PASS"), _verdict("MISMATCH")], BAD),
    "a refusal that nobody expected": (1, [_verdict("REFUSED")], BAD),
    "one instance does not build": (1, [_verdict("MISMATCH"), _verdict("BUILD_FAILED")], SKIP),
    "the machine failed": (1, [_verdict("INFRA")], SKIP),
    "no kernel does it": (3, [_verdict("NOT_RUN")], SKIP),
    "interrupted": (130, [_verdict("MISMATCH")], ABORT),
}


@pytest.mark.parametrize("step", STEPS)
def test_what_git_is_told_of_a_step(step: str) -> None:
    code, verdicts, told = STEPS[step]
    assert judged(code, verdicts)[0] == told
