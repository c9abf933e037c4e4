"""The contents of a page, collected from ledgers part by part: of green verdicts a row each, of red ones a panel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bitgate.core.targets import in_place_of
from bitgate.results.record import Outcome, Verdict
from bitgate.results.report.cause import cause_of
from bitgate.results.report.ledger import Ledger
from bitgate.results.report.page.failure import FailurePanel, how_of, is_shown, panel_of
from bitgate.results.report.page.past import RunPast, TestedKey
from bitgate.results.report.page.rows import TableRow
from bitgate.results.report.page.shown import WORD, clean
from bitgate.results.report.result import sentence_of

PANELS_OF_CAUSE = 12
PANELS_OF_TARGET = 4
"""Panels that each further target adds to those of a cause."""
MOST_CAUSES = 300
"""Causes with a panel; further ones are in the table."""
PANEL_BYTES = 3 << 20
"""Bytes of all panels, above which a cause gets one panel only."""
HARD_PANEL_BYTES = 4 << 20
CELLS = 150_000_000
"""Cells of all pictures: some ten seconds of drawing; further panels have none."""
COMMAND_LINE = "verify"
DEVICES = {"cpu": "host", "": "no device"}
"""Words for kinds of device where the record's word is another one."""


@dataclass
class Cause:
    """Failures that look like one defect: verdict, kind, family and path agree."""

    number: int
    id: str
    """The name of its cause."""
    outcome: str
    kind: str
    family: str
    path: str
    is_unanswered: bool
    ticket: str = ""
    targets: Counter[str] = field(default_factory=Counter)
    panels: list[FailurePanel] = field(default_factory=list)
    keys: list[TestedKey] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.keys)

    def has_room(self, target: str) -> bool:
        """Return whether a further failure on a target gets a panel: the first target takes no room from others."""
        of_target = sum(panel.target == target for panel in self.panels)
        return of_target < (PANELS_OF_CAUSE if len(self.targets) == 1 else PANELS_OF_TARGET)

    def states(self, past: RunPast) -> list[tuple[str, int]]:
        """Count its failures by their state in the history."""
        return Counter(past.cases[key].state for key in self.keys if key in past.cases).most_common()


@dataclass
class MatrixCell:
    """The verdicts of a suite on a target, counted."""

    counts: Counter[str] = field(default_factory=Counter)
    red: int = 0
    compared: int = 0

    @property
    def verdicts(self) -> int:
        return self.counts.total()

    @property
    def passed(self) -> int:
        return self.counts[Outcome.PASS.value]

    @property
    def colour(self) -> str:
        """Return red, green, or amber where nothing was compared."""
        return "bad" if self.red else "good" if self.compared else "odd"

    @property
    def words(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self.counts.most_common())


class PageBuilder:
    """Collects the verdicts of a run in parts, of which none is kept."""

    def __init__(self) -> None:
        self.matrix: dict[tuple[str, str], MatrixCell] = {}
        self.devices: dict[str, dict[str, None]] = {}
        self.facts: dict[str, dict[str, None]] = {}
        self.runs: set[str] = set()
        self.started = ""
        self._causes: dict[tuple[str, ...], Cause] = {}
        self._rows: list[TableRow] = []
        self._others: list[tuple[TableRow, TestedKey]] = []
        self._green: set[int] = set()
        self._panel_bytes = 0
        self._panels = self._cells = 0

    def add(self, ledger: Ledger) -> None:
        """Take the entries of a target's ledger, or of a part of it."""
        if ledger.started:
            self.started = min(filter(None, (self.started, ledger.started)))
        self._fact("plan", ledger.plan)
        for entry in ledger.entries:
            self._add(entry.verdict)

    @property
    def suites(self) -> list[str]:
        return sorted({suite for _, suite in self.matrix})

    @property
    def causes(self) -> list[Cause]:
        """The causes, those of kernels first, each kind with the most failures first."""
        known = Outcome.KNOWN_BUG.value
        return sorted(self._causes.values(), key=lambda one: (one.outcome == known, one.is_unanswered, -one.count))

    @property
    def reds(self) -> Iterator[tuple[TestedKey, str]]:
        """The red cases with their verdicts, as a history is asked about them."""
        for cause in self._causes.values():
            if cause.outcome != Outcome.KNOWN_BUG.value:
                yield from ((key, cause.outcome) for key in cause.keys)

    def is_green(self, key: TestedKey) -> bool:
        """Return whether a case of this run was compared and is green."""
        return hash(key) in self._green

    def rows(self, past: RunPast) -> Iterator[TableRow]:
        """Yield the rows of the table, those that did not pass first."""
        yield from self.others(past)
        yield from self._rows

    def others(self, past: RunPast) -> Iterator[TableRow]:
        """Yield the rows of cases that did not pass, red ones first."""
        for row, key in sorted(self._others, key=lambda one: not one[0].cause):
            yield row._replace(state=past.cases[key].state if key in past.cases else "")

    def _add(self, verdict: Verdict) -> None:
        target, suite = clean(verdict.key.target), clean(verdict.suite or COMMAND_LINE, 100)
        cell = self.matrix.setdefault((target, suite), MatrixCell())
        cell.counts[verdict.outcome.value] += 1
        cell.red += not verdict.green
        cell.compared += verdict.compared
        device = device_of(verdict)
        self.devices.setdefault(target, {})[device] = None
        self._fact("commit", verdict.fingerprint.get("commit", ""))
        if verdict.run:
            self.runs.add(verdict.run.id)
            self._fact("run", verdict.run.id)
        key = (verdict.key, verdict.test)
        cause = self._cause(verdict, key, target, device) if is_shown(verdict) else None
        row = TableRow(
            verdict.outcome.value,
            target,
            device,
            suite,
            clean(verdict.key.case),
            clean(verdict.key.name),
            how_of(verdict),
            ms=round(1000 * min(1e9, verdict.seconds.get("total", sum(verdict.seconds.values())))),
        )
        if verdict.outcome is Outcome.PASS and verdict.green:
            self._rows.append(row)
            if verdict.compared:
                self._green.add(hash(key))
            return
        row = row._replace(
            kind=clean(verdict.diagnosis.kinds[0]) if verdict.diagnosis and verdict.diagnosis.kinds else "",
            cause=str(cause.number) if cause else "",
            says=clean(sentence_of(verdict), WORD),
            repro=clean(verdict.repro, WORD) if cause else "",
        )
        self._others.append((row, key))

    def _cause(self, verdict: Verdict, key: TestedKey, target: str, device: str) -> Cause:
        found = cause_of(verdict)
        outcome, kind, family, path = map(clean, (verdict.outcome.value, *found[1:]))
        ticket = clean(verdict.known_bug.get("ticket", ""), 100)
        cause = self._causes.get((outcome, kind, family, path, ticket))
        if cause is None:
            number = len(self._causes) + 1
            cause = Cause(number, found.id, outcome, kind, family, path, verdict.outcome.is_unanswered, ticket)
            self._causes[outcome, kind, family, path, ticket] = cause
        cause.keys.append(key)
        cause.targets[target] += 1
        room = cause.has_room(target) if self._panel_bytes < PANEL_BYTES else not cause.panels
        if room and cause.number <= MOST_CAUSES and self._panel_bytes < HARD_PANEL_BYTES:
            self._panels += 1
            panel = panel_of(verdict, self._panels, device, draws=self._cells < CELLS)
            self._cells += panel.picture.cells if panel.picture else 0
            self._panel_bytes += panel.size
            cause.panels.append(panel)
        return cause

    def _fact(self, name: str, value: str) -> None:
        values = self.facts.setdefault(name, {})
        if value not in ("", "unknown") and len(values) < 8:
            values[clean(value, 100)] = None


def device_of(verdict: Verdict) -> str:
    """Return the word for the kind of device: host, hardware, emulated, or what the record says."""
    stood_in = in_place_of(verdict.key.target)
    word = DEVICES.get(verdict.device_kind, clean(verdict.device_kind, 40))
    return f"{word} in place of {stood_in}" if stood_in else word


def targets_of(builder: PageBuilder, promised: Sequence[str]) -> list[str]:
    """Return the targets with verdicts, and those that should have some."""
    return sorted({*builder.devices, *map(clean, promised)})
