"""A file of mutants' trials, a line each as soon as it is known, so that an interrupted run can go on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bitgate.core.errors import UsageError
from bitgate.core.untrusted import Count, Seconds, Short, Text
from bitgate.results.record import append_line
from bitgate.tools.faults.mutation.mutant import Mutant
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial
from bitgate.tools.faults.trial_record import RunLine, lines_of

Known = dict[tuple[Mutant, str], MutantTrial]
"""Trials by mutant, before its condition is drawn, and family."""


class MutantRecord:
    """The record file of one tier, target and commit; it need not exist yet."""

    def __init__(self, path: Path, tier: str, target: str, commit: str) -> None:
        self.path = path
        self._of = (tier, target, commit)

    def known(self, mutants: Iterable[Mutant]) -> Known:
        """Return the recorded trials of these mutants. Raises UsageError for another file, or one of another run."""
        if not self.path.exists():
            return {}
        by_digest = {mutant.digest: mutant for mutant in mutants}
        found: Known = {}
        for line in lines_of(self.path, _MutantLine, "bitgate faults mutate --record", self._of):
            if (mutant := by_digest.get(line.mutant)) is not None:
                found[mutant, line.family] = line.trial(replace(mutant, condition=line.condition), self.path)
        return found

    def add(self, trial: MutantTrial) -> None:
        """Append a trial. Raises OSError where the file cannot be written."""
        tier, target, commit = self._of
        of = {"mutant": trial.mutant.digest, "tier": tier, "target": target, "commit": commit}
        append_line(self.path, json.dumps({**of, **trial.as_json()}).encode() + b"\n")


class _MutantLine(RunLine):
    mutant: Short
    family: Short
    fate: Short
    cases: Count
    by: Short
    verdict: Short
    kinds: list[Short]
    sentence: Text
    seconds: Seconds
    condition: Short
    shown_by: Text
    drawn: Count

    def trial(self, mutant: Mutant, path: Path) -> MutantTrial:
        try:
            fate = Fate(self.fate)
        except ValueError:
            raise UsageError(
                f"{path}: fate '{self.fate}' is none of {', '.join(fate.value for fate in Fate)}"
            ) from None
        kinds = tuple(self.kinds)
        return MutantTrial(
            mutant,
            self.family,
            fate,
            self.cases,
            self.by,
            self.verdict,
            kinds,
            self.sentence,
            self.seconds,
            self.shown_by,
            self.drawn,
        )
