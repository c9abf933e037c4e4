"""What became of a contender, as a row of ``bench.jsonl``."""

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


def _waits_for_launches(entrant: CandidateRun, stated: Mapping[str, Any], host_seconds: float, seconds: float) -> bool:
    """Does the thread that launches set the pace?"""
    slower = stated.get("clock") == "device events" and host_seconds >= seconds
    return slower and (not entrant.settings.queued or entrant.unqueued > 0)


def timed_row(
    entrant: CandidateRun, lane: ArmSamples, target: Target, clocks: Clocks, stamp: Stamp, repro: str
) -> Timing:
    """Samples are kept of what was verified to its end, and of nothing else."""
    enough = min(entrant.settings.samples, FEWEST_SAMPLES)
    status, reason = entrant.status, entrant.reason
    if status is None:
        over = lane.stopped == "budget" and len(lane.seconds) < enough
        status = TimingStatus.OVER_BUDGET if over else TimingStatus.TIMED
    if status is TimingStatus.OVER_BUDGET and not reason:
        reason = f"{len(lane.seconds)} samples when the {entrant.settings.budget:g} s of the shape were up"
    keeps = status in (TimingStatus.TIMED, TimingStatus.OVER_BUDGET)
    seconds = tuple(lane.seconds) if keeps else ()
    host_seconds = median(entrant.host_seconds) if keeps and entrant.host_seconds else 0.0
    stated = asdict(entrant.settings) | dict(entrant.facts.get("settings", {}))
    if entrant.batch:
        stated["batch"] = entrant.batch
    if lane.stopped in ("behind", "budget"):
        stated["stopped"] = lane.stopped
    if seconds and _waits_for_launches(entrant, stated, host_seconds, median(seconds)):
        stated["launch_bound"] = True
    verdict = entrant.verdict
    return _row(
        entrant.planned,
        target,
        name=entrant.shape.name,
        sweep=entrant.shape.sweep,
        side=entrant.contender.side.name,
        build=entrant.contender.side.build,
        status=status,
        verdict=verdict.outcome.value if verdict else "",
        reason=reason,
        digest=verdict.digest if verdict else "",
        settings=stated,
        includes=tuple(entrant.facts.get("includes", ())),
        launches=int(entrant.facts.get("launches", 0)),
        seconds=seconds,
        rounds=tuple(lane.rounds) if keeps else (),
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
    """Of a kernel whose declaration does not take the problem. ``side``: name and build."""
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
