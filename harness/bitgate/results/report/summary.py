"""The summary of a run, in numbers: the data of summary.md, ``--json`` and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bitgate.results.record import UNKNOWN, Outcome, Verdict
from bitgate.results.report.findings import MissingTarget, RunFinding, format_absent, format_findings
from bitgate.results.report.ledger import AttemptEntry, Ledger
from bitgate.results.report.result import cell_lines, sentence_of


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
    path: str = ""
    """The dispatch path that the case took."""
    row: str = ""
    """``file:line`` of the table's row."""
    cells: tuple[str, ...] = ()
    """The first wrong ones."""

    @property
    def cause(self) -> tuple[str, ...]:
        """Target, outcome, kind, family and path: reds that agree in them are reported once."""
        return self.target, self.outcome, self.kinds[0] if self.kinds else "", self.kernel.split(".")[0], self.path


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
            groups.setdefault(red.cause, []).append(red)
        causes = [FailureGroup(len(group), group[0]) for group in groups.values()]
        return tuple(sorted(causes, key=lambda cause: (cause.first.outcome.is_unanswered, -cause.count)))

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
            "reds": [{**vars(red), "kinds": list(red.kinds), "cells": list(red.cells)} for red in self.reds],
            "known": [{**vars(one), "first": one.first.case} for one in self.known],
            "changed": list(self.changed),
            "environment": self.environment,
            "notes": list(self.notes),
            "findings": [dict(vars(finding)) for finding in self.findings],
            "absent": [dict(vars(one)) for one in self.absent],
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
    entries = [entry for ledger in ledgers for entry in ledger.entries]
    counts = Counter(entry.verdict.outcome for entry in entries)
    return Summary(
        tier=" ".join(dict.fromkeys(ledger.tier for ledger in ledgers if ledger.tier)),
        targets=tuple(_row(ledger.target, "", ledger.entries) for ledger in ledgers),
        suites=tuple(row for ledger in ledgers for row in _suite_rows(ledger)),
        outcomes={outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
        reds=tuple(_red(entry.verdict) for entry in entries if not entry.verdict.green),
        known=tuple(_known(entry.verdict for entry in entries)),
        changed=tuple(_changed(entry) for entry in entries if entry.changed),
        environment={ledger.target: environment for ledger in ledgers if (environment := _environment(ledger))},
        notes=(*notes, *(note for ledger in ledgers for note in ledger.notes)),
        findings=(*findings, *(finding for ledger in ledgers for finding in ledger.findings)),
        absent=tuple(absent),
        interrupted=interrupted,
    )


def _suite_rows(ledger: Ledger) -> list[Totals]:
    suites = dict.fromkeys(entry.verdict.suite for entry in ledger.entries)
    return [
        _row(ledger.target, suite or "verify", [e for e in ledger.entries if e.verdict.suite == suite])
        for suite in suites
    ]


def _row(target: str, suite: str, entries: Sequence[AttemptEntry]) -> Totals:
    verdicts = [entry.verdict for entry in entries]
    return Totals(
        target=target,
        suite=suite,
        device=next((f"{v.device_name} ({v.device_kind})" for v in verdicts if v.device_kind), ""),
        verdicts=len(verdicts),
        passed=sum(verdict.outcome is Outcome.PASS for verdict in verdicts),
        compared=sum(verdict.compared for verdict in verdicts),
        problems=len({verdict.key.case for verdict in verdicts if verdict.compared}),
        red=sum(not verdict.green for verdict in verdicts),
        seconds=round(sum(_seconds(verdict) for verdict in verdicts), 3),
    )


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
        path=str(verdict.dispatch.get("path", "")),
        row=verdict.row,
        cells=tuple(cell_lines(verdict)),
    )


def _known(verdicts: Iterable[Verdict]) -> list[KnownFailure]:
    groups: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.outcome is Outcome.KNOWN_BUG:
            entry = verdict.known_bug
            key = (verdict.key.target, *(entry.get(name, "") for name in ("ticket", "owner", "expires")))
            groups.setdefault(key, []).append(verdict)
    return [KnownFailure(key[0], key[1], key[2], key[3], len(group), _red(group[0])) for key, group in groups.items()]


def _changed(entry: AttemptEntry) -> str:
    key = entry.verdict.key
    attempts = ", then ".join(str(outcome) for outcome in (*entry.earlier, entry.verdict.outcome))
    return f"{key.case} {key.name} on {key.target}: {attempts}"


def _environment(ledger: Ledger) -> dict[str, str]:
    """Return the fingerprint of all verdicts, several values of one name joined."""
    seen: dict[str, dict[str, None]] = {}
    for entry in ledger.entries:
        for name, value in entry.verdict.fingerprint.items():
            seen.setdefault(name, {})[value] = None
    for values in seen.values():
        if len(values) > 1:  # cases that did not run know none
            values.pop(UNKNOWN, None)
    if ledger.plan:
        seen["plan"] = {ledger.plan: None}
    return {name: _listed(list(values)) for name, values in seen.items()}


def _listed(values: Sequence[str], shown: int = 20) -> str:
    """Join the first values: a night has one build for each family and one host for each job, all in the record."""
    more = f" and {len(values) - shown} more" if len(values) > shown else ""
    return ", ".join(values[:shown]) + more
