"""Compile several units at once, in this process and beside others that build the same ones."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from filelock import FileLock, Timeout

from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.build.processes import Processes
from bitgate.kernel.build.unit import TranslationUnit, UnitStore

_POLL_SECONDS = 0.05


def compile_all(
    stores: Mapping[TranslationUnit, UnitStore],
    threads: int,
    done: Callable[[TranslationUnit, float], None],
    goes_on: bool = False,
) -> dict[TranslationUnit, str]:
    """The object key of every unit, each compiled into its store if that lacks it, in this order.

    A unit whose lock another process holds is put back and looked at again later, so that parallel test workers
    divide the work instead of queueing behind one another. ``done(unit, seconds)`` is called for each, one at a time.
    Preludes come first; while one is compiled, units that begin with another are, and nobody waits for it.
    The first BuildError ends the build, or with ``goes_on`` that of the units of the same store, and their keys are
    missing. So does Ctrl-C, and no compiler process is left.
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
        into.contents.forget()  # whoever held the lock before may have built it
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
