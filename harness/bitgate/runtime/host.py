"""The extensions of the host's HIP runtime (kernels/platforms/host/include/bitgate_host.h) in ctypes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from ctypes import (
    CDLL,
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
    create_string_buffer,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bitgate.core.errors import UsageError
from bitgate.model.memory_runs import Runs
from bitgate.runtime.errors import HipError, hip_error
from bitgate.runtime.seen_work import WorkLog, signatures

PLACEMENTS = {"right": 0, "left": 1}
SCHEDULES = {"forward": 0, "reverse": 1, "random": 2, "lockstep": 3}
"""The thread orders and their numbers: ``forward`` and ``reverse`` run a wave to its next barrier before another
starts, and are opposites; ``lockstep`` advances all waves from wave operation to wave operation together; ``random``
shuffles all threads."""
SCHEDULE_WORDS = "forward, reverse, lockstep or random:N"
SCHEDULE_PATTERN = r"forward|reverse|lockstep|race|random:\d+"

RACE = "race"
"""The schedule of a case whose kernels are built in the flavour that reports each access; threads run forward, then in
reverse, as without it."""

FAULT_KINDS = (
    "none",
    "global_memory",
    "lds",
    "null",
    "wild",
    "stack_overflow",
    "arithmetic",
    "trap",
    "assert",
    "missed_barrier",
    "divergent_wave_op",
    "lds_canary",
    "global_canary",
    "lds_misuse",
    "exception",
    "host_pointer",
    "fp_environment",
    "race",
    "spin",
)
"""The kinds of ``enum BitgateHostFaultKind`` by value."""


@dataclass(frozen=True)
class DeviceFault:
    """The reason why a kernel on the host was ended: what happened, in which thread, at which place. ``text`` says all
    of it in one sentence.

    ``offset`` and ``buffer_size`` are bytes, the offset from the buffer's begin. ``is_write`` is None if unknown.
    """

    kind: str
    error: int
    text: str
    kernel: str
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    is_write: bool | None
    address: int
    offset: int
    buffer: str
    buffer_size: int


class _CFault(Structure):
    _fields_: ClassVar[Any] = [
        ("kind", c_int),
        ("error", c_int),
        ("is_write", c_int),
        ("block", c_uint32 * 3),
        ("thread", c_uint32 * 3),
        ("address", c_uint64),
        ("offset", c_int64),
        ("buffer_size", c_uint64),
        ("kernel", c_char * 128),
        ("buffer", c_char * 64),
        ("text", c_char * 768),
    ]


class CHostSettings(Structure):
    """The C structure ``BitgateHostSettings``; field names are the words of reports."""

    _fields_: ClassVar[Any] = [
        ("threads", c_uint32),
        ("wave_size", c_uint32),
        ("compute_units", c_uint32),
        ("occupancy", c_uint32),
        ("lds_limit", c_uint64),
        ("total_memory", c_uint64),
        ("schedule", c_int32),
        ("placement", c_int32),
        ("seed", c_uint64),
        ("poison", c_int32),
        ("poison_byte", c_int32),
        ("stream_mode", c_int32),
        ("changes", c_uint32),
        ("spin_seconds", c_double),
    ]


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "bitgateHostSetThreads": (c_int, [c_uint]),
    "bitgateHostGetThreads": (c_uint, []),
    "bitgateHostSetWaveSize": (c_int, [c_uint]),
    "bitgateHostSetComputeUnits": (c_int, [c_uint]),
    "bitgateHostSetOccupancy": (c_int, [c_uint]),
    "bitgateHostSetTotalMemory": (c_int, [c_size_t]),
    "bitgateHostSetSchedule": (c_int, [c_int, c_uint64]),
    "bitgateHostSetSpinLimit": (c_int, [c_double]),
    "bitgateHostSetPlacement": (c_int, [c_int]),
    "bitgateHostSetPoison": (c_int, [c_int]),
    "bitgateHostSetPoisonByte": (c_int, [c_uint]),
    "bitgateHostSetStreamMode": (c_int, [c_int]),
    "bitgateHostResetSettings": (c_int, []),
    "bitgateHostGetSettings": (None, [POINTER(CHostSettings)]),
    "bitgateHostSetSettings": (c_int, [POINTER(CHostSettings)]),
    "bitgateHostOwnsThread": (c_int, [c_int]),
    "bitgateHostHeldBytes": (c_uint64, []),
    **signatures("bitgateHost"),
    "bitgateHostMalloc": (c_int, [POINTER(c_void_p), c_size_t, c_size_t, c_int]),
    "hipFree": (c_int, [c_void_p]),
    "bitgateHostReserve": (c_int, [POINTER(c_void_p), c_size_t, c_size_t, c_int]),
    "bitgateHostOpen": (c_int, [c_void_p, c_size_t, c_size_t]),
    "bitgateHostNameBuffer": (c_int, [c_void_p, c_char_p]),
    "bitgateHostLendBuffer": (c_int, [c_void_p, c_int]),
    "bitgateHostCheckCanary": (c_int, [c_void_p, POINTER(c_int64)]),
    "bitgateHostLastFaultInfo": (c_int, [POINTER(_CFault)]),
    "bitgateHostClearFault": (None, []),
    "bitgateHostIncidents": (c_uint64, []),
    "bitgateHostIncident": (c_int, [c_uint64, POINTER(_CFault)]),
    "bitgateHostLendStream": (c_int, [c_void_p, c_int]),
    "bitgateHostWorkInFlight": (c_uint64, [c_void_p, c_char_p, c_size_t]),
}


class HostRuntime:
    """The settings, memory and faults of the loaded host runtime. Settings hold for work launched afterwards."""

    def __init__(self, path: Path, handle: CDLL) -> None:
        self.path = path
        self._functions = functions_of(handle, path, "host", _FUNCTIONS)
        self._text = create_string_buffer(256)
        self.works = WorkLog(self._functions, "bitgateHost")
        """The launches and fills since the library was loaded."""

    def settings(self) -> bytes:
        """Return all settings, for ``changed_settings`` and ``restore``."""
        value = CHostSettings()
        self._functions["bitgateHostGetSettings"](byref(value))
        return bytes(value)

    def restore(self, settings: bytes) -> None:
        """Set all settings to what they were."""
        self._call("bitgateHostSetSettings", byref(CHostSettings.from_buffer_copy(settings)))

    def owns_thread(self, thread: int) -> bool:
        """Return whether the runtime itself has started an OS thread of this process."""
        return bool(self._functions["bitgateHostOwnsThread"](thread))

    def set_threads(self, count: int) -> None:
        """Set the number of CPU threads that run blocks; 0 for BITGATE_THREADS, else the cores."""
        self._call("bitgateHostSetThreads", count)

    @property
    def threads(self) -> int:
        return int(self._functions["bitgateHostGetThreads"]())

    def set_wave_size(self, lanes: int) -> None:
        """Set the lanes of a wave: 32 or 64."""
        self._call("bitgateHostSetWaveSize", lanes)

    def set_compute_units(self, count: int) -> None:
        self._call("bitgateHostSetComputeUnits", count)

    def set_occupancy(self, blocks: int) -> None:
        """Set the blocks on a compute unit; 0 to compute them from threads and LDS."""
        self._call("bitgateHostSetOccupancy", blocks)

    def set_total_memory(self, count: int) -> None:
        """Set the bytes of device memory; 0 for the machine's."""
        self._call("bitgateHostSetTotalMemory", count)

    def set_schedule(self, text: str) -> None:
        """Set the thread order: ``forward``, ``reverse``, ``lockstep`` or ``random:N``."""
        kind, seed = parse_schedule(text)
        self._call("bitgateHostSetSchedule", SCHEDULES[kind], seed)

    def set_poison_byte(self, byte: int) -> None:
        """Set the byte that fills LDS and new memory, 0xFF by default."""
        self._call("bitgateHostSetPoisonByte", byte)

    def set_spin_limit(self, seconds: float) -> None:
        """Set the processor time that a thread may run without reaching a barrier or its end; 0 for the default."""
        self._call("bitgateHostSetSpinLimit", seconds)

    def reset(self) -> None:
        """Restore all settings to those after loading the library."""
        self._call("bitgateHostResetSettings")

    def held_bytes(self) -> int:
        """Return the bytes of memory that were allocated and not freed."""
        return int(self._functions["bitgateHostHeldBytes"]())

    def malloc(self, size: int, alignment: int, placement: str, name: str, runs: Runs | None = None) -> int:
        """Allocate device memory between guard pages, poisoned; with ``runs`` only for the pages that these are in.

        Raises HipError if there is none left.
        """
        pointer = c_void_p()
        function = "bitgateHostMalloc" if runs is None else "bitgateHostReserve"
        self._call(function, byref(pointer), size, alignment, PLACEMENTS[placement])
        try:
            for begin, end in runs or ():
                self._call("bitgateHostOpen", pointer, begin, end - begin)
        except HipError:
            self._functions["hipFree"](pointer)
            raise
        self._functions["bitgateHostNameBuffer"](pointer, name.encode()[:63])
        return pointer.value or 0

    def lend(self, pointer: int, lent: bool) -> None:
        """Protect a buffer, or end that: while it is lent, hipFree refuses it."""
        self._call("bitgateHostLendBuffer", pointer, int(lent))

    def lend_stream(self, stream: int, lent: bool) -> None:
        """Protect a stream, or end that: while it is lent, hipStreamDestroy refuses it."""
        self._call("bitgateHostLendStream", stream, int(lent))

    def damaged_at(self, pointer: int) -> int | None:
        """Return where the slack around a buffer was written, in bytes from its begin; None if it was not."""
        offset = c_int64()
        code = self._functions["bitgateHostCheckCanary"](pointer, byref(offset))
        return offset.value if code else None

    def fault(self) -> DeviceFault | None:
        """Return the last fault since ``clear_fault``."""
        value = _CFault()
        return _fault(value) if self._functions["bitgateHostLastFaultInfo"](byref(value)) else None

    def clear_fault(self) -> None:
        self._functions["bitgateHostClearFault"]()

    def incidents(self) -> int:
        """Return the number of faults and failed calls since the library was loaded; it never falls."""
        return int(self._functions["bitgateHostIncidents"]())

    def incidents_since(self, number: int) -> list[DeviceFault]:
        """Return the incidents after the first ``number``, as far as they are kept."""
        found = []
        for place in range(number, self.incidents()):
            value = _CFault()
            if self._functions["bitgateHostIncident"](place, byref(value)) == 0:
                found.append(_fault(value))
        return found

    def work_in_flight(self, but: int) -> tuple[int, str]:
        """Return the number of pieces of work that streams other than ``but`` have not done, and text on the first."""
        text = self._text
        count = self._functions["bitgateHostWorkInFlight"](but, text, len(text))
        return int(count), text.value.decode(errors="replace") if count else ""

    def _call(self, name: str, *arguments: Any) -> None:
        code = self._functions[name](*arguments)
        if code:
            raise hip_error(code, name)


def _fault(value: _CFault) -> DeviceFault:
    kind = FAULT_KINDS[value.kind] if value.kind < len(FAULT_KINDS) else str(value.kind)
    text = value.text.decode(errors="replace")
    return DeviceFault(
        kind=kind,
        error=value.error,
        text=with_source_lines(text) if kind == "race" else text,
        kernel=value.kernel.decode(errors="replace"),
        block=tuple(value.block),
        thread=tuple(value.thread),
        is_write=None if value.is_write < 0 else bool(value.is_write),
        address=value.address,
        offset=value.offset,
        buffer=value.buffer.decode(errors="replace"),
        buffer_size=value.buffer_size,
    )


def changed_settings(before: bytes, after: bytes) -> str:
    """Return the settings that differ, in words; empty if none does."""
    old, new = CHostSettings.from_buffer_copy(before), CHostSettings.from_buffer_copy(after)
    return ", ".join(
        f"{name.replace('_', ' ')} was {getattr(old, name)}, is {getattr(new, name)}"
        for name, *_ in CHostSettings._fields_
        if getattr(old, name) != getattr(new, name)
    )


def parse_schedule(text: str) -> tuple[str, int]:
    """Return (kind, seed) of a schedule's spelling. Raises UsageError if it is none."""
    kind, colon, seed = text.partition(":")
    if kind in SCHEDULES and kind != "random" and not colon:
        return kind, 0
    if kind == "random" and re.fullmatch(r"\d+", seed) and int(seed) < 2**64:
        return kind, int(seed)
    raise UsageError(f"schedule '{text}': give {SCHEDULE_WORDS}")


Signatures = Mapping[str, tuple[Any, list[Any]]]
"""Result and arguments by name, as ctypes has them."""


def functions_of(handle: CDLL, path: Path | str, runtime: str, signatures: Signatures) -> dict[str, Any]:
    """Return the functions of a library. Raises UsageError if it is not this runtime."""
    functions: dict[str, Any] = {}
    for name, (result, arguments) in signatures.items():
        function = getattr(handle, name, None)
        if function is None:
            raise UsageError(f"{path}: not bitgate's {runtime} runtime, it lacks {name}")
        function.restype, function.argtypes = result, arguments
        functions[name] = function
    return functions


_PLACE = re.compile(r"(?P<library>[\w.+-]+/[\w.+-]+\.so)\+0x(?P<offset>[0-9a-f]+)")

_OURS = "/hip/host_detail/"
"""Inlined functions of HIP, such as atomicAdd: the line that calls them is more useful."""


def with_source_lines(text: str) -> str:
    """Replace ``folder/libmine.so+0x12ab`` by ``mine.hip.cpp:14``, where there are addr2line and debug information."""
    return _PLACE.sub(lambda place: _library_line(place["library"], place["offset"]) or place[0], text)


def _library_line(library: str, offset: str) -> str:
    path = _loaded(library)
    return source_line(path, offset) if path else ""


def source_line(path: Path, offset: str) -> str:
    """Return ``file.hpp:12`` of a place in a program or library, in hexadecimal digits; empty if it is unknown."""
    tool = shutil.which("addr2line")
    if tool is None:
        return ""
    command = [tool, "--inlines", "--exe", str(path), f"0x{offset}"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # Innermost first: "/path/file.hpp:12 (discriminator 3)".
    frames = [line.partition(" (")[0] for line in finished.stdout.splitlines() if not line.startswith("??")]
    known = [frame for frame in frames if not frame.endswith((":0", ":?"))]
    line = next((frame for frame in known if _OURS not in frame), next(iter(known), ""))
    return os.path.normpath(line) if line else ""


def _loaded(library: str) -> Path | None:
    """Return the file of a library of this process."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")
        if line.endswith(f"/{library}"):
            return Path(f"/{path[2]}")
    return None
