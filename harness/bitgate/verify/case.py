"""A case on its way through the spine, and the verdict of what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bitgate.kernel.runner import Capability, Runner
from bitgate.operation.host_tensor import HostTensor
from bitgate.record import Certificate, Diagnosis, Outcome, Verdict, verdict_on
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repro import repro_line
from bitgate.verify.running import Run
from bitgate.verify.session import Inputs, Reference, Session
from bitgate.verify.shortcut import Look

OnRun = Callable[[Run], None]
"""Called with each launch of the case once it has ended: for traces and timing."""


@dataclass
class Case:
    """A case on its way: what is known so far, for whatever verdict it ends in."""

    planned: PlannedCase
    session: Session
    started: float
    """By the session's clock."""
    seconds: dict[str, float] = field(
        default_factory=lambda: {"fill": 0.0, "kernel": 0.0, "reference": 0.0, "compare": 0.0}
    )
    runner: Runner | None = None
    """Known once it is opened."""
    look: Look | None = None
    """What the short way saw; inputs and reference are those of the long way."""
    inputs: Inputs | None = None
    reference: Reference | None = None
    runs: list[Run] = field(default_factory=list)
    error: dict[str, float] = field(default_factory=dict)
    by: str = ""
    """What stands for a reference where results are held to something else, and the option that asks for it."""

    def account(self, run: Run) -> None:
        """Of a launch that has been looked at; the first one stands for all of them on the record."""
        self.runs = self.runs or [run]
        for name, value in run.seconds.items():
            self.seconds[name] += value

    def add_seconds(self) -> None:
        """Of its launches, to those of the parts."""
        for run in self.runs:
            for name, value in run.seconds.items():
                self.seconds[name] += value


def verdict_of(
    case: Case,
    outcome: Outcome,
    reason: str = "",
    diagnosis: Diagnosis | None = None,
    results: Mapping[str, HostTensor] | None = None,
) -> Verdict:
    planned, session = case.planned, case.session
    compared = outcome in (Outcome.PASS, Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)
    record = next((run.record for run in case.runs if run.record is not None), None)
    seconds = {**case.seconds, "total": session.clock() - case.started}
    fingerprint = session.fingerprint(planned.kernel, race=planned.raced)
    if case.runs:
        guards = "both" if len(case.runs) == 2 else case.runs[0].how.placement
        fingerprint = {**fingerprint, "guards": guards}
        if changes := planned.kernel.family.changes:
            fingerprint["changes"] = ",".join(changes)
    if case.runner is not None and (unchecked := set(Capability) - case.runner.capabilities):
        fingerprint = {**fingerprint, "unchecked": ",".join(sorted(unchecked))}
    seconds = {part: round(value, 6) for part, value in seconds.items()}
    return verdict_on(
        planned,
        session.target,
        outcome,
        reason,
        digest=_digest(case, results or {}) if compared else "",
        reference=_kind(case),
        certificate=_certificate(case),
        error=case.error,
        dispatch={} if record is None else record.summary(),
        seconds=seconds,
        diagnosis=diagnosis,
        repro=repro_line(planned, session.project.added) + (f" --{case.by}" if case.by else ""),
        foreign=planned.foreign,
        fingerprint=fingerprint,
    )


def _digest(case: Case, results: Mapping[str, HostTensor]) -> str:
    """Of the outputs, the reference's where they agree with it."""
    if case.reference is not None:
        return case.reference.digest_with(case.planned.problem, results)
    return "" if case.look is None or not case.look.runs else case.look.last.digest


def _kind(case: Case) -> str:
    if case.by:
        return case.by
    if case.reference is not None:
        return case.reference.kind
    return "" if case.look is None else case.look.route.kind


def _certificate(case: Case) -> Certificate | None:
    if case.inputs is not None:
        own, said = case.inputs.certificate, "" if case.reference is None else case.reference.note
        return replace(own, note="; ".join(filter(None, (own.note, said)))) if said else own
    return None if case.look is None else case.look.route.certificate
