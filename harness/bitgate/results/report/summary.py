"""The summary of a run, in numbers: the data of summary.md, ``--json`` and the exit code."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bitgate.results.allowed_skips import stated_in
from bitgate.results.record import UNKNOWN, Outcome, Verdict
from bitgate.results.report.cause import CauseKey, cause_of
from bitgate.results.report.facts import mark
from bitgate.results.report.failure_conditions import ConditionBuilder, FailureCondition, NamedCause
from bitgate.results.report.findings import MissingTarget, RunFinding, format_absent, format_findings
from bitgate.results.report.foreign_junit import ForeignJUnit
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.reach import ReachBuilder, TargetReach
from bitgate.results.report.result import cell_lines, extent_line, place_of, sentence_of


@dataclass(frozen=True)
class RedVerdict:
    """One red verdict as a reader needs it: what is wrong, where, and the command that reproduces it."""

    target: str
    case: str
    human: str
    kernel: str
    options: str
    test: str
    outcome: Outcome
    kinds: tuple[str, ...]
    sentence: str
    repro: str
    cause: CauseKey
    """Reds of a target that agree in it are reported once."""
    row: str = ""
    """``file:line`` of the table's row."""
    cells: tuple[str, ...] = ()
    """The first wrong ones."""
    place: str = ""
    """Node, GPU, job and log."""
    extent: str = ""
    """How many cells are wrong, and by how much at most."""

    def as_json(self) -> dict[str, Any]:
        """Return its fields; the cause is its id and path."""
        stated = {"kinds": list(self.kinds), "cells": list(self.cells), "cause": self.cause.id, "path": self.cause.path}
        return vars(self) | stated


@dataclass(frozen=True)
class FailureGroup:
    """Reds that look like one defect: how many, and the first of them."""

    count: int
    first: RedVerdict


@dataclass(frozen=True)
class KnownFailure:
    """The cases that failed as one entry of a ledger of known bugs records."""

    target: str
    ticket: str
    owner: str
    expires: str
    count: int
    first: RedVerdict


@dataclass(frozen=True)
class SkippedCases:
    """The cases that one allowed skip covers."""

    target: str
    owner: str
    reason: str
    expires: str
    count: int


@dataclass(frozen=True)
class Totals:
    """The verdicts of one suite on one target (``suite`` empty: of the whole target)."""

    target: str
    suite: str
    device: str
    verdicts: int
    passed: int
    compared: int
    problems: int
    red: int
    seconds: float


@dataclass(frozen=True)
class ForeignTotals:
    """The tests of another harness' JUnit file, counted."""

    file: str
    passed: int
    red: int
    skipped: int


@dataclass(frozen=True)
class Summary:
    """A whole run, or several merged. ``exit_code`` is what ``bitgate report`` and ``bitgate ci merge`` end with."""

    tier: str
    targets: tuple[Totals, ...]
    suites: tuple[Totals, ...]
    outcomes: dict[str, int]
    reds: tuple[RedVerdict, ...]
    known: tuple[KnownFailure, ...] = ()
    changed: tuple[str, ...] = ()
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: tuple[RunFinding, ...] = ()
    """Defects of the run itself."""
    absent: tuple[MissingTarget, ...] = ()
    """Promised targets that had no machine."""
    foreign: tuple[ForeignTotals, ...] = ()
    """The files of other harnesses."""
    skipped: tuple[SkippedCases, ...] = ()
    """Allowed skips, the first to expire first."""
    reach: tuple[TargetReach, ...] = ()
    conditions: tuple[FailureCondition, ...] = ()
    """The conditions that all red cases of a group meet, and no green one."""
    interrupted: bool = False

    @property
    def verdicts(self) -> int:
        return sum(row.verdicts for row in self.targets)

    @property
    def compared(self) -> int:
        return sum(row.compared for row in self.targets)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of cases asked for, compared, refused and not run; ``outcomes`` has all others (CRASHED ...)."""
        refused, not_run = (self.outcomes.get(outcome.value, 0) for outcome in (Outcome.REFUSED, Outcome.NOT_RUN))
        return {"asked": self.verdicts, "compared": self.compared, "refused": refused, "not_run": not_run}

    @property
    def exit_code(self) -> int:
        """0 green, 1 a defect, 3 nothing compared. One target that compared nothing makes the whole run red."""
        # Reds that say nothing about a kernel make a run that compared nothing, not one that found a defect.
        if any(not red.outcome.is_unanswered for red in self.reds):
            return 1
        if not self.compared:
            return 3
        return 1 if self.reds or self.findings or not all(row.compared for row in self.targets) else 0

    @property
    def reported(self) -> tuple[RedVerdict, ...]:
        """The reds that are shown: of an interrupted run only those of cases that were started."""
        return tuple(red for red in self.reds if not self.interrupted or red.outcome != Outcome.NOT_RUN)

    @property
    def causes(self) -> tuple[FailureGroup, ...]:
        """The reds that are shown, grouped by cause, the most frequent first."""
        groups: dict[tuple[str, ...], list[RedVerdict]] = {}
        for red in self.reported:
            groups.setdefault((red.target, *red.cause), []).append(red)
        causes = [FailureGroup(len(group), group[0]) for group in groups.values()]
        return tuple(sorted(causes, key=lambda cause: (cause.first.outcome.is_unanswered, -cause.count)))

    def conditions_of(self, cause: NamedCause, target: str = "") -> list[FailureCondition]:
        """Return the conditions that all red cases of a cause meet, on one target or on all of them."""
        return [one for one in self.conditions if one.covers(cause) and target in ("", one.target)]

    @property
    def top_causes(self) -> list[tuple[CauseKey, Counter[str], RedVerdict]]:
        """The causes over all targets: each with its cases by target and the first of them, in the order of causes."""
        found: dict[CauseKey, tuple[CauseKey, Counter[str], RedVerdict]] = {}
        for group in self.causes:
            cause = group.first.cause
            found.setdefault(cause, (cause, Counter(), group.first))[1][group.first.target] += group.count
        return sorted(found.values(), key=lambda one: (one[2].outcome.is_unanswered, -one[1].total()))

    @property
    def matrix(self) -> dict[str, dict[str, Totals]]:
        """The totals of each suite by target."""
        found: dict[str, dict[str, Totals]] = {}
        for row in self.suites:
            found.setdefault(row.suite, {})[row.target] = row
        return dict(sorted(found.items()))

    @property
    def headline(self) -> str:
        """One line for the whole run: colour, counts, targets."""
        where = ", ".join(row.target for row in self.targets) or "no target"
        tier = f" ({self.tier})" if self.tier else ""
        if self.interrupted:
            done = self.verdicts - (len(self.reds) - len(self.reported))
            return f"INTERRUPTED: {done} of {self.verdicts} verdicts on {where}{tier}, {len(self.reported)} of them red"
        said = {
            0: f"GREEN: {self.verdicts} verdicts on {where}{tier}",
            1: f"RED: {len(self.reds)} of {self.verdicts} verdicts on {where}{tier}",
            3: f"RED: nothing was compared on {where}{tier}",
        }[self.exit_code]
        silent = [row.target for row in self.targets if not row.compared]
        if silent and self.exit_code != 3:
            said += f"; nothing was compared on {', '.join(silent)}"
        return "; ".join(filter(None, (said, format_absent(self.absent), format_findings(self.findings))))

    def as_json(self) -> dict[str, Any]:
        """Return the value of ``summary`` in the document of ``--json``."""
        return {
            "headline": self.headline,
            "exit_code": self.exit_code,
            "tier": self.tier,
            "interrupted": self.interrupted,
            "verdicts": self.verdicts,
            **self.counts,
            "problems": sum(row.problems for row in self.targets),
            "red": len(self.reds),
            "seconds": round(sum(row.seconds for row in self.targets), 3),
            "outcomes": self.outcomes,
            "targets": [dict(vars(row)) for row in self.targets],
            "suites": [dict(vars(row)) for row in self.suites],
            "reds": [red.as_json() for red in self.reds],
            "known": [{**vars(one), "first": one.first.case} for one in self.known],
            "changed": list(self.changed),
            "environment": self.environment,
            "notes": list(self.notes),
            "findings": [dict(vars(finding)) for finding in self.findings],
            "absent": [dict(vars(one)) for one in self.absent],
            "foreign": [dict(vars(one)) for one in self.foreign],
            "skipped": [dict(vars(one)) for one in self.skipped],
            "reach": [one.as_json() for one in self.reach],
            "conditions": [one.as_json() for one in self.conditions],
        }


def summarise(
    ledgers: Sequence[Ledger],
    findings: Sequence[RunFinding] = (),
    *,
    absent: Sequence[MissingTarget] = (),
    notes: Sequence[str] = (),
    interrupted: bool = False,
) -> Summary:
    """Count the entries of ledgers, one a target; ``findings`` and ``notes`` are those of the whole run."""
    counting = SummaryBuilder()
    for ledger in ledgers:
        counting.add(ledger)
    return counting.summary(ledgers, findings, absent=absent, notes=notes, interrupted=interrupted)


class SummaryBuilder:
    """A summary that is counted from ledgers in parts, none of which is kept: only what is red."""

    def __init__(self) -> None:
        self._outcomes: Counter[Outcome] = Counter()
        self._rows: dict[tuple[str, str], _TotalsBuilder] = {}
        self._reds: list[RedVerdict] = []
        self._known: dict[tuple[str, ...], KnownFailure] = {}
        self._changed: list[str] = []
        self._environment: dict[str, dict[str, dict[str, None]]] = {}
        self._skipped: Counter[tuple[str, tuple[str, str, str]]] = Counter()
        self._reach: dict[str, ReachBuilder] = {}
        self._conditions = ConditionBuilder()

    def add(self, ledger: Ledger) -> None:
        """Count a target's ledger, or a part of it."""
        whole = self._rows.setdefault((ledger.target, ""), _TotalsBuilder())
        seen = self._environment.setdefault(ledger.target, {})
        reach = self._reach.setdefault(ledger.target, ReachBuilder(ledger.target))
        for entry in ledger.entries:
            verdict = entry.verdict
            reach.add(verdict)
            self._conditions.add(verdict)
            if stated := stated_in(verdict):
                self._skipped[ledger.target, stated] += 1
            self._outcomes[verdict.outcome] += 1
            whole.add(verdict)
            self._rows.setdefault((ledger.target, verdict.suite or "verify"), _TotalsBuilder()).add(verdict)
            if not verdict.green:
                self._reds.append(_red(verdict))
            if verdict.outcome is Outcome.KNOWN_BUG:
                self._add_known(verdict)
            if entry.changed:
                self._changed.append(_changed(entry))
            for name, value in verdict.fingerprint.items():
                if len(values := seen.setdefault(name, {})) <= SEVERAL:
                    values[value] = None

    def summary(
        self,
        ledgers: Sequence[Ledger],
        findings: Sequence[RunFinding] = (),
        *,
        absent: Sequence[MissingTarget] = (),
        notes: Sequence[str] = (),
        foreign: Sequence[ForeignJUnit] = (),
        interrupted: bool = False,
    ) -> Summary:
        """Return the summary; of the ledgers all but their entries is read."""
        rows = [(target, suite, row) for (target, suite), row in self._rows.items()]
        of = {ledger.target: ledger for ledger in ledgers}
        names = (*of, *dict.fromkeys(target for target, _, _ in rows if target not in of))
        empty = _TotalsBuilder()
        return Summary(
            tier=" ".join(dict.fromkeys(ledger.tier for ledger in ledgers if ledger.tier)),
            targets=tuple(self._rows.get((name, ""), empty).totals(name, "") for name in names),
            suites=tuple(row.totals(target, suite) for target, suite, row in rows if suite),
            outcomes={outcome.value: self._outcomes[outcome] for outcome in Outcome if self._outcomes[outcome]},
            reds=tuple(self._reds),
            known=tuple(self._known.values()),
            changed=tuple(self._changed),
            environment={name: found for name in names if (found := self._environment_of(name, of.get(name)))},
            notes=(*notes, *(note for ledger in ledgers for note in ledger.notes)),
            findings=(*findings, *(finding for ledger in ledgers for finding in ledger.findings)),
            absent=tuple(absent),
            foreign=tuple(ForeignTotals(one.file, **one.counts) for one in foreign),
            skipped=tuple(sorted(self._skips(), key=lambda one: one.expires)),
            reach=tuple(self._reach[name].reach() for name in names if name in self._reach),
            conditions=self._conditions.conditions(),
            interrupted=interrupted,
        )

    def _skips(self) -> Iterator[SkippedCases]:
        for (target, (expires, owner, reason)), count in self._skipped.items():
            yield SkippedCases(target, owner, reason, expires, count)

    def _add_known(self, verdict: Verdict) -> None:
        entry = verdict.known_bug
        key = (verdict.key.target, *(entry.get(name, "") for name in ("ticket", "owner", "expires")))
        known = self._known.get(key) or KnownFailure(key[0], key[1], key[2], key[3], 0, _red(verdict))
        self._known[key] = replace(known, count=known.count + 1)

    def _environment_of(self, target: str, ledger: Ledger | None) -> dict[str, str]:
        """Return the fingerprint of all verdicts, several values of one name joined."""
        seen = self._environment.get(target, {})
        for values in seen.values():
            if len(values) > 1:  # cases that did not run know none
                values.pop(UNKNOWN, None)
        found = {name: _listed(list(values)) for name, values in seen.items()}
        return found | ({"plan": ledger.plan} if ledger and ledger.plan else {})


class _TotalsBuilder:
    """Totals that are counted verdict by verdict; problems are kept as hashes of eight bytes."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._device = ""
        self._seconds = 0.0
        self._problems = array("Q")
        self._last = -1

    def add(self, verdict: Verdict) -> None:
        self._counts["verdicts"] += 1
        self._counts["passed"] += verdict.outcome is Outcome.PASS
        self._counts["red"] += not verdict.green
        self._seconds += _seconds(verdict)
        if not self._device and verdict.device_kind:
            self._device = f"{verdict.device_name} ({verdict.device_kind})"
        if verdict.compared:
            self._counts["compared"] += 1
            if (problem := mark(verdict.key.case)) != self._last:
                self._problems.append(problem)
                self._last = problem

    def totals(self, target: str, suite: str) -> Totals:
        names = ("verdicts", "passed", "compared", "red")
        counts = {name: self._counts[name] for name in names} | {"problems": len(set(self._problems))}
        return Totals(target, suite, self._device, seconds=round(self._seconds, 3), **counts)


def _seconds(verdict: Verdict) -> float:
    return verdict.seconds.get("total", sum(verdict.seconds.values()))


def _red(verdict: Verdict) -> RedVerdict:
    key, diagnosis = verdict.key, verdict.diagnosis
    return RedVerdict(
        target=key.target,
        case=key.case,
        human=verdict.human,
        kernel=key.name,
        options=" ".join(f"{name}={value}" for name, value in key.options),
        test=verdict.test,
        outcome=verdict.outcome,
        kinds=diagnosis.kinds if diagnosis else (),
        sentence=sentence_of(verdict),
        repro=verdict.repro,
        cause=cause_of(verdict),
        row=verdict.row,
        cells=tuple(cell_lines(verdict)),
        place=place_of(verdict),
        extent=extent_line(verdict),
    )


def _changed(entry: AttemptEntry) -> str:
    key = entry.verdict.key
    attempts = ", then ".join(str(outcome) for outcome in (*entry.earlier, entry.verdict.outcome))
    return f"{key.case} {key.name} on {key.target}: {attempts}"


SEVERAL = 20
"""Values of a name that are shown: a night has one build for each family and one host for each job."""


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values[:SEVERAL]) + (" and more" if len(values) > SEVERAL else "")
