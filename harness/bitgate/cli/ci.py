"""``bitgate ci``: what a workflow asks: which jobs to start, and what their results amount to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.cli.ci_select import select
from bitgate.errors import UsageError

if TYPE_CHECKING:
    from bitgate.project import Project

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Job matrix, plan of shards, selection by changed files, and merging of results.",
)


@app.command()
def matrix(
    tier: Annotated[str, typer.Option(help="smoke or regression [default: the project's first].")] = "",
    targets_file: Annotated[
        Path | None, typer.Option("--targets", help="Targets and pools [default: the project's].")
    ] = None,
    shards: Annotated[
        list[str] | None, typer.Option(metavar="N|TARGET=N", help="Jobs of every target, or of one; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the matrix for a workflow, on one line.")] = False,
) -> int:
    """The job matrix of a tier: which targets run, where, and why the others do not."""
    from bitgate.ci.matrix import cells, github_matrix, shard_counts
    from bitgate.ci.targets import read_targets
    from bitgate.project_file import find

    project = find()
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    path = targets_file or project.ci_targets
    found = cells(read_targets(path, project.tiers), tier)
    if not any(cell.runs for cell in found):
        raise UsageError(f"{path}: no target runs {tier}: an empty matrix would pass without comparing anything")
    for cell in found:
        line = f"{cell.target:<8} {cell.tier}  {'run ' if cell.runs else 'skip'}  {cell.reason}"
        typer.echo(line, err=as_json)
    if as_json:
        counts = shard_counts(shards or [], [cell.target for cell in found])
        typer.echo(json.dumps(github_matrix(found, counts), separators=(",", ":")))
    return 0


@app.command()
def plan(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the plan goes.")],
    tier: Annotated[str, typer.Option(help="smoke or regression [default: the project's first].")] = "",
    target: Annotated[
        list[str] | None, typer.Option(help="A target, present or not; repeatable. Default: those of --matrix.")
    ] = None,
    matrix_file: Annotated[
        Path | None, typer.Option("--matrix", help="What `ci matrix --json` printed. Default: the matrix of the tier.")
    ] = None,
    shards: Annotated[
        list[str] | None, typer.Option(metavar="N|TARGET=N", help="Parts of every target, or of one; repeatable.")
    ] = None,
    kernel: Annotated[str, typer.Option(metavar="GLOB", help="Only these family.instance.")] = "",
    load: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A user's kernel declaration.")] = None,
    suites: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Default: the project's suites.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Plan a run over all targets and shards: every case that must end with a verdict, and one hash over all of it.

    Each job runs its part with `bitgate run --plan FILE --shard I/N`; `ci merge --plan FILE` proves that nothing of it
    is missing. No GPU is needed.
    """
    from bitgate.ci.matrix import shard_counts, targets_of
    from bitgate.cli.planning import make_run_plan
    from bitgate.cli.whose import tell_whose
    from bitgate.kernel.loading import to_load, with_operations
    from bitgate.project_file import find
    from bitgate.target_id import target_id

    project = with_operations(find(suites).of_suites(suites).loading(to_load(load)))
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    tell_whose(project)
    if suites is None:
        project.tables()  # without a suite pytest would not know our options
    targets = [target_id(name).name for name in target or []]
    targets = targets or (targets_of(matrix_file) if matrix_file else _of_tier(tier, project))
    counts = shard_counts(shards or [], targets)
    made = make_run_plan(tier, targets, counts, project, kernel)
    made.write(out)
    cases = {name: sum(len(part.cases) for part in made.of(name)) for name in made.targets}
    if as_json:
        parts = [{"target": part.target, "shard": part.shard, "cases": len(part.cases)} for part in made.shards]
        document = {"file": str(out), "id": made.id, "tier": tier, "commit": made.commit, "shards": parts}
        typer.echo(json.dumps({"plan": document}))
        return 0
    for name, count in cases.items():
        typer.echo(f"{name:<8} {count} cases in {counts[name]} shards")
    typer.echo(f"{out}  {sum(cases.values())} cases; plan {made.id[:12]}")
    return 0


def _of_tier(tier: str, project: Project) -> list[str]:
    from bitgate.ci.matrix import cells
    from bitgate.ci.targets import read_targets

    return [cell.target for cell in cells(read_targets(project.ci_targets, project.tiers), tier) if cell.runs]


@app.command()
def merge(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Results files, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder for one junit.xml a target, the merged one, and summary.md.")],
    matrix_file: Annotated[
        Path | None,
        typer.Option("--matrix", help="What `ci matrix --json` printed: a target of it without results is red."),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="What `ci plan` wrote: each of its cases must have exactly one verdict."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Merge the results of all jobs: every planned case ends with exactly one verdict, a missing one is LOST.

    Ends with 0 if all is green, 1 if a defect was found or something is lost, 3 if nothing was compared.
    """
    from bitgate.cases.plan import PlanError
    from bitgate.cases.run_plan import RunPlan
    from bitgate.ci.matrix import targets_of
    from bitgate.cli.report import print_summary
    from bitgate.report import merge as merge_results

    try:
        plan = RunPlan.read(plan_file) if plan_file else None
    except PlanError as error:
        raise UsageError(f"--plan {error}") from None
    expected = targets_of(matrix_file) if matrix_file else []
    summary = merge_results(paths, out, expected_targets=expected, plan=plan)
    print_summary(summary, out, as_json)
    return summary.exit_code


app.command()(select)
