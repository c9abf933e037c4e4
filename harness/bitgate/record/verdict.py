"""The closed set of verdicts, and the data that a verdict carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from bitgate.record.stamp import Stamp


class Outcome(str, Enum):
    """What can be said of one planned case. Nothing else ever stands in a record."""

    # Compared.
    PASS = "PASS"
    MISMATCH = "MISMATCH"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    CORRUPTED = "CORRUPTED"
    # Not compared: the kernel or its build did not get that far.
    CRASHED = "CRASHED"
    HUNG = "HUNG"
    BUILD_FAILED = "BUILD_FAILED"
    REFUSED = "REFUSED"
    # Not compared: nobody's defect, or one that is known.
    NOT_RUN = "NOT_RUN"
    KNOWN_BUG = "KNOWN_BUG"
    LOST = "LOST"
    INFRA = "INFRA"

    def __str__(self) -> str:
        return self.value


MEANING: dict[Outcome, str] = {
    Outcome.PASS: "every bit of the result equals the reference (or lies within its per-element bound)",
    Outcome.MISMATCH: "the result differs from the reference",
    Outcome.NONDETERMINISTIC: "two runs on the same input differ",
    Outcome.CORRUPTED: "a guard zone, an input or a gap between rows was written; the state of the process or the"
    " floating-point environment of a block was changed; or work was left in flight on a stream that is not the"
    " caller's",
    Outcome.CRASHED: "the kernel faulted: a bad address, a missed barrier, a stack overflow, a thread that spins, a"
    " race, a HIP error, also one that the library cleared before it returned OK",
    Outcome.HUNG: "the kernel did not end within its time limit",
    Outcome.BUILD_FAILED: "the kernel library did not compile, link or load",
    Outcome.REFUSED: "the kernel rejected the problem and named the clause",
    Outcome.NOT_RUN: "the case was not run, for the reason given",
    Outcome.KNOWN_BUG: "the case failed exactly as its known bug records",
    Outcome.LOST: "the case was planned but no result of it was found",
    Outcome.INFRA: "the device was lost, the host ran out of memory or disk, or a stored digest is not its reference's",
}


@dataclass(frozen=True)
class Diagnosis:
    """What the wrong cells have in common: kinds from KINDS, most telling first, one sentence, and the evidence."""

    kinds: tuple[str, ...]
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)


KIND_MEANING: dict[str, str] = {
    "never_written": "cells still hold the poison from before the launch: nobody wrote them",
    "zero": "the wrong cells are zero: their sums never happened, or something cleared them",
    "poison": "NaN although no input has one: the kernel read memory that nobody had written",
    "missing_sub_gemm": "whole sub-GEMMs of bwd_data never ran: their residue classes of dx are zero or poison",
    "wrong_group": "only some groups are wrong, or groups hold each other's results",
    "wrong_image": "only some images are wrong, or images hold each other's results",
    "channel_tail": "only the last channels are wrong: a tail that fills no vector or tile",
    "k_tail": "the end of the reduction is missing from the sums",
    "split_slice": "one slice of a split reduction (split-K) is missing from the sums",
    "receptive_field": "an element of one-hot data reached a cell outside its receptive field, or missed one of it",
    "border": "only cells whose window reaches over the border of the image are wrong",
    "pad_side": "one side's padding is wrong, or left and right pads are mixed up",
    "shifted": "the right values stand in a neighbour's place",
    "overflow": "cells are infinite or at the end of their type's range where the reference is not",
    "rounding": "every difference is a unit or two in the last place: a rounding step, not an index",
    "race": "two runs on the same input differ; or, under --race, two threads met at a cell and nothing orders them",
    "platform": "a probe of the platform: a fragment, a wave, LDS or an atomic operation is not as kernels expect",
    "other": "none of the other kinds; the sentence says what the wrong cells have in common",
}
KINDS: tuple[str, ...] = tuple(KIND_MEANING)


@dataclass(frozen=True)
class Certificate:
    """Why bits can be compared: ``bound`` (largest sum of |a||b|, in units of the grid) is below ``exact_range``.

    ``density`` is the share of non-zero inputs, ``sensitivity`` the share of single lost terms that would show; None
    where nobody measured it.
    ``holds`` is false for fills that make no exactness claim.
    """

    bound: int
    exact_range: int
    density: float
    sensitivity: float | None
    holds: bool
    note: str = ""


@dataclass(frozen=True)
class Key:
    """What a verdict is about. Two records with the same key are attempts at the same thing."""

    case: str
    kernel: str
    instance: str
    options: tuple[tuple[str, str], ...]
    fill: str
    seed: int
    schedule: str
    target: str


FINGERPRINT: tuple[str, ...] = (
    "build",
    "host",
    "os",
    "gpu",
    "driver",
    "runtime",
    "compiler",
    "commit",
    "guards",
)
"""What a verdict says about the machine and the code, each filled in by every run; what cannot be told is ``UNKNOWN``.
``build`` names the kernel library by its content, ``commit`` the kernel's own repository, not bitgate's."""
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """One case's outcome with everything that a report, a dashboard or a person needs to act on it."""

    key: Key
    outcome: Outcome
    reason: str = ""
    expected: bool = False
    """True if the plan expected a REFUSED or NOT_RUN exactly like this one."""
    suite: str = ""
    test: str = ""
    """pytest node id of the test that asked, empty from the command line."""
    tier: str = ""
    platform: str = ""
    device_kind: str = ""
    device_name: str = ""
    digest: str = ""
    reference: str = ""
    certificate: Certificate | None = None
    error: dict[str, float] = field(default_factory=dict)
    """Of a result held to bounds: ``rms`` relative to that of the f64 values, ``of_bound`` the largest share of its
    bound that a cell took. Empty where bits are compared."""
    dispatch: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    repro: str = ""
    shows: bool = True
    """False for a PASS that a kernel which only clears its result has as well: ``reason`` says why. It compared
    nothing."""
    foreign: str = ""
    """The same problem as a ckProfiler command line."""
    human: str = ""
    fingerprint: dict[str, str] = field(default_factory=dict)
    """By the names of ``FINGERPRINT``."""
    plan: str = ""
    run: Stamp | None = None
    """None from the command line, and in records of before there were stamps."""
    row: str = ""
    """``file:line`` of the table's row behind the case."""
    view: dict[str, Any] = field(default_factory=dict)
    """Which cells of a red result are wrong: see ``record.view``."""
    known_bug: dict[str, str] = field(default_factory=dict)
    """The entry of a ledger of known bugs that is about this case: ticket, owner, expires, and ``outcome``, what the
    case really ended in. It excuses the failure that it records, and nothing else."""

    @property
    def ended_in(self) -> Outcome:
        """The outcome behind a KNOWN_BUG; else the outcome."""
        was = self.known_bug.get("outcome", "") if self.outcome is Outcome.KNOWN_BUG else ""
        return Outcome(was) if was else self.outcome

    @property
    def compared(self) -> bool:
        if self.ended_in is Outcome.PASS:
            return self.shows
        return self.ended_in in (Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)

    @property
    def green(self) -> bool:
        if self.known_bug and self.outcome is not Outcome.KNOWN_BUG:
            return False
        if self.outcome in (Outcome.REFUSED, Outcome.NOT_RUN):
            return self.expected
        return self.outcome in (Outcome.PASS, Outcome.KNOWN_BUG)
