"""Questions to a compiler about a family's sources: which lines it compiles, and what it rejects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from bitgate.core import paths
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.overlay import replaced_for
from bitgate.kernel.build.processes import Processes, ProcessResult
from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.build.unit import TranslationUnit, UnitStore
from bitgate.kernel.cache.content import Contents
from bitgate.kernel.declaration import KernelFamily

_MARKER = re.compile(r'# (\d+) "(.*)"')
_ERROR = re.compile(
    r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error:|^(.+?):(\d+):\d+:\s+(?:required|in .constexpr.)"
    r"|^\s+inlined from .* at (.+?):(\d+):",
    re.MULTILINE,
)
_ERROR_OF_NVCC = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error|at line (?P<from>\d+) of (?P<place>\S+)", re.MULTILINE
)


def compiled_lines(builder: Builder, declaration: KernelFamily) -> dict[Path, set[int]]:
    """Return the lines of each included file that the platform's directives leave; of nvcc's for the device.

    They are those of $BITGATE_OVERLAY where it replaces a file. BuildError if the preprocessor rejects a source,
    UsageError without a compiler.
    """
    lines: dict[Path, set[int]] = {}
    directives = "-fdirectives-only"
    question = ("-E", f"-Xcompiler={directives}" if builder.compiler.kind == "nvcc" else directives)
    for unit, said in _asked(builder, declaration, question, {}):
        if said.code != 0:
            raise BuildError(unit.label, said.output)
        for file, line in _numbered(said.output):
            lines.setdefault(file, set()).add(line)
    return lines


def complaints(builder: Builder, declaration: KernelFamily, overlay: Mapping[Path, Path]) -> str:
    """Return the compiler's output on the first unit of the family that it rejects; nothing is stored.

    Units are compiled to assembly: some errors, such as a wrong immediate, come after the syntax check only.
    """
    for _, said in _asked(builder, declaration, ("-S", "-w", "-o", os.devnull), overlay):
        if said.code != 0:
            return said.output or f"the compiler ended with {said.code}"
    return ""


def places(output: str) -> set[tuple[str, int]]:
    """Return file and line of each error, and of what it was instantiated from or inlined into."""
    found = (tuple(filter(None, match.groups())) for match in _ERROR.finditer(output))
    own = {(file, int(line)) for file, line in found}
    nvcc = (match.groupdict() for match in _ERROR_OF_NVCC.finditer(output))
    return own | {(one["file"] or one["place"], int(one["line"] or one["from"])) for one in nvcc}


def _asked(
    builder: Builder, declaration: KernelFamily, question: Sequence[str], overlay: Mapping[Path, Path]
) -> Iterator[tuple[TranslationUnit, ProcessResult]]:
    """Yield the compiler's answer on each unit as it comes; closing the iterator stops the others.

    ``overlay`` replaces files in addition to $BITGATE_OVERLAY.
    """
    overlay = {**replaced_for(declaration.name, declaration.folder), **overlay}
    recipe, processes = builder.recipe(declaration), Processes()
    contents = Contents(builder.cache, {str(real): str(other) for real, other in overlay.items()})
    tree = SourceTree(builder.cache, recipe.folders, overlay)
    store = UnitStore(builder.cache, contents, tree)
    pool = ThreadPoolExecutor(paths.threads())
    try:
        asked = {pool.submit(store.ask, unit, question, processes): unit for unit in recipe.units}
        for answer in as_completed(asked):
            said = answer.result()
            if said is not None:
                yield asked[answer], said
    finally:
        processes.stop()
        pool.shutdown(cancel_futures=True)
        tree.close()


def _numbered(output: str) -> Iterator[tuple[Path, int]]:
    file, number = Path(), 0
    for line in output.splitlines():
        if marker := _MARKER.match(line):
            # A file that is included as ../x is the one that an overlay replaces by its plain path.
            file, number = Path(os.path.normpath(marker[2])), int(marker[1])
            continue
        if line.strip():  # a few lines that are left out are empty ones
            yield file, number
        number += 1
