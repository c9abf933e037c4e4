"""The cases of a run that are kept until its end: of each group of verdicts a bounded sample."""

from __future__ import annotations

from heapq import heappush, heapreplace
from typing import NamedTuple

from bitgate.results.record import Verdict
from bitgate.results.report.facts import mark

MOST = 2000
"""Cases of a group that are kept."""
MOST_WORD, MOST_FACTS = 80, 40
"""Characters of a fact, and facts of a dispatch record: a record may state anything."""


class CaseOnRecord(NamedTuple):
    """A verdict's key and dispatch, as far as they can be what a defect depends on."""

    case: str
    instance: str
    options: tuple[tuple[str, str], ...]
    fill: str
    schedule: str
    dispatch: tuple[tuple[str, int | str], ...]

    @property
    def path(self) -> str:
        return str(dict(self.dispatch).get("path", ""))

    @classmethod
    def of(cls, verdict: Verdict) -> CaseOnRecord:
        key = verdict.key
        dispatch = ((name, value) for name, value in list(verdict.dispatch.items())[:MOST_FACTS] if _is_fact(value))
        return cls(key.case, key.instance, key.options, key.fill, key.schedule.partition(":")[0], tuple(dispatch))


class CaseSample:
    """The cases of a group, or of more than MOST those of the smallest hashes: the same ones in any order."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[tuple[int, int, CaseOnRecord]] = []
        """By hash, then in the order of arrival: what a record states is not compared."""

    def add(self, verdict: Verdict) -> None:
        self.count += 1
        key = verdict.key
        order = -mark(f"{key.case} {key.instance} {key.options} {key.fill} {key.seed} {key.schedule} {verdict.test}")
        if len(self._kept) < MOST:
            heappush(self._kept, (order, self.count, CaseOnRecord.of(verdict)))
        elif order > self._kept[0][0]:
            heapreplace(self._kept, (order, self.count, CaseOnRecord.of(verdict)))

    @property
    def cases(self) -> list[CaseOnRecord]:
        """The cases that are kept, in the order of their hashes."""
        return [case for _, _, case in sorted(self._kept)]


def _is_fact(value: object) -> bool:
    is_word = isinstance(value, str) and 0 < len(value) <= MOST_WORD
    return is_word or (isinstance(value, int) and not isinstance(value, bool))
