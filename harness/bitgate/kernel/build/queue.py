"""The queue of units that libraries lack, compiled in parallel, next to other processes that build the same ones.

Units that take longest come first, and no core waits for the last unit of a library while another has some left.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from filelock import FileLock, Timeout

from bitgate.core import paths
from bitgate.core.progress import TimeLeft
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.overlay import quick_build
from bitgate.kernel.build.processes import Processes
from bitgate.kernel.build.recipe import Recipe
from bitgate.kernel.build.source_tree import SourceTree
from bitgate.kernel.build.unit import FEW_UNITS, TranslationUnit, UnitStore
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents


@dataclass(frozen=True)
class Lacking:
    """A library that is to be built: the units of its recipe without an object in the store."""

    recipe: Recipe
    store: UnitStore
    units: tuple[TranslationUnit, ...]


def lacking(recipe: Recipe, store: UnitStore, keys: Mapping[TranslationUnit, str | None]) -> Lacking:
    """Return the units of a recipe that have no object."""
    return Lacking(recipe, store, tuple(unit for unit in recipe.units if not store.has(unit, keys[unit])))


def compile_lacking(
    libraries: Sequence[Lacking], cache: Cache, progress: Callable[[str], None], goes_on: bool = False
) -> dict[TranslationUnit, str]:
    """Compile the missing units of libraries and return the keys of their objects.

    BuildError if one does not compile; with ``goes_on`` the other libraries' units are compiled all the same, and no
    error is raised.
    """
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

    left = TimeLeft(total)

    def report(unit: TranslationUnit, seconds: float) -> None:
        nonlocal done
        done += 1
        progress(f"[{done}/{total}] {unit.label} ... {seconds:.1f} s{left.words(done)}")

    return compile_all({**headers, **{unit: stores[unit] for unit in todo}}, threads, report, goes_on)


def _headers(
    todo: Sequence[TranslationUnit], libraries: Sequence[Lacking], cache: Cache
) -> dict[TranslationUnit, UnitStore]:
    """Return the preludes to be compiled first, without the files that an overlay replaces."""
    folders = tuple(dict.fromkeys(folder for library in libraries for folder in library.recipe.folders))
    plain = UnitStore(cache, Contents(cache), SourceTree(cache, folders, {}))
    users = Counter(unit.header for unit in todo if unit.header is not None)
    least = 1 if quick_build() else FEW_UNITS  # many builds of a few units follow each other
    return {
        header: plain
        for header, count in users.most_common()
        if count >= least and not plain.has(header, plain.lookup(header))
    }


def _work(unit: TranslationUnit) -> tuple[bool, int]:
    """Return the sort key of a unit by its expected time, so that the longest start first and the last end together.

    Units that register instances take longer than written ones, and the more they register, the longer is their text.
    """
    return unit.text is not None, unit.source.stat().st_size if unit.text is None else len(unit.text)


_POLL_SECONDS = 0.05


def compile_all(
    stores: Mapping[TranslationUnit, UnitStore],
    threads: int,
    done: Callable[[TranslationUnit, float], None],
    goes_on: bool = False,
) -> dict[TranslationUnit, str]:
    """Compile every unit into its store if that lacks it, in this order, and return the object keys.

    A unit whose lock another process holds is put back and tried again later, so that parallel test workers divide the
    work instead of waiting for one another. ``done(unit, seconds)`` is called for each, one at a time. Preludes come
    first; while one is compiled, units that begin with another are compiled, so that no thread waits for it.

    The first BuildError ends the build. With ``goes_on`` it ends only that of the units of the same store, whose keys
    are then missing. Ctrl-C ends the build, too; no compiler process is left.
    """
    headers = [unit for unit in stores if unit.is_header]
    waiting = deque((*headers, *(unit for unit in stores if not unit.is_header)))
    under_way = set(headers)
    keys: dict[TranslationUnit, str] = {}
    processes = Processes()
    guard = threading.Lock()
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        processes.stop()

    def build(unit: TranslationUnit) -> None:
        begun, into = time.monotonic(), stores[unit]
        into.contents.forget()  # a process that held the lock before may have built it
        key = into.lookup(unit)
        if not into.has(unit, key):
            key = into.compile(unit, processes)
        if key is not None:
            with guard:
                keys[unit] = key
                done(unit, time.monotonic() - begun)

    def following() -> TranslationUnit | None:
        if not waiting:
            return None
        unit = next((unit for unit in waiting if unit.header not in under_way), waiting[0])
        waiting.remove(unit)
        return unit

    def fail(unit: TranslationUnit) -> None:
        with guard:
            rest = [other for other in waiting if stores[other] is not stores[unit]]
            waiting.clear()
            waiting.extend(rest)

    def work() -> None:
        while not stopped.is_set():
            with guard:
                unit = following()
            if unit is None:
                return
            lock = stores[unit].cache.lock(unit.identity)
            if not _try(lock):
                if unit.is_header:
                    under_way.discard(unit)
                    continue
                with guard:
                    waiting.append(unit)
                time.sleep(_POLL_SECONDS)
                continue
            try:
                build(unit)
            except BaseException as error:
                if not (goes_on and isinstance(error, BuildError)):
                    stop()
                    raise
                fail(unit)
            finally:
                lock.release()
                under_way.discard(unit)

    count = max(1, min(threads, len(waiting)))
    with ThreadPoolExecutor(max_workers=count) as pool:
        workers = [pool.submit(work) for _ in range(count)]
        try:
            for worker in workers:
                worker.result()
        except BaseException:
            stop()
            raise
    return keys


def _try(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True
