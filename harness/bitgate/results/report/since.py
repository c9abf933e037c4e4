"""The difference of a run to the ones before it, as plain data: a summary shows it, and a history's reader makes it."""

from __future__ import annotations

from dataclasses import dataclass

from bitgate.results.report.summary import FailureGroup


@dataclass(frozen=True)
class SinceLast:
    """Failures that are new or known, and cases that are fixed since the runs that ``against`` names."""

    new: tuple[FailureGroup, ...]
    known: tuple[FailureGroup, ...]
    fixed: tuple[str, ...]
    line: str
    """The numbers, on one line."""

    def word(self, group: FailureGroup) -> str:
        """Return new, known or nothing for a failure of the run."""
        for word, groups in (("new", self.new), ("known", self.known)):
            if any((one.first.target, one.first.cause) == (group.first.target, group.first.cause) for one in groups):
                return word
        return ""
