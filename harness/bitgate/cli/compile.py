"""``bitgate compile``: builds the shared libraries of a target."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.build import Builder, BuildError, device_report
from bitgate.build.toolchain import INSTALL_ZIG, find_device_compiler, knows
from bitgate.device import targets
from bitgate.errors import UsageError
from bitgate.kernel import registry
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.loading import loaded_names, to_load, with_operations
from bitgate.project import Project
from bitgate.project_file import find
from bitgate.target_id import target_id

app = typer.Typer()

_FIGURES = ("vgprs", "sgprs", "lds", "scratch", "spills", "wavefront")


@dataclass
class _Report:
    """What was built, what failed, and what a reader should know besides."""

    target: str
    objects: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, kernel: str, reason: str, output: str = "") -> None:
        self.failures.append({"kernel": kernel, "reason": reason, "output": output})


@app.command("compile")
def compile_(
    target: Annotated[str, typer.Option(help="host, or a gfx target; the best one present by default.")] = "",
    kernel: Annotated[str, typer.Option(help="Only families with an instance that this glob matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(help="A further declaration.py.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Build the shared libraries of kernel families, or device code alone for a gfx target without ROCm.

    Exit code 1 if a kernel does not compile, or a matrix kernel comes out without matrix instructions.
    """
    wanted = target_id(target or targets.best().name)
    name, platform = wanted.name, wanted.platform
    chosen: dict[str, KernelFamily] = {}
    instances: dict[str, set[str]] = {}
    for family, instance in _asked(kernel, with_operations(find().loading(to_load(load))), name):
        chosen[family.name] = family
        instances.setdefault(family.name, set()).add(instance.group)
    families = [family for family in chosen.values() if platform in family.platforms]
    if not families:
        raise UsageError(f"none of {', '.join(chosen)} is for {name}")
    families = [family for family in families if family.is_built]
    if not families:
        raise UsageError(f"nothing to build: {', '.join(chosen)}: these kernels are no libraries")
    report = _Report(name)
    builder = Builder("host") if platform == "host" else Builder(platform, arch=name)
    device_only = platform == "amd" and _without_rocm(builder)
    if platform != "amd":
        begun = time.monotonic()
        report.objects.append(_library("runtime", name, builder.runtime(), begun))
    for family in families:
        try:
            if platform != "amd":
                begun = time.monotonic()
                report.objects.append(_library(family.name, name, builder.family(family), begun))
            else:
                _device_code(builder, family, instances[family.name], device_only, report)
        except BuildError as error:
            report.fail(family.name, str(error), error.output)
    _print(report, json_)
    if report.failures:
        raise typer.Exit(1)


def _asked(kernel: str, project: Project, target: str) -> list[tuple[KernelFamily, Instance]]:
    """What a glob names; else the owner's kernels in an owner's repository, and all there are in bitgate's."""
    chosen = registry.select(kernel or None, project, target)
    mine = loaded_names(project.declarations) if project.load and not kernel else frozenset()
    return [(family, instance) for family, instance in chosen if not mine or family.name in mine]


def _without_rocm(builder: Builder) -> bool:
    """Whether ziglang has to do: no HIP compiler, or none that knows the target. UsageError if there is neither."""
    try:
        if knows(builder.compiler, builder.arch, builder.cache):
            return False
        obstacle = f"{builder.compiler.name} does not know {builder.arch}"
    except UsageError as error:
        obstacle = str(error)
    try:
        find_device_compiler(builder.cache)
    except UsageError:
        raise UsageError(f"{obstacle}; without ROCm: {INSTALL_ZIG}") from None
    return True


def _device_code(builder: Builder, family: KernelFamily, groups: set[str], device_only: bool, report: _Report) -> None:
    target = report.target
    if device_only:
        stems = {source.partition(".")[0] for source in family.sources}
        paths = builder.code_objects(family, groups if groups <= stems else None)
        units = device_report.units_of_code_objects(paths)
    else:
        library = builder.family(family)
        units = device_report.units_of_library(library, target)
        report.notes.append(f"{family.name}: {library}")
    rows = device_report.rows(family, target, units)
    if not rows:
        report.notes.append(f"{family.name}: no code object found that can be read: no figures, nothing checked")
    report.objects.extend(rows)
    lacking = device_report.without_matrix(family, target, units)
    if lacking is None:
        report.notes.append(f"{family.name}: matrix instructions were not looked for: install llvm-objdump")
    for text in lacking or ():
        report.fail(family.name, f"{family.name}.{text}")


def _library(kernel: str, target: str, path: Path, begun: float) -> dict[str, Any]:
    """Registers and LDS are a GPU code object's: a library for the host has none, hence null."""
    return {
        "kernel": kernel,
        "target": target,
        "path": str(path),
        "bytes": path.stat().st_size,
        "seconds": round(time.monotonic() - begun, 3),
        **dict.fromkeys(_FIGURES),
    }


def _print(report: _Report, as_json: bool) -> None:
    if as_json:
        document = {"objects": report.objects, "failures": report.failures, "notes": report.notes}
        typer.echo(json.dumps(document, indent=2))
        return
    for built in report.objects:
        if built["wavefront"] is None:
            typer.echo(f"{built['kernel']}  {built['path']}  {built['seconds']:.2f} s")
        else:
            where = f"{built['family']}.{built['instance'] or built['unit']}"
            typer.echo(f"{where}  {built['function']}  " + "  ".join(f"{name} {built[name]}" for name in _FIGURES))
    for note in report.notes:
        typer.echo(note)
    for failure in report.failures:
        typer.echo(f"{failure['output']}\n{failure['reason']}".lstrip(), err=True)
