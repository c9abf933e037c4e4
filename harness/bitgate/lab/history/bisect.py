"""The first bad commit of a case: ``git bisect run`` in a temporary worktree, which is removed afterwards.

A worktree has its refs and its state of a bisection to itself, so the user's tree, index and branches are not touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bitgate.core import git
from bitgate.core.errors import UsageError
from bitgate.lab.history import step

GRACE_SECONDS = 20
"""Seconds for an interrupted step to end: it ends its children first."""

_STEP = (sys.executable, "-m", step.__name__)


@dataclass(frozen=True)
class Commit:
    """A commit; ``date`` is the author's."""

    id: str
    subject: str
    author: str
    date: str


@dataclass(frozen=True)
class BisectResult:
    """The result of a bisection.

    ``candidates`` is one commit, the first bad one; several, if those between could not be tested.
    """

    candidates: tuple[Commit, ...]
    good: str
    bad: str
    steps: int


Report = Callable[[str], None]


def bisect(folder: Path, words: Sequence[str], good: str, bad: str, report: Report) -> BisectResult:
    """Find the first bad commit of a case.

    ``words`` are the arguments of `bitgate verify`; ``folder`` is where it runs, in the user's checkout. Raises
    UsageError if a commit does not exist, the good one is bad, the bad one is good, or either cannot be tested.
    """
    top = _top(folder)
    first, last = _commit(top, "--good", good), _commit(top, "--bad", bad)
    if first == last:
        raise UsageError(f"--good {good} and --bad {bad} are one commit")
    if git.ask(top, "merge-base", "--is-ancestor", first, last).returncode:
        raise UsageError(f"--good {good} is not an ancestor of --bad {bad}: bisection goes from the one to the other")
    changed = [line for line in git.lines(top, "status", "--porcelain", "--untracked-files=no") if line.strip()]
    if changed:
        files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
        report(f"{files} with uncommitted changes: only committed ones are bisected")
    with _worktree(top, last) as tree:
        place = tree / folder.resolve().relative_to(top)
        request = step.StepRequest(words=tuple(words), place=str(place), tree=str(tree))
        _check_end(tree, request, last, bad, step.BAD, report)
        _check_end(tree, request, first, good, step.GOOD, report)
        return _run(tree, request, first, last, report)


def _top(folder: Path) -> Path:
    done = git.ask(folder, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise UsageError(f"{folder} is in no git repository: there are no commits to bisect")
    return Path(done.stdout.strip()).resolve()


def _commit(top: Path, option: str, name: str) -> str:
    done = git.ask(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if done.returncode:
        raise UsageError(f"{option} {name:.100}: {top} has no such commit")
    return done.stdout.strip()


@contextmanager
def _worktree(top: Path, commit: str) -> Iterator[Path]:
    """Create a worktree; it is removed at the end, whatever happens, with the bisection in it."""
    folder = Path(tempfile.mkdtemp(prefix="bitgate-bisect-")).resolve()
    tree = folder / "tree"
    try:
        git.lines(top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        yield tree
    finally:
        git.ask(top, "worktree", "remove", "--force", "--force", str(tree))
        shutil.rmtree(folder, ignore_errors=True)
        git.ask(top, "worktree", "prune")


def _check_end(tree: Path, request: step.StepRequest, commit: str, name: str, expected: int, report: Report) -> None:
    """Check an end of the range, which git does not: a good end that is bad would mislead it."""
    git.lines(tree, "checkout", "--quiet", "--detach", commit)
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        report(line)

    code = _watched(_STEP, tree, request, keep)
    option, is_good = ("--bad", "good") if expected == step.BAD else ("--good", "bad")
    if code == expected:
        return
    if code in (step.GOOD, step.BAD):
        raise UsageError(f"{option} {name}: the case is {is_good} there: give another commit")
    why = lines[-1].partition(": ")[2] if lines else "its step ended without a message"
    raise UsageError(f"{option} {name}: the case cannot be tested there: {why}")


def _run(tree: Path, request: step.StepRequest, good: str, bad: str, report: Report) -> BisectResult:
    steps = 0
    candidates: list[str] = []

    def read(line: str) -> None:
        nonlocal steps
        if line.startswith(step.MARK):
            steps += 1
            report(line)
        elif left := re.match(r"Bisecting: (\d+) revisions? left to test after this \(roughly (\d+) steps?\)", line):
            report(f"steps to go: about {int(left[2]) + 1}; commits among which it is: {int(left[1]) + 1}")
        elif found := re.match(r"([0-9a-f]{40,64}) is the first bad commit", line):
            candidates[:] = [found[1]]
        elif re.fullmatch(r"[0-9a-f]{40,64}", line):
            candidates.append(line)

    for line in git.lines(tree, "bisect", "start", bad, good):
        read(line)
    _watched([*git.COMMAND, "-C", str(tree), "bisect", "run", *_STEP], tree, request, read)
    if not candidates:
        raise UsageError("git bisect run ended without a commit; run the repro line at some of them by hand")
    return BisectResult(tuple(_commit_info(tree, one) for one in candidates), good, bad, steps)


def _commit_info(tree: Path, commit: str) -> Commit:
    (line,) = git.lines(tree, "show", "--no-patch", "--format=%H%x00%s%x00%an%x00%aI", commit)
    return Commit(*line.split("\0"))


def _watched(command: Sequence[str], tree: Path, request: step.StepRequest, read: Report) -> int:
    """Run a command and read each line as it comes; Ctrl-C ends the command and all its children first."""
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=_environment(request),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            read(line.rstrip("\n"))
        return process.wait()
    except BaseException:
        _end(process)
        raise


def _end(process: subprocess.Popen[str]) -> None:
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(GRACE_SECONDS)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _environment(request: step.StepRequest) -> Mapping[str, str]:
    """Return the environment of a step.

    A step is this very bitgate; what it runs is the checkout's, if the checkout is of bitgate itself.
    """
    here = str(Path(step.__file__).resolve().parents[3])
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    return git.environment() | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1", step.VARIABLE: json.dumps(vars(request))}
