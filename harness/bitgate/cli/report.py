"""``bitgate report``: results files to JUnit, Markdown and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.untrusted import message

if TYPE_CHECKING:
    from bitgate.results.report.junit_dialect import JUnitDialect
    from bitgate.results.report.page.builder import PageBuilder
    from bitgate.results.report.page.past import RunPast
    from bitgate.results.report.summary import Summary

app = typer.Typer(add_completion=False)

RUNS = 60
"""Runs of the history that are looked at, as `history first-bad` does."""


Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page of the run to this file.")]
Junit = Annotated[
    str,
    typer.Option(metavar="DIALECT", help="Write junit.xml for github, gitlab, jenkins or datadog."),
]
Foreign = Annotated[
    list[Path] | None,
    typer.Option("--foreign-junit", metavar="FILE", help="Add another harness' JUnit, as gtest's; repeatable."),
]


@app.command()
def report(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Read results.jsonl files, or folders of them [out]."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write junit.xml and summary.md to this folder [out].")] = None,
    html: Html = None,
    junit: Junit = "",
    foreign: Foreign = None,
    history: Annotated[str, typer.Option(metavar="FILE|URL", help="Show what this history says of the failures.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON document.")] = False,
) -> int:
    """Render results as JUnit and Markdown, and as a page.

    Several files are merged; later attempts win. Files and folder default to $BITGATE_OUT, else out. Ends with 0 if all
    is green, 1 if a defect was found, 3 if nothing was compared.
    """
    from bitgate.cli.after_merge import show_past
    from bitgate.results.report.foreign_junit import read_foreign
    from bitgate.results.report.render import merge

    folder = out or paths.out_dir()
    builder = page_builder(html)
    results = files or [paths.out_dir()]
    summary = merge(
        results,
        folder,
        also=builder.add if builder else None,
        junit=dialect_of(junit),
        foreign=read_foreign(foreign or []),
        watched=True,
    )
    if history:
        show_past(results, folder, summary, history)
    print_summary(summary, folder, as_json)
    if html and builder:
        write_page_of(html, builder, summary, history)
        typer.echo(html, err=as_json)
    return summary.exit_code


def dialect_of(name: str) -> JUnitDialect:
    """Return the dialect that ``--junit`` names, else that of the current folder's project. UsageError if unknown."""
    from bitgate.core.project_file import find
    from bitgate.results.report.junit_dialect import dialect_named

    return dialect_named(name or find().junit)


def page_builder(html: Path | None) -> PageBuilder | None:
    """Return what collects the verdicts of a page, if one is asked for. UsageError if it cannot be written there."""
    if html is None:
        return None
    if html.is_dir():
        raise UsageError(f"--html {html}: a folder: name a file, such as {html / 'index.html'}")
    from bitgate.results.report.page.builder import PageBuilder

    return PageBuilder()


def write_page_of(html: Path, builder: PageBuilder, summary: Summary, history: str) -> None:
    """Write the page of a merged run, with what a history says about it where one is named."""
    from bitgate.results.report.page.html import write_page

    write_page(html, builder, summary, _past_of(builder, history) if history else None)


def _past_of(builder: PageBuilder, history: str) -> RunPast:
    from bitgate.core import git
    from bitgate.lab.history.query import last_runs
    from bitgate.lab.history.run_past import run_past
    from bitgate.lab.history.store import opened

    with opened(history, must_exist=True) as store, store.reading() as connection:
        chosen = last_runs(connection, RUNS + len(builder.runs), may_be_empty=True)
        return run_past(
            connection,
            chosen,
            builder.reds,
            builder.is_green,
            but=builder.runs,
            commits=list(builder.facts.get("commit", ())),
            between=lambda good, bad: git.between(Path.cwd(), good, bad),
            against=f"{len(chosen)} runs of {store.name}",
        )


def print_summary(summary: Summary, folder: Path, as_json: bool) -> None:
    """Print one JSON document about a written report, or its headline and where to read on."""
    if as_json:
        typer.echo(json.dumps({"summary": summary.as_json()}, indent=1))
        return
    for note in summary.notes:
        typer.echo(message(note))
    typer.echo(message(summary.headline))
    from bitgate.results.report.render import report_files

    typer.echo("  ".join(map(str, report_files(folder))))
