"""Plans made as pytest itself would make them: collected, for targets of any machine, and not run."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path

from bitgate.core import git
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import canonical, target_id
from bitgate.lab.ci.matrix import shard_counts
from bitgate.lab.ci.select import select
from bitgate.lab.ci.select_changes import since
from bitgate.lab.planning.collect import PLUGIN, QUIET, Keeper, suites_and_root
from bitgate.lab.planning.project_facts import facts_of
from bitgate.results.plan import Plan
from bitgate.results.run_plan import RunPlan, make
from bitgate.results.shard import SETUP_SECONDS, count_for, fitting
from bitgate.suite import durations
from bitgate.suite.durations import Durations
from bitgate.suite.id_file import check_known, read_ids
from bitgate.suite.tier_solver import solve
from bitgate.tools.coverage.features import features


@dataclass(frozen=True)
class Sizes:
    """Into how many shards a target is split: as stated, else by how long one is to take, else not at all."""

    stated: Mapping[str, int] = field(default_factory=dict)
    shard_seconds: float | None = None
    setup_seconds: float = SETUP_SECONDS

    @classmethod
    def of(
        cls, shards: Sequence[str], targets: Sequence[str], shard_seconds: float | None, setup_seconds: float
    ) -> Sizes:
        """Parse sizes from the command line. UsageError if it says both of one target."""
        if shard_seconds is None:
            return cls(shard_counts(shards, targets))
        if general := [text for text in shards if "=" not in text]:
            raise UsageError(f"--shards {general[0]} and --shard-seconds: give one of them, or --shards TARGET=N")
        named = {canonical(text.rpartition("=")[0]) for text in shards}
        counts = {name: count for name, count in shard_counts(shards, targets).items() if name in named}
        return cls(counts, shard_seconds, setup_seconds)

    def count(self, plan: Plan) -> int:
        if plan.target in self.stated or self.shard_seconds is None:
            return self.stated.get(plan.target, 1)
        return count_for(plan.cases, self.shard_seconds, self.setup_seconds)


def make_run_plan(
    tier: str,
    targets: Sequence[str],
    sizes: Sizes,
    project: Project,
    kernel: str = "",
    recorded: Path | None = None,
    selected: Path | None = None,
    base: str = "",
    budgets: Mapping[str, float] | None = None,
) -> RunPlan:
    """Return what runs of a tier on these targets will plan, in shards.

    Durations come from the folder ``recorded``, or else from this machine and the suites. Files in ``selected``
    restrict the cases, and so do the seconds of ``budgets``, by target. With a commit ``base`` only cases remain that
    changes since then can turn red: the plan may be empty, and a target is cut into fewer shards. UsageError for what
    such a run would refuse.
    """
    names = dict.fromkeys(target_id(target).name for target in targets)
    known = {name: _durations(name, project, recorded) for name in names}
    plans = [_collected(tier, name, project, kernel, recorded) for name in names]
    if empty := [plan.target for plan in plans if not plan.cases]:
        raise UsageError(f"{tier} has no case for {', '.join(empty)}: a run would compare nothing")
    if selected is not None:
        plans = _selected(plans, selected)
    plans = [_within(plan, (budgets or {}).get(plan.target)) for plan in plans]
    counts = {plan.target: sizes.count(plan) for plan in plans}
    if base:
        plans = _changed(plans, base, project)
        counts = {plan.target: fitting(plan.cases, counts[plan.target]) for plan in plans}
    commit = git.commit_of(project.suites[0])
    return make(tier, plans, counts, commit, lambda target, cases: known[target].length(cases))


def _selected(plans: Sequence[Plan], place: Path) -> list[Plan]:
    """Keep the selected cases, and the targets that have some. UsageError if nothing is selected at all."""
    found = []
    for plan in plans:
        ids = read_ids(place / f"{plan.target}.txt" if place.is_dir() else place)
        check_known(ids, {item.id for item in plan.cases})
        found.append(replace(plan, cases=tuple(item for item in plan.cases if item.id in ids)))
    if not any(plan.cases for plan in found):
        raise UsageError(f"--select {place}: selects nothing: there is no run to plan")
    return [plan for plan in found if plan.cases]


def _within(plan: Plan, seconds: float | None) -> Plan:
    """Keep the cases that cover most of a plan within these seconds on one worker, and report how many that are.

    A plan that takes no longer is kept whole.
    """
    if seconds is None or plan.seconds <= seconds:
        return plan
    known = features(plan.cases, {})
    solution = solve(known.candidates, known.weights, seconds)
    chosen = [item for item in plan.cases if item.id in solution.ids]
    print(
        f"{plan.target}: {len(chosen)} of {len(plan.cases)} cases, {solution.seconds:.1f} of {plan.seconds:.1f} s on"
        f" one worker, within {seconds:g} s",
        file=sys.stderr,
        flush=True,
    )
    return replace(plan, cases=tuple(chosen))


def _changed(plans: Sequence[Plan], base: str, project: Project) -> list[Plan]:
    """Keep the cases that changes since a commit can turn red, and the targets that have some."""
    changes = since(base, project.root)
    gone = [change.path for change in changes if change.is_gone]
    kept = [replace(plan, cases=select(plan, facts_of(project, plan, gone), changes).items) for plan in plans]
    return [plan for plan in kept if plan.cases]


def _durations(target: str, project: Project, recorded: Path | None) -> Durations:
    if recorded is None:
        return durations.load(target, shelves=project.shelves)
    return durations.stated(target, recorded, project.shelves)


def _collected(tier: str, target: str, project: Project, kernel: str, recorded: Path | None) -> Plan:
    import pytest

    where = suites_and_root(project)
    stated = {"--tier": [tier], "--target": [target], "--kernel": [kernel], "--load": list(map(str, project.added))}
    stated["--case-durations"] = [str(recorded or "")]
    arguments = [f"{name}={value}" for name, values in stated.items() for value in values if value]
    keeper = Keeper()
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = int(pytest.main([*where, *arguments, "--collect-only", "-qq", *QUIET, "-p", PLUGIN], plugins=[keeper]))
    plan = keeper.run.plan if keeper.run else None
    if code not in (0, 3) or plan is None:
        lines = [line for line in said.getvalue().splitlines() if "rror" in line] or said.getvalue().splitlines()
        raise UsageError(f"{target}: the suites cannot be collected: {(lines or ['pytest said nothing'])[-1][:500]}")
    return plan
