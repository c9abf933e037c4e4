"""Prefetched cases: those that a child has begun, or will, before their verdict is requested."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

from bitgate.verify.planned import PlannedCase
from bitgate.verify.server import to_json
from bitgate.worker.child import Request


@dataclass
class Prefetch:
    """A request for a verdict in advance.

    ``prepare`` is the request before it, by which its library is loaded, as long as that has no answer.
    """

    planned: PlannedCase
    by: str
    asked: Request
    prepare: Request | None = None
    started: float = field(default_factory=perf_counter)

    def is_of(self, planned: PlannedCase, by: str) -> bool:
        return self.by == by and (self.planned is planned or to_json(self.planned) == to_json(planned))

    def starts(self) -> None:
        """Start its timeout: all earlier requests have completed."""
        self.started = perf_counter()
        self.asked.starts()
        if self.prepare is not None:
            self.prepare.starts()
