"""One translation unit: found in the cache by the content of every file it reaches, or compiled.

A unit is known by its source's name, flags and compiler. For each set of file contents that it was compiled from, its
manifest holds the list of files (from the compiler's depfile) with their hashes, and the object's key.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.project import own_kernels
from bitgate.core.untrusted import is_safe
from bitgate.kernel.build import toolchain
from bitgate.kernel.build.errors import BuildError, first_error
from bitgate.kernel.build.hip_source_check import unsupported_on_host
from bitgate.kernel.build.hip_translate import translated
from bitgate.kernel.build.processes import Processes, ProcessResult
from bitgate.kernel.build.source_tree import SourceTree, local, portable
from bitgate.kernel.build.source_unit import place_errors
from bitgate.kernel.build.toolchain import OLDEST, Compiler, ToolchainKind
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, sha256

PRELUDE_KINDS: tuple[ToolchainKind, ...] = ("gnu",)

FEW_UNITS = 4
"""Fewest units for which a prelude is compiled: fewer take less time than the prelude."""


@dataclass(frozen=True)
class Prelude:
    """A header that is compiled once for many units, which begin with it.

    It saves each unit the parsing of the standard library and HIP, and changes no object: where it is not precompiled,
    it is read as text. Headers include what they need themselves, since only g++ gets a prelude. ``includes`` are the
    folders in which the header finds others, fewer than those of its units.
    """

    source: Path
    includes: tuple[Path, ...]


def prelude_of_kernels(kind: ToolchainKind, folder: Path, platform_includes: tuple[Path, ...]) -> Prelude | None:
    """Return the prelude of bitgate's own kernels; a user's may define macros that change a header's meaning."""
    kernels = own_kernels()
    if not folder.is_relative_to(kernels):
        return None
    return _prelude(kind, kernels / "platforms" / "host" / "include" / "hip" / "prelude.hpp", platform_includes)


def prelude_of_host_code(kind: ToolchainKind, kernels: Path) -> Prelude | None:
    """Return the prelude of the host's HIP runtime and the native helpers, in this folder of kernels."""
    include = kernels / "include"
    return _prelude(kind, include / "bitgate" / "standard.hpp", (include,))


def _prelude(kind: ToolchainKind, header: Path, includes: tuple[Path, ...]) -> Prelude | None:
    """Return a prelude; None for other compilers, and for kernels of a commit that had none yet."""
    return Prelude(header, includes) if kind in PRELUDE_KINDS and header.is_file() else None


_MANIFEST_ENTRIES = 24
_HEADERS_KEPT = 2
"""Versions kept of each precompiled header, which has 80 MiB: the last, and the one before."""
_ATTEMPTS = 3
_HEADER_SUFFIXES = (".h", ".hh", ".hpp", ".cuh", ".inc")
_UNKNOWN_ARCHITECTURE = re.compile(r"invalid target ID|cannot find ROCm device library|unsupported HIP gpu arch")


@dataclass(frozen=True)
class TranslationUnit:
    """A source file with compiler, flags and include folders. ``label`` names it in progress lines; paths are real.

    With a ``text`` the source is generated: its folder holds what it includes, but no such file. A unit that
    ``is_header`` makes a precompiled header instead of an object; one that ``is_translated`` has launches by ``<<<>>>``
    and dynamic arrays, for a compiler that does not know them (hip_translate.py).
    """

    label: str
    source: Path
    includes: tuple[Path, ...]
    flags: tuple[str, ...]
    compiler: Compiler
    text: str | None = None
    prelude: Prelude | None = None
    is_header: bool = False
    is_translated: bool = False

    @property
    def header(self) -> TranslationUnit | None:
        """The unit of the prelude, to be compiled before this one."""
        if self.prelude is None:
            return None
        source, includes = self.prelude.source, self.prelude.includes
        return TranslationUnit(f"header {source.name}", source, includes, self.flags, self.compiler, is_header=True)

    def owns(self, path: str) -> bool:
        """Return whether a file is in a folder of the unit's. Such a folder may be below the system's, as a wheel's."""
        return path.startswith(tuple(f"{folder}/" for folder in (*self.includes, self.source.parent, local("{root}"))))

    @property
    def identity(self) -> str:
        """A hash of all that the unit is, except for the content of its files."""
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
            *(["translated"] if self.is_translated else []),
            *map(portable, toolchain.settings()),
        )[:32]


class UnitStore:
    """The objects and precompiled headers in a cache, found by the content of the files that they were made from."""

    def __init__(self, cache: Cache, contents: Contents, tree: SourceTree) -> None:
        self.cache = cache
        self.contents = contents
        self.tree = tree

    def object_path(self, key: str) -> Path:
        return self.cache.folder / "objects" / f"{key}.o"

    def header_path(self, key: str) -> Path:
        """Return the path of a precompiled header, which g++ takes for the header of this name without ``.gch``."""
        return self.cache.folder / "objects" / f"{key}.hpp.gch"

    def artefact_path(self, unit: TranslationUnit, key: str) -> Path:
        return self.header_path(key) if unit.is_header else self.object_path(key)

    def has(self, unit: TranslationUnit, key: str | None) -> bool:
        """Return whether the artefact of a key exists, undamaged."""
        return key is not None and self.cache.used(self.artefact_path(unit, key))

    def lookup(self, unit: TranslationUnit) -> str | None:
        """Return the key of the object for the files' present content, if it was ever compiled."""
        for entry in self._entries(unit):
            files = {local(name): content for name, content in entry["files"]}
            is_same = all(self.contents.of(path) == content for path, content in files.items())
            if is_same and files.keys() >= self._found_before(unit, files):
                return str(entry["object"])
        return None

    def _found_before(self, unit: TranslationUnit, files: Iterable[str]) -> set[str]:
        """Return the files that have the name of one of these in an earlier folder of the unit's search path."""
        places = [f"{folder}/" for folder in (unit.source.parent, *unit.includes)]
        names = (
            (place, path.removeprefix(folder))
            for path in files
            for number, folder in enumerate(places)
            if path.startswith(folder)
            for place in places[:number]
        )
        return {path for place, name in names if self.contents.of(path := place + name) is not None}

    def reached(self, unit: TranslationUnit) -> list[str]:
        """Return the files that the object of the present contents was compiled from."""
        return self._files(unit, self.lookup(unit) or "")

    def compile(self, unit: TranslationUnit, processes: Processes) -> str | None:
        """Compile and store a unit; return the object's key, or None once the build was stopped.

        If a file is edited while the compiler runs, it is unknown what was compiled: the unit is compiled again. The
        prelude is taken precompiled if it is, and if none of its files is replaced. BuildError if the unit does not
        compile.
        """
        output = self.cache.temporary(".o")
        depfile = self.cache.temporary(".d")
        source = self._source(unit)
        try:
            for _ in range(_ATTEMPTS):
                begun = time.time_ns()
                prelude = self._prelude(unit)
                if unit.is_translated:
                    finished = self._translate(unit, source, output, depfile, processes)
                else:
                    command = self._command(unit, source, output, depfile, prelude)
                    finished = processes.run(command, self._environment())
                if finished is None:
                    return None
                if finished.code != 0:
                    raise self._failure(unit, finished)
                if not depfile.exists():  # it took the file for one to be linked
                    raise BuildError(unit.label, f"error: {unit.source} is no C++ source: name it .hip.cpp")
                # A generated source is known by the unit's identity, the text of a precompiled header by that of the
                # real one.
                ours = {source} if unit.text is not None else set()
                ours |= {str(self._text_of_header(prelude))} if prelude else set()
                files = [self.tree.real(path) for path in read_depfile(depfile.read_text()) if path not in ours]
                files = [path for path in files if unit.owns(path) or not unit.compiler.brings(path)]
                if prelude is not None and unit.header is not None:
                    files += self._files(unit.header, prelude)
                files += self._found_before(unit, files)
                if not any(_changed_since(path, begun) for path in files):
                    return self._store(unit, files, output)
            raise UsageError(f"{unit.source}: it, or a header of it, keeps changing while it is compiled; run again")
        finally:
            output.unlink(missing_ok=True)
            depfile.unlink(missing_ok=True)

    def ask(self, unit: TranslationUnit, question: Sequence[str], processes: Processes) -> ProcessResult | None:
        """Run the compiler on a unit with ``question`` instead of a compilation; None once it was stopped.

        Places in its output are those of the real tree.
        """
        command = [*self._reading(unit, None), *question, self._source(unit)]
        finished = processes.run(command, self._environment())
        if finished is None or not self.tree.prefix:
            return finished
        return ProcessResult(finished.code, finished.output.replace(self.tree.prefix, ""))

    def _prelude(self, unit: TranslationUnit) -> str | None:
        """Return the key of the precompiled header that a unit can begin with."""
        if unit.header is None:
            return None
        self.contents.forget()
        key = self.lookup(unit.header)
        return key if self.has(unit.header, key) else None

    def _files(self, unit: TranslationUnit, key: str) -> list[str]:
        """Return the files that an artefact was made from."""
        return [local(name) for entry in self._entries(unit) if entry["object"] == key for name, _ in entry["files"]]

    def _source(self, unit: TranslationUnit) -> str:
        """Return the path of the source; a generated one is written to the cache, where its errors can be looked up."""
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
            # zig's clang lacks the tools to make a code object in one go: its "object" is assembly (link.py).
            "-S" if unit.compiler.kind == "zig-hip" else "-c",
            source,
            "-o",
            str(output),
        ]

    def _translate(
        self, unit: TranslationUnit, source: str, output: Path, depfile: Path, processes: Processes
    ) -> ProcessResult | None:
        """Preprocess a unit, translate it to C++ and compile that; None once it was stopped."""
        reading, text = self._reading(unit, None), self.cache.temporary(".ii")
        try:
            depends = (*_dependencies(unit.compiler.kind, depfile), "-MT", "unit")
            command = [*reading, *depends, "-E", "-x", "c++", source, "-o", str(text)]
            finished = processes.run(command, self._environment())
            if finished is None or finished.code != 0:
                return finished
            text.write_text(translated(text.read_text(errors="surrogateescape")), errors="surrogateescape")
            # zig knows no preprocessed language: the source, which has no macro left, is preprocessed once more.
            language = "c++" if unit.compiler.kind == "zig" else "c++-cpp-output"
            flags = (flag for flag in unit.flags if not flag.startswith("-D"))
            command = [*unit.compiler.command, *unit.compiler.headers, *flags, "-x", language, str(text)]
            return processes.run([*command, "-c", "-o", str(output)], self._environment())
        finally:
            text.unlink(missing_ok=True)

    def _reading(self, unit: TranslationUnit, prelude: str | None) -> list[str]:
        """Return the command with all arguments that decide how the compiler reads a unit."""
        prefix = self.tree.prefix
        map_prefix = f"{'-Xcompiler=' if unit.compiler.kind == 'nvcc' else ''}-ffile-prefix-map="
        return [
            *unit.compiler.command,
            *unit.compiler.headers,
            *unit.flags,
            *(f"-I{prefix}{include}" for include in unit.includes),
            # The object must not depend on the place of the sources: __FILE__ and debug lines lose it.
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
        """Return the header that g++ reads if it does not take the precompiled one next to it."""
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
        if unit.text is not None:
            output = place_errors(output, unit.source, unit.text)
        advice = [] if unit.is_translated else self._advice(unit)
        return BuildError(unit.label, "\n".join([*advice, output]))

    def _advice(self, unit: TranslationUnit) -> list[str]:
        """List what to write instead of HIP that only a GPU's compiler takes, in the source and the headers next to it.

        This is asked only after the compiler refused: a file may hold such lines for other platforms, inside of an #if.
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
            return None  # the build was ended and its shadow removed while the compiler ran: what it read is unknown
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
        """Yield the entries of a unit's manifest, the newest first; none of a damaged file.

        They are checked one by one, since mostly the first is the right one.
        """
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
    """Return the arguments by which a compiler lists the files that it read; clang drops -MD for device code alone.

    Headers of -isystem and CPLUS_INCLUDE_PATH are among them: users keep theirs there, too.
    """
    if kind == "zig-hip":
        words = ("-dependency-file", str(depfile), "-sys-header-deps", "-MT", "unit")
        return tuple(word for one in words for word in ("-Xclang", one))
    return ("-MD", "-MF", str(depfile))


def read_depfile(text: str) -> list[str]:
    """Return the prerequisites of a make rule: ``out.o: a.cpp b.hpp \\`` with spaces escaped by a backslash."""
    _, _, rest = text.replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\.|[^\s\\])+", rest.partition("\n")[0])
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


def _changed_since(path: str, begun_ns: int) -> bool:
    """Return whether a file was written since, or is gone. One dated in the future (a skewed clock) counts as old."""
    try:
        return begun_ns < os.stat(path).st_mtime_ns <= time.time_ns()
    except OSError:
        return True
