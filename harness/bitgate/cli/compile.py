"""``bitgate compile``: builds the shared libraries of a target."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.build import Builder, BuildError
from bitgate.device import targets
from bitgate.errors import UsageError
from bitgate.kernel import registry

app = typer.Typer()


@app.command("compile")
def compile_(
    target: Annotated[str, typer.Option(help="host, or a gfx target; the best one present by default.")] = "",
    kernel: Annotated[str, typer.Option(help="Only families with an instance that this glob matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(help="A further declaration.py.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Build the shared libraries of kernel families. Exit code 1 if one does not compile."""
    name = target or targets.best().name
    platform = targets.platform_of(name)
    chosen = {family.name: family for family, _ in registry.select(kernel or None, load or (), name)}
    families = [family for family in chosen.values() if platform in family.platforms]
    if not families:
        raise UsageError(f"none of {', '.join(chosen)} is for {name}")
    builder = _builder(name, platform)
    objects: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    if platform != "amd":
        begun = time.monotonic()
        objects.append(_object("runtime", name, builder.runtime(), begun))
    for family in families:
        begun = time.monotonic()
        try:
            objects.append(_object(family.name, name, builder.family(family), begun))
        except BuildError as error:
            failures.append({"kernel": family.name, "reason": str(error), "output": error.output})
    if json_:
        typer.echo(json.dumps({"objects": objects, "failures": failures}, indent=2))
    else:
        for built in objects:
            typer.echo(f"{built['kernel']}  {built['path']}  {built['seconds']:.2f} s")
        for failure in failures:
            typer.echo(f"{failure['output']}\n{failure['reason']}", err=True)
    if failures:
        raise typer.Exit(1)


def _builder(target: str, platform: str) -> Builder:
    return Builder("host") if platform == "host" else Builder(platform, arch=target)


def _object(kernel: str, target: str, path: Path, begun: float) -> dict[str, Any]:
    """Registers and LDS are a GPU code object's: a library for the host has none, hence null."""
    figures = dict.fromkeys(("vgprs", "sgprs", "lds", "scratch", "spills", "wavefront"))
    return {
        "kernel": kernel,
        "target": target,
        "path": str(path),
        "bytes": path.stat().st_size,
        "seconds": round(time.monotonic() - begun, 3),
        **figures,
    }
