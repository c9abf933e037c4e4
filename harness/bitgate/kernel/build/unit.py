"""One translation unit: found in the cache by the content of every file it reaches, or compiled.

A unit is known by its source's name, flags and compiler. For each set of file contents that it was compiled from, its
manifest holds the list of files (from the compiler's depfile) with their hashes, and the object's key.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.core.untrusted import is_safe
from bitgate.kernel.build.errors import BuildError, first_error
from bitgate.kernel.build.hip_source_check import unsupported_on_host
from bitgate.kernel.build.processes import Processes, ProcessResult
from bitgate.kernel.build.source_tree import SourceTree, local, portable
from bitgate.kernel.build.toolchain import OLDEST, Compiler, ToolchainKind
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, sha256

PRELUDE_KINDS: tuple[ToolchainKind, ...] = ("gnu",)

FEW_UNITS = 4
"""Units that take less time than the header before them."""


@dataclass(frozen=True)
class Prelude:
    """``includes``: where the header finds others, which is less than where its units do."""

    source: Path
    includes: tuple[Path, ...]


def prelude_of_kernels(kind: ToolchainKind, folder: Path, platform_includes: tuple[Path, ...]) -> Prelude | None:
    """Of bitgate's own kernels: another's may define what a header's meaning hangs on."""
    kernels = own_kernels()
    if not folder.is_relative_to(kernels):
        return None
    return _prelude(kind, kernels / "platforms" / "host" / "include" / "hip" / "prelude.hpp", platform_includes)


def prelude_of_host_code(kind: ToolchainKind, kernels: Path) -> Prelude | None:
    """Of the host's HIP runtime and the native helpers, in that room."""
    include = kernels / "include"
    return _prelude(kind, include / "bitgate" / "standard.hpp", (include,))


def _prelude(kind: ToolchainKind, header: Path, includes: tuple[Path, ...]) -> Prelude | None:
    """None where nobody takes one, and for kernels of a commit that had none yet."""
    return Prelude(header, includes) if kind in PRELUDE_KINDS and header.is_file() else None


_MANIFEST_ENTRIES = 24
_HEADERS_KEPT = 2
"""Of each precompiled header, which has 80 MiB: what stood in its files last, and before that."""
_ATTEMPTS = 3
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".cuh", ".inc")
_UNKNOWN_ARCHITECTURE = re.compile(r"invalid target ID|cannot find ROCm device library|unsupported HIP gpu arch")


@dataclass(frozen=True)
class TranslationUnit:
    """A source file with what it is compiled by. ``label`` names it in progress lines; paths are real ones.

    With a ``text`` the source is generated: no such file lies in its folder, but what it includes does. A unit that
    ``is_header`` is no object but a precompiled header.
    """

    label: str
    source: Path
    includes: tuple[Path, ...]
    flags: tuple[str, ...]
    compiler: Compiler
    text: str | None = None
    prelude: Prelude | None = None
    is_header: bool = False

    @property
    def header(self) -> TranslationUnit | None:
        """Its prelude, to be compiled before it."""
        if self.prelude is None:
            return None
        source, includes = self.prelude.source, self.prelude.includes
        return TranslationUnit(f"header {source.name}", source, includes, self.flags, self.compiler, is_header=True)

    @property
    def identity(self) -> str:
        """What the unit is whatever its files contain."""
        return sha256(
            portable(str(self.source)),
            *(portable(str(include)) for include in self.includes),
            *self.flags,
            self.compiler.kind,
            self.compiler.version,
            *self.compiler.command[1:],
            *([] if self.text is None else [self.text]),
            *([] if self.prelude is None else ["prelude", portable(str(self.prelude.source))]),
            # A precompiled header names its files by their places: each checkout has its own.
            *(["header", str(self.source)] if self.is_header else []),
        )[:32]


class UnitStore:
    """Objects in the cache."""

    def __init__(self, cache: Cache, contents: Contents, tree: SourceTree) -> None:
        self.cache = cache
        self.contents = contents
        self.tree = tree

    def object_path(self, key: str) -> Path:
        return self.cache.folder / "objects" / f"{key}.o"

    def header_path(self, key: str) -> Path:
        """g++ takes it in the place of the header that is called so without the suffix."""
        return self.cache.folder / "objects" / f"{key}.hpp.gch"

    def artefact_path(self, unit: TranslationUnit, key: str) -> Path:
        return self.header_path(key) if unit.is_header else self.object_path(key)

    def has(self, unit: TranslationUnit, key: str | None) -> bool:
        """Is what the key names there, as it was made?"""
        return key is not None and self.cache.used(self.artefact_path(unit, key))

    def lookup(self, unit: TranslationUnit) -> str | None:
        """The key of the object that the files' present content gives, if a compiler has ever told it."""
        for entry in self._entries(unit):
            files = entry["files"]
            if all(content is not None and self.contents.of(local(name)) == content for name, content in files):
                return str(entry["object"])
        return None

    def reached(self, unit: TranslationUnit) -> list[str]:
        """The files that the object of today's contents was compiled from."""
        return self._files(unit, self.lookup(unit) or "")

    def compile(self, unit: TranslationUnit, processes: Processes) -> str | None:
        """Compile and store; the object's key, or None once the build was stopped. BuildError if it does not compile.

        A file that is edited while the compiler runs makes it unknown what was compiled: then compile again. The
        prelude is taken as it was compiled before, if it was, and if no file of it is replaced.
        """
        output = self.cache.temporary(".o")
        depfile = self.cache.temporary(".d")
        source = self._source(unit)
        try:
            for _ in range(_ATTEMPTS):
                begun = time.time_ns()
                prelude = self._prelude(unit)
                command = self._command(unit, source, output, depfile, prelude)
                finished = processes.run(command, self._environment())
                if finished is None:
                    return None
                if finished.code != 0:
                    raise self._failure(unit, finished)
                # A generated source is known by the unit's identity, the text of a precompiled header by that of the
                # real one.
                ours = {source} if unit.text is not None else set()
                ours |= {str(self._text_of_header(prelude))} if prelude else set()
                files = [self.tree.real(path) for path in read_depfile(depfile.read_text()) if path not in ours]
                if prelude is not None and unit.header is not None:
                    files += self._files(unit.header, prelude)
                if not any(_changed_since(path, begun) for path in files):
                    return self._store(unit, files, output)
            raise UsageError(f"{unit.source}: it, or a header of it, keeps changing while it is compiled; run again")
        finally:
            output.unlink(missing_ok=True)
            depfile.unlink(missing_ok=True)

    def ask(self, unit: TranslationUnit, question: Sequence[str], processes: Processes) -> ProcessResult | None:
        """What the compiler says of a unit when it is to do something else than compile it; None once it was stopped.
        Places are those of the real tree."""
        command = [*self._reading(unit, None), *question, self._source(unit)]
        finished = processes.run(command, self._environment())
        if finished is None or not self.tree.prefix:
            return finished
        return ProcessResult(finished.code, finished.output.replace(self.tree.prefix, ""))

    def _prelude(self, unit: TranslationUnit) -> str | None:
        """The key of the precompiled header that a unit can begin with."""
        if unit.header is None:
            return None
        self.contents.forget()
        key = self.lookup(unit.header)
        return key if self.has(unit.header, key) else None

    def _files(self, unit: TranslationUnit, key: str) -> list[str]:
        """Those that an artefact was made from."""
        return [local(name) for entry in self._entries(unit) if entry["object"] == key for name, _ in entry["files"]]

    def _source(self, unit: TranslationUnit) -> str:
        """Where the compiler reads the source: a generated one in the cache, where its errors can be looked up."""
        if unit.text is None:
            return f"{self.tree.prefix}{unit.source}"
        path = self._generated(unit) / unit.source.name
        with self.cache.guarded():
            temporary = self.cache.temporary(".source")
            temporary.write_text(unit.text)
            self.cache.publish(temporary, path)
        return str(path)

    def _generated(self, unit: TranslationUnit) -> Path:
        return self.cache.folder / "generated" / unit.identity

    def _command(
        self, unit: TranslationUnit, source: str, output: Path, depfile: Path, prelude: str | None = None
    ) -> list[str]:
        return [
            *self._reading(unit, prelude),
            *_dependencies(unit.compiler.kind, depfile),
            # zig's clang lacks the tools to make a code object in one go: its "object" is assembly (device_code).
            "-S" if unit.compiler.kind == "zig-hip" else "-c",
            source,
            "-o",
            str(output),
        ]

    def _reading(self, unit: TranslationUnit, prelude: str | None) -> list[str]:
        """The compiler with what decides how it reads a unit."""
        prefix = self.tree.prefix
        map_prefix = f"{'-Xcompiler=' if unit.compiler.kind == 'nvcc' else ''}-ffile-prefix-map="
        return [
            *unit.compiler.command,
            *unit.compiler.headers,
            *unit.flags,
            *(f"-I{prefix}{include}" for include in unit.includes),
            # The object must not depend on where the sources lie: __FILE__ and debug lines lose the place.
            f"{map_prefix}{prefix}{local('{root}')}=.",
            *([] if unit.text is None else [f"{map_prefix}{self._generated(unit)}=generated"]),
            *self._begin(unit, prelude),
        ]

    def _begin(self, unit: TranslationUnit, prelude: str | None) -> list[str]:
        if unit.is_header:
            return ["-x", "c++-header"]
        if unit.prelude is None:
            return []
        text = f"{self.tree.prefix}{unit.prelude.source}"
        return ["-include", text if prelude is None else str(self._text_of_header(prelude))]

    def _text_of_header(self, key: str) -> Path:
        """What g++ reads where it does not take the precompiled one beside it."""
        return self.header_path(key).with_suffix("")

    def _environment(self) -> dict[str, str]:
        return {"LC_ALL": "C", "TMPDIR": str(self.cache.folder / "tmp"), "HIP_PLATFORM": "amd"}

    def _failure(self, unit: TranslationUnit, finished: ProcessResult) -> UsageError:
        if "No space left on device" in finished.output:
            return self.cache.unusable("No space left on device")
        if _UNKNOWN_ARCHITECTURE.search(finished.output):
            wanted = next((flag for flag in unit.flags if flag.startswith("--offload-arch")), "the target")
            return UsageError(
                f"{unit.compiler.name} cannot compile for {wanted.rpartition('=')[2]}"
                f" ({first_error(finished.output)}): install a ROCm that knows it (6.4 or later)"
            )
        if finished.code < 0 or "Killed signal" in finished.output:
            return UsageError(
                f"the compiler was killed while it compiled {unit.source}, most likely for lack of memory:"
                " set BITGATE_THREADS=1 to compile one file at a time"
            )
        output = finished.output.replace(self.tree.prefix, "") if self.tree.prefix else finished.output
        return BuildError(unit.label, "\n".join([*self._advice(unit), output]))

    def _advice(self, unit: TranslationUnit) -> list[str]:
        """What to write instead of HIP that only a GPU's compiler takes, in the source and the headers beside it.

        Asked after the compiler refused: a file may hold such lines for other platforms, behind an #if.
        """
        if unit.compiler.kind not in OLDEST and unit.compiler.kind != "zig":
            return []
        headers = [path for path in sorted(unit.source.parent.iterdir()) if path.suffix in _HEADER_SUFFIXES]
        return [
            f"{path}:{line}: error: {message}"
            for path in ([unit.source] if unit.text is None else []) + headers
            for line, message in unsupported_on_host(Path(f"{self.tree.prefix}{path}").read_text(errors="replace"))
        ]

    def _store(self, unit: TranslationUnit, files: Sequence[str], output: Path) -> str | None:
        self.contents.forget()
        known = [[portable(path), self.contents.of(path)] for path in sorted(set(files))]
        if any(content is None for _, content in known):
            return None  # the build was ended, and its shadow removed, under this compiler: what it read is unknown
        key = sha256(unit.identity, *(f"{name} {content}" for name, content in known))
        if unit.is_header:
            text = self.cache.temporary(".hpp")
            with self.cache.guarded():
                text.write_text(f'#include "{unit.source}"\n')
            self.cache.publish(text, self._text_of_header(key))
        self.cache.publish_artefact(output, self.artefact_path(unit, key))
        entries = [entry for entry in self._entries(unit) if entry["object"] != key]
        entry = {"files": known, "object": key}
        if unit.is_header:
            entries, old = entries[: _HEADERS_KEPT - 1], entries[_HEADERS_KEPT - 1 :]
            for other in old:
                self.header_path(other["object"]).unlink(missing_ok=True)
        self.cache.write_json(
            self._manifest(unit), {"source": unit.label, "entries": [entry, *entries][:_MANIFEST_ENTRIES]}
        )
        return key

    def _entries(self, unit: TranslationUnit) -> Iterator[dict[str, Any]]:
        """What is known of a unit, the newest first; of a damaged file nothing. Looked at one by one: it is mostly the
        first that is wanted."""
        entries = self.cache.read_json(self._manifest(unit)).get("entries", [])
        return (entry for entry in entries if _is_entry(entry)) if isinstance(entries, list) else iter(())

    def _manifest(self, unit: TranslationUnit) -> Path:
        return self.cache.folder / "units" / f"{unit.identity}.json"


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or not is_safe(entry.get("object")) or not isinstance(entry.get("files"), list):
        return False
    files = entry["files"]
    return all(isinstance(file, list) and len(file) == 2 and all(isinstance(x, str) for x in file) for file in files)


def _dependencies(kind: ToolchainKind, depfile: Path) -> tuple[str, ...]:
    """How a compiler is told to list the files that it read. clang's driver drops -MMD for device code alone."""
    if kind == "zig-hip":
        return ("-Xclang", "-dependency-file", "-Xclang", str(depfile), "-Xclang", "-MT", "-Xclang", "unit")
    return ("-MMD", "-MF", str(depfile))


def read_depfile(text: str) -> list[str]:
    """The prerequisites in a compiler's make rule: ``out.o: a.cpp b.hpp \\`` with spaces escaped by a backslash."""
    _, _, rest = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", rest.partition("\n")[0])
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


def _changed_since(path: str, begun_ns: int) -> bool:
    """Whether a file was written since then, or is gone. One dated in the future (a skewed clock) counts as old."""
    try:
        return begun_ns < os.stat(path).st_mtime_ns <= time.time_ns()
    except OSError:
        return True
