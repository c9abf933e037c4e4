"""How every verdict begins: with what is planned, where, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bitgate.results.record.key import Key
from bitgate.results.record.outcome import Outcome
from bitgate.results.record.verdict import Verdict


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
