"""``bitgate faults mutate``: generic mutants of the kernel sources, and the share that the suites kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.cli.args import check_writable
from bitgate.core import paths
from bitgate.core.errors import UsageError, near
from bitgate.core.progress import print_progress, progress_bar
from bitgate.core.project_file import find
from bitgate.core.settings import MOST_SECONDS
from bitgate.kernel.loading import with_operations
from bitgate.lab.planning.collect import print_whose_suites
from bitgate.tools.faults.mutation.mutant import CONDITIONAL
from bitgate.tools.faults.mutation.operators import OPERATORS, parser

if TYPE_CHECKING:
    from bitgate.tools.faults.mutation.score import Score
    from bitgate.tools.faults.mutation.sources import Population
    from bitgate.tools.faults.mutation.trial import MutantTrial

SHOWN = 60


def mutate(
    kernel: Annotated[
        str, typer.Option(metavar="GLOB", help="Mutate kernels by family.instance [all the tier runs].")
    ] = "",
    sample: Annotated[
        int, typer.Option(min=1, max=30000, metavar="N", help="Draw this number of mutants, evenly by family.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Draw the same mutants again from this seed.")] = 0,
    drawn: Annotated[
        int, typer.Option(min=1, metavar="N", help="Show mutants by N cases a family that no suite holds.")
    ] = 400,
    file: Annotated[
        str,
        typer.Option(metavar="GLOB", help="Mutate these sources [all but the C ABI's headers]."),
    ] = "",
    operator: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Draw only mutants of this operator; repeatable [all].")
    ] = None,
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    target: Annotated[str, typer.Option(help="Run on this target: host, or a GPU's [host].")] = "host",
    suites: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Kill mutants with the suites of DIR [the project's].")
    ] = None,
    select: Annotated[str, typer.Option(metavar="FILE", help="Take only the cases whose ids are in FILE.")] = "",
    jobs: Annotated[
        int | None, typer.Option("-j", "--jobs", min=1, help="Try this number of mutants at a time [cores].")
    ] = None,
    limit: Annotated[
        float, typer.Option(min=1, max=MOST_SECONDS, help="End a case with a mutant after these seconds.")
    ] = 60,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep each trial in FILE and skip those it has.",
        ),
    ] = None,
    least: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SCORE", help="End with 1 if the score is lower.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page of matrix and survivors.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Draw mutants of kernel sources and run the tier on each.

    A mutant is generic (< to <=, + to -, 0 to 1, a barrier left out ...), and half of them act only where two drawn
    conditions of the problem meet. All are built into one library with a switch, which turns one on after the other
    until a case of the tier is red. With --target of a GPU here they are those of the lines that its compiler reads.
    Operators: relational, arithmetic, assignment, step, logical, constant, negation, bounds, barrier, axis,
    conditional. Trials are kept in out/<target>/mutants.jsonl, begun anew without --record. The C ABI's headers are
    mutated by --file only: no case of a tier is for them.

    Ends with 0 if it ran: a mutant that survives may be a hole in the suites, or the same program. 1 if the score is
    below --least, 2 for usage or environment, 3 if no mutant could be tried, 130 interrupted (what was tried is kept).
    """
    from bitgate.core import git
    from bitgate.lab.planning.collect import collect_cases
    from bitgate.runtime.targets import named
    from bitgate.tools.faults.mutation import campaign
    from bitgate.tools.faults.mutation.record import MutantRecord
    from bitgate.tools.faults.mutation.sources import population
    from bitgate.verify.opened_target import builder_for

    check_writable(html, record)
    classes = (*OPERATORS, CONDITIONAL)
    for name in operator or ():
        if name not in classes:
            raise UsageError(f"--operator {name}: {near(name, classes)}")
    where = named(target)
    target, builder = where.name, builder_for(where, print_progress)
    parser()  # fails before anything is collected
    project = with_operations(find(suites).of_suites(suites))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    if suites is None:
        project.tables()
        print_whose_suites(project)
    asked = collect_cases(tier, target, project, kernel, select)
    families = asked.built_families()
    if not families:
        raise UsageError(f"{tier} has no case for a kernel of sources{f' called {kernel}' if kernel else ''}")
    builder.runtime()
    builder.native()
    pool = population(builder, families.values(), project, file, operator or ())
    print_progress(_format_supply(pool, seed))
    path = record or paths.out_dir() / target / "mutants.jsonl"
    if record is None:
        path.unlink(missing_ok=True)
    kept = MutantRecord(path, tier, target, git.commit_of(project.root))
    known = kept.known(mutant for name in families for mutant in pool.candidates(name, seed))
    if known:
        print_progress(f"{len(known)} mutants were tried before: {path}")
    counted = sum(trial.fate.counts for trial in known.values())

    def done(trial: MutantTrial) -> None:
        nonlocal counted
        kept.add(trial)
        counted += trial.fate.counts
        if trial.fate.counts:
            _print_trial(trial, f"{counted}/{sample}", as_json)
        bar.reach(min(counted, sample), f"{sample} mutants")

    count = jobs or paths.threads()
    bench = campaign.MutationSetup(
        builder, families, asked.questions, asked.opening, sample, drawn, seed, limit, count, print_progress
    )
    try:
        with progress_bar("mutants", sample) as bar:
            score = campaign.run(bench, pool, known, done)
    except KeyboardInterrupt:
        if path.exists():
            print_progress(f"what was tried is in {path}: go on with --record {path} and the same --sample and --seed")
        raise
    if as_json:
        typer.echo(json.dumps(_document(score, pool, seed), indent=1))
    else:
        typer.echo(_format_score(score))
    if html is not None:
        from bitgate.tools.faults.mutation.page import write_page

        write_page(html, score, seed)
    value = score.killed.value
    if value is None:
        return 3
    return 1 if least is not None and value < least else 0


def _format_supply(pool: Population, seed: int) -> str:
    left = ", ".join(f"{count} {why}" for why, count in sorted(pool.left_out.items()))
    return f"{len(pool)} mutants to draw from (seed {seed}); left out: {left or 'none'}"


def _print_trial(trial: MutantTrial, place: str, as_json: bool) -> None:
    kinds = f" ({', '.join(trial.kinds)})" if trial.kinds else ""
    end = f"{trial.verdict}{kinds} by {trial.by}" if trial.by else f"{trial.cases} cases"
    typer.echo(f"{place:>9} {trial.fate.value:<14} {trial.mutant.name}  {trial.seconds:.1f} s  {end}", err=as_json)


def _format_score(score: Score) -> str:
    from bitgate.tools.faults.mutation.trial import Fate

    counts, lines = score.counts, []
    for trial in score.survivors[:SHOWN]:
        mutant = trial.mutant
        where = f", where {mutant.condition}" if mutant.condition else ""
        lines += [f"\n{mutant.place}  {mutant.operator}{where}; {trial.cases} cases of {trial.family} meet it"]
        lines += [f"  - {' '.join(mutant.original.split())}", f"  + {mutant.mutated}"]
        lines += [
            f"  red: {trial.shown_by}" if trial.shown_by else f"  {trial.drawn} drawn cases that reach it are green"
        ]
    if len(score.survivors) > SHOWN:
        lines.append(f"\n... and {len(score.survivors) - SHOWN} more: --json lists all")
    if score.survivors:
        lines[:0] = ["\nSurvivors: a hole where a drawn case is red, else probably the same program in other words"]
    if score.killed.value is None:
        lines.append("\nno score: no mutant was reached by a case")
    else:
        late = f", {counts[Fate.TIMEOUT]} of them by a case that did not end" if counts[Fate.TIMEOUT] else ""
        parts = {**score.by_family, **score.by_operator}
        lines += ["", *(f"{name:<24} {part.killed}" for name, part in parts.items() if part.killed.whole)]
        lines += [f"score {score.killed} mutants killed{late}", f"of those that a case shows: {score.shown}"]
    fates = (Fate.NOT_REACHED, Fate.NOT_SHOWN, Fate.NOT_COMPILABLE)
    lines.append(f"passed over: {', '.join(f'{counts[fate]} {fate.value}' for fate in fates)}")
    return "\n".join(lines)


def _document(score: Score, pool: Population, seed: int) -> dict[str, Any]:
    draw = {"seed": seed, "sample": score.killed.whole, "mutants": len(pool), "left_out": dict(pool.left_out)}
    return {**score.as_json(), **draw}
