"""Repeated launches of a green case on other data: a kernel that is right twice on the same data may count its
launches, or remember data or results by the shape of its problem, or by their addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bitgate.kernel.declared import is_own
from bitgate.kernel.dispatch import DispatchRecord
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.runner import Capability
from bitgate.model import Problem
from bitgate.model.problem import held_bytes
from bitgate.numerics.bits import bits_of
from bitgate.results.record import Verdict
from bitgate.verify.deadline import DATA, LAUNCH
from bitgate.verify.decide import judge
from bitgate.verify.evidence import Evidence, EvidenceBuilder
from bitgate.verify.launcher import Launch, LaunchStep
from bitgate.verify.probes import led_by, probed
from bitgate.verify.problem_data import Inputs, Reference, reference_kind
from bitgate.verify.running import LaunchConfig, LaunchResult

OTHER_SEED = 1_000_003
"""Added to the case's seed."""

COSTLY_FLOPS = 100_000_000
"""From here on the reference of other data costs too much, whatever the launch takes."""

COSTLY_BYTES = 1 << 28
"""From here on data and reference in host memory cost too much: the case's own may never have been there."""


def is_repeated(evidence: Evidence) -> bool:
    """Return whether to repeat a case: cheap ones, all or one of each instance, as they or the session say."""
    planned, session = evidence.planned, evidence.session
    cheap = is_affordable(planned.problem) and session.is_cheap(planned.problem)
    if not cheap or planned.reference not in ("auto", "exact", "ordered"):
        return False
    return session.wants_repeat(planned.kernel.name) if planned.repeated is None else planned.repeated


def is_affordable(problem: Problem) -> bool:
    """Return whether data and reference of the problem may be made once more, in host memory."""
    return problem.flops < COSTLY_FLOPS and held_bytes(problem) < COSTLY_BYTES


def repeat(builder: EvidenceBuilder, launch: Launch, config: LaunchConfig) -> Verdict | None:
    """Return the verdict of a repeated launch that shows something wrong, None if none does.

    One launch is on other data. The next is on the case's own data in the same buffers, as in a program that goes on.
    The first case of an instance begins with one after work that has not ended. The first of each path of a family is
    also captured into a graph, which is replayed on both data. Every launch is compared: one that is not would be where
    a library that counts its launches is wrong.
    """
    planned, session = builder.evidence.planned, builder.evidence.session
    seed = planned.seed + OTHER_SEED
    inputs, reference = data_of(builder, seed)
    own, expected = data_of(builder, planned.seed)
    session.stage(LAUNCH)
    # On the host a Python function computes at once, on no stream.
    is_enqueued = bool(config.schedule) or session.target.platform != "host"
    delayed = is_enqueued and session.is_first("delayed", planned.kernel.name)
    other, again = LaunchStep(config, inputs.tensors), LaunchStep(config, own.tensors, reuses_buffers=True)
    steps = [*([replace(other, delayed=True)] * delayed), other, again]
    runs = session.launcher.launch(launch, steps)
    for number, (step, run) in enumerate(zip(steps[:-1], runs, strict=False), 3):
        words = f"launch {number} of the same problem, with other data (seed {seed}; {config.description})"
        if step.delayed:
            words += ", after work that had not ended on the caller's stream"
        if verdict := judge_repeat(builder, inputs, reference, run, words, {"seed": seed}):
            if remembered := _holds_earlier(run, reference, expected):
                return led_by(
                    verdict, f"{remembered} of launch 1 (seed {planned.seed}): the library remembers them", "other"
                )
            return probed(builder.evidence, launch, verdict, delayed=step.delayed)
    run = runs[-1]
    words = f"launch {len(steps) + 2} of the same problem, after one of seed {seed} in the same buffers"
    if verdict := judge_repeat(builder, own, expected, run, f"{words} ({config.description})", {}):
        return verdict
    if run.record is None or not _is_capturable(builder.evidence):
        return None
    if not session.is_first("captured", *_path_of(planned.kernel, run.record)):
        return None
    session.stage(LAUNCH)
    captured = [replace(step, captured=True) for step in (other, again)]
    runs = session.launcher.launch(launch, captured)
    words = "the launch, captured into a graph and replayed"
    on_other = f"{words} on data of seed {seed} ({config.description})"
    if verdict := judge_repeat(builder, inputs, reference, runs[0], on_other, {"seed": seed}):
        return verdict
    words = f"{words} after one on data of seed {seed} ({config.description})"
    return judge_repeat(builder, own, expected, runs[-1], words, {})


def _holds_earlier(run: LaunchResult, reference: Reference, earlier: Reference) -> str:
    """Return the words for a run whose wrong cells hold what was right for earlier data; empty if they do not."""
    for role, result in run.results.items():
        wrong = bits_of(result.logical) != bits_of(reference.tensors[role].logical)
        before = bits_of(earlier.tensors[role].logical)[wrong]
        if not before.size or (before == before[0]).all() or not np.array_equal(bits_of(result.logical)[wrong], before):
            return ""
    return "the wrong cells hold the results" if run.results else ""


def _is_capturable(evidence: Evidence) -> bool:
    """Return whether the kernel's launches can be captured, by its kind and its declaration."""
    return evidence.loaded is not None and Capability.CAPTURE in evidence.loaded.capabilities


def _path_of(kernel: Kernel, record: DispatchRecord) -> tuple[str, ...]:
    """Return what distinguishes ways of launching: a family is captured once on each of its paths.

    The instances of our families share their launches; those of others are captured one by one.
    """
    instance = "" if is_own(kernel.family) else kernel.instance.name
    steps = (record.zero_fill, record.transposes > 0, record.launches > 1)
    return (kernel.family.name, instance, record.path, *map(str, steps))


def data_of(builder: EvidenceBuilder, seed: int) -> tuple[Inputs, Reference]:
    """Return the case's data of a seed, and their reference."""
    planned, session = builder.evidence.planned, builder.evidence.session
    session.stage(DATA)
    problem, instance = planned.problem, planned.kernel.instance
    inputs = session.inputs(problem, instance, planned.fill, seed)
    kind = reference_kind(problem, inputs.certificate.holds, planned.kernel.family.is_reference)
    return inputs, session.reference(problem, instance, planned.fill, seed, kind)


def judge_repeat(
    builder: EvidenceBuilder,
    inputs: Inputs,
    reference: Reference,
    run: LaunchResult,
    words: str,
    facts: dict[str, Any],
) -> Verdict | None:
    """Return the verdict of a further launch if something is wrong with it; ``words`` say which it is."""
    reference.hold(run)
    reference.settle(run)
    evidence = builder.evidence = builder.evidence.spent(run.seconds)
    if not (run.crash or run.damage or run.results):
        return None
    builder.evidence = replace(evidence, inputs=inputs, reference=reference, runs=(run,))
    verdict = judge(builder.evidence)
    words = f"{words}, is wrong: "
    diagnosis = verdict.diagnosis
    if diagnosis is not None:
        diagnosis = replace(diagnosis, sentence=words + diagnosis.sentence, evidence={**diagnosis.evidence, **facts})
    return replace(verdict, reason=words + verdict.reason, diagnosis=diagnosis)
