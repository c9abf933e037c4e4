"""``bitgate ci plan`` and ``ci durations``: who runs what in a night, and how long it took in those before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitgate.core.errors import UsageError
from bitgate.core.settings import MOST_SECONDS
from bitgate.results.shard import SETUP_SECONDS

if TYPE_CHECKING:
    from bitgate.core.project import Project
    from bitgate.results.run_plan import RunPlan


HISTORY_RUNS = 20
"""Runs of a history by which cases are estimated."""


def plan(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the plan to FILE.")],
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    target: Annotated[
        list[str] | None, typer.Option(help="Plan a target, present or not; repeatable [--matrix's].")
    ] = None,
    matrix_file: Annotated[
        Path | None, typer.Option("--matrix", help="Read what `ci matrix --out` wrote [the tier's matrix].")
    ] = None,
    shards: Annotated[
        list[str] | None, typer.Option(metavar="N|TARGET=N", help="Cut every target, or one, into N parts; repeatable.")
    ] = None,
    shard_seconds: Annotated[
        float | None,
        typer.Option(metavar="S", min=1, max=MOST_SECONDS, help="Cut parts that end after S seconds on one worker."),
    ] = None,
    setup_seconds: Annotated[
        float,
        typer.Option(metavar="S", min=0, max=MOST_SECONDS, help="Reserve S of these seconds for a shard's setup."),
    ] = SETUP_SECONDS,
    durations: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Estimate by the tables of `ci durations` in FOLDER."),
    ] = None,
    select: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plan only the cases that `ci select --out` wrote."),
    ] = None,
    base: Annotated[
        str, typer.Option(metavar="REV", help="Plan only what changes since REV can turn red; empty: all.")
    ] = "",
    history: Annotated[str, typer.Option(metavar="FILE|URL", help="Estimate by the durations in this history.")] = "",
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Take only kernels whose family.instance matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="Load a user's kernel declaration.")] = None,
    suites: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Take the suites of this folder [the project's].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Plan a run over all targets and shards.

    Every case of it must end with a verdict; one hash is over all of it. Targets default to those of --matrix.
    """
    from bitgate.core.project_file import find
    from bitgate.core.targets import target_id
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.lab.planning.collect import print_whose_suites
    from bitgate.lab.planning.night import budgets_of
    from bitgate.lab.planning.shards import Sizes, make_run_plan
    from bitgate.results.targets_file import read_targets

    project = with_operations(find(suites).of_suites(suites).loading(to_load(load)))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    print_whose_suites(project)
    if suites is None:
        project.tables()  # without a suite pytest would not know our options
    targets = [target_id(name).name for name in target or []]
    targets = targets or targets_planned(matrix_file, tier, project)
    sizes = Sizes.of(shards or [], targets, shard_seconds, setup_seconds)
    if history and durations:
        raise UsageError("--durations and --history: give one of them")
    with _recorded(history, durations) as recorded:
        config = read_targets(project.targets, project.tiers) if project.targets else None
        made = make_run_plan(tier, targets, sizes, project, kernel, recorded, select, base, budgets_of(config, targets))
    made.write(out)
    if as_json:
        typer.echo(json.dumps({"plan": _document(made, out)}))
        return 0
    if not made.parts:
        typer.echo(f"nothing to run: no change since {base} can turn a case of {tier} red")
    for name in made.targets:
        typer.echo(_format_target(made, name))
    typer.echo(f"{out}  {sum(part.cases for part in made.parts)} cases; plan {made.id[:12]}")
    return 0


@contextmanager
def _recorded(history: str, durations: Path | None) -> Iterator[Path | None]:
    """Yield the folder of durations: that which is stated, or one made of a history, if that has some."""
    if not history:
        yield durations
        return
    from bitgate.lab.history.durations import as_verdicts
    from bitgate.lab.history.durations import durations as known
    from bitgate.lab.history.query import last_runs
    from bitgate.lab.history.store import opened
    from bitgate.suite.recorded import note_runs

    with TemporaryDirectory() as name, opened(history) as store:
        with store.reading() as connection:
            chosen = last_runs(connection, HISTORY_RUNS, may_be_empty=True)
            noted = note_runs(as_verdicts(known(connection, chosen)), Path(name))
        yield Path(name) if noted else None


def durations(
    results: Annotated[
        list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Read results files, or folders of them.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Add to a <target>.json each in FOLDER.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> int:
    """Write the seconds of past runs, for `ci plan`.

    `ci plan --durations FOLDER` reads them on machines that never ran a case. The last seven runs of a case count,
    apart by the class of machine. Written into a suites folder's `durations`, the tables are what every checkout plans
    by.
    """
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import with_operations
    from bitgate.results.report.source import find_sources
    from bitgate.suite.recorded import note_runs

    with_operations(find())  # the cases of a user's operation are read as problems, too
    verdicts = [verdict for source in find_sources(results) for verdict in source.verdicts]
    noted = note_runs(verdicts, out)
    if not noted:
        raise UsageError(f"{', '.join(map(str, results))}: no case was compared, so nothing is known of its seconds")
    if as_json:
        typer.echo(json.dumps({"durations": [asdict(one) | {"file": str(one.file)} for one in noted]}))
        return 0
    for one in noted:
        typer.echo(f"{one.file}  {one.cases} cases in {one.runs} runs on {one.machine}")
    return 0


def targets_planned(matrix_file: Path | None, tier: str, project: Project) -> list[str]:
    from bitgate.lab.ci.matrix import cells, targets_of
    from bitgate.results.targets_file import read_targets

    if matrix_file:
        return targets_of(matrix_file)
    return [cell.target for cell in cells(read_targets(project.ci_targets, project.tiers), tier) if cell.runs]


def _format_target(made: RunPlan, target: str) -> str:
    """Format how a target is split; in seconds where they are known."""
    parts = [part for part in made.parts if part.target == target]
    said = f"{target:<8} {sum(part.cases for part in parts)} cases in {len(parts)} shards"
    lengths = [part.length for part in parts if part.length]
    seconds = [length.seconds for length in lengths]
    if not any(seconds):
        return said
    mean, case = sum(seconds) / len(seconds), max(length.longest for length in lengths)
    return f"{said}, {mean:.1f} s each on one worker (longest {max(seconds):.1f} s, a case {case:.1f} s)"


def _document(made: RunPlan, out: Path) -> dict[str, Any]:
    from bitgate.results.shard import limit_minutes

    parts = [
        {
            "target": part.target,
            "shard": part.shard,
            "cases": part.cases,
            "seconds": part.length.seconds if part.length else None,
            "limit_minutes": limit_minutes(part.length) if part.length else None,
        }
        for part in made.parts
    ]
    return {"file": str(out), "id": made.id, "tier": made.tier, "commit": made.commit, "shards": parts}
