"""``bitgate compile``: builds the shared libraries of a target."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from bitgate.core import git
from bitgate.core.errors import UsageError
from bitgate.core.progress import print_progress
from bitgate.core.project import Project
from bitgate.core.project_file import find
from bitgate.core.targets import target_id
from bitgate.kernel import registry
from bitgate.kernel.build import Builder, BuildError, device_report, overlay
from bitgate.kernel.build.artefacts import Artefacts
from bitgate.kernel.build.toolchain import INSTALL_ZIG, find_device_compiler, knows
from bitgate.kernel.cache.store import StoreError
from bitgate.kernel.declaration import Instance, KernelFamily
from bitgate.kernel.loading import loaded_names, to_load, with_operations
from bitgate.results.build_manifest import BuildManifest, BuiltLibrary
from bitgate.runtime import targets
from bitgate.runtime.host import RACE
from bitgate.runtime.tools_abi import family as tools_family

app = typer.Typer(add_completion=False)

_FIGURES = ("vgprs", "sgprs", "lds", "scratch", "spills", "wavefront")


@dataclass
class _Report:
    """Report of a build: objects, failures, and notes for a reader."""

    target: str
    objects: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, kernel: str, reason: str, output: str = "") -> None:
        self.failures.append({"kernel": kernel, "reason": reason, "output": output})


@app.command("compile")
def compile_(
    target: Annotated[str, typer.Option(help="Build for this target: host, gfx942 ... [the best present].")] = "",
    kernel: Annotated[str, typer.Option(help="Build only families with an instance that matches.")] = "",
    load: Annotated[list[Path] | None, typer.Option(help="Load one more declaration.py.")] = None,
    tier: Annotated[str, typer.Option(help="Build only what this tier's cases run on [all kernels].")] = "",
    artefacts: Annotated[
        str, typer.Option(metavar="URL", help="Store the libraries in a folder, s3://... (fsspec).")
    ] = "",
    manifest: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write names and hashes for `ci merge --built`.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Build the shared libraries of kernel families.

    Without ROCm the device code of a gfx target is built alone.

    With --artefacts they go into a store, with all else that a run needs, unless it has them of these sources: then
    `bitgate run --artefacts URL` needs no compiler.

    Exit code 1 if a kernel does not compile, or a matrix kernel comes out without matrix instructions.
    """
    wanted = target_id(target or targets.best().name)
    name, platform = wanted.name, wanted.platform
    chosen: dict[str, KernelFamily] = {}
    instances: dict[str, set[str]] = {}
    project = with_operations(find().loading(to_load(load)))
    planned = _of_tier(tier, name, project) if tier else None
    for family, instance in _selected(kernel, project, name):
        if planned is not None and not planned.keys() & {(family.name, False), (family.name, True)}:
            continue
        chosen[family.name] = family
        instances.setdefault(family.name, set()).add(instance.group)
    families = [family for family in chosen.values() if platform in family.platforms]
    if not families:
        raise UsageError(f"none of {', '.join(chosen)} is for {name}")
    families = [family for family in families if family.is_built]
    if not families:
        raise UsageError(f"nothing to build: {', '.join(chosen)}: these kernels are no libraries")
    report = _Report(name)
    store = _store(artefacts, manifest)
    builder = Builder(platform, arch=None if platform == "host" else name, artefacts=store)
    device_only = platform == "amd" and _without_rocm(builder)
    if store:
        families = _all_that_runs(families, project, platform, device_only, name)
    if platform != "amd":
        begun = time.monotonic()
        report.objects.append(_library("runtime", name, builder.runtime(), begun))
    if store:
        begun = time.monotonic()
        report.objects.append(_library("native", "host", builder.native(), begun))
    for family in families:
        try:
            if platform != "amd":
                begun = time.monotonic()
                report.objects.append(_library(family.name, name, builder.family(family), begun))
                for group in _raced_groups(family, planned or {}):
                    begun = time.monotonic()
                    library = builder.family(family.only(group), race=True)
                    report.objects.append(_library(f"{family.name} {group} (race)", name, library, begun))
            else:
                _device_code(builder, family, instances.get(family.name, set()), device_only, report)
        except BuildError as error:
            report.fail(family.name, str(error), error.output)
    if store:
        _list(store, name, project, manifest, report)
    _print(report, json_)
    if report.failures:
        raise typer.Exit(1)


def _of_tier(tier: str, target: str, project: Project) -> dict[tuple[str, bool], set[str]]:
    """Return the instances that the tier's cases run on, by family and whether they are watched for races."""
    from bitgate.suite.suites import make_plan

    found: dict[tuple[str, bool], set[str]] = {}
    for item in make_plan(tier, target, project).cases:
        found.setdefault((item.key.kernel, item.key.schedule == RACE), set()).add(item.key.instance)
    return found


def _raced_groups(family: KernelFamily, planned: Mapping[tuple[str, bool], set[str]]) -> list[str]:
    """Return the groups of instances that a tier watches for races: each is a library."""
    raced = planned.get((family.name, True), set())
    return sorted({instance.group for instance in family.instances if instance.name in raced})


def _store(url: str, manifest: Path | None) -> Artefacts | None:
    if not url:
        if manifest:
            raise UsageError("--manifest says what is in a store: give --artefacts too")
        return None
    if overlay.from_environment() or overlay.quick_build():
        raise UsageError(
            f"--artefacts: {overlay.VARIABLE} or {overlay.QUICK} is set: others are not to run such kernels"
        )
    store = Artefacts(url, pushes=True, progress=print_progress)
    try:
        store.store.make()
    except StoreError as error:
        raise UsageError(f"--artefacts {error}") from None
    return store


def _all_that_runs(
    families: list[KernelFamily], project: Project, platform: str, device_only: bool, target: str
) -> list[KernelFamily]:
    """Add the libraries that fill, compare and verify a GPU's cases."""
    if device_only:
        raise UsageError(f"--artefacts: no HIP compiler for {target} here, and device code alone is nothing that runs")
    if platform == "host":
        return families
    named = {family.name for family in families}
    every = registry.families(project, target).values()
    references = [f for f in every if f.verifies and f.is_built and f.name not in named and platform in f.platforms]
    return [*families, *references, tools_family()]


def _list(store: Artefacts, target: str, project: Project, manifest: Path | None, report: _Report) -> None:
    libraries = tuple(
        BuiltLibrary(one.label, one.target, one.file, one.flavour, one.sha256, one.size, one.compiler)
        for one in sorted(store.listed.values(), key=lambda one: one.label)
    )
    report.notes.append(
        f"{store.url}: {len(libraries)} libraries, {sum(one.size for one in libraries) / 2**20:.1f} MiB"
    )
    if manifest:
        BuildManifest(target, git.commit_of(project.suites[0]), libraries).write(manifest)
        report.notes.append(f"{manifest}: what they are")


def _selected(kernel: str, project: Project, target: str) -> list[tuple[KernelFamily, Instance]]:
    """Return what a glob names; else the user's kernels in a user's repository, and all kernels in bitgate's."""
    chosen = registry.select(kernel or None, project, target)
    mine = loaded_names(project.declarations) if project.load and not kernel else frozenset()
    return [(family, instance) for family, instance in chosen if not mine or family.name in mine]


def _without_rocm(builder: Builder) -> bool:
    """Return whether ziglang must compile: no HIP compiler, or none that knows the target. UsageError if it cannot."""
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
