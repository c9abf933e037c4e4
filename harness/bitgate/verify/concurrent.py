"""The judge of ``--concurrent``: a case that is right alone has to be right beside another launch of its library."""

from __future__ import annotations

from dataclasses import replace

from bitgate.core.errors import UsageError
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.deadline import LAUNCH
from bitgate.verify.evidence import Evidence, EvidenceBuilder, OnRun
from bitgate.verify.launcher import Launch, LaunchStep
from bitgate.verify.pipeline import Observer, by_reference, launch_config, run_case
from bitgate.verify.planned import PlannedCase
from bitgate.verify.repeat import OTHER_SEED, data_of, is_affordable, judge_repeat
from bitgate.verify.session import Session

RUNS = (("right", "forward"), ("left", "random:1"))
"""The placement of buffers and the order of threads; the streams take turns in the first, on the host."""


def judge_concurrently(
    planned: PlannedCase, session: Session, observer: Observer | None = None, on_run: OnRun | None = None
) -> Verdict:
    """Return the verdict of one planned case by its reference, alone and beside another launch on other data.

    Raises UsageError as ``verify`` does, and for what cannot be launched twice at once: kernels that are no library,
    and cases whose data are too large to be made twice.
    """
    return run_case(planned, session, lambda builder, launch: _judge(builder, launch, observer, on_run))


def _judge(builder: EvidenceBuilder, launch: Launch, observer: Observer | None, on_run: OnRun | None) -> Verdict:
    _check(builder.evidence)
    verdict = by_reference(builder, launch, observer, on_run)
    if verdict.outcome is not Outcome.PASS:
        return verdict
    planned, session = builder.evidence.planned, builder.evidence.session
    seeds = planned.seed, planned.seed + OTHER_SEED
    data = [data_of(builder, seed) for seed in seeds]
    configs = [launch_config(builder.evidence, run) for run in RUNS]
    session.stage(LAUNCH)
    asked = [(config, mine) for config in configs for mine in (0, 1)]
    steps = [LaunchStep(config, data[mine][0].tensors, beside=data[1 - mine][0].tensors) for config, mine in asked]
    for run, (config, mine) in zip(session.launcher.launch(launch, steps), asked, strict=False):
        words = (
            f"a launch on data of seed {seeds[mine]} beside one on data of seed {seeds[1 - mine]}, from two threads on"
            f" two streams with buffers apart ({config.description})"
        )
        if red := judge_repeat(builder, *data[mine], run, words, {"seed": seeds[mine]}):
            return replace(red, repro=f"{red.repro} --concurrent")
    return verdict


def _check(evidence: Evidence) -> None:
    planned = evidence.planned
    if not planned.kernel.family.is_built:
        raise UsageError(f"--concurrent: {planned.kernel.name} is no library, which alone is called from two threads")
    if not is_affordable(planned.problem) or planned.reference not in ("auto", "exact", "ordered"):
        raise UsageError(f"--concurrent: {planned.case} needs its data twice in host memory, with an exact reference")
