"""The trial of a fault: whether the tier turns red with it, which test found it, and whether that is green without
it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from bitgate.core import paths
from bitgate.core.project import Project, ours
from bitgate.kernel.build.includes import FamiliesByFile
from bitgate.kernel.loading import loaded_names
from bitgate.kernel.registry import families
from bitgate.results.record import Outcome, Verdict
from bitgate.tools.faults.fault import Fault
from bitgate.tools.faults.share import Share
from bitgate.tools.faults.tier_run import TierRun, run_tier

SEVERAL = "several families"
"""Where the faults in sources of several families are counted."""
REDS_UNTIL_DIAGNOSED = 20
"""Red cases to run where a diagnosis is expected: not every red case can name a defect."""


@dataclass(frozen=True)
class Trial:
    """The result of a fault's trial.

    ``valid``: the fault compiled and could be tried; ``by``: the test, else the case, that found it.
    """

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
        """True if the report named the kind that the fault expects; None if it expects none."""
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
    """The setup of trials, ``jobs`` at a time. ``whole_tier``: run on after the first red."""

    tier: str
    target: str
    limit_seconds: float
    project: Project = field(default_factory=ours)
    whole_tier: bool = False
    jobs: int = 1

    @property
    def folder(self) -> Path:
        """The folder that node ids are relative to."""
        first, root = self.project.suites[0], self.project.root
        return root if first.is_relative_to(root) else first.parent


def try_faults(
    faults: Sequence[Fault],
    setup: TrialSetup,
    progress: Callable[[Trial], None],
    tried: Mapping[str, Trial] | None = None,
) -> tuple[Trial, ...]:
    """Try every fault, then run the killing tests once without any fault: those that are red there prove nothing.

    ``progress`` receives each trial as soon as it is done. Faults in ``tried``, by name, are not tried again.
    """
    known = dict(tried or {})
    untried = [fault for fault in faults if fault.name not in known]
    for fault in faults:
        fault.seeded(setup.project.root)  # a fault that does not apply is reported before the others take minutes
    stop = Event()
    with ThreadPoolExecutor(setup.jobs) as pool:
        running = [pool.submit(_try, fault, setup, stop) for fault in untried]
        try:
            for trial in as_completed(running):
                progress(trial.result())
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    known |= {trial.result().fault.name: trial.result() for trial in running}
    return tuple(_confirmed([known[fault.name] for fault in faults], setup, stop))


def found_share(trials: Sequence[Trial]) -> Share:
    """Return the share of valid faults that were killed."""
    return Share(sum(trial.killed for trial in trials), sum(trial.valid for trial in trials))


def shares_by_family(trials: Sequence[Trial]) -> dict[str, Share]:
    """Return the share of each family whose sources the faults are in, and of those that several share."""
    names = sorted({trial.fault.family or SEVERAL for trial in trials})
    return {name: found_share([trial for trial in trials if (trial.fault.family or SEVERAL) == name]) for name in names}


def exit_code(trials: Sequence[Trial]) -> int:
    """Return 2 if a fault does not compile or could not be tried, 1 if one stays green, else 0."""
    if not all(trial.valid for trial in trials):
        return 2
    return 0 if all(trial.killed for trial in trials) else 1


def _try(fault: Fault, setup: TrialSetup, stop: Event) -> Trial:
    with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as overlay:
        fault.plant(setup.project.root, Path(overlay))
        run = _run(fault, setup, stop, Path(overlay))
    trial = judge(fault, run)
    if trial.killed and not trial.by:  # by the end of the whole run, which its length or the machine may have brought
        with tempfile.TemporaryDirectory(prefix="bitgate-overlay-") as empty:
            plain = _run(fault, setup, stop, Path(empty))
        if plain.code is None or plain.code < 0:
            what = "give it more time (--limit)" if plain.code is None else "look at the machine"
            return replace(trial, valid=False, killed=False, note=f"{trial.note}, without the fault too: {what}")
    return trial


def _run(fault: Fault, setup: TrialSetup, stop: Event, overlay: Path) -> TierRun:
    """Run the tests that a fault may change, with the sources of an overlay."""
    return run_tier(
        setup.tier,
        setup.target,
        setup.folder,
        root=setup.project.root,
        overlay=overlay,
        limit_seconds=setup.limit_seconds,
        most_reds=0 if setup.whole_tier else REDS_UNTIL_DIAGNOSED if fault.diagnosis else 1,
        threads=max(1, paths.threads() // setup.jobs),
        stop=stop,
        pytest_arguments=[*map(str, setup.project.suites), *_reached(fault, setup.project)],
        is_enough=None if setup.whole_tier or not fault.diagnosis else partial(_is_named, fault),
    )


def _is_named(fault: Fault, verdict: Verdict) -> bool:
    return not verdict.green and fault.diagnosis in _kinds(verdict)


def _reached(fault: Fault, project: Project) -> list[str]:
    """Return the option that selects the families which include the file: verdicts of the others cannot change."""
    mine = loaded_names(project.runs_on)
    every = [family for family in families(project).values() if not mine or family.name in mine]
    named = fault.family if project.is_ours else ""  # a user's folder may be named differently from its family
    reached = (named,) if named else FamiliesByFile(every).of(project.root / fault.file)
    return [f"--kernel={','.join(reached)}"] if 0 < len(reached) < len(every) else []


def judge(fault: Fault, run: TierRun) -> Trial:
    """Conclude from a run with the fault in it; a run that broke before any verdict shows nothing about the fault."""
    findings = [red for red in run.reds if not red.outcome.is_unanswered]
    broken = next((red for red in findings if red.outcome is Outcome.BUILD_FAILED), None)
    if broken is not None:
        return _trial(fault, run, broken, valid=False, killed=False, note="does not compile: not a valid fault")
    if findings:
        # Prefer the finding that names the expected kind, else take the first.
        telling = next((red for red in findings if fault.diagnosis in _kinds(red)), findings[0])
        return _trial(fault, run, telling, killed=True)
    if run.code is None and not run.verdicts:
        note = f"no case had ended after {run.seconds:.0f} s: give its builds more time (--limit)"
        return _trial(fault, run, None, valid=False, killed=False, note=note)
    if run.code is None:
        return _trial(fault, run, None, killed=True, verdict="HUNG", note="the whole run had to be ended")
    if run.code < 0:
        return _trial(fault, run, None, killed=True, verdict="CRASHED", note=f"the run ended by signal {-run.code}")
    if run.code == 0:
        return _trial(fault, run, None, killed=False, note=f"stays green over {len(run.verdicts)} verdicts: a hole")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.output, re.MULTILINE)
    if run.code == 1 and failed:
        # The test failed without a verdict, or its worker died before it could write one.
        return replace(_trial(fault, run, None, killed=True, verdict="FAILED"), by=failed[1])
    last = next((line for line in reversed(run.output.splitlines()) if line.strip()), "nothing")
    return _trial(fault, run, None, valid=False, killed=False, note=f"its run ended with {run.code} and said: {last}")


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


def _confirmed(trials: Sequence[Trial], setup: TrialSetup, stop: Event) -> Iterator[Trial]:
    killers = sorted({trial.by for trial in trials if trial.killed and "::" in trial.by})
    not_green: set[str] = set()
    if killers:
        run = run_tier(
            setup.tier,
            setup.target,
            setup.folder,
            root=setup.project.root,
            overlay=None,
            limit_seconds=setup.limit_seconds,
            most_reds=0,
            threads=paths.threads(),
            stop=stop,
            pytest_arguments=[str(setup.folder / killer) for killer in killers],
        )
        green = {verdict.test for verdict in run.verdicts if verdict.green}
        not_green = {red.test for red in run.reds} | (set(killers) - green)
    for trial in trials:
        if trial.by in not_green:
            yield replace(trial, killed=False, note=f"{trial.by} is not green without the fault either")
        else:
            yield trial
