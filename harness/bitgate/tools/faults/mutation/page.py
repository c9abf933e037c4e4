"""The page of a draw of mutants: the kill matrix of families and operators, and the survivors."""

from __future__ import annotations

from pathlib import Path

from bitgate.results.report.page.tables import TableCell, TableSection, write_tables
from bitgate.tools.faults.mutation.score import Score
from bitgate.tools.faults.mutation.trial import Fate, MutantTrial


def write_page(file: Path, score: Score, seed: int) -> None:
    """Write the page. UsageError if it cannot be written."""
    survivors = score.survivors
    kind = "odd" if survivors or not score.killed.whole else "good"
    passed_over = ", ".join(f"{score.counts[fate]} {fate.value}" for fate in Fate if not fate.counts)
    notes = [
        f"Score {score.killed}, with its 95 % interval; of those that a case shows: {score.shown}.",
        f"Seed {seed}; passed over: {passed_over}.",
    ]
    sections = [
        _matrix(score),
        TableSection(
            "Survivors",
            ("place", "operator", "where", "was", "became", "cases", "red with it"),
            [_survivor(trial) for trial in survivors],
            ["A hole where a drawn case is red, else probably the same program in other words."],
            frozenset({"cases"}),
        ),
    ]
    write_tables(file, f"{score.killed.part} of {score.killed.whole} mutants killed", kind, notes, sections)


def _matrix(score: Score) -> TableSection:
    operators = list(score.by_operator)
    rows: list[list[TableCell | str]] = []
    for family, part in score.by_family.items():
        cells = part.by_operator
        shares = [cells[name].killed if name in cells else None for name in operators]
        counted = [(one.part, one.whole) if one else (0, 0) for one in (*shares, part.killed)]
        rows.append([TableCell(family, code=True), *(_share(killed, whole) for killed, whole in counted)])
    header = ("family", *operators, "all")
    return TableSection(
        "Kill matrix", header, rows, ["Killed mutants of those that a case reaches."], frozenset(header[1:])
    )


def _share(killed: int, whole: int) -> TableCell:
    return TableCell(f"{killed} of {whole}" if whole else "", "odd" if killed < whole else "")


def _survivor(trial: MutantTrial) -> list[TableCell | str]:
    mutant = trial.mutant
    was = " ".join(mutant.original.split())
    return [
        TableCell(mutant.place, code=True),
        mutant.operator,
        mutant.condition,
        TableCell(was, code=True),
        TableCell(mutant.mutated or "(nothing)", code=True),
        str(trial.cases),
        TableCell(trial.shown_by, code=True) if trial.shown_by else f"none of {trial.drawn} drawn cases",
    ]
