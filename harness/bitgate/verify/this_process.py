"""Kernels in this process, for a debugger."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from bitgate.results.record import Verdict
from bitgate.verify.planned import PlannedCase, PlannedMessage
from bitgate.verify.process import BITS, TIME_LIMIT, Opening, Say
from bitgate.verify.server import Hear, judged, open_session
from bitgate.verify.session import Session
from bitgate.worker.endable import Endable


class ThisProcess(Endable):
    """The interface of a CaseProcess without its process: kernels run here, where a debugger is attached. Its verdicts
    are not trusted, since a kernel can change whatever reads them."""

    def __init__(self, opening: Opening, *, progress: Say | None = None) -> None:
        self.opening = opening
        self._progress = progress

    is_running = True

    def end(self) -> None:
        """Do nothing: there is no process to end."""

    def ahead(self, planned: PlannedCase, seconds: float = TIME_LIMIT, *, by: str = BITS) -> bool:
        """Return False: one process does one thing at a time."""
        return False

    @cached_property
    def _session(self) -> Session:
        return open_session(self.opening.message(), self._progress or (lambda line: None))

    def verify(
        self,
        planned: PlannedCase,
        seconds: float = TIME_LIMIT,
        *,
        by: str = BITS,
        dump: Path | None = None,
        trace: Hear | None = None,
    ) -> Verdict:
        """Verify as ``CaseProcess.verify`` does, without a deadline."""
        # A user's declaration is data where cases are planned, and code where they run.
        here = PlannedMessage.of(planned).planned(self._session.families)
        return self.opening.repetition.verdict(lambda left: judged(here, self._session, by, dump, trace))
