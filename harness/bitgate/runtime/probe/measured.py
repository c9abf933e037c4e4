"""The measurement of one probe on a workbench, from which the pipeline makes a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitgate.runtime.probe.workbench import Deviation, Workbench

Probe = Callable[[Workbench], Iterable[Deviation]]


@dataclass(frozen=True, eq=False)
class ProbeMeasurement:
    """A measurement by ``probe`` on ``bench``."""

    bench: Workbench
    probe: Probe

    @property
    def found(self) -> Mapping[str, Any]:
        return self.bench.found

    def take(self) -> tuple[str, Sequence[str]]:
        """Return all findings in one sentence, and one by one with the fragment of which each is true."""
        wrong = list(self.probe(self.bench))
        return sentence_of(wrong), [f"{finding.subject}: {finding.text}" for finding in wrong]


def sentence_of(findings: Iterable[Deviation]) -> str:
    """Return all findings in one line; those that are true of several fragments once, with the first one's name."""
    subjects: dict[str, list[str]] = {}
    for finding in findings:
        subjects.setdefault(finding.text, []).append(finding.subject)
    return "; ".join(_sentence(text, names) for text, names in subjects.items())


def _sentence(text: str, names: list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: {text}" if names[0] else text
