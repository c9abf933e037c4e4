"""The failures of a run, compared with what was known before: new, known, fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from bitgate.lab.history import query
from bitgate.lab.history.query import RecordedRun
from bitgate.results.record import Key, Outcome, Verdict
from bitgate.results.report.failure_conditions import ConditionBuilder, FailureCondition
from bitgate.results.report.ledger import AttemptEntry, Ledger, MergedNight, read_night
from bitgate.results.report.page.past import TestedKey
from bitgate.results.report.since import SinceLast
from bitgate.results.report.summary import FailureGroup, summarise


@dataclass(frozen=True)
class EarlierAnswer:
    """The last answer of a case. ``green``: nothing was wrong with it."""

    outcome: Outcome
    green: bool
    run: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Triage:
    """The failures of a run in three groups.

    ``new``: red now but not before, or in another way, or never seen before; ``known``: red before in the same way;
    ``fixed``: cases that were red and are green, with their earlier answer; ``changed``: cases that were green and are,
    with other bits: their data, their reference or what both come from has changed.
    """

    new: tuple[FailureGroup, ...]
    known: tuple[FailureGroup, ...]
    fixed: tuple[tuple[Verdict, EarlierAnswer], ...]
    changed: tuple[tuple[Verdict, EarlierAnswer], ...]
    findings: tuple[str, ...]
    """Red findings about the run itself."""
    compared: int
    unseen: int
    """New failures of cases without any earlier record."""
    against: str
    conditions: tuple[FailureCondition, ...] = ()
    """The conditions that all red cases of a group meet, and no green one."""

    @property
    def exit_code(self) -> int:
        if self.new or self.findings:
            return 1
        return 0 if self.compared else 3

    def since(self, line: str) -> SinceLast:
        """Return it as a summary shows it; ``line`` has the numbers."""
        fixed = (f"{one.key.case} {one.key.name} on {one.key.target}: was {was.outcome}" for one, was in self.fixed)
        return SinceLast(self.new, self.known, tuple(fixed), line)


def of_record(paths: Sequence[Path]) -> dict[TestedKey, EarlierAnswer]:
    """Return the answers of another run. Raises UsageError as any reader of results."""
    return {
        _tested_key(entry.verdict): EarlierAnswer(
            entry.verdict.outcome, entry.verdict.green, digest=entry.verdict.digest
        )
        for entry in _entries(read_night(paths))
        if not entry.verdict.outcome.is_unanswered
    }


def of_history(
    connection: Connection, runs: Sequence[RecordedRun], but: Iterable[str]
) -> dict[TestedKey, EarlierAnswer]:
    """Return the last answers of the history, without those of the run in question."""
    skipped = set(but)
    earlier = [run for run in runs if run.name not in skipped]
    names = {run.number: run.name for run in earlier}
    found: dict[TestedKey, EarlierAnswer] = {}
    for case, recorded in query.series(connection, earlier):
        answers = [answer for answer in recorded if not answer.outcome.is_unanswered]
        if answers:
            last = answers[-1]
            key = Key.of(case.as_json())
            found[key, case.test] = EarlierAnswer(last.outcome, last.green, names[last.run], last.digest)
    return found


def triage(night: MergedNight, before: Mapping[TestedKey, EarlierAnswer], against: str) -> Triage:
    ledgers = night.ledgers
    red = [entry for entry in _entries(night) if not entry.verdict.green]
    known = {(e.verdict.key, e.verdict.test) for e in red if _is_known(e.verdict, before.get(_tested_key(e.verdict)))}
    now_green = (entry.verdict for entry in _entries(night) if _is_well(entry.verdict))
    well = [(verdict, was) for verdict in now_green if (was := before.get(_tested_key(verdict)))]
    findings = [finding.sentence for finding in (*night.findings, *(f for one in ledgers for f in one.findings))]
    return Triage(
        new=_causes(ledgers, [entry for entry in red if _tested_key(entry.verdict) not in known]),
        known=_causes(ledgers, [entry for entry in red if _tested_key(entry.verdict) in known]),
        fixed=tuple((verdict, was) for verdict, was in well if not was.green),
        changed=tuple((verdict, was) for verdict, was in well if was.green and _has_other_bits(verdict, was)),
        findings=tuple(findings),
        compared=sum(entry.verdict.compared for entry in _entries(night)),
        unseen=sum(_tested_key(entry.verdict) not in before for entry in red),
        against=against,
        conditions=_conditions(night),
    )


def _conditions(night: MergedNight) -> tuple[FailureCondition, ...]:
    builder = ConditionBuilder()
    for entry in _entries(night):
        builder.add(entry.verdict)
    return builder.conditions()


def runs_of(night: MergedNight) -> set[str]:
    """Return the ids of the runs that a record is of."""
    return {entry.verdict.run.id for entry in _entries(night) if entry.verdict.run}


def _is_known(verdict: Verdict, was: EarlierAnswer | None) -> bool:
    return was is not None and not was.green and was.outcome is verdict.outcome


def _has_other_bits(verdict: Verdict, was: EarlierAnswer) -> bool:
    return bool(verdict.digest and was.digest and verdict.digest != was.digest)


def _is_well(verdict: Verdict) -> bool:
    return verdict.green and verdict.compared and verdict.outcome is not Outcome.KNOWN_BUG


def _causes(ledgers: Sequence[Ledger], entries: Sequence[AttemptEntry]) -> tuple[FailureGroup, ...]:
    """Group failures as the summary of a report does."""
    chosen = {id(entry) for entry in entries}
    parts = [replace(one, entries=tuple(e for e in one.entries if id(e) in chosen), findings=()) for one in ledgers]
    return summarise(parts).causes


def _entries(night: MergedNight) -> Iterable[AttemptEntry]:
    return (entry for ledger in night.ledgers for entry in ledger.entries)


def _tested_key(verdict: Verdict) -> TestedKey:
    return verdict.key, verdict.test
