"""Plan of a night, made once from a command line: its targets, their shards, and the machines that they need."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.core.targets import in_place_of, is_emulated, target_id
from bitgate.kernel.loading import to_load, with_operations
from bitgate.lab.ci.attempts import MATRIX, PLAN
from bitgate.lab.ci.journal import MINUTES, NightPlanned, Seat
from bitgate.lab.ci.matrix import cells, document, expected_of
from bitgate.lab.planning.collect import print_whose_suites
from bitgate.lab.planning.shards import Sizes, make_run_plan
from bitgate.results.plan import PlanError
from bitgate.results.run_plan import PlanPart, RunPlan
from bitgate.results.shard import limit_minutes
from bitgate.results.targets_file import EMULATED_SECONDS, CiTargets, Pool, read_targets
from bitgate.runtime import targets


@dataclass(frozen=True)
class NightOptions:
    """A command line, as far as it says what a night runs; empty where it does not say."""

    executor: str = ""
    tier: str = ""
    targets: tuple[str, ...] = ()
    matrix: Path | None = None
    plan: Path | None = None
    shards: tuple[str, ...] = ()
    kernel: str = ""
    load: tuple[Path, ...] = ()
    options: Mapping[str, str] | None = None
    workers: str = ""

    @property
    def stated(self) -> str:
        """The first option that says something; empty if none does."""
        names = {"targets": "--target", "options": "--option", "workers": "-n"}
        return next((names.get(name, f"--{name}") for name, value in vars(self).items() if value), "")


def planned_night(order: NightOptions, folder: Path, jobs: int) -> NightPlanned:
    """Return the first event of a night, after writing plan and matrix into its folder. UsageError for a bad order."""
    _check(order)
    project = with_operations(find().loading(to_load(list(order.load))))
    project.tables()  # without a suite pytest would not know our options
    print_whose_suites(project)
    config = read_targets(project.targets, project.tiers) if project.targets else None
    executor = order.executor or "local"
    plan = _plan(order, folder, executor, project, config)
    plan.write(folder / PLAN)
    # Those that take longest begin first: none is to be the one that everybody waits for.
    shards = sorted(plan.parts, key=lambda part: -(part.length.seconds if part.length else part.cases))
    workers, environment = _share(executor, jobs)
    arguments = [f"--tier={plan.tier}", f"-n{order.workers or workers}"]
    arguments += [f"--kernel={order.kernel}"] * bool(order.kernel)
    arguments += [f"--load={path.absolute()}" for path in order.load]
    now = datetime.now(timezone.utc)
    return NightPlanned(
        night=os.environ.get("BITGATE_RUN_ID") or f"night-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        plan=plan.id,
        root=str(Path.cwd()),
        executor=executor,
        jobs=jobs,
        options=dict(order.options or {}),
        arguments=tuple(arguments),
        environment=environment,
        shards=tuple((part.target, part.shard, part.cases) for part in shards),
        seats={name: _seat(plan, name, executor, config) for name in plan.targets},
    )


def _check(order: NightOptions) -> None:
    stated = {"--tier": order.tier, "--target": order.targets, "--shards": order.shards}
    if order.plan and (twice := next((name for name, value in stated.items() if value), None)):
        raise UsageError(f"{twice} and --plan: the plan says so already: give one of them")
    if order.matrix and order.targets:
        raise UsageError("--target and --matrix: give one of them")
    if order.workers and not re.fullmatch(r"auto|\d{1,4}", order.workers):
        raise UsageError(f"-n {order.workers}: write a number, or auto")


def _plan(order: NightOptions, folder: Path, executor: str, project: Project, config: CiTargets | None) -> RunPlan:
    if order.matrix:
        expected_of(order.matrix)  # what is no matrix is reported now, not in the morning
        shutil.copyfile(order.matrix, folder / MATRIX)
    if order.plan:
        try:
            return RunPlan.read(order.plan)
        except PlanError as error:
            raise UsageError(f"--plan {error}") from None
    tier = order.tier or project.tiers[0]
    project.check_tier(tier)
    names = _targets(order, folder, tier, executor, config)
    if not names:
        file = order.matrix or project.targets
        raise UsageError(f"{file}: no target runs {tier} on a pool of {executor}: add one, or give --target")
    print(f"planning {tier} on {', '.join(names)} ...", file=sys.stderr, flush=True)
    sizes, budgets = Sizes.of(order.shards, names, None, 0.0), budgets_of(config, names)
    return make_run_plan(tier, names, sizes, project, order.kernel, budgets=budgets)


def _targets(order: NightOptions, folder: Path, tier: str, executor: str, config: CiTargets | None) -> list[str]:
    """Return the stated targets, else those of the matrix; without either the best one of this machine."""
    if order.targets:
        return [target_id(name).name for name in order.targets]
    if order.matrix:
        return list(expected_of(order.matrix).targets)
    found = cells(config, tier, [executor]) if config else ()
    names = [cell.target for cell in found if cell.runs]
    if names and config:
        (folder / MATRIX).write_text(json.dumps(document(config, found), indent=1) + "\n")
    return names or ([targets.best().name] if executor == "local" else [])


def _seat(plan: RunPlan, target: str, executor: str, config: CiTargets | None) -> Seat:
    """Return a target's seat by the targets file, if that knows it; a stand-in asks for the machines it stands for."""
    pools = config.pools_of(target) if config else ()
    pool = next((pool for pool in pools if pool.backend == executor and pool.up), None)
    promise = config.target(target) if config else None
    most = promise.minutes.get(plan.tier) if promise else None
    return Seat(
        minutes=tuple(_minutes(part, most) for part in plan.parts if part.target == target),
        constraint=(pool.constraint if pool else "") or in_place_of(target) or ("" if is_emulated(target) else target),
        gpus=pool.gpus if pool else 0,
        exclusive=pool.exclusive if pool else False,
        environment=_emulator_of(target, pool),
    )


def _emulator_of(target: str, pool: Pool | None) -> dict[str, str]:
    """Return the variables of a target's emulator: its pool's, else this process's; empty ones hide those from others.

    UsageError for an emulated target without an emulator.
    """
    here = {name: os.environ.get(name, "") for name in (emulation.LAUNCHER, emulation.DAEMON)}
    if not is_emulated(target):
        return dict.fromkeys(here, "") if any(here.values()) else {}
    found = pool.environment if pool and pool.is_emulated else here
    if not found.get(emulation.LAUNCHER):
        raise UsageError(
            f'{target}: no pool of kind = "{emulation.EMULATED}" serves it on this executor, and'
            f" {emulation.LAUNCHER} is not set"
        )
    return found


def budgets_of(config: CiTargets | None, targets: Iterable[str]) -> dict[str, float]:
    """Return the seconds from which the cases of emulated targets are chosen."""
    found: dict[str, float] = {}
    for name in filter(is_emulated, targets):
        pool = next((pool for pool in (config.pools_of(name) if config else ()) if pool.up), None)
        budget = EMULATED_SECONDS if pool is None else pool.budget
        if budget is not None:
            found[name] = budget
    return found


def _minutes(part: PlanPart, most: float | None) -> float:
    needed = float(limit_minutes(part.length)) if part.length else MINUTES
    return min(needed, most) if most else needed


def _share(executor: str, jobs: int) -> tuple[str, dict[str, str]]:
    """Return workers and environment of each run: shards that run at once on this machine share its cores."""
    if executor != "local" or jobs < 2:
        return "auto", {}
    cores = max(1, len(os.sched_getaffinity(0)) // jobs)
    return str(cores) if cores > 1 else "0", {"BITGATE_THREADS": str(cores)}
