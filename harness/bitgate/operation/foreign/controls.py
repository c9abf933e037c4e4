"""What CK's command lines say beside the problem: how to verify, how to fill the inputs, whether to time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bitgate.operation.foreign.numbers import integer
from bitgate.operation.problem import ProblemError

VERIFICATIONS = ("none", "CPU", "GPU")
INITS = ("none", "integers", "decimals")


@dataclass(frozen=True)
class Controls:
    """``verification`` is an index of VERIFICATIONS, ``init`` of INITS; any ``time`` but 0 asks for the time."""

    verification: int = 1
    init: int = 1
    time: int = 0

    @classmethod
    def parse(cls, words: Sequence[str]) -> Controls:
        """Verification, init and time in this order. ProblemError names the word and what it may be."""
        return cls(
            _one_of(words[0], "the verification", VERIFICATIONS),
            _one_of(words[1], "the init method", INITS),
            integer(words[2], "the time switch"),
        )


def _one_of(word: str, what: str, names: Sequence[str]) -> int:
    number = integer(word, what)
    if not 0 <= number < len(names):
        known = ", ".join(f"{index} ({name})" for index, name in enumerate(names))
        raise ProblemError(f"{what} is {number}: {known} are understood")
    return number
