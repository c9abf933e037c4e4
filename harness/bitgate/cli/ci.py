"""``bitgate ci``: what a workflow asks: which jobs to start, and what their results amount to."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bitgate.cli import ci_plan, ci_select, submit
from bitgate.cli.report import Foreign, Html, Junit
from bitgate.core.errors import UsageError, near
from bitgate.core.files import folders_below

BUILT = "built-*.json"
"""Manifests of builds, as workflows name them."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Plan, select, submit and merge CI jobs.",
)
app.command("plan")(ci_plan.plan)
app.command("select")(ci_select.select)
app.command("durations")(ci_plan.durations)
app.command("submit")(submit.submit)


@app.command()
def matrix(
    tier: Annotated[str, typer.Option(help="Take this tier: smoke or regression [the project's first].")] = "",
    targets_file: Annotated[
        Path | None, typer.Option("--targets", help="Read targets and pools from FILE [the project's].")
    ] = None,
    shards: Annotated[
        list[str] | None, typer.Option(metavar="N|TARGET=N", help="Cut every target, or one, into N jobs; repeatable.")
    ] = None,
    forge: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="github|gitlab|jenkins",
            help="Print the jobs of its pools in the format it takes.",
        ),
    ] = "",
    plan_file: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Print the jobs of this plan's shards only.")
    ] = None,
    unsharded: Annotated[bool, typer.Option("--whole", help="Print one job a target, as for builds.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write jobs and absent targets, for `ci merge --matrix`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the jobs of all pools as one JSON document.")] = False,
) -> int:
    """Print a tier's job matrix: which targets run, and where.

    For a target that does not run it says why. --for prints GitHub's strategy.matrix, GitLab's child pipeline or a list
    for Jenkins.
    """
    from bitgate.core.project_file import find
    from bitgate.lab.ci.forges import FORMS, github
    from bitgate.lab.ci.matrix import BACKENDS, cells, document, jobs, planned, shard_counts
    from bitgate.results.targets_file import read_targets

    if forge and forge not in FORMS:
        raise UsageError(f"--for {forge}: {near(forge, FORMS)}")
    if forge and as_json:
        raise UsageError("--for and --json: each has the whole of stdout: give one of them")
    project = find()
    tier = tier or project.tiers[0]
    project.check_tier(tier)
    path = targets_file or project.ci_targets
    config = read_targets(path, project.tiers)
    found = cells(config, tier, [forge] if forge else BACKENDS)
    if not any(cell.runs for cell in found):
        of = f" on a pool of {forge}" if forge else ""
        raise UsageError(f"{path}: no target runs {tier}{of}: an empty matrix would pass without comparing anything")
    counts = shard_counts(shards or [], [cell.target for cell in found])
    if plan_file:
        found, counts = planned(found, plan_file)
    for cell in found:
        line = f"{cell.target:<8} {cell.tier}  {'run ' if cell.runs else 'skip'}  {cell.reason}"
        typer.echo(line, err=as_json or bool(forge))
    matrix = document(config, found, counts)
    for said in matrix["expired"]:
        typer.echo(f"expired: {said}", err=True)
    if out:
        _write(out, json.dumps(matrix, indent=1) + "\n")
    if as_json or forge:
        typer.echo(FORMS.get(forge, github)(jobs(found, {} if unsharded else counts)), nl=False)
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None


@app.command()
def merge(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Read results files, or folders of them.")
    ],
    out: Annotated[Path, typer.Option(help="Write summary.md and a junit.xml a target to this folder.")],
    matrix_file: Annotated[
        Path | None,
        typer.Option("--matrix", help="Require results of each target that `ci matrix` wrote."),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="Require one verdict for each case that `ci plan` wrote."),
    ] = None,
    built: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Accept only builds that `compile --manifest` wrote; repeat."),
    ] = None,
    annotate: Annotated[
        str,
        typer.Option(metavar="github|gitlab", help="Show red cases in the forge: ::error, codequality.json."),
    ] = "",
    history: Annotated[
        str, typer.Option(metavar="FILE|URL", help="Compare with this history, and read the results into it.")
    ] = "",
    notify: Annotated[str, typer.Option(metavar="URL", help="Post the headline to this webhook.")] = "",
    html: Html = None,
    junit: Junit = "",
    foreign: Foreign = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Merge the results of all jobs; a missing verdict is LOST.

    Every planned case ends with exactly one verdict. Ends with 0 if all is green, 1 if a defect was found or something
    is lost, 3 if nothing was compared.
    """
    from bitgate.cli.report import dialect_of, page_builder, print_summary, write_page_of
    from bitgate.lab.ci.matrix import NightExpectation, expected_of
    from bitgate.results.build_manifest import BuildManifest
    from bitgate.results.plan import PlanError
    from bitgate.results.report.findings import RunFinding
    from bitgate.results.report.foreign_junit import read_foreign
    from bitgate.results.report.render import annotate as annotate_merge
    from bitgate.results.report.render import check_forge
    from bitgate.results.report.render import merge as merge_results
    from bitgate.results.run_plan import RunPlan

    if annotate:
        check_forge(annotate)
    try:
        plan = RunPlan.read(plan_file) if plan_file else None
    except PlanError as error:
        raise UsageError(f"--plan {error}") from None
    expected = expected_of(matrix_file) if matrix_file else NightExpectation()
    builder = page_builder(html)
    summary = merge_results(
        paths,
        out,
        expected_targets=expected.targets,
        plan=plan,
        built=[BuildManifest.read(path) for path in _manifests(built or [])],
        absent=expected.absent,
        findings=[RunFinding("ExpiredGap", said) for said in expected.expired],
        notes=expected.notes,
        also=builder.add if builder else None,
        junit=dialect_of(junit),
        foreign=read_foreign(foreign or []),
        watched=True,
    )
    print_summary(summary, out, as_json)
    if annotate:
        annotate_merge(summary, out, annotate, partial(typer.echo, err=as_json))
    from bitgate.cli.after_merge import after_merge

    after = after_merge(paths, out, summary, history, notify)
    if html and builder:  # its history may have been made right now
        write_page_of(html, builder, summary, "" if after else history)
        typer.echo(html, err=as_json)
    return summary.exit_code or after


def _manifests(stated: list[Path]) -> list[Path]:
    """Return the files that are stated, and those in stated folders. UsageError for a folder without one."""
    found: list[Path] = []
    for path in stated:
        folders = folders_below(path) if path.is_dir() else ()
        below = sorted(place / name for place, names in folders for name in names if fnmatch(name, BUILT))
        if path.is_dir() and not below:
            raise UsageError(f"--built {path}: holds no {BUILT}: it would prove nothing; give what `compile` wrote")
        found += below or [path]
    return found
