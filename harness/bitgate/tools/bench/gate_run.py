"""``bitgate bench --gate``: this tree against another, as a ruling on a change."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitgate.core import git
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.tools.bench.arm import Arm
from bitgate.tools.bench.trees import commit_of, sources_of

if TYPE_CHECKING:
    from bitgate.results.record.timing import Timing
    from bitgate.tools.bench.gate import Gate
    from bitgate.tools.bench.settings import Significance

MAIN = ("origin/HEAD", "origin/main", "main", "origin/master", "master")

AGAIN = "bench.again.jsonl"
"""Rows of the second measurement."""


def sides(
    project: Project, base: str | None, kernel: str | None, options: dict[str, str], tell: Callable[[str], None]
) -> tuple[Arm, Arm]:
    """Side A is the base: a folder, a commit, or where this branch left another, the main one if none is named; B is
    this tree."""
    if base is not None and not base.strip():
        raise UsageError("--base is empty: name a commit or a folder, or leave it out")
    if base is not None and Path(base).is_dir():
        if project.root.resolve().is_relative_to(Path(base).resolve()):
            raise UsageError(f"--base {base}: is this very tree, which is no slower than itself: name another checkout")
        tree, build = Path(base), base
    else:
        build, words = _named(project, base) if base is not None else (_left_main_at(project), "")
        tree = sources_of(project, build)
        tell(f"base: {build[:12]}{words}")
    return Arm("A", kernel, options, tree, build), Arm("B", kernel, options)


def _named(project: Project, base: str) -> tuple[str, str]:
    """Return the commit, and how it was found.

    For a branch it is where this tree left it, since later commits there are no part of the change. A clone may know
    the branch as its origin's alone.
    """
    found = [name for name in (base, f"origin/{base}") if _knows(project, name)]
    commit, words = commit_of(project, (found or [base])[0], "--base"), ""
    full = git.ask(project.root, "rev-parse", "--symbolic-full-name", "--end-of-options", *found[:1]).stdout
    if re.search(r"^refs/(heads|remotes)/", full, re.MULTILINE):
        left = git.ask(project.root, "merge-base", "HEAD", commit)
        if left.returncode == 0 and left.stdout.strip() != commit:
            commit, words = left.stdout.strip(), f", where this tree left {found[0]}"
    if commit == commit_of(project, "HEAD", "--base") and not git.lines(project.root, "status", "--porcelain"):
        raise UsageError(f"--base {base}: is this very tree, which is no slower than itself: name another commit")
    return commit, words


def _knows(project: Project, name: str) -> bool:
    return git.ask(project.root, "rev-parse", "--verify", "--quiet", "--end-of-options", name).returncode == 0


def _left_main_at(project: Project) -> str:
    """Return where this tree left the main branch; for uncommitted changes on that branch itself, its last commit."""
    for name in MAIN:
        done = git.ask(project.root, "merge-base", "HEAD", name)
        if done.returncode == 0:
            break
    else:
        raise UsageError(f"{project.root}: no main branch is known there: name the base, --base COMMIT or --base DIR")
    commit = done.stdout.strip()
    changed = git.lines(project.root, "status", "--porcelain", "--untracked-files=no")
    if commit == commit_of(project, "HEAD", "--base") and not changed:
        raise UsageError(f"{project.root}: {name} has all of this tree: name the base, --base COMMIT or --base DIR")
    return commit


def ruled(
    rows: Sequence[Timing],
    significance: Significance,
    again: Callable[[Sequence[tuple[str, str]]], Sequence[Timing]],
    folder: Path,
    target: str,
) -> Gate:
    """Return the ruling and write it into ``bench.junit.xml``. ``again`` measures suspects anew, as in ``judge``."""
    from bitgate.tools.bench import gate_report
    from bitgate.tools.bench.gate import judge

    gate = judge(rows, significance, again)
    folder.mkdir(parents=True, exist_ok=True)
    gate_report.write_junit(gate, folder / gate_report.JUNIT, target)
    return gate


def print_ruling(gate: Gate, as_json: bool, markdown: Path | None) -> dict[str, Any]:
    """Print the ruling, as an annotation too where a forge reads them, and return it as JSON."""
    from bitgate.tools.bench import gate_report

    if not as_json:
        print(gate_report.text(gate))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            print(*gate_report.github_lines(gate), sep="\n")
    if markdown is not None:
        markdown.write_text(gate_report.markdown(gate))
    return gate.as_json()
