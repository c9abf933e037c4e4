"""The verdict on a case that ended its run alone, which the night's controller records in its place."""

from __future__ import annotations

from pathlib import Path

from bitgate.lab.ci.retry import format_status
from bitgate.lab.ci.view import OUT_OF_MEMORY
from bitgate.lab.executors.executor import TaskState, TaskStatus
from bitgate.results.plan import Plan
from bitgate.results.record import FINGERPRINT, UNKNOWN, DeviceOfRecord, Outcome, Stamp, append, verdict_on


def convict(part: Plan, culprit: str, night: str, attempt: int, status: TaskStatus, record: Path) -> str:
    """Append the verdict on a case of a shard to the record of the attempt that it ended, and return its reason.

    A job that was ended for lack of memory says nothing about the kernel: INFRA. Any other end is CRASHED. OSError if
    the record cannot be written.
    """
    planned = next(item for item in part.cases if item.id == culprit)
    how = format_status(status)
    if status.state is TaskState.OUT_OF_MEMORY:
        outcome, reason = Outcome.INFRA, f"{OUT_OF_MEMORY}: {how}, as it ran alone with all of the machine's memory"
    else:
        outcome, reason = Outcome.CRASHED, f"it ended its run twice, the second time when nothing else ran: {how}"
    verdict = verdict_on(
        planned,
        DeviceOfRecord(),
        outcome,
        reason,
        tier=planned.tier or part.tier,
        plan=part.whole,
        fingerprint=dict.fromkeys(FINGERPRINT, UNKNOWN),
        repro=f"bitgate verify {planned.key.case} --kernel '{planned.key.name}' --target {planned.key.target}",
        run=Stamp(night, attempt, "", f"{night}-culprit-{attempt}", part.shard).now(),
    )
    append(record, verdict)
    return reason
