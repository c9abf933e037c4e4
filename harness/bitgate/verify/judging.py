"""From launches to a verdict: are the bits right, is what ran what was needed, and if not, what is wrong?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.diagnose import Scene, diagnose
from bitgate.exact.bits import Array, bits_of
from bitgate.exact.certificate import NO_PRODUCT, ZERO_RESULT, blind, has_products
from bitgate.exact.digest import digest_of_zeros
from bitgate.exact.factors import factors
from bitgate.operation import Problem
from bitgate.operation.host_tensor import HostTensor
from bitgate.record import Diagnosis, Outcome, Verdict
from bitgate.verify.bounds import Bounds, Judge
from bitgate.verify.case import Case, verdict_of
from bitgate.verify.compare import compare
from bitgate.verify.dispatch_check import dispatch_disagreement
from bitgate.verify.poison import poison_bits
from bitgate.verify.running import Run
from bitgate.verify.shortcut import Look
from bitgate.verify.stored import REFRESH
from bitgate.verify.view import view_of

LOOSE = "the bound of every cell admits zero: a kernel that only clears its result passes"
ALL_NAN = "the expected result is NaN in every cell: a kernel that computes nothing may give that"


def judge(case: Case) -> Verdict:
    """The verdict of a case whose launches have ended."""
    last = case.runs[-1]
    if last.damage:
        verdict = verdict_of(case, Outcome.CORRUPTED, last.damage, _told(last, last.damage))
        return replace(verdict, view=_view(case, last, next(iter(_in_order(case, last)), "")))
    if last.crash:
        return verdict_of(case, Outcome.CRASHED, last.crash, _told(last, last.crash))
    if case.reference is not None and case.reference.kind == "none":
        return _uncompared(case)
    differ = _differing(case)
    wrong = differ or next((role for run in case.runs for role in _in_order(case, run)), "")
    if not wrong:
        return _weighed(case, check_dispatch(case))
    run = next(run for run in case.runs if wrong in run.results)
    diagnosis = _diagnosis(case, run, wrong, bool(differ))
    outcome = Outcome.NONDETERMINISTIC if differ else Outcome.MISMATCH
    verdict = verdict_of(case, outcome, diagnosis.sentence, diagnosis, run.results)
    return replace(verdict, view=_view(case, run, wrong))


def _in_order(case: Case, run: Run) -> list[str]:
    """The outputs that a run has wrong."""
    return [role for role in case.planned.problem.outputs if role in run.results]


def _weighed(case: Case, verdict: Verdict) -> Verdict:
    """The verdict, unless it is a PASS that a kernel which only clears its result has as well."""
    why = _nothing_shown(case) if verdict.outcome is Outcome.PASS else ""
    if not why:
        return verdict
    certificate = None if verdict.certificate is None else blind(verdict.certificate, why)
    verdict = replace(verdict, certificate=certificate)
    if case.planned.zero_result:
        return verdict
    is_loose = case.reference is not None and bool(case.reference.judges)
    if is_loose and case.planned.suite:  # a suite is not to believe that it holds real numbers to something
        return replace(verdict, outcome=Outcome.NOT_RUN, reason=f"nothing was compared: {why}", digest="")
    return replace(verdict, shows=False, reason=why)


def _nothing_shown(case: Case) -> str:
    """Why right bits say nothing of what the kernel sums; empty if they do."""
    problem, reference = case.planned.problem, case.reference
    if not has_products(problem):
        return NO_PRODUCT
    if reference is None:
        digest = "" if case.look is None else case.look.last.digest
        return ZERO_RESULT if digest and digest == digest_of_zeros(problem) else ""
    # Of several outputs one that tells something is enough: an index that is 0 in every row is not the case's fault.
    reasons = [_clear(problem, tensor, reference.judges.get(role)) for role, tensor in reference.tensors.items()]
    return reasons[0] if all(reasons) else ""


def _clear(problem: Problem, tensor: HostTensor, judge: Judge | None) -> str:
    """Why a kernel that only clears an output has it right; empty if it has not."""
    if isinstance(judge, Bounds):
        return LOOSE if judge.is_loose else ""
    # Where there is a form NaN is the data's; elsewhere it may as well be the reference's own mistake.
    is_stated = problem.operation.exactness.form(problem) is None
    if is_stated and tensor.tensor.dtype.is_float and np.isnan(tensor.logical).all():
        return ALL_NAN
    return "" if tensor.logical.any() else ZERO_RESULT


def _uncompared(case: Case) -> Verdict:
    """What ran is what was predicted, and wrote nothing that is not its own; of its bits nothing is known."""
    verdict = check_dispatch(case)
    if verdict.outcome is not Outcome.PASS:
        return verdict
    reason = "it ran, and nothing was compared: no reference was asked for"
    return replace(verdict_of(case, Outcome.NOT_RUN, reason), expected=True)


def _differing(case: Case) -> str:
    """The first output in which two launches differ where bits decide; empty if there is none."""
    if len(case.runs) < 2 or case.reference is None:
        return ""
    first, second = case.runs[:2]
    for role in case.planned.problem.outputs:
        is_asked = role not in case.reference.judges and (role in first.results or role in second.results)
        if is_asked and not compare(_logical(case, first, role), _beside(case, first, second, role)).equal:
            return role
    return ""


def _logical(case: Case, run: Run, role: str) -> Array:
    assert case.reference is not None
    return run.results.get(role, case.reference.tensors[role]).logical


def _beside(case: Case, run: Run, other: Run, role: str) -> Array:
    """What the other run left, as far as its difference is no matter of poison: two launches begin with two poisons.
    Cells that nobody wrote in either, and cells that are NaN with the first poison and wrong with the second, have one
    cause, which is no race."""
    assert case.reference is not None
    here, there = _logical(case, run, role), _logical(case, other, role)
    if run.how.poison == other.how.poison:
        return there
    reference = case.reference.tensors[role]
    dtype = reference.tensor.dtype
    own = dtype.bits.type
    same = (bits_of(here) == own(poison_bits(dtype, run.how.poison))) & (
        bits_of(there) == own(poison_bits(dtype, other.how.poison))
    )
    if dtype.is_float:
        expected = reference.logical
        first, second = (here, there) if run.how.poison == 0 else (there, here)
        read = np.isnan(first) & ~np.isnan(expected) & (bits_of(second) != bits_of(expected))
        same |= read
    return np.where(same, here, there)


def check_dispatch(case: Case) -> Verdict:
    """The bits are right: is what ran what the problem needs?"""
    record = case.runs[0].record
    assert record is not None
    options = {option.name: option.production for option in case.family.options} | dict(case.planned.options)
    production = all(options[option.name] == option.production for option in case.family.options)
    decomposes = production and not case.family.is_reference  # a naive kernel has one thread a cell, no sub-GEMMs
    predicted = case.family.dispatch(case.planned.problem, case.instance, dict(case.planned.options))
    reason = dispatch_disagreement(case.planned.problem, record, predicted, decomposes)
    if not reason:
        return verdict_of(case, Outcome.PASS)
    diagnosis = Diagnosis(("other",), reason, {"dispatch": record.summary()})
    return verdict_of(case, Outcome.MISMATCH, reason, diagnosis)


def _diagnosis(case: Case, wrong: Run, role: str, differ: bool) -> Diagnosis:
    """Of one output of a run."""
    assert case.inputs is not None
    assert case.reference is not None
    reference, result = case.reference.tensors[role], wrong.results[role].logical
    other = next(run for run in case.runs if run is not wrong) if differ else None
    judge = case.reference.judges.get(role)
    outside = None if judge is None else judge.outside(result)
    scene = Scene.thinned(
        case.planned.problem,
        result,
        reference.logical,
        output=role,
        outside=outside,
        poison=poison_bits(reference.tensor.dtype, wrong.how.poison),
        inputs={name: tensor.logical for name, tensor in factors(case.planned.problem, case.inputs.tensors).items()},
        tile=case.instance.tile,
        other_run=None if other is None else _beside(case, wrong, other, role),
        runs=(wrong.how.words, "" if other is None else other.how.words),
    )
    diagnosis = diagnose(scene, case.session.rules)
    comparison = compare(result, reference.logical, outside)
    evidence = {
        **diagnosis.evidence,
        **_of_several(case, wrong, role),
        "run": wrong.how.words,
        "largest_difference": str(comparison.largest_difference),
        "first_wrong_cells": comparison.rows(),
    }
    return replace(diagnosis, evidence=evidence)


def _of_several(case: Case, run: Run, role: str) -> dict[str, Any]:
    """Which output is looked at, and which others are wrong; nothing where there is only one."""
    if len(case.planned.problem.outputs) == 1:
        return {}
    others = [name for name in _in_order(case, run) if name != role]
    return {"output": role} | ({"wrong_too": others} if others else {})


def _view(case: Case, run: Run, role: str) -> dict[str, Any]:
    """Which cells of an output of a run are wrong; nothing where none is."""
    if role not in run.results or case.reference is None:
        return {}
    problem, result, reference = case.planned.problem, run.results[role].logical, case.reference.tensors[role]
    judge = case.reference.judges.get(role)
    outside = None if judge is None else judge.outside(result)
    mask = compare(result, reference.logical, outside).mask
    if not mask.any():
        return {}
    letters = problem.operation.insight.letters(problem, role)
    view = view_of(result, mask, poison_bits(reference.tensor.dtype), letters, case.instance.tile)
    return view | ({"output": role} if len(problem.outputs) > 1 else {})


def _told(run: Run, sentence: str) -> Diagnosis:
    """The diagnosis of a run that the device itself explains."""
    evidence: dict[str, object] = {"run": run.how.words}
    if run.changes:
        evidence["process"] = run.changes
    if run.fault is not None:
        fault = run.fault
        evidence["fault"] = {
            "kind": fault.kind,
            "kernel": fault.kernel,
            "block": list(fault.block),
            "thread": list(fault.thread),
            "buffer": fault.buffer,
            "offset": fault.offset,
            "size": fault.buffer_size,
        }
    kind = "race" if run.fault is not None and run.fault.kind == "race" else "other"
    return Diagnosis((kind,), sentence, evidence)


def contradiction(case: Case, seen: Look) -> Verdict:
    """The short way saw something wrong, the long way nothing: either what the short way went by is wrong, or the
    kernel does not do the same twice."""
    stored = seen.route.stored
    if stored is not None and case.reference is not None and stored.digest != case.reference.digest:
        reason = (
            f"the stored digest is not the reference's: {stored.path} says {stored.digest}, the {case.reference.kind}"
            f" reference gives {case.reference.digest}; {REFRESH}"
        )
        return verdict_of(case, Outcome.INFRA, reason)
    again = "launches on uploaded data, later, found nothing wrong"
    if seen.last.damage:
        sentence = f"{seen.last.damage}; {again}"
        return verdict_of(case, Outcome.CORRUPTED, sentence, _told(seen.last, sentence))
    sentence = f"{seen.doubt}; {again}"
    diagnosis = Diagnosis(("race",), sentence, {"run": seen.last.how.words})
    return verdict_of(case, Outcome.NONDETERMINISTIC, sentence, diagnosis)


def told_by_the_device(case: Case, seen: Look, shortage: str) -> Verdict:
    """What can be said of a wrong result that is too large to be looked at."""
    case.runs = list(seen.runs)
    last = seen.last
    evidence = {"run": last.how.words, "not_diagnosed": shortage, "first_wrong_cells": list(last.cells)}
    if last.differences is not None:
        evidence["largest_difference"] = str(last.differences.largest)
    outcome = Outcome.CORRUPTED if last.damage else Outcome.MISMATCH
    return verdict_of(case, outcome, seen.doubt, Diagnosis(("other",), seen.doubt, evidence))
