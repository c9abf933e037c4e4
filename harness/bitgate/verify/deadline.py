"""The time that a caller waits for a verdict, whatever the case may take, and the stage of the case at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic

from bitgate.worker.worker import Request

DATA = "given its data"
REFERENCE = "waiting for its reference"
LAUNCH = "running"
LOOK = "compared"
BUFFERS = "given its buffers"
WARM_UP = "warmed up"
"""Stages of a case, in words."""


@dataclass(eq=False)
class Deadline:
    """A caller's ``seconds``. One launch that takes ``launch`` seconds hangs; one that is under way when the time is up
    is waited for until it has taken ``more`` seconds."""

    seconds: float
    launch: float = 0.0
    more: float = 0.0
    stage: str = ""
    """The stage of the case."""
    is_over: bool = False
    """The case was ended because the time was up."""
    _since: float = field(default_factory=monotonic)
    _asked: Request | None = None
    _due: float = 0.0

    def begins(self, asked: Request) -> None:
        """Start with the case."""
        self._asked, self._due, self._since = asked, asked.deadline, monotonic()

    def hears(self, stage: str) -> None:
        """Note the next stage of the case."""
        self.stage, self._since = stage, monotonic()
        if self._asked is not None:
            until = self._since + self.more if stage == LAUNCH else 0.0
            self._asked.deadline = max(self._due, until)

    @property
    def for_seconds(self) -> float:
        """Seconds that the case has been in its stage."""
        return monotonic() - self._since

    @property
    def hangs(self) -> bool:
        """Is a launch under way that should have ended?"""
        return self.stage == LAUNCH and self.for_seconds >= self.launch
