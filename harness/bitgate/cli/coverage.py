"""``bitgate coverage``: what a table of cases never reaches, ranked, and the rows that would reach it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bitgate.core.project import Project
    from bitgate.kernel.declaration import KernelFamily

app = typer.Typer(add_completion=False)


@app.command()
def coverage(
    cases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read a .toml or .csv table, gtest source or list of lines.",
        ),
    ] = None,
    dispatch: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Rank paths and thresholds that results or a plan reach."),
    ] = None,
    strength: Annotated[int, typer.Option(min=2, max=4, help="Combine this number of classes.")] = 3,
    assume: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="State what the table does not: NAME=VALUE or VALUE,VALUE."),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="[COLUMN=]VALUE", help="Take only these rows of the table.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Print at most this number of holes.")] = 20,
    generate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write rows that close the holes, as a TOML table.")
    ] = None,
    until: Annotated[float, typer.Option(min=0.01, max=1.0, help="Stop generating rows at this share covered.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Draw the generated rows from this seed.")] = 1,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with the pairwise matrix.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Report combinations of factor classes that no case has.

    The most important come first, each with one row that closes it. Rank: fewer classes first, then systematic ones,
    then closer to a dispatch threshold, then more common. Without --cases the suites of the repository are read.
    """
    from bitgate.core.errors import UsageError
    from bitgate.core.project_file import FILE, find
    from bitgate.interop import in_words
    from bitgate.kernel.loading import with_operations
    from bitgate.model.space.table import TableRequest
    from bitgate.tools.coverage.assume import Assumptions, empty_table, factor_names
    from bitgate.tools.coverage.document import build_document, print_document
    from bitgate.tools.coverage.readers import read, read_suites
    from bitgate.tools.coverage.survey import surveys

    if dispatch:
        _dispatch(dispatch, top, as_json)
        return
    project = with_operations(find())
    if cases is None and generate is None and project.file is None:
        raise UsageError(
            "nothing to look at: name a table with --cases FILE, results with --dispatch FILE, or make a table with"
            f" --generate FILE; a repository with a {FILE} has its suites looked at"
        )
    assumptions = Assumptions.parse(assume or (), factor_names())
    question = TableRequest(tuple(_where(text) for text in where or ()), assumptions.operation)
    if cases is not None:
        table = read(cases, question)
    else:
        table = empty_table() if generate is not None else read_suites(project, question)
    found = surveys(table, assumptions, strength, _users_families(project))
    closing = None
    if generate is not None:
        from bitgate.tools.coverage.generate import close, write_rows

        parts = [close(survey, until, seed) for survey in found]
        rows = [row for part in parts for row in part.rows]
        write_rows(generate, rows, table.source, strength, seed)
        closing = {
            "file": str(generate),
            "rows": len(rows),
            "covered": sum(part.covered for part in parts),
            "total": sum(part.total for part in parts),
        }
    document = build_document(table, found, assume or [], top) | {"generated": closing}
    if html is not None:
        from bitgate.tools.coverage.page import write_page

        write_page(html, found, document)
    if as_json:
        print(json.dumps(document, indent=1))
    else:
        print_document(document, top)
        for line in in_words(table.refused, len(table.rows)):
            print(line)


def _users_families(project: Project) -> list[KernelFamily]:
    """Return the kernels that a repository's suites run on: their tiles are factors."""
    from bitgate.kernel.loading import loaded_names
    from bitgate.kernel.registry import families

    mine = loaded_names(project.runs_on)
    return [family for name, family in families(project).items() if name in mine] if mine else []


def _dispatch(files: list[Path], top: int, as_json: bool) -> None:
    from bitgate.core.project_file import find
    from bitgate.kernel.loading import loaded_names, with_operations
    from bitgate.kernel.registry import families
    from bitgate.tools.coverage.dispatch import dispatch_coverage, format_report
    from bitgate.tools.coverage.ran import read_ran

    project = with_operations(find())
    known, mine = families(project), loaded_names(project.runs_on)
    # In a user's repository bitgate's kernels do not matter.
    records = read_ran(files, known)
    found = dispatch_coverage(records.ran, {name: known[name] for name in known if not mine or name in mine})
    if as_json:
        print(json.dumps({"dispatch": [way.as_json() for way in found], "unknown": dict(records.unknown)}, indent=1))
    else:
        print("\n".join(filter(None, [format_report(found, top), records.words])))


def _where(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    return (name.strip(), value.strip()) if found else ("", text.strip())
