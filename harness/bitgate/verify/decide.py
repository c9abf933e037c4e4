"""Decision from launches to a verdict: whether bits and dispatch are right, and if not, what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bitgate.kernel.declaration import Dispatch
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.runner import Capability
from bitgate.model import Problem
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.certificate import NO_PRODUCT, ZERO_RESULT, blind, has_products
from bitgate.numerics.digest import digest_of_zeros
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.verify.bounds import Bounds, Judge
from bitgate.verify.compare_outputs import Judgement, OutputExpectation, diagnose_harm, judge_harm, judge_outputs
from bitgate.verify.device_check import DeviceCheck
from bitgate.verify.diagnose.outside import place_of_fault, written_elsewhere
from bitgate.verify.evidence import Evidence, verdict_of
from bitgate.verify.launch_count import miscounts
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import Reference
from bitgate.verify.running import LaunchResult
from bitgate.verify.stored import REFRESH
from bitgate.verify.view import view_of

OUTSIDE = frozenset({"global_memory", "global_canary", "wild"})
"""Faults of the host runtime at a place outside a buffer, near it or far away."""
LOOSE = "the bound of every cell admits zero: a kernel that only clears its result passes"
ALL_NAN = "the expected result is NaN in every cell: a kernel that computes nothing may give that"


def judge(evidence: Evidence) -> Verdict:
    """Return the verdict of a case whose launches have ended."""
    harm = judge_harm(evidence.runs[-1])
    if harm is not None:
        reason, diagnosis = harm.reason, harm.diagnosis
        if (cause := _cause_of_harm(evidence, harm.run)) and diagnosis is not None:
            reason = f"{reason}; {cause}"
            diagnosis = replace(diagnosis, sentence=reason, evidence={**diagnosis.evidence, "harm": cause})
        verdict = verdict_of(evidence, harm.outcome, reason, diagnosis)
        return replace(verdict, view=_view(evidence, harm.run))
    if evidence.reference is not None and evidence.reference.kind == "none":
        return _uncompared(evidence)
    expectation = expectation_of(evidence)
    found = None if expectation is None else judge_outputs(expectation, evidence.runs, partial(_announce, evidence))
    if found is None or found.outcome is Outcome.PASS:
        return _discount_blind_pass(evidence, check_dispatch(evidence))
    verdict = verdict_of(evidence, found.outcome, found.reason, found.diagnosis, found.run.results)
    return replace(verdict, view=_view(evidence, found.run, found.role))


def _cause_of_harm(evidence: Evidence, run: LaunchResult) -> str:
    """Return the mistake that leads to the memory that a launch took by mistake; empty if none is known."""
    problem, reference, fault = evidence.planned.problem, evidence.reference, run.fault
    if fault is not None and fault.buffer in problem.tensors and fault.kind in OUTSIDE:
        return place_of_fault(problem, fault.buffer, fault.offset)
    if reference is None or reference.kind == "none":
        return ""
    found = (
        written_elsewhere(problem, left, reference.tensors[role], poison_bits(left.tensor.dtype, run.config.poison))
        for role, left in run.results.items()
    )
    return next(filter(None, found), "")


def _announce(evidence: Evidence, judgement: Judgement) -> None:
    verdict = verdict_of(evidence, judgement.outcome, judgement.reason, judgement.diagnosis)
    evidence.session.foresee(replace(verdict, digest=judgement.digest))


def expectation_of(evidence: Evidence) -> OutputExpectation | None:
    """Return what the case's results are held to; None where they have not left the device."""
    if evidence.inputs is None or evidence.reference is None:
        return None
    problem, inputs = evidence.planned.problem, evidence.inputs.tensors
    return OutputExpectation(
        problem, inputs, evidence.reference, evidence.planned.kernel.instance.tile, evidence.session.rules
    )


def _discount_blind_pass(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Return the verdict, weakened if it is a PASS that a kernel would also get by only clearing its result."""
    why = _nothing_shown(evidence) if verdict.outcome is Outcome.PASS else ""
    if not why:
        return verdict
    certificate = None if verdict.certificate is None else blind(verdict.certificate, why)
    verdict = replace(verdict, certificate=certificate)
    if evidence.planned.zero_result:
        return verdict
    is_loose = evidence.reference is not None and bool(evidence.reference.judges)
    # A suite must not take this for a check of real numbers; that there is nothing to sum is the problem's.
    if is_loose and evidence.planned.suite and why != NO_PRODUCT:
        return replace(verdict, outcome=Outcome.NOT_RUN, reason=f"nothing was compared: {why}", digest="")
    return replace(verdict, shows=False, reason=why)


def _nothing_shown(evidence: Evidence) -> str:
    """Return why right bits say nothing of what the kernel sums; empty if they do."""
    problem = evidence.planned.problem
    if evidence.reference is not None:
        return blindness(problem, evidence.reference)
    if not has_products(problem):
        return NO_PRODUCT
    digest = "" if evidence.device_check is None else evidence.device_check.last.digest
    return ZERO_RESULT if digest and digest == digest_of_zeros(problem) else ""


def blindness(problem: Problem, reference: Reference) -> str:
    """Return why a kernel that only clears its results equals a reference; empty if it does not."""
    if not has_products(problem):
        return NO_PRODUCT
    # One of several outputs that shows something is enough: an index that is 0 in every row is not the case's fault.
    reasons = [
        _passes_when_cleared(problem, tensor, reference.judges.get(role)) for role, tensor in reference.tensors.items()
    ]
    return reasons[0] if all(reasons) else ""


def _passes_when_cleared(problem: Problem, tensor: HostTensor, judge: Judge | None) -> str:
    """Return why a kernel that only clears an output has it right; empty if it has not."""
    if isinstance(judge, Bounds):
        return LOOSE if judge.is_loose else ""
    # Where there is a form NaN is the data's; elsewhere it may as well be the reference's own mistake.
    is_stated = problem.operation.numerics.form(problem) is None
    if is_stated and tensor.tensor.dtype.is_float and np.isnan(tensor.logical).all():
        return ALL_NAN
    return "" if tensor.logical.any() else ZERO_RESULT


def _uncompared(evidence: Evidence) -> Verdict:
    """Return the verdict of a case without a reference.

    What ran is what was predicted, and nothing outside its outputs was written; nothing is known of its bits.
    """
    verdict = check_dispatch(evidence)
    if verdict.outcome is not Outcome.PASS:
        return verdict
    reason = "it ran, and nothing was compared: no reference was requested"
    return replace(verdict_of(evidence, Outcome.NOT_RUN, reason), expected=True)


def check_dispatch(evidence: Evidence) -> Verdict:
    """Return PASS, or MISMATCH if what ran is not what the problem needs; the bits are right."""
    record = evidence.runs[0].record
    assert record is not None
    planned = evidence.planned
    # A naive kernel has one thread a cell, no sub-GEMMs.
    decomposes = planned.kernel.is_production and not planned.kernel.family.is_reference
    reason = dispatch_disagreement(planned.problem, record, planned.predicted, decomposes, _miscounts(evidence))
    if not reason:
        return verdict_of(evidence, Outcome.PASS)
    diagnosis = Diagnosis(("other",), reason, {"dispatch": record.summary()})
    return verdict_of(evidence, Outcome.MISMATCH, reason, diagnosis)


def _miscounts(evidence: Evidence) -> list[str]:
    """Return how the launches of the case differ from those that the runtime saw; those of the first that does."""
    if evidence.loaded is None or Capability.LAUNCH_LOG not in evidence.loaded.capabilities:
        return []
    found = (miscounts(run.record, run.seen) for run in evidence.runs if run.record is not None)
    return next(filter(None, found), [])


def _view(evidence: Evidence, run: LaunchResult, role: str = "") -> dict[str, Any]:
    """Return which cells are wrong in an output of a run, by default the first wrong one.

    Empty where none is wrong, and for a single number without axes, of which there is nothing to draw.
    """
    expectation = expectation_of(evidence)
    if expectation is None or not run.results:
        return {}
    role = role or expectation.wrong(run)[0]
    comparison = expectation.comparison(run, role)
    if comparison.equal or comparison.result.ndim == 0:
        return {}
    problem, dtype = expectation.problem, expectation.reference.tensors[role].tensor.dtype
    letters = problem.operation.diagnostics.letters(problem, role)
    view = view_of(comparison.result, comparison.mask, poison_bits(dtype), letters, expectation.tile)
    return view | ({"output": role} if len(problem.outputs) > 1 else {})


def contradiction(evidence: Evidence, check: DeviceCheck) -> Verdict:
    """Return the verdict where the device-side check found something wrong and the host-side check nothing.

    Either the stored digest is wrong, or the kernel does not do the same twice.
    """
    stored = check.route.stored
    reference = evidence.reference
    if stored is not None and reference is not None and stored.digest != reference.digest:
        reason = (
            f"the stored digest is not the reference's: {stored.path} says {stored.digest}, the {reference.kind}"
            f" reference gives {reference.digest}; {REFRESH}"
        )
        return verdict_of(evidence, Outcome.INFRA, reason)
    count = len(evidence.runs)
    again = f"{count} later launch{'es' * (count > 1)} on the same data, uploaded, {'are' if count > 1 else 'is'} right"
    if check.last.damage:
        sentence = f"{check.last.damage}; {again}"
        return verdict_of(evidence, Outcome.CORRUPTED, sentence, diagnose_harm(check.last, sentence))
    sentence = (
        f"launch {len(check.runs)} is wrong and {again}: the kernel does not compute the same twice (a race, or a read"
        f" of registers, LDS or memory that were never written); {check.disagreement}"
    )
    diagnosis = Diagnosis(("race",), sentence, {"run": check.last.config.description})
    found = _judged(evidence, check)
    if found is not None and found.diagnosis is not None:
        sentence = f"{sentence}; in launch {len(check.runs)} {found.diagnosis.sentence}"
        kinds = tuple(dict.fromkeys(("race", *found.diagnosis.kinds)))
        diagnosis = Diagnosis(kinds, sentence, found.diagnosis.evidence)
    return verdict_of(evidence, Outcome.NONDETERMINISTIC, sentence, diagnosis)


def _judged(evidence: Evidence, check: DeviceCheck) -> Judgement | None:
    """Return the judgement of the wrong launch of a device-side check, where its outputs could be had."""
    expectation, run = expectation_of(evidence), check.last
    if expectation is None or not run.outputs:
        return None
    expectation.reference.hold(run)
    expectation.reference.settle(run)
    return judge_outputs(expectation, [run]) if run.results else None


def undiagnosed(evidence: Evidence, check: DeviceCheck, shortage: str) -> Verdict:
    """Return the verdict on a wrong result that is too large to be diagnosed."""
    last = check.last
    shown = {"run": last.config.description, "not_diagnosed": shortage, "first_wrong_cells": list(last.cells)}
    if last.differences is not None:
        shown["largest_difference"] = str(last.differences.largest)
    outcome = Outcome.CORRUPTED if last.damage else Outcome.MISMATCH
    return verdict_of(evidence, outcome, check.disagreement, Diagnosis(("other",), check.disagreement, shown))


LISTED_DISAGREEMENTS = 3
"""The number of disagreements that are listed; the rest are counted."""


def dispatch_disagreement(
    problem: Problem,
    record: DispatchRecord,
    predicted: Dispatch | None,
    decomposes: bool,
    miscounted: Sequence[str] = (),
) -> str:
    """Return one sentence that names what differs, empty if nothing does.

    A prediction holds whatever the options. With ``decomposes`` the record must also cover the parts of the problem,
    one by one: for kernels that decompose it, under production options (with another option a path may be wrong on
    purpose). ``miscounted`` are further differences, from what the runtime saw.
    """
    differences = _against_prediction(record, predicted) if predicted is not None else []
    if decomposes:
        differences += problem.operation.diagnostics.launch_errors(problem, record)
    differences += miscounted
    if not differences:
        return ""
    more = f"; {len(differences) - LISTED_DISAGREEMENTS} more" if len(differences) > LISTED_DISAGREEMENTS else ""
    return f"the dispatch record is not what the problem needs: {'; '.join(differences[:LISTED_DISAGREEMENTS])}{more}"


def _against_prediction(record: DispatchRecord, predicted: Dispatch) -> list[str]:
    recorded = record.summary()
    return [
        f"{name} is {recorded.get(name)}, predicted {value}"
        for name, value in predicted.stated.items()
        if recorded.get(name) != value
    ]
