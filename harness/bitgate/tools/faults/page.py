"""The page of tried faults: the kill matrix, the holes, and every trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bitgate.results.report.page.tables import TableCell, TableSection, write_tables
from bitgate.tools.faults.trial import Trial

HOLE, INVALID = "hole", "not valid"


def write_page(file: Path, trials: Sequence[Trial], tier: str, target: str) -> None:
    """Write the page. UsageError if it cannot be written."""
    killed, valid = sum(trial.killed for trial in trials), sum(trial.valid for trial in trials)
    title = f"{killed} of {valid} faults found by {tier} on {target}"
    notes = [f"{len(trials) - valid} faults are not valid: they do not apply, or do not compile."] * (
        len(trials) != valid
    )
    holes = [trial for trial in trials if trial.valid and not trial.killed]
    sections = [
        _matrix(trials),
        TableSection("Holes", ("fault", "imitates", "file", "note"), [_hole(trial) for trial in holes]),
        TableSection(
            "All faults",
            ("fault", "ended in", "diagnosis", "by", "sentence", "seconds"),
            [_row(trial) for trial in sorted(trials, key=_end_of)],
            numbers=frozenset({"seconds"}),
        ),
    ]
    write_tables(file, title, "bad" if holes or killed != valid else "good", notes, sections)


def _matrix(trials: Sequence[Trial]) -> TableSection:
    """Return the faults of each file by what ended them: a verdict, or nothing."""
    counts = Counter((trial.fault.file, _end_of(trial)) for trial in trials)
    ends = sorted({end for _, end in counts}, key=lambda end: (end in (HOLE, INVALID), end))
    rows = [
        [TableCell(file, code=True), *(_count(counts[file, end], end) for end in ends)]
        for file in sorted({trial.fault.file for trial in trials})
    ]
    note = "A column says which verdict found the faults of a file; a hole was found by no case."
    return TableSection("Kill matrix", ("file", *ends), rows, [note], frozenset(ends))


def _count(count: int, end: str) -> TableCell:
    return TableCell(str(count) if count else "", "bad" if end == HOLE else "odd" if end == INVALID else "")


def _end_of(trial: Trial) -> str:
    """Return the verdict that found a fault."""
    return (trial.verdict or "found") if trial.killed else HOLE if trial.valid else INVALID


def _hole(trial: Trial) -> list[TableCell | str]:
    fault = trial.fault
    return [TableCell(fault.name, code=True), fault.imitates, TableCell(fault.file, code=True), trial.note]


def _row(trial: Trial) -> list[TableCell | str]:
    end = _end_of(trial)
    kinds = ", ".join(trial.kinds)
    if trial.killed and trial.diagnosed is False:
        kinds = f"{kinds}; expected {trial.fault.diagnosis}"
    kind = "bad" if end == HOLE else "odd" if end == INVALID else "good"
    return [
        TableCell(trial.fault.name, code=True),
        TableCell(end, kind),
        kinds,
        TableCell(trial.by, code=True),
        trial.sentence or trial.note,
        f"{trial.seconds:.1f}",
    ]
