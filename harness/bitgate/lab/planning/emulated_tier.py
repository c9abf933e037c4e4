"""The tier ``emulated``: the cases that cover most within an emulator's seconds, and the seconds that are predicted.

``bitgate run --tier emulated`` runs it by the pace of the emulator's canary. ``bitgate cases --tier emulated`` prints
the predictions of all targets, to be held against emulators: by the canary's pace with ``--launcher``, else by what is
recorded, else by the pace of an ISA emulator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import emulated, target_id
from bitgate.kernel.loading import with_operations
from bitgate.lab.planning.shards import Sizes, make_run_plan
from bitgate.model import parse_case_id
from bitgate.results.targets_file import read_targets
from bitgate.runtime.targets import named
from bitgate.suite import durations
from bitgate.suite.durations import work_of
from bitgate.suite.suites import make_plan
from bitgate.suite.tier_solver import solve
from bitgate.tools.coverage.features import features
from bitgate.verify.emulated import begin, say

IDS = "emulated_tier.txt"


def chosen_ids(target: str, seconds: float, project: Project, kernel: str) -> Path:
    """Return the file with the ids of the cases, in the folder of the run's emulator, which begins here.

    UsageError without an emulator, and as ``begin``.
    """
    if not emulation.launcher():
        raise UsageError(
            f"--tier {emulation.EMULATED} is of an emulator's seconds: give --launcher, and --target gfx942"
        )
    where = named(target)
    begin(where, say)
    tier, owned = project.tiers[-1], with_operations(project)
    plan = make_run_plan(tier, [where.name], Sizes(), owned, kernel, budgets={where.name: seconds})
    path = Path(os.environ[emulation.FOLDER]) / IDS
    path.write_text("".join(f"{item.id}\n" for part in plan.of(where.name) for item in part.cases))
    return path


def predictions(targets: Sequence[str], seconds: float, project: Project, kernel: str) -> Iterator[dict[str, Any]]:
    """Yield for each target the predicted seconds of its tiers and of the chosen cases, on one worker."""
    for name in targets or _promised(project):
        target = name if target_id(name).is_emulated else emulated(target_id(name)).name
        plans = {tier: make_plan(tier, target, project, kernel) for tier in project.tiers}
        known = features(plans[project.tiers[-1]].cases, {})
        solution = solve(known.candidates, known.weights, seconds)
        pace = durations.load(target, shelves=project.shelves).unheard_of
        covered, possible = known.counts(solution.covered), known.counts(solution.possible)
        yield {
            "target": target,
            "pace": asdict(pace),
            "tiers": {tier: {"cases": len(plan.cases), "seconds": plan.seconds} for tier, plan in plans.items()},
            "budget": seconds,
            "chosen": {"cases": len(solution.chosen), "seconds": solution.seconds},
            "covered": {kind: [covered[kind], possible[kind]] for kind in ("pair", "instance", "refusal")},
            "cases": [
                {"id": one.item.id, "flops": work_of(parse_case_id(one.item.key.case)), "seconds": one.seconds}
                for one in solution.chosen
            ],
        }


def _promised(project: Project) -> Sequence[str]:
    if project.targets is None:
        raise UsageError(f"--tier {emulation.EMULATED}: no targets file says which GPUs: name one with --target gfx942")
    return read_targets(project.targets, project.tiers).of("amd")


def in_words(found: dict[str, Any]) -> str:
    """Format one target's predictions."""
    pace, chosen = found["pace"], found["chosen"]
    tiers = ", ".join(f"{name} {one['cases']} cases {one['seconds']:.0f} s" for name, one in found["tiers"].items())
    covered = ", ".join(f"{have} of {of} {kind}s" for kind, (have, of) in found["covered"].items())
    return (
        f"{found['target']}: {tiers}; of {found['budget']:g} s: {chosen['cases']} cases {chosen['seconds']:.0f} s,"
        f" {covered}; {pace['base']:g} s a case and {pace['per_flop']:g} s a FLOP where nothing is recorded"
    )
