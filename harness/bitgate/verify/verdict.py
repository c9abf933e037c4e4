"""The verdict's factory: an outcome, and the evidence that it rests on, as one record."""

from __future__ import annotations

from collections.abc import Mapping

from bitgate.kernel.runner import Capability
from bitgate.model.host_tensor import HostTensor
from bitgate.results.record import Diagnosis, Outcome, Verdict, verdict_on
from bitgate.verify.evidence import Evidence
from bitgate.verify.repro import repro_line


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
        fingerprint["guards"] = "both" if len(runs) == 2 else runs[0].how.placement
        if changes := planned.kernel.family.changes:
            fingerprint["changes"] = ",".join(changes)
    if evidence.runner is not None and len(evidence.runner.capabilities) < len(Capability):
        fingerprint["unchecked"] = ",".join(sorted(set(Capability) - evidence.runner.capabilities))
    return fingerprint
