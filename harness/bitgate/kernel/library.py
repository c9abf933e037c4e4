"""A kernel family's shared library: checked before it is loaded, then called through the C ABI."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import CDLL, POINTER, byref, c_char_p, c_int64, c_uint8, cast, memmove
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.targets import architecture_of
from bitgate.core.untrusted import shown
from bitgate.kernel.abi import (
    EXPORTS,
    REASON_BYTES,
    AbiStatus,
    CDispatchRecord,
    CInstanceInfo,
    CLaunch,
    COptions,
    CReason,
    CValue,
    sized,
    values_of,
)
from bitgate.kernel.arguments import (
    c_buffers,
    c_options,
    check_options,
    find_instance,
)
from bitgate.kernel.c_problem import DEFAULT_ALIGNMENT, AbiProblem, CProblemMemory, lent_problem
from bitgate.kernel.cache import Cache
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError, RecordRejected
from bitgate.kernel.examine import examine
from bitgate.kernel.launch_list import LaunchMistake, SourceKernel, StatedProblem, kernels_of, launch_list
from bitgate.kernel.predicates import failure
from bitgate.kernel.raw_record import raw_of_c
from bitgate.kernel.record_check import RecordDefect, checked
from bitgate.kernel.runner import LibraryState
from bitgate.worker.mapped import mapped_runtimes

_KERNARG_BYTES = 4096
"""Most bytes of a launch's arguments: the record reserves them for each launch."""
_FACTS = 64
_MOST_STATED = 256
_PART_COLUMNS = 32
"""Most integers of a problem's part."""


@dataclass(frozen=True)
class RunCall:
    """The arguments of one of several calls at once; they are those of ``KernelLibrary.run``."""

    buffers: Mapping[str, int]
    workspace: tuple[int, int]
    stream: int


class KernelLibrary:
    """A loaded kernel library. Calls are not thread-safe, since the record's memory is reused."""

    def __init__(self, path: Path, family: KernelFamily, handle: CDLL, target: str = "host") -> None:
        self.path = path
        self.family = family
        self.conduct = LibraryState()
        self._run = handle.bitgate_run
        self._is_supported = handle.bitgate_is_supported
        self._workspace_size = handle.bitgate_workspace_size
        self._list_instances = handle.bitgate_list_instances
        self._kernels = {} if family.source is None else _kernels_in(handle)
        self._lds_limit = architecture_of(target).lds_bytes
        self._stated: dict[tuple[AbiProblem, str, tuple[tuple[str, str], ...]], AbiProblem] = {}
        self._memory = _RecordMemory(64)
        self._checked: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}

    @classmethod
    def load(
        cls, path: Path, family: KernelFamily, *, target: str | None = None, cache: Cache | None = None
    ) -> KernelLibrary:
        """Load a library that agrees with its declaration; LibraryError names what does not.

        A file seen for the first time is first loaded in a separate process, so that a crash ends that process and not
        this one. The device must be open, since the library runs on its runtime. ``target``, if given, is the one that
        the library must be built for.
        """
        runtimes = mapped_runtimes()
        examine(path, family, runtimes[0] if runtimes else None, target, cache or Cache())
        try:
            handle = CDLL(str(path.resolve()), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}") from None
        for name, (result, arguments) in EXPORTS.items():
            function = getattr(handle, name)
            function.restype, function.argtypes = result, arguments
        return cls(path, family, handle, target or "host")

    def is_supported(
        self,
        problem: AbiProblem,
        instance: Instance | str,
        options: Mapping[str, str] | None = None,
        alignment: int = DEFAULT_ALIGNMENT,
    ) -> Refusal | None:
        """Return None if the instance takes the problem. KernelFailed if the library rejects the call itself."""
        reason = CReason()
        name, chosen = self._call(instance, options)
        lent = lent_problem(self.stated(problem, instance, options), alignment)
        try:
            status = self._is_supported(lent.reference, name, byref(chosen), byref(reason))
        finally:
            self._take_back(lent)
        if status == AbiStatus.OK:
            return None
        if status == AbiStatus.REFUSED:
            return _refusal(reason)
        raise _failure("bitgate_is_supported", status, reason)

    def stated(self, problem: AbiProblem, instance: Instance | str, options: Mapping[str, str] | None) -> AbiProblem:
        """Return the problem with its launches, where the library is of a user's device code; else the problem.

        The declaration is asked once for each problem. LaunchMistake for launches that cannot be.
        """
        source = self.family.source
        if source is None:
            return problem
        found = find_instance(self.family, instance if isinstance(instance, str) else instance.name)
        settings = {option.name: option.production for option in self.family.options} | dict(options or {})
        key = (problem, found.name, tuple(sorted(settings.items())))
        if key not in self._stated:
            try:
                plan = source.plan(problem, found, settings)
            except UsageError as error:
                raise LaunchMistake(str(error)) from None
            except Exception as error:  # a user's code, where it runs in this process
                raise LaunchMistake(failure("launches", error, self.family.folder)) from None
            if len(self._stated) >= _MOST_STATED:
                self._stated.clear()
            integers = launch_list(plan, self._kernels, problem, self._lds_limit)
            self._stated[key] = StatedProblem(problem, integers)
        return self._stated[key]

    def lds_bytes(self, instance: Instance) -> int:
        """Return the bytes of LDS that a block of the instance's kernels declares, as the library states it."""
        infos = (CInstanceInfo * len(self.family.instances))()
        count = self._list_instances(infos, len(infos))
        facts = next(values_of(i.facts, i.fact_count) for i in infos[:count] if i.name.decode() == instance.name)
        return int(str(facts.get("lds_bytes", 0)))

    def workspace_size(
        self,
        problem: AbiProblem,
        instance: Instance | str,
        options: Mapping[str, str] | None = None,
        alignment: int = DEFAULT_ALIGNMENT,
    ) -> int:
        """Return the bytes of workspace that ``run`` needs. KernelRefused or KernelFailed as ``run``."""
        reason = CReason()
        name, chosen = self._call(instance, options)
        lent = lent_problem(self.stated(problem, instance, options), alignment)
        try:
            size: int = self._workspace_size(lent.reference, name, byref(chosen), byref(reason))
        finally:
            self._take_back(lent)
        if size >= 0:
            return size
        if -size == AbiStatus.REFUSED:
            raise KernelRefused(_refusal(reason))
        if -size not in {int(status) for status in AbiStatus}:
            what = f"bitgate_workspace_size returned {size}, which is neither a size nor a status of abi.h"
            raise KernelFailed(None, what)
        raise _failure("bitgate_workspace_size", -size, reason)

    def run(
        self,
        problem: AbiProblem,
        instance: Instance | str,
        options: Mapping[str, str] | None,
        buffers: Mapping[str, int],
        workspace: tuple[int, int] = (0, 0),
        stream: int = 0,
        alignment: int = DEFAULT_ALIGNMENT,
    ) -> DispatchRecord:
        """Start the kernels on ``stream``; they have not ended when this returns.

        ``buffers`` maps tensor names to device pointers, ``workspace`` is (pointer, bytes), ``alignment`` what is
        promised for every base pointer. KernelRefused if the library does not take the problem, KernelFailed otherwise.
        """
        problem = self.stated(problem, instance, options)
        name, chosen = self._call(instance, options)
        if problem.parts > self._memory.capacity:
            self._memory = _RecordMemory(problem.parts)
        record = self._memory.fresh()
        lent = lent_problem(problem, alignment)
        pointers = c_buffers(lent.roles, buffers, workspace)
        try:
            status = self._run(lent.reference, name, byref(chosen), byref(pointers), byref(record), stream)
        finally:
            self._take_back(lent)
        return self._recorded(status, record, self._memory.cleared, name)

    def run_together(
        self, problem: AbiProblem, instance: Instance, options: Mapping[str, str], calls: Sequence[RunCall]
    ) -> list[DispatchRecord]:
        """Run as ``run`` does, several times at once: each call is made from a separate thread."""
        problem = self.stated(problem, instance, options)
        name, chosen = self._call(instance, options)
        lent = lent_problem(problem, DEFAULT_ALIGNMENT)
        gate = Barrier(len(calls))

        def run(call: RunCall) -> DispatchRecord:
            memory, pointers = _RecordMemory(problem.parts), c_buffers(lent.roles, call.buffers, call.workspace)
            record = memory.fresh()
            gate.wait()
            status = self._run(lent.reference, name, byref(chosen), byref(pointers), byref(record), call.stream)
            return self._recorded(status, record, memory.cleared, name)

        try:
            with ThreadPoolExecutor(len(calls)) as threads:
                return list(threads.map(run, calls))
        finally:
            self._take_back(lent)

    def _recorded(self, status: int, record: CDispatchRecord, cleared: bytes, instance: bytes) -> DispatchRecord:
        """Return what a call of ``run`` recorded, or raise its failure."""
        if status != AbiStatus.OK:
            raise self.failure(status, record)
        found = checked(raw_of_c(record, cleared, status), instance.decode())
        if isinstance(found, RecordDefect):
            raise RecordRejected(self.path, found)
        return found

    @contextmanager
    def prepared(self, problem: AbiProblem, instance: Instance, options: Mapping[str, str]) -> Iterator[PreparedRun]:
        """Yield the arguments of calls of ``run``, for a caller that makes many of them in C.

        They belong to the library, and are valid until the next call of anything else.
        """
        problem = self.stated(problem, instance, options)
        name, chosen = self._call(instance, options)
        if problem.parts > self._memory.capacity:
            self._memory = _RecordMemory(problem.parts)
        lent = lent_problem(problem, DEFAULT_ALIGNMENT)
        try:
            yield PreparedRun(self._run, lent, name, chosen, self._memory.fresh())
        finally:
            self._take_back(lent)

    def failure(self, status: int, record: CDispatchRecord) -> Exception:
        """Return the exception of ``run`` for a status that is not OK."""
        if status == AbiStatus.REFUSED:
            return KernelRefused(_refusal(record.reason))
        return _failure("bitgate_run", status, record.reason, record.hip_error)

    def _take_back(self, lent: CProblemMemory) -> None:
        """Note and undo what a call wrote into the problem, since other calls get the same memory."""
        self.conduct.wrote_problem |= lent.restore()

    def _call(self, instance: Instance | str, options: Mapping[str, str] | None) -> tuple[bytes, COptions]:
        name = instance if isinstance(instance, str) else instance.name
        given = tuple((options or {}).items())
        if given not in self._checked:
            self._checked[given] = check_options(self.family, dict(given))
        return find_instance(self.family, name).name.encode(), c_options(self._checked[given])


@dataclass(frozen=True)
class PreparedRun:
    """The arguments of a library's ``bitgate_run``, which is ``function``, except for buffers and stream."""

    function: Any
    problem: CProblemMemory
    instance: bytes
    options: COptions
    record: CDispatchRecord


class _RecordMemory:
    """A dispatch record with room for ``capacity`` parts and their launches, reused from call to call."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        events = capacity + 16
        self._facts = (CValue * _FACTS)()
        self._parts = (c_int64 * (capacity * _PART_COLUMNS))()
        self._events = (CLaunch * events)()
        self._kernargs = (c_uint8 * (events * _KERNARG_BYTES))()
        record: CDispatchRecord = sized(CDispatchRecord)
        record.fact_capacity, record.facts = len(self._facts), cast(self._facts, POINTER(CValue))
        record.part_capacity, record.parts = len(self._parts), cast(self._parts, POINTER(c_int64))
        record.event_capacity, record.events = len(self._events), cast(self._events, POINTER(CLaunch))
        record.kernarg_capacity, record.kernargs = len(self._kernargs), cast(self._kernargs, POINTER(c_uint8))
        self._record, self.cleared = record, bytes(record)

    def fresh(self) -> CDispatchRecord:
        """Return the record, cleared; the arrays are not cleared, since the counts say what is valid."""
        memmove(byref(self._record), self.cleared, len(self.cleared))
        return self._record


def _kernels_in(handle: CDLL) -> dict[str, SourceKernel]:
    """Return the kernels of a library that bitgate has generated, by name."""
    listed = handle.bitgate_source_kernels
    listed.restype = c_char_p
    return kernels_of(listed().decode())


def _refusal(reason: CReason) -> Refusal:
    return Refusal(*(shown(text.decode(errors="replace"), REASON_BYTES) for text in (reason.clause, reason.text)))


def _failure(call: str, status: int, reason: CReason, hip_error: int = 0) -> KernelFailed:
    text = shown(reason.text.decode(errors="replace"), REASON_BYTES)
    try:
        return KernelFailed(AbiStatus(status), text or f"{call} gives no reason", hip_error)
    except ValueError:
        return KernelFailed(
            None, f"{call} returned {status}, which abi.h does not know; {text}".rstrip("; "), hip_error
        )
