"""The protocol of reports: a format is a subclass of Report in a separate module, and a row of ``render.REPORTS``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bitgate.core.files import write_whole
from bitgate.results.report.findings import MissingTarget, RunFinding
from bitgate.results.report.junit_dialect import STRICT, JUnitDialect
from bitgate.results.report.ledger import Ledger
from bitgate.results.report.summary import Summary


@dataclass(frozen=True)
class ReportedRun:
    """A run as reports get it: the ledgers of its targets, and the summary of them all.

    ``is_merged`` is true for a run over any number of targets. Then ``findings`` and ``absent`` are those of the run as
    a whole; the run of one target has them in its ledger.
    """

    ledgers: tuple[Ledger, ...]
    summary: Summary
    is_merged: bool = False
    findings: tuple[RunFinding, ...] = ()
    absent: tuple[MissingTarget, ...] = ()
    junit: JUnitDialect = STRICT


class Report(ABC):
    """One format in which a run is reported: a file in the run's folder, or lines on the terminal of a CI job."""

    file: ClassVar[str] = ""
    """Name of the file in the run's folder; empty if the report is printed."""
    forge: ClassVar[str] = ""
    """The forge whose pages show it, which ``--annotate`` names; empty if every run is reported so."""

    @abstractmethod
    def text(self, run: ReportedRun) -> str:
        """Return the whole report."""

    def write(self, run: ReportedRun, folder: Path, echo: Callable[[str], None] = print) -> None:
        """Write the report's file into ``folder``, or print its lines with ``echo`` if it has none."""
        text = self.text(run)
        if self.file:
            write_whole(folder / self.file, text)
        elif text:
            for line in text.split("\n"):
                echo(line)
