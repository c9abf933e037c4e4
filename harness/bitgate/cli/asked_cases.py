"""The cases of a tier as pytest collects them, for a command that asks for their verdicts itself."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bitgate.cli.run import PLUGIN, QUIET, Keeper, suites_and_root
from bitgate.core.errors import UsageError
from bitgate.core.project import Project

if TYPE_CHECKING:
    from bitgate.kernel.declaration import KernelFamily
    from bitgate.tools.faults.mutation.lanes import MutantCase
    from bitgate.verify.process import Opening


@dataclass(frozen=True)
class AskedCases:
    """Tests of a run by family, in the order of the run, and what their kernel process is opened with."""

    questions: dict[str, list[MutantCase]]
    opening: Opening

    def built_families(self) -> dict[str, KernelFamily]:
        """Return the families that are built of sources."""
        every = {name: questions[0].planned.kernel.family for name, questions in self.questions.items()}
        return {name: family for name, family in every.items() if family.is_built and family.library is None}


class _Items(Keeper):
    """Keeps hold of the tests, too."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self.items = list(session.items)


def asked_cases(tier: str, target: str, project: Project, kernel: str, select: str) -> AskedCases:
    """UsageError for what a run of the tier would refuse. Cases that no kernel takes, and those that are watched for
    races, which need another library, are left out."""
    import pytest

    from bitgate.suite.pytest.collecting import planned_test
    from bitgate.tools.faults.mutation.lanes import MutantCase
    from bitgate.verify.process import BITS

    stated = {"--tier": [tier], "--target": [target], "--kernel": [kernel], "--select": [select]}
    stated["--load"] = list(map(str, project.added))
    arguments = [f"{name}={value}" for name, values in stated.items() for value in values if value]
    keeper, said = _Items(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        where = suites_and_root(project)
        code = int(pytest.main([*where, *arguments, "--collect-only", "-qq", *QUIET, "-p", PLUGIN], plugins=[keeper]))
    run = keeper.run
    if code not in (0, 3) or run is None:
        lines = [line for line in said.getvalue().splitlines() if "rror" in line] or said.getvalue().splitlines()
        raise UsageError(f"the suites cannot be collected: {(lines or ['pytest said nothing'])[-1][:500]}")
    questions: dict[str, list[MutantCase]] = {}
    for item in keeper.items:
        test = planned_test(item)
        if test is None or test.no_kernel or test.raced:
            continue
        planned = test.for_test(item.nodeid, item.nodeid in run.repeated)
        judge = getattr(item.function, "by", None)
        by = f"{judge.__module__}:{judge.__qualname__}" if judge else BITS
        questions.setdefault(test.key.kernel, []).append(MutantCase(planned, by, run.patience(test)))
    return AskedCases(questions, run.opening)
