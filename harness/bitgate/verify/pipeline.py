"""The way of one case: problem -> support -> fill -> launch -> compare -> diagnose -> Verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bitgate.core.choices import REFERENCES
from bitgate.core.errors import NoBoundError, UsageError
from bitgate.kernel.build.errors import BuildError
from bitgate.kernel.declaration import Refusal
from bitgate.kernel.declared import harness_refusal
from bitgate.kernel.errors import KernelFailed, KernelRefused, LibraryError
from bitgate.kernel.runner import Capability, Runner
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.checksum import why_not
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import RACE, parse_schedule
from bitgate.verify.bounds import Bounds
from bitgate.verify.deadline import DATA, LAUNCH, LOOK, REFERENCE
from bitgate.verify.decide import contradiction, judge, undiagnosed
from bitgate.verify.device_check import check_on_device, route_of
from bitgate.verify.evidence import Evidence, EvidenceBuilder, OnRun
from bitgate.verify.launch_effects import after_launch, before_launch
from bitgate.verify.measuring import measured
from bitgate.verify.memory import device_shortage, memory_shortage
from bitgate.verify.planned import PlannedCase
from bitgate.verify.poison import poisoned
from bitgate.verify.repeat import is_repeated, repeat
from bitgate.verify.running import Launch, LaunchConfig, LaunchResult, run_once
from bitgate.verify.session import ZEROS, Inputs, Reference, Session, reference_kind
from bitgate.verify.verdict import verdict_of
from bitgate.verify.watch import Watch, in_words, undisturbed
from bitgate.verify.workspace import workspace_disagreement

Observer = Callable[[str, HostTensor], None]
"""Called with ``in``, ``wei``, ``out``, ``d0`` (the inputs), ``result`` and ``reference``, of several outputs
``result_<role>`` and ``reference_<role>``: for dumps."""

Judge = Callable[[EvidenceBuilder, Launch], Verdict]
"""From a case whose kernel takes the problem, and how it is launched, to the verdict."""


def verify(
    planned: PlannedCase, session: Session, observer: Observer | None = None, on_run: OnRun | None = None
) -> Verdict:
    """The verdict of one planned case on the session's target, by its reference.

    UsageError for an unknown schedule, fill or reference: those are no verdicts.
    """
    return through(planned, session, lambda gathering, launch: _by_reference(gathering, launch, observer, on_run))


def through(planned: PlannedCase, session: Session, judge: Judge, by: str = "") -> Verdict:
    """The way of every case: a kernel that does not take the problem, that does harm before it is launched, or that
    fails is the spine's; what a result has to be is the judge's. ``by`` as in ``Evidence``."""
    _check_schedule(planned, session)
    gathering = EvidenceBuilder(Evidence(planned, session, session.clock(), by=by))
    try:
        with undisturbed():
            return _way(gathering, judge)
    except (BuildError, LibraryError) as error:
        return verdict_of(gathering.evidence, Outcome.BUILD_FAILED, str(error))
    except HipError as error:
        return verdict_of(gathering.evidence, Outcome.INFRA, error.with_advice)
    except MemoryError as error:
        return verdict_of(gathering.evidence, Outcome.INFRA, f"the host ran out of memory: {error}")


def _way(gathering: EvidenceBuilder, judge: Judge) -> Verdict:
    planned, session = gathering.evidence.planned, gathering.evidence.session
    runner = session.runner(planned.kernel, race=planned.raced)
    evidence = gathering.evidence = replace(gathering.evidence, runner=runner)
    if runner.conduct.loading_changed:
        return _loading_harmed(evidence, runner.conduct.loading_changed)
    watch, mark = Watch(session.device, runner), before_launch(session.device)
    if planned.schedule != "forward" and not _is_scheduled(evidence):
        raise UsageError(f"schedule {planned.schedule}: the host runtime orders no threads of {planned.kernel.name}")
    refused = _refusal(evidence, runner)
    if refused is not None:
        return _harmed(evidence, watch, mark) or refused
    diagnostics = planned.problem.operation.diagnostics
    measurement = diagnostics.measurement(planned.problem, planned.key.instance, session.device, runner)
    if measurement is not None:
        return measured(evidence, measurement)
    try:
        workspace = runner.workspace(planned.problem)
        if harmed := _harmed(evidence, watch, mark):
            return harmed
        if wrong := workspace_disagreement(planned.problem, workspace, planned.predicted):
            shown = {"run": "not launched", "workspace_bytes": workspace}
            return verdict_of(evidence, Outcome.MISMATCH, wrong, Diagnosis(("other",), wrong, shown))
        return judge(gathering, Launch(runner, planned.problem, workspace))
    except NoBoundError as error:
        return replace(verdict_of(gathering.evidence, Outcome.NOT_RUN, str(error)), expected=True)
    except KernelRefused as error:
        reason = f"the library accepted the problem and then refused to run it: {error.refusal.clause}"
        return verdict_of(gathering.evidence, Outcome.REFUSED, f"{reason}: {error.refusal.text}")
    except KernelFailed as error:
        return verdict_of(gathering.evidence, Outcome.CRASHED, str(error))


def _by_reference(
    gathering: EvidenceBuilder, launch: Launch, observer: Observer | None, on_run: OnRun | None
) -> Verdict:
    # A dump needs the tensors, which the short way never sees.
    verdict = _short_way(gathering, launch, on_run) if observer is None else None
    verdict = verdict or _long_way(gathering, launch, observer, on_run)
    if verdict.outcome is Outcome.PASS and is_repeated(gathering.evidence):
        return repeat(gathering, launch, _how(gathering.evidence, REPEATED_RUN)) or verdict
    return verdict


def _harmed(evidence: Evidence, watch: Watch, mark: int) -> Verdict | None:
    """The verdict if questions alone have changed the process, or left something in the runtime."""
    changes = watch.changes()
    left = after_launch(evidence.session.device, mark, {})
    harm = "; ".join(filter(None, [in_words(changes) if changes else "", left.damage or left.crash]))
    if not harm:
        return None
    sentence = f"when asked about the problem: {harm}"
    outcome = Outcome.CORRUPTED if changes or left.damage else Outcome.CRASHED
    return verdict_of(evidence, outcome, sentence, Diagnosis(("other",), sentence, {"process": changes}))


def _loading_harmed(evidence: Evidence, changes: list[str]) -> Verdict:
    sentence = f"when its library was loaded: {in_words(changes)}"
    return verdict_of(evidence, Outcome.CORRUPTED, sentence, Diagnosis(("other",), sentence, {"process": changes}))


def _short_way(gathering: EvidenceBuilder, launch: Launch, on_run: OnRun | None) -> Verdict | None:
    """The verdict of a case whose data stay on the device, if nothing is wrong with its bits."""
    planned, session = gathering.evidence.planned, gathering.evidence.session
    route = route_of(planned, session)
    if route is None:
        return None
    seen = check_on_device(planned, session, route, launch, _hows(gathering.evidence))
    evidence = replace(gathering.evidence, device_check=seen).launched(*seen.runs)
    evidence = gathering.evidence = evidence.spent({"reference": seen.reference_seconds})
    if seen.shortage:
        return replace(verdict_of(evidence, Outcome.NOT_RUN, seen.shortage), expected=True)
    if seen.disagreement and not seen.last.crash:
        return None
    if on_run is not None:
        for run in seen.runs:
            on_run(run)
    return judge(evidence)


def _long_way(gathering: EvidenceBuilder, launch: Launch, observer: Observer | None, on_run: OnRun | None) -> Verdict:
    """Inputs and reference in host memory: all that is needed to say what is wrong."""
    seen = gathering.evidence
    planned, session = seen.planned, seen.session
    shortage = memory_shortage(planned.problem, session.target.platform == "host")
    if shortage and seen.device_check is not None:
        return undiagnosed(seen, seen.device_check, shortage)
    gathering.evidence = replace(seen, runs=())
    shortage = shortage or device_shortage(planned.problem, session.device, launch.workspace)
    if shortage:
        return replace(verdict_of(gathering.evidence, Outcome.NOT_RUN, shortage), expected=True)
    inputs, reference = _references(gathering)
    for how in _hows(seen):
        session.stage(LAUNCH)
        run = run_once(session.device, launch, inputs.tensors, reference.tensors, how)
        error = _settle(reference, run)
        gathering.evidence = replace(gathering.evidence, error=error or gathering.evidence.error).launched(run)
        if on_run is not None:
            on_run(run)
        if run.crash or run.damage:
            break
    session.stage(LOOK)
    evidence = gathering.evidence
    if observer is not None:
        _observe(evidence, inputs, reference, observer)
    verdict = judge(evidence)
    # Where NaN is a class the device's comparison of bits says nothing.
    settled = verdict.outcome is not Outcome.PASS or reference.judges
    return verdict if settled or evidence.device_check is None else contradiction(evidence, evidence.device_check)


def _references(gathering: EvidenceBuilder) -> tuple[Inputs, Reference]:
    """Data and what must come of them; what the first took is known if the second cannot be had."""
    planned, session, clock = gathering.evidence.planned, gathering.evidence.session, gathering.evidence.session.clock
    started = clock()
    session.stage(DATA)
    inputs = session.inputs(planned.problem, planned.kernel.instance, planned.fill, planned.seed)
    filled = clock()
    session.stage(REFERENCE)
    gathering.evidence = replace(gathering.evidence, inputs=inputs).spent({"fill": filled - started})
    reference = _reference(gathering.evidence, inputs)
    gathering.evidence = replace(gathering.evidence, reference=reference).spent({"reference": clock() - filled})
    return inputs, reference


def _settle(reference: Reference, run: LaunchResult) -> dict[str, float]:
    """Where more than bits is compared, a result that differs in bits may still be right: its error. None is kept of a
    result with the reference's bits, which has the reference's error. Of several outputs the largest errors count."""
    left = {**reference.tensors, **run.results}
    bounds = {role: judge for role, judge in reference.judges.items() if isinstance(judge, Bounds)}
    reference.settle(run)
    if not bounds or run.record is None:
        return {}
    errors = [judge.error(left[role].logical) for role, judge in bounds.items()]
    return {name: max(one.get(name, 0.0) for one in errors) for name in dict.fromkeys(n for one in errors for n in one)}


def _refusal(evidence: Evidence, runner: Runner) -> Verdict | None:
    """The verdict if the kernel rejects the problem, or if its declaration and its library disagree about that. A
    kernel that states nothing itself is taken at its declaration's word."""
    planned = evidence.planned
    kernel = planned.kernel
    declared = kernel.refusal(planned.problem)
    try:
        answered = harness_refusal(kernel.family, kernel.instance, planned.problem)
        states_it = Capability.INDEPENDENT_LISTING in runner.capabilities
        answered = answered or (runner.supports(planned.problem) if states_it else declared)
    except KernelFailed as error:
        return verdict_of(evidence, Outcome.CRASHED, f"is_supported failed: {error}")
    expected = planned.refused
    if declared is None and answered is None:
        if not expected:
            return None
        return verdict_of(evidence, Outcome.REFUSED, f"the problem was to be refused ({expected}), and is supported")
    reason = _disagreement(declared, answered)
    if reason:
        return verdict_of(evidence, Outcome.REFUSED, reason)
    assert declared is not None
    if expected and declared.clause != expected:
        reason = f"refused by {declared.clause}, expected {expected}: {declared.text}"
        return verdict_of(evidence, Outcome.REFUSED, reason)
    verdict = verdict_of(evidence, Outcome.REFUSED, f"{declared.clause}: {declared.text}")
    return replace(verdict, expected=bool(expected))


def _disagreement(declared: Refusal | None, answered: Refusal | None) -> str:
    if declared is None and answered is not None:
        return f"the library refuses ({answered.clause}) what its declaration supports: {answered.text}"
    if declared is not None and answered is None:
        return f"the library supports what its declaration refuses ({declared.clause}): {declared.text}"
    if declared is not None and answered is not None and declared.clause != answered.clause:
        return f"the library refuses for {answered.clause}, its declaration for {declared.clause}: {answered.text}"
    return ""


def _reference(evidence: Evidence, inputs: Inputs) -> Reference:
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
        kind = "exact"  # the identity does not hold: which cells are wrong?
    elif kind == "gpu" and is_reference:
        raise UsageError(f"{kernel} is the kernel that --reference gpu compares with: take exact or ordered")
    return evidence.session.reference(planned.problem, planned.kernel.instance, planned.fill, planned.seed, kind)


CHEAP_RUNS = (("right", "forward"), ("left", "reverse"))
"""How a cheap case runs: placement of its buffers, and the order of threads on the host. Forward and reverse are each
other's opposite, so that of two accesses that race either one comes first once."""

REPEATED_RUN = ("right", "random:1")
"""How it is launched once more with other data: waves in no order at all."""


def _hows(evidence: Evidence) -> tuple[LaunchConfig, ...]:
    hows = tuple(_how(evidence, run) for run in CHEAP_RUNS)
    return hows if evidence.session.is_cheap(evidence.planned.problem) else hows[:1]


def first_how(evidence: Evidence) -> LaunchConfig:
    """How the case is launched where one launch is enough."""
    return _how(evidence, CHEAP_RUNS[0])


def _how(evidence: Evidence, run: tuple[str, str]) -> LaunchConfig:
    """A thread order that the case states holds for all of its launches."""
    (placement, schedule), planned = run, evidence.planned
    if evidence.session.target.platform != "host" or not _is_scheduled(evidence):
        return LaunchConfig(placement, "")
    return LaunchConfig(placement, schedule if planned.schedule in ("forward", RACE) else planned.schedule)


def _is_scheduled(evidence: Evidence) -> bool:
    """Does it matter to the kernel in which order the host runtime lets threads run?"""
    return evidence.runner is None or Capability.SCHEDULES in evidence.runner.capabilities


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
    if session.target.platform != "host" and planned.schedule != "forward":
        what = "races can be watched" if planned.schedule == RACE else "thread orders can be set"
        raise UsageError(f"schedule {planned.schedule}: {what} on the host target only")


__all__ = ["Judge", "Observer", "OnRun", "first_how", "through", "verify"]
