"""A family's library with all mutants of a draw in it, built from schemata of its sources in a separate folder.

A mutant that does not compile is found by halving those on the lines that the compiler rejects, and left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bitgate.kernel.build import overlay as overlays
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.questions import complaints, places
from bitgate.kernel.declaration import KernelFamily
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.schema import schema_of

Numbered = Mapping[int, Mutant]


@dataclass(frozen=True)
class MutantLibrary:
    """A library of mutants.

    ``overlay`` is in the form that a session takes. ``mutants`` holds those in the library by the number that switches
    them on; those that do not compile are listed apart.
    """

    overlay: Mapping[str, Path]
    mutants: Numbered
    not_compilable: tuple[Mutant, ...]


class Schemata:
    """The sources of one family with mutants in them, written to ``folder``."""

    def __init__(self, builder: Builder, family: KernelFamily, paths: Mapping[str, Path], folder: Path) -> None:
        self._builder, self._family, self._paths, self._folder = builder, family, paths, folder

    def write(self, mutants: Numbered) -> dict[Path, Path]:
        """Write the sources, and return the replacement of each."""
        files = dict.fromkeys(mutant.file for mutant in mutants.values())
        overlay = {}
        for place, file in enumerate(files):
            path, copy = self._paths[file], self._folder / f"{place}-{self._paths[file].name}"
            own = {number: mutant for number, mutant in mutants.items() if mutant.file == file}
            copy.write_text(schema_of(path.read_text(), str(path), own))
            overlay[path] = copy
        return overlay

    def complaint(self, mutants: Numbered) -> str:
        with quick():
            return complaints(self._builder, self._family, self.write(mutants))

    def build(self, mutants: Numbered) -> Mapping[str, Path]:
        """Build the library. Raises BuildError if a mutant does not compile."""
        overlay = {str(path): copy for path, copy in self.write(mutants).items()}
        with quick():
            self._builder.family(self._family, overlay)
            for group in dict.fromkeys(instance.group for instance in self._family.instances):
                self._builder.family(self._family.only(group), overlay)
        return overlay

    def path(self, mutant: Mutant) -> str:
        return str(self._paths[mutant.file])


def build(
    builder: Builder,
    family: KernelFamily,
    mutants: Sequence[Mutant],
    paths: Mapping[str, Path],
    folder: Path,
    say: Callable[[str], None],
) -> MutantLibrary:
    """Build a family's library of mutants. Raises BuildError if the family does not compile without mutants either."""
    schemata = Schemata(builder, family, paths, folder)
    left: dict[int, Mutant] = dict(enumerate(mutants, 1))
    out: list[Mutant] = []
    while True:
        try:
            return MutantLibrary(schemata.build(left), left, tuple(out))
        except BuildError as error:
            output = error.output
        while output:
            # What replaces a text is on the first of its lines.
            first = _suspects(left, output, schemata, lambda mutant: (mutant.line, mutant.line))
            suspects = _suspects(left, output, schemata, lambda mutant: (mutant.line, mutant.last_line)) or left
            say(f"{family.name}: a mutant of {len(first or suspects)} does not compile: looking for it")
            culprits = _culprits(first, schemata) or _culprits(suspects, schemata) or _culprits(left, schemata)
            if not culprits:
                raise BuildError(f"{family.name} with mutants", output)
            for number in culprits:
                mutant = left.pop(number)
                say(f"not compilable: {mutant.name}")
                out.append(mutant)
            output = schemata.complaint(left)


def _suspects(
    mutants: Numbered, output: str, schemata: Schemata, lines_of: Callable[[Mutant], tuple[int, int]]
) -> dict[int, Mutant]:
    """Return the mutants on whose lines, from first to last, the compiler complains."""

    def is_suspect(mutant: Mutant) -> bool:
        (first, last), own = lines_of(mutant), schemata.path(mutant)
        return any(file == own and first <= line <= last for file, line in named)

    named = places(output)
    return {number: mutant for number, mutant in mutants.items() if is_suspect(mutant)}


def _culprits(suspects: Numbered, schemata: Schemata) -> list[int]:
    if not suspects or not schemata.complaint(suspects):
        return []
    if len(suspects) == 1:
        return list(suspects)
    numbers = list(suspects)
    halves = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    return [number for half in halves for number in _culprits({n: suspects[n] for n in half}, schemata)]


@contextmanager
def quick() -> Iterator[None]:
    """Build as all runs do that use a library once."""
    before = os.environ.get(overlays.QUICK)
    os.environ[overlays.QUICK] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[overlays.QUICK]
        else:
            os.environ[overlays.QUICK] = before
