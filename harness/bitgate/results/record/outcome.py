"""The closed set of outcomes, and what follows from each: one table for records, reports, gates and the terminal."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class OutcomeFacts(NamedTuple):
    """The consequences of one outcome in records, reports, gates and on the terminal."""

    meaning: str
    blames: str = ""
    """The culprit of a red verdict: ``kernel``, or ``nothing`` if no answer was obtained; empty if it is no failure."""
    green: str = "never"
    """``always``, ``expected`` (if the plan foretold it), or ``never``."""
    colour: str = "31"
    """SGR code of the terminal."""
    compared: bool = False
    """Whether results were compared with a reference."""
    element: str = "error"
    """JUnit element of a red verdict: a failure if the kernel is wrong, an error if that could not be determined."""
    type: str = ""
    """The type attribute of that element."""
    skipped: str = ""
    """Type of the skipped element of a green verdict that compared nothing and is no refusal; never shown as passed."""


class Outcome(str, Enum):
    """The result of one planned case; records hold no other values."""

    PASS = "PASS"
    MISMATCH = "MISMATCH"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    CORRUPTED = "CORRUPTED"
    CRASHED = "CRASHED"
    HUNG = "HUNG"
    BUILD_FAILED = "BUILD_FAILED"
    REFUSED = "REFUSED"
    NOT_RUN = "NOT_RUN"
    KNOWN_BUG = "KNOWN_BUG"
    LOST = "LOST"
    INFRA = "INFRA"

    def __str__(self) -> str:
        return str(self.value)

    @property
    def meaning(self) -> str:
        return self.facts.meaning

    @property
    def is_unanswered(self) -> bool:
        """True if nothing was learned about the kernel: no finding, no vote between attempts, no known bug."""
        return self.facts.blames == "nothing"

    @property
    def is_kernels(self) -> bool:
        """True if it may be a bug of a kernel."""
        return self.facts.blames == "kernel"

    @property
    def facts(self) -> OutcomeFacts:
        return FACTS[self]


# fmt: off
FACTS: dict[Outcome, OutcomeFacts] = {
    # ---- compared
    Outcome.PASS: OutcomeFacts(
        "every bit of the result equals the reference (or lies within its per-element bound)",
        compared=True, green="always", element="failure", type="ExpectedOtherwise", colour="32",
    ),
    Outcome.MISMATCH: OutcomeFacts(
        "the result differs from the reference",
        compared=True, blames="kernel", element="failure", type="Mismatch",
    ),
    Outcome.NONDETERMINISTIC: OutcomeFacts(
        "two runs on the same input differ",
        compared=True, blames="kernel", element="failure", type="Nondeterministic",
    ),
    Outcome.CORRUPTED: OutcomeFacts(
        "a guard zone, an input or a gap between rows was written; the state of the process or the floating-point"
        " environment of a block was changed; or work was left in flight on a stream that is not the caller's",
        compared=True, blames="kernel", element="failure", type="Corrupted",
    ),
    # ---- not compared: the kernel or its build did not get that far
    Outcome.CRASHED: OutcomeFacts(
        "the kernel faulted: a bad address, a missed barrier, a stack overflow, a thread that spins, a race, a HIP"
        " error, also one that the library cleared before it returned OK",
        blames="kernel", type="Crash",
    ),
    Outcome.HUNG: OutcomeFacts(
        "the kernel did not end within its time limit",
        blames="kernel", type="Timeout",
    ),
    Outcome.BUILD_FAILED: OutcomeFacts(
        "the kernel library did not compile, link or load",
        blames="kernel", element="failure", type="CompileError",
    ),
    Outcome.REFUSED: OutcomeFacts(
        "the kernel rejected the problem and named the clause",
        blames="kernel", green="expected", element="failure", type="Refused", colour="33",
    ),
    # ---- not compared: no defect of the kernel, or a known one
    Outcome.NOT_RUN: OutcomeFacts(
        "the case was not run, for the reason given",
        blames="nothing", green="expected", type="NotRun", skipped="unsupported", colour="33",
    ),
    Outcome.KNOWN_BUG: OutcomeFacts(
        "the case failed exactly as its known bug records",
        green="always", skipped="quarantined", colour="33",
    ),
    Outcome.LOST: OutcomeFacts(
        "the case was planned but no result of it was found",
        blames="nothing", type="Lost",
    ),
    Outcome.INFRA: OutcomeFacts(
        "the device was lost, the host ran out of memory or disk, or a stored digest is not its reference's",
        blames="nothing", type="DeviceLost",
    ),
}
# fmt: on
