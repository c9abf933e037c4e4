"""Builds the shared libraries of one platform: its HIP runtime, kernel families, and the native helpers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import bitgate
from bitgate import rooms
from bitgate.build import flags
from bitgate.build.cache import Cache
from bitgate.build.content import Contents, sha256
from bitgate.build.errors import BuildError
from bitgate.build.parallel import compile_all
from bitgate.build.paths import SourceTree
from bitgate.build.processes import Processes
from bitgate.build.rocm import find_rocm_runtime
from bitgate.build.toolchain import Compiler, find_hip_compiler, find_host_compiler
from bitgate.build.unit import Unit, UnitStore
from bitgate.errors import UsageError
from bitgate.kernel.declaration import KernelFamily

RUNTIME_SONAME = "libamdhip64.so"
"""hip-python opens this name; a library with it that is loaded already is the one it gets."""


@dataclass(frozen=True)
class _Link:
    """How units become a library; ``needs`` lists libraries that must exist first, linked by their SONAME."""

    file: str
    label: str
    flags: tuple[str, ...]
    needs_runtime: bool = False


class Builder:
    """``platform`` is ``host`` or ``amd``; ``arch`` is the gfx target of ``amd``.

    ``progress`` is called with one line for each step that takes time; by default the lines go to stderr. Nothing is
    printed when everything comes from the cache. UsageError if a compiler is missing or the cache cannot be written.
    """

    def __init__(
        self,
        platform: str = "host",
        progress: Callable[[str], None] | None = None,
        *,
        arch: str | None = None,
        cache: Cache | None = None,
    ) -> None:
        if platform not in ("host", "amd"):
            raise UsageError(f"platform '{platform}': libraries are built for host and amd")
        if platform == "amd" and not arch:
            raise UsageError("platform 'amd': say for which gfx target")
        self.platform = platform
        self.arch = arch or "host"
        self.cache = cache or Cache()
        self._progress = progress or _to_stderr

    @cached_property
    def compiler(self) -> Compiler:
        return find_host_compiler(self.cache) if self.platform == "host" else find_hip_compiler(self.cache)

    def runtime(self) -> Path:
        """The platform's ``libamdhip64.so``: ours for the host, ROCm's own for amd."""
        if self.platform == "amd":
            return find_rocm_runtime()
        folder = rooms.room("kernels") / "platforms" / "host"
        sources = sorted((folder / "runtime").glob("*.cpp")) + sorted((folder / "runtime").glob("*.S"))
        if not sources:
            raise UsageError(f"{folder / 'runtime'} holds no sources: reinstall bitgate, or run from a checkout")
        includes = (folder / "include", folder / "runtime", rooms.room("kernels") / "include")
        units = self._units("host runtime", sources, includes, flags.host_compile(self.compiler.kind))
        link = (*flags.host_link(self.compiler.kind), f"-Wl,-soname,{RUNTIME_SONAME}")
        return self._build(units, _Link(RUNTIME_SONAME, "host runtime", link), includes, {})

    def native(self) -> Path:
        """``libbitgate_native.so``: C++ of the CPU references and fills. Needs no HIP; the same on all platforms."""
        compiler = find_host_compiler(self.cache)
        folder = Path(bitgate.__file__).resolve().parent / "exact" / "native"
        includes = (folder, rooms.room("kernels") / "include")
        sources = sorted(folder.glob("*.cpp"))
        if not sources:
            raise UsageError(f"{folder} holds no sources: reinstall bitgate, or run from a checkout")
        units = self._units("native", sources, includes, flags.host_compile(compiler.kind), compiler)
        link = _Link("libbitgate_native.so", "native", flags.host_link(compiler.kind))
        return self._build(units, link, includes, {}, compiler)

    def family(self, declaration: KernelFamily, overlay: Mapping[str, Path] | None = None) -> Path:
        """The family's shared library for this platform.

        ``overlay`` maps source paths, relative to the folder that holds the rooms, to files that stand in for them.
        Only the units that reach a replaced file are compiled again, and the result is another file.
        """
        if declaration.library is not None:
            return self._prebuilt(declaration)
        if self.platform not in declaration.platforms:
            raise UsageError(
                f"kernel family {declaration.name} is not for platform {self.platform}"
                f" (its declaration names {', '.join(declaration.platforms)})"
            )
        sources = [declaration.folder / source for source in declaration.sources]
        for source in sources:
            if not source.is_file():
                raise UsageError(f"kernel family {declaration.name}: source {source} does not exist")
        kernels = rooms.room("kernels")
        replaced = _real_overlay(overlay or {}, declaration.folder)
        includes: tuple[Path, ...] = (kernels / "include", declaration.folder)
        if self.platform == "host":
            compile_flags = flags.host_kernel(self.compiler.kind)
            link_flags = flags.host_link(self.compiler.kind)
            includes = (kernels / "platforms" / "host" / "include", *includes)
        else:
            compile_flags, link_flags = flags.hip_kernel(self.arch), flags.hip_link(self.arch)
        units = self._units(declaration.name, sources, includes, compile_flags)
        link = _Link(f"lib{declaration.name}.so", declaration.name, link_flags, needs_runtime=self.platform == "host")
        return self._build(units, link, (kernels, declaration.folder), replaced)

    def _units(
        self,
        label: str,
        sources: Sequence[Path],
        includes: tuple[Path, ...],
        compile_flags: tuple[str, ...],
        compiler: Compiler | None = None,
    ) -> list[Unit]:
        compiler = compiler or self.compiler
        return [
            Unit(f"{label} {source.name.partition('.')[0]}", source, includes, compile_flags, compiler)
            for source in sources
        ]

    def _build(
        self,
        units: Sequence[Unit],
        link: _Link,
        folders: Sequence[Path],
        overlay: Mapping[Path, Path],
        compiler: Compiler | None = None,
    ) -> Path:
        """Look up or compile every unit, then look up or link the library of their keys."""
        contents = Contents(self.cache, {str(real): str(other) for real, other in overlay.items()})
        tree = SourceTree(self.cache, folders, overlay)
        store = UnitStore(self.cache, contents, tree)
        compiler = compiler or self.compiler
        try:
            keys = {unit: store.lookup(unit) for unit in units}
            library = self._library_path(link, compiler, keys)
            if library is None or not self.cache.used(library):
                keys |= self._compile(units, keys, store)
                library = self._library_path(link, compiler, keys)
                if library is None:
                    raise KeyboardInterrupt  # the build was stopped before every unit had its object
                self._link(library, link, compiler, [store.object_path(str(keys[unit])) for unit in units])
            contents.save()
            return library
        finally:
            tree.close()

    def _library_path(self, link: _Link, compiler: Compiler, keys: Mapping[Unit, str | None]) -> Path | None:
        if any(key is None for key in keys.values()):
            return None
        key = sha256(compiler.kind, compiler.version, link.file, *link.flags, *(str(key) for key in keys.values()))
        return self.cache.folder / "libraries" / key[:32] / link.file

    def _compile(self, units: Sequence[Unit], keys: Mapping[Unit, str | None], store: UnitStore) -> dict[Unit, str]:
        todo = [unit for unit in units if (key := keys[unit]) is None or not self.cache.used(store.object_path(key))]
        if not todo:
            return {}
        threads = rooms.threads()
        done = 0
        compiler = todo[0].compiler.name
        self._progress(
            f"building {len(todo)} of {len(units)} units with {compiler}, {min(threads, len(todo))} at a time"
        )

        def report(unit: Unit, seconds: float) -> None:
            nonlocal done
            done += 1
            self._progress(f"[{done}/{len(todo)}] {unit.label} ... {seconds:.1f} s")

        return compile_all(todo, store, threads, report)

    def _link(self, library: Path, link: _Link, compiler: Compiler, objects: Sequence[Path]) -> None:
        with self.cache.guarded(), self.cache.lock(library.parent.name):
            if library.is_file():
                return
            needs: list[str] = []
            if link.needs_runtime:
                runtime = self.runtime()
                needs = [f"-L{runtime.parent}", f"-l:{runtime.name}"]
            output = self.cache.temporary(".so")
            command = [*compiler.command, *link.flags, "-o", str(output), *map(str, objects), *needs]
            try:
                finished = Processes().run(command, {"LC_ALL": "C", "HIP_PLATFORM": "amd"})
                if finished is None or finished.code != 0:
                    text = finished.output if finished else ""
                    if "No space left on device" in text:
                        raise self.cache.unusable("No space left on device")
                    raise BuildError(link.label, text)
                self.cache.publish(output, library)
            finally:
                output.unlink(missing_ok=True)
            self.cache.prune()

    def _prebuilt(self, declaration: KernelFamily) -> Path:
        path = declaration.folder / (declaration.library or "")
        if not path.is_file():
            raise UsageError(f"kernel family {declaration.name}: library {path} does not exist")
        return path


def _real_overlay(overlay: Mapping[str, Path], folder: Path) -> dict[Path, Path]:
    real: dict[Path, Path] = {}
    for name, replacement in overlay.items():
        places = (rooms.root() / name, folder / name)
        source = next((place for place in places if place.is_file()), None)
        if source is None:
            raise UsageError(f"cannot replace {name}: no such file in {rooms.root()}")
        if not Path(replacement).is_file():
            raise UsageError(f"cannot replace {name}: {replacement} does not exist")
        real[source] = Path(replacement).resolve()
    return real


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
