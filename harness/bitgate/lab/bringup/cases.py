"""Steps 6 and 7: probes of the platform, and the smallest case of each family and type, in separate processes.

A process is used again after a green case; a red case is run once more, alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import is_emulated
from bitgate.kernel.build.overlay import QUICK
from bitgate.kernel.loading import loaded_names
from bitgate.kernel.registry import families
from bitgate.kernel.resolved import Kernel
from bitgate.lab.bringup.blame import Blame, blamed_cases
from bitgate.lab.bringup.finding import RIGHT_UNOPTIMISED, BringupStep, RedCase, StepFinding, StepResult, blamed
from bitgate.model import parse_case_id
from bitgate.results.record import Outcome, Verdict, to_event
from bitgate.runtime.probe import NEEDS
from bitgate.runtime.targets import platform_of
from bitgate.suite.known_bugs import KnownBugs
from bitgate.suite.planning import Setting, check_setting
from bitgate.suite.suites import planned_tests, with_tables
from bitgate.verify.planned import PlannedCase
from bitgate.verify.process import CaseProcess, Opening
from bitgate.worker.child import Output

Report = Callable[[str], None]
Keep = Callable[[Mapping[str, Any]], None]
"""Receives each verdict's line at once."""

SECOND_OPINIONS = 2
_OF_CODE = (Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED, Outcome.CRASHED, Outcome.HUNG)
"""Outcomes that compiled code can cause."""
PROBE_CASE, PROBE_FAMILY = "probe_platform", "platform_probe"


def probe_cases(target: str) -> list[PlannedCase]:
    family = families(target=target)[PROBE_FAMILY]
    problem = parse_case_id(PROBE_CASE)
    return [
        PlannedCase(problem, Kernel(family, instance), "probe", target=target, suite="platform")
        for instance in family.instances
    ]


def tiny_cases(target: str, project: Project, kernel: str = "") -> list[PlannedCase]:
    """Return for each family and type the case with the least work in the tables, preferably of the first tier.

    Raises UsageError for a bad table, or an unknown kernel.
    """
    setting = Setting(
        target=target,
        platform=platform_of(target),
        families=families(project),
        kernel=kernel,
        loaded=loaded_names(project.runs_on),
    )
    tables = project.tables()
    check_setting(with_tables(setting, tables))
    chosen: dict[tuple[str, str], PlannedCase] = {}
    for planned in sorted(planned_tests(setting, tables), key=_work):
        if planned.no_kernel or planned.refused or planned.zero_result or planned.kernel.family.is_probe:
            continue
        # An emulator is tried on each instance: the tier itself would take it too long.
        kind = planned.key.instance if is_emulated(target) else _types(planned)
        chosen.setdefault((planned.key.kernel, kind), planned)
    return [chosen[key] for key in sorted(chosen)]


def _types(planned: PlannedCase) -> str:
    return "_".join(dict.fromkeys(tensor.dtype.name for tensor in planned.problem.tensors.values()))


def _work(planned: PlannedCase) -> tuple[bool, bool, bool, float, str]:
    """Return what orders cases for a first try: those of a single term are last, for they show no loop."""
    problem = planned.problem
    has_loop = problem.operation.numerics.terms(problem) >= LOOP
    return (planned.fill != "exact", planned.schedule != "forward", not has_loop, float(problem.flops), planned.id)


LOOP = 4
"""Terms of a sum, of which the first, the last and one between them are three."""


def probes(step: BringupStep, target: str, project: Project, report: Report, keep: Keep, output: Output) -> StepFinding:
    """Run the probes. A probe that depends on a red one is left out."""
    planned, red_ones = probe_cases(target), set[str]()

    def needless(case: PlannedCase) -> bool:
        return any(name in red_ones for name in NEEDS.get(case.key.instance, ()))

    def on_verdict(verdict: Verdict) -> None:
        red_ones.update([] if verdict.green else [verdict.key.instance])
        keep(to_event(verdict))

    taken = [*_verified(planned, step, Opening(target, project), report, on_verdict, output, needless)]
    return _finding(step, taken, "probes", {})


def tiny(
    step: BringupStep,
    target: str,
    project: Project,
    kernel: str,
    report: Report,
    keep: Keep,
    output: Output,
    second_launcher: str = "",
) -> StepFinding:
    """Run the small cases. On the host red ones are compiled again without optimisation, to check the compiler; those
    of an emulator run on the host, too, and under ``second_launcher``."""
    planned = tiny_cases(target, project, kernel)
    if not planned:
        raise UsageError("no table holds a case for this target")
    opening = Opening(target, project)
    known = _known_bugs(project)
    taken = []
    for case, verdict, note in _verified(planned, step, opening, report, lambda verdict: None, output):
        judged = known.judged(verdict, case)
        keep(to_event(judged))
        taken.append((case, judged, note))
    red = [case for case, verdict, _ in taken if not verdict.green and verdict.outcome in _OF_CODE]
    blames: dict[str, Blame] = {}
    if is_emulated(target):
        reds = [(case, verdict) for case, verdict, _ in taken if not verdict.green]
        blames = blamed_cases(reds, project, step.seconds * emulation.slowness(), second_launcher, output)
    return _finding(step, taken, "cases", _second_opinions(red, step, opening, report, output), blames)


def _known_bugs(project: Project) -> KnownBugs:
    """Return the known bugs, whose failures are not news."""
    known = KnownBugs()
    for table in project.tables():
        known.add_suite(table.parent.name, table)
    known.add_project(project)
    return known


def _verified(
    planned: Sequence[PlannedCase],
    step: BringupStep,
    opening: Opening,
    report: Report,
    on_verdict: Callable[[Verdict], None],
    output: Output,
    needless: Callable[[PlannedCase], bool] = lambda case: False,
) -> Iterator[tuple[PlannedCase, Verdict, str]]:
    """Yield each case with its verdict; for a red one, also the outcome in a separate process."""
    with CaseProcess(opening, progress=report, output=output) as process:
        fresh = True
        for number, case in enumerate(planned, 1):
            if needless(case):
                continue
            report(f"{number}/{len(planned)} {case.case} {case.kernel.name}")
            seconds = step.seconds * emulation.slowness()
            verdict, note = process.verify(case, seconds), ""
            if not verdict.green:
                process.end()
                if not fresh:
                    alone = process.verify(case, seconds)
                    process.end()
                    note = f"in a separate process: {alone.outcome}"
            fresh = not process.is_running
            on_verdict(verdict)
            yield case, verdict, note


def _second_opinions(
    red: Sequence[PlannedCase], step: BringupStep, opening: Opening, report: Report, output: Output
) -> dict[str, str]:
    """Return by case the verdicts at -O1 of the same sources, on the host, where the compiler is the host's."""
    if platform_of(opening.target) != "host" or os.environ.get(QUICK):
        return {}
    quick = replace(opening, environment={**os.environ, QUICK: "1"})
    opinions: dict[str, str] = {}
    for case in red[:SECOND_OPINIONS]:
        if not case.kernel.family.sources or case.kernel.family.opens is not None:
            continue
        report(f"compiled again at -O1: {case.kernel.name}")
        try:
            ((_, verdict, _),) = _verified([case], step, quick, report, lambda verdict: None, output)
        except (UsageError, RuntimeError) as error:
            opinions[case.id] = f"at -O1 it cannot be verified: {error}"
            continue
        opinions[case.id] = RIGHT_UNOPTIMISED if verdict.green else "compiled at -O1 it is wrong too"
    return opinions


def _finding(
    step: BringupStep,
    taken: Sequence[tuple[PlannedCase, Verdict, str]],
    noun: str,
    opinions: Mapping[str, str],
    blames: Mapping[str, Blame] | None = None,
) -> StepFinding:
    found = blames or {}
    reds = tuple(
        RedCase(
            to_event(verdict),
            "; ".join(filter(None, (note, opinions.get(case.id, ""), found[case.id].text if case.id in found else ""))),
            found[case.id].part if case.id in found else None,
        )
        for case, verdict, note in taken
        if not verdict.green
    )
    verdicts = [verdict for _, verdict, _ in taken]
    compared = sum(verdict.compared for verdict in verdicts)
    if not reds:
        return StepFinding(step.name, StepResult.GREEN, f"{len(verdicts)} {noun} green", compared=compared)
    first = reds[0]
    sentence = f"{len(reds)} of {len(verdicts)} {noun} red; {first.kernel}: {first.sentence}"
    return StepFinding(
        step.name, StepResult.RED, _short(sentence), blames=blamed(step, reds), compared=compared, reds=reds
    )


def _short(text: str, longest: int = 600) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest]} ..."
