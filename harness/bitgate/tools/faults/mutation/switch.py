"""The switch of a library of mutants, turned and read by a guest in the process of the kernels.

The library exports the functions of kernels/include/bitgate/mutants.hpp, by which host and device code hear of it.
"""

from __future__ import annotations

from ctypes import CDLL, c_ubyte

from bitgate.core.errors import UsageError
from bitgate.verify.session import Session

OFF, WATCHING = 0, -1
"""Values of the switch where no mutant is on; WATCHING also notes which places are reached."""

GUEST = f"{__name__}:MutantSwitch"


class MutantSwitch:
    """The switches of the libraries in a process, which are loaded already and stay loaded.

    A library whose code has no mutant has no switch to turn.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._libraries: dict[str, CDLL | None] = {}

    def turn(self, family: str, instance: str, to: int) -> int:
        """Return a HIP error, 0 for none: a GPU's context gives errors for ever after a fault."""
        library = self._of(family, instance)
        return 0 if library is None else int(library.bitgate_mutants_turn(to))

    def reached(self, family: str, instance: str) -> list[int]:
        """Return the mutants whose places were executed since the switch was turned to WATCHING."""
        library = self._of(family, instance)
        if library is None:
            return []
        seen = (c_ubyte * (library.bitgate_mutants_count() + 1))()
        if error := library.bitgate_mutants_reached(seen):
            raise UsageError(f"{family}: what a case reaches cannot be read from the device: HIP error {error}")
        return [number for number, is_seen in enumerate(seen) if is_seen]

    def _of(self, family: str, instance: str) -> CDLL | None:
        path = str(self._session.opened.library(family, instance).path.resolve())
        if path not in self._libraries:
            self._libraries[path] = switch_of(CDLL(path))
        return self._libraries[path]


def switch_of(handle: CDLL) -> CDLL | None:
    """Return the library if it has a switch."""
    return handle if hasattr(handle, "bitgate_mutants_turn") else None
