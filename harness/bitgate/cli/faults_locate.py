"""``bitgate faults locate``: the small edits of a kernel's sources with which red cases pass."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.args import options_named
from bitgate.core import paths
from bitgate.core.choices import REFERENCES
from bitgate.core.errors import UsageError, near
from bitgate.core.progress import print_progress, progress_bar
from bitgate.core.project_file import find
from bitgate.core.settings import MOST_SECONDS
from bitgate.interop.requests import CommandOptions, requested_by
from bitgate.kernel.loading import to_load, with_operations
from bitgate.kernel.resolved import NO_KERNEL
from bitgate.numerics.fill import fill_names
from bitgate.results.record import Outcome, Verdict
from bitgate.results.record.identity import MOST_SEED
from bitgate.runtime.host import RACE
from bitgate.tools.faults.mutation.mutant import short
from bitgate.tools.faults.mutation.operators import parser
from bitgate.verify.planned import PlannedCase, repro_line

if TYPE_CHECKING:
    from bitgate.core.project import Project
    from bitgate.interop.requests import RequestedCase
    from bitgate.tools.faults.locate.candidate import Localization, RepairCandidate
    from bitgate.tools.faults.mutation.trial import MeasuredCase


def locate(
    cases: Annotated[list[str], typer.Argument(metavar="CASE...", help="Name red cases of one kernel family.")],
    kernel: Annotated[str, typer.Option(help="Choose kernels by family.instance [all but references].")] = "",
    target: Annotated[str, typer.Option(help="Run on this target: host, or a GPU's [host].")] = "host",
    fill: Annotated[str | None, typer.Option(help="Fill as the red verdict says [exact].")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Draw the data from this seed.")] = 0,
    schedule: Annotated[str, typer.Option(help="Order host threads as the red verdict says.")] = "forward",
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a kernel option; repeatable.")
    ] = None,
    reference: Annotated[str | None, typer.Option(help="Compare with the reference of the red verdict.")] = None,
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load your kernels.")] = None,
    tier: Annotated[str, typer.Option(help="Confirm by cases of this tier [the project's first].")] = "",
    seconds: Annotated[
        float, typer.Option(min=1, max=MOST_SECONDS, help="Try edits this long; builds do not count.")
    ] = 60,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="Print the first N lines.")] = 5,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Try this number of edits at a time [cores].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Find a defect's line by edits with which cases pass.

    The options are those of the command that a red verdict names, so that `bitgate verify` becomes `bitgate faults
    locate`. Hundreds of edits of the sources as they are now (with $BITGATE_OVERLAY) are built into one library, and
    those that the red cases reach are switched on one at a time. Each with which all of them pass is confirmed on other
    cases of the tier. Lines come first whose edit turns many red cases green and breaks no green one.

    Ends with 0 if an edit was found, or no case is red, 1 if none was found, 2 for usage or environment, 3 if nothing
    was compared, 130 interrupted (what was found is printed).
    """
    from bitgate.lab.planning.collect import collect_cases
    from bitgate.runtime.targets import named
    from bitgate.tools.faults.locate.candidate import Localization
    from bitgate.tools.faults.locate.given import family_of, other_cases, red_cases
    from bitgate.tools.faults.locate.search import LocalizationSetup, undiagnosed
    from bitgate.tools.faults.locate.search import locate as search
    from bitgate.tools.faults.mutation.baseline import plain_verdicts
    from bitgate.verify.opened_target import builder_for
    from bitgate.verify.process import CaseRequest

    parser()  # fails before anything is built
    for name, value, known in (("fill", fill, fill_names()), ("reference", reference, REFERENCES)):
        if value is not None and value not in known:
            raise UsageError(f"--{name} {value}: {near(value, known)}")
    if schedule == RACE:
        raise UsageError("a race is watched for by other libraries: name the case without it, in an order of threads")
    where, project = named(target), with_operations(find().loading(to_load(load)))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    stated = CommandOptions(reference, fill)
    named_cases = [one for case in cases for one in requested_by(case, stated)]
    planned = list(_planned(named_cases, kernel, tuple(sorted(options_named(option).items())), where.name, project))
    planned = [replace(one, seed=seed, schedule=schedule) for one in planned]
    family = family_of(planned)
    asked = collect_cases(tier, where.name, project, f"{family.name}.*", "")
    count = jobs or paths.threads()
    plain = plain_verdicts([undiagnosed(CaseRequest(one)) for one in planned], asked.opening, count, print_progress)
    part, reds = red_cases(family, plain)
    if not reds:
        _check_answered(plain)
    _print_given(plain, reds)
    found = Localization()
    if reds:
        builder = builder_for(where, print_progress)
        builder.runtime()
        builder.native()
        others = [undiagnosed(one) for one in other_cases(part, asked.questions.get(family.name, []), planned)]
        with progress_bar("edits", 1) as bar:
            setup = LocalizationSetup(
                builder=builder,
                family=part,
                project=project,
                opening=asked.opening,
                given=[case.question for case in reds],
                others=others,
                seconds=seconds,
                jobs=count,
                say=print_progress,
                reached=lambda tried, edits: bar.reach(tried / edits, f"{tried} of {edits}"),
            )
            try:
                search(setup, found)
            except KeyboardInterrupt:
                found.is_interrupted = True
    if as_json:
        document = {"family": family.name, "red": [repro_line(case.question.planned) for case in reds]}
        typer.echo(json.dumps({**document, **found.as_json(top)}, indent=1))
    elif reds:
        typer.echo(_format_found(found, top))
    if found.is_interrupted:
        return 130
    if not any(case.verdict.compared for case in plain) and not reds:
        return 3
    return 1 if reds and not found.candidates else 0


def _planned(
    cases: Sequence[RequestedCase], kernel: str, options: tuple[tuple[str, str], ...], target: str, project: Project
) -> Iterator[PlannedCase]:
    from bitgate.verify.selection import candidates, planned_on

    chosen = candidates(kernel or None, dict(options), target, project)
    for one in cases:
        case = PlannedCase(one.problem, NO_KERNEL, one.fill, target=target, reference=one.reference)
        yield from planned_on(case, chosen, kernel or None, project, may_refuse=True)


def _print_given(plain: Sequence[MeasuredCase], reds: Sequence[MeasuredCase]) -> None:
    """Print the red cases that an edit has to turn green, or that none is red."""
    for case in reds:
        planned = case.question.planned
        print_progress(f"{case.verdict.outcome}: {planned.case} on {planned.kernel.name}: {case.verdict.reason}")
    if not reds:
        outcomes = ", ".join(sorted({case.verdict.outcome.value for case in plain}))
        print_progress(f"no case is red ({outcomes} on {len(plain)} kernels): there is nothing to locate")


def _check_answered(plain: Sequence[MeasuredCase]) -> None:
    """Raise UsageError for the first case of which the machine has shown nothing: it may be red."""
    for case in plain:
        if not case.verdict.green:
            planned, verdict = case.question.planned, case.verdict
            raise UsageError(f"{planned.case} on {planned.kernel.name}: {verdict.outcome}: {verdict.reason}")


def _format_found(found: Localization, top: int) -> str:
    lines = found.lines()
    texts = [_format_candidate(one, others) for one, others in lines[:top]]
    if len(lines) > top:
        texts.append(f"... and {len(lines) - top} other lines: --top {len(lines)} lists all")
    tried = f"{found.tried} of {found.edits} edits on the lines that the red cases reach were tried"
    if not found.edits and found.is_interrupted:
        return "no edit was tried before the interrupt"
    if not found.edits:
        return "no line that can be edited is reached by the red cases"
    with_it = f"{len(found.candidates)} of them let the red cases pass" if lines else "with none do the red cases pass"
    return "\n".join([*texts, f"{tried}: {with_it}"])


def _format_candidate(one: RepairCandidate, others: int) -> str:
    mutant = one.mutant
    edit = f"{mutant.file}:{mutant.line}: {short(mutant.original)} -> {short(mutant.mutated) or '(nothing)'}"
    on_others = f"{one.passed} of {one.reds} other red cases pass, {one.broken} of {one.greens} green ones break"
    more = f"; {others} other edits of this line" if others else ""
    return f"{edit}\n    {on_others if one.is_confirmed else 'not tried on other cases'}{more}"


LOCATED = (Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CRASHED, Outcome.CORRUPTED)
"""Outcomes of which an edit of the sources may be looked for that the case passes with."""


def locating(verdict: Verdict) -> str:
    """Return the command that looks for the line of a red case's defect; empty where it does not take the case's
    options: a race, a law or an emulator."""
    words = shlex.split(verdict.repro)
    options = {word.removeprefix("--") for word in words if word.startswith("--")}
    if verdict.outcome not in LOCATED or not options or not options <= set(signature(locate).parameters):
        return ""
    return shlex.join(["bitgate", "faults", "locate", *words[2:]])
