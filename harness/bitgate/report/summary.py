"""What a run amounts to, in numbers: the data behind summary.md, ``--json`` and the exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bitgate.record import MEANING, Outcome, Verdict
from bitgate.report.ledger import Entry, Ledger

# Red, but no word about the kernel: alone they make a run that compared nothing, not one that found a defect.
SILENT = (Outcome.LOST, Outcome.NOT_RUN, Outcome.INFRA)


@dataclass(frozen=True)
class Red:
    """One red verdict as a reader needs it: what is wrong, where, and the line that shows it again."""

    target: str
    case: str
    human: str
    kernel: str
    options: str
    test: str
    outcome: str
    kinds: tuple[str, ...]
    sentence: str
    repro: str


@dataclass(frozen=True)
class Row:
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
    targets: tuple[Row, ...]
    suites: tuple[Row, ...]
    outcomes: dict[str, int]
    reds: tuple[Red, ...]
    changed: tuple[str, ...] = ()
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def verdicts(self) -> int:
        return sum(row.verdicts for row in self.targets)

    @property
    def compared(self) -> int:
        return sum(row.compared for row in self.targets)

    @property
    def exit_code(self) -> int:
        """0 green, 1 a defect, 3 nothing compared. One target that compared nothing makes the whole run red."""
        if any(red.outcome not in SILENT for red in self.reds):
            return 1
        if not self.compared:
            return 3
        return 1 if self.reds or not all(row.compared for row in self.targets) else 0

    @property
    def told(self) -> tuple[Red, ...]:
        """The reds worth a paragraph: of an interrupted run not the cases that it never came to."""
        return tuple(red for red in self.reds if not self.interrupted or red.outcome != Outcome.NOT_RUN)

    @property
    def headline(self) -> str:
        """One line: colour, count, place."""
        where = ", ".join(row.target for row in self.targets) or "no target"
        tier = f" ({self.tier})" if self.tier else ""
        if self.interrupted:
            done = self.verdicts - (len(self.reds) - len(self.told))
            return f"INTERRUPTED: {done} of {self.verdicts} verdicts on {where}{tier}, {len(self.told)} of them red"
        said = {
            0: f"GREEN: {self.verdicts} verdicts on {where}{tier}",
            1: f"RED: {len(self.reds)} of {self.verdicts} verdicts on {where}{tier}",
            3: f"RED: nothing was compared on {where}{tier}",
        }[self.exit_code]
        silent = [row.target for row in self.targets if not row.compared]
        if silent and self.exit_code != 3:
            said += f"; nothing was compared on {', '.join(silent)}"
        return said

    def as_json(self) -> dict[str, Any]:
        """The document of ``--json``, under its key ``summary``."""
        return {
            "headline": self.headline,
            "exit_code": self.exit_code,
            "tier": self.tier,
            "interrupted": self.interrupted,
            "verdicts": self.verdicts,
            "compared": self.compared,
            "problems": sum(row.problems for row in self.targets),
            "red": len(self.reds),
            "seconds": round(sum(row.seconds for row in self.targets), 3),
            "outcomes": self.outcomes,
            "targets": [dict(vars(row)) for row in self.targets],
            "suites": [dict(vars(row)) for row in self.suites],
            "reds": [{**vars(red), "kinds": list(red.kinds)} for red in self.reds],
            "changed": list(self.changed),
            "environment": self.environment,
            "notes": list(self.notes),
        }


def summarise(ledgers: Sequence[Ledger], *, interrupted: bool = False) -> Summary:
    """Count the entries of ledgers, one a target."""
    entries = [entry for ledger in ledgers for entry in ledger.entries]
    counts = Counter(entry.verdict.outcome for entry in entries)
    return Summary(
        tier=" ".join(dict.fromkeys(ledger.tier for ledger in ledgers if ledger.tier)),
        targets=tuple(_row(ledger.target, "", ledger.entries) for ledger in ledgers),
        suites=tuple(row for ledger in ledgers for row in _suite_rows(ledger)),
        outcomes={outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
        reds=tuple(_red(entry.verdict) for entry in entries if not entry.verdict.green),
        changed=tuple(_changed(entry) for entry in entries if entry.changed),
        environment={ledger.target: environment for ledger in ledgers if (environment := _environment(ledger))},
        notes=tuple(note for ledger in ledgers for note in ledger.notes),
        interrupted=interrupted,
    )


def _suite_rows(ledger: Ledger) -> list[Row]:
    suites = dict.fromkeys(entry.verdict.suite for entry in ledger.entries)
    return [
        _row(ledger.target, suite or "verify", [e for e in ledger.entries if e.verdict.suite == suite])
        for suite in suites
    ]


def _row(target: str, suite: str, entries: Sequence[Entry]) -> Row:
    verdicts = [entry.verdict for entry in entries]
    return Row(
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


def _red(verdict: Verdict) -> Red:
    key, diagnosis = verdict.key, verdict.diagnosis
    return Red(
        target=key.target,
        case=key.case,
        human=verdict.human,
        kernel=f"{key.kernel}.{key.instance}",
        options=" ".join(f"{name}={value}" for name, value in key.options),
        test=verdict.test,
        outcome=verdict.outcome.value,
        kinds=diagnosis.kinds if diagnosis else (),
        sentence=diagnosis.sentence if diagnosis else verdict.reason or MEANING[verdict.outcome],
        repro=verdict.repro,
    )


def _changed(entry: Entry) -> str:
    key = entry.verdict.key
    attempts = ", then ".join(str(outcome) for outcome in (*entry.earlier, entry.verdict.outcome))
    return f"{key.case} {key.kernel}.{key.instance} on {key.target}: {attempts}"


def _environment(ledger: Ledger) -> dict[str, str]:
    """What the verdicts say about machine and build; several values of one name stand side by side."""
    seen: dict[str, dict[str, None]] = {}
    for entry in ledger.entries:
        for name, value in entry.verdict.fingerprint.items():
            seen.setdefault(name, {})[value] = None
    if ledger.plan:
        seen["plan"] = {ledger.plan: None}
    return {name: ", ".join(values) for name, values in seen.items()}
