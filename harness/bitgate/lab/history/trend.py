"""What became of a case on a target, verdict by verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.lab.history.series import RunAnswer, Series


@dataclass(frozen=True)
class TrendPoint:
    """``changed``: its digest is another one than that before it; ``deviates``: it stands alone against its
    neighbours."""

    run: str
    answer: RunAnswer
    changed: bool
    deviates: bool

    def as_json(self) -> dict[str, Any]:
        answer = self.answer
        return {
            "run": self.run,
            "time": answer.time,
            "verdict": answer.outcome.value,
            "seconds": answer.seconds,
            "digest": answer.digest,
            "changed": self.changed,
            "deviates": self.deviates,
            "node": answer.node,
            "build": answer.build,
            "commit": answer.commit,
        }


def trend(told: Sequence[RunAnswer], names: Mapping[int, str]) -> list[TrendPoint]:
    """In the order of time; ``names`` of the runs by their numbers."""
    series = Series.of(told)
    odd = {id(series.answers[place]) for place in series.deviations}
    points, digest = [], ""
    for answer in told:
        changed = bool(digest and answer.digest and answer.digest != digest)
        digest = answer.digest or digest
        points.append(TrendPoint(names[answer.run], answer, changed, id(answer) in odd))
    return points
