"""Detection of what a library does to its process besides its work, by snapshots around each of its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import create_string_buffer, string_at
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Protocol

from bitgate.core import compute_sanitizer
from bitgate.kernel.declaration import KernelFamily
from bitgate.kernel.library import KernelLibrary
from bitgate.kernel.runner import LibraryState
from bitgate.numerics import native
from bitgate.runtime.device import Device
from bitgate.runtime.host import changed_settings
from bitgate.worker import state
from bitgate.worker.mapped import mapped_runtimes
from bitgate.worker.state import ProcessState

_buffer = create_string_buffer(1 << 16)
_last = b""
"""The last snapshot, taken while nothing else ran in the process; empty if there is none."""
_undisturbed = 0
"""The depth of nested ``undisturbed`` contexts."""


class WatchedLibrary(Protocol):
    """A library whose calls are watched; the family says what else its library may change."""

    @property
    def family(self) -> KernelFamily: ...

    @property
    def conduct(self) -> LibraryState: ...


class Watch:
    """A comparison of the process before and after a call: it begins with a snapshot, and ``changes`` takes the second
    one."""

    def __init__(self, device: Device, watched: WatchedLibrary) -> None:
        self._device = device
        self._conduct, self._changes = watched.conduct, watched.family.changes
        self._current = self._current_device()
        self._conduct.wrote_problem = False
        self._settings = device.host.settings() if device.host is not None else b""
        self._before = _last if _undisturbed and _last and _holds() else snapshot()

    def changes(self, memory: Callable[[], bytes] = bytes) -> list[str]:
        """Return sentences on what the call has changed, and restore the floating-point environment for the next
        computation.

        Everything else stays changed: the process must not be used for another case. A thread gets a moment to end, in
        which ``memory``, the bytes that the call has written, must stay as it is.
        """
        found = []
        after = snapshot()
        if after != self._before:
            before, now = ProcessState.of(self._before), ProcessState.of(after)
            written = memory() if now.threads - before.threads else b""
            now = state.settled(before, now, snapshot, partial(_is_of_runtime, self._device))
            if written and memory() != written:
                found.append("threads: one that it has started wrote to the caller's buffers after it had returned")
            if now.fp_environment != before.fp_environment:
                state.restore_fp_environment(before.fp_environment)
            self._conduct.threads |= now.threads - before.threads
            # A first launch may start pools of threads, and open what it keeps; so may a sanitizer at any.
            if not self._conduct.has_launched or compute_sanitizer.inside():
                now = state.without_additions(before, now)
            found += state.changes(before, now, _runtime, self._changes)
        if (current := self._current_device()) != self._current:
            found.append(f"current device: was {self._current}, is {current}")
        if device_settings := self._changed_settings():
            found.append(f"settings of the host runtime: {device_settings}")
        if self._conduct.wrote_problem:
            found.append("arguments: the problem, which is const, was written")
        return found

    def _changed_settings(self) -> str:
        """Return how the settings of the host runtime have changed, in words, and set them as they were."""
        host = self._device.host
        if host is None or (now := host.settings()) == self._settings:
            return ""
        host.restore(self._settings)
        return changed_settings(self._settings, now)

    def _current_device(self) -> int:
        return int(self._device.hip.hipGetDevice()[1])


def _is_of_runtime(device: Device, thread: int) -> bool:
    """Return whether the host runtime has started the thread, or a sanitizer, whose threads are like any.

    Another runtime's are started by a first launch.
    """
    if device.host is None:
        return bool(compute_sanitizer.inside())
    return device.host.owns_thread(thread)


def threads_of(conduct: LibraryState) -> set[int]:
    """Return the threads of a library that still run."""
    conduct.threads = {thread for thread in conduct.threads if Path(f"/proc/self/task/{thread}").exists()}
    return conduct.threads


def watched_load(load: Callable[[], KernelLibrary], device: Device) -> KernelLibrary:
    """Return the loaded library, which records what loading it has changed of everything that is never excused.

    The floating-point environment and the settings of the host runtime are restored.
    """
    before = ProcessState.of(snapshot())
    settings = device.host.settings() if device.host is not None else b""
    library = load()
    after = ProcessState.of(snapshot())
    state.restore_fp_environment(before.fp_environment)
    excusable = {item.name for item in fields(ProcessState)} - {*state.NEVER_EXCUSED}
    library.conduct.loading_changed = state.changes(before, after, _runtime, excusable)
    started = after.threads - before.threads
    library.conduct.threads |= {thread for thread in started if not _is_of_runtime(device, thread)}
    if device.host is not None and (changed := changed_settings(settings, device.host.settings())):
        device.host.restore(settings)
        library.conduct.loading_changed.append(f"settings of the host runtime: {changed}")
    return library


@contextmanager
def undisturbed() -> Iterator[None]:
    """Promise that only kernels and the harness run in the process until the context ends.

    The process before a call is then as it was after the previous one, but for what the harness changes (threads,
    descriptors ...), which is checked. So one snapshot serves as the end of a call and as the begin of the next.
    """
    global _last, _undisturbed
    _last = _last if _undisturbed else b""
    _undisturbed += 1
    try:
        yield
    finally:
        _undisturbed -= 1


def _holds() -> bool:
    return bool(native.library()("bitgate_process_state_holds")())


def snapshot() -> bytes:
    """Return the state of the process now (numerics/native/process_state.cpp)."""
    global _buffer, _last
    take = native.library()("bitgate_process_state")
    while (length := take(_buffer, len(_buffer))) > len(_buffer):
        _buffer = create_string_buffer(2 * length)
    _last = string_at(_buffer, length)
    return _last


def format_changes(changes: Sequence[str]) -> str:
    return f"it changed its process: {'; '.join(changes)}"


def _runtime() -> tuple[int, int] | None:
    runtimes = mapped_runtimes()
    return state.code_of(runtimes[0]) if runtimes else None
