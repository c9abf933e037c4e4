"""The trial of a fault: does the tier turn red with it, who noticed, and is that test green without it?"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

from bitgate.core import paths
from bitgate.core.project import Project, ours
from bitgate.kernel.build.includes import families_reached
from bitgate.kernel.loading import loaded_names
from bitgate.kernel.registry import families
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.tier_run import TierRun, run_tier

REDS_UNTIL_DIAGNOSED = 20
"""Not every red case can name a defect: where a kind is asked for, this many may pass before it is given up."""


@dataclass(frozen=True)
class Trial:
    """``valid``: the fault compiled and could be tried; ``by``: the test, else the case, that found it."""

    fault: Fault
    valid: bool
    killed: bool
    by: str
    verdict: str
    kinds: tuple[str, ...]
    sentence: str
    seconds: float
    note: str = ""

    @property
    def diagnosed(self) -> bool | None:
        """Whether the report named the kind that the fault asks for; None if it asks for none."""
        return self.fault.diagnosis in self.kinds if self.fault.diagnosis else None

    def as_json(self) -> dict[str, Any]:
        named = self.fault.diagnosis if self.diagnosed else next(iter(self.kinds), "")
        return {
            "name": self.fault.name,
            "file": self.fault.file,
            "imitates": self.fault.imitates,
            "valid": self.valid,
            "killed": self.killed,
            "by": self.by,
            "verdict": self.verdict,
            "diagnosis": named,
            "diagnosed": self.diagnosed,
            "kinds": list(self.kinds),
            "sentence": self.sentence,
            "seconds": round(self.seconds, 3),
            "note": self.note,
        }


@dataclass(frozen=True)
class TrialSetup:
    """Where and how long faults are tried, ``jobs`` at a time. ``whole_tier``: run on after the first red."""

    tier: str
    target: str
    limit_seconds: float
    project: Project = field(default_factory=ours)
    whole_tier: bool = False
    jobs: int = 1

    @property
    def folder(self) -> Path:
        """What node ids are relative to."""
        first, root = self.project.suites[0], self.project.root
        return root if first.is_relative_to(root) else first.parent


def try_faults(
    faults: Sequence[Fault],
    bench: TrialSetup,
    progress: Callable[[Trial], None],
    tried: Mapping[str, Trial] | None = None,
) -> tuple[Trial, ...]:
    """Try every fault, then run the killing tests once without any fault: who is red there proves nothing.

    ``progress`` hears of each fault as soon as it is done. Those that were ``tried``, by name, are not tried again.
    """
    known = dict(tried or {})
    untried = [fault for fault in faults if fault.name not in known]
    for fault in faults:
        fault.seeded(bench.project.root)  # a fault that does not apply is told before minutes are spent on the others
    stop = Event()
    with ThreadPoolExecutor(bench.jobs) as pool:
        running = [pool.submit(_try, fault, bench, stop) for fault in untried]
        try:
            for trial in as_completed(running):
                progress(trial.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    known |= {trial.result().fault.name: trial.result() for trial in running}
    return tuple(_confirmed([known[fault.name] for fault in faults], bench, stop))


def score(trials: Sequence[Trial]) -> float:
    """Killed faults among the valid ones, 0 to 1."""
    valid = [trial for trial in trials if trial.valid]
    return sum(trial.killed for trial in valid) / len(valid) if valid else 0.0


def exit_code(trials: Sequence[Trial]) -> int:
    """2 if a fault does not compile or could not be tried, 1 if one stays green, else 0."""
    if not all(trial.valid for trial in trials):
        return 2
    return 0 if all(trial.killed for trial in trials) else 1


def _try(fault: Fault, bench: TrialSetup, stop: Event) -> Trial:
    with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as overlay:
        fault.plant(bench.project.root, Path(overlay))
        run = run_tier(
            bench.tier,
            bench.target,
            bench.folder,
            root=bench.project.root,
            overlay=Path(overlay),
            limit_seconds=bench.limit_seconds,
            most_reds=0 if bench.whole_tier else REDS_UNTIL_DIAGNOSED if fault.diagnosis else 1,
            threads=max(1, paths.threads() // bench.jobs),
            stop=stop,
            pytest_arguments=[*map(str, bench.project.suites), *_reached(fault, bench.project)],
        )
    return judge(fault, run)


def _reached(fault: Fault, project: Project) -> list[str]:
    """The libraries of the other families are what they were: their verdicts cannot change."""
    mine = loaded_names(project.runs_on)
    every = [family for family in families(project).values() if not mine or family.name in mine]
    named = fault.family if project.is_ours else ""  # an owner's folder need not have its family's name
    reached = (named,) if named else families_reached(project.root / fault.file, every)
    return [f"--kernel={','.join(reached)}"] if 0 < len(reached) < len(every) else []


def judge(fault: Fault, run: TierRun) -> Trial:
    """What a run with the fault in it says; a run that broke before it could say anything says nothing of the fault."""
    findings = [red for red in run.reds if not red.outcome.is_unanswered]
    broken = next((red for red in findings if red.outcome is Outcome.BUILD_FAILED), None)
    if broken is not None:
        return _trial(fault, run, broken, valid=False, killed=False, note="does not compile: not a valid fault")
    if findings:
        # The finding that names the expected kind tells most; without one the first.
        telling = next((red for red in findings if fault.diagnosis in _kinds(red)), findings[0])
        return _trial(fault, run, telling, killed=True)
    if run.code is None:
        return _trial(fault, run, None, killed=True, verdict="HUNG", note="the whole run had to be ended")
    if run.code < 0:
        return _trial(fault, run, None, killed=True, verdict="CRASHED", note=f"the run ended by signal {-run.code}")
    if run.code == 0:
        return _trial(fault, run, None, killed=False, note=f"stays green over {len(run.verdicts)} verdicts: a hole")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.output, re.MULTILINE)
    if run.code == 1 and failed:
        # A test that fails on its own, or whose worker died before it could write its verdict.
        return replace(_trial(fault, run, None, killed=True, verdict="FAILED"), by=failed[1])
    said = next((line for line in reversed(run.output.splitlines()) if line.strip()), "nothing")
    return _trial(fault, run, None, valid=False, killed=False, note=f"its run ended with {run.code} and said: {said}")


def _trial(
    fault: Fault,
    run: TierRun,
    red: Verdict | None,
    *,
    killed: bool,
    valid: bool = True,
    verdict: str = "",
    note: str = "",
) -> Trial:
    return Trial(
        fault=fault,
        valid=valid,
        killed=killed,
        by=(red.test or red.key.case) if red else "",
        verdict=red.outcome.value if red else verdict,
        kinds=_kinds(red),
        sentence=(red.diagnosis.sentence if red.diagnosis else red.reason) if red else "",
        seconds=run.seconds,
        note=note,
    )


def _kinds(red: Verdict | None) -> tuple[str, ...]:
    return red.diagnosis.kinds if red and red.diagnosis else ()


def _confirmed(trials: Sequence[Trial], bench: TrialSetup, stop: Event) -> Iterator[Trial]:
    killers = sorted({trial.by for trial in trials if trial.killed and "::" in trial.by})
    sick: set[str] = set()
    if killers:
        run = run_tier(
            bench.tier,
            bench.target,
            bench.folder,
            root=bench.project.root,
            overlay=None,
            limit_seconds=bench.limit_seconds,
            most_reds=0,
            threads=paths.threads(),
            stop=stop,
            pytest_arguments=[str(bench.folder / killer) for killer in killers],
        )
        green = {verdict.test for verdict in run.verdicts if verdict.green}
        sick = {red.test for red in run.reds} | (set(killers) - green)
    for trial in trials:
        if trial.by in sick:
            yield replace(trial, killed=False, note=f"{trial.by} is not green without the fault either")
        else:
            yield trial
