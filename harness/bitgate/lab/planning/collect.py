"""Collection by pytest, for commands that plan or ask for verdicts without running its tests."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.project import Project, ours
from bitgate.core.project_file import FILE

if TYPE_CHECKING:
    from bitgate.kernel.declaration import KernelFamily
    from bitgate.suite.pytest.run import TestRun
    from bitgate.verify.process import CaseRequest, Opening


PLUGIN = "bitgate.pytest_plugin"
QUIET = ("--import-mode=importlib", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
"""An installed bitgate may be in a read-only folder, and it is imported before pytest could rewrite it."""


def print_whose_suites(project: Project) -> None:
    """Print one line on stderr if bitgate's suites serve a folder that is not bitgate's."""
    home = ours()
    if project.suites == home.suites and project.file is None and not Path.cwd().is_relative_to(home.root):
        print(f"no {FILE} here or above: these are bitgate's own suites", file=sys.stderr, flush=True)


DECLARATION = "declaration.py"
DEPTH = 3
"""Levels below the current folder in which kernels of a user's are looked for."""


def check_meant(project: Project) -> None:
    """Raise UsageError where the suites of bitgate would run above kernels of a user that no file names."""
    here = Path.cwd()
    if project.file is not None or here.is_relative_to(ours().root) or paths.checkout_around(here) is not None:
        return
    patterns = ("*/" * depth + DECLARATION for depth in range(DEPTH + 1))
    if (kernel := next((found for one in patterns for found in sorted(here.glob(one))), None)) is not None:
        name = kernel.relative_to(here)
        raise UsageError(
            f"{name} is a kernel of yours, and no {FILE} here or above names it: write one with [bitgate] and"
            f' load = ["{name.parent}"], or give --load {name}; --bitgate-suites runs the suites of bitgate without it'
        )


def suites_and_root(project: Project) -> list[str]:
    """Return pytest's arguments for all suites of a project; test ids are relative to its root or to bitgate's."""
    suites = project.suites
    roots = (root for root in (project.root, ours().root) if all(folder.is_relative_to(root) for folder in suites))
    return [*map(str, suites), *(f"--rootdir={root}" for root in islice(roots, 1))]


class Keeper:
    """Plugin that keeps the run, for its summary."""

    run: TestRun | None = None

    def pytest_sessionstart(self, session: object) -> None:
        from bitgate.suite.pytest.run import RUN

        self.run = session.config.stash.get(RUN, None)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class CollectedCases:
    """Tests of a run by family, in the order of the run, and what their kernel process is opened with."""

    questions: dict[str, list[CaseRequest]]
    opening: Opening

    def built_families(self) -> dict[str, KernelFamily]:
        """Return the families that are built of sources."""
        every = {name: questions[0].planned.kernel.family for name, questions in self.questions.items()}
        return {name: family for name, family in every.items() if family.is_built and family.library is None}


class _ItemKeeper(Keeper):
    """Plugin that keeps the tests, too."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.is_interrupted = False

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.is_interrupted = issubclass(excinfo.type, KeyboardInterrupt)

    def pytest_collection_finish(self, session: Any) -> None:
        self.items = list(session.items)


def collect_cases(tier: str, target: str, project: Project, kernel: str, select: str) -> CollectedCases:
    """Collect the cases of a tier. UsageError for what a run of it would refuse.

    Cases that no kernel takes, and those that are watched for races, which need another library, are left out.
    """
    import pytest

    from bitgate.suite.pytest.collecting import planned_test
    from bitgate.verify.process import BITS, CaseRequest

    stated = {"--tier": [tier], "--target": [target], "--kernel": [kernel], "--select": [select]}
    stated["--load"] = list(map(str, project.added))
    arguments = [f"{name}={value}" for name, values in stated.items() for value in values if value]
    keeper, said = _ItemKeeper(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        where = suites_and_root(project)
        code = int(pytest.main([*where, *arguments, "--collect-only", "-qq", *QUIET, "-p", PLUGIN], plugins=[keeper]))
    if keeper.is_interrupted:  # which pytest makes an exit code of
        raise KeyboardInterrupt
    run = keeper.run
    if code not in (0, 3) or run is None:
        lines = [line for line in said.getvalue().splitlines() if "rror" in line] or said.getvalue().splitlines()
        raise UsageError(f"the suites cannot be collected: {(lines or ['pytest said nothing'])[-1][:500]}")
    questions: dict[str, list[CaseRequest]] = {}
    for item in keeper.items:
        test = planned_test(item)
        if test is None or test.no_kernel or test.raced:
            continue
        planned = test.for_test(item.nodeid, item.nodeid in run.repeated)
        judge = getattr(item.function, "by", None)
        by = f"{judge.__module__}:{judge.__qualname__}" if judge else BITS
        questions.setdefault(test.key.kernel, []).append(CaseRequest(planned, run.patience(test), by))
    return CollectedCases(questions, run.opening)
