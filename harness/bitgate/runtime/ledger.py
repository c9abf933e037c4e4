"""A ledger of what the runtime knows of a launch and the library did not report: errors that it read and cleared, work
that it did not wait for. Our own runtimes (host, nvidia) keep one, from which no HIP call removes anything."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL, POINTER, Structure, byref, c_char, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from ctypes import create_string_buffer as text_buffer
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from bitgate.runtime.host import DeviceFault, HostRuntime, functions_of
from bitgate.runtime.seen_work import SeenWork, WorkLog, signatures


@dataclass(frozen=True)
class Incident:
    """A kernel's fault, or a call whose work was not done, in one sentence. ``address`` is what it was about, 0 if
    none; ``fault`` has the place where the runtime knows it."""

    text: str
    address: int = 0
    fault: DeviceFault | None = None


class IncidentLedger(Protocol):
    """A device's record of incidents."""

    def mark(self) -> int:
        """Return the present end of the record."""

    def since(self, mark: int) -> Sequence[Incident]:
        """Return what was added after the mark, the oldest first, as far as it is kept."""

    def lend_stream(self, stream: int, lent: bool) -> None:
        """Let only its owner destroy a stream while it is lent, where the runtime can prevent others."""

    def in_flight(self, stream: int) -> str:
        """Return a text for work on other streams that was not waited for; empty if there is none, or if it is unknown.

        Call it before anything waits for the device.
        """

    def work_mark(self) -> int:
        """Return the present end of the log of launches and fills."""

    def work_since(self, mark: int) -> Sequence[SeenWork] | None:
        """Return the launches and fills after the mark; None where they are not seen."""

    def held_bytes(self) -> int | None:
        """Return the bytes of memory that were allocated and not freed; None where that is not seen."""


class HostLedger:
    """The ledger of the host runtime, which sees every stream and every call."""

    def __init__(self, host: HostRuntime) -> None:
        self._host = host

    def mark(self) -> int:
        return self._host.incidents()

    def since(self, mark: int) -> Sequence[Incident]:
        return [Incident(fault.text, fault.address, fault) for fault in self._host.incidents_since(mark)]

    def lend_stream(self, stream: int, lent: bool) -> None:
        self._host.lend_stream(stream, lent)

    def in_flight(self, stream: int) -> str:
        return _format_work(*self._host.work_in_flight(stream))

    def work_mark(self) -> int:
        return self._host.works.mark()

    def work_since(self, mark: int) -> Sequence[SeenWork] | None:
        return self._host.works.since(mark)

    def held_bytes(self) -> int | None:
        return self._host.held_bytes()


class _CIncident(Structure):
    _fields_: ClassVar[Any] = [
        ("error", c_int),
        ("reserved", c_int),
        ("address", c_uint64),
        ("text", c_char * 240),
    ]


_NVIDIA: dict[str, tuple[Any, list[Any]]] = {
    "bitgateNvidiaIncidents": (c_uint64, []),
    "bitgateNvidiaIncident": (c_int, [c_uint64, POINTER(_CIncident)]),
    "bitgateNvidiaLendStream": (c_int, [c_void_p, c_int]),
    "bitgateNvidiaWorkInFlight": (c_uint64, [c_void_p, c_char_p, c_size_t]),
    "bitgateNvidiaHeldBytes": (c_uint64, []),
    **signatures("bitgateNvidia"),
}


class NvidiaLedger:
    """The ledger of our runtime over CUDA, which sees what goes through HIP, but no calls of CUDA itself."""

    def __init__(self, path: str, handle: CDLL) -> None:
        self._functions = functions_of(handle, path, "nvidia", _NVIDIA)
        self._text = text_buffer(128)
        self._works = WorkLog(self._functions, "bitgateNvidia")

    def mark(self) -> int:
        return self._count()

    def _count(self) -> int:
        return int(self._functions["bitgateNvidiaIncidents"]())

    def since(self, mark: int) -> Sequence[Incident]:
        found = []
        for place in range(mark, self._count()):
            value = _CIncident()
            if self._functions["bitgateNvidiaIncident"](place, byref(value)) == 0:
                found.append(Incident(value.text.decode(errors="replace"), value.address))
        return found

    def lend_stream(self, stream: int, lent: bool) -> None:
        self._functions["bitgateNvidiaLendStream"](stream, int(lent))

    def in_flight(self, stream: int) -> str:
        text = self._text
        count = self._functions["bitgateNvidiaWorkInFlight"](stream, text, len(text))
        return _format_work(count, text.value.decode(errors="replace")) if count else ""

    def work_mark(self) -> int:
        return self._works.mark()

    def work_since(self, mark: int) -> Sequence[SeenWork] | None:
        return self._works.since(mark)

    def held_bytes(self) -> int | None:
        return int(self._functions["bitgateNvidiaHeldBytes"]())


def take_last_error(hip: Any) -> str:
    """Return a text for the error that an earlier call left, and clear it; empty if there is none."""
    code = hip.hipPeekAtLastError()
    error = code[0] if isinstance(code, tuple) else code
    if error == hip.hipError_t.hipSuccess:
        return ""
    hip.hipGetLastError()
    if error == hip.hipError_t.hipErrorNotReady:
        return ""
    return f"{error.name} was left by a call whose result the library did not check"


class HipLedger:
    """A ledger for ROCm's runtime, which keeps one error and forgets it once it is read: errors that a library reads
    are not seen. Of streams only the null stream can be queried."""

    def __init__(self, hip: Any) -> None:
        self._hip = hip

    def mark(self) -> int:
        self._hip.hipGetLastError()
        return 0

    def since(self, mark: int) -> Sequence[Incident]:
        left = take_last_error(self._hip)
        return [Incident(left)] if left else []

    def lend_stream(self, stream: int, lent: bool) -> None:
        return  # nothing is between the library and ROCm

    def in_flight(self, stream: int) -> str:
        code = self._hip.hipStreamQuery(None)[0]
        return "work on the null stream" if code == self._hip.hipError_t.hipErrorNotReady else ""

    def work_mark(self) -> int:
        return 0

    def work_since(self, mark: int) -> Sequence[SeenWork] | None:
        return None

    def held_bytes(self) -> int | None:
        return None


def _format_work(count: int, first: str) -> str:
    return f"{first} and {count - 1} more" if count > 1 else first if count else ""
