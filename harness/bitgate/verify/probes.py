"""Probes of a wrong result: the case is launched again with one condition changed, and what is right then is reported.

A probe changes no outcome. It adds to a diagnosis what the launches have shown: that the result depends on the order of
threads, on what memory held before, on earlier cases, or on chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bitgate.kernel.errors import KernelFailed, KernelRefused, RecordRejected
from bitgate.model import case_id
from bitgate.model.host_tensor import HostTensor, has_gaps
from bitgate.numerics.bits import bits_of
from bitgate.numerics.one_hot import product_of_ones
from bitgate.results.record import Diagnosis, Outcome, Verdict
from bitgate.runtime.errors import HipError
from bitgate.runtime.host import RACE
from bitgate.verify.deadline import LAUNCH, LOOK
from bitgate.verify.diagnose.engine import CAUSE
from bitgate.verify.diagnose.places import format_list
from bitgate.verify.diagnose.products import Data, Search, search
from bitgate.verify.diagnose.rules import MEMORY, RACE_OR_MEMORY
from bitgate.verify.evidence import Evidence
from bitgate.verify.launcher import Launch, LauncherDied, LaunchStep
from bitgate.verify.poison import poison_bits
from bitgate.verify.problem_data import Reference
from bitgate.verify.running import CLEARABLE, EVERYTHING, RESULT, SCRATCH, WORKSPACE, LaunchConfig, LaunchResult

MOST_PER_KERNEL = 4
"""The wrong results of a kernel that are probed in a session: afterwards its reds are much the same."""
BLAMED = (Outcome.MISMATCH, Outcome.CRASHED, Outcome.CORRUPTED)
TOGETHER = 16
"""Launches of a search that are made at once."""
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
    evidence.session.foresee(verdict)
    evidence.session.stage(LAUNCH)
    try:
        shown = _first_right(evidence, launch, probes, inputs.tensors, wrong)
        if (shown is None or not shown.text) and "race" not in verdict.diagnosis.kinds:
            shown = _in_new_process(evidence, launch, wrong, inputs.tensors) or shown
        is_open = (shown is None or not shown.text) and CAUSE not in verdict.diagnosis.evidence
        if is_open and verdict.outcome is Outcome.MISMATCH:
            shown = _of_products(evidence, launch, wrong) or shown
    except (HipError, KernelFailed, KernelRefused, LauncherDied, RecordRejected, MemoryError, _Harmed):
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


def blamed(evidence: Evidence, verdict: Verdict, again: Callable[[], Verdict]) -> Verdict:
    """Return the verdict on a harmed launch, or on a record that is not as predicted, led by what a new process shows:
    that an earlier case is to blame, if what ``again`` launches is right there."""
    planned, session = evidence.planned, evidence.session
    if verdict.outcome not in BLAMED or verdict.diagnosis is None or not session.is_cheap(planned.problem):
        return verdict
    earlier = session.first_case(planned.kernel.family.name, case_id(planned.problem))
    if earlier == case_id(planned.problem):
        return verdict
    if not any(session.is_first("blamed", planned.kernel.name, str(turn)) for turn in range(MOST_PER_KERNEL)):
        return verdict
    session.foresee(verdict)
    session.stage(LAUNCH)
    try:
        if not session.launcher.replace() or again().outcome is not Outcome.PASS:
            return verdict
    except (HipError, KernelFailed, KernelRefused, LauncherDied, RecordRejected, MemoryError):
        return verdict
    finally:
        session.stage(LOOK)
    text = f"the library keeps something of an earlier case ({earlier}): in a new process all is right"
    return led_by(verdict, text, "other")


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


def _of_products(evidence: Evidence, launch: Launch, wrong: LaunchResult) -> _Probe | None:
    """Launch on data that are nearly all zero, and return what a wrong cell multiplies instead of what it should."""
    problem, reference = launch.problem, evidence.reference
    if reference is None or problem.result not in wrong.results:
        return None
    cell = _middle_wrong(wrong, reference, problem.result)
    if cell is None or wrong.results[problem.result].bits[cell] == poison_bits(problem.tensors[problem.result].dtype):
        return None
    kernel = _SumsOfKernel(evidence, launch, wrong.config)
    padded = [role for role in kernel.inputs if has_gaps(problem.tensors[role])]
    text = ""
    if padded and _holds_nan(kernel, cell, ()):
        read = [role for role in padded if not _holds_nan(kernel, cell, (role,))]
        if not read and _holds_nan(kernel, cell, padded):
            return None
        names = {"d0": "D", **problem.operation.diagnostics.names(problem)}
        text = f"the padding between rows of {format_list([names[role] for role in read or padded])} is read"
    more = _answered(search(problem, cell), partial(kernel.answers, cleared=padded if text else ()))
    text = "; ".join(filter(None, [text, more]))
    return _Probe(wrong.config, text, "receptive_field") if text else None


def _answered(asked: Search, answers: Callable[[Sequence[Data]], list[NDArray[np.float64]]]) -> str:
    """Return what a search finds."""
    try:
        data = next(asked)
        while True:
            data = asked.send(answers(data))
    except StopIteration as found:
        return str(found.value)


def _holds_nan(kernel: _SumsOfKernel, cell: tuple[int, ...], cleared: Sequence[str]) -> bool:
    """Return whether a cell is NaN where all inputs are zero, and the padding of some as well."""
    (sums,) = kernel.answers([{}], cleared=cleared)
    return bool(np.isnan(sums[cell]))


def _middle_wrong(wrong: LaunchResult, reference: Reference, role: str) -> tuple[int, ...] | None:
    """Return the wrong cell in the middle of all, which is seldom at an edge."""
    ours, theirs = (tensors[role].logical for tensors in (wrong.results, reference.tensors))
    judge = reference.judges.get(role)
    places = np.flatnonzero(bits_of(ours) != bits_of(theirs) if judge is None else judge.outside(ours))
    if not places.size:
        return None
    return tuple(int(i) for i in np.unravel_index(places[places.size // 2], ours.shape))


class _Harmed(Exception):
    """The end of a search whose launch was harmed."""


@dataclass(frozen=True)
class _SumsOfKernel:
    """The sums of a kernel on any small integers, before its element-wise operation."""

    evidence: Evidence
    launch: Launch
    config: LaunchConfig

    @property
    def inputs(self) -> list[str]:
        return [role for role in self.launch.problem.tensors if role not in self.launch.problem.outputs]

    def answers(self, data: Sequence[Data], cleared: Sequence[str] = ()) -> list[NDArray[np.float64]]:
        """Return the sums on each of some data; what these leave out is zero, and so is padding of ``cleared`` roles.

        Raises _Harmed.
        """
        problem = self.launch.problem
        scale = problem.operation.numerics.epilogue(problem).alpha * product_of_ones(problem)
        found: list[NDArray[np.float64]] = []
        for first in range(0, len(data), TOGETHER):
            some = data[first : first + TOGETHER]
            steps = [
                LaunchStep(self.config, {role: self._made(role, one, cleared) for role in self.inputs}) for one in some
            ]
            runs = self.evidence.session.launcher.launch(self.launch, steps)
            if len(runs) < len(steps) or any(run.crash or run.damage for run in runs):
                raise _Harmed
            found += [run.outputs[problem.result].logical.astype(np.float64) / scale for run in runs]
        return found

    def _made(self, role: str, data: Data, cleared: Sequence[str]) -> HostTensor:
        host = HostTensor.empty(self.launch.problem.tensors[role])
        if role in cleared:
            host.storage.view(np.uint8).fill(0)
        values = data.get(role, np.zeros(1, np.int64))
        host.logical[...] = np.broadcast_to(values, host.tensor.lengths).astype(host.storage.dtype)
        return host
