"""The cause of a failure: what failures of one defect have in common, and a name for it that stays the same."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from bitgate.results.record import Verdict


class CauseKey(NamedTuple):
    """The verdict, the first kind of its diagnosis, the kernel's family and the path that it took.

    Failures that agree in all four are shown as one, on every target and in every night.
    """

    outcome: str
    kind: str
    family: str
    path: str

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name the cause in reports, issues and dashboards."""
        return sha256("\0".join(self).encode(errors="replace")).hexdigest()[:12]


def cause_of(verdict: Verdict) -> CauseKey:
    """Return the cause of a verdict. A known bug's is that of the failure which it excuses."""
    kind = verdict.diagnosis.kinds[0] if verdict.diagnosis and verdict.diagnosis.kinds else ""
    return CauseKey(verdict.ended_in.value, kind, verdict.key.kernel, path_of(verdict))


def path_of(verdict: Verdict) -> str:
    """Return the dispatch path that a verdict records; empty if none is known."""
    return str(verdict.dispatch.get("path", ""))
