"""Batches of work for the device tools: a launch costs more than the work on a small tensor."""

from __future__ import annotations

from collections.abc import Callable

from bitgate.runtime.buffers import CANARY
from bitgate.runtime.tools_abi import DIGEST, MAX_DIGESTS, MAX_FILLS, POINTER_FIRST

SMALL = 1 << 18
"""Elements; a larger tensor has a separate launch, since it keeps all its blocks busy."""

NO_ZONES = (b"", 0)


class ToolBatch:
    """Work for the tools, which ``call`` starts by name. In a ``with`` it is kept, and started at its end: fills and
    guards, then questions. Outside of one every call is made at once."""

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call
        self.is_open = False
        self._forget()

    def _forget(self) -> None:
        self._fills: list[bytes] = []
        self._guard = self._look = NO_ZONES
        self._damage = 0
        self._digests: list[bytes] = []
        self._calls: list[tuple[object, ...]] = []

    def __enter__(self) -> None:
        self.is_open = True

    def __exit__(self, kind: object, *_: object) -> None:
        self.is_open = False
        if kind is None:
            self._start()
        self._forget()

    def fill(self, data: int, request: bytes) -> None:
        """Add a small tensor at an address; ``request`` is packed by ``FILL``."""
        self._fills.append(POINTER_FIRST.pack(data) + request)

    def guard(self, zones: bytes, count: int) -> None:
        """Add these guard zones, the only ones, to be made."""
        self._guard = zones, count

    def look(self, zones: bytes, count: int, answer: int) -> None:
        """Add these guard zones, the only ones, to be checked for writes."""
        self._look, self._damage = (zones, count), answer

    def digest(self, data: int, cells: bytes, first: int, answers: int) -> None:
        self._digests.append(DIGEST.pack(data, cells, first, answers))

    def call(self, *call: object) -> None:
        """Add any other question, by name and arguments."""
        if self.is_open:
            self._calls.append(call)
        else:
            self._call(*call)

    def _start(self) -> None:
        zones, count = self._guard
        for some in _parts(self._fills, MAX_FILLS, count):
            self._call("fills", b"".join(some), len(some), zones, count, CANARY)
            zones, count = NO_ZONES
        for call in self._calls:
            self._call(*call)
        zones, count = self._look
        for some in _parts(self._digests, MAX_DIGESTS, count):
            self._call("digests", b"".join(some), len(some), zones, count, CANARY, self._damage)
            zones, count = NO_ZONES


def _parts(every: list[bytes], most: int, zones: int) -> list[list[bytes]]:
    """Return parts of at most ``most`` items; an empty one for zones alone."""
    return [every[at : at + most] for at in range(0, len(every), most)] or [[]] * bool(zones)
