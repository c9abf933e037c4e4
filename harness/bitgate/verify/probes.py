"""Probes of a wrong result: the case is launched again with one condition changed, and what is right then is reported.

A probe changes no outcome. It adds to a diagnosis what the launches have shown: that the result depends on the order of
threads, on what memory held before, on earlier cases, or on chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bitgate.kernel.errors import KernelFailed, KernelRefused, RecordRejected
from bitgate.model import case_id
from bitgate.model.host_tensor import HostTensor
from bitgate.numerics.bits import bits_of
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import RACE
from bitgate.verify.deadline import LAUNCH, LOOK
from bitgate.verify.diagnose.rules import MEMORY, RACE_OR_MEMORY
from bitgate.verify.evidence import Evidence
from bitgate.verify.launcher import Launch, LauncherDied, LaunchStep
from bitgate.verify.problem_data import Reference
from bitgate.verify.running import CLEARABLE, EVERYTHING, RESULT, SCRATCH, WORKSPACE, LaunchConfig, LaunchResult

MOST_PER_KERNEL = 4
"""The wrong results of a kernel that are probed in a session: afterwards its reds are much the same."""
ORDERS = ("forward", "reverse", "lockstep")
"""Orders of threads, in each of which a kernel without races gives the same."""


@dataclass(frozen=True)
class _Probe:
    """One launch, and what is known if its result is right: a clause, and the kind that it adds to the diagnosis."""

    config: LaunchConfig
    text: str
    kind: str
    otherwise: str = ""
    """What is known if as many cells are wrong as before."""


def probed(evidence: Evidence, launch: Launch, verdict: Verdict, delayed: bool = False) -> Verdict:
    """Return the verdict, its diagnosis led by what launches with one condition changed have shown.

    ``delayed``: the wrong launch came after work that had not ended on its stream.
    """
    wrong = next((run for run in evidence.runs if run.results), None)
    if wrong is None or verdict.diagnosis is None or not _is_probed(evidence, verdict):
        return verdict
    inputs = evidence.inputs
    assert inputs is not None
    probes = list(_probes(evidence, launch, wrong.config, verdict.diagnosis, delayed))
    evidence.session.stage(LAUNCH)
    try:
        shown = _first_right(evidence, launch, probes, inputs.tensors, wrong)
        if (shown is None or not shown.text) and "race" not in verdict.diagnosis.kinds:
            shown = _in_new_process(evidence, launch, wrong, inputs.tensors) or shown
    except (HipError, KernelFailed, KernelRefused, LauncherDied, RecordRejected, MemoryError):
        return verdict  # what they show is lost, and the verdict holds without it
    finally:
        evidence.session.stage(LOOK)
    if shown is None:
        return verdict
    if shown.config.cleared:
        verdict = _without_race(verdict)
    return led_by(verdict, shown.text, shown.kind) if shown.text else _followed_by(verdict, shown.otherwise)


def _without_race(verdict: Verdict) -> Verdict:
    """Return a verdict on memory that was read before it was written: what differs between two runs is that memory."""
    diagnosis = verdict.diagnosis
    assert diagnosis is not None
    sentence = diagnosis.sentence.replace(RACE_OR_MEMORY, MEMORY)
    return replace(verdict, reason=sentence, diagnosis=replace(diagnosis, sentence=sentence))


def led_by(verdict: Verdict, text: str, kind: str) -> Verdict:
    """Return the verdict with a clause at the head of its diagnosis, and its kind before the others."""
    diagnosis = verdict.diagnosis
    assert diagnosis is not None
    sentence = f"{text}; {diagnosis.sentence}"
    kinds = (
        tuple(dict.fromkeys((kind, *(one for one in diagnosis.kinds if one != "other")))) if kind else diagnosis.kinds
    )
    evidence = {**diagnosis.evidence, "probe": text}
    return replace(verdict, reason=sentence, diagnosis=Diagnosis(kinds, sentence, evidence))


def _followed_by(verdict: Verdict, text: str) -> Verdict:
    """Return the verdict with a clause at the end of its diagnosis."""
    diagnosis = verdict.diagnosis
    assert diagnosis is not None
    sentence = f"{diagnosis.sentence}; {text}"
    return replace(verdict, reason=sentence, diagnosis=replace(diagnosis, sentence=sentence))


def _is_probed(evidence: Evidence, verdict: Verdict) -> bool:
    planned, session = evidence.planned, evidence.session
    if verdict.outcome not in (Outcome.MISMATCH, Outcome.NONDETERMINISTIC) or planned.schedule == RACE:
        return False
    if not session.is_cheap(planned.problem):
        return False
    return any(session.is_first("probed", planned.kernel.name, str(turn)) for turn in range(MOST_PER_KERNEL))


def _probes(
    evidence: Evidence, launch: Launch, config: LaunchConfig, diagnosis: Diagnosis, delayed: bool
) -> Iterator[_Probe]:
    """Yield the probes of a wrong launch; each changes one condition."""
    if "race" not in diagnosis.kinds:
        again = "launched once more on the same data in the same order, every cell is right: the kernel does not"
        alone = "the same launch without work ahead of it on its stream is right"
        yield _Probe(config, alone if delayed else f"{again} compute the same twice", "race")
    for order in ORDERS if config.schedule else ():
        if order != config.schedule:
            text = f"a race: with threads in order {order} every cell is right, in order {config.schedule} not"
            yield _Probe(replace(config, schedule=order), text, "race")
    if not {"poison", "never_written", "race"} & set(diagnosis.kinds):
        return
    is_there = {
        RESULT: not launch.problem.in_place,
        WORKSPACE: launch.workspace > 0,
        SCRATCH: evidence.session.target.platform == "host",
    }
    for memory, name in CLEARABLE.items():
        if is_there[memory]:
            text = f"the result depends on what {name} held before the launch: with zeros there every cell is right"
            yield _Probe(replace(config, cleared=memory), text, "")
    if is_there[SCRATCH]:
        text = "the result depends on what memory held before the launch: with zeros everywhere every cell is right"
        none = (
            "zeros in the result, the workspace and LDS make no cell right: NaN can be computed, too (inf - inf, 0 / 0)"
        )
        yield _Probe(replace(config, cleared=EVERYTHING), text, "", none if "poison" in diagnosis.kinds else "")


def _first_right(
    evidence: Evidence, launch: Launch, probes: Sequence[_Probe], inputs: Mapping[str, HostTensor], wrong: LaunchResult
) -> _Probe | None:
    """Return the first probe whose launch is right; else one whose threads, in another order, give other results."""
    reference = evidence.reference
    if not probes or reference is None:
        return None
    other = None
    runs = evidence.session.launcher.launch(launch, [LaunchStep(probe.config, inputs) for probe in probes])
    for probe, run in zip(probes, runs, strict=False):
        reference.hold(run)
        reference.settle(run)
        if not (run.crash or run.damage or run.results):
            return probe
        if probe.otherwise and run.results and _count(run, reference) >= _count(wrong, reference):
            other = other or _Probe(probe.config, "", "", probe.otherwise)
        order, before = probe.config.schedule, wrong.config.schedule
        if other is None and order != before and not run.crash and not reference.judges and _differ(run, wrong):
            text = f"a race: threads in order {order} give other results than in order {before}, both wrong"
            other = _Probe(probe.config, text, "race")
    return other


def _differ(run: LaunchResult, other: LaunchResult) -> bool:
    """Return whether two launches left other results; a kept result is one that is not the reference's."""
    if run.results.keys() != other.results.keys():
        return True
    return any(
        (bits_of(run.results[role].logical) != bits_of(other.results[role].logical)).any() for role in run.results
    )


def _count(run: LaunchResult, reference: Reference) -> int:
    """Return the number of wrong cells, by bits."""
    return sum(
        int(np.count_nonzero(bits_of(one.logical) != bits_of(reference.tensors[role].logical)))
        for role, one in run.results.items()
    )


def _in_new_process(
    evidence: Evidence, launch: Launch, wrong: LaunchResult, inputs: Mapping[str, HostTensor]
) -> _Probe | None:
    """Launch in a process in which the library has computed nothing yet, if it has computed another case here."""
    planned, session = evidence.planned, evidence.session
    earlier = session.first_case(planned.kernel.family.name, case_id(planned.problem))
    if earlier == case_id(planned.problem) or not session.launcher.replace():
        return None
    text = f"the library keeps something of an earlier case ({earlier}): in a new process every cell is right"
    return _first_right(evidence, launch, [_Probe(wrong.config, text, "other")], inputs, wrong)
