"""The parent's side of the child in which capsules are written and replayed."""

from __future__ import annotations

from typing import Any

from bitgate.core import emulation
from bitgate.tools.capsule.server import ENTRY, ReplayCapsule
from bitgate.verify.launcher_worker import OPEN_SECONDS
from bitgate.verify.output_limit import to_stderr
from bitgate.worker.serving import Message
from bitgate.worker.worker import HearNote, Worker, WorkerDied


def ask(question: Message, seconds: float = OPEN_SECONDS, note: HearNote | None = None) -> dict[str, Any]:
    """Return a child's answer: kernels run in it, and one that ends it is a defect that was found."""
    under, environment = emulation.started() if isinstance(question, ReplayCapsule) else ((), None)
    with Worker(ENTRY, to_stderr, under=under, environment=environment) as child:
        try:
            answer: dict[str, Any] = child.ask(question, seconds, note)
        except WorkerDied as ended:
            return {"defect": f"bitgate: its kernels ended the command: {ended.reason}"}
    return answer
