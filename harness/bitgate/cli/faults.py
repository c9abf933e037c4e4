"""``bitgate faults``: seeded defects, and whether the suites find them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.args import check_writable
from bitgate.cli.faults_locate import locate
from bitgate.cli.faults_mutate import mutate
from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.progress import progress_bar
from bitgate.core.project_file import find
from bitgate.core.settings import MOST_SECONDS
from bitgate.kernel.loading import with_operations
from bitgate.lab.planning.collect import collect_cases, print_whose_suites

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bitgate.core.project import Project
    from bitgate.lab.planning.collect import CollectedCases
    from bitgate.tools.faults.fault import Fault
    from bitgate.tools.faults.trial import Trial, TrialSetup

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Plant seeded defects and mutants; report which are found."
)
app.command()(mutate)
app.command()(locate)

FileOption = Annotated[list[Path] | None, typer.Option("--file", help="Read these fault files [the project's].")]
NameOption = Annotated[str, typer.Option("--name", help="Take only faults whose name matches.")]
SWITCHED_SECONDS = 60.0
"""Limit of a case with a fault that is switched on."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


@app.command()
def run(
    file: FileOption = None,
    name: NameOption = "*",
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    target: Annotated[str, typer.Option(help="Run on this target.")] = "host",
    suites: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Find faults with the suites of DIR [the project's].")
    ] = None,
    whole_tier: Annotated[bool, typer.Option("--all", help="Run on after the first red verdict.")] = False,
    switch: Annotated[
        bool, typer.Option("--switch/--no-switch", help="Try faults of one library by a switch, before each alone.")
    ] = True,
    drawn: Annotated[
        int, typer.Option(min=0, metavar="N", help="Draw N cases a family that show what is left open.")
    ] = 0,
    sample: Annotated[
        int, typer.Option(min=0, metavar="N", help="Draw N of the faults, of as few families as hold them [all].")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Draw them by this seed.")] = 0,
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Try this number of faults at a time [cores / 2].")
    ] = None,
    limit: Annotated[
        float, typer.Option(min=1, max=MOST_SECONDS, help="End a run that hangs after these seconds.")
    ] = 900,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep each trial in FILE and skip those it has."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page of the kill matrix.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Plant each fault, run the tier, and report who noticed.

    On the host all faults of a family are built into one library, and switched on one after the other. Each that is not
    found so is planted alone in a copy of the sources, of which only what it changes is rebuilt. With --drawn, those
    that a drawn case shows are not: they are holes, and the command of the case is printed. Ends with 0 if every
    fault was found, 1 if one stayed green (a hole in the suites), 2 if one does not apply or compile.
    """
    from bitgate.core import git
    from bitgate.tools.faults.trial import TrialSetup, exit_code, found_share, shares_by_family, try_faults
    from bitgate.tools.faults.trial_record import TrialRecord

    check_writable(html, record)
    project = with_operations(find(suites).of_suites(suites))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    if suites is None:
        project.tables()  # a project without suites is reported before anything is built
        print_whose_suites(project)
    bench = TrialSetup(tier, target, limit, project, whole_tier, jobs or max(1, paths.threads() // 2))
    faults = _faults(file, name, project)
    by_switch = switch and target == "host" and not whole_tier
    if sample or by_switch:
        asked = collect_cases(tier, target, project, "", "")
    if sample:
        from bitgate.kernel.build.includes import FamiliesByFile
        from bitgate.tools.faults.fault import sampled

        by_file = FamiliesByFile(asked.built_families().values())
        faults = sampled(faults, sample, seed, lambda fault: by_file.of(project.root / fault.file))
    kept = TrialRecord(record, tier, target, git.commit_of(project.root)) if record else None
    tried = kept.known(faults) if kept else {}
    if tried:
        typer.echo(f"{len(tried)} of {len(faults)} faults were tried before: {record}", err=as_json)

    def done(trial: Trial) -> None:
        if kept:
            kept.add(trial)
        _print_trial(trial, as_json)
        ended.append(trial)
        bar.reach(len(ended), f"{sum(one.valid and not one.killed for one in ended)} holes")

    ended: list[Trial] = []
    with progress_bar("faults", len(faults) - len(tried)) as bar:
        if by_switch:
            for trial in _by_switch([fault for fault in faults if fault.name not in tried], bench, asked, drawn):
                done(trial)
                tried[trial.fault.name] = trial
        trials = try_faults(faults, bench, done, tried)
    share, parts = found_share(trials), shares_by_family(trials)
    if as_json:
        document = {"faults": [trial.as_json() for trial in trials], "score": round(share.value or 0, 4)}
        document |= {"interval": share.as_json()["interval"]}
        document |= {"by_family": {name: part.as_json() for name, part in parts.items()}}
        typer.echo(json.dumps(document, indent=1))
    else:
        for name, part in parts.items() if len(parts) > 1 else ():
            typer.echo(f"{name:<24} {part}")
        typer.echo(f"{share.part} of {share.whole} faults found, {len(trials) - share.whole} not valid: {share}")
    if html is not None:
        from bitgate.tools.faults.page import write_page

        write_page(html, trials, tier, target)
    return exit_code(trials)


@app.command("list")
def list_faults(file: FileOption = None, name: NameOption = "*", as_json: JsonOption = False) -> int:
    """List the faults, and the diagnosis that should name each."""
    project = with_operations(find())
    faults = _faults(file, name, project)
    for fault in faults:
        fault.seeded(project.root)
    if as_json:
        names = ("name", "imitates", "file", "diagnosis", "source")
        typer.echo(json.dumps({"faults": [{key: getattr(f, key) for key in names} for f in faults]}, indent=1))
        return 0
    for fault in faults:
        typer.echo(f"{fault.name}\n    {fault.imitates}\n    {fault.file}  {fault.diagnosis}".rstrip())
    return 0


def _by_switch(faults: Sequence[Fault], bench: TrialSetup, asked: CollectedCases, drawn: int) -> Iterator[Trial]:
    """Yield the trials of the faults that are found, or shown by a drawn case, by libraries with all of a family; none
    without tree-sitter."""
    from bitgate.core.progress import print_progress
    from bitgate.kernel.build.builder import Builder
    from bitgate.tools.faults.mutation.campaign import MutationSetup
    from bitgate.tools.faults.mutation.operators import parser
    from bitgate.tools.faults.mutation.seeded import found_by_switch, switchable

    try:
        parser()
    except UsageError as error:
        print_progress(f"each fault is built alone, which takes longer: {error}")
        return
    mutants = switchable(faults, bench.project.root)
    if not mutants:
        return
    builder = Builder(bench.target, print_progress)
    builder.runtime()
    builder.native()
    setup = MutationSetup(
        builder,
        asked.built_families(),
        asked.questions,
        asked.opening,
        sample=len(mutants),
        drawn=drawn,
        seed=0,
        limit=min(bench.limit_seconds, SWITCHED_SECONDS),
        jobs=paths.threads(),
        say=print_progress,
    )
    yield from found_by_switch(setup, mutants, bench.project.root)


def _faults(files: list[Path] | None, name: str, project: Project) -> tuple[Fault, ...]:
    from bitgate.tools.faults.fault import choose, read_faults

    paths = files or project.faults
    if not paths:
        where = project.suites[0] / "faults"
        raise UsageError(f"{project.file}: faults is missing, and {where} holds none: name a file, or give --file")
    return choose(read_faults(paths), name)


def _print_trial(trial: Trial, as_json: bool) -> None:
    """Print a line as soon as it is known; on stderr where stdout is for JSON."""
    state = "found" if trial.killed else "HOLE" if trial.valid else "not valid"
    kinds = f" ({', '.join(trial.kinds)})" if trial.kinds else ""
    typer.echo(
        f"{state:<9} {trial.fault.name}  {trial.seconds:.1f} s  {trial.verdict}{kinds}  {trial.note}", err=as_json
    )
    if trial.sentence:
        typer.echo(f"          {trial.sentence}", err=as_json)
    if trial.by:
        typer.echo(f"          by {trial.by}", err=as_json)
    if trial.killed and trial.diagnosed is False:
        typer.echo(f"          not diagnosed: expected {trial.fault.diagnosis}", err=as_json)
