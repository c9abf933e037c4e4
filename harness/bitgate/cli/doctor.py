"""``bitgate doctor``: what is here, what is not and why, and what would fix it."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from bitgate.runtime.doctor import report

app = typer.Typer(add_completion=False)


@app.command()
def doctor(
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Report targets, toolchains, runtimes and libraries.

    Exit code 2 if no smoke run is possible.
    """
    found = report()
    if json_:
        typer.echo(json.dumps(found, indent=2))
    else:
        for heading, entries in (
            ("targets", found["targets"]),
            *([("AMD devices", found["devices"])] if found["devices"] else []),
            ("toolchains", found["toolchains"]),
            ("runtimes", found["runtimes"]),
            ("kernels", found["libraries"]),
            ("cache", [found["cache"]]),
        ):
            _print(heading, entries)
        runnable = [row["name"] for row in found["targets"] if row["runs"]]
        typer.echo(f"smoke can run on: {', '.join(runnable)}" if found["smoke"] else "smoke cannot run here")
    if not found["smoke"]:
        raise typer.Exit(2)


def _print(heading: str, entries: list[dict[str, Any]]) -> None:
    typer.echo(heading)
    for entry in entries:
        detail = entry["detail"] or "not found"
        typer.echo(f"  {'ok ' if not entry['why'] else '-- '}{entry['name']}: {detail}")
        if entry["why"]:
            typer.echo(f"       why: {entry['why']}")
        if entry["fix"]:
            typer.echo(f"       fix: {entry['fix']}")
