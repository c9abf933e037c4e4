"""A verdict, and the data that it carries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from bitgate.results.record.identity import Key, Stamp
from bitgate.results.record.outcome import Outcome


@dataclass(frozen=True)
class Diagnosis:
    """The pattern of the wrong cells: kinds from KINDS, most telling first, one sentence, and the evidence."""

    kinds: tuple[str, ...]
    sentence: str
    evidence: dict[str, Any] = field(default_factory=dict)


KIND_MEANING: dict[str, str] = {
    "never_written": "cells still hold the poison from before the launch: nothing wrote them",
    "zero": "the wrong cells are zero: their sums never happened, or something cleared them",
    "poison": "NaN although no input has one: the kernel read what was never written, such as memory or an idle lane",
    "missing_sub_gemm": "whole sub-GEMMs of bwd_data never ran: their residue classes of dx are zero or poison",
    "wrong_group": "only some groups are wrong, or groups hold each other's results",
    "wrong_image": "only some images are wrong, or images hold each other's results",
    "channel_tail": "only the last channels are wrong: a tail that fills no vector or tile",
    "k_tail": "the end of the reduction is missing from the sums",
    "split_slice": "slices of a split reduction (split-K) are missing, added twice, or begin or end at a wrong term",
    "receptive_field": "an element of one-hot data reached a cell outside its receptive field, or missed one of it",
    "border": "only cells whose window reaches over the border of the image are wrong",
    "pad_side": "one side's padding is wrong, or left and right pads are mixed up",
    "shifted": "the right values stand in a neighbour's place",
    "parameter": "one axis' stride, dilation or filter length is used for another's, or left out",
    "operand": "another element of an operand is read: the first for all, a neighbour's, a mirrored or swapped one",
    "epilogue": "a factor, D or all of the element-wise operation is left out, taken twice or swapped",
    "special_value": "NaN, an infinity, a signed zero or the largest number stands where another special value is due",
    "overflow": "cells are infinite or at the end of their type's range where the reference is not",
    "rounding": "every difference is a unit or two in the last place: a rounding step, not an index",
    "race": "two runs on the same input differ; or, under --race, two threads met at a cell and nothing orders them",
    "platform": "a probe of the platform: a fragment, a wave, LDS or an atomic operation is not as kernels expect",
    "other": "none of the other kinds; the sentence says what the wrong cells have in common",
}
KINDS: tuple[str, ...] = tuple(KIND_MEANING)


@dataclass(frozen=True)
class Certificate:
    """The proof that bits can be compared: ``bound`` (largest sum of |a||b|, in grid units) is below ``exact_range``.

    ``density`` is the share of non-zero inputs, ``sensitivity`` the share of single lost terms that would show; None
    if it was not measured. ``holds`` is false for fills that make no exactness claim.
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
"""Names of the facts about machine and code that every verdict states; one that cannot be determined is ``UNKNOWN``.
``build`` names the kernel library by its content, ``commit`` is that of the kernel's repository, not bitgate's."""
UNKNOWN = "unknown"
EMULATOR = "emulator"
"""The further fact of a verdict from an emulated device: the emulator's name and version."""


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
    """pytest node id of the test that asked for the case; empty from the command line."""
    tier: str = ""
    platform: str = ""
    device_kind: str = ""
    device_name: str = ""
    device_id: dict[str, str] = field(default_factory=dict)
    """Of a GPU among others of its kind: ``uuid``, ``pci``, ``index``, as far as it states them."""
    where: dict[str, str] = field(default_factory=dict)
    """Where it ran: ``node``, ``job`` and ``log``, as far as they are known."""
    digest: str = ""
    reference: str = ""
    certificate: Certificate | None = None
    error: dict[str, float] = field(default_factory=dict)
    """Errors of a result that is held to bounds: ``rms`` relative to that of the f64 values, ``of_bound`` the largest
    share of its bound that a cell took. Empty where bits are compared."""
    dispatch: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    repro: str = ""
    shows: bool = True
    """False for a PASS that a kernel which only clears its result gets as well: it compared nothing, and ``reason``
    says why."""
    foreign: str = ""
    """The same problem as a ckProfiler command line."""
    human: str = ""
    fingerprint: dict[str, str] = field(default_factory=dict)
    """Facts about machine and code by the names of ``FINGERPRINT``."""
    plan: str = ""
    run: Stamp | None = None
    """None from the command line, and in records older than stamps."""
    row: str = ""
    """``file:line`` of the table's row that the case comes from."""
    view: dict[str, Any] = field(default_factory=dict)
    """The wrong cells of a red result: see ``record.view``."""
    known_bug: dict[str, str] = field(default_factory=dict)
    """The entry of a ledger of known bugs for this case: ticket, owner, expires, and ``outcome``, in which the case
    really ended. It excuses the failure that it records, and nothing else."""

    @property
    def ended_in(self) -> Outcome:
        """The outcome that a KNOWN_BUG excuses; else the outcome."""
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
    """A planned case, or its line in a plan: all that is known of a verdict before anything has run."""

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
    """The names of the device that a case runs on."""

    @property
    def platform(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def device_name(self) -> str: ...


@dataclass(frozen=True)
class DeviceOfRecord:
    """A device as a record names it; its fields are empty where no record does."""

    platform: str = ""
    kind: str = ""
    device_name: str = ""

    @classmethod
    def of(cls, verdict: Verdict) -> DeviceOfRecord:
        return cls(verdict.platform, verdict.device_kind, verdict.device_name)


def verdict_on(
    planned: PlannedVerdict, device: DeviceNames, outcome: Outcome, reason: str = "", **known: Any
) -> Verdict:
    """Return the verdict on a planned case; ``known`` are further fields of it that are not at their default."""
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
