"""``bitgate report``: results files to JUnit and Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core import paths

if TYPE_CHECKING:
    from bitgate.results.report.summary import Summary

app = typer.Typer(add_completion=False)


@app.command()
def report(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Read results.jsonl files, or folders of them [out]."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write junit.xml and summary.md to this folder [out].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Render results as JUnit and Markdown.

    Several files are merged; later attempts win. Files and folder default to $BITGATE_OUT, else out. Ends with 0 if all
    is green, 1 if a defect was found, 3 if nothing was compared.
    """
    from bitgate.results.report.render import merge

    folder = out or paths.out_dir()
    summary = merge(files or [paths.out_dir()], folder)
    print_summary(summary, folder, as_json)
    return summary.exit_code


def print_summary(summary: Summary, folder: Path, as_json: bool) -> None:
    """Print one JSON document about a written report, or its headline and where to read on."""
    if as_json:
        typer.echo(json.dumps({"summary": summary.as_json()}, indent=1))
        return
    for note in summary.notes:
        typer.echo(note)
    typer.echo(summary.headline)
    from bitgate.results.report.render import report_files

    typer.echo("  ".join(map(str, report_files(folder))))
