"""A verdict, and the data that it carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from bitgate.results.record.identity import Key, Stamp
from bitgate.results.record.outcome import Outcome


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
        return self.ended_in.facts.compared and (self.shows or self.ended_in is not Outcome.PASS)

    @property
    def green(self) -> bool:
        if self.known_bug and self.outcome is not Outcome.KNOWN_BUG:
            return False
        green = self.outcome.facts.green
        return green == "always" or (green == "expected" and self.expected)


class PlannedVerdict(Protocol):
    """What is known before anything has run: of a planned case, or of its line in a plan."""

    @property
    def key(self) -> Key: ...

    @property
    def suite(self) -> str: ...

    @property
    def test(self) -> str: ...

    @property
    def tier(self) -> str: ...

    @property
    def row(self) -> str: ...

    @property
    def human(self) -> str: ...


class DeviceNames(Protocol):
    """What a case runs on."""

    @property
    def platform(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def device_name(self) -> str: ...


@dataclass(frozen=True)
class DeviceOfRecord:
    """A device as a record names it; without fields, where no record does."""

    platform: str = ""
    kind: str = ""
    device_name: str = ""

    @classmethod
    def of(cls, verdict: Verdict) -> DeviceOfRecord:
        return cls(verdict.platform, verdict.device_kind, verdict.device_name)


def verdict_on(
    planned: PlannedVerdict, device: DeviceNames, outcome: Outcome, reason: str = "", **known: Any
) -> Verdict:
    """``known``: the other fields of the verdict, as far as there is something to say."""
    stated = {
        "suite": planned.suite,
        "test": planned.test,
        "tier": planned.tier,
        "row": planned.row,
        "human": planned.human,
        "platform": device.platform,
        "device_kind": device.kind,
        "device_name": device.device_name,
    }
    return Verdict(planned.key, outcome, reason, **(stated | known))
