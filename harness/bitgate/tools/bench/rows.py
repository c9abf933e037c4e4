"""The result of a candidate as a row of ``bench.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from statistics import median
from typing import Any

from bitgate.kernel.declaration import Refusal
from bitgate.results.record import Stamp
from bitgate.results.record.timing import SCHEMA, Timing, TimingStatus
from bitgate.runtime.targets import Target
from bitgate.tools.bench.arm import TimedShape
from bitgate.tools.bench.rounds import FEWEST_SAMPLES, ArmSamples
from bitgate.tools.bench.settings import Settings
from bitgate.tools.bench.worker import CandidateRun
from bitgate.verify.planned import PlannedCase

Clocks = Mapping[str, tuple[float, float]]


def _waits_for_launches(
    candidate_run: CandidateRun, stated: Mapping[str, Any], host_seconds: float, seconds: float
) -> bool:
    """Say whether the thread that launches sets the pace."""
    slower = stated.get("clock") == "device events" and host_seconds >= seconds
    return slower and (not candidate_run.settings.queued or candidate_run.unqueued > 0)


def timed_row(
    candidate_run: CandidateRun, arm: ArmSamples, target: Target, clocks: Clocks, stamp: Stamp, repro: str
) -> Timing:
    """Make the row of a candidate that was run. Samples are kept only of what was verified to its end."""
    enough = min(candidate_run.settings.samples, FEWEST_SAMPLES)
    status, reason = candidate_run.status, candidate_run.reason
    if status is None:
        over = arm.stopped == "budget" and len(arm.seconds) < enough
        status = TimingStatus.OVER_BUDGET if over else TimingStatus.TIMED
    if status is TimingStatus.OVER_BUDGET and not reason:
        reason = f"{len(arm.seconds)} samples when the {candidate_run.settings.budget:g} s of the shape were up"
    keeps = status in (TimingStatus.TIMED, TimingStatus.OVER_BUDGET)
    seconds = tuple(arm.seconds) if keeps else ()
    host_seconds = median(candidate_run.host_seconds) if keeps and candidate_run.host_seconds else 0.0
    stated = asdict(candidate_run.settings) | dict(candidate_run.facts.get("settings", {}))
    if candidate_run.batch:
        stated["batch"] = candidate_run.batch
    if arm.stopped in ("behind", "budget"):
        stated["stopped"] = arm.stopped
    if seconds and _waits_for_launches(candidate_run, stated, host_seconds, median(seconds)):
        stated["launch_bound"] = True
    verdict = candidate_run.verdict
    return _row(
        candidate_run.planned,
        target,
        name=candidate_run.shape.name,
        sweep=candidate_run.shape.sweep,
        side=candidate_run.contender.side.name,
        build=candidate_run.contender.side.build,
        status=status,
        verdict=verdict.outcome.value if verdict else "",
        reason=reason,
        digest=verdict.digest if verdict else "",
        settings=stated,
        includes=tuple(candidate_run.facts.get("includes", ())),
        launches=int(candidate_run.facts.get("launches", 0)),
        seconds=seconds,
        rounds=tuple(arm.rounds) if keeps else (),
        host_seconds=host_seconds,
        clocks=clocks if seconds else {},
        fingerprint=verdict.fingerprint if verdict else {},
        repro=repro,
        run=dict(vars(stamp)),
    )


def refused_row(
    planned: PlannedCase,
    side: tuple[str, str],
    shape: TimedShape,
    refusal: Refusal,
    settings: Settings,
    target: Target,
    stamp: Stamp,
) -> Timing:
    """Make the row of a kernel whose declaration refuses the problem. ``side`` holds the name and build of the arm."""
    return _row(
        planned,
        target,
        name=shape.name,
        sweep=shape.sweep,
        side=side[0],
        build=side[1],
        status=TimingStatus.REFUSED,
        reason=f"{refusal.clause}: {refusal.text}",
        settings=asdict(settings),
        run=dict(vars(stamp)),
    )


def _row(planned: PlannedCase, target: Target, **known: Any) -> Timing:
    fields = planned.key.fields()
    stated: dict[str, Any] = {
        "schema": SCHEMA,
        **fields,
        "human": planned.human,
        "platform": target.platform,
        "device": {"kind": target.kind, "name": target.device_name},
        "flops": planned.problem.flops,
        "bytes": planned.problem.bytes,
        "foreign": planned.foreign,
    }
    return Timing(**{**stated, **known})
