"""The steps of a bring-up in their order, and the finding of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from bitgate.results.record import Outcome


class FaultDomain(str, Enum):
    """The part that is broken where a step is red."""

    INSTALLATION = "installation"
    PLATFORM = "platform"
    KERNEL = "kernel"
    EMULATOR = "emulator"

    def __str__(self) -> str:
        return str(self.value)


class StepResult(str, Enum):
    GREEN = "green"
    RED = "red"
    NOT_TRIED = "not tried"
    INTERRUPTED = "interrupted"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class BringupStep:
    """A step of a bring-up.

    ``blames``: the broken part if it is red. ``seconds``: its time limit, or that of each of its cases. ``needs``: the
    steps without which it means nothing.
    """

    name: str
    does: str
    blames: FaultDomain
    seconds: float
    needs: tuple[str, ...] = ()


STEPS = (
    BringupStep("doctor", "targets, toolchains, runtimes, libraries", FaultDomain.INSTALLATION, 300),
    BringupStep("runtime", "the runtime's functions, one by one", FaultDomain.INSTALLATION, 900),
    BringupStep("build", "a small family is built for the target", FaultDomain.INSTALLATION, 900),
    BringupStep("device", "the device is opened; memory, streams, events", FaultDomain.INSTALLATION, 900),
    BringupStep(
        "tools", "fill, digest and compare on the device against the host's", FaultDomain.PLATFORM, 900, ("device",)
    ),
    BringupStep("probes", "waves, LDS, atomics and matrix fragments", FaultDomain.PLATFORM, 300, ("device",)),
    BringupStep("tiny", "one small case of each family and type", FaultDomain.KERNEL, 300, ("device", "probes")),
    BringupStep("smoke", "the smoke tier", FaultDomain.KERNEL, 3600, ("device", "probes")),
)


RIGHT_UNOPTIMISED = "compiled at -O1 it is right: suspect the compiler, or what the language leaves undefined"


@dataclass(frozen=True)
class RedCase:
    """A red case. ``event``: its line of a record; ``note``: what else was learned about it."""

    event: Mapping[str, Any]
    note: str = ""
    blame: FaultDomain | None = None
    """The part to blame, where the case was run elsewhere, too."""

    @property
    def kernel(self) -> str:
        return f"{self.event.get('kernel')}.{self.event.get('instance')}"

    @property
    def sentence(self) -> str:
        diagnosis = self.event.get("diagnosis")
        why = (diagnosis["sentence"] if diagnosis else "") or self.event.get("reason") or ""
        return f"{self.event.get('verdict')}: {why}" + (f" ({self.note})" if self.note else "")

    @property
    def suspects_compiler(self) -> bool:
        return RIGHT_UNOPTIMISED in self.note

    @property
    def is_unanswered(self) -> bool:
        """True if nothing was learned about the kernel: the device was lost, or the host had no memory."""
        verdict = self.event.get("verdict")
        return verdict in Outcome.__members__ and Outcome(verdict).is_unanswered

    def as_json(self) -> dict[str, str]:
        return {"case": str(self.event.get("case")), "kernel": self.kernel, "sentence": self.sentence}


@dataclass(frozen=True)
class StepFinding:
    """The finding of a step: a ``sentence`` in one line, the part it ``blames`` if red.

    ``compared`` counts the results that were compared with a reference.
    """

    step: str
    result: StepResult
    sentence: str
    seconds: float = 0.0
    blames: FaultDomain | None = None
    compared: int = 0
    reds: tuple[RedCase, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "result": str(self.result),
            "sentence": self.sentence,
            "seconds": round(self.seconds, 3),
            "blames": str(self.blames) if self.blames else "",
            "compared": self.compared,
            "reds": [red.as_json() for red in self.reds],
            "detail": dict(self.detail),
        }


def blamed(step: BringupStep, reds: Sequence[RedCase]) -> FaultDomain:
    """Return the broken part: that of the first red case that was compared elsewhere, else the installation if none was
    answered, since the machine failed then."""
    if stated := next((red.blame for red in reds if red.blame is not None), None):
        return stated
    return FaultDomain.INSTALLATION if reds and all(red.is_unanswered for red in reds) else step.blames


def obstacle(step: BringupStep, findings: Mapping[str, StepFinding]) -> str:
    """Say why a step means nothing after these findings; empty if it does."""
    for name in step.needs:
        found = findings.get(name)
        if found is None or found.result is StepResult.GREEN:
            continue
        if found.result is StepResult.RED:
            return f"{name} is red: {found.sentence}"
        return f"{name} was not tried"
    return ""
