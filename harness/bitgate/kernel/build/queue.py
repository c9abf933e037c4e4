"""What libraries lack, compiled in one queue: what takes longest first, and no core waits for the last unit of a
library while another has some left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bitgate.core import paths
from bitgate.kernel.build.prelude import FEW_UNITS
from bitgate.kernel.build.overlay import quick_build
from bitgate.kernel.build.parallel import compile_all
from bitgate.kernel.build.paths import SourceTree
from bitgate.kernel.build.recipe import Recipe
from bitgate.kernel.build.unit import TranslationUnit, UnitStore
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents


@dataclass(frozen=True)
class Lacking:
    """A library that is to be built: the units of its recipe without an object in the store."""

    recipe: Recipe
    store: UnitStore
    units: tuple[TranslationUnit, ...]


def lacking(recipe: Recipe, store: UnitStore, keys: Mapping[TranslationUnit, str | None]) -> Lacking:
    return Lacking(recipe, store, tuple(unit for unit in recipe.units if not store.has(unit, keys[unit])))


def compile_lacking(
    libraries: Sequence[Lacking], cache: Cache, progress: Callable[[str], None], goes_on: bool = False
) -> dict[TranslationUnit, str]:
    """The keys of their objects. BuildError if one does not compile; with ``goes_on`` the other libraries' units are
    compiled all the same, and no error is raised."""
    libraries = [library for library in libraries if library.units]
    if not libraries:
        return {}
    stores = {unit: library.store for library in libraries for unit in library.units}
    todo = sorted(stores, key=_work, reverse=True)
    headers = _headers(todo, libraries, cache)
    threads, done, total = paths.threads(), 0, len(headers) + len(todo)
    of = sum(len(library.recipe.units) for library in libraries)
    names = ", ".join(library.recipe.label for library in libraries)
    compilers = ", ".join(dict.fromkeys(library.recipe.compiler.name for library in libraries))
    progress(f"building {names}: {len(todo)} of {of} units with {compilers}, {min(threads, len(todo))} at a time")

    def report(unit: TranslationUnit, seconds: float) -> None:
        nonlocal done
        done += 1
        progress(f"[{done}/{total}] {unit.label} ... {seconds:.1f} s")

    return compile_all({**headers, **{unit: stores[unit] for unit in todo}}, threads, report, goes_on)


def _headers(
    todo: Sequence[TranslationUnit], libraries: Sequence[Lacking], cache: Cache
) -> dict[TranslationUnit, UnitStore]:
    """The preludes to be compiled first, as they are without what an overlay replaces."""
    folders = tuple(dict.fromkeys(folder for library in libraries for folder in library.recipe.folders))
    plain = UnitStore(cache, Contents(cache), SourceTree(cache, folders, {}))
    users = Counter(unit.header for unit in todo if unit.header is not None)
    least = 1 if quick_build() else FEW_UNITS  # many builds of few units follow each other
    return {
        header: plain
        for header, count in users.most_common()
        if count >= least and not plain.has(header, plain.lookup(header))
    }


def _work(unit: TranslationUnit) -> tuple[bool, int]:
    """What takes longest comes first, so that the last units end together: units that register instances take longer
    than written ones, and the more they register, the longer is their text."""
    return unit.text is not None, unit.source.stat().st_size if unit.text is None else len(unit.text)
