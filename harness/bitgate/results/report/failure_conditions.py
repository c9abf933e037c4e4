"""The conditions of a run's failures: what the red cases of a cause have in common that no green one has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.case_sample import CaseSample
from bitgate.results.report.cause import CauseKey, cause_of, path_of
from bitgate.results.report.text import counted

MOST_FAMILIES, MOST_CAUSES = 20, 10
"""Families on a target, and causes of each, whose conditions are sought: those of the most cases."""

Causes = Mapping[CauseKey, CaseSample]


class NamedCause(Protocol):
    """A cause as reports name it."""

    @property
    def id(self) -> str: ...

    @property
    def family(self) -> str: ...

    @property
    def path(self) -> str: ...


@dataclass(frozen=True)
class FailureCondition:
    """The condition that red cases of a family meet on one target: those of one cause, of a path, or all of them.

    ``conditions`` are alternatives; without any, no case is green. ``meet`` green cases meet them, too. ``looked_at``
    are the red and the green cases whose facts were compared: samples, where there are more.
    """

    target: str
    family: str
    cause: str = ""
    """The id of the cause; empty for all causes."""
    failure: str = ""
    """The verdict and the kind of the cause; empty for all causes."""
    path: str = ""
    """The dispatch path that all of the cases took; empty for all paths."""
    red: int = 0
    green: int = 0
    conditions: tuple[str, ...] = ()
    meet: int = 0
    looked_at: tuple[int, int] = (0, 0)

    @property
    def sentence(self) -> str:
        """Return it in one sentence."""
        of = self.family + (f" on path {self.path}" if self.path else "")
        if not self.conditions:
            return f"no case of {of} is green"
        reds = _looked_at(self.red, self.looked_at[0], "red case")
        greens = _looked_at(self.green, self.looked_at[1], "green one")
        return f"{', or '.join(self.conditions)} in all {reds} and {self.meet or 'none'} of {greens} of {of}"

    @property
    def line(self) -> str:
        """Return the sentence with what it is about."""
        return f"{self.failure + ' on ' if self.failure else ''}{self.target}: {self.sentence}"

    def covers(self, cause: NamedCause) -> bool:
        """Return whether it is about all red cases of a cause."""
        return self.family == cause.family and self.cause in ("", cause.id) and self.path in ("", cause.path)

    def as_json(self) -> dict[str, Any]:
        """Return its fields and its sentence."""
        stated = {"conditions": list(self.conditions), "looked_at": list(self.looked_at), "sentence": self.sentence}
        return vars(self) | stated


def _looked_at(count: int, sample: int, noun: str) -> str:
    return counted(count, noun) if sample == count else f"{sample} (a sample) of {counted(count, noun)}"


class ConditionBuilder:
    """Collects the cases of a run in parts: of each cause, and of what is green of a family, a bounded sample."""

    def __init__(self) -> None:
        self._red: dict[tuple[str, str], dict[CauseKey, CaseSample]] = {}
        self._green: dict[tuple[str, str], CaseSample] = {}
        self._paths: Counter[tuple[tuple[str, str], str]] = Counter()

    def add(self, verdict: Verdict) -> None:
        """Take a verdict: a failure that may be the kernel's, or a result that was compared and is right."""
        family = verdict.key.target, verdict.key.kernel
        if not verdict.green and verdict.outcome.is_kernels:
            self._red.setdefault(family, {}).setdefault(cause_of(verdict), CaseSample()).add(verdict)
        elif verdict.green and verdict.compared and verdict.outcome is Outcome.PASS:
            self._green.setdefault(family, CaseSample()).add(verdict)
            self._paths[family, path_of(verdict)] += 1

    def conditions(self) -> tuple[FailureCondition, ...]:
        """Return the conditions that can be stated, those of the families with the most red cases first."""
        most = sorted(self._red.items(), key=lambda one: -_count(one[1]))
        return tuple(one for family, causes in most[:MOST_FAMILIES] for one in self._of_family(family, causes))

    def _of_family(self, family: tuple[str, str], causes: Causes) -> Iterator[FailureCondition]:
        """Yield what all red cases meet; where that is nothing, what those of each path or each cause do."""
        # A merge without a failure does not load NumPy.
        from bitgate.results.report.case_facts import FactReader
        from bitgate.results.report.conditions import shared_condition

        most = dict(sorted(causes.items(), key=lambda one: -one[1].count)[:MOST_CAUSES])
        sample = self._green.get(family, CaseSample())
        facts = FactReader([*sample.cases, *(case for one in most.values() for case in one.cases)])
        stated: list[FailureCondition] = []
        for about, group in _groups(family, most):
            if any(all(map(one.covers, group)) for one in stated):
                continue
            red = _count(group)
            green = self._paths[family, about.path] if about.path else sample.count
            found = replace(about, red=red, green=green)
            if green:
                reds = facts.of(case for one in group.values() for case in one.cases)
                greens = facts.of(case for case in sample.cases if about.path in ("", case.path))
                shared = shared_condition(reds, greens)
                if shared is None:
                    continue
                looked_at = len(reds), len(greens)
                found = replace(found, conditions=shared.words, meet=shared.green, looked_at=looked_at)
            if green or red > 1:
                stated.append(found)
        yield from stated


def _groups(family: tuple[str, str], causes: Causes) -> Iterator[tuple[FailureCondition, Causes]]:
    """Yield groups of causes, the widest first: all, those on each path, and each alone.

    All cases of a cause took one path. Where the causes have several, that they did is no finding about one of them.
    """
    paths = list(dict.fromkeys(cause.path for cause in causes))
    if len(causes) > 1:
        yield FailureCondition(*family), causes
    for path in filter(None, paths if len(paths) > 1 else ()):
        on_path = {cause: sample for cause, sample in causes.items() if cause.path == path}
        if len(on_path) > 1:
            yield FailureCondition(*family, path=path), on_path
    for cause, sample in causes.items():
        failure = " ".join(filter(None, (cause.outcome, cause.kind)))
        path = cause.path if len(paths) > 1 else ""
        yield FailureCondition(*family, cause.id, failure, path), {cause: sample}


def _count(causes: Causes) -> int:
    return sum(sample.count for sample in causes.values())
