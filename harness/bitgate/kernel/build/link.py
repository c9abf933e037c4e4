"""Linking: objects to shared libraries, and assembly to code objects, the last steps of a build of device code."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.processes import Processes
from bitgate.kernel.build.recipe import Recipe
from bitgate.kernel.build.toolchain import Compiler
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import sha256

_LINK = ("-shared", "--no-undefined")
"""A function that no header defines is an error here, not when a GPU loads the code."""


def link_library(
    library: Path,
    recipe: Recipe,
    objects: Sequence[Path],
    runtime: Path | None,
    cache: Cache,
    progress: Callable[[str], None],
) -> None:
    """Link a library into the cache unless another process has done so; ``runtime`` is the HIP runtime that it needs.

    BuildError holds the output of the linker.
    """
    needs = [f"-L{runtime.parent}", f"-l:{runtime.name}"] if runtime else []
    with cache.guarded(), cache.lock(library.parent.name):
        if cache.used(library):
            return
        if recipe.compiler.kind == "zig":
            progress(f"linking {recipe.label}: zig's first link builds its C++ library, about a minute")
        output = cache.temporary(".so")
        words = [*recipe.link_flags, "-o", str(output), *map(str, objects), *recipe.libraries, *needs]
        command = [*recipe.compiler.command, *words]
        try:
            finished = Processes().run(command, {"LC_ALL": "C", "HIP_PLATFORM": "amd"})
            text = finished.output if finished else ""
            if "No space left on device" in text:
                raise cache.unusable("No space left on device")
            if finished is None or finished.code != 0:
                raise BuildError(recipe.label, text)
            cache.publish_artefact(output, library)
        finally:
            output.unlink(missing_ok=True)
        cache.prune()


def link_code_object(name: str, assembly: Path, arch: str, compiler: Compiler, cache: Cache) -> Path:
    """Build ``<name>.co``, the code object of one unit, with its assembly next to it as ``<name>.s``.

    Each unit gets a code object, not each family: a loader reads one metadata note of a code object, and a linker keeps
    one for each unit. BuildError holds the output of the assembler or the linker.
    """
    key = sha256(compiler.kind, compiler.version, name, arch, assembly.stem, *_LINK)[:32]
    linked = cache.folder / "libraries" / key / f"{name}.co"
    with cache.guarded(), cache.lock(key):
        if cache.used(linked) and cache.used(linked.with_suffix(".s")):
            return linked
        zig = compiler.command[0]
        source, relocatable, output = (cache.temporary(suffix) for suffix in (".s", ".o", ".co"))
        try:
            shutil.copyfile(assembly, source)
            target = ("--target=amdgcn-amd-amdhsa", f"-mcpu={arch}")
            _run(name, [zig, "clang", *target, "-c", str(source), "-o", str(relocatable)])
            _run(name, [zig, "ld.lld", *_LINK, str(relocatable), "-o", str(output)])
            cache.publish_artefact(source, linked.with_suffix(".s"))
            cache.publish_artefact(output, linked)
        finally:
            for temporary in (source, relocatable, output):
                temporary.unlink(missing_ok=True)
    return linked


def _run(name: str, command: Sequence[str]) -> None:
    finished = Processes().run(command, {"LC_ALL": "C"})
    if finished is None or finished.code != 0:
        raise BuildError(name, finished.output if finished else "")
