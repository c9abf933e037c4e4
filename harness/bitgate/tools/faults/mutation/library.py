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
from bitgate.tools.faults.mutation.operators import OPERATORS
from bitgate.tools.faults.mutation.schema import ATTRIBUTED, schema_of
from bitgate.tools.faults.source_text import source_text

Numbered = Mapping[int, Mutant]


@dataclass(frozen=True)
class MutantLibrary:
    """A library of mutants.

    ``overlay`` is in the form that a session takes. ``mutants`` holds those in the library by the number that switches
    them on: all that compile.
    """

    overlay: Mapping[str, Path]
    mutants: Numbered


class Schemata:
    """The sources of one family with mutants in them, of ``count``, written to ``folder``."""

    def __init__(
        self,
        builder: Builder,
        family: KernelFamily,
        paths: Mapping[str, Path],
        folder: Path,
        count: int,
        attributed: bool,
    ) -> None:
        self._builder, self._family, self._paths, self._folder = builder, family, paths, folder
        self._count, self._attributed = count, attributed
        self._replaced = overlays.replaced_for(family.name, family.folder)

    @property
    def name(self) -> str:
        return self._family.name

    def write(self, mutants: Numbered) -> dict[Path, Path]:
        """Write the sources, and return the replacement of each."""
        files = dict.fromkeys(mutant.file for mutant in mutants.values())
        overlay = {}
        for place, file in enumerate(files):
            path, schema = self._paths[file], self._folder / f"{place}-{self._paths[file].name}"
            own = {number: mutant for number, mutant in mutants.items() if mutant.file == file}
            text = source_text(self._replaced.get(path, path))
            schema.write_text(schema_of(text, str(path), own, self._count, self._attributed))
            overlay[path] = schema
        return overlay

    def complaint(self, mutants: Numbered) -> str:
        with quick():
            return complaints(self._builder, self._family, self.write(mutants))

    def build(self, mutants: Numbered) -> Mapping[str, Path]:
        """Build the library. Raises BuildError if a mutant does not compile."""
        overlay = {str(path): schema for path, schema in self.write(mutants).items()}
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
    attributed: bool = False,
) -> MutantLibrary:
    """Build a family's library of mutants. Raises BuildError if the family does not compile without mutants either.

    With ``attributed`` those that the compiler names are left out at once; it may name one too many. Of a line that a
    GPU's compiler rejects all mutants are left out, since a device's time is short.
    """
    left: dict[int, Mutant] = dict(enumerate(mutants, 1))
    schemata = Schemata(builder, family, paths, folder, len(left), attributed)
    while True:
        try:
            return MutantLibrary(schemata.build(left), left)
        except BuildError as error:
            output = error.output
        if named := {line - ATTRIBUTED for _, line in places(output)} & left.keys():
            say(f"{family.name}: {len(named)} of {len(left)} edits do not compile")
            left = {number: mutant for number, mutant in left.items() if number not in named}
            continue
        if builder.platform == "host" and not attributed:
            _leave_out(left, output, schemata, say)
            continue
        suspects = _on_first_lines(left, output, schemata) or _suspects(left, output, schemata)
        if attributed:
            # An error in a macro's text is put down to its use. What is no mutant is more likely to be of another type.
            expanded = output.replace(": note: in expansion of macro", ": error:")
            suspects = suspects or _on_first_lines(left, expanded, schemata)
            suspects = {n: one for n, one in suspects.items() if one.operator not in OPERATORS} or suspects
        if not suspects:
            raise BuildError(f"{family.name} with mutants", output)
        for number in suspects:
            say(f"not compilable, or on a line with one that is not: {left.pop(number).name}")


def _leave_out(left: dict[int, Mutant], output: str, schemata: Schemata, say: Callable[[str], None]) -> None:
    """Leave out the mutants that a compiler rejects, beginning with its ``output`` on all."""
    while output:
        first, suspects = _on_first_lines(left, output, schemata), _suspects(left, output, schemata) or left
        say(f"{schemata.name}: a mutant of {len(first or suspects)} does not compile: looking for it")
        culprits = _culprits(first, schemata) or _culprits(suspects, schemata) or _culprits(left, schemata)
        if not culprits:
            raise BuildError(f"{schemata.name} with mutants", output)
        for number in culprits:
            say(f"not compilable: {left.pop(number).name}")
        output = schemata.complaint(left)


def _on_first_lines(mutants: Numbered, output: str, schemata: Schemata) -> dict[int, Mutant]:
    """Return the mutants on whose first line the compiler complains: what replaces a text is there."""
    named = places(output)
    return {n: mutant for n, mutant in mutants.items() if (schemata.path(mutant), mutant.line) in named}


def _suspects(mutants: Numbered, output: str, schemata: Schemata) -> dict[int, Mutant]:
    """Return the mutants on whose lines the compiler complains."""

    def is_suspect(mutant: Mutant) -> bool:
        own = schemata.path(mutant)
        return any(file == own and mutant.line <= line <= mutant.last_line for file, line in named)

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
