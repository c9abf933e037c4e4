"""The path of one case: problem -> support -> fill -> launch -> compare -> diagnose -> Verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bitgate.core import emulation
from bitgate.core.choices import REFERENCES
from bitgate.core.errors import NoBoundError, UsageError
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.declared import harness_refusal
from bitgate.kernel.errors import DeclarationFailed, KernelFailed, KernelRefused, LibraryError, RecordRejected
from bitgate.kernel.predicates import PredicateFailed
from bitgate.kernel.runner import Capability
from bitgate.model import case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.checksum import why_not
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.runtime.errors import OUT_OF_MEMORY, HipError
from bitgate.runtime.host import RACE, parse_schedule
from bitgate.verify.bounds import Bounds
from bitgate.verify.deadline import DATA, LAUNCH, LOOK, REFERENCE
from bitgate.verify.decide import contradiction, judge, undiagnosed
from bitgate.verify.device_check import DeviceCheck, check_ahead, check_on_device, device_data, route_of
from bitgate.verify.evidence import Evidence, EvidenceBuilder, OnRun, verdict_of
from bitgate.verify.launcher import KernelAnswer, Launch, LauncherDied, LaunchStep, Measured, NoReference
from bitgate.verify.memory import device_shortage, limit_shortage, memory_shortage, workspace_disagreement
from bitgate.verify.module_check import module_verdict, needs_gpu
from bitgate.verify.near_refusals import with_neighbours
from bitgate.verify.planned import PlannedCase
from bitgate.verify.poison import poisoned
from bitgate.verify.probes import blamed, probed
from bitgate.verify.problem_data import ZEROS, Inputs, Reference, reference_kind
from bitgate.verify.repeat import is_repeated, repeat
from bitgate.verify.running import LaunchConfig, LaunchResult
from bitgate.verify.session import Session
from bitgate.verify.watch import format_changes

Observer = Callable[[str, HostTensor], None]
"""Receives ``in``, ``wei``, ``out``, ``d0`` (the inputs), ``result`` and ``reference``; for several outputs
``result_<role>`` and ``reference_<role>``. Used for dumps."""

Judge = Callable[[EvidenceBuilder, Launch], Verdict]
"""Returns the verdict of a case whose kernel takes the problem, given how it is launched."""


OUTCOME_OF_DEFECT = {"hip_error": Outcome.CRASHED, "instance": Outcome.MISMATCH}
"""The outcome of a case whose dispatch record has a defect in this field; BUILD_FAILED for any other."""


def verify(
    planned: PlannedCase, session: Session, observer: Observer | None = None, on_run: OnRun | None = None
) -> Verdict:
    """Return the verdict of one planned case on the session's target, by its reference.

    Raises UsageError for an unknown schedule, fill or reference: those are no verdicts.
    """
    return run_case(planned, session, lambda builder, launch: by_reference(builder, launch, observer, on_run))


def run_case(planned: PlannedCase, session: Session, judge: Judge, by: str = "") -> Verdict:
    """Take a case from its kernel to a verdict; ``judge`` decides what the result has to be.

    A kernel that does not take the problem, that does harm before it is launched, or that fails has its verdict from
    here. ``by`` is as in ``Evidence``.
    """
    _check_schedule(planned, session)
    builder = EvidenceBuilder(Evidence(planned, session, session.clock(), by=by))
    if needs_gpu(planned.kernel, session.target.platform):
        return module_verdict(builder.evidence)
    try:
        return _run_steps(builder, judge)
    except RecordRejected as error:
        return verdict_of(builder.evidence, OUTCOME_OF_DEFECT.get(error.defect.field, Outcome.BUILD_FAILED), str(error))
    except (BuildError, LibraryError) as error:
        return verdict_of(builder.evidence, Outcome.BUILD_FAILED, str(error))
    except (DeclarationFailed, PredicateFailed) as error:
        return verdict_of(builder.evidence, Outcome.CRASHED, str(error))
    except HipError as error:
        session.lacked_memory |= error.name == OUT_OF_MEMORY
        return verdict_of(builder.evidence, Outcome.INFRA, error.with_advice)
    except LauncherDied as error:
        return verdict_of(builder.evidence, *_of_death(error, session.target.kind))
    except MemoryError as error:
        return verdict_of(builder.evidence, Outcome.INFRA, f"the host ran out of memory: {error}")


def _of_death(error: LauncherDied, kind: str) -> tuple[Outcome, str]:
    """Return outcome and reason of a case at which its launcher ended.

    An emulator runs in that process, or serves it, so that its own end is no finding about the kernel; a fault that the
    runtime reported is one.
    """
    if error.out_of_memory:
        return Outcome.INFRA, error.reason
    if kind == emulation.EMULATED and not error.fault:
        blame = "the kernel or its emulator is to blame: bitgate bringup compares with the host and a second emulator"
        return Outcome.INFRA, f"under {emulation.emulator()}: {error.reason}: {blame}"
    reason = f"{error.reason}: {error.fault}" if error.fault else error.reason
    return Outcome.HUNG if error.hung else Outcome.CRASHED, reason


def _run_steps(builder: EvidenceBuilder, judge: Judge) -> Verdict:
    """Load the kernel, ask whether it takes the problem, and let the judge launch it."""
    planned, session = builder.evidence.planned, builder.evidence.session
    loaded = session.load(planned.kernel, race=planned.raced).loaded
    evidence = builder.evidence = replace(builder.evidence, loaded=loaded)
    if loaded.loading_changed:
        return _loading_harmed(evidence, loaded.loading_changed)
    if planned.schedule not in ("forward", RACE * (not planned.raced)) and not _is_scheduled(evidence):
        raise UsageError(f"schedule {planned.schedule}: the host runtime orders no threads of {planned.kernel.name}")
    kernel, problem = planned.kernel, planned.problem
    declared = planned.declined
    harness = harness_refusal(kernel.family, kernel.instance, problem)
    states = Capability.INDEPENDENT_LISTING in loaded.capabilities and harness is None
    answer = session.launcher.ask(kernel, problem, planned.raced, refused=declared is not None, states=states)
    answered = harness or (answer.refusal if states else declared)
    if answer.failed:
        return verdict_of(evidence, Outcome.CRASHED, f"is_supported failed: {answer.failed}")
    refused = _refusal(evidence, declared, answered)
    if refused is not None:
        if states and _refusal_disagreement(declared, answered):
            clauses = [refusal.clause for refusal in (declared, answered) if refusal is not None]
            refused = with_neighbours(refused, planned, session, clauses[0])
        return _harmed(evidence, answer) or refused
    if answer.measured is not None:
        return _measured(evidence, answer.measured)
    if harmed := _harmed(evidence, answer):
        return harmed
    if answer.workspace_failed:
        return verdict_of(evidence, Outcome.CRASHED, answer.workspace_failed)
    try:
        if answer.workspace_refused is not None:
            raise KernelRefused(answer.workspace_refused)
        if wrong := workspace_disagreement(problem, answer.workspace, planned.predicted):
            shown = {"run": "not launched", "workspace_bytes": answer.workspace}
            return verdict_of(evidence, Outcome.MISMATCH, wrong, Diagnosis(("other",), wrong, shown))
        session.first_case(kernel.family.name, case_id(problem))
        return judge(builder, Launch(kernel, problem, answer.workspace, planned.raced))
    except NoBoundError as error:
        return replace(verdict_of(builder.evidence, Outcome.NOT_RUN, str(error)), expected=True)
    except KernelRefused as error:
        reason = f"the library accepted the problem and then refused to run it: {error.refusal.clause}"
        return verdict_of(builder.evidence, Outcome.REFUSED, f"{reason}: {error.refusal.text}")
    except KernelFailed as error:
        return verdict_of(builder.evidence, Outcome.CRASHED, str(error))


def begin_ahead(planned: PlannedCase, session: Session) -> None:
    """Let the launcher begin with the next case while this one is judged: what it says is fetched by ``verify``.

    Only what is loaded already and nothing speaks against begins; all else waits for its turn.
    """
    loaded = session.loaded(planned.kernel, planned.raced)
    schedules = loaded is not None and Capability.SCHEDULES in loaded.capabilities
    is_emulators = planned.schedule == RACE and not planned.raced
    if loaded is None or planned.no_kernel or (planned.schedule != "forward" and not schedules) or is_emulators:
        return
    kernel, problem, declared = planned.kernel, planned.problem, planned.declined
    harness = harness_refusal(kernel.family, kernel.instance, problem)
    states = Capability.INDEPENDENT_LISTING in loaded.capabilities and harness is None
    session.launcher.ask_ahead(kernel, problem, planned.raced, refused=declared is not None, states=states)
    if declared is not None or planned.predicted is None or not problem.tensors:
        return
    configs = _launches(Evidence(planned, session, 0.0, loaded=loaded))
    check_ahead(planned, session, planned.predicted.workspace_bytes, configs)


def by_reference(builder: EvidenceBuilder, launch: Launch, observer: Observer | None, on_run: OnRun | None) -> Verdict:
    """Return the verdict of a case whose kernel takes the problem, by its reference."""
    # A dump needs the tensors, which the device-side check never has.
    verdict = _device_side_check(builder, launch, on_run) if observer is None else None
    verdict = verdict or _host_side_check(builder, launch, observer, on_run)
    if verdict.outcome is Outcome.PASS and is_repeated(builder.evidence):
        return repeat(builder, launch, launch_config(builder.evidence, REPEATED_RUN)) or verdict
    return verdict


def _harmed(evidence: Evidence, answer: KernelAnswer) -> Verdict | None:
    """Return the verdict if questions alone have changed the process, or left something in the runtime."""
    changes = list(answer.changes)
    harm = "; ".join(filter(None, [format_changes(changes) if changes else "", answer.damage or answer.crash]))
    if not harm:
        return None
    sentence = f"when asked about the problem: {harm}"
    outcome = Outcome.CORRUPTED if changes or answer.damage else Outcome.CRASHED
    return verdict_of(evidence, outcome, sentence, Diagnosis(("other",), sentence, {"process": changes}))


def _loading_harmed(evidence: Evidence, changes: Sequence[str]) -> Verdict:
    sentence = f"when its library was loaded: {format_changes(changes)}"
    shown = {"process": list(changes)}
    return verdict_of(evidence, Outcome.CORRUPTED, sentence, Diagnosis(("other",), sentence, shown))


def _device_side_check(builder: EvidenceBuilder, launch: Launch, on_run: OnRun | None) -> Verdict | None:
    """Return the verdict of a case whose data stay on the device, if nothing is wrong with its bits."""
    planned, session = builder.evidence.planned, builder.evidence.session
    route = route_of(planned, session)
    if route is None:
        return None
    check = check_on_device(planned, session, route, launch, _launches(builder.evidence))
    evidence = replace(builder.evidence, device_check=check).launched(*check.runs)
    evidence = builder.evidence = evidence.spent({"reference": check.reference_seconds})
    if check.shortage:
        return replace(verdict_of(evidence, Outcome.NOT_RUN, check.shortage), expected=True)
    if check.disagreement and not check.last.crash:
        return None
    if on_run is not None:
        for run in check.runs:
            on_run(run)

    def again() -> Verdict:
        other = check_on_device(planned, session, route, launch, _launches(builder.evidence)[:1])
        if other.shortage or other.disagreement:
            return verdict_of(evidence, Outcome.MISMATCH, other.disagreement)
        return judge(replace(evidence, device_check=other, runs=()).launched(*other.runs))

    return blamed(evidence, judge(evidence), again)


def _host_side_check(
    builder: EvidenceBuilder, launch: Launch, observer: Observer | None, on_run: OnRun | None
) -> Verdict:
    """Return the verdict with inputs and reference in host memory: all that is needed to say what is wrong."""
    before = builder.evidence
    planned, session = before.planned, before.session
    on_host, judged = session.target.platform == "host", before.device_check is not None
    shortage = memory_shortage(planned.problem, on_host, planned.fill, judged=judged)
    shortage = shortage or device_shortage(planned.problem, session, launch.workspace, whole=True)
    if shortage and before.device_check is not None:
        return undiagnosed(before, _with_differences(before, before.device_check, launch), shortage)
    builder.evidence = replace(before, runs=())
    if shortage:
        return replace(verdict_of(builder.evidence, Outcome.NOT_RUN, shortage), expected=True)
    if over := limit_shortage(planned.problem, on_host):
        return verdict_of(builder.evidence, Outcome.INFRA, over)
    inputs, reference = _references(builder)
    session.stage(LAUNCH)
    steps = [LaunchStep(config, inputs.tensors) for config in _launches(before)]
    for run in session.launcher.launch(launch, steps):
        reference.hold(run)
        error = _settle(reference, run)
        builder.evidence = replace(builder.evidence, error=error or builder.evidence.error).launched(run)
        if on_run is not None:
            on_run(run)
        if run.crash or run.damage:
            break
    session.stage(LOOK)
    evidence = builder.evidence
    if observer is not None:
        _observe(evidence, inputs, reference, observer)

    def again() -> Verdict:
        (run, *_) = session.launcher.launch(launch, steps[:1])
        reference.hold(run)
        reference.settle(run)
        return judge(replace(evidence, runs=(run,)))

    verdict = judge(evidence)
    is_wrong = any(run.results for run in evidence.runs) and not any(run.crash or run.damage for run in evidence.runs)
    verdict = probed(evidence, launch, verdict) if is_wrong else blamed(evidence, verdict, again)
    # Where NaN is a class, the device's comparison of bits decides nothing.
    settled = verdict.outcome is not Outcome.PASS or reference.judges
    return verdict if settled or evidence.device_check is None else contradiction(evidence, evidence.device_check)


def _with_differences(evidence: Evidence, check: DeviceCheck, launch: Launch) -> DeviceCheck:
    """Return the check of a result that is wrong and too large for the host, with what the device can say of it."""
    planned, session = evidence.planned, evidence.session
    verifies = planned.kernel.family.verifies or session.reference_kernel(planned.problem) is None
    if verifies or check.last.damage:
        return check
    data = device_data(planned, session, check.route)
    try:
        found = session.launcher.differences(launch, session.trusted(planned.problem), data, check.last.config)
    except (NoReference, BuildError, LibraryError):
        return check
    if not found.wrong or found.differences is None:
        return check
    output, first = planned.problem.tensors[found.wrong], found.differences.first
    at = tuple(int(i) for i in np.unravel_index(first, output.lengths))
    found.disagreement = (
        f"{found.differences.count} of {output.elements} cells of {output.name} differ from the GPU reference,"
        f" the first at {at}; the largest difference is {found.differences.largest:g}"
    )
    if not check.route.gpu:  # something else has judged
        found.disagreement += f"; {check.disagreement}"
    return replace(check, runs=(*check.runs[:-1], found))


def _references(builder: EvidenceBuilder) -> tuple[Inputs, Reference]:
    """Return the data and their reference; the evidence holds the data even if the reference cannot be computed."""
    planned, session, clock = builder.evidence.planned, builder.evidence.session, builder.evidence.session.clock
    started = clock()
    session.stage(DATA)
    inputs = session.inputs(planned.problem, planned.kernel.instance, planned.fill, planned.seed)
    filled = clock()
    session.stage(REFERENCE)
    builder.evidence = replace(builder.evidence, inputs=inputs).spent({"fill": filled - started})
    reference = _compute_reference(builder.evidence, inputs)
    builder.evidence = replace(builder.evidence, reference=reference).spent({"reference": clock() - filled})
    return inputs, reference


def _settle(reference: Reference, run: LaunchResult) -> dict[str, float]:
    """Drop results that differ in bits but are right by their judge, and return the largest errors of the outputs.

    No error is kept of a result with the reference's bits, which has the reference's error.
    """
    left = {**reference.tensors, **run.results}
    bounds = {role: judge for role, judge in reference.judges.items() if isinstance(judge, Bounds)}
    reference.settle(run)
    if not bounds or run.record is None:
        return {}
    errors = [judge.error(left[role].logical) for role, judge in bounds.items()]
    return {name: max(one.get(name, 0.0) for one in errors) for name in dict.fromkeys(n for one in errors for n in one)}


def _refusal(evidence: Evidence, declared: Refusal | None, answered: Refusal | None) -> Verdict | None:
    """Return the verdict if the kernel rejects the problem, or if its declaration and its library disagree about that.

    The declaration alone decides for a kernel that states nothing itself.
    """
    expected = evidence.planned.refused
    if declared is None and answered is None:
        if not expected:
            return None
        return verdict_of(evidence, Outcome.REFUSED, f"the problem was to be refused ({expected}), and is supported")
    reason = _refusal_disagreement(declared, answered)
    if reason:
        return verdict_of(evidence, Outcome.REFUSED, reason)
    assert declared is not None
    if expected and declared.clause != expected:
        reason = f"refused by {declared.clause}, expected {expected}: {declared.text}"
        return verdict_of(evidence, Outcome.REFUSED, reason)
    verdict = verdict_of(evidence, Outcome.REFUSED, f"{declared.clause}: {declared.text}")
    return replace(verdict, expected=bool(expected))


def _refusal_disagreement(declared: Refusal | None, answered: Refusal | None) -> str:
    if declared is None and answered is not None:
        return f"the library refuses ({answered.clause}) what its declaration supports: {answered.text}"
    if declared is not None and answered is None:
        return f"the library supports what its declaration refuses ({declared.clause}): {declared.text}"
    if declared is not None and answered is not None and declared.clause != answered.clause:
        return f"the library refuses for {answered.clause}, its declaration for {declared.clause}: {answered.text}"
    return ""


def _compute_reference(evidence: Evidence, inputs: Inputs) -> Reference:
    planned = evidence.planned
    holds, is_reference = inputs.certificate.holds, planned.kernel.family.is_reference
    if planned.reference not in REFERENCES:
        raise UsageError(f"reference '{planned.reference}': {', '.join(REFERENCES)} are known")
    kind, kernel = planned.reference, planned.kernel.name
    if kind == "none":
        return Reference({role: poisoned(planned.problem.tensors[role]) for role in planned.problem.outputs}, kind)
    if planned.fill == ZEROS:
        raise UsageError(f"{planned.case}: with zeros for inputs a kernel that does nothing passes: --reference none")
    if kind == "auto":
        kind = reference_kind(planned.problem, holds, is_reference)
    elif kind == "exact" and not holds:
        raise UsageError(f"{planned.case}: no exact reference: {inputs.certificate.note}")
    elif not holds and not is_reference:
        raise UsageError(
            f"{planned.case} on {kernel}: bits depend on the order of summation ({inputs.certificate.note});"
            " leave --reference out: each cell is then held to a bound"
        )
    elif kind == "checksum":
        if evidence.device_check is None:
            why = why_not(planned.problem, inputs.certificate.bound)
            raise UsageError(f"{planned.case}: no checksum: {why or 'its data are not made on the device'}")
        kind = "exact"  # the identity does not hold: find out which cells are wrong
    elif kind == "gpu" and planned.kernel.family.verifies:
        raise UsageError(f"{kernel} is the kernel that --reference gpu compares with: take exact or ordered")
    return evidence.session.reference(planned.problem, planned.kernel.instance, planned.fill, planned.seed, kind)


CHEAP_RUNS = (("right", "forward"), ("left", "reverse"))
"""The launches of a cheap case: placement of its buffers, and the order of threads on the host. Forward and reverse are
opposites, so of two accesses that race each comes first once."""

REPEATED_RUN = ("right", "random:1")
"""The launch with other data: waves in no order at all."""


def _launches(evidence: Evidence) -> tuple[LaunchConfig, ...]:
    configs = tuple(launch_config(evidence, run) for run in CHEAP_RUNS)
    return configs if evidence.session.is_cheap(evidence.planned.problem) else configs[:1]


def first_launch(evidence: Evidence) -> LaunchConfig:
    """Return how the case is launched where one launch is enough."""
    return launch_config(evidence, CHEAP_RUNS[0])


def launch_config(evidence: Evidence, run: tuple[str, str]) -> LaunchConfig:
    """Return how a launch runs; a thread order that the case states holds for all of its launches."""
    (placement, schedule), planned = run, evidence.planned
    if evidence.session.target.platform != "host" or not _is_scheduled(evidence):
        return LaunchConfig(placement, "")
    return LaunchConfig(placement, schedule if planned.schedule in ("forward", RACE) else planned.schedule)


def _is_scheduled(evidence: Evidence) -> bool:
    """Return whether the order in which the host runtime runs threads matters to the kernel."""
    return evidence.loaded is None or Capability.SCHEDULES in evidence.loaded.capabilities


def _observe(evidence: Evidence, inputs: Inputs, reference: Reference, observer: Observer) -> None:
    for name, tensor in inputs.tensors.items():
        observer(name, tensor)
    last, several = evidence.runs[-1], len(reference.tensors) > 1
    for role, expected in reference.tensors.items():
        end = f"_{role}" if several else ""
        if not last.crash:
            observer(f"result{end}", last.results.get(role, expected))
        if reference.kind != "none":
            observer(f"reference{end}", expected)


def _check_schedule(planned: PlannedCase, session: Session) -> None:
    if planned.schedule != RACE:
        parse_schedule(planned.schedule)
    if planned.schedule == RACE and session.target.kind == emulation.EMULATED:
        return
    if session.target.platform != "host" and planned.schedule != "forward":
        what = "races can be watched" if planned.schedule == RACE else "thread orders can be set"
        raise UsageError(f"schedule {planned.schedule}: {what} on the host target only")


def _measured(evidence: Evidence, measured: Measured) -> Verdict:
    planned, session = evidence.planned, evidence.session
    evidence = evidence.spent({"kernel": session.clock() - evidence.started})
    sentence = measured.crash or measured.sentence
    outcome = Outcome.CRASHED if measured.crash else Outcome.MISMATCH if sentence else Outcome.PASS
    diagnosis = Diagnosis(("platform",), sentence, {"wrong": list(measured.wrong)}) if sentence else None
    return replace(
        verdict_of(evidence, outcome, sentence, diagnosis),
        human=f"{planned.key.instance} of {session.target.name}",
        dispatch={"path": "probe", **measured.found},
    )


class Dump:
    """An observer that writes each tensor of a case to ``<folder>/<name>.npy`` in logical order, without padding.

    Types that numpy does not know (bf16, f8) are widened to f32, which holds each of their values.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, name: str, tensor: HostTensor) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        cells = tensor.logical
        if cells.dtype.isbuiltin != 1:
            cells = cells.astype(np.float32)
        np.save(self.folder / f"{name}.npy", np.ascontiguousarray(cells))


__all__ = [
    "Dump",
    "Judge",
    "Observer",
    "OnRun",
    "by_reference",
    "first_launch",
    "launch_config",
    "run_case",
    "verify",
]
