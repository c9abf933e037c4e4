"""Timing that a foreign command line requests for its problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bitgate.interop.controls import Controls

UNVERIFIED = "the line asks for no verification: only what is verified is timed, so it is verified"
ZEROS = "the line leaves the inputs zero, by which any kernel is right: integers are used"


@dataclass(frozen=True)
class PerfRequest:
    """Timing that a command line requests.

    ``launches`` are timed, each alone, for at most ``seconds`` for the problem; None: as the benchmark is set.
    ``reference`` is what the result is compared with before anything is timed, ``fill`` the data. ``refusal`` says why
    the line cannot be timed; ``notes`` what it asks for and is done otherwise.
    """

    launches: int | None = None
    seconds: float | None = None
    cold: bool = False
    fill: str = "exact"
    reference: str = "auto"
    refusal: str = ""
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> PerfRequest:
        return replace(self, notes=(*self.notes, *notes))


REFERENCES = ("auto", "auto", "gpu")
"""By CK's verification word: none is not honoured, CPU, GPU."""
FILLS = ("exact", "exact", "decimal")
"""By CK's initialisation word: none is not honoured, integers, decimals."""


def of_controls(controls: Controls, time_word: str) -> PerfRequest:
    """Return what CK's control words ask for; ``time_word`` is what the error about a time of 0 calls the word."""
    request = PerfRequest(fill=FILLS[controls.init], reference=REFERENCES[controls.verification])
    if controls.time == 0:
        return replace(request, refusal=f"{time_word} is 0: the line asks for no timing, bitgate verify runs it")
    if controls.time > 1:
        request = replace(request, launches=controls.time)
    if controls.verification == 0:
        request = request.noting(UNVERIFIED)
    if controls.init == 0:
        request = request.noting(ZEROS)
    if controls.log:
        request = request.noting("the values of tensors are not printed: bitgate verify --dump DIR writes them")
    return request
