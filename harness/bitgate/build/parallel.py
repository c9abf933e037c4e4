"""Compile several units at once, in this process and beside others that build the same ones."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from filelock import FileLock, Timeout

from bitgate.build.processes import Processes
from bitgate.build.unit import Unit, UnitStore

_POLL_SECONDS = 0.05


def compile_all(
    units: Sequence[Unit],
    store: UnitStore,
    threads: int,
    done: Callable[[Unit, float], None],
    headers: Mapping[Unit, UnitStore] | None = None,
) -> dict[Unit, str]:
    """The object key of every unit, compiling those that the cache lacks.

    A unit whose lock another process holds is put back and looked at again later, so that parallel test workers
    divide the work instead of queueing behind one another. ``done(unit, seconds)`` is called for each, one at a time.
    ``headers`` come first, each into a store of its own; nobody waits for them.
    The first BuildError ends the build; so does Ctrl-C, and no compiler process is left.
    """
    stores = dict(headers or {})
    waiting = deque((*stores, *units))
    keys: dict[Unit, str] = {}
    processes = Processes()
    guard = threading.Lock()
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        processes.stop()

    def build(unit: Unit) -> None:
        begun, into = time.monotonic(), stores.get(unit, store)
        into.contents.forget()  # whoever held the lock before may have built it
        key = into.lookup(unit)
        if not into.has(unit, key):
            key = into.compile(unit, processes)
        if key is not None:
            with guard:
                keys[unit] = key
                done(unit, time.monotonic() - begun)

    def work() -> None:
        while not stopped.is_set():
            with guard:
                if not waiting:
                    return
                unit = waiting.popleft()
            lock = store.cache.lock(unit.identity)
            if not _try(lock):
                if unit in stores:
                    continue
                with guard:
                    waiting.append(unit)
                time.sleep(_POLL_SECONDS)
                continue
            try:
                build(unit)
            except BaseException:
                stop()
                raise
            finally:
                lock.release()

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
