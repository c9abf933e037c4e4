"""Plans made as pytest itself would make them: collected, for targets of any machine, and not run."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout

from bitgate import checkout
from bitgate.cases.plan import Plan
from bitgate.cases.run_plan import RunPlan, make
from bitgate.cli.run import PLUGIN, QUIET, Keeper, suites_and_root
from bitgate.errors import UsageError
from bitgate.project import Project


def make_run_plan(
    tier: str,
    targets: Sequence[str],
    counts: Mapping[str, int],
    project: Project,
    kernel: str = "",
) -> RunPlan:
    """What runs of a tier on these targets will plan, in shards. UsageError for what such a run would refuse."""
    from bitgate.target_id import target_id

    names = dict.fromkeys(target_id(target).name for target in targets)
    plans = [_collected(tier, name, project, kernel) for name in names]
    if empty := [plan.target for plan in plans if not plan.cases]:
        raise UsageError(f"{tier} has no case for {', '.join(empty)}: a run would compare nothing")
    return make(tier, plans, counts, checkout.commit(project.suites[0]))


def _collected(tier: str, target: str, project: Project, kernel: str) -> Plan:
    import pytest

    where = suites_and_root(project)
    stated = {"--tier": [tier], "--target": [target], "--kernel": [kernel], "--load": list(map(str, project.added))}
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
