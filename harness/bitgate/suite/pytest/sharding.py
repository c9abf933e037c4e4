"""``--shard I/N``: which of the collected tests are this machine's, by the plan of the run or, without one, by a rule
that every machine follows alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bitgate.core.choices import REGRESSION
from bitgate.core.errors import UsageError
from bitgate.results.plan import PlanError, PlannedItem
from bitgate.results.run_plan import RunPlan, whole_id
from bitgate.results.shard import Shard, split
from bitgate.suite.pytest.run import TestRun


def stated(shard: str, plan: str) -> tuple[Shard | None, RunPlan | None]:
    """Return what the options say. A plan without a shard is of targets that are not split. UsageError."""
    if not plan:
        return (Shard.parse(shard) if shard else None), None
    try:
        whole = RunPlan.read(Path(plan))
    except PlanError as error:
        raise UsageError(f"--plan {error}") from None
    return (Shard.parse(shard) if shard else None), whole


def own_cases(run: TestRun, tests: Mapping[str, PlannedItem]) -> tuple[frozenset[str], str]:
    """Node ids that are this run's, of the collected ones, and the hash of the plan that they are a part of."""
    if run.whole is None:
        assert run.shard is not None
        tier = run.tier or REGRESSION
        parts = split(sorted(tests.values(), key=lambda item: item.id), run.shard.count)
        mine = parts[run.shard.index - 1]
        return frozenset(_nodes(mine, tests)), whole_id(tier, run.target.name, parts)
    planned = _planned(run, run.whole)
    _check_same(run, planned, tests)
    return frozenset(_nodes(planned, tests)), run.whole.id


def _planned(run: TestRun, whole: RunPlan) -> Sequence[PlannedItem]:
    parts = [part for part in whole.parts if part.target == run.target.name]
    if not parts:
        raise UsageError(f"--plan plans {', '.join(whole.targets)}, not {run.target.name}")
    shard = run.shard or Shard(1, 1)
    try:
        part = whole.shard(run.target.name, shard)
    except PlanError as error:
        raise UsageError(f"--plan {error}") from None
    if part is None:
        raise UsageError(f"--plan has {run.target.name} in {len(parts)} shards: give --shard I/{len(parts)}")
    if whole.tier != (run.tier or REGRESSION):
        raise UsageError(f"--plan is of tier {whole.tier}, this run of {run.tier or REGRESSION}")
    return part.cases


def _check_same(run: TestRun, planned: Sequence[PlannedItem], tests: Mapping[str, PlannedItem]) -> None:
    """Check that planned cases are here with the same seed and options; others would be lost without a word."""
    here = {item.id: item for item in tests.values()}
    gone = [item for item in planned if item.id not in here or here[item.id].key != item.key]
    if gone:
        why = "has another seed, schedule or option" if gone[0].id in here else "is not among the tests"
        raise UsageError(
            f"--plan: {len(gone)} of {len(planned)} cases are not those of this run; {gone[0].id} {why}:"
            " run the plan's commit with the arguments that `bitgate ci plan` was given"
        )


def _nodes(chosen: Sequence[PlannedItem], tests: Mapping[str, PlannedItem]) -> list[str]:
    ids = {item.id for item in chosen}
    return [node for node, item in tests.items() if item.id in ids]
