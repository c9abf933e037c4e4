"""Evidence: what the launches of a case left, everything else that its verdict is made of, and the verdict itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bitgate.kernel.runner import Capability
from bitgate.model.host_tensor import HostTensor
from bitgate.results.record import Certificate, Diagnosis, Outcome, Verdict, verdict_on
from bitgate.verify.device_check import DeviceCheck
from bitgate.verify.launcher import LoadedKernel
from bitgate.verify.planned import PlannedCase, repro_line
from bitgate.verify.problem_data import Inputs, Reference
from bitgate.verify.running import LaunchResult
from bitgate.verify.session import Session

OnRun = Callable[[LaunchResult], None]
"""Receives each launch of the case once it has ended: for traces and timing."""

_UNSPENT = {"fill": 0.0, "kernel": 0.0, "reference": 0.0, "compare": 0.0}


@dataclass(frozen=True, eq=False)
class Evidence:
    """Everything that is known of a planned case; ``started`` is by the session's clock."""

    planned: PlannedCase
    session: Session
    started: float
    seconds: Mapping[str, float] = field(default_factory=_UNSPENT.copy)
    loaded: LoadedKernel | None = None
    device_check: DeviceCheck | None = None
    """The result of the device-side check; inputs and reference are those of the host-side check."""
    inputs: Inputs | None = None
    reference: Reference | None = None
    runs: tuple[LaunchResult, ...] = ()
    error: Mapping[str, float] = field(default_factory=dict)
    by: str = ""
    """The option that replaces the reference by another criterion (``laws``); empty by default."""

    def spent(self, seconds: Mapping[str, float]) -> Evidence:
        """Return the evidence with these seconds added."""
        return replace(self, seconds={part: value + seconds.get(part, 0.0) for part, value in self.seconds.items()})

    def launched(self, *runs: LaunchResult) -> Evidence:
        """Return the evidence with these launches added."""
        seconds = {
            part: value + sum(run.seconds.get(part, 0.0) for run in runs) for part, value in self.seconds.items()
        }
        return replace(self, runs=(*self.runs, *runs), seconds=seconds)

    @property
    def certificate(self) -> Certificate | None:
        if self.inputs is not None:
            own, note = self.inputs.certificate, "" if self.reference is None else self.reference.note
            return replace(own, note="; ".join(filter(None, (own.note, note)))) if note else own
        return None if self.device_check is None else self.device_check.route.certificate

    @property
    def reference_kind(self) -> str:
        """The name of the reference in the record."""
        if self.by:
            return self.by
        if self.reference is not None:
            return self.reference.kind
        return "" if self.device_check is None else self.device_check.route.kind

    def digest(self, results: Mapping[str, HostTensor]) -> str:
        """Return the digest of the outputs; those that agree with the reference have its bits."""
        if self.reference is not None:
            return self.reference.digest_with(self.planned.problem, results)
        return "" if self.device_check is None or not self.device_check.runs else self.device_check.last.digest


@dataclass
class EvidenceBuilder:
    """The evidence so far: the only state that changes while a case runs, for whatever verdict it ends in."""

    evidence: Evidence


def verdict_of(
    evidence: Evidence,
    outcome: Outcome,
    reason: str = "",
    diagnosis: Diagnosis | None = None,
    results: Mapping[str, HostTensor] | None = None,
) -> Verdict:
    """Return the verdict for an outcome and the evidence that it rests on.

    ``results`` are the outputs that differ from the reference, of the launch that the verdict is about.
    """
    planned, session = evidence.planned, evidence.session
    compared = outcome in (Outcome.PASS, Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)
    record = next((run.record for run in evidence.runs if run.record is not None), None)
    seconds = {**evidence.seconds, "total": session.clock() - evidence.started}
    return verdict_on(
        planned,
        session.target,
        outcome,
        reason,
        device_id=session.launcher.device_facts().identity,
        digest=evidence.digest(results or {}) if compared else "",
        reference=evidence.reference_kind,
        certificate=evidence.certificate,
        error=dict(evidence.error),
        dispatch={} if record is None else record.summary(),
        seconds={part: round(value, 6) for part, value in seconds.items()},
        diagnosis=diagnosis,
        repro=repro_line(planned, session.project.added) + (f" --{evidence.by}" if evidence.by else ""),
        foreign=planned.foreign,
        fingerprint=_fingerprint(evidence),
    )


def _fingerprint(evidence: Evidence) -> dict[str, str]:
    planned, runs = evidence.planned, evidence.runs
    fingerprint = dict(evidence.session.fingerprint(planned.kernel, race=planned.raced))
    if runs:
        fingerprint["guards"] = "both" if len(runs) == 2 else runs[0].config.placement
        if changes := planned.kernel.family.changes:
            fingerprint["changes"] = ",".join(changes)
    if evidence.loaded is not None and len(evidence.loaded.capabilities) < len(Capability):
        fingerprint["unchecked"] = ",".join(sorted(set(Capability) - evidence.loaded.capabilities))
    return fingerprint
