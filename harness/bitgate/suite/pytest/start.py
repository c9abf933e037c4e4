"""The start of a run: its options decide it, and the hooks that it needs are registered."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bitgate.core import compute_sanitizer, emulation, paths, settings
from bitgate.core.choices import SMOKE
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.kernel import registry
from bitgate.kernel.loading import loaded_names, to_load, with_operations
from bitgate.results.record import Stamp
from bitgate.results.record import identity as stamps
from bitgate.results.record.identity import MOST_SEED
from bitgate.results.shard import Shard
from bitgate.runtime import targets, trial
from bitgate.runtime.host import RACE, SCHEDULE_PATTERN, SCHEDULE_WORDS
from bitgate.runtime.targets import Target
from bitgate.suite import durations
from bitgate.suite.durations import Durations
from bitgate.suite.id_file import read_ids
from bitgate.suite.planning import Setting
from bitgate.suite.pytest import leases, record, sharding
from bitgate.suite.pytest.collecting import Collecting
from bitgate.suite.pytest.ending import Ending
from bitgate.suite.pytest.gating import Gating
from bitgate.suite.pytest.options import pairs
from bitgate.suite.pytest.run import RUN, TestRun, as_pytest_error
from bitgate.verify import emulated
from bitgate.verify.repetition import Repetition


def start(config: pytest.Config) -> None:
    """Decide the run from its options and register the hooks. Raises pytest.UsageError."""
    gc.disable()  # until all is collected: tens of thousands of objects that stay are walked in vain
    with as_pytest_error():
        run = _decide(config)
        if run.resume:
            _resume(run)
    config.stash[RUN] = run
    plugins: list[object] = [Collecting(run), Gating(run)]
    if not run.is_worker:
        plugins.append(Ending(run))
    if run.is_controller:
        from bitgate.suite.pytest.deaths import Deaths
        from bitgate.suite.pytest.workers import Workers

        plugins += [Workers(run, config), Deaths(config)]
    for plugin in plugins:
        config.pluginmanager.register(plugin, f"bitgate-{type(plugin).__name__.lower()}")


def _decide(config: pytest.Config) -> TestRun:
    option = config.option
    settings.check()
    worker_input: dict[str, Any] = getattr(config, "workerinput", {})
    if worker_input:
        _share_machine(worker_input)
    name = option.bitgate_target
    # What is only planned may be for a target of another machine.
    target = (targets.absent if option.collectonly else targets.named)(name) if name else targets.best()
    if not worker_input and not option.collectonly:
        compute_sanitizer.check(
            target.name, target.platform, in_process=option.bitgate_in_process, resumes=option.bitgate_resume
        )
        leases.devices(target)  # an outer list that leaves nothing is reported before anything is built
        emulated.begin(target, emulated.say)
        if target.platform == "amd" and target.kind == "hardware":
            trial.opened(target.name)  # a device that does not open would fail every test, each after a while
    option.bitgate_target = target.name  # workers are to take the same one
    project = _project(config)
    _select_tier(option, project)
    timeout = _timeout(option.bitgate_case_timeout)
    processes = leases.count(target, option.bitgate_processes)
    shard, whole = sharding.stated(option.bitgate_shard, option.bitgate_plan)
    select = _selection(option.bitgate_select)
    setting = Setting(
        target=target.name,
        platform=target.platform,
        families=registry.families(project),
        kernel=option.bitgate_kernel,
        options=pairs(option.bitgate_option),
        schedule=_schedule(RACE if option.bitgate_race else option.bitgate_schedule, target),
        seed=_number("--seed", option.bitgate_seed),
        tier=SMOKE if option.markexpr == SMOKE else "",
        durations=_durations(target, project, option.bitgate_case_durations, is_shard=shard is not None),
        loaded=loaded_names(project.runs_on),
        selected=select or frozenset(),
        only_selected=select is not None and whole is None,  # all of a shard of a plan is held to the plan
    )
    folder = paths.out_dir() / target.name / (shard.folder if shard else "")
    os.environ["BITGATE_OUT"] = str(paths.out_dir())  # tests may change the folder; workers start in it
    return TestRun(
        target=target,
        setting=setting,
        tier=option.bitgate_tier or "",
        folder=folder,
        project=project,
        timeout=timeout,
        resume=option.bitgate_resume,
        in_process=option.bitgate_in_process,
        processes=0 if worker_input or option.bitgate_in_process or _has_workers(option) else processes,
        select=select,
        record_start=worker_input.get("bitgate_record_start", 0),
        worker=worker_input.get("workerid", "main"),
        is_worker=bool(worker_input),
        is_controller=not worker_input and _has_workers(option) and not option.collectonly,
        stamp=_stamp(shard, bool(worker_input)),
        shard=shard,
        whole=whole,
        repetition=_repetition(option.bitgate_repeat, option.bitgate_until_red),
        shuffle=_number("--shuffle", option.bitgate_shuffle),
        builds_ahead=not option.maxfail or bool(worker_input) or _has_workers(option) or processes > 0,
    )


def _durations(target: Target, project: Project, folder: str, is_shard: bool) -> Durations:
    if folder:
        return durations.stated(target.name, Path(folder), project.shelves)
    if is_shard:  # each must come to the same parts, so what one machine has learned is left out
        return durations.carried(target.name, project.shelves)
    return durations.load(target.name, durations.machine_of(target), project.shelves)


def _stamp(shard: Shard | None, is_worker: bool) -> Stamp:
    if is_worker:
        return stamps.handed_down()
    stamp = stamps.begin(str(shard or ""))
    stamps.hand_down(stamp)
    return stamp


def _has_workers(option: Any) -> bool:
    """True with xdist and -n or --tx."""
    return bool(getattr(option, "tx", None)) and option.dist != "no"


def _share_machine(worker_input: Mapping[str, Any]) -> None:
    """Take a worker's part of the machine: its GPU, before any library looks for one; its share of a stated bound."""
    variable, token = worker_input.get("bitgate_lease", ("", ""))
    if variable:
        os.environ[variable] = token
    if os.environ.get("BITGATE_THREADS"):
        os.environ["BITGATE_THREADS"] = str(max(1, paths.threads() // int(worker_input["workercount"])))


def _resume(run: TestRun) -> None:
    if run.is_worker:
        run.done = record.handed_down(run)
        return
    if run.folder.is_dir():
        record.claim(run)
    run.done = record.settled(run)
    run.record_start = run.results.stat().st_size if run.results.is_file() else 0
    if run.is_controller:
        record.hand_down(run)


def _project(config: pytest.Config) -> Project:
    """Return the project of the suites which the command line names, else of the current folder."""
    places = (config.invocation_params.dir / str(argument).partition("::")[0] for argument in config.args)
    return with_operations(find(*places).loading(to_load(map(Path, config.option.bitgate_load))))


def _select_tier(option: Any, project: Project) -> None:
    """Select a tier by ``--tier`` as by ``-m``; and take a plain ``-m smoke`` for a tier."""
    stated = option.markexpr or ""
    if option.bitgate_tier is not None:
        project.check_tier(option.bitgate_tier)
    if option.bitgate_tier and option.bitgate_tier not in stated:
        option.markexpr = f"({stated}) and {option.bitgate_tier}" if stated else option.bitgate_tier
    elif stated in project.tiers:
        option.bitgate_tier = stated


def _schedule(stated: str, target: Target) -> str:
    if not stated:
        return ""
    if not re.fullmatch(SCHEDULE_PATTERN, stated):
        raise UsageError(f"--schedule {stated}: give {SCHEDULE_WORDS}")
    if stated == RACE and target.kind == emulation.EMULATED:
        emulation.watch_races()
        return stated
    if target.platform != "host":
        what = "--race" if stated == RACE else f"--schedule {stated}"
        raise UsageError(f"{what}: {target.name} owns its schedule; schedules are for --target host")
    return stated


def _number(option: str, stated: str | None) -> int | None:
    if stated is None or re.fullmatch(r"\d{1,18}", stated):
        return None if stated is None else int(stated)
    raise UsageError(f"{option} {stated}: give a number from 0 to {MOST_SEED}")


def _repetition(times: str | None, until_red: bool) -> Repetition:
    if until_red and times is None:
        raise UsageError("--until-red needs --repeat N")
    number = _number("--repeat", times)
    if number == 0:
        raise UsageError("--repeat 0: give 1 or more")
    return Repetition(number or 1, until_red)


def _timeout(stated: str | None) -> float | None:
    if stated is None:
        return None
    if not re.fullmatch(r"\d+(\.\d+)?", stated) or float(stated) == 0:
        raise UsageError(f"--case-timeout {stated}: give seconds, more than 0")
    return float(stated)


def _selection(file: str | None) -> frozenset[str] | None:
    """Read the selected ids; None stands for everything. Without ids nothing is selected, and the run ends with 3."""
    return read_ids(Path(file)) if file else None
