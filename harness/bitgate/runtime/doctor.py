"""Report of what is here to run kernels: targets, toolchains, runtimes, kernels and the cache, with fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec.structs import astuple

from bitgate.core.errors import UsageError
from bitgate.core.project_file import find
from bitgate.kernel import registry
from bitgate.kernel.build import Builder, Compiler, find_hip_compiler, find_host_compiler
from bitgate.kernel.build.errors import first_error
from bitgate.kernel.build.flags import host_compile, host_link
from bitgate.kernel.build.processes import Processes
from bitgate.kernel.build.toolchain import find_cuda_compiler, find_device_compiler, find_rocm_runtime
from bitgate.kernel.cache import Cache
from bitgate.kernel.loading import with_operations
from bitgate.runtime import kfd, targets
from bitgate.runtime.hip_python import import_hip, installed
from bitgate.runtime.targets import Target
from bitgate.runtime.trial import opened

_TRIAL = '#include <vector>\nextern "C" int trial() { return static_cast<int>(std::vector<int>(3).size()); }\n'


def report() -> dict[str, Any]:
    """Return the document that ``--json`` prints."""
    cache = Cache()
    toolchains = [
        _host_toolchain(cache),
        _toolchain("HIP compiler", "amd", find_hip_compiler, cache),
        _toolchain("AMD device code", "", find_device_compiler, cache),
        _toolchain("CUDA compiler", "nvidia", find_cuda_compiler, cache),
    ]
    present = targets.present()
    devices = _devices()
    runtimes = [_entry_from("hip-python", _hip_python, needed=True), *_runtimes(present)]
    libraries, declared = _libraries(cache, toolchains)
    storage = _cache_entry(cache)
    rows = [_target(target, toolchains, runtimes, storage, declared) for target in present]
    problems = [
        {"what": entry["name"], "why": entry["why"], "fix": entry["fix"], "blocks": bool(entry.get("needed"))}
        for entry in [*rows, *devices, *toolchains, *runtimes, storage, declared]
        if entry["why"]
    ]
    return {
        "targets": rows,
        "devices": devices,
        "toolchains": toolchains,
        "runtimes": runtimes,
        "libraries": libraries,
        "cache": storage,
        "problems": problems,
        "smoke": any(row["runs"] for row in rows),
    }


def _entry(name: str, detail: str = "", why: str = "", fix: str = "", **more: Any) -> dict[str, Any]:
    """Build one line of the report: ``detail`` is what was found, ``why`` is empty if all is well."""
    return {"name": name, "found": not why, "detail": detail, "why": why, "fix": fix, **more}


def _entry_from(name: str, ask: Callable[[], str], fix: str = "", **more: Any) -> dict[str, Any]:
    """Build an entry from a call that returns what it found, or raises a UsageError of the form 'why: fix'."""
    try:
        return _entry(name, ask(), **more)
    except UsageError as error:
        why, _, advice = str(error).rpartition(": ")
        return _entry(name, "", why or str(error), fix or advice, **more)


def _host_toolchain(cache: Cache) -> dict[str, Any]:
    """Try the host compiler on three lines: a driver without its standard library is a common half-installation."""

    def ask() -> str:
        compiler = find_host_compiler(cache)
        _try_compiler(compiler, cache)
        return f"{compiler.name} ({' '.join(compiler.command)})"

    return _entry_from("host C++ compiler", ask, platform="host", needed=True)


def _try_compiler(compiler: Compiler, cache: Cache) -> None:
    source, output = cache.temporary(".cpp"), cache.temporary(".so")
    try:
        with cache.guarded():
            source.write_text(_TRIAL)
        flags = [*host_compile(compiler.kind), *host_link(compiler.kind)]
        finished = Processes().run([*compiler.command, *flags, str(source), "-o", str(output)], {"LC_ALL": "C"})
        if finished is None or finished.code != 0:
            text = first_error(finished.output if finished else "")
            raise UsageError(f"{compiler.name} does not compile a trial ({text}): reinstall it, or set CXX")
    finally:
        source.unlink(missing_ok=True)
        output.unlink(missing_ok=True)


def _toolchain(name: str, platform: str, find: Callable[[Cache], Compiler], cache: Cache) -> dict[str, Any]:
    """Describe a GPU platform's compiler. Without that GPU it is needed only to compile for it."""

    def ask() -> str:
        compiler = find(cache)
        return f"{compiler.name} ({' '.join(compiler.command)})"

    return _entry_from(name, ask, platform=platform)


def _runtimes(present: list[Target]) -> list[dict[str, Any]]:
    """ROCm's runtime counts only where there is a GPU for it."""
    amd = any(target.platform == "amd" for target in present)
    entry = _entry_from("ROCm runtime", lambda: str(find_rocm_runtime()))
    if not amd and entry["why"]:
        return [_entry("ROCm runtime", "none, and no AMD GPU that would need it", found=False)]
    return [entry]


def _hip_python() -> str:
    import_hip()
    return installed()


def _devices() -> list[dict[str, Any]]:
    """List the devices that the AMD driver reports, equal ones together, and those that it fails to report."""
    rows = []
    modes = kfd.partitions()
    for gpu, count in Counter(replace(gpu, render=0) for gpu in kfd.driver().gpus).items():
        size = f", {gpu.memory / 2**30:.1f} GiB" if gpu.memory else ""
        each = " each" if count > 1 else ""
        detail = f"{gpu.compute_units} CUs{size}{each}{f'; {modes}' if modes else ''}"
        rows.append(_entry(f"{count} x {gpu.name}", detail, count=count, compute_units=gpu.compute_units,
                           memory=gpu.memory, partitions=modes))  # fmt: skip
    why, _, fix = targets.unseen().rpartition(": ")
    return [*rows, _entry("unlisted", "", why, fix)] if why else rows


def _cache_entry(cache: Cache) -> dict[str, Any]:
    def ask() -> str:
        trial = cache.temporary(".json")
        cache.write_json(trial, {"trial": "x" * 4096})
        trial.unlink()
        return str(cache.folder)

    return _entry_from("build cache", ask, needed=True)


def _libraries(cache: Cache, toolchains: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """List the families, with whether they are built for the host, and one entry for their declarations."""
    try:
        known = registry.families(with_operations(find()))
    except UsageError as error:
        return [], _entry("kernel declarations", "", str(error), "fix the file", needed=True)
    rows = []
    builder = Builder("host", cache=cache)
    for family in known.values():
        path = None
        if toolchains[0]["found"] and "host" in family.platforms:
            path = builder.find(family)
        detail = str(path) if path else "not built yet: the first run builds it"
        rows.append(_entry(family.name, detail, platforms=list(family.platforms), built=path is not None))
    if not rows:
        return rows, _entry("kernel declarations", "", "no kernel family is declared", "reinstall bitgate", needed=True)
    return rows, _entry("kernel declarations", f"{len(rows)} families", needed=True)


def _target(
    target: Target,
    toolchains: list[dict[str, Any]],
    runtimes: list[dict[str, Any]],
    storage: dict[str, Any],
    declared: dict[str, Any],
) -> dict[str, Any]:
    """Describe a target. It runs if it has no obstacle itself and everything that its platform needs is there."""
    package, rocm = runtimes
    compilers = [entry for entry in toolchains if entry["platform"] in ("host", target.platform)]
    needs = [package, storage, declared, *compilers, *([rocm] if target.platform == "amd" else [])]
    lacking = [need for need in needs if need["why"]]
    why, _, fix = target.obstacle.partition(": ")
    if not why and lacking:
        why = f"needs {', '.join(need['name'] for need in lacking)}"
        fix = "; ".join(dict.fromkeys(need["fix"] for need in lacking))
    detail = target.device_name
    if not why and target.platform == "amd":
        found = _entry_from(target.name, lambda: "; ".join(filter(None, astuple(opened(target.name)))))
        detail, why, fix = f"{detail}; {found['detail']}", found["why"], found["fix"]
    return _entry(target.name, detail, why, fix, platform=target.platform, kind=target.kind, runs=not why)
