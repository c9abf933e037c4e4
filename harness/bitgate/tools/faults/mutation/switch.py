"""The guest in the process of kernels that turns a library's switch and reads which mutants were reached."""

from __future__ import annotations

from ctypes import CDLL, c_int, c_ubyte, memset, sizeof
from typing import Any

from bitgate.tools.faults.mutation.schema import MOST, REACHED, SWITCH, WATCHING
from bitgate.verify.session import Session

GUEST = f"{__name__}:MutantSwitch"


class MutantSwitch:
    """The library is that of the instance: it is loaded already, and stays. One whose code has no mutant has no
    switch: there is nothing to turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._switches: dict[str, tuple[c_int, Any] | None] = {}

    def turn(self, family: str, instance: str, to: int) -> None:
        found = self._of(family, instance)
        if found is None:
            return
        switch, reached = found
        if to == WATCHING:
            memset(reached, 0, sizeof(reached))
        switch.value = to

    def reached(self, family: str, instance: str) -> list[int]:
        """The mutants whose places were executed since it was turned to WATCHING."""
        found = self._of(family, instance)
        return [] if found is None else [number for number, seen in enumerate(bytes(found[1])) if seen]

    def _of(self, family: str, instance: str) -> tuple[c_int, Any] | None:
        path = str(self._session.library(family, instance).path.resolve())
        if path not in self._switches:
            self._switches[path] = switch_of(CDLL(path))
        return self._switches[path]


def switch_of(handle: CDLL) -> tuple[c_int, Any] | None:
    try:
        return c_int.in_dll(handle, SWITCH), (c_ubyte * MOST).in_dll(handle, REACHED)
    except ValueError:  # no such symbol
        return None
