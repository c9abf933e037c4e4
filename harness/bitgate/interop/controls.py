"""Control words of CK's command lines: how to verify, how to fill the inputs, whether to time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.interop.numbers import integer
from bitgate.model.problem import ProblemError

VERIFICATIONS = ("none", "CPU", "GPU")
INITS = ("none", "integers", "decimals")
MOST_TIMES = 1_000_000


@dataclass(frozen=True)
class Controls:
    """Control words of a CK command line.

    ``verification`` is an index of VERIFICATIONS, ``init`` of INITS. ``time`` 0 asks for no time, 1 for the time, more
    for the mean of that number of runs. ``log`` asks for the values of all tensors.
    """

    verification: int = 1
    init: int = 1
    time: int = 0
    log: int = 0

    @classmethod
    def parse(cls, words: Sequence[str]) -> Controls:
        """Verification, init, time and log, where lines say that, in this order. ProblemError names the word and what
        it may be."""
        time = integer(words[2], "the time switch")
        if not 0 <= time <= MOST_TIMES:
            raise ProblemError(f"the time switch is {time}: 0 (no), 1 (yes) or a number of runs is understood")
        return cls(
            _one_of(words[0], "the verification", VERIFICATIONS),
            _one_of(words[1], "the init method", INITS),
            time,
            integer(words[3], "the log switch") if len(words) > 3 else 0,
        )


def _one_of(word: str, what: str, names: Sequence[str]) -> int:
    number = integer(word, what)
    if not 0 <= number < len(names):
        known = ", ".join(f"{index} ({name})" for index, name in enumerate(names))
        raise ProblemError(f"{what} is {number}: {known} are understood")
    return number
