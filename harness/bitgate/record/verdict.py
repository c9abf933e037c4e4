"""The closed set of verdicts, and the data that a verdict carries. Standard library only: merging needs no HIP."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


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
    Outcome.CORRUPTED: "a guard zone, an input or a gap between rows was written",
    Outcome.CRASHED: "the kernel faulted: a bad address, a missed barrier, a stack overflow, a HIP error",
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
    "race": "two runs on the same input differ",
    "platform": "a probe of the platform: a fragment, a wave, LDS or an atomic operation is not as kernels expect",
    "other": "none of the other kinds; the sentence says what the wrong cells have in common",
}
KINDS: tuple[str, ...] = tuple(KIND_MEANING)


@dataclass(frozen=True)
class Certificate:
    """Why bits can be compared: ``bound`` (largest sum of |a||b|, in units of the grid) is below ``exact_range``.

    ``density`` is the share of non-zero inputs, ``sensitivity`` the share of single lost terms that would show.
    ``holds`` is false for fills that make no exactness claim.
    """

    bound: int
    exact_range: int
    density: float
    sensitivity: float
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
    foreign: str = ""
    """The same problem as a ckProfiler command line."""
    human: str = ""
    fingerprint: dict[str, str] = field(default_factory=dict)
    plan: str = ""

    @property
    def compared(self) -> bool:
        return self.outcome in (Outcome.PASS, Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)

    @property
    def green(self) -> bool:
        if self.outcome in (Outcome.REFUSED, Outcome.NOT_RUN):
            return self.expected
        return self.outcome in (Outcome.PASS, Outcome.KNOWN_BUG)
