"""``bitgate ci``: what a workflow asks: which jobs to start, and what their results amount to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from bitgate import rooms
from bitgate.errors import UsageError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Job matrix, and merging of results.")


@app.command()
def matrix(
    tier: Annotated[str, typer.Option(help="smoke or regression.")] = "smoke",
    targets_file: Annotated[
        Path | None, typer.Option("--targets", help="Targets and pools [default: ci/targets.toml].")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the matrix for a workflow, on one line.")] = False,
) -> int:
    """The job matrix of a tier: which targets run, where, and why the others do not."""
    from bitgate.ci.matrix import cells, github_matrix
    from bitgate.ci.targets import TIERS, read_targets

    if tier not in TIERS:
        raise UsageError(f"--tier {tier}: known are {', '.join(TIERS)}")
    path = targets_file or rooms.room("ci") / "targets.toml"
    found = cells(read_targets(path), tier)
    if not any(cell.runs for cell in found):
        raise UsageError(f"{path}: no target runs {tier}: an empty matrix would pass without comparing anything")
    for cell in found:
        line = f"{cell.target:<8} {cell.tier}  {'run ' if cell.runs else 'skip'}  {cell.reason}"
        typer.echo(line, err=as_json)
    if as_json:
        typer.echo(json.dumps(github_matrix(found), separators=(",", ":")))
    return 0


@app.command()
def merge(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="Results files, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Folder for one junit.xml a target, the merged one, and summary.md.")],
    matrix_file: Annotated[
        Path | None,
        typer.Option("--matrix", help="What `ci matrix --json` printed: a target of it without results is red."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Merge the results of all jobs: every planned case ends with exactly one verdict, a missing one is LOST.

    Ends with 0 if all is green, 1 if a defect was found or something is lost, 3 if nothing was compared.
    """
    from bitgate.cli.report import print_summary
    from bitgate.report import merge as merge_results

    expected = _targets_of(matrix_file) if matrix_file else []
    summary = merge_results(paths, out, expected_targets=expected)
    print_summary(summary, out, as_json)
    return summary.exit_code


def _targets_of(matrix_file: Path) -> list[str]:
    try:
        return [cell["target"] for cell in json.loads(matrix_file.read_text())["include"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{matrix_file}: not a matrix of `bitgate ci matrix --json`: {error}") from None
