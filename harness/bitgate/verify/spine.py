"""The way of one case: problem -> support -> fill -> launch -> compare -> diagnose -> Verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import perf_counter

from bitgate.build.errors import BuildError
from bitgate.device.errors import HipError
from bitgate.device.host import parse_schedule
from bitgate.errors import UsageError
from bitgate.exact.digest import digest
from bitgate.exact.factors import factors
from bitgate.exact.tensor import HostTensor
from bitgate.kernel.arguments import check_options, find_instance
from bitgate.kernel.declaration import Instance, KernelFamily, Refusal
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError
from bitgate.kernel.library import KernelLibrary
from bitgate.problem import ConvProblem, human
from bitgate.problem.foreign import ck_profiler_line
from bitgate.record import Diagnosis, Outcome, Verdict
from bitgate.verify.compare import compare
from bitgate.verify.diagnose import Scene, diagnose
from bitgate.verify.dispatch_check import dispatch_disagreement
from bitgate.verify.memory import memory_shortage
from bitgate.verify.planned import PlannedCase
from bitgate.verify.poison import poison_bits
from bitgate.verify.repro import repro_line
from bitgate.verify.running import How, Launch, Run, run_once
from bitgate.verify.session import Inputs, Reference, Session

REFERENCES = ("auto", "exact", "ordered", "gpu")

Observer = Callable[[str, HostTensor], None]
"""Called with ``in``, ``wei``, ``out``, ``d0`` (the inputs), ``result`` and ``reference``: for dumps."""


@dataclass
class _Case:
    """A case on its way: what is known so far, for whatever verdict it ends in."""

    planned: PlannedCase
    session: Session
    started: float
    family: KernelFamily
    instance: Instance
    seconds: dict[str, float] = field(
        default_factory=lambda: {"fill": 0.0, "kernel": 0.0, "reference": 0.0, "compare": 0.0}
    )
    inputs: Inputs | None = None
    reference: Reference | None = None
    runs: list[Run] = field(default_factory=list)


def verify(planned: PlannedCase, session: Session, observer: Observer | None = None) -> Verdict:
    """The verdict of one planned case on the session's target.

    UsageError for an unknown family, instance, option, schedule, fill or reference: those are no verdicts.
    """
    family = session.family(planned.family)
    instance = find_instance(family, planned.instance)
    check_options(family, dict(planned.options))
    _check_schedule(planned, session)
    case = _Case(planned, session, perf_counter(), family, instance)
    try:
        return _verify(case, observer)
    except (BuildError, LibraryError) as error:
        return _verdict(case, Outcome.BUILD_FAILED, str(error))
    except HipError as error:
        return _verdict(case, Outcome.INFRA, str(error))
    except MemoryError as error:
        return _verdict(case, Outcome.INFRA, f"the host ran out of memory: {error}")


def _verify(case: _Case, observer: Observer | None) -> Verdict:
    planned, session = case.planned, case.session
    library = session.library(planned.family)
    case.started = perf_counter()  # building and loading it is no part of the case
    refused = _refusal(case, library)
    if refused is not None:
        return refused
    shortage = memory_shortage(planned.problem, session.target.platform == "host")
    if shortage:
        return _verdict(case, Outcome.INFRA, shortage)
    started = perf_counter()
    case.inputs = session.inputs(planned.problem, case.instance, planned.fill, planned.seed)
    filled = perf_counter()
    case.reference = _reference(case)
    case.seconds["fill"], case.seconds["reference"] = filled - started, perf_counter() - filled
    options = dict(planned.options)
    try:
        workspace = library.workspace_size(planned.problem, planned.instance, options)
        launch = Launch(library, planned.problem, planned.instance, options, workspace)
        for how in _hows(planned, session):
            run = run_once(session.device, launch, case.inputs.tensors, case.reference.tensor, how)
            judge = case.reference.judge
            if run.result is not None and judge is not None and not judge.outside(run.result.logical).any():
                run.result = None
            case.runs.append(run)
            for name, value in run.seconds.items():
                case.seconds[name] += value
            if run.crash or run.damage:
                break
    except KernelRefused as error:
        reason = f"the library accepted the problem and then refused to run it: {error.refusal.clause}"
        return _verdict(case, Outcome.REFUSED, f"{reason}: {error.refusal.text}")
    except KernelFailed as error:
        return _verdict(case, Outcome.CRASHED, str(error))
    if observer is not None:
        _observe(case, observer)
    return _judge(case)


def _refusal(case: _Case, library: KernelLibrary) -> Verdict | None:
    """The verdict if the kernel rejects the problem, or if its declaration and its library disagree about that."""
    planned = case.planned
    options = dict(planned.options)
    declared = case.family.supports(planned.problem, case.instance, options)
    try:
        told = library.is_supported(planned.problem, planned.instance, options)
    except KernelFailed as error:
        return _verdict(case, Outcome.CRASHED, f"is_supported failed: {error}")
    expected = planned.expect.clause if planned.expect.kind == "refused" else None
    if declared is None and told is None:
        if expected is None:
            return None
        return _verdict(case, Outcome.REFUSED, f"the problem was to be refused ({expected}), and is supported")
    reason = _disagreement(declared, told)
    if reason:
        return _verdict(case, Outcome.REFUSED, reason)
    assert declared is not None
    if expected is not None and declared.clause != expected:
        reason = f"refused by {declared.clause}, expected {expected}: {declared.text}"
        return _verdict(case, Outcome.REFUSED, reason)
    verdict = _verdict(case, Outcome.REFUSED, f"{declared.clause}: {declared.text}")
    return replace(verdict, expected=expected is not None)


def _disagreement(declared: Refusal | None, told: Refusal | None) -> str:
    if declared is None and told is not None:
        return f"the library refuses ({told.clause}) what its declaration supports: {told.text}"
    if declared is not None and told is None:
        return f"the library supports what its declaration refuses ({declared.clause}): {declared.text}"
    if declared is not None and told is not None and declared.clause != told.clause:
        return f"the library refuses for {told.clause}, its declaration for {declared.clause}: {told.text}"
    return ""


def _reference(case: _Case) -> Reference:
    planned, inputs = case.planned, case.inputs
    assert inputs is not None
    holds, is_reference = inputs.certificate.holds, case.family.is_reference
    if planned.reference not in REFERENCES:
        raise UsageError(f"reference '{planned.reference}': {', '.join(REFERENCES)} are known")
    kind = planned.reference
    if kind == "auto":
        # Where the order of summation shows in the bits, only kernels that state theirs are compared by bits.
        kind = "exact" if holds else "ordered" if is_reference else "bounds"
    elif kind == "exact" and not holds:
        raise UsageError(f"{planned.case}: no exact reference: {inputs.certificate.note}")
    elif not holds and not is_reference:
        raise UsageError(
            f"{planned.case} on {planned.kernel}: bits depend on the order of summation ({inputs.certificate.note});"
            " leave --reference out: each cell is then held to a bound"
        )
    elif kind == "gpu" and is_reference:
        raise UsageError(f"{planned.kernel} is the kernel that --reference gpu compares with: take exact or ordered")
    return case.session.reference(planned.problem, case.instance, planned.fill, planned.seed, kind)


def _hows(planned: PlannedCase, session: Session) -> tuple[How, ...]:
    """A cheap case runs twice: buffers against a guard on either side, and on the host in two thread orders, unless
    the case states one of its own."""
    host = session.target.platform == "host"
    first = How("right", planned.schedule if host else "")
    if not session.is_cheap(planned.problem):
        return (first,)
    second = "reverse" if planned.schedule == "forward" else planned.schedule
    return (first, How("left", second if host else ""))


def _judge(case: _Case) -> Verdict:
    last = case.runs[-1]
    if last.damage:
        return _verdict(case, Outcome.CORRUPTED, last.damage, _told(last, last.damage))
    if last.crash:
        return _verdict(case, Outcome.CRASHED, last.crash, _told(last, last.crash))
    differ = _runs_differ(case)
    wrong = next((run for run in case.runs if run.result is not None), None)
    if wrong is None:
        return _check_dispatch(case)
    diagnosis = _diagnosis(case, wrong, differ)
    outcome = Outcome.NONDETERMINISTIC if differ else Outcome.MISMATCH
    return _verdict(case, outcome, diagnosis.sentence, diagnosis, wrong.result)


def _runs_differ(case: _Case) -> bool:
    if len(case.runs) < 2 or case.reference is None or case.reference.judge is not None:
        return False
    first, second = (run.result for run in case.runs)
    if first is None or second is None:
        return first is not second
    return not compare(first.logical, second.logical).equal


def _check_dispatch(case: _Case) -> Verdict:
    """The bits are right: is what ran what the problem needs?"""
    record = case.runs[0].record
    assert record is not None
    options = {option.name: option.production for option in case.family.options} | dict(case.planned.options)
    production = all(options[option.name] == option.production for option in case.family.options)
    decomposes = production and not case.family.is_reference  # a naive kernel has one thread a cell, no sub-GEMMs
    predicted = case.family.dispatch(case.planned.problem, case.instance, dict(case.planned.options))
    reason = dispatch_disagreement(case.planned.problem, record, predicted, decomposes)
    if not reason:
        return _verdict(case, Outcome.PASS)
    diagnosis = Diagnosis(("other",), reason, {"dispatch": record.summary()})
    return _verdict(case, Outcome.MISMATCH, reason, diagnosis)


def _diagnosis(case: _Case, wrong: Run, differ: bool) -> Diagnosis:
    assert case.inputs is not None
    assert case.reference is not None
    assert wrong.result is not None
    reference = case.reference.tensor
    other = next(run for run in case.runs if run is not wrong) if differ else None
    judge = case.reference.judge
    outside = None if judge is None else judge.outside(wrong.result.logical)
    scene = Scene.thinned(
        case.planned.problem,
        wrong.result.logical,
        reference.logical,
        outside=outside,
        poison=poison_bits(reference.tensor.dtype),
        inputs={name: tensor.logical for name, tensor in factors(case.planned.problem, case.inputs.tensors).items()},
        tile=case.instance.tile,
        other_run=None if other is None else (other.result or reference).logical,
        runs=(wrong.how.words, "" if other is None else other.how.words),
    )
    diagnosis = diagnose(scene)
    comparison = compare(wrong.result.logical, reference.logical, outside)
    evidence = {
        **diagnosis.evidence,
        "run": wrong.how.words,
        "largest_difference": str(comparison.largest_difference),
        "first_wrong_cells": comparison.rows(),
    }
    return replace(diagnosis, evidence=evidence)


def _told(run: Run, sentence: str) -> Diagnosis:
    """The diagnosis of a run that the device itself explains."""
    evidence: dict[str, object] = {"run": run.how.words}
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
    return Diagnosis(("other",), sentence, evidence)


def _observe(case: _Case, observer: Observer) -> None:
    assert case.inputs is not None
    assert case.reference is not None
    for name, tensor in case.inputs.tensors.items():
        observer(name, tensor)
    reference = case.reference.tensor
    last = case.runs[-1]
    if not last.crash:
        observer("result", last.result or reference)
    observer("reference", reference)


def _verdict(
    case: _Case,
    outcome: Outcome,
    reason: str = "",
    diagnosis: Diagnosis | None = None,
    result: HostTensor | None = None,
) -> Verdict:
    planned, session, reference = case.planned, case.session, case.reference
    compared = outcome in (Outcome.PASS, Outcome.MISMATCH, Outcome.NONDETERMINISTIC, Outcome.CORRUPTED)
    record = next((run.record for run in case.runs if run.record is not None), None)
    fingerprint: dict[str, str] = {}
    if case.runs:
        guards = "both" if len(case.runs) == 2 else case.runs[0].how.placement
        fingerprint = {**session.fingerprint(planned.family), "guards": guards}
    seconds = {**case.seconds, "total": perf_counter() - case.started}
    seconds = {part: round(value, 6) for part, value in seconds.items()}
    return Verdict(
        key=planned.key,
        outcome=outcome,
        reason=reason,
        suite=planned.suite,
        test=planned.test,
        tier=planned.tier,
        platform=session.target.platform,
        device_kind=session.target.kind,
        device_name=session.target.device_name,
        digest=_digest(reference, result) if compared else "",
        reference="" if reference is None else reference.kind,
        certificate=None if case.inputs is None else case.inputs.certificate,
        dispatch={} if record is None else record.summary(),
        seconds=seconds,
        diagnosis=diagnosis,
        repro=repro_line(planned, session.load),
        foreign=_foreign(planned.problem),
        human=_human(planned.problem),
        fingerprint=fingerprint,
    )


def _digest(reference: Reference | None, result: HostTensor | None) -> str:
    """Of the result: the reference's where they agree. Real numbers have none, they differ between targets, and so do
    the bits of a NaN."""
    if reference is None or reference.judge is not None:
        return ""
    return reference.digest if result is None else digest(result)


@lru_cache(maxsize=1024)
def _human(problem: ConvProblem) -> str:
    return human(problem)


@lru_cache(maxsize=1024)
def _foreign(problem: ConvProblem) -> str:
    return ck_profiler_line(problem) or ""


def _check_schedule(planned: PlannedCase, session: Session) -> None:
    parse_schedule(planned.schedule)
    if session.target.platform != "host" and planned.schedule != "forward":
        raise UsageError(f"schedule {planned.schedule}: thread orders can be set on the host target only")


__all__ = ["Observer", "verify"]
