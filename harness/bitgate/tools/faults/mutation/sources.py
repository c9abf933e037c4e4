"""The mutants of kernel families: of the files that they are made of, in the lines that are compiled for the target."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.project import Project, own_kernels
from bitgate.kernel.build.builder import Builder
from bitgate.kernel.build.includes import Includes
from bitgate.kernel.build.overlay import replaced_for
from bitgate.kernel.build.questions import compiled_lines
from bitgate.kernel.declaration import KernelFamily
from bitgate.tools.faults.mutation.mutant import CONDITIONAL, Mutant
from bitgate.tools.faults.mutation.operators import Maker, mutants_of
from bitgate.tools.faults.source_text import source_text


@dataclass
class Population:
    """All edits with the families that compile them, the paths of their files, and the places left out by reason."""

    families: dict[Mutant, list[str]] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    classes: frozenset[str] = frozenset()
    """The classes of operators that are drawn; without any, all."""

    def __len__(self) -> int:
        return sum(
            len(self.candidates(name, 0)) for name in {name for names in self.families.values() for name in names}
        )

    def candidates(self, family: str, seed: int) -> list[Mutant]:
        """Return the mutants of a family in the order in which they are drawn: each edit as it is, and conditional."""
        edits = sorted(edit for edit, names in self.families.items() if family in names)
        found = [*edits, *(replace(edit, seed=seed) for edit in edits)]
        found = [mutant for mutant in found if not self.classes or mutant.operator_class in self.classes]
        random.Random(f"{seed} {family}").shuffle(found)
        return found


def population(
    builder: Builder,
    families: Iterable[KernelFamily],
    project: Project,
    files: str,
    operators: Sequence[str],
    further: Callable[[Iterable[str]], Mapping[str, Maker]] | None = None,
) -> Population:
    """Return the mutants of the requested files and operators, and of the makers that ``further`` has for the texts.

    ``files`` is a glob; empty stands for all but those of the interface. No ``operators`` stands for all. Raises
    UsageError if there is no mutant.
    """
    lines: dict[Path, set[int]] = {}
    replaced: dict[Path, Path] = {}
    reached: dict[Path, list[tuple[str, set[int]]]] = {}
    for family in families:
        replaced |= replaced_for(family.name, family.folder)
        for path, compiled in compiled_lines(builder, family).items():
            if _is_mutable(path, family, project):
                lines.setdefault(path, set()).update(compiled)
                reached.setdefault(path, []).append((family.name, compiled))
    interface, found = _interface(), Population(classes=frozenset(operators))
    texts = {path: source_text(replaced.get(path, path)) for path in sorted(lines)}
    makers = [None, further(texts.values())] if further else [None]
    for path, text in texts.items():
        name = _name(path, project)
        if not (fnmatchcase(name, files) if files else path not in interface):
            continue
        of_file = [mutants_of(text, name, lines[path], own) for own in makers]
        found.left_out += of_file[0].left_out
        found.paths[name] = path
        for mutant in chain.from_iterable(scan.mutants for scan in of_file):
            if not operators or CONDITIONAL in operators or mutant.operator in operators:
                found.families[mutant] = [family for family, compiled in reached[path] if mutant.line in compiled]
    if not found.families:
        known = ", ".join(_name(path, project) for path in sorted(lines)[:5]) or "none"
        raise UsageError(f"no such mutant in {f'--file {files}' if files else 'the sources'}: there are {known} ...")
    return found


def _interface() -> frozenset[Path]:
    """Return the headers of the C ABI: their defects are for bitgate's tests to find, not for cases."""
    headers = own_kernels() / "include" / "bitgate"
    return Includes().closure([headers / "library.hpp", headers / "record.hpp"], headers)


def _is_mutable(path: Path, family: KernelFamily, project: Project) -> bool:
    """Say whether a file is mutated: a user's kernels in the user's files, bitgate's in their folder and shared
    headers."""
    if not path.is_file():
        return False
    if family.folder.is_relative_to(own_kernels()):
        return path.is_relative_to(family.folder) or path.is_relative_to(own_kernels() / "include")
    return path.is_relative_to(family.folder) or (path.is_relative_to(project.root) and not project.is_ours)


def _name(path: Path, project: Project) -> str:
    for root in (project.root, own_kernels().parent):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()
