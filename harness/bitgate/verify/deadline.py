"""Deadlines: how long a caller waits for a verdict, and at which stage the case was when the time was up."""

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
"""The stages of a case, as messages name them."""


@dataclass(eq=False)
class Deadline:
    """The time a caller waits for a verdict: ``seconds`` in all.

    One launch that takes ``launch`` seconds hangs. A launch that is in progress when the time is up may go on until it
    has taken ``more`` seconds.
    """

    seconds: float
    launch: float = 0.0
    more: float = 0.0
    stage: str = ""
    """The stage that the case has reached."""
    is_over: bool = False
    """True once the case was ended because the time was up."""
    _since: float = field(default_factory=monotonic)
    _request: Request | None = None
    _due: float = 0.0

    def begins(self, request: Request) -> None:
        """Start the clock: the case has begun."""
        self._request, self._due, self._since = request, request.deadline, monotonic()

    def hears(self, stage: str) -> None:
        """Note the stage that the case has reached, and extend the deadline for a launch."""
        self.stage, self._since = stage, monotonic()
        if self._request is not None:
            until = self._since + self.more if stage == LAUNCH else 0.0
            self._request.deadline = max(self._due, until)

    @property
    def for_seconds(self) -> float:
        """Seconds since the case reached its stage."""
        return monotonic() - self._since

    @property
    def hangs(self) -> bool:
        """True if a launch is in progress that should have ended."""
        return self.stage == LAUNCH and self.for_seconds >= self.launch
