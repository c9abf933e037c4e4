"""The verdict of a case that computes nothing: what its kernels measure is as declared, or is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bitgate.kernel.errors import KernelFailed
from bitgate.model.diagnostics import Measurement
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.runtime.errors import HipError
from bitgate.verify.evidence import Evidence
from bitgate.verify.verdict import verdict_of

FINDINGS = 16
"""Told as evidence; the sentence tells each kind once."""


def measured(evidence: Evidence, measurement: Measurement) -> Verdict:
    planned, session = evidence.planned, evidence.session
    started = session.clock()
    sentence, crash = "", ""
    wrong: Sequence[str] = ()
    try:
        sentence, wrong = measurement.take()
    except (HipError, KernelFailed) as error:
        fault = session.device.fault()
        crash = str(error) if fault is None else fault.text
    evidence = evidence.spent({"kernel": session.clock() - started})
    sentence = crash or sentence
    outcome = Outcome.CRASHED if crash else Outcome.MISMATCH if sentence else Outcome.PASS
    diagnosis = Diagnosis(("platform",), sentence, {"wrong": list(wrong[:FINDINGS])}) if sentence else None
    return replace(
        verdict_of(evidence, outcome, sentence, diagnosis),
        human=f"{planned.key.instance} of {session.target.name}",
        dispatch={"path": "probe", **measurement.found},
    )
